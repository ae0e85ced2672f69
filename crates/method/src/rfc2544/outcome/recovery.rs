//! The figure of system recovery, and its table.

use crate::TestKind;
use crate::clauses::Facts;
use crate::outcome::{Cell, Figure, FigureName, Layout, Outcome, Unit, no_result};
use crate::rfc2544::{RecoveryOutcome, RecoveryResult, RecoveryTrial};
use units::Duration;

const COLUMNS: [&str; 9] = [
    "frame size",
    "throughput fps",
    "overload fps",
    "recovery mean ms",
    "min ms",
    "max ms",
    "lost frames",
    "trials counted",
    "<verdict",
];

impl RecoveryOutcome {
    /// What a reader should know of such a repetition.
    fn remark(&self) -> Option<String> {
        match self {
            RecoveryOutcome::Recovered { .. } => None,
            RecoveryOutcome::NoOverload => {
                Some("the overload lost no frame: nothing to recover from".into())
            }
            RecoveryOutcome::NotRecovered { observed, .. } => {
                Some(format!("still losing frames after {observed}"))
            }
            RecoveryOutcome::Invalid { reasons } => {
                Some(format!("an invalid trial: {}", reasons.join("; ")))
            }
        }
    }
}

impl RecoveryResult {
    /// The mean time to recover.
    pub fn outcome(&self) -> Outcome {
        let figure = self.mean_time().called(FigureName::Recovery);
        let of = |trial: &RecoveryTrial| match &trial.outcome {
            RecoveryOutcome::Invalid { reasons } => no_result(reasons),
            _ => vec![],
        };
        let all: Vec<Vec<String>> = self.trials.iter().map(of).collect();
        let invalid = super::invalid_of(all.iter());
        self.conditions
            .outcome(TestKind::Recovery, vec![figure], &invalid)
            .judged_by(self.facts())
            .laid_out(self.layout())
            .detailed(self)
    }

    fn facts(&self) -> Facts {
        let invalid = |outcome: &_| matches!(outcome, RecoveryOutcome::Invalid { .. });
        let valid = self.trials.iter().filter(|trial| !invalid(&trial.outcome));
        Facts {
            not_measured: self.not_measured.clone(),
            repetitions: Some(valid.count() as u64),
            ..Facts::under(&self.conditions)
        }
    }

    fn layout(&self) -> Layout {
        let mut layout =
            self.conditions.layout("System recovery (RFC 2544 section 26.5)", &COLUMNS);
        layout.about.push(
            "recovery time: from the halving of the load to the departure of the last frame lost"
                .into(),
        );
        let run = Some(self.trials.len()).filter(|trials| *trials > 0);
        let lost: u64 = self.trials.iter().map(|trial| trial.lost_frames).sum();
        let bound = |time| Cell::milliseconds(time).at_least_if(self.is_lower_bound);
        layout
            .row([
                self.conditions.frame_size.clone().into(),
                Cell::optional(self.throughput, Cell::Fps),
                Cell::optional(self.overload, Cell::Fps),
                Cell::optional(self.mean, bound),
                Cell::optional(self.min, Cell::milliseconds),
                Cell::optional(self.max, bound),
                Cell::optional(run, |_| Cell::Count(lost)),
                Cell::optional(run, |trials| format!("{} of {trials}", self.counted()).into()),
                self.verdict().into(),
            ])
            .noted(self.not_measured.iter().map(|why| format!("not measured: {why}")))
            .noted(self.trials.iter().filter_map(|trial| trial.outcome.remark()))
            .noted(self.notes.iter().cloned())
    }

    fn counted(&self) -> usize {
        use RecoveryOutcome::{NotRecovered, Recovered};
        let counts = |o: &RecoveryOutcome| matches!(o, Recovered { .. } | NotRecovered { .. });
        self.trials.iter().filter(|trial| counts(&trial.outcome)).count()
    }

    fn verdict(&self) -> &'static str {
        let any = |test: fn(&RecoveryOutcome) -> bool| self.trials.iter().any(|t| test(&t.outcome));
        match () {
            () if self.not_measured.is_some() => "not measured",
            () if any(|o| matches!(o, RecoveryOutcome::NotRecovered { .. })) => "did not recover",
            () if self.mean.is_some() => "measured",
            () if any(|o| matches!(o, RecoveryOutcome::NoOverload)) => "no loss in overload",
            () => "INVALID",
        }
    }

    fn mean_time(&self) -> Figure {
        let times = self.trials.iter().filter_map(|trial| match trial.outcome {
            RecoveryOutcome::Recovered { time } => Some(time.as_ns_f64()),
            RecoveryOutcome::NotRecovered { lost_until, .. } => Some(lost_until.as_ns_f64()),
            _ => None,
        });
        let times: Vec<f64> = times.collect();
        const NAME: &str = "recovery time mean";
        if times.is_empty() {
            return Figure::missing(NAME, Unit::Ns, self.not_measured.clone());
        }
        let mean = self.mean.map(Duration::as_ns_f64);
        let figure = Figure::mean_of(NAME, Unit::Ns, &times).valued(mean);
        if self.is_lower_bound { figure.or_more() } else { figure }
    }
}
