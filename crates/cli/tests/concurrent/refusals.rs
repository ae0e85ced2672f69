//! Runs on real devices that are refused, or end before a frame of a trial is sent: the error names what is
//! wrong and what to do, and nothing is left.
//!
//! Root only.

use crate::common;
use crate::common::lab::{Lab, PORTS};
use crate::common::{Ran, Scratch, files_with, is_root, left_by, public_copy, sh, turn};
use std::process::{Command, Stdio};

/// Real devices at a rate that any machine keeps up with.
const LIVE: &str = "--line-rate 10M --sizes 512 --skip-selftest --profile quick --seed 1";
/// One load.
const ONE_LOAD: &str = "run --device linux-router --test loss --duration 200ms \
                        --set frame_loss.step_percent=100";

#[test]
fn a_gateway_that_does_not_answer_is_named() {
    if !is_root() {
        return;
    }
    let (scratch, lab) = (Scratch::new(), Lab::new("gateway"));
    sh(&format!("ip -n {} addr flush dev d2", lab.dut()));
    let ran = lab.run(&scratch, &format!("run {PORTS} {LIVE} --out a")).expect(2);
    assert!(ran.stderr.contains("198.19.1.1") && ran.stderr.contains("eth2"), "{}", ran.stderr);
}

#[test]
fn an_interface_that_somebody_uses_is_not_loaded() {
    if !is_root() {
        return;
    }
    let (scratch, lab) = (Scratch::new(), Lab::new("used"));
    sh(&format!("ip -n {} addr add 198.18.1.2/24 dev eth1", lab.tester()));
    let ran = lab.run(&scratch, &format!("run {PORTS} {LIVE} --test throughput --out a")).expect(2);
    assert!(ran.stderr.contains("RFC 6815") && ran.stderr.contains("--yes"), "{}", ran.stderr);
    sh(&format!("ip -n {} route add default via 198.18.1.1", lab.tester()));
    let ran = lab.run(&scratch, &format!("run {PORTS} {LIVE} --yes --out a")).expect(2);
    assert!(ran.stderr.contains("default route"), "{}", ran.stderr);
}

#[test]
fn an_mtu_too_small_for_the_frames_is_named_with_its_remedy() {
    if !is_root() {
        return;
    }
    let (scratch, lab) = (Scratch::new(), Lab::new("mtu"));
    sh(&format!("ip -n {} link set eth1 mtu 1000", lab.tester()));
    let arguments = format!("run {PORTS} {LIVE} --out a").replace("--sizes 512", "--sizes 1518");
    let ran = lab.run(&scratch, &arguments).expect(2);
    assert!(ran.stderr.contains("eth1") && ran.stderr.contains("mtu 1500"), "{}", ran.stderr);
    let ran = scratch
        .run(&format!("run --device loopback --mtu 1000 {LIVE} --out a").replace("512", "1518"));
    let ran = ran.expect(2);
    assert!(ran.stderr.to_lowercase().contains("mtu"), "{}", ran.stderr);
}

/// Within a changed root nobody may enter a user namespace.
#[test]
fn an_ordinary_user_whom_the_kernel_does_not_let_is_told_what_to_do() {
    if !is_root() {
        return;
    }
    let _turn = turn::wait();
    let scratch = Scratch::new();
    let (program, root) = (public_copy(&scratch), scratch.path().join("root"));
    std::fs::create_dir(&root).unwrap();
    let run = format!("{} {ONE_LOAD} {LIVE} --out /tmp/never", program.display());
    let root = root.display();
    let elsewhere =
        format!("mount --rbind / {root} && exec chroot --userspec=65534:65534 {root} {run}");
    let ran = Command::new("unshare").args(["--mount", "sh", "-c", &elsewhere]).output().unwrap();
    let ran = common::Ran::from(ran).expect(2);
    assert!(ran.stderr.contains("user namespace") && ran.stderr.contains("root"), "{}", ran.stderr);
}

/// Whoever is named wrongly is named in the error, before a frame is sent.
#[test]
fn a_far_side_that_is_not_there_is_refused() {
    if !is_root() {
        return;
    }
    let (scratch, lab) = (Scratch::new(), Lab::new("farbad"));
    let dut = lab.dut();
    for (given, said) in [
        (format!("--far-ports d1,d7 --far-netns {dut}"), ["d7", "network namespace"]),
        ("--far-ports d1,d2 --far-netns nowhere".into(), ["nowhere", "ip netns"]),
        ("--far-ports d1,d2".into(), ["d1", "does not exist"]),
        (format!("--far-ports d2,d1 --far-netns {dut}"), ["d2,d1", "crossed"]),
        (format!("--far-ports d1 --far-netns {dut}"), ["--far-ports", "eth1,eth2"]),
        (format!("--far-netns {dut}"), ["--far-netns", "--far-ports"]),
        ("--far-ports d1,d2 --far-lag 1s".into(), ["--far-lag", "--far-snmp"]),
        (format!("--far-ports d1,d2 --far-snmp ::1 --far-netns {dut}"), ["--far-snmp", "netns"]),
    ] {
        let ran = lab.run(&scratch, &format!("run {PORTS} {given} {LIVE} --out bad")).expect(2);
        assert!(said.iter().all(|word| ran.stderr.contains(word)), "{given}: {}", ran.stderr);
        assert!(!scratch.path().join("bad").exists(), "{given}: a run began");
    }
}

