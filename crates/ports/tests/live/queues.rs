//! Ports with several queues, of each kind that can have them: the frames of one queue would be sent, each by its own.
//! Needs root.

use crate::bed::{self, undecided};
use crate::common::*;
use ports::{
    CaptureWish, Captured, Interface, LiveOptions, LiveTester, Port, PortType, Room, TrialSignals,
};
use std::collections::{BTreeMap, BTreeSet};
use testbed::{DeviceKind, TestbedConfig};
use trial::conformance::{Capacity, Load, check, run_accounted};
use trial::*;
use units::{Duration, FrameRate, FrameSize, Instant};
use wire::signature::{self, Form};

const QUEUES: u16 = 2;
const ATTEMPTS: usize = 5;

/// Those that have several queues here.
fn kinds() -> impl Iterator<Item = PortType> {
    let xdp = ports::xdp::available().is_ok().then_some(PortType::XDP);
    xdp.into_iter().chain([PortType::AF_XDP])
}

fn open_as(kind: PortType, id: u16, name: &str, queues: u16) -> Result<Box<dyn Port>, TesterError> {
    let interface = Interface::open(name).unwrap();
    let room = Room { receive_frames: None, ports: 1, queues };
    Ok(kind.kind().unwrap().open(&interface, describe(id, name), room)?.0)
}

fn open(kind: PortType, id: u16, name: &str, queues: u16) -> Box<dyn Port> {
    open_as(kind, id, name, queues).unwrap()
}

/// `va` with two queues to send and `vb` with as many to receive, counted in so many threads where the kind has them.
fn ports(kind: PortType, receivers: u16) -> [Box<dyn Port>; 2] {
    ["va", "vb"].into_iter().for_each(|name| channels(name, QUEUES.into()));
    [open(kind, 0, "va", QUEUES), open(kind, 1, "vb", receivers)]
}

/// Each kind that has several queues, on one pair.
fn with_each_kind(test: impl Fn(PortType) + Send + 'static) {
    with_veth_pair(move || kinds().for_each(test));
}

/// Frames of so many flows of one stream.
fn flows(flows: u16, fps: u64, ms: u64) -> Trial {
    let frames = (0..flows).map(|flow| frame(60, 1_000 + flow, Some(Form::Full))).collect();
    trial(vec![stream(1, 0, 1, frames)], vec![load(0, constant(fps, ms), &[1])])
}

/// Frames that each queue of `vb` took, as its driver counts.
fn of_queues() -> Vec<u64> {
    let statistics = kernel::Ethtool::open("vb").unwrap().statistics();
    let of_queue = |queue: u16| {
        let name = format!("rx_queue_{queue}_xdp_packets");
        statistics.iter().find(|(counter, _)| *counter == name).map_or(0, |(_, count)| *count)
    };
    (0..QUEUES).map(of_queue).collect()
}

/// Runs a trial in which nothing should be lost. On a busy machine a thread that receives may stand still for longer than
/// its buffers last: the port counts what it lost so, there is nothing else that is missing, and it has more buffers in
/// the next attempt. Frames that were never sent would be missing each time.
fn run_whole(
    trial: &Trial,
    ports: &mut [Box<dyn Port>],
    mut during: impl FnMut(&TrialSignals, Instant),
) -> (Outcome, Vec<u64>) {
    for _ in 0..ATTEMPTS {
        let before = of_queues();
        let outcome = run_with(trial, ports, &mut during);
        let took = of_queues().iter().zip(before).map(|(after, before)| after - before).collect();
        let missing = outcome.received[1].streams.iter().map(|stream| stream.missing.count);
        let (missing, lost) = (missing.sum::<u64>(), lost_by_tester(&mut ports[1]));
        assert_eq!(missing, lost, "missing, and lost by the port itself");
        if missing == 0 {
            return (outcome, took);
        }
    }
    panic!("the port lost frames in each of {ATTEMPTS} attempts");
}

/// What a port lost in the trial, by its own counters.
fn lost_by_tester(port: &mut Box<dyn Port>) -> u64 {
    let halves = port.halves();
    let receivers = [halves.receive].into_iter().chain(halves.more_receivers);
    receivers.flat_map(|half| half.drops().unwrap()).map(|(_, frames)| frames).sum()
}

