//! What RFC 8219 measures beside RFC 2544's tests: packet delay variation (section 7.3.1) and
//! inter-packet delay variation (section 7.3.2). Its latency (section 7.2) comes from the trials of
//! [`rfc2544::latency`](crate::rfc2544::latency).

mod ipdv;
mod outcome;
mod pdv;

pub use ipdv::{Ipdv, IpdvResult, IpdvTrial, ipdv};
pub use pdv::{Between, Pdv, PdvResult, PdvTrial, pdv};

use crate::bench::{Bench, Ran, Request};
use crate::rfc2544::{ThroughputResult, known_rate};
use crate::subject::Subject;
use crate::traffic::{Tags, TrialShape};
use crate::{RunError, TestKind};
use units::{Duration, FrameRate};

/// The load of a test of delay variation: the throughput, or with a note what was found in its
/// stead. An error says why there is nothing to measure.
fn load(
    subject: &Subject<'_>,
    throughput: &ThroughputResult,
) -> Result<(FrameRate, Option<String>), String> {
    if !subject.traffic.has_transmit_times() {
        let given_up = subject.traffic.given_up().join("; ");
        return Err(format!("frames of this size cannot carry what it takes: {given_up}"));
    }
    known_rate(throughput)
}

/// A load of `rate` for `duration`; `tags` are the frames whose latency is kept.
fn stream(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    test: TestKind,
    (rate, duration): (FrameRate, Duration),
    (repetition, repetitions): (u32, u32),
    tags: Option<Tags>,
) -> Result<Ran, RunError> {
    let size = subject.size_in_words();
    let label = format!("{test}, {size}: {rate:.1}, repetition {repetition} of {repetitions}");
    let request = subject.request(test, label, rate, duration);
    let shape = TrialShape { tags, ..request.shape };
    bench.run(Request { shape, ..request })
}

/// What a reader should know of the repetitions of either test.
fn notes_of(subject: &Subject<'_>, invalid: usize, lost: u64) -> Vec<String> {
    let mut notes = vec![];
    let mut say = |when: bool, what: String| notes.extend(when.then_some(what));
    say(invalid > 0, format!("{invalid} repetitions were invalid and do not count"));
    let undefined = "their delay is undefined, and so is the variation to their neighbours";
    say(lost > 0, format!("{lost} frames were lost meanwhile: {undefined} (RFC 5481 section 4)"));
    let mixed = subject.traffic.size().period() > 1;
    say(mixed, "frames of different sizes take different times on the lines: that is in it".into());
    notes
}
