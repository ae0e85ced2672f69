//! What the tests of 1989 share: trials made of more than one stream, and what came of them.

use super::Test1989;
use super::result::Harvard1989Result;
use crate::bench::{Bench, Ran, Request};
use crate::subject::Subject;
use crate::traffic::{FORWARD, TrialShape};
use crate::{RunError, TestKind};
use traffic::template::FrameTemplate;
use trial::{
    Expectation, PortId, Prelude, Role, Schedule, Stream, StreamFrame, StreamId, TesterError,
    Trial, TrialResult,
};
use units::{Duration, FrameRate};

/// Number of the extra stream of a trial; a second one has the next.
pub(super) const EXTRA: StreamId = StreamId(50);

/// A trial, or why the port or the device cannot do it.
pub(super) type Possible = Result<Ran, String>;

/// An empty result of a test.
pub(super) fn result_of(test: Test1989, subject: &Subject<'_>) -> Harvard1989Result {
    Harvard1989Result::new(test, subject.conditions())
}

/// Asks for a trial at a constant load.
pub(super) fn steady<'a>(
    test: Test1989,
    subject: &Subject<'a>,
    what: &str,
    rate: FrameRate,
    duration: Duration,
) -> Request<'a> {
    let label = format!("{test}, {}: {what}, {rate:.1} for {duration}", subject.size_in_words());
    subject.request(TestKind::Harvard1989(test), label, rate, duration)
}

/// Asks for so many frames at a rate.
pub(super) fn frames<'a>(
    test: Test1989,
    subject: &Subject<'a>,
    what: &str,
    rate: FrameRate,
    count: u64,
) -> Request<'a> {
    let request = steady(test, subject, what, rate, rate.departure(count));
    let segments = vec![trial::Segment::constant(rate, count)];
    let label = format!("{test}, {}: {what}, {count} frames", subject.size_in_words());
    let shape = TrialShape { label, schedule: Schedule { segments }, ..request.shape };
    Request { shape, ..request }
}

/// Runs a trial that differs from the usual one.
pub(super) fn run_changed(
    bench: &mut Bench<'_>,
    request: Request<'_>,
    change: &dyn Fn(Trial) -> Result<Trial, RunError>,
) -> Result<Possible, RunError> {
    match bench.run_changed(request, change) {
        Ok(ran) => Ok(Ok(ran)),
        Err(RunError::Tester(error @ TesterError::Unsupported { .. })) => {
            Ok(Err(error.to_string()))
        }
        Err(error) => Err(error),
    }
}

/// A stream beside the test frames: counted, but no part of offered load and loss.
pub(super) fn beside(
    id: StreamId,
    name: &str,
    from: PortId,
    expect: Expectation,
    frames: Vec<StreamFrame>,
) -> Stream {
    Stream {
        id,
        name: name.into(),
        role: Role::Modifier,
        from,
        expect,
        frames,
        fingerprint: None,
        given_up: vec![],
        bad_fcs: false,
        grows_by_bytes: 0,
    }
}

/// Ready frames without signature.
pub(super) fn unsigned(frames: Vec<Vec<u8>>) -> Vec<StreamFrame> {
    frames.into_iter().map(|bytes| StreamFrame { bytes, form: None }).collect()
}

/// Puts an extra stream into the load of the first port: after each test frame `weight` of it.
pub(super) fn mixed_in(mut trial: Trial, stream: Stream, weight: usize) -> Trial {
    if let Some(load) = trial.loads.first_mut() {
        load.order = [FORWARD].into_iter().chain(vec![stream.id; weight]).collect();
    }
    trial.streams.push(stream);
    trial
}

/// Frames told to the device one after the other, so slowly that any device hears them all.
pub(super) fn told_slowly(port: PortId, frames: Vec<Vec<u8>>) -> Vec<Prelude> {
    let each = |frame| Prelude { port, frames: vec![frame], wait: TOLD_EVERY };
    frames.into_iter().map(each).collect()
}

pub(super) const TOLD_EVERY: Duration = Duration::from_ms(5);

/// Whether the device forwards anything at a very low load, in one trial of two.
pub(super) fn is_alive(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    test: Test1989,
    what: &str,
) -> Result<bool, RunError> {
    for _ in 0..2 {
        let request = frames(test, subject, what, QUIET, QUIET_FRAMES);
        let ran = bench.run_changed(request, &|trial| Ok(patient(trial)))?;
        if !ran.result.is_valid() || ran.result.forwarded_frames() > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The trial with a wait for residual frames that no device outlasts: what has not come by then is held
/// against it.
pub(super) fn patient(mut trial: Trial) -> Trial {
    trial.waits.drain = trial.waits.drain.max(RESIDUAL);
    // Asked is which frames come out, not how quickly they went in.
    trial.limits.shortfall = trial.limits.shortfall.max(SLOWER);
    trial
}

/// Whether each frame was sent, however late: of one that was not nothing can be told.
pub(super) fn all_sent(result: &TrialResult) -> bool {
    result.sent.iter().all(|sent| sent.report.sent_frames == sent.report.intended_frames)
}

/// So much of the rate may be missing where only the frames count.
const SLOWER: f64 = 0.9;

/// "wait for two seconds for any residual frames to be received" (RFC 2544 section 23 d).
pub(super) const RESIDUAL: Duration = Duration::from_secs(2);

/// A load that any device carries.
pub(super) const QUIET: FrameRate = FrameRate::from_fps(20);
pub(super) const QUIET_FRAMES: u64 = 10;

/// One signed frame of a template in the size of the subject's smallest frames.
pub(super) fn signed(
    template: &FrameTemplate,
    subject: &Subject<'_>,
    trial: &Trial,
    id: StreamId,
) -> Result<Vec<StreamFrame>, RunError> {
    let size = subject.traffic.size().smallest().max(template.min_size());
    let prepared = template.prepare(size, Some((trial.key, id.0)))?;
    let frame = |index| StreamFrame { bytes: prepared.frame(index), form: prepared.form() };
    Ok((0..template.period().max(1)).map(frame).collect())
}
