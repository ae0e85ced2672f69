//! Who gets a processor first while a run lasts, and what becomes of a device that gets none, on real
//! devices. Root only.

#![allow(clippy::disallowed_methods, reason = "waits for the middle of a run")]

use crate::common::busy::Busy;
use crate::common::{Scratch, is_root, results, sh};

/// A rate that any machine keeps up with.
const LIVE: &str =
    "--device linux-router --line-rate 2M --sizes 64 --skip-selftest --profile quick --seed 1";

const TWO_LOADS: &str = "--set frame_loss.step_percent=50";

/// A router forwards 2,976 frames/s with a thousandth of a processor. Programs that take all of them may
/// make trials invalid, and never a loss that a valid trial blames on the router.
#[test]
fn busy_processors_are_never_the_routers_loss() {
    if !is_root() {
        return;
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    for scheduling in ["normal", "own"] {
        let scratch = Scratch::new();
        let busy: Vec<Busy> = (0..cores).flat_map(|cpu| [Busy::on(cpu), Busy::on(cpu)]).collect();
        let ran = scratch
            .run(&format!("run {LIVE} {TWO_LOADS} --test loss --scheduling {scheduling} --out a"));
        drop(busy);
        assert!([Some(0), Some(3)].contains(&ran.code), "{:?}\n{}", ran.code, ran.stderr);
        let results = results(&scratch, "a");
        let trials = results["trials"].as_array().expect("trials");
        assert!(!trials.is_empty());
        for trial in trials.iter().filter(|trial| trial["verdict"] != "invalid") {
            assert_eq!(trial["lost_frames"], 0, "{scheduling}: {trial}");
        }
    }
}

/// The weight of a session, seen from within it: before, in the middle of and after a run, and after one
/// that is killed.
#[test]
fn the_session_is_raised_for_the_run_and_given_back_however_it_ends() {
    if !is_root() || !std::path::Path::new("/proc/self/autogroup").exists() {
        return;
    }
    let scratch = Scratch::new();
    let run = format!("{} run {LIVE} --test loss --quiet", env!("CARGO_BIN_EXE_netanvil"));
    let script = format!(
        "weight() {{ sed 's/.* nice //' /proc/self/autogroup; }}
         weight
         {run} --out a >/dev/null 2>&1 &
         sleep 1.5; weight
         wait $!; weight
         {run} --out b >/dev/null 2>&1 &
         sleep 1.5; weight
         kill -9 $!; sleep 0.5; weight"
    );
    let file = scratch.file("script", &script);
    let output = sh(&format!("cd {}; setsid -w sh {}", scratch.path().display(), file.display()));
    scratch.run("clean");
    assert_eq!(output.lines().collect::<Vec<_>>(), ["0", "-20", "0", "-20", "0"]);
}

#[test]
fn the_report_names_the_scheduling() {
    if !is_root() {
        return;
    }
    for (argument, words) in [
        ("", "own: "),
        ("--scheduling own", "2 device threads at SCHED_FIFO 1"),
        ("--scheduling normal", "normal: processors are shared"),
    ] {
        let scratch = Scratch::new();
        scratch.run(&format!("run {LIVE} {TWO_LOADS} --test loss {argument} --out a"));
        let results = results(&scratch, "a");
        let named = results["environment"]["scheduling"].as_str().expect("named");
        assert!(named.contains(words), "{argument}: {named}");
    }
}
