//! Facts about an interface of this machine, for hardware ports and for `doctor`.

use crate::error::Result;
use crate::ethtool::{Channels, Ethtool, Feature};
use crate::netlink::Rtnetlink;
use crate::state::kind_of;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{
    LinkAttribute, LinkFlags, LinkLayerType, LinkMessage, LinkXdp, XdpAttached,
};
use netlink_packet_route::route::{RouteAttribute, RouteMessage};
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// What the kernel says of one interface.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InterfaceFacts {
    /// Name.
    pub name: String,
    /// Index.
    pub index: u32,
    /// Kind of a virtual interface (`veth`, `bridge`, ...); none for hardware.
    pub kind: Option<String>,
    /// Whether it is Ethernet.
    pub ethernet: bool,
    /// Ethernet address.
    pub mac: Option<[u8; 6]>,
    /// Set up by the administrator.
    pub up: bool,
    /// The link has a carrier.
    pub carrier: bool,
    /// MTU in bytes: frame size less 18.
    pub mtu_bytes: u32,
    /// Driver.
    pub driver: Option<String>,
    /// Bus address, of hardware.
    pub bus_address: Option<String>,
    /// Speed in Mbit/s, where there is one (a veth says 10,000 and means nothing by it).
    pub speed_mbps: Option<u32>,
    /// Queues in use.
    pub channels: Option<Channels>,
    /// Features by the kernel's own names.
    pub features: BTreeMap<String, Feature>,
    /// An XDP program is attached: somebody else's port is open.
    pub xdp_attached: bool,
    /// Interface it is a port of (a bridge or bond), by index.
    pub controller: Option<u32>,
    /// IP addresses the host has on it.
    pub addresses: Vec<IpAddr>,
    /// Whether a default route leaves by it.
    pub has_default_route: bool,
}

impl InterfaceFacts {
    /// Reads the facts of an interface in the calling thread's namespace.
    pub fn read(name: &str) -> Result<Self> {
        let mut netlink = Rtnetlink::here()?;
        let link = netlink.link(name)?;
        facts(&mut netlink, name, &link)
    }

    /// Reads the facts of every interface in the calling thread's namespace, by index.
    pub fn read_all() -> Result<Vec<Self>> {
        let mut netlink = Rtnetlink::here()?;
        let request = RouteNetlinkMessage::GetLink(LinkMessage::default());
        let links = netlink.dump(request, "list the interfaces")?;
        let named = links.into_iter().filter_map(|answer| match answer {
            RouteNetlinkMessage::NewLink(link) => Some((name_of(&link)?, link)),
            _ => None,
        });
        named.map(|(name, link)| facts(&mut netlink, &name, &link)).collect()
    }

    /// Features of a list that are on.
    pub fn features_on(&self, among: &[&'static str]) -> Vec<&'static str> {
        let on = |name: &&&str| self.features.get(**name).is_some_and(|f| f.on);
        among.iter().filter(on).copied().collect()
    }
}

fn facts(netlink: &mut Rtnetlink, name: &str, link: &LinkMessage) -> Result<InterfaceFacts> {
    let index = link.header.index;
    let ethtool = Ethtool::open(name)?;
    let mut facts = InterfaceFacts {
        name: name.to_owned(),
        index,
        kind: None,
        ethernet: link.header.link_layer_type == LinkLayerType::Ether,
        mac: None,
        up: link.header.flags.contains(LinkFlags::Up),
        carrier: link.header.flags.contains(LinkFlags::LowerUp),
        mtu_bytes: 0,
        driver: Some(ethtool.driver()).filter(|driver| !driver.is_empty()),
        bus_address: ethtool.bus_address(),
        // What an interface does not know of itself is absent, not an error.
        speed_mbps: ethtool.speed_mbps(),
        channels: ethtool.channels().ok(),
        features: ethtool.features().unwrap_or_default(),
        xdp_attached: false,
        controller: None,
        addresses: addresses(netlink, index)?,
        has_default_route: has_default_route(netlink, index)?,
    };
    for attribute in &link.attributes {
        match attribute {
            LinkAttribute::Mtu(mtu) => facts.mtu_bytes = *mtu,
            LinkAttribute::Controller(controller) => facts.controller = Some(*controller),
            LinkAttribute::Address(mac) => facts.mac = mac.as_slice().try_into().ok(),
            LinkAttribute::Xdp(xdp) => facts.xdp_attached = xdp.iter().any(is_attached),
            LinkAttribute::LinkInfo(info) => facts.kind = info.iter().find_map(kind_of),
            _ => {}
        }
    }
    Ok(facts)
}

fn name_of(link: &LinkMessage) -> Option<String> {
    link.attributes.iter().find_map(|attribute| match attribute {
        LinkAttribute::IfName(name) => Some(name.clone()),
        _ => None,
    })
}

fn is_attached(xdp: &LinkXdp) -> bool {
    matches!(xdp, LinkXdp::Attached(attached) if *attached != XdpAttached::None)
}

fn addresses(netlink: &mut Rtnetlink, index: u32) -> Result<Vec<IpAddr>> {
    let request = RouteNetlinkMessage::GetAddress(AddressMessage::default());
    let answers = netlink.dump(request, "list the addresses")?;
    let of_interface = answers.into_iter().filter_map(|answer| match answer {
        RouteNetlinkMessage::NewAddress(a) if a.header.index == index => Some(a.attributes),
        _ => None,
    });
    let address = |attributes: Vec<AddressAttribute>| {
        attributes.into_iter().find_map(|attribute| match attribute {
            AddressAttribute::Address(address) => Some(address),
            _ => None,
        })
    };
    Ok(of_interface.filter_map(address).collect())
}

fn has_default_route(netlink: &mut Rtnetlink, index: u32) -> Result<bool> {
    let request = RouteNetlinkMessage::GetRoute(RouteMessage::default());
    let answers = netlink.dump(request, "list the routes")?;
    let leaves_here =
        |attribute: &RouteAttribute| matches!(attribute, RouteAttribute::Oif(i) if *i == index);
    Ok(answers.iter().any(|answer| match answer {
        RouteNetlinkMessage::NewRoute(route) => {
            route.header.destination_prefix_length == 0 && route.attributes.iter().any(leaves_here)
        }
        _ => false,
    }))
}
