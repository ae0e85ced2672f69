//! Captured frames made ready to be sent and counted: they get a signature, and other addresses if asked for.
//!
//! A frame whose payload of UDP, TCP or an ICMP echo has room gives up its last bytes for the signature; any other
//! grows by as many, in its lengths too: those of IP, UDP, IEEE 802.3 and PPPoE. Where a packet has bytes behind its
//! UDP datagram, the signature lies among these alone, since no checksum is over them. Checksums are made anew. All
//! else stays as it was captured.

use std::net::{Ipv4Addr, Ipv6Addr};
use thiserror::Error;
use wire::bytes::{put_u16, u16_at};
use wire::checksum::{self, PseudoHeader};
use wire::ethernet::{self, EtherType, MacAddr};
use wire::ipv4::{self, Protocol};
use wire::ipv6::{self, Extension, ExtensionView};
use wire::pppoe;
use wire::signature::{self, Form, Key, Stamp};
use wire::{DecodeError, icmpv4, icmpv6, igmp, tcp, udp, vlan};

/// No Ethernet frame is shorter, without FCS.
const SHORTEST_BYTES: usize = 60;
/// The type, or the length of IEEE 802.3, right before a packet.
const TYPE_BYTES: usize = 2;

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
    /// Whether the signature is behind a packet in IP whose own lengths and checksums are as they were captured.
    pub is_behind_packet: bool,
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
    /// A header says what it must not say.
    #[error("its headers are wrong: {0}")]
    Wrong(DecodeError),
    /// The checksum of a fragment is over what other fragments hold.
    #[error("it is a fragment: a checksum over its new end cannot be made")]
    Fragment,
    /// The checksum is over the end of the route, which its header hides.
    #[error(
        "its routing header is of an unknown type or contradicts itself, and the checksum has the \
         address where the route ends"
    )]
    Route,
    /// With the signature the packet would be too long for its length field.
    #[error("its packet is too long to hold a signature")]
    TooLong,
}

impl From<DecodeError> for ReplayError {
    fn from(error: DecodeError) -> ReplayError {
        match error {
            DecodeError::Truncated { .. } => ReplayError::CutShort,
            _ => ReplayError::Wrong(error),
        }
    }
}

/// Where things are in a frame.
struct Parts {
    /// Where the header of PPPoE is around the packet.
    pppoe: Option<usize>,
    /// Where the packet begins, and its end.
    packet: usize,
    end: usize,
    /// IPv4, IPv6 or neither.
    version: Option<u8>,
    /// Where the transport header begins, and its protocol, where it is one with a checksum.
    transport: Option<(usize, Protocol)>,
    /// Where the payload begins; that is behind a datagram which ends before its packet.
    payload: usize,
    /// Whether the payload is behind the datagram.
    is_behind_datagram: bool,
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
        let mut header = ethernet::View::new_unchecked(&mut bytes);
        header.set_dst(destination);
        header.set_src(source);
    }
    parts.lengthen(&mut bytes, grown_bytes)?;
    parts.readdress(&mut bytes, rewrite);
    let stamp = Stamp { stream, sequence: 0, transmit_ticks: 0 };
    signature::write(Form::Full, key, stamp, &mut bytes);
    parts.sum(&mut bytes)?;
    let is_behind_packet = parts.version.is_some() && parts.transport.is_none();
    Ok(Ready { bytes, grown_bytes, is_behind_packet })
}

impl Parts {
    fn of(frame: &[u8]) -> Result<Parts, ReplayError> {
        let (ether_type, rest) =
            vlan::behind_tags(frame, usize::MAX).ok_or(ReplayError::NoHeader)?;
        let packet = frame.len() - rest.len();
        if ether_type == EtherType::PPPOE_SESSION
            && let Some(within) = pppoe::View::peek(rest).and_then(|view| view.ether_type())
        {
            let parts =
                Parts::of_packet(within, &rest[pppoe::HEADER_LEN..], packet + pppoe::HEADER_LEN)?;
            return Ok(Parts { pppoe: Some(packet), ..parts });
        }
        Parts::of_packet(ether_type, rest, packet)
    }

    fn of_packet(ether_type: EtherType, rest: &[u8], packet: usize) -> Result<Parts, ReplayError> {
        match ether_type {
            EtherType::IPV4 => Parts::of_ipv4(rest, packet),
            EtherType::IPV6 => Parts::of_ipv6(rest, packet),
            _ => {
                let end = packet + ether_type.cut_padding(rest)?.len();
                Ok(Parts {
                    pppoe: None,
                    packet,
                    end,
                    version: None,
                    transport: None,
                    payload: end,
                    is_behind_datagram: false,
                })
            }
        }
    }

