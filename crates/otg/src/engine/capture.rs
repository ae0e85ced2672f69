//! Captures of a configuration: what arrives on ports while flows are sent.

use crate::model::{CaptureFormat, Config};
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::pcapng::{Block, PcapNgReader};
use pcap_file::{DataLink, PcapError, TsResolution};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::path::PathBuf;
use tempfile::TempDir;
use trial::{CaptureRequest, PortId};

/// Frames that one trial keeps of a port: they are held in memory until it ends.
const FRAMES_MAX: u64 = 1 << 20;

/// A port's capture.
struct Capture {
    format: CaptureFormat,
    /// Bytes kept of each frame.
    snap: Option<u32>,
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
            for (index, name) in capture.port_names.iter().enumerate() {
                let path = format!("captures[{at}].port_names[{index}]");
                let port =
                    ports.get(name).ok_or_else(|| format!("{path}: there is no port `{name}`"))?;
                let own = Capture {
                    format: capture.format,
                    snap: capture.packet_size.filter(|bytes| *bytes > 0),
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
        Some(Captured { files: capture.files.clone(), format: capture.format, snap: capture.snap })
    }
}

/// What was captured on a port.
pub struct Captured {
    files: Vec<PathBuf>,
    format: CaptureFormat,
    snap: Option<u32>,
}

impl Captured {
    /// As one file of the format asked for. Sections of pcapng follow each other; pcap is written anew.
    ///
    /// # Errors
    /// Where a file cannot be read.
    pub fn bytes(&self) -> Result<Vec<u8>, String> {
        let failed = |error: &dyn std::fmt::Display| format!("read the capture: {error}");
        if self.format == CaptureFormat::Pcapng && self.snap.is_none() && !self.files.is_empty() {
            let mut all = vec![];
            for file in &self.files {
                File::open(file)
                    .and_then(|mut file| file.read_to_end(&mut all))
                    .map_err(|error| failed(&error))?;
            }
            return Ok(all);
        }
        if self.format == CaptureFormat::Pcapng {
            return self.pcapng().map_err(|error| failed(&error));
        }
        self.pcap().map_err(|error| failed(&error))
    }

    fn snapped<'a>(&self, data: &'a [u8]) -> &'a [u8] {
        &data[..data.len().min(self.snap.map_or(usize::MAX, |snap| snap as usize))]
    }

    fn pcap(&self) -> Result<Vec<u8>, PcapError> {
        let header = PcapHeader {
            datalink: DataLink::ETHERNET,
            snaplen: self.snap.unwrap_or(262_144),
            ts_resolution: TsResolution::NanoSecond,
            ..PcapHeader::default()
        };
        let mut writer = PcapWriter::with_header(vec![], header)?;
        for file in &self.files {
            let mut reader =
                PcapNgReader::new(BufReader::new(File::open(file).map_err(PcapError::IoError)?))?;
            while let Some(block) = reader.next_block() {
                if let Block::EnhancedPacket(packet) = block? {
                    let data = self.snapped(&packet.data);
                    writer.write_packet(&PcapPacket::new(
                        packet.timestamp,
                        packet.original_len,
                        data,
                    ))?;
                }
            }
        }
        Ok(writer.into_writer())
    }

    fn pcapng(&self) -> Result<Vec<u8>, PcapError> {
        use pcap_file::pcapng::PcapNgWriter;
        use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
        use pcap_file::pcapng::blocks::interface_description::{
            InterfaceDescriptionBlock, InterfaceDescriptionOption,
        };
        let mut writer = PcapNgWriter::new(Cursor::new(vec![]))?;
        writer.write_pcapng_block(InterfaceDescriptionBlock {
            linktype: DataLink::ETHERNET,
            snaplen: self.snap.unwrap_or(0),
            options: vec![InterfaceDescriptionOption::IfTsResol(9)],
        })?;
        for file in &self.files {
            let mut reader =
                PcapNgReader::new(BufReader::new(File::open(file).map_err(PcapError::IoError)?))?;
            while let Some(block) = reader.next_block() {
                if let Block::EnhancedPacket(packet) = block? {
                    writer.write_pcapng_block(EnhancedPacketBlock {
                        interface_id: 0,
                        timestamp: packet.timestamp,
                        original_len: packet.original_len,
                        data: self.snapped(&packet.data).into(),
                        options: vec![],
                    })?;
                }
            }
        }
        Ok(writer.into_inner().into_inner())
    }
}
