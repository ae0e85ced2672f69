//! Who the device is on each of its networks.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::decnet;
use wire::ethernet::MacAddr;

/// One port's addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interface {
    /// Its Ethernet address; where it routes DECnet it also has the one that follows from the
    /// node's.
    pub mac: MacAddr,
    /// Its IPv4 address and the length of its network's prefix.
    pub ipv4: (Ipv4Addr, u8),
    /// The same in IPv6.
    pub ipv6: (Ipv6Addr, u8),
    /// Its AppleTalk address; its network is the only one of its cable.
    pub appletalk: wire::appletalk::Address,
    /// Number of its IPX network.
    pub ipx_network: u32,
}

/// A network beyond a router on one of the device's own networks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StaticRoute {
    /// Address of the network.
    pub network: IpAddr,
    /// Length of its prefix.
    pub prefix_length: u8,
    /// The next hop.
    pub via: IpAddr,
}

/// All addresses of a device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Addresses {
    /// One a port.
    pub interfaces: Vec<Interface>,
    /// Its DECnet address.
    pub decnet: decnet::Address,
    /// Beyond the attached networks.
    pub routes: Vec<StaticRoute>,
}

impl Addresses {
    /// The plan of RFC 2544 appendix C.2.2 (and RFC 5180 section 8): ports take turns on the input
    /// and the output side; the device is node 1 of 198.18.n.0/24 or 198.19.n.0/24 and of
    /// 2001:2:0:(n-1)::/64 or 2001:2:0:8000+(n-1)::/64. Beside it: AppleTalk network 100 x (p + 1),
    /// node 1, and IPX network p + 1 at port p, counted from 0; DECnet node 2.1.
    pub fn plan(ports: usize) -> Self {
        let interface = |port: usize| {
            let (side, network) = ((port % 2) as u16, (port / 2) as u16);
            let low = Ipv4Addr::new(198, 18 + side as u8, network as u8 + 1, 1);
            Interface {
                mac: MacAddr([0x02, 0, 0, 0, port as u8, 1]),
                ipv4: (low, 24),
                ipv6: (Ipv6Addr::new(0x2001, 2, 0, 0x8000 * side + network, 0, 0, 0, 1), 64),
                appletalk: wire::appletalk::Address::new(100 * (port as u16 + 1), 1),
                ipx_network: port as u32 + 1,
            }
        };
        Addresses {
            interfaces: (0..ports).map(interface).collect(),
            decnet: decnet::Address::new(2, 1),
            routes: vec![],
        }
    }
}
