//! DPDK's testpmd as the device: what it forwards and loses is what it counts itself, and nothing of it is left, however
//! the run ends. Root only.

#![allow(clippy::disallowed_methods, reason = "waits for the end of a process")]

use crate::common::busy::Busy;
use crate::common::forwarder::{Forwarder, device_agrees, device_agrees_with_loss, sum, trials};
use crate::common::{Scratch, is_root, turn, undecided};
use testbed::DeviceKind;

const TESTPMD: Forwarder =
    Forwarder { kind: DeviceKind::Testpmd, program: "dpdk-testpmd", processes: 1 };

#[test]
fn throughput_is_found_and_every_loss_is_one_that_testpmd_counts() {
    let words = &["DPDK 2", "dpdk-testpmd -v --lcores", "forward mode io", "rings of"];
    TESTPMD.throughput_is_found(device_agrees, words);
}

#[test]
fn an_overload_loses_what_testpmd_did_not_take_or_could_not_hand_over() {
    TESTPMD.an_overload_loses_what_is_counted(device_agrees_with_loss);
}

/// The tester knows its frames whatever testpmd does to their addresses.
#[test]
fn frames_arrive_whole_in_each_forward_mode() {
    let Some((scratch, _turn)) = TESTPMD.bed() else { return };
    for mode in ["io", "mac", "macswap", "5tswap"] {
        let run = format!(
            "{} --test loss --bidirectional --forward-mode {mode} --set trial.verify_checksums=true \
             --set frame_loss.step_percent=100 --duration 300ms --out {mode}",
            TESTPMD.slow()
        );
        let run = run.replace("--sizes 64", "--sizes 64,1518");
        scratch.run(&run).expect_complete();
        for trial in trials(&scratch, mode) {
            device_agrees(&trial);
            let (record, result) = &trial;
            assert!(sum(result, "tester_received") > 0, "{mode}: nothing arrived: {record}");
            assert_eq!(record["lost_frames"], sum(result, "refused") + sum(result, "turned_away"));
            assert!(
                !result["received"].to_string().contains("\"corrupted\":1"),
                "{mode}: {result}"
            );
        }
    }
}

#[test]
fn after_kill_9_neither_testpmd_nor_a_socket_is_left() {
    let Some((scratch, _turn)) = TESTPMD.bed() else { return };
    let (running, _) = TESTPMD.started(&scratch, "");
    let pid = running.pid();
    running.signal("KILL");
    assert_eq!(running.wait().code, None);
    TESTPMD.nothing_is_left(pid);
}

/// As a run leaves it that is killed before its ports are joined; no process has this number (PID_MAX_LIMIT).
#[test]
fn a_folder_of_sockets_that_a_killed_run_has_left_is_cleaned_away() {
    let scratch = Scratch::new();
    if !is_root() {
        return;
    }
    let registry = std::path::Path::new(testbed::REGISTRY_DIRECTORY);
    let (record, folder) = (registry.join("4194999.0.json"), registry.join("4194999.0.testpmd"));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(&record, "{}").unwrap();
    drop(std::os::unix::net::UnixListener::bind(folder.join("0.sock")).unwrap());
    scratch.run("clean").expect(0);
    assert!(!folder.exists() && !record.exists());
}

#[test]
fn ctrl_c_ends_the_run_as_an_interrupted_one_and_testpmd_with_it() {
    TESTPMD.ends_with_an_interrupted_run();
}

#[test]
fn a_testpmd_that_dies_is_the_error_of_the_run() {
    TESTPMD.is_an_error_of_the_run_where_it_dies();
}

/// The tester has the first processor, and the first testpmd the second one.
#[test]
fn two_testpmds_are_not_compared_on_two_processors() {
    let scratch = Scratch::new();
    if !TESTPMD.can_run(&scratch)
        || std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 2)
    {
        return;
    }
    let _turn = turn::wait();
    let sides =
        ["versus", "--device", "testpmd", "--a=--forward-mode io", "--b=--forward-mode mac"];
    let mut command = scratch.command("");
    let ran = command.args(sides).args(["--sizes", "64", "--out", "a"]).output().expect("starts");
    let ran = crate::common::Ran::from(ran).expect(2);
    assert!(ran.stderr.contains("a device polls on processor"), "{}", ran.stderr);
    assert!(ran.stderr.contains("--device-cpu"), "{}", ran.stderr);
}

/// Two programs that never sleep, each on a processor of the run: what testpmd counts and what is lost agree all the
/// same, and a loss without a cause in testpmd's counters decides nothing.
#[test]
fn beside_two_busy_loops_every_counter_agrees() {
    let Some((scratch, _turn)) = TESTPMD.bed() else { return };
    let _busy = [0, 1].map(Busy::on);
    let ran = scratch.run(&format!("{} --test loss --duration 1s --out a", TESTPMD.slow()));
    assert!(matches!(ran.code, Some(0 | 3)), "{}", ran.stderr);
    let mut undecided = 0;
    for trial in trials(&scratch, "a") {
        device_agrees(&trial);
        undecided += u32::from(trial.0["verdict"] == "invalid");
        let lost = trial.0["lost_frames"].as_u64().expect("a count");
        assert!(
            lost == 0 || trial.0["verdict"] == "invalid",
            "others' work is no loss: {}",
            trial.0
        );
    }
    if undecided > 0 {
        undecided::tell("the tester or testpmd was held up");
    }
}
