//! Composed devices speak, count, and take their time as they should.

use super::*;
use crate::port::{Cable, Lines, SimPort};
use crate::{DeviceUnderTest, Frame};
use std::net::Ipv4Addr;
use traffic::template::FrameTemplate;
use trial::PortId;
use units::{Duration, FrameSize, Instant, LineRate};
use wire::appletalk::{aarp, ddp};
use wire::ethernet::{self, HEADER_LEN, MacAddr};
use wire::ipv4::{self, Protocol as IpProtocol};
use wire::ipx::{self, Encapsulation, Endpoint};
use wire::{arp, decnet, icmpv4, ipv6, learning, rip};

const HOSTS: [MacAddr; 2] = [MacAddr([2, 0, 0, 0, 0, 2]), MacAddr([2, 0, 0, 0, 1, 2])];
const IN: PortId = PortId(0);
const OUT: PortId = PortId(1);

fn host(port: u8) -> Ipv4Addr {
    Ipv4Addr::new(198, 18 + port, 1, 2)
}

pub(super) fn at_us(us: u64) -> Instant {
    Instant::ZERO + Duration::from_us(us)
}

/// A device by its description, on links of 10 Mb/s, driven by hand.
pub(super) struct Bench {
    pub(super) device: Composed,
    cables: Vec<Cable>,
    pub(super) now: Instant,
}

impl Bench {
    pub(super) fn new(toml: &str) -> Self {
        let description = Description::from_toml(toml).unwrap();
        let addresses = Addresses::plan(description.ports);
        let port = SimPort::physical(LineRate::from_mbps(10));
        let cables = (0..description.ports as u16).map(|id| port.cable(PortId(id), 0, None));
        Bench {
            device: Composed::new(&description, &addresses).unwrap(),
            cables: cables.collect(),
            now: Instant::ZERO,
        }
    }

    /// A frame comes in; what leaves until nothing happens any more: when, where, what.
    pub(super) fn send(
        &mut self,
        port: PortId,
        frame: impl Into<Frame>,
    ) -> Vec<(Instant, PortId, Frame)> {
        self.device.handle_frame(self.now, port, frame.into());
        self.drain()
    }

    pub(super) fn drain(&mut self) -> Vec<(Instant, PortId, Frame)> {
        let mut out = vec![];
        loop {
            while let Some(departing) = self.device.poll_output(self.now, &Lines(&self.cables)) {
                let cable = &mut self.cables[usize::from(departing.port.0)];
                cable.send(crate::medium::Way::ToTester, self.now, departing.frame.clone());
                out.push((self.now, departing.port, departing.frame));
            }
            match self.device.poll_timeout() {
                Some(at) => self.now = self.now.max(at),
                None => return out,
            }
        }
    }

    pub(super) fn count(&self, counter: Counter) -> u64 {
        self.device.truth(IN, counter)
    }
}

fn udp(size: u32, ttl: u8) -> Vec<u8> {
    let device = Addresses::plan(2).interfaces[0].mac;
    let template = FrameTemplate::udp_ipv4((HOSTS[0], host(0)), (device, host(1)));
    let mut frame = template.prepare(FrameSize::from_bytes(size), None).unwrap().frame(0);
    frame[HEADER_LEN + 8] = ttl;
    let mut header = ipv4::Repr::new(host(0), host(1), IpProtocol::UDP, size as u16 - 38);
    header.ttl = ttl;
    header.emit(&mut frame[HEADER_LEN..]);
    frame
}

fn learn(bench: &mut Bench) {
    let device = Ipv4Addr::new(198, 19, 1, 1);
    let answers = bench.send(OUT, learning::arp_request(HOSTS[1], host(1), device));
    let [(_, OUT, answer)] = &answers[..] else { panic!("{answers:?}") };
    let (arp, _) = arp::Repr::parse(&answer[HEADER_LEN..]).unwrap();
    assert_eq!((arp.operation, arp.sender_ip), (arp::Operation::Reply, device));
    assert_eq!(arp.sender_mac, Addresses::plan(2).interfaces[1].mac);
}

