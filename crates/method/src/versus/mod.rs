//! Two configurations of a device, A and B, compared in interleaved trials of one run.
//!
//! A machine drifts: its clock rate, its caches, its neighbours. Two runs one after the other
//! measure the drift with the difference. Here trials alternate in blocks of A B B A or B A A B,
//! drawn by a seed, so that what drifts steadily cancels within a block and the rest falls on
//! either side by chance. Each block gives one ratio B/A, that of the better trial of either side,
//! since a neighbour on the machine only ever slows a trial; the result is the interval of their
//! middle ([`interval`]).
//!
//! * **Rate**: the rate at which frames leave the device under a load of 1.3 times what the faster
//!   of the two carries, the same for both: frames over the time from the first to the last
//!   arrival, so that what a queue still holds when the sender ends counts at the rate at which it
//!   is emptied.
//! * **Latency**: median and 99th percentile at half of what the slower carries, the same for both.
//! * **Cost**: processor time of the device's own threads for each frame forwarded in the latter
//!   trials, where the device has such threads.
//!
//! The interval is looked at after [`LOOKS`] blocks only, each time with an equal part of the
//! error allowed. By Bonferroni's inequality the interval reported misses the truth with no more
//! than the error stated, whatever the rule by which the run stopped at a look.

mod criterion;
mod interval;

pub use criterion::{Criterion, Fails, Met};
pub use interval::Interval;

use crate::traffic::TrialShape;
use crate::{RunError, Traffic};
use interval::interval;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use trial::{InvalidReason, Schedule, Tester, TesterError, TrialResult, Waits};
use units::{Duration, FrameRate};
use wire::signature::{Key, RunKey};

/// After how many blocks the result is looked at.
pub const LOOKS: [usize; 6] = [8, 12, 18, 27, 40, 60];
/// Attempts at a trial before its block goes without.
const ATTEMPTS: u32 = 4;
/// Blocks without a value, one after the other, before a metric is given up.
const FRUITLESS_BLOCKS: u32 = 3;
/// The flood, in terms of what the faster of the two carries.
const FLOOD: f64 = 1.3;
/// A device is saturated where it loses at least this share of what is offered.
const SATURATED_LOSS: f64 = 0.02;
/// Why a trial is no flood.
const UNSATURATED: &str = "the device was not saturated";
/// The moderate load, in terms of what the slower of the two carries.
const MODERATE: f64 = 0.5;

/// One of the two configurations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The first: the base of all ratios.
    A,
    /// The second.
    B,
}

/// Two configurations to choose from, before each trial.
pub trait Pair {
    /// Switches to a side, where that takes anything, and gives its tester.
    fn tester(&mut self, side: Side) -> Result<&mut dyn Tester, TesterError>;
    /// Time since the run began.
    fn elapsed(&self) -> Duration;
    /// Processor time that the device's own threads have used so far; `None` where it has none.
    fn device_time(&mut self, _side: Side) -> Option<Duration> {
        None
    }
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Forwarding rate under overload, frames a second.
    Rate,
    /// Median latency at a moderate load, nanoseconds.
    LatencyP50,
    /// 99th percentile of it.
    LatencyP99,
    /// Processor time of the device's threads for a frame forwarded at that load, nanoseconds.
    Cost,
}

/// How a comparison is made.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VersusConfig {
    /// Chance that an interval holds the truth, at least.
    pub confidence: f64,
    /// Half width of the rate's interval at which the run ends, as a share; without criteria.
    pub precision: f64,
    /// The run ends before a block that would exceed it.
    pub most_time: Duration,
    /// Length of a trial.
    pub trial: Duration,
    /// After each trial.
    pub waits: Waits,
    /// Draws the order within blocks.
    pub seed: u64,
    /// What the signatures are made with; of the seed where none is given.
    pub run_key: Option<RunKey>,
    /// The run ends when all of them are decided.
    pub criteria: Vec<Criterion>,
}

