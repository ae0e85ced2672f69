//! The test bed: which port of the tester stands on which network of the device, as words in boxes with lines
//! between them. All words are text of the page, which keeps its size on any screen.

use maud::{Markup, html};
use method::{Forwarding, Placed, PlacedPort, RunStarted, TestKind, TrialRecord};
use std::collections::BTreeSet;
use trial::{PortDescription, PortId, Role};

/// So many ports are drawn with all they have; of more ports each has a line. The table of ports has all.
const DETAILED_MAX: usize = 16;
/// And so many are drawn at all.
const DRAWN_MAX: usize = 64;

/// What went over a link in any trial.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Unknown,
    IntoDevice,
    OutOfDevice,
    Both,
}

impl Way {
    fn of(sends: bool, receives: bool) -> Way {
        match (sends, receives) {
            (true, true) => Way::Both,
            (true, false) => Way::IntoDevice,
            (false, true) => Way::OutOfDevice,
            (false, false) => Way::Unknown,
        }
    }

    fn in_words(self) -> &'static str {
        match self {
            Way::Unknown => "joined to the device",
            Way::IntoDevice => "sends into the device",
            Way::OutOfDevice => "receives from the device",
            Way::Both => "sends into the device and receives from it",
        }
    }
}

/// Ports that sent test frames to the device in any trial, and ports where these were expected.
#[derive(Default)]
struct Used {
    senders: BTreeSet<PortId>,
    receivers: BTreeSet<PortId>,
}

impl Used {
    fn in_trials(trials: &[TrialRecord]) -> Used {
        let mut used = Used::default();
        let of_device = trials.iter().filter(|record| record.test != TestKind::SelfTest);
        for stream in of_device.flat_map(|record| &record.result.streams) {
            if stream.role == Role::Test && stream.sent > 0 {
                used.senders.insert(stream.from);
                used.receivers.extend(&stream.expected_ports);
            }
        }
        used
    }

    fn way(&self, port: PortId) -> Way {
        Way::of(self.senders.contains(&port), self.receivers.contains(&port))
    }
}

/// The test bed of a run with the ways that frames went in these trials; nothing for a run saved before it was told.
pub fn test_bed(started: &RunStarted, trials: &[TrialRecord]) -> Markup {
    let used = Used::in_trials(trials);
    let ports = &started.tester.ports;
    let described = |placed: &PlacedPort| ports.iter().find(|port| port.id == placed.port);
    html! {
        @if let Some(bed) = &started.test_bed {
            @let is_many = bed.ports.len() > DETAILED_MAX;
            figure.bed {
                figcaption { (bed.original.as_ref().map_or("Test bed", |original| &original.heading)) }
                @if let Some(original) = &bed.original { p.about { (original.about) } }
                div.links.many[is_many] {
                    div.side.top { strong { "Tester" } br; (started.tester.name) }
                    div.line { @if is_many { (joined_by(bed.ports.len(), ports)) } }
                    div.side.top { strong { "Device under test" } br; (started.device) ", " (does(bed.forwarding)) }
                    @for placed in bed.ports.iter().take(DRAWN_MAX) {
                        @let way = used.way(placed.port);
                        @if is_many { (short_link(placed, described(placed), way)) }
                        @else { (link(placed, described(placed), way)) }
                    }
                }
                @if bed.ports.len() > DRAWN_MAX {
                    p.about { "and " (bed.ports.len() - DRAWN_MAX) " more ports: the set-up below lists them" }
                }
                @if let Some(encapsulated) = &bed.encapsulated {
                    p.about { "Behind the second port frames are those of " (encapsulated) "." }
                }
            }
        }
    }
}

/// How many links there are, and their rates.
fn joined_by(count: usize, ports: &[PortDescription]) -> Markup {
    let mut rates: Vec<String> = ports
        .iter()
        .map(|port| {
            let nominal = if port.line_rate_is_physical { "" } else { " nominal" };
            format!("{}{nominal}", port.line_rate)
        })
        .collect();
    rates.sort();
    rates.dedup();
    html! { (count) " links" br; (rates.join(", ")) }
}