#[test]
fn a_router_forwards_to_whom_it_has_heard_and_takes_a_hop_off() {
    let mut bench = Bench::new("route = [\"ipv4\"]");
    let asked = bench.send(IN, udp(64, 9));
    let [(_, OUT, question)] = &asked[..] else { panic!("{asked:?}") };
    let (arp, _) = arp::Repr::parse(&question[HEADER_LEN..]).unwrap();
    assert_eq!((arp.operation, arp.target_ip), (arp::Operation::Request, host(1)));
    assert_eq!(bench.send(IN, udp(64, 9)), vec![], "asked once a second at most");
    assert_eq!(bench.count(Counter::NoNeighbours), 2);

    learn(&mut bench);
    let routed = bench.send(IN, udp(64, 9));
    let [(_, OUT, frame)] = &routed[..] else { panic!("{routed:?}") };
    let (header, _) = ethernet::Repr::parse(frame).unwrap();
    let ours = Addresses::plan(2).interfaces[1].mac;
    assert_eq!((header.src, header.dst), (ours, HOSTS[1]));
    let (packet, _) = ipv4::Repr::parse(&frame[HEADER_LEN..]).unwrap();
    assert_eq!(packet.ttl, 8);
    assert_eq!(frame[34..], udp(64, 9)[34..], "nothing behind the header is touched");
}

#[test]
fn a_router_drops_what_a_router_drops() {
    let mut bench = Bench::new("route = [\"ipv4\"]");
    learn(&mut bench);
    let mut wrong = udp(64, 9);
    wrong[HEADER_LEN + 8] = 10;
    let mut elsewhere = udp(64, 9);
    let packet =
        ipv4::Repr { ttl: 9, ..ipv4::Repr::new(host(0), [9; 4].into(), IpProtocol::UDP, 26) };
    packet.emit(&mut elsewhere[HEADER_LEN..]);
    let mut for_another = udp(64, 9);
    for_another[5] ^= 0x40;
    let mut unknown = udp(64, 9);
    unknown[12..14].copy_from_slice(&[0x88, 0xb5]);
    for frame in [udp(64, 1), wrong, elsewhere, for_another, unknown] {
        assert_eq!(bench.send(IN, frame), vec![]);
    }
    let counts = [
        (Counter::HopsExceeded, 1),
        (Counter::HeaderErrors, 1),
        (Counter::NoRoutes, 1),
        (Counter::NotForwarded, 2),
        (Counter::InFrames, 5),
        (Counter::InBytes, 5 * 64),
    ];
    for (counter, count) in counts {
        assert_eq!(bench.count(counter), count, "{counter}");
    }
}

#[test]
fn a_router_answers_for_itself() {
    let mut bench = Bench::new("route = [\"ipv4\"]");
    let message = icmpv4::Repr::EchoRequest { identifier: 7, sequence: 3 }.message(b"anvil");
    let ours = Addresses::plan(2).interfaces[0];
    let packet = ipv4::Repr::new(host(0), ours.ipv4.0, IpProtocol::ICMPV4, message.len() as u16);
    let ether_type = ethernet::EtherType::IPV4;
    let header = ethernet::Repr { dst: ours.mac, src: HOSTS[0], ether_type };
    let answers = bench.send(IN, header.frame(&packet.packet(&message)));
    let [(_, IN, answer)] = &answers[..] else { panic!("{answers:?}") };
    let (ip, payload) = ipv4::Repr::parse(&answer[HEADER_LEN..]).unwrap();
    assert_eq!((ip.src, ip.dst), (ours.ipv4.0, host(0)));
    let (reply, data) = icmpv4::Repr::parse(payload).unwrap();
    assert_eq!(reply, icmpv4::Repr::EchoReply { identifier: 7, sequence: 3 });
    assert_eq!(data, b"anvil");
}

#[test]
fn ipv6_is_routed_after_neighbour_discovery() {
    let mut bench = Bench::new("route = [\"ipv6\"]");
    let plan = Addresses::plan(2).interfaces;
    let host = |port: usize| {
        let mut address = plan[port].ipv6.0.octets();
        address[15] = 2;
        std::net::Ipv6Addr::from(address)
    };
    let template = FrameTemplate::udp_ipv6((HOSTS[0], host(0)), (plan[0].mac, host(1)));
    let frame = template.prepare(FrameSize::from_bytes(128), None).unwrap().frame(0);
    let before = ipv6::Repr::parse(&frame[HEADER_LEN..]).unwrap().0;
    bench.send(IN, frame.clone());
    assert_eq!(bench.count(Counter::NoNeighbours), 1);
    let solicitation = learning::neighbor_solicitation(HOSTS[1], host(1), plan[1].ipv6.0);
    assert_eq!(bench.send(OUT, solicitation).len(), 1, "it advertises itself");
    let routed = bench.send(IN, frame);
    let [(_, OUT, frame)] = &routed[..] else { panic!("{routed:?}") };
    let after = ipv6::Repr::parse(&frame[HEADER_LEN..]).unwrap().0;
    assert_eq!(after.hop_limit, before.hop_limit - 1);
    assert_eq!(frame[..6], HOSTS[1].0);
}

