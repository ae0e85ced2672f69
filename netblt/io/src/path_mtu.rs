//! How long a packet the way to a peer bears, as far as this host knows: the MTU of its route, or less where a router has
//! said so (RFC 1191, RFC 8201). What lies behind a router that says nothing only a packet of that length tells.

use crate::seal::SEAL_BYTES;
use crate::socket::Carrier;
use netblt::{DATA_HEADER_LEN, PADDED_TO};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// What carries data packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Envelope {
    /// UDP, or raw IP.
    pub carrier: Carrier,
    /// Packets are sealed.
    pub sealed: bool,
}

impl Envelope {
    /// Bytes of data in an IP packet of so many bytes, as NETBLT pads its packets to four (RFC 998 section 8); 1 if there is
    /// no room for any.
    pub fn data_bytes(self, peer: SocketAddr, packet_bytes: u32) -> u16 {
        // RFC 791 section 3.1 without options, RFC 8200 section 3, RFC 768.
        let ip = if peer.ip().to_canonical().is_ipv4() { 20 } else { 40 };
        let udp = if self.carrier == Carrier::Udp { 8 } else { 0 };
        let seal = if self.sealed { SEAL_BYTES } else { 0 };
        let room = (packet_bytes as usize).saturating_sub(ip + udp + seal) / PADDED_TO * PADDED_TO;
        u16::try_from(room.saturating_sub(DATA_HEADER_LEN)).unwrap_or(u16::MAX).max(1)
    }
}

/// Bytes of an IP packet with its header; None where the host does not say, or has no route. No packet leaves.
pub fn path_mtu_bytes(mut peer: SocketAddr) -> Option<u32> {
    peer.set_ip(peer.ip().to_canonical());
    let any: SocketAddr = match peer {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any).ok()?;
    // Of raw IP's peers there is no port; to 0 nothing connects.
    let port = if peer.port() == 0 { 9 } else { peer.port() };
    peer.set_port(port);
    socket.connect(peer).ok()?;
    known(&socket, peer)
}

#[cfg(target_os = "linux")]
fn known(socket: &UdpSocket, peer: SocketAddr) -> Option<u32> {
    use rustix::net::sockopt::{ip_mtu, ipv6_mtu};
    match peer {
        SocketAddr::V4(_) => ip_mtu(socket).ok(),
        SocketAddr::V6(_) => ipv6_mtu(socket).ok(),
    }
}

#[cfg(not(target_os = "linux"))]
fn known(_: &UdpSocket, _: SocketAddr) -> Option<u32> {
    None
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    /// Linux gives its loopback interface 65,536 bytes; of IPv4 no packet is longer than 65,535 (RFC 791 section 3.1).
    #[test]
    fn the_loopback_interface_has_its_mtu() {
        for (peer, bytes) in [
            ("127.0.0.1:20030", 65_535),
            ("127.0.0.1:0", 65_535),
            ("[::ffff:127.0.0.1]:20030", 65_535),
            ("[::1]:20030", 65_536),
        ] {
            assert_eq!(path_mtu_bytes(peer.parse().unwrap()), Some(bytes), "{peer}");
        }
    }
}
