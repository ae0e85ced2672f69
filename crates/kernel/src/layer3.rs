//! Addresses, routes and permanent neighbours by rtnetlink. Every request replaces what is there,
//! so that a port can be configured again after a reset.

use crate::error::Result;
use crate::netlink::Rtnetlink;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_REPLACE};
use netlink_packet_route::address::{AddressAttribute, AddressFlags, AddressMessage};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use serde::Serialize;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const REPLACE: u16 = NLM_F_CREATE | NLM_F_REPLACE;

/// A network: an address with its host part zero, and the length of its prefix in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Network {
    /// Address of the network.
    pub address: IpAddr,
    /// Length of the prefix in bits.
    pub prefix_length: u8,
}

impl Network {
    /// The first address after the network's own: the host a stream is sent to.
    pub fn first_host(&self) -> IpAddr {
        match self.address {
            address if self.prefix_length == bits_of(address) => address,
            IpAddr::V4(a) => Ipv4Addr::from_bits(a.to_bits() + 1).into(),
            IpAddr::V6(a) => Ipv6Addr::from_bits(a.to_bits() + 1).into(),
        }
    }
}

/// Bits of an address of this family.
pub fn bits_of(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix_length)
    }
}

impl Rtnetlink {
    /// Gives an interface an address, at once usable (no duplicate address detection).
    pub fn set_address(&mut self, index: u32, address: IpAddr, prefix_length: u8) -> Result<()> {
        let mut message = AddressMessage::default();
        message.header.family = family(address);
        message.header.prefix_len = prefix_length;
        message.header.index = index;
        message.attributes =
            vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
        if address.is_ipv6() {
            message.attributes.push(AddressAttribute::Flags(AddressFlags::Nodad));
        }
        let doing = format!("give interface {index} the address {address}/{prefix_length}");
        self.request(RouteNetlinkMessage::NewAddress(message), REPLACE, &doing)
    }

    /// Takes an address from an interface.
    pub fn delete_address(&mut self, index: u32, address: IpAddr, prefix_length: u8) -> Result<()> {
        let mut message = AddressMessage::default();
        message.header.family = family(address);
        message.header.prefix_len = prefix_length;
        message.header.index = index;
        message.attributes = vec![AddressAttribute::Local(address)];
        let doing = format!("take the address {address}/{prefix_length} from interface {index}");
        self.request(RouteNetlinkMessage::DelAddress(message), 0, &doing)
    }

    /// Routes a network through a neighbour.
    pub fn set_route(&mut self, index: u32, network: Network, next_hop: IpAddr) -> Result<()> {
        let message = route_message(index, network, next_hop);
        let doing = format!("route {network} through {next_hop}");
        self.request(RouteNetlinkMessage::NewRoute(message), REPLACE, &doing)
    }

    /// Routes many networks through a neighbour: the requests go to the kernel in one piece, and only the
    /// last asks for an answer.
    pub fn set_routes(
        &mut self,
        index: u32,
        networks: impl Iterator<Item = Network>,
        next_hop: IpAddr,
        doing: &str,
    ) -> Result<()> {
        let messages = networks.map(|network| route_message(index, network, next_hop));
        self.request_batch(messages.map(RouteNetlinkMessage::NewRoute).collect(), doing)
    }

    /// Fixes the Ethernet address of a neighbour: neither ARP nor neighbour discovery asks for it.
    pub fn set_permanent_neighbour(
        &mut self,
        index: u32,
        address: IpAddr,
        mac: [u8; 6],
    ) -> Result<()> {
        let mut message = NeighbourMessage::default();
        message.header.family = family(address);
        message.header.ifindex = index;
        message.header.state = NeighbourState::Permanent;
        message.attributes = vec![
            NeighbourAttribute::Destination(match address {
                IpAddr::V4(a) => NeighbourAddress::Inet(a),
                IpAddr::V6(a) => NeighbourAddress::Inet6(a),
            }),
            NeighbourAttribute::LinkLayerAddress(mac.to_vec()),
        ];
        let doing = format!("fix the neighbour {address} on interface {index}");
        self.request(RouteNetlinkMessage::NewNeighbour(message), REPLACE, &doing)
    }
}

/// A route to a network through a neighbour.
fn route_message(index: u32, network: Network, next_hop: IpAddr) -> RouteMessage {
    let mut message = RouteMessage::default();
    message.header.address_family = family(network.address);
    message.header.destination_prefix_length = network.prefix_length;
    message.header.table = RouteHeader::RT_TABLE_MAIN;
    message.header.protocol = RouteProtocol::Static;
    message.header.scope = RouteScope::Universe;
    message.header.kind = RouteType::Unicast;
    message.attributes = vec![
        RouteAttribute::Destination(route_address(network.address)),
        RouteAttribute::Gateway(route_address(next_hop)),
        RouteAttribute::Oif(index),
    ];
    message
}

fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

fn route_address(address: IpAddr) -> RouteAddress {
    match address {
        IpAddr::V4(a) => RouteAddress::Inet(a),
        IpAddr::V6(a) => RouteAddress::Inet6(a),
    }
}
