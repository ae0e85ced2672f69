//! The figures of the frame loss rate, one a load; its table: loads down, frame sizes across.

use crate::TestKind;
use crate::clauses::Facts;
use crate::outcome::{
    Cell, Figure, FigureName, Layout, Outcome, PairCount, Role, Series, Unit, reasons,
};
use crate::rfc2544::{FrameLossResult, LossPoint, MaximumOf};

impl FrameLossResult {
    /// The loss of each load.
    pub fn outcome(&self) -> Outcome {
        let figures = self.points.iter().flat_map(LossPoint::figures).collect();
        let invalid = match self.points.is_empty() {
            true => vec!["no load was tried".into()],
            false => super::invalid_of(self.points.iter().map(|point| &point.invalid)),
        };
        let of_medium = Some(self.maximum_of == MaximumOf::Medium);
        let offered_short = self.points.iter().filter_map(LossPoint::short_by).reduce(f64::max);
        self.conditions
            .outcome(TestKind::FrameLoss, figures, &invalid)
            .judged_by(Facts { of_medium, offered_short, ..Facts::under(&self.conditions) })
            .laid_out(self.layout())
            .detailed(self)
    }

    /// RFC 2544 section 26.3.
    fn layout(&self) -> Layout {
        let column = format!("{} loss %", self.conditions.frame_size);
        let columns = ["load", &column];
        let mut layout =
            self.conditions.layout("Frame loss rate (RFC 2544 section 26.3)", &columns);
        layout.about.push(
            "loss in % of the frames that should have come out; an empty cell was not run, because \
             two successive loads had been without loss"
                .into(),
        );
        layout.series = self.series();
        let layout = layout.beside("").row(["100 % in fps".into(), Cell::Fps(self.maximum)]);
        let layout = self.points.iter().fold(layout, |layout, point| {
            let loss = match point.invalid.is_empty() {
                true => Cell::Percent(point.loss_percent),
                false if point.not_offered => "not offered".into(),
                false => "invalid".into(),
            };
            layout.row([format!("{} %", point.percent_of_maximum).into(), loss])
        });
        let layout = layout.noted(self.not_offered_loads());
        layout.noted(self.invalid_loads()).noted(self.notes.iter().cloned())
    }

    /// Loss by load: of the medium's maximum and, where it is another, of the highest load offered.
    fn series(&self) -> Vec<Series> {
        let counted = || self.points.iter().filter(|point| point.invalid.is_empty());
        let of = |chart: &str, load: &str, take: fn(&LossPoint) -> f64| Series {
            chart: chart.into(),
            x: (format!("Offered load (% of {load})"), "%".into()),
            y: ("Frame loss rate (%)".into(), "%".into()),
            name: match self.conditions.frame_size.parse::<u32>() {
                Ok(bytes) => format!("{bytes} bytes"),
                Err(_) => self.conditions.frame_size.clone(),
            },
            role: Role::Other,
            points: counted().map(|point| (take(point), point.loss_percent)).collect(),
        };
        let maximum = "the medium's theoretical maximum";
        let mut series =
            vec![of("Frame loss rate by load", maximum, |point| point.percent_of_theoretical)];
        if self.maximum_of == MaximumOf::Tester {
            let chart = "Frame loss rate by load, in terms of what the tester can offer";
            let highest = "the highest load that could be offered";
            series.push(of(chart, highest, |point| point.percent_of_maximum));
        }
        series
    }

    fn not_offered_loads(&self) -> Option<String> {
        self.loads_without("the tester could not offer", |point| point.not_offered)
    }

    fn invalid_loads(&self) -> Option<String> {
        let is_invalid = |point: &LossPoint| !point.invalid.is_empty() && !point.not_offered;
        self.loads_without("invalid at", is_invalid)
    }

    fn loads_without(&self, what: &str, is_one: fn(&LossPoint) -> bool) -> Option<String> {
        let points: Vec<&LossPoint> = self.points.iter().filter(|point| is_one(point)).collect();
        let first = points.first()?;
        let loads: Vec<String> =
            points.iter().map(|point| format!("{} %", point.percent_of_maximum)).collect();
        let others = if points.len() > 1 { " (the others: see every trial)" } else { "" };
        let (loads, at, reasons) =
            (loads.join(", "), first.percent_of_maximum, first.invalid.join("; "));
        Some(format!("{what} {loads}; at {at} %: {reasons}{others}"))
    }
}

impl LossPoint {
    /// Of all frames, and of those of each pair of ports where there are more.
    fn figures(&self) -> Vec<Figure> {
        let of_pair = |pair: &PairCount| {
            let name = format!(
                "loss at {} % of the maximum, {} to {}",
                self.percent_of_maximum, pair.from, pair.to
            );
            Figure::share_lost(name, pair.sent.saturating_sub(pair.received), pair.sent)
        };
        let pairs = self.pairs.iter().filter(|_| self.invalid.is_empty()).map(of_pair);
        std::iter::once(self.figure()).chain(pairs).collect()
    }

    /// Of its figure.
    pub(crate) fn name(&self) -> String {
        format!("loss at {} % of the maximum", self.percent_of_maximum)
    }

    fn figure(&self) -> Figure {
        let name = self.name();
        let lost = self.expected_frames.saturating_sub(self.received_frames);
        let figure = match self.invalid.is_empty() {
            true => Figure::share_lost(name, lost, self.expected_frames),
            false => Figure::missing(name, Unit::Percent, reasons(&self.invalid)),
        };
        figure.called(FigureName::Loss)
    }
}
