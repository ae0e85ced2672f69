//! Captures of a configuration: what arrives on ports while flows are sent.

use super::filter::Filters;
use crate::model::{CaptureFormat, Config};
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::{Block, PcapNgReader, PcapNgWriter};
use pcap_file::{DataLink, Endianness, PcapError, TsResolution};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Cursor};
use std::path::PathBuf;
use tempfile::TempDir;
use traffic::error_frame::fcs;
use trial::{CaptureRequest, PortId};

const FCS_BYTES: u32 = 4;
/// Frames that one trial keeps of a port: they are held in memory until it ends.
const FRAMES_MAX: u64 = 1 << 20;

/// A port's capture.
struct Capture {
    format: CaptureFormat,
    /// Bytes kept of each frame.
    snap: Option<u32>,
    filters: Filters,
    overwrite: bool,
    is_on: bool,
    /// One for each trial, in order.
    files: Vec<PathBuf>,
}

/// All captures.
pub struct Captures {
    of_port: BTreeMap<PortId, Capture>,
    folder: TempDir,
}

impl Captures {
    /// Those of a configuration, none started.
    ///
    /// # Errors
    /// Where a port is not there, or named twice; or there is no folder for files.
    pub fn new(config: &Config, ports: &BTreeMap<String, PortId>) -> Result<Captures, String> {
        let mut of_port = BTreeMap::new();
        for (at, capture) in config.captures.iter().enumerate() {
            let filters = Filters::of(&capture.filters, &format!("captures[{at}]"));
            let filters = filters.map_err(|refusal| refusal.to_string())?;
            for (index, name) in capture.port_names.iter().enumerate() {
                let path = format!("captures[{at}].port_names[{index}]");
                let port =
                    ports.get(name).ok_or_else(|| format!("{path}: there is no port `{name}`"))?;
                let own = Capture {
                    format: capture.format,
                    snap: capture.packet_size.filter(|bytes| *bytes > 0),
                    filters: filters.clone(),
                    overwrite: capture.overwrite,
                    is_on: false,
                    files: vec![],
                };
                if of_port.insert(*port, own).is_some() {
                    return Err(format!("{path}: port `{name}` has a capture already"));
                }
            }
        }
        let folder = TempDir::with_prefix("netanvil-otg-");
        let folder = folder.map_err(|error| format!("a folder for captures: {error}"))?;
        Ok(Captures { of_port, folder })
    }

    /// Whether a port has a capture, and whether it is started.
    pub fn is_on(&self, port: PortId) -> Option<bool> {
        self.of_port.get(&port).map(|capture| capture.is_on)
    }

    /// Ports that have one.
    pub fn ports(&self) -> Vec<PortId> {
        self.of_port.keys().copied().collect()
    }

    /// Starts or stops that of a port.
    pub fn switch(&mut self, port: PortId, on: bool) {
        if let Some(capture) = self.of_port.get_mut(&port) {
            if on && !capture.is_on && capture.overwrite {
                capture.files.drain(..).for_each(|file| drop(std::fs::remove_file(file)));
            }
            capture.is_on = on;
        }
    }

    /// What the next trial is to capture.
    pub fn requests(&self, trial: u64) -> Vec<CaptureRequest> {
        let on = self.of_port.iter().filter(|(_, capture)| capture.is_on);
        let request = |(port, _): (&PortId, &Capture)| CaptureRequest {
            port: *port,
            sent: false,
            received: true,
            streams: vec![],
            max_frames: FRAMES_MAX,
            path: self.folder.path().join(format!("{}-{trial}.pcapng", port.0)),
        };
        on.map(request).collect()
    }

    /// Takes in what a trial has captured.
    pub fn settle(&mut self, requests: &[CaptureRequest]) {
        for request in requests.iter().filter(|request| request.path.exists()) {
            if let Some(capture) = self.of_port.get_mut(&request.port) {
                capture.files.push(request.path.clone());
            }
        }
    }

