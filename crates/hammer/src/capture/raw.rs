//! A file that is one frame as it is on the wire, without FCS: what packet generators of 1989 read.

/// Addresses and type.
const SHORTEST_BYTES: usize = 14;
/// Longer frames no Ethernet carries (the largest jumbo frames are some 16 KB).
const LONGEST_BYTES: usize = 16 << 10;
/// How files of other kinds begin, and what to do with them.
const OTHERS: [(&[u8], &str); 16] = [
    (&[0x1f, 0x8b], "it is compressed; gunzip it first"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "it is compressed; unzstd it first"),
    (b"\xfd7zXZ", "it is compressed; unxz it first"),
    (b"BZh", "it is compressed; bunzip2 it first"),
    (&[0x04, 0x22, 0x4d, 0x18], "it is compressed; unlz4 it first"),
    (&[0x02, 0x21, 0x4c, 0x18], "it is compressed; unlz4 it first"),
    // Pcap with more in the header of each frame, by Alexey Kuznetzov, and that of IXIA, in either byte order.
    (&[0xa1, 0xb2, 0xcd, 0x34], OTHER_PCAP),
    (&[0x34, 0xcd, 0xb2, 0xa1], OTHER_PCAP),
    (&[0x1c, 0x00, 0x01, 0xac], OTHER_PCAP),
    (&[0xac, 0x01, 0x00, 0x1c], OTHER_PCAP),
    (&[0x1c, 0x00, 0x01, 0xab], OTHER_PCAP),
    (&[0xab, 0x01, 0x00, 0x1c], OTHER_PCAP),
    (b"PK\x03\x04", "it is a zip archive; unpack it first"),
    (b"snoop\0\0\0", "it is a capture of snoop; editcap -F pcap converts it"),
    (b"GMBU", "it is a capture of Network Monitor; editcap -F pcap converts it"),
    (b"\x7fELF", "it is a program"),
];

const OTHER_PCAP: &str = "it is pcap of a modified format; editcap -F pcap converts it";

/// The bytes, if they may be a frame; else why not.
pub(super) fn check(bytes: &[u8]) -> Result<&[u8], &'static str> {
    let other = OTHERS.iter().find(|(magic, _)| bytes.starts_with(magic));
    if let Some((_, what)) = other {
        return Err(what);
    }
    if bytes.len() < SHORTEST_BYTES {
        return Err("a frame has 14 bytes at least");
    }
    // No frame's addresses are letters throughout.
    let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    if bytes.iter().all(is_text) {
        return Err("it is text; hexadecimal digits become a capture by text2pcap");
    }
    if bytes.len() > LONGEST_BYTES {
        return Err("it is too long for one frame, and begins like no capture");
    }
    Ok(bytes)
}
