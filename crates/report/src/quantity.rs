//! Single measured quantities with what is known of their uncertainty: rows of `results.csv`,
//! and what a comparison compares.

mod groups;
mod many_ports;
mod switch;

pub use many_ports::of_chassis;

use crate::model::GroupKey;
use crate::statistics::{mean_interval, median_interval, wilson_interval};
use crate::tables::reset_action;
use method::harvard::y1989::{Figure, Harvard1989Result, Outcome};
use method::harvard::{HarvardResult, RawStream};
use method::rfc2544::{
    BackToBackResult, BurstOutcome, FrameLossResult, LatencyResult, RecoveryOutcome,
    RecoveryResult, ResetResult, ThroughputResult,
};
use method::rfc8219::{Ipdv, IpdvResult, PdvResult};
use method::{Conditions, CostFound, Finding, RateFound, SelfTest, TestKind, TestResult};
use serde::Serialize;
use units::{Duration, FrameRate};

/// How the truth relates to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// It is the value, within its uncertainty.
    Equal,
    /// It is the value or more: the tester was the limit.
    AtLeast,
    /// It lies somewhere from the value to a higher one, further apart than was asked for.
    Between,
    /// It is less than the value.
    Below,
    /// Nothing is known of it.
    Unknown,
}

/// Where an uncertainty comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The truth lies between the highest load that passed and the lowest that did not.
    SearchResolution,
    /// 95 % confidence interval of a mean of repetitions (Student).
    RepeatedMean,
    /// 95 % confidence interval of a median of repetitions (order statistics).
    RepeatedMedian,
    /// 95 % confidence interval of a share of frames counted in one trial (Wilson). What the
    /// device does differently from one trial to the next is not in it.
    Counting,
    /// The least and the most processor time that can be the device's, over all trials.
    ProcessorTime,
    /// There is nothing to learn it from.
    None,
}

/// One measured number.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// Of which test.
    pub test: TestKind,
    /// As it was asked for.
    pub frame_size: String,
    /// Under which conditions, in words that are alike for alike conditions.
    pub conditions: String,
    /// What an acceptance criterion calls it; empty where none speaks of it so.
    pub figure: &'static str,
    /// Unique within test, size and conditions.
    pub name: String,
    /// `fps`, `frames`, `ns`, `percent`, `addresses`, `groups`, or `ratio`.
    pub unit: &'static str,
    /// The number, where there is one; of an interval the lower end.
    pub value: Option<f64>,
    /// What it says of the truth.
    pub relation: Relation,
    /// Between which values the truth lies, as far as the run shows; infinite where it does not.
    pub low: f64,
    /// See `low`.
    pub high: f64,
    /// Where `low` and `high` come from.
    pub basis: Basis,
    /// Why the truth is not known better; empty where there is nothing to explain.
    pub reason: String,
}

/// Processor time of the device for a frame that it forwards.
const COST: &str = "cost of a frame";
/// The load at which its busiest processor would never be idle.
const CAPACITY: &str = "capacity implied by the cost of a frame";

/// Every quantity of a result, in the order of its table.
pub fn of_result(result: &TestResult) -> Vec<Quantity> {
    let new = Maker::of(result.kind(), result.conditions());
    match result {
        TestResult::Throughput(result) => throughput(&new, result),
        TestResult::Latency(result) => latency(&new, result),
        TestResult::Pdv(result) => pdv(&new, result),
        TestResult::Ipdv(result) => ipdv(&new, result),
        TestResult::FrameLoss(result) => frame_loss(&new, result),
        TestResult::BackToBack(result) => back_to_back(&new, result),
        TestResult::Recovery(result) => recovery(&new, result),
        TestResult::Reset(result) => reset(&new, result),
        TestResult::Harvard(result) => harvard(&new, result),
        TestResult::Harvard1989(result) => harvard_1989(&new, result),
    }
}

