//! The device is decoupled from the sender: it has threads and a receive queue, and drops like a device.

use crate::common::{RawPort, can_build, udp4, wait, wait_until};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use std::time::Duration;
use testbed::{DeviceCounters, DeviceThreads, Testbed, TestbedConfig};

#[test]
fn the_ports_have_threads_pinned_where_asked() {
    if !can_build("the_ports_have_threads_pinned_where_asked") {
        return;
    }
    let on_processor_0 = TestbedConfig { device_cpu: Some(0), ..TestbedConfig::default() };
    threads_are_pinned(&on_processor_0, |_| "cpumap/0/map:".into());
    let with_rings = TestbedConfig { input_queue_frames: 0, ..on_processor_0 };
    threads_are_pinned(&with_rings, |interface| format!("napi/{interface}"));
}

fn threads_are_pinned(config: &TestbedConfig, name_of: fn(&str) -> String) {
    let testbed = Testbed::build(config).expect("build");
    assert_eq!(testbed.describe().shortfalls, Vec::<String>::new());
    let threads = testbed.device().expect("a device").threads();
    assert_eq!(threads.len(), 2);
    for port in &threads {
        assert!(port.threaded, "{port:?}");
        assert_eq!(port.shortfall, None);
        assert_eq!(port.pinned_to_cpu, Some(0));
        for thread in &port.threads {
            let status = std::fs::read_to_string(format!("/proc/{thread}/status")).expect("alive");
            assert!(status.contains(&name_of(&port.interface)), "{status}");
            assert!(status.contains("Cpus_allowed_list:\t0\n"), "{status}");
        }
        assert!(!port.threads.is_empty());
    }
}

/// A processor that does not exist is said, and does not stop the build.
#[test]
fn an_impossible_processor_is_a_shortfall() {
    if !can_build("an_impossible_processor_is_a_shortfall") {
        return;
    }
    let config = TestbedConfig { device_cpu: Some(900), ..TestbedConfig::default() };
    let testbed = Testbed::build(&config).expect("build");
    let threads = testbed.device().expect("a device").threads();
    assert!(threads.iter().all(|p| p.threaded && p.pinned_to_cpu.is_none()));
    assert!(threads[0].shortfall.as_deref().is_some_and(|s| s.contains("900")), "{threads:?}");
}

/// A sender that keeps the threads from their only processor overruns the receive ring of a port
/// without an input queue, and the loss is on the counters: nothing vanishes.
#[test]
fn a_burst_beyond_the_receive_ring_is_lost_and_counted() {
    if !can_build("a_burst_beyond_the_receive_ring_is_lost_and_counted") {
        return;
    }
    let config =
        TestbedConfig { device_cpu: Some(0), input_queue_frames: 0, ..TestbedConfig::default() };
    let testbed = Testbed::build(&config).expect("build");
    let device = testbed.device().expect("a device");
    pin_this_thread_to_the_devices_processor();
    wait(Duration::from_millis(100));
    let (before, tester_before) =
        (device.counters().expect("counters"), testbed.tester_counters().expect("counters"));
    let (port, frame) = (RawPort::open(&testbed, 0), udp4(&testbed, 0, 1, 18));
    port.send_without_back_pressure();
    let count = 100_000;
    // The kernel tells the sender of each frame that found the ring full (ENOBUFS).
    let refused = (0..count).filter(|_| port.send(&frame).is_err()).count() as u64;
    let read = || {
        let now = device.counters().expect("counters").since(&before);
        let tester = testbed.tester_counters().expect("counters");
        let sender = tester["tester0"].since(&tester_before["tester0"]);
        (now.interfaces["dut0"], now.interfaces["dut1"], sender)
    };
    wait_until("every frame to be received or dropped", || {
        let (input, _, sender) = read();
        input.rx_frames + sender.tx_dropped == count
    });
    wait(Duration::from_millis(50));
    let (input, output, sender) = read();
    assert_eq!(sender.tx_dropped, refused);
    assert_eq!(sender.tx_frames + sender.tx_dropped, count);
    assert_eq!(input.rx_frames, sender.tx_frames);
    assert_eq!(output.tx_frames, input.rx_frames, "what was received was forwarded");
    assert!(sender.tx_dropped > 0, "the ring of 256 frames never ran over");
    println!("of {count} frames {} overran the receive ring", sender.tx_dropped);
}

fn pin_this_thread_to_the_devices_processor() {
    let mut processor = CpuSet::new();
    processor.set(0).expect("processor 0");
    sched_setaffinity(Pid::from_raw(0), &processor).expect("pin this thread");
}

