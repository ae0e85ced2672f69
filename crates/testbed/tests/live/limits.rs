//! Limits made of the kernel itself have exactly the effect they promise, by the kernel's own counters.

use crate::common;
use crate::common::{RawPort, can_build, stopwatch, udp4, udp6, wait, wait_until};
use std::time::Duration;
use testbed::{
    DeviceCounters, DeviceKind, FilterRules, Impairment, PermitPosition, Testbed, TestbedConfig,
};

/// Sends `count` frames at an easy pace and returns what the device counted.
fn send_gently(testbed: &Testbed, frame: &[u8], count: u64) -> DeviceCounters {
    let device = testbed.device().expect("a device");
    let before = device.counters().expect("counters");
    let port = RawPort::open(testbed, 0);
    for i in 0..count {
        port.send(frame).expect("send");
        // Fewer than the 256 places of the receive ring between two pauses.
        if i % 64 == 63 {
            wait(Duration::from_millis(2));
        }
    }
    wait_until("the device to take all frames", || {
        let now = device.counters().expect("counters").since(&before);
        now.interfaces["dut0"].rx_frames == count
    });
    wait(Duration::from_millis(50));
    device.counters().expect("counters").since(&before)
}

fn build(config: TestbedConfig) -> Testbed {
    let testbed = Testbed::build(&config).expect("build");
    // The router's announcements of its own multicast groups are no test frames.
    wait(Duration::from_millis(100));
    testbed
}

#[test]
fn a_plain_router_forwards_every_frame() {
    if !can_build("a_plain_router_forwards_every_frame") {
        return;
    }
    let testbed = build(TestbedConfig::default());
    let before = testbed.tester_counters().expect("counters");
    let counted = send_gently(&testbed, &udp4(&testbed, 0, 1, 18), 5000);
    assert_eq!(counted.interfaces["dut0"].rx_frames, 5000);
    assert_eq!(counted.interfaces["dut1"].tx_frames, 5000);
    assert_eq!(counted.interfaces["dut1"].tx_bytes, 5000 * 60);
    assert_eq!(counted.ip["IpForwDatagrams"], 5000);
    let tester = testbed.tester_counters().expect("counters");
    assert_eq!(tester["tester1"].since(&before["tester1"]).rx_frames, 5000);
    assert_eq!(tester["tester0"].since(&before["tester0"]).tx_dropped, 0);
}

#[test]
fn a_numgen_rule_drops_exactly_one_in_n() {
    if !can_build("a_numgen_rule_drops_exactly_one_in_n") {
        return;
    }
    for (device, every, count) in
        [(DeviceKind::LinuxRouter, 7, 1000), (DeviceKind::LinuxBridge, 10, 2000)]
    {
        let impairments = vec![Impairment::DropEvery { every }];
        let testbed = build(TestbedConfig { impairments, ..TestbedConfig::of(device) });
        let counted = send_gently(&testbed, &udp4(&testbed, 0, 1, 18), count);
        let lost = count / u64::from(every);
        assert_eq!(counted.rules[0].frames, lost, "{device:?}");
        assert_eq!(counted.interfaces["dut1"].tx_frames, count - lost, "{device:?}");
    }
}

#[test]
fn a_frame_rate_rule_lets_the_burst_and_the_rate_pass() {
    if !can_build("a_frame_rate_rule_lets_the_burst_and_the_rate_pass") {
        return;
    }
    let impairments = vec![Impairment::FrameRateLimit { frames_per_second: 100, burst_frames: 20 }];
    let testbed = build(TestbedConfig { impairments, ..TestbedConfig::default() });
    let (device, elapsed_s) = (testbed.device().expect("a device"), stopwatch());
    let counted = send_gently(&testbed, &udp4(&testbed, 0, 1, 18), 1000);
    let elapsed = elapsed_s();
    let passed = counted.interfaces["dut1"].tx_frames;
    assert_eq!(passed + counted.rules[0].frames, 1000);
    assert!(passed >= 20, "{passed} of a burst of 20");
    assert!(passed as f64 <= 21.0 + 100.0 * elapsed, "{passed} frames in {elapsed} s");
    assert!(device.rule_set().expect("rules").contains("limit rate over 100/second"));
}

