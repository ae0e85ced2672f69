//! VLAN tags: IEEE 802.1Q, and twice in a row IEEE 802.1ad (QinQ). A tag's own type, 0x8100 or
//! 0x88a8, is the last field of the header before it.

use crate::DecodeError;
use crate::ethernet::{self, EtherType};
use crate::view::view;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Bytes that a tag adds to a frame.
pub const HEADER_LEN: usize = 4;
/// The highest identifier for use; 4095 is reserved (IEEE 802.1Q table 9-2).
pub const MAX_ID: u16 = 4094;

view! {
    /// A tag and what follows it, as bytes.
    pub struct View("VLAN tag", HEADER_LEN);
    /// Priority code point, 0 to 7.
    priority / set_priority: u8 = 0 as u16[13..16];
    /// Drop eligible indicator.
    drop_eligible / set_drop_eligible: bool = 0 as u16[12..13];
    /// VLAN identifier, 12 bits.
    id / set_id: u16 = 0 as u16[0..12];
    /// What follows: another tag, or the network layer.
    ether_type / set_ether_type: EtherType = 2;
}

/// One tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Repr {
    /// Priority code point, 0 to 7.
    pub priority: u8,
    /// Drop eligible indicator.
    pub drop_eligible: bool,
    /// VLAN identifier, 12 bits.
    pub id: u16,
    /// What follows: another tag, or the network layer.
    pub ether_type: EtherType,
}

impl Repr {
    /// Reads the tag that follows a header of type [`EtherType::VLAN`] or
    /// [`EtherType::SERVICE_VLAN`].
    pub fn parse(bytes: &[u8]) -> Result<(Repr, &[u8]), DecodeError> {
        let view = View::new_checked(bytes)?;
        let repr = Repr {
            priority: view.priority(),
            drop_eligible: view.drop_eligible(),
            id: view.id(),
            ether_type: view.ether_type(),
        };
        Ok((repr, view.payload()))
    }
    /// Bytes that [`emit`](Repr::emit) writes.
    pub const fn header_len(&self) -> usize {
        HEADER_LEN
    }
    /// Writes the tag; bits beyond a field's width are cut off. Panics where `bytes` is too short.
    pub fn emit(&self, bytes: &mut [u8]) {
        let mut view = View::new_unchecked(bytes);
        view.set_priority(self.priority);
        view.set_drop_eligible(self.drop_eligible);
        view.set_id(self.id);
        view.set_ether_type(self.ether_type);
    }
}

/// What is behind at most `most` tags of a frame without FCS: its type, and the bytes that follow. `None`
/// where the frame ends before its type.
#[inline]
pub fn behind_tags(frame: &[u8], most: usize) -> Option<(EtherType, &[u8])> {
    let frame = ethernet::View::peek(frame)?;
    let (mut ether_type, mut rest) = (frame.ether_type(), frame.payload());
    for _ in 0..most {
        if !ether_type.is_vlan() {
            break;
        }
        let tag = View::peek(rest)?;
        (ether_type, rest) = (tag.ether_type(), tag.payload());
    }
    Some((ether_type, rest))
}

/// A frame with tags behind its addresses, the outermost first: one is 802.1Q, of several all but the last are
/// service tags (802.1ad). A frame too short for addresses stays as it is.
pub fn tag(mut frame: Vec<u8>, ids: &[u16]) -> Vec<u8> {
    if frame.len() < ethernet::TYPE {
        return frame;
    }
    for (place, id) in ids.iter().enumerate().rev() {
        let is_last = place + 1 == ids.len();
        let kind = if is_last { EtherType::VLAN } else { EtherType::SERVICE_VLAN };
        let [high, low] = kind.0.to_be_bytes();
        let [id_high, id_low] = (id & 0xfff).to_be_bytes();
        frame.splice(ethernet::TYPE..ethernet::TYPE, [high, low, id_high, id_low]);
    }
    frame
}

/// A tag with its own type, as a port puts it before what it carries.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Tag {
    /// Its own type: [`EtherType::VLAN`] or [`EtherType::SERVICE_VLAN`].
    pub tpid: EtherType,
    /// Priority code point, 0 to 7.
    pub priority: u8,
    /// VLAN identifier, 12 bits.
    pub id: u16,
}

impl Tag {
    /// Whether both are of one VLAN; the priority does not matter.
    pub fn is_same_vlan(&self, other: &Tag) -> bool {
        (self.tpid, self.id) == (other.tpid, other.id)
    }
}

/// Whether frames with these tags and those are of one VLAN.
pub fn are_same_vlan(one: &[Tag], other: &[Tag]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(a, b)| a.is_same_vlan(b))
}

/// A frame without FCS, with these tags behind its addresses, the outermost first. A frame too short for addresses
/// stays as it is.
pub fn push(mut frame: Vec<u8>, tags: &[Tag]) -> Vec<u8> {
    if frame.len() < ethernet::TYPE {
        return frame;
    }
    for tag in tags.iter().rev() {
        let [high, low] = tag.tpid.0.to_be_bytes();
        let [first, second] = (u16::from(tag.priority) << 13 | tag.id & 0xfff).to_be_bytes();
        frame.splice(ethernet::TYPE..ethernet::TYPE, [high, low, first, second]);
    }
    frame
}

