//! System recovery from overload (RFC 2544 section 26.5).
//!
//! The RFC's text subtracts the wrong way round; the value is the time from the halving of the
//! load to the departure of the last frame that was lost.

use crate::bench::{Bench, Ran, Request, measured};
use crate::rfc2544::ThroughputResult;
use crate::subject::Subject;
use crate::traffic::{Traffic, TrialShape};
use crate::{Conditions, Finding, Modifier, RunError, TestKind};
use serde::{Deserialize, Serialize};
use trial::{Schedule, Segment, StreamId, Transmitter};
use units::{Duration, FrameRate, Instant};
use wire::signature::Key;

/// The result for one frame size.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RecoveryResult {
    /// Under which conditions.
    pub conditions: Conditions,
    /// Why there is no result; `None` where there is one.
    pub not_measured: Option<String>,
    /// Throughput that the overload was computed from.
    pub throughput: Option<FrameRate>,
    /// 110 % of it, or the maximum if that is lower; of each direction.
    pub overload: Option<FrameRate>,
    /// Whether `overload` is the maximum and less than 110 % of the throughput.
    pub overload_is_maximum: bool,
    /// How long it lasted.
    pub overload_duration: Duration,
    /// Mean of the repetitions that count; the reported value. A repetition in which the device did
    /// not recover counts with the time until which it lost frames.
    pub mean: Option<Duration>,
    /// Whether there was such a repetition, so that mean and longest are lower bounds.
    #[serde(default)]
    pub is_lower_bound: bool,
    /// The shortest.
    pub min: Option<Duration>,
    /// The longest.
    pub max: Option<Duration>,
    /// Repetition by repetition.
    pub trials: Vec<RecoveryTrial>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// One repetition.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RecoveryTrial {
    /// What came of it.
    pub outcome: RecoveryOutcome,
    /// Frames lost, in the overload and after it.
    pub lost_frames: u64,
}

/// What came of a repetition.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RecoveryOutcome {
    /// From the halving of the load to the departure of the last frame lost.
    Recovered {
        /// Zero where no frame was lost after the halving.
        time: Duration,
    },
    /// The overload lost no frame: there was nothing to recover from.
    NoOverload,
    /// Frames were lost until the end of the observation: it did not recover in that time.
    NotRecovered {
        /// How long was observed.
        observed: Duration,
        /// When the last frame lost had left, from the halving of the load.
        #[serde(default)]
        lost_until: Duration,
    },
    /// The tester failed.
    Invalid {
        /// Why, in words.
        reasons: Vec<String>,
    },
}

/// Overloads the device, halves the load, and finds the last frame lost, several times over.
pub fn recovery(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    throughput: &ThroughputResult,
) -> Result<RecoveryResult, RunError> {
    let config = &subject.config.recovery;
    let mut result = RecoveryResult {
        conditions: subject.conditions(),
        not_measured: None,
        throughput: throughput.throughput.rate,
        overload: None,
        overload_is_maximum: false,
        overload_duration: Duration::from_secs_f64(config.overload_s),
        mean: None,
        is_lower_bound: false,
        min: None,
        max: None,
        trials: vec![],
        notes: vec![],
    };
    let rate = match overload_of(&throughput.throughput.finding, throughput.throughput.rate) {
        Ok(rate) => rate,
        Err(why) => {
            result.not_measured = Some(why);
            return Ok(result);
        }
    };
    let wanted = rate.scaled(config.overload_percent / 100.0);
    let overload = wanted.min(subject.ceiling.rate);
    result.overload = Some(overload);
    result.overload_is_maximum = overload < wanted;
    let schedule = schedule(subject, overload);
    for repetition in 1..=config.repetitions {
        let trial = repeat(bench, subject, overload, &schedule, repetition)?;
        result.trials.push(trial);
    }
    conclude(&mut result);
    Ok(result)
}

/// The throughput, where more than that can be offered.
fn overload_of(finding: &Finding, rate: Option<FrameRate>) -> Result<FrameRate, String> {
    match (finding, rate) {
        (Finding::Measured | Finding::Between { .. }, Some(rate)) => Ok(rate),
        (Finding::AtTheoreticalMaximum, _) => {
            Err("no overload is possible: no loss at the medium's theoretical maximum".into())
        }
        (Finding::AtLeast { why }, _) => {
            Err(format!("no overload is possible: no loss at the tester's limit ({why})"))
        }
        _ => Err("there is no throughput to compute the overload from".into()),
    }
}

/// Overload, then half of it, with no gap between.
fn schedule(subject: &Subject<'_>, overload: FrameRate) -> Schedule {
    let config = &subject.config.recovery;
    let half = overload.scaled(0.5);
    let segment = |rate: FrameRate, seconds: f64| {
        Segment::constant(rate, rate.frames_in(Duration::from_secs_f64(seconds)))
    };
    Schedule {
        segments: vec![segment(overload, config.overload_s), segment(half, config.observe_s)],
    }
}

