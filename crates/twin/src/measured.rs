//! What runs measured of a device, as far as a fit has a use for it.

use method::rfc2544::{
    BackToBackResult, BurstFound, BurstOutcome, FrameLossResult, LatencyResult, ThroughputResult,
};
use method::{Conditions, Direction, Finding, LatencySummary, Outcome, TestKind};
use serde::Serialize;
use serde::de::DeserializeOwned;
use trial::LatencyForm;

/// The middle of a wider interval, as a share of it, is no measurement: trials that contradicted each other may leave
/// one from the truth to the maximum of the medium.
const WIDEST: f64 = 0.2;
/// Loads that differ by less are one.
const SAME_LOAD: f64 = 0.02;

/// Which number of a device.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "figure")]
pub enum Kind {
    /// The highest load without loss, frames a second.
    Throughput,
    /// It carried this load, and may carry more: the medium or the tester was the limit.
    ThroughputAtLeast,
    /// What came out at an offered load that lost frames, frames a second.
    Forwarded {
        /// The load as offered.
        offered_fps: f64,
        /// For so long.
        seconds: f64,
    },
    /// The longest burst without loss, in frames.
    Burst {
        /// The rate within it.
        burst_fps: f64,
    },
    /// Latency at half of the throughput, LIFO, of every frame: the least, in nanoseconds.
    DelayMin,
    /// The same: the median.
    DelayMedian,
    /// The same: the 99th percentile.
    DelayP99,
}

impl Kind {
    /// The test that it comes from, by the word of `netanvil run --test`.
    pub const fn test(&self) -> &'static str {
        match self {
            Kind::Throughput | Kind::ThroughputAtLeast => "throughput",
            Kind::Forwarded { .. } => "loss",
            Kind::Burst { .. } => "back-to-back",
            Kind::DelayMin | Kind::DelayMedian | Kind::DelayP99 => "latency",
        }
    }

    /// Whether a number of that kind is the same again. Loads are those of the tester, which vary a little.
    fn is_repeated_by(&self, other: &Kind) -> bool {
        match (self, other) {
            (Kind::Forwarded { offered_fps, .. }, Kind::Forwarded { offered_fps: again, .. }) => {
                (again / offered_fps - 1.0).abs() < SAME_LOAD
            }
            (Kind::Burst { burst_fps }, Kind::Burst { burst_fps: again }) => {
                (again / burst_fps - 1.0).abs() < SAME_LOAD
            }
            (own, other) => own == other,
        }
    }

    /// In words, with the load.
    pub fn in_words(&self) -> String {
        match self {
            Kind::Throughput => "throughput".into(),
            Kind::ThroughputAtLeast => "throughput, at least".into(),
            Kind::Forwarded { offered_fps, .. } => format!("out at {offered_fps:.0} fps"),
            Kind::Burst { .. } => "longest burst".into(),
            Kind::DelayMin => "delay min".into(),
            Kind::DelayMedian => "delay p50".into(),
            Kind::DelayP99 => "delay p99".into(),
        }
    }

    /// Of its values.
    pub const fn unit(&self) -> &'static str {
        match self {
            Kind::Throughput | Kind::ThroughputAtLeast | Kind::Forwarded { .. } => "fps",
            Kind::Burst { .. } => "frames",
            Kind::DelayMin | Kind::DelayMedian | Kind::DelayP99 => "ns",
        }
    }
}

/// Under which conditions: what the simulated device tells apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct At {
    /// Bytes of every frame, FCS included.
    pub size_bytes: u32,
    /// Filter rules that a frame is compared with.
    pub rules: u32,
}

/// One measured number.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Cell {
    /// Where.
    #[serde(flatten)]
    pub at: At,
    /// Which.
    #[serde(flatten)]
    pub kind: Kind,
    /// The number, in the unit of its kind: the mean of all runs.
    pub value: f64,
    /// Of one run, how far the truth may be, as a share of the value. Of the mean of several, its standard error: what
    /// one run is off by, over the square root of their number.
    pub uncertainty: f64,
    /// The medium's maximum for this size, frames a second.
    pub medium_fps: f64,
    /// The number in each run.
    pub repeated: Vec<f64>,
    /// The largest uncertainty that a run states of its own.
    #[serde(skip)]
    stated: f64,
}

