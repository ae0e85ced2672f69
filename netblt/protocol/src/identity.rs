//! Which connection an ABORT, QUIT, QUITACK, DONE or REFUSED means. RFC 998 has them say addresses and
//! ports alone, which a stranger can sweep. Ends of ours add the connection's identifier, behind the
//! packet, where its length says that it is over: others do not look there.

/// What the addition begins with.
const MAGIC: [u8; 4] = *b"NBid";
/// Where a packet says its length (RFC 998 section 8).
const LENGTH: std::ops::Range<usize> = 4..6;
/// A packet is padded to a multiple of so many bytes (RFC 998 section 8).
pub const PADDED_TO: usize = 4;

/// Adds the identifier behind a packet that ends `out`.
pub fn name(connection_id: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&connection_id.to_be_bytes());
}

/// What stands in a datagram behind its packet.
pub fn behind(datagram: &[u8]) -> Option<&[u8]> {
    let length = u16::from_be_bytes(datagram.get(LENGTH)?.try_into().ok()?);
    datagram.get(usize::from(length).next_multiple_of(PADDED_TO)..)
}

/// Whether a datagram goes on beyond its packet by more than the padding that anybody may add.
pub fn is_lengthened(datagram: &[u8]) -> bool {
    behind(datagram).is_some_and(|rest| rest.len() >= PADDED_TO)
}

/// The identifier that a datagram says behind its packet.
pub fn named(datagram: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(behind(datagram)?.strip_prefix(&MAGIC)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::netblt::{Header, Packet, Repr};

    #[test]
    fn an_identifier_follows_a_packet_and_changes_nothing_in_it() {
        for reason in ["", "a", "abcd"] {
            let repr = Repr { header: Header::new(1, 2), packet: Packet::Abort(reason.into()) };
            let mut datagram = repr.to_vec();
            assert_eq!(named(&datagram), None);
            name(0x0102_0304, &mut datagram);
            assert_eq!(named(&datagram), Some(0x0102_0304));
            assert_eq!(Repr::parse(&datagram).unwrap(), repr);
            assert_eq!(named(&datagram[..datagram.len() - 1]), None);
        }
    }
}
