//! The IP9000 tests, in the layout of the document's figures, with what it printed beside.

use super::published::{DOCUMENT, Published, printed, published};
use super::{TollyIteration, TollyResult, TollyRow};
use crate::chassis::ChassisTest;
use crate::outcome::{Cell, FigureName, Layout};
use units::Duration;

// A narrow terminal leaves out the last columns.
const UNICAST: [&str; 9] = [
    "packet size, bytes",
    "here: packets/s of a stream",
    "published: packets/s of a stream",
    "here: latency, us",
    "published: latency, us",
    "latency here less published, %",
    "here: packets/s of all streams",
    "published: packets/s of all streams",
    "streams",
];
const MULTICAST: [&str; 14] = [
    "packet size, bytes",
    "ports, inputs x outputs",
    "here: cut-through latency, us",
    "published: cut-through latency, us",
    "here: store-and-forward latency, us",
    "published: store-and-forward latency, us",
    "cut-through latency here less published, %",
    "here: packets lost",
    "published: packets lost",
    "here: packets received by each output",
    "published: packets received by each output",
    "here: packets sent by each input",
    "published: packets sent by each input",
    "streams",
];
const COUNTED: [&str; 10] = [
    "packet size, bytes",
    "ports, inputs x outputs",
    "here: packets lost",
    "published: packets lost",
    "here: packets received by each output",
    "published: packets received by each output",
    "here: packets sent by each input",
    "published: packets sent by each input",
    "streams",
    "load of each input, % of wire speed",
];

impl TollyResult {
    pub(super) fn layout(&self) -> Layout {
        type Cells = fn(&TollyRow, Option<&Published>) -> Vec<Cell>;
        let (columns, cells): (&[&str], Cells) = match self.conditions.test {
            ChassisTest::BaseUnicast => (&UNICAST, TollyRow::unicast),
            ChassisTest::BaseMulticast => (&MULTICAST, TollyRow::base_multicast),
            _ => (&COUNTED, TollyRow::counted),
        };
        let mut layout = self.conditions.layout(columns);
        layout.about = vec![
            format!("published: {DOCUMENT} on the Torrent IP9000; here: this run"),
            self.conditions.medium(),
        ];
        layout.about.extend(self.about());
        for row in &self.rows {
            let printed = published(self.conditions.test, row, self.conditions.frame_size);
            let cells = cells(row, printed.as_ref());
            layout = layout.row([vec![self.conditions.size()], cells].concat()).noted(row.notes());
        }
        let layout = layout.with_curves(self.curves()).with_bars(self.pictures());
        Layout { draws: vec![FigureName::Latency], ..layout }
    }

    /// How the test was made, beside what the conditions say.
    fn about(&self) -> Vec<String> {
        let iterations = self.rows.iter().map(|row| row.iterations.len()).max().unwrap_or(0);
        let mut about =
            vec![format!("{iterations} iterations, averaged; losses are those of all of them")];
        let words = match self.conditions.test {
            ChassisTest::MulticastMesh => {
                "each output gets the packets of all inputs but its own: the inputs send so much slower, \
                 and the outputs are at wire speed (the document has the inputs at wire speed, too)"
            }
            ChassisTest::BaseMulticast => {
                "cut through: first bit in to first bit out; store and forward: last bit in to the first \
                 bit of the preamble out; means over all packets and outputs"
            }
            ChassisTest::BaseUnicast => {
                "the highest rate without loss, and at it the mean latency, first bit in to first bit out"
            }
            _ => return about,
        };
        about.push(words.into());
        about
    }
}

pub(super) fn us(latency: Option<Duration>) -> Option<f64> {
    latency.map(|latency| latency.as_ns_f64() / 1e3)
}

impl TollyRow {
    pub(super) fn ports(&self) -> String {
        format!("{}x{}", self.inputs, self.outputs)
    }

    fn notes(&self) -> Vec<String> {
        let ports = self.ports();
        let mut notes: Vec<String> =
            self.invalid.iter().map(|why| format!("{ports} invalid: {why}")).collect();
        let elsewhere: u64 = self.iterations.iter().map(|iteration| iteration.elsewhere).sum();
        if elsewhere > 0 {
            notes.push(format!("{ports}: {elsewhere} came out elsewhere"));
        }
        notes
    }

    /// A mean of the iterations, or that there is none.
    pub(super) fn mean_cell(
        &self,
        of: impl Fn(&TollyIteration) -> Option<f64>,
        decimals: usize,
    ) -> Cell {
        let nothing = if self.invalid.is_empty() { "not measured" } else { "invalid" };
        self.mean(of).map_or_else(|| nothing.into(), |mean| Cell::number(mean, decimals))
    }

