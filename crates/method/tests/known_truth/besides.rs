//! What a device does to frames that it neither carries as they are nor loses: no result is silent about it.

use super::bed::*;
use method::{Event, Forwarding, Profile, SuiteConfig, TestKind};
use sim::{Departing, DeviceUnderTest, Frame, Lines, Patch, SimTester};
use trial::PortId;
use units::Instant;

/// A cable that rewrites each frame, and sends it `copies` times.
struct Rewrites {
    cable: Patch,
    rewrite: fn(&mut Vec<u8>),
    copies: u32,
}

impl DeviceUnderTest for Rewrites {
    fn handle_frame(&mut self, now: Instant, port: PortId, mut frame: Frame) {
        (self.rewrite)(&mut frame.bytes);
        for _ in 0..self.copies {
            self.cable.handle_frame(now, port, frame.clone());
        }
    }
    fn poll_output(&mut self, now: Instant, lines: &Lines<'_>) -> Option<Departing> {
        self.cable.poll_output(now, lines)
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.cable.poll_timeout()
    }
}

/// Warnings of a run of the throughput test over frames of 128 bytes, and the notes of its tables.
fn said(rewrite: fn(&mut Vec<u8>), copies: u32) -> (String, String) {
    let mut config = SuiteConfig::of(Profile::Quick);
    config.frame_sizes = vec![size(128)];
    config.tests = vec![TestKind::Throughput];
    config.trial.verify_checksums = true;
    let device = Rewrites { cable: Patch::default(), rewrite, copies };
    let mut events: Vec<Event> = vec![];
    let mut tester = SimTester::new(&[VIRTUAL; 2], device);
    suite(config, Forwarding::Routed).run(&mut tester, None, &mut events).unwrap();
    let warnings = events.iter().filter_map(|event| match event {
        Event::Warning(warning) if !warning.starts_with("no self-test") => Some(warning.as_str()),
        _ => None,
    });
    let notes = outcomes(&events).into_iter().flat_map(|outcome| outcome.layouts);
    let notes: Vec<String> = notes.flat_map(|layout| layout.notes).collect();
    (warnings.collect::<Vec<_>>().join("\n"), notes.join("\n"))
}

#[test]
fn frames_that_come_out_longer_are_said() {
    // An IEEE 802.1Q tag behind the addresses.
    let (warnings, _) = said(|bytes| drop(bytes.splice(12..12, [0x81, 0, 0, 7])), 1);
    assert!(warnings.contains("longer or shorter than they were sent"), "{warnings}");
    assert!(warnings.starts_with("throughput, 128"), "{warnings}");
}

#[test]
fn frames_that_come_out_twice_are_said() {
    let (warnings, _) = said(|_| {}, 2);
    assert!(warnings.contains("arrived more than once"), "{warnings}");
}

#[test]
fn padded_frames_are_no_missing_route() {
    let (warnings, notes) = said(|bytes| bytes.extend([0; 20]), 1);
    assert!(warnings.contains("without a test frame's signature at their end"), "{warnings}");
    assert!(!notes.contains("see addresses, routes and filters"), "{notes}");
    assert!(notes.contains("pads, cuts or rewrites"), "{notes}");
}

#[test]
fn of_a_device_that_only_carries_nothing_is_said() {
    assert_eq!(said(|_| {}, 1).0, "");
}
