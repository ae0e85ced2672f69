//! Any bytes as each header: parsing never panics, and what was parsed is written so that it
//! parses to the same meaning.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::net::Ipv6Addr;
use wire::checksum::{PseudoHeader, checksum};
use wire::ipv4::Protocol;
use wire::ipv6::Extension;
use wire::{arp, ethernet, icmpv4, icmpv6, ipv4, ipv6, rip, snmp, tcp, udp, vlan};

/// Reads, writes and reads again.
macro_rules! same_again {
    ($module:ident, $bytes:expr) => {
        if let Ok((repr, rest)) = $module::Repr::parse($bytes) {
            let mut written = vec![0; repr.header_len()];
            repr.emit(&mut written);
            written.extend_from_slice(rest);
            let (again, rest_again) = $module::Repr::parse(&written).expect("what was written");
            assert_eq!((&again, rest_again), (&repr, rest));
            let _ = repr.to_string();
        }
    };
}

fuzz_target!(|bytes: &[u8]| {
    same_again!(ethernet, bytes);
    same_again!(vlan, bytes);
    same_again!(arp, bytes);
    same_again!(ipv4, &with_good_ipv4_checksum(bytes));
    same_again!(ipv6, bytes);
    same_again!(udp, bytes);
    same_again!(tcp, bytes);
    same_again!(icmpv6, bytes);
    same_again!(rip, bytes);
    let mut message = bytes.to_vec();
    if message.len() >= icmpv4::HEADER_LEN {
        icmpv4::fill_checksum(&mut message);
    }
    if let Ok((repr, data)) = icmpv4::Repr::parse(&message) {
        let written = repr.message(data);
        assert_eq!(icmpv4::Repr::parse(&written), Ok((repr, data)));
    }
    if let Ok((repr, _)) = snmp::Repr::parse(bytes) {
        let written = repr.emit();
        assert_eq!(snmp::Repr::parse(&written), Ok((repr, &[][..])));
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
});

/// Without this hardly an input would come past the header checksum.
fn with_good_ipv4_checksum(bytes: &[u8]) -> Vec<u8> {
    let mut packet = bytes.to_vec();
    let header_len = usize::from(bytes.first().unwrap_or(&0) & 0xf) * 4;
    if (ipv4::HEADER_LEN..=packet.len()).contains(&header_len) {
        packet[10..12].fill(0);
        let checksum = checksum(&packet[..header_len]);
        packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    }
    packet
}
