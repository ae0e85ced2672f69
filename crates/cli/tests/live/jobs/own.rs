//! Jobs on a device of one's own, between two interfaces.

use super::{count, expect_all, traffic_between};
use crate::common::lab::{Lab, PORTS};
use crate::common::{SLOW, Scratch, is_root, sh};

/// Loads rules into the device.
fn nft(lab: &Lab, scratch: &Scratch, rules: &str) {
    let file = scratch.file("rules.nft", rules);
    sh(&format!("ip netns exec {} nft -f {}", lab.dut(), file.display()));
}

/// A router that hides the senders behind its own address: frames are known all the same, and its own counter says
/// that they bore the other address.
#[test]
fn a_router_with_nat() {
    if !is_root() {
        return;
    }
    let (scratch, lab) = (Scratch::new(), Lab::new("nat"));
    nft(
        &lab,
        &scratch,
        "table ip hide {\n chain post {\n  type nat hook postrouting priority srcnat\n  \
         oifname \"d2\" masquerade\n }\n}\n\
         table ip seen {\n chain post {\n  type filter hook postrouting priority 300\n  \
         oifname \"d2\" ip saddr 198.19.1.1 udp dport 7 counter\n }\n}\n",
    );
    let load = "--rate 1kpps --duration 1s --sizes 128";
    let summary = traffic_between(&lab, &scratch, &format!("{PORTS} {load}"));
    expect_all(&summary, 1_000);
    let seen = sh(&format!("ip netns exec {} nft list table ip seen", lab.dut()));
    assert!(seen.contains("counter packets 1000 "), "{seen}");
}

/// One of ten flows is filtered: each of its frames is lost, and none besides.
#[test]
fn a_firewall_that_drops_some() {
    if !is_root() {
        return;
    }
    let (scratch, lab) = (Scratch::new(), Lab::new("firewall"));
    nft(
        &lab,
        &scratch,
        "table ip wall {\n chain f {\n  type filter hook forward priority 0\n  \
         udp dport 1027 counter drop\n }\n}\n",
    );
    let far = format!("--far-ports d1,d2 --far-netns {}", lab.dut());
    let load = format!("{far} --rate 1kpps --duration 1s --flows 10 --vary dst-port");
    let summary = traffic_between(&lab, &scratch, &format!("{PORTS} {load}"));
    assert_eq!(count(&summary, "sent_frames"), 1_000, "{summary}");
    assert_eq!(count(&summary, "lost_frames"), 100, "{summary}");
    assert_eq!((&summary["flows"], &summary["flows_with_loss"]), (&10.into(), &1.into()));
    let wall = sh(&format!("ip netns exec {} nft list table ip wall", lab.dut()));
    assert!(wall.contains("counter packets 100 "), "{wall}");
}

/// What carries the frames is stated for each interface; the run's record says which it was.
#[test]
fn each_interface_by_its_own_kind_of_port() {
    if !is_root() {
        return;
    }
    let (scratch, lab) = (Scratch::new(), Lab::new("kinds"));
    let ports = PORTS.replace("eth1,eth2 ", "af_packet:eth1,af_xdp:eth2 ");
    let load = "--rate 1kpps --duration 1s --sizes 128 --bidirectional";
    let summary = traffic_between(&lab, &scratch, &format!("{ports} {load}"));
    expect_all(&summary, 2_000);
    let ran = lab.run(&scratch, &format!("run {ports} {SLOW} --out a"));
    ran.expect_complete();
    let results = crate::common::results(&scratch, "a");
    let ports = results["tester"]["ports"].as_array().expect("ports");
    let of = |key: &str| -> Vec<&str> {
        ports.iter().map(|port| port[key].as_str().expect("a word")).collect()
    };
    assert_eq!(of("port_type"), ["af_packet", "af_xdp"]);
    assert_eq!(of("arrivals_stamped_by"), ["kernel", "program"]);
    assert_eq!(of("name"), ["eth1", "eth2"]);
}
