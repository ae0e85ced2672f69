//! Any bytes as a NETBLT packet: parsing never panics, and what was parsed is written so that it
//! parses to the same meaning.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::checksum::checksum;
use wire::netblt::{DATA_HEADER_LEN, HEADER_LEN, Packet, Repr};

fuzz_target!(|bytes: &[u8]| {
    let bytes = with_good_checksum(bytes);
    let Ok(repr) = Repr::parse(&bytes) else { return };
    let written = repr.to_vec();
    assert_eq!(Repr::parse(&written).expect("what was written"), repr);
    let _ = repr.to_string();
    match &repr.packet {
        Packet::Data(data) | Packet::LastData(data) => assert!(data.checksummed().is_intact()),
        Packet::Control(messages) => {
            let lengths = messages.iter().map(|message| message.len_bytes());
            assert_eq!(lengths.sum::<usize>(), messages.len_bytes());
        }
        _ => {}
    }
});

/// Without this hardly an input would come past the checksum.
fn with_good_checksum(bytes: &[u8]) -> Vec<u8> {
    let mut packet = bytes.to_vec();
    if packet.len() >= HEADER_LEN {
        let length = usize::from(u16::from_be_bytes([packet[4], packet[5]]));
        let covered = if matches!(packet[3], 6 | 7) { DATA_HEADER_LEN } else { length };
        packet[..2].fill(0);
        let sum = checksum(&packet[..covered.min(packet.len())]);
        packet[..2].copy_from_slice(&sum.to_be_bytes());
    }
    packet
}
