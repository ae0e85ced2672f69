//! What the devices of a configuration are to say by BGP, and to whom.

use super::routes::{self, Prefixes, ROUTES_MAX, RoutePlan, Speaks};
use crate::device::Interface;
use crate::error::Refusal;
use crate::model::*;
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};
use trial::PortId;
use wire::ethernet::MacAddr;
use wire::vlan::Tag;

/// A key longer than this the kernel does not take (TCP_MD5SIG_MAXKEYLEN of linux/tcp.h).
const KEY_MAX: usize = 80;

/// A device that speaks BGP.
#[derive(Clone, PartialEq, Debug)]
pub struct SpeakerPlan {
    /// Where it stands in the request.
    pub path: String,
    /// Its identifier.
    pub router_id: Ipv4Addr,
    /// Where it is joined to ports.
    pub ethernets: Vec<EthernetPlan>,
    /// To whom it speaks.
    pub peers: Vec<PeerPlan>,
}

/// An Ethernet of a device over which it speaks.
#[derive(Clone, PartialEq, Debug)]
pub struct EthernetPlan {
    /// Its name.
    pub name: String,
    /// The port behind which it is.
    pub port: PortId,
    /// Its hardware address.
    pub mac: MacAddr,
    /// VLAN tags of its frames.
    pub tags: Vec<Tag>,
    /// Its addresses, with the lengths of their networks' prefixes.
    pub addresses: Vec<(IpAddr, u8)>,
    /// Peers beyond its networks, and the gateways to them.
    pub onward: Vec<(IpAddr, IpAddr)>,
}

/// A session.
#[derive(Clone, PartialEq, Debug)]
pub struct PeerPlan {
    /// Its name.
    pub name: String,
    /// The device's address.
    pub local: IpAddr,
    /// The neighbour's.
    pub neighbour: IpAddr,
    /// The device's autonomous system, and whether the neighbour is in it.
    pub speaks: Speaks,
    /// Whether numbers of autonomous systems have four bytes.
    pub wide_numbers: bool,
    /// Hold time, and time between keepalives.
    pub hold_s: u32,
    /// Between keepalives.
    pub keepalive_s: u32,
    /// Time to live of its packets.
    pub ttl: u8,
    /// Key of its segments (RFC 2385).
    pub md5_key: Option<String>,
    /// It waits for the neighbour to connect.
    pub passive: bool,
    /// Announces IPv4 unicast.
    pub ipv4: bool,
    /// Announces IPv6 unicast.
    pub ipv6: bool,
    /// Announces route refresh.
    pub route_refresh: bool,
    /// Whether IPv4 and IPv6 prefixes that it has learned are told.
    pub tells: (bool, bool),
    /// What it announces.
    pub routes: Vec<RoutePlan>,
}

