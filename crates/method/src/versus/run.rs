//! A comparison from its first trial to its result.

use super::event::{VersusEvent, VersusLook};
use super::interval::interval;
use super::loads::FLOOD;
use super::trials::{Measured, UNSATURATED};
use super::{
    Bound, Criterion, Judged, LOOKS, Met, Metric, Pair, Ratio, Side, Versus, VersusResult,
};
use crate::{RunError, SinkError};
use std::collections::BTreeMap;
use units::{Duration, FrameRate};

/// Blocks without a value, one after the other, before a metric is given up.
const FRUITLESS_BLOCKS: u32 = 3;

/// Takes in events.
pub(super) type Sink<'v> = dyn FnMut(&VersusEvent) -> Result<(), SinkError> + 'v;

/// What was measured of one metric so far.
#[derive(Default)]
pub(super) struct Values {
    a: Vec<f64>,
    b: Vec<f64>,
    logs: Vec<f64>,
    fruitless: u32,
    why: Option<String>,
}

/// The loads, and what was known when they were chosen.
#[derive(Clone, Copy)]
pub(super) struct Loads {
    /// What each side carried.
    pub carried_fps: [f64; 2],
    /// Whether each side carries no more; else the tester sent no more.
    pub is_saturated: [bool; 2],
    /// More than either carries, where the tester can send so much.
    pub flood: FrameRate,
    /// What both carry easily.
    pub moderate: FrameRate,
}

pub(super) struct Running<'v, 'a> {
    pub versus: &'v Versus<'a>,
    pub pair: &'v mut dyn Pair,
    pub sink: &'v mut Sink<'v>,
    /// The block under way; 0 before the first.
    pub block: usize,
    /// Whether the devices have threads whose time is read.
    pub has_cost: bool,
    pub trials: u64,
    pub invalid_trials: u64,
    pub invalid_reasons: BTreeMap<String, u64>,
    random: u64,
    values: BTreeMap<Metric, Values>,
}

/// Whether both sides have threads whose time is known.
fn has_cost(pair: &mut dyn Pair) -> bool {
    pair.device_time(Side::A).is_some() && pair.device_time(Side::B).is_some()
}

impl Versus<'_> {
    /// An error where a criterion is about what this pair cannot tell.
    pub fn check(&self, pair: &mut dyn Pair) -> Result<(), RunError> {
        let asks_cost = self.config.criteria.iter().any(|it| it.metric == Metric::Cost);
        if asks_cost && !has_cost(pair) {
            let why = "cost is the processor time of the device's own threads, and this device has no \
                       threads of its own: it is known of devices that are built here";
            return Err(RunError::Config(why.into()));
        }
        Ok(())
    }

    /// Runs until the result is good enough, or time is up. `sink` takes in each trial and each look;
    /// the first event and the last are the caller's.
    pub fn run(
        &self,
        pair: &mut dyn Pair,
        sink: &mut dyn FnMut(&VersusEvent) -> Result<(), SinkError>,
    ) -> Result<VersusResult, RunError> {
        self.check(pair)?;
        let has_cost = has_cost(pair);
        let mut running = Running {
            versus: self,
            pair,
            sink,
            block: 0,
            has_cost,
            trials: 0,
            invalid_trials: 0,
            invalid_reasons: BTreeMap::new(),
            random: self.config.seed,
            values: BTreeMap::new(),
        };
        match running.find_loads()? {
            Ok(mut loads) => {
                let ratios = running.blocks(&mut loads)?;
                Ok(running.finish(ratios, Some(loads)))
            }
            Err(why) => {
                let rate = Ratio { why: Some(why), ..Ratio::none(Metric::Rate) };
                Ok(running.finish(vec![rate], None))
            }
        }
    }

    /// Whether trials under overload, or those at the moderate load, are asked for: where there are
    /// criteria, only what they need is measured.
    pub(super) fn wants(&self, is_flood: bool) -> bool {
        let criteria = &self.config.criteria;
        let needs = |criterion: &Criterion| (criterion.metric == Metric::Rate) == is_flood;
        criteria.is_empty() || criteria.iter().any(needs)
    }

    /// Whether every criterion is decided, or without one whether the first metric that there is an
    /// interval of is known well enough.
    fn is_enough(&self, ratios: &[Ratio]) -> bool {
        let range = |metric| ratios.iter().find(|ratio| ratio.metric == metric)?.range();
        if self.config.criteria.is_empty() {
            let metrics = [Metric::Rate, Metric::Cost, Metric::LatencyP50];
            let interval = |metric| ratios.iter().find(|ratio| ratio.metric == metric)?.interval;
            let first = metrics.into_iter().find_map(interval);
            return first.is_some_and(|it| it.half_width() <= self.config.precision);
        }
        let criteria = self.config.criteria.iter();
        criteria.map(|it| it.met(range(it.metric))).all(|met| met != Met::Undecided)
    }
}