/// The same burst into an input queue: as many frames as it holds wait for the thread, the rest is
/// dropped there, and the sender notices nothing.
#[test]
fn an_input_queue_holds_what_it_was_made_for() {
    if !can_build("an_input_queue_holds_what_it_was_made_for") {
        return;
    }
    let config =
        TestbedConfig { device_cpu: Some(0), input_queue_frames: 1000, ..TestbedConfig::default() };
    let testbed = Testbed::build(&config).expect("build");
    let device = testbed.device().expect("a device");
    pin_this_thread_to_the_devices_processor();
    wait(Duration::from_millis(100));
    let before = device.counters().expect("counters");
    let count = 100_000;
    send_burst(&testbed, count);
    let forwarded = || {
        let now = device.counters().expect("counters").since(&before);
        (now.interfaces["dut0"].rx_frames, now.interfaces["dut1"].tx_frames)
    };
    wait_until("the port to have received all", || forwarded().0 == count);
    wait(Duration::from_millis(100));
    let (_, taken) = forwarded();
    assert!((1000..count).contains(&taken), "a queue of 1000 passed {taken} of {count} on");
}

/// Any length may be asked for; one that no queue on a processor can have is before the port.
#[test]
fn a_longer_input_queue_is_before_the_port() {
    if !can_build("a_longer_input_queue_is_before_the_port") {
        return;
    }
    let frames = 20_000;
    let config = TestbedConfig {
        device_cpu: Some(0),
        input_queue_frames: frames,
        ..TestbedConfig::default()
    };
    let testbed = Testbed::build(&config).expect("build");
    let device = testbed.device().expect("a device");
    let shortfalls = testbed.describe().shortfalls;
    assert!(shortfalls[0].contains("at most 16384 frames"), "{shortfalls:?}");
    pin_this_thread_to_the_devices_processor();
    wait(Duration::from_millis(100));
    let before = device.counters().expect("counters");
    let count = 100_000;
    send_burst(&testbed, count);
    let read = || device.counters().expect("counters").since(&before);
    let queue = |now: &DeviceCounters| {
        now.queues.iter().find(|q| q.interface == "queue0").cloned().expect("an input queue")
    };
    wait_until("the queue to drain", || queue(&read()).waiting == 0);
    wait(Duration::from_millis(50));
    let now = read();
    let (taken, dropped) = (now.interfaces["dut0"].rx_frames, queue(&now).dropped);
    assert_eq!(now.interfaces["wire0"].rx_frames, count);
    assert_eq!(taken + dropped, count);
    assert_eq!(now.interfaces["dut1"].tx_frames, taken);
    assert!(taken >= u64::from(frames) + 256, "queue and ring hold {frames} and 256: {taken}");
}

fn send_burst(testbed: &Testbed, count: u64) {
    let (port, frame) = (RawPort::open(testbed, 0), udp4(testbed, 0, 1, 18));
    port.send_without_back_pressure();
    for _ in 0..count {
        port.send(&frame).expect("the sender is never refused");
    }
}

#[test]
fn inline_devices_have_no_threads() {
    if !can_build("inline_devices_have_no_threads") {
        return;
    }
    let config = TestbedConfig { threads: DeviceThreads::Inline, ..TestbedConfig::default() };
    let testbed = Testbed::build(&config).expect("build");
    assert_eq!(testbed.device().expect("a device").threads(), []);
}

/// Fields 40 and 41 of proc_pid_stat(5), counted after the name, which may hold blanks.
fn real_time_priority(thread: u32) -> (u32, u32) {
    let stat = std::fs::read_to_string(format!("/proc/{thread}/stat")).expect("alive");
    let fields: Vec<&str> = stat.rsplit_once(") ").expect("a name").1.split(' ').collect();
    (fields[37].parse().expect("a priority"), fields[38].parse().expect("a policy"))
}

/// SCHED_FIFO is policy 1 (linux/sched.h). A reset makes threads of a ring anew.
#[test]
fn the_threads_that_forward_have_the_priority_asked_for_after_a_reset_too() {
    if !can_build("the_threads_that_forward_have_the_priority_asked_for_after_a_reset_too") {
        return;
    }
    for input_queue_frames in [0, 1_000] {
        let config = TestbedConfig {
            device_cpu: Some(0),
            input_queue_frames,
            real_time_priority: Some(1),
            ..TestbedConfig::default()
        };
        let testbed = Testbed::build(&config).expect("build");
        let device = testbed.device().expect("a device");
        let check = || {
            let threads = device.forwarding_threads();
            assert_eq!(threads.len(), 2, "{threads:?}");
            for (id, name) in threads {
                assert_eq!(real_time_priority(id), (1, 1), "{name}");
            }
        };
        check();
        device.link_reset(1, units::Duration::from_ms(10)).expect("reset");
        check();
        assert_eq!(device.scheduling().as_deref(), Some("2 device threads at SCHED_FIFO 1"));
    }
    let plain = Testbed::build(&TestbedConfig::default()).expect("build");
    let device = plain.device().expect("a device");
    assert_eq!(device.scheduling(), None);
    assert!(device.forwarding_threads().iter().all(|(id, _)| real_time_priority(*id) == (0, 0)));
}
