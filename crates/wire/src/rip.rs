//! RIP versions 1 (RFC 1058) and 2 (RFC 2453): the routing update of RFC 2544 C.2.6.2.
//!
//! The length fields that RFC 2544 prints (238 and 218) do not fit its six entries: with `n`
//! entries the UDP length is 12 + 20n, IP's 32 + 20n, the frame's 50 + 20n with FCS.

use crate::DecodeError;
use crate::bytes::{ipv4_at, put, put_u16, put_u32, require, u16_at, u32_at};
use crate::checksum::PseudoHeader;
use crate::ethernet::{self, EtherType, MacAddr};
use crate::ipv4::{self, Protocol};
use crate::udp;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::Ipv4Addr;
use thiserror::Error;

/// RIP's UDP port, source and destination.
pub const PORT: u16 = 520;
/// The metric that RFC 2544 C.2.6.2 sends.
pub const RFC2544_METRIC: u32 = 7;
/// The metric of a network that cannot be reached.
pub const UNREACHABLE: u32 = 16;
/// Entries in one datagram (RFC 2453 section 3.6).
pub const MAX_ENTRIES: usize = 25;

const HEADER_LEN: usize = 4;
const ENTRY_LEN: usize = 20;
const FAMILY_IP: u16 = 2;
const ALL_RIP2_ROUTERS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 9);
/// RFC 2544 C.2.6.2.
const BROADCAST_TTL: u8 = 10;
/// What is sent to 224.0.0.0/24 does not leave the link (RFC 5771 section 4).
const MULTICAST_TTL: u8 = 1;
const WHAT: &str = "RIP message";

/// Version 1, of networks by class, or 2, of any prefix.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Version {
    /// RFC 1058.
    V1,
    /// RFC 2453.
    V2,
}

/// Question or answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Send me your table.
    Request,
    /// My table, asked for or not.
    Response,
}

/// A route.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// Address family; 2 is IP.
    pub family: u16,
    /// Route tag; 0 in version 1.
    pub tag: u16,
    /// The network.
    pub network: Ipv4Addr,
    /// Its mask; 0 in version 1.
    pub mask: Ipv4Addr,
    /// Next hop; 0 for the sender, and in version 1.
    pub next_hop: Ipv4Addr,
    /// Hops to the network, 1 to 16.
    pub metric: u32,
}

/// A RIP message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Repr {
    /// Question or answer.
    pub command: Command,
    /// Which version.
    pub version: Version,
    /// At most [`MAX_ENTRIES`].
    pub entries: Vec<Entry>,
}

impl Repr {
    /// Asks a router for its whole table: one entry of no family and infinite metric (RFC 2453
    /// section 3.9.1).
    pub fn whole_table_request(version: Version) -> Repr {
        let none = Ipv4Addr::UNSPECIFIED;
        let (family, tag, metric) = (0, 0, UNREACHABLE);
        let entry = Entry { family, tag, network: none, mask: none, next_hop: none, metric };
        Repr { command: Command::Request, version, entries: vec![entry] }
    }
    /// Reads a whole message.
    pub fn parse(bytes: &[u8]) -> Result<(Repr, &[u8]), DecodeError> {
        require(WHAT, bytes, HEADER_LEN)?;
        let command = match bytes[0] {
            1 => Command::Request,
            2 => Command::Response,
            _ => return Err(DecodeError::malformed(WHAT, "neither request nor response")),
        };
        let version = match bytes[1] {
            1 => Version::V1,
            2 => Version::V2,
            _ => return Err(DecodeError::malformed(WHAT, "neither version 1 nor 2")),
        };
        let entries = bytes[HEADER_LEN..].chunks_exact(ENTRY_LEN);
        if !entries.remainder().is_empty() {
            return Err(DecodeError::malformed(WHAT, "its last entry is cut short"));
        }
        if entries.len() > MAX_ENTRIES {
            return Err(DecodeError::malformed(WHAT, "more than 25 entries"));
        }
        Ok((Repr { command, version, entries: entries.map(Entry::parse).collect() }, &[]))
    }
    /// Bytes that [`emit`](Repr::emit) writes.
    pub fn header_len(&self) -> usize {
        HEADER_LEN + ENTRY_LEN * self.entries.len()
    }
    /// Writes the message. Panics where `bytes` is too short.
    pub fn emit(&self, bytes: &mut [u8]) {
        let command = match self.command {
            Command::Request => 1,
            Command::Response => 2,
        };
        let version = match self.version {
            Version::V1 => 1,
            Version::V2 => 2,
        };
        put(bytes, 0, &[command, version, 0, 0]);
        for (i, entry) in self.entries.iter().enumerate() {
            entry.emit(&mut bytes[HEADER_LEN + i * ENTRY_LEN..]);
        }
    }
}