    fn of_ipv4(bytes: &[u8], packet: usize) -> Result<Parts, ReplayError> {
        let view = ipv4::View::new_checked(bytes)?;
        if view.is_fragment() {
            return Err(ReplayError::Fragment);
        }
        let end = packet + usize::from(view.total_len());
        Parts::of_transport(view.payload(), (packet, end, 4), view.protocol())
    }

    fn of_ipv6(bytes: &[u8], packet: usize) -> Result<Parts, ReplayError> {
        let view = ipv6::View::new_checked(bytes)?;
        let (mut next, mut rest) = (view.next_header(), view.payload());
        let end = packet + ipv6::HEADER_LEN + rest.len();
        while Extension::is_known(next) {
            if next == Protocol::FRAGMENT {
                return Err(ReplayError::Fragment);
            }
            let extension = ExtensionView::new_checked(rest)?;
            (next, rest) = (extension.next_header(), extension.payload());
        }
        Parts::of_transport(rest, (packet, end, 6), next)
    }

    fn of_transport(
        segment: &[u8],
        (packet, end, version): (usize, usize, u8),
        protocol: Protocol,
    ) -> Result<Parts, ReplayError> {
        // Messages that the network reads are header to their end.
        let message = |header_len, is_echo| match is_echo {
            true => header_len,
            false => segment.len().max(header_len),
        };
        let header_len = match protocol {
            Protocol::UDP => Some(udp::HEADER_LEN),
            Protocol::TCP => Some(tcp::View::new_checked(segment)?.header_len()),
            Protocol::ICMPV4 => {
                let is_echo = icmpv4::View::peek(segment).is_some_and(|view| view.is_echo());
                Some(message(icmpv4::HEADER_LEN, is_echo))
            }
            Protocol::ICMPV6 => {
                let is_echo = icmpv6::View::peek(segment).is_some_and(|view| view.is_echo());
                Some(message(icmpv6::HEADER_LEN, is_echo))
            }
            Protocol::IGMP => Some(message(igmp::HEADER_LEN, false)),
            _ => None,
        };
        if header_len.is_some_and(|len| len > segment.len()) {
            return Err(ReplayError::CutShort);
        }
        let datagram_len = match protocol {
            // The packet is whole, so that a length beyond it is wrong.
            Protocol::UDP => {
                let view = udp::View::new_checked(segment).map_err(ReplayError::Wrong)?;
                view.length().into()
            }
            _ => segment.len(),
        };
        let is_behind_datagram = datagram_len < segment.len();
        let before_payload = if is_behind_datagram { Some(datagram_len) } else { header_len };
        let start = end - segment.len();
        let payload = before_payload.map_or(end, |len| start + len);
        let transport = header_len.map(|_| (start, protocol));
        Ok(Parts {
            pppoe: None,
            packet,
            end,
            version: Some(version),
            transport,
            payload,
            is_behind_datagram,
        })
    }

    /// Says in the headers that the frame is so much longer.
    fn lengthen(&self, bytes: &mut [u8], grown_bytes: usize) -> Result<(), ReplayError> {
        let longer = |len: u16| {
            u16::try_from(usize::from(len) + grown_bytes).map_err(|_| ReplayError::TooLong)
        };
        match self.version {
            Some(4) => {
                let mut view = ipv4::View::new_unchecked(&mut bytes[self.packet..]);
                view.set_total_len(longer(view.total_len())?);
            }
            Some(_) => {
                let mut view = ipv6::View::new_unchecked(&mut bytes[self.packet..]);
                view.set_payload_len(longer(view.payload_len())?);
            }
            None => {
                let at = self.packet - TYPE_BYTES;
                let ether_type = EtherType(u16_at(bytes, at));
                if ether_type.is_length() {
                    let length = longer(ether_type.0)?;
                    let is_length = usize::from(length) <= ethernet::MAX_LENGTH;
                    put_u16(
                        bytes,
                        at,
                        Some(length).filter(|_| is_length).ok_or(ReplayError::TooLong)?,
                    );
                }
            }
        }
        if let Some(at) = self.pppoe {
            let mut view = pppoe::View::new_unchecked(&mut bytes[at..]);
            view.set_length(longer(view.length())?);
        }
        if let Some((at, Protocol::UDP)) = self.transport.filter(|_| !self.is_behind_datagram) {
            let mut view = udp::View::new_unchecked(&mut bytes[at..]);
            view.set_length(longer(view.length())?);
        }
        Ok(())
    }

    fn readdress(&self, bytes: &mut [u8], rewrite: &Rewrite) {
        let packet = &mut bytes[self.packet..];
        match (self.version, rewrite.ipv4, rewrite.ipv6) {
            (Some(4), Some((source, destination)), _) => {
                let mut view = ipv4::View::new_unchecked(packet);
                view.set_src(source);
                view.set_dst(destination);
            }
            (Some(6), _, Some((source, destination))) => {
                let mut view = ipv6::View::new_unchecked(packet);
                view.set_src(source);
                view.set_dst(destination);
            }
            _ => {}
        }
    }

