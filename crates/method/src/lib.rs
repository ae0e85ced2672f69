//! Test methods: which trial comes next, and what the outcome means.
//!
//! A method is an ordinary function over a [`trial::Tester`], so that it reads like the standard.
//! It knows no port, no simulator and no clock: waiting is asked of the tester. Everything it
//! learns goes to an [`EventSink`] the moment it is known; its result is plain data.

mod conditions;
mod event;
mod found;
pub mod rfc2544;
mod selftest;

pub use conditions::{Conditions, Direction, Modifier, Profile, TestKind};
pub use event::{
    Event, EventSink, RunFinished, RunStarted, SearchBounds, SinkError, TestResult, TestStarted,
    TrialIdentity, TrialRecord, TrialStarted, Verdict,
};
pub use found::{Finding, LatencySummary, RateFound, Spread, median, percentile};
pub use selftest::{SelfTest, SelfTestSize};
