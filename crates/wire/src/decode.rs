//! What a frame is, in a line, for logs and error messages.

use crate::checksum::PseudoHeader;
use crate::ethernet::EtherType;
use crate::ipv4::Protocol;
use crate::ipv6::Extension;
use crate::llc::Sap;
use crate::snap::Oui;
use crate::{DecodeError, arp, ethernet, icmpv4, icmpv6, ipv4, ipv6, rip, snmp, tcp, udp, vlan};
use crate::{appletalk, decnet, ipx, llc, snap};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A header of a frame.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each is its module's")]
pub enum Header {
    Ethernet(ethernet::Repr),
    Vlan(vlan::Repr),
    Arp(arp::Repr),
    Ipv4(ipv4::Repr),
    Ipv6(ipv6::Repr),
    Ipv6Extension(Extension),
    Udp(udp::Repr),
    Tcp(tcp::Repr),
    Icmpv4(icmpv4::Repr),
    Icmpv6(icmpv6::Repr),
    Rip(rip::Repr),
    Snmp(snmp::Repr),
    Llc(llc::Repr),
    Snap(snap::Repr),
    Decnet(decnet::Repr),
    Nsp(decnet::nsp::Repr),
    Aarp(appletalk::aarp::Repr),
    Ddp(appletalk::ddp::Repr),
    AppletalkEcho(appletalk::echo::Repr),
    Rtmp(appletalk::rtmp::Repr),
    Ipx(ipx::Repr),
    IpxRip(ipx::rip::Repr),
    IpxSap(ipx::sap::Repr),
}

/// A frame taken apart as far as we can.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FrameSummary {
    /// Bytes of the frame without FCS.
    pub len_bytes: usize,
    /// Its headers, the outermost first.
    pub headers: Vec<Header>,
    /// Bytes that the innermost header holds.
    pub payload_len_bytes: usize,
    /// The first thing that is wrong with it.
    pub fault: Option<DecodeError>,
}

/// Takes a frame (without FCS) apart as far as we can, checking every checksum. Never panics.
pub fn summarize(frame: &[u8]) -> FrameSummary {
    let mut headers = Vec::new();
    let mut payload_len_bytes = frame.len();
    let fault = link(frame, &mut headers, &mut payload_len_bytes).err();
    FrameSummary { len_bytes: frame.len(), headers, payload_len_bytes, fault }
}

fn link(
    frame: &[u8],
    headers: &mut Vec<Header>,
    payload_len: &mut usize,
) -> Result<(), DecodeError> {
    let (ethernet, mut rest) = ethernet::Repr::parse(frame)?;
    let mut ether_type = ethernet.ether_type;
    headers.push(Header::Ethernet(ethernet));
    while ether_type.is_vlan() {
        let (tag, inner) = vlan::Repr::parse(rest)?;
        (ether_type, rest) = (tag.ether_type, inner);
        headers.push(Header::Vlan(tag));
    }
    *payload_len = rest.len();
    if !ether_type.is_length() {
        return typed(ether_type, rest, headers, payload_len);
    }
    let rest = ether_type.cut_padding(rest)?;
    *payload_len = rest.len();
    logical_link(rest, headers, payload_len)
}

/// What follows a length: raw IPX where it starts with FF FF, which is no LLC header of use, or
/// LLC.
fn logical_link(
    rest: &[u8],
    headers: &mut Vec<Header>,
    payload_len: &mut usize,
) -> Result<(), DecodeError> {
    if rest.starts_with(&ipx::NO_CHECKSUM.to_be_bytes()) {
        return novell(rest, headers, payload_len);
    }
    let (header, payload) = llc::Repr::parse(rest)?;
    if header == llc::Repr::datagram(Sap::SNAP) {
        let (header, payload) = snap::Repr::parse(rest)?;
        headers.push(Header::Snap(header));
        *payload_len = payload.len();
        return match header.oui {
            Oui::ETHERTYPE => typed(header.protocol, payload, headers, payload_len),
            Oui::APPLE if header == appletalk::ddp::SNAP => apple(payload, headers, payload_len),
            _ => Ok(()),
        };
    }
    headers.push(Header::Llc(header));
    *payload_len = payload.len();
    if header == llc::Repr::datagram(Sap::IPX) {
        return novell(payload, headers, payload_len);
    }
    Ok(())
}

