//! Jobs with files and programs around the run: TOML, comparison, JSON, resuming, and a gate of CI.

use super::{expect_answer, traffic_through};
use crate::common::{SLOW, Scratch, is_root, results, sh, turn};

/// A lab in a file; a flag overrides it.
#[test]
fn a_run_from_a_toml_file() {
    if !is_root() {
        return;
    }
    let (_turn, scratch) = (turn::wait(), Scratch::new());
    scratch.file(
        "lab.toml",
        "device = \"linux-bridge\"\nprofile = \"quick\"\ntest = [\"throughput\"]\nsizes = [512]\n\
         line-rate = \"20M\"\nskip-selftest = true\n",
    );
    let ran = scratch.run("run --config lab.toml --line-rate 10M --out a");
    expect_answer(&ran, "512 B  2.35 kpps  (0.010 Gb/s)  medium-limited");
    let streams = "[[stream]]\nname = \"voice\"\nweight = 3\nsize = 218\n\
                   [[stream]]\nname = \"bulk\"\nsize = 1518\n";
    scratch.file("mix.toml", streams);
    let load = "--streams mix.toml --rate 2kpps --duration 1s";
    let summary = traffic_through(&scratch, &format!("--device linux-router {load}"));
    let sent = |at: usize| summary["streams"][at]["received_frames"].as_i64();
    assert_eq!((sent(0), sent(1)), (Some(500), Some(1_500)), "bulk and voice: {summary}");
}

/// A rule that drops half of what a router had carried is a difference, and none is none.
#[test]
fn two_runs_compared() {
    if !is_root() {
        return;
    }
    let (_turn, scratch) = (turn::wait(), Scratch::new());
    let run = |more: &str, folder: &str| {
        let arguments = format!("run --device linux-router {SLOW} {more} --out {folder}");
        scratch.run(&arguments).expect_complete();
    };
    run("", "before");
    run("", "again");
    run("--frame-limit 1000 --frame-limit-burst 5", "after");
    let alike = scratch.run("compare before again").expect(0);
    let verdict = |text: &str| {
        let row = text.lines().find(|line| line.trim_start().starts_with("throughput "));
        row.and_then(|row| Some(row.split_whitespace().last()?.to_owned()))
    };
    assert_eq!(verdict(&alike.stdout).as_deref(), Some("same"), "{}", alike.stdout);
    let differ = scratch.run("compare before after").expect(1);
    assert_eq!(verdict(&differ.stdout).as_deref(), Some("different"), "{}", differ.stdout);
}

#[test]
fn json_through_jq() {
    if !is_root() {
        return;
    }
    let (_turn, scratch) = (turn::wait(), Scratch::new());
    let netanvil = env!("CARGO_BIN_EXE_netanvil");
    let shell = |line: &str| sh(&format!("cd {} && {line}", scratch.path().display()));
    let summary = "jq -r 'select(.event == \"summary\") | .received_frames'";
    let load = "--rate 1kpps --duration 1s --json --set trial.limits.shortfall=0.9";
    let received = shell(&format!("{netanvil} traffic --device linux-bridge {load} | {summary}"));
    assert_eq!(received, "1000\n");
    let figure =
        "jq -r '.outcomes[] | select(.test == \"throughput\") | .figures[0].value | floor'";
    let run = format!("{netanvil} run --device linux-bridge {SLOW} --quiet --json --out a");
    let rate = shell(&format!("{run} | {figure}"));
    assert!(rate.trim() == "2349" || results(&scratch, "a")["invalid_tests"] != 0, "{rate}");
}

/// Killed in the middle, gone on with, and resumed once more when nothing is left to do.
#[test]
fn a_run_that_was_killed_goes_on() {
    if !is_root() {
        return;
    }
    let (_turn, scratch) = (turn::wait(), Scratch::new());
    let run = format!("run --device linux-bridge {SLOW},latency --seed 3");
    let running = scratch.start(&run, "a", "{\"trial_finished\":{\"number\":2,");
    running.signal("KILL");
    running.wait();
    scratch.run("clean").expect(0);
    scratch.run("run --resume a").expect_complete();
    assert_eq!(results(&scratch, "a")["status"], "complete");
    let before = folder(&scratch);
    let ran = scratch.run("run --resume a");
    ran.expect_complete();
    assert!(ran.stderr.contains("is finished"), "{}", ran.stderr);
    assert_eq!(folder(&scratch), before, "resuming a finished run changed it");
}

/// Every file of the run, by its digest.
fn folder(scratch: &Scratch) -> String {
    sh(&format!("cd {}/a && find . -type f | sort | xargs md5sum", scratch.path().display()))
}

/// A gate of continuous integration: exit code 0 or 1, and the criterion by name.
#[test]
fn a_gate_of_ci() {
    if !is_root() {
        return;
    }
    let (_turn, scratch) = (turn::wait(), Scratch::new());
    let run = format!("run --device linux-bridge {SLOW}");
    let ran = scratch.run(&format!("{run} --accept throughput>=2000 --out a"));
    ran.expect_complete();
    let ran = scratch.run(&format!("{run} --accept throughput>=1Mpps --out b"));
    assert!(matches!(ran.code, Some(1 | 3)), "{:?}: {}", ran.code, ran.stderr);
    if ran.code == Some(1) {
        assert!(ran.stderr.contains("not accepted: throughput>=1Mpps"), "{}", ran.stderr);
    }
    let load = "traffic --device linux-bridge --rate 1kpps --duration 1s --quiet \
                --set trial.limits.shortfall=0.9";
    let gated = |criterion: &str| {
        let mut command = scratch.command(load);
        command.args(["--fail-if", criterion]).output().unwrap().status.code()
    };
    assert_eq!((gated("lost > 0"), gated("rate < 2kpps")), (Some(0), Some(1)));
}
