//! The tables and curves of latency.

use crate::LatencySummary;
use crate::outcome::number::{microseconds, microseconds_of_ps, several};
use crate::outcome::{Cell, Distribution, Layout, Role, Series};
use crate::rfc2544::LatencyResult;
use trial::{Histogram, LatencyForm};
use units::Duration;

const COLUMNS: [&str; 12] = [
    "frame size",
    "load fps",
    "RFC 2544 mean us",
    "min us",
    "max us",
    "typical us",
    "worst case us",
    "LIFO / FIFO / LILO / FILO mean us",
    "tester floor us, FILO",
    "frame time us",
    "trials",
    "<verdict",
];
const EVERY_FRAME: [&str; 12] = [
    "frame size",
    "frames",
    "min us",
    "mean us",
    "p50 us",
    "p90 us",
    "p99 us",
    "half load p99 us",
    "p99.9 us",
    "max us",
    "PDV us",
    "jitter us",
];

impl LatencyResult {
    /// RFC 2544 section 26.2 and RFC 8219 section 7.2.
    pub(super) fn layout(&self) -> Layout {
        let heading =
            "Latency (RFC 2544 section 26.2; typical and worst case RFC 8219 section 7.2)";
        let mut layout = self.conditions.layout(heading, &COLUMNS);
        layout.about.push(
            "the tester's own floor, as stamped with its ports joined, is stated beside them, not subtracted"
                .into(),
        );
        layout.series = self.series();
        layout.row(self.row()).noted(self.remarks())
    }

    fn row(&self) -> [Cell; 12] {
        let (rfc2544, rfc8219) = (self.rfc2544.as_ref(), self.rfc8219.as_ref());
        let invalid = self.trials.iter().filter(|trial| !trial.invalid.is_empty()).count();
        let in_form = |stamped| Cell::ps(self.definition.ps(stamped));
        [
            self.conditions.frame_size.clone().into(),
            Cell::optional(self.rate, Cell::Fps),
            Cell::optional(rfc2544, |l| in_form(l.mean)),
            Cell::optional(rfc2544, |l| in_form(l.min)),
            Cell::optional(rfc2544, |l| in_form(l.max)),
            Cell::optional(rfc8219, |l| in_form(l.typical)),
            Cell::optional(rfc8219, |l| in_form(l.worst_case)),
            Cell::optional(rfc2544, |l| self.forms(l.mean)),
            Cell::optional(self.tester_floor, Cell::Time),
            self.frame_time(),
            Cell::trials(self.trials.len() as u64, invalid as u64),
            match (&self.not_measured, self.rate_is_throughput) {
                (Some(_), _) => "not measured".into(),
                (None, true) => "latency at throughput".into(),
                (None, false) => "delay (not at throughput)".into(),
            },
        ]
    }

    /// A stamped latency in every form; a dash where they agree, or differ from frame to frame.
    fn forms(&self, stamped: Duration) -> Cell {
        if self.definition.other_forms().next().is_none() {
            return Cell::none();
        }
        let bits = self.definition.bits();
        let forms = LatencyForm::ALL;
        forms.map(|form| microseconds_of_ps(bits.in_form_ps(form, stamped))).join(" / ").into()
    }

    /// What the frame's bits take on the lines.
    fn frame_time(&self) -> Cell {
        match (self.definition.serialization_in, self.definition.serialization_out) {
            (Some(within), Some(out)) if within == out => Cell::Time(within),
            (Some(within), Some(out)) => {
                format!("{} / {}", microseconds(within), microseconds(out)).into()
            }
            _ => Cell::none(),
        }
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = vec![self.definition.in_words()];
        remarks.extend(self.not_measured.iter().map(|why| format!("not measured: {why}")));
        remarks.extend(self.rfc2544.as_ref().map(|rfc2544| {
            format!(
                "the RFC 2544 mean is of {}",
                several(rfc2544.repetitions, "tagged frame", "tagged frames")
            )
        }));
        remarks.extend(self.rfc8219.as_ref().map(|rfc8219| {
            let (trials, frames) = (rfc8219.repetitions, rfc8219.tags);
            let (trials, frames) = (
                several(trials, "trial", "trials"),
                several(frames, "tagged frame", "tagged frames"),
            );
            format!("typical and worst case are medians of {trials} with {frames} each")
        }));
        remarks.extend(self.notes.iter().cloned());
        remarks
    }

    /// Percentiles of all frames, to be told apart from the RFC's numbers.
    pub(super) fn every_frame_layout(&self) -> Option<Layout> {
        let all = self.all_frames.as_ref()?;
        let heading = "Latency of every frame (neither the RFC 2544 nor the RFC 8219 number)";
        let mut layout = self.conditions.layout(heading, &EVERY_FRAME);
        let definition = &self.definition;
        layout.about.extend([
            format!("latency is {}: {}", definition.name, definition.form.meaning()),
            format!(
                "percentiles are high by at most {:.2} %; minimum, mean and maximum are exact",
                (Histogram::RELATIVE_ERROR * 1e4).ceil() / 100.0
            ),
            "half load: one trial at half of the load fps of the table above; all other columns at that load".into(),
            "PDV: packet delay variation D(99.9) - D(min) (RFC 5481 section 4.2)".into(),
            "jitter: mean of |D(i) - D(i-1)| (RFC 4689 section 3.2.5)".into(),
        ]);
        let stamped = |stamped: Duration| Cell::ps(definition.ps(stamped));
        let mut row = vec![self.conditions.frame_size.clone().into(), Cell::Count(all.count)];
        row.extend([all.min, all.mean, all.p50, all.p90, all.p99].map(stamped));
        row.push(Cell::optional(self.half_load.as_ref(), |half| stamped(half.p99)));
        row.extend([all.p999, all.max].map(stamped));
        row.push(Cell::Time(all.pdv));
        row.push(Cell::optional(all.jitter_mean_ns, |ns| Cell::number(ns / 1e3, 3)));
        Some(layout.row(row))
    }

    /// What is drawn by frame size beside the figures that have a name.
    fn series(&self) -> Vec<Series> {
        let of = |name: &str, role, ns: f64| {
            let point = (self.conditions.mean_frame_size_bytes, ns);
            Series::by_size(("latency", name), ("latency", "ns"), role, point)
        };
        let every = |name: &str, take: fn(&LatencySummary) -> Duration| {
            let all = self.all_frames.as_ref();
            all.map(|all| of(name, Role::Other, self.definition.ns(take(all))))
        };
        // The floor is FILO: beside another form it is no floor.
        let is_filo = self.definition.ns(Duration::ZERO) == 0.0;
        let floor = self.tester_floor.filter(|_| is_filo).map(Duration::as_ns_f64);
        let floor = floor.map(|ns| of("tester's own floor", Role::Tester, ns));
        [every("every frame, min", |all| all.min), every("every frame, p50", |all| all.p50), floor]
            .into_iter()
            .flatten()
            .collect()
    }

    pub(super) fn histogram(&self) -> Option<Distribution> {
        Some(Distribution {
            name: "Latency of every frame".into(),
            quantity: "Latency as stamped (FILO)".into(),
            histogram: self.all_frames.as_ref()?.histogram.clone(),
        })
    }
}
