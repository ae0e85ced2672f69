//! The judge from outside: writes frames into a capture and has the real tshark read it.

use pcap_file::pcap::{PcapPacket, PcapWriter};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// What tshark says of one frame: its fields by name, empty ones left out.
pub type Dissection = BTreeMap<&'static str, String>;

/// These fields of each frame.
pub fn read_with_tshark(
    frames: &[Vec<u8>],
    fields: &[&'static str],
    options: &[&str],
) -> Vec<Dissection> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("frames.pcap");
    write_capture(&path, frames);
    let mut command = Command::new("tshark");
    command.arg("-r").arg(&path).arg("-n").args(options);
    for checked in ["ip", "udp", "tcp"] {
        command.args(["-o", &format!("{checked}.check_checksum:TRUE")]);
    }
    command.args(["-o", "tcp.analyze_sequence_numbers:FALSE"]);
    command.args(["-T", "fields", "-E", "separator=/t", "-E", "occurrence=a"]);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.output().unwrap_or_else(|error| {
        panic!("this test needs tshark (Debian: apt-get install tshark): {error}")
    });
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "tshark failed: {complaint}");
    let text = String::from_utf8(output.stdout).unwrap();
    let dissections: Vec<Dissection> = text
        .lines()
        .map(|line| {
            let values = fields.iter().copied().zip(line.split('\t'));
            values.filter(|(_, v)| !v.is_empty()).map(|(k, v)| (k, v.to_string())).collect()
        })
        .collect();
    assert_eq!(dissections.len(), frames.len(), "tshark: {complaint}");
    dissections
}

fn write_capture(path: &Path, frames: &[Vec<u8>]) {
    let mut writer = PcapWriter::new(File::create(path).unwrap()).unwrap();
    for (index, frame) in (0..).zip(frames) {
        let packet = PcapPacket::new(Duration::from_micros(index), frame.len() as u32, frame);
        writer.write_packet(&packet).unwrap();
    }
}
