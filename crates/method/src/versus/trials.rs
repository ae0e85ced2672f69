//! Single trials: what each is worth, and why it may be worth nothing.

use super::event::{Purpose, VersusEvent, VersusTrial};
use super::run::Running;
use super::{Metric, Side};
use crate::RunError;
use crate::traffic::TrialShape;
use trial::{InvalidReason, Schedule, StreamReceived, TrialResult, allowance};
use units::{Duration, FrameRate};
use wire::signature::{Key, RunKey};

/// Attempts at a trial before its block goes without.
const ATTEMPTS: u32 = 4;
/// A device is saturated where it loses at least this share of what is offered.
const SATURATED_LOSS: f64 = 0.02;
/// Fewer tokens than this share of what came out are within the error of a comparison.
const TOKENS_AT_LEAST: f64 = 0.001;
/// Why a trial is no flood.
pub(super) const UNSATURATED: &str = "the device was not saturated";

/// What a trial says of each metric, or why it says nothing.
pub(super) type Measured = Vec<(Metric, Result<f64, String>)>;

/// A trial to be made.
#[derive(Clone, Copy)]
pub(super) struct Request {
    pub side: Side,
    pub purpose: Purpose,
    pub load: FrameRate,
    pub duration: Duration,
}

/// Why there is no latency to compare.
const NO_LATENCY: &str = "no latency was measured, or none without the error of two clocks: sender and receiver are on two hosts";

impl Running<'_, '_> {
    /// The rate of a side under overload; where it `must_saturate`, only with loss.
    pub(super) fn flood(
        &mut self,
        side: Side,
        load: FrameRate,
        must_saturate: bool,
    ) -> Result<Measured, RunError> {
        let unfit = |result: &TrialResult| {
            let unsaturated = || (must_saturate && !is_saturated(result)).then_some(UNSATURATED);
            unfit_for_flood(result).or_else(|| unsaturated().map(String::from))
        };
        let rate = self.fit_trial(side, Purpose::Rate, load, unfit)?.map(|trial| trial.rate_fps);
        Ok(vec![(Metric::Rate, rate)])
    }

    /// Latency and cost of a side.
    pub(super) fn moderate(&mut self, side: Side, load: FrameRate) -> Result<Measured, RunError> {
        let unfit = |result: &TrialResult| result.invalid_reasons().first().map(kind);
        let trial = self.fit_trial(side, Purpose::Moderate, load, unfit)?;
        let of = |value: fn(&VersusTrial) -> Option<f64>, without: &str| match &trial {
            Ok(trial) => value(trial).ok_or(without.to_string()),
            Err(why) => Err(why.clone()),
        };
        let mut measured = vec![
            (Metric::LatencyP50, of(|trial| trial.latency_p50_ns, NO_LATENCY)),
            (Metric::LatencyP99, of(|trial| trial.latency_p99_ns, NO_LATENCY)),
        ];
        if self.has_cost {
            let without = "the device's threads used no time that was seen";
            measured.push((Metric::Cost, of(|trial| trial.cost_ns, without)));
        }
        Ok(measured)
    }

    /// A trial that is repeated while it is unfit for what it is made for; why, where it stays so.
    fn fit_trial(
        &mut self,
        side: Side,
        purpose: Purpose,
        load: FrameRate,
        unfit: impl Fn(&TrialResult) -> Option<String>,
    ) -> Result<Result<VersusTrial, String>, RunError> {
        let duration = self.versus.config.trial;
        let mut last = String::new();
        for _ in 0..ATTEMPTS {
            let trial = self.trial(Request { side, purpose, load, duration }, &unfit)?;
            let Some(why) = trial.unfit else { return Ok(Ok(trial)) };
            last = why;
        }
        Ok(Err(last))
    }

