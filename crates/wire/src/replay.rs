//! Captured frames made ready to be sent and counted: they get a signature, and other addresses if asked for.
//!
//! A frame whose UDP, TCP or ICMP payload has room gives up its last bytes for the signature; any other
//! grows by as many, in its lengths too. Checksums are made anew. All else stays as it was captured.

use crate::bytes::u16_at;
use crate::checksum::Sum;
use crate::ethernet::{self, EtherType, MacAddr};
use crate::ipv4::{self, Protocol};
use crate::ipv6::{self, Extension};
use crate::signature::{self, Form, Key, Stamp};
use std::net::{Ipv4Addr, Ipv6Addr};
use thiserror::Error;

/// No Ethernet frame is shorter, without FCS.
const SHORTEST_BYTES: usize = 60;
const FRAGMENT_BITS: u16 = 0x3fff;

/// Addresses to put in place of those captured; none for those that stay.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Rewrite {
    /// Ethernet source and destination.
    pub macs: Option<(MacAddr, MacAddr)>,
    /// Source and destination of IPv4 packets.
    pub ipv4: Option<(Ipv4Addr, Ipv4Addr)>,
    /// The same of IPv6.
    pub ipv6: Option<(Ipv6Addr, Ipv6Addr)>,
}

/// A frame that is ready.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ready {
    /// Without FCS; its end is the place of a signature of [`Form::Full`].
    pub bytes: Vec<u8>,
    /// By how many bytes it grew.
    pub grown_bytes: usize,
}

/// Why a captured frame cannot be sent and counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum ReplayError {
    /// There is no Ethernet header.
    #[error("it has no Ethernet header")]
    NoHeader,
    /// The packet says that it is longer than the frame, or a header is cut short.
    #[error("its packet is cut short")]
    CutShort,
    /// The checksum of a fragment is over what other fragments hold.
    #[error("it is a fragment: a checksum over its new end cannot be made")]
    Fragment,
    /// With the signature the packet would be too long for its length field.
    #[error("its packet is too long to hold a signature")]
    TooLong,
}

/// Where things are in a frame.
struct Parts {
    /// Where the packet begins, and its end.
    packet: usize,
    end: usize,
    /// IPv4, IPv6 or neither.
    version: Option<u8>,
    /// Where the transport header begins, and its protocol, where it is one with a checksum.
    transport: Option<(usize, Protocol)>,
    /// Where the payload begins.
    payload: usize,
}

/// Makes a frame (without FCS) ready to bear signatures of this key and stream.
pub fn ready(
    frame: &[u8],
    rewrite: &Rewrite,
    (key, stream): (Key, u16),
) -> Result<Ready, ReplayError> {
    let parts = Parts::of(frame)?;
    // Without padding, which does not get through a router.
    let mut bytes = frame[..parts.end].to_vec();
    let signature = Form::Full.len_bytes();
    let has_room = parts.transport.is_some() && parts.end - parts.payload >= signature;
    let grown_bytes = match has_room && bytes.len() >= SHORTEST_BYTES {
        true => 0,
        false => signature.max(SHORTEST_BYTES.saturating_sub(bytes.len())),
    };
    bytes.resize(bytes.len() + grown_bytes, 0);
    if let Some((source, destination)) = rewrite.macs {
        bytes[..6].copy_from_slice(&destination.0);
        bytes[6..12].copy_from_slice(&source.0);
    }
    parts.lengthen(&mut bytes, grown_bytes)?;
    parts.readdress(&mut bytes, rewrite);
    let stamp = Stamp { stream, sequence: 0, transmit_ticks: 0 };
    signature::write(Form::Full, key, stamp, &mut bytes);
    parts.sum(&mut bytes);
    Ok(Ready { bytes, grown_bytes })
}