/// What runs of one device say.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Measured {
    /// Numbers, each once.
    pub cells: Vec<Cell>,
    /// Bits a second of the medium.
    pub line_rate_bps: u64,
    /// What was not taken, and why.
    pub left_out: Vec<String>,
}

impl Measured {
    /// Adds what one outcome says; what a fit has no use for is left out, and told.
    pub fn take(&mut self, outcome: &Outcome) {
        if !outcome.invalid.is_empty() {
            return self.leave_out(outcome, "it is invalid");
        }
        let found = match outcome.test {
            TestKind::Throughput => read(outcome).map(of_throughput),
            TestKind::FrameLoss => read(outcome).map(of_loss),
            TestKind::BackToBack => read(outcome).map(of_bursts),
            TestKind::Latency if outcome.detail.get("clock_error_ns").is_some() => {
                return self.leave_out(outcome, "its times are between two hosts, with an error");
            }
            TestKind::Latency => read(outcome).map(of_latency),
            _ => return self.leave_out(outcome, "a fit has no use for this test"),
        };
        let Some((conditions, found)) = found else {
            return self.leave_out(outcome, "its record cannot be read");
        };
        let Ok(size_bytes) = conditions.frame_size.parse() else {
            return self.leave_out(outcome, "frames of one size are needed");
        };
        if conditions.direction == Direction::Bidirectional || conditions.transmitting_ports > 1 {
            return self.leave_out(
                outcome,
                "several ports sent: whether they share a processor is not known",
            );
        }
        if found.iter().any(is_too_wide) {
            return self.leave_out(outcome, "its interval is too wide for a fit");
        }
        let at = At { size_bytes, rules: rules_looked_at(&conditions.filters) };
        let medium_fps = conditions.theoretical_max.fps();
        self.line_rate_bps = conditions.line_rate.bps();
        self.keep(at, medium_fps, found);
    }

    /// Takes what one test found. What an earlier test found is repeated by it; its own loads never repeat each other.
    fn keep(&mut self, at: At, medium_fps: f64, found: Vec<Found>) {
        let earlier = self.cells.len();
        for (kind, value, uncertainty) in found {
            let known = |cell: &&mut Cell| cell.at == at && cell.kind.is_repeated_by(&kind);
            match self.cells[..earlier].iter_mut().find(known) {
                Some(known) => known.repeat(value, uncertainty),
                None => self.cells.push(Cell::new(at, kind, value, uncertainty, medium_fps)),
            }
        }
    }

    fn leave_out(&mut self, outcome: &Outcome, why: &str) {
        let size = &outcome.conditions.frame_size;
        let line = format!("{} at {size}: {why}", outcome.test);
        if !self.left_out.contains(&line) {
            self.left_out.push(line);
        }
    }
}

impl Cell {
    /// Of one run.
    pub fn new(at: At, kind: Kind, value: f64, uncertainty: f64, medium_fps: f64) -> Cell {
        let repeated = vec![value];
        Cell { at, kind, value, uncertainty, medium_fps, repeated, stated: uncertainty }
    }

    /// Takes in another run's number.
    fn repeat(&mut self, value: f64, uncertainty: f64) {
        self.repeated.push(value);
        self.stated = self.stated.max(uncertainty);
        let runs = self.repeated.len() as f64;
        self.value = self.repeated.iter().sum::<f64>() / runs;
        let squares: f64 = self.repeated.iter().map(|value| (value - self.value).powi(2)).sum();
        let deviation = (squares / (runs - 1.0)).sqrt() / self.value;
        self.uncertainty = deviation.max(self.stated) / runs.sqrt();
    }

