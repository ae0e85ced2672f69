//! Tunnels and a translator between two ports of this kernel's router (RFC 8219): native frames at one
//! side, others at the other, nothing lost at low loads, and what is on the wire read by tshark.
//!
//! Root only. Counts are exact and no time is asserted.

use crate::common::{Ran, Scratch, is_root, outcomes_of, record, results, skipped, tshark};
use serde_json::{Value, json};
use std::sync::Mutex;

/// Up to some 200 frames of 128 bytes a second, both ways; what leaves and what comes at the second port
/// is captured.
const LOW: &str = "run --device linux-router --line-rate 250k --sizes 128 --profile quick \
                   --skip-selftest --test loss --bidirectional --set trial.invalid_retries=9 \
                   --set trial.drain_s=5 --set frame_loss.step_percent=100 --set trial.duration_s=0.3 --capture=20 \
                   --capture-ports 1";

/// One at a time: two would take each other's processors, of which a translator in user space needs one.
static TURN: Mutex<()> = Mutex::new(());

/// Every load came out whole at both sides, of the size that the tunnel makes.
#[track_caller]
fn assert_lossless(results: &Value) {
    let points = record(results, "frame_loss")["points"].as_array().unwrap();
    assert_eq!(points.len(), 1, "{points:#?}");
    for point in points {
        assert_eq!(point["invalid"], Value::Array(vec![]), "{point:#}");
        assert_eq!(point["received_frames"], point["expected_frames"], "{point:#}");
        assert!(point["expected_frames"].as_u64() > Some(40), "{point:#}");
    }
    let trials = results["trials"].as_array().unwrap();
    let wrong: u64 = trials.iter().map(|t| t["wrong_length_frames"].as_u64().unwrap()).sum();
    assert_eq!(wrong, 0);
}

/// What tshark reads of UDP behind the second port: protocols, bytes without FCS, and whether the
/// innermost checksums are good; each way once.
fn behind_second_port(scratch: &Scratch, filter: &str) -> Vec<String> {
    let fields = ["eth.src", "frame.protocols", "frame.len", "udp.checksum.status"];
    let mut seen = tshark(scratch, "a", filter, &fields);
    seen.sort();
    seen.dedup();
    seen.into_iter().map(|line| line.split_once('\t').unwrap().1.to_owned()).collect()
}

/// Whether the kernel had what a run needed; where it had not, the test says so and ends.
#[track_caller]
fn has_run(ran: Ran, test: &str) -> bool {
    let lack = ran.stderr.lines().find(|line| line.contains("the kernel needs CONFIG_"));
    match (ran.code, lack) {
        (Some(2), Some(lack)) => {
            skipped(test, lack);
            false
        }
        _ => {
            ran.expect(0);
            true
        }
    }
}

#[track_caller]
fn lossless(tunnel: &str, protocol: &str, filter: &str, expected: &str) {
    if !is_root() {
        return;
    }
    let _turn = TURN.lock().unwrap_or_else(|failed| failed.into_inner());
    let scratch = Scratch::new();
    let ran = scratch.run(&format!("{LOW} --tunnel {tunnel} --protocol {protocol} --out a"));
    if has_run(ran, tunnel) {
        assert_lossless(&results(&scratch, "a"));
        let seen = behind_second_port(&scratch, filter);
        assert_eq!(seen, [expected; 2], "one line for each direction");
    }
}

/// 128 bytes with FCS and 50 for Ethernet, IPv4, UDP and VXLAN. The outer UDP has no checksum (RFC 7348
/// section 5), the inner one a good one: 3 and 1. (Groups go by IPv4, below.)
#[test]
fn a_vxlan_carries_ipv6() {
    let expected = "eth:ethertype:ip:udp:vxlan:eth:ethertype:ipv6:udp:echo\t174\t3,1";
    lossless("vxlan", "udp_ipv6", "vxlan && udp.port == 7", expected);
}

/// 40 bytes more, and no header between.
#[test]
fn ipv4_goes_within_ipv6() {
    let expected = "eth:ethertype:ipv6:ip:udp:echo\t164\t1";
    lossless("4in6", "udp_ipv4", "ipv6 && udp.port == 7", expected);
}

/// 20 bytes of IPv4 and 4 of GRE (RFC 2784 section 2.1).
#[test]
fn gre_carries_ipv4() {
    lossless("gre", "udp_ipv4", "gre && udp.port == 7", "eth:ethertype:ip:gre:ip:udp:echo\t148\t1");
}

/// 40 bytes of IPv6 and 4 of GRE.
#[test]
fn gre_over_ipv6_carries_ipv6() {
    let expected = "eth:ethertype:ipv6:gre:ipv6:udp:echo\t168\t1";
    lossless("gre6", "udp_ipv6", "gre && udp.port == 7", expected);
}

