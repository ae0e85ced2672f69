//! What clauses ask of a result: read off it once, so that predicates do not know its type.

use crate::chassis::{ChassisConditions, ChassisResult, ChassisTest, LoadPoint, Throughput};
use crate::harvard::y1989::Harvard1989Result;
use crate::rfc2544::{
    BackToBackResult, BurstOutcome, LatencyResult, MaximumOf, RecoveryOutcome, ResetResult,
    ThroughputResult,
};
use crate::rfc2889::{ErroredOutcome, ErroredResult, GapOutcome};
use crate::rfc3918::{
    DelayOutcome, GroupDelayResult, MulticastLatencyResult, MulticastThroughputResult,
};
use crate::{Conditions, Finding, TestResult};
use trial::LatencyForm;
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
    /// Whether the capacity of groups was known.
    pub knows_capacity: Option<bool>,
    /// Size of frames behind a tunnel.
    pub received_bytes: Option<f64>,
    /// Whether there is a throughput of each class.
    pub has_classes: Option<bool>,
    /// Whether there are numbers without a burden and with one.
    pub has_both: Option<bool>,
    /// When the last tagged frame arrived, in seconds after the source had stopped; below 0 before.
    pub last_tag_s: Option<f64>,
}

impl Facts {
    /// Of a result of two ports.
    pub fn of_pair(result: &TestResult) -> Self {
        Facts::pair(result).of_no_more()
    }

    /// Of a result of many ports.
    pub fn of_many(result: &ChassisResult) -> Self {
        Facts::many(result).of_no_more()
    }

