//! What NETBLT does, computed in virtual time: [`rfc1030`] has the networks of 1987 over which it was
//! tested, and [`paths`] those of today, with models of TCP beside it. The protocol is the very code that
//! moves files ([`netblt`]). Same seed, same run.
//!
//! # Example
//!
//! A row of RFC 1030's tables, computed again:
//!
//! ```
//! use netblt_studies::rfc1030::{reproduce, rows};
//!
//! let row = &rows()[0];
//! let measured = reproduce(row, 1).expect("it completes");
//! println!("published {row:?}, computed {measured:?}");
//! assert_eq!(reproduce(row, 1), Some(measured), "same seed, same run");
//! ```

pub mod paths;
pub mod rfc1030;
