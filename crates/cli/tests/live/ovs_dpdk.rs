//! Open vSwitch with DPDK as the device: what it forwards and loses is what its datapath counts, and
//! nothing of it is left, however the run ends. Root only.

#![allow(clippy::disallowed_methods, reason = "waits for the end of a process")]

use crate::common::busy::Busy;
use crate::common::forwarder::{
    Forwarder, device_agrees, device_agrees_with_loss, lost, sum, trials,
};
use crate::common::{Ran, Scratch, is_root, sh, undecided};
use std::process::Command;
use testbed::DeviceKind;

const OVS: Forwarder =
    Forwarder { kind: DeviceKind::OvsDpdk, program: "ovs-vswitchd-dpdk", processes: 2 };

#[test]
fn throughput_is_found_and_every_loss_is_one_that_the_switch_counts() {
    let words = &["Open vSwitch 3", "DPDK 2", "datapath_type=netdev", "pmd-cpu-mask", "rings of"];
    OVS.throughput_is_found(device_agrees, words);
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
        device_agrees_with_loss(&trial);
        let (record, result) = &trial;
        assert!(sum(result, "tester_received") > 0, "nothing arrived: {record}");
        let is_whole = !result["received"].to_string().contains("\"corrupted\":1");
        assert!(is_whole, "{result}");
    }
}

#[test]
fn an_overload_loses_what_the_switch_did_not_take_or_could_not_hand_over() {
    OVS.an_overload_loses_what_is_counted(device_agrees_with_loss);
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
