//! What goes wrong on a real bench, driven through the program: whatever happens, results already
//! taken are kept, what was built goes, and the error says what to do.
//!
//! Root only: these tests pull the ground from under running tests.

#![allow(clippy::disallowed_methods, reason = "waits for the middle of a trial")]

use crate::common;
use crate::common::lab::{Lab, PORTS};
use crate::common::{
    Running, Scratch, as_ordinary_user, figure, is_root, left_by, outcomes, sh, turn, undecided,
};
use serde_json::Value;
use std::process::Command;

/// Real devices at a rate that any machine keeps up with, in trials long enough to interfere with.
const LIVE: &str = "--line-rate 10M --sizes 512 --skip-selftest --profile quick --seed 1";

/// Its event: the first trial is saved, the second under way.
const SECOND_TRIAL: &str = "{\"trial_started\":{\"number\":2,";

fn results(scratch: &Scratch, folder: &str) -> Value {
    let path = scratch.path().join(folder).join("results.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn status(scratch: &Scratch, folder: &str) -> Value {
    results(scratch, folder)["status"].clone()
}

/// A run that must end with an error, keep what it has, and leave nothing.
#[track_caller]
fn ends_with(running: Running, scratch: &Scratch, words: &str) -> String {
    let pid = running.pid();
    let ran = running.wait().expect(2);
    assert!(ran.stderr.contains(words), "`{words}` is missing in\n{}", ran.stderr);
    assert!(ran.stderr.contains("netanvil run --resume a"), "{}", ran.stderr);
    assert_eq!(status(scratch, "a"), "stopped");
    assert_eq!(left_by(pid), [""; 0], "namespaces are left");
    ran.stderr
}

#[test]
fn an_interface_that_vanishes_mid_trial_ends_the_run_and_keeps_its_results() {
    if !is_root() {
        return;
    }
    let _turn = turn::wait();
    let scratch = Scratch::new();
    let arguments = format!("run --device loopback {LIVE} --test loss --duration 4s");
    let running = scratch.start(&arguments, "a", SECOND_TRIAL);
    std::thread::sleep(std::time::Duration::from_secs(1));
    let namespace = running.namespace("tester").expect("a namespace of the tester");
    sh(&format!("ip -n {namespace} link delete tester0"));
    ends_with(running, &scratch, "vanished");
}

#[test]
fn a_device_that_is_deleted_mid_trial_ends_the_run_and_keeps_its_results() {
    if !is_root() {
        return;
    }
    let _turn = turn::wait();
    let scratch = Scratch::new();
    let arguments = format!("run --device linux-router {LIVE} --test loss --duration 4s");
    let running = scratch.start(&arguments, "a", SECOND_TRIAL);
    std::thread::sleep(std::time::Duration::from_secs(1));
    let namespace = running.namespace("dut").expect("a namespace of the device");
    sh(&format!("ip netns delete {namespace}"));
    ends_with(running, &scratch, "vanished");
}

#[test]
fn an_interrupt_removes_the_device_and_the_run_goes_on_later() {
    if !is_root() {
        return;
    }
    let _turn = turn::wait();
    let scratch = Scratch::new();
    let arguments = format!("run --device linux-router {LIVE} --test loss --duration 1s");
    let running = scratch.start(&arguments, "a", "\"trial_finished\"");
    running.signal("INT");
    ends_with(running, &scratch, "error: interrupted");
    scratch.run("run --resume a").expect_complete();
    assert_eq!(status(&scratch, "a"), "complete");
}

#[test]
fn after_kill_9_the_remnants_are_cleaned_and_the_run_goes_on() {
    if !is_root() {
        return;
    }
    let _turn = turn::wait();
    let scratch = Scratch::new();
    let arguments = format!("run --device linux-router {LIVE} --test loss --duration 1s");
    let running = scratch.start(&arguments, "a", "\"trial_finished\"");
    // Stopped, neither ends by itself, however slow this host is.
    running.signal("STOP");
    let bystander = scratch.start(&arguments, "b", "\"trial_started\"");
    bystander.signal("STOP");
    let pid = running.pid();
    running.signal("KILL");
    assert_eq!(running.wait().code, None);
    assert_eq!(left_by(pid).len(), 2, "the killed run's namespaces are expected to be left");
    let cleaned = scratch.run("clean").expect(0).stdout;
    assert!(cleaned.contains(&format!("removed namespace netanvil-{pid}.")), "{cleaned}");
    assert_eq!(left_by(pid), [""; 0]);
    let alive = bystander.namespace("dut").expect("the living run's device");
    assert!(cleaned.contains(&format!("kept namespace {alive}")), "{cleaned}");
    bystander.signal("CONT");
    bystander.wait().expect_complete();
    scratch.run("run --resume a").expect_complete();
    assert_eq!(status(&scratch, "a"), "complete");
}

#[test]
fn a_full_disk_ends_the_run_and_loses_nothing_that_was_saved() {
    if !is_root() {
        return;
    }
    let _turn = turn::wait();
    let scratch = Scratch::new();
    let disk = scratch.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    sh(&format!("mount -t tmpfs -o size=48k netanvil-test {}", disk.display()));
    let ran = scratch.run(&format!(
        "run --device loopback {LIVE} --test loss,throughput --duration 200ms --out disk/a"
    ));
    let saved = std::fs::read_to_string(disk.join("a/events.jsonl")).unwrap_or_default();
    let roomy = scratch.path().join("roomy");
    sh(&format!("cp -r {} {}", disk.join("a").display(), roomy.display()));
    sh(&format!("umount {}", disk.display()));
    let ran = ran.expect(2);
    assert!(ran.stderr.contains("no space left"), "{}", ran.stderr);
    let trials = saved.lines().filter(|line| line.starts_with("{\"trial_finished\""));
    let trials = trials.filter(|line| serde_json::from_str::<Value>(line).is_ok()).count();
    assert!(trials > 0, "{saved}");
    // Elsewhere, with room, it goes on.
    scratch.run("run --resume roomy").expect_complete();
    assert_eq!(status(&scratch, "roomy"), "complete");
}

/// For who is not root: one load, and whatever the tester makes of it.
const ONE_LOAD: &str = "run --device linux-router --test loss --duration 200ms \
                        --set frame_loss.step_percent=100";

#[test]
fn an_ordinary_user_gets_the_same_run_by_af_packet_where_the_kernel_lets_him() {
    let _turn = turn::wait();
    let unshare = "setpriv --reuid=65534 --regid=65534 --clear-groups unshare -Urn true";
    let allowed = || Command::new("sh").args(["-c", unshare]).status().unwrap().success();
    if !is_root() || !allowed() {
        return;
    }
    let scratch = Scratch::new();
    let ran = as_ordinary_user(&scratch, &format!("{ONE_LOAD} {LIVE} --out a")).output().unwrap();
    let ran = common::Ran::from(ran);
    // 3: it says that the tester was held up, which is as good here.
    ran.expect_complete();
    assert!(ran.stderr.contains("tester0: af_packet"), "{}", ran.stderr);
    let results = results(&scratch, "a");
    assert_eq!(results["status"], "complete");
    let trial = &results["trials"][0];
    assert!(trial["forwarded_frames"].as_u64().is_some_and(|frames| frames > 0), "{trial:#}");
}

#[test]
fn a_router_between_two_interfaces_is_measured_and_they_are_given_back() {
    if !is_root() {
        return;
    }
    let (scratch, lab) = (Scratch::new(), Lab::new("router"));
    let features = || {
        sh(&format!(
            "ip netns exec {0} ethtool -k eth1; ip netns exec {0} ethtool -k eth2",
            lab.tester()
        ))
    };
    let before = features();
    assert!(before.contains("generic-receive-offload: on"), "{before}");
    let ran = lab.run(&scratch, &format!("run {PORTS} {LIVE} --test throughput --out a"));
    ran.expect_complete();
    // The link has GRO on and is merged into giants if nobody switches it off.
    let results = results(&scratch, "a");
    let found = figure(&results, "throughput");
    // "At least" what a tester that others held up could offer is true, and shows nothing here.
    let is_bound = found["relation"] == "at_least";
    if is_bound {
        undecided::tell(found["reason"].as_str().unwrap_or_default());
    }
    let is_undecided = is_bound || ran.code == Some(3);
    assert!(is_undecided || found["value"].as_f64().is_some_and(|rate| rate > 2_000.0), "{found}");
    assert!(ran.stderr.contains("eth1: "), "the port type is not named: {}", ran.stderr);
    assert_eq!(before, features(), "the interfaces are not as they were");
}

/// No cable joins a user's veth interfaces, but a pair of our own is their like.
#[test]
fn virtual_ports_are_measured_by_themselves_on_a_pair_alike() {
    if !is_root() {
        return;
    }
    let (scratch, lab) = (Scratch::new(), Lab::new("selftest"));
    let with_self_test = LIVE.replace("--skip-selftest", "");
    let arguments = format!("run {PORTS} {with_self_test} --test throughput --out a");
    lab.run(&scratch, &arguments).expect_complete();
    let results = results(&scratch, "a");
    let outcome = outcomes(&results, "throughput")[0];
    assert!(!outcome["conditions"]["tester_max"].is_null(), "no limit of the tester: {outcome}");
}

#[test]
fn two_testers_on_one_port_are_one_too_many() {
    if !is_root() {
        return;
    }
    let (scratch, lab) = (Scratch::new(), Lab::new("two"));
    let arguments = format!("run {PORTS} {LIVE} --test loss --duration 1s --out a");
    let first = scratch.start_command(lab.command(&scratch, &arguments), "a", "\"trial_started\"");
    let second = lab.run(&scratch, &format!("run {PORTS} {LIVE} --out b")).expect(2);
    assert!(second.stderr.contains("in use"), "{}", second.stderr);
    assert!(second.stderr.contains(&format!("process {}", first.pid())), "{}", second.stderr);
    assert!(!scratch.path().join("b").exists(), "an empty run is left behind");
    first.wait().expect_complete();
}

#[test]
fn a_port_that_another_program_holds_is_named() {
    if !is_root() {
        return;
    }
    let (scratch, lab) = (Scratch::new(), Lab::new("taken"));
    // A second tester of another kind on the same interface: its XDP program is in the way.
    sh(&format!(
        "ip netns exec {} ip link set dev eth1 xdpdrv obj {} sec xdp",
        lab.tester(),
        foreign_program(&scratch).display()
    ));
    let ran = lab.run(&scratch, &format!("run {PORTS} {LIVE} --port-type xdp --out a")).expect(2);
    assert!(ran.stderr.contains("eth1") && ran.stderr.contains("XDP"), "{}", ran.stderr);
    // Left to choose, the tester takes what does not need the place.
    let ran = lab.run(&scratch, &format!("run {PORTS} {LIVE} --test throughput --out b"));
    ran.expect_complete();
    assert!(ran.stderr.contains("eth1: af_packet"), "{}", ran.stderr);
}

/// An XDP program that passes everything, compiled from its two instructions.
fn foreign_program(scratch: &Scratch) -> std::path::PathBuf {
    let source = scratch.file(
        "pass.c",
        "__attribute__((section(\"xdp\"), used)) int pass(void *ctx) { return 2; }\n\
         char _license[] __attribute__((section(\"license\"), used)) = \"GPL\";\n",
    );
    let object = scratch.path().join("pass.o");
    sh(&format!("clang -O2 -g -target bpf -c {} -o {}", source.display(), object.display()));
    object
}
