//! DPDK's l3fwd as the device: it routes between the tester's networks, what it forwards and loses is what its drivers
//! count, and nothing of it is left, however the run ends. Root only, and where `make l3fwd` has been.

#![allow(clippy::disallowed_methods, reason = "waits for the end of a process")]

use crate::common::busy::Busy;
use crate::common::forwarder::{Forwarder, lost, sum, trials};
use crate::common::{Scratch, is_root, undecided};
use serde_json::Value;
use testbed::DeviceKind;

const L3FWD: Forwarder = Forwarder { kind: DeviceKind::L3fwd, program: "dpdk-l3fwd", processes: 1 };

/// What the tester sent and l3fwd's queue took is what l3fwd received; what l3fwd sent has arrived, and what it received and
/// sent not it gave up, which nobody counts but by this difference. Valid or not.
fn l3fwd_agrees((record, result): &(Value, Value)) {
    let of = |name| sum(result, name);
    assert_eq!(of("tester_sent") - of("refused"), of("device_received"), "{}", result["balance"]);
    assert_eq!(of("device_sent"), of("tester_received"), "{}", result["balance"]);
    let given_up = of("device_received") - of("device_sent");
    assert_eq!(lost(record), of("refused") + given_up, "{record}");
    assert_eq!(record["unknown_frames"], 0, "{record}");
}

#[test]
fn throughput_is_found_and_every_loss_is_one_that_l3fwd_counts() {
    let words = &["DPDK 2", "dpdk-l3fwd -v --lcores", "R198.19.1.0/24 1", "rings of"];
    L3FWD.throughput_is_found(l3fwd_agrees, words);
}

/// Both ways, to the networks at the ports and to 256 behind each. Without a route a frame would come back to its sender.
#[test]
fn ipv4_and_ipv6_are_routed_to_every_network() {
    let Some((scratch, _turn)) = L3FWD.bed() else { return };
    for (folder, more) in [
        ("four", "--protocol udp_ipv4"),
        ("six", "--protocol udp_ipv6 --sizes 84,1518"),
        ("random", "--protocol udp_ipv4 --destinations random"),
    ] {
        let run = format!(
            "{} --test loss --bidirectional {more} --set trial.verify_checksums=true \
             --set frame_loss.step_percent=100 --duration 300ms --out {folder}",
            L3FWD.slow()
        );
        let run = if more.contains("--sizes") { run.replace("--sizes 64 ", "") } else { run };
        scratch.run(&run).expect_complete();
        for trial in trials(&scratch, folder) {
            l3fwd_agrees(&trial);
            let (record, result) = &trial;
            assert!(sum(result, "tester_received") > 0, "{folder}: nothing arrived: {record}");
            let is_whole = !result["received"].to_string().contains("\"corrupted\":1");
            assert!(is_whole, "{folder}: {result}");
        }
    }
}

#[test]
fn an_overload_loses_what_l3fwd_did_not_take_or_gave_up() {
    L3FWD.an_overload_loses_what_is_counted(l3fwd_agrees);
}

#[test]
fn the_tester_keeps_off_and_kill_9_leaves_neither_l3fwd_nor_a_socket() {
    let Some((scratch, _turn)) = L3FWD.bed() else { return };
    let (running, id) = L3FWD.started(&scratch, "");
    let pid = running.pid();
    L3FWD.keeps_off(pid, &id, |name| name == "dpdk-l3fwd");
    running.signal("KILL");
    assert_eq!(running.wait().code, None);
    L3FWD.nothing_is_left(pid);
}

/// As a run leaves it that is killed before its ports are joined; no process has this number (PID_MAX_LIMIT).
#[test]
fn a_folder_that_a_killed_run_has_left_is_cleaned_away() {
    let scratch = Scratch::new();
    if !is_root() {
        return;
    }
    let registry = std::path::Path::new(testbed::REGISTRY_DIRECTORY);
    let (record, folder) = (registry.join("4194998.0.json"), registry.join("4194998.0.l3fwd"));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(&record, "{}").unwrap();
    std::fs::write(folder.join("ipv4.rules"), "").unwrap();
    scratch.run("clean").expect(0);
    assert!(!folder.exists() && !record.exists());
}

#[test]
fn ctrl_c_ends_the_run_as_an_interrupted_one_and_l3fwd_with_it() {
    L3FWD.ends_with_an_interrupted_run();
}

#[test]
fn an_l3fwd_that_dies_is_the_error_of_the_run() {
    L3FWD.is_an_error_of_the_run_where_it_dies();
}

/// Two programs that never sleep, each on a processor of the run: what l3fwd counts and what is lost agree all the same,
/// and a loss beside others' work decides nothing.
#[test]
fn beside_two_busy_loops_every_counter_agrees() {
    let Some((scratch, _turn)) = L3FWD.bed() else { return };
    let _busy = [0, 1].map(Busy::on);
    let ran = scratch.run(&format!("{} --test loss --duration 1s --out a", L3FWD.slow()));
    assert!(matches!(ran.code, Some(0 | 3)), "{}", ran.stderr);
    let mut undecided = 0;
    for trial in trials(&scratch, "a") {
        l3fwd_agrees(&trial);
        let is_valid = trial.0["verdict"] != "invalid";
        undecided += u32::from(!is_valid);
        assert!(lost(&trial.0) == 0 || !is_valid, "others' work is no loss: {}", trial.0);
    }
    if undecided > 0 {
        undecided::tell("the tester or l3fwd was held up");
    }
}
