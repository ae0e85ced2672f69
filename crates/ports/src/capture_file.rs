//! Captured frames as a pcapng file, which every tool of the trade reads.

use crate::Captured;
use crate::clock;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness, PcapError};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use trial::PortDescription;
use units::Instant;

/// if_tsresol: nanoseconds.
const NANOSECONDS: u8 = 9;
/// if_fcslen: frames are kept without FCS.
const NO_FCS: u8 = 0;
/// The direction bits of epb_flags.
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;

/// Writes what was sent and received on a port, in order of time.
pub(crate) fn write(
    path: &Path,
    port: &PortDescription,
    sent: &Captured,
    received: &Captured,
) -> Result<(), String> {
    let written = File::create(path)
        .map_err(PcapError::IoError)
        .and_then(|file| write_to(BufWriter::new(file), port, sent, received));
    written.map_err(|error| {
        // Its own words for a failed write are those of a failed read.
        let why = match error {
            PcapError::IoError(error) => error.to_string(),
            other => other.to_string(),
        };
        format!("write the capture {}: {why}", path.display())
    })
}

fn write_to(
    to: impl Write,
    port: &PortDescription,
    sent: &Captured,
    received: &Captured,
) -> Result<(), PcapError> {
    let application = concat!("netanvil ", env!("CARGO_PKG_VERSION"));
    let section = SectionHeaderBlock {
        endianness: Endianness::native(),
        options: vec![SectionHeaderOption::UserApplication(application.into())],
        ..Default::default()
    };
    let mut writer = PcapNgWriter::with_section_header(to, section)?;
    writer.write_pcapng_block(InterfaceDescriptionBlock {
        linktype: DataLink::ETHERNET,
        snaplen: 0,
        options: vec![
            InterfaceDescriptionOption::IfName(port.name.as_str().into()),
            InterfaceDescriptionOption::IfDescription(
                format!("{}, {}", port.id, port.port_type).into(),
            ),
            InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
            InterfaceDescriptionOption::IfFcsLen(NO_FCS),
        ],
    })?;
    let epoch_ns = time_of_day_at_clock_zero_ns();
    let outbound = sent.frames.iter().map(|frame| (OUTBOUND, frame));
    let inbound = received.frames.iter().map(|frame| (INBOUND, frame));
    let mut frames: Vec<_> = outbound.chain(inbound).collect();
    frames.sort_by_key(|(_, frame)| frame.at);
    for (direction, frame) in frames {
        let since_epoch_ns = epoch_ns + frame.at.since(Instant::ZERO).as_ns();
        writer.write_pcapng_block(EnhancedPacketBlock {
            interface_id: 0,
            timestamp: std::time::Duration::from_nanos(since_epoch_ns),
            original_len: frame.bytes.len() as u32,
            data: frame.bytes.as_slice().into(),
            options: vec![EnhancedPacketOption::Flags(direction)],
        })?;
    }
    writer.get_mut().flush().map_err(PcapError::IoError)
}

/// Captures show the time of day; the tester's own clock counts from boot.
fn time_of_day_at_clock_zero_ns() -> u64 {
    let (realtime, monotonic) =
        (clock::read_ns(libc::CLOCK_REALTIME), clock::read_ns(libc::CLOCK_MONOTONIC));
    realtime.saturating_sub(monotonic)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trial::PortId;
    use units::LineRate;

    #[test]
    fn a_disk_that_is_full_is_called_so() {
        let port = PortDescription {
            id: PortId(0),
            name: "p0".into(),
            port_type: "af_packet".into(),
            reason: String::new(),
            capabilities: Default::default(),
            line_rate: LineRate::from_gbps(10),
            line_rate_is_physical: false,
            max_frame_size_bytes: 1518,
            mac: String::new(),
            driver: "veth".into(),
        };
        let why = write(Path::new("/dev/full"), &port, &Captured::default(), &Captured::default());
        let why = why.unwrap_err();
        assert!(why.contains("/dev/full") && why.contains("No space left on device"), "{why}");
    }
}