impl Parts {
    fn of(frame: &[u8]) -> Result<Parts, ReplayError> {
        if frame.len() < ethernet::HEADER_LEN {
            return Err(ReplayError::NoHeader);
        }
        let mut at = ethernet::HEADER_LEN - 2;
        while EtherType(u16_at(frame, at)).is_vlan() {
            at += 4;
            if frame.len() < at + 2 {
                return Err(ReplayError::NoHeader);
            }
        }
        let packet = at + 2;
        match EtherType(u16_at(frame, at)) {
            EtherType::IPV4 => Parts::of_ipv4(frame, packet),
            EtherType::IPV6 => Parts::of_ipv6(frame, packet),
            _ => {
                let end = frame.len();
                Ok(Parts { packet, end, version: None, transport: None, payload: end })
            }
        }
    }

    fn of_ipv4(frame: &[u8], packet: usize) -> Result<Parts, ReplayError> {
        let header = frame.get(packet..packet + ipv4::HEADER_LEN).ok_or(ReplayError::CutShort)?;
        let header_len = usize::from(header[0] & 0x0f) * 4;
        let end = packet + usize::from(u16_at(header, 2));
        let transport = packet + header_len;
        if header_len < ipv4::HEADER_LEN || end < transport || frame.len() < end {
            return Err(ReplayError::CutShort);
        }
        if u16_at(header, 6) & FRAGMENT_BITS != 0 {
            return Err(ReplayError::Fragment);
        }
        Parts::of_transport(frame, (packet, end, 4), (transport, Protocol(header[9])))
    }

    fn of_ipv6(frame: &[u8], packet: usize) -> Result<Parts, ReplayError> {
        let header = frame.get(packet..packet + ipv6::HEADER_LEN).ok_or(ReplayError::CutShort)?;
        let mut transport = packet + ipv6::HEADER_LEN;
        let end = transport + usize::from(u16_at(header, 4));
        if frame.len() < end {
            return Err(ReplayError::CutShort);
        }
        let mut next = Protocol(header[6]);
        while Extension::is_known(next) {
            if next == Protocol::FRAGMENT {
                return Err(ReplayError::Fragment);
            }
            let extension = frame[..end].get(transport..transport + 8);
            let extension = extension.ok_or(ReplayError::CutShort)?;
            next = Protocol(extension[0]);
            transport += (usize::from(extension[1]) + 1) * 8;
        }
        if end < transport {
            return Err(ReplayError::CutShort);
        }
        Parts::of_transport(frame, (packet, end, 6), (transport, next))
    }

    fn of_transport(
        frame: &[u8],
        (packet, end, version): (usize, usize, u8),
        (transport, protocol): (usize, Protocol),
    ) -> Result<Parts, ReplayError> {
        let segment = &frame[transport..end];
        let header_len = match protocol {
            Protocol::UDP | Protocol::ICMPV4 | Protocol::ICMPV6 => Some(8),
            Protocol::TCP => {
                let offset = segment.get(12).ok_or(ReplayError::CutShort)?;
                Some(usize::from(offset >> 4) * 4)
            }
            _ => None,
        };
        let payload = transport + header_len.unwrap_or(segment.len());
        if payload > end || header_len.is_some_and(|len| len < 8) {
            return Err(ReplayError::CutShort);
        }
        let transport = header_len.map(|_| (transport, protocol));
        Ok(Parts { packet, end, version: Some(version), transport, payload })
    }

    /// Says in the headers that the frame is so much longer.
    fn lengthen(&self, bytes: &mut [u8], grown_bytes: usize) -> Result<(), ReplayError> {
        let udp = self.transport.filter(|(_, protocol)| *protocol == Protocol::UDP);
        let fields = [
            match self.version {
                Some(4) => Some(self.packet + 2),
                Some(_) => Some(self.packet + 4),
                // The length field of IEEE 802.3.
                None if u16_at(bytes, self.packet - 2) <= 1_500 => Some(self.packet - 2),
                None => None,
            },
            udp.map(|(at, _)| at + 4),
        ];
        for at in fields.into_iter().flatten() {
            let longer = usize::from(u16_at(bytes, at)) + grown_bytes;
            let longer = u16::try_from(longer).map_err(|_| ReplayError::TooLong)?;
            put(bytes, at, longer);
        }
        Ok(())
    }

