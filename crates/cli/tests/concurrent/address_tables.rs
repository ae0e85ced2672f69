//! Switches whose table of addresses has a size that was set: the kernel's bridge and Open vSwitch's
//! user-space datapath. What the tests of RFC 2889 find on them is known beforehand.
//!
//! Root only. Loads are low and no time is asserted.

use crate::common::{Scratch, is_root};
use serde_json::Value;

const QUICK: &str =
    "--profile quick --sizes 64 --port-type af_packet --set trial.invalid_retries=9";

fn results(scratch: &Scratch, folder: &str) -> Value {
    let path = scratch.path().join(folder).join("results.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// A table of 33 addresses has room for the test port's own and 32 more, not for 33.
#[track_caller]
fn finds_the_table(device: &str) {
    let scratch = Scratch::new();
    let ran = scratch.run(&format!(
        "run rfc2889 --device {device} --address-table 33 {QUICK} --port-count 3 --line-rate 10M \
         --test address-caching \
         --set chassis.addresses.initial_addresses=32 --set chassis.addresses.max_addresses=34 --out a"
    ));
    ran.expect_complete();
    let results = results(&scratch, "a");
    let found = &results["outcomes"][0]["detail"];
    assert_eq!((&found["found"], &found["failed"]), (&32.into(), &33.into()), "{found}");
    let flooded: Vec<u64> = found["trials"].as_array().unwrap().iter().map(flood).collect();
    assert_eq!(flooded, [0, 1], "{found}");
    assert!(ran.stdout.contains("at most 33 addresses"), "{}", ran.stdout);
}

fn flood(trial: &Value) -> u64 {
    trial["flood_monitor_port"].as_u64().unwrap()
}

#[test]
fn the_table_of_a_bridge_is_found_to_the_address() {
    if is_root() {
        finds_the_table("linux-bridge --address-ageing 2s --set chassis.addresses.digest_s=0.2");
    }
}

/// It forgets nothing meanwhile (15 s at least), and need not: the same addresses come again, and where there
/// is no room the oldest goes. Frames to that one are flooded once its flow has gone, too, which takes half a
/// second (max-revalidator, ovs-vswitchd.conf.db(5)).
#[test]
fn the_table_of_open_vswitch_is_found_to_the_address() {
    if is_root() {
        let digest = "--set chassis.addresses.digest_s=1 --set chassis.addresses.ageing_s=4";
        finds_the_table(&format!("ovs-userspace {digest}"));
    }
}

const MESH: &str = "run rfc2889 --device ovs-userspace --port-count 4 --line-rate 1M \
                    --test fully-meshed --set search.resolution_percent=60 \
                    --set chassis.loads_percent=[20] --duration 500ms";

#[test]
fn a_mesh_on_open_vswitch_loses_nothing_and_says_what_it_ran_on() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let ran = scratch.run(&format!("{MESH} {QUICK} --out a"));
    ran.expect_complete();
    let results = results(&scratch, "a");
    let switch = results["environment"]["device switch"].as_str().unwrap();
    assert!(switch.starts_with("ovs-vswitchd (Open vSwitch) "), "{switch}");
    assert!(switch.ends_with("4 packet sockets with room for 16384 frames"), "{switch}");
    let trials = results["trials"].as_array().unwrap();
    for trial in trials {
        assert_eq!(trial["offered_frames"], trial["forwarded_frames"], "{trial}");
    }
    let offered = trials.iter().map(|trial| trial["offered_frames"].as_u64().unwrap());
    assert!(offered.sum::<u64>() >= 500, "{trials:?}");
}

#[test]
fn after_kill_9_open_vswitch_is_gone_and_clean_removes_its_folder() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let running =
        scratch.start(&format!("{MESH} {QUICK}"), "a", "{\"trial_started\":{\"number\":1,");
    scratch.kill_and_clean(running, 2);
}
