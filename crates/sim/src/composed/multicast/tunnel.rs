//! Tunnels between a port and the host there: frames are taken out of them as they come, and put into
//! them as they leave. The other end is whoever spoke last.

use super::table::Medium;
use crate::Frame;
use crate::composed::addresses::Interface;
use std::net::Ipv4Addr;
use trial::PortId;
use wire::ethernet::{self, EtherType, HEADER_LEN, MacAddr};
use wire::ipv4::{self, Protocol};
use wire::{gre, udp, vxlan};

/// The other end of a tunnel.
#[derive(Clone, Copy, Debug)]
struct Peer {
    mac: MacAddr,
    address: Ipv4Addr,
    network: u32,
}

/// Of each port, by GRE and by VXLAN.
#[derive(Clone, Debug)]
pub(super) struct Tunnels {
    peers: Vec<[Option<Peer>; 3]>,
}

impl Tunnels {
    pub(super) fn new(ports: usize) -> Self {
        Tunnels { peers: vec![[None; 3]; ports] }
    }

    pub(super) fn clear(&mut self) {
        self.peers.fill([None; 3]);
    }

    /// The frame within one that is sent to this port; `None` where it came by no tunnel.
    pub(super) fn unwrap(
        &mut self,
        interface: &Interface,
        port: PortId,
        frame: &[u8],
    ) -> Option<(Medium, Vec<u8>)> {
        let (header, packet) = ethernet::Repr::parse(frame).ok()?;
        if header.ether_type != EtherType::IPV4 {
            return None;
        }
        let (ip, payload) = ipv4::Repr::parse(packet).ok()?;
        let (medium, network, within) = match ip.protocol {
            _ if ip.dst != interface.ipv4.0 => return None,
            Protocol::GRE => (Medium::Gre, 0, out_of_gre(payload)?),
            Protocol::UDP => {
                let (network, within) = out_of_vxlan(payload)?;
                (Medium::Vxlan, network, within)
            }
            _ => return None,
        };
        let peer = Peer { mac: header.src, address: ip.src, network };
        self.peers[usize::from(port.0)][medium as usize] = Some(peer);
        Some((medium, within))
    }

    /// A frame as it leaves by a medium at a port.
    pub(super) fn wrap(
        &self,
        interface: &Interface,
        medium: Medium,
        port: PortId,
        frame: Frame,
    ) -> Option<Frame> {
        if medium == Medium::Plain {
            return Some(frame);
        }
        let peer = self.peers[usize::from(port.0)][medium as usize]?;
        let (src, dst) = ((interface.mac, interface.ipv4.0), (peer.mac, peer.address));
        let bytes = match medium {
            Medium::Gre => gre::frame_over_ipv4(src, dst, &frame).ok()?,
            _ => vxlan::frame_over_ipv4(src, dst, peer.network, &frame),
        };
        Some(Frame::from(bytes))
    }
}

/// The packet within, as a frame to its group.
fn out_of_gre(payload: &[u8]) -> Option<Vec<u8>> {
    let (gre, packet) = gre::Repr::parse(payload).ok()?;
    let dst = match gre.protocol {
        EtherType::IPV4 => MacAddr::of_ipv4_group(ipv4::Repr::parse(packet).ok()?.0.dst),
        EtherType::IPV6 => MacAddr::of_ipv6_group(wire::ipv6::Repr::parse(packet).ok()?.0.dst),
        _ => return None,
    };
    let header = ethernet::Repr { dst, src: MacAddr::ZERO, ether_type: gre.protocol };
    let mut bytes = vec![0; HEADER_LEN];
    header.emit(&mut bytes);
    bytes.extend_from_slice(packet);
    Some(bytes)
}

fn out_of_vxlan(payload: &[u8]) -> Option<(u32, Vec<u8>)> {
    let (udp, data) = udp::Repr::parse(payload).ok()?;
    let (vxlan, within) = vxlan::Repr::parse(data).ok()?;
    (udp.dst_port == vxlan::PORT).then(|| (vxlan.network, within.to_vec()))
}
