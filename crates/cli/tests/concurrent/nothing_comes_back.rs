//! Jobs that go wrong: nothing comes back, and the option at fault is named.

use crate::common::lab::{Lab, PORTS};
use crate::common::{SLOW, Scratch, is_root, sh};

const LOAD: &str = "--rate 500pps --duration 1s --set trial.limits.shortfall=0.9";

/// Before a router somebody forgot to say who the tester is.
#[test]
fn an_address_that_was_forgotten() {
    if !is_root() {
        return;
    }
    let (scratch, lab) = (Scratch::new(), Lab::new("forgot"));
    let ran = lab.run(&scratch, &format!("traffic --ports eth1,eth2 {LOAD}")).expect(0);
    let words = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("Nothing came back. "), "{}", ran.stdout);
    assert!(words.contains("--address and --gateway are not given"), "{}", ran.stdout);
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ran.stdout);

    let ran = lab.run(&scratch, &format!("run --ports eth1,eth2 {SLOW} --out a"));
    assert!(ran.stderr.contains("nothing came back"), "{}", ran.stderr);
    assert!(ran.stderr.contains("--address and --gateway are not given"), "{}", ran.stderr);

    // A gateway that is nobody's is found at once.
    let wrong = PORTS.replace("--gateway 198.18.1.1", "--gateway 198.18.1.9");
    let ran = lab.run(&scratch, &format!("traffic {wrong} {LOAD}")).expect(2);
    assert!(ran.stderr.contains("gateway 198.18.1.9: nobody answered"), "{}", ran.stderr);
    assert!(ran.stderr.contains("eth1"), "{}", ran.stderr);
}

/// The device has no such VLAN.
#[test]
fn a_wrong_vlan() {
    if !is_root() {
        return;
    }
    let (scratch, lab) = (Scratch::new(), Lab::new("vlan"));
    let arguments = format!("traffic {PORTS} --vlan 200 {LOAD}");
    let ran = lab.run(&scratch, &arguments).expect(0);
    let words = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("--vlan 200: the device must have this VLAN"), "{}", ran.stdout);
    let summary = lab.run(&scratch, &format!("{arguments} --json")).expect(0).stdout;
    let summary: serde_json::Value = serde_json::from_str(summary.lines().last().unwrap()).unwrap();
    let suspects = summary["suspects"].as_array().expect("suspects");
    assert!(suspects[0].as_str().unwrap().starts_with("--vlan 200"), "{summary}");
}

#[test]
fn a_link_that_is_down() {
    if !is_root() {
        return;
    }
    let (scratch, lab) = (Scratch::new(), Lab::new("down"));
    let traffic = format!("traffic {PORTS} {LOAD}");
    sh(&format!("ip -n {} link set d2 down", lab.dut()));
    let ran = lab.run(&scratch, &traffic).expect(2);
    assert!(ran.stderr.contains("eth2 has no carrier"), "{}", ran.stderr);
    let ran = lab.run(&scratch, &format!("run {PORTS} {SLOW} --out a")).expect(2);
    assert!(ran.stderr.contains("eth2 has no carrier"), "{}", ran.stderr);
    assert!(!scratch.path().join("a").exists(), "a run began");
    sh(&format!("ip -n {} link set eth2 down", lab.tester()));
    let ran = lab.run(&scratch, &traffic).expect(2);
    assert!(ran.stderr.contains("ip link set eth2 up"), "{}", ran.stderr);
}