/// At most `most` tags of a frame without FCS, the outermost first. `None` where it ends before its type.
pub fn tags_of(frame: &[u8], most: usize) -> Option<Vec<Tag>> {
    let header = ethernet::View::peek(frame)?;
    let (mut tpid, mut rest, mut tags) = (header.ether_type(), header.payload(), vec![]);
    while tags.len() < most && tpid.is_vlan() {
        let tag = View::peek(rest)?;
        tags.push(Tag { tpid, priority: tag.priority(), id: tag.id() });
        (tpid, rest) = (tag.ether_type(), tag.payload());
    }
    Some(tags)
}

/// The tags that say of which VLAN a frame without FCS is, and the frame without any. At most `most` tags are looked
/// at; one with identifier 0 has a priority alone (IEEE 802.1Q table 9-2). `None` where the frame ends before its type.
pub fn untag(frame: &[u8], most: usize) -> Option<(Vec<Tag>, Vec<u8>)> {
    let mut tags = tags_of(frame, most)?;
    let plain = pop(frame, tags.len());
    tags.retain(|tag| tag.id != 0);
    Some((tags, plain))
}

/// A frame without FCS, without its first `count` tags.
pub fn pop(frame: &[u8], count: usize) -> Vec<u8> {
    let behind = frame.get(ethernet::TYPE + count * HEADER_LEN..).unwrap_or_default();
    [frame.get(..ethernet::TYPE).unwrap_or(frame), behind].concat()
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dei = if self.drop_eligible { " drop-eligible" } else { "" };
        write!(f, "VLAN {} priority {}{dei} {}", self.id, self.priority, self.ether_type)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tags_are_pushed_and_popped() {
        let plain: Vec<u8> = (0..12).chain([0x08, 0x06, 1, 2, 3]).collect();
        let outer = Tag { tpid: EtherType::SERVICE_VLAN, priority: 5, id: 100 };
        let inner = Tag { tpid: EtherType::VLAN, priority: 0, id: 7 };
        let tagged = push(plain.clone(), &[outer, inner]);
        // 802.1ad around 802.1Q: the types, three bits of priority, twelve of identifier.
        assert_eq!(tagged[12..22], [0x88, 0xa8, 0xa0, 0x64, 0x81, 0x00, 0x00, 0x07, 0x08, 0x06]);
        assert_eq!(tags_of(&tagged, 2), Some(vec![outer, inner]));
        assert_eq!(tags_of(&tagged, 1), Some(vec![outer]));
        assert_eq!(tags_of(&plain, 2), Some(vec![]));
        assert_eq!((pop(&tagged, 2), pop(&plain, 0)), (plain.clone(), plain.clone()));
        let prioritised = push(tagged.clone(), &[Tag { id: 0, ..outer }]);
        assert_eq!(untag(&prioritised, 3), Some((vec![outer, inner], plain.clone())));
        assert!(are_same_vlan(&[outer], &[Tag { priority: 0, ..outer }]));
        assert!(!are_same_vlan(&[outer], &[inner]) && !are_same_vlan(&[outer], &[]));
        for len in 0..tagged.len() {
            assert_eq!(tags_of(&tagged[..len], 2).is_none(), len < 22, "{len}");
            pop(&tagged[..len], 2);
            push(tagged[..len].to_vec(), &[inner]);
        }
    }

    /// IEEE 802.1Q clause 9.6: three bits of priority, one of DEI, twelve of identifier.
    #[test]
    fn priority_5_drop_eligible_vlan_100() {
        let (repr, rest) = Repr::parse(&[0xb0, 0x64, 0x08, 0x00, 1]).unwrap();
        assert_eq!((repr.priority, repr.drop_eligible, repr.id), (5, true, 100));
        assert_eq!(repr.ether_type, EtherType::IPV4);
        assert_eq!(rest, [1]);
    }

    /// IEEE 802.1ad: the service tag, 0x88a8, stands before the customer's, 0x8100.
    #[test]
    fn tags_stand_behind_the_addresses() {
        let frame: Vec<u8> = (0..14).collect();
        let tags = [0x88, 0xa8, 0x01, 0x2c, 0x81, 0x00, 0x00, 0x64];
        let expected = [&frame[..12], &tags, &frame[12..]].concat();
        assert_eq!(tag(frame.clone(), &[300, 100]), expected);
        assert_eq!(tag(frame.clone(), &[]), frame);
        assert_eq!(tag(vec![1; 11], &[100]), vec![1; 11]);
    }

    proptest! {
        #[test]
        fn what_is_emitted_is_parsed(priority in 0u8..8, drop_eligible: bool,
                                     id in 0u16..4096, ether_type: u16) {
            let repr = Repr { priority, drop_eligible, id, ether_type: EtherType(ether_type) };
            let mut bytes = [0; HEADER_LEN];
            repr.emit(&mut bytes);
            prop_assert_eq!(Repr::parse(&bytes), Ok((repr, &[][..])));
        }

        #[test]
        fn no_bytes_make_the_parser_panic(bytes: Vec<u8>) {
            let _ = Repr::parse(&bytes);
        }
    }
}
