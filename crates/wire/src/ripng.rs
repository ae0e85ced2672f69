//! RIPng (RFC 2080): RIP for IPv6. A routing update of RFC 2544 section 13 where the networks are of IPv6.

use crate::DecodeError;
use crate::bytes::{ipv6_at, put, put_u16, require, u16_at};
use crate::checksum::PseudoHeader;
use crate::ethernet::{self, EtherType, MacAddr};
use crate::ipv4::Protocol;
use crate::ipv6;
use crate::rip::{Command, RipError, UNREACHABLE};
use crate::udp;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::Ipv6Addr;

/// RIPng's UDP port, source and destination.
pub const PORT: u16 = 521;
/// Entries in one datagram of an MTU of 1500 (section 2.1): (1500 - 40 - 8 - 4) / 20.
pub const MAX_ENTRIES: usize = 72;

const HEADER_LEN: usize = 4;
const ENTRY_LEN: usize = 20;
const VERSION: u8 = 1;
/// The metric of an entry that names the next hop of those after it (section 2.1.1).
const NEXT_HOP: u8 = 0xff;
const ALL_RIP_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 9);
/// Receivers of an update demand it, as proof that it came from the link (section 2.4.2).
const HOP_LIMIT: u8 = 255;
const WHAT: &str = "RIPng message";

/// An entry of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// A route.
    Route {
        /// The network.
        network: Ipv6Addr,
        /// The length of its prefix.
        prefix_len: u8,
        /// Route tag.
        tag: u16,
        /// Hops to the network, 1 to 16.
        metric: u8,
    },
    /// The next hop of the routes after it; unspecified for the sender.
    NextHop(Ipv6Addr),
}

/// A RIPng message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Repr {
    /// Question or answer.
    pub command: Command,
    /// In order.
    pub entries: Vec<Entry>,
}

impl Repr {
    /// Reads a whole message.
    pub fn parse(bytes: &[u8]) -> Result<(Repr, &[u8]), DecodeError> {
        require(WHAT, bytes, HEADER_LEN)?;
        let command = match bytes[0] {
            1 => Command::Request,
            2 => Command::Response,
            _ => return Err(DecodeError::malformed(WHAT, "neither request nor response")),
        };
        if bytes[1] != VERSION {
            return Err(DecodeError::malformed(WHAT, "of another version than 1"));
        }
        let entries = bytes[HEADER_LEN..].chunks_exact(ENTRY_LEN);
        if !entries.remainder().is_empty() {
            return Err(DecodeError::malformed(WHAT, "its last entry is cut short"));
        }
        Ok((Repr { command, entries: entries.map(Entry::parse).collect() }, &[]))
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
        put(bytes, 0, &[command, VERSION, 0, 0]);
        for (i, entry) in self.entries.iter().enumerate() {
            entry.emit(&mut bytes[HEADER_LEN + i * ENTRY_LEN..]);
        }
    }
}

impl Entry {
    /// From 20 bytes.
    fn parse(bytes: &[u8]) -> Entry {
        let network = ipv6_at(bytes, 0);
        match bytes[19] {
            NEXT_HOP => Entry::NextHop(network),
            metric => {
                Entry::Route { network, tag: u16_at(bytes, 16), prefix_len: bytes[18], metric }
            }
        }
    }
    fn emit(&self, bytes: &mut [u8]) {
        let (network, tag, prefix_len, metric) = match self {
            Entry::Route { network, prefix_len, tag, metric } => {
                (network, *tag, *prefix_len, *metric)
            }
            Entry::NextHop(address) => (address, 0, 0, NEXT_HOP),
        };
        put(bytes, 0, &network.octets());
        put_u16(bytes, 16, tag);
        put(bytes, 18, &[prefix_len, metric]);
    }
}

/// A routing update: responses that list all `networks` (address and prefix length), as frames without FCS of
/// up to 72 entries each, from the hardware address `src` and its link-local address, which becomes the next
/// hop (section 2.1.1).
///
/// To ff02::9 with hop limit 255, port 521 to 521.
pub fn update_frames(
    src: MacAddr,
    networks: &[(Ipv6Addr, u8)],
    metric: u32,
) -> Result<Vec<Vec<u8>>, RipError> {
    if !(1..=UNREACHABLE).contains(&metric) {
        return Err(RipError::Metric(metric));
    }
    let entry = |&(network, prefix_len): &(Ipv6Addr, u8)| Entry::Route {
        network: network_of(network, prefix_len),
        prefix_len: prefix_len.min(128),
        tag: 0,
        metric: metric as u8,
    };
    let entries: Vec<Entry> = networks.iter().map(entry).collect();
    let message = |entries: &[Entry]| {
        frame(src, &Repr { command: Command::Response, entries: entries.to_vec() })
    };
    Ok(entries.chunks(MAX_ENTRIES).map(message).collect())
}

