//! Traffic that is not as it should be, on real links: bursts of fragments through the kernel's
//! router, each accounted for; and frames with the errors that a virtual link can carry, as an
//! observer at its other end sees them.

use live::{Bed, Capture, Direction, can_run, undecided};
use ports::PortType;
use testbed::DeviceKind;
use traffic::error_frame::{ErrorAbilities, ErrorFrame, ErrorKind, NotPossible};
use traffic::fragment::Burst;
use traffic::test_frame;
use trial::conformance::run_accounted;
use trial::{
    Expectation, PortId, PortLoad, Prelude, Role, Schedule, Stream, StreamFrame, StreamId, Trial,
    TrialResult, ValidityLimits, Waits,
};
use units::{Duration, FrameRate, FrameSize, LineRate};
use wire::ethernet::MacAddr;
use wire::learning;
use wire::signature::Key;

const KEY: Key = Key::from_seed(0x1989);
const STREAM: StreamId = StreamId(1);
const LINE: LineRate = LineRate::from_gbps(10);
const RATE: FrameRate = FrameRate::from_fps(2_000);
/// How often a trial in which the tester was held up is tried.
const ATTEMPTS: u32 = 10;

/// So many of these frames, in turn, from port 0 to port 1.
fn trial(
    name: &str,
    frames: Vec<StreamFrame>,
    count: u64,
    prelude: Vec<Vec<u8>>,
    expect: Expectation,
) -> Trial {
    let stream = Stream {
        id: STREAM,
        name: name.into(),
        role: Role::Test,
        from: PortId(0),
        expect,
        frames,
        fingerprint: None,
        given_up: vec![],
        bad_fcs: false,
        grows_by_bytes: 0,
    };
    Trial {
        label: name.into(),
        key: KEY,
        streams: vec![stream],
        loads: vec![PortLoad {
            port: PortId(0),
            schedule: Schedule::constant(RATE, RATE.departure(count)),
            order: vec![STREAM],
            insertions: vec![],
        }],
        prelude: vec![Prelude { port: PortId(1), frames: prelude, wait: Duration::from_ms(100) }],
        waits: Waits::fixed(Duration::from_ms(500), Duration::ZERO),
        tagging: None,
        count_flows: false,
        verify_payload: true,
        action: None,
        captures: vec![],
        // Frames are counted here, not paces: what a moment held up is made up for.
        limits: ValidityLimits {
            late_after_us: 1_000_000,
            credit_us: 50_000,
            ..ValidityLimits::default()
        },
    }
}

/// Addresses of the tester's hosts on the first two ports, and of the device's first port.
fn hosts(bed: &Bed) -> ([(MacAddr, std::net::Ipv4Addr); 2], MacAddr) {
    let topology = bed.topology();
    let host = |port: usize| (topology.ports[port].mac, topology.ports[port].host_ipv4);
    ([host(0), host(1)], topology.ports[0].device_mac)
}

fn bursts_cross_a_router(port_type: PortType) {
    if !can_run(&format!("bursts of fragments by {port_type} ports")) {
        return;
    }
    let bed = Bed::of(DeviceKind::LinuxRouter, FrameSize::MAX_ETHERNET);
    let ([src, dst], device) = hosts(&bed);
    let burst = Burst::nfs(src, (device, dst.1), 4).frames(Some((KEY, STREAM.0)));
    let frames: Vec<StreamFrame> = burst
        .expect("a burst")
        .into_iter()
        .map(|frame| StreamFrame { bytes: frame.bytes, form: frame.form })
        .collect();
    assert_eq!(frames.len(), 4 * 6);
    let gateway = bed.topology().ports[1].device_ipv4;
    let prelude = vec![learning::arp_request(dst.0, dst.1, gateway)];
    let expect = Expectation::Ports(vec![PortId(1)]);
    let trial = trial("bursts", frames, 240, prelude, expect);
    let mut tester = bed.live(port_type, FrameSize::MAX_ETHERNET, LINE);
    let mut attempts = (0..ATTEMPTS).map(|_| run_accounted(&mut tester, &trial));
    let Some(result) = attempts.find(TrialResult::is_valid) else {
        return undecided::tell("no trial in which the tester kept up");
    };
    assert_eq!((result.offered_frames(), result.lost_frames()), (240, 0));
}

#[test]
fn bursts_of_fragments_by_xdp_ports() {
    bursts_cross_a_router(PortType::XDP);
}

#[test]
fn bursts_of_fragments_by_af_packet_ports() {
    bursts_cross_a_router(PortType::AF_PACKET);
}

/// What the type says of a virtual link is so: runts and giants arrive as they were sent, and what
/// needs an FCS is refused beforehand.
#[test]
fn a_virtual_link_carries_runts_and_giants() {
    if !can_run("a_virtual_link_carries_runts_and_giants") {
        return;
    }
    let largest = FrameSize::from_bytes(1_600);
    let bed = Bed::of(DeviceKind::LinuxBridge, largest);
    let abilities = ErrorAbilities::veth(largest.bytes() - 18);
    let ([src, dst], _) = hosts(&bed);
    let template = test_frame::template(src, dst);
    let error_frame = |kind, bytes| {
        let size = FrameSize::from_bytes(bytes);
        ErrorFrame::new(kind, &template, size, Some((KEY, STREAM.0))).expect("an error frame")
    };
    assert_eq!(error_frame(ErrorKind::Crc, 64).check(&abilities), Err(NotPossible::Fcs));
    let sent = [(ErrorKind::Runt, 55), (ErrorKind::Giant, 1_600), (ErrorKind::Runt, 20)]
        .map(|(kind, bytes)| error_frame(kind, bytes));
    for frame in &sent {
        assert_eq!(frame.check(&abilities), Ok(()));
    }
    let frames = sent.iter().map(|frame| StreamFrame { bytes: frame.bytes.clone(), form: None });
    let trial = trial("errors", frames.collect(), 30, vec![], Expectation::Unchecked);
    let mut tester = bed.live(PortType::AF_PACKET, largest, LINE);
    let device = bed.device().expect("a bridge");
    let at = device.connector(0);
    let mut attempts = (0..ATTEMPTS).map(|_| {
        let capture = Capture::start(device.namespace(), &at, Direction::In);
        let result = run_accounted(&mut tester, &trial);
        (capture.finish(result.sent[0].report.sent_frames), result)
    });
    let Some((captured, _)) = attempts.find(|(_, result)| result.is_valid()) else {
        return undecided::tell("no trial in which the tester kept up");
    };
    assert_eq!(captured.frames.len(), 30);
    for (number, seen) in captured.frames.iter().enumerate() {
        assert_eq!(*seen, sent[number % 3].bytes, "frame {number}");
    }
}