impl Running<'_, '_> {
    /// Makes blocks until the result is good enough, or time is up.
    fn blocks(&mut self, loads: &mut Loads) -> Result<Vec<Ratio>, RunError> {
        let most_time = self.versus.config.most_time;
        let began = self.pair.elapsed();
        let mut is_last = !self.has_work(loads);
        loop {
            if !is_last {
                self.block += 1;
                self.one_block(loads)?;
                let elapsed = self.pair.elapsed();
                let took = elapsed.saturating_sub(began).as_ps() / self.block as u64;
                is_last = elapsed + Duration::from_ps(took) > most_time
                    || self.block == LOOKS[LOOKS.len() - 1]
                    || self.is_hopeless();
            }
            if !is_last && !LOOKS.contains(&self.block) {
                continue;
            }
            let ratios = self.ratios(loads);
            let look = VersusLook { blocks: self.block, ratios: ratios.clone() };
            (self.sink)(&VersusEvent::VersusLook(look))?;
            if is_last || self.versus.is_enough(&ratios) {
                return Ok(ratios);
            }
        }
    }

    /// Whether a block would have any trial: a rate that both sides have only bounds of needs none.
    fn has_work(&self, loads: &Loads) -> bool {
        self.versus.wants(false) || self.measures_rate(loads)
    }

    fn measures_rate(&self, loads: &Loads) -> bool {
        self.versus.wants(true) && loads.is_saturated != [false; 2]
    }

    fn one_block(&mut self, loads: &mut Loads) -> Result<(), RunError> {
        let (first, second) = if self.draw() { (Side::A, Side::B) } else { (Side::B, Side::A) };
        let four = [first, second, second, first];
        let measures_rate = self.measures_rate(loads);
        if measures_rate {
            let before = self.unsaturated();
            let Loads { flood, is_saturated, .. } = *loads;
            self.measure(&four, |running, side| {
                running.flood(side, flood, is_saturated[side as usize])
            })?;
            if self.unsaturated() > before {
                // The search for the loads met a disturbed trial.
                loads.flood = flood.scaled(FLOOD).min(self.versus.ceiling);
            }
        }
        if !self.versus.wants(false) {
            return Ok(());
        }
        let moderate = loads.moderate;
        let order = if measures_rate { &four[..2] } else { &four };
        self.measure(order, |running, side| running.moderate(side, moderate))
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

    fn ratios(&self, loads: &Loads) -> Vec<Ratio> {
        let error = (1.0 - self.versus.config.confidence) / LOOKS.len() as f64;
        let of = |(metric, values): (&Metric, &Values)| {
            let interval = interval(&values.logs, error);
            let few = || format!("{} blocks are too few", values.logs.len());
            let why = || values.why.clone().unwrap_or_else(few);
            Ratio {
                a: median(&values.a),
                b: median(&values.b),
                interval,
                blocks: values.logs.iter().map(|log| log.exp()).collect(),
                why: interval.is_none().then(why),
                ..Ratio::none(*metric)
            }
        };
        let mut ratios: Vec<Ratio> = self.values.iter().map(of).collect();
        if self.versus.wants(true) {
            let at = ratios.iter().position(|ratio| ratio.metric == Metric::Rate);
            let rate = at.map_or(Ratio::none(Metric::Rate), |at| ratios.remove(at));
            ratios.insert(0, bounded(rate, loads));
        }
        ratios
    }

    fn finish(self, ratios: Vec<Ratio>, loads: Option<Loads>) -> VersusResult {
        let config = self.versus.config;
        let judge = |criterion: &Criterion| {
            let ratio = ratios.iter().find(|ratio| ratio.metric == criterion.metric);
            let met = criterion.met(ratio.and_then(Ratio::range));
            Judged { criterion: *criterion, met }
        };
        let flood = loads.filter(|loads| self.measures_rate(loads)).map(|loads| loads.flood);
        let moderate = loads.filter(|_| self.versus.wants(false)).map(|loads| loads.moderate);
        VersusResult {
            criteria: config.criteria.iter().map(judge).collect(),
            confidence: config.confidence,
            blocks: self.block,
            trials: self.trials,
            invalid_trials: self.invalid_trials,
            invalid_reasons: self.invalid_reasons,
            flood,
            moderate,
            elapsed: self.pair.elapsed(),
            ratios,
        }
    }
}

/// The ratio of rates, of which one side's or both are bounds where the tester is the slower one.
fn bounded(rate: Ratio, loads: &Loads) -> Ratio {
    let at_least = loads.is_saturated.map(|is_saturated| !is_saturated);
    let interval = rate.interval;
    match at_least {
        [false, false] => rate,
        [true, true] => Ratio {
            a: Some(loads.carried_fps[0]),
            b: Some(loads.carried_fps[1]),
            at_least,
            why: Some("both carry all that the tester can send".into()),
            ..rate
        },
        [is_a, _] => {
            let bound = |it: super::Interval| match is_a {
                true => Bound::AtMost(it.high),
                false => Bound::AtLeast(it.low),
            };
            let why =
                format!("{} carries all that the tester can send", if is_a { "A" } else { "B" });
            Ratio {
                at_least,
                interval: None,
                bound: interval.map(bound),
                why: rate.why.or(Some(why)),
                ..rate
            }
        }
    }
}

/// The median; `None` of none.
fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = sorted.get(sorted.len() / 2)?;
    Some((sorted[(sorted.len() - 1) / 2] + upper) / 2.0)
}

impl Ratio {
    fn none(metric: Metric) -> Ratio {
        Ratio {
            metric,
            a: None,
            b: None,
            at_least: [false; 2],
            interval: None,
            bound: None,
            blocks: vec![],
            why: None,
        }
    }
}
