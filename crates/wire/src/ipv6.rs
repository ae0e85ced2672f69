//! IPv6 and its extension headers (RFC 8200).

mod routing;

use crate::DecodeError;
use crate::bytes::{put, require};
use crate::ecn::Codepoint;
use crate::ethernet::MacAddr;
use crate::ipv4::Protocol;
use crate::view::view;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::Ipv6Addr;

/// Place of the source address in the header.
pub const SRC: usize = 8;
/// Place of the destination address in the header.
pub const DST: usize = 24;
/// Bytes of the fixed header.
pub const HEADER_LEN: usize = 40;
/// Bytes of a fragment header.
pub const FRAGMENT_HEADER_LEN: usize = 8;

const VERSION: u8 = 6;
const WHAT: &str = "IPv6 header";

view! {
    /// A packet as bytes; extension headers are in its payload.
    pub struct View(WHAT, HEADER_LEN), check: Self::check, payload: Self::payload_range;
    /// Version; 6.
    version / set_version: u8 = 0 as u32[28..32];
    /// Differentiated services code point, 6 bits (RFC 2474).
    dscp / set_dscp: u8 = 0 as u32[22..28];
    /// Explicit congestion notification, 2 bits (RFC 3168).
    ecn / set_ecn: u8 = 0 as u32[20..22];
    /// Flow label, 20 bits (RFC 6437).
    flow_label / set_flow_label: u32 = 0 as u32[0..20];
    /// Bytes after the fixed header, extension headers included.
    payload_len / set_payload_len: u16 = 4;
    /// What follows.
    next_header / set_next_header: Protocol = 6;
    /// Hops that the packet may still take.
    hop_limit / set_hop_limit: u8 = 7;
    /// Source.
    src / set_src: Ipv6Addr = SRC;
    /// Destination.
    dst / set_dst: Ipv6Addr = DST;
}

impl<T: AsRef<[u8]>> View<T> {
    #[inline]
    fn check(&self) -> Result<(), DecodeError> {
        if self.version() != VERSION {
            return Err(DecodeError::malformed(WHAT, "version is not 6"));
        }
        require("IPv6 packet", self.0.as_ref(), self.payload_range().end)
    }
    #[inline]
    fn payload_range(&self) -> std::ops::Range<usize> {
        HEADER_LEN..HEADER_LEN + usize::from(self.payload_len())
    }
}

/// The fixed header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Repr {
    /// Differentiated services code point, 6 bits (RFC 2474).
    pub dscp: u8,
    /// Explicit congestion notification, 2 bits (RFC 3168).
    pub ecn: u8,
    /// Flow label, 20 bits (RFC 6437).
    pub flow_label: u32,
    /// Bytes after the fixed header, extension headers included.
    pub payload_len: u16,
    /// What follows.
    pub next_header: Protocol,
    /// Hops that the packet may still take.
    pub hop_limit: u8,
    /// Source.
    pub src: Ipv6Addr,
    /// Destination.
    pub dst: Ipv6Addr,
}

impl Repr {
    /// A plain header: hop limit 64, class and flow label zero.
    pub const fn new(
        src: Ipv6Addr,
        dst: Ipv6Addr,
        next_header: Protocol,
        payload_len: u16,
    ) -> Repr {
        Repr { dscp: 0, ecn: 0, flow_label: 0, payload_len, next_header, hop_limit: 64, src, dst }
    }
    /// Reads the fixed header and cuts the payload to the length it states.
    pub fn parse(bytes: &[u8]) -> Result<(Repr, &[u8]), DecodeError> {
        let view = View::new_checked(bytes)?;
        let repr = Repr {
            dscp: view.dscp(),
            ecn: view.ecn(),
            flow_label: view.flow_label(),
            payload_len: view.payload_len(),
            next_header: view.next_header(),
            hop_limit: view.hop_limit(),
            src: view.src(),
            dst: view.dst(),
        };
        Ok((repr, view.payload()))
    }
    /// Bytes that [`emit`](Repr::emit) writes.
    pub const fn header_len(&self) -> usize {
        HEADER_LEN
    }
    /// Writes the header; bits beyond a field's width are cut off. Panics where `bytes` is too
    /// short.
    pub fn emit(&self, bytes: &mut [u8]) {
        let mut view = View::new_unchecked(bytes);
        view.set_version(VERSION);
        view.set_dscp(self.dscp);
        view.set_ecn(self.ecn);
        view.set_flow_label(self.flow_label);
        view.set_payload_len(self.payload_len);
        view.set_next_header(self.next_header);
        view.set_hop_limit(self.hop_limit);
        view.set_src(self.src);
        view.set_dst(self.dst);
    }
    /// A whole packet.
    pub fn packet(&self, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; HEADER_LEN];
        self.emit(&mut bytes);
        bytes.extend_from_slice(payload);
        bytes
    }
}