#[test]
fn decnet_is_routed_to_nodes_that_say_hello_for_as_long_as_they_said() {
    let mut bench = Bench::new("route = [\"decnet\"]");
    let node = |n| decnet::Address::new(2, n);
    let router = node(1);
    let data = decnet::Repr::Data(decnet::data::Repr::new(node(10), node(11), 12));
    let frame = data.frame(node(10).mac(), router.mac(), &[0x60; 12]);
    assert_eq!(bench.send(IN, frame.clone()), vec![]);
    assert_eq!(bench.count(Counter::NoNeighbours), 1, "no keep-alive, no forwarding");

    let hello = decnet::Repr::EndnodeHello(decnet::hello::Endnode::new(node(11), 15));
    bench.send(OUT, hello.frame(node(11).mac(), decnet::ALL_ROUTERS, &[]));
    let routed = bench.send(IN, frame.clone());
    let [(_, OUT, out)] = &routed[..] else { panic!("{routed:?}") };
    let (header, rest) = ethernet::Repr::parse(out).unwrap();
    assert_eq!((header.src, header.dst), (router.mac(), node(11).mac()));
    let (decnet::Repr::Data(packet), _) = decnet::Repr::parse(rest).unwrap() else { panic!() };
    assert_eq!(packet.visits, 1);
    bench.now += Duration::from_secs(45);
    assert_eq!(bench.send(IN, frame), vec![], "three intervals without a hello");
}

#[test]
fn appletalk_is_routed_after_aarp() {
    let mut bench = Bench::new("route = [\"appletalk\"]");
    let plan = Addresses::plan(2).interfaces;
    let node = |port: usize| wire::appletalk::Address { node: 10, ..plan[port].appletalk };
    let end = |port| ddp::Endpoint { address: node(port), socket: 4 };
    let datagram =
        ddp::Repr { hops: 0, dst: end(1), src: end(0), kind: ddp::Kind::ECHO, payload_len: 25 };
    let frame = datagram.frame(HOSTS[0], plan[0].mac, &[1; 25]);
    let asked = bench.send(IN, frame.clone());
    assert_eq!((asked.len(), asked[0].1), (1, OUT), "it asks by AARP");
    let request = aarp::Repr::request(HOSTS[1], node(1), plan[1].appletalk);
    let answers = bench.send(OUT, request.frame());
    assert_eq!((answers.len(), answers[0].1), (1, OUT));
    let routed = bench.send(IN, frame);
    let [(_, OUT, out)] = &routed[..] else { panic!("{routed:?}") };
    let (repr, _) = ddp::Repr::parse(&out[22..]).unwrap();
    assert_eq!((repr.hops, out[..6].to_vec()), (1, HOSTS[1].0.to_vec()));
}

#[test]
fn ipx_is_routed_in_each_encapsulation_and_by_rip_beyond() {
    for encapsulation in Encapsulation::ALL {
        let mut bench = Bench::new("route = [\"ipx\"]");
        let ours = Addresses::plan(2).interfaces[0].mac;
        let src = Endpoint::new(1, HOSTS[0], ipx::socket::TEST);
        let frame_to = |network| {
            let dst = Endpoint::new(network, HOSTS[1], ipx::socket::TEST);
            let packet = ipx::Repr::new(ipx::Kind::UNKNOWN, src, dst, 16).packet(&[7; 16]);
            encapsulation.frame(HOSTS[0], ours, &packet)
        };
        let routed = bench.send(IN, frame_to(2));
        let [(_, OUT, out)] = &routed[..] else { panic!("{encapsulation}: {routed:?}") };
        assert_eq!(out[..6], HOSTS[1].0);
        assert_eq!(out.len(), 60.max(frame_to(2).len()));
        assert_eq!(bench.send(IN, frame_to(77)), vec![]);
        assert_eq!(bench.count(Counter::NoRoutes), 1, "{encapsulation}");
        let entries = vec![ipx::rip::Entry { network: 77, hops: 2, ticks: 3 }];
        let update = ipx::rip::Repr { operation: ipx::rip::Operation::Response, entries };
        let router = MacAddr([2, 0, 0, 0, 1, 9]);
        bench.send(OUT, update.frame(encapsulation, (2, router)));
        let routed = bench.send(IN, frame_to(77));
        assert_eq!(routed[0].2[..6], router.0, "{encapsulation}: by way of the router");
    }
}

