//! The figures of back-to-back frames.

use crate::TestKind;
use crate::outcome::{Figure, FigureName, Outcome, Unit, no_result};
use crate::rfc2544::{BackToBackResult, BurstFound, BurstOutcome, BurstSummary};

impl BackToBackResult {
    /// The average burst, and the buffer time that RFC 9004 corrects from it.
    pub fn outcome(&self) -> Outcome {
        let figures = match &self.summary {
            None => {
                let why = self.not_measured.clone();
                vec![Figure::missing("average burst", Unit::Frames, why)]
            }
            Some(summary) => self.figures(summary),
        };
        let mut figures = figures.into_iter();
        let burst = figures.next().map(|burst| burst.called(FigureName::BackToBack));
        let figures = burst.into_iter().chain(figures).collect();
        Outcome::new(TestKind::BackToBack, &self.conditions, figures, &self.invalid())
    }

    /// Whether any search ended for another reason than the device's loss: the truth may be more.
    pub fn is_lower_bound(&self) -> bool {
        self.searches.iter().any(|search| {
            matches!(search.outcome, BurstOutcome::AtLimit | BurstOutcome::AtLeast { .. })
        })
    }

    fn invalid(&self) -> Vec<String> {
        let of = |search: &BurstFound| match &search.outcome {
            BurstOutcome::Invalid { reasons } => no_result(reasons),
            _ => vec![],
        };
        let all: Vec<Vec<String>> = self.searches.iter().map(of).collect();
        super::invalid_of(all.iter())
    }

    fn figures(&self, summary: &BurstSummary) -> Vec<Figure> {
        // Those of which the average is made.
        let counted = || {
            self.searches.iter().filter(|search| {
                let outcome = &search.outcome;
                !matches!(outcome, BurstOutcome::Invalid { .. } | BurstOutcome::AtLeast { .. })
            })
        };
        let values: Vec<f64> = counted().map(|search| search.frames as f64).collect();
        let mut burst = Figure::mean_of("average burst", Unit::Frames, &values)
            .valued(Some(summary.frames.mean));
        // Each search ends somewhat below the truth, whatever the spread of the searches.
        let open = counted().filter_map(|search| Some(search.too_long_frames? - 1 - search.frames));
        let open = open.max().unwrap_or(0) as f64;
        burst.high = burst.high.map(|high| high + open);
        let corrected = summary.corrected_buffer_time.as_ns_f64();
        let figures = [burst, Figure::single("corrected buffer time", Unit::Ns, corrected)];
        match self.is_lower_bound() {
            true => figures.map(Figure::or_more).into(),
            false => figures.into(),
        }
    }
}
