//! Same streams, same seed: every port type sends the bytes that the pure transmitter writes, in
//! its order, apart from the moment in the stamp. And what the kernel's transmitter reports is
//! what the pure one would have reported, had it sent at the same moments.
#![cfg(xdp_programs)]

use crate::common::*;
use ports::xdp::XdpPort;
use ports::{AfPacketPort, AfXdpPort, CaptureWish, Captured, Interface, Port};
use trial::*;
use units::Instant;
use wire::signature::{self, Form};

fn manifold_trial() -> Trial {
    manifold([Some(Form::Full), Some(Form::Short), Some(Form::Compact), None])
}

/// Sends the trial's frames from `va` to an xdp port, which captures all of them.
fn captured_from(
    transmitter: Box<dyn Port>,
    wish: Option<CaptureWish>,
) -> (Outcome, [Captured; 2]) {
    let receiver = XdpPort::open(&Interface::open("vb").unwrap(), describe(1, "vb")).unwrap();
    let mut ports: [Box<dyn Port>; 2] = [transmitter, Box::new(receiver)];
    let everything = CaptureWish { streams: vec![], max_frames: 10_000 };
    ports[1].halves().receive.capture(Some(everything)).unwrap();
    if wish.is_some() {
        ports[0].halves().transmit.capture(wish).unwrap();
    }
    let outcome = run(&manifold_trial(), &mut ports);
    let sent = ports[0].halves().transmit.captured();
    let received = ports[1].halves().receive.captured();
    (outcome, [sent, received])
}

/// The pure transmitter writes the same frames when each leaves at the moment in its stamp.
fn are_the_pure_transmitters(captured: &Captured) {
    assert_eq!(captured.missed, 0);
    let trial = manifold_trial();
    let plan = &trial.transmit_plans().unwrap()[0];
    // Frames without a stamp leave when the one before did.
    let mut at = captured.frames.first().expect("frames").at;
    let mut pure = Transmitter::new(plan, at, ports::clock::TICK);
    let mut buffer = vec![0; plan.set.longest_bytes()];
    for (number, frame) in captured.frames.iter().enumerate() {
        at = stamped_at(&frame.bytes).unwrap_or(at);
        let emitted = pure.emit(at, &mut buffer);
        assert_eq!(frame.bytes, buffer[..emitted.len_bytes], "frame {number}");
    }
    assert_eq!(pure.next_due(), None, "{} frames were captured", captured.frames.len());
}

fn stamped_at(frame: &[u8]) -> Option<Instant> {
    let stamps = [Form::Full, Form::Short].into_iter();
    let stamp = stamps.filter_map(|form| signature::read(form, KEY, frame)).next();
    // Only the low 48 bits; no more of it is written again.
    stamp.map(|stamp| Instant::from_ns(stamp.transmit_ticks))
}

#[test]
fn af_packet_sends_what_the_pure_transmitter_writes() {
    with_veth_pair(|| {
        let port = AfPacketPort::open(&Interface::open("va").unwrap(), describe(0, "va"), None, 1)
            .unwrap();
        let (_, [_, received]) = captured_from(Box::new(port), None);
        are_the_pure_transmitters(&received);
    });
}

#[test]
fn af_xdp_sends_what_the_pure_transmitter_writes() {
    with_veth_pair(|| {
        let port =
            AfXdpPort::open(&Interface::open("va").unwrap(), describe(0, "va"), None).unwrap();
        let (_, [_, received]) = captured_from(Box::new(port), None);
        are_the_pure_transmitters(&received);
    });
}

#[test]
fn xdp_sends_and_reports_what_the_pure_transmitter_does() {
    with_veth_pair(|| {
        let port = XdpPort::open(&Interface::open("va").unwrap(), describe(0, "va")).unwrap();
        let everything = CaptureWish { streams: vec![], max_frames: 10_000 };
        let (outcome, [sent, received]) = captured_from(Box::new(port), Some(everything));
        are_the_pure_transmitters(&received);
        let bytes = |captured: &Captured| -> Vec<Vec<u8>> {
            captured.frames.iter().map(|frame| frame.bytes.clone()).collect()
        };
        assert_eq!(bytes(&sent), bytes(&received), "captured on both sides of the wire");
        let trial = manifold_trial();
        let plan = &trial.transmit_plans().unwrap()[0];
        let mut pure = Transmitter::new(plan, outcome.start, ports::clock::TICK);
        let mut buffer = vec![0; plan.set.longest_bytes()];
        for frame in &sent.frames {
            let emitted = pure.emit(frame.at, &mut buffer);
            assert!(frame.at >= emitted.due, "{emitted:?} left early, at {:?}", frame.at);
        }
        assert_eq!(outcome.report(0), pure.report());
    });
}
