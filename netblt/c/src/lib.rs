//! The C interface of NETBLT; `include/netblt.h` says what each function does, who owns what, and which threads may
//! call it. Programs in Rust use `netanvil-netblt-client` itself.
//!
//! Each function looks at its pointers before anything else, and none lets a panic pass into C ([`status::guarded`]).
//!
//! ```
//! use netanvil_netblt::options::{netblt_options_free, netblt_options_new, netblt_options_set_key};
//! use netanvil_netblt::status::{NetbltStatus, last_error};
//!
//! let options = netblt_options_new();
//! // SAFETY: the options are there, the text ends with a zero, and nobody uses the options after they are freed.
//! unsafe {
//!     let status = netblt_options_set_key(options, c"a pass phrase".as_ptr());
//!     assert_eq!(status, NetbltStatus::InvalidArgument);
//!     netblt_options_free(options);
//! }
//! assert!(last_error().contains("64 hexadecimal digits"));
//! ```
// C has pointers and nothing else: each function that takes one says what it has to be.
#![allow(unsafe_code)]
// An edge of the project, like the sockets below it.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod arguments;
pub mod options;
pub mod server;
pub mod status;
pub mod transfer;