/// A burst into a token bucket: what the bucket holds leaves at once, then the queue fills, the
/// rest is lost, and the queue drains at the rate.
#[test]
fn a_token_bucket_has_the_queue_and_the_rate_it_was_given() {
    if !can_build("a_token_bucket_has_the_queue_and_the_rate_it_was_given") {
        return;
    }
    // 1 Mb/s for 60 + 24 octets: 1488 frames/s. The bucket: 1514 + 24 octets, 18.3 frames.
    let impairments = vec![Impairment::RateLimit {
        port: 1,
        rate_bps: 1_000_000,
        burst_bytes: 1514,
        queue_frames: 50,
        overhead_bytes: 24,
    }];
    let testbed = build(TestbedConfig { impairments, ..TestbedConfig::default() });
    let device = testbed.device().expect("a device");
    let before = device.counters().expect("counters");
    let (port, frame) = (RawPort::open(&testbed, 0), udp4(&testbed, 0, 1, 18));
    let elapsed_s = stopwatch();
    for _ in 0..200 {
        port.send(&frame).expect("send");
    }
    wait_until("the device to take the burst", || {
        let now = device.counters().expect("counters").since(&before);
        now.interfaces["dut0"].rx_frames == 200
    });
    let drops_are_in = elapsed_s();
    wait_until("the queue to drain", || {
        device.counters().expect("counters").queues.iter().all(|q| q.waiting == 0)
    });
    let elapsed = elapsed_s();
    let counted = device.counters().expect("counters").since(&before);
    let passed = counted.interfaces["dut1"].tx_frames;
    let dropped = counted.queues.iter().find(|q| q.kind == "tbf").expect("a tbf").dropped;
    assert_eq!(passed + dropped, 200, "{counted:?}");
    assert!(passed >= 18 + 50, "bucket and queue hold 68, {passed} passed");
    assert!(
        passed as f64 <= 69.0 + 1489.0 * drops_are_in,
        "{passed} passed, burst took {drops_are_in} s"
    );
    let fewest_seconds = (passed as f64 - 19.0) / 1489.0;
    assert!(elapsed >= fewest_seconds, "{passed} frames in {elapsed} s is faster than the limit");
}

#[test]
fn filters_permit_the_test_stream_and_count_it() {
    if !can_build("filters_permit_the_test_stream_and_count_it") {
        return;
    }
    for filter in [FilterRules::One, FilterRules::Ten, FilterRules::TwentyFive] {
        for permit in [PermitPosition::Last, PermitPosition::Middle] {
            let testbed = build(TestbedConfig { filter, permit, ..TestbedConfig::default() });
            let v4 = send_gently(&testbed, &udp4(&testbed, 0, 1, 18), 100);
            assert_eq!(v4.interfaces["dut1"].tx_frames, 100, "{filter:?} {permit:?}");
            let v6 = send_gently(&testbed, &udp6(&testbed, 0, 1, 18), 100);
            assert_eq!(v6.interfaces["dut1"].tx_frames, 100, "{filter:?} {permit:?}");
            for (counted, family) in [(&v4, "ip"), (&v6, "ip6")] {
                let hits = counted.rules.iter().filter(|r| r.frames > 0);
                let hits: Vec<_> = hits.map(|r| (r.family.as_str(), r.rule.as_str())).collect();
                assert_eq!(hits, [(family, "permit input to output")]);
            }
        }
    }
}

/// The filter really denies: a source outside the test networks does not pass.
#[test]
fn filters_deny_everything_else() {
    if !can_build("filters_deny_everything_else") {
        return;
    }
    let filter = FilterRules::One;
    let testbed = build(TestbedConfig { filter, ..TestbedConfig::default() });
    let mut stray = udp4(&testbed, 0, 1, 18);
    stray[26] = 10;
    // The header checksum follows the changed octet: 198 - 10 in the upper half of its word.
    let checksum = u16::from_be_bytes([stray[24], stray[25]]);
    let (sum, carry) = checksum.overflowing_add((198 - 10) << 8);
    stray[24..26].copy_from_slice(&(sum + u16::from(carry)).to_be_bytes());
    let counted = send_gently(&testbed, &stray, 50);
    assert_eq!(counted.interfaces["dut1"].tx_frames, 0);
    let free = build(TestbedConfig::default());
    let counted = send_gently(&free, &stray, 50);
    assert_eq!(counted.interfaces["dut1"].tx_frames, 50, "without the filter it passes");
}

#[test]
fn every_destination_network_is_routed() {
    if !can_build("every_destination_network_is_routed") {
        return;
    }
    let testbed = build(TestbedConfig { destination_networks: true, ..TestbedConfig::default() });
    let device = testbed.device().expect("a device");
    let before = device.counters().expect("counters");
    let port = RawPort::open(&testbed, 0);
    for network in testbed::destination_networks(1, 2, false) {
        let std::net::IpAddr::V4(host) = network.first_host() else { panic!("not IPv4") };
        port.send(&common::udp4_to(&testbed, 0, 1, host, 18)).expect("send");
        wait(Duration::from_micros(50));
    }
    wait_until("all frames to be forwarded", || {
        let now = device.counters().expect("counters").since(&before);
        now.interfaces["dut1"].tx_frames == 256
    });
}

#[test]
fn networks_that_come_by_rip_have_no_route_before() {
    if !can_build("networks_that_come_by_rip_have_no_route_before") {
        return;
    }
    if let Some(why) = testbed::rip_shortfall() {
        println!("skipped: {why}");
        return;
    }
    let testbed = build(TestbedConfig {
        destination_networks: true,
        routing: testbed::Routing::Rip,
        networks_by_rip: true,
        ..TestbedConfig::default()
    });
    let routes = |family: &str| {
        let name = testbed.device().expect("a device").namespace().name().to_owned();
        let arguments = ["-n", &name, family, "route", "show"];
        let shown = std::process::Command::new("ip").args(arguments).output().expect("ip");
        String::from_utf8(shown.stdout).expect("text").lines().count()
    };
    // Those of the two attached networks.
    assert_eq!(routes("-4"), 2);
    let ipv6 = routes("-6");
    assert!((2..16).contains(&ipv6), "{ipv6} routes: the 512 networks of IPv6 come by RIPng");
}