    /// The files of a port's capture, and as what they are wanted.
    pub fn of(&self, port: PortId) -> Option<Captured> {
        let capture = self.of_port.get(&port)?;
        Some(Captured {
            files: capture.files.clone(),
            format: capture.format,
            snap: capture.snap,
            filters: capture.filters.clone(),
        })
    }
}

/// What was captured on a port.
pub struct Captured {
    files: Vec<PathBuf>,
    format: CaptureFormat,
    snap: Option<u32>,
    filters: Filters,
}

/// A frame as clients are given it.
struct Frame {
    timestamp: std::time::Duration,
    original_len: u32,
    data: Vec<u8>,
}

impl Captured {
    /// As one file of the format asked for: frames that pass the filters, with their FCS. The kernel keeps none: it is
    /// worked out, and correct, since a frame with a wrong one does not arrive.
    ///
    /// # Errors
    /// Where a file cannot be read.
    pub fn bytes(&self) -> Result<Vec<u8>, String> {
        let written = match self.format {
            CaptureFormat::Pcapng => self.pcapng(),
            CaptureFormat::Pcap => self.pcap(),
        };
        written.map_err(|error| format!("read the capture: {error}"))
    }

    fn each(&self, mut write: impl FnMut(Frame) -> Result<(), PcapError>) -> Result<(), PcapError> {
        for file in &self.files {
            let file = File::open(file).map_err(PcapError::IoError)?;
            let mut reader = PcapNgReader::new(BufReader::new(file))?;
            while let Some(block) = reader.next_block() {
                let Block::EnhancedPacket(packet) = block? else { continue };
                if self.filters.pass(&packet.data) {
                    write(self.frame(&packet.data, packet.timestamp, packet.original_len))?;
                }
            }
        }
        Ok(())
    }

    fn frame(&self, bytes: &[u8], timestamp: std::time::Duration, original_len: u32) -> Frame {
        let mut data = bytes.to_vec();
        let mut original_len = original_len;
        // Of a frame that was cut short the rest is not known.
        if data.len() == original_len as usize {
            data.extend(fcs(bytes));
            original_len += FCS_BYTES;
        }
        data.truncate(self.snap.map_or(usize::MAX, |snap| snap as usize));
        Frame { timestamp, original_len, data }
    }

    /// Little-endian, and with the plain number of Ethernet: readers in Python know no other.
    fn pcap(&self) -> Result<Vec<u8>, PcapError> {
        let header = PcapHeader {
            datalink: DataLink::ETHERNET,
            snaplen: self.snap.unwrap_or(262_144),
            ts_resolution: TsResolution::NanoSecond,
            endianness: Endianness::Little,
            ..PcapHeader::default()
        };
        let mut writer = PcapWriter::with_header(vec![], header)?;
        self.each(|frame| {
            let packet = PcapPacket::new(frame.timestamp, frame.original_len, &frame.data);
            writer.write_packet(&packet).map(drop)
        })?;
        Ok(writer.into_writer())
    }

    fn pcapng(&self) -> Result<Vec<u8>, PcapError> {
        let mut writer = PcapNgWriter::with_endianness(Cursor::new(vec![]), Endianness::Little)?;
        writer.write_pcapng_block(InterfaceDescriptionBlock {
            linktype: DataLink::ETHERNET,
            snaplen: self.snap.unwrap_or(0),
            options: vec![
                InterfaceDescriptionOption::IfTsResol(9),
                InterfaceDescriptionOption::IfFcsLen(FCS_BYTES as u8),
            ],
        })?;
        self.each(|frame| {
            let block = EnhancedPacketBlock {
                interface_id: 0,
                timestamp: frame.timestamp,
                original_len: frame.original_len,
                data: frame.data.into(),
                options: vec![],
            };
            writer.write_pcapng_block(block).map(drop)
        })?;
        Ok(writer.into_inner().into_inner())
    }
}
