//! Foreign frames on a tester's ports at any rate: they are counted as foreign, and the counters of
//! interface and tester do not disagree because of them, though nothing ties them to a trial.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "sends foreign frames in real time, beside the tester"
)]

use crate::bed;
use crate::bed::Bed;
use kernel::PacketSocket;
use ports::PortType;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration as Span, Instant};
use trial::conformance::Load;
use trial::{InvalidReason, Tester, TrialResult};
use units::{Duration, FrameRate, FrameSize};
use wire::signature::Key;

/// Trials at each rate.
const TRIALS: u64 = 6;

/// A broadcast of an experimental protocol (IEEE 802, EtherType 0x88b5) that nobody here speaks.
fn foreign_frame() -> Vec<u8> {
    let mut frame = vec![0xff; 6];
    frame.extend([2, 0, 0, 0, 0, 0x77, 0x88, 0xb5]);
    frame.resize(60, 0);
    frame
}

/// A foreign frame that finds no room is lost, and nobody misses it.
fn send(socket: &PacketSocket, frame: &[u8]) {
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: `frame` is readable for its length across the call.
    #[allow(unsafe_code)]
    let _sent = unsafe { libc::send(fd, frame.as_ptr().cast(), frame.len(), 0) };
}

/// Sends foreign frames out of a port, hence into the other, at this rate until `stop`; as fast as one
/// thread can where there is none.
fn chatter(socket: &PacketSocket, fps: Option<u32>, stop: &AtomicBool) {
    let frame = foreign_frame();
    let begun = Instant::now();
    let mut sent = 0;
    while !stop.load(Ordering::Relaxed) {
        send(socket, &frame);
        sent += 1;
        if let Some(fps) = fps {
            let due = Span::from_secs(1) * sent / fps;
            // In small steps, so that it hears `stop`.
            while begun.elapsed() < due && !stop.load(Ordering::Relaxed) {
                std::thread::sleep((due - begun.elapsed().min(due)).min(Span::from_millis(5)));
            }
        }
    }
}

/// Trials of 200 frames while somebody else talks.
fn trials(testbed: &Bed, port_type: PortType, fps: Option<u32>) -> Vec<TrialResult> {
    let mut tester = bed::tester(testbed, port_type, FrameSize::MIN_ETHERNET);
    let socket = testbed.tester().run(|| PacketSocket::open("tester0")).expect("the namespace");
    let socket = socket.expect("a socket");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| chatter(&socket, fps, &stop));
        let paths = &bed::paths(testbed)[..1];
        let run = |number| {
            let load = Load {
                paths,
                streams_each: 1,
                sizes: &[FrameSize::MIN_ETHERNET],
                rate: FrameRate::from_fps(2_000),
                duration: Duration::from_ms(100),
                key: Key::from_seed(0x99 + number),
            };
            let mut trial = load.trial("chatter");
            trial.waits.drain = Duration::from_ms(100);
            tester.run(&trial).expect("a result")
        };
        let results = (0..TRIALS).map(run).collect();
        stop.store(true, Ordering::Relaxed);
        results
    })
}

fn no_counters_disagree(fps: Option<u32>) {
    for port_type in PortType::of_interfaces() {
        let testbed = bed::loopback(1500);
        let results = trials(&testbed, port_type, fps);
        let foreign: u64 = results.iter().map(|result| result.received[1].foreign).sum();
        assert!(foreign > 0, "{port_type} at {fps:?}: no foreign frame was met");
        for result in &results {
            let disagree =
                |reason: &&InvalidReason| matches!(reason, InvalidReason::CountersDisagree { .. });
            let found: Vec<String> =
                result.invalid_reasons().iter().filter(disagree).map(ToString::to_string).collect();
            assert!(found.is_empty(), "{port_type} at {fps:?} foreign frames/s: {found:?}");
            let arrived = result.received[1].streams[0].account.unique;
            assert_eq!(arrived + result.lost_frames(), result.offered_frames());
        }
    }
}

#[test]
fn ten_foreign_frames_a_second_invalidate_nothing() {
    no_counters_disagree(Some(10));
}

#[test]
fn a_thousand_foreign_frames_a_second_invalidate_nothing() {
    no_counters_disagree(Some(1_000));
}

#[test]
fn a_flood_of_foreign_frames_is_no_disagreement_of_counters() {
    no_counters_disagree(None);
}
