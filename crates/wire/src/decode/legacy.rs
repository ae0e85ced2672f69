//! What is no IP: LLC, SNAP, and the protocols of their time.

use super::{Header, typed};
use crate::appletalk::ddp::{self, Kind};
use crate::appletalk::{echo, rtmp};
use crate::llc::Sap;
use crate::snap::Oui;
use crate::{DecodeError, bpdu, decnet, ipx, llc, snap};

/// What follows a length: raw IPX where it starts with FF FF, which is no LLC header of use, or
/// LLC.
pub(super) fn logical_link(
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
            Oui::APPLE if header == ddp::SNAP => apple(payload, headers, payload_len),
            _ => Ok(()),
        };
    }
    headers.push(Header::Llc(header));
    *payload_len = payload.len();
    if header == llc::Repr::datagram(Sap::IPX) {
        return novell(payload, headers, payload_len);
    }
    if header == llc::Repr::datagram(Sap::SPANNING_TREE) {
        let (unit, _) = bpdu::Repr::parse(payload)?;
        headers.push(Header::Bpdu(unit));
        *payload_len = 0;
    }
    Ok(())
}

/// DECnet, and NSP where a data packet carries a data segment of it.
pub(super) fn digital(
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
pub(super) fn novell(
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
