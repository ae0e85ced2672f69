//! A device in BIRD's language.

use super::plan::{PeerPlan, SpeakerPlan};
use super::routes::{Attributes, Prefixes, RoutePlan};
use std::fmt::Write;

/// The name of a peer's protocol: of the device's peers it is number `peer`.
pub fn peer_name(peer: usize) -> String {
    format!("p{peer}")
}

/// The name of the protocol of a peer's range.
pub fn range_name(peer: usize, range: usize) -> String {
    format!("r{peer}_{range}")
}

/// The table of a peer's routes of one version of IP.
pub fn table_name(peer: usize, ipv4: bool) -> String {
    format!("t{peer}_{}", if ipv4 { "ipv4" } else { "ipv6" })
}

/// The whole configuration. Sessions begin when they are enabled; routes are there from the beginning.
pub fn of(plan: &SpeakerPlan) -> String {
    let mut text = format!("router id {};\nprotocol device {{ }}\n", plan.router_id);
    for (at, peer) in plan.peers.iter().enumerate() {
        for ipv4 in families(peer) {
            let family = if ipv4 { "ipv4" } else { "ipv6" };
            let table = table_name(at, ipv4);
            // A table for each peer: what one tells, and what it hears, is no other's.
            let _ = writeln!(text, "{family} table {table};");
            let ranges = || peer.routes.iter().enumerate().filter(|(_, r)| r.is_ipv4() == ipv4);
            ranges().for_each(|(n, range)| routes(&mut text, (&range_name(at, n), range), &table));
            let _ = writeln!(text, "filter out_{table} {{");
            for (n, range) in ranges() {
                let said = attributes(&range.attributes);
                let _ = writeln!(
                    text,
                    "if proto = \"{}\" then {{ {said} accept; }}",
                    range_name(at, n)
                );
            }
            text.push_str("reject;\n}\n");
        }
        session(&mut text, at, peer);
    }
    text
}

fn families(peer: &PeerPlan) -> impl Iterator<Item = bool> {
    [(true, peer.ipv4), (false, peer.ipv6)].into_iter().filter(|(_, on)| *on).map(|(ipv4, _)| ipv4)
}

fn routes(text: &mut String, (name, range): (&str, &RoutePlan), table: &str) {
    let family = if range.is_ipv4() { "ipv4" } else { "ipv6" };
    let _ = writeln!(text, "protocol static {name} {{ {family} {{ table {table}; }};");
    // Nobody sends frames to the namespace: routes lead nowhere there.
    for (network, length) in range.prefixes.iter().flat_map(Prefixes::all) {
        let _ = writeln!(text, "route {network}/{length} blackhole;");
    }
    text.push_str("}\n");
}

fn attributes(said: &Attributes) -> String {
    let mut text = format!("bgp_origin = ORIGIN_{}; bgp_path = +empty+;", said.origin);
    // The last one to be put before is the first.
    for number in said.as_path.iter().rev() {
        let _ = write!(text, " bgp_path.prepend({number});");
    }
    let _ = write!(text, " bgp_next_hop = {};", said.next_hop);
    if let Some(med) = said.med {
        let _ = write!(text, " bgp_med = {med};");
    }
    if let Some(preference) = said.local_preference {
        let _ = write!(text, " bgp_local_pref = {preference};");
    }
    for (number, value) in &said.communities {
        let _ = write!(text, " bgp_community.add(({number},{value}));");
    }
    text
}

fn session(text: &mut String, at: usize, peer: &PeerPlan) {
    let name = peer_name(at);
    let number = peer.speaks.autonomous_system;
    let side = if peer.speaks.internal { "internal" } else { "external" };
    let _ = writeln!(
        text,
        "protocol bgp {name} {{\ndisabled yes;\nlocal {} as {number};\nneighbor {} {side};",
        peer.local, peer.neighbour
    );
    match peer.ttl {
        1 => text.push_str("direct;\n"),
        ttl => drop(writeln!(text, "multihop {ttl};")),
    }
    if !peer.speaks.internal {
        // The filters write the whole path, its own number included where it is wanted.
        text.push_str("rs client;\n");
    }
    let switch = |on: bool| if on { "on" } else { "off" };
    let _ = writeln!(
        text,
        "hold time {}; keepalive time {}; passive {}; enable as4 {}; enable route refresh {};",
        peer.hold_s,
        peer.keepalive_s,
        switch(peer.passive),
        switch(peer.wide_numbers),
        switch(peer.route_refresh)
    );
    if let Some(key) = &peer.md5_key {
        let _ = writeln!(text, "password \"{key}\";");
    }
    text.push_str(
        "connect delay time 1; connect retry time 2; error wait time 1, 2; graceful restart off;\n\
         long lived graceful restart off; interpret communities off;\n",
    );
    for ipv4 in families(peer) {
        let (family, table) = (if ipv4 { "ipv4" } else { "ipv6" }, table_name(at, ipv4));
        let _ =
            writeln!(text, "{family} {{ table {table}; import all; export filter out_{table}; }};");
    }
    text.push_str("}\n");
}
