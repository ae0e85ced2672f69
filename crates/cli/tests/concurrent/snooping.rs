//! Hosts of MLD at the tester's ports before the kernel's bridge, which snoops and asks: joins and
//! leaves are proven by exact counts, and a leave that takes no effect in time is told as such.
//!
//! Root only. Loads are low; the one time that counts is the kernel's own.

use crate::common::{Scratch, is_root, outcomes_of};
use serde_json::{Value, json};

/// Three listeners join a group, and leave it. A bridge without fast leave asks twice, a second apart, whether
/// another host is there, before it believes a leave: within `leave_timeout_s` or not. `None` where the tester was held
/// up in every trial.
#[track_caller]
fn leaves(version: &str, leave_timeout_s: f64) -> Option<Value> {
    let scratch = Scratch::new();
    let ran = scratch.run(&format!(
        "run rfc3918 --device linux-bridge --port-count 4 --profile quick --sizes 64 --line-rate 1M \
         --port-type af_packet --set trial.invalid_retries=9 \
         --test group-leave-delay --set chassis.multicast.version=\"{version}\" \
         --set chassis.multicast.load_percent=20 --set chassis.multicast.join_settle_s=0.3 \
         --set chassis.multicast.leave_settle_s=0.2 \
         --set chassis.multicast.leave_timeout_s={leave_timeout_s} --out a"
    ));
    let is_complete = ran.expect_complete();
    assert!(ran.stdout.contains("Linux bridge with IGMP/MLD snooping"), "{}", ran.stdout);
    let results = std::fs::read_to_string(scratch.path().join("a/results.json")).unwrap();
    is_complete.then(|| serde_json::from_str(&results).unwrap())
}

/// What each port found.
fn outcomes(results: &Value) -> Vec<Value> {
    let of_test = outcomes_of(results, &json!({ "chassis": "group_leave_delay" }));
    let sets = &of_test[0]["detail"]["sets"];
    let ports = sets[0]["ports"].as_array().expect("a trial");
    assert_eq!(ports.len(), 3, "{sets}");
    ports.iter().map(|port| port["outcome"].clone()).collect()
}

/// Frames sent to groups and copies that came, of each trial that sent any.
fn frames(results: &Value) -> Vec<(u64, u64)> {
    let trials = results["trials"].as_array().expect("trials").iter();
    // That of the tester alone has no groups.
    let trials = trials.filter(|trial| trial["test"] != "self_test");
    let count = |trial: &Value, key: &str| trial[key].as_u64().expect("a count");
    let counts = trials.map(|t| (count(t, "offered_frames"), count(t, "forwarded_frames")));
    counts.filter(|(offered, _)| *offered > 0).collect()
}

/// A leave in vain: every frame of the whole trial comes to each of those who had joined.
#[track_caller]
fn takes_no_effect_in_time(version: &str) {
    let Some(results) = leaves(version, 1.0) else { return };
    for outcome in outcomes(&results) {
        assert_eq!(outcome["kind"], "never", "{outcome}");
        assert!(outcome["waited"].as_u64().unwrap() > 300_000_000_000, "{outcome}");
    }
    let frames = frames(&results);
    assert!(!frames.is_empty());
    assert!(frames.iter().all(|(offered, came)| *came == 3 * offered), "{frames:?}");
}

/// A leave that is believed once both questions have found no answer, after 2 s and not before.
#[track_caller]
fn takes_effect(version: &str) {
    let Some(results) = leaves(version, 6.0) else { return };
    for outcome in outcomes(&results) {
        assert_eq!(outcome["kind"], "measured", "{outcome}");
        let delay_ms = outcome["delay"].as_u64().unwrap() / 1_000_000_000;
        assert!(delay_ms >= 1_900, "{outcome}");
    }
    // Copies to three ports for nearly 2 s of 6, and not for all of them.
    let (offered, came) = *frames(&results).last().expect("a trial");
    assert!(10 * came > 9 * offered && came < 3 * offered, "{came} of {offered}");
}

#[test]
fn hosts_of_mldv2_join_a_bridge_and_leave_it() {
    if is_root() {
        takes_effect("mldv2");
    }
}

#[test]
fn a_leave_of_mldv1_that_is_not_believed_in_time_is_told() {
    if is_root() {
        takes_no_effect_in_time("mldv1");
    }
}

