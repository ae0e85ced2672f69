//! The test bed: which port of the tester stands on which network of the device, as words in boxes with lines
//! between them. All words are text of the page, which keeps its size on any screen.

use maud::{Markup, html};
use method::{Forwarding, Placed, PlacedPort, RunStarted, TestKind, TrialRecord};
use std::collections::BTreeSet;
use trial::{PortDescription, PortId, Role};

/// So many ports are drawn; the table of ports has all.
const DRAWN_MAX: usize = 16;

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
    html! {
        @if let Some(bed) = &started.test_bed {
            figure.bed {
                figcaption { "Test bed" }
                div.links {
                    div.side.top { strong { "Tester" } br; (started.tester.name) }
                    div {}
                    div.side.top { strong { "Device under test" } br; (started.device) ", " (does(bed.forwarding)) }
                    @for placed in bed.ports.iter().take(DRAWN_MAX) {
                        (link(placed, ports.iter().find(|port| port.id == placed.port), used.way(placed.port)))
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

fn does(forwarding: Forwarding) -> &'static str {
    match forwarding {
        Forwarding::Routed => "which routes",
        Forwarding::Bridged => "which bridges",
        Forwarding::Looped => "ports joined back to back",
    }
}

/// One port: the tester's side, the line, the device's side.
fn link(placed: &PlacedPort, port: Option<&PortDescription>, way: Way) -> Markup {
    let class = match way {
        Way::Unknown => "",
        Way::IntoDevice => "to",
        Way::OutOfDevice => "from",
        Way::Both => "to from",
    };
    html! {
        div.side {
            strong { (placed.port) } @if let Some(port) = port { ", " (port.name) br; (port.port_type) }
            (addresses(&placed.host))
        }
        div.line role="img" aria-label={ (placed.port) " " (way.in_words()) } {
            @if let Some(port) = port {
                span { (port.line_rate) @if !port.line_rate_is_physical { " nominal" } }
            }
            div class={ "wire " (class) } {}
        }
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

    #[test]
    fn a_link_says_which_way_frames_went() {
        let all = [(true, false), (false, true), (true, true), (false, false)];
        let ways = all.map(|(sends, receives)| Way::of(sends, receives));
        assert_eq!(ways, [Way::IntoDevice, Way::OutOfDevice, Way::Both, Way::Unknown]);
    }
}
