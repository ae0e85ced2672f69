//! A router that is fed its routes by a protocol, driven through the program: each of them is reached, what
//! it took is told, and nothing of it survives a kill.
//!
//! Root only. Loads are low and no time is asserted.

#![allow(clippy::disallowed_methods, reason = "waits for processes to end")]

mod common;

use common::{Scratch, is_root, left_by};
use serde_json::Value;

/// 15,000 packets, one to each host behind three of four ports.
const FED: &str = "run tolly --device linux-router --port-count 4 --feed bgp --routes-per-port 5000 \
                   --profile quick --sizes 64 --line-rate 10M --set trial.invalid_retries=9 \
                   --set chassis.tests=[\"internet_scale\"]";

/// Command lines of living processes that contain `word`.
fn processes_with(word: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").expect("processes").flatten();
    let lines = processes.filter_map(|process| {
        let line = std::fs::read(process.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&line).replace('\0', " "))
    });
    lines.filter(|line| line.contains(word)).collect()
}

fn files_with(word: &str) -> Vec<String> {
    let files = std::fs::read_dir(testbed::REGISTRY_DIRECTORY).expect("records").flatten();
    let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.contains(word)).collect()
}

#[test]
fn every_route_that_came_by_bgp_is_reached() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let ran = scratch.run(&format!("{FED} --out a"));
    assert!(matches!(ran.code, Some(0 | 3)), "{}", ran.stderr);
    let results = std::fs::read_to_string(scratch.path().join("a/results.json")).unwrap();
    let results: Value = serde_json::from_str(&results).unwrap();
    let routes = results["environment"]["device routes"].as_str().unwrap();
    assert!(routes.starts_with("20000 host routes by BGP in "), "{routes}");
    assert!(routes.contains("its speaker"), "{routes}");
    let trials = results["trials"].as_array().unwrap();
    assert!(!trials.is_empty());
    for trial in trials {
        assert_eq!(trial["offered_frames"], 15_000, "{trial}");
        assert_eq!(trial["forwarded_frames"], 15_000, "{trial}");
    }
}

#[test]
fn after_kill_9_no_daemon_lives_and_clean_removes_the_rest() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let running = scratch.start(FED, "a", "{\"trial_started\":{\"number\":1,");
    let pid = running.pid();
    let own = format!("netanvil-{pid}.");
    assert_eq!(processes_with(&format!("/{own}")).len(), 2, "a router's and a speaker's BIRD");
    assert_eq!(left_by(pid).len(), 3, "tester, device and speaker");
    running.signal("KILL");
    running.wait();
    for _ in 0..500 {
        if processes_with(&format!("/{own}")).is_empty() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(processes_with(&format!("/{own}")), [""; 0], "daemons outlive the run");
    scratch.run("clean").expect(0);
    assert_eq!(left_by(pid), [""; 0]);
    assert_eq!(files_with(&own), [""; 0]);
}

#[test]
fn a_feed_that_cannot_be_is_refused_before_anything_is_built() {
    let scratch = Scratch::new();
    for (arguments, why) in [
        ("--device linux-router --feed bgp", "set routes_per_port"),
        ("--device linux-bridge --feed bgp --routes-per-port 9", "only linux-router has routes"),
        ("--device linux-router --feed ospf --routes-per-port 40000", "80000 routes by OSPF"),
        (
            "--device linux-router --feed rip --routing rip --routes-per-port 9",
            "one routing daemon",
        ),
        ("--device linux-router --feed bgp --routes-per-port 70000", "up to 65536"),
    ] {
        let ran = scratch.run(&format!("run {arguments}")).expect(2);
        assert!(ran.stderr.contains(why), "{arguments}: {}", ran.stderr);
    }
}
