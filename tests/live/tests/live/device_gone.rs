//! The device, or the device's end of a link, vanishes in the middle of a trial: on every port
//! type the trial ends long before its time, with an error that says so.
#![allow(clippy::disallowed_methods, reason = "the disturbance comes in the middle of a trial")]

use live::{Bed, IpVersion, can_run};
use ports::PortType;
use std::process::Command;
use testbed::DeviceKind;
use trial::conformance::Load;
use trial::{Tester, TesterError};
use units::{Duration, FrameRate, FrameSize, LineRate};
use wire::signature::Key;

/// Of a trial that nobody waits for.
const AN_HOUR: Duration = Duration::from_secs(3_600);
/// Long enough for the trial to be under way.
const BEFORE: std::time::Duration = std::time::Duration::from_millis(300);

/// Starts a trial of an hour through a router and does something to the router in the middle.
fn ends_with_port_gone(port_type: PortType, disturb: impl Fn(&Bed) + Send + Sync) {
    let bed = Bed::of(DeviceKind::LinuxRouter, FrameSize::MAX_ETHERNET);
    let mut tester = bed.live(port_type, FrameSize::MAX_ETHERNET, LineRate::from_gbps(1));
    let paths = bed.paths(IpVersion::V4);
    let load = Load {
        paths: &paths,
        streams_each: 1,
        sizes: &[FrameSize::MIN_ETHERNET],
        rate: FrameRate::from_fps(100),
        duration: AN_HOUR,
        key: Key::from_seed(7),
    };
    let trial = load.trial("disturbed");
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(BEFORE);
            disturb(&bed);
        });
        tester.run(&trial)
    });
    let error = outcome.expect_err("a trial that cannot go on");
    let gone = matches!(error, TesterError::PortGone { .. } | TesterError::DeviceGone(_));
    assert!(gone, "{port_type}: {error}");
    assert!(error.to_string().contains("results taken so far are kept"), "{error}");
    // What is left is removed all the same.
    drop(bed);
}

fn ip(arguments: &[&str]) {
    let status = Command::new("ip").args(arguments).status().expect("iproute2");
    assert!(status.success(), "ip {arguments:?}");
}

#[test]
fn the_device_is_deleted() {
    if !can_run("the_device_is_deleted") {
        return;
    }
    for port_type in PortType::of_interfaces() {
        ends_with_port_gone(port_type, |bed| {
            let device = bed.device().expect("a device");
            ip(&["netns", "delete", device.namespace().name()]);
        });
    }
}

#[test]
fn the_devices_end_of_a_link_is_deleted() {
    if !can_run("the_devices_end_of_a_link_is_deleted") {
        return;
    }
    for port_type in PortType::of_interfaces() {
        ends_with_port_gone(port_type, |bed| {
            let device = bed.device().expect("a device");
            ip(&["-n", device.namespace().name(), "link", "delete", &device.connector(1)]);
        });
    }
}
