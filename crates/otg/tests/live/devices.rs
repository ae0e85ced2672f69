//! Devices in VLANs, pings, and devices that speak BGP, opposite routers of others.
#![allow(clippy::disallowed_methods)]

use crate::common::frr::{self, Frr};
use crate::common::ovs::{self, Ovs};
use crate::common::{Lab, is_root};
use serde_json::{Value, json};
use std::process::Command;
use testbed::{DeviceKind, Neighbours, TestbedConfig};

fn number(value: &Value) -> u64 {
    value.as_str().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{value}"))
}

/// A router that must ask for the devices' hardware addresses.
fn router() -> TestbedConfig {
    let router = TestbedConfig::of(DeviceKind::LinuxRouter);
    TestbedConfig { neighbours: Neighbours::Dynamic, ..router }
}

fn ip(namespace: &str, arguments: &str) {
    let mut command = Command::new("ip");
    command.args(["-n", namespace]).args(arguments.split(' '));
    let status = command.status().expect("start ip");
    assert!(status.success(), "{command:?}: {status}");
}

/// The hardware address of an interface in a namespace.
fn mac_of(namespace: &str, interface: &str) -> String {
    let said = Command::new("ip").args(["-n", namespace, "-j", "link", "show", interface]).output();
    let said: Value = serde_json::from_slice(&said.unwrap().stdout).expect("JSON of ip");
    said[0]["address"].as_str().expect("an address").to_owned()
}

/// Gives a router in a namespace 802.1Q at one side (interface `q0`) and 802.1ad around 802.1Q at the other (`q1`).
fn vlans(namespace: &str) -> Ovs {
    let ovs = Ovs::start(namespace);
    ovs.configure("set open_vswitch . other_config:vlan-limit=2");
    for bridge in ["one", "outer", "inner"] {
        ovs.configure(&format!("add-br {bridge} -- set bridge {bridge} datapath_type=netdev"));
    }
    ovs.configure("add-port one dut0 -- add-port one q0 tag=100 -- set interface q0 type=internal");
    ovs.configure(
        "add-port outer dut1 -- add-port outer down tag=200 vlan_mode=dot1q-tunnel \
         other_config:qinq-ethtype=802.1ad -- set interface down type=patch options:peer=up \
         -- add-port inner up -- set interface up type=patch options:peer=down \
         -- add-port inner q1 tag=7 -- set interface q1 type=internal",
    );
    ovs.give_room();
    for line in [
        "addr add 10.100.0.1/24 dev q0",
        "addr add 10.200.0.1/24 dev q1",
        "addr add 2001:db8:100::1/64 dev q0 nodad",
        "addr add 2001:db8:200::1/64 dev q1 nodad",
        "link set q0 up",
        "link set q1 up",
    ] {
        ip(namespace, line);
    }
    ovs
}

/// Devices in those VLANs.
fn sides_in_vlans(kind: &str) -> Value {
    let side = |port: usize, network: u8, vlans: Value| {
        json!({
            "location": format!("{kind}tester{port}"), "mac": format!("02:00:00:00:00:1{port}"), "vlans": vlans,
            "ipv4": format!("10.{network}.0.2"), "gateway4": format!("10.{network}.0.1"),
            "ipv6": format!("2001:db8:{network}::2"), "gateway6": format!("2001:db8:{network}::1"),
            "nobody4": format!("10.{network}.0.77"), "nobody6": format!("2001:db8:{network}::77"),
        })
    };
    let outer = json!({"tpid": "x88A8", "id": 200, "priority": 5});
    json!([
        side(0, 100, json!([{"id": 100}])),
        side(1, 200, json!([outer, {"tpid": "x8100", "id": 7}])),
    ])
}

/// A Linux router behind Open vSwitch answers within its tags, is pinged through them, and forwards from one side to
/// the other.
fn devices_in_vlans(kind: &str, over_grpc: bool) {
    if !is_root() || !ovs::is_installed() {
        return;
    }
    let lab = Lab::build(&router(), over_grpc);
    let namespace = lab.testbed.device().unwrap().namespace().name().to_owned();
    let _ovs = vlans(&namespace);
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("captured");
    let sides = sides_in_vlans(kind);
    let said = lab.snappi("vlans.py", &[&sides.to_string(), file.to_str().unwrap()]);
    for port in 0..2 {
        let mac = mac_of(&namespace, &format!("q{port}"));
        for gateway in ["gateway4", "gateway6"] {
            let gateway = sides[port][gateway].as_str().unwrap();
            assert_eq!(said["neighbours"][gateway], mac, "{said}");
        }
    }
    // The gateway, an address of the router's behind it, and nobody.
    let expected = json!([
        ["v4-0", "10.100.0.1", "succeeded"],
        ["v4-0", "10.200.0.1", "succeeded"],
        ["v4-1", "10.200.0.77", "failed"],
        ["v6-1", "2001:db8:200::1", "succeeded"],
        ["v6-1", "2001:db8:100::1", "succeeded"],
        ["v6-0", "2001:db8:100::77", "failed"],
    ]);
    assert_eq!(said["pings"], expected);
    for flow in ["v4", "v6"] {
        assert_eq!(number(&said["flows"][flow]["frames_tx"]), 400, "{said}");
        assert_eq!(number(&said["flows"][flow]["frames_rx"]), 400, "{said}");
    }
    // The router asked, and the devices answered within their tags: the kernel's own word.
    let neighbours = Command::new("ip").args(["-n", &namespace, "neigh"]).output().unwrap();
    let neighbours = String::from_utf8_lossy(&neighbours.stdout).to_string();
    for (address, interface, mac) in [
        ("10.100.0.2", "q0", "02:00:00:00:00:10"),
        ("10.200.0.2", "q1", "02:00:00:00:00:11"),
        ("2001:db8:100::2", "q0", "02:00:00:00:00:10"),
        ("2001:db8:200::2", "q1", "02:00:00:00:00:11"),
    ] {
        let start = format!("{address} dev {interface} lladdr {mac}");
        assert!(neighbours.lines().any(|line| line.starts_with(&start)), "{start}\n{neighbours}");
    }
    let frames = Lab::tshark(&file, &["ip.dst", "ipv6.dst"]);
    let to = |address: &str| frames.iter().filter(|line| line.contains(address)).count();
    assert_eq!((to("10.200.0.2"), to("2001:db8:200::2")), (200, 200), "{}", frames.len());
}