/// The link-local address that follows from a hardware address (RFC 4291 appendix A).
pub fn link_local(mac: MacAddr) -> Ipv6Addr {
    let [a, b, c, d, e, f] = mac.0;
    let word = |high: u8, low: u8| u16::from_be_bytes([high, low]);
    Ipv6Addr::new(0xfe80, 0, 0, 0, word(a ^ 2, b), word(c, 0xff), word(0xfe, d), word(e, f))
}

/// Takes one hop off the hop limit of the header that starts `packet`. `false`, and nothing
/// changed, where it is used up (RFC 8200 section 3). The caller has parsed the header.
pub fn decrement_hop_limit(packet: &mut [u8]) -> bool {
    let mut view = View::new_unchecked(packet);
    let hop_limit = view.hop_limit();
    if hop_limit <= 1 {
        return false;
    }
    view.set_hop_limit(hop_limit - 1);
    true
}

/// Marks the packet of the header that starts `packet` as one that met congestion, if it may be marked (RFC 3168 section
/// 5); gives whether it was. The caller has parsed the header.
pub fn mark(packet: &mut [u8]) -> bool {
    let mut view = View::new_unchecked(packet);
    let may = Codepoint::of_octet(view.ecn()).may_be_marked();
    if may {
        view.set_ecn(Codepoint::Marked.octet());
    }
    may
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hops, next) = (self.hop_limit, self.next_header);
        write!(f, "IPv6 {} > {} hop limit {hops} {next}", self.src, self.dst)?;
        if self.dscp != 0 {
            write!(f, " DSCP {}", self.dscp)?;
        }
        Ok(())
    }
}

view! {
    /// An extension header that states its length, options or routing, and what follows it, as bytes.
    pub struct ExtensionView(EXTENSION, 8), check: Self::check, payload: Self::payload_range;
    /// What follows.
    next_header / set_next_header: Protocol = 0;
    /// Units of 8 bytes after the first one.
    more_units / set_more_units: u8 = 1;
    /// Of a routing header: the type of route.
    routing_kind / set_routing_kind: u8 = 2;
    /// Of a routing header: places still to be visited.
    segments_left / set_segments_left: u8 = 3;
}

impl<T: AsRef<[u8]>> ExtensionView<T> {
    #[inline]
    fn check(&self) -> Result<(), DecodeError> {
        require(EXTENSION, self.0.as_ref(), self.header_len())
    }
    #[inline]
    fn payload_range(&self) -> std::ops::Range<usize> {
        self.header_len()..self.0.as_ref().len()
    }
    /// Bytes of the header.
    #[inline]
    pub fn header_len(&self) -> usize {
        (usize::from(self.more_units()) + 1) * 8
    }
    /// Of a header with options: they.
    pub fn options(&self) -> &[u8] {
        self.0.as_ref().get(OPTIONS..self.header_len()).unwrap_or_default()
    }
    /// Of a routing header: what its type demands.
    pub fn routing_data(&self) -> &[u8] {
        self.0.as_ref().get(ROUTING_DATA..self.header_len()).unwrap_or_default()
    }
}