impl Entry {
    /// From 20 bytes.
    fn parse(bytes: &[u8]) -> Entry {
        Entry {
            family: u16_at(bytes, 0),
            tag: u16_at(bytes, 2),
            network: ipv4_at(bytes, 4),
            mask: ipv4_at(bytes, 8),
            next_hop: ipv4_at(bytes, 12),
            metric: u32_at(bytes, 16),
        }
    }
    fn emit(&self, bytes: &mut [u8]) {
        put_u16(bytes, 0, self.family);
        put_u16(bytes, 2, self.tag);
        put(bytes, 4, &self.network.octets());
        put(bytes, 8, &self.mask.octets());
        put(bytes, 12, &self.next_hop.octets());
        put_u32(bytes, 16, self.metric);
    }
}

/// Why an update cannot be sent.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum RipError {
    /// Version 1 knows networks by their class only.
    #[error(
        "RIPv1 cannot announce {network}/{prefix_len}, which is no network of its class: use RIPv2"
    )]
    NotByClass {
        /// The network.
        network: Ipv4Addr,
        /// Its prefix length.
        prefix_len: u8,
    },
    /// The metric is outside 1 to 16.
    #[error("RIP metric {0}: it must be 1 to 15, or 16 for a network that cannot be reached")]
    Metric(u32),
}

/// A routing update: responses that list all `networks` (address and prefix length), as frames
/// without FCS of up to 25 entries each, from `src` on a network of prefix length `src_prefix_len`.
///
/// As RFC 2544 C.2.6.2 has it: broadcast, don't fragment, TTL 10, port 520 to 520; version 2 goes
/// to its multicast group, 224.0.0.9, with TTL 1. The UDP checksum, which the RFC leaves out, is computed.
pub fn update_frames(
    version: Version,
    src: (MacAddr, Ipv4Addr),
    src_prefix_len: u8,
    networks: &[(Ipv4Addr, u8)],
    metric: u32,
) -> Result<Vec<Vec<u8>>, RipError> {
    if !(1..=UNREACHABLE).contains(&metric) {
        return Err(RipError::Metric(metric));
    }
    let entry = |&(network, prefix_len): &(Ipv4Addr, u8)| {
        let mask = match version {
            Version::V1 if class_prefix_len(network) != prefix_len => {
                return Err(RipError::NotByClass { network, prefix_len });
            }
            Version::V1 => Ipv4Addr::UNSPECIFIED,
            Version::V2 => mask(prefix_len),
        };
        let next_hop = Ipv4Addr::UNSPECIFIED;
        Ok(Entry { family: FAMILY_IP, tag: 0, network, mask, next_hop, metric })
    };
    let entries = networks.iter().map(entry).collect::<Result<Vec<_>, _>>()?;
    let dst = match version {
        Version::V1 => {
            let broadcast = Ipv4Addr::from_bits(src.1.to_bits() | !mask(src_prefix_len).to_bits());
            (MacAddr::BROADCAST, broadcast)
        }
        Version::V2 => (MacAddr::of_ipv4_group(ALL_RIP2_ROUTERS), ALL_RIP2_ROUTERS),
    };
    Ok(entries
        .chunks(MAX_ENTRIES)
        .map(|entries| {
            let command = Command::Response;
            frame(src, dst, &Repr { command, version, entries: entries.to_vec() })
        })
        .collect())
}

