//! An `xdp` port that sends by several queues: the frames of one queue would be sent, each by its own. Needs root.
#![cfg(xdp_programs)]

use crate::common::*;
use ports::xdp::XdpPort;
use ports::{CaptureWish, Captured, Interface, Port};
use std::collections::{BTreeMap, BTreeSet};
use trial::*;
use units::Duration;
use wire::signature::{self, Form};

const QUEUES: u16 = 2;

fn open(id: u16, name: &str, queues: u16) -> Box<dyn Port> {
    let interface = Interface::open(name).unwrap();
    Box::new(XdpPort::open_with_queues(&interface, describe(id, name), queues).unwrap())
}

/// `va` with two queues to send and `vb` with as many to receive.
fn ports() -> [Box<dyn Port>; 2] {
    ["va", "vb"].into_iter().for_each(|name| channels(name, QUEUES.into()));
    [open(0, "va", QUEUES), open(1, "vb", 1)]
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

#[test]
fn every_frame_leaves_once_and_each_queue_sends_its_flows() {
    with_veth_pair(|| {
        let mut ports = ports();
        let before = of_queues();
        let outcome = run(&flows(64, 200_000, 500), &mut ports);
        let report = outcome.report(0);
        assert_eq!((report.intended_frames, report.sent_frames), (100_000, 100_000));
        assert_eq!(report.sent_bytes, 100_000 * 64);
        assert_eq!(report.sent_of_stream, [(StreamId(1), 100_000)]);
        assert_eq!(report.lateness.count(), 100_000, "each frame has its own");
        let received = &outcome.received[1].streams[0];
        assert_eq!((received.account.unique, received.missing.count), (100_000, 0));
        assert_eq!((received.account.arrivals(), received.account.reordered), (100_000, 0));
        let took: Vec<u64> =
            of_queues().iter().zip(before).map(|(after, before)| after - before).collect();
        assert_eq!(took, [50_000, 50_000], "64 flows are 32 for each");
    });
}

/// Of one receive queue all frames come to one account: what two queues send by turns has no order among itself.
#[test]
fn order_is_judged_within_a_queue() {
    with_veth_pair(|| {
        let mut ports = [open(0, "va", QUEUES), open(1, "vb", 1)];
        let outcome = run(&flows(64, 100_000, 300), &mut ports);
        let account = &outcome.received[1].streams[0].account;
        assert_eq!((account.unique, account.reordered), (30_000, 0));
    });
}

#[test]
fn one_flow_leaves_by_one_queue() {
    with_veth_pair(|| {
        let mut ports = ports();
        let before = of_queues();
        let outcome = run(&flows(1, 100_000, 100), &mut ports);
        let account = &outcome.received[1].streams[0].account;
        assert_eq!((account.unique, account.reordered), (10_000, 0));
        let took =
            of_queues().iter().zip(before).filter(|(after, before)| **after > *before).count();
        assert_eq!(took, 1, "the thread of one queue sent it all");
    });
}

/// Whoever ends a trial ends its queues at different frames. The hindmost go as far as the foremost: no frame
/// is missing that was never sent.
#[test]
fn a_trial_that_is_ended_has_no_holes() {
    with_veth_pair(|| {
        let mut ports = ports();
        for pause_ms in [13, 40, 111] {
            let outcome = run_with(&flows(64, 300_000, 2_000), &mut ports, |signals, start| {
                ports::clock::wait_until(start + Duration::from_ms(pause_ms));
                signals.stop();
            });
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
    with_veth_pair(|| {
        let mut ports = ports();
        let trial = manifold([Some(Form::Full); 4]);
        let everything = CaptureWish { streams: vec![], max_frames: 10_000 };
        ports[1].halves().receive.capture(Some(everything)).unwrap();
        let outcome = run(&trial, &mut ports);
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
