//! Every kind of stream there is, sent past an outside observer at the device's end of the link:
//! the same bytes, in the same order, on every port type and in the simulator, apart from the
//! time in the stamp; each of them sound to `tshark`; and nothing else on the wire.

use live::{Bed, Capture, Direction, can_run, tshark, undecided};
use ports::PortType;
use sim::{Departing, DeviceUnderTest, Frame, Lines, Patch, SimPort, SimTester};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4};
use testbed::DeviceKind;
use traffic::modifier::{Field, Ipv6Bits, Modifier, Pattern};
use traffic::size::SizePattern;
use traffic::template::{FrameTemplate, Ipv4Layer, Ipv6Layer, Layer, TcpLayer, UdpLayer};
use traffic::test_frame;
use trial::conformance::run_accounted;
use trial::{
    Expectation, Insertion, PortId, PortLoad, Prelude, Role, Schedule, Stream, StreamFrame,
    StreamId, Tester, Transmitter, Trial, TrialResult, Trigger, ValidityLimits, Waits,
};
use units::{Duration, FrameRate, FrameSize, Instant, LineRate};
use wire::ethernet::MacAddr;
use wire::ipv6::Extension;
use wire::ipx::Encapsulation;
use wire::signature::{self, Form, Key};
use wire::{appletalk, decnet, learning, rip, snmp, udp};

const KEY: Key = Key::from_seed(0x9a7a);
const LINE: LineRate = LineRate::from_gbps(10);
const RATE: FrameRate = FrameRate::from_fps(5_000);
/// Different frames of a stream with modifiers.
const PERIOD: u64 = 32;
const HOST_MACS: [MacAddr; 2] =
    [MacAddr([2, 0x4e, 0x41, 0, 0, 2]), MacAddr([2, 0x4e, 0x41, 0, 1, 2])];
const HOSTS_V4: [Ipv4Addr; 2] = [Ipv4Addr::new(198, 18, 1, 2), Ipv4Addr::new(198, 19, 1, 2)];
const HOSTS_V6: [Ipv6Addr; 2] =
    [Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 2), Ipv6Addr::new(0x2001, 2, 0, 0x8000, 0, 0, 0, 2)];
const ROUTER_V4: Ipv4Addr = Ipv4Addr::new(198, 18, 1, 1);
const ROUTER_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1);

