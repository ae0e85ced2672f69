//! Jobs on devices that netanvil builds.

use super::{count, expect_all, expect_answer, traffic_through};
use crate::common::{Ran, SLOW, Scratch, as_ordinary_user, is_root, pcap, turn, undecided};
use serde_json::Value;
use std::process::Command;

/// What 10 Mb/s carries of frames of 512 bytes.
const MEDIUM: &str = "512 B  2.35 kpps  (0.010 Gb/s)  medium-limited";

#[test]
fn the_throughput_of_a_router() {
    if !is_root() {
        return;
    }
    let (_turn, scratch) = (turn::wait(), Scratch::new());
    let ran = scratch.run(&format!("run --device linux-router {SLOW} --out a"));
    expect_answer(&ran, MEDIUM);
}

#[test]
fn the_throughput_of_a_bridge() {
    if !is_root() {
        return;
    }
    let (_turn, scratch) = (turn::wait(), Scratch::new());
    let ran = scratch.run(&format!("run --device linux-bridge {SLOW} --out a"));
    expect_answer(&ran, MEDIUM);
}

/// Without root, in a user namespace, where the kernel lets an ordinary user make one.
#[test]
fn without_root() {
    let _turn = turn::wait();
    let unshare = "setpriv --reuid=65534 --regid=65534 --clear-groups unshare -Urn true";
    let allowed = || Command::new("sh").args(["-c", unshare]).status().unwrap().success();
    if !is_root() || !allowed() {
        return;
    }
    let scratch = Scratch::new();
    let arguments = "traffic --device linux-router --rate 1kpps --duration 1s --json \
                     --set trial.limits.shortfall=0.9";
    let ran = Ran::from(as_ordinary_user(&scratch, arguments).output().unwrap()).expect(0);
    let summary: Value = serde_json::from_str(ran.stdout.lines().last().unwrap()).unwrap();
    let sent = count(&summary, "sent_frames");
    assert!(sent > 0, "{summary}");
    if sent < 1_000 {
        undecided::tell("the tester did not send every frame");
    }
    expect_all(&summary, sent);
}

#[test]
fn ipv6() {
    let of = "--device linux-router --protocol udp_ipv6 --sizes 128";
    expect_all_through(of, "--rate 2kpps --duration 1s", 2_000);
}

#[test]
fn a_vlan() {
    expect_all_through(
        "--device linux-bridge --vlan 100 --sizes 128",
        "--rate 2kpps --duration 1s",
        2_000,
    );
}

/// 802.1ad outside, 802.1Q inside.
#[test]
fn qinq() {
    let of = "--device linux-bridge --vlan 100,200 --sizes 128";
    expect_all_through(of, "--rate 2kpps --duration 1s", 2_000);
}

#[test]
fn imix_both_ways() {
    let of = "--device linux-router --sizes imix --bidirectional";
    expect_all_through(of, "--rate 10Mbit/s --duration 1s", -1);
}

/// Frames without a reason to be lost; -1 for as many as there are.
#[track_caller]
fn expect_all_through(device: &str, load: &str, frames: i64) {
    if !is_root() {
        return;
    }
    let (_turn, scratch) = (turn::wait(), Scratch::new());
    let summary = traffic_through(&scratch, &format!("{device} {load}"));
    let sent = count(&summary, "sent_frames");
    assert!(sent > 0, "{summary}");
    expect_all(&summary, if frames < 0 { sent } else { frames });
}

/// The loss of each second stands in its line: a rule of the device drops each fiftieth frame.
#[test]
fn a_fixed_rate_with_its_loss_second_by_second() {
    if !is_root() {
        return;
    }
    let (_turn, scratch) = (turn::wait(), Scratch::new());
    let load = "--rate 5kpps --duration 3s --drop-every 50 --set trial.limits.shortfall=0.9";
    let ran = scratch.run(&format!("traffic --device linux-router {load}")).expect(0);
    let lines: Vec<Vec<&str>> =
        ran.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    let lost: Vec<u64> = lines
        .iter()
        .filter(|words| words.len() == 8 && words[0].ends_with('s') && words[0] != "streams")
        .filter_map(|words| words[3].replace(',', "").parse().ok())
        .collect();
    assert!(lost.len() >= 3, "{}", ran.stdout);
    // The tester may be held up for a moment on a shared machine; each line is within a frame of a fiftieth.
    if lost[..3].iter().any(|lost| !(80..=120).contains(lost)) {
        undecided::tell("the tester was held up");
    }
    assert_eq!(lost.iter().sum::<u64>(), 300, "{}", ran.stdout);
    let summary = ran.stdout.lines().find(|line| line.starts_with("lost ")).expect("a summary");
    assert!(summary.contains("300 frames  2.00 %"), "{summary}");
}

#[test]
fn a_thousand_flows() {
    if !is_root() {
        return;
    }
    let (_turn, scratch) = (turn::wait(), Scratch::new());
    let load = "--rate 4kpps --duration 1s --flows 1000 --vary dst-port";
    let summary = traffic_through(&scratch, &format!("--device linux-router {load}"));
    expect_all(&summary, 4_000);
    assert_eq!((&summary["flows"], &summary["flows_with_loss"]), (&1_000.into(), &0.into()));
}

#[test]
fn many_prefixes() {
    if !is_root() {
        return;
    }
    let (_turn, scratch) = (turn::wait(), Scratch::new());
    let load = "--rate 4kpps --duration 1s --routes-per-port 2000 --destinations random";
    let summary = traffic_through(&scratch, &format!("--device linux-router {load}"));
    expect_all(&summary, 4_000);
}

#[test]
fn a_capture_at_a_rate() {
    if !is_root() {
        return;
    }
    let (_turn, scratch) = (turn::wait(), Scratch::new());
    let frames = [(0, 100), (700, 4), (2_000, 900)];
    std::fs::write(scratch.path().join("trace.pcap"), pcap(&frames)).unwrap();
    let load = "--pcap trace.pcap --rewrite mac,ip --rate 3kpps --duration 1s";
    let summary = traffic_through(&scratch, &format!("--device linux-router {load}"));
    expect_all(&summary, 3_000);
    // Frames of 146, 68 (grown by 18) and 946 bytes in turn.
    assert_eq!(summary["sent_bytes"], 1_000 * (146 + 68 + 946), "{summary}");
}