    /// Half of what runs differ by, as a share of their mean; `None` where there was one.
    pub fn repeats_within(&self) -> Option<f64> {
        let least = self.repeated.iter().copied().fold(f64::INFINITY, f64::min);
        let most = self.repeated.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (self.repeated.len() > 1).then_some((most - least) / 2.0 / self.value)
    }
}

/// Kind, value, uncertainty.
type Found = (Kind, f64, f64);

/// Whether it is a rate of which hardly more is known than that there is one.
fn is_too_wide((kind, _, uncertainty): &Found) -> bool {
    matches!(kind, Kind::Throughput) && *uncertainty > WIDEST
}

fn read<R: DeserializeOwned>(outcome: &Outcome) -> Option<R> {
    serde_json::from_value(outcome.detail.clone()).ok()
}

fn of_throughput(result: ThroughputResult) -> (Conditions, Vec<Found>) {
    let found = &result.throughput;
    let rate = found.rate.map(|rate| rate.fps()).filter(|rate| *rate > 0.0);
    let cell = rate.and_then(|rate| match &found.finding {
        Finding::Measured | Finding::Between { .. } => {
            let upper = found.upper.map_or(rate, |upper| upper.fps());
            let middle = (rate + upper) / 2.0;
            Some((Kind::Throughput, middle, (upper - rate) / 2.0 / middle))
        }
        Finding::AtTheoreticalMaximum | Finding::AtLeast { .. } => {
            Some((Kind::ThroughputAtLeast, rate, 0.0))
        }
        Finding::NothingPassed { .. } | Finding::Invalid { .. } => None,
    });
    (result.conditions, cell.into_iter().collect())
}

/// Loads that lost frames: of the others the throughput says more.
fn of_loss(result: FrameLossResult) -> (Conditions, Vec<Found>) {
    let lossy = result.points.iter().filter(|point| {
        point.invalid.is_empty() && point.loss_percent > 0.0 && point.received_frames > 0
    });
    let found = lossy.map(|point| {
        let offered_fps = point.offered.fps();
        let out = offered_fps * (1.0 - point.loss_percent / 100.0);
        // Counted exactly; what differs from trial to trial is not known of one trial.
        let seconds = point.expected_frames as f64 / offered_fps;
        (Kind::Forwarded { offered_fps, seconds }, out, 0.0)
    });
    let found = found.collect();
    (result.conditions, found)
}

/// Bursts that ended for another reason than the device's loss say less than they seem to.
fn of_bursts(result: BackToBackResult) -> (Conditions, Vec<Found>) {
    let is_measured = |search: &&BurstFound| matches!(search.outcome, BurstOutcome::Measured);
    let all = !result.searches.is_empty() && result.searches.iter().all(|s| is_measured(&s));
    let found = result.summary.as_ref().zip(result.burst_rate).filter(|_| all);
    let cell = found.map(|(summary, rate)| {
        // Each search ends somewhat below the truth.
        let open = |search: &BurstFound| {
            let longest = search.too_long_frames.map_or(search.frames, |failed| failed - 1);
            (longest - search.frames) as f64 / 2.0
        };
        let searches = result.searches.len() as f64;
        let below = result.searches.iter().map(open).sum::<f64>() / searches;
        let frames = summary.frames.mean + below;
        let apart = (summary.frames.max - summary.frames.min) / 2.0 + below;
        (Kind::Burst { burst_fps: rate.fps() }, frames, apart / frames.max(1.0))
    });
    (result.conditions, cell.into_iter().collect())
}

fn of_latency(result: LatencyResult) -> (Conditions, Vec<Found>) {
    let lifo = |stamped| result.definition.ns_in(LatencyForm::Lifo, stamped);
    let of = |half: &LatencySummary| {
        [
            (Kind::DelayMin, lifo(half.min), 0.0),
            (Kind::DelayMedian, lifo(half.p50), 0.0),
            (Kind::DelayP99, lifo(half.p99), 0.0),
        ]
    };
    let found = result.half_load.iter().flat_map(of).filter(|(_, ns, _)| *ns > 0.0).collect();
    (result.conditions, found)
}