view! {
    /// A fragment header and what follows it, as bytes.
    pub struct FragmentView(EXTENSION, FRAGMENT_HEADER_LEN);
    /// What follows.
    next_header / set_next_header: Protocol = 0;
    /// Zero.
    reserved / set_reserved: u8 = 1;
    /// Place of this fragment's payload, in units of 8 bytes, 13 bits.
    offset / set_offset: u16 = 2 as u16[3..16];
    /// This is not the last fragment.
    more / set_more: bool = 2 as u16[0..1];
    /// What the fragments of one packet have in common.
    identification / set_identification: u32 = 4;
}

const EXTENSION: &str = "IPv6 extension header";
const OPTIONS: usize = 2;
const ROUTING_DATA: usize = 4;

/// An extension header, without the number of the header after it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extension {
    /// Options that every router on the way reads; padded so that 2 bytes and these make a
    /// multiple of 8.
    HopByHop {
        /// The options as type, length, value.
        options: Vec<u8>,
    },
    /// Options for the destination; padded as above.
    DestinationOptions {
        /// The options as type, length, value.
        options: Vec<u8>,
    },
    /// A route.
    Routing {
        /// Type of route; 253 and 254 are for experiments (RFC 4727), 0 is deprecated (RFC 5095).
        kind: u8,
        /// Places still to be visited.
        segments_left: u8,
        /// What the type demands; padded so that 4 bytes and these make a multiple of 8.
        data: Vec<u8>,
    },
    /// A fragment.
    Fragment {
        /// Place of this fragment's payload, in units of 8 bytes, 13 bits.
        offset: u16,
        /// This is not the last fragment.
        more: bool,
        /// What the fragments of one packet have in common.
        identification: u32,
    },
}

impl Extension {
    /// Hop-by-hop options of `len_bytes` in all that ask for nothing (PadN).
    /// Panics unless `len_bytes` is a multiple of 8 from 8 to 256.
    pub fn hop_by_hop_padding(len_bytes: usize) -> Extension {
        Extension::HopByHop { options: padding(len_bytes) }
    }
    /// Destination options of `len_bytes` in all that ask for nothing (PadN).
    /// Panics unless `len_bytes` is a multiple of 8 from 8 to 256.
    pub fn destination_padding(len_bytes: usize) -> Extension {
        Extension::DestinationOptions { options: padding(len_bytes) }
    }
    /// A routing header of `len_bytes` in all, of experimental type 253, with no segment left, so
    /// that it is passed over. Panics unless `len_bytes` is a multiple of 8 from 8 to 2,048.
    pub fn experimental_routing(len_bytes: usize) -> Extension {
        assert!(
            len_bytes.is_multiple_of(8) && (8..=2048).contains(&len_bytes),
            "{len_bytes} bytes"
        );
        Extension::Routing { kind: 253, segments_left: 0, data: vec![0; len_bytes - 4] }
    }

