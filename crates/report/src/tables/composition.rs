//! Of which packets a capture is composed: by kind, and by length.

use super::Table;
use crate::composition::PacketComposition;
use crate::number::{grouped, grouped_f64, percent};

/// Two tables.
pub(super) fn tables(composition: &PacketComposition) -> Vec<Table> {
    vec![kinds(composition), lengths(composition)]
}

fn kinds(composition: &PacketComposition) -> Table {
    let columns = [
        "<direction",
        "<to",
        "<protocols",
        "packets",
        "packets, %",
        "bytes",
        "bytes, %",
        "mean size, bytes",
        "faulty",
    ];
    let heading = format!("Packet composition: {}", composition.place);
    let mut about = vec![format!(
        "{} packets, {} bytes with FCS; faulty: a header that contradicts itself or a bad checksum",
        grouped(composition.frames),
        grouped(composition.bytes)
    )];
    about.extend(composition.about.clone());
    let mut table = Table::new(heading, about, &columns);
    table.rows.extend(composition.kinds.iter().map(|kind| {
        vec![
            kind.direction.clone(),
            kind.addressed_to.clone(),
            kind.protocols.clone(),
            grouped(kind.frames),
            share(kind.frames, composition.frames),
            grouped(kind.bytes),
            share(kind.bytes, composition.bytes),
            grouped_f64(kind.bytes as f64 / kind.frames.max(1) as f64, 1),
            grouped(kind.faulty_frames),
        ]
    }));
    table
}

fn lengths(composition: &PacketComposition) -> Table {
    let heading = format!("Packet lengths: {}", composition.place);
    let columns = ["size, bytes", "packets", "packets, %"];
    let mut table = Table::new(heading, vec![], &columns);
    table.rows.extend(composition.lengths.iter().map(|length| {
        let shared = share(length.frames, composition.frames);
        vec![length.size_bytes.clone(), grouped(length.frames), shared]
    }));
    table
}

fn share(part: u64, whole: u64) -> String {
    percent(part as f64 / whole.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::composition::{PacketKind, PacketLength};

    #[test]
    fn shares_are_of_all_packets_and_all_bytes() {
        let kind = |protocols: &str, frames, bytes| PacketKind {
            direction: "received".into(),
            addressed_to: "unicast".into(),
            protocols: protocols.into(),
            frames,
            bytes,
            faulty_frames: 0,
        };
        let composition = PacketComposition {
            place: "port 1".into(),
            about: vec![],
            frames: 4,
            bytes: 1_710,
            kinds: vec![kind("IPv4 / UDP", 3, 192), kind("ARP", 1, 1_518)],
            lengths: vec![PacketLength { size_bytes: "64".into(), frames: 3 }],
        };
        let tables = tables(&composition);
        let expected =
            ["received", "unicast", "IPv4 / UDP", "3", "75.00", "192", "11.23", "64.0", "0"];
        assert_eq!(tables[0].rows[0], expected);
        assert_eq!(tables[1].rows, [["64", "3", "75.00"]]);
        assert_eq!(tables[0].heading, "Packet composition: port 1");
    }
}
