//! The old capture format (draft-ietf-opsawg-pcap).

use super::{Frame, Step, Trouble};
use pcap_file::pcap::{PcapParser, RawPcapPacket};
use pcap_file::{DataLink, TsResolution};
use std::borrow::Cow;

/// Microseconds and nanoseconds, in either byte order.
const MAGICS: [[u8; 4]; 4] = [
    [0xa1, 0xb2, 0xc3, 0xd4],
    [0xd4, 0xc3, 0xb2, 0xa1],
    [0xa1, 0xb2, 0x3c, 0x4d],
    [0x4d, 0x3c, 0xb2, 0xa1],
];
/// Whether the upper bits of the link type tell the length of the FCS, and where (section 4: F and
/// "FCS len", in units of 16 bits).
const TELLS_FCS: u32 = 1 << 26;
const FCS_SHIFT: u32 = 28;

pub(super) fn is_pcap(bytes: &[u8]) -> bool {
    MAGICS.iter().any(|magic| bytes.starts_with(magic))
}

pub(super) struct Pcap<'a> {
    parser: PcapParser,
    rest: &'a [u8],
    fcs_bytes: usize,
}

impl<'a> Pcap<'a> {
    pub fn open(bytes: &'a [u8]) -> Result<Self, Trouble> {
        let (rest, parser) = PcapParser::new(bytes)?;
        let link_type = u32::from(parser.header().datalink);
        if link_type & 0xffff != u32::from(DataLink::ETHERNET) {
            return Err(Trouble::LinkType(link_type & 0xffff));
        }
        let told = link_type & TELLS_FCS != 0;
        let fcs_bytes = if told { (link_type >> FCS_SHIFT) as usize * 2 } else { 0 };
        Ok(Pcap { parser, rest, fcs_bytes })
    }

    pub fn next(&mut self) -> Step<'a> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let (rest, packet) = self.parser.next_raw_packet(self.rest)?;
        self.rest = rest;
        let time_ns = self.time_ns(&packet);
        let len_bytes = packet.orig_len as usize;
        let Cow::Borrowed(bytes) = packet.data else {
            return Err(Trouble::Damaged("a frame that is not in the file".into()));
        };
        if bytes.len() > len_bytes {
            return Err(Trouble::Damaged(format!(
                "a frame of {len_bytes} bytes of which {} were captured",
                bytes.len()
            )));
        }
        let (bytes, time_ns) = (Cow::Borrowed(bytes), Some(time_ns));
        let frame = Frame { bytes, len_bytes, time_ns, direction: None };
        Ok(Some(frame.without_fcs(self.fcs_bytes)))
    }

    fn time_ns(&self, packet: &RawPcapPacket<'_>) -> u64 {
        let unit_ns = match self.parser.header().ts_resolution {
            TsResolution::MicroSecond => 1_000,
            TsResolution::NanoSecond => 1,
        };
        u64::from(packet.ts_sec) * 1_000_000_000 + u64::from(packet.ts_frac) * unit_ns
    }
}
