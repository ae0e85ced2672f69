//! Dual stream: "find effect of more than one data stream through router" (router tests of 1990).
//!
//! Two tests. That of 1990 sends both streams with the shortest gap and takes the raw rate of each.
//! Its author called it flawed: "the 'right' way to do this is the same as for the 'max rate' test,
//! putting the same frame rate into both inputs and counting the outputs"; that is the other one.

use super::{MaxRateResult, RawRateResult, Setting, Sources, max_rate, raw_rate};
use crate::RunError;
use crate::bench::Bench;
use crate::subject::Subject;

/// Both streams with the shortest gap of their sources; `subject` has the traffic of both.
pub fn dual_stream(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    sources: &Sources,
    setting: Setting,
) -> Result<RawRateResult, RunError> {
    raw_rate(bench, subject, sources, setting)
}

/// The highest rate into both inputs at once at which neither stream loses a frame.
pub fn dual_max_rate(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    sources: &Sources,
    setting: Setting,
) -> Result<MaxRateResult, RunError> {
    max_rate(bench, subject, sources, setting)
}
