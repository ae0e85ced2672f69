//! Addresses, routes and permanent neighbours by rtnetlink. Every request replaces what is there,
//! so that a port can be configured again after a reset.

use crate::addressing::Network;
use crate::error::Result;
use crate::netlink::Netlink;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_REPLACE};
use netlink_packet_route::address::{AddressAttribute, AddressFlags, AddressMessage};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use std::net::IpAddr;

const REPLACE: u16 = NLM_F_CREATE | NLM_F_REPLACE;

impl Netlink<RouteNetlinkMessage> {
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
pub(crate) fn route_message(index: u32, network: Network, next_hop: IpAddr) -> RouteMessage {
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
