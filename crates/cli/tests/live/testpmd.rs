//! DPDK's testpmd as the device: what it forwards and loses is what it counts itself, and nothing of it is left, however
//! the run ends. Root only.

#![allow(clippy::disallowed_methods, reason = "waits for the end of a process")]

use crate::common::busy::Busy;
use crate::common::{
    Running, Scratch, figure, is_root, processes_with, record, results, sh, turn, undecided,
};
use serde_json::Value;
use std::fs::File;
use std::time::Duration;

/// 14,880 frames of 64 bytes a second (RFC 2544 appendix B), which any machine forwards.
const SLOW: &str =
    "run --device testpmd --profile quick --sizes 64 --skip-selftest --seed 1 --line-rate 10M";

/// Whether there can be one: with root, a program with dpdk ports, and the package.
fn can_run(scratch: &Scratch) -> bool {
    let has_ports = !scratch.run("--version").expect(0).stdout.contains("without dpdk");
    is_root() && has_ports && testbed::testpmd_shortfall().is_none()
}

/// A place for a run of it, alone on this machine; none where there can be no testpmd, which is said.
fn bed() -> Option<(Scratch, File)> {
    let scratch = Scratch::new();
    if !can_run(&scratch) {
        eprintln!("skipped: no root, no dpdk ports, or no dpdk-testpmd");
        return None;
    }
    Some((scratch, turn::wait()))
}

/// Every trial of a run: as its record has it, and as the event had it.
fn trials(scratch: &Scratch, folder: &str) -> Vec<(Value, Value)> {
    let records = results(scratch, folder)["trials"].as_array().expect("trials").clone();
    let events = std::fs::read_to_string(scratch.path().join(folder).join("events.jsonl")).unwrap();
    let events = events.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let results = events.filter_map(|event| event.get("trial_finished")?.get("result").cloned());
    let all: Vec<(Value, Value)> = records.into_iter().zip(results).collect();
    assert!(!all.is_empty(), "no trial");
    all
}

fn sum(result: &Value, name: &str) -> u64 {
    let ports = result["balance"].as_array().expect("a balance").iter();
    ports.map(|port| port[name].as_u64().unwrap_or_else(|| panic!("{name} in {port}"))).sum()
}

/// Each frame of a trial is in testpmd's counters where it belongs: what the tester sent and testpmd's queue took is
/// what testpmd received; what it received it sent, or gave up; what it sent has arrived. Valid or not.
fn testpmd_agrees((record, result): &(Value, Value)) {
    let of = |name| sum(result, name);
    assert_eq!(of("tester_sent") - of("refused"), of("device_received"), "{}", result["balance"]);
    let sent_or_given_up = of("device_sent") + of("turned_away");
    assert_eq!(of("device_received"), sent_or_given_up, "{}", result["balance"]);
    assert_eq!(of("device_sent"), of("tester_received"), "{}", result["balance"]);
    assert_eq!(record["unknown_frames"], 0, "{record}");
}

#[test]
fn throughput_is_found_and_every_loss_is_one_that_testpmd_counts() {
    let Some((scratch, _turn)) = bed() else { return };
    let ran = scratch.run(&format!("{SLOW} --test throughput,loss --out a"));
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
        testpmd_agrees(&trial);
        let lost = trial.0["lost_frames"].as_u64().expect("a count");
        assert!(lost == 0 || trial.0["verdict"] == "invalid", "testpmd loses nothing: {}", trial.0);
    }
    // Half of the load would take all of its processor, too.
    let detail = record(&whole, "throughput").to_string();
    assert!(detail.contains("testpmd polls") && !detail.contains("capacity_low"), "{detail}");
    let environment = whole["environment"].to_string();
    for words in ["DPDK 2", "dpdk-testpmd -v --lcores", "forward mode io", "rings of"] {
        assert!(environment.contains(words), "{words} in {environment}");
    }
}

/// 14,880,952 frames a second are more than a testpmd and a tester on two processors carry.
#[test]
fn an_overload_loses_what_testpmd_did_not_take_or_could_not_hand_over() {
    let Some((scratch, _turn)) = bed() else { return };
    let run = "run --device testpmd --profile quick --sizes 64 --skip-selftest --seed 1 --test loss --line-rate 10G \
               --input-queue 1024 --duration 300ms --set frame_loss.step_percent=50 --out a";
    let ran = scratch.run(run);
    assert!(matches!(ran.code, Some(0 | 3)), "{}", ran.stderr);
    let mut lossy = 0;
    for trial in trials(&scratch, "a") {
        testpmd_agrees(&trial);
        let (record, result) = &trial;
        let lost = record["lost_frames"].as_u64().expect("a count");
        assert_eq!(lost, sum(result, "refused") + sum(result, "turned_away"), "{record}");
        lossy += u64::from(lost > 0);
    }
    if lossy == 0 {
        undecided::tell("no load was too high");
    }
}