fn repeat(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    overload: FrameRate,
    schedule: &Schedule,
    repetition: u32,
) -> Result<RecoveryTrial, RunError> {
    let size = subject.size_in_words();
    let shape = TrialShape {
        label: format!(
            "{}, {size}: overload {overload:.1}, then half, repetition {repetition}",
            TestKind::Recovery
        ),
        schedule: schedule.clone(),
        waits: subject.config.waits(),
        tags: None,
        action: None,
        beside: None,
    };
    let ran = bench.run(Request {
        test: TestKind::Recovery,
        traffic: subject.traffic,
        shape: shape.clone(),
        intended: overload,
        bounds: None,
        judge: &measured,
    })?;
    let outcome = judge(subject, &shape, &ran)?;
    Ok(RecoveryTrial { outcome, lost_frames: ran.result.lost_frames() })
}

fn judge(
    subject: &Subject<'_>,
    shape: &TrialShape,
    ran: &Ran,
) -> Result<RecoveryOutcome, RunError> {
    let reasons = ran.invalid_reasons();
    if !reasons.is_empty() {
        return Ok(RecoveryOutcome::Invalid { reasons });
    }
    if ran.result.lost_frames() == 0 {
        return Ok(RecoveryOutcome::NoOverload);
    }
    let halved = sent_schedule(subject.traffic, shape)?.starts().nth(1).map(|(_, _, start)| start);
    let halved = halved.unwrap_or(Duration::ZERO);
    let mut last_lost = Duration::ZERO;
    for received in ran.result.expected_accounts() {
        if let Some(sequence) = received.missing.last {
            let left = departure(subject.traffic, shape, received.stream, sequence)?;
            last_lost = last_lost.max(left);
        }
    }
    let time = last_lost.saturating_sub(halved);
    let observed = Duration::from_secs_f64(subject.config.recovery.observe_s);
    // Loss in the last tenth of the observation: nobody can say that it was over.
    let is_over = time.as_secs_f64() < 0.9 * observed.as_secs_f64();
    Ok(if is_over {
        RecoveryOutcome::Recovered { time }
    } else {
        RecoveryOutcome::NotRecovered { observed, lost_until: time }
    })
}

/// When frame `sequence` of a stream was due, from the start. Without modifiers the port's frames go
/// to its streams in turn; with them the plan is walked through.
fn departure(
    traffic: &Traffic,
    shape: &TrialShape,
    stream: StreamId,
    sequence: u64,
) -> Result<Duration, RunError> {
    if traffic.modifier() == Modifier::None {
        let (place, streams) = traffic.turn_of(stream);
        return Ok(sent_schedule(traffic, shape)?.departure(sequence * streams + place));
    }
    let trial = traffic.trial(Key::from_seed(0), shape)?;
    for plan in trial.transmit_plans()? {
        let mut buffer = vec![0; plan.set.longest_bytes()];
        let mut transmitter = Transmitter::new(&plan, Instant::ZERO, Duration::from_ns(1));
        while let Some(due) = transmitter.next_due() {
            let emitted = transmitter.emit(due, &mut buffer);
            if emitted.stream == stream && emitted.sequence == sequence {
                return Ok(due.since(Instant::ZERO));
            }
        }
    }
    Ok(shape.schedule.duration())
}

/// What the shape's schedule comes to with the frames of this traffic: mixes are spaced by length.
fn sent_schedule(traffic: &Traffic, shape: &TrialShape) -> Result<Schedule, RunError> {
    let plans = traffic.trial(Key::from_seed(0), shape)?.transmit_plans()?;
    Ok(plans.into_iter().next().map_or_else(|| shape.schedule.clone(), |plan| plan.schedule))
}

fn conclude(result: &mut RecoveryResult) {
    let times: Vec<Duration> = result.trials.iter().filter_map(RecoveryTrial::time).collect();
    let sum: u128 = times.iter().map(|time| u128::from(time.as_ps())).sum();
    let mean = sum.checked_div(times.len() as u128);
    result.mean = mean.map(|ps| Duration::from_ps(ps as u64));
    result.min = times.iter().min().copied();
    result.max = times.iter().max().copied();
    let others = result.trials.len() - times.len();
    if others > 0 {
        let what = "had no loss in the overload, or were invalid";
        result.notes.push(format!("{others} repetitions do not count: they {what}"));
    }
    let is_open = |trial: &&RecoveryTrial| trial.outcome.is_open();
    let open = result.trials.iter().filter(is_open).count();
    result.is_lower_bound = open > 0;
    if result.is_lower_bound {
        result.notes.push(format!(
            "{open} repetitions did not recover and count with the time until which frames were lost: \
             mean and longest are lower bounds"
        ));
    }
    if result.overload_is_maximum {
        result.notes.push("the overload is the maximum, less than asked for".into());
    }
}

impl RecoveryTrial {
    /// That or more, where the device did not recover.
    fn time(&self) -> Option<Duration> {
        match self.outcome {
            RecoveryOutcome::Recovered { time } => Some(time),
            RecoveryOutcome::NotRecovered { lost_until, .. } => Some(lost_until),
            _ => None,
        }
    }
}

impl RecoveryOutcome {
    fn is_open(&self) -> bool {
        matches!(self, RecoveryOutcome::NotRecovered { .. })
    }
}