/// The same tunnel with the other version of IP in it.
#[test]
fn gre_over_ipv6_carries_ipv4() {
    lossless(
        "gre6",
        "udp_ipv4",
        "gre && udp.port == 7",
        "eth:ethertype:ipv6:gre:ip:udp:echo\t168\t1",
    );
}

/// 20 bytes of IPv4 before the IPv6 (RFC 4213 section 3).
#[test]
fn ipv6_goes_within_ipv4() {
    let expected = "eth:ethertype:ip:ipv6:udp:echo\t144\t1";
    lossless("6in4", "udp_ipv6", "ip.proto == 41 && udp.port == 7", expected);
}

/// IPv6 of 128 bytes becomes IPv4 of 108, with a checksum that TAYGA has adapted.
#[test]
fn siit_translates_both_ways() {
    lossless("siit", "udp_ipv6", "udp.port == 7", "eth:ethertype:ip:udp:echo\t104\t1");
}

/// Kernels differ in what they are built with: such a tunnel works, or the error names what is missing.
#[test]
fn a_tunnel_that_the_kernel_lacks_is_named() {
    if !is_root() {
        return;
    }
    let _turn = TURN.lock().unwrap_or_else(|failed| failed.into_inner());
    for (tunnel, protocol) in [("gre", "udp_ipv4"), ("gre6", "udp_ipv6"), ("6in4", "udp_ipv6")] {
        let scratch = Scratch::new();
        let ran = scratch.run(&format!("{LOW} --tunnel {tunnel} --protocol {protocol} --out a"));
        match ran.code {
            Some(0) => assert_lossless(&results(&scratch, "a")),
            _ => {
                let ran = ran.expect(2);
                assert!(ran.stderr.contains("the kernel needs CONFIG_"), "{}", ran.stderr);
                assert!(!scratch.path().join("a").exists(), "a folder without a run");
            }
        }
    }
}

/// RFC 3918 section 4.4 on the kernel's multicast forwarding: three groups from port 0 to three others,
/// whose frames of 128 bytes are longer behind a tunnel, and back to 128 where they come out of one.
#[track_caller]
fn groups_pass(tunnel: &str, named: &str, header_bytes: u32) {
    if !is_root() {
        return;
    }
    let _turn = TURN.lock().unwrap_or_else(|failed| failed.into_inner());
    for (test, received) in [("encapsulation", 128 + header_bytes), ("decapsulation", 128)] {
        let scratch = Scratch::new();
        let ran = scratch.run(&format!(
            "run rfc3918 --device linux-mcast --multicast table --line-rate 250k --sizes 128 \
             --profile quick --port-type af_packet --set trial.invalid_retries=9 \
             --test {test} --set chassis.multicast.tunnel_out=\"{tunnel}\" \
             --set chassis.multicast.groups=3 \
             --set chassis.multicast.leave_settle_s=0.1 --out a"
        ));
        let stdout = ran.stdout.clone();
        if !has_run(ran, &format!("{test} of groups by {tunnel}")) {
            return;
        }
        assert!(stdout.contains(named), "{stdout}");
        let results = results(&scratch, "a");
        let found = &outcomes_of(&results, &json!({ "chassis": test }))[0]["detail"];
        assert_eq!(found["multicast"]["received_size_bytes"].as_f64(), Some(f64::from(received)));
        let flows = found["flows"].as_array().unwrap();
        let complete: Vec<_> = flows.iter().map(|f| f["complete"].as_u64().unwrap()).collect();
        assert_eq!(complete, [3, 3, 3], "{test}: {flows:?}");
    }
}

#[test]
fn groups_go_into_tunnels_and_come_out_of_them() {
    groups_pass("vxlan", "VXLAN over IPv4", 50);
}

#[test]
fn groups_go_into_gre_and_come_out_of_it() {
    groups_pass("gre", "GRE over IPv4", 24);
}

#[test]
fn a_test_without_tunnels_takes_no_table_of_groups() {
    let scratch = Scratch::new();
    let several = "run rfc3918 --device linux-mcast --multicast table --profile quick --out a";
    let ran = scratch.run(several).expect(2);
    assert!(ran.stderr.contains("one of the three with tunnels"), "{}", ran.stderr);
}

#[test]
fn what_does_not_fit_a_tunnel_is_refused() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let refusals = [
        ("--tunnel siit --protocol udp_ipv4", "udp_ipv6"),
        ("--tunnel vxlan --vlan 7", "VLAN"),
        ("--tunnel vxlan --destinations random", "one destination"),
        ("--tunnel vxlan --modifiers broadcast", "modifiers"),
    ];
    for (options, expected) in refusals {
        let ran = scratch.run(&format!("{LOW} {options} --out a")).expect(2);
        assert!(ran.stderr.contains(expected), "{options}: {}", ran.stderr);
    }
    for other in ["--device linux-bridge", "--sim router"] {
        let ran = scratch.run(&format!("run {other} --tunnel vxlan --test loss --out a")).expect(2);
        assert!(ran.stderr.contains("linux-router"), "{other}: {}", ran.stderr);
    }
}
