//! What clauses ask of a result: each test says it beside its outcome, so that predicates do not know its
//! type.

use super::Evidence;
use crate::chassis::{ChassisConditions, ChassisTest, LoadPoint, Throughput};
use crate::conditions::rules_in;
use crate::outcome::{FigureName, Series, Unit};
use crate::rfc3918::{Joins, Tunnel};
use crate::{Conditions, Finding, Outcome};
use trial::QueryCounts;
use units::LineRate;

/// What was done, as far as a clause asks. `None` where the result does not say.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Facts {
    /// Why there is no result; no clause says anything of it then.
    pub not_measured: Option<String>,
    /// Protocol and stream format, as the report states them.
    pub traffic: String,
    /// Bytes of every frame; `None` for a mix.
    pub frame_bytes: Option<u32>,
    /// What frames of this size cannot measure.
    pub given_up: Vec<String>,
    /// How the tester falls short of the medium's maximum; empty where it reaches it.
    pub tester_short: Option<String>,
    /// Repetitions that count.
    pub repetitions: Option<u64>,
    /// Tagged frames of a repetition.
    pub tags: Option<u64>,
    /// Length of the trial that decided the result, in seconds.
    pub trial_s: Option<f64>,
    /// Trials at the rate found that lost frames, and all of them.
    pub failed_at_rate: Option<(u32, u32)>,
    /// Why the search found only a bound; `None` where it found the device's limit.
    pub bound_only: Option<String>,
    /// Why the search could not say how far above the rate the device's limit is.
    pub undecided: Option<String>,
    /// Whether the load was the throughput.
    pub at_throughput: Option<bool>,
    /// Whether the numbers contain the frame's time on the lines.
    pub has_line_time: Option<bool>,
    /// The definition of latency, as stated.
    pub definition: Option<String>,
    /// Whether loads are shares of the medium's maximum.
    pub of_medium: Option<bool>,
    /// By which share of the load intended the tester offered less, at most, in trials that count; `None` where it did
    /// not matter in any.
    pub offered_short: Option<f64>,
    /// Whether bursts had the medium's minimum gap.
    pub minimum_gap: Option<bool>,
    /// Throughput of the same size, in frames a second.
    pub throughput_fps: Option<f64>,
    /// Searches that ended at the longest burst tried.
    pub at_limit: Option<u64>,
    /// Repetitions whose time nothing could be said of.
    pub unmeasured: Option<u64>,
    /// Ports that take part.
    pub ports: usize,
    /// Of the sending medium.
    pub line_rate: Option<LineRate>,
    /// Between the first port's start and the last port's, as a share of the trial.
    pub start_skew: Option<f64>,
    /// What could not be tried on these ports.
    pub not_tried: Vec<String>,
    /// What is known of joins.
    pub joins: Option<Joins>,
    /// Whether the capacity of groups was known.
    pub knows_capacity: Option<bool>,
    /// Size of frames behind a tunnel.
    pub received_bytes: Option<f64>,
    /// Whether there is a throughput of each class.
    pub has_classes: Option<bool>,
    /// Whether there are numbers without a burden and with one.
    pub has_both: Option<bool>,
    /// Queries for members of groups in the trials, and what the tester's hosts answered.
    pub queries: Option<QueryCounts>,
    /// When the last tagged frame arrived, in seconds after the source had stopped; below 0 before.
    pub last_tag_s: Option<f64>,
    /// What the device takes off the frames that it receives.
    pub tunnel_in: Option<Tunnel>,
    /// Rules of the packet filter on the device; 0 where none is known of.
    pub filter_rules: u32,
    /// Frames of each source of the congestion test.
    pub frames_by_source: Vec<u64>,
    /// Load of the source without a burden and with one, as offered, apart by this share of the smaller one.
    pub ingress_apart: Option<f64>,
    /// What the trials showed.
    pub evidence: Evidence,
    /// In which form the report states the result.
    pub stated: Stated,
}

/// In which form the report states a result (RFC 2544 sections 26.1 and 26.3), read from the outcome.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Stated {
    /// Unit of the throughput; `None` where there is no such figure with a value.
    pub throughput_in: Option<Unit>,
    /// Frame size, protocol and the medium's maximum stand beside it: what of them does not.
    pub lacks: Vec<String>,
    /// Its rows have the medium's maximum beside the rate.
    pub has_maximum: bool,
    /// Title of the load axis of the loss graph, and least and most that its curves reach, in percent;
    /// `None` where there is no curve.
    pub loss_graph: Option<LossGraph>,
}

/// The graph of the frame loss rate.
#[derive(Clone, PartialEq, Debug)]
pub struct LossGraph {
    /// Load is in percent of the medium's theoretical maximum.
    pub is_of_medium: bool,
    /// Both axes are in percent.
    pub is_in_percent: bool,
    /// Least and most of load and loss.
    pub extent: (f64, f64),
}

