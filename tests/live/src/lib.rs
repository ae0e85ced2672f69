//! What the live tests share: a test bed for one test at a time, testers on it, an auditor that
//! compares every trial with the kernel's own counters, and captures by `tcpdump`.
//!
//! Live tests build network namespaces and therefore need root; without it they say past the test
//! harness's capture that they did not run. **No test here asserts a time**: machines are slow
//! and shared. A trial in which the tester was held up says so itself and is repeated a stated
//! number of times, as the product does.
#![allow(clippy::disallowed_methods, reason = "live tests wait for real devices")]

mod audit;
mod bed;
mod capture;
mod groups;
mod measure;
pub mod tshark;
#[path = "../../../crates/ports/tests/bed/undecided.rs"]
pub mod undecided;

pub use audit::Audited;
pub use bed::{Bed, IpVersion, JUMBO, can_run};
pub use capture::{Capture, Captured, Direction};
pub use groups::GroupsCounted;
pub use measure::{measure, short_trials};