#[test]
fn rip_teaches_routes_as_long_as_there_is_room() {
    let mut bench = Bench::new("route = [\"ipv4\"]\n[routes]\nentries = 3");
    let router = Ipv4Addr::new(198, 19, 1, 10);
    bench.send(OUT, learning::arp_request(HOSTS[1], router, Ipv4Addr::new(198, 19, 1, 1)));
    let network = |n| Ipv4Addr::new(10, 0, n, 0);
    let entries = (0..5).map(|n| rip::Entry {
        family: 2,
        tag: 0,
        network: network(n),
        mask: Ipv4Addr::new(255, 255, 255, 0),
        next_hop: Ipv4Addr::UNSPECIFIED,
        metric: 7,
    });
    let (command, version) = (rip::Command::Response, rip::Version::V2);
    let message = rip::Repr { command, version, entries: entries.collect() };
    let mut data = vec![0; message.header_len()];
    message.emit(&mut data);
    let socket = |address| std::net::SocketAddrV4::new(address, rip::PORT);
    let group = Ipv4Addr::new(224, 0, 0, 9);
    let group_mac = MacAddr([1, 0, 0x5e, 0, 0, 9]);
    bench.send(
        OUT,
        wire::udp::frame_ipv4((HOSTS[1], socket(router)), (group_mac, socket(group)), &data),
    );
    let mut to = |n| {
        let mut frame = udp(64, 9);
        let dst = Ipv4Addr::from_bits(network(n).to_bits() + 5);
        let packet = ipv4::Repr { ttl: 9, ..ipv4::Repr::new(host(0), dst, IpProtocol::UDP, 26) };
        packet.emit(&mut frame[HEADER_LEN..]);
        bench.send(IN, frame).len()
    };
    assert_eq!([0, 1, 2, 3, 4].map(&mut to), [1, 1, 1, 0, 0]);
}

#[test]
fn a_bridge_floods_what_it_does_not_know_and_learns() {
    let mut bench = Bench::new("ports = 4\nbridge = true");
    let frame = |src: MacAddr, dst: MacAddr| {
        ethernet::Repr { dst, src, ether_type: ethernet::EtherType::EXPERIMENTAL }.frame(&[])
    };
    let ports = |out: Vec<(Instant, PortId, Frame)>| -> Vec<u16> {
        let mut ports: Vec<u16> = out.into_iter().map(|(_, port, _)| port.0).collect();
        ports.sort();
        ports
    };
    assert_eq!(ports(bench.send(PortId(0), frame(HOSTS[0], HOSTS[1]))), [1, 2, 3]);
    assert_eq!(ports(bench.send(PortId(2), frame(HOSTS[1], HOSTS[0]))), [0]);
    assert_eq!(ports(bench.send(PortId(0), frame(HOSTS[0], HOSTS[1]))), [2]);
    assert_eq!(ports(bench.send(PortId(0), frame(HOSTS[0], MacAddr::BROADCAST))), [1, 2, 3]);
    assert_eq!(ports(bench.send(PortId(2), frame(HOSTS[0], HOSTS[1]))), [0u16; 0], "is there");
    let reserved = MacAddr([1, 0x80, 0xc2, 0, 0, 0]);
    assert_eq!(ports(bench.send(PortId(0), frame(HOSTS[0], reserved))), [0u16; 0]);
}