    /// Makes a trial, counts it, and tells of it.
    pub(super) fn trial(
        &mut self,
        request: Request,
        unfit: &impl Fn(&TrialResult) -> Option<String>,
    ) -> Result<VersusTrial, RunError> {
        let Request { side, purpose, load, duration } = request;
        let config = self.versus.config;
        self.trials += 1;
        let run_key = config.run_key.unwrap_or(RunKey::from_seed(config.seed));
        let shape = TrialShape {
            label: format!("versus {side}: {load:.1} for {duration}"),
            schedule: Schedule::constant(load, duration),
            waits: config.waits,
            tags: None,
            action: None,
            beside: None,
        };
        let trial =
            self.versus.traffic[side as usize].trial(Key::new(run_key, self.trials), &shape)?;
        // Switches the device before its threads' time is read.
        self.pair.tester(side)?;
        let before = self.pair.device_time(side);
        let result = self.pair.tester(side)?.run(&trial)?;
        let used = match (before, self.pair.device_time(side)) {
            (Some(before), Some(after)) => Some(after.saturating_sub(before)),
            _ => None,
        };
        let (rate_fps, shows_tokens) = carried(&result);
        let unfit = unfit(&result);
        if let Some(why) = &unfit {
            self.invalid_trials += 1;
            *self.invalid_reasons.entry(why.clone()).or_default() += 1;
        }
        let told = VersusTrial {
            number: self.trials,
            block: self.block,
            side,
            purpose,
            at: self.pair.elapsed(),
            intended: load,
            offered: result.offered_rate(),
            offered_frames: result.offered_frames(),
            lost_frames: result.lost_frames(),
            rate_fps,
            shows_tokens,
            latency_p50_ns: latency(&result, 50.0),
            latency_p99_ns: latency(&result, 99.0),
            cost_ns: used.and_then(|used| cost(&result, used)),
            unfit,
        };
        (self.sink)(&VersusEvent::VersusTrial(told.clone()))?;
        Ok(told)
    }
}

/// Whether a device loses so much that what comes out is all that it carries.
pub(super) fn is_saturated_at(carried_fps: f64, offered_fps: f64) -> bool {
    carried_fps < (1.0 - SATURATED_LOSS) * offered_fps
}

fn is_saturated(result: &TrialResult) -> bool {
    is_saturated_at(carried(result).0, result.offered_rate().fps())
}

/// In nanoseconds; `None` where none was measured.
fn latency(result: &TrialResult, percent: f64) -> Option<f64> {
    let latency = result.own_latency()?.percentile(percent)?;
    (latency > Duration::ZERO).then(|| latency.as_ns_f64())
}

/// Nanoseconds of the device's threads for a frame; `None` where they used none that was seen.
fn cost(result: &TrialResult, used: Duration) -> Option<f64> {
    let cost = used.as_ns_f64() / result.forwarded_frames().max(1) as f64;
    (cost > 0.0).then_some(cost)
}

/// What a device carries, in frames a second, and whether it has tokens that count. Tokens let frames pass beyond that:
/// where a trial with loss shows some, the rate is what came out from the first loss on.
fn carried(result: &TrialResult) -> (f64, bool) {
    let busy = busy_rate(result);
    let least = TOKENS_AT_LEAST * result.forwarded_frames() as f64;
    match allowance(result).filter(|shown| shown.frames > least) {
        Some(shown) => (busy.min((shown.all_fps.0 + shown.all_fps.1) / 2.0), true),
        None => (busy, false),
    }
}

/// Frames over the time from the first arrival to the last, over all receiving ports, in frames a
/// second; by the sending time where arrival times are not known.
fn busy_rate(result: &TrialResult) -> f64 {
    let rate = |received: &StreamReceived| {
        let account = &received.account;
        let span = account.last_at?.since(account.first_at?).as_secs_f64();
        (span > 0.0).then(|| account.unique.saturating_sub(1) as f64 / span)
    };
    let rates: Option<Vec<f64>> = result.expected_accounts().map(rate).collect();
    let rates = rates.filter(|rates| !rates.is_empty());
    rates.map_or(result.forwarding_rate().fps(), |rates| rates.iter().sum())
}

/// Why a trial says nothing of a device under overload: all but that the tester sent less than
/// intended.
pub(super) fn unfit_for_flood(result: &TrialResult) -> Option<String> {
    let harmless = |reason: &&InvalidReason| matches!(reason, InvalidReason::Shortfall { .. });
    result.invalid_reasons().iter().find(|reason| !harmless(reason)).map(kind)
}

/// A reason without its numbers, to be counted.
fn kind(reason: &InvalidReason) -> String {
    match reason {
        InvalidReason::Shortfall { .. } => "the tester fell short of the intended load",
        InvalidReason::TesterDropped { .. } => "the tester itself lost frames",
        InvalidReason::NotSent { .. } => "frames were handed over but not sent",
        InvalidReason::StillArriving { .. } => "the device still put out frames after the wait",
        InvalidReason::MachineLate { .. } => "the machine was late",
        InvalidReason::CountersDisagree { .. } => "counters disagree",
        InvalidReason::StartSkew { .. } => "ports started apart",
        InvalidReason::TooFast { .. } => "ports sent too fast",
        InvalidReason::Leftovers { .. } => "frames of an earlier trial were in the device's way",
        InvalidReason::DeviceHeldUp { .. } => "the device waited for a processor",
        InvalidReason::OnTheWay { .. } => "frames that left the device had not arrived",
        other => return other.to_string(),
    }
    .into()
}