/// What an EtherType announces, be it the frame's own or SNAP's.
fn typed(
    ether_type: EtherType,
    rest: &[u8],
    headers: &mut Vec<Header>,
    payload_len: &mut usize,
) -> Result<(), DecodeError> {
    match ether_type {
        EtherType::ARP => {
            let (packet, _) = arp::Repr::parse(rest)?;
            headers.push(Header::Arp(packet));
            *payload_len = 0;
            Ok(())
        }
        EtherType::IPV4 => network(Protocol::IPV4, rest, headers, payload_len),
        EtherType::IPV6 => network(Protocol::IPV6, rest, headers, payload_len),
        EtherType::DECNET => digital(rest, headers, payload_len),
        EtherType::IPX => novell(rest, headers, payload_len),
        EtherType::AARP => {
            let (packet, _) = appletalk::aarp::Repr::parse(rest)?;
            headers.push(Header::Aarp(packet));
            *payload_len = 0;
            Ok(())
        }
        _ => Ok(()),
    }
}

/// DECnet, and NSP where a data packet carries a data segment of it.
fn digital(
    rest: &[u8],
    headers: &mut Vec<Header>,
    payload_len: &mut usize,
) -> Result<(), DecodeError> {
    let (message, payload) = decnet::Repr::parse(rest)?;
    let is_data = matches!(message, decnet::Repr::Data(_));
    headers.push(Header::Decnet(message));
    *payload_len = payload.len();
    if let (true, Ok((segment, payload))) = (is_data, decnet::nsp::Repr::parse(payload)) {
        headers.push(Header::Nsp(segment));
        *payload_len = payload.len();
    }
    Ok(())
}

/// DDP and what is above.
fn apple(
    rest: &[u8],
    headers: &mut Vec<Header>,
    payload_len: &mut usize,
) -> Result<(), DecodeError> {
    use appletalk::ddp::{self, Kind};
    use appletalk::{echo, rtmp};
    let (header, payload) = ddp::Repr::parse(rest)?;
    headers.push(Header::Ddp(header));
    *payload_len = payload.len();
    ddp::verify(&rest[..ddp::HEADER_LEN + payload.len()])?;
    let (header, payload) = match header.kind {
        Kind::ECHO => {
            let (packet, payload) = echo::Repr::parse(payload)?;
            (Header::AppletalkEcho(packet), payload)
        }
        Kind::RTMP_DATA | Kind::RTMP_REQUEST => {
            let (message, payload) = rtmp::Repr::parse(header.kind, payload)?;
            (Header::Rtmp(message), payload)
        }
        _ => return Ok(()),
    };
    headers.push(header);
    *payload_len = payload.len();
    Ok(())
}

/// IPX, and RIP and SAP by their sockets.
fn novell(
    rest: &[u8],
    headers: &mut Vec<Header>,
    payload_len: &mut usize,
) -> Result<(), DecodeError> {
    let (header, payload) = ipx::Repr::parse(rest)?;
    headers.push(Header::Ipx(header));
    *payload_len = payload.len();
    let is_socket = |socket| header.src.socket == socket || header.dst.socket == socket;
    let (header, payload) = if is_socket(ipx::socket::RIP) {
        let (message, payload) = ipx::rip::Repr::parse(payload)?;
        (Header::IpxRip(message), payload)
    } else if is_socket(ipx::socket::SAP) {
        let (message, payload) = ipx::sap::Repr::parse(payload)?;
        (Header::IpxSap(message), payload)
    } else {
        return Ok(());
    };
    headers.push(header);
    *payload_len = payload.len();
    Ok(())
}