/// A frame of 64 bytes: card 10 us + 64 x 0.1 us, bus 2 us, processor 20 us + one filter rule
/// (3 + 4 us), card out 5 us: 50.4 us. Within the card neither bus nor processor, and the card
/// filters: 16.4 + 7 + 5.
#[test]
fn a_frame_takes_the_time_of_the_processors_it_passes() {
    let toml = "ports = 4\nroute = [\"ipv4\"]\n\
        [card]\nports = 2\nlocal = LOCAL\ninput = { per-frame = \"10us\", per-byte = \"0.1us\" }\n\
        output = { per-frame = \"5us\" }\n[bus]\ncost = { per-frame = \"2us\" }\n\
        [cpu]\ncost = { per-frame = \"20us\" }\n\
        [filter]\nper-frame = \"3us\"\nper-rule = \"4us\"\n\
        [[filter.rules]]\nfrom = \"198.18.1.2\"\nto = \"198.19.1.2\"\n";
    for (local, ns) in [("true", 28_400), ("false", 50_400)] {
        let mut bench = Bench::new(&toml.replace("LOCAL", local));
        learn(&mut bench);
        bench.now = at_us(1_000_000);
        let routed = bench.send(IN, udp(64, 9));
        assert_eq!(routed[0].0, at_us(1_000_000) + Duration::from_ns(ns), "local: {local}");
    }
}

/// Of 512 bytes the first 100 are copied (0.1 us each), in buffers of 128 (three more than one, 2 us
/// each); its reception takes 1 us + 512 x 0.01 us: 10 + 10 + 6 + 6.12 us. A filter list adds 5 us
/// there as it comes, and 7 us where it leaves.
#[test]
fn bytes_may_be_counted_in_buffers_or_only_the_first_of_them() {
    let toml = "route = [\"ipv4\"]\n[card]\n[cpu]\ncost = { per-frame = \"10us\", \
        per-byte = \"0.1us\", first-bytes = 100, per-buffer = \"2us\", buffer-bytes = 128, \
        receive = \"1us\", receive-per-byte = \"10ns\" }\n\
        [filter]\nreceive = \"5us\"\noutput = \"7us\"\n";
    let rule = "[[filter.rules]]\nfrom = \"198.18.1.2\"\nto = \"198.19.1.2\"\n";
    for (rules, ns) in [("", 32_120), (rule, 44_120)] {
        let mut bench = Bench::new(&(toml.to_owned() + rules));
        learn(&mut bench);
        bench.now = at_us(1_000_000);
        let routed = bench.send(IN, udp(512, 9));
        assert_eq!(routed[0].0, at_us(1_000_000) + Duration::from_ns(ns), "{rules}");
    }
}

#[test]
fn filters_drop_what_no_rule_permits() {
    let mut bench = Bench::new(
        "route = [\"ipv4\"]\n[[filter.rules]]\nfrom = \"192.32.100.1\"\nto = \"192.32.200.1\"\n",
    );
    learn(&mut bench);
    assert_eq!(bench.send(IN, udp(64, 9)), vec![]);
    assert_eq!(bench.count(Counter::Filtered), 1);
}

#[test]
fn error_frames_are_dropped_and_counted_each_under_its_name() {
    let error_frames = |bench: &mut Bench| {
        learn(bench);
        let damaged = Frame { bytes: udp(64, 9), damaged: true };
        assert_eq!(bench.send(IN, damaged), vec![]);
        assert_eq!(bench.send(IN, vec![0; 51]), vec![]);
        assert_eq!(bench.send(IN, udp(1_600, 9)), vec![]);
        assert_eq!(bench.send(IN, udp(1_518, 9)).len(), 1);
    };
    let mut bench = Bench::new("route = [\"ipv4\"]\ncounters = [\"crc-errors\", \"runts\"]");
    error_frames(&mut bench);
    let counts = [Counter::CrcErrors, Counter::Runts, Counter::Giants].map(|c| bench.count(c));
    assert_eq!(counts, [1, 1, 1]);
    assert_eq!(bench.device.counter(IN, Counter::CrcErrors), Some(1));
    assert_eq!(bench.device.counter(IN, Counter::Giants), None, "it has no such counter");
    let mut bench = Bench::new("route = [\"ipv4\"]\n[misbehaviour]\ncrc-as-alignment = true");
    error_frames(&mut bench);
    let counts = [Counter::CrcErrors, Counter::AlignmentErrors].map(|c| bench.count(c));
    assert_eq!(counts, [0, 1]);
}

#[test]
fn a_runt_may_cost_a_port_its_life() {
    let mut bench = Bench::new("route = [\"ipv4\"]\n[misbehaviour]\ndisables-port-on-runt = true");
    learn(&mut bench);
    assert_eq!(bench.send(IN, udp(64, 9)).len(), 1);
    bench.send(IN, vec![0; 40]);
    assert_eq!(bench.send(IN, udp(64, 9)), vec![]);
    assert_eq!(bench.count(Counter::Misbehaved), 1);
}