    /// Makes the checksums anew.
    fn sum(&self, bytes: &mut [u8]) -> Result<(), ReplayError> {
        let packet = &mut bytes[self.packet..];
        let addresses = match self.version {
            Some(4) => {
                let mut view = ipv4::View::new_unchecked(packet);
                view.fill_checksum();
                PseudoHeader::V4(view.src(), view.dst())
            }
            Some(_) => {
                let view = ipv6::View::new_unchecked(&*packet);
                PseudoHeader::V6(view.src(), route_end(&view)?)
            }
            None => return Ok(()),
        };
        let Some((at, protocol)) = self.transport else { return Ok(()) };
        let segment = &mut bytes[at..];
        if protocol == Protocol::IGMP {
            igmp::View::new_unchecked(segment).fill_checksum();
            return Ok(());
        }
        let is_ipv4 = matches!(addresses, PseudoHeader::V4(..));
        let mut datagram_len = segment.len();
        if protocol == Protocol::UDP {
            let view = udp::View::new_unchecked(&*segment);
            // Over IPv4, zero says that there is none (RFC 768).
            if is_ipv4 && view.checksum() == 0 {
                return Ok(());
            }
            datagram_len = view.length().into();
        }
        checksum::fill(protocol, addresses, &mut segment[..datagram_len]);
        Ok(())
    }
}

/// Where a packet goes in the end, be it by routing headers.
fn route_end(packet: &ipv6::View<&[u8]>) -> Result<Ipv6Addr, ReplayError> {
    let (mut next, mut rest) = (packet.next_header(), packet.payload());
    let mut end = packet.dst();
    while Extension::is_known(next) {
        let extension = ExtensionView::new_checked(rest)?;
        if next == Protocol::ROUTING {
            end = extension.final_destination(end).ok_or(ReplayError::Route)?;
        }
        (next, rest) = (extension.next_header(), extension.payload());
    }
    Ok(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::{FrameTemplate, Ipv4Layer, Ipv6Layer, Layer, TcpLayer, UdpLayer};
    use proptest::prelude::*;
    use units::FrameSize;
    use wire::verify::transport_is_good;

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
        let mut of_version_5 = frame;
        of_version_5[14] = 0x55;
        assert_eq!(
            of(&of_version_5).to_string(),
            "its headers are wrong: IPv4 header: version is not 4"
        );
        let mut short_header = templates()[3].0.build(0, FrameSize::from_bytes(200), None).unwrap();
        short_header[46] = 0x40;
        assert!(matches!(of(&short_header), ReplayError::Wrong(_)), "16 bytes of TCP");
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

        /// Any byte behind the addresses with another value, and a route of any bytes: what is ready is as good as
        /// a frame can be, with and without other addresses.
        #[test]
        fn no_damaged_headers_make_it_panic(
            which in 0usize..8, at: prop::sample::Index, value: u8, cut in 0usize..60,
            route in prop::collection::vec(any::<u8>(), 0..50), kind in 0u8..5,
        ) {
            let (template, size) = templates().swap_remove(which % 7);
            let mut frame = template.build(0, FrameSize::from_bytes(size), None).unwrap();
            if which == 7 {
                frame = with_route(&route, kind);
            }
            let at = 12 + at.index(frame.len() - 12);
            frame[at] = value;
            frame.truncate(frame.len() - cut.min(frame.len()));
            let rewrite = Rewrite { ipv6: Some(([3; 16].into(), [5; 16].into())), ..Default::default() };
            for rewrite in [Rewrite::default(), rewrite] {
                if let Ok(ready) = ready(&frame, &rewrite, (KEY, 1)) {
                    prop_assert!(signature::read(Form::Full, KEY, &ready.bytes).is_some());
                    prop_assert!(ready.bytes.len() >= 60);
                }
            }
        }
    }

    /// A datagram behind a routing header of these bytes.
    fn with_route(route: &[u8], kind: u8) -> Vec<u8> {
        let mut data = route.to_vec();
        data.resize((data.len() + 4).next_multiple_of(8) - 4, 0);
        let route = Extension::Routing { kind, segments_left: 1, data };
        let eth = FrameTemplate::ethernet(MacAddr([2; 6]), MacAddr([4; 6]));
        let template = eth
            .layer(Layer::Ipv6(Ipv6Layer::new([1; 16].into(), [2; 16].into())))
            .layer(Layer::Ipv6Extension(route))
            .layer(Layer::Udp(UdpLayer::default()));
        template.build(0, FrameSize::from_bytes(200), None).unwrap()
    }
}
