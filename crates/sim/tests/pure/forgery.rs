//! Devices and neighbours that make frames which look like the tester's: no loss is hidden, none is
//! made up, and the counts say what came besides.

use sim::{Departing, DeviceUnderTest, Frame, Lines, SimPort, SimTester};
use std::collections::VecDeque;
use std::net::Ipv4Addr;
use trial::conformance::{Load, Path};
use trial::{InvalidReason, PortId, StreamFrame, Tester, Trial, TrialResult};
use units::{Duration, FrameRate, FrameSize, Instant, LineRate};
use wire::ethernet::MacAddr;
use wire::signature::{self, Form, Key, Stamp};

const KEY: Key = Key::from_seed(1).later(7);
const FRAMES: u64 = 596;

/// From port 0 to port 1, each frame by way of `act`, which gives what comes out.
struct Meddler<F> {
    act: F,
    frames: u64,
    passing: VecDeque<Departing>,
}

impl<F: FnMut(u64, Instant, Vec<u8>) -> Vec<Vec<u8>> + Send> DeviceUnderTest for Meddler<F> {
    fn handle_frame(&mut self, now: Instant, _port: PortId, frame: Frame) {
        let out = (self.act)(self.frames, now, frame.bytes);
        self.frames += 1;
        let departing = |bytes: Vec<u8>| Departing { port: PortId(1), frame: bytes.into() };
        self.passing.extend(out.into_iter().map(departing));
    }
    fn poll_output(&mut self, _now: Instant, _lines: &Lines<'_>) -> Option<Departing> {
        self.passing.pop_front()
    }
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
}

/// 596 frames of 64 bytes at 1,000 a second.
fn trial() -> Trial {
    let end = |n: u8| (MacAddr([2, 0, 0, 0, n, 2]), Ipv4Addr::new(198, 18, n, 2).into());
    let load = Load {
        paths: &[Path::udp(PortId(0), PortId(1), end(0), end(1))],
        streams_each: 1,
        sizes: &[FrameSize::from_bytes(64)],
        rate: FrameRate::from_fps(1_000),
        duration: Duration::from_ms(FRAMES),
        key: KEY,
    };
    load.trial("forgery")
}

fn run(
    trial: &Trial,
    act: impl FnMut(u64, Instant, Vec<u8>) -> Vec<Vec<u8>> + Send,
) -> TrialResult {
    let device = Meddler { act, frames: 0, passing: VecDeque::new() };
    let ports = [SimPort::nominal(LineRate::from_gbps(1)); 2];
    let mut tester = SimTester::new(&ports, device);
    tester.pause(Duration::from_secs(1)).unwrap();
    tester.run(trial).unwrap()
}

fn word(frame: &[u8], at: usize) -> u32 {
    u32::from(u16::from_be_bytes([frame[at], frame[at + 1]]))
}

/// The frame with its sequence number, `from_end` bytes before its end, one higher, and the check of the
/// signature that begins at `check` mended: sums and checksums stay good.
fn renumbered(mut frame: Vec<u8>, check: usize, from_end: usize) -> Vec<u8> {
    let at = frame.len() - from_end;
    let number = word(&frame, at) << 16 | word(&frame, at + 2);
    assert_ne!(number & 0xffff, 0xffff, "no carry in so few frames");
    let mended = (word(&frame, check) + 0xffff - 1) % 0xffff;
    frame[check..check + 2].copy_from_slice(&(mended as u16).to_be_bytes());
    frame[at..at + 4].copy_from_slice(&(number + 1).to_be_bytes());
    frame
}

/// Half of the frames are lost, and in the place of each comes a copy of the one before with its number.
#[test]
fn copies_with_another_number_hide_no_loss() {
    let result = run(&trial(), |n, _, frame| match n % 2 {
        0 => vec![frame.clone(), renumbered(frame, 42, 8)],
        _ => vec![],
    });
    assert_eq!((result.offered_frames(), result.lost_frames()), (596, 298));
    assert_eq!((result.received[1].forged, result.streams[0].duplicates), (298, 0));
    assert!(result.is_valid(), "counted exactly: {:?}", result.validity);
    assert!(result.notes[0].contains("298 frames bear this run's signature"), "{:?}", result.notes);
}