/// Every quantity of the tester itself.
pub fn of_self_test(self_test: &SelfTest) -> Vec<Quantity> {
    let mut quantities = vec![];
    for size in &self_test.sizes {
        let new = Maker::of(TestKind::SelfTest, &size.conditions);
        quantities.push(new.rate("tester maximum".into(), &size.maximum));
        let floors = [("low", &size.floor_low), ("high", &size.floor_high)];
        for (at, summary) in floors {
            let Some(summary) = summary else { continue };
            let name = format!("latency p50 at the {at} load");
            quantities.push(new.single(name, "ns", summary.p50.as_ns_f64()));
        }
    }
    quantities
}

/// How the truth relates to a rate found, and to which rate.
pub(crate) fn relation(found: &RateFound) -> (Relation, Option<FrameRate>) {
    match found.finding {
        Finding::Measured | Finding::AtTheoreticalMaximum => (Relation::Equal, found.rate),
        Finding::Between { .. } => (Relation::Between, found.rate),
        Finding::AtLeast { .. } => (Relation::AtLeast, found.rate),
        Finding::NothingPassed { lowest, .. } => (Relation::Below, Some(lowest)),
        Finding::Invalid { .. } => (Relation::Unknown, None),
    }
}

/// What stands in a test's place that has no figure at all.
const NO_FIGURE: &str = "no figure";

struct Maker {
    test: TestKind,
    frame_size: String,
    conditions: String,
}

impl Maker {
    fn of(test: TestKind, conditions: &Conditions) -> Self {
        let group = GroupKey::of(conditions);
        Maker { test, frame_size: conditions.frame_size.clone(), conditions: group.describe() }
    }

    fn quantity(&self, name: String, unit: &'static str, value: Option<f64>) -> Quantity {
        Quantity {
            test: self.test,
            frame_size: self.frame_size.clone(),
            conditions: self.conditions.clone(),
            figure: "",
            name,
            unit,
            value,
            relation: if value.is_some() { Relation::Equal } else { Relation::Unknown },
            low: f64::NEG_INFINITY,
            high: f64::INFINITY,
            basis: Basis::None,
            reason: String::new(),
        }
    }

    /// A number that was not measured, and why.
    fn missing(&self, name: &str, unit: &'static str, why: &Option<String>) -> Quantity {
        let reason = why.clone().unwrap_or_else(|| "no valid trial".into());
        Quantity { reason, ..self.quantity(name.into(), unit, None) }
    }

    /// A number that stands alone: nothing says how far it would differ another time.
    fn single(&self, name: String, unit: &'static str, value: f64) -> Quantity {
        self.quantity(name, unit, Some(value))
    }

    fn rate(&self, name: String, found: &RateFound) -> Quantity {
        let (relation, rate) = relation(found);
        let value = rate.map(FrameRate::fps);
        let (low, high) = match (relation, value) {
            (Relation::Equal | Relation::Between, Some(rate)) => {
                (rate, found.upper.map_or(rate, FrameRate::fps))
            }
            (Relation::AtLeast, Some(rate)) => (rate, f64::INFINITY),
            (Relation::Below, Some(lowest)) => (0.0, lowest),
            _ => (f64::NEG_INFINITY, f64::INFINITY),
        };
        let basis = match relation {
            Relation::Unknown => Basis::None,
            _ => Basis::SearchResolution,
        };
        let reason = match &found.finding {
            Finding::AtLeast { why } | Finding::Between { why } => why.clone(),
            Finding::Invalid { reasons } => reasons.join("; "),
            _ => String::new(),
        };
        Quantity { relation, low, high, basis, reason, ..self.quantity(name, "fps", value) }
    }

    /// A number that is found between two others; infinite where one is not known.
    fn within(
        &self,
        name: String,
        unit: &'static str,
        relation: Relation,
        (low, high): (f64, f64),
    ) -> Quantity {
        let value = if relation == Relation::Below { high } else { low };
        let quantity = self.quantity(name, unit, Some(value));
        Quantity { relation, low, high, basis: Basis::SearchResolution, ..quantity }
    }

