//! The new capture format (draft-ietf-opsawg-pcapng). It is read here since the library that reads pcap refuses options
//! without an end, and text that is not UTF-8, and knows no offset of times.

mod block;
mod interface;

use super::{Direction, Frame, Step, Trouble};
use block::{Block, Fields, Order, SECTION_HEADER};
use interface::{Interface, exact};
use std::borrow::Cow;

/// The type of a section header, with which a file begins.
const MAGIC: [u8; 4] = SECTION_HEADER.to_be_bytes();
/// The only version of the format; minor versions differ in nothing that is read.
const MAJOR_VERSION: u16 = 1;
/// Other types of blocks.
const INTERFACE_DESCRIPTION: u32 = 1;
const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
/// epb_flags, of the obsolete block as well; the length of the FCS in it, in bytes.
const FLAGS: u16 = 2;
const FLAGS_FCS_SHIFT: u32 = 5;
const FLAGS_FCS_MASK: u32 = 0xf;

pub(super) fn is_pcapng(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

pub(super) struct PcapNg<'a> {
    rest: &'a [u8],
    /// Of the section, as are the interfaces.
    order: Order,
    interfaces: Vec<Interface>,
}

impl<'a> PcapNg<'a> {
    pub fn open(bytes: &'a [u8]) -> Result<Self, Trouble> {
        let mut file = PcapNg { rest: bytes, order: Order::Big, interfaces: vec![] };
        // The section header, from which a file that is cut off or damaged at once is told.
        file.block()?;
        Ok(file)
    }

    pub fn next(&mut self) -> Step<'a> {
        while !self.rest.is_empty() {
            let Block { kind, fields } = self.block()?;
            match kind {
                ENHANCED_PACKET | PACKET => return self.packet(fields, kind).map(Some),
                SIMPLE_PACKET => return self.simple_packet(fields).map(Some),
                // Other blocks hold no frames, whatever else is in them.
                _ => {}
            }
        }
        Ok(None)
    }

    /// The next block; a section and an interface that it describes are noted.
    fn block(&mut self) -> Result<Block<'a>, Trouble> {
        let (block, rest) = block::next(self.rest, self.order)?;
        match block.kind {
            SECTION_HEADER => {
                self.order = section_order(block.fields)?;
                self.interfaces.clear();
            }
            INTERFACE_DESCRIPTION => self.interfaces.push(Interface::read(block.fields)?),
            _ => {}
        }
        self.rest = rest;
        Ok(block)
    }

    fn packet(&self, mut fields: Fields<'a>, kind: u32) -> Result<Frame<'a>, Trouble> {
        let short = || Trouble::Damaged("a block that is too short for a frame".into());
        let interface = if kind == PACKET {
            // With a count of drops.
            fields.u16().zip(fields.u16()).map(|(interface, _drops)| interface.into())
        } else {
            fields.u32()
        };
        let interface = self.interface(interface.ok_or_else(short)?)?;
        let (high, low) = fields.u32().zip(fields.u32()).ok_or_else(short)?;
        let (captured, len) = fields.u32().zip(fields.u32()).ok_or_else(short)?;
        let there = fields.rest().len();
        let bytes = fields.padded(captured as usize).ok_or_else(|| {
            Trouble::Damaged(format!(
                "a frame of {captured} bytes in a block with room for {there}"
            ))
        })?;
        let flags = exact(fields, FLAGS, ("epb_flags", 4))?.and_then(|mut value| value.u32());
        let time_ns = interface.time_ns(u64::from(high) << 32 | u64::from(low))?;
        let mut frame = whole(bytes, len as usize, Some(time_ns))?;
        frame.direction = flags.and_then(direction);
        let fcs_bytes = flags.map_or(0, |flags| flags >> FLAGS_FCS_SHIFT & FLAGS_FCS_MASK) as usize;
        Ok(frame.without_fcs(if fcs_bytes > 0 { fcs_bytes } else { interface.fcs_bytes() }))
    }

    fn simple_packet(&self, mut fields: Fields<'a>) -> Result<Frame<'a>, Trouble> {
        let interface = self.interface(0)?;
        let short = || Trouble::Damaged("a block that is too short for a frame".into());
        let len_bytes = fields.u32().ok_or_else(short)? as usize;
        // Without the block's padding.
        let kept = interface.kept(len_bytes).min(fields.rest().len());
        let bytes = fields.padded(kept).unwrap_or_default();
        Ok(whole(bytes, len_bytes, None)?.without_fcs(interface.fcs_bytes()))
    }

    fn interface(&self, id: u32) -> Result<&Interface, Trouble> {
        let interface = self.interfaces.get(id as usize).ok_or_else(|| {
            Trouble::Damaged(format!("a frame of interface {id}, which is not described"))
        })?;
        interface.of_ethernet()
    }
}

/// The order of bytes of a section, by its header.
fn section_order(mut fields: Fields<'_>) -> Result<Order, Trouble> {
    let order = fields.order();
    let _magic = fields.u32();
    let short = || Trouble::Damaged("the header of a section is too short".into());
    let (major, minor) = fields.u16().zip(fields.u16()).ok_or_else(short)?;
    let _section_len = fields.u64().ok_or_else(short)?;
    if major != MAJOR_VERSION {
        return Err(Trouble::Damaged(format!(
            "a section of version {major}.{minor} of the format, of which {MAJOR_VERSION} is read"
        )));
    }
    Ok(order)
}

/// A frame of which a block holds these bytes.
fn whole(bytes: &[u8], len_bytes: usize, time_ns: Option<u64>) -> Result<Frame<'_>, Trouble> {
    if bytes.len() > len_bytes {
        let captured = bytes.len();
        let why = format!("a frame of {len_bytes} bytes of which {captured} were captured");
        return Err(Trouble::Damaged(why));
    }
    Ok(Frame { bytes: Cow::Borrowed(bytes), len_bytes, time_ns, direction: None })
}

/// The lowest two bits of epb_flags.
fn direction(flags: u32) -> Option<Direction> {
    match flags & 0b11 {
        0b01 => Some(Direction::Inbound),
        0b10 => Some(Direction::Outbound),
        _ => None,
    }
}
