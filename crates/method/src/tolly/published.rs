//! What the document printed, line by line.

use super::TollyRow;
use crate::chassis::ChassisTest;
use crate::outcome::Cell;
use serde::Deserialize;

/// How tables and pictures call the document.
pub(super) const DOCUMENT: &str = "Tolly Group document 8276 (May 1998)";

/// The heading of the test bed of a run, and what the document's has: its text keeps no more of figure 7.
pub(crate) const TEST_BED: [&str; 2] = [
    "Test bed: figure 7 of Tolly Group document 8276, as this run had it",
    "The document has one tester (SmartBits), joined by 32 Fast Ethernet cables to the router under test (IP9000), a \
     console that loads the test scripts over a serial line, and a protocol analyzer (WinPharaoh) at a router port. Here \
     this program is console and tester; --capture is the analyzer.",
];

/// One line of the document's tables. Rates are frames a second, latencies microseconds.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(super) struct Published {
    pub test: String,
    pub inputs: usize,
    pub outputs: usize,
    pub streams: u64,
    pub frame_size_bytes: u32,
    pub frames_sent_per_port: Option<u64>,
    pub frames_received_per_port: Option<u64>,
    pub frames_lost: u64,
    pub aggregate_fps: Option<f64>,
    pub fps_per_stream: Option<f64>,
    pub latency_us: Option<f64>,
    pub latency_store_and_forward_us: Option<f64>,
}

const FIGURES: &str = include_str!("../../data/tolly-1998.csv");

/// What the document has for a line.
pub(super) fn published(test: ChassisTest, row: &TollyRow, size_bytes: u32) -> Option<Published> {
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

/// A value of the document, or that it has none: of other numbers of ports or sizes, say.
pub(super) fn printed<T>(
    line: Option<&Published>,
    value: impl Fn(&Published) -> Option<T>,
    cell: impl FnOnce(T) -> Cell,
) -> Cell {
    line.and_then(value).map_or_else(|| "not published".into(), cell)
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
