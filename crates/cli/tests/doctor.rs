//! `netanvil doctor` on this very machine.

mod common;

use common::{Scratch, as_ordinary_user, is_root};

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
