//! PPPoE (RFC 2516): the packets of a PPP session, over Ethernet.

use crate::ethernet::EtherType;
use crate::view::view;

/// Bytes of the header, and of PPP's protocol field behind it.
pub const HEADER_LEN: usize = 8;
/// PPP's numbers for IPv4 (RFC 1332) and IPv6 (RFC 5072).
const IPV4: u16 = 0x0021;
const IPV6: u16 = 0x0057;

view! {
    /// A packet of a session as bytes.
    pub struct View("PPPoE session header", HEADER_LEN);
    /// Version and type, both 1.
    version / set_version: u8 = 0;
    /// 0 in a session.
    code / set_code: u8 = 1;
    /// Which session.
    session / set_session: u16 = 2;
    /// Bytes behind the header of PPPoE, the protocol field of PPP included.
    length / set_length: u16 = 4;
    /// PPP's protocol.
    protocol / set_protocol: u16 = 6;
}

impl<T: AsRef<[u8]>> View<T> {
    /// The EtherType that its packet would have without PPP; `None` where it is neither IPv4 nor IPv6.
    pub fn ether_type(&self) -> Option<EtherType> {
        match self.protocol() {
            IPV4 => Some(EtherType::IPV4),
            IPV6 => Some(EtherType::IPV6),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Version 1, type 1, code 0, session 0x1234, 22 bytes: those of RFC 2516 section 4, then of PPP.
    #[test]
    fn fields_are_where_the_rfc_has_them() {
        let mut bytes = [0x11, 0, 0x12, 0x34, 0, 22, 0, 0x21];
        let view = View::new_checked(&bytes).unwrap();
        assert_eq!((view.version(), view.code(), view.session()), (0x11, 0, 0x1234));
        assert_eq!((view.length(), view.ether_type()), (22, Some(EtherType::IPV4)));
        bytes[7] = 0x57;
        assert_eq!(View::new_unchecked(&bytes).ether_type(), Some(EtherType::IPV6));
        // The link control protocol.
        bytes[6..].copy_from_slice(&[0xc0, 0x21]);
        assert_eq!(View::new_unchecked(&bytes).ether_type(), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            if let Ok(view) = View::new_checked(&bytes) {
                let _ = (view.ether_type(), format!("{view:?}"));
            }
        }
    }
}