    fn readdress(&self, bytes: &mut [u8], rewrite: &Rewrite) {
        let mut write = |at: usize, (source, destination): (&[u8], &[u8])| {
            bytes[at..at + source.len()].copy_from_slice(source);
            bytes[at + source.len()..at + 2 * source.len()].copy_from_slice(destination);
        };
        match (self.version, rewrite.ipv4, rewrite.ipv6) {
            (Some(4), Some((source, destination)), _) => {
                write(self.packet + ipv4::SRC, (&source.octets(), &destination.octets()));
            }
            (Some(6), _, Some((source, destination))) => {
                write(self.packet + ipv6::SRC, (&source.octets(), &destination.octets()));
            }
            _ => {}
        }
    }

    /// Makes the checksums anew.
    fn sum(&self, bytes: &mut [u8]) {
        let addresses = match self.version {
            Some(4) => {
                let header_len = usize::from(bytes[self.packet] & 0x0f) * 4;
                let header = self.packet..self.packet + header_len;
                put(bytes, self.packet + 10, 0);
                let checksum = Sum::ZERO.bytes(&bytes[header]).checksum();
                put(bytes, self.packet + 10, checksum);
                self.packet + ipv4::SRC..self.packet + ipv4::HEADER_LEN
            }
            Some(_) => self.packet + ipv6::SRC..self.packet + ipv6::HEADER_LEN,
            None => return,
        };
        let Some((at, protocol)) = self.transport else { return };
        let field = at
            + match protocol {
                Protocol::UDP => 6,
                Protocol::TCP => 16,
                _ => 2,
            };
        let is_udp = protocol == Protocol::UDP;
        if is_udp && self.version == Some(4) && u16_at(bytes, field) == 0 {
            return;
        }
        put(bytes, field, 0);
        let before = match protocol {
            Protocol::ICMPV4 => Sum::ZERO,
            _ => {
                let len_bytes = ((bytes.len() - at) as u32).to_be_bytes();
                Sum::ZERO.bytes(&bytes[addresses]).word(protocol.0.into()).bytes(&len_bytes)
            }
        };
        let checksum = before.bytes(&bytes[at..]).checksum();
        // Zero says that there is none (RFC 768).
        put(bytes, field, if is_udp && checksum == 0 { 0xffff } else { checksum });
    }
}