/// IP, IP within IP, and what is above.
fn network(
    mut protocol: Protocol,
    mut rest: &[u8],
    headers: &mut Vec<Header>,
    payload_len: &mut usize,
) -> Result<(), DecodeError> {
    let mut addresses = None;
    loop {
        *payload_len = rest.len();
        match protocol {
            Protocol::IPV4 => {
                let (header, payload) = ipv4::Repr::parse(rest)?;
                (protocol, rest) = (header.protocol, payload);
                addresses = Some(PseudoHeader::V4(header.src, header.dst));
                let is_fragment = header.is_fragment();
                headers.push(Header::Ipv4(header));
                if is_fragment {
                    *payload_len = rest.len();
                    return Ok(());
                }
            }
            Protocol::IPV6 => {
                let (header, payload) = ipv6::Repr::parse(rest)?;
                (protocol, rest) = (header.next_header, payload);
                addresses = Some(PseudoHeader::V6(header.src, header.dst));
                headers.push(Header::Ipv6(header));
            }
            extension if Extension::is_known(extension) => {
                let (header, next, payload) = Extension::parse(extension, rest)?;
                (protocol, rest) = (next, payload);
                let is_fragment = matches!(header, Extension::Fragment { offset, more, .. }
                    if offset != 0 || more);
                headers.push(Header::Ipv6Extension(header));
                if is_fragment {
                    *payload_len = rest.len();
                    return Ok(());
                }
            }
            upper => {
                let Some(addresses) = addresses else { return Ok(()) };
                return transport(upper, addresses, rest, headers, payload_len);
            }
        }
    }
}

fn transport(
    protocol: Protocol,
    addresses: PseudoHeader,
    bytes: &[u8],
    headers: &mut Vec<Header>,
    payload_len: &mut usize,
) -> Result<(), DecodeError> {
    let payload = match (protocol, addresses) {
        (Protocol::UDP, _) => {
            let (header, payload) = udp::Repr::parse(bytes)?;
            headers.push(Header::Udp(header));
            *payload_len = payload.len();
            udp::verify(addresses, bytes)?;
            return application(header, payload, headers, payload_len);
        }
        (Protocol::TCP, _) => {
            let (header, payload) = tcp::Repr::parse(bytes)?;
            headers.push(Header::Tcp(header));
            *payload_len = payload.len();
            return tcp::verify(addresses, bytes);
        }
        (Protocol::ICMPV4, PseudoHeader::V4(..)) => {
            let (header, payload) = icmpv4::Repr::parse(bytes)?;
            headers.push(Header::Icmpv4(header));
            payload
        }
        (Protocol::ICMPV6, PseudoHeader::V6(src, dst)) => {
            icmpv6::verify(src, dst, bytes)?;
            let (header, payload) = icmpv6::Repr::parse(bytes)?;
            headers.push(Header::Icmpv6(header));
            payload
        }
        _ => bytes,
    };
    *payload_len = payload.len();
    Ok(())
}

/// RIP and SNMP by their ports. Any datagram may use these, so what does not parse is no fault.
fn application(
    udp: udp::Repr,
    payload: &[u8],
    headers: &mut Vec<Header>,
    payload_len: &mut usize,
) -> Result<(), DecodeError> {
    let is_port = |port| udp.src_port == port || udp.dst_port == port;
    let header = if is_port(rip::PORT) {
        rip::Repr::parse(payload).ok().map(|(message, _)| Header::Rip(message))
    } else if is_port(snmp::PORT) {
        snmp::Repr::parse(payload).ok().map(|(message, _)| Header::Snmp(message))
    } else {
        None
    };
    if let Some(header) = header {
        headers.push(header);
        *payload_len = 0;
    }
    Ok(())
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Header::Ethernet(header) => header.fmt(f),
            Header::Vlan(header) => header.fmt(f),
            Header::Arp(header) => header.fmt(f),
            Header::Ipv4(header) => header.fmt(f),
            Header::Ipv6(header) => header.fmt(f),
            Header::Ipv6Extension(header) => header.fmt(f),
            Header::Udp(header) => header.fmt(f),
            Header::Tcp(header) => header.fmt(f),
            Header::Icmpv4(header) => header.fmt(f),
            Header::Icmpv6(header) => header.fmt(f),
            Header::Rip(header) => header.fmt(f),
            Header::Snmp(header) => header.fmt(f),
            Header::Llc(header) => header.fmt(f),
            Header::Snap(header) => header.fmt(f),
            Header::Decnet(header) => header.fmt(f),
            Header::Nsp(header) => header.fmt(f),
            Header::Aarp(header) => header.fmt(f),
            Header::Ddp(header) => header.fmt(f),
            Header::AppletalkEcho(header) => header.fmt(f),
            Header::Rtmp(header) => header.fmt(f),
            Header::Ipx(header) => header.fmt(f),
            Header::IpxRip(header) => header.fmt(f),
            Header::IpxSap(header) => header.fmt(f),
        }
    }
}

