//! Resets interrupt forwarding and bring it back, with everything that was configured.

use crate::common;
use crate::common::{RawPort, can_build, udp4, udp6, wait_until};
use std::thread;
use std::time::Duration as StdDuration;
use testbed::{DeviceKind, Feed, FilterRules, Impairment, Testbed, TestbedConfig};
use units::Duration;

fn passes(testbed: &Testbed, frame: &[u8], wait: StdDuration) -> bool {
    let (from, to) = (RawPort::open(testbed, 0), RawPort::open(testbed, 1));
    // A port whose link is down refuses frames: those do not pass either.
    from.send(frame).is_ok()
        && to.receive(wait, |got| got.len() == frame.len() && got.ends_with(&frame[42..])).is_some()
}

#[test]
fn a_link_reset_interrupts_for_as_long_as_it_says() {
    if !can_build("a_link_reset_interrupts_for_as_long_as_it_says") {
        return;
    }
    let config = TestbedConfig { destination_networks: true, ..TestbedConfig::default() };
    let testbed = Testbed::build(&config).expect("build");
    let (v4, v6) = (udp4(&testbed, 0, 1, 40), udp6(&testbed, 0, 1, 40));
    assert!(passes(&testbed, &v4, StdDuration::from_secs(1)));
    let device = testbed.device().expect("a device");
    let reset = thread::spawn(move || device.link_reset(1, Duration::from_ms(600)));
    wait_until("the link to be down", || !passes(&testbed, &v4, StdDuration::from_millis(50)));
    let times = reset.join().expect("no panic").expect("reset");
    assert!(times.ended.since(times.began) >= Duration::from_ms(600), "{times:?}");
    assert!(passes(&testbed, &v4, StdDuration::from_secs(1)), "IPv4 after the reset");
    assert!(passes(&testbed, &v6, StdDuration::from_secs(1)), "IPv6 after the reset");
    let far = testbed::destination_networks(1, 2, false)[200].first_host();
    let std::net::IpAddr::V4(host) = far else { panic!("not IPv4") };
    let routed = common::udp4_to(&testbed, 0, 1, host, 40);
    assert!(passes(&testbed, &routed, StdDuration::from_secs(1)), "routes after the reset");
}

#[test]
fn a_software_reset_rebuilds_everything_in_place() {
    if !can_build("a_software_reset_rebuilds_everything_in_place") {
        return;
    }
    let impairments = vec![
        Impairment::DropEvery { every: 1000 },
        Impairment::RateLimit {
            port: 1,
            rate_bps: 100_000_000,
            burst_bytes: 10_000,
            queue_frames: 100,
            overhead_bytes: 24,
        },
    ];
    for kind in [DeviceKind::LinuxRouter, DeviceKind::LinuxBridge] {
        let config = TestbedConfig {
            filter: FilterRules::Ten,
            impairments: impairments.clone(),
            ..TestbedConfig::of(kind)
        };
        let testbed = Testbed::build(&config).expect("build");
        let device = testbed.device().expect("a device");
        let frame = udp4(&testbed, 0, 1, 40);
        assert!(passes(&testbed, &frame, StdDuration::from_secs(1)), "{kind:?}");
        let before = (device.counters().expect("counters"), testbed.ports().to_vec());
        let times = device.software_reset().expect("reset");
        assert!(times.ended > times.began);
        let after = device.counters().expect("counters");
        assert_eq!(after.rules.len(), before.0.rules.len(), "{kind:?}: the rules are back");
        assert_eq!(after.queues.len(), before.0.queues.len(), "{kind:?}: the queues are back");
        let mut netlink_sees = testbed.tester_counters().expect("the tester's ports are there");
        assert!(testbed.ports().iter().all(|p| netlink_sees.remove(&p.interface).is_some()));
        assert!(passes(&testbed, &frame, StdDuration::from_secs(1)), "{kind:?} after the reset");
    }
}

/// Programs and tables of others come back too: Open vSwitch, a querier, a routing daemon with its routes.
#[test]
fn resets_bring_back_what_programs_of_others_do() {
    if !can_build("resets_bring_back_what_programs_of_others_do") {
        return;
    }
    let switch = TestbedConfig {
        address_table: Some(50),
        address_ageing_s: Some(15),
        ..TestbedConfig::of(DeviceKind::OvsUserspace)
    };
    let bridge = TestbedConfig { snooping: true, ..TestbedConfig::of(DeviceKind::LinuxBridge) };
    let router =
        TestbedConfig { feed: Some(Feed::Bgp), routes_per_port: 10, ..TestbedConfig::default() };
    for config in [switch, bridge, router] {
        let testbed = Testbed::build(&config).expect("build");
        let device = testbed.device().expect("a device");
        let frame = udp4(&testbed, 0, 1, 40);
        let passes = |when: &str| {
            let passed = passes(&testbed, &frame, StdDuration::from_secs(2));
            assert!(passed, "{:?} {when}", config.device);
        };
        passes("as built");
        device.link_reset(1, Duration::from_ms(50)).expect("link reset");
        passes("after a link reset");
        device.software_reset().expect("software reset");
        passes("after a software reset");
        assert_eq!(device.switch_facts().is_some(), config.device == DeviceKind::OvsUserspace);
        assert_eq!(
            device.learned_routes().expect("routes"),
            if config.feed.is_some() { 20 } else { 0 }
        );
    }
}

/// While the software is down nothing passes: the reset is a real one.
#[test]
fn forwarding_stops_during_a_software_reset() {
    if !can_build("forwarding_stops_during_a_software_reset") {
        return;
    }
    let testbed = Testbed::build(&TestbedConfig::default()).expect("build");
    let device = testbed.device().expect("a device");
    let (from, to) = (RawPort::open(&testbed, 0), RawPort::open(&testbed, 1));
    let frame = udp4(&testbed, 0, 1, 40);
    let reset = thread::spawn(move || device.software_reset());
    let mut refused = 0u32;
    while !reset.is_finished() {
        refused += u32::from(from.send(&frame).is_err());
        thread::yield_now();
    }
    reset.join().expect("no panic").expect("reset");
    assert!(refused > 0, "the port of a device that restarts has no carrier for a while");
    assert!(from.send(&frame).is_ok());
    assert!(to.receive(StdDuration::from_secs(1), |f| f.ends_with(&frame[42..])).is_some());
}
