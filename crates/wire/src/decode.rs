//! What a frame is, in a line, for logs and error messages.

mod legacy;

use crate::checksum::PseudoHeader;
use crate::ethernet::EtherType;
use crate::ipv4::Protocol;
use crate::ipv6::{Extension, ExtensionView};
use crate::{DecodeError, arp, ethernet, icmpv4, icmpv6, ipv4, ipv6, rip, snmp, tcp, udp, vlan};
use crate::{appletalk, bpdu, decnet, igmp, ipx, llc, mld, snap};
use legacy::{digital, logical_link, novell};
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
    Bpdu(bpdu::Repr),
    Igmp(igmp::Repr),
    Mld(mld::Repr),
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

/// IP, IP within IP, and what is above.
fn network(
    mut protocol: Protocol,
    mut rest: &[u8],
    headers: &mut Vec<Header>,
    payload_len: &mut usize,
) -> Result<(), DecodeError> {
    let mut addresses = None;
    let mut end_is_known = true;
    loop {
        *payload_len = rest.len();
        match protocol {
            Protocol::IPV4 => {
                let (header, payload) = ipv4::Repr::parse(rest)?;
                (protocol, rest) = (header.protocol, payload);
                (addresses, end_is_known) = (Some(PseudoHeader::V4(header.src, header.dst)), true);
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
                (addresses, end_is_known) = (Some(PseudoHeader::V6(header.src, header.dst)), true);
                headers.push(Header::Ipv6(header));
            }
            extension if Extension::is_known(extension) => {
                if extension == Protocol::ROUTING {
                    end_is_known &= route(rest, &mut addresses)?;
                }
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
                return match transport(upper, addresses, rest, headers, payload_len) {
                    // Its checksum has an address that we do not know.
                    Err(DecodeError::Checksum { .. }) if !end_is_known => Ok(()),
                    read => read,
                };
            }
        }
    }
}

/// Puts the end of a route in place of the destination. False where the end is not known.
fn route(header: &[u8], addresses: &mut Option<PseudoHeader>) -> Result<bool, DecodeError> {
    let view = ExtensionView::new_checked(header)?;
    let Some(PseudoHeader::V6(src, dst)) = *addresses else { return Ok(true) };
    let end = view.final_destination(dst);
    *addresses = Some(PseudoHeader::V6(src, end.unwrap_or(dst)));
    Ok(end.is_some())
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
        (Protocol::IGMP, PseudoHeader::V4(..)) => {
            let (message, rest) = igmp::Repr::parse(bytes)?;
            headers.push(Header::Igmp(message));
            rest
        }
        (Protocol::ICMPV6, PseudoHeader::V6(src, dst)) if mld::is_mld(bytes) => {
            icmpv6::verify(src, dst, bytes)?;
            let (message, rest) = mld::Repr::parse(bytes)?;
            headers.push(Header::Mld(message));
            rest
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
            Header::Bpdu(header) => header.fmt(f),
            Header::Igmp(header) => header.fmt(f),
            Header::Mld(header) => header.fmt(f),
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
