//! Frames by which a device learns where the tester's addresses are, before a trial.

use crate::arp::{Operation, Repr};
use crate::ethernet::{self, EtherType, MacAddr};
use crate::icmpv6::{self, ND_HOP_LIMIT};
use crate::ipv4::Protocol;
use crate::ipv6;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The link's nodes, to which an unsolicited advertisement goes.
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);

/// The learning frame of RFC 2544 C.2.6.1: an ARP request from the host or phantom router that is
/// to be learned for the address of the device's port. As the RFC prints it, with a target MAC
/// address of all ones.
pub fn arp_request(mac: MacAddr, sender: Ipv4Addr, device: Ipv4Addr) -> Vec<u8> {
    let repr = Repr {
        operation: Operation::Request,
        sender_mac: mac,
        sender_ip: sender,
        target_mac: MacAddr::BROADCAST,
        target_ip: device,
    };
    repr.frame(MacAddr::BROADCAST)
}

/// A gratuitous ARP request: `address` is at `mac` (RFC 5227 section 2.3, RFC 5944 section 4.6).
pub fn gratuitous_arp(mac: MacAddr, address: Ipv4Addr) -> Vec<u8> {
    let repr = Repr {
        operation: Operation::Request,
        sender_mac: mac,
        sender_ip: address,
        target_mac: MacAddr::ZERO,
        target_ip: address,
    };
    repr.frame(MacAddr::BROADCAST)
}

/// An unsolicited neighbour advertisement to all nodes: `address` is at `mac` (RFC 4861
/// section 7.2.6). A neighbour that has no entry for it yet makes none of it: solicit first.
pub fn unsolicited_advertisement(mac: MacAddr, address: Ipv6Addr) -> Vec<u8> {
    let repr = icmpv6::Repr::NeighborAdvertisement {
        router: false,
        solicited: false,
        override_cache: true,
        target: address,
        target_mac: Some(mac),
    };
    neighbor_discovery((mac, address), (MacAddr::of_ipv6_group(ALL_NODES), ALL_NODES), &repr)
}

/// A neighbour solicitation for `target`; it also teaches the sender's own address (RFC 4861
/// section 7.2.3).
pub fn neighbor_solicitation(mac: MacAddr, sender: Ipv6Addr, target: Ipv6Addr) -> Vec<u8> {
    let group = icmpv6::solicited_node_group(target);
    let repr = icmpv6::Repr::NeighborSolicitation { target, source_mac: Some(mac) };
    neighbor_discovery((mac, sender), (MacAddr::of_ipv6_group(group), group), &repr)
}

/// A neighbour discovery message as a frame without FCS, with the hop limit of 255 that its
/// receiver demands.
pub fn neighbor_discovery(
    src: (MacAddr, Ipv6Addr),
    dst: (MacAddr, Ipv6Addr),
    message: &icmpv6::Repr,
) -> Vec<u8> {
    let message = message.message(src.1, dst.1, &[]);
    let header = ipv6::Repr {
        hop_limit: ND_HOP_LIMIT,
        ..ipv6::Repr::new(src.1, dst.1, Protocol::ICMPV6, message.len() as u16)
    };
    let ethernet = ethernet::Repr { dst: dst.0, src: src.0, ether_type: EtherType::IPV6 };
    ethernet.frame(&header.packet(&message))
}

/// A frame by which a bridge learns `mac` (RFC 2544 section 23b: the source is the destination
/// of the test frames): a broadcast of a local experimental EtherType that no host reads, and not
/// that of test frames.
pub fn bridge(mac: MacAddr) -> Vec<u8> {
    let ether_type = EtherType::EXPERIMENTAL_2;
    ethernet::Repr { dst: MacAddr::BROADCAST, src: mac, ether_type }.frame(&[])
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 9]);

    /// RFC 2544 C.2.6.1, every byte.
    #[test]
    fn the_learning_frame_byte_by_byte() {
        let frame = arp_request(MAC, Ipv4Addr::new(198, 19, 1, 10), Ipv4Addr::new(198, 19, 1, 1));
        #[rustfmt::skip]
        let expected = [
            0xff, 0xff, 0xff, 0xff, 0xff, 0xff,  2, 0, 0, 0, 0, 9,  0x08, 0x06,
            0x00, 0x01, 0x08, 0x00, 6, 4, 0x00, 0x01,
            2, 0, 0, 0, 0, 9,  198, 19, 1, 10,
            0xff, 0xff, 0xff, 0xff, 0xff, 0xff,  198, 19, 1, 1,
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        ];
        assert_eq!(frame, expected);
    }

    #[test]
    fn a_gratuitous_request_asks_for_its_own_address() {
        let address = Ipv4Addr::new(198, 19, 1, 2);
        let frame = gratuitous_arp(MAC, address);
        let (repr, _) = Repr::parse(&frame[14..]).unwrap();
        assert_eq!((repr.sender_ip, repr.target_ip), (address, address));
        assert_eq!(repr.sender_mac, MAC);
    }

    /// RFC 4861 sections 7.1 and 4.3: hop limit 255, good checksum, the solicited-node group.
    #[test]
    fn neighbor_discovery_is_what_its_receiver_demands() {
        let (sender, target) = ("2001:2::2".parse().unwrap(), "2001:2::1".parse().unwrap());
        let solicitation = neighbor_solicitation(MAC, sender, target);
        assert_eq!(solicitation[..6], [0x33, 0x33, 0xff, 0, 0, 1]);
        for frame in [solicitation, unsolicited_advertisement(MAC, sender)] {
            let (header, message) = ipv6::Repr::parse(&frame[14..]).unwrap();
            assert_eq!(header.hop_limit, 255);
            assert_eq!(icmpv6::verify(header.src, header.dst, message), Ok(()));
            assert_eq!(header.src, sender);
        }
    }

    #[test]
    fn a_bridge_learns_from_the_source_of_a_whole_frame() {
        let frame = bridge(MAC);
        assert_eq!(frame.len(), 60);
        assert_eq!(ethernet::Repr::parse(&frame).unwrap().0.src, MAC);
    }
}