/// Ports that take 20 groups each: 20 are found, and of the 21st nothing comes anywhere.
#[test]
fn the_groups_that_ports_take_are_found_to_the_group() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let ran = scratch.run(
        "run rfc3918 --device linux-bridge --group-table 20 --port-count 3 --profile quick --sizes 64 \
         --line-rate 1M --port-type af_packet --set trial.invalid_retries=9 \
         --test group-capacity --set chassis.multicast.version=\"mldv2\" \
         --set chassis.multicast.capacity_initial=20 --set chassis.multicast.capacity_step=1 \
         --set chassis.multicast.leave_settle_s=0.2 --out a",
    );
    ran.expect_complete();
    let results = std::fs::read_to_string(scratch.path().join("a/results.json")).unwrap();
    let results: Value = serde_json::from_str(&results).unwrap();
    let found = &results["outcomes"][0]["detail"];
    assert_eq!((&found["found"], &found["failed"]), (&20.into(), &21.into()), "{found}");
    let trials = found["trials"].as_array().expect("trials").iter();
    let counts = trials.map(|t| (t["sent"].as_u64().unwrap(), t["received"].as_u64().unwrap()));
    assert_eq!(counts.collect::<Vec<_>>(), [(20, 40), (21, 40)], "{found}");
}

#[test]
fn groups_of_ipv6_are_refused_where_nobody_routes_them() {
    let scratch = Scratch::new();
    let arguments = "run rfc3918 --device linux-mcast --set chassis.multicast.version=\"mldv2\"";
    let ran = scratch.run(arguments).expect(2);
    assert!(ran.stderr.contains("no pim6d"), "{}", ran.stderr);
    assert!(ran.stderr.contains("--device linux-bridge"), "{}", ran.stderr);
}

/// A bridge that forgets a member after 3 s, and asks every second: in a trial of 5 s its members stay, since
/// they answer. Of hosts that are silent it forwards the frames of the first three seconds alone.
#[track_caller]
fn stay_by_answering(version: &str) {
    let scratch = Scratch::new();
    let ran = scratch.run(&format!(
        "run rfc3918 --device linux-bridge --group-membership 3s --port-count 3 --profile quick --sizes 84 \
         --line-rate 1M --port-type af_packet --set trial.invalid_retries=9 \
         --test scaled-groups --set chassis.multicast.version=\"{version}\" \
         --set chassis.multicast.matrix_max=10 --set chassis.multicast.matrix_load_percent=20 \
         --set chassis.multicast.join_settle_s=0.2 --set chassis.multicast.leave_settle_s=0.2 \
         --set trial.duration_s=5 --out a"
    ));
    ran.expect_complete();
    let results = std::fs::read_to_string(scratch.path().join("a/results.json")).unwrap();
    let results: Value = serde_json::from_str(&results).unwrap();
    let (offered, came) = *frames(&results).last().expect("a trial");
    assert!(offered > 1_000, "{offered} frames at 240 a second");
    assert_eq!(came, 2 * offered, "each frame at both ports");
    let queries = &results["outcomes"][0]["detail"]["multicast"]["queries"];
    let count = |key: &str| queries[key].as_u64().unwrap();
    // Every second at two ports, in 5 s.
    assert!(count("queries") >= 8 && count("reports") >= 8, "{queries}");
    let annex = results["clauses"].as_array().unwrap();
    let of_answers = annex.iter().find(|judged| judged["section"] == "3.1.1").unwrap();
    assert_eq!(of_answers["verdict"], "met", "{of_answers}");
}

#[test]
fn members_by_igmpv3_stay_for_a_trial_longer_than_their_membership() {
    if is_root() {
        stay_by_answering("igmpv3");
    }
}

#[test]
fn members_by_mldv1_stay_for_a_trial_longer_than_their_membership() {
    if is_root() {
        stay_by_answering("mldv1");
    }
}

/// Joins, leaves and data behind a tag, which the bridge looks behind: 2 s from the leave to the last frame, as
/// without.
#[test]
fn hosts_in_a_vlan_join_a_bridge_and_leave_it() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let ran = scratch.run(
        "run rfc3918 --device linux-bridge --vlan 100 --port-count 3 --profile quick --sizes 128 \
         --line-rate 1M --port-type af_packet --set trial.invalid_retries=9 --test group-leave-delay \
         --set chassis.multicast.version=\"igmpv2\" --set chassis.multicast.load_percent=20 \
         --set chassis.multicast.join_settle_s=0.2 --set chassis.multicast.leave_settle_s=0.2 \
         --set chassis.multicast.leave_timeout_s=3.5 --out a",
    );
    ran.expect_complete();
    let results = std::fs::read_to_string(scratch.path().join("a/results.json")).unwrap();
    let results: Value = serde_json::from_str(&results).unwrap();
    let detail = &outcomes_of(&results, &json!({ "chassis": "group_leave_delay" }))[0]["detail"];
    let ports = detail["sets"][0]["ports"].as_array().expect("a trial");
    assert_eq!(ports.len(), 2);
    for port in ports {
        assert_eq!(port["outcome"]["kind"], "measured", "{port}");
        assert!(port["outcome"]["delay"].as_u64().unwrap() >= 1_900_000_000_000, "{port}");
    }
    // Two questions for the group at each port after the leave; who has left is silent.
    let queries = &detail["multicast"]["queries"];
    assert!(queries["queries"].as_u64().unwrap() >= 4, "{queries}");
    assert_eq!(queries["reports"], 0, "{queries}");
}