fn frame(src: MacAddr, message: &Repr) -> Vec<u8> {
    let mut payload = vec![0; message.header_len()];
    message.emit(&mut payload);
    let (from, to) = (ipv6::link_local(src), ALL_RIP_ROUTERS);
    let udp = udp::Repr { src_port: PORT, dst_port: PORT, payload_len: payload.len() as u16 };
    let datagram = udp.datagram(PseudoHeader::V6(from, to), &payload);
    let ip = ipv6::Repr {
        hop_limit: HOP_LIMIT,
        ..ipv6::Repr::new(from, to, Protocol::UDP, datagram.len() as u16)
    };
    let ether_type = EtherType::IPV6;
    let ethernet = ethernet::Repr { dst: MacAddr::of_ipv6_group(to), src, ether_type };
    ethernet.frame(&ip.packet(&datagram))
}

/// The network of this prefix length that an address lies in.
pub fn network_of(address: Ipv6Addr, prefix_len: u8) -> Ipv6Addr {
    let mask = u128::MAX.checked_shl(128 - u32::from(prefix_len.min(128))).unwrap_or(0);
    Ipv6Addr::from_bits(address.to_bits() & mask)
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let command = match self.command {
            Command::Request => "request",
            Command::Response => "response",
        };
        write!(f, "RIPng {command} of {} entries", self.entries.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;
    use proptest::prelude::*;

    const SRC: MacAddr = MacAddr([2, 0, 0x5e, 0x10, 0, 2]);

    /// As BIRD 2.0.12 sends three routes. It marks the packet (traffic class C0) and labels the flow, which
    /// the update of a test does not. The capture had 5af8 for a UDP checksum, the sum of the pseudo header alone,
    /// which an interface completes: e0db, by RFC 1071.
    #[test]
    fn an_update_is_that_of_bird() {
        let known = hex("33330000 00090200 5e100002 86dd6c0c 13790048 11fffe80 00000000 00000000
             5efffe10 0002ff02 00000000 00000000 00000000 00090209 02090048 e0db0201
             00002001 0db80005 00000000 00000000 00000000 30012001 00020000 a0000000
             00000000 00070000 80012001 00020000 c0000000 00000000 00000000 4001");
        let networks = [("2001:db8:5::", 48), ("2001:2:0:a000::7", 128), ("2001:2:0:c000::", 64)];
        let networks = networks.map(|(network, length)| (network.parse().unwrap(), length));
        let frames = update_frames(SRC, &networks, 1).unwrap();
        assert_eq!(frames.len(), 1);
        assert_eq!(frames[0][..14], known[..14]);
        assert_eq!(frames[0][18..], known[18..], "behind traffic class and flow label");
        let (read, _) = Repr::parse(&known[62..]).unwrap();
        let entry = |(network, prefix_len)| Entry::Route { network, prefix_len, tag: 0, metric: 1 };
        assert_eq!((read.command, read.entries), (Command::Response, networks.map(entry).to_vec()));
    }

    /// Section 2.1: 72 entries in an MTU of 1500.
    #[test]
    fn many_networks_take_several_datagrams_that_fill_the_mtu() {
        let network = |n: u16| (Ipv6Addr::new(0x2001, 2, 0, n, 0, 0, 0, 0), 64);
        let networks: Vec<_> = (0..256).map(network).collect();
        let frames = update_frames(SRC, &networks, 7).unwrap();
        let lengths: Vec<usize> = frames.iter().map(Vec::len).collect();
        assert_eq!(lengths, [1506, 1506, 1506, 66 + 20 * 40]);
    }

    /// RFC 2080 section 2.1.1: a prefix must be of its length, and the metric of a route at most 16.
    #[test]
    fn what_is_announced_is_a_network() {
        let host: Ipv6Addr = "2001:2:0:c000::7".parse().unwrap();
        let frames = update_frames(SRC, &[(host, 64)], 16).unwrap();
        let (read, _) = Repr::parse(&frames[0][62..]).unwrap();
        let network = "2001:2:0:c000::".parse().unwrap();
        let route = Entry::Route { network, prefix_len: 64, tag: 0, metric: 16 };
        assert_eq!(read.entries, [route]);
        assert_eq!(network_of(host, 128), host);
        assert_eq!(network_of(host, 0), Ipv6Addr::UNSPECIFIED);
        for metric in [0, 17] {
            assert_eq!(update_frames(SRC, &[(host, 64)], metric), Err(RipError::Metric(metric)));
        }
    }

    fn any_entry() -> impl Strategy<Value = Entry> {
        any::<([u8; 16], u16, u8, u8)>().prop_map(|(address, tag, prefix_len, metric)| match metric
        {
            NEXT_HOP => Entry::NextHop(address.into()),
            _ => Entry::Route { network: address.into(), tag, prefix_len, metric },
        })
    }

    proptest! {
        #[test]
        fn what_is_emitted_is_parsed(response: bool,
                                     entries in proptest::collection::vec(any_entry(), 0..=72)) {
            let command = if response { Command::Response } else { Command::Request };
            let repr = Repr { command, entries };
            let mut bytes = vec![0xff; repr.header_len()];
            repr.emit(&mut bytes);
            prop_assert_eq!(Repr::parse(&bytes), Ok((repr, &[][..])));
        }

        #[test]
        fn no_bytes_make_the_parser_panic(mut bytes: Vec<u8>) {
            let _ = Repr::parse(&bytes);
            if bytes.len() > 2 {
                bytes[..2].copy_from_slice(&[2, 1]);
                let _ = Repr::parse(&bytes);
            }
        }
    }
}
