//! Routing updates before each trial (RFC 2544 section 13): a router without routes of its own forwards what
//! was announced to it, and for as long as it is announced again.

use super::bed::*;
use super::composed::{addresses, tester};
use method::rfc2544::{FrameLossResult, frame_loss};
use method::{
    Destinations, Direction, Event, Forwarding, Modifier, Protocol, SuiteConfig, Traffic,
};
use sim::{Departing, Description, DeviceUnderTest, Frame, Lines, SimPort, SimTester};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use trial::{PortId, TrialResult};
use units::{Duration, Instant, LineRate};
use wire::{ethernet, ipv4, rip, udp};

/// 297 frames of 64 bytes a second: long trials of few frames.
const SLOW: SimPort = SimPort::nominal(LineRate::from_bps(200_000));
/// Longer than a router keeps a route that it hears no more of (RFC 2453 section 3.8: 180 s).
const LONG_S: f64 = 200.0;

fn updated(duration_s: f64) -> SuiteConfig {
    let mut config = config();
    config.traffic.destinations = Destinations::Random;
    config.traffic.routing_updates = true;
    config.trial.routing_wait_s = 1.0;
    config.trial.duration_s = duration_s;
    config.search.trial_duration_s = duration_s;
    config
}

/// The same of IPv6, for which 84 bytes are the least.
fn updated_ipv6(duration_s: f64) -> SuiteConfig {
    let mut config = updated(duration_s);
    config.traffic.protocol = Protocol::UdpIpv6;
    config.frame_sizes = vec![size(128)];
    config
}

/// A router with nothing but its attached networks.
fn loss_of(config: &SuiteConfig) -> (FrameLossResult, Vec<TrialResult>) {
    let route = vec![sim::Protocol::Ipv4, sim::Protocol::Ipv6];
    let router = Description { route, ..Description::default() };
    assert!(addresses().routes.is_empty());
    let (result, events) = run(config, &mut tester(&router, &[SLOW; 2]), frame_loss);
    let trial = |event| match event {
        Event::TrialFinished(record) => Some(record.result),
        _ => None,
    };
    (result, events.into_iter().filter_map(trial).collect())
}

#[test]
fn a_router_without_routes_forwards_what_is_announced() {
    for updated in [updated(1.0), updated_ipv6(1.0)] {
        let (_, trials) = loss_of(&updated);
        assert!(!trials.is_empty());
        for trial in &trials {
            assert!(trial.is_valid(), "{:?}", trial.validity);
            assert_eq!(trial.lost_frames(), 0);
        }
        let mut silent = updated.clone();
        silent.traffic.routing_updates = false;
        let (_, trials) = loss_of(&silent);
        assert!(trials.iter().all(|trial| trial.forwarded_frames() <= trial.offered_frames() / 20));
    }
}

/// Out of a port that only receives, and out of one that sends, too.
#[test]
fn routes_last_as_long_as_the_trial() {
    for direction in [Direction::Unidirectional, Direction::Bidirectional] {
        let (_, trials) = loss_of(&SuiteConfig { direction, ..updated(LONG_S) });
        assert!(!trials.is_empty());
        for trial in &trials {
            assert!(trial.is_valid(), "{direction:?}: {:?}", trial.validity);
            assert_eq!(trial.lost_frames(), 0, "{direction:?}");
            let updates = trial.streams.iter().filter(|stream| stream.name == "routing updates");
            // 256 networks are 11 messages of up to 25; 200 s are six whole intervals of 30 s, and
            // at most one at the start besides.
            for stream in updates.clone() {
                assert!((66..=77).contains(&stream.sent), "{direction:?}: {}", stream.sent);
            }
            let ports = if direction == Direction::Bidirectional { 2 } else { 1 };
            assert_eq!(updates.count(), ports, "{direction:?}");
        }
    }
}

/// RIPng in the same way, by a host whose link-local address the router has to know.
#[test]
fn routes_of_ipv6_last_as_long_as_the_trial() {
    let (_, trials) = loss_of(&updated_ipv6(LONG_S));
    assert!(!trials.is_empty());
    for trial in &trials {
        assert!(trial.is_valid(), "{:?}", trial.validity);
        assert_eq!(trial.lost_frames(), 0);
        let updates = trial.streams.iter().filter(|stream| stream.name == "routing updates");
        // 256 networks are 4 messages of up to 72, after a question from the link-local address; 200 s are
        // six whole intervals of 30 s, and at most one at the start besides.
        assert_eq!(
            updates.map(|stream| (30..=35).contains(&stream.sent)).collect::<Vec<_>>(),
            [true]
        );
    }
}