/// One of many ports: its name and the addresses of IPv4 on a line.
fn short_link(placed: &PlacedPort, port: Option<&PortDescription>, way: Way) -> Markup {
    html! {
        div.side { strong { (placed.port) }
            @if let Some(port) = port { span.name { ", " (port.name) } }
            ", " (placed.host.ipv4)
        }
        (wire(placed.port, None, way))
        div.side {
            @if let Some(device) = &placed.device { (device.ipv4) }
        }
    }
}

/// The line between both sides, with the rate above it.
fn wire(id: PortId, port: Option<&PortDescription>, way: Way) -> Markup {
    let class = match way {
        Way::Unknown => "",
        Way::IntoDevice => "to",
        Way::OutOfDevice => "from",
        Way::Both => "to from",
    };
    html! {
        div.line role="img" aria-label={ (id) " " (way.in_words()) } {
            @if let Some(port) = port {
                span { (port.line_rate) @if !port.line_rate_is_physical { " nominal" } }
            }
            div class={ "wire " (class) } {}
        }
    }
}

fn does(forwarding: Forwarding) -> &'static str {
    match forwarding {
        Forwarding::Routed => "which routes",
        Forwarding::Bridged => "which bridges",
        Forwarding::Looped => "ports joined back to back",
    }
}

/// One port: the tester's side, the line, the device's side.
fn link(placed: &PlacedPort, port: Option<&PortDescription>, way: Way) -> Markup {
    html! {
        div.side {
            strong { (placed.port) } @if let Some(port) = port { ", " (port.name) br; (port.port_type) }
            (addresses(&placed.host))
        }
        (wire(placed.port, port, way))
        div.side {
            @if let Some(device) = &placed.device { (addresses(device)) }
            @if placed.networks > 0 { p { (placed.networks) " networks behind" } }
        }
    }
}

fn addresses(of: &Placed) -> Markup {
    html! { p { (of.ipv4) br; (of.ipv6) br; (of.mac) } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use method::{OriginalBed, TestBed};

    #[test]
    fn a_link_says_which_way_frames_went() {
        let all = [(true, false), (false, true), (true, true), (false, false)];
        let ways = all.map(|(sends, receives)| Way::of(sends, receives));
        assert_eq!(ways, [Way::IntoDevice, Way::OutOfDevice, Way::Both, Way::Unknown]);
    }

    /// A bed of so many ports, the first with a document's heading.
    fn drawn(ports: u16, original: Option<OriginalBed>) -> String {
        let placed = |port: u16| PlacedPort {
            port: PortId(port),
            host: Placed {
                mac: wire::ethernet::MacAddr([2, 0, 0, 0, 0, port as u8]),
                ipv4: std::net::Ipv4Addr::new(10, 0, port as u8, 2),
                ipv6: std::net::Ipv6Addr::LOCALHOST,
            },
            device: None,
            networks: 0,
        };
        let started = RunStarted {
            format: 0,
            program: "p".into(),
            device: "d".into(),
            environment: std::collections::BTreeMap::new(),
            config: serde_json::Value::Null,
            tester: trial::TesterDescription {
                name: "t".into(),
                ports: vec![],
                tick: units::Duration::ZERO,
                notes: vec![],
            },
            test_bed: Some(TestBed {
                forwarding: Forwarding::Routed,
                ports: (0..ports).map(placed).collect(),
                encapsulated: None,
                original,
            }),
            estimate: units::Duration::ZERO,
        };
        test_bed(&started, &[]).into_string()
    }

    /// 32 ports are 32 links, each with its address; the hardware addresses are in the table of ports.
    #[test]
    fn each_of_many_ports_has_a_line() {
        let original = OriginalBed { heading: "Figure <7>".into(), about: "32 cables".into() };
        let page = drawn(32, Some(original));
        assert_eq!(page.matches("role=\"img\"").count(), 32);
        let said = ["10.0.0.2", "10.0.31.2", "32 links", "Figure &lt;7&gt;", "32 cables"];
        assert!(said.iter().all(|words| page.contains(words)), "{page}");
        assert!(!page.contains("02:00:00:00:00:1f") && !page.contains("more ports"), "{page}");
        let few = drawn(2, None);
        assert!(
            few.contains("<figcaption>Test bed</figcaption>") && few.contains("02:00:00:00:00:01")
        );
    }
}
