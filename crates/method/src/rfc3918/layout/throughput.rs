//! Throughput of groups, of two classes of traffic, and through tunnels.

use super::flows_in_words;
use crate::chassis::{ChassisTest, LoadPoint};
use crate::outcome::{Cell, Layout};
use crate::rfc3918::{MulticastThroughputResult, Tunnel};

const MIXED: [&str; 9] = [
    "size",
    "throughput, % of medium",
    "intended load, frames/s",
    "multicast offered",
    "copies received",
    "unicast offered",
    "received",
    "multicast, frames/s",
    "unicast, frames/s",
];
const AGGREGATED: [&str; 7] = [
    "size",
    "throughput, % of medium",
    "offered load, frames/s",
    "offered frames",
    "copies received",
    "AMT: ports",
    "frames/s of the source",
];
const TUNNELLED: [&str; 7] = [
    "size",
    "size as sent",
    "size as received",
    "throughput, % of medium",
    "offered load, frames/s",
    "offered frames",
    "throughput, frames/s",
];

impl MulticastThroughputResult {
    pub(in crate::rfc3918) fn layout(&self) -> Layout {
        let (columns, cells): (&[&str], _) = match self.conditions.test {
            ChassisTest::MixedClass => (&MIXED, self.mixed()),
            ChassisTest::AggregatedMulticast => (&AGGREGATED, self.aggregated()),
            _ => (&TUNNELLED, self.tunnelled()),
        };
        let mut layout = self.multicast.layout(&self.conditions, columns);
        layout.about.extend(self.tunnels_in_words());
        let ratio = self.classes.as_ref().map(|classes| {
            format!(
                "{} unicast frames for each multicast frame, round robin over the egress interfaces",
                classes.unicast_per_multicast
            )
        });
        let row = [vec![self.conditions.size()], cells].concat();
        layout.row(row).noted(ratio).noted(flows_in_words(&self.flows))
    }

    fn mixed(&self) -> Vec<Cell> {
        let mut row = vec![self.throughput.load_cell(), self.throughput.rate_cell()];
        match &self.classes {
            Some(classes) => row.extend([
                Cell::Count(classes.multicast_frames.0),
                Cell::Count(classes.multicast_frames.1),
                Cell::Count(classes.unicast_frames.0),
                Cell::Count(classes.unicast_frames.1),
                Cell::Fps(classes.multicast),
                Cell::Fps(classes.unicast),
            ]),
            None => row.extend(std::iter::repeat_n(Cell::none(), 6)),
        }
        row
    }

    fn aggregated(&self) -> Vec<Cell> {
        vec![
            self.throughput.load_cell(),
            self.at_throughput(|point| Cell::Fps(point.offered)),
            self.sent(),
            self.at_throughput(|point| Cell::Count(point.received_frames)),
            self.multicast.egress.len().to_string().into(),
            self.throughput.rate_cell(),
        ]
    }

    fn tunnelled(&self) -> Vec<Cell> {
        let received = self.multicast.received_size_bytes;
        vec![
            self.multicast.sent_size_bytes.to_string().into(),
            Cell::optional(received, |bytes| Cell::number(bytes, 0)),
            self.throughput.load_cell(),
            self.at_throughput(|point| Cell::Fps(point.offered)),
            self.sent(),
            self.throughput.rate_cell(),
        ]
    }

    fn at_throughput(&self, cell: impl Fn(&LoadPoint) -> Cell) -> Cell {
        Cell::optional(self.throughput.point.as_ref(), cell)
    }

    /// Frames of the source: a load counts each once for each port.
    fn sent(&self) -> Cell {
        let ports = self.multicast.egress.len().max(1) as u64;
        self.at_throughput(|point| Cell::Count(point.offered_frames / ports))
    }

    fn tunnels_in_words(&self) -> Option<String> {
        let multicast = &self.multicast;
        let of = |tunnel: Tunnel, side: &str| match tunnel {
            Tunnel::None => format!("none at {side} interfaces"),
            tunnel => format!("{tunnel}, one at each {side} interface with all groups"),
        };
        let has_any = (multicast.tunnel_in, multicast.tunnel_out) != (Tunnel::None, Tunnel::None);
        has_any.then(|| {
            let within = of(multicast.tunnel_in, "ingress");
            format!("tunnels: {within}; {}", of(multicast.tunnel_out, "egress"))
        })
    }
}