#[test]
fn every_frame_leaves_once_and_each_queue_sends_its_flows() {
    with_each_kind(|kind| {
        let mut ports = ports(kind, QUEUES);
        let (outcome, took) = run_whole(&flows(64, 200_000, 500), &mut ports, |_, _| ());
        let report = outcome.report(0);
        assert_eq!((report.intended_frames, report.sent_frames), (100_000, 100_000));
        assert_eq!(report.sent_bytes, 100_000 * 64);
        assert_eq!(report.sent_of_stream, [(StreamId(1), 100_000)]);
        assert_eq!(report.lateness.count(), 100_000, "each frame has its own");
        let received = &outcome.received[1].streams[0];
        assert_eq!((received.account.unique, received.missing.count), (100_000, 0));
        assert_eq!((received.account.arrivals(), received.account.reordered), (100_000, 0));
        assert_eq!(took, [50_000, 50_000], "64 flows are 32 for each");
    });
}

/// Of one receive queue all frames come to one account: what two queues send by turns has no order among itself.
#[test]
fn order_is_judged_within_a_queue() {
    with_each_kind(|kind| {
        let mut ports = match kind {
            // Frames that an XDP program sends find a queue of their own at a far end with one.
            PortType::XDP => [open(kind, 0, "va", QUEUES), open(kind, 1, "vb", 1)],
            _ => ports(kind, 1),
        };
        let (outcome, _) = run_whole(&flows(64, 100_000, 300), &mut ports, |_, _| ());
        let account = &outcome.received[1].streams[0].account;
        assert_eq!((account.unique, account.reordered), (30_000, 0));
    });
}

/// Frames of 64 flows, in order, arrive by two queues that one thread reads, as by those of a card: the thread looks at
/// one after the other, which is no order of the frames.
#[test]
fn queues_that_one_thread_reads_have_no_order_among_themselves() {
    with_veth_pair(|| {
        ["va", "vb"].into_iter().for_each(|name| channels(name, QUEUES.into()));
        let mut port = open(PortType::AF_XDP, 1, "vb", 1);
        let receive = port.halves().receive;
        let trial = flows(64, 100_000, 500);
        let plan = trial.receive_plan(PortId(1));
        receive.prepare(&plan).unwrap();
        let signals = TrialSignals::new([PortId(1)]);
        let received = std::thread::scope(|scope| {
            let receiving = scope.spawn(|| receive.receive(&plan, &signals).unwrap());
            signals.announce(ports::clock::now());
            let sent = send_by_hash(&trial, "va");
            signals.set_deadline(ports::clock::now() + Duration::from_ms(200));
            ports::clock::sleep(Duration::from_ms(200));
            signals.close(sent);
            receiving.join().unwrap()
        });
        let took = of_queues();
        assert!(took.iter().all(|frames| *frames > 5_000), "{took:?}");
        let account = &received.streams[0].account;
        assert_eq!((account.unique, account.arrivals(), received.foreign), (50_000, 50_000, 0));
        assert_eq!(account.reordered, 0);
    });
}

/// The kernel fills packet rings from both queues at a time, each on a processor of its own.
#[test]
fn packet_rings_keep_the_order_of_their_queues() {
    with_veth_pair(|| {
        ["va", "vb"].into_iter().for_each(|name| channels(name, QUEUES.into()));
        let mut ports =
            [open(PortType::AF_XDP, 0, "va", QUEUES), open(PortType::AF_PACKET, 1, "vb", 1)];
        let (outcome, _) = run_whole(&flows(64, 200_000, 500), &mut ports, |_, _| ());
        let account = &outcome.received[1].streams[0].account;
        assert_eq!((account.unique, account.arrivals(), account.reordered), (100_000, 100_000, 0));
    });
}