/// How many rules a frame of the test stream is compared with before one permits it (RFC 2544 section 11.4).
fn rules_looked_at(filters: &str) -> u32 {
    let rules = method::rules_in(filters);
    match filters.contains("in the middle") {
        true => rules.saturating_sub(1) / 2 + 1,
        false => rules,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_repetitions_each_counts_alike() {
        let at = At { size_bytes: 64, rules: 0 };
        let mut cell = Cell::new(at, Kind::Throughput, 90.0, 0.01, 1e6);
        assert_eq!(cell.repeats_within(), None);
        cell.repeat(100.0, 0.02);
        cell.repeat(110.0, 0.01);
        assert_eq!(cell.value, 100.0);
        assert_eq!(cell.repeats_within(), Some(0.1));
    }

    /// 90, 100 and 110 have a standard deviation of 10; a mean of n numbers has that over the square root of n.
    #[test]
    fn a_mean_of_many_runs_is_known_better_than_one() {
        let at = At { size_bytes: 64, rules: 0 };
        let mut cell = Cell::new(at, Kind::Throughput, 90.0, 0.01, 1e6);
        assert_eq!(cell.uncertainty, 0.01, "what the run says");
        cell.repeat(100.0, 0.02);
        cell.repeat(110.0, 0.01);
        assert!((cell.uncertainty - 0.1 / 3f64.sqrt()).abs() < 1e-12, "{}", cell.uncertainty);
        // Runs that agree by chance are known no better than they say.
        let mut cell = Cell::new(at, Kind::Throughput, 100.0, 0.04, 1e6);
        (0..3).for_each(|_| cell.repeat(100.0, 0.01));
        assert!((cell.uncertainty - 0.02).abs() < 1e-12, "{}", cell.uncertainty);
    }

    /// A router of some 800,000 frames/s had 778,823 .. 2,349,624 in one run, and its middle was taken for a rate.
    #[test]
    fn the_middle_of_a_wide_interval_is_no_rate() {
        let between = |low: f64, high: f64| {
            let middle = (low + high) / 2.0;
            (Kind::Throughput, middle, (high - low) / 2.0 / middle)
        };
        assert!(is_too_wide(&between(778_823.0, 2_349_624.0)));
        assert!(!is_too_wide(&between(766_699.0, 791_327.0)));
        assert!(!is_too_wide(&(Kind::Burst { burst_fps: 1e6 }, 900.0, 0.5)), "searches differ");
    }

    #[test]
    fn loads_that_hardly_differ_are_one() {
        let out = |offered_fps| Kind::Forwarded { offered_fps, seconds: 1.0 };
        assert!(out(1_000.0).is_repeated_by(&out(1_010.0)));
        assert!(!out(1_000.0).is_repeated_by(&out(1_100.0)));
        assert!(!Kind::DelayMin.is_repeated_by(&Kind::DelayMedian));
    }

    #[test]
    fn loads_of_one_test_are_never_repetitions() {
        let at = At { size_bytes: 64, rules: 0 };
        let out = |offered_fps| (Kind::Forwarded { offered_fps, seconds: 1.0 }, 900.0, 0.0);
        let mut measured = Measured::default();
        measured.keep(at, 1e6, vec![out(1_000.0), out(1_010.0)]);
        assert_eq!(measured.cells.len(), 2);
        measured.keep(at, 1e6, vec![out(1_001.0)]);
        assert_eq!(
            measured.cells.iter().map(|cell| cell.repeated.len()).collect::<Vec<_>>(),
            [2, 1]
        );
    }

    #[test]
    fn the_permit_decides_how_many_rules_are_looked_at() {
        assert_eq!(rules_looked_at(""), 0);
        assert_eq!(rules_looked_at("1 rule, which permits the test stream"), 1);
        assert_eq!(rules_looked_at("25 rules, the permit last"), 25);
        assert_eq!(rules_looked_at("25 rules, the permit in the middle"), 13);
    }
}
