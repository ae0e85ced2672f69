//! What goes wrong around a tester is said at once, clearly, and never taken for the device's.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "disturbs a running trial, and measures how soon that is noticed"
)]

use crate::bed;
use crate::bed::Bed;
use ports::{LiveOptions, LiveTester, PortType};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use traffic::template::FrameTemplate;
use trial::conformance::{Load, run_accounted};
use trial::{InvalidReason, StreamFrame, Tester, TesterError, Trial, Validity};
use units::{Duration, FrameRate, FrameSize};
use wire::ethernet::MacAddr;
use wire::signature::Key;

/// A trial from port 0 to port 1.
fn trial(testbed: &Bed, rate: u64, duration: Duration, size: FrameSize) -> Trial {
    let load = Load {
        paths: &bed::paths(testbed)[..1],
        streams_each: 1,
        sizes: &[size],
        rate: FrameRate::from_fps(rate),
        duration,
        key: Key::from_seed(0x77),
    };
    load.trial("failure")
}

/// Runs `ip` in the tester's namespace.
fn ip(testbed: &Bed, arguments: &str) {
    let namespace = testbed.tester().name();
    let arguments = ["-n", namespace].into_iter().chain(arguments.split(' '));
    let status = Command::new("ip").args(arguments).status().expect("iproute2");
    assert!(status.success());
}

/// Does something to the links half a second into a trial of a minute, and gives what the trial
/// came to.
fn disturbed(port_type: PortType, arguments: &str) -> TesterError {
    let testbed = bed::loopback(1500);
    let mut tester = bed::tester(&testbed, port_type, FrameSize::MIN_ETHERNET);
    let trial = trial(&testbed, 1_000, Duration::from_secs(60), FrameSize::MIN_ETHERNET);
    let begun = Instant::now();
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(500));
            ip(&testbed, arguments);
        });
        tester.run(&trial)
    });
    assert!(begun.elapsed().as_secs() < 5, "it took {:?} to notice", begun.elapsed());
    outcome.expect_err("the port is gone")
}

#[test]
fn a_port_that_vanishes_is_noticed_at_once() {
    for port_type in PortType::of_interfaces() {
        let error = disturbed(port_type, "link del tester0");
        assert!(matches!(error, TesterError::PortGone { .. }), "{port_type}: {error}");
        assert!(error.to_string().contains("results taken so far are kept"), "{error}");
    }
}

#[test]
fn a_port_that_goes_down_is_noticed_at_once() {
    for port_type in PortType::of_interfaces() {
        for port in ["tester0", "tester1"] {
            let error = disturbed(port_type, &format!("link set {port} down"));
            let TesterError::PortGone { port: gone, .. } = &error else {
                panic!("{port_type}: {error}")
            };
            assert_eq!(gone, port, "{port_type}: {error}");
        }
    }
}

#[test]
fn a_stop_ends_a_trial_at_once() {
    for port_type in PortType::of_interfaces() {
        let testbed = bed::loopback(1500);
        let ports = bed::open(&testbed, port_type, FrameSize::MIN_ETHERNET).expect("ports");
        let stop = Arc::new(AtomicBool::new(false));
        let options = LiveOptions { stop: stop.clone(), ..LiveOptions::default() };
        let mut tester = LiveTester::new(ports, options).expect("a tester");
        let trial = trial(&testbed, 1_000, Duration::from_secs(60), FrameSize::MIN_ETHERNET);
        let begun = Instant::now();
        let outcome = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(300));
                stop.store(true, Ordering::Relaxed);
            });
            tester.run(&trial)
        });
        assert_eq!(outcome.err(), Some(TesterError::Interrupted), "{port_type}");
        assert!(begun.elapsed().as_secs() < 3, "{port_type} took {:?}", begun.elapsed());
        stop.store(false, Ordering::Relaxed);
        let pause = tester.pause(Duration::from_ms(1));
        assert_eq!(pause, Ok(()), "{port_type}: the tester is usable again");
    }
}

