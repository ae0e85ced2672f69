//! `netanvil doctor` on this very machine.

use crate::common::{Scratch, as_ordinary_user, is_root};

fn checks(json: &str) -> Vec<serde_json::Value> {
    let report: serde_json::Value = serde_json::from_str(json).expect("JSON");
    report["checks"].as_array().expect("a list of checks").clone()
}

#[test]
fn every_shortfall_comes_with_what_mends_it() {
    let ran = Scratch::new().run("doctor --json");
    let checks = checks(&ran.stdout);
    assert!(checks.len() > 10, "{}", ran.stdout);
    for check in &checks {
        let mends = check["mend"].as_str().is_some_and(|mend| !mend.is_empty());
        assert_eq!(check["state"] != "ok", mends, "{check}");
    }
    let failed = checks.iter().any(|check| check["state"] == "fail");
    assert_eq!(ran.code, Some(i32::from(failed)));
}

/// Every processor has its witness, whose figures agree with each other.
#[test]
fn the_processors_are_measured() {
    let ran = Scratch::new().run("doctor --json");
    let checks = checks(&ran.stdout);
    let of_cores: Vec<_> = checks.iter().filter(|check| check["name"] == "absences").collect();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    assert_eq!(of_cores.len(), cores, "{}", ran.stdout);
    for check in of_cores {
        let figure = |name: &str| check["measured"][name].as_u64().expect(name);
        assert!(figure("watched_ns") >= 1_000_000_000, "{check}");
        assert!(figure("away_ns") <= figure("watched_ns"), "{check}");
        assert!(figure("longest_ns") <= figure("away_ns"), "{check}");
        assert!(figure("p50_ns") <= figure("p99_ns"), "{check}");
        assert!(figure("p99_ns") <= figure("longest_ns"), "{check}");
    }
    let rates = checks.iter().find(|check| check["name"] == "rates to decide").expect("a summary");
    assert_eq!(rates["measured"]["rate_by_queue"].as_array().map(Vec::len), Some(2), "{rates}");
}

#[test]
fn a_port_that_does_not_exist_is_a_failure() {
    let ran = Scratch::new().run("doctor --ports nowhere7 --json").expect(1);
    let checks = checks(&ran.stdout);
    let port = checks.iter().find(|check| check["subject"] == "nowhere7").expect("a check of it");
    assert_eq!(port["state"], "fail");
}

#[test]
fn an_ordinary_user_is_told_what_is_possible() {
    let scratch = Scratch::new();
    let output = as_ordinary_user(&scratch, "doctor --json").output().unwrap();
    let checks = checks(&String::from_utf8_lossy(&output.stdout));
    let of = |name: &str| checks.iter().find(|check| check["name"] == name).expect(name).clone();
    assert_eq!(of("privileges")["state"], "warn");
    // What the kernel says when it is asked directly must be what doctor says.
    let mut unshare = std::process::Command::new("setpriv");
    unshare.args(["--reuid=65534", "--regid=65534", "--clear-groups", "unshare", "-Urn", "true"]);
    if is_root() {
        let allowed = unshare.status().is_ok_and(|status| status.success());
        assert_eq!(of("user namespaces")["state"] == "ok", allowed);
    }
}