/// The tester knows its frames whatever testpmd does to their addresses.
#[test]
fn frames_arrive_whole_in_each_forward_mode() {
    let Some((scratch, _turn)) = bed() else { return };
    for mode in ["io", "mac", "macswap", "5tswap"] {
        let run = format!(
            "{SLOW} --test loss --bidirectional --forward-mode {mode} --set trial.verify_checksums=true \
             --set frame_loss.step_percent=100 --duration 300ms --out {mode}"
        );
        let run = run.replace("--sizes 64", "--sizes 64,1518");
        scratch.run(&run).expect_complete();
        for trial in trials(&scratch, mode) {
            testpmd_agrees(&trial);
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

const BEGUN: &str = "trial_started";

/// A run whose trials nobody waits for, and the process id of its testpmd.
fn started(scratch: &Scratch) -> (Running, String) {
    let running = scratch.start(&format!("{SLOW} --test loss --duration 60s --yes"), "a", BEGUN);
    let own = format!("/{}.0.testpmd/", running.pid());
    let found = processes_with(&own);
    assert!(matches!(&found[..], [one] if one.contains("dpdk-testpmd")), "{found:?}");
    // Not the shell that looks for it.
    let id = sh(&format!("pgrep -f -- '{}'", own.replace("testpmd", "[t]estpmd")));
    std::thread::sleep(Duration::from_millis(300));
    (running, id.trim().to_owned())
}

/// Without `clean`.
fn nothing_is_left(pid: u32) {
    let own = format!("/{pid}.0.testpmd/");
    for _ in 0..500 {
        if processes_with(&own).is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(processes_with(&own), [""; 0], "testpmd outlives the run");
    let entries = std::fs::read_dir(testbed::REGISTRY_DIRECTORY).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let left: Vec<String> = names.filter(|name| name.starts_with(&format!("{pid}."))).collect();
    assert_eq!(left, [""; 0], "sockets or records");
    let sockets = std::fs::read_to_string("/proc/net/unix").expect("sockets");
    assert!(!sockets.contains(&own), "a socket is open");
}

#[test]
fn after_kill_9_neither_testpmd_nor_a_socket_is_left() {
    let Some((scratch, _turn)) = bed() else { return };
    let (running, _) = started(&scratch);
    let pid = running.pid();
    running.signal("KILL");
    assert_eq!(running.wait().code, None);
    nothing_is_left(pid);
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

/// As a terminal does it: for all of its processes.
#[test]
fn ctrl_c_ends_the_run_as_an_interrupted_one_and_testpmd_with_it() {
    let Some((scratch, _turn)) = bed() else { return };
    let (running, _) = started(&scratch);
    let pid = running.pid();
    running.signal("INT");
    let ran = running.wait().expect(2);
    assert!(
        ran.stderr.contains("interrupted") && ran.stderr.contains("--resume"),
        "{}",
        ran.stderr
    );
    nothing_is_left(pid);
}

#[test]
fn a_testpmd_that_dies_is_the_error_of_the_run() {
    let Some((scratch, _turn)) = bed() else { return };
    let (running, id) = started(&scratch);
    let pid = running.pid();
    sh(&format!("kill -SEGV {id}"));
    let ran = running.wait().expect(2);
    let said = ["the device under test has vanished", "dpdk-testpmd: ended (signal: 11"];
    assert!(said.iter().all(|words| ran.stderr.contains(words)), "{}", ran.stderr);
    assert!(ran.stderr.contains("results taken so far are kept"), "{}", ran.stderr);
    nothing_is_left(pid);
}

/// The tester has the first processor, and the first testpmd the second one.
#[test]
fn two_testpmds_are_not_compared_on_two_processors() {
    let scratch = Scratch::new();
    if !can_run(&scratch) || std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 2) {
        return;
    }
    let _turn = turn::wait();
    let sides =
        ["versus", "--device", "testpmd", "--a=--forward-mode io", "--b=--forward-mode mac"];
    let mut command = scratch.command("");
    let ran = command.args(sides).args(["--sizes", "64", "--out", "a"]).output().expect("starts");
    let ran = crate::common::Ran::from(ran).expect(2);
    assert!(ran.stderr.contains("a testpmd polls on processor"), "{}", ran.stderr);
    assert!(ran.stderr.contains("--device-cpu"), "{}", ran.stderr);
}

/// Two programs that never sleep, each on a processor of the run: what testpmd counts and what is lost agree all the
/// same, and a loss without a cause in testpmd's counters decides nothing.
#[test]
fn beside_two_busy_loops_every_counter_agrees() {
    let Some((scratch, _turn)) = bed() else { return };
    let _busy = [0, 1].map(Busy::on);
    let ran = scratch.run(&format!("{SLOW} --test loss --duration 1s --out a"));
    assert!(matches!(ran.code, Some(0 | 3)), "{}", ran.stderr);
    let mut undecided = 0;
    for trial in trials(&scratch, "a") {
        testpmd_agrees(&trial);
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
