//! Who was held up in a trial, and which links changed: on real links.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "disturbs a running trial in real time"
)]

use crate::bed;
use crate::bed::Bed;
use crate::bed::busy::Busy;
use crate::bed::control::Control;
use ports::{DeviceControl, LiveOptions, LiveTester, PortType};
use std::process::Command;
use testbed::{DeviceKind, TestbedConfig};
use trial::conformance::Load;
use trial::{Balance, DeviceAction, Fate, InvalidReason, Owner, Tester, TrialResult};
use units::{Duration, FrameRate, FrameSize};
use wire::signature::Key;

fn bridge(device_cpu: Option<usize>) -> Bed {
    bed::build_config(&TestbedConfig { device_cpu, ..TestbedConfig::of(DeviceKind::LinuxBridge) })
}

fn tester(testbed: &Bed, port_type: PortType) -> LiveTester {
    let ports = bed::open(testbed, port_type, FrameSize::MIN_ETHERNET).expect("open the ports");
    let device = Control(testbed.device().expect("a device"));
    let device: Option<Box<dyn DeviceControl>> = Some(Box::new(device));
    LiveTester::new(ports, LiveOptions { device, ..LiveOptions::default() }).expect("a tester")
}

/// Runs a trial from port 0 to port 1 while something is done to the test bed.
fn run(
    testbed: &Bed,
    port_type: PortType,
    rate: u64,
    action: Option<(Duration, DeviceAction)>,
    meanwhile: impl FnOnce() + Send,
) -> TrialResult {
    let mut tester = tester(testbed, port_type);
    let load = Load {
        paths: &bed::paths(testbed)[..1],
        streams_each: 1,
        sizes: &[FrameSize::MIN_ETHERNET],
        rate: FrameRate::from_fps(rate),
        duration: Duration::from_ms(600),
        key: Key::from_seed(0x4e1d),
    };
    let mut trial = load.trial("held up");
    trial.waits.drain = Duration::from_ms(100);
    trial.action = action;
    std::thread::scope(|scope| {
        scope.spawn(meanwhile);
        tester.run(&trial).expect("a result")
    })
}

fn flap(testbed: &Bed) {
    let device = testbed.device().expect("a device");
    let ip = |state: &str| {
        let namespace = device.namespace().name();
        let arguments = ["-n", namespace, "link", "set", "dut1", state];
        assert!(Command::new("ip").args(arguments).status().expect("iproute2").success());
    };
    // In the middle of the trial: a sixth of its frames have reached the device.
    let received = || device.links().expect("links")[0].counters.rx_frames;
    let before = received();
    while received() < before + 200 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    ip("down");
    std::thread::sleep(std::time::Duration::from_millis(50));
    ip("up");
}

#[test]
fn a_link_that_goes_down_and_up_is_not_the_devices_loss() {
    for port_type in PortType::of_interfaces() {
        let testbed = bridge(None);
        let result = run(&testbed, port_type, 2_000, None, || flap(&testbed));
        assert!(result.lost_frames() > 0, "{port_type}: nothing was lost");
        let changed = |reason: &InvalidReason| matches!(reason, InvalidReason::LinkChanged { port, .. } if port.0 == 1);
        assert!(result.invalid_reasons().iter().any(changed), "{port_type}: {:?}", result.validity);
    }
}

#[test]
fn a_link_that_is_reset_on_request_is_no_fault() {
    let testbed = bridge(None);
    let down_for = Duration::from_ms(50);
    let reset = DeviceAction::LinkReset { port: trial::PortId(1), down_for };
    let action = Some((Duration::from_ms(200), reset));
    let result = run(&testbed, PortType::XDP, 2_000, action, || ());
    assert!(result.lost_frames() > 0);
    let changes: u64 = result.pressure.links.iter().map(|link| link.changes).sum();
    assert!(changes >= 2, "both ends saw it: {:?}", result.pressure.links);
    let fault = |reason: &InvalidReason| matches!(reason, InvalidReason::LinkChanged { .. });
    assert!(!result.invalid_reasons().iter().any(fault), "{:?}", result.validity);
}

