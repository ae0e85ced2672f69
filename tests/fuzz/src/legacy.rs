//! The headers of the protocols of 1990.

use crate::same_again;
use wire::appletalk::{ddp, rtmp};

/// Any bytes as LLC, SNAP or a spanning tree message.
pub(crate) fn bridging(bytes: &[u8]) {
    same_again!(wire::llc, bytes);
    same_again!(wire::snap, bytes);
    same_again!(wire::bpdu, bytes);
}

/// Any bytes as DECnet.
pub(crate) fn decnet(bytes: &[u8]) {
    same_again!(wire::decnet, bytes);
    same_again!(wire::decnet::nsp, bytes);
    let mut visited = bytes.to_vec();
    let _ = wire::decnet::count_visit(&mut visited, 63);
}

/// Any bytes as AppleTalk.
pub(crate) fn appletalk(bytes: &[u8]) {
    same_again!(wire::appletalk::aarp, bytes);
    same_again!(wire::appletalk::ddp, bytes);
    same_again!(wire::appletalk::echo, bytes);
    for kind in [ddp::Kind::RTMP_DATA, ddp::Kind::RTMP_REQUEST] {
        if let Ok((repr, rest)) = rtmp::Repr::parse(kind, bytes) {
            let mut written = vec![0; repr.header_len()];
            repr.emit(&mut written);
            written.extend_from_slice(rest);
            assert_eq!(rtmp::Repr::parse(kind, &written), Ok((repr, rest)));
        }
    }
    let _ = ddp::verify(bytes);
}

/// Any bytes as IPX.
pub(crate) fn ipx(bytes: &[u8]) {
    same_again!(wire::ipx, bytes);
    same_again!(wire::ipx::rip, bytes);
    same_again!(wire::ipx::sap, bytes);
    let mut packet = bytes.to_vec();
    if wire::ipx::Repr::parse(bytes).is_ok() {
        let _ = wire::ipx::count_hop(&mut packet);
    }
}
