//! The figures of resets, one kind of reset each.

use crate::TestKind;
use crate::outcome::{Figure, FigureName, Outcome, Unit};
use crate::rfc2544::{ResetResult, ResetTrial};
use trial::DeviceAction;
use units::Duration;

/// Which reset, in words.
pub fn action_in_words(action: &DeviceAction) -> String {
    match action {
        DeviceAction::LinkReset { port, down_for } => {
            format!("link at {port} down for {down_for}")
        }
        DeviceAction::SoftwareReset => "software".into(),
    }
}

impl ResetResult {
    /// The mean reset time by loss and by time stamps.
    pub fn outcome(&self) -> Outcome {
        let invalid = super::invalid_of(self.trials.iter().map(|trial| &trial.invalid));
        Outcome::new(TestKind::Reset, &self.conditions, self.figures(), &invalid)
    }

    fn figures(&self) -> Vec<Figure> {
        let counted_ns = |take: fn(&ResetTrial) -> Option<Duration>| -> Vec<f64> {
            let counted = self.trials.iter().filter(|trial| trial.invalid.is_empty());
            counted.filter_map(take).map(Duration::as_ns_f64).collect()
        };
        let by_loss = counted_ns(|trial| trial.by_loss);
        let by_time = counted_ns(|trial| trial.by_timestamps);
        let name = |by: &str| format!("reset time by {by} ({})", action_in_words(&self.action));
        if by_loss.is_empty() && by_time.is_empty() {
            let missing = Figure::missing(name("loss"), Unit::Ns, self.not_measured.clone());
            return vec![missing.called(FigureName::Reset)];
        }
        let mean = |by: &str, values: &[f64], mean: Option<Duration>| {
            Figure::mean_of(name(by), Unit::Ns, values).valued(mean.map(Duration::as_ns_f64))
        };
        let figures = [
            mean("loss", &by_loss, self.mean_by_loss),
            mean("time stamps", &by_time, self.mean_by_timestamps),
        ];
        // The RFC's own comes first; time stamps where there is none.
        let headline = if self.mean_by_loss.is_some() { 0 } else { 1 };
        let named = figures.into_iter().enumerate().map(|(at, figure)| {
            if at == headline { figure.called(FigureName::Reset) } else { figure }
        });
        named.collect()
    }
}
