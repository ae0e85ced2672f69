//! Routing headers: where a packet goes in the end.

use super::ExtensionView;
use std::net::Ipv6Addr;

/// Types of routes: of RFC 2460, which RFC 5095 deprecates; of mobile nodes (RFC 6275 section 6.4); of low-power networks
/// (RFC 6554 section 3); of segments (RFC 8754 section 2).
const SOURCE_ROUTE: u8 = 0;
const HOME_ADDRESS: u8 = 2;
const COMPRESSED: u8 = 3;
const SEGMENTS: u8 = 4;
/// What each of these has before its addresses.
const BEFORE_ADDRESSES: usize = 4;
const ADDRESS: usize = 16;

impl<T: AsRef<[u8]>> ExtensionView<T> {
    /// Of a routing header in a packet to `destination`: where the packet goes in the end, which is the destination in the
    /// pseudo header of what is above (RFC 8200 section 8.1). `None` where the route is of a type that is not
    /// known, or contradicts itself.
    pub fn final_destination(&self, destination: Ipv6Addr) -> Option<Ipv6Addr> {
        let left = usize::from(self.segments_left());
        if left == 0 {
            return Some(destination);
        }
        let (before, addresses) = self.routing_data().split_at_checked(BEFORE_ADDRESSES)?;
        match self.routing_kind() {
            SOURCE_ROUTE => last_of(addresses, left),
            HOME_ADDRESS => last_of(addresses, left).filter(|_| addresses.len() == ADDRESS),
            COMPRESSED => last_of_compressed(before, addresses, left, destination),
            // In reverse order; where the first is left out, one more than are listed is left.
            SEGMENTS => {
                let listed = usize::from(before[0]) + 1;
                let is_whole = listed * ADDRESS <= addresses.len() && left <= listed;
                addresses.first_chunk::<ADDRESS>().filter(|_| is_whole).map(|last| (*last).into())
            }
            _ => None,
        }
    }
}

/// The last of addresses of which so many are left.
fn last_of(addresses: &[u8], left: usize) -> Option<Ipv6Addr> {
    let is_whole = addresses.len().is_multiple_of(ADDRESS) && left <= addresses.len() / ADDRESS;
    addresses.last_chunk::<ADDRESS>().filter(|_| is_whole).map(|last| (*last).into())
}

/// The same where each address lacks the bytes that it has in common with the packet's destination.
fn last_of_compressed(
    before: &[u8],
    addresses: &[u8],
    left: usize,
    destination: Ipv6Addr,
) -> Option<Ipv6Addr> {
    let (in_common, in_common_of_last) = (before[0] >> 4, before[0] & 0xf);
    let in_common_of_last = usize::from(in_common_of_last);
    let padding = usize::from(before[1] >> 4);
    let unpadded = addresses.get(..addresses.len().checked_sub(padding)?)?;
    let other_len = unpadded.len().checked_sub(ADDRESS - in_common_of_last)?;
    let len = ADDRESS - usize::from(in_common);
    if !other_len.is_multiple_of(len) || left > other_len / len + 1 {
        return None;
    }
    let mut octets = destination.octets();
    octets[in_common_of_last..].copy_from_slice(&unpadded[other_len..]);
    Some(octets.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ipv4::Protocol;
    use crate::ipv6::Extension;
    use proptest::prelude::*;

    const TO: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 1, 2, 3, 4, 5, 6);

    fn ends(kind: u8, segments_left: u8, data: &[u8]) -> Option<Ipv6Addr> {
        let routing = Extension::Routing { kind, segments_left, data: data.to_vec() };
        let mut bytes = vec![0; routing.header_len()];
        routing.emit(Protocol::UDP, &mut bytes);
        ExtensionView::new_checked(&bytes).unwrap().final_destination(TO)
    }

    #[test]
    fn routes_of_each_type_end_where_their_documents_say() {
        let (a, b) = ([0xaa; 16], [0xbb; 16]);
        let in_order = [&[0; 4][..], &a, &b].concat();
        assert_eq!(ends(0, 2, &in_order), Some(b.into()));
        assert_eq!(ends(0, 1, &in_order), Some(b.into()), "on its way");
        assert_eq!(ends(0, 3, &in_order), None, "more than there are");
        assert_eq!(ends(0, 0, &in_order), Some(TO), "it has arrived");
        assert_eq!(ends(2, 1, &[&[0; 4][..], &a].concat()), Some(a.into()));
        assert_eq!(ends(2, 1, &in_order), None, "one address belongs into it");
        let in_reverse = [&[1, 0, 0, 0][..], &a, &b].concat();
        assert_eq!(ends(4, 1, &in_reverse), Some(a.into()));
        assert_eq!(ends(4, 3, &in_reverse), None);
        assert_eq!(
            ends(4, 1, &[&[2, 0, 0, 0][..], &a, &b].concat()),
            None,
            "of three two are there"
        );
        let with_more = [&[0, 0, 0, 0][..], &a, &[0xcc; 8]].concat();
        assert_eq!(ends(4, 1, &with_more), Some(a.into()), "with another field behind it");
        assert_eq!(ends(253, 1, &in_order), None);
        assert_eq!(ends(253, 0, &in_order), Some(TO));
    }

    /// Two addresses that lack 14 bytes, one that lacks 13, one byte of padding.
    #[test]
    fn a_compressed_route_ends_near_its_destination() {
        let data = [0xed, 0x10, 0, 0, 1, 1, 2, 2, 0xfe, 0xfd, 0xfc, 0];
        let end = "2001:db8:1:2:3:4:fe:fdfc".parse().unwrap();
        assert_eq!(ends(3, 3, &data), Some(end));
        assert_eq!(ends(3, 4, &data), None);
    }

    proptest! {
        #[test]
        fn no_route_panics(kind in 0u8..6, left: u8, data in proptest::collection::vec(any::<u8>(), 0..70)) {
            let mut bytes = vec![17, (data.len() / 8) as u8, kind, left];
            bytes.extend(data);
            let _ = ExtensionView::new_checked(&bytes).map(|view| view.final_destination(TO));
            let _ = ExtensionView::peek(&bytes).map(|view| view.final_destination(TO));
        }
    }
}
