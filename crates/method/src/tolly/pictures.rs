//! The figures of the document as pictures: bars of what it printed beside what was measured, and the latencies as
//! curves. Figures 2 to 6 are tables there; of figure 1 its text keeps title and note alone.

use super::layout::us;
use super::published::{DOCUMENT, Published, printed, published};
use super::{TollyIteration, TollyResult, TollyRow};
use crate::chassis::ChassisTest;
use crate::outcome::number::{grouped, several};
use crate::outcome::{Bar, Bars, Cell, FRAME_SIZES, Role, Series};

const PORTS: &str = "Ports used, input x output";
const PACKET_SIZE: &str = "Packet size (bytes)";
const PACKETS: (&str, &str) = ("Packets", "packets");
const LATENCY: (&str, &str) = ("Average latency (us)", "us");

const FIGURE_1: &str = ", whose text has of figure 1 the title and the note \"All eight inport ports transmitted streams \
                        to each output port\"; the numbers of streams are those of its figure 2";
const WHICH_LATENCY: &str =
    "; 16 streams. The document does not say which latency it means; cut-through is taken here";

/// A pair of bars of each row: what it is called, the published value, the measured one.
type Pair = (&'static str, fn(&Published) -> Option<Cell>, fn(&TollyRow) -> Cell);

const STREAMS: Pair = (
    "traffic streams that came through whole",
    |line| Some(Cell::Count(line.streams)),
    |row| row.mean_cell(|iteration| Some(iteration.whole_streams as f64), 0),
);
const SENT: Pair = (
    "sent by each input",
    |line| line.frames_sent_per_port.map(Cell::Count),
    |row| row.fewest(|iteration| iteration.sent_per_input),
);
const RECEIVED: Pair = (
    "received by each output",
    |line| line.frames_received_per_port.map(Cell::Count),
    |row| row.fewest(|iteration| iteration.received_per_output),
);
const LOST: Pair =
    ("lost, of all ports", |line| Some(Cell::Count(line.frames_lost)), TollyRow::lost_cell);
const PER_STREAM: Pair = (
    "each stream",
    |line| line.fps_per_stream.map(|fps| Cell::number(fps, 0)),
    TollyRow::per_stream_cell,
);
const AGGREGATE: Pair = (
    "all streams together",
    |line| line.aggregate_fps.map(|fps| Cell::number(fps, 0)),
    TollyRow::aggregate_cell,
);
const CUT_THROUGH: Pair = (
    "cut-through latency",
    |line| line.latency_us.map(|us| Cell::number(us, 1)),
    |row| row.mean_cell(|iteration| us(iteration.cut_through()), 1),
);
const STORE_AND_FORWARD: Pair = (
    "store-and-forward latency",
    |line| line.latency_store_and_forward_us.map(|us| Cell::number(us, 1)),
    |row| row.mean_cell(|iteration| us(iteration.store_and_forward()), 1),
);

impl TollyResult {
    /// The document's figures of this test, in its order.
    pub(super) fn pictures(&self) -> Vec<Bars> {
        let size = grouped(self.conditions.frame_size.into());
        let of_size = |what: &str| format!("{what}, packets of {size} bytes");
        let (by_ports, by_size) = ((PORTS, PACKETS), (PACKET_SIZE, PACKETS));
        let counts = [SENT, RECEIVED, LOST];
        match self.conditions.test {
            ChassisTest::InternetScale => {
                let title = "Figure 1: Internet-scale routing test, up to eight Fast Ethernet input streams";
                let second = of_size("Figure 2: Internet-scale routing");
                vec![
                    self.bars(
                        (title, FIGURE_1),
                        (PORTS, ("Traffic streams", "streams")),
                        &[STREAMS],
                    ),
                    self.bars((&second, ""), by_ports, &counts),
                ]
            }
            ChassisTest::LargeScaleMulticast => {
                let said = "; one input, 31 outputs, 65,536 groups";
                vec![self.bars(("Figure 3: large-scale multicast", said), by_size, &counts)]
            }
            ChassisTest::MulticastMesh => {
                let said = "; each of 8 ports to the 7 others, 56 streams";
                vec![self.bars(("Figure 4: multicast mesh", said), by_size, &counts)]
            }
            ChassisTest::BaseUnicast => {
                let per_stream =
                    (PACKET_SIZE, ("Average packets a second per stream", "packets/s"));
                let aggregate = (PACKET_SIZE, ("Aggregate packets a second", "packets/s"));
                let of = |title, said, by, pair| self.bars((title, said), by, &[pair]);
                let streams = "; 16 streams";
                vec![
                    of("Figure 5: unicast throughput of a stream", streams, per_stream, PER_STREAM),
                    of(
                        "Figure 5: unicast throughput of all streams",
                        streams,
                        aggregate,
                        AGGREGATE,
                    ),
                    of(
                        "Figure 5: unicast latency",
                        WHICH_LATENCY,
                        (PACKET_SIZE, LATENCY),
                        CUT_THROUGH,
                    ),
                ]
            }
            _ => {
                let latency = of_size("Figure 6: multicast latency");
                let both = [CUT_THROUGH, STORE_AND_FORWARD];
                vec![
                    self.bars((&of_size("Figure 6: multicast performance"), ""), by_ports, &counts),
                    self.bars((&latency, ""), (PORTS, LATENCY), &both),
                ]
            }
        }
    }

    /// A group of bars a row, called by its ports or by the packet size. `said` is what the document says besides.
    fn bars(
        &self,
        (chart, said): (&str, &str),
        (grouped_by, quantity): (&str, (&str, &str)),
        pairs: &[Pair],
    ) -> Bars {
        let iterations = self.rows.iter().map(|row| row.iterations.len()).max().unwrap_or(0);
        let iterations = several(iterations as u64, "iteration", "iterations");
        let of_all = pairs.iter().any(|(name, ..)| *name == LOST.0);
        let of_all = if of_all { "; losses are those of all of them" } else { "" };
        let source =
            format!("Published: {DOCUMENT}{said}. Measured here: means of {iterations}{of_all}.");
        let bars = Bars::new(chart, grouped_by, quantity, source);
        self.rows.iter().fold(bars, |bars, row| {
            let line = published(self.conditions.test, row, self.conditions.frame_size);
            let of = |(name, there, here): &Pair| {
                Bar::pair(name, printed(line.as_ref(), there, |cell| cell), here(row))
            };
            let size = || grouped(self.conditions.frame_size.into());
            let label = if grouped_by == PORTS { row.ports() } else { size() };
            bars.group(label, pairs.iter().map(of))
        })
    }

    /// Latencies over what the document varies: the packet size (figure 5), the number of outputs (figure 6); and
    /// its rates beside the throughput of each size.
    pub(super) fn curves(&self) -> Vec<Series> {
        let size = f64::from(self.conditions.frame_size);
        let line = |row| published(self.conditions.test, row, self.conditions.frame_size);
        let rows = || self.rows.iter().map(|row| (row, line(row)));
        match self.conditions.test {
            ChassisTest::BaseUnicast => {
                let at = |_: &TollyRow| size;
                let chart = ("Figure 5: average unicast latency by packet size", FRAME_SIZES);
                let here = curve(chart, "measured here, cut-through", rows(), at, CUT_THROUGH);
                let there = marks(chart, rows(), at, CUT_THROUGH);
                [here, there].into_iter().chain(rows().filter_map(rate)).collect()
            }
            ChassisTest::BaseMulticast => {
                let at = |row: &TollyRow| row.outputs as f64;
                let chart = (
                    "Figure 6: multicast latency by number of output ports",
                    ("Output ports (one input port)", "ports"),
                );
                let of = |pair: Pair| {
                    let name = format!("{} bytes, {}", grouped(size as u64), pair.0);
                    [curve(chart, &name, rows(), at, pair), marks(chart, rows(), at, pair)]
                };
                [CUT_THROUGH, STORE_AND_FORWARD].into_iter().flat_map(of).collect()
            }
            _ => vec![],
        }
    }
}

type Chart = (&'static str, (&'static str, &'static str));

/// What was measured of each row.
fn curve<'a>(
    chart: Chart,
    name: &str,
    rows: impl Iterator<Item = (&'a TollyRow, Option<Published>)>,
    at: impl Fn(&TollyRow) -> f64,
    (_, _, here): Pair,
) -> Series {
    let points = rows.filter_map(|(row, _)| Some((at(row), here(row).value()?)));
    series(chart, name, Role::Other, points.collect())
}

/// What was published of each row.
fn marks<'a>(
    chart: Chart,
    rows: impl Iterator<Item = (&'a TollyRow, Option<Published>)>,
    at: impl Fn(&TollyRow) -> f64,
    (_, there, _): Pair,
) -> Series {
    let points = rows.filter_map(|(row, line)| Some((at(row), there(&line?)?.value()?)));
    series(chart, "published", Role::Published, points.collect())
}

fn series((chart, x): Chart, name: &str, role: Role, points: Vec<(f64, f64)>) -> Series {
    let title = |(title, unit): (&str, &str)| (title.to_owned(), unit.to_owned());
    Series { chart: chart.into(), x: title(x), y: title(LATENCY), name: name.into(), role, points }
}

/// The published rate of a stream, beside the throughput that is drawn by frame size.
fn rate((row, line): (&TollyRow, Option<Published>)) -> Option<Series> {
    let line = line?;
    let point = (f64::from(line.frame_size_bytes), line.fps_per_stream?);
    let name = format!("published (figure 5), {} streams", row.streams);
    let axis = ("throughput", "fps");
    Some(Series::by_size(("throughput", &name), axis, Role::Published, point))
}

impl TollyRow {
    /// Of a count that may differ from port to port, the mean of the ports that had fewest.
    fn fewest(&self, count: fn(&TollyIteration) -> (u64, u64)) -> Cell {
        self.mean_cell(|iteration| Some(count(iteration).0 as f64), 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chassis::ChassisConditions;
    use crate::outcome::Origin;
    use units::{Duration, FrameRate};

    /// A row of these ports; its one iteration has numbers that the document has nowhere.
    fn row((inputs, outputs): (usize, usize)) -> TollyRow {
        let iteration = TollyIteration {
            sent_per_input: (17, 18),
            received_per_output: (15, 16),
            lost: 2,
            elsewhere: 0,
            whole_streams: 3,
            offered: FrameRate::from_fps(100),
            stamp_to_arrival: Some(Duration::from_us(9)),
            on_the_line: (Duration::from_us(5), Duration::from_us(1)),
        };
        TollyRow {
            inputs,
            outputs,
            streams: 2,
            load_percent: 100.0,
            intended: FrameRate::from_fps(101),
            iterations: vec![iteration],
            invalid: vec![],
            upper: None,
        }
    }

    fn result(test: ChassisTest, frame_size: u32, rows: Vec<TollyRow>) -> TollyResult {
        let conditions = ChassisConditions::sample(test, (frame_size, 32));
        TollyResult { conditions, rows }
    }

    /// The bars of a picture from one origin, group by group.
    fn values(bars: &Bars, origin: Origin) -> Vec<String> {
        bars.bars().filter(|bar| bar.origin == origin).map(|bar| bar.value.to_string()).collect()
    }

    /// Titles and published values of the pictures of a test.
    fn printed(
        test: ChassisTest,
        size: u32,
        ports: &[(usize, usize)],
    ) -> Vec<(String, Vec<String>)> {
        let result = result(test, size, ports.iter().copied().map(row).collect());
        let bars = result.layout().bars;
        assert!(bars.iter().all(|bars| bars.source.contains("Tolly Group document 8276")));
        bars.iter().map(|bars| (bars.chart.clone(), values(bars, Origin::Published))).collect()
    }

    /// What figures 1 and 2 of the document have.
    #[test]
    fn figures_1_and_2_are_stated() {
        let found = printed(ChassisTest::InternetScale, 64, &[(1, 16), (2, 16), (4, 16), (8, 16)]);
        assert!(found[0].0.starts_with("Figure 1: Internet-scale"), "{found:?}");
        assert_eq!(found[0].1, ["16", "32", "64", "128"]);
        assert!(found[1].0.starts_with("Figure 2: "));
        let sent = "1,048,576";
        let received = ["65,536", "131,072", "262,144", "524,288"];
        assert_eq!(found[1].1, received.map(|received| [sent, received, "0"]).concat());
    }

    /// Figures 3 and 4 have a line a packet size.
    #[test]
    fn figures_3_and_4_are_stated() {
        for size in [64, 1_518] {
            let found = printed(ChassisTest::LargeScaleMulticast, size, &[(1, 31)]);
            assert_eq!(found[0].0, "Figure 3: large-scale multicast");
            assert_eq!(found[0].1, ["65,536", "65,536", "0"]);
        }
        for size in [64, 128, 512, 1_518] {
            let found = printed(ChassisTest::MulticastMesh, size, &[(8, 7)]);
            assert_eq!(found[0].0, "Figure 4: multicast mesh");
            assert_eq!(found[0].1, ["100,000", "700,000", "0"]);
        }
    }

    /// Packet size, packets a second of a stream and of all, microseconds.
    #[test]
    fn figure_5_is_stated() {
        for (size, per_stream, all, latency) in [
            (64, "148,810", "2,380,960", "26.4"),
            (128, "84,459", "1,351,344", "32.5"),
            (256, "45,290", "724,640", "50.0"),
            (512, "23,496", "375,936", "83.1"),
            (1_024, "11,973", "191,568", "154.0"),
            (1_280, "9,615", "153,840", "187.4"),
            (1_518, "8,127", "130,032", "219.2"),
        ] {
            let found = printed(ChassisTest::BaseUnicast, size, &[(16, 16)]);
            assert!(found.iter().all(|(title, _)| title.starts_with("Figure 5: ")), "{found:?}");
            let values: Vec<&str> = found.iter().flat_map(|(_, it)| it).map(|it| &**it).collect();
            assert_eq!(values, [per_stream, all, latency]);
        }
    }

    /// Cut-through and store-and-forward latencies of 7, 15, 23 and 31 outputs.
    #[test]
    fn figure_6_is_stated() {
        let ports = [(1, 7), (1, 15), (1, 23), (1, 31)];
        for (size, latencies) in [
            (64, [["28.0", "22.2"], ["28.1", "22.3"], ["28.4", "22.6"], ["28.6", "22.8"]]),
            (1_518, [["220.2", "98.1"], ["220.4", "98.3"], ["220.5", "98.4"], ["220.8", "98.7"]]),
        ] {
            let found = printed(ChassisTest::BaseMulticast, size, &ports);
            assert!(found.iter().all(|(title, _)| title.starts_with("Figure 6: ")), "{found:?}");
            assert_eq!(found[0].1, ["100,000", "100,000", "0"].repeat(4));
            assert_eq!(found[1].1, latencies.concat());
        }
    }

    /// Beside each published value stands what was measured: the port that got fewest packets, and from the first
    /// bit in to the first bit out, which is 9 us less the packet's 5; less a packet and its preamble, it is none.
    #[test]
    fn measured_values_stand_beside_the_published_ones() {
        let result = result(ChassisTest::BaseMulticast, 64, vec![row((1, 7)), row((1, 8))]);
        let bars = result.layout().bars;
        assert_eq!(values(&bars[0], Origin::Measured), ["17", "15", "2", "17", "15", "2"]);
        assert_eq!(values(&bars[1], Origin::Measured), ["4.0", "0.0", "4.0", "0.0"]);
        let labels: Vec<_> = bars[0].groups.iter().map(|group| &*group.label).collect();
        assert_eq!(labels, ["1x7", "1x8"]);
        // The document has no line of 8 outputs.
        assert_eq!(values(&bars[1], Origin::Published)[2..], ["not published", "not published"]);
    }

    #[test]
    fn a_row_without_a_valid_iteration_has_no_value_and_says_so() {
        let mut missing = row((8, 7));
        missing.iterations.clear();
        let of = |row| result(ChassisTest::MulticastMesh, 64, vec![row]).layout().bars.remove(0);
        assert_eq!(values(&of(missing.clone()), Origin::Measured), ["not measured"; 3]);
        missing.invalid = vec!["the tester fell short".into()];
        let bars = of(missing);
        assert_eq!(values(&bars, Origin::Measured), ["invalid"; 3]);
        assert!(bars.bars().filter(|bar| bar.value.value().is_some()).count() == 3);
    }

    /// Latency over what the document varies: points of the document, and a curve of ours.
    #[test]
    fn latencies_are_curves_as_well() {
        let curves = result(ChassisTest::BaseMulticast, 64, vec![row((1, 7)), row((1, 31))]);
        let layout = curves.layout();
        let published = layout.series.iter().filter(|curve| curve.role == Role::Published);
        let points: Vec<_> = published.flat_map(|curve| curve.points.clone()).collect();
        assert_eq!(points, [(7.0, 28.0), (31.0, 28.6), (7.0, 22.2), (31.0, 22.8)]);
        let unicast = result(ChassisTest::BaseUnicast, 512, vec![row((16, 16))]).layout();
        let points: Vec<_> = unicast.series.iter().map(|curve| curve.points.clone()).collect();
        assert_eq!(points, [[(512.0, 4.0)], [(512.0, 83.1)], [(512.0, 23_496.0)]]);
    }
}