    fn mean_of(&self, name: String, unit: &'static str, values: &[f64]) -> Quantity {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let value = (!values.is_empty()).then_some(mean);
        self.repeated(self.quantity(name, unit, value), mean_interval(values), Basis::RepeatedMean)
    }

    fn repeated(&self, quantity: Quantity, within: Option<(f64, f64)>, basis: Basis) -> Quantity {
        match within {
            Some((low, high)) => Quantity { low, high, basis, ..quantity },
            None => quantity,
        }
    }
}

fn throughput(new: &Maker, result: &ThroughputResult) -> Vec<Quantity> {
    let mut quantities = vec![new.rate("throughput".into(), &result.throughput)];
    quantities.extend(result.with_tolerance.iter().map(|found| {
        new.rate(format!("rate with up to {} % loss", found.loss_tolerance_percent), found)
    }));
    quantities.extend(result.throughput.buffered.map(|buffered| {
        let name = format!("rate of one trial of {}, from buffers", buffered.trial_duration);
        new.single(name, "fps", buffered.rate.fps())
    }));
    match &result.cost {
        Some(CostFound::Measured(cost)) => {
            let span = |name: &str, unit, low, high| Quantity {
                relation: if low < high { Relation::Between } else { Relation::Equal },
                low,
                high,
                basis: Basis::ProcessorTime,
                ..new.quantity(name.into(), unit, Some(low))
            };
            quantities.push(span(COST, "ns", cost.low_ns, cost.high_ns));
            let (low, high) = (cost.capacity_low.fps(), cost.capacity_high.fps());
            quantities.push(span(CAPACITY, "fps", low, high));
        }
        Some(CostFound::Unknown { why }) => {
            quantities.push(new.missing(COST, "ns", &Some(why.clone())));
        }
        None => {}
    }
    quantities
}

fn latency(new: &Maker, result: &LatencyResult) -> Vec<Quantity> {
    let counted = || result.trials.iter().filter(|trial| trial.invalid.is_empty());
    let values = |take: fn(&method::rfc2544::LatencyTrial) -> Option<Duration>| -> Vec<f64> {
        counted().filter_map(take).map(Duration::as_ns_f64).collect()
    };
    // Off the throughput rate it is a delay, which must not be compared with a latency.
    let noun = if result.rate_is_throughput { "latency" } else { "delay" };
    let mut quantities = vec![];
    if result.rfc2544.is_none() {
        quantities.push(new.missing("latency mean (RFC 2544)", "ns", &result.not_measured));
    }
    if let Some(rfc2544) = &result.rfc2544 {
        let mean = new.mean_of(format!("{noun} mean (RFC 2544)"), "ns", &values(|t| t.tagged));
        quantities.push(Quantity { value: Some(rfc2544.mean.as_ns_f64()), ..mean });
    }
    if let Some(rfc8219) = &result.rfc8219 {
        let medians = [
            ("typical", rfc8219.typical, values(|trial| trial.typical)),
            ("worst case", rfc8219.worst_case, values(|trial| trial.worst_case)),
        ];
        quantities.extend(medians.map(|(which, value, values)| {
            let name = format!("{noun} {which} (RFC 8219)");
            let single = new.single(name, "ns", value.as_ns_f64());
            new.repeated(single, median_interval(&values), Basis::RepeatedMedian)
        }));
    }
    if let Some(all) = &result.all_frames {
        let spans = [
            ("min", all.min),
            ("mean", all.mean),
            ("p50", all.p50),
            ("p99", all.p99),
            ("p99.9", all.p999),
            ("max", all.max),
            ("PDV", all.pdv),
        ];
        quantities.extend(spans.map(|(which, span)| {
            new.single(format!("{noun} of every frame {which}"), "ns", span.as_ns_f64())
        }));
    }
    quantities
}

