//! A router that is fed its routes by a protocol, driven through the program: each of them is reached, what
//! it took is told, and nothing of it survives a kill.
//!
//! Root only. Loads are low and no time is asserted.

use crate::common::{Scratch, is_root, left_by};
use serde_json::Value;

/// 15,000 packets, one to each host behind three of four ports.
const FED: &str = "run tolly --device linux-router --port-count 4 --feed bgp --routes-per-port 5000 \
                   --profile quick --line-rate 10M --set trial.invalid_retries=9 \
                   --test internet-scale";

#[test]
fn every_route_that_came_by_bgp_is_reached() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let ran = scratch.run(&format!("{FED} --out a"));
    ran.expect_complete();
    let results = std::fs::read_to_string(scratch.path().join("a/results.json")).unwrap();
    let results: Value = serde_json::from_str(&results).unwrap();
    let routes = results["environment"]["device routes"].as_str().unwrap();
    assert!(routes.starts_with("20000 host routes by BGP in "), "{routes}");
    assert!(routes.contains("its speaker"), "{routes}");
    let trials = results["trials"].as_array().unwrap();
    assert!(!trials.is_empty());
    // A trial in which the tester was held up offers fewer, and says so.
    for trial in trials.iter().filter(|trial| trial["verdict"] != "invalid") {
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
    assert_eq!(left_by(running.pid()).len(), 3, "tester, device and speaker");
    scratch.kill_and_clean(running, 2);
}

/// No route to the 256 networks is configured; the daemon in the router takes them in from the updates that
/// go before each trial.
#[test]
fn a_router_forwards_by_the_updates_that_go_before_each_trial() {
    if !is_root() {
        return;
    }
    forwards_what_is_announced("udp_ipv4");
}

#[test]
fn a_router_forwards_by_the_updates_of_ipv6_that_go_before_each_trial() {
    if is_root() {
        forwards_what_is_announced("udp_ipv6");
    }
}

/// By RIP version 2, or by RIPng.
fn forwards_what_is_announced(protocol: &str) {
    let scratch = Scratch::new();
    let ran = scratch.run(&format!(
        "run --device linux-router --routing rip --destinations random --routing-updates --profile quick \
         --protocol {protocol} --test loss --sizes 128 --line-rate 10M --skip-selftest \
         --set trial.invalid_retries=9 --out a"
    ));
    ran.expect_complete();
    let results = std::fs::read_to_string(scratch.path().join("a/results.json")).unwrap();
    let results: Value = serde_json::from_str(&results).unwrap();
    let trials = results["trials"].as_array().unwrap();
    assert!(!trials.is_empty());
    for trial in trials {
        assert_eq!(trial["forwarded_frames"], trial["offered_frames"], "{trial}");
    }
    let configured = results["environment"]["device configuration"].as_str().unwrap();
    assert!(configured.contains("networks_by_rip = true"), "{configured}");
    let annex = results["clauses"].as_array().unwrap();
    let of_update = annex.iter().find(|judged| judged["section"] == "13").unwrap();
    assert_eq!(of_update["verdict"], "met", "{of_update}");
}