/// A comparison to be made.
pub struct Versus<'a> {
    /// How.
    pub config: &'a VersusConfig,
    /// The traffic of A and of B.
    pub traffic: [&'a Traffic; 2],
    /// No load is above it.
    pub ceiling: FrameRate,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VersusResult {
    /// By metric.
    pub ratios: Vec<Ratio>,
    /// What became of each criterion.
    pub criteria: Vec<(Criterion, Met)>,
    /// Chance that an interval holds the truth, at least.
    pub confidence: f64,
    /// Blocks made.
    pub blocks: usize,
    /// Trials made, and those among them that decided nothing.
    pub trials: u64,
    /// See `trials`.
    pub invalid_trials: u64,
    /// Why trials were invalid, and how many for each reason.
    pub invalid_reasons: BTreeMap<String, u64>,
    /// The load of rate trials; `None` where the device was not saturated.
    pub flood: Option<FrameRate>,
    /// The load of the other trials.
    pub moderate: Option<FrameRate>,
    /// How long the run took.
    pub elapsed: Duration,
}

/// The ratio B/A of one metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// Which.
    pub metric: Metric,
    /// Median of A's trials.
    pub a: Option<f64>,
    /// Median of B's trials.
    pub b: Option<f64>,
    /// Where the ratio lies; `None` where too few blocks have a value.
    pub interval: Option<Interval>,
    /// Ratios of the blocks, in their order.
    pub blocks: Vec<f64>,
    /// Why there is no interval.
    pub why: Option<String>,
}

/// What was measured of one metric so far.
#[derive(Default)]
struct Values {
    a: Vec<f64>,
    b: Vec<f64>,
    logs: Vec<f64>,
    fruitless: u32,
    why: Option<String>,
}

/// The two loads.
#[derive(Clone, Copy)]
struct Loads {
    flood: Option<FrameRate>,
    moderate: FrameRate,
}

struct Running<'v, 'a> {
    versus: &'v Versus<'a>,
    pair: &'v mut dyn Pair,
    random: u64,
    trials: u64,
    invalid_trials: u64,
    invalid_reasons: BTreeMap<String, u64>,
    values: BTreeMap<Metric, Values>,
}

impl Versus<'_> {
    /// Runs until the result is good enough, or time is up.
    pub fn run(
        &self,
        pair: &mut dyn Pair,
        mut progress: impl FnMut(usize, &[Ratio]),
    ) -> Result<VersusResult, RunError> {
        let mut running = Running {
            versus: self,
            pair,
            random: self.config.seed,
            trials: 0,
            invalid_trials: 0,
            invalid_reasons: BTreeMap::new(),
            values: BTreeMap::new(),
        };
        let (mut loads, why) = running.find_loads()?;
        let began = running.pair.elapsed();
        let mut blocks = 0;
        let mut ratios = running.ratios(0.0);
        while let Some(loads) = &mut loads {
            running.block(loads)?;
            blocks += 1;
            let elapsed = running.pair.elapsed();
            let a_block = Duration::from_ps(elapsed.saturating_sub(began).as_ps() / blocks as u64);
            let is_last = elapsed + a_block > self.config.most_time
                || blocks == LOOKS[LOOKS.len() - 1]
                || running.is_hopeless();
            if LOOKS.contains(&blocks) || is_last {
                ratios = running.ratios((1.0 - self.config.confidence) / LOOKS.len() as f64);
                progress(blocks, &ratios);
                if is_last || self.is_enough(&ratios) {
                    break;
                }
            }
        }
        Ok(running.finish(ratios, blocks, loads, why))
    }

    /// Whether trials under overload, or those at the moderate load, are asked for: where there are
    /// criteria, only what they need is measured.
    fn wants(&self, is_flood: bool) -> bool {
        let criteria = &self.config.criteria;
        let needs = |criterion: &Criterion| (criterion.metric == Metric::Rate) == is_flood;
        criteria.is_empty() || criteria.iter().any(needs)
    }

    /// Whether every criterion is decided, or without one whether the rate is known well enough.
    fn is_enough(&self, ratios: &[Ratio]) -> bool {
        let interval = |metric| ratios.iter().find(|ratio| ratio.metric == metric)?.interval;
        if self.config.criteria.is_empty() {
            let interval = interval(Metric::Rate).or(interval(Metric::LatencyP50));
            return interval.is_some_and(|it| it.half_width() <= self.config.precision);
        }
        let criteria = self.config.criteria.iter();
        criteria.map(|it| it.met(interval(it.metric))).all(|met| met != Met::Undecided)
    }
}

