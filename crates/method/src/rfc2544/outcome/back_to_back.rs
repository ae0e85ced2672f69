//! The figures of back-to-back frames, and their table in the columns of RFC 9004 section 7.

use crate::TestKind;
use crate::clauses::Facts;
use crate::outcome::number::grouped;
use crate::outcome::{Cell, Figure, FigureName, Layout, Outcome, Role, Series, Unit, no_result};
use crate::rfc2544::{BackToBackResult, BurstFound, BurstOutcome, BurstSummary};

const COLUMNS: [&str; 12] = [
    "frame size",
    "average burst frames",
    "min",
    "max",
    "std. deviation",
    "N",
    "corrected buffer ms",
    "corrected buffer frames",
    "implied buffer ms",
    "burst rate fps",
    "throughput fps",
    "<verdict",
];

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
        self.conditions
            .outcome(TestKind::BackToBack, figures, &self.invalid())
            .judged_by(self.facts())
            .laid_out(self.layout())
            .detailed(self)
    }

    fn facts(&self) -> Facts {
        use BurstOutcome::{AtLimit, Measured, NothingPassed};
        let of = |kind: fn(&BurstOutcome) -> bool| {
            self.searches.iter().filter(|search| kind(&search.outcome)).count() as u64
        };
        Facts {
            not_measured: self.not_measured.clone(),
            repetitions: Some(of(|end| matches!(end, Measured | AtLimit | NothingPassed))),
            at_limit: Some(of(|end| matches!(end, AtLimit))),
            minimum_gap: Some(self.burst_rate_is_theoretical),
            throughput_fps: self.throughput.map(|rate| rate.fps()),
            ..Facts::under(&self.conditions)
        }
    }

    fn layout(&self) -> Layout {
        let heading = "Back-to-back frames (RFC 2544 section 26.4 as RFC 9004 has it)";
        let mut layout = self.conditions.layout(heading, &COLUMNS);
        layout.series = self.series();
        let summary = self.summary.as_ref();
        let bound = |cell: Cell| cell.at_least_if(self.is_lower_bound());
        let layout = layout.row([
            self.conditions.frame_size.clone().into(),
            Cell::optional(summary, |s| bound(Cell::number(s.frames.mean, 1))),
            Cell::optional(summary, |s| Cell::number(s.frames.min, 0)),
            Cell::optional(summary, |s| bound(Cell::number(s.frames.max, 0))),
            Cell::optional(summary, |s| Cell::number(s.frames.standard_deviation, 1)),
            Cell::optional(summary, |s| Cell::Count(s.frames.count)),
            Cell::optional(summary, |s| bound(Cell::milliseconds(s.corrected_buffer_time))),
            Cell::optional(summary, |s| bound(Cell::number(s.corrected_buffer_frames, 1))),
            Cell::optional(summary, |s| bound(Cell::milliseconds(s.implied_buffer_time))),
            Cell::optional(self.burst_rate, Cell::Fps),
            Cell::optional(self.throughput, Cell::Fps),
            self.verdict().into(),
        ]);
        layout.noted(self.remarks()).noted([format!("search: {}", self.search)])
    }

    fn series(&self) -> Vec<Series> {
        let of = |name, role, frames| {
            let point = (self.conditions.mean_frame_size_bytes, frames);
            Series::by_size(("burst", name), ("burst without loss", "frames"), role, point)
        };
        self.summary
            .iter()
            .flat_map(|summary| {
                let frames = &summary.frames;
                [
                    of("average", Role::Device, frames.mean),
                    of("shortest", Role::Other, frames.min),
                    of("longest", Role::Other, frames.max),
                ]
            })
            .collect()
    }

    fn verdict(&self) -> &'static str {
        let any = |test: fn(&BurstOutcome) -> bool| self.searches.iter().any(|s| test(&s.outcome));
        match () {
            () if self.not_measured.is_some() => "not measured",
            () if self.summary.is_none() => "INVALID",
            () if any(|outcome| matches!(outcome, BurstOutcome::AtLimit)) => "at the limit",
            () if any(|outcome| matches!(outcome, BurstOutcome::AtLeast { .. })) => ">= tester",
            () if any(|outcome| matches!(outcome, BurstOutcome::Invalid { .. })) => {
                "partly invalid"
            }
            () if any(|outcome| matches!(outcome, BurstOutcome::NothingPassed)) => {
                "single frame lost"
            }
            () => "measured",
        }
    }

    fn remarks(&self) -> Vec<String> {
        if let Some(why) = &self.not_measured {
            return vec![format!("not measured: {why}")];
        }
        let mut remarks = vec![format!(
            "smallest step {} frames; longest burst allowed {} frames ({})",
            grouped(self.step_frames),
            grouped(self.limit_frames),
            self.limit
        )];
        let said = self.searches.iter().filter_map(|search| match &search.outcome {
            BurstOutcome::AtLimit => {
                Some("no burst up to the limit lost frames: raise the limit".into())
            }
            BurstOutcome::AtLeast { why } => {
                Some(format!("tester-limited; the device may be faster: {why}"))
            }
            BurstOutcome::Invalid { reasons } => {
                Some(format!("a search had no valid trial: {}", reasons.join("; ")))
            }
            BurstOutcome::NothingPassed => Some("a search lost even a single frame".into()),
            BurstOutcome::Measured => None,
        });
        remarks.extend(said);
        remarks.extend(self.notes.iter().cloned());
        remarks
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
