//! Open vSwitch with DPDK as the device: what it forwards and loses is what its datapath counts, and
//! nothing of it is left, however the run ends. Root only.

#![allow(clippy::disallowed_methods, reason = "waits for the end of a process")]

use crate::common::busy::Busy;
use crate::common::forwarder::{Forwarder, device_agrees, sum, trials};
use crate::common::{Ran, Scratch, figure, is_root, record, results, sh, undecided};
use serde_json::Value;
use std::process::Command;
use testbed::DeviceKind;

const OVS: Forwarder =
    Forwarder { kind: DeviceKind::OvsDpdk, program: "ovs-vswitchd-dpdk", processes: 2 };

fn lost(record: &Value) -> u64 {
    record["lost_frames"].as_u64().expect("a count")
}

#[test]
fn throughput_is_found_and_every_loss_is_one_that_the_switch_counts() {
    let Some((scratch, _turn)) = OVS.bed() else { return };
    let ran = scratch.run(&format!("{} --test throughput,loss --out a", OVS.slow()));
    ran.expect_complete();
    let whole = results(&scratch, "a");
    if ran.code == Some(0) {
        let rate = figure(&whole, "throughput")["value"].as_f64().expect("a rate");
        // 10 Mbit/s / (8 x (64 + 20)) bits: the medium is the limit. A transmitter that others hold up offers less.
        assert!(0.0 < rate && rate < 14_881.0, "{rate}");
        if rate < 14_732.0 {
            undecided::tell(&format!("the tester offered {rate} frames/s only"));
        }
    }
    for trial in trials(&scratch, "a") {
        device_agrees(&trial);
        let is_valid = trial.0["verdict"] != "invalid";
        assert!(lost(&trial.0) == 0 || !is_valid, "the switch loses nothing: {}", trial.0);
    }
    // Half of the load would take all of its processor, too.
    let detail = record(&whole, "throughput").to_string();
    assert!(detail.contains("ovs-dpdk polls") && !detail.contains("capacity_low"), "{detail}");
    let environment = whole["environment"].to_string();
    for words in ["Open vSwitch 3", "DPDK 2", "datapath_type=netdev", "pmd-cpu-mask", "rings of"] {
        assert!(environment.contains(words), "{words} in {environment}");
    }
}

#[test]
fn frames_of_each_size_arrive_whole_both_ways() {
    let Some((scratch, _turn)) = OVS.bed() else { return };
    let run = format!(
        "{} --test loss --bidirectional --set trial.verify_checksums=true \
         --set frame_loss.step_percent=100 --duration 300ms --out a",
        OVS.slow()
    );
    let run = run.replace("--sizes 64", "--sizes 64,1518");
    scratch.run(&run).expect_complete();
    for trial in trials(&scratch, "a") {
        device_agrees(&trial);
        let (record, result) = &trial;
        assert!(sum(result, "tester_received") > 0, "nothing arrived: {record}");
        assert_eq!(lost(record), sum(result, "refused") + sum(result, "turned_away"));
        let is_whole = !result["received"].to_string().contains("\"corrupted\":1");
        assert!(is_whole, "{result}");
    }
}

/// 14,880,952 frames a second are more than a switch and a tester on two processors carry.
#[test]
fn an_overload_loses_what_the_switch_did_not_take_or_could_not_hand_over() {
    let Some((scratch, _turn)) = OVS.bed() else { return };
    let run = "run --device ovs-dpdk --profile quick --sizes 64 --skip-selftest --seed 1 --test loss --line-rate 10G \
               --input-queue 1024 --duration 300ms --set frame_loss.step_percent=50 --out a";
    let ran = scratch.run(run);
    assert!(matches!(ran.code, Some(0 | 3)), "{}", ran.stderr);
    let mut lossy = 0;
    for trial in trials(&scratch, "a") {
        device_agrees(&trial);
        let (record, result) = &trial;
        assert_eq!(lost(record), sum(result, "refused") + sum(result, "turned_away"), "{record}");
        lossy += u64::from(lost(record) > 0);
    }
    if lossy == 0 {
        undecided::tell("no load was too high");
    }
}

#[test]
fn the_tester_keeps_off_and_kill_9_leaves_neither_programs_nor_sockets_nor_interfaces() {
    let Some((scratch, _turn)) = OVS.bed() else { return };
    let (running, id) = OVS.started(&scratch, "");
    let pid = running.pid();
    OVS.keeps_off(pid, &id, |name| name.starts_with("pmd-"));
    let links = sh("ip -brief link");
    assert!(!links.contains("ovs-netdev") && !links.contains("br0"), "{links}");
    running.signal("KILL");
    assert_eq!(running.wait().code, None);
    OVS.nothing_is_left(pid);
}

/// As a run leaves it that is killed before its ports are joined; no process has this number (PID_MAX_LIMIT).
#[test]
fn a_folder_that_a_killed_run_has_left_is_cleaned_away() {
    let scratch = Scratch::new();
    if !is_root() {
        return;
    }
    let registry = std::path::Path::new(testbed::REGISTRY_DIRECTORY);
    let (record, folder) = (registry.join("4194997.0.json"), registry.join("4194997.0.ovs-dpdk"));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(&record, "{}").unwrap();
    std::fs::write(folder.join("conf.db"), "").unwrap();
    scratch.run("clean").expect(0);
    assert!(!folder.exists() && !record.exists());
}

#[test]
fn ctrl_c_ends_the_run_as_an_interrupted_one_and_the_switch_with_it() {
    OVS.ends_with_an_interrupted_run();
}

#[test]
fn a_switch_that_dies_is_the_error_of_the_run() {
    OVS.is_an_error_of_the_run_where_it_dies();
}

/// Where some file of the host is missing, to this process alone.
#[test]
fn without_the_switch_or_its_schema_the_package_is_named() {
    let scratch = Scratch::new();
    if !OVS.can_run(&scratch) {
        return;
    }
    let missing = [
        (
            "/usr/lib/openvswitch-switch-dpdk",
            "ovs-vswitchd-dpdk is not installed: `apt install openvswitch-switch-dpdk`",
        ),
        (
            "/usr/share/openvswitch",
            "vswitch.ovsschema is missing: `apt install openvswitch-switch`",
        ),
    ];
    for (file, said) in missing {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-c"]).arg(format!(
            "mkdir -p empty; mount --bind empty {file}; {} {} --test loss --out a",
            env!("CARGO_BIN_EXE_netanvil"),
            OVS.slow()
        ));
        let ran: Ran = command.current_dir(scratch.path()).output().expect("unshare").into();
        let ran = ran.expect(2);
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
    }
}

/// Two programs that never sleep, each on a processor of the run: what the switch counts and what is lost agree all the
/// same, and a loss without a cause in its counters decides nothing.
#[test]
fn beside_two_busy_loops_every_counter_agrees() {
    let Some((scratch, _turn)) = OVS.bed() else { return };
    let _busy = [0, 1].map(Busy::on);
    let ran = scratch.run(&format!("{} --test loss --duration 1s --out a", OVS.slow()));
    assert!(matches!(ran.code, Some(0 | 3)), "{}", ran.stderr);
    let mut undecided = 0;
    for trial in trials(&scratch, "a") {
        device_agrees(&trial);
        let is_valid = trial.0["verdict"] != "invalid";
        undecided += u32::from(!is_valid);
        assert!(lost(&trial.0) == 0 || !is_valid, "others' work is no loss: {}", trial.0);
    }
    if undecided > 0 {
        undecided::tell("the tester or the switch was held up");
    }
}
