//! A device that delays, duplicates and drops by the kernel's netem: what it was told is what is counted.
//!
//! Root only. A kernel without netem skips the tests; `make kernels` runs them on kernels that have it.

use crate::common::lab::{Lab, PORTS};
use crate::common::{Scratch, is_root, sh, skipped, undecided};
use serde_json::Value;
use std::process::Command;

const FRAMES: u64 = 400;

/// The summary of traffic one way through a router whose second port has this netem, and what netem says that it
/// dropped; none where the kernel lacks it.
#[track_caller]
fn through(netem: &str) -> Option<(Value, u64)> {
    if !is_root() {
        return None;
    }
    let lab = Lab::new("netem");
    let command =
        format!("netns exec {} tc qdisc add dev d2 root netem {netem} limit 10000", lab.dut());
    let told = Command::new("ip").args(command.split_whitespace()).output().expect("iproute2");
    if !told.status.success() {
        let words = String::from_utf8_lossy(&told.stderr).into_owned();
        assert!(
            words.contains("qdisc kind is unknown") || words.contains("No such file"),
            "{words}"
        );
        skipped(&format!("netem {netem}"), &words);
        return None;
    }
    let scratch = Scratch::new();
    let load =
        "--rate 400pps --duration 1s --sizes 128 --yes --json --set trial.limits.shortfall=0.9";
    let ran = lab.run(&scratch, &format!("traffic {PORTS} {load}")).expect(0);
    let summary: Value = serde_json::from_str(ran.stdout.lines().last()?).expect("JSON");
    if count(&summary, "sent_frames") != FRAMES {
        undecided::tell("the tester did not send every frame");
    }
    let told = sh(&format!("ip netns exec {} tc -s -j qdisc show dev d2", lab.dut()));
    let told: Value = serde_json::from_str(&told).expect("JSON of tc");
    Some((summary, count(&told[0], "drops")))
}

fn count(summary: &Value, key: &str) -> u64 {
    summary[key].as_u64().expect(key)
}

/// No frame comes before 30 ms have passed; how much later is the host's affair.
#[test]
fn every_frame_is_as_late_as_netem_says() {
    let Some((summary, _)) = through("delay 30ms") else { return };
    let sent = count(&summary, "sent_frames");
    assert_eq!((count(&summary, "received_frames"), count(&summary, "lost_frames")), (sent, 0));
    let least_ns = summary["latency"]["min_ns"].as_f64().expect("a latency");
    assert!(least_ns >= 30e6, "{summary}");
}

/// Each frame comes twice: all arrived, and as many copies.
#[test]
fn every_duplicate_of_netem_is_counted() {
    let Some((summary, _)) = through("duplicate 100%") else { return };
    let sent = count(&summary, "sent_frames");
    assert_eq!((count(&summary, "duplicate_frames"), count(&summary, "lost_frames")), (sent, 0));
}

/// Of 400 frames 80 on average, with a deviation of 8: six of them either way are exceeded once in 5e8 runs. Beyond
/// test frames the router sends a few of ARP, which netem drops alike.
#[test]
fn what_netem_drops_is_what_is_lost() {
    let Some((summary, dropped)) = through("loss 20%") else { return };
    let lost = count(&summary, "lost_frames");
    assert_eq!(count(&summary, "received_frames") + lost, count(&summary, "sent_frames"));
    assert!(lost <= dropped && dropped - lost <= 10, "{lost} lost, {dropped} dropped");
    assert!((32..=128).contains(&lost), "{summary}");
}