/// A burst of frames at once into a processor of 100 us.
fn burst(bench: &mut Bench, size: u32, frames: usize) -> usize {
    for _ in 0..frames {
        bench.device.handle_frame(bench.now, IN, udp(size, 9).into());
    }
    bench.drain().len()
}

#[test]
fn a_flooded_device_may_drop_long_frames_only() {
    let mut bench = Bench::new(
        "route = [\"ipv4\"]\n[cpu]\ncost = { per-frame = \"100us\" }\n\
         [misbehaviour]\nflooded-drops-over-bytes = 250\nflooded-at-frames = 4\n",
    );
    learn(&mut bench);
    assert_eq!(burst(&mut bench, 128, 20), 20);
    assert_eq!(burst(&mut bench, 256, 20), 5, "one in service and four waiting");
}

#[test]
fn a_device_may_crash_under_load_and_come_back_knowing_nothing() {
    let mut bench = Bench::new(
        "route = [\"ipv4\"]\n[misbehaviour]\ncrashes-above-fps = 50\nreboots-in = \"30s\"\n",
    );
    learn(&mut bench);
    assert_eq!(burst(&mut bench, 64, 40), 40);
    assert_eq!(burst(&mut bench, 64, 40), 0, "all is lost");
    bench.now += Duration::from_secs(29);
    assert_eq!(burst(&mut bench, 64, 1), 0);
    bench.now += Duration::from_secs(2);
    bench.send(IN, udp(64, 9));
    assert_eq!(bench.count(Counter::NoNeighbours), 1, "it has to learn again");
}

#[test]
fn a_loaded_device_may_not_answer_for_itself() {
    let mut bench = Bench::new(
        "route = [\"ipv4\"]\n[cpu]\ncost = { per-frame = \"100us\" }\n\
         [misbehaviour]\nunreachable-at-frames = 3\n",
    );
    learn(&mut bench);
    let question = || learning::arp_request(HOSTS[0], host(0), Ipv4Addr::new(198, 18, 1, 1));
    let answers = |bench: &mut Bench, waiting: usize| {
        (0..waiting).for_each(|_| bench.device.handle_frame(bench.now, IN, udp(64, 9).into()));
        let out = bench.send(IN, question());
        out.iter().filter(|(_, port, _)| *port == IN).count()
    };
    assert_eq!(answers(&mut bench, 3), 1, "one in service, two waiting");
    assert_eq!(answers(&mut bench, 4), 0);
}

#[test]
fn a_delay_may_vary_without_changing_the_order() {
    let mut bench =
        Bench::new("route = [\"ipv4\"]\ndelay = \"1ms\"\ndelay-varies-by = \"100ms\"\nseed = 3\n");
    learn(&mut bench);
    let mut delays = vec![];
    for _ in 0..200 {
        bench.now += Duration::from_secs(1);
        let sent = bench.now;
        delays.push(bench.send(IN, udp(64, 9))[0].0.since(sent));
    }
    let (min, max) = (delays.iter().min().unwrap(), delays.iter().max().unwrap());
    assert!(*min >= Duration::from_ms(1) && *min < Duration::from_ms(6), "{min}");
    assert!(*max <= Duration::from_ms(101) && *max > Duration::from_ms(96), "{max}");
    assert_eq!(burst(&mut bench, 64, 50), 50);
}

/// Three inputs to one output of 10 Mb/s: it keeps eight frames beside the one on the link.
#[test]
fn an_output_queue_holds_what_it_holds() {
    let mut bench = Bench::new("ports = 4\nbridge = true\n[output]\nframes = 8\n");
    let ether_type = ethernet::EtherType::EXPERIMENTAL;
    bench.send(OUT, ethernet::Repr { dst: HOSTS[0], src: HOSTS[1], ether_type }.frame(&[]));
    let frame = || ethernet::Repr { dst: HOSTS[1], src: HOSTS[0], ether_type }.frame(&[]);
    bench.now = at_us(10_000);
    for port in [0, 2, 3].into_iter().cycle().take(30) {
        bench.device.handle_frame(bench.now, PortId(port), frame().into());
        // The first is taken by the link at once.
        let lines = Lines(&bench.cables);
        if let Some(departing) = bench.device.poll_output(bench.now, &lines) {
            let way = crate::medium::Way::ToTester;
            bench.cables[1].send(way, bench.now, departing.frame);
        }
    }
    assert_eq!(bench.drain().len(), 8);
    assert_eq!(bench.device.truth(OUT, Counter::OutDiscards), 21);
}

