//! Any bytes as each header of the protocols of 1990 and of group membership: parsing never
//! panics, and what was parsed is written so that it parses to the same meaning. Any packet, cut
//! into fragments, is whole when put together.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::appletalk::{aarp, ddp, echo, rtmp};
use wire::checksum::checksum;
use wire::decnet::nsp;
use wire::fragment::fragments;
use wire::ipx::{rip as ipx_rip, sap};
use wire::{bpdu, decnet, igmp, ipv4, ipx, llc, mld, snap};

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
    same_again!(llc, bytes);
    same_again!(snap, bytes);
    same_again!(bpdu, bytes);
    same_again!(decnet, bytes);
    same_again!(nsp, bytes);
    same_again!(aarp, bytes);
    same_again!(ddp, bytes);
    same_again!(echo, bytes);
    same_again!(ipx, bytes);
    same_again!(ipx_rip, bytes);
    same_again!(sap, bytes);
    same_again!(mld, bytes);
    same_again!(igmp, &with_good_checksum(bytes, bytes.len(), 2));
    for kind in [ddp::Kind::RTMP_DATA, ddp::Kind::RTMP_REQUEST] {
        if let Ok((repr, rest)) = rtmp::Repr::parse(kind, bytes) {
            let mut written = vec![0; repr.header_len()];
            repr.emit(&mut written);
            written.extend_from_slice(rest);
            assert_eq!(rtmp::Repr::parse(kind, &written), Ok((repr, rest)));
        }
    }
    let _ = ddp::verify(bytes);
    let mut visited = bytes.to_vec();
    let _ = decnet::count_visit(&mut visited, 63);
    cut_and_joined(bytes);
});

/// The first byte is the MTU, less 40.
fn cut_and_joined(bytes: &[u8]) {
    let Some((first, packet)) = bytes.split_first() else { return };
    let header_len = usize::from(packet.first().unwrap_or(&0) & 0xf) * 4;
    let packet = with_good_checksum(packet, header_len, 10);
    let Ok(cut) = fragments(&packet, 40 + usize::from(*first)) else { return };
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

/// Without this hardly an input would come past the checksum of its first `covered` bytes.
fn with_good_checksum(bytes: &[u8], covered: usize, field: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if covered >= field + 2 && covered <= bytes.len() {
        bytes[field..field + 2].fill(0);
        let checksum = checksum(&bytes[..covered]);
        bytes[field..field + 2].copy_from_slice(&checksum.to_be_bytes());
    }
    bytes
}
