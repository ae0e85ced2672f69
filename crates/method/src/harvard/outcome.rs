//! The figures of the router tests of 1990, named by their columns, and the tables of 1990.

use super::{DelayResult, MaxRateResult, RawRateResult, RawStream, Setting};
use crate::outcome::interval::wilson_interval;
use crate::outcome::{
    Basis, Cell, Figure, FigureName, Layout, Outcome, Role, Series, Unit, reasons,
};
use crate::{Conditions, Finding, TestKind};
use units::FrameRate;

/// What the columns of the tables of 1990 mean.
const ABOUT: &str = "frames/s: theo, the medium's maximum; test, the tester's own with its shortest gap; \
                     max, the highest without loss; fld, what comes out at the rate of test";
const DELAY: &str = "from the end of the input frame to the start of the output frame, of a stream \
                     with a large gap; on a virtual link from stamp to arrival";

impl MaxRateResult {
    /// The rate in its column of the tables of 1990.
    pub fn outcome(&self) -> Outcome {
        let figure = self.found.figure(self.setting.figure_name("max", 0));
        let test = match self.setting.streams {
            1 => TestKind::MaxRate,
            _ => TestKind::DualMaxRate,
        };
        let invalid = self.found.finding.invalid_reasons();
        self.conditions
            .outcome(test, vec![figure.called(FigureName::MaxRate)], &invalid)
            .laid_out(self.layout())
            .detailed(self)
    }

    fn layout(&self) -> Layout {
        let Setting { streams, .. } = self.setting;
        let mut columns = vec![];
        if let Some(rate) = self.conditions.tester_max.filter(|_| streams == 1) {
            columns.push(("test".to_owned(), Cell::Fps(rate)));
        }
        let column = if streams > 1 { "d_max".into() } else { self.setting.column("max", 0) };
        columns.push((column, self.found.cell()));
        let notes = matches!(self.found.finding, Finding::AtLeast { .. })
            .then(|| "tester-limited above max; the device may be faster".to_owned());
        self.setting.rates(&self.conditions, columns).noted(notes)
    }
}

impl RawRateResult {
    /// What comes out, a figure a stream.
    pub fn outcome(&self) -> Outcome {
        let test = match self.setting.streams {
            1 => TestKind::RawRate,
            _ => TestKind::DualStream,
        };
        self.conditions
            .outcome(test, self.figures(), &self.invalid)
            .laid_out(self.layout())
            .detailed(self)
    }

    fn layout(&self) -> Layout {
        let Setting { streams, .. } = self.setting;
        let mut columns = vec![];
        for (number, stream) in self.streams.iter().enumerate() {
            let name = if streams > 1 { format!("test{}", number + 1) } else { "test".into() };
            columns.push((name, Cell::Fps(stream.offered)));
        }
        for number in 0..streams {
            let forwarded = self.streams.get(number).map(|stream| Cell::Fps(stream.forwarded));
            let cell = forwarded.unwrap_or_else(|| "invalid".into());
            columns.push((self.setting.column("fld", number), cell));
        }
        self.setting.rates(&self.conditions, columns)
    }
}

impl DelayResult {
    /// The median time through the device.
    pub fn outcome(&self) -> Outcome {
        self.conditions
            .outcome(TestKind::Delay, vec![self.figure()], &self.invalid)
            .laid_out(self.layout())
            .detailed(self)
    }

    fn layout(&self) -> Layout {
        let heading = format!("{}: delay", self.setting.heading());
        let columns = ["size", "min us", "median us", "max us", "lost frames"];
        let [min, median, max] = match self.delay() {
            Some(times) => times.map(Cell::Time),
            None if self.invalid.is_empty() => ["-"; 3].map(Cell::from),
            None => ["invalid"; 3].map(Cell::from),
        };
        let (size, lost) = (self.conditions.frame_size.clone(), Cell::Count(self.lost_frames));
        Layout::new(heading, vec![DELAY.into()], &columns).row([
            size.into(),
            min,
            median,
            max,
            lost,
        ])
    }
}

impl Setting {
    /// The table that it belongs to, with these columns beside the medium's maximum.
    fn rates(&self, conditions: &Conditions, mut columns: Vec<(String, Cell)>) -> Layout {
        // Truncated, as RFC 2544 appendix B does and the tables of 1990 did.
        let theory = FrameRate::from_fps(conditions.theoretical_max.fps_truncated());
        columns.insert(0, ("theo".into(), Cell::Fps(theory)));
        let size = conditions.frame_size.clone();
        let mut layout = Layout::new(self.heading(), vec![ABOUT.into()], &["size"]).beside("U");
        layout.series = columns.iter().filter_map(|column| curve(conditions, column)).collect();
        let (titles, cells): (Vec<String>, Vec<Cell>) = columns.into_iter().unzip();
        layout.columns.extend(titles);
        layout.row([vec![size.into()], cells].concat())
    }
}

/// A column by frame size, as the tests of 1990 drew it.
fn curve(conditions: &Conditions, (column, cell): &(String, Cell)) -> Option<Series> {
    let rate = cell.fps()?;
    let role = match &column[..] {
        "theo" => Role::Medium,
        tester if tester.starts_with("test") => Role::Tester,
        _ => Role::Other,
    };
    let point = (conditions.mean_frame_size_bytes, rate);
    Some(Series::by_size(("frame rate", column), ("frame rate", "fps"), role, point))
}

impl Setting {
    fn figure_name(&self, kind: &str, stream: usize) -> String {
        format!("{} {}", self.column(kind, stream), self.path)
    }
}

impl RawRateResult {
    fn figures(&self) -> Vec<Figure> {
        let name = |stream| self.setting.figure_name("fld", stream);
        let figures: Vec<Figure> = match self.streams.is_empty() {
            true => vec![Figure::missing(name(0), Unit::Fps, reasons(&self.invalid))],
            false => {
                let streams = self.streams.iter().enumerate();
                streams.map(|(number, stream)| stream.figure(name(number))).collect()
            }
        };
        figures.into_iter().map(|figure| figure.called(FigureName::RawRate)).collect()
    }
}

impl RawStream {
    /// The share of frames that came out is what was counted; the rate offered is exact.
    fn figure(&self, name: String) -> Figure {
        let offered = self.offered.fps();
        let share = wilson_interval(self.received_frames, self.sent_frames);
        let within = share.map(|(low, high)| (low * offered, high * offered));
        Figure::single(name, Unit::Fps, self.forwarded.fps()).bounded(within, Basis::Counting)
    }
}

impl DelayResult {
    fn figure(&self) -> Figure {
        let name = format!("delay {}", self.setting.path);
        let figure = match self.delay() {
            Some([_, median, _]) => Figure::single(name, Unit::Ns, median.as_ns_f64()),
            None => Figure::missing(name, Unit::Ns, reasons(&self.invalid)),
        };
        figure.called(FigureName::Delay)
    }
}
