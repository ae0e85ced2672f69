//! The IP9000 tests, in the layout of the document's figures, with what it printed beside.

use super::{TollyIteration, TollyResult, TollyRow};
use crate::chassis::ChassisTest;
use crate::outcome::{Cell, Layout};
use serde::Deserialize;
use units::Duration;

/// One line of the document's tables. Rates are frames a second, latencies microseconds.
#[derive(Clone, PartialEq, Debug, Deserialize)]
struct Published {
    test: String,
    inputs: usize,
    outputs: usize,
    frame_size_bytes: u32,
    frames_sent_per_port: Option<u64>,
    frames_received_per_port: Option<u64>,
    frames_lost: u64,
    aggregate_fps: Option<f64>,
    fps_per_stream: Option<f64>,
    latency_us: Option<f64>,
    latency_store_and_forward_us: Option<f64>,
}

const FIGURES: &str = include_str!("../../data/tolly-1998.csv");

/// What the document has for a line.
fn published(test: ChassisTest, row: &TollyRow, size_bytes: u32) -> Option<Published> {
    let name = match test {
        ChassisTest::InternetScale => "internet-scale-routing",
        ChassisTest::LargeScaleMulticast => "large-scale-multicast",
        ChassisTest::MulticastMesh => "multicast-mesh",
        ChassisTest::BaseUnicast => "base-unicast",
        _ => "base-multicast",
    };
    let all = csv::Reader::from_reader(FIGURES.as_bytes()).into_deserialize::<Published>();
    all.flatten().find(|line| {
        let ports = (line.inputs, line.outputs) == (row.inputs, row.outputs);
        line.test == name && ports && line.frame_size_bytes == size_bytes
    })
}

const UNICAST: [&str; 9] = [
    "size",
    "streams",
    "packets/s a stream",
    "published",
    "aggregate packets/s",
    "published",
    "latency, us",
    "published",
    "difference, %",
];
const MULTICAST: [&str; 12] = [
    "size",
    "ports",
    "streams",
    "sent (a port)",
    "received (a port)",
    "lost",
    "published lost",
    "cut through, us",
    "published",
    "store and forward, us",
    "published",
    "difference, %",
];
const COUNTED: [&str; 10] = [
    "size",
    "ports",
    "streams",
    "load, %",
    "sent (a port)",
    "published",
    "received (a port)",
    "published",
    "lost",
    "published",
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
        layout.about = vec![self.conditions.medium()];
        layout.about.extend(self.about());
        for row in &self.rows {
            let printed = published(self.conditions.test, row, self.conditions.frame_size);
            let cells = cells(row, printed.as_ref());
            layout = layout.row([vec![self.conditions.size()], cells].concat()).noted(row.notes());
        }
        layout
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

fn us(latency: Option<Duration>) -> Option<f64> {
    latency.map(|latency| latency.as_ns_f64() / 1e3)
}

fn rounded(value: Option<f64>, decimals: usize) -> Cell {
    Cell::optional(value, |value| Cell::number(value, decimals))
}

impl TollyRow {
    fn ports(&self) -> String {
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
    fn mean_cell(&self, of: impl Fn(&TollyIteration) -> Option<f64>, decimals: usize) -> Cell {
        let nothing = if self.invalid.is_empty() { "-" } else { "invalid" };
        self.mean(of).map_or_else(|| nothing.into(), |mean| Cell::number(mean, decimals))
    }

    /// The same of a count that may differ from port to port.
    fn per_port(&self, count: fn(&TollyIteration) -> (u64, u64)) -> Cell {
        let fewest = self.mean_cell(|iteration| Some(count(iteration).0 as f64), 0);
        let most = self.mean_cell(|iteration| Some(count(iteration).1 as f64), 0);
        if fewest == most { fewest } else { format!("{fewest} to {most}").into() }
    }

    fn lost_cell(&self) -> Cell {
        Cell::optional(self.iterations.first(), |_| Cell::Count(self.lost()))
    }

    /// Of what was measured from what was published, in percent.
    fn difference(&self, published_us: Option<f64>) -> Cell {
        let measured = self.mean(|iteration| us(iteration.cut_through()));
        let difference = measured.zip(published_us);
        let difference = difference.map(|(ours, theirs)| (ours / theirs - 1.0) * 100.0);
        Cell::optional(difference, |percent| format!("{percent:+.1}").into())
    }

    fn counted(&self, printed: Option<&Published>) -> Vec<Cell> {
        let published = |count: fn(&Published) -> Option<u64>| {
            Cell::optional(printed.and_then(count), Cell::Count)
        };
        vec![
            self.ports().into(),
            self.streams.to_string().into(),
            Cell::number(self.load_percent, 2),
            self.per_port(|iteration| iteration.sent_per_input),
            published(|line| line.frames_sent_per_port),
            self.per_port(|iteration| iteration.received_per_output),
            published(|line| line.frames_received_per_port),
            self.lost_cell(),
            published(|line| Some(line.frames_lost)),
        ]
    }

    fn unicast(&self, printed: Option<&Published>) -> Vec<Cell> {
        let offered = |iteration: &TollyIteration| Some(iteration.offered.fps());
        let aggregate = self.mean(offered).map(|rate| rate * self.streams as f64);
        let latency = printed.and_then(|line| line.latency_us);
        // Where a trial above decided nothing, it is not the device that sets the limit.
        let bound = |cell: Cell| cell.at_least_if(!self.invalid.is_empty());
        vec![
            self.streams.to_string().into(),
            Cell::optional(self.iterations.first(), |_| bound(Cell::Fps(self.intended))),
            rounded(printed.and_then(|line| line.fps_per_stream), 0),
            Cell::optional(aggregate, |rate| bound(Cell::number(rate, 0))),
            rounded(printed.and_then(|line| line.aggregate_fps), 0),
            self.mean_cell(|iteration| us(iteration.cut_through()), 1),
            rounded(latency, 1),
            self.difference(latency),
        ]
    }

    fn base_multicast(&self, printed: Option<&Published>) -> Vec<Cell> {
        let cut = printed.and_then(|line| line.latency_us);
        let stored = printed.and_then(|line| line.latency_store_and_forward_us);
        vec![
            self.ports().into(),
            self.streams.to_string().into(),
            self.per_port(|iteration| iteration.sent_per_input),
            self.per_port(|iteration| iteration.received_per_output),
            self.lost_cell(),
            Cell::optional(printed, |line| Cell::Count(line.frames_lost)),
            self.mean_cell(|iteration| us(iteration.cut_through()), 1),
            rounded(cut, 1),
            self.mean_cell(|iteration| us(iteration.store_and_forward()), 1),
            rounded(stored, 1),
            self.difference(cut),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_published_line_can_be_read() {
        let all = csv::Reader::from_reader(FIGURES.as_bytes()).into_deserialize::<Published>();
        let lines: Vec<Published> = all.map(|line| line.expect("a line")).collect();
        assert_eq!(lines.len(), 25);
        assert_eq!(lines.iter().filter(|line| line.latency_us.is_some()).count(), 15);
    }
}