impl fmt::Display for FrameSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes with FCS: ", self.len_bytes + 4)?;
        for (i, header) in self.headers.iter().enumerate() {
            write!(f, "{}{header}", if i > 0 { " / " } else { "" })?;
        }
        if self.payload_len_bytes > 0 {
            write!(f, " / payload of {} bytes", self.payload_len_bytes)?;
        }
        match &self.fault {
            Some(fault) => write!(f, " ({fault})"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ethernet::MacAddr;
    use crate::template::FrameTemplate;
    use crate::{learning, test_frame};
    use proptest::prelude::*;
    use std::net::Ipv4Addr;
    use units::FrameSize;

    const SRC: (MacAddr, Ipv4Addr) = (MacAddr([2, 0, 0, 0, 0, 1]), Ipv4Addr::new(198, 18, 1, 2));
    const DST: (MacAddr, Ipv4Addr) = (MacAddr([2, 0, 0, 0, 0, 2]), Ipv4Addr::new(198, 19, 1, 2));

    fn test_frame() -> Vec<u8> {
        test_frame::template(SRC, DST)
            .tagged(&[5])
            .build(0, FrameSize::from_bytes(68), None)
            .unwrap()
    }

    #[test]
    fn a_test_frame_in_a_line() {
        let line = "68 bytes with FCS: Ethernet 02:00:00:00:00:01 > 02:00:00:00:00:02 802.1Q / \
                    VLAN 5 priority 0 IPv4 / IPv4 198.18.1.2 > 198.19.1.2 TTL 10 UDP / \
                    UDP 49184 > 7 18 bytes / payload of 18 bytes";
        assert_eq!(summarize(&test_frame()).to_string(), line);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let mut frame = test_frame();
        frame[63] ^= 1;
        let summary = summarize(&frame);
        assert!(matches!(summary.fault, Some(DecodeError::Checksum { what: "UDP datagram", .. })));
        assert_eq!(summary.headers.len(), 4);
        frame[30] ^= 1;
        let summary = summarize(&frame);
        assert!(matches!(summary.fault, Some(DecodeError::Checksum { what: "IPv4 header", .. })));
        assert_eq!(summary.headers.len(), 2);
        let fault = summarize(&frame[..13]).fault;
        assert_eq!(
            fault,
            Some(DecodeError::Truncated { what: "Ethernet header", needed: 14, got: 13 })
        );
    }

    #[test]
    fn padding_is_no_payload() {
        let summary = summarize(&learning::gratuitous_arp(SRC.0, SRC.1));
        assert_eq!((summary.payload_len_bytes, summary.fault), (0, None));
        let summary = summarize(&learning::bridge(SRC.0));
        assert_eq!((summary.payload_len_bytes, summary.fault), (46, None));
    }

    #[test]
    fn rip_and_snmp_are_known_by_their_ports() {
        let networks = [(Ipv4Addr::new(198, 19, 65, 0), 24)];
        let update = rip::update_frames(rip::Version::V1, SRC, 24, &networks, 7).unwrap();
        let text = summarize(&update[0]).to_string();
        assert!(text.ends_with("UDP 520 > 520 24 bytes / RIPv1 response of 1 entries"), "{text}");
    }

    proptest! {
        #[test]
        fn no_frame_makes_it_panic(frame: Vec<u8>) {
            let _ = summarize(&frame).to_string();
        }

        /// Damage and headers within headers, where random bytes do not come.
        #[test]
        fn no_damaged_frame_makes_it_panic(
            damage in proptest::collection::vec((any::<usize>(), any::<u8>()), 0..5),
            len in 0usize..200, ipv6: bool,
        ) {
            let template = match ipv6 {
                false => test_frame::template(SRC, DST),
                true => {
                    let address = |last| std::net::Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, last);
                    FrameTemplate::udp_ipv6((SRC.0, address(1)), (DST.0, address(2)))
                }
            };
            let mut frame = template.build(0, FrameSize::from_bytes(200), None).unwrap();
            for (at, octet) in damage {
                let at = at % frame.len();
                frame[at] = octet;
            }
            frame.truncate(len);
            let _ = summarize(&frame).to_string();
        }
    }
}
