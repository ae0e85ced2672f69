//! Reset: how long the device does not forward (RFC 2544 section 26.6 as RFC 6201 has it), by
//! both of RFC 6201's methods.

use crate::bench::{Bench, Ran, Request};
use crate::config::ResetKind;
use crate::rfc2544::{ThroughputResult, known_rate};
use crate::subject::Subject;
use crate::traffic::TrialShape;
use crate::{Conditions, RunError, TestKind, Verdict};
use serde::{Deserialize, Serialize};
use trial::{DeviceAction, InvalidReason, Silence, StreamReceived, TesterError, TrialResult};
use units::{Duration, FrameRate, Instant};

/// The result of one kind of reset.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ResetResult {
    /// Under which conditions.
    pub conditions: Conditions,
    /// Why there is no result; `None` where there is one.
    pub not_measured: Option<String>,
    /// What was done to the device.
    pub action: DeviceAction,
    /// Load of each direction.
    pub rate: Option<FrameRate>,
    /// Mean of the repetitions by the frame-loss method.
    pub mean_by_loss: Option<Duration>,
    /// Mean of the repetitions by the timestamp method.
    pub mean_by_timestamps: Option<Duration>,
    /// Mean loss in frames.
    pub mean_lost_frames: Option<f64>,
    /// Repetition by repetition.
    pub trials: Vec<ResetTrial>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// One repetition.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ResetTrial {
    /// Frames lost / offered rate; `None` where the tester could not send throughout, so that
    /// this method would report too little (RFC 6201 section 1.3).
    pub by_loss: Option<Duration>,
    /// First frame received after it - last frame received before it; `None` where the device
    /// did not forward again before the trial ended.
    pub by_timestamps: Option<Duration>,
    /// Frames lost.
    pub lost_frames: u64,
    /// How long the action itself took on the tester's clock.
    pub action_took: Option<Duration>,
    /// No frame was lost: "no loss" is the result.
    pub no_loss: bool,
    /// Why it does not count; empty where it does.
    pub invalid: Vec<String>,
}

/// Why there is no result of a tester that cannot act upon its device: no loss says nothing then.
const NOT_MADE: &str = "the reset was not made: the tester cannot act upon this device";

/// Resets the device under load, several times over.
pub fn reset(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    throughput: &ThroughputResult,
    kind: ResetKind,
) -> Result<ResetResult, RunError> {
    let config = &subject.config.reset;
    let mut result = ResetResult {
        conditions: subject.conditions(),
        not_measured: None,
        action: action(subject, kind),
        rate: None,
        mean_by_loss: None,
        mean_by_timestamps: None,
        mean_lost_frames: None,
        trials: vec![],
        notes: vec![],
    };
    let rate = match known_rate(throughput) {
        Ok((rate, note)) => {
            result.notes.extend(note);
            rate.scaled(config.rate_percent / 100.0)
        }
        Err(why) => {
            result.not_measured = Some(why);
            return Ok(result);
        }
    };
    result.rate = Some(rate);
    for repetition in 1..=config.repetitions {
        match repeat(bench, subject, rate, &result.action, repetition) {
            Ok(trial) if trial.action_took.is_none() && trial.invalid.is_empty() => {
                result.not_measured = Some(NOT_MADE.into());
                return Ok(result);
            }
            Ok(trial) => result.trials.push(trial),
            Err(RunError::Tester(error @ TesterError::Unsupported { .. })) => {
                result.not_measured = Some(error.to_string());
                return Ok(result);
            }
            Err(error) => return Err(error),
        }
    }
    conclude(&mut result);
    Ok(result)
}

fn action(subject: &Subject<'_>, kind: ResetKind) -> DeviceAction {
    match kind {
        ResetKind::Link => DeviceAction::LinkReset {
            port: subject.traffic.to(0).port,
            down_for: Duration::from_secs_f64(subject.config.reset.link_down_s),
        },
        ResetKind::Software => DeviceAction::SoftwareReset,
    }
}

fn repeat(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    rate: FrameRate,
    action: &DeviceAction,
    repetition: u32,
) -> Result<ResetTrial, RunError> {
    let config = &subject.config.reset;
    let before = Duration::from_secs_f64(config.before_s);
    let duration = before + Duration::from_secs_f64(config.after_s);
    let size = subject.size_in_words();
    let what = match action {
        DeviceAction::LinkReset { .. } => "link",
        DeviceAction::SoftwareReset => "software",
    };
    let label = format!("{what} {}, {size}: {rate:.1}, repetition {repetition}", TestKind::Reset);
    let is_link = matches!(action, DeviceAction::LinkReset { .. });
    let request = subject.request(TestKind::Reset, label, rate, duration);
    let shape = TrialShape { action: Some((before, action.clone())), ..request.shape };
    let ran = bench.run(Request {
        shape,
        judge: &|result| match result.invalid_reasons().iter().all(|r| is_of_the_reset(r, is_link))
        {
            true => Verdict::Measured,
            false => Verdict::Invalid,
        },
        ..request
    })?;
    Ok(evaluate(&ran, duration))
}

