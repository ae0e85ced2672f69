//! The figures of resets, one kind of reset each.

use crate::TestKind;
use crate::clauses::Facts;
use crate::outcome::{Cell, Figure, FigureName, Layout, Outcome, Unit};
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

const COLUMNS: [&str; 9] = [
    "frame size",
    "<reset",
    "load fps",
    "by loss ms",
    "by time stamps ms",
    "mean loss frames",
    "action took ms",
    "trials",
    "<verdict",
];

impl ResetResult {
    /// The mean reset time by loss and by time stamps.
    pub fn outcome(&self) -> Outcome {
        let invalid = super::invalid_of(self.trials.iter().map(|trial| &trial.invalid));
        self.conditions
            .outcome(TestKind::Reset, self.figures(), &invalid)
            .judged_by(self.facts())
            .laid_out(self.layout())
            .detailed(self)
    }

    fn valid(&self) -> impl Iterator<Item = &ResetTrial> {
        self.trials.iter().filter(|trial| trial.invalid.is_empty())
    }

    fn facts(&self) -> Facts {
        let is_silent = |by: (bool, bool, bool)| by == (false, false, false);
        let unmeasured = self.valid().filter(|trial| {
            is_silent((trial.no_loss, trial.by_loss.is_some(), trial.by_timestamps.is_some()))
        });
        Facts {
            not_measured: self.not_measured.clone(),
            repetitions: Some(self.valid().count() as u64),
            unmeasured: Some(unmeasured.count() as u64),
            ..Facts::under(&self.conditions)
        }
    }

    fn layout(&self) -> Layout {
        let heading = "Reset (RFC 2544 section 26.6 as RFC 6201 has it)";
        let took = self.trials.iter().filter_map(|trial| trial.action_took).max();
        let invalid = || self.trials.iter().filter(|trial| !trial.invalid.is_empty());
        self.conditions
            .layout(heading, &COLUMNS)
            .row([
                self.conditions.frame_size.clone().into(),
                action_in_words(&self.action).into(),
                Cell::optional(self.rate, Cell::Fps),
                Cell::optional(self.mean_by_loss, Cell::milliseconds),
                Cell::optional(self.mean_by_timestamps, Cell::milliseconds),
                Cell::optional(self.mean_lost_frames, |frames| Cell::number(frames, 1)),
                Cell::optional(took, Cell::milliseconds),
                Cell::trials(self.trials.len() as u64, invalid().count() as u64),
                match () {
                    () if self.not_measured.is_some() => "not measured".into(),
                    () if self.valid().next().is_none() => "INVALID".into(),
                    () if self.valid().all(|trial| trial.no_loss) => "no loss".into(),
                    () => "measured".into(),
                },
            ])
            .noted(self.not_measured.iter().map(|why| format!("not measured: {why}")))
            .noted(invalid().map(|trial| format!("an invalid trial: {}", trial.invalid.join("; "))))
            .noted(self.notes.iter().cloned())
    }

    fn figures(&self) -> Vec<Figure> {
        let counted_ns = |take: fn(&ResetTrial) -> Option<Duration>| -> Vec<f64> {
            self.valid().filter_map(take).map(Duration::as_ns_f64).collect()
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