impl Running<'_, '_> {
    /// Loads four times as large each until the device loses a tenth, or the tester can no more.
    fn find_loads(&mut self) -> Result<(Option<Loads>, Option<String>), RunError> {
        let mut carried = [0.0; 2];
        let mut is_saturated = true;
        for (place, side) in [Side::A, Side::B].into_iter().enumerate() {
            let (fps, did_saturate) = self.capacity(side)?;
            carried[place] = fps;
            is_saturated &= did_saturate;
        }
        let [slower, faster] = [carried[0].min(carried[1]), carried[0].max(carried[1])];
        if slower <= 0.0 {
            let why = self.invalid_reasons.keys().cloned().collect::<Vec<_>>().join("; ");
            return Ok((None, Some(format!("no load passes: {why}"))));
        }
        let rate = |fps: f64| FrameRate::from_fps_f64(fps).min(self.versus.ceiling);
        let flood = is_saturated.then(|| rate(faster * FLOOD));
        let why = "the tester cannot offer more than the device carries".to_string();
        let why = (!is_saturated).then_some(why);
        Ok((Some(Loads { flood, moderate: rate(slower * MODERATE) }), why))
    }

    /// What a side carries, roughly, and whether it was saturated.
    fn capacity(&mut self, side: Side) -> Result<(f64, bool), RunError> {
        let ceiling = self.versus.ceiling.fps();
        let mut load = ceiling / 1024.0;
        let mut most = 0.0f64;
        loop {
            let result = self.trial(side, FrameRate::from_fps_f64(load))?;
            let fps = busy_rate(&result);
            let offered = result.offered_rate().fps();
            // What the tester lost itself says nothing; what it failed to send does no harm here.
            if unfit_for_flood(&result).is_none() {
                most = most.max(fps);
                if fps < 0.9 * offered {
                    return Ok((most, true));
                }
            }
            if load >= ceiling || offered < 0.9 * load {
                return Ok((most, most > 0.0 && fps < (1.0 - SATURATED_LOSS) * offered));
            }
            load = (load * 4.0).min(ceiling);
        }
    }

    fn block(&mut self, loads: &mut Loads) -> Result<(), RunError> {
        let (first, second) = if self.draw() { (Side::A, Side::B) } else { (Side::B, Side::A) };
        if let Some(flood) = loads.flood.filter(|_| self.versus.wants(true)) {
            let order = [first, second, second, first];
            let before = self.unsaturated();
            self.measure(&order, |running, side| running.flood(side, flood))?;
            if self.unsaturated() > before {
                // The search for the loads met a disturbed trial.
                let higher = flood.scaled(FLOOD).min(self.versus.ceiling);
                loads.flood = Some(higher);
            }
        }
        if !self.versus.wants(false) {
            return Ok(());
        }
        let moderate = loads.moderate;
        self.measure(&[first, second], |running, side| running.moderate(side, moderate))
    }

    /// Makes the trials of a block in this order, and takes their ratio.
    fn measure(
        &mut self,
        order: &[Side],
        mut trial: impl FnMut(&mut Self, Side) -> Result<Measured, RunError>,
    ) -> Result<(), RunError> {
        let mut values: BTreeMap<Metric, [Vec<f64>; 2]> = BTreeMap::new();
        let mut failed: BTreeMap<Metric, String> = BTreeMap::new();
        for side in order {
            for (metric, value) in trial(self, *side)? {
                match value {
                    Ok(value) => values.entry(metric).or_default()[*side as usize].push(value),
                    Err(why) => drop(failed.insert(metric, why)),
                }
            }
        }
        for (metric, why) in failed {
            values.remove(&metric);
            let all = self.values.entry(metric).or_default();
            all.fruitless += 1;
            all.why = Some(why);
        }
        for (metric, [a, b]) in values {
            let log = |values: &[f64]| metric.best(values).ln();
            let all = self.values.entry(metric).or_default();
            all.fruitless = 0;
            all.logs.push(log(&b) - log(&a));
            all.a.extend(a);
            all.b.extend(b);
        }
        Ok(())
    }