#[test]
fn a_stop_while_the_device_settles_keeps_the_result() {
    let testbed = bed::loopback(1500);
    let ports = bed::open(&testbed, PortType::AF_PACKET, FrameSize::MIN_ETHERNET).expect("ports");
    let stop = Arc::new(AtomicBool::new(false));
    let options = LiveOptions { stop: stop.clone(), ..LiveOptions::default() };
    let mut tester = LiveTester::new(ports, options).expect("a tester");
    let mut trial = trial(&testbed, 1_000, Duration::from_ms(100), FrameSize::MIN_ETHERNET);
    trial.waits.settle = Duration::from_secs(60);
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_secs(3));
            stop.store(true, Ordering::Relaxed);
        });
        tester.run(&trial)
    });
    assert_eq!(outcome.expect("the result").forwarded_frames(), 100);
    assert_eq!(tester.run(&trial).err(), Some(TesterError::Interrupted));
}

/// The first frames come out at the far end, then its link goes down: what is sent from then on
/// leaves and is lost, as on a cable that was pulled, and nothing is held back for later.
#[test]
fn a_far_end_that_goes_down_loses_frames_and_holds_nothing_up() {
    for port_type in [PortType::AF_PACKET, PortType::AF_XDP] {
        let testbed = bed::loopback(1500);
        let mut ports = bed::open(&testbed, port_type, FrameSize::MIN_ETHERNET).expect("ports");
        ports.truncate(1);
        let mut tester = LiveTester::new(ports, LiveOptions::default()).expect("a tester");
        let trial = trial(&testbed, 2_000, Duration::from_secs(2), FrameSize::MIN_ETHERNET);
        let result = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(500));
                ip(&testbed, "link set tester1 down");
                std::thread::sleep(std::time::Duration::from_millis(500));
                ip(&testbed, "link set tester1 up");
            });
            tester.run(&trial).expect("a link that is down is no failure of the tester")
        });
        let report = &result.sent[0].report;
        assert_eq!((report.sent_frames, result.sent[0].dropped_by_tester), (4_000, 0));
        assert_eq!(result.counters[0].interface_sent, Some(4_000), "{port_type}");
        assert!(result.notes.iter().any(|note| note.contains("its link was down")), "{port_type}");
        // The link was down for 500 ms; what the machine takes away is far less.
        let slipped = report.slips.total;
        assert!(slipped < Duration::from_ms(100), "{port_type}: {slipped} given up");
        let lag = report.last_departure.expect("sent").since(result.started_at);
        let due = Duration::from_ms(2_030) + slipped;
        assert!(lag < due, "{port_type}: the schedule was held up: {lag}");
    }
}

#[test]
fn two_testers_on_one_port_are_refused_with_the_holders_number() {
    let testbed = bed::loopback(1500);
    let first = bed::open(&testbed, PortType::AF_PACKET, FrameSize::MIN_ETHERNET).expect("ports");
    for port_type in PortType::of_interfaces() {
        let second = bed::open(&testbed, port_type, FrameSize::MIN_ETHERNET);
        let error = second.err().expect("refused").to_string();
        let holder = format!("process {}", std::process::id());
        assert!(error.contains("in use") && error.contains(&holder), "{port_type}: {error}");
    }
    drop(first);
    bed::open(&testbed, PortType::AF_PACKET, FrameSize::MIN_ETHERNET).expect("free again");
}