#[test]
fn devices_in_vlans_over_af_packet_are_answered_and_forwarded() {
    devices_in_vlans("af_packet:", false);
}

#[test]
fn devices_in_vlans_over_xdp_are_answered_and_forwarded() {
    devices_in_vlans("xdp:", true);
}

/// bgpd of a router in AS 65000: external neighbours over IPv4 and IPv6, and one of its own system.
fn bgpd(sides: &Value) -> String {
    let address = |side: usize, version: &str| sides[side][version].as_str().unwrap().to_owned();
    let (v4, v6, inside) = (address(0, "ipv4"), address(0, "ipv6"), address(1, "ipv4"));
    format!(
        "router bgp 65000\n bgp router-id 192.0.2.254\n no bgp ebgp-requires-policy\n no bgp network import-check\n \
         no bgp default ipv4-unicast\n\
         neighbor {v4} remote-as 65001\n neighbor {v4} timers connect 1\n neighbor {v4} password as-in-RFC-2385\n\
         neighbor {v6} remote-as 65001\n neighbor {v6} timers connect 1\n\
         neighbor {inside} remote-as 65000\n neighbor {inside} timers connect 1\n\
         address-family ipv4 unicast\n  neighbor {v4} activate\n  neighbor {inside} activate\n  \
         network 203.0.113.0/24\n exit-address-family\n\
         address-family ipv6 unicast\n  neighbor {v6} activate\n  network 2001:db8:ffff::/48\n exit-address-family\n"
    )
}

fn devices_speak_bgp(kind: &str, over_grpc: bool, in_vlans: bool) {
    if !is_root() || !frr::is_installed() || in_vlans && !ovs::is_installed() {
        return;
    }
    let lab = Lab::build(&router(), over_grpc);
    let namespace = lab.testbed.device().unwrap().namespace().name().to_owned();
    let _ovs = in_vlans.then(|| vlans(&namespace));
    let side = |port: usize| {
        let addresses = lab.testbed.ports()[port].addresses;
        json!({
            "location": format!("{kind}tester{port}"), "mac": format!("02:00:00:00:00:1{port}"), "vlans": [],
            "ipv4": addresses.ipv4.host.to_string(), "gateway4": addresses.ipv4.device.to_string(),
            "ipv6": addresses.ipv6.host.to_string(), "gateway6": addresses.ipv6.device.to_string(),
        })
    };
    let sides = if in_vlans { sides_in_vlans(kind) } else { json!([side(0), side(1)]) };
    let frr = Frr::start(&namespace, &bgpd(&sides));
    let kernel = ["ip", "-n", &namespace];
    let given = json!({"sides": sides, "vtysh": frr.vtysh(), "kernel": kernel});
    let said = lab.snappi("bgp.py", &[&given.to_string()]);
    assert_eq!(said["before"], json!({"ext4": "down", "ext6": "down", "int4": "down"}), "{said}");
    for peer in ["ext4", "ext6", "int4"] {
        assert_eq!(said["metrics"][peer]["fsm_state"], "established", "{said}");
    }
    // The router's kernel has what the devices announce: three networks by twos, a host, one of the inside.
    let ipv4 = ["100.70.0.0/24", "100.70.2.0/24", "100.70.4.0/24", "100.71.0.1", "100.80.0.0/16"];
    let ipv6 = ["2001:db8:70:1::/64", "2001:db8:70::/64"];
    assert_eq!(said["kernel"], json!({"ipv4": ipv4, "ipv6": ipv6}));
    let path = &said["route"]["paths"][0];
    assert_eq!(path["aspath"]["string"], "65001 65100 65200", "{said}");
    assert_eq!((&path["metric"], &path["origin"]), (&json!(50), &json!("EGP")), "{said}");
    assert_eq!(path["community"]["string"], "65001:77", "{said}");
    let hop = |route: &Value| route["paths"][0]["nexthops"][0]["ip"].clone();
    assert_eq!(hop(&said["route"]), given["sides"][0]["ipv4"], "{said}");
    assert_eq!(hop(&said["route6"]), given["sides"][0]["ipv6"], "{said}");
    let inside = &said["inside"]["paths"][0];
    assert_eq!((&inside["locPrf"], &inside["origin"]), (&json!(150), &json!("IGP")), "{said}");
    assert_eq!(inside["aspath"]["string"], "Local", "{said}");
    learned(&said["learned"]);
    for (flow, routes) in [("to4", 3), ("to6", 2)] {
        // 300 frames to `routes` networks in turn.
        assert_eq!(300 % routes, 0);
        assert_eq!(number(&said["flows"][flow]["frames_tx"]), 300, "{said}");
        assert_eq!(number(&said["flows"][flow]["frames_rx"]), 300, "{said}");
    }
    assert_eq!(said["withdrawn"]["kernel"], json!(["100.71.0.1", "100.80.0.0/16"]), "{said}");
    assert_eq!(number(&said["withdrawn"]["metrics"]["routes_advertised"]), 1, "{said}");
    assert_eq!(number(&said["withdrawn"]["metrics"]["route_withdraws_sent"]), 3, "{said}");
    assert_eq!(said["down"], json!({"ext4": "up", "ext6": "down", "int4": "up"}), "{said}");
    assert_eq!(said["stopped"], said["before"], "{said}");
    assert_eq!(said["updated"], json!({"ext4": "up", "ext6": "up", "int4": "up"}), "{said}");
    let starts = |what: &str, start: &str| {
        let error = said[what][0].as_str().unwrap_or_else(|| panic!("{what}: {said}"));
        assert!(error.starts_with(start), "{error}");
    };
    starts("column", "bgpv4.column_names[1]: ");
    starts("af_xdp", "devices[0].bgp: port p0 keeps what arrives");
    let wrong = "protocol.bgp.peers.peer_names[0]: there is no BGP peer `no such peer`";
    assert_eq!(said["wrong"], json!([wrong]), "{said}");
}

