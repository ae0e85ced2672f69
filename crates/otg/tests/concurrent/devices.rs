//! What devices cannot be is refused with its place, before any port is opened.

use super::requests::errors;
use serde_json::{Value, json};

/// A device behind a port that is not there, with these VLANs and this BGP.
fn device(vlans: Value, bgp: Value) -> Value {
    let address = |name: &str, ip: &str, gateway: &str| json!({"name": name, "address": ip, "gateway": gateway});
    let mut device = json!({
        "name": "d",
        "ethernets": [{
            "name": "e", "mac": "02:00:00:00:00:01", "vlans": vlans,
            "connection": {"choice": "port_name", "port_name": "a"},
            "ipv4_addresses": [address("v4", "10.0.0.2", "10.0.0.1")],
        }],
    });
    if !bgp.is_null() {
        device["bgp"] = bgp;
    }
    json!({"ports": [{"name": "a", "location": "no-such-1"}], "devices": [device]})
}

/// A peer with these properties too.
fn peer(more: Value) -> Value {
    let mut peer = json!({
        "name": "p", "peer_address": "10.0.0.1", "as_type": "ebgp", "as_number": 65001,
    });
    peer.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let bgp =
        json!({"router_id": "10.0.0.2", "ipv4_interfaces": [{"ipv4_name": "v4", "peers": [peer]}]});
    device(json!([]), bgp)
}

/// A range of a peer's, with these properties too.
fn range(more: Value) -> Value {
    let mut range = json!({"name": "r", "addresses": [{"address": "10.1.0.0"}]});
    range.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    peer(json!({"v4_routes": [range]}))
}

const PEER: &str = "devices[0].bgp.ipv4_interfaces[0].peers[0]";

fn is_refused(config: Value, expected: &str) {
    let errors = errors(config.clone());
    assert!(
        errors.iter().any(|error| error.starts_with(expected)),
        "{expected}\n{config}\n{errors:?}"
    );
}

#[test]
fn tags_that_devices_do_not_have_are_refused() {
    let tag = |name: &str, id: u32| json!({"name": name, "id": id});
    let three = json!([tag("x", 1), tag("y", 2), tag("z", 3)]);
    is_refused(device(three, Value::Null), "devices[0].ethernets[0].vlans[2]: 3 tags");
    let other = json!([tag("x", 1), {"name": "y", "tpid": "x9100"}]);
    is_refused(device(other, Value::Null), "devices[0].ethernets[0].vlans[1].tpid: ");
    let nobody = json!([tag("x", 0)]);
    is_refused(device(nobody, Value::Null), "devices[0].ethernets[0].vlans[0].id: 0 is of no VLAN");
    let twice = json!([tag("d", 1)]);
    is_refused(
        device(twice, Value::Null),
        "devices[0].ethernets[0].vlans[0].name: there is another",
    );
}

#[test]
fn sessions_that_devices_do_not_hold_are_refused() {
    let nobody =
        json!({"router_id": "10.0.0.2", "ipv4_interfaces": [{"ipv4_name": "v5", "peers": []}]});
    let path = "devices[0].bgp.ipv4_interfaces[0].ipv4_name: the device has no IPv4 address `v5`";
    is_refused(device(json!([]), nobody), path);
    is_refused(
        device(json!([]), json!({"router_id": "10.0.0.2"})),
        "devices[0].bgp: there is no peer",
    );
    for (more, place) in [
        (json!({"as_number": 0}), "as_number: must be 1 to 4294967295, not 0"),
        (json!({"as_number": 70000, "as_number_width": "two"}), "as_number: must be 1 to 65535"),
        (json!({"advanced": {"hold_time_interval": 2}}), "advanced.hold_time_interval: "),
        (json!({"advanced": {"keep_alive_interval": 100}}), "advanced.keep_alive_interval: "),
        (json!({"advanced": {"time_to_live": 0}}), "advanced.time_to_live: "),
        (json!({"advanced": {"md5_key": "a\"b"}}), "advanced.md5_key: "),
        (json!({"advanced": {"listen_port": 1179}}), "advanced.listen_port: netanvil does not"),
        (json!({"capability": {"ipv4_unicast": false, "ipv6_unicast": false}}), "capability: "),
        (json!({"capability": {"evpn": true}}), "capability.evpn: netanvil does not support"),
        (json!({"graceful_restart": {"enable_gr": true}}), "graceful_restart: netanvil does not"),
        (json!({"v4_srte_policies": [{}]}), "v4_srte_policies: netanvil does not"),
        (json!({"peer_address": "0.0.0.0"}), "peer_address: "),
    ] {
        is_refused(peer(more), &format!("{PEER}.{place}"));
    }
}

#[test]
fn routes_that_devices_do_not_announce_are_refused() {
    for (more, place) in [
        (
            json!({"as_path": {"segments": [{"type": "as_set", "as_numbers": [1]}]}}),
            "as_path.segments[0].type: ",
        ),
        (json!({"as_path": {"as_set_mode": "include_as_confed_seq"}}), "as_path.as_set_mode: "),
        (json!({"extended_communities": [{}]}), "extended_communities: netanvil does not support"),
        (json!({"ext_communities": [{}]}), "ext_communities: netanvil does not support"),
        (json!({"add_path": {"path_id": 2}}), "add_path: netanvil does not support"),
        (json!({"mpls_labels": {}}), "mpls_labels: netanvil does not support"),
        (json!({"communities": [{"as_number": 1}]}), "communities[0].type: "),
        (json!({"next_hop_mode": "manual"}), "next_hop_ipv4_address: "),
        (json!({"next_hop_address_type": "ipv6"}), "next_hop_address_type: "),
        (json!({"advanced": {"include_origin": false}}), "advanced.include_origin: "),
        (json!({"addresses": [{"address": "255.255.255.0", "count": 2}]}), "addresses[0].count: "),
    ] {
        is_refused(range(more), &format!("{PEER}.v4_routes[0].{place}"));
    }
    let v6 = json!([{"name": "six", "addresses": [{"address": "2001:db8::"}]}]);
    is_refused(peer(json!({"v6_routes": v6})), &format!("{PEER}.v6_routes[0].next_hop_mode: "));
    let off = json!({"v6_routes": v6, "capability": {"ipv6_unicast": false}});
    is_refused(peer(off), &format!("{PEER}.v6_routes[0]: its peer does not announce ipv6_unicast"));
    let twice = json!([{"address": "10.1.0.0"}, {"address": "10.1.0.77"}]);
    is_refused(
        range(json!({"addresses": twice})),
        "devices[0].bgp: peer `p` announces 10.1.0.0/24 twice",
    );
    let many = json!([{"address": "10.0.0.0", "prefix": 32, "count": 1_000_001}]);
    is_refused(range(json!({"addresses": many})), "devices[0].bgp: 1000001 routes");
    is_refused(
        range(json!({"name": "p"})),
        &format!("{PEER}.v4_routes[0].name: there is another object"),
    );
}
