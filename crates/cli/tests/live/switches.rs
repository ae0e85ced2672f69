//! A mesh of eight ports on a bridge of this kernel, driven through the program: what is lost when a port
//! goes or the program is killed, and what its report shows; a router whose limit MLRsearch must find.
//!
//! Root only. Loads are low and no time is asserted.

#![allow(clippy::disallowed_methods, reason = "waits for the middle of a trial")]

use crate::common::{Scratch, fps, is_root, left_by, record, sh};
use serde_json::Value;

/// 1,488 frames of 64 bytes a second at each of eight ports. The first trial is one of the mesh.
const MESH: &str = "run rfc2889 --device linux-bridge --line-rate 1M --sizes 64 --profile quick \
                    --port-type af_packet --skip-selftest --set trial.invalid_retries=9 \
                    --set trial.drain_s=1 \
                    --test fully-meshed --set search.resolution_percent=60 \
                    --set chassis.loads_percent=[20]";

const SECOND_TRIAL: &str = "{\"trial_started\":{\"number\":2,";

fn results(scratch: &Scratch, folder: &str) -> Value {
    let path = scratch.path().join(folder).join("results.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn a_port_lost_in_mid_mesh_is_an_error_that_costs_no_result() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let running = scratch.start(&format!("{MESH} --duration 4s"), "a", SECOND_TRIAL);
    let pid = running.pid();
    std::thread::sleep(std::time::Duration::from_millis(600));
    let namespace = running.namespace("tester").expect("a namespace of the tester");
    sh(&format!("ip -n {namespace} link delete tester5"));
    let ran = running.wait().expect(2);
    // Both ends of the link are gone; either is a good name of it.
    let names_it = ran.stderr.contains("tester5") || ran.stderr.contains("dut5");
    assert!(names_it && ran.stderr.contains("vanished"), "{}", ran.stderr);
    assert!(ran.stderr.contains("netanvil run --resume a"), "{}", ran.stderr);
    let stopped = results(&scratch, "a");
    assert_eq!(stopped["status"], "stopped");
    assert!(!stopped["trials"].as_array().unwrap().is_empty(), "results are lost");
    assert_eq!(left_by(pid), [""; 0], "namespaces are left");
}

/// A router behind a rule that passes 400 frames a second and 200 more at once, searched by MLRsearch
/// with trials of half a second: it cannot find more than 800, and it carries 400 whatever came before.
#[test]
fn mlrsearch_finds_no_more_than_a_known_limit_on_a_router() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let arguments = "run --device linux-router --line-rate 1M --sizes 64 --profile quick \
        --skip-selftest --test throughput --search mlrsearch --duration 500ms --resolution 10% \
        --frame-limit 400 --frame-limit-burst 200 --set trial.invalid_retries=9 --wide --out a";
    let ran = scratch.run(arguments);
    ran.expect_complete();
    let results = results(&scratch, "a");
    let found = &record(&results, "throughput")["throughput"];
    assert_eq!(found["policy"], "mlrsearch", "{found}");
    if let Some(rate) = fps(&found["rate"]) {
        assert!(rate <= 800.0 * 1.01, "{found}");
        assert!(found["conditional_throughput"].is_object(), "{found}");
    }
    assert!(fps(&found["upper"]).is_none_or(|upper| upper > 380.0), "{found}");
    assert!(ran.stdout.contains("relevant upper bound fps"), "{}", ran.stdout);
    let page = std::fs::read_to_string(scratch.path().join("a/report.html")).unwrap();
    assert!(page.contains("MLRsearch"), "the page does not name the search");
}

#[test]
fn after_kill_9_a_mesh_is_cleaned_up_and_goes_on_to_the_same_matrix() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let running = scratch.start(&format!("{MESH} --duration 500ms"), "a", SECOND_TRIAL);
    let pid = running.pid();
    running.signal("KILL");
    assert_eq!(running.wait().code, None);
    assert_eq!(left_by(pid).len(), 2, "the killed run's namespaces are expected to be left");
    scratch.run("clean").expect(0);
    assert_eq!(left_by(pid), [""; 0]);
    let ran = scratch.run("run --resume a");
    ran.expect_complete();
    let whole = results(&scratch, "a");
    assert_eq!(whole["status"], "complete");
    for trial in whole["trials"].as_array().unwrap() {
        let (sent, came) = (&trial["offered_frames"], &trial["forwarded_frames"]);
        assert_eq!(sent, came, "a frame was lost at a load of a megabit: {trial}");
    }
    let page = std::fs::read_to_string(scratch.path().join("a/report.html")).unwrap();
    assert!(page.contains("Fully meshed"), "no mesh in the page");
}

/// Groups in the kernel's table, few packets, and what of them the second port sends and receives.
#[test]
fn the_tests_of_1998_run_on_the_kernel_and_tell_what_a_port_saw() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let arguments = "run tolly --device linux-mcast --port-count 4 --profile quick --sizes 64 \
        --line-rate 1M --set trial.invalid_retries=9 --set chassis.tolly.groups=300 \
        --set chassis.tolly.multicast_packets=700 --capture=400 --capture-ports 1 --out a \
        --test large-scale-multicast --test base-multicast";
    let ran = scratch.run(arguments);
    ran.expect_complete();
    let results = results(&scratch, "a");
    let composition = results["packet_composition"].as_array().unwrap();
    assert_eq!((composition.len(), &composition[0]["place"]), (1, &"port 1".into()));
    let kinds = composition[0]["kinds"].as_array().unwrap();
    let frames = |direction: &str, protocols: &str| -> u64 {
        let like = |kind: &&Value| {
            kind["direction"] == direction
                && kind["protocols"] == protocols
                && kind["addressed_to"] == "multicast"
        };
        kinds.iter().filter(like).map(|kind| kind["frames"].as_u64().unwrap()).sum()
    };
    // Reports of 300 groups and of one, each 183 at most, joined and left; no trial keeps more than 400.
    assert!(frames("sent", "IPv4 / IGMP") >= 6, "{kinds:?}");
    assert!(frames("received", "IPv4 / UDP") >= 2 * 300 + 400, "{kinds:?}");
    let page = std::fs::read_to_string(scratch.path().join("a/report.html")).unwrap();
    assert!(page.contains("Packet composition: port 1"), "no composition in the page");
    // The same of a single capture of anybody's.
    let capture = std::fs::read_dir(scratch.path().join("a/captures")).unwrap().next();
    let capture = capture.unwrap().unwrap().file_name().into_string().unwrap();
    scratch.run(&format!("anvil a/captures/{capture} --html b.html")).expect(0);
    let page = std::fs::read_to_string(scratch.path().join("b.html")).unwrap();
    assert!(page.contains("IPv4 / "), "no packets in the page");
    // What this device cannot do is refused before it is built.
    let refused = scratch.run("run tolly --device linux-bridge").expect(2);
    assert!(refused.stderr.contains("does not route"), "{}", refused.stderr);
    let refused = scratch.run("run tolly --device linux-mcast --port-count 33").expect(2);
    assert!(refused.stderr.contains("32 interfaces at most"), "{}", refused.stderr);
}