    /// The number by which the header before this one announces it.
    pub const fn protocol(&self) -> Protocol {
        match self {
            Extension::HopByHop { .. } => Protocol::HOP_BY_HOP,
            Extension::DestinationOptions { .. } => Protocol::DESTINATION_OPTIONS,
            Extension::Routing { .. } => Protocol::ROUTING,
            Extension::Fragment { .. } => Protocol::FRAGMENT,
        }
    }
    /// Whether `protocol` is a header that [`parse`](Extension::parse) reads.
    pub const fn is_known(protocol: Protocol) -> bool {
        matches!(
            protocol,
            Protocol::HOP_BY_HOP
                | Protocol::DESTINATION_OPTIONS
                | Protocol::ROUTING
                | Protocol::FRAGMENT
        )
    }
    /// Reads the header announced as `protocol`: itself, the number of the next, and the rest.
    pub fn parse(
        protocol: Protocol,
        bytes: &[u8],
    ) -> Result<(Extension, Protocol, &[u8]), DecodeError> {
        if protocol == Protocol::FRAGMENT {
            let view = FragmentView::new_checked(bytes)?;
            let (offset, more) = (view.offset(), view.more());
            let fragment =
                Extension::Fragment { offset, more, identification: view.identification() };
            return Ok((fragment, view.next_header(), view.payload()));
        }
        let view = ExtensionView::new_checked(bytes)?;
        let options = || view.options().to_vec();
        let extension = match protocol {
            Protocol::HOP_BY_HOP => Extension::HopByHop { options: options() },
            Protocol::DESTINATION_OPTIONS => Extension::DestinationOptions { options: options() },
            Protocol::ROUTING => Extension::Routing {
                kind: view.routing_kind(),
                segments_left: view.segments_left(),
                data: view.routing_data().to_vec(),
            },
            _ => return Err(DecodeError::malformed(EXTENSION, "of a kind that is not read")),
        };
        Ok((extension, view.next_header(), view.payload()))
    }
    /// Bytes that [`emit`](Extension::emit) writes.
    pub fn header_len(&self) -> usize {
        match self {
            Extension::HopByHop { options } | Extension::DestinationOptions { options } => {
                2 + options.len()
            }
            Extension::Routing { data, .. } => 4 + data.len(),
            Extension::Fragment { .. } => FRAGMENT_HEADER_LEN,
        }
    }
    /// Whether the length can be written: a multiple of 8 up to 2,048 bytes.
    pub fn is_well_formed(&self) -> bool {
        let len = self.header_len();
        len.is_multiple_of(8) && len <= 2048
    }
    /// Writes the header. Panics where `bytes` is too short or the header not
    /// [well formed](Extension::is_well_formed).
    pub fn emit(&self, next_header: Protocol, bytes: &mut [u8]) {
        assert!(self.is_well_formed(), "an extension header of {} bytes", self.header_len());
        let mut view = ExtensionView::new_unchecked(&mut *bytes);
        view.set_next_header(next_header);
        view.set_more_units((self.header_len() / 8 - 1) as u8);
        match self {
            Extension::HopByHop { options } | Extension::DestinationOptions { options } => {
                put(bytes, OPTIONS, options);
            }
            Extension::Routing { kind, segments_left, data } => {
                view.set_routing_kind(*kind);
                view.set_segments_left(*segments_left);
                put(bytes, ROUTING_DATA, data);
            }
            Extension::Fragment { offset, more, identification } => {
                bytes[..FRAGMENT_HEADER_LEN].fill(0);
                let mut view = FragmentView::new_unchecked(bytes);
                view.set_next_header(next_header);
                view.set_offset(*offset);
                view.set_more(*more);
                view.set_identification(*identification);
            }
        }
    }
}

/// One PadN option that fills an options header of `len_bytes` (RFC 8200 section 4.2).
fn padding(len_bytes: usize) -> Vec<u8> {
    assert!(
        len_bytes.is_multiple_of(8) && (8..=256).contains(&len_bytes),
        "{len_bytes} bytes of options"
    );
    let mut options = vec![0; len_bytes - 2];
    options[0] = 1;
    options[1] = (len_bytes - 4) as u8;
    options
}