/// No OSPF neighbour is found within a second.
#[test]
fn a_feed_that_is_late_is_an_error_that_tells_what_came_and_leaves_nothing() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let arguments = "run --device linux-router --feed ospf --routes-per-port 500 --feed-within 1s";
    let child = scratch.command(arguments).stderr(Stdio::piped()).spawn().expect("starts");
    let pid = child.id();
    let ran = Ran::from(child.wait_with_output().expect("its output")).expect(2);
    let what_came = "0 of 1000 routes have come into the router's table by OSPF after 1 s";
    assert!(ran.stderr.contains(what_came), "{}", ran.stderr);
    assert!(ran.stderr.contains("0 of 500 through port 1"), "{}", ran.stderr);
    assert!(ran.stderr.contains("feed_within_s"), "{}", ran.stderr);
    assert_eq!(left_by(pid), [""; 0]);
    assert_eq!(files_with(&format!("netanvil-{pid}.")), [""; 0]);
}

#[test]
fn a_feed_that_cannot_be_is_refused_before_anything_is_built() {
    let scratch = Scratch::new();
    for (arguments, why) in [
        ("--device linux-router --feed bgp", "set routes_per_port"),
        ("--device linux-bridge --feed bgp --routes-per-port 9", "used with --device linux-router"),
        ("--device linux-router --routing-updates", "--destinations random or both"),
        ("--device linux-bridge --destinations random --routing-updates", "only a router"),
        ("--device linux-router --feed ospf --routes-per-port 40000", "80000 routes by OSPF"),
        (
            "--device linux-router --feed rip --routing rip --routes-per-port 9",
            "one routing daemon",
        ),
        ("--device linux-router --feed bgp --routes-per-port 70000", "up to 65536"),
    ] {
        let ran = scratch.run(&format!("run {arguments}")).expect(2);
        assert!(ran.stderr.contains(why), "{arguments}: {}", ran.stderr);
    }
}

/// Five sizes of trials of a minute: nobody is surprised by hours.
#[test]
fn a_run_of_hours_begins_only_when_somebody_agrees() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let run = "run --device linux-bridge --profile rfc --test throughput --skip-selftest --out a";
    let child = scratch.command(run).stderr(Stdio::piped()).spawn().expect("starts");
    let pid = child.id();
    let ran = Ran::from(child.wait_with_output().expect("its output")).expect(2);
    assert!(ran.stderr.contains("this run takes about"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("--address-ageing"), "{}", ran.stderr);
    // A wait of 301 s before each of 17 trials.
    let addresses = "run rfc2889 --device linux-bridge --test address-caching --profile quick";
    let ran = scratch.run(addresses).expect(2);
    assert!(ran.stderr.contains("this run takes about 84 min"), "{}", ran.stderr);
    assert!(ran.stderr.contains("--address-ageing 10s"), "{}", ran.stderr);
    for remedy in ["--yes", "--profile minutes", "no frame was sent"] {
        assert!(ran.stderr.contains(remedy), "{remedy}: {}", ran.stderr);
    }
    assert_eq!(left_by(pid), [""; 0]);
    assert!(!scratch.path().join("a").exists(), "a run began");
    let running =
        scratch.start(&format!("{run} --yes").replace(" --out a", ""), "b", "{\"run_started");
    running.signal("INT");
    running.wait();
}

#[test]
fn where_open_vswitch_is_missing_its_package_is_named() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c"]).arg(format!(
        "mount --bind /dev/null /usr/sbin/ovs-vswitchd && {} run --device ovs-userspace --skip-selftest",
        env!("CARGO_BIN_EXE_netanvil")
    ));
    let ran: Ran = command.current_dir(scratch.path()).output().expect("unshare").into();
    let ran = ran.expect(2);
    assert!(ran.stderr.contains("apt install openvswitch-switch"), "{}", ran.stderr);
}

#[test]
fn what_a_switch_cannot_be_given_is_refused_before_it_is_built() {
    let scratch = Scratch::new();
    for (arguments, why) in [
        ("ovs-userspace --address-ageing 5s", "Open vSwitch has 15 to 3600"),
        ("ovs-userspace --address-table 5", "Open vSwitch has 10 to 1000000"),
        ("ovs-userspace --filter 25", "used with --device linux-router"),
        ("ovs-userspace --drop-every 7", "used with --device linux-router"),
        ("ovs-userspace --snooping", "used with --device linux-bridge"),
        ("linux-bridge --address-table 0", "at least 1"),
        ("linux-bridge --group-table 9", "beside snooping"),
        ("linux-bridge --snooping --group-membership 2s", "at least 3"),
        ("linux-router --address-table 9", "used with --device linux-bridge"),
    ] {
        let ran = scratch.run(&format!("run --device {arguments}")).expect(2);
        assert!(ran.stderr.contains(why), "{arguments}: {}", ran.stderr);
    }
}