impl Stated {
    pub(super) fn of(outcome: &Outcome) -> Self {
        let conditions = &outcome.conditions;
        let figure =
            outcome.figures_of(FigureName::Throughput).find(|figure| figure.value.is_some());
        let lacks = [
            (conditions.frame_size.is_empty(), "frame size"),
            (conditions.traffic.is_empty(), "protocol"),
            (conditions.theoretical_max.fps() <= 0.0, "the medium's maximum"),
        ];
        let columns = outcome.layouts.iter().flat_map(|layout| &layout.columns);
        let graphs = outcome.layouts.iter().flat_map(|layout| &layout.series);
        Stated {
            throughput_in: figure.map(|figure| figure.unit),
            lacks: lacks
                .iter()
                .filter(|(lacks, _)| *lacks)
                .map(|(_, what)| (*what).into())
                .collect(),
            has_maximum: columns.into_iter().any(|title| title.contains("theoretical fps")),
            loss_graph: graphs.into_iter().find_map(LossGraph::of),
        }
    }
}

impl LossGraph {
    fn of(series: &Series) -> Option<LossGraph> {
        if !series.y.0.starts_with("Frame loss rate") || series.points.is_empty() {
            return None;
        }
        let all = || series.points.iter().flat_map(|(load, loss)| [*load, *loss]);
        Some(LossGraph {
            is_of_medium: series.x.0.contains("theoretical maximum"),
            is_in_percent: series.x.1 == "%" && series.y.1 == "%",
            extent: (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max)),
        })
    }
}

impl Facts {
    /// A test that came to nothing repeated and reached nothing.
    pub(super) fn of_no_more(self) -> Self {
        if self.not_measured.is_none() {
            return self;
        }
        Facts {
            not_measured: self.not_measured,
            traffic: self.traffic,
            frame_bytes: self.frame_bytes,
            given_up: self.given_up,
            tester_short: self.tester_short,
            trial_s: self.trial_s,
            ports: self.ports,
            line_rate: self.line_rate,
            filter_rules: self.filter_rules,
            evidence: self.evidence,
            ..Facts::default()
        }
    }

    /// What the conditions of a test of two ports say.
    pub(crate) fn under(conditions: &Conditions) -> Self {
        let most = conditions.theoretical_max;
        let reached = [conditions.tester_reach, conditions.tester_max].into_iter().flatten().min();
        let short = reached.filter(|reached| reached.fps() < most.fps() * 0.999);
        Facts {
            traffic: conditions.traffic.clone(),
            frame_bytes: conditions.frame_size.parse().ok(),
            given_up: conditions.given_up.clone(),
            tester_short: short.map(|reached| {
                format!("the tester reaches {:.0} of {:.0} frames/s", reached.fps(), most.fps())
            }),
            ports: 2,
            filter_rules: rules_in(&conditions.filters),
            line_rate: Some(conditions.line_rate),
            ..Facts::default()
        }
    }

    /// What the conditions of a test of many ports say.
    pub(crate) fn on(conditions: &ChassisConditions) -> Self {
        let most = conditions.theoretical_max;
        let short = conditions.tester_max.filter(|own| own.fps() < most.fps() * 0.999);
        Facts {
            tester_short: short.map(|own| {
                format!("the tester reaches {:.0} of {:.0} frames/s", own.fps(), most.fps())
            }),
            traffic: conditions.describe(),
            frame_bytes: Some(conditions.frame_size),
            trial_s: Some(conditions.trial_duration.as_secs_f64()),
            ports: conditions.ports,
            line_rate: Some(conditions.line_rate),
            ..Facts::default()
        }
    }

    /// The trial that decided a search is the one that has to be long.
    pub(crate) fn search(self, found: &Throughput) -> Self {
        let decided = found.point.as_ref().map(|point| point.duration.as_secs_f64());
        Facts {
            trial_s: decided.or(self.trial_s),
            failed_at_rate: found.lossy_at_rate,
            ..self.finding(&found.finding)
        }
    }

    /// How far apart the ports of a trial began.
    pub(crate) fn load(self, point: Option<&LoadPoint>) -> Self {
        let skew =
            |point: &LoadPoint| point.start_skew.as_secs_f64() / point.duration.as_secs_f64();
        Facts { start_skew: point.map(skew), ..self }
    }

    /// A bound in place of a result, where a search ended at its `highest` that was tried.
    pub(crate) fn bound_at(self, is_bound: bool, highest: &str) -> Self {
        let bound_only = is_bound.then(|| format!("it ended at the {highest} tried"));
        Facts { bound_only, ..self }
    }

    /// A bound in place of a result, or an interval.
    pub(crate) fn finding(self, finding: &Finding) -> Self {
        match finding {
            Finding::AtLeast { why } => Facts { bound_only: Some(why.clone()), ..self },
            Finding::Between { why } => Facts { undecided: Some(why.clone()), ..self },
            _ => self,
        }
    }
}

/// Whether a test of many ports is of that RFC.
pub(super) fn is_rfc2889(test: ChassisTest) -> bool {
    ChassisTest::RFC2889.contains(&test)
}
/// See [`is_rfc2889`].
pub(super) fn is_rfc3918(test: ChassisTest) -> bool {
    ChassisTest::RFC3918.contains(&test)
}
