//! The figure of system recovery.

use crate::TestKind;
use crate::outcome::{Figure, FigureName, Outcome, Unit, no_result};
use crate::rfc2544::{RecoveryOutcome, RecoveryResult, RecoveryTrial};
use units::Duration;

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
        Outcome::new(TestKind::Recovery, &self.conditions, vec![figure], &invalid)
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