/// The kernel's counters at both ends and the tester's accounts are one balance: nothing was lost, so
/// each place has seen each frame.
#[test]
fn the_balance_of_a_trial_without_loss_has_every_frame_at_every_place() {
    for port_type in PortType::of_interfaces() {
        let testbed = bridge(None);
        let result = run(&testbed, port_type, 2_000, None, || ());
        assert_eq!(result.lost_frames(), 0, "{port_type}: {:?}", result.balance);
        let [near, far] = &result.balance[..] else { panic!("two ports: {:?}", result.balance) };
        assert_eq!((near.tester_sent, near.device_received), (1_200, 1_200), "{port_type}");
        assert_eq!((far.device_sent, far.tester_received), (1_200, 1_200), "{port_type}");
        assert_eq!((far.on_the_way(), far.turned_away), (0, 0), "{port_type}");
        let threads = result.pressure.threads.iter();
        let ran = |owner: Owner| {
            let own = threads.clone().filter(|thread| thread.owner == owner);
            own.map(|thread| thread.ran).max().unwrap_or_default()
        };
        assert!(ran(Owner::Tester) > Duration::ZERO, "{port_type}: {:?}", result.pressure);
        assert!(ran(Owner::Device) > Duration::ZERO, "{port_type}: {:?}", result.pressure);
    }
}

/// Busy programs take most of the device's processor, and its input queue runs over: that is no loss
/// of the device's own.
#[test]
fn a_device_that_is_kept_from_its_processor_loses_nothing_in_a_valid_trial() {
    let cpu = std::thread::available_parallelism().map_or(1, usize::from) - 1;
    let config = TestbedConfig {
        device_cpu: Some(cpu),
        // A millisecond without the processor is a loss.
        input_queue_frames: 64,
        ..TestbedConfig::of(DeviceKind::LinuxBridge)
    };
    let testbed = bed::build_config(&config);
    let busy: Vec<Busy> = (0..6).map(|_| Busy::on(cpu)).collect();
    std::thread::sleep(std::time::Duration::from_millis(200));
    let result = run(&testbed, PortType::XDP, 100_000, None, || ());
    drop(busy);
    let waited = result.pressure.longest_wait(Owner::Device).expect("a thread").waited;
    assert!(waited > Duration::from_ms(60), "{:?}", result.pressure);
    assert!(result.lost_frames() > 0, "six busy programs and a short queue must lose frames");
    let held_up = |reason: &InvalidReason| matches!(reason, InvalidReason::DeviceHeldUp { .. });
    assert!(result.invalid_reasons().iter().any(held_up), "{:?}", result.validity);
    // Each of them at a place that has a name: the input queue, or the port's ring before it.
    let balance = Balance::of(&result);
    assert_eq!(balance.frames(Fate::Dropped), result.lost_frames(), "{balance:#?}");
    let queue = balance.parts().find(|part| part.name == "input queue of dut0");
    assert!(queue.is_some_and(|queue| queue.frames > 0), "{balance:#?}");
    assert_eq!((balance.unknown(), balance.surplus()), (0, 0), "{balance:#?}");
}

/// Open vSwitch is stopped for 500 ms, longer than the trial waits for what is missing: frames wait in its
/// sockets, and come out when the trial is over.
#[test]
fn frames_within_a_device_that_somebody_stopped_are_not_lost() {
    if let Some(why) = testbed::ovs_shortfall() {
        println!("SKIPPED: {why}");
        return;
    }
    let testbed = bed::build_config(&TestbedConfig::of(DeviceKind::OvsUserspace));
    let device = testbed.device().expect("a device");
    let switch = device.forwarding_threads()[0].0.to_string();
    let kill = |signal: &str| {
        assert!(Command::new("kill").args([signal, &switch]).status().expect("kill").success());
    };
    let result = run(&testbed, PortType::AF_PACKET, 2_000, None, || {
        let received = || device.links().expect("links")[0].counters.rx_frames;
        let before = received();
        // The last sixth of the trial's 1,200 frames: it ends while the switch stands still.
        while received() < before + 1_000 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        kill("-STOP");
        std::thread::sleep(std::time::Duration::from_millis(500));
        kill("-CONT");
    });
    assert!(result.lost_frames() > 0, "it was waited for: {:?}", result.drained_after);
    let stopped = |reason: &InvalidReason| match reason {
        InvalidReason::DeviceStopped { stopped, .. } => *stopped > Duration::from_ms(50),
        _ => false,
    };
    assert!(result.invalid_reasons().iter().any(stopped), "{:?}", result.validity);
}