#[test]
fn a_port_that_another_program_has_is_an_error_and_auto_goes_round_it() {
    let testbed = bed::loopback(1500);
    // Any XDP program will do: the kernel lets only one own an interface.
    let other = testbed.tester().run(|| {
        let interface = ports::Interface::open("tester0").expect("the interface");
        let description = bed::description(&interface);
        ports::AfXdpPort::open(&interface, description, Some(64)).expect("a port of its own")
    });
    let error = bed::open(&testbed, PortType::AF_XDP, FrameSize::MIN_ETHERNET).err();
    let error = error.expect("refused").to_string();
    assert!(error.contains("another XDP program"), "{error}");
    let ports = bed::open(&testbed, PortType::AUTO, FrameSize::MIN_ETHERNET).expect("a way round");
    let description = ports[0].describe();
    assert_eq!(description.port_type, "af_packet");
    assert!(description.reason.contains("another XDP program"), "{}", description.reason);
    drop(other);
}

/// The far end of a veth takes what an XDP program sends only if it polls: with an XDP program of
/// its own, or with GRO on.
#[test]
fn auto_goes_round_a_far_end_that_takes_no_xdp_frames() {
    let testbed = bed::loopback(1500);
    ip(&testbed, "link add near0 type veth peer name far0");
    ip(&testbed, "link set near0 up");
    ip(&testbed, "link set far0 up");
    let request = ports::PortRequest {
        id: trial::PortId(0),
        interface: "near0".into(),
        nominal_rate: units::LineRate::from_gbps(10),
        largest_frame: FrameSize::MIN_ETHERNET,
        port_type: PortType::AUTO,
        queues: 1,
    };
    let opened = || {
        let ports = testbed.tester().run(|| ports::open_ports(std::slice::from_ref(&request)));
        let ports = ports.expect("the namespace").expect("a port");
        ports[0].describe().clone()
    };
    let deaf = opened();
    assert_eq!(deaf.port_type, "af_xdp");
    assert!(deaf.reason.contains("far end polls"), "{}", deaf.reason);

    let namespace = testbed.tester().name();
    let gro_on = ["netns", "exec", namespace, "ethtool", "-K", "far0", "gro", "on"];
    assert!(Command::new("ip").args(gro_on).status().expect("iproute2").success());
    assert_eq!(opened().port_type, "xdp");
}

/// An MTU that is large enough does not help a kind of port whose frames are shorter.
#[test]
fn frames_too_long_for_a_kind_of_port_name_another_kind() {
    let testbed = bed::loopback(9000);
    let mut tester = bed::tester(&testbed, PortType::XDP, FrameSize::MAX_ETHERNET);
    let jumbos = trial(&testbed, 100, Duration::from_ms(10), FrameSize::from_bytes(8_042));
    let error = tester.run(&jumbos).expect_err("refused").to_string();
    assert!(error.contains("8042") && error.contains("--port-type af_xdp"), "{error}");
    assert!(!error.contains("ip link set"), "{error}");
}

#[test]
fn an_mtu_too_small_names_mtu_frame_size_and_remedy() {
    let testbed = bed::loopback(1500);
    let jumbo = FrameSize::from_bytes(9018);
    for port_type in PortType::of_interfaces() {
        let error = bed::open(&testbed, port_type, jumbo).err().expect("refused").to_string();
        for part in ["9018", "1500", "ip link set tester0 mtu 9000"] {
            assert!(error.contains(part), "{port_type}: {error}");
        }
    }
    // And likewise a single trial that wants more than the ports were opened for.
    let mut tester = bed::tester(&testbed, PortType::AF_PACKET, FrameSize::MAX_ETHERNET);
    let mut trial = trial(&testbed, 100, Duration::from_ms(10), jumbo);
    let error = tester.run(&trial).expect_err("refused").to_string();
    assert!(error.contains("ip link set tester0 mtu 9000"), "{error}");
    // One tag may come on top of the MTU, two may not.
    for (tags, fits) in [(&[100][..], true), (&[200, 100][..], false)] {
        let [near, far] = [0, 1].map(|port: usize| &testbed.ports()[port]);
        let [source, destination] =
            [near, far].map(|port| (MacAddr(port.mac), port.addresses.ipv4.host));
        let template = FrameTemplate::udp_ipv4(source, destination).tagged(tags);
        let size = FrameSize::from_bytes(1518 + 4 * tags.len() as u32);
        let prepared = template.prepare(size, Some((trial.key, 1))).expect("a frame");
        trial.streams[0].frames =
            vec![StreamFrame { bytes: prepared.frame(0), form: prepared.form() }];
        assert_eq!(tester.run(&trial).is_ok(), fits, "{} tags", tags.len());
    }
}