/// Sends a trial's frames as a program would, one by one: the kernel chooses the queue by a hash of the flow.
fn send_by_hash(trial: &Trial, interface: &str) -> BTreeMap<StreamId, u64> {
    let socket = RawSocket::open(interface);
    let plan = &trial.transmit_plans().unwrap()[0];
    let mut transmitter = Transmitter::new(plan, ports::clock::now(), ports::clock::TICK);
    let mut buffer = vec![0; plan.set.longest_bytes()];
    while let Some(due) = transmitter.next_due() {
        ports::clock::wait_until(due);
        let emitted = transmitter.emit(ports::clock::now(), &mut buffer);
        socket.send(&buffer[..emitted.len_bytes]);
    }
    transmitter.into_report().sent_of_stream.into_iter().collect()
}

#[test]
fn one_flow_leaves_by_one_queue() {
    with_each_kind(|kind| {
        let mut ports = ports(kind, QUEUES);
        let (outcome, took) = run_whole(&flows(1, 100_000, 100), &mut ports, |_, _| ());
        let account = &outcome.received[1].streams[0].account;
        assert_eq!((account.unique, account.reordered), (10_000, 0));
        assert_eq!(
            took.iter().filter(|frames| **frames > 0).count(),
            1,
            "the thread of one queue sent it all"
        );
    });
}

/// Whoever ends a trial ends its queues at different frames. The hindmost go as far as the foremost: no frame
/// is missing that was never sent.
#[test]
fn a_trial_that_is_ended_has_no_holes() {
    with_each_kind(|kind| {
        let mut ports = ports(kind, QUEUES);
        for pause_ms in [13, 40, 111] {
            let end = |signals: &TrialSignals, start| {
                ports::clock::wait_until(start + Duration::from_ms(pause_ms));
                signals.stop();
            };
            let (outcome, _) = run_whole(&flows(64, 300_000, 2_000), &mut ports, end);
            let report = outcome.report(0);
            let sent = report.sent_frames;
            assert!(sent > 0 && sent < 600_000, "{sent}");
            assert_eq!(report.sent_of_stream, [(StreamId(1), sent)]);
            let received = &outcome.received[1].streams[0];
            assert_eq!((received.account.unique, received.missing.count), (sent, 0));
            assert_eq!(received.account.corrupted, 0, "a frame beyond the last one that was sent");
        }
    });
}

/// Several streams with unequal turns, frames of several lengths and insertions of both kinds: the queues send,
/// taken together, what the pure transmitter writes.
#[test]
fn queues_send_what_the_pure_transmitter_writes() {
    with_each_kind(|kind| {
        let mut ports = ports(kind, 1);
        let trial = manifold([Some(Form::Full); 4]);
        let everything = CaptureWish { streams: vec![], max_frames: 10_000 };
        ports[1].halves().receive.capture(Some(everything)).unwrap();
        let (outcome, _) = run_whole(&trial, &mut ports, |_, _| ());
        let captured = ports[1].halves().receive.captured();
        assert_eq!(captured.missed, 0);
        let plan = &trial.transmit_plans().unwrap()[0];
        let mut pure = Transmitter::new(plan, outcome.start, ports::clock::TICK);
        let mut buffer = vec![0; plan.set.longest_bytes()];
        let mut written = BTreeMap::new();
        let mut left_at = outcome.start;
        while let Some(due) = pure.next_due() {
            left_at = due;
            let emitted = pure.emit(due, &mut buffer);
            let frame = unstamped(&buffer[..emitted.len_bytes]);
            assert!(written.insert((emitted.stream.0, emitted.sequence), frame).is_none());
        }
        assert_eq!(of_frames(&captured), written.keys().copied().collect());
        for frame in &captured.frames {
            let (stream, sequence) = identity(&frame.bytes);
            assert_eq!(
                unstamped(&frame.bytes),
                written[&(stream, sequence)],
                "{stream} {sequence}"
            );
        }
        let (by_queues, by_one) = (outcome.report(0), pure.into_report());
        assert_eq!(by_queues.sent_of_stream, by_one.sent_of_stream);
        assert_eq!(
            (by_queues.sent_frames, by_queues.sent_bytes),
            (by_one.sent_frames, by_one.sent_bytes)
        );
        assert!(by_queues.last_departure.unwrap() >= left_at);
    });
}

fn identity(frame: &[u8]) -> (u16, u64) {
    let stamp = signature::read(Form::Full, KEY, frame).expect("a signature");
    (stamp.stream, stamp.sequence)
}