/// The external neighbour learns the router's own network and that of the inside, by the router's number alone.
fn learned(said: &Value) {
    let of = |peer: &str, network: &str| {
        let prefixes = said[peer]["ipv4_unicast_prefixes"].as_array().unwrap();
        let found = prefixes.iter().find(|prefix| prefix["ipv4_address"] == network);
        found.unwrap_or_else(|| panic!("{network}: {said}")).clone()
    };
    for network in ["203.0.113.0", "100.80.0.0"] {
        let segments = json!({"segments": [{"type": "as_seq", "as_numbers": [65000]}]});
        assert_eq!(of("ext4", network)["as_path"], segments, "{said}");
    }
    assert_eq!(of("ext4", "100.80.0.0")["prefix_length"], 16);
    let outside = of("int4", "100.70.4.0");
    let numbers = &outside["as_path"]["segments"][0]["as_numbers"];
    assert_eq!((numbers, &outside["origin"]), (&json!([65001, 65100, 65200]), &json!("egp")));
    assert_eq!(outside["communities"][0]["as_custom"], 77, "{said}");
    assert_eq!(outside["local_preference"], 100, "{said}");
    let v6 = &said["ext6"]["ipv6_unicast_prefixes"][0];
    assert_eq!(
        (&v6["ipv6_address"], &v6["prefix_length"]),
        (&json!("2001:db8:ffff::"), &json!(48))
    );
}

#[test]
fn devices_over_af_packet_speak_bgp_with_a_router_of_others() {
    devices_speak_bgp("af_packet:", false, false);
}

#[test]
fn devices_over_xdp_speak_bgp_with_a_router_of_others() {
    devices_speak_bgp("xdp:", true, false);
}

#[test]
fn devices_in_vlans_speak_bgp_with_a_router_of_others() {
    devices_speak_bgp("af_packet:", true, true);
}

/// snappi's own streams: a configuration of more than a megabyte, and every answer.
#[test]
fn what_is_too_long_for_a_message_is_streamed() {
    if !is_root() {
        return;
    }
    let lab = Lab::build(&TestbedConfig::of(DeviceKind::LinuxBridge), true);
    let said = lab.snappi("streams.py", &[]);
    assert!(said["length"].as_u64().unwrap() > 1 << 20, "{said}");
    for call in [
        "streamSetConfig",
        "streamGetConfig",
        "streamGetMetrics",
        "streamGetStates",
        "streamGetCapture",
    ] {
        assert!(said["calls"].as_array().unwrap().contains(&json!(call)), "{said}");
    }
    assert_eq!(said["flows"], json!(["f", "again", "more"]), "{said}");
    assert_eq!(said["same"], true, "{said}");
    assert_eq!((&said["sent"], &said["received"]), (&json!(15_000), &json!(15_000)), "{said}");
    // A header of 24 bytes, and before each of 15,000 frames of 256 bytes 16: more than two pieces.
    assert_eq!(said["captured"], 24 + 15_000 * (16 + 256), "{said}");
    assert_eq!(said["ports"], 2, "{said}");
}