/// A tag of 8 bits lets some of them pass: such a trial decides nothing.
#[test]
fn forged_frames_with_narrow_tags_make_a_trial_invalid() {
    let mut trial = trial();
    // As of a frame with a VLAN tag. Its checksum is not looked at.
    trial.verify_payload = false;
    let mut bytes = trial.streams[0].frames[0].bytes.clone();
    let stamp = Stamp { stream: 1, sequence: 0, transmit_ticks: 0 };
    signature::write(Form::Short, KEY, stamp, &mut bytes);
    trial.streams[0].frames = vec![StreamFrame { bytes, form: Some(Form::Short) }];
    let honest = run(&trial, |_, _, frame| vec![frame]);
    assert!(honest.is_valid() && honest.lost_frames() == 0, "{:?}", honest.validity);
    let forging = run(&trial, |n, _, frame| match n % 2 {
        0 => vec![frame.clone(), renumbered(frame, 46, 4)],
        _ => vec![],
    });
    let (lost, forged) = (forging.lost_frames(), forging.received[1].forged);
    assert_eq!(lost, forged, "what is not found passes for a frame that was lost");
    assert!(forged > 280, "{forged} of 298 were found; one in 256 passes");
    let [InvalidReason::Forged { frames, tag_bits: 8, .. }] = forging.invalid_reasons() else {
        panic!("{:?}", forging.validity);
    };
    assert_eq!(*frames, forged);
}

/// The frame as a second tester would send it, whose clock is ahead.
fn of_another(
    key: Key,
    sequence: u64,
    now: Instant,
    ahead: Duration,
    mut frame: Vec<u8>,
) -> Vec<u8> {
    let transmit_ticks = (now + ahead).as_ps();
    signature::write(Form::Full, key, Stamp { stream: 1, sequence, transmit_ticks }, &mut frame);
    frame
}

/// A quarter of our frames is lost; a second tester's flooded frames come besides, numbered alike.
#[test]
fn another_testers_frames_change_no_count() {
    for seed in 2..40 {
        let key = Key::from_seed(seed).later(7);
        let result = run(&trial(), |n, now, frame| {
            let other = of_another(key, n, now, Duration::ZERO, frame.clone());
            if n % 4 == 3 { vec![other] } else { vec![other, frame] }
        });
        let port = &result.received[1];
        let context = format!("seed {seed}: {:?}", result.validity);
        assert_eq!((result.lost_frames(), port.foreign), (149, 596), "{context}");
        assert_eq!(
            (port.forged, port.corrupted, result.streams[0].duplicates),
            (0, 0, 0),
            "{context}"
        );
        assert!(result.is_valid(), "{context}");
        assert!(result.notes[0].contains("596 frames were not the tester's"), "{:?}", result.notes);
    }
}

/// Two testers that were given one seed have one key. Hosts were not started in the same moment: their
/// clocks tell them apart.
#[test]
fn another_tester_with_the_same_seed_is_told_by_its_clock() {
    let result = run(&trial(), |n, now, frame| {
        let other = of_another(KEY, n, now, Duration::from_secs(5_000), frame.clone());
        if n % 4 == 3 { vec![other] } else { vec![other, frame] }
    });
    let stream = &result.streams[0];
    assert_eq!((result.lost_frames(), stream.corrupted, stream.duplicates), (149, 596, 0));
}

/// Frames with a good signature that the tester never sent: of the next trial, say, of a run with this
/// key. They are not received ones, however many there are.
#[test]
fn numbers_that_were_never_sent_are_not_received() {
    let mut trial = trial();
    // What is sent is half of what could be: the schedule has room for these numbers.
    trial.loads[0].order = vec![trial.streams[0].id, trial.streams[0].id];
    let result = run(&trial, |n, now, frame| {
        let beyond = of_another(KEY, FRAMES + n, now, Duration::ZERO, frame.clone());
        vec![frame, beyond]
    });
    let stream = &result.streams[0];
    assert_eq!((stream.received, stream.lost, stream.corrupted), (596, 0, 596));
}
