//! The new capture format (draft-ietf-opsawg-pcapng).

use super::{Direction, Frame, Step, Trouble};
use pcap_file::pcapng::Block;
use pcap_file::pcapng::PcapNgParser;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::{ENHANCED_PACKET_BLOCK, PACKET_BLOCK, SIMPLE_PACKET_BLOCK};
use pcap_file::{DataLink, Endianness};
use std::borrow::Cow;

/// The type of a section header block, the same in either byte order.
const MAGIC: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
/// if_tsresol where an interface does not tell: microseconds.
const MICROSECONDS: u8 = 6;
/// The bit of if_tsresol that makes it a power of 2.
const BINARY: u8 = 0x80;
/// The length of the FCS in epb_flags, in bytes.
const FLAGS_FCS_SHIFT: u32 = 5;
const FLAGS_FCS_MASK: u32 = 0xf;
/// An FCS of Ethernet. Some write if_fcslen in bits.
const FCS_BYTES: usize = 4;

pub(super) fn is_pcapng(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

pub(super) struct PcapNg<'a> {
    parser: PcapNgParser,
    rest: &'a [u8],
}

impl<'a> PcapNg<'a> {
    pub fn open(bytes: &'a [u8]) -> Result<Self, Trouble> {
        let (rest, parser) = PcapNgParser::new(bytes)?;
        Ok(PcapNg { parser, rest })
    }

    pub fn next(&mut self) -> Step<'a> {
        while !self.rest.is_empty() {
            // Other blocks hold no frames, whatever else is in them.
            if !self.at_frame() {
                (self.rest, _) = self.parser.next_raw_block(self.rest)?;
                continue;
            }
            let (rest, block) = self.parser.next_block(self.rest)?;
            self.rest = rest;
            return self.frame(block).map(Some);
        }
        Ok(None)
    }

    /// Whether the next block holds a frame.
    fn at_frame(&self) -> bool {
        let Some(kind) = self.rest.first_chunk() else { return false };
        let kind = match self.parser.section().endianness {
            Endianness::Big => u32::from_be_bytes(*kind),
            Endianness::Little => u32::from_le_bytes(*kind),
        };
        matches!(kind, ENHANCED_PACKET_BLOCK | SIMPLE_PACKET_BLOCK | PACKET_BLOCK)
    }

    fn frame(&self, block: Block<'a>) -> Result<Frame<'a>, Trouble> {
        match block {
            Block::EnhancedPacket(packet) => {
                let interface = self.interface(packet.interface_id)?;
                let flags = packet.options.iter().find_map(|option| match option {
                    EnhancedPacketOption::Flags(flags) => Some(*flags),
                    _ => None,
                });
                let ticks = packet.timestamp.as_nanos() as u64;
                let time_ns = Some(time_ns(ticks, interface));
                let len_bytes = packet.original_len as usize;
                let mut frame = whole(packet.data, len_bytes, time_ns)?;
                frame.direction = flags.and_then(direction);
                Ok(frame.without_fcs(fcs_bytes(interface, flags)))
            }
            Block::SimplePacket(packet) => {
                let interface = self.interface(0)?;
                let len_bytes = packet.original_len as usize;
                let kept = match interface.snaplen as usize {
                    0 => len_bytes,
                    most => len_bytes.min(most),
                };
                let bytes = cut(packet.data, kept);
                Ok(whole(bytes, len_bytes, None)?.without_fcs(fcs_bytes(interface, None)))
            }
            Block::Packet(packet) => {
                let interface = self.interface(packet.interface_id.into())?;
                let time_ns = Some(time_ns(packet.timestamp, interface));
                let frame = whole(packet.data, packet.original_len as usize, time_ns)?;
                Ok(frame.without_fcs(fcs_bytes(interface, None)))
            }
            _ => Err(Trouble::Damaged("a block of frames that holds none".into())),
        }
    }

    fn interface(&self, id: u32) -> Result<&InterfaceDescriptionBlock<'static>, Trouble> {
        let interface = self.parser.interfaces().get(id as usize).ok_or_else(|| {
            Trouble::Damaged(format!("a frame of interface {id}, which is not described"))
        })?;
        match interface.linktype {
            DataLink::ETHERNET => Ok(interface),
            other => Err(Trouble::LinkType(other.into())),
        }
    }
}

/// A frame of which a block holds these bytes.
fn whole(
    bytes: Cow<'_, [u8]>,
    len_bytes: usize,
    time_ns: Option<u64>,
) -> Result<Frame<'_>, Trouble> {
    if bytes.len() > len_bytes {
        let captured = bytes.len();
        let why = format!("a frame of {len_bytes} bytes of which {captured} were captured");
        return Err(Trouble::Damaged(why));
    }
    Ok(Frame { bytes, len_bytes, time_ns, direction: None })
}

/// The first bytes of a block's data, without its padding.
fn cut(data: Cow<'_, [u8]>, bytes: usize) -> Cow<'_, [u8]> {
    match data {
        Cow::Borrowed(data) => Cow::Borrowed(&data[..data.len().min(bytes)]),
        Cow::Owned(mut data) => {
            data.truncate(bytes);
            Cow::Owned(data)
        }
    }
}

/// From units of the interface since 1970.
fn time_ns(ticks: u64, interface: &InterfaceDescriptionBlock<'_>) -> u64 {
    let resolution = interface.options.iter().find_map(|option| match option {
        InterfaceDescriptionOption::IfTsResol(resolution) => Some(*resolution),
        _ => None,
    });
    let resolution = resolution.unwrap_or(MICROSECONDS);
    let exponent = u32::from(resolution & !BINARY);
    let base: u128 = if resolution & BINARY == 0 { 10 } else { 2 };
    let Some(ticks_a_second) = base.checked_pow(exponent) else { return 0 };
    let ns = u128::from(ticks) * 1_000_000_000 / ticks_a_second;
    ns.try_into().unwrap_or(u64::MAX)
}

/// The lowest two bits of epb_flags.
fn direction(flags: u32) -> Option<Direction> {
    match flags & 0b11 {
        0b01 => Some(Direction::Inbound),
        0b10 => Some(Direction::Outbound),
        _ => None,
    }
}

/// Bytes of FCS that are kept with a frame.
fn fcs_bytes(interface: &InterfaceDescriptionBlock<'_>, flags: Option<u32>) -> usize {
    let of_frame = flags.map_or(0, |flags| (flags >> FLAGS_FCS_SHIFT & FLAGS_FCS_MASK) as usize);
    if of_frame > 0 {
        return of_frame;
    }
    let told = interface.options.iter().find_map(|option| match option {
        InterfaceDescriptionOption::IfFcsLen(length) => Some(usize::from(*length)),
        _ => None,
    });
    match told.unwrap_or(0) {
        bits if bits == 8 * FCS_BYTES => FCS_BYTES,
        bytes => bytes,
    }
}