#[test]
fn frames_that_the_tester_drops_make_the_trial_invalid_and_are_no_loss_of_the_device() {
    for port_type in [PortType::AF_PACKET, PortType::AF_XDP] {
        let testbed = bed::loopback(1500);
        let ports = bed::open_with_room(&testbed, port_type, FrameSize::MAX_ETHERNET, Some(64));
        let ports = ports.expect("open the ports");
        let mut tester = LiveTester::new(ports, LiveOptions::default()).expect("a tester");
        let fast = trial(&testbed, 2_000_000, Duration::from_ms(300), FrameSize::MAX_ETHERNET);
        let result = run_accounted(&mut tester, &fast);
        assert!(result.lost_frames() > 0, "{port_type}: so little room must overflow");
        assert_eq!(result.tester_drops(), result.lost_frames(), "{port_type}: every loss is ours");
        let Validity::Invalid(reasons) = &result.validity else { panic!("{port_type}: valid") };
        let dropped =
            |reason: &InvalidReason| matches!(reason, InvalidReason::TesterDropped { .. });
        assert!(reasons.iter().any(dropped), "{port_type}: {reasons:?}");
    }
}

/// A jumbo frame takes three pieces of memory; with room for 64 each serves many times over.
#[test]
fn frames_in_several_pieces_arrive_whole_however_often_their_memory_goes_round() {
    let (testbed, jumbo) = (bed::loopback(9000), FrameSize::from_bytes(9018));
    let ports = bed::open_with_room(&testbed, PortType::AF_XDP, jumbo, Some(64));
    let options = LiveOptions::default();
    let mut tester = LiveTester::new(ports.expect("open the ports"), options).expect("a tester");
    let mut slow = trial(&testbed, 500, Duration::from_ms(1_000), jumbo);
    slow.verify_payload = true;
    let result = run_accounted(&mut tester, &slow);
    let account = &result.expected_accounts().next().expect("an account").account;
    assert_eq!(account.unique + result.tester_drops(), 500);
    assert!(account.unique > 64, "{}", account.unique);
    assert_eq!(account.unique_bytes, account.unique * 9_018);
    assert_eq!((account.wrong_length, account.corrupted), (0, 0));
}

#[test]
fn offloads_that_were_on_are_switched_off_and_nothing_is_merged() {
    let testbed = bed::loopback(1500);
    let namespace = testbed.tester().name();
    for port in ["tester0", "tester1"] {
        let arguments = ["netns", "exec", namespace, "ethtool", "-K", port];
        let all = ["gro", "on", "gso", "on", "tso", "on", "tx", "on", "rx", "on"];
        let status = Command::new("ip").args(arguments).args(all).status();
        assert!(status.expect("iproute2 and ethtool").success());
    }
    let mut tester = bed::tester(&testbed, PortType::AF_PACKET, FrameSize::MAX_ETHERNET);
    let on = testbed.tester().run(|| {
        ["tester0", "tester1"].map(|port| kernel::Ethtool::open(port).expect("ask").offloads_on())
    });
    assert_eq!(on.expect("enter the namespace"), [Vec::<String>::new(), vec![]]);
    let sent = trial(&testbed, 20_000, Duration::from_ms(200), FrameSize::MAX_ETHERNET);
    let result = run_accounted(&mut tester, &sent);
    assert_eq!(result.lost_frames(), 0);
    assert_eq!(result.expected_accounts().next().expect("a stream").account.wrong_length, 0);
}