    /// Trials so far in which the flood was none.
    fn unsaturated(&self) -> u64 {
        self.invalid_reasons.get(UNSATURATED).copied().unwrap_or(0)
    }

    fn flood(&mut self, side: Side, load: FrameRate) -> Result<Measured, RunError> {
        let result = self.fit_trial(side, load, |result| {
            let is_saturated =
                busy_rate(result) < (1.0 - SATURATED_LOSS) * result.offered_rate().fps();
            let unsaturated = || UNSATURATED.to_string();
            unfit_for_flood(result).or_else(|| (!is_saturated).then(unsaturated))
        })?;
        Ok(vec![(Metric::Rate, result.map(|result| busy_rate(&result)))])
    }

    fn moderate(&mut self, side: Side, load: FrameRate) -> Result<Measured, RunError> {
        let before = self.pair.device_time(side);
        let result =
            self.fit_trial(side, load, |result| result.invalid_reasons().first().map(kind))?;
        let after = self.pair.device_time(side);
        let latency = |percent| match &result {
            Ok(result) => {
                let latency = result.latency().and_then(|latency| latency.percentile(percent));
                let latency = latency.filter(|latency| *latency > Duration::ZERO);
                latency.map(|latency| latency.as_ns_f64()).ok_or("no latency was measured".into())
            }
            Err(why) => Err(why.clone()),
        };
        let mut measured =
            vec![(Metric::LatencyP50, latency(50.0)), (Metric::LatencyP99, latency(99.0))];
        if let (Some(before), Some(after), Ok(result)) = (before, after, &result) {
            let time = after.saturating_sub(before).as_ns_f64();
            let cost = time / result.forwarded_frames().max(1) as f64;
            let unseen = "the device's threads used no time that was seen";
            measured.push((Metric::Cost, if cost > 0.0 { Ok(cost) } else { Err(unseen.into()) }));
        }
        Ok(measured)
    }

    /// A trial that is repeated while it is unfit for what it is made for; why, where it stays so.
    fn fit_trial(
        &mut self,
        side: Side,
        load: FrameRate,
        unfit: impl Fn(&TrialResult) -> Option<String>,
    ) -> Result<Result<TrialResult, String>, RunError> {
        let mut last = String::new();
        for _ in 0..ATTEMPTS {
            let result = self.trial(side, load)?;
            let Some(why) = unfit(&result) else { return Ok(Ok(result)) };
            self.invalid_trials += 1;
            *self.invalid_reasons.entry(why.clone()).or_default() += 1;
            last = why;
        }
        Ok(Err(last))
    }

    fn trial(&mut self, side: Side, load: FrameRate) -> Result<TrialResult, RunError> {
        let config = self.versus.config;
        self.trials += 1;
        let run_key = config.run_key.unwrap_or(RunKey::from_seed(config.seed));
        let shape = TrialShape {
            label: format!("versus {side}: {load:.1} for {}", config.trial),
            schedule: Schedule::constant(load, config.trial),
            waits: config.waits,
            tags: None,
            action: None,
            beside: None,
        };
        let trial =
            self.versus.traffic[side as usize].trial(Key::new(run_key, self.trials), &shape)?;
        Ok(self.pair.tester(side)?.run(&trial)?)
    }

