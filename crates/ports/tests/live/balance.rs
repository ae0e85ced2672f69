//! Where frames went, on real links: each loss has the name of the place that the kernel counts it at.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "measures how long a reading takes"
)]

use crate::bed;
use crate::bed::Bed;
use crate::bed::control::Control;
use ports::{DeviceControl, LiveOptions, LiveTester, PortType};
use testbed::{DeviceKind, Impairment, TestbedConfig};
use trial::conformance::Load;
use trial::{Balance, Fate, InvalidReason, Station, Tester, TrialResult};
use units::{Duration, FrameRate, FrameSize};
use wire::signature::Key;

/// Sends 64-byte frames at 5,000/s for 600 ms from port 0 to port 1, and waits 100 ms for them.
fn run(config: &TestbedConfig, port_type: PortType) -> TrialResult {
    let testbed: Bed = bed::build_config(config);
    let ports = bed::open(&testbed, port_type, FrameSize::MIN_ETHERNET).expect("open the ports");
    let device: Box<dyn DeviceControl> = Box::new(Control(testbed.device().expect("a device")));
    let options = LiveOptions { device: Some(device), ..LiveOptions::default() };
    let mut tester = LiveTester::new(ports, options).expect("a tester");
    let load = Load {
        paths: &bed::paths(&testbed)[..1],
        streams_each: 1,
        sizes: &[FrameSize::MIN_ETHERNET],
        rate: FrameRate::from_fps(5_000),
        duration: Duration::from_ms(600),
        key: Key::from_seed(0xba1a),
    };
    let mut trial = load.trial("balance");
    trial.waits.drain = Duration::from_ms(100);
    trial.waits.drain_max = Duration::from_ms(100);
    // Accounts close whatever the load was: a processor that was taken away is no fault of theirs.
    trial.limits.shortfall = 1.0;
    tester.run(&trial).expect("a result")
}

/// 3,000, but for what was given up while the tester was held up.
fn sent(result: &TrialResult) -> u64 {
    result.sent[0].report.sent_frames
}

fn bridge(impairment: Impairment) -> TestbedConfig {
    TestbedConfig { impairments: vec![impairment], ..TestbedConfig::of(DeviceKind::LinuxBridge) }
}

/// 84 bytes each: 2 Mbit/s are 2,976 frames/s.
fn token_bucket(rate_bps: u64, queue_frames: u32) -> Impairment {
    let (port, burst_bytes, overhead_bytes) = (1, 1_600, 24);
    Impairment::RateLimit { port, rate_bps, burst_bytes, queue_frames, overhead_bytes }
}

/// Frames of one fate by the name of their place.
fn at(balance: &Balance, fate: Fate, name: &str) -> u64 {
    let parts = balance.parts().filter(|part| part.fate == fate && part.name == name);
    parts.map(|part| part.frames).sum()
}

#[test]
fn what_a_full_queue_drops_is_lost_there() {
    for port_type in PortType::of_interfaces() {
        let result = run(&bridge(token_bucket(2_000_000, 20)), port_type);
        let balance = Balance::of(&result);
        assert!(result.lost_frames() > 500, "{port_type}: {balance:#?}");
        let there = at(&balance, Fate::Dropped, "tbf of dut1");
        assert_eq!(there, result.lost_frames(), "{port_type}: {balance:#?}");
        assert_eq!((balance.unknown(), balance.surplus()), (0, 0), "{port_type}: {balance:#?}");
        assert_eq!(balance.taken_in.in_time + there, sent(&result), "{port_type}");
        assert!(result.is_valid(), "{port_type}: {:?}", result.validity);
    }
}

/// A queue of 2,000 frames behind 297 a second: the trial ends long before it is empty.
#[test]
fn what_waits_in_a_queue_is_not_yet_out_and_not_lost() {
    let result = run(&bridge(token_bucket(200_000, 2_000)), PortType::XDP);
    let balance = Balance::of(&result);
    let waiting = at(&balance, Fate::NotYetOut, "tbf of dut1");
    assert!((1_500..=2_000).contains(&waiting), "{balance:#?}");
    // The queue goes on sending: what leaves it once counting has ended only the interfaces count.
    let after = balance.legs.last().expect("legs").unknown;
    assert!(after < 100, "{balance:#?}");
    // The device is read before the tester: a frame that leaves between the two readings is still waiting
    // for the one and arrived for the other.
    let between = balance.surplus();
    assert!(between < 100, "{balance:#?}");
    if between > 2 {
        bed::undecided::tell("the readings of device and tester lay far apart");
    }
    assert_eq!(balance.unknown(), after, "{balance:#?}");
    let dropped = at(&balance, Fate::Dropped, "tbf of dut1");
    let missing = dropped + waiting + after - between;
    assert_eq!(result.lost_frames(), missing + result.late_frames(), "{balance:#?}");
    let says = |reason: &InvalidReason| matches!(reason, InvalidReason::NotYetOut { place, frames } if place == "tbf of dut1" && *frames >= waiting);
    assert!(result.invalid_reasons().iter().any(says), "{:?}", result.validity);
}

#[test]
fn what_a_rule_drops_is_lost_by_that_rule() {
    let result = run(&bridge(Impairment::DropEvery { every: 100 }), PortType::XDP);
    let balance = Balance::of(&result);
    let lost = sent(&result) / 100;
    assert!(lost > 0 && result.lost_frames() == lost, "{balance:#?}");
    let by_rule = balance.parts().filter(|part| part.name.starts_with("rule "));
    assert_eq!(by_rule.map(|part| part.frames).sum::<u64>(), lost, "{balance:#?}");
    assert_eq!((balance.unknown(), balance.surplus()), (0, 0), "{balance:#?}");
    let legs: Vec<Station> = balance.legs.iter().map(|leg| leg.from).collect();
    assert_eq!(legs, Station::ALL[..5], "every place was read");
}

/// Time between trials is precious: a trial reads every counter twice. The least of many readings is what
/// the reading itself takes, whoever else runs on the machine.
#[test]
fn counters_are_read_in_little_time() {
    let testbed: Bed = bed::build_config(&TestbedConfig::of(DeviceKind::LinuxRouter));
    let mut device = Control(testbed.device().expect("a device"));
    let mut took: Vec<std::time::Duration> = (0..100)
        .map(|_| {
            let begun = std::time::Instant::now();
            let counts = device.counts().expect("counters");
            assert!(counts.links.len() == 2 && counts.places.len() > 3, "{counts:?}");
            begun.elapsed()
        })
        .collect();
    took.sort();
    println!("least {:?}, median {:?}, most {:?}", took[0], took[50], took[99]);
    assert!(took[0] < std::time::Duration::from_micros(1_500), "{took:?}");
}