/// An Ethernet frame of 64 bytes from one host to another, each at the port of its number.
fn switched(from: u16, to: u16) -> Vec<u8> {
    let mac = |port: u16| MacAddr([2, 0, 0, 0, 7, port as u8]);
    let ether_type = ethernet::EtherType::EXPERIMENTAL;
    ethernet::Repr { dst: mac(to), src: mac(from), ether_type }.frame(&[])
}

/// A switch with four ports whose hosts it has learned.
fn switch(queues: &str) -> Bench {
    let mut bench = Bench::new(&format!("ports = 4\nline-rate = \"10M\"\nbridge = true\n{queues}"));
    for port in 0..4 {
        bench.send(PortId(port), learning::bridge(MacAddr([2, 0, 0, 0, 7, port as u8])));
    }
    bench.now += Duration::from_ms(1);
    bench
}

/// Port 0 has a frame for port 2 and then one for port 3; port 1 keeps port 2 busy. With queues at
/// the outputs the second leaves at once; with queues at the inputs it waits behind the first, until
/// that is the oldest or, after port 3 was served last, at once as its turn comes.
#[test]
fn a_first_frame_that_waits_blocks_those_behind_it() {
    let waited = |queues: &str| {
        let mut bench = switch(queues);
        let start = bench.now;
        for (late_us, (from, to)) in (0..).zip([(1, 2), (1, 2), (0, 2), (0, 3)]) {
            let now = bench.now + Duration::from_us(late_us);
            bench.device.handle_frame(now, PortId(from), switched(from, to).into());
        }
        bench.now += Duration::from_us(3);
        let left = bench.drain();
        assert_eq!(left.len(), 4);
        let last = left.iter().find(|(_, port, _)| *port == PortId(3)).unwrap();
        last.0.since(start).as_ps() / 67_200_000
    };
    assert_eq!(waited("[output]\nframes = 64\n"), 0);
    assert_eq!(waited("[fabric]\nframes = 64\n"), 2);
    assert_eq!(waited("[fabric]\nframes = 64\narbitration = \"round-robin\"\n"), 0);
}

#[test]
fn a_fabric_floods_and_drops_at_its_inputs() {
    let mut bench = switch("[fabric]\nframes = 2\n");
    let out = bench.send(PortId(1), switched(1, 9));
    let ports: Vec<u16> = out.iter().map(|(_, port, _)| port.0).collect();
    assert_eq!(ports, [0, 2, 3], "to everybody but the sender");
    for _ in 0..5 {
        bench.device.handle_frame(bench.now, PortId(1), switched(1, 2).into());
    }
    assert_eq!(bench.drain().len(), 2);
    assert_eq!(bench.device.truth(PortId(1), Counter::InDiscards), 3);
}

/// Of a memory for four frames one greedy output leaves the others what it has not taken.
#[test]
fn outputs_share_a_memory() {
    let mut bench = switch("[memory]\nframes = 4\n");
    for to in [2, 2, 2, 3, 3, 3] {
        bench.device.handle_frame(bench.now, PortId(0), switched(0, to).into());
    }
    let out = bench.drain();
    let count = |port| out.iter().filter(|(_, to, _)| *to == PortId(port)).count();
    assert_eq!((count(2), count(3)), (3, 1));
    assert_eq!(bench.device.truth(PortId(3), Counter::OutDiscards), 2);
}

/// Three frames of port 0 wait: it is asked for silence, before anything else leaves that way; when
/// one is left, it may go on.
#[test]
fn a_sender_is_paused_and_may_go_on() {
    let mut bench = switch("[flow-control]\npause-at-frames = 3\nresume-at-frames = 1\n");
    for _ in 0..3 {
        bench.device.handle_frame(bench.now, PortId(0), switched(0, 2).into());
    }
    let out = bench.drain();
    let said: Vec<u16> = out
        .iter()
        .filter(|(_, port, _)| *port == PortId(0))
        .filter_map(|(_, _, frame)| Some(wire::pause::Repr::parse(frame)?.quanta))
        .collect();
    assert_eq!(said, [0xffff, 0]);
    assert_eq!(out.len(), 5);
}
