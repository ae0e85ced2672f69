//! `netanvil versus` on devices built here: commands and sysctls that switch a device, what becomes of
//! those that fail, and what a killed comparison leaves. Root only.

use crate::common::busy::Busy;
use crate::common::{Ran, Scratch, is_root, left_by, sh, turn, undecided};
use serde_json::Value;

/// A rate that any machine keeps up with: 7,440 frames a second at most.
const LIVE: &str =
    "versus --device linux-router --line-rate 5M --trial 100ms --quiet --seed 1 --out a";

fn versus(scratch: &Scratch, more: &[&str]) -> Ran {
    scratch.command(LIVE).args(more).output().expect("netanvil starts").into()
}

/// A command that limits the device to so many kilobits a second, in frames of 64 bytes less the FCS, and to
/// nothing else. A bucket with its queue carries on whatever the machine does meanwhile.
fn limit(kbps: u32) -> String {
    format!("tc qdisc replace dev dut1 root tbf rate {kbps}kbit burst 2kb limit 5kb")
}

/// 1,920 of 2,400 kb/s is 0.8.
#[test]
fn commands_switch_the_device_in_its_namespace() {
    if !is_root() {
        return;
    }
    let _turn = turn::wait();
    let scratch = Scratch::new();
    let (a, b) = (limit(2_400), limit(1_920));
    let ran = versus(&scratch, &["--a-do", &a, "--b-do", &b, "--json", "--fail-if", "rate < 0.9"]);
    let json: Value = serde_json::from_str(&ran.expect(1).stdout).unwrap();
    assert_eq!(json["started"]["is_shared"], true);
    let ratio = json["result"]["ratios"][0]["interval"]["ratio"].as_f64().unwrap();
    assert!((0.78..0.82).contains(&ratio), "{}", json["result"]["ratios"][0]);
    let here = sh("tc qdisc show");
    assert!(!here.contains("tbf"), "the device is in a namespace of its own: {here}");
}

/// Behind a token bucket the device sleeps between frames, and takes its processor from the busy program each time.
/// That holds it up for no longer than a frame takes, so trials with loss decide.
#[test]
fn a_bucket_is_told_from_a_smaller_one_beside_busy_programs() {
    if !is_root() {
        return;
    }
    let _turn = turn::wait();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let busy: Vec<Busy> = (0..cores).map(Busy::on).collect();
    let scratch = Scratch::new();
    let sides = "versus --device linux-router --sizes 512 --quiet --seed 1 --out a --json";
    let with = ["--a", "--tbf-rate 100M", "--b", "--tbf-rate 97M", "--fail-if", "rate < 0.985"];
    let ran = Ran::from(scratch.command(sides).args(with).output().expect("netanvil starts"));
    drop(busy);
    if ran.code == Some(3) {
        // Where waking a processor takes longer than is excused, nothing may be decided: that is said, and counted.
        let why = "the device waited for a processor";
        let json: Value = serde_json::from_str(&ran.stdout).unwrap();
        let reasons = json["result"]["invalid_reasons"].as_object().expect("reasons");
        assert!(reasons.len() == 1 && reasons.contains_key(why), "{}", ran.stdout);
        return undecided::tell(why);
    }
    let json: Value = serde_json::from_str(&ran.expect(1).stdout).unwrap();
    let ratio = json["result"]["ratios"][0]["interval"]["ratio"].as_f64().unwrap();
    assert!((0.965..0.975).contains(&ratio), "{}", json["result"]["ratios"][0]);
}

/// One side's sysctl keeps the device from forwarding; the other has the value from before.
#[test]
fn sysctls_switch_the_device() {
    if !is_root() {
        return;
    }
    let _turn = turn::wait();
    let scratch = Scratch::new();
    let ran = versus(&scratch, &["--b", "sysctl:net.ipv4.ip_forward=0", "--time", "5s"]).expect(3);
    assert!(ran.stdout.contains("no load passes"), "{}", ran.stdout);
    let trials = std::fs::read_to_string(scratch.path().join("a/trials.csv")).unwrap();
    let carried = |side: &str| {
        let rows = trials.lines().filter(|row| row.contains(&format!(",{side},loads,")));
        rows.map(|row| row.split(',').nth(9).unwrap().parse::<f64>().unwrap()).fold(0.0, f64::max)
    };
    assert!(carried("a") > 1_000.0, "{trials}");
    assert_eq!(carried("b"), 0.0, "{trials}");
}

#[test]
fn sides_with_other_options_are_two_devices() {
    if !is_root() {
        return;
    }
    let _turn = turn::wait();
    let scratch = Scratch::new();
    let sides = ["--a", "--tbf-rate 2400k", "--b", "--tbf-rate 1920k"];
    let ran = versus(&scratch, &[&sides[..], &["--json", "--fail-if", "rate < 0.9"]].concat());
    let json: Value = serde_json::from_str(&ran.expect(1).stdout).unwrap();
    assert_eq!(json["started"]["is_shared"], false);
    let ratio = json["result"]["ratios"][0]["interval"]["ratio"].as_f64().unwrap();
    assert!((0.78..0.82).contains(&ratio), "{}", json["result"]["ratios"][0]);
}

/// In the middle of a comparison too, which then is saved as far as it came.
#[test]
fn a_command_that_fails_ends_the_comparison_with_its_reason() {
    if !is_root() {
        return;
    }
    let _turn = turn::wait();
    let scratch = Scratch::new();
    let script = "if [ -e twice ]; then echo no third time >&2; exit 7; fi; [ ! -e once ] || touch twice; touch once";
    let ran = versus(&scratch, &["--b-do", script]).expect(2);
    for what in ["switch the device to B", "no third time", "exit status: 7"] {
        assert!(ran.stderr.contains(what), "{what}: {}", ran.stderr);
    }
    let report = scratch.run("report a").expect(0);
    assert!(report.stdout.contains("CUT OFF"), "{}", report.stdout);
}

#[test]
fn a_sysctl_that_does_not_exist_is_refused_before_there_is_a_folder() {
    if !is_root() {
        return;
    }
    let _turn = turn::wait();
    let scratch = Scratch::new();
    let ran = versus(&scratch, &["--b", "sysctl:net.ipv4.no_such_thing=1"]).expect(2);
    assert!(ran.stderr.contains("no_such_thing"), "{}", ran.stderr);
    assert!(!scratch.path().join("a").exists());
}

#[test]
fn an_interrupted_comparison_removes_its_device_and_a_killed_one_is_cleaned() {
    if !is_root() {
        return;
    }
    let _turn = turn::wait();
    let scratch = Scratch::new();
    let arguments = LIVE.trim_end_matches(" --out a");
    let running = scratch.start(arguments, "a", "\"block\":2");
    let pid = running.pid();
    running.signal("INT");
    let ran = running.wait();
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("interrupted"), "{}", ran.stderr);
    assert_eq!(left_by(pid), [""; 0]);
    assert!(scratch.path().join("a/report.html").exists());

    let running = scratch.start(arguments, "b", "\"block\":2");
    scratch.kill_and_clean(running, 0);
    assert!(scratch.run("report b").expect(0).stdout.contains("CUT OFF"));
}
