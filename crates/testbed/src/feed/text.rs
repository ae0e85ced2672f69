//! What the two daemons are to do, in BIRD's language.

use super::{Feed, INTERFACE};
use crate::addressing::{PortAddresses, routed_host};
use crate::config::TestbedConfig;
use std::fmt::Write;
use std::net::Ipv4Addr;

/// The link between router and speaker is on a network for documentation (RFC 5737), not on one of those
/// that the tests use.
pub const ROUTER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub const SPEAKER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
pub const PREFIX_LENGTH: u8 = 30;
/// Of private use (RFC 6996).
const AUTONOMOUS_SYSTEM: u16 = 64_512;
/// A neighbour is found and lost within seconds; there is no designated router on such a link.
const OSPF_LINK: &str = "tick 1; area 0 { interface \"feed0\" { type ptp; hello 1; dead 10; }; };";

/// The speaker: the host routes behind each port under a name of their own, and what is said of them.
pub fn of_speaker(feed: Feed, config: &TestbedConfig) -> String {
    let mut text = format!("router id {SPEAKER};\nprotocol device {{ }}\n");
    for port in 0..config.ports {
        let _ = writeln!(text, "protocol static hosts{port} {{ ipv4;");
        for host in 0..config.routes_per_port {
            // Nobody sends frames to the speaker; its routes lead nowhere.
            let _ = writeln!(text, "route {} blackhole;", routed_host(port, host));
        }
        text.push_str("}\n");
    }
    text.push_str("filter said {\n");
    for port in 0..config.ports {
        let attributes = match feed {
            Feed::Bgp => format!("bgp_next_hop = {};", next_hop(port)),
            Feed::Ospf => format!("ospf_metric1 = 10; ospf_tag = {};", tag(port)),
            Feed::Rip => format!("rip_metric = 1; rip_tag = {};", tag(port)),
        };
        let _ = writeln!(text, "if proto = \"hosts{port}\" then {{ {attributes} accept; }}");
    }
    text.push_str("reject;\n}\n");
    let channel = "ipv4 { import none; export filter said; };";
    text + &protocol(feed, channel, [SPEAKER, ROUTER], false)
}

/// The router: what it hears goes into the kernel's table. By BGP the next hops are said; OSPF and RIP name
/// next hops on their own link alone, so there a policy turns each route's tag into one.
pub fn of_router(feed: Feed, config: &TestbedConfig) -> String {
    let sources = match feed {
        Feed::Bgp => "RTS_BGP",
        Feed::Ospf => "RTS_OSPF_EXT1, RTS_OSPF_EXT2",
        Feed::Rip => "RTS_RIP",
    };
    let mut text = format!(
        "router id {ROUTER};\nprotocol device {{ }}\nprotocol direct {{ ipv4; }}\n\
         protocol kernel {{ ipv4 {{ import none; export where source ~ [{sources}]; }}; }}\n\
         filter heard {{\n"
    );
    let tag_name = match feed {
        Feed::Bgp => None,
        Feed::Ospf => Some("ospf_tag"),
        Feed::Rip => Some("rip_tag"),
    };
    for port in (0..config.ports).filter(|_| tag_name.is_some()) {
        let (name, tag, next_hop) = (tag_name.unwrap_or_default(), tag(port), next_hop(port));
        let _ = writeln!(text, "if {name} = {tag} then gw = {next_hop};");
    }
    text.push_str("accept;\n}\n");
    let channel = "ipv4 { import filter heard; export none; };";
    text + &protocol(feed, channel, [ROUTER, SPEAKER], true)
}

fn protocol(feed: Feed, channel: &str, [own, other]: [Ipv4Addr; 2], passive: bool) -> String {
    match feed {
        Feed::Bgp => {
            let passive = if passive { "passive yes; " } else { "" };
            format!(
                "protocol bgp {{ local {own} as {AUTONOMOUS_SYSTEM}; \
                 neighbor {other} as {AUTONOMOUS_SYSTEM}; {passive}connect delay time 1; \
                 connect retry time 1; error wait time 1, 1; {channel} }}\n"
            )
        }
        Feed::Ospf => format!("protocol ospf v2 {{ {channel} {OSPF_LINK} }}\n"),
        Feed::Rip => format!(
            "protocol rip {{ {channel} interface \"{INTERFACE}\" {{ version 2; mode multicast; }}; }}\n"
        ),
    }
}

fn next_hop(port: usize) -> Ipv4Addr {
    PortAddresses::of_port(port).ipv4.phantom_router
}

/// 0 is what routes without a tag have.
fn tag(port: usize) -> usize {
    port + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> TestbedConfig {
        TestbedConfig { ports: 3, routes_per_port: 2, ..TestbedConfig::default() }
    }

    #[test]
    fn the_speaker_has_every_route_and_says_where_it_leads() {
        let text = of_speaker(Feed::Bgp, &config());
        assert_eq!(text.matches(" blackhole;").count(), 6);
        assert!(text.contains("route 100.66.0.1/32 blackhole;"), "{text}");
        let last = "if proto = \"hosts2\" then { bgp_next_hop = 198.18.2.10; accept; }";
        assert!(text.contains(last), "{text}");
        assert!(text.contains("local 192.0.2.2 as 64512; neighbor 192.0.2.1 as 64512"), "{text}");
    }

    #[test]
    fn the_router_turns_tags_into_next_hops_where_none_are_said() {
        let text = of_router(Feed::Rip, &config());
        assert!(text.contains("if rip_tag = 2 then gw = 198.19.1.10;"), "{text}");
        assert!(text.contains("export where source ~ [RTS_RIP];"), "{text}");
        assert!(!of_router(Feed::Bgp, &config()).contains("gw ="));
        assert!(of_speaker(Feed::Ospf, &config()).contains("ospf_tag = 3;"));
    }
}
