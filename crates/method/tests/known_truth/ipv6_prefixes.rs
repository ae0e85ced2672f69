//! IPv6 destinations in networks of several prefix lengths (RFC 5180 section 5.2.1): one whole run of the
//! suite for each length, to 256 networks of that length.

use super::bed::*;
use super::suite::suite;
use method::{Destinations, Event, Forwarding, Modifier, Protocol, SuiteConfig, TestKind, Traffic};
use sim::{Departing, DeviceUnderTest, Frame, Lines, SimPort, SimTester};
use std::collections::BTreeSet;
use std::net::Ipv6Addr;
use trial::PortId;
use units::{Instant, LineRate};
use wire::{ethernet, ipv6, udp};

const PORT: SimPort = SimPort::nominal(LineRate::from_mbps(1));

/// A cable that keeps to whom UDP frames went.
#[derive(Default)]
struct Recorder {
    cable: sim::Patch,
    to: Vec<Ipv6Addr>,
}

impl DeviceUnderTest for Recorder {
    fn handle_frame(&mut self, now: Instant, port: PortId, frame: Frame) {
        let packet = ethernet::Repr::parse(&frame).and_then(|(_, rest)| ipv6::Repr::parse(rest));
        if let Ok((packet, rest)) = packet
            && udp::Repr::parse(rest).is_ok()
        {
            self.to.push(packet.dst);
        }
        self.cable.handle_frame(now, port, frame);
    }
    fn poll_output(&mut self, now: Instant, lines: &Lines<'_>) -> Option<Departing> {
        self.cable.poll_output(now, lines)
    }
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
}

fn over(prefixes: &[u8]) -> SuiteConfig {
    let mut config = config();
    config.tests = vec![TestKind::FrameLoss];
    config.frame_sizes = vec![size(128)];
    config.traffic.protocol = Protocol::UdpIpv6;
    config.traffic.destinations = Destinations::Random;
    config.traffic.ipv6_prefixes = prefixes.to_vec();
    config.trial.duration_s = 2.0;
    config.search.trial_duration_s = 2.0;
    config
}

#[test]
fn the_suite_runs_once_with_each_length_and_says_so() {
    let prefixes = [126, 48, 128, 64];
    let mut tester = SimTester::new(&[PORT; 2], Recorder::default());
    let mut events: Vec<Event> = vec![];
    suite(over(&prefixes)).run(&mut tester, None, &mut events).expect("the run ends by itself");
    let mut to = &tester.device().to[..];
    for length in prefixes {
        let hosts: BTreeSet<_> = match length {
            64 => {
                topology(Forwarding::Routed).ports[1].network_hosts_ipv6.iter().copied().collect()
            }
            length => hosts_of(1, length).into_iter().collect(),
        };
        let here = to.iter().take_while(|host| hosts.contains(host)).count();
        let reached: BTreeSet<_> = to[..here].iter().collect();
        // 1,024 draws leave out 256 x (255/256)^1024, 4.7 of them, on average.
        assert!((230..=256).contains(&reached.len()), "/{length}: {}", reached.len());
        to = &to[here..];
    }
    assert_eq!(to, [Ipv6Addr::UNSPECIFIED; 0], "each length once, in the order given");
    let outcomes = outcomes(&events);
    let words: Vec<_> = outcomes.iter().map(|outcome| outcome.conditions.traffic.clone()).collect();
    assert_eq!(words.len(), prefixes.len());
    for (words, length) in words.iter().zip(prefixes) {
        assert!(words.contains(&format!("256 networks (IPv6: /{length})")), "{words}");
    }
    for outcome in &outcomes {
        let annex = &outcome.conditions.clauses;
        let judged = annex.iter().find(|judged| judged.source() == "RFC 5180 section 5.2.1");
        assert_eq!(judged.unwrap().verdict, method::clauses::Verdict::Met);
    }
}

#[test]
fn lengths_that_cannot_be_are_refused() {
    let mut one = over(&[48]);
    one.traffic.destinations = Destinations::One;
    let mut ipv4 = over(&[48]);
    ipv4.traffic.protocol = Protocol::UdpIpv4;
    for (config, why) in [
        (over(&[32]), "/32: 48, 64, 126 and 128"),
        (over(&[48, 48]), "twice"),
        (one, "--destinations random"),
        (ipv4, "udp_ipv6"),
    ] {
        let said = config.check().unwrap_err().to_string();
        assert!(said.contains(why), "{said}");
    }
    let mut bare = topology(Forwarding::Routed);
    bare.ports[1].prefix_hosts_ipv6.clear();
    let refused = Traffic::new(&over(&[126]), &bare, &size(128), Modifier::None).unwrap_err();
    assert!(refused.to_string().contains("256 networks (IPv6: /126)"), "{refused}");
}