fn pdv(new: &Maker, result: &PdvResult) -> Vec<Quantity> {
    const NAME: &str = "PDV";
    let Some(found) = &result.pdv else {
        return vec![new.missing(NAME, "ns", &result.not_measured)];
    };
    let counted = result.trials.iter().filter(|trial| trial.invalid.is_empty());
    let highs: Vec<f64> = counted.filter_map(|trial| Some(trial.pdv?.high.as_ns_f64())).collect();
    let (low, high) = (found.median.low.as_ns_f64(), found.median.high.as_ns_f64());
    let single = new.single(NAME.into(), "ns", high);
    // The truth of each repetition is below what it reads by up to the width of a bucket.
    let within = median_interval(&highs).map(|(from, to)| ((from - (high - low)).max(0.0), to));
    vec![new.repeated(single, within, Basis::RepeatedMedian)]
}

fn ipdv(new: &Maker, result: &IpdvResult) -> Vec<Quantity> {
    vec![
        ipdv_part(new, result, "IPDV min", |ipdv| ipdv.min_ps),
        ipdv_part(new, result, "IPDV median", |ipdv| ipdv.median_ps),
        ipdv_part(new, result, "IPDV max", |ipdv| ipdv.max_ps),
    ]
}

fn ipdv_part(new: &Maker, result: &IpdvResult, name: &str, part_ps: fn(&Ipdv) -> i64) -> Quantity {
    let Some(found) = &result.ipdv else {
        return new.missing(name, "ns", &result.not_measured);
    };
    let ns = |ipdv: &Ipdv| part_ps(ipdv) as f64 / 1e3;
    let counted = result.trials.iter().filter(|trial| trial.invalid.is_empty());
    let values: Vec<f64> = counted.filter_map(|trial| Some(ns(trial.ipdv.as_ref()?))).collect();
    let single = new.single(name.into(), "ns", ns(found));
    new.repeated(single, median_interval(&values), Basis::RepeatedMedian)
}

fn frame_loss(new: &Maker, result: &FrameLossResult) -> Vec<Quantity> {
    let of_point = |point: &method::rfc2544::LossPoint| {
        let name = format!("loss at {} % of the maximum", point.percent_of_maximum);
        if !point.invalid.is_empty() {
            return new.missing(&name, "percent", &Some(point.invalid.join("; ")));
        }
        let lost = point.expected_frames.saturating_sub(point.received_frames);
        let single = new.single(name, "percent", point.loss_percent);
        let within = wilson_interval(lost, point.expected_frames);
        new.repeated(single, within.map(|(l, h)| (l * 100.0, h * 100.0)), Basis::Counting)
    };
    result.points.iter().map(of_point).collect()
}

fn back_to_back(new: &Maker, result: &BackToBackResult) -> Vec<Quantity> {
    let Some(summary) = &result.summary else {
        return vec![new.missing("average burst", "frames", &result.not_measured)];
    };
    let counted = result.searches.iter();
    // Those of which the average is made.
    let counted = counted.filter(|s| {
        !matches!(s.outcome, BurstOutcome::Invalid { .. } | BurstOutcome::AtLeast { .. })
    });
    let values: Vec<f64> = counted.clone().map(|search| search.frames as f64).collect();
    let mut burst = new.mean_of("average burst".into(), "frames", &values);
    burst.value = Some(summary.frames.mean);
    // Each search ends somewhat below the truth, whatever the spread of the searches.
    let open = counted.filter_map(|search| Some(search.too_long_frames? - 1 - search.frames));
    burst.high += open.max().unwrap_or(0) as f64;
    if crate::tables::at_least(result) {
        burst = Quantity { relation: Relation::AtLeast, high: f64::INFINITY, ..burst };
    }
    let relation = burst.relation;
    let corrected = summary.corrected_buffer_time.as_ns_f64();
    let corrected = new.single("corrected buffer time".into(), "ns", corrected);
    vec![burst, Quantity { relation, ..corrected }]
}