fn frame(src: (MacAddr, Ipv4Addr), dst: (MacAddr, Ipv4Addr), message: &Repr) -> Vec<u8> {
    let mut payload = vec![0; message.header_len()];
    message.emit(&mut payload);
    let udp = udp::Repr { src_port: PORT, dst_port: PORT, payload_len: payload.len() as u16 };
    let datagram = udp.datagram(PseudoHeader::V4(src.1, dst.1), &payload);
    let ip = ipv4::Repr {
        ttl: if dst.1.is_multicast() { MULTICAST_TTL } else { BROADCAST_TTL },
        dont_fragment: true,
        ..ipv4::Repr::new(src.1, dst.1, Protocol::UDP, datagram.len() as u16)
    };
    let ethernet = ethernet::Repr { dst: dst.0, src: src.0, ether_type: EtherType::IPV4 };
    ethernet.frame(&ip.packet(&datagram))
}

/// The network of this prefix length that an address lies in.
pub fn network_of(address: Ipv4Addr, prefix_len: u8) -> Ipv4Addr {
    Ipv4Addr::from_bits(address.to_bits() & mask(prefix_len).to_bits())
}

fn mask(prefix_len: u8) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::MAX.checked_shl(32 - u32::from(prefix_len.min(32))).unwrap_or(0))
}

