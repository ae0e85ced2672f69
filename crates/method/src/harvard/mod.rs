//! The router tests of Scott Bradner at Harvard University, 1989 and 1990, which RFC 2544 grew out
//! of; one file a test.
//!
//! The tests need a device set up in several ways (filters, protocols, which ports are used), so
//! the suites ask a [`Laboratory`] for that; each test itself sees a tester, as everywhere. What a
//! device cannot do is said ([`SetUpError::NotPossible`]), never passed over in silence.

mod config;
mod counted;
mod delay;
mod dual_stream;
mod filters;
mod laboratory;
mod max_rate;
mod outcome;
mod raw_rate;
mod setting;
mod source;
mod suite_1990;
mod together;
pub mod y1989;

pub use config::HarvardConfig;
pub use delay::{DelayResult, delay};
pub use dual_stream::{dual_max_rate, dual_stream};
pub use filters::Filters;
pub use laboratory::{Laboratory, Mode, Path, Ready, SetUp, SetUpError};
pub use max_rate::{MaxRateResult, max_rate};
pub use raw_rate::{RawRateResult, RawStream, raw_rate};
pub use setting::Setting;
pub use source::Sources;
pub use suite_1990::Suite1990;
pub(crate) use suite_1990::test as test_1990;