/// Every device of a configuration that speaks BGP.
///
/// # Errors
/// What BIRD does not do, each with its place.
pub fn speakers(
    config: &Config,
    addresses: &[Interface],
) -> Result<Vec<SpeakerPlan>, Vec<Refusal>> {
    let (mut plans, mut errors) = (vec![], vec![]);
    for (at, device) in config.devices.iter().enumerate() {
        let Some(bgp) = &device.bgp else { continue };
        let own = addresses.iter().filter(|address| address.device == device.name).collect();
        let path = format!("devices[{at}].bgp");
        let mut making = Making { addresses: own, peers: vec![] };
        match making.plan(bgp, &path) {
            Ok(plan) => plans.push(plan),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(plans) } else { Err(errors) }
}

/// Ranges of routes as ends of flows: each has an address in every route.
pub fn ends(plans: &[SpeakerPlan], addresses: &[Interface]) -> Vec<Interface> {
    let of_peer = |peer: &PeerPlan| -> Vec<Interface> {
        let Some(own) = addresses.iter().find(|address| address.ip == peer.local) else {
            return vec![];
        };
        let of_range = |range: &RoutePlan| {
            // Whoever sends from there sends through the gateway of the same version of IP.
            let is_there = |address: &&Interface| {
                address.ethernet == own.ethernet && address.ip.is_ipv4() == range.is_ipv4()
            };
            let through = addresses.iter().find(is_there)?;
            let name = range.name.clone();
            let (device, ethernet, ends) = (name.clone(), name.clone(), range.ends());
            Some(Interface { name, device, ethernet, ends, ..through.clone() })
        };
        peer.routes.iter().filter_map(of_range).collect()
    };
    plans.iter().flat_map(|plan| &plan.peers).flat_map(of_peer).collect()
}

/// What a client should know of flows to ranges of routes.
pub fn warnings(plans: &[SpeakerPlan]) -> Vec<String> {
    let peers = plans.iter().flat_map(|plan| &plan.peers);
    peers.flat_map(|peer| &peer.routes).filter_map(RoutePlan::warning).collect()
}

/// A plan that is being made.
struct Making<'a> {
    addresses: Vec<&'a Interface>,
    peers: Vec<(&'a Interface, PeerPlan)>,
}

/// What is alike in peers over IPv4 and over IPv6.
macro_rules! peer_of {
    ($peer:expr, $own:expr, $kind:ident, $width:ident, $path:expr) => {{
        let peer = $peer;
        let speaks =
            Speaks { internal: peer.as_type == $kind::Ibgp, autonomous_system: peer.as_number };
        let filter = &peer.learned_information_filter;
        let plan = PeerPlan {
            name: peer.name.clone(),
            local: $own.ip,
            neighbour: peer.peer_address.parse().unwrap_or(IpAddr::from([0; 4])),
            speaks,
            wide_numbers: peer.as_number_width == $width::Four,
            hold_s: peer.advanced.hold_time_interval,
            keepalive_s: peer.advanced.keep_alive_interval,
            ttl: peer.advanced.time_to_live as u8,
            md5_key: peer.advanced.md5_key.clone().filter(|key| !key.is_empty()),
            passive: peer.advanced.passive_mode,
            ipv4: peer.capability.ipv4_unicast,
            ipv6: peer.capability.ipv6_unicast,
            route_refresh: peer.capability.route_refresh,
            tells: (filter.unicast_ipv4_prefix, filter.unicast_ipv6_prefix),
            routes: vec![],
        };
        check(&plan, $path)?;
        plan
    }};
}

/// What is alike in ranges of IPv4 and of IPv6 routes.
macro_rules! range_of {
    (
        $range:expr,
        ($making:expr, $own:expr, $peer:expr),
        ($mode:ident, $family:ident, $other:ident, $manual:ident, $is_ipv4:literal),
        $path:expr
    ) => {{
        let (range, path): (_, &str) = ($range, $path);
        if range.next_hop_address_type == $family::$other {
            let what = "next hops of the other version of IP (RFC 8950) are not supported";
            return Err(Refusal::new(&format!("{path}.next_hop_address_type"), what.into()));
        }
        let prefixes = range.addresses.iter().enumerate().map(|(at, of)| {
            let path = format!("{path}.addresses[{at}]");
            let address: IpAddr = of.address.parse().unwrap_or(IpAddr::from([0; 4]));
            Prefixes::new(address, (of.prefix, of.count, of.step), &path)
        });
        let prefixes = prefixes.collect::<Result<Vec<_>, _>>()?;
        let manual = (range.next_hop_mode == $mode::Manual).then(|| range.$manual.parse().ok());
        let next_hop = $making.next_hop($own, manual.flatten(), $is_ipv4, path)?;
        let said = (&range.advanced, &range.as_path);
        let speaks = ($peer.speaks, next_hop);
        let attributes = routes::attributes(said, &range.communities, speaks, path)?;
        RoutePlan { name: range.name.clone(), prefixes, attributes }
    }};
}

impl<'a> Making<'a> {
    fn plan(&mut self, bgp: &DeviceBgpRouter, path: &str) -> Result<SpeakerPlan, Refusal> {
        for (at, interface) in bgp.ipv4_interfaces.iter().enumerate() {
            let path = format!("{path}.ipv4_interfaces[{at}]");
            let own = self.address(&interface.ipv4_name, true, &format!("{path}.ipv4_name"))?;
            for (at, peer) in interface.peers.iter().enumerate() {
                let path = format!("{path}.peers[{at}]");
                let mut plan = peer_of!(peer, own, BgpV4PeerAsType, BgpV4PeerAsNumberWidth, &path);
                let routes = (&peer.v4_routes[..], &peer.v6_routes[..]);
                plan.routes = self.routes(routes, (own, &plan), &path)?;
                self.peers.push((own, plan));
            }
        }
        for (at, interface) in bgp.ipv6_interfaces.iter().enumerate() {
            let path = format!("{path}.ipv6_interfaces[{at}]");
            let own = self.address(&interface.ipv6_name, false, &format!("{path}.ipv6_name"))?;
            for (at, peer) in interface.peers.iter().enumerate() {
                let path = format!("{path}.peers[{at}]");
                let mut plan = peer_of!(peer, own, BgpV6PeerAsType, BgpV6PeerAsNumberWidth, &path);
                let routes = (&peer.v4_routes[..], &peer.v6_routes[..]);
                plan.routes = self.routes(routes, (own, &plan), &path)?;
                self.peers.push((own, plan));
            }
        }
        let routes = self.peers.iter().flat_map(|(_, peer)| &peer.routes);
        let count: u64 = routes.flat_map(|range| &range.prefixes).map(Prefixes::count).sum();
        if count > ROUTES_MAX {
            let what = format!("{count} routes; a device has {ROUTES_MAX} at most");
            return Err(Refusal::new(path, what));
        }
        for (_, peer) in &self.peers {
            differ(peer, path)?;
        }
        let peers: Vec<PeerPlan> = self.peers.iter().map(|(_, peer)| peer.clone()).collect();
        if peers.is_empty() {
            let what = "there is no peer: give one, or leave bgp out";
            return Err(Refusal::new(path, what.into()));
        }
        let router_id = bgp.router_id.parse().unwrap_or(Ipv4Addr::UNSPECIFIED);
        if router_id.is_unspecified() {
            let what = "0.0.0.0 identifies nobody (RFC 6286)";
            return Err(Refusal::new(&format!("{path}.router_id"), what.into()));
        }
        Ok(SpeakerPlan { path: path.into(), router_id, ethernets: self.ethernets(), peers })
    }

    fn address(&self, name: &str, ipv4: bool, path: &str) -> Result<&'a Interface, Refusal> {
        let named = self.addresses.iter().find(|own| own.name == name && own.ip.is_ipv4() == ipv4);
        named.copied().ok_or_else(|| {
            let version = if ipv4 { "IPv4" } else { "IPv6" };
            Refusal::new(path, format!("the device has no {version} address `{name}`"))
        })
    }

    fn routes(
        &self,
        (v4, v6): (&[BgpV4RouteRange], &[BgpV6RouteRange]),
        (own, peer): (&Interface, &PeerPlan),
        path: &str,
    ) -> Result<Vec<RoutePlan>, Refusal> {
        let mut routes = vec![];
        let announces = |is_announced: bool, property: &str, path: &str| match is_announced {
            true => Ok(()),
            false => {
                let what =
                    format!("its peer does not announce {property}: set capability.{property}");
                Err(Refusal::new(path, what))
            }
        };
        for (at, range) in v4.iter().enumerate() {
            use BgpV4RouteRangeNextHopAddressType as Family;
            use BgpV4RouteRangeNextHopMode as Mode;
            let path = format!("{path}.v4_routes[{at}]");
            announces(peer.ipv4, "ipv4_unicast", &path)?;
            routes.push(range_of!(
                range,
                (self, own, peer),
                (Mode, Family, Ipv6, next_hop_ipv4_address, true),
                &path
            ));
        }
        for (at, range) in v6.iter().enumerate() {
            use BgpV6RouteRangeNextHopAddressType as Family;
            use BgpV6RouteRangeNextHopMode as Mode;
            let path = format!("{path}.v6_routes[{at}]");
            announces(peer.ipv6, "ipv6_unicast", &path)?;
            routes.push(range_of!(
                range,
                (self, own, peer),
                (Mode, Family, Ipv4, next_hop_ipv6_address, false),
                &path
            ));
        }
        Ok(routes)
    }

    /// The next hop of a range: the one given, or the device's own address of that version of IP.
    fn next_hop(
        &self,
        own: &Interface,
        manual: Option<IpAddr>,
        ipv4: bool,
        path: &str,
    ) -> Result<IpAddr, Refusal> {
        let version = if ipv4 { "ipv4" } else { "ipv6" };
        if let Some(address) = manual {
            return match address.is_unspecified() {
                false => Ok(address),
                true => {
                    let path = format!("{path}.next_hop_{version}_address");
                    Err(Refusal::new(&path, "next_hop_mode is manual: give it".into()))
                }
            };
        }
        let here = self.addresses.iter().filter(|other| other.ethernet == own.ethernet);
        let mut own_first = std::iter::once(&own).chain(here);
        let found = own_first.find(|address| address.ip.is_ipv4() == ipv4);
        found.map(|address| address.ip).ok_or_else(|| {
            let what = format!(
                "the Ethernet `{}` has no {version} address for it; give it one, or write manual",
                own.ethernet
            );
            Refusal::new(&format!("{path}.next_hop_mode"), what)
        })
    }

    /// The Ethernets of the peers, each once.
    fn ethernets(&self) -> Vec<EthernetPlan> {
        let mut ethernets: Vec<EthernetPlan> = vec![];
        for (own, _) in &self.peers {
            if ethernets.iter().any(|there| there.name == own.ethernet) {
                continue;
            }
            let here = || self.addresses.iter().filter(|other| other.ethernet == own.ethernet);
            let peers = self.peers.iter().filter(|(address, _)| address.ethernet == own.ethernet);
            let beyond = peers.filter(|(address, peer)| !is_near(address, peer.neighbour));
            ethernets.push(EthernetPlan {
                name: own.ethernet.clone(),
                port: own.port,
                mac: own.mac,
                tags: own.tags.clone(),
                addresses: here().map(|address| (address.ip, address.prefix)).collect(),
                onward: beyond.map(|(address, peer)| (peer.neighbour, address.gateway)).collect(),
            });
        }
        ethernets
    }
}