/// RFC 791 section 3.2: classes A, B and C.
fn class_prefix_len(address: Ipv4Addr) -> u8 {
    match address.octets()[0] {
        0..128 => 8,
        128..192 => 16,
        _ => 24,
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = match self.version {
            Version::V1 => 1,
            Version::V2 => 2,
        };
        let command = match self.command {
            Command::Request => "request",
            Command::Response => "response",
        };
        write!(f, "RIPv{version} {command} of {} entries", self.entries.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;
    use proptest::prelude::*;

    const SRC: (MacAddr, Ipv4Addr) = (MacAddr([2, 0, 0, 0, 0, 9]), Ipv4Addr::new(198, 19, 1, 10));

    fn networks(count: u8, prefix_len: u8) -> Vec<(Ipv4Addr, u8)> {
        (65..65 + count).map(|n| (Ipv4Addr::new(198, 19, n, 0), prefix_len)).collect()
    }

    /// RFC 2544 C.2.6.2 with the lengths that its six entries have.
    #[test]
    fn the_routing_update_of_rfc2544() {
        let frames = update_frames(Version::V1, SRC, 24, &networks(6, 24), RFC2544_METRIC).unwrap();
        let [frame] = &frames[..] else { panic!("{} frames", frames.len()) };
        assert_eq!(frame.len() + 4, 50 + 20 * 6);
        assert_eq!(frame[..6], [0xff; 6]);
        assert_eq!(frame[14..24], [0x45, 0, 0, 0x98, 0, 0, 0x40, 0, 0x0a, 0x11]);
        assert_eq!(frame[30..34], [198, 19, 1, 255]);
        assert_eq!(frame[34..40], [0x02, 0x08, 0x02, 0x08, 0x00, 0x84]);
        assert_eq!(frame[42..46], [2, 1, 0, 0]);
        let entry = [0, 2, 0, 0, 198, 19, 65, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7];
        assert_eq!(frame[46..66], entry);
    }

    /// RFC 2453 section 4: mask in the third word, to 224.0.0.9.
    #[test]
    fn version_2_carries_the_mask() {
        let frames = update_frames(Version::V2, SRC, 24, &networks(1, 25), 16).unwrap();
        assert_eq!(frames[0][..6], [0x01, 0x00, 0x5e, 0, 0, 9]);
        assert_eq!(frames[0][30..34], [224, 0, 0, 9]);
        let entry = [0, 2, 0, 0, 198, 19, 65, 0, 255, 255, 255, 128, 0, 0, 0, 0, 0, 0, 0, 16];
        assert_eq!(frames[0][46..66], entry);
    }

    /// Both versions' messages as tshark and BIRD read them, behind Ethernet, IP and UDP.
    #[test]
    fn known_messages_of_both_versions() {
        let known = [
            (
                Version::V1,
                hex("ffffffff ffff0200 5e100002 08004500 005c1234 00000111 e049c612 0102ffff
             ffff0208 02080048 dcf40201 00000002 0000c613 00000000 00000000 00000000
             00010002 0000c613 01000000 00000000 00000000 00010002 0000c613 02000000
             00000000 00000000 0001"),
            ),
            (
                Version::V2,
                hex("01005e00 00090200 5e100002 080045c0 005c1234 00000111 ff7fc612 0102e000
             00090208 02080048 ffe60202 00000002 0000c613 0000ffff ff000000 00000000
             00010002 0000c613 0100ffff ff000000 00000000 00010002 0000c613 0200ffff
             ff000000 00000000 0001"),
            ),
        ];
        for (version, frame) in known {
            let (message, _) = Repr::parse(&frame[42..]).unwrap();
            let networks = [0, 1, 2].map(|third| Ipv4Addr::new(198, 19, third, 0));
            let found: Vec<_> = message.entries.iter().map(|e| (e.network, e.metric)).collect();
            assert_eq!(found, networks.map(|network| (network, 1)));
            let networks = networks.map(|network| (network, 24));
            let src = (MacAddr([2, 0, 0x5e, 0x10, 0, 2]), Ipv4Addr::new(198, 18, 1, 2));
            let ours = update_frames(version, src, 24, &networks, 1).unwrap();
            assert_eq!(ours[0][42..], frame[42..], "{version:?}");
            assert_eq!(ours[0][..14], frame[..14], "{version:?}");
        }
    }

    #[test]
    fn a_request_for_the_whole_table() {
        let known = hex("ffffffff ffff0200 5e100002 08004500 00341234 00000111 e071c612 0102ffff
             ffff0208 02080020 33790101 00000000 00000000 00000000 00000000 00000000
             0010");
        let request = Repr::whole_table_request(Version::V1);
        let mut bytes = vec![0; request.header_len()];
        request.emit(&mut bytes);
        assert_eq!(bytes, known[42..]);
    }

    #[test]
    fn many_networks_take_several_datagrams() {
        let frames = update_frames(Version::V1, SRC, 24, &networks(64, 24), 1).unwrap();
        let lengths: Vec<usize> = frames.iter().map(|frame| frame.len() + 4).collect();
        assert_eq!(lengths, [550, 550, 50 + 20 * 14]);
    }

    #[test]
    fn what_cannot_be_announced_is_refused() {
        let error = update_frames(Version::V1, SRC, 24, &networks(1, 25), 1).unwrap_err();
        assert!(error.to_string().contains("198.19.65.0/25"), "{error}");
        for metric in [0, 17] {
            let error = update_frames(Version::V2, SRC, 24, &networks(1, 24), metric);
            assert_eq!(error, Err(RipError::Metric(metric)));
        }
    }

    #[test]
    fn masks_of_every_length() {
        assert_eq!(mask(0), Ipv4Addr::UNSPECIFIED);
        assert_eq!(mask(25), Ipv4Addr::new(255, 255, 255, 128));
        assert_eq!(mask(32), Ipv4Addr::BROADCAST);
    }

    #[test]
    fn the_network_of_an_address() {
        let host = Ipv4Addr::new(198, 19, 7, 129);
        assert_eq!(network_of(host, 25), Ipv4Addr::new(198, 19, 7, 128));
        assert_eq!(network_of(host, 32), host);
        assert_eq!(network_of(host, 0), Ipv4Addr::UNSPECIFIED);
    }

    fn any_entry() -> impl Strategy<Value = Entry> {
        any::<(u16, u16, [u8; 4], [u8; 4], [u8; 4], u32)>().prop_map(
            |(family, tag, network, mask, next_hop, metric)| Entry {
                family,
                tag,
                network: network.into(),
                mask: mask.into(),
                next_hop: next_hop.into(),
                metric,
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_emitted_is_parsed(v2: bool, response: bool,
                                     entries in proptest::collection::vec(any_entry(), 0..=25)) {
            let repr = Repr {
                command: if response { Command::Response } else { Command::Request },
                version: if v2 { Version::V2 } else { Version::V1 },
                entries,
            };
            let mut bytes = vec![0xff; repr.header_len()];
            repr.emit(&mut bytes);
            prop_assert_eq!(Repr::parse(&bytes), Ok((repr, &[][..])));
        }

        #[test]
        fn no_bytes_make_the_parser_panic(mut bytes: Vec<u8>) {
            let _ = Repr::parse(&bytes);
            if bytes.len() > 2 {
                bytes[..2].copy_from_slice(&[2, 2]);
                let _ = Repr::parse(&bytes);
            }
        }
    }
}