    /// A fair coin (splitmix64).
    fn draw(&mut self) -> bool {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) >> 63 == 1
    }

    /// Whether nothing comes of any metric.
    fn is_hopeless(&self) -> bool {
        self.values.values().all(|values| values.fruitless >= FRUITLESS_BLOCKS)
    }

    fn ratios(&self, error: f64) -> Vec<Ratio> {
        let of = |(metric, values): (&Metric, &Values)| {
            let interval = interval(&values.logs, error);
            let few = || format!("{} blocks are too few", values.logs.len());
            let why = || values.why.clone().unwrap_or_else(few);
            Ratio {
                metric: *metric,
                a: median(&values.a),
                b: median(&values.b),
                interval,
                blocks: values.logs.iter().map(|log| log.exp()).collect(),
                why: interval.is_none().then(why),
            }
        };
        self.values.iter().map(of).collect()
    }

    fn finish(
        self,
        mut ratios: Vec<Ratio>,
        blocks: usize,
        loads: Option<Loads>,
        why: Option<String>,
    ) -> VersusResult {
        let has_rate = ratios.iter().any(|ratio| ratio.metric == Metric::Rate);
        if !has_rate && self.versus.wants(true) {
            let none = Ratio { why, ..Ratio::none(Metric::Rate) };
            ratios.insert(0, none);
        }
        let config = self.versus.config;
        let met = |criterion: &Criterion| {
            let ratio = ratios.iter().find(|ratio| ratio.metric == criterion.metric);
            (*criterion, criterion.met(ratio.and_then(|ratio| ratio.interval)))
        };
        VersusResult {
            criteria: config.criteria.iter().map(met).collect(),
            confidence: config.confidence,
            blocks,
            trials: self.trials,
            invalid_trials: self.invalid_trials,
            invalid_reasons: self.invalid_reasons,
            flood: loads.and_then(|loads| loads.flood),
            moderate: loads.map(|loads| loads.moderate),
            elapsed: self.pair.elapsed(),
            ratios,
        }
    }
}

/// What a trial says of each metric, or why it says nothing.
type Measured = Vec<(Metric, Result<f64, String>)>;

/// Frames over the time from the first arrival to the last, over all receiving ports, in frames a
/// second; by the sending time where arrival times are not known.
fn busy_rate(result: &TrialResult) -> f64 {
    let rate = |received: &trial::StreamReceived| {
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
fn unfit_for_flood(result: &TrialResult) -> Option<String> {
    let harmless = |reason: &&InvalidReason| matches!(reason, InvalidReason::Shortfall { .. });
    result.invalid_reasons().iter().find(|reason| !harmless(reason)).map(kind)
}

/// The median; `None` of none.
fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = sorted.get(sorted.len() / 2)?;
    Some((sorted[(sorted.len() - 1) / 2] + upper) / 2.0)
}

/// A reason without its numbers, to be counted.
fn kind(reason: &InvalidReason) -> String {
    match reason {
        InvalidReason::Shortfall { .. } => "the tester fell short of the intended load",
        InvalidReason::TesterDropped { .. } => "the tester itself lost frames",
        InvalidReason::NotSent { .. } => "frames were handed over but not sent",
        InvalidReason::StillArriving { .. } => "the device still put out frames after the wait",
        InvalidReason::CountersDisagree { .. } => "counters disagree",
        InvalidReason::StartSkew { .. } => "ports started apart",
        InvalidReason::TooFast { .. } => "ports sent too fast",
        other => return other.to_string(),
    }
    .into()
}

impl Ratio {
    fn none(metric: Metric) -> Ratio {
        Ratio { metric, a: None, b: None, interval: None, blocks: vec![], why: None }
    }
}

impl Metric {
    /// As criteria name it.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Rate => "rate",
            Metric::LatencyP50 => "latency_p50",
            Metric::LatencyP99 => "latency_p99",
            Metric::Cost => "cost",
        }
    }
    /// The best of a side's trials in a block: what disturbs a trial only ever makes it worse.
    fn best(self, values: &[f64]) -> f64 {
        match self {
            Metric::Rate => values.iter().copied().fold(0.0, f64::max),
            _ => values.iter().copied().fold(f64::INFINITY, f64::min),
        }
    }
    /// Of its values.
    pub fn unit(self) -> &'static str {
        if self == Metric::Rate { "fps" } else { "ns" }
    }
}

impl FromStr for Metric {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        let all = [Metric::Rate, Metric::LatencyP50, Metric::LatencyP99, Metric::Cost];
        let unknown =
            || format!("no metric `{name}`: there are rate, latency_p50, latency_p99, cost");
        all.into_iter().find(|metric| metric.name() == name).ok_or_else(unknown)
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(if *self == Side::A { "A" } else { "B" })
    }
}
