//! A router of 16 ports with 1,048,576 host routes, loaded by netlink: frames to hosts drawn at random
//! behind every port come out there and nowhere else, as the kernel's counters of each port say too.

use live::{Bed, can_run};
use ports::PortType;
use testbed::{DeviceKind, TestbedConfig, routed_host};
use traffic::modifier::sub_seed;
use traffic::test_frame;
use trial::{
    Expectation, PortId, PortLoad, Role, Schedule, Segment, Stream, StreamFrame, StreamId, Tester,
    Trial, ValidityLimits, Waits,
};
use units::{Duration, FrameRate, FrameSize, LineRate};
use wire::ethernet::MacAddr;
use wire::signature::Key;

const PORTS: usize = 16;
const ROUTES_PER_PORT: u32 = 65_536;
/// Hosts that are tried behind each port, drawn at random.
const HOSTS: u64 = 64;
const SEED: u64 = 1998;
const KEY: Key = Key::from_seed(16);

#[test]
fn a_million_host_routes_lead_to_sixteen_outputs() {
    if !can_run("a_million_host_routes_lead_to_sixteen_outputs") {
        return;
    }
    let testbed = TestbedConfig {
        ports: PORTS,
        routes_per_port: ROUTES_PER_PORT,
        ..TestbedConfig::of(DeviceKind::LinuxRouter)
    };
    let bed = Bed::build(&testbed);
    let device = bed.device().expect("a device");
    let load = device.route_load().expect("routes were loaded");
    assert_eq!(load.routes, 1_048_576);
    println!("{load}");
    assert!(load.table_bytes.is_none_or(|bytes| bytes > 48 * load.routes), "{load}");

    let mut tester =
        bed.live(PortType::AF_PACKET, FrameSize::MAX_ETHERNET, LineRate::from_mbps(10));
    // The first port reaches all others; the second reaches the first.
    let pairs: Vec<_> = (1..PORTS).map(|to| (0, to)).chain([(1, 0)]).collect();
    let trial = trial(&bed, &pairs);
    let before = device.counters().expect("counters");
    let result = tester.run(&trial).expect("a result");
    let counted = device.counters().expect("counters").since(&before);
    for ((from, to), stream) in pairs.iter().zip(&result.streams) {
        assert_eq!((stream.sent, stream.received), (HOSTS, HOSTS), "from {from} to {to}");
        assert_eq!((stream.lost, stream.misdirected), (0, 0), "from {from} to {to}");
        let out = &counted.interfaces[&format!("dut{to}")];
        assert_eq!(out.tx_frames, HOSTS, "the kernel's count out of port {to}");
    }
    assert_eq!(counted.ip["IpForwDatagrams"], HOSTS * pairs.len() as u64);
}

/// A stream for each pair, each frame of it to another host.
fn trial(bed: &Bed, pairs: &[(usize, usize)]) -> Trial {
    let stream = |(index, (from, to)): (usize, &(usize, usize))| {
        let id = StreamId(index as u16 + 1);
        Stream {
            id,
            name: format!("{from} to hosts behind {to}"),
            role: Role::Test,
            from: PortId(*from as u16),
            expect: Expectation::Ports(vec![PortId(*to as u16)]),
            frames: (0..HOSTS).map(|n| frame(bed, (*from, *to), n, id)).collect(),
            fingerprint: None,
            given_up: vec![],
            bad_fcs: false,
            grows_by_bytes: 0,
        }
    };
    let streams: Vec<Stream> = pairs.iter().enumerate().map(stream).collect();
    let load = |port: PortId| {
        let order: Vec<_> = streams.iter().filter(|s| s.from == port).map(|s| s.id).collect();
        let rate = FrameRate::from_fps(1_000);
        let segments = vec![Segment::constant(rate, HOSTS * order.len() as u64)];
        PortLoad { port, schedule: Schedule { segments }, order, insertions: vec![] }
    };
    Trial {
        label: "hosts at random".into(),
        key: KEY,
        loads: [PortId(0), PortId(1)].map(load).to_vec(),
        streams,
        prelude: vec![],
        waits: Waits::fixed(Duration::from_secs(5), Duration::from_ms(100)),
        tagging: None,
        count_flows: false,
        verify_payload: false,
        action: None,
        captures: vec![],
        limits: ValidityLimits::default(),
    }
}

fn frame(bed: &Bed, (from, to): (usize, usize), n: u64, id: StreamId) -> StreamFrame {
    let host = sub_seed(sub_seed(SEED, to as u64), n) % u64::from(ROUTES_PER_PORT);
    let std::net::IpAddr::V4(target) = routed_host(to, host as u32).address else {
        panic!("an IPv6 host");
    };
    let source = (MacAddr(bed.ports()[from].mac), bed.ports()[from].addresses.ipv4.host);
    let target = (MacAddr(bed.next_hop_mac(from, to)), target);
    let template = test_frame::template(source, target);
    let prepared = template.prepare(FrameSize::MIN_ETHERNET, Some((KEY, id.0))).expect("a frame");
    StreamFrame { bytes: prepared.frame(0), form: prepared.form() }
}
