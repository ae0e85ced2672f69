//! The router tests of 1989 and 1990 on devices of this kernel: every protocol, the device's counters by
//! SNMP and netlink beside the tester's, routes fed by RIP, and what a port cannot do said.
//!
//! Root only. Loads are low and no time is asserted; a trial in which the tester was held up is repeated.

#![allow(clippy::disallowed_methods, reason = "waits for the middle of a run")]

use crate::common::{Scratch, files_left_by, fps, is_root, left_by, outcomes, sh, undecided};
use serde_json::Value;

/// 1,488 frames of 64 bytes a second.
const LIVE: &str = "--line-rate 1M --sizes 64 --profile quick --seed 1 \
                    --set trial.invalid_retries=9 --set trial.drain_s=0.5";

fn results(scratch: &Scratch, folder: &str) -> Value {
    let path = scratch.path().join(folder).join("results.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The result of a test of 1989.
#[track_caller]
fn result_of<'a>(results: &'a Value, test: &str) -> &'a Value {
    let all = results["outcomes"].as_array().expect("outcomes");
    let outcome = all.iter().find(|outcome| outcome["test"]["harvard_1989"] == test);
    &outcome.unwrap_or_else(|| panic!("no {test}"))["detail"]
}

/// A figure by its name.
fn figure(result: &Value, name: &str) -> Option<f64> {
    let figures = result["figures"].as_array()?;
    figures.iter().find(|figure| figure["name"] == name)?["value"].as_f64()
}

#[test]
fn the_tests_of_1989_on_a_router_compare_counters_and_feed_routes_by_rip() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let tests = r#"harvard_1989.tests=["idle_state","counters","many_routes","routing_table","arp_cache","crc_errors","giants","runts"]"#;
    let arguments = format!(
        "run harvard-1989 --device linux-router {LIVE} --skip-selftest --set {tests} --out a \
         --set harvard_1989.table_limit=40 --set harvard_1989.idle_s=0.5 --set harvard_1989.routes=150"
    );
    let ran = scratch.run(&arguments);
    ran.expect_complete();
    let results = results(&scratch, "a");
    assert_eq!(results["status"], "complete", "{}", ran.stderr);

    let counters = result_of(&results, "counters");
    let checks = counters["counters"].as_array().unwrap();
    let sent = figure(counters, "frames sent").expect("a valid trial");
    for (source, name, port) in [
        ("netlink", "rx_packets", Some(0)),
        ("netlink", "tx_packets", Some(1)),
        ("SNMP", "ifHCIn{Ucast,Multicast,Broadcast}Pkts", Some(0)),
        ("SNMP", "ifHCOut{Ucast,Multicast,Broadcast}Pkts", Some(1)),
        ("SNMP", "ipForwDatagrams.0", None),
    ] {
        let is_it = |check: &&Value| {
            check["source"] == source
                && check["name"].as_str().is_some_and(|found| found.starts_with(name))
                && check["port"].as_u64() == port
        };
        let check = checks.iter().find(is_it).unwrap_or_else(|| panic!("no {source} {name}"));
        assert_eq!(check["device"].as_f64(), Some(sent), "{check}");
        assert_eq!(check["device"], check["tester"], "{check}");
    }
    assert_eq!(counters["misbehaviours"].as_array().unwrap().len(), 0, "{counters}");

    let routes = result_of(&results, "many_routes");
    for name in ["routes announced", "routes taken in", "routes in its own table"] {
        assert_eq!(figure(routes, name), Some(150.0), "{name}: {routes}");
    }
    // A search that the tester could not decide says so; one that it could went to its end.
    let undecided = |result: &Value| {
        let is_undecided = result["notes"].to_string().contains("did not keep up");
        if is_undecided {
            undecided::tell("a search was not decided");
        }
        is_undecided
    };
    let table = result_of(&results, "routing_table");
    if !undecided(table) {
        assert_eq!(figure(table, "routes"), Some(40.0), "{table}");
        assert_eq!(figure(table, "most in its own table"), Some(40.0), "{table}");
        assert_eq!(table["figures"][0]["at_least"], true, "{table}");
    }
    let hosts = result_of(&results, "arp_cache");
    assert!(undecided(hosts) || figure(hosts, "hosts") == Some(40.0), "{hosts}");

    // The driver was asked; it is no guess.
    let crc = result_of(&results, "crc_errors").to_string();
    assert!(crc.contains("not possible on this port (tester0)"), "{crc}");
    assert!(crc.contains("its driver (veth) makes every FCS itself"), "{crc}");
    let giants = result_of(&results, "giants");
    assert_eq!(figure(giants, "sent"), Some(100.0), "{giants}");
    assert_eq!(figure(giants, "came out"), Some(0.0), "{giants}");
    assert!(giants["notes"].to_string().contains("netlink rx_dropped +100"), "{giants}");
    let idle = result_of(&results, "idle_state");
    assert_eq!(figure(idle, "frames at port 1"), Some(0.0), "a router that only listens: {idle}");
    let page = std::fs::read_to_string(scratch.path().join("a/report.html")).unwrap();
    assert!(page.contains("ipForwDatagrams") && page.contains("routes taken in"));
}

