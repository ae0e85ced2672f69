//! Frames and the headers of IP.

use crate::{same_again, with_good_checksum};
use std::net::Ipv6Addr;
use wire::checksum::PseudoHeader;
use wire::decode::{Header, summarize};
use wire::ipv4::Protocol;
use wire::ipv6::Extension;
use wire::signature::{Form, Key, read, trials_ago, write};
use wire::verify::transport_is_good;
use wire::{icmpv4, icmpv6, ipv4, tcp, udp};

/// Any bytes as a received frame: the summary for logs and the checksum check of the receiver
/// agree on what is whole.
pub(crate) fn frame(frame: &[u8]) {
    let summary = summarize(frame);
    let _ = summary.to_string();
    let is_transport =
        |header: &Header| matches!(header, Header::Udp(_) | Header::Tcp(_) | Header::Icmpv6(_));
    if summary.fault.is_none() && summary.headers.iter().any(is_transport) {
        assert!(transport_is_good(frame), "{summary}");
    }
}

/// Any bytes as each header of IP and below.
pub(crate) fn headers(bytes: &[u8]) {
    same_again!(wire::ethernet, bytes);
    same_again!(wire::vlan, bytes);
    same_again!(wire::arp, bytes);
    let header_len = usize::from(bytes.first().unwrap_or(&0) & 0xf) * 4;
    same_again!(wire::ipv4, &with_good_checksum(bytes, header_len, 10));
    same_again!(wire::ipv6, bytes);
    same_again!(wire::udp, bytes);
    same_again!(wire::tcp, bytes);
    same_again!(wire::icmpv6, bytes);
    let mut message = bytes.to_vec();
    if message.len() >= icmpv4::HEADER_LEN {
        icmpv4::fill_checksum(&mut message);
    }
    if let Ok((repr, data)) = icmpv4::Repr::parse(&message) {
        let written = repr.message(data);
        assert_eq!(icmpv4::Repr::parse(&written), Ok((repr, data)));
    }
    for protocol in [0, 43, 44, 60].map(Protocol) {
        if let Ok((extension, next, rest)) = Extension::parse(protocol, bytes) {
            let mut written = vec![0; extension.header_len()];
            extension.emit(next, &mut written);
            written.extend_from_slice(rest);
            assert_eq!(Extension::parse(protocol, &written), Ok((extension, next, rest)));
        }
    }
    let addresses = PseudoHeader::V6(Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST);
    let _ = udp::verify(addresses, bytes);
    let _ = tcp::verify(addresses, bytes);
    let _ = icmpv6::verify(Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST, bytes);
}

/// Any bytes as a message of RIP, for either version of IP.
pub(crate) fn rip(bytes: &[u8]) {
    same_again!(wire::rip, bytes);
    same_again!(wire::ripng, bytes);
}

/// Any bytes as a message of SNMP.
pub(crate) fn snmp(bytes: &[u8]) {
    if let Ok((repr, _)) = wire::snmp::Repr::parse(bytes) {
        let written = repr.emit();
        assert_eq!(wire::snmp::Repr::parse(&written), Ok((repr, &[][..])));
    }
}

/// Any bytes as a message of IGMP or MLD.
pub(crate) fn groups(bytes: &[u8]) {
    same_again!(wire::mld, bytes);
    same_again!(wire::igmp, &with_good_checksum(bytes, bytes.len(), 2));
}

/// Any bytes as a NETBLT packet.
pub(crate) fn netblt(bytes: &[u8]) {
    use wire::netblt::{DATA_HEADER_LEN, HEADER_LEN, Packet, Repr};
    let mut bytes = bytes.to_vec();
    if bytes.len() >= HEADER_LEN {
        let length = usize::from(u16::from_be_bytes([bytes[4], bytes[5]]));
        let covered = if matches!(bytes[3], 6 | 7) { DATA_HEADER_LEN } else { length };
        bytes = with_good_checksum(&bytes, covered.min(bytes.len()), 0);
    }
    let Ok(repr) = Repr::parse(&bytes) else { return };
    let written = repr.to_vec();
    assert_eq!(Repr::parse(&written).expect("what was written"), repr);
    let _ = repr.to_string();
    match &repr.packet {
        Packet::Data(data) | Packet::LastData(data) => assert!(data.checksummed().is_intact()),
        Packet::Control(messages) => {
            let lengths = messages.iter().map(|message| message.len_bytes());
            assert_eq!(lengths.sum::<usize>(), messages.len_bytes());
        }
        _ => {}
    }
}

/// Any bytes as the end of a received frame, behind two of the key: what is read as ours is written
/// the same way.
pub(crate) fn signature(bytes: &[u8]) {
    let Some((key, frame)) = bytes.split_first_chunk() else { return };
    let key = Key::from_seed(u16::from_be_bytes(*key).into()).later(2);
    for form in [Form::Full, Form::Short, Form::Compact] {
        let ago = trials_ago(form, key, frame, |stream| stream < 9);
        assert!(ago.is_none_or(|ago| ago <= 2), "there were two trials before");
        if let Some(stamp) = read(form, key, frame) {
            let mut written = frame.to_vec();
            write(form, key, stamp, &mut written);
            assert_eq!(read(form, key, &written), Some(stamp));
        }
    }
}

/// Any packet behind a byte for the MTU: cut into fragments, it is whole when put together.
pub(crate) fn fragments(bytes: &[u8]) {
    let Some((first, packet)) = bytes.split_first() else { return };
    let header_len = usize::from(packet.first().unwrap_or(&0) & 0xf) * 4;
    let packet = with_good_checksum(packet, header_len, 10);
    let Ok(cut) = traffic::fragment::fragments(&packet, 40 + usize::from(*first)) else { return };
    let (header, payload) = ipv4::Repr::parse(&packet).expect("what was cut");
    let mut joined = vec![];
    for fragment in &cut {
        let (part, data) = ipv4::Repr::parse(fragment).expect("a fragment");
        // A packet may itself be a fragment so far back that its parts' places wrap around.
        let place = usize::from(header.fragment_offset) * 8 + joined.len();
        assert_eq!(usize::from(part.fragment_offset) * 8, place % 0x1_0000);
        joined.extend_from_slice(data);
    }
    assert_eq!(joined, payload);
}