/// Whether an address is in the network of a device's address.
pub fn is_near(own: &Interface, address: IpAddr) -> bool {
    let bits = if own.ip.is_ipv4() { 32 } else { 128 };
    let host = u32::from(bits - own.prefix.min(bits));
    let difference = crate::device::number(own.ip) ^ crate::device::number(address);
    own.ip.is_ipv4() == address.is_ipv4() && difference.checked_shr(host).unwrap_or(0) == 0
}

fn check(peer: &PeerPlan, path: &str) -> Result<(), Refusal> {
    let refuse =
        |property: &str, what: String| Err(Refusal::new(&format!("{path}.{property}"), what));
    let number = peer.speaks.autonomous_system;
    if number == 0 || !peer.wide_numbers && number > u32::from(u16::MAX) {
        let most = if peer.wide_numbers { u32::MAX } else { u16::MAX.into() };
        return refuse("as_number", format!("must be 1 to {most}, not {number}"));
    }
    if matches!(peer.hold_s, 1 | 2) || peer.hold_s > u16::MAX.into() {
        let what = "must be 0, or 3 to 65535 seconds (RFC 4271 section 4.2)";
        return refuse("advanced.hold_time_interval", what.into());
    }
    let most = if peer.hold_s == 0 { u16::MAX.into() } else { peer.hold_s };
    if !(1..=most).contains(&peer.keepalive_s) {
        return refuse("advanced.keep_alive_interval", format!("must be 1 to {most} seconds"));
    }
    if peer.ttl == 0 {
        return refuse("advanced.time_to_live", "must be 1 to 255".into());
    }
    let is_plain = |key: &String| {
        key.len() <= KEY_MAX && key.chars().all(|c| c.is_ascii_graphic() && c != '"' || c == ' ')
    };
    if peer.md5_key.as_ref().is_some_and(|key| !is_plain(key)) {
        let what = format!("must be up to {KEY_MAX} printable ASCII characters without quotes");
        return refuse("advanced.md5_key", what);
    }
    if !peer.ipv4 && !peer.ipv6 {
        let what = "announce ipv4_unicast, ipv6_unicast or both";
        return refuse("capability", what.into());
    }
    if peer.neighbour.is_unspecified() {
        return refuse("peer_address", "must be an address of somebody".into());
    }
    Ok(())
}

/// A speaker says one thing of a prefix.
fn differ(peer: &PeerPlan, path: &str) -> Result<(), Refusal> {
    let mut seen = BTreeSet::new();
    for range in &peer.routes {
        if range.prefixes.is_empty() {
            let what =
                format!("the routes `{}` of peer `{}` have no address", range.name, peer.name);
            return Err(Refusal::new(path, what));
        }
        for (network, length) in range.prefixes.iter().flat_map(Prefixes::all) {
            if !seen.insert((network, length)) {
                let what = format!(
                    "peer `{}` announces {network}/{length} twice, again in `{}`",
                    peer.name, range.name
                );
                return Err(Refusal::new(path, what));
            }
        }
    }
    Ok(())
}
