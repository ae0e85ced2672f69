//! `netanvil versus` as its users run it, on simulated devices.

use crate::common::{Ran, Scratch};
use serde_json::Value;

/// The built-in router takes 10 us for a frame; this one carries 1 / 1.031 = 0.9699 as many.
fn slower(scratch: &Scratch) {
    let router = include_str!("../../../sim/devices/router.toml");
    let slower = router.replace("per-frame = \"10us\"", "per-frame = \"10.31us\"");
    assert_ne!(slower, router);
    scratch.file("slower.toml", &slower);
}

/// With the words of the last argument kept together.
fn versus(scratch: &Scratch, arguments: &str, more: &[&str]) -> Ran {
    let mut command = scratch.command(&format!("versus --quiet {arguments}"));
    command.args(more).output().expect("netanvil starts").into()
}

fn read(scratch: &Scratch, file: &str) -> String {
    std::fs::read_to_string(scratch.path().join(file)).expect(file)
}

const SIDES: &str = "--a-sim router --b-sim slower.toml --trial 50ms";

#[test]
fn the_exit_code_follows_the_criterion() {
    let scratch = Scratch::new();
    slower(&scratch);
    for (criterion, code, out) in [("rate < 0.98", 1, "a"), ("rate < 0.96", 0, "b")] {
        let arguments = format!("{SIDES} --json --out {out}");
        let ran = versus(&scratch, &arguments, &["--fail-if", criterion]).expect(code);
        let json: Value = serde_json::from_str(&ran.stdout).unwrap();
        let rate = json["result"]["ratios"][0]["interval"]["ratio"].as_f64().unwrap();
        // A frame more or less of 5,000.
        assert!((rate - 10.0 / 10.31).abs() < 0.0005, "{json}");
    }
}

#[test]
fn a_comparison_is_kept_and_rendered_again() {
    let scratch = Scratch::new();
    slower(&scratch);
    let ran =
        versus(&scratch, &format!("{SIDES} --out a"), &["--fail-if", "rate < 0.98"]).expect(1);
    let results = read(&scratch, "a/results.json");
    let page = read(&scratch, "a/report.html");
    for what in ["<svg", "slower.toml", "rate &lt; 0.98? ", "FAILED", "each block", "interleaved"] {
        assert!(page.contains(what), "{what}");
    }
    let rows = read(&scratch, "a/results.csv");
    let row = rows.lines().nth(1).expect("a row");
    assert!(row.starts_with("rate,fps,") && row.contains(",0.95,8,"), "{rows}");
    // Both sides in each block, and no block that has one alone.
    let trials = read(&scratch, "a/trials.csv");
    let of = |side: &str| trials.matches(&format!(",8,{side},rate,")).count();
    assert_eq!((of("a"), of("b")), (2, 2), "{trials}");

    std::fs::remove_file(scratch.path().join("a/results.json")).unwrap();
    let again = scratch.run("report a").expect(0);
    assert_eq!(again.stdout, ran.stdout);
    assert_eq!(read(&scratch, "a/results.json"), results);

    let taken = versus(&scratch, &format!("{SIDES} --out a"), &[]).expect(2);
    assert!(taken.stderr.contains("holds a run already"), "{}", taken.stderr);
    for other in ["run --resume a", "compare a a"] {
        let refused = scratch.run(other).expect(2);
        assert!(refused.stderr.contains("holds a comparison"), "{other}: {}", refused.stderr);
    }
}

#[test]
fn a_folder_is_made_where_none_is_named() {
    let scratch = Scratch::new();
    slower(&scratch);
    versus(&scratch, SIDES, &["--fail-if", "rate < 0.9"]).expect(0);
    let folders: Vec<String> = std::fs::read_dir(scratch.path().join("runs"))
        .expect("runs")
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(matches!(&folders[..], [name] if name.ends_with("versus-sim-router")), "{folders:?}");
}

/// What a comparison that was killed has saved is rendered, and named for what it is.
#[test]
fn a_comparison_that_was_cut_off_is_rendered_as_such() {
    let scratch = Scratch::new();
    slower(&scratch);
    versus(&scratch, &format!("{SIDES} --out a"), &["--fail-if", "rate < 0.9"]).expect(0);
    let events = read(&scratch, "a/events.jsonl");
    let (whole, last) = events.trim_end().rsplit_once('\n').unwrap();
    assert!(last.starts_with("{\"versus_finished\""), "{last}");
    scratch.file("a/events.jsonl", &format!("{whole}\n{}", &last[..last.len() / 2]));
    let ran = scratch.run("report a").expect(0);
    assert!(
        ran.stdout.contains("CUT OFF") && ran.stdout.contains("unfinished line"),
        "{}",
        ran.stdout
    );
    assert!(read(&scratch, "a/report.html").contains("Cut off"));
}

#[test]
fn what_is_asked_for_in_vain_is_refused() {
    let scratch = Scratch::new();
    let refused = |arguments: &str, more: &[&str], what: &str| {
        let ran = versus(&scratch, arguments, more).expect(2);
        assert!(ran.stderr.contains(what), "{}", ran.stderr);
        assert!(!scratch.path().join("runs").exists(), "{arguments} leaves a folder");
    };
    refused("--sim router", &["--accept", "throughput>=1"], "accept");
    refused("--sim router", &["--fail-if", "speed < 1"], "latency_p50");
    refused("--sim router --sizes 64,128", &[], "one frame size");
    refused("--sim router --b-do true", &[], "runs no commands");
    refused("--sim router --time 1s", &[], "eight blocks");
    refused("--sim router", &["--b", "--out here"], "whole comparison");
    refused("--sim router", &["--fail-if", "cost > 1.03"], "no threads");
    refused("--sim router --resume a", &[], "--resume");
}

/// What another version of the program saved is refused as a whole: read as this version's, some of it would be
/// missing and the rest might mean something else.
#[test]
fn a_comparison_of_another_version_is_refused_with_the_remedy() {
    let scratch = Scratch::new();
    slower(&scratch);
    versus(&scratch, &format!("{SIDES} --out a"), &["--fail-if", "rate < 0.9"]).expect(0);
    let events = read(&scratch, "a/events.jsonl");
    let (first, rest) = events.split_once('\n').expect("lines");
    let mut started: Value = serde_json::from_str(first).expect("an event");
    let format = started["versus_started"]["format"].as_u64().expect("a version");
    started["versus_started"]["format"] = Value::from(format + 1);
    started["versus_started"]["program"] = Value::from("netanvil 9.9.9");
    scratch.file("a/events.jsonl", &format!("{started}\n{rest}"));
    let results = read(&scratch, "a/results.json");
    let refused = scratch.run("report a").expect(2);
    for what in
        ["saved by netanvil 9.9.9", &format!("form {}", format + 1), "read it with the build of"]
    {
        assert!(refused.stderr.contains(what), "{what}: {}", refused.stderr);
    }
    assert_eq!(read(&scratch, "a/results.json"), results, "nothing is written");

    // Folders that were saved before there was a version have the first.
    started["versus_started"].as_object_mut().expect("an object").remove("format");
    scratch.file("a/events.jsonl", &format!("{started}\n{rest}"));
    scratch.run("report a").expect(0);
}