fn put(bytes: &mut [u8], at: usize, word: u16) {
    bytes[at..at + 2].copy_from_slice(&word.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::{FrameTemplate, Ipv4Layer, Ipv6Layer, Layer, TcpLayer, UdpLayer};
    use crate::verify::transport_is_good;
    use proptest::prelude::*;
    use units::FrameSize;

    const KEY: Key = Key::from_seed(5);

    fn templates() -> Vec<(FrameTemplate, u32)> {
        let eth = FrameTemplate::ethernet(MacAddr([2; 6]), MacAddr([4; 6]));
        let v4 = || eth.clone().layer(Layer::Ipv4(Ipv4Layer::new([1; 4].into(), [2; 4].into())));
        let v6 = || eth.clone().layer(Layer::Ipv6(Ipv6Layer::new([1; 16].into(), [2; 16].into())));
        vec![
            (v4().layer(Layer::Udp(UdpLayer::default())), 64),
            (v4().layer(Layer::Udp(UdpLayer::default())).tagged(&[1, 2]), 300),
            (v4().layer(Layer::Tcp(TcpLayer::new(1, 2))), 64),
            (v4().layer(Layer::Tcp(TcpLayer::new(1, 2))), 1_518),
            (v4().layer(Layer::Icmpv4Echo { identifier: 1, sequence: 2 }), 65),
            (v6().layer(Layer::Icmpv6Echo { identifier: 1, sequence: 2 }), 90),
            (
                v6().layer(Layer::Ipv6Extension(Extension::destination_padding(8)))
                    .layer(Layer::Udp(UdpLayer::default())),
                101,
            ),
        ]
    }

    /// Whatever number and time are stamped, its checksums stay good: the signature's sum is a constant.
    #[test]
    fn a_frame_stays_good_whatever_is_stamped() {
        for (template, size) in templates() {
            let frame = template.build(0, FrameSize::from_bytes(size), None).unwrap();
            let mut ready = ready(&frame, &Rewrite::default(), (KEY, 7)).unwrap();
            for (sequence, transmit_ticks) in [(0, 0), (1, 77), (0xffff_ffff, 0xffff_ffff_ffff)] {
                let stamp = Stamp { stream: 7, sequence, transmit_ticks };
                signature::write(Form::Full, KEY, stamp, &mut ready.bytes);
                assert!(transport_is_good(&ready.bytes), "{template} {size}");
                assert_eq!(signature::read(Form::Full, KEY, &ready.bytes), Some(stamp));
            }
            assert!(
                ready.bytes.len() >= 60 && ready.bytes.len() == frame.len() + ready.grown_bytes
            );
        }
    }

    /// A TCP segment without payload, padded to 60 bytes by whoever sent it, grows within its packet.
    #[test]
    fn padding_is_no_room() {
        let (template, _) = &templates()[2];
        let mut frame = template.build(0, FrameSize::from_bytes(64), None).unwrap();
        frame.truncate(54);
        frame[16..18].copy_from_slice(&40u16.to_be_bytes());
        frame.resize(60, 0);
        let ready = ready(&frame, &Rewrite::default(), (KEY, 1)).unwrap();
        assert_eq!((ready.bytes.len(), ready.grown_bytes), (72, 18));
        assert_eq!(ready.bytes[16..18], 58u16.to_be_bytes());
        assert!(transport_is_good(&ready.bytes));
    }

    #[test]
    fn addresses_are_put_in_place_of_those_captured() {
        let rewrite = Rewrite {
            macs: Some((MacAddr([6; 6]), MacAddr([8; 6]))),
            ipv4: Some(([10, 0, 0, 1].into(), [10, 0, 0, 2].into())),
            ipv6: Some(([3; 16].into(), [5; 16].into())),
        };
        for (template, size) in templates() {
            let frame = template.build(0, FrameSize::from_bytes(size), None).unwrap();
            let bytes = ready(&frame, &rewrite, (KEY, 1)).unwrap().bytes;
            assert!(transport_is_good(&bytes), "{template}");
            assert_eq!((&bytes[..6], &bytes[6..12]), (&[8; 6][..], &[6; 6][..]));
            let holds = |address: &[u8]| bytes.windows(address.len()).any(|part| part == address);
            let (old, new): (&[u8], &[u8]) = match format!("{template}").contains("IPv6") {
                true => (&[1; 16], &[3; 16]),
                false => (&[1, 1, 1, 1], &[10, 0, 0, 1]),
            };
            assert!(holds(new) && !holds(old), "{template}");
        }
    }

    #[test]
    fn what_cannot_be_counted_is_refused() {
        let (template, _) = &templates()[0];
        let frame = template.build(0, FrameSize::from_bytes(200), None).unwrap();
        let of = |frame: &[u8]| ready(frame, &Rewrite::default(), (KEY, 1)).unwrap_err();
        assert_eq!(of(&frame[..100]), ReplayError::CutShort);
        assert_eq!(of(&frame[..13]), ReplayError::NoHeader);
        let mut fragment = frame.clone();
        fragment[20] = 0x20;
        assert_eq!(of(&fragment), ReplayError::Fragment);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..120), kind in 0..3) {
            let mut bytes = bytes;
            if kind > 0 && bytes.len() > 14 {
                let ip: [u8; 2] = if kind == 1 { [0x08, 0x00] } else { [0x86, 0xdd] };
                bytes[12..14].copy_from_slice(&ip);
            }
            let _ = ready(&bytes, &Rewrite::default(), (KEY, 1));
        }
    }
}