impl fmt::Display for Extension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Extension::HopByHop { .. } => write!(f, "hop-by-hop {} bytes", self.header_len()),
            Extension::DestinationOptions { .. } => {
                write!(f, "destination options {} bytes", self.header_len())
            }
            Extension::Routing { kind, segments_left, .. } => {
                write!(f, "routing type {kind} segments left {segments_left}")
            }
            Extension::Fragment { offset, more, identification } => {
                let more = if *more { "+" } else { "" };
                write!(f, "fragment {identification:#x} at {}{more}", u32::from(*offset) * 8)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 8200 section 3: version 6, class 0xb8 (DSCP 46), flow label 0x12345.
    #[test]
    fn fixed_header_byte_vector() {
        let mut bytes = vec![0x6b, 0x81, 0x23, 0x45, 0, 3, 17, 64];
        bytes.extend([0x20, 0x01, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
        bytes.extend([0x20, 0x01, 0, 2, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
        bytes.extend([1, 2, 3, 0xee]);
        let (repr, payload) = Repr::parse(&bytes).unwrap();
        assert_eq!((repr.dscp, repr.ecn, repr.flow_label), (46, 0, 0x1_2345));
        assert_eq!((repr.next_header, repr.hop_limit), (Protocol::UDP, 64));
        assert_eq!(repr.src, "2001:2::2".parse::<Ipv6Addr>().unwrap());
        assert_eq!(repr.dst, "2001:2:0:8000::2".parse::<Ipv6Addr>().unwrap());
        assert_eq!(payload, [1, 2, 3], "padding is cut off");
    }

    /// RFC 8200 appendix A has options padded with PadN (type 1); section 4.5 the fragment header.
    #[test]
    fn extension_byte_vectors() {
        let mut bytes = [0xff; 8];
        Extension::destination_padding(8).emit(Protocol::UDP, &mut bytes);
        assert_eq!(bytes, [17, 0, 1, 4, 0, 0, 0, 0]);
        let fragment = [58, 0, 0x05, 0xa9, 0xde, 0xad, 0xbe, 0xef];
        let (extension, next, rest) = Extension::parse(Protocol::FRAGMENT, &fragment).unwrap();
        assert_eq!(next, Protocol::ICMPV6);
        assert!(rest.is_empty());
        assert_eq!(extension.to_string(), "fragment 0xdeadbeef at 1448+");
    }

    #[test]
    fn the_hop_limit_is_not_taken_below_one() {
        let mut packet =
            Repr::new(Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST, Protocol::UDP, 0).packet(&[]);
        for hop_limit in (1..64).rev() {
            assert!(decrement_hop_limit(&mut packet));
            assert_eq!(Repr::parse(&packet).unwrap().0.hop_limit, hop_limit);
        }
        assert!(!decrement_hop_limit(&mut packet));
    }

    fn any_extension() -> impl Strategy<Value = Extension> {
        let octets = |len: usize| proptest::collection::vec(any::<u8>(), len);
        prop_oneof![
            (1usize..20)
                .prop_flat_map(move |n| octets(n * 8 - 2))
                .prop_map(|options| Extension::HopByHop { options }),
            (1usize..20)
                .prop_flat_map(move |n| octets(n * 8 - 2))
                .prop_map(|options| Extension::DestinationOptions { options }),
            (any::<u8>(), any::<u8>(), (1usize..20).prop_flat_map(move |n| octets(n * 8 - 4)))
                .prop_map(|(kind, segments_left, data)| Extension::Routing {
                    kind,
                    segments_left,
                    data
                }),
            (0u16..0x2000, any::<bool>(), any::<u32>()).prop_map(
                |(offset, more, identification)| {
                    Extension::Fragment { offset, more, identification }
                }
            ),
        ]
    }

    proptest! {
        #[test]
        fn what_is_emitted_is_parsed(dscp in 0u8..64, ecn in 0u8..4, flow_label in 0u32..0x10_0000,
                                     next_header: u8, hop_limit: u8, src: [u8; 16], dst: [u8; 16],
                                     payload: Vec<u8>) {
            let repr = Repr {
                dscp, ecn, flow_label, hop_limit,
                payload_len: payload.len() as u16,
                next_header: Protocol(next_header),
                src: src.into(),
                dst: dst.into(),
            };
            let packet = repr.packet(&payload);
            prop_assert_eq!(Repr::parse(&packet), Ok((repr, &payload[..])));
        }

        #[test]
        fn an_emitted_extension_is_parsed(extension in any_extension(), next: u8) {
            let mut bytes = vec![0; extension.header_len()];
            extension.emit(Protocol(next), &mut bytes);
            let parsed = Extension::parse(extension.protocol(), &bytes);
            prop_assert_eq!(parsed, Ok((extension.clone(), Protocol(next), &[][..])));
        }

        #[test]
        fn no_bytes_make_the_parsers_panic(protocol: u8, mut bytes: Vec<u8>) {
            let _ = Extension::parse(Protocol(protocol), &bytes);
            if let Some(first) = bytes.first_mut() {
                *first = 0x60;
            }
            let _ = Repr::parse(&bytes);
        }
    }
}