    /// The same of a count that may differ from port to port.
    fn per_port(&self, count: fn(&TollyIteration) -> (u64, u64)) -> Cell {
        let fewest = self.mean_cell(|iteration| Some(count(iteration).0 as f64), 0);
        let most = self.mean_cell(|iteration| Some(count(iteration).1 as f64), 0);
        if fewest == most { fewest } else { format!("{fewest} to {most}").into() }
    }

    pub(super) fn lost_cell(&self) -> Cell {
        self.measured(|_| Cell::Count(self.lost()))
    }

    /// Of what was measured, a cell; where nothing was, that.
    fn measured(&self, cell: impl FnOnce(&TollyIteration) -> Cell) -> Cell {
        let nothing = if self.invalid.is_empty() { "not measured" } else { "invalid" };
        self.iterations.first().map_or_else(|| nothing.into(), cell)
    }

    /// The rate of a stream; where a trial above decided nothing, it is not the device that sets the limit.
    pub(super) fn per_stream_cell(&self) -> Cell {
        self.measured(|_| Cell::Fps(self.intended).at_least_if(!self.invalid.is_empty()))
    }

    /// The same of all streams together, as measured at departure.
    pub(super) fn aggregate_cell(&self) -> Cell {
        let offered = self.mean(|iteration| Some(iteration.offered.fps()));
        let aggregate = offered.unwrap_or(0.0) * self.streams as f64;
        self.measured(|_| Cell::number(aggregate, 0).at_least_if(!self.invalid.is_empty()))
    }

    /// Of what was measured from what was published, in percent.
    fn difference(&self, published_us: Option<f64>) -> Cell {
        let measured = self.mean(|iteration| us(iteration.cut_through()));
        let difference = measured.zip(published_us);
        let difference = difference.map(|(ours, theirs)| (ours / theirs - 1.0) * 100.0);
        Cell::optional(difference, |percent| format!("{percent:+.1}").into())
    }

    /// Packets as they were counted, and the streams in which they came.
    fn counts(&self, line: Option<&Published>) -> Vec<Cell> {
        vec![
            self.lost_cell(),
            printed(line, |line| Some(line.frames_lost), Cell::Count),
            self.per_port(|iteration| iteration.received_per_output),
            printed(line, |line| line.frames_received_per_port, Cell::Count),
            self.per_port(|iteration| iteration.sent_per_input),
            printed(line, |line| line.frames_sent_per_port, Cell::Count),
            self.streams.to_string().into(),
        ]
    }

    fn counted(&self, line: Option<&Published>) -> Vec<Cell> {
        let load = Cell::number(self.load_percent, 2);
        [vec![self.ports().into()], self.counts(line), vec![load]].concat()
    }

    fn unicast(&self, line: Option<&Published>) -> Vec<Cell> {
        let latency = |line: &Published| line.latency_us;
        vec![
            self.per_stream_cell(),
            printed(line, |line| line.fps_per_stream, |fps| Cell::number(fps, 0)),
            self.mean_cell(|iteration| us(iteration.cut_through()), 1),
            printed(line, latency, |us| Cell::number(us, 1)),
            self.difference(line.and_then(latency)),
            self.aggregate_cell(),
            printed(line, |line| line.aggregate_fps, |fps| Cell::number(fps, 0)),
            self.streams.to_string().into(),
        ]
    }

    fn base_multicast(&self, line: Option<&Published>) -> Vec<Cell> {
        let stored = |line: &Published| line.latency_store_and_forward_us;
        let latencies = vec![
            self.ports().into(),
            self.mean_cell(|iteration| us(iteration.cut_through()), 1),
            printed(line, |line| line.latency_us, |us| Cell::number(us, 1)),
            self.mean_cell(|iteration| us(iteration.store_and_forward()), 1),
            printed(line, stored, |us| Cell::number(us, 1)),
            self.difference(line.and_then(|line| line.latency_us)),
        ];
        [latencies, self.counts(line)].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of what and in which unit, and who says so, without the document at hand.
    #[test]
    fn every_measured_column_has_its_published_one() {
        for columns in [&UNICAST[..], &MULTICAST, &COUNTED] {
            for title in columns.iter().filter_map(|title| title.strip_prefix("here: ")) {
                assert!(columns.contains(&&*format!("published: {title}")), "{title}");
                let is_of_unit = ["us", "packets"].iter().any(|unit| title.contains(unit));
                assert!(is_of_unit, "{title}");
            }
        }
    }
}