/// A cable that keeps what came in, and when.
#[derive(Default)]
struct Recorder {
    cable: sim::Patch,
    frames: Vec<(Instant, PortId, Vec<u8>)>,
}

impl DeviceUnderTest for Recorder {
    fn handle_frame(&mut self, now: Instant, port: PortId, frame: Frame) {
        self.frames.push((now, port, frame.to_vec()));
        self.cable.handle_frame(now, port, frame);
    }
    fn poll_output(&mut self, now: Instant, lines: &Lines<'_>) -> Option<Departing> {
        self.cable.poll_output(now, lines)
    }
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
}

/// The networks that a RIP version 2 response announces; `None` for any other frame.
fn announced(frame: &[u8]) -> Option<Vec<(Ipv4Addr, Ipv4Addr)>> {
    let (header, rest) = ethernet::Repr::parse(frame).ok()?;
    let (packet, rest) = ipv4::Repr::parse(rest).ok()?;
    let (datagram, data) = udp::Repr::parse(rest).ok()?;
    if datagram.dst_port != rip::PORT {
        return None;
    }
    let (message, _) = rip::Repr::parse(data).expect("a RIP message");
    assert_eq!((message.command, message.version), (rip::Command::Response, rip::Version::V2));
    assert_eq!(packet.dst, Ipv4Addr::new(224, 0, 0, 9));
    assert_eq!(header.dst, ethernet::MacAddr::of_ipv4_group(packet.dst));
    // The next hop is the end host at the receiving port, for all of them.
    assert_eq!(packet.src, Ipv4Addr::new(198, 19, 1, 2));
    assert!(message.entries.iter().all(|entry| entry.metric == rip::RFC2544_METRIC));
    Some(message.entries.iter().map(|entry| (entry.network, entry.mask)).collect())
}

#[test]
fn the_update_precedes_the_learning_frames_and_the_stream() {
    let mut tester = SimTester::new(&[SLOW; 2], Recorder::default());
    let (_, events) = run(&updated(1.0), &mut tester, frame_loss);
    let trials = events.iter().filter(|event| matches!(event, Event::TrialFinished(_))).count();
    let mut frames = &tester.device().frames[..];
    let mut updates = 0;
    while let Some(at) = frames.iter().position(|(_, _, frame)| announced(frame).is_some()) {
        frames = &frames[at..];
        let said: Vec<_> = frames.iter().map_while(|(_, _, frame)| announced(frame)).collect();
        let (last, rest) = (frames[said.len() - 1].0, &frames[said.len()..]);
        assert!(frames[..said.len()].iter().all(|(_, port, _)| *port == PortId(1)));
        let networks: BTreeSet<_> = said.concat().into_iter().collect();
        // 198.19.n.128/25 for every n, as the hosts of the topology lie.
        let expected: BTreeSet<_> = (0..=255)
            .map(|n| (Ipv4Addr::new(198, 19, n, 128), Ipv4Addr::new(255, 255, 255, 128)))
            .collect();
        assert_eq!(networks, expected);
        let (learnt, port, learning) = &rest[0];
        let (header, rest_of_it) = ethernet::Repr::parse(learning).unwrap();
        assert_eq!((*port, header.ether_type), (PortId(1), ethernet::EtherType::ARP));
        assert!(wire::arp::Repr::parse(rest_of_it).is_ok());
        assert!(learnt.since(last) >= Duration::from_secs(1), "a wait for routes");
        let (first, port, _) = &rest[1];
        assert!(*port == PortId(0) && first.since(*learnt) >= Duration::from_ms(100));
        frames = rest;
        updates += 1;
    }
    assert_eq!(updates, trials, "one before each trial");
}

#[test]
fn updates_that_announce_nothing_are_refused() {
    let refusal = |config: &SuiteConfig, forwarding| {
        config.check().and_then(|()| {
            Traffic::new(config, &topology(forwarding), &size(128), Modifier::None).map(|_| ())
        })
    };
    assert!(refusal(&updated(1.0), Forwarding::Routed).is_ok());
    let mut one = updated(1.0);
    one.traffic.destinations = Destinations::One;
    let mut ipx = updated(1.0);
    ipx.traffic.protocol = Protocol::IpxRaw;
    for (config, forwarding, why) in [
        (updated(1.0), Forwarding::Bridged, "only a router takes in routes"),
        (one, Forwarding::Routed, "destinations"),
        (ipx, Forwarding::Routed, "random ones would break"),
    ] {
        let said = refusal(&config, forwarding).unwrap_err().to_string();
        assert!(said.contains(why), "{said}");
    }
}