    /// A test that came to nothing repeated and reached nothing.
    fn of_no_more(self) -> Self {
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
            ..Facts::default()
        }
    }

    fn pair(result: &TestResult) -> Self {
        let common = Facts::under(result.conditions());
        match result {
            TestResult::Throughput(result) => common.throughput(result),
            TestResult::Latency(result) => common.latency(result),
            TestResult::Pdv(result) => Facts {
                not_measured: result.not_measured.clone(),
                repetitions: Some(result.pdv.as_ref().map_or(0, |pdv| pdv.repetitions)),
                at_throughput: Some(result.rate_is_throughput),
                ..common
            },
            TestResult::Ipdv(result) => Facts {
                not_measured: result.not_measured.clone(),
                repetitions: Some(result.repetitions),
                at_throughput: Some(result.rate_is_throughput),
                ..common
            },
            TestResult::FrameLoss(result) => {
                Facts { of_medium: Some(result.maximum_of == MaximumOf::Medium), ..common }
            }
            TestResult::BackToBack(result) => common.back_to_back(result),
            TestResult::Recovery(result) => {
                let invalid = |outcome: &_| matches!(outcome, RecoveryOutcome::Invalid { .. });
                let valid = result.trials.iter().filter(|trial| !invalid(&trial.outcome));
                Facts {
                    not_measured: result.not_measured.clone(),
                    repetitions: Some(valid.count() as u64),
                    ..common
                }
            }
            TestResult::Reset(result) => common.reset(result),
            TestResult::Harvard(_) => common,
            TestResult::Harvard1989(result) => common.of_1989(result),
        }
    }

    fn under(conditions: &Conditions) -> Self {
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
            line_rate: Some(conditions.line_rate),
            ..Facts::default()
        }
    }

    fn throughput(self, result: &ThroughputResult) -> Self {
        let found = &result.throughput;
        let has_rate = found.rate.is_some();
        Facts {
            not_measured: match &found.finding {
                Finding::Invalid { reasons } => Some(reasons.join("; ")),
                _ => None,
            },
            trial_s: has_rate.then(|| found.trial_duration.as_secs_f64()),
            failed_at_rate: has_rate.then_some((found.failed_trials_at_rate, found.trials_at_rate)),
            ..self.finding(&found.finding)
        }
    }

    fn latency(self, result: &LatencyResult) -> Self {
        Facts {
            not_measured: result.not_measured.clone(),
            repetitions: Some(result.rfc2544.as_ref().map_or(0, |found| found.repetitions)),
            tags: result.rfc8219.as_ref().map(|found| found.tags),
            at_throughput: Some(result.rate_is_throughput),
            has_line_time: Some(
                result.conditions.line_rate_is_physical
                    && result.definition.form != LatencyForm::Lifo,
            ),
            definition: Some(result.definition.meaning.clone()),
            ..self
        }
    }

    fn back_to_back(self, result: &BackToBackResult) -> Self {
        let counts = |outcome: &BurstOutcome| {
            matches!(
                outcome,
                BurstOutcome::Measured | BurstOutcome::AtLimit | BurstOutcome::NothingPassed
            )
        };
        let of = |kind: fn(&BurstOutcome) -> bool| {
            result.searches.iter().filter(|search| kind(&search.outcome)).count() as u64
        };
        Facts {
            not_measured: result.not_measured.clone(),
            repetitions: Some(of(counts)),
            at_limit: Some(of(|outcome| matches!(outcome, BurstOutcome::AtLimit))),
            minimum_gap: Some(result.burst_rate_is_theoretical),
            throughput_fps: result.throughput.map(|rate| rate.fps()),
            ..self
        }
    }

    fn reset(self, result: &ResetResult) -> Self {
        let valid = || result.trials.iter().filter(|trial| trial.invalid.is_empty());
        let is_silent = |by: (bool, bool, bool)| by == (false, false, false);
        let unmeasured = valid().filter(|trial| {
            is_silent((trial.no_loss, trial.by_loss.is_some(), trial.by_timestamps.is_some()))
        });
        Facts {
            not_measured: result.not_measured.clone(),
            repetitions: Some(valid().count() as u64),
            unmeasured: Some(unmeasured.count() as u64),
            ..self
        }
    }

    fn of_1989(self, result: &Harvard1989Result) -> Self {
        let invalid = result.is_invalid();
        Facts { not_measured: invalid.then(|| "no valid trial".into()), ..self }
    }

    fn many(result: &ChassisResult) -> Self {
        let common = Facts::on(result.conditions());
        let common = match result.invalid_reasons() {
            [] => common,
            reasons => Facts { not_measured: Some(reasons.join("; ")), ..common },
        };
        match result {
            ChassisResult::Mesh(result) => {
                common.search(&result.throughput).load(result.points.first())
            }
            ChassisResult::Fanout(result) => common.search(&result.throughput),
            ChassisResult::ForwardPressure(result) => {
                let not_tried = match &result.gap {
                    GapOutcome::NotTested { why } => vec![why.clone()],
                    GapOutcome::Detected { .. } | GapOutcome::NotDetected { .. } => vec![],
                };
                Facts { not_tried, ..common.search(&result.throughput) }
            }
            ChassisResult::Addresses(result) => Facts {
                bound_only: result.at_least.then(|| "it ended at the highest value tried".into()),
                ..common
            },
            ChassisResult::Errored(result) => common.errored(result),
            ChassisResult::BroadcastLatency(result) => {
                let silent = result.ports.iter().filter(|port| port.received == 0).count();
                Facts {
                    unmeasured: Some(silent as u64),
                    has_line_time: Some(
                        result.conditions.line_rate_is_physical
                            && result.ports.iter().any(|port| {
                                let of = port.definition.as_ref();
                                of.is_none_or(|of| of.form != LatencyForm::Lifo)
                            }),
                    ),
                    ..common
                }
            }
            ChassisResult::MulticastThroughput(result) => common.groups(result),
            ChassisResult::ScaledGroups(result) => {
                Facts { knows_capacity: Some(result.capacity.is_some()), ..common }
            }
            ChassisResult::MulticastLatency(result) => common.group_latency(result),
            ChassisResult::GroupDelay(result) => common.group_delay(result),
            ChassisResult::GroupCapacity(result) => Facts {
                bound_only: result.at_least.then(|| "it ended at the highest number tried".into()),
                ..common
            },
            ChassisResult::Congestion(_)
            | ChassisResult::Extrapolation(_)
            | ChassisResult::ArpServer(_)
            | ChassisResult::Tolly(_) => common,
        }
    }

    fn on(conditions: &ChassisConditions) -> Self {
        Facts {
            traffic: conditions.describe(),
            frame_bytes: Some(conditions.frame_size),
            trial_s: Some(conditions.trial_duration.as_secs_f64()),
            ports: conditions.ports,
            line_rate: Some(conditions.line_rate),
            ..Facts::default()
        }
    }

    /// The trial that decided a search is the one that has to be long.
    fn search(self, found: &Throughput) -> Self {
        let decided = found.point.as_ref().map(|point| point.duration.as_secs_f64());
        Facts { trial_s: decided.or(self.trial_s), ..self.finding(&found.finding) }
    }

    fn load(self, point: Option<&LoadPoint>) -> Self {
        let skew =
            |point: &LoadPoint| point.start_skew.as_secs_f64() / point.duration.as_secs_f64();
        Facts { start_skew: point.map(skew), ..self }
    }

    fn errored(self, result: &ErroredResult) -> Self {
        let mut not_tried: Vec<String> = vec![];
        for trial in &result.trials {
            if let ErroredOutcome::NotTested { why } = &trial.outcome {
                let words = format!("{}: {why}", trial.kind);
                if !not_tried.contains(&words) {
                    not_tried.push(words);
                }
            }
        }
        Facts { not_tried, ..self }
    }

    fn groups(self, result: &MulticastThroughputResult) -> Self {
        Facts {
            received_bytes: result.multicast.received_size_bytes,
            has_classes: Some(result.classes.is_some()),
            ..self.search(&result.throughput)
        }
    }

    fn group_latency(self, result: &MulticastLatencyResult) -> Self {
        let tagged = result.sets.iter().flat_map(|set| &set.latencies);
        let longest = tagged.map(|tagged| tagged.latency).max();
        let burdened = result.sets.iter().filter(|set| set.burden.is_some()).count();
        Facts {
            repetitions: Some(result.sets.len() as u64),
            has_both: Some(burdened > 0 && burdened < result.sets.len()),
            // Tagged frames leave in the middle of a trial.
            last_tag_s: longest
                .map(|latency| latency.as_secs_f64() - result.duration.as_secs_f64() / 2.0),
            ..self
        }
    }

    fn group_delay(self, result: &GroupDelayResult) -> Self {
        let ports = result.sets.iter().flat_map(|set| &set.ports);
        let said_nothing = |outcome: &_| matches!(outcome, DelayOutcome::NotFromThere { .. });
        let burdened = result.sets.iter().filter(|set| set.burden.is_some()).count();
        Facts {
            unmeasured: Some(ports.filter(|port| said_nothing(&port.outcome)).count() as u64),
            has_both: Some(burdened > 0 && burdened < result.sets.len()),
            ..self
        }
    }
}

impl Facts {
    fn finding(self, finding: &Finding) -> Self {
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
