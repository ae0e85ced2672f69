//! Frames of a mix leave by their length, on every port type: what arrives at the far end fits the
//! medium at any time but for the credit, and takes as long as was intended.
#![cfg(xdp_programs)]

use crate::common::*;
use ports::xdp::XdpPort;
use ports::{AfPacketPort, AfXdpPort, CaptureWish, Interface, Port};
use trial::*;
use units::{Duration, FrameRate};
use wire::signature::{self, Form};

/// Frames without FCS: the simple IMIX.
const LENGTHS: [usize; 12] = [60, 60, 60, 60, 60, 60, 60, 566, 566, 566, 566, 1_514];
/// Of the medium, in bits a second.
const MEDIUM_BPS: u64 = 100_000_000;
const CYCLES: u64 = 250;
/// Frames that leave together bear the time of the first; by so much a stamp may be early, since
/// the frame before it kept the transmitter busy.
const STAMPS: Duration = Duration::from_us(20);

fn needs(len: usize) -> Duration {
    Duration::from_ps((len as u64 + 24) * 8 * 1_000_000_000_000 / MEDIUM_BPS)
}

fn mix() -> Trial {
    let lengths = LENGTHS.iter().enumerate();
    let frames = lengths.map(|(at, len)| frame(*len, at as u16, Some(Form::Full))).collect();
    let bits: u64 = LENGTHS.iter().map(|len| (*len as u64 + 24) * 8).sum();
    let maximum = FrameRate::new(MEDIUM_BPS * LENGTHS.len() as u64, bits);
    let segments = vec![Segment::constant(maximum, CYCLES * LENGTHS.len() as u64)];
    trial(vec![stream(1, 0, 1, frames)], vec![load(0, Schedule { segments }, &[1])])
}

fn fits_the_medium(transmitter: Box<dyn Port>) {
    let receiver = XdpPort::open(&Interface::open("vb").unwrap(), describe(1, "vb")).unwrap();
    let mut ports: [Box<dyn Port>; 2] = [transmitter, Box::new(receiver)];
    let everything = CaptureWish { streams: vec![], max_frames: 10_000 };
    ports[1].halves().receive.capture(Some(everything)).unwrap();
    let trial = mix();
    let outcome = run(&trial, &mut ports);
    let captured = ports[1].halves().receive.captured();
    assert_eq!(captured.frames.len() as u64, CYCLES * LENGTHS.len() as u64);
    let report = outcome.report(0);
    let credit = report.slips.credit;
    // The most that the medium was ever behind what was asked of it, by the frames' own stamps.
    let mut behind = Duration::ZERO;
    let mut before: Option<(u64, usize)> = None;
    for frame in &captured.frames {
        let stamp = signature::read(Form::Full, KEY, &frame.bytes).expect("signed");
        if let Some((at_ns, len)) = before {
            let gap = Duration::from_ns(stamp.transmit_ticks - at_ns);
            behind = (behind + needs(len)).saturating_sub(gap);
        }
        assert!(behind <= credit + STAMPS, "the medium was asked for {behind} too much");
        before = Some((stamp.transmit_ticks, frame.bytes.len()));
    }
    // From the first frame to the last: all cycles but the last frame, the longest.
    let all: Duration = LENGTHS.iter().map(|len| needs(*len)).sum();
    let intended = (all * CYCLES).saturating_sub(needs(1_514));
    assert_eq!(report.by_length.map(|by| by.to_last), Some(intended));
    let span = report.last_departure.unwrap().since(report.first_departure.unwrap());
    let late = report.lateness.max().unwrap();
    assert!(span + late >= intended, "{span} for {intended}: faster than the medium");
    assert!(span <= intended + report.slips.total + late, "{span} for {intended}");
}

#[test]
fn of_the_kernel() {
    with_veth_pair(|| {
        let port = XdpPort::open(&Interface::open("va").unwrap(), describe(0, "va")).unwrap();
        fits_the_medium(Box::new(port));
    });
}

#[test]
fn of_af_packet() {
    with_veth_pair(|| {
        let interface = Interface::open("va").unwrap();
        fits_the_medium(Box::new(
            AfPacketPort::open(&interface, describe(0, "va"), None, 1).unwrap(),
        ));
    });
}

#[test]
fn of_af_xdp() {
    with_veth_pair(|| {
        let interface = Interface::open("va").unwrap();
        fits_the_medium(Box::new(AfXdpPort::open(&interface, describe(0, "va"), None).unwrap()));
    });
}