/// A link that is down keeps the tester itself from sending: that is the reset, not a fault.
fn is_of_the_reset(reason: &InvalidReason, is_link: bool) -> bool {
    use InvalidReason::*;
    is_link && matches!(reason, Shortfall { .. } | NotSent { .. } | CountersDisagree { .. })
}

fn evaluate(ran: &Ran, duration: Duration) -> ResetTrial {
    let result = &ran.result;
    let end = result.started_at + duration;
    let silences: Option<Vec<_>> =
        result.expected_accounts().map(|received| silence(received, end)).collect();
    let longest = silences.and_then(|all| all.into_iter().max_by_key(Silence::duration));
    let mut invalid = ran.invalid_reasons();
    invalid.extend(before_the_reset(result, longest));
    ResetTrial {
        by_loss: result.is_valid().then(|| by_loss(result)),
        by_timestamps: longest.map(|silence| silence.duration()),
        lost_frames: result.lost_frames(),
        action_took: result.action.map(|(began, ended)| ended.since(began)),
        no_loss: result.is_valid() && result.lost_frames() == 0,
        invalid,
    }
}

/// Frames lost / offered rate, of the direction that lost longest (RFC 6201 section 1.3).
fn by_loss(result: &TrialResult) -> Duration {
    let test = || result.streams.iter().filter(|stream| stream.role == trial::Role::Test);
    let seconds = test().filter_map(|stream| {
        let sent = result.sent.iter().find(|sent| sent.report.port == stream.from)?;
        // A port may send to several others in turn.
        let of_port = test().filter(|other| other.from == stream.from).map(|other| other.sent);
        let share = stream.sent as f64 / of_port.sum::<u64>().max(1) as f64;
        Some(stream.lost as f64 / (sent.report.sent_rate()?.fps() * share))
    });
    Duration::from_secs_f64(seconds.fold(0.0, f64::max))
}

/// The longest time without an arrival; `None` where none came again before `end`.
fn silence(received: &StreamReceived, end: Instant) -> Option<Silence> {
    let account = &received.account;
    let last = account.last_at?;
    let inside = account.longest_silence.unwrap_or(Silence { from: last, to: last });
    let at_the_end = end.since(last);
    let is_for_good = at_the_end > inside.duration() && at_the_end > Duration::from_ms(100);
    (!is_for_good).then_some(inside)
}

/// A silence that was over when the reset began says nothing of it, and may hide its own.
fn before_the_reset(result: &TrialResult, longest: Option<Silence>) -> Option<String> {
    let (began, _ended) = result.action?;
    let no_loss = result.is_valid() && result.lost_frames() == 0;
    let silence = longest.filter(|silence| silence.to <= began && !no_loss)?;
    Some(format!("the longest silence, {}, was over before the reset", silence.duration()))
}

fn conclude(result: &mut ResetResult) {
    let valid: Vec<_> = result.trials.iter().filter(|trial| trial.invalid.is_empty()).collect();
    let mean = |part: fn(&ResetTrial) -> Option<Duration>| {
        let all: Vec<_> = valid.iter().filter_map(|trial| part(trial)).collect();
        let sum: u128 = all.iter().map(|time| u128::from(time.as_ps())).sum();
        sum.checked_div(all.len() as u128).map(|ps| Duration::from_ps(ps as u64))
    };
    result.mean_by_loss = mean(|trial| trial.by_loss);
    result.mean_by_timestamps = mean(|trial| trial.by_timestamps);
    let lost: u64 = valid.iter().map(|trial| trial.lost_frames).sum();
    result.mean_lost_frames = (!valid.is_empty()).then(|| lost as f64 / valid.len() as f64);
    let invalid = result.trials.len() - valid.len();
    let unsent = valid.iter().filter(|trial| trial.by_loss.is_none()).count();
    let gone = valid.iter().filter(|trial| trial.by_timestamps.is_none()).count();
    result.notes.push(
        "a power interruption, which RFC 6201 section 4.3.1 requires, and a hardware reset are not made: \
         the tester cannot switch a device's power"
            .into(),
    );
    let mut say = |when: bool, what: String| result.notes.extend(when.then_some(what));
    say(invalid > 0, format!("{invalid} repetitions were invalid and do not count"));
    say(
        unsent > 0,
        format!(
            "in {unsent} repetitions the tester could not send while the link was down: only the \
             timestamp method applies (RFC 6201 section 1.3)"
        ),
    );
    say(gone > 0, format!("in {gone} repetitions the device did not forward again in time"));
}
