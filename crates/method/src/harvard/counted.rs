//! The counters of a real device beside the tester's, frame for frame, each time that it was set up.

use super::Sources;
use super::y1989::counter_checks;
use crate::bench::{Bench, by_offer};
use crate::event::Event;
use crate::subject::Subject;
use crate::{RunError, TestKind};
use units::Duration;

/// For what the device has not forwarded yet when the last frame was sent (RFC 2544 section 23 d).
const RESIDUAL: Duration = Duration::from_secs(2);

/// Sends at half the rate of the sources, without learning frames, which the device has had; what agrees
/// becomes a note, what does not a warning.
pub(super) fn compare_counters(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    sources: &Sources,
    heading: &str,
) -> Result<(), RunError> {
    if let Some(why) = sources.starved() {
        return bench.emit(Event::Note(format!("{heading}: counters not compared: {why}")));
    }
    let duration = Duration::from_secs_f64(subject.config.harvard.raw_rate_stream_s);
    let rate = sources.slowest().scaled(0.5);
    let label = format!("the device's counters, {}: {rate:.1}", subject.size_in_words());
    let request = subject.request(TestKind::RawRate, label, rate, duration);
    let ran = bench.run_changed(request, &|mut trial| {
        trial.prelude.clear();
        trial.waits.drain = trial.waits.drain.max(RESIDUAL);
        Ok(by_offer(trial))
    })?;
    let trial = &ran.result;
    let checks = counter_checks(trial);
    if checks.is_empty() || !trial.is_valid() {
        let why = ran.invalid_reasons().join("; ");
        let why = if why.is_empty() { "the device shows none".into() } else { why };
        return bench.emit(Event::Note(format!("{heading}: counters not compared: {why}")));
    }
    let (right, wrong): (Vec<_>, Vec<_>) = checks.iter().partition(|check| check.agrees());
    for check in wrong {
        let port = check.port.map(|port| format!(" at {port}")).unwrap_or_default();
        bench.emit(Event::Warning(format!(
            "{heading}: {} {}{port} ({}) says {}, it was {}",
            check.source, check.name, check.counted, check.device, check.tester
        )))?;
    }
    let mut sources: Vec<&str> = right.iter().map(|check| check.source.as_str()).collect();
    sources.sort_unstable();
    sources.dedup();
    bench.emit(Event::Note(format!(
        "{heading}: {} counters of the device ({}) agree with the tester's over {} frames sent and {} \
         received",
        right.len(),
        sources.join(", "),
        trial.offered_frames(),
        trial.forwarded_frames()
    )))
}