/// A frame as it is but for the moment in its stamp.
fn unstamped(frame: &[u8]) -> Vec<u8> {
    let mut frame = frame.to_vec();
    let stamp = signature::read(Form::Full, KEY, &frame).expect("a signature");
    signature::write(Form::Full, KEY, signature::Stamp { transmit_ticks: 0, ..stamp }, &mut frame);
    frame
}

fn of_frames(captured: &Captured) -> BTreeSet<(u16, u64)> {
    let all: BTreeSet<_> = captured.frames.iter().map(|frame| identity(&frame.bytes)).collect();
    assert_eq!(all.len(), captured.frames.len(), "a frame came twice");
    all
}

/// A tester on both ends of a pair with two queues each way.
fn tester(testbed: &bed::Bed) -> LiveTester {
    let ports = bed::open_queues(testbed, PortType::AF_XDP, FrameSize::MAX_ETHERNET, QUEUES);
    LiveTester::new(ports.expect("open the ports"), LiveOptions::default()).expect("a tester")
}

fn loopback() -> bed::Bed {
    bed::build_config(&TestbedConfig { queues: QUEUES, ..TestbedConfig::of(DeviceKind::Loopback) })
}

#[test]
fn af_xdp_ports_with_two_queues_conform() {
    let testbed = loopback();
    let mut tester = tester(&testbed);
    let threads = &tester.describe().notes;
    for thread in ["port 0 transmit by queue 1", "port 1 receive from queue 1"] {
        assert!(threads.iter().any(|note| note.contains(thread)), "{threads:?}");
    }
    let capacity = Capacity { rate: FrameRate::from_fps(20_000), largest: FrameSize::MAX_ETHERNET };
    for why in check(&mut tester, &bed::paths(&testbed), capacity) {
        undecided::tell(&why);
    }
}

/// One way and both ways, paced and as fast as it goes: what did not arrive the tester knows to have lost itself, and
/// queues that the end of the time finds at different frames leave no holes.
#[test]
fn every_frame_of_two_af_xdp_queues_is_accounted_for() {
    let testbed = loopback();
    let mut tester = tester(&testbed);
    let paths = bed::paths(&testbed);
    let mut key = signature::Key::from_seed(0x9e77);
    for (paths, fps) in
        [(&paths[..1], 100_000), (&paths, 50_000), (&paths[..1], 50_000_000), (&paths, 50_000_000)]
    {
        key = key.later(1);
        let load = Load {
            paths,
            streams_each: 16,
            sizes: &[FrameSize::from_bytes(64)],
            rate: FrameRate::from_fps(fps),
            duration: Duration::from_ms(300),
            key,
        };
        let trial = Trial {
            waits: Waits::fixed(Duration::from_ms(100), Duration::ZERO),
            ..load.trial("queues")
        };
        let result = run_accounted(&mut tester, &trial);
        assert!(result.offered_frames() > 10_000, "{}", result.offered_frames());
        assert_eq!(result.lost_frames(), result.tester_drops(), "{fps}: {:?}", result.counters);
        assert_eq!(result.received.len(), 2);
        for sent in &result.sent {
            assert_eq!(sent.dropped_by_tester, 0, "{fps}: {:?}", result.notes);
        }
        for stream in &result.streams {
            assert_eq!((stream.reordered, stream.duplicates, stream.corrupted), (0, 0, 0));
        }
    }
}

/// More queues than there are would send by fewer.
#[test]
fn queues_that_the_interface_has_not_are_refused_with_the_remedy() {
    with_veth_pair(|| {
        let error =
            open_as(PortType::AF_XDP, 0, "va", QUEUES).err().expect("va has one").to_string();
        for part in [
            "sending by 2 queues on an interface with 1",
            "ethtool -L va",
            "numtxqueues 2 numrxqueues 2",
        ] {
            assert!(error.contains(part), "{error}");
        }
        // The far end has a queue more than this one has to receive.
        channels("va", 2);
        let error = open_as(PortType::AF_XDP, 1, "vb", 1).err().expect("vb has one").to_string();
        assert!(error.contains("ethtool -L vb rx"), "{error}");
        channels("vb", 2);
        open(PortType::AF_XDP, 1, "vb", 1);
    });
}