/// A kind of frame: its template and the headers that `tshark` must find.
type Kind = (FrameTemplate, &'static str);

fn kinds() -> Vec<Kind> {
    let udp4 = || test_frame::template((HOST_MACS[0], HOSTS_V4[0]), (HOST_MACS[1], HOSTS_V4[1]));
    let udp6 =
        || test_frame::template_ipv6((HOST_MACS[0], HOSTS_V6[0]), (HOST_MACS[1], HOSTS_V6[1]));
    let ethernet = || FrameTemplate::ethernet(HOST_MACS[0], HOST_MACS[1]);
    let ipv4 = || ethernet().layer(Layer::Ipv4(Ipv4Layer::new(HOSTS_V4[0], HOSTS_V4[1])));
    let ipv6 = || ethernet().layer(Layer::Ipv6(Ipv6Layer::new(HOSTS_V6[0], HOSTS_V6[1])));
    let extension = Layer::Ipv6Extension;
    let fragment = Extension::Fragment { offset: 0, more: false, identification: 1 };
    let chain = || {
        // RFC 5180 section 5.3.
        let routing = ipv6().layer(extension(Extension::experimental_routing(24)));
        routing.layer(extension(Extension::destination_padding(8))).layer(extension(fragment))
    };
    let udp = || Layer::Udp(UdpLayer::default());
    let tcp = || Layer::Tcp(TcpLayer::new(49184, 80));
    let (identifier, sequence) = (7, 9);
    vec![
        (udp4(), "eth:ethertype:ip:udp:data"),
        (udp4().tagged(&[100]), "eth:ethertype:vlan:ethertype:ip:udp:data"),
        (
            udp4().tagged(&[100, 200]),
            "eth:ethertype:ieee8021ad:ethertype:vlan:ethertype:ip:udp:data",
        ),
        (udp6(), "eth:ethertype:ipv6:udp:data"),
        (udp6().tagged(&[100]), "eth:ethertype:vlan:ethertype:ipv6:udp:data"),
        (
            chain().layer(udp()),
            "eth:ethertype:ipv6:ipv6.routing:ipv6.dstopts:ipv6.fraghdr:udp:data",
        ),
        (
            ipv6().layer(extension(Extension::hop_by_hop_padding(8))).layer(udp()),
            "eth:ethertype:ipv6:ipv6.hopopts:udp:data",
        ),
        (ipv4().layer(tcp()), "eth:ethertype:ip:tcp:data"),
        (ipv6().layer(tcp()), "eth:ethertype:ipv6:tcp:data"),
        (ipv4().layer(Layer::Icmpv4Echo { identifier, sequence }), "eth:ethertype:ip:icmp:data"),
        (
            ipv6().layer(Layer::Icmpv6Echo { identifier, sequence }),
            "eth:ethertype:ipv6:icmpv6:data",
        ),
        (ipv4(), "eth:ethertype:ip:data"),
        (ipv6(), "eth:ethertype:ipv6:data"),
        (ethernet(), "eth:ethertype:data"),
    ]
    .into_iter()
    .chain(legacy_kinds())
    .collect()
}

/// The protocols of 1990, as a bridge sees them.
fn legacy_kinds() -> Vec<Kind> {
    let ethernet = FrameTemplate::ethernet(HOST_MACS[0], HOST_MACS[1]);
    let ipx = |encapsulation| {
        let hosts = [(1, HOST_MACS[0]), (2, HOST_MACS[1])];
        FrameTemplate::ipx(encapsulation, hosts[0], hosts[1], HOST_MACS[1])
    };
    let node = |number| decnet::Address::new(2, number);
    let apple = |port: usize| (HOST_MACS[port], appletalk::Address::new(100 + port as u16, 10));
    let ip_behind_snap = ethernet
        .layer(Layer::Snap)
        .layer(Layer::Ipv4(Ipv4Layer::new(HOSTS_V4[0], HOSTS_V4[1])))
        .layer(Layer::Udp(UdpLayer::default()));
    vec![
        (ipx(Encapsulation::Raw), "eth:ipx:data"),
        (ipx(Encapsulation::EthernetII), "eth:ethertype:ipx:data"),
        (ipx(Encapsulation::Llc), "eth:llc:ipx:data"),
        (ipx(Encapsulation::Snap), "eth:llc:ipx:data"),
        (FrameTemplate::decnet(node(10), node(11), node(11).mac()), "eth:ethertype:dec_dna"),
        (FrameTemplate::appletalk(apple(0), apple(1)), "eth:llc:ddp:data"),
        (ip_behind_snap, "eth:llc:ip:udp:data"),
    ]
}

/// With all modifiers that fit.
fn modified(mut template: FrameTemplate) -> FrameTemplate {
    let layers = template.layers.clone();
    let has = |found: fn(&Layer) -> bool| layers.iter().any(found);
    let mut add = |modifiers: Vec<Modifier>| {
        let plain = std::mem::take(&mut template);
        template = modifiers.into_iter().fold(plain, FrameTemplate::modifier);
    };
    add(vec![
        Modifier::random_macs(Field::EthSrc, 1, 1, PERIOD),
        Modifier::random_macs(Field::EthDst, 2, 2, PERIOD),
    ]);
    if has(|layer| matches!(layer, Layer::Vlan { .. })) {
        let ids = Pattern::Increment { start: 1, step: 7, count: PERIOD };
        add(vec![Modifier::new(Field::VlanId { tag: 0 }, ids)]);
    }
    if has(|layer| matches!(layer, Layer::Ipv4(_))) {
        let first = Ipv4Addr::new(198, 19, 128, 2);
        let dscp = Modifier::new(Field::Dscp, Pattern::List(vec![0, 46]));
        add(vec![Modifier::random_ipv4_networks(first, 25, 256, 3, PERIOD), dscp]);
    }
    if has(|layer| matches!(layer, Layer::Ipv6(_))) {
        let first = Ipv6Addr::new(0x2001, 2, 0, 0xc000, 0, 0, 0, 2);
        let down = Pattern::Decrement { start: u64::MAX, step: 1 << 40, count: PERIOD };
        let source = Modifier::new(Field::Ipv6Src(Ipv6Bits::LOW_64), down);
        add(vec![Modifier::random_ipv6_networks(first, 256, 4, PERIOD), source]);
    }
    if has(|layer| matches!(layer, Layer::Udp(_))) {
        add(Modifier::random_udp_ports(5, PERIOD).to_vec());
    }
    if has(|layer| matches!(layer, Layer::Tcp(_))) {
        add(Modifier::random_tcp_ports(5, PERIOD).to_vec());
    }
    template
}

/// A frame and the headers that `tshark` must find.
type Expected = (StreamFrame, String);

/// One period of a template's frames, of a mix of sizes.
fn frames(
    template: &FrameTemplate,
    protocols: &str,
    sizes: &SizePattern,
    id: u16,
) -> Vec<Expected> {
    let frame = |index| {
        let size = sizes.size_at(index).max(template.min_size()).min(template.max_size());
        let prepared = template.prepare(size, Some((KEY, id))).expect("a frame");
        let no_udp = template.given_up(size).iter().any(|what| what.contains("no UDP"));
        let protocols = protocols.replace(":udp", if no_udp { "" } else { ":udp" });
        (StreamFrame { bytes: prepared.frame(index), form: prepared.form() }, protocols)
    };
    (0..template.period().min(PERIOD).max(sizes.period())).map(frame).collect()
}

/// A trial with every kind of stream, and the headers of each one's frames by its number.
struct Parade {
    trial: Trial,
    protocols: BTreeMap<StreamId, Vec<String>>,
}

/// A frame that the pure transmitter emits.
struct Emitted {
    bytes: Vec<u8>,
    form: Option<Form>,
    protocols: String,
}

impl Parade {
    fn new() -> Parade {
        let mut parade = Parade { trial: empty_trial(), protocols: BTreeMap::new() };
        let sizes: SizePattern = "imix".parse().expect("a mix");
        for (template, protocols) in kinds() {
            for template in [template.clone(), modified(template)] {
                let frames = frames(&template, protocols, &sizes, parade.next_id());
                parade.add(Role::Test, frames, protocols);
            }
        }
        let order: Vec<StreamId> = parade.trial.streams.iter().map(|stream| stream.id).collect();
        let count = PERIOD * order.len() as u64 + 100;
        let schedule = Schedule::constant(RATE, RATE.departure(count));
        let insertions = parade.insertions();
        parade.trial.loads = vec![PortLoad { port: PortId(0), schedule, order, insertions }];
        parade
    }

    fn next_id(&self) -> u16 {
        self.trial.streams.len() as u16 + 1
    }

    fn add(&mut self, role: Role, frames: Vec<Expected>, name: &str) -> StreamId {
        let id = StreamId(self.next_id());
        let expect = match role {
            Role::Test => Expectation::Ports(vec![PortId(1)]),
            Role::Modifier => Expectation::Unchecked,
        };
        let (name, from) = (name.to_string(), PortId(0));
        let (frames, protocols) = frames.into_iter().unzip();
        let (fingerprint, given_up, bad_fcs, grows_by_bytes) = (None, vec![], false, 0);
        let stream = Stream {
            id,
            name,
            role,
            from,
            expect,
            frames,
            fingerprint,
            given_up,
            bad_fcs,
            grows_by_bytes,
        };
        self.trial.streams.push(stream);
        self.protocols.insert(id, protocols);
        id
    }

    /// Broadcasts, routing updates and management queries (RFC 2544 section 11).
    fn insertions(&mut self) -> Vec<Insertion> {
        let broadcast = FrameTemplate::ethernet(HOST_MACS[0], MacAddr::BROADCAST);
        let size = SizePattern::Fixed(FrameSize::MIN_ETHERNET);
        let broadcast = frames(&broadcast, "eth:ethertype:data", &size, self.next_id());
        let networks: Vec<_> = (101..107).map(|n| (Ipv4Addr::new(198, 18, n, 0), 24)).collect();
        let host = (HOST_MACS[0], HOSTS_V4[0]);
        let update =
            |version| rip::update_frames(version, host, 24, &networks, rip::RFC2544_METRIC);
        let updates = [rip::Version::V1, rip::Version::V2].map(|v| update(v).expect("updates"));
        let query = snmp::Repr::interface_query("public", 7, 3).emit();
        let manager = (HOST_MACS[0], SocketAddrV4::new(HOSTS_V4[0], 49_184));
        let agent = (HOST_MACS[1], SocketAddrV4::new(ROUTER_V4, snmp::PORT));
        let query = udp::frame_ipv4(manager, agent, &query);
        let mut insert = |name, frames, first, every| Insertion {
            stream: self.add(Role::Modifier, frames, name),
            trigger: Trigger::Frames { first, every },
        };
        vec![
            insert("broadcast", broadcast, 99, 100),
            insert("update", unsigned(updates.concat(), "eth:ethertype:ip:udp:rip"), 10, 211),
            insert("query", unsigned(vec![query], "eth:ethertype:ip:udp:snmp"), 20, 307),
        ]
    }

    fn emitted(&self) -> Vec<Emitted> {
        let plans = self.trial.transmit_plans().expect("a plan");
        let mut transmitter = Transmitter::new(&plans[0], Instant::ZERO, Duration::from_ns(1));
        let mut buffer = vec![0; plans[0].set.longest_bytes()];
        let mut emitted = vec![];
        while let Some(due) = transmitter.next_due() {
            let frame = transmitter.emit(due, &mut buffer);
            let stream = self.trial.streams.iter().find(|stream| stream.id == frame.stream);
            let frames = &stream.expect("a stream of the trial").frames;
            let index = frame.sequence as usize % frames.len();
            emitted.push(Emitted {
                bytes: buffer[..frame.len_bytes].to_vec(),
                form: frames[index].form,
                protocols: self.protocols[&frame.stream][index].clone(),
            });
        }
        emitted
    }

    fn prelude(&self) -> &[Vec<u8>] {
        &self.trial.prelude[0].frames
    }

    /// What was seen on the wire is the prelude and then what the pure transmitter emits.
    fn assert_same_bytes(&self, seen: &[Vec<u8>], who: &str) {
        let emitted = self.emitted();
        assert_eq!(seen.len(), self.prelude().len() + emitted.len(), "{who}: frames seen");
        let (prelude, stream) = seen.split_at(self.prelude().len());
        assert_eq!(prelude, self.prelude(), "{who}");
        for (number, (seen, emitted)) in stream.iter().zip(emitted).enumerate() {
            let sent = untimed(emitted.form, &emitted.bytes);
            assert_eq!(untimed(emitted.form, seen), sent, "{who}: frame {number}");
        }
    }
}

fn unsigned(frames: Vec<Vec<u8>>, protocols: &str) -> Vec<Expected> {
    let unsigned = |bytes| (StreamFrame { bytes, form: None }, protocols.to_string());
    frames.into_iter().map(unsigned).collect()
}

fn empty_trial() -> Trial {
    let (mac, v4, v6) = (HOST_MACS[0], HOSTS_V4[0], HOSTS_V6[0]);
    let learning = vec![
        learning::arp_request(mac, v4, ROUTER_V4),
        learning::gratuitous_arp(mac, v4),
        learning::unsolicited_advertisement(mac, v6),
        learning::neighbor_solicitation(mac, v6, ROUTER_V6),
        learning::bridge(mac),
    ];
    let wait = Duration::from_ms(100);
    Trial {
        label: "parade".into(),
        key: KEY,
        streams: vec![],
        loads: vec![],
        prelude: vec![Prelude { port: PortId(0), frames: learning, wait }],
        waits: Waits::fixed(Duration::from_secs(1), Duration::ZERO),
        tagging: None,
        count_flows: false,
        verify_payload: true,
        action: None,
        captures: vec![],
        // Bytes are checked here, not paces: what a moment held up is made up for, in bursts of 100 frames.
        limits: ValidityLimits {
            late_after_us: 1_000_000,
            credit_us: 20_000,
            ..ValidityLimits::default()
        },
    }
}

/// The frame as it would be, had it left at time 0.
fn untimed(form: Option<Form>, frame: &[u8]) -> Vec<u8> {
    let mut frame = frame.to_vec();
    if let Some(form) = form {
        let stamp = signature::read(form, KEY, &frame).expect("a signature");
        signature::write(form, KEY, signature::Stamp { transmit_ticks: 0, ..stamp }, &mut frame);
    }
    frame
}

/// How often a trial in which the tester was held up is tried.
const ATTEMPTS: u32 = 10;

/// Sends the parade through a bridge, past an observer at the bridge's end of the link.
fn parade_past_observer(port_type: PortType) {
    if !can_run(&format!("every kind of stream by {port_type} ports")) {
        return;
    }
    let parade = Parade::new();
    let bed = Bed::of(DeviceKind::LinuxBridge, FrameSize::from_bytes(1_600));
    let device = bed.device().expect("a bridge");
    let mut tester = bed.live(port_type, FrameSize::MAX_ETHERNET, LINE);
    let mut attempts = (0..ATTEMPTS).map(|_| {
        let at = device.connector(0);
        let capture = Capture::start(device.namespace(), &at, Direction::In);
        let result = run_accounted(&mut tester, &parade.trial);
        let sent = result.sent[0].report.sent_frames;
        (capture.finish(sent + parade.prelude().len() as u64), result)
    });
    let sent_all = |result: &TrialResult| {
        let mut ports = result.sent.iter().map(|sent| &sent.report);
        result.is_valid() && ports.all(|report| report.sent_frames == report.intended_frames)
    };
    let Some((captured, result)) = attempts.find(|(_, result)| sent_all(result)) else {
        return undecided::tell("no trial in which the tester sent every frame");
    };
    assert_eq!(result.lost_frames(), 0, "{:?}", result.streams);

    parade.assert_same_bytes(&captured.frames, &port_type.to_string());
    let dissected = tshark::dissect(&captured.path());
    assert_eq!(dissected.len(), captured.frames.len());
    let streams = &dissected[parade.prelude().len()..];
    for (number, (seen, sent)) in streams.iter().zip(parade.emitted()).enumerate() {
        assert_eq!(seen.protocols, sent.protocols, "frame {number}");
        assert_eq!(seen.len_bytes, sent.bytes.len(), "frame {number}");
    }
}

#[test]
fn by_xdp_ports() {
    parade_past_observer(PortType::XDP);
}

#[test]
fn by_af_xdp_ports() {
    parade_past_observer(PortType::AF_XDP);
}

#[test]
fn by_af_packet_ports() {
    parade_past_observer(PortType::AF_PACKET);
}

/// A patch cable that remembers what came in at port 0.
#[derive(Default)]
struct Observed {
    cable: Patch,
    seen: Vec<Vec<u8>>,
}

impl DeviceUnderTest for Observed {
    fn handle_frame(&mut self, now: Instant, port: PortId, frame: Frame) {
        if port == PortId(0) {
            self.seen.push(frame.bytes.clone());
        }
        self.cable.handle_frame(now, port, frame);
    }
    fn poll_output(&mut self, now: Instant, lines: &Lines<'_>) -> Option<Departing> {
        self.cable.poll_output(now, lines)
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.cable.poll_timeout()
    }
}

#[test]
fn in_the_simulator() {
    let parade = Parade::new();
    let mut tester = SimTester::new(&[SimPort::physical(LINE); 2], Observed::default());
    let result = tester.run(&parade.trial).expect("a trial");
    assert!(result.is_valid());
    assert_eq!(result.lost_frames(), 0);
    parade.assert_same_bytes(&tester.device().seen, "simulator");
}
