//! A router that is fed its routes by a protocol, driven through the program: each of them is reached, what
//! it took is told, and nothing of it survives a kill.
//!
//! Root only. Loads are low and no time is asserted.

use crate::common::{Ran, Scratch, files_with, is_root, left_by};
use serde_json::Value;
use std::process::Stdio;

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
    assert_eq!(left_by(running.pid()).len(), 3, "tester, device and speaker");
    scratch.kill_and_clean(running, 2);
}

/// No OSPF neighbour is found within a second.
#[test]
fn a_feed_that_is_late_is_an_error_that_tells_what_came_and_leaves_nothing() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let arguments = "run --device linux-router --feed ospf --routes-per-port 500 --feed-within 1s";
    let child = scratch.command(arguments).stderr(Stdio::piped()).spawn().expect("starts");
    let pid = child.id();
    let ran = Ran::from(child.wait_with_output().expect("its output")).expect(2);
    let what_came = "0 of 1000 routes have come into the router's table by OSPF after 1 s";
    assert!(ran.stderr.contains(what_came), "{}", ran.stderr);
    assert!(ran.stderr.contains("0 of 500 through port 1"), "{}", ran.stderr);
    assert!(ran.stderr.contains("feed_within_s"), "{}", ran.stderr);
    assert_eq!(left_by(pid), [""; 0]);
    assert_eq!(files_with(&format!("netanvil-{pid}.")), [""; 0]);
}

/// No route to the 256 networks is configured; the daemon in the router takes them in from the updates that
/// go before each trial.
#[test]
fn a_router_forwards_by_the_updates_that_go_before_each_trial() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let ran = scratch.run(
        "run --device linux-router --routing rip --destinations random --routing-updates --profile quick \
         --test loss --sizes 128 --line-rate 10M --skip-selftest --set trial.invalid_retries=9 --out a",
    );
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

#[test]
fn a_feed_that_cannot_be_is_refused_before_anything_is_built() {
    let scratch = Scratch::new();
    for (arguments, why) in [
        ("--device linux-router --feed bgp", "set routes_per_port"),
        ("--device linux-bridge --feed bgp --routes-per-port 9", "used with --device linux-router"),
        ("--device linux-router --routing-updates", "--destinations random or both"),
        ("--device linux-bridge --destinations random --routing-updates", "only a router"),
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
