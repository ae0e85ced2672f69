//! Devices that were once judged wrongly, made small: each in both profiles with their default waits, all
//! four tests, MLRsearch besides.

use super::device::Device;
use super::{Tally, config, run};
use method::{SearchPolicy, TestKind};

/// 512 bytes at 5 Mb/s: 1,175 a second at most.
fn device(is_rfc: bool) -> Device {
    Device {
        seed: 0,
        is_rfc,
        has_self_test: false,
        frame_bytes: 512,
        line_bps: 5_000_000,
        propagation_ns: 0,
        service_ns: 1_000_000,
        out_line_bps: 5_000_000,
        room_frames: 16,
        delay_ns: 0,
        delay_varies_by_ns: 0,
        has_pause: false,
        tester_fps: None,
    }
}

/// What a device's four tests say, with this search.
fn tally(device: &Device, policy: SearchPolicy) -> Tally {
    use TestKind::*;
    let mut config = config(device);
    config.tests = vec![Throughput, Latency, FrameLoss, BackToBack];
    config.search.policy = policy;
    run(device, config, &mut |_| {})
}

/// No number is wrong in either profile, whoever searches.
fn no_number_is_wrong(of: impl Fn(bool) -> Device) -> [Tally; 3] {
    let quick = of(false);
    let searches = [
        (quick.clone(), config(&quick).search.policy),
        (quick, SearchPolicy::Mlrsearch),
        (of(true), config(&of(true)).search.policy),
    ];
    searches.map(|(device, policy)| {
        let tally = tally(&device, policy);
        assert!(tally.wrong.is_empty(), "{policy:?}, {device:?}: {:#?}", tally.wrong);
        tally
    })
}

/// The same, and everything is decided.
fn every_number_is_right(of: impl Fn(bool) -> Device) {
    for tally in no_number_is_wrong(of) {
        assert!(tally.undecided.is_empty(), "{:#?}", tally.undecided);
    }
}

/// Its 300 buffers carry 1,083 a second for 0.4 s and keep frames for 0.9 s after each trial.
#[test]
fn a_router_of_333_frames_a_second_and_300_buffers() {
    let of = |is_rfc| Device { service_ns: 3_003_003, room_frames: 300, ..device(is_rfc) };
    every_number_is_right(of);
}

/// Each frame comes back when a trial of 0.2 s has long ended.
#[test]
fn a_delay_of_300_ms() {
    every_number_is_right(|is_rfc| Device { delay_ns: 300_000_000, ..device(is_rfc) });
}

/// A full queue takes 63 s to leave, six times as long as the quick profile waits.
#[test]
fn a_queue_of_a_minute() {
    let of = |is_rfc| Device { service_ns: 48_895_519, room_frames: 1_286, ..device(is_rfc) };
    no_number_is_wrong(of);
}

/// A full queue takes 200 s: its frames come in a trial when more than four others have begun, so that
/// no tag tells whose they are.
#[test]
fn a_queue_of_minutes() {
    let of = |is_rfc| Device { service_ns: 100_000_000, room_frames: 2_000, ..device(is_rfc) };
    no_number_is_wrong(of);
}

/// When the usual wait of 2 s is over, no frame has come: none of them is lost.
#[test]
fn a_frame_that_takes_longer_than_the_wait() {
    let of = |is_rfc| Device { service_ns: 4_298_651_614, room_frames: 2, ..device(is_rfc) };
    no_number_is_wrong(of);
}

/// A tester slower by a twentieth than the medium, which the quick profile tolerates: loads and bursts
/// are those that it offered.
#[test]
fn a_tester_slower_than_the_medium() {
    let of = |is_rfc| Device { tester_fps: Some(1_110), ..device(is_rfc) };
    no_number_is_wrong(of);
}

/// Delays that vary by more than the queue grows in a trial hide its growth, or look like it.
#[test]
fn a_delay_that_varies() {
    for seed in 0..8 {
        let of = |is_rfc| Device { seed, delay_varies_by_ns: 2_500_000, ..device(is_rfc) };
        no_number_is_wrong(of);
        let slow = |is_rfc| Device { service_ns: 79_785_703, room_frames: 28, ..of(is_rfc) };
        no_number_is_wrong(slow);
    }
}

/// Its pauses arrive so late that it runs empty: at a load that makes it ask for them it forwards less than it can.
#[test]
fn a_device_that_its_own_pauses_leave_idle() {
    no_number_is_wrong(|is_rfc| Device {
        frame_bytes: 1024,
        line_bps: 100_000_000,
        propagation_ns: 569_348,
        service_ns: 0,
        out_line_bps: 96_896_281,
        room_frames: 13,
        has_pause: true,
        ..device(is_rfc)
    });
}