fn recovery(new: &Maker, result: &RecoveryResult) -> Vec<Quantity> {
    let times = result.trials.iter().filter_map(|trial| match trial.outcome {
        RecoveryOutcome::Recovered { time } => Some(time.as_ns_f64()),
        RecoveryOutcome::NotRecovered { lost_until, .. } => Some(lost_until.as_ns_f64()),
        _ => None,
    });
    let times: Vec<f64> = times.collect();
    if times.is_empty() {
        return vec![new.missing("recovery time mean", "ns", &result.not_measured)];
    }
    let mean = new.mean_of("recovery time mean".into(), "ns", &times);
    let mean = Quantity { value: result.mean.map(Duration::as_ns_f64), ..mean };
    match result.is_lower_bound {
        true => vec![Quantity { relation: Relation::AtLeast, high: f64::INFINITY, ..mean }],
        false => vec![mean],
    }
}

fn harvard_1989(new: &Maker, result: &Harvard1989Result) -> Vec<Quantity> {
    let why = match &result.outcome {
        Outcome::Measured => "the test came to no figure".to_owned(),
        Outcome::NotPossible { why } => why.clone(),
        Outcome::Invalid { reasons } => reasons.join("; "),
    };
    let of = |figure: &Figure| {
        let unit = figure.unit.symbol();
        match figure.value {
            Some(value) if figure.at_least => {
                new.within(figure.name.clone(), unit, Relation::AtLeast, (value, f64::INFINITY))
            }
            Some(value) => new.single(figure.name.clone(), unit, value),
            None => new.missing(&figure.name, unit, &Some(why.clone())),
        }
    };
    match result.figures.is_empty() {
        true => vec![new.missing(NO_FIGURE, "", &Some(why.clone()))],
        false => result.figures.iter().map(of).collect(),
    }
}

fn harvard(new: &Maker, result: &HarvardResult) -> Vec<Quantity> {
    let path = result.setting().path;
    let column = |kind, stream| format!("{} {path}", result.setting().column(kind, stream));
    let invalid = |reasons: &[String]| Some(reasons.join("; ")).filter(|why| !why.is_empty());
    match result {
        HarvardResult::MaxRate(result) => vec![new.rate(column("max", 0), &result.found)],
        HarvardResult::RawRate(result) if result.streams.is_empty() => {
            vec![new.missing(&column("fld", 0), "fps", &invalid(&result.invalid))]
        }
        HarvardResult::RawRate(result) => {
            let streams = result.streams.iter().enumerate();
            let forwarded = |(number, stream): (usize, &RawStream)| {
                new.single(column("fld", number), "fps", stream.forwarded.fps())
            };
            streams.map(forwarded).collect()
        }
        HarvardResult::Delay(result) => {
            let name = format!("delay {path}");
            match result.delay() {
                Some([_, median, _]) => vec![new.single(name, "ns", median.as_ns_f64())],
                None => vec![new.missing(&name, "ns", &invalid(&result.invalid))],
            }
        }
    }
}

fn reset(new: &Maker, result: &ResetResult) -> Vec<Quantity> {
    let counted = || result.trials.iter().filter(|trial| trial.invalid.is_empty());
    let by_loss = counted().filter_map(|trial| trial.by_loss).map(Duration::as_ns_f64);
    let by_time = counted().filter_map(|trial| trial.by_timestamps).map(Duration::as_ns_f64);
    let (by_loss, by_time): (Vec<f64>, Vec<f64>) = (by_loss.collect(), by_time.collect());
    let action = reset_action(&result.action);
    if by_loss.is_empty() && by_time.is_empty() {
        let name = format!("reset time by loss ({action})");
        return vec![new.missing(&name, "ns", &result.not_measured)];
    }
    vec![
        Quantity {
            value: result.mean_by_loss.map(Duration::as_ns_f64),
            ..new.mean_of(format!("reset time by loss ({action})"), "ns", &by_loss)
        },
        Quantity {
            value: result.mean_by_timestamps.map(Duration::as_ns_f64),
            ..new.mean_of(format!("reset time by time stamps ({action})"), "ns", &by_time)
        },
    ]
}