#[test]
fn the_tests_of_1990_take_every_protocol_across_a_bridge() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let arguments = format!(
        "run harvard-1990 --device linux-bridge {LIVE} --test delay,raw-rate \
         --set harvard.delay_gap_s=0.01 --set harvard.raw_rate_stream_s=0.2 --out a"
    );
    let ran = scratch.run(&arguments);
    ran.expect_complete();
    let results = results(&scratch, "a");
    assert_eq!(results["status"], "complete", "{}", ran.stderr);
    for mode in ["ip", "apple_talk", "decnet", "ipx", "bridge"] {
        let of_mode = |test| {
            let records = outcomes(&results, test).into_iter().map(|outcome| &outcome["detail"]);
            let of_one = |record: &&Value| {
                record["setting"]["mode"] == mode && record["setting"]["streams"] == 1
            };
            records.filter(of_one).collect::<Vec<_>>()
        };
        let delay = of_mode("delay")[0];
        assert_eq!(delay["lost_frames"], 0, "{delay}");
        let is_known = delay["from_stamp_to_arrival"].is_object();
        if !is_known {
            undecided::tell("no delay");
        }
        assert!(is_known || !delay["invalid"][0].is_null(), "{delay}");
        for raw in of_mode("raw_rate") {
            for stream in raw["streams"].as_array().unwrap() {
                assert_eq!(stream["sent_frames"], stream["received_frames"], "{raw}");
                let offered = fps(&stream["offered"]).unwrap();
                let theory = fps(&raw["conditions"]["theoretical_max"]).unwrap();
                assert!(offered <= theory + 1e-6, "{raw}");
            }
        }
    }
    assert!(ran.stdout.contains("it has no interface cards"), "{}", ran.stdout);
    let notes = results["notes"].to_string();
    assert!(notes.contains("counters of the device (SNMP, netlink) agree"), "{notes}");
    let warnings = results["warnings"].to_string();
    assert!(!warnings.contains("says"), "a counter disagrees: {warnings}");
}

#[test]
fn the_tests_of_1990_on_a_router_go_on_after_kill_9() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let arguments = format!(
        "run harvard-1990 --device linux-router {LIVE} --test max-rate,raw-rate \
         --set harvard.max_rate_stream_s=0.2 --set harvard.raw_rate_stream_s=0.2"
    );
    // Within the second way in which the device is set up: with one filter.
    let running = scratch.start(&arguments, "a", "{\"trial_started\":{\"number\":5,");
    let pid = running.pid();
    running.signal("KILL");
    assert_eq!(running.wait().code, None);
    scratch.run("clean").expect(0);
    assert_eq!(left_by(pid), [""; 0]);
    let saved = std::fs::read_to_string(scratch.path().join("a/events.jsonl")).unwrap();
    let finished = |log: &str, n: u32| {
        let start = format!("{{\"trial_finished\":{{\"number\":{n},");
        log.lines().filter(|line| line.starts_with(&start)).map(String::from).collect::<Vec<_>>()
    };
    let ran = scratch.run("run --resume a");
    ran.expect_complete();
    let results = results(&scratch, "a");
    assert_eq!(results["status"], "complete");
    let log = std::fs::read_to_string(scratch.path().join("a/events.jsonl")).unwrap();
    for number in 1..=4 {
        assert_eq!(
            finished(&log, number),
            finished(&saved, number),
            "trial {number} was made again"
        );
    }
    let layouts = results["outcomes"].as_array().unwrap().iter().map(|o| &o["layouts"][0]);
    let columns = layouts.map(|layout| layout["columns"].to_string());
    let columns: String = columns.collect();
    for column in ["ip_max", "ip_fld", "1f_max", "10f_fld"] {
        assert!(columns.contains(column), "{column} is missing in {columns}");
    }
}

/// The programs that the device needs end with a run that is killed: else they would hold its namespace.
#[test]
fn agent_and_routing_daemon_end_with_a_killed_run() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let arguments = format!(
        "run harvard-1989 --device linux-router {LIVE} --skip-selftest --set harvard_1989.tests=[\"counters\"]"
    );
    let running = scratch.start(&arguments, "a", "{\"trial_finished\"");
    let namespace = running.namespace("dut").expect("a namespace of the device");
    let inside = sh(&format!("ip netns pids {namespace}"));
    assert_eq!(inside.split_whitespace().count(), 2, "snmpd and bird: {inside}");
    let inside: Vec<String> = inside.split_whitespace().map(String::from).collect();
    let pid = running.pid();
    running.signal("KILL");
    assert_eq!(running.wait().code, None);
    for _ in 0..200 {
        let is_left = |pid: &String| std::path::Path::new("/proc").join(pid).exists();
        if !inside.iter().any(is_left) {
            scratch.run("clean").expect(0);
            assert_eq!(files_left_by(pid), [""; 0]);
            scratch.run("run --resume a");
            assert_eq!(results(&scratch, "a")["status"], "complete");
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("{inside:?} outlive the run");
}
