//! Who stamped the frames: beside each latency of real ports, since it decides what of the host is in it.

use crate::clocks::has_time;
use crate::outcome::{Layout, Outcome};
use std::collections::BTreeMap;
use trial::{ArrivalStamp, PortDescription};

/// Says it in every table that has latencies. Simulated ports stamp on the medium, and nothing is to be said.
pub(crate) fn state(outcome: &mut Outcome, ports: &[PortDescription]) {
    let Some(remark) = remark(ports) else { return };
    if !outcome.figures.iter().any(|figure| figure.name.contains("latency")) {
        return;
    }
    for layout in outcome.layouts.iter_mut().filter(|layout| has_latencies(layout)) {
        layout.about.push(remark.clone());
    }
}

/// Its heading says so, or a column has times.
fn has_latencies(layout: &Layout) -> bool {
    layout.heading.to_lowercase().contains("latency") || layout.rows.iter().flatten().any(has_time)
}

fn remark(ports: &[PortDescription]) -> Option<String> {
    let mut by_stamp: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for port in ports {
        if port.capabilities.arrivals != ArrivalStamp::Medium {
            by_stamp.entry(port.capabilities.arrivals.moment()).or_default().push(&port.name);
        }
    }
    let is_one = by_stamp.len() == 1;
    let each = by_stamp.iter().map(|(moment, ports)| match is_one {
        true => (*moment).to_string(),
        false => format!("{moment} ({})", ports.join(", ")),
    });
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| {
        format!(
            "Arrivals are stamped by {}; departures by the tester, before a frame is handed over. No stamp is the card's.",
            each.join("; by ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Cell;
    use trial::{Capabilities, PortId};
    use units::{Duration, LineRate};

    fn port(name: &str, arrivals: ArrivalStamp) -> PortDescription {
        PortDescription {
            id: PortId(0),
            name: name.into(),
            port_type: String::new(),
            capabilities: Capabilities { arrivals, ..Capabilities::default() },
            reason: String::new(),
            line_rate: LineRate::from_gbps(10),
            line_rate_is_physical: false,
            max_frame_size_bytes: 1518,
            mac: String::new(),
            driver: String::new(),
        }
    }

    #[test]
    fn tables_of_latencies_are_known_by_their_heading_or_their_cells() {
        let of = |heading: &str, cell: Cell| Layout::new(heading, vec![], &["x"]).row([cell]);
        let time = Cell::Time(Duration::from_us(3));
        assert!(has_latencies(&of("Latency (RFC 2544 section 26.2)", Cell::ps(3))));
        assert!(has_latencies(&of(
            "Throughput",
            Cell::Between(Box::new(time.clone()), Box::new(time))
        )));
        assert!(!has_latencies(&of("Throughput", Cell::Count(3))));
    }

    #[test]
    fn each_way_to_stamp_is_named_with_its_ports() {
        use ArrivalStamp::{Driver, Kernel, Medium};
        let alike = remark(&[port("eth1", Kernel), port("eth2", Kernel)]).expect("a remark");
        assert!(
            alike.starts_with(
                "Arrivals are stamped by the kernel, when a frame reaches the packet socket;"
            ),
            "{alike}"
        );
        let mixed = remark(&[port("eth1", Kernel), port("eth2", Driver)]).expect("a remark");
        assert!(
            mixed.contains(
                "network stack (eth2); by the kernel, when a frame reaches the packet socket (eth1)"
            ),
            "{mixed}"
        );
        assert_eq!(remark(&[port("sim0", Medium)]), None);
    }
}
