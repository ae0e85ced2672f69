//! Files put together byte by byte, after the formats' documents.

use super::*;

const FRAME: [u8; 20] = *b"\x02\0\0\0\0\x01\x02\0\0\0\0\x02\x88\xb5abcdef";

/// A pcap file of microseconds, little-endian, of frames (captured bytes, length on the wire).
fn pcap(link_type: u32, frames: &[(&[u8], u32)]) -> Vec<u8> {
    let mut file = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    file.extend(65_535u32.to_le_bytes());
    file.extend(link_type.to_le_bytes());
    for (index, (bytes, len)) in frames.iter().enumerate() {
        for word in [7, index as u32, bytes.len() as u32, *len] {
            file.extend(word.to_le_bytes());
        }
        file.extend(*bytes);
    }
    file
}

/// A pcapng block, big-endian.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let len = body.len().next_multiple_of(4) as u32 + 12;
    let mut block = [kind.to_be_bytes(), len.to_be_bytes()].concat();
    block.extend(body);
    block.resize(len as usize - 4, 0);
    block.extend(len.to_be_bytes());
    block
}

const SECTION: [u8; 16] =
    [0x1a, 0x2b, 0x3c, 0x4d, 0, 1, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255];

/// An Ethernet interface with these options.
fn interface(options: &[u8]) -> Vec<u8> {
    block(1, &[&[0, 1, 0, 0, 0, 0, 0, 0], options].concat())
}

fn enhanced(ticks: u64, bytes: &[u8], len: u32, options: &[u8]) -> Vec<u8> {
    let mut body = vec![0; 4];
    body.extend(ticks.to_be_bytes());
    body.extend((bytes.len() as u32).to_be_bytes());
    body.extend(len.to_be_bytes());
    body.extend(bytes);
    body.resize(body.len().next_multiple_of(4), 0);
    body.extend(options);
    block(6, &body)
}

fn pcapng(blocks: &[Vec<u8>]) -> Vec<u8> {
    [vec![block(0x0a0d_0d0a, &SECTION)], blocks.to_vec()].concat().concat()
}

#[test]
fn pcap_frames_have_their_times_and_lengths() {
    let file = pcap(1, &[(&FRAME, 20), (&FRAME[..16], 20)]);
    let frames = Capture::all(&file).unwrap();
    assert_eq!(frames[0].bytes[..], FRAME);
    assert_eq!((frames[0].is_whole(), frames[0].time_ns), (true, Some(7_000_000_000)));
    assert_eq!((frames[1].is_whole(), frames[1].len_bytes), (false, 20));
    assert_eq!(frames[1].time_ns, Some(7_000_001_000));
}

/// Capture tools cut frames off at the snap length that the header names; the frame's own length
/// is larger then.
#[test]
fn frames_longer_than_the_snap_length_are_read() {
    let mut file = pcap(1, &[(&FRAME[..16], 1_514)]);
    file[16..20].copy_from_slice(&16u32.to_le_bytes());
    assert_eq!(Capture::all(&file).unwrap()[0].len_bytes, 1_514);
}

#[test]
fn an_fcs_in_the_file_is_no_part_of_the_frame() {
    // F bit, and two units of 16 bits.
    let file = pcap(1 | 1 << 26 | 2 << 28, &[(&FRAME, 20), (&FRAME[..18], 20)]);
    let frames = Capture::all(&file).unwrap();
    assert_eq!((&frames[0].bytes[..], frames[0].len_bytes), (&FRAME[..16], 16));
    assert_eq!((&frames[1].bytes[..], frames[1].is_whole()), (&FRAME[..16], true));
    for (of_interface, of_frame) in [
        (&[0, 13, 0, 1, 4, 0, 0, 0, 0, 0, 0, 0][..], &[][..]),
        (&[0, 13, 0, 1, 32, 0, 0, 0, 0, 0, 0, 0], &[]),
        (&[], &[0, 2, 0, 4, 0, 0, 0, 4 << 5, 0, 0, 0, 0]),
    ] {
        let file = pcapng(&[interface(of_interface), enhanced(0, &FRAME, 20, of_frame)]);
        let frames = Capture::all(&file).unwrap();
        assert_eq!((&frames[0].bytes[..], frames[0].len_bytes), (&FRAME[..16], 16));
    }
}

#[test]
fn pcapng_times_are_in_the_units_of_their_interface() {
    let cases: [(&[u8], u64); 3] = [
        (&[], 5_000),
        (&[0, 9, 0, 1, 9, 0, 0, 0, 0, 0, 0, 0], 5),
        (&[0, 9, 0, 1, 0x81, 0, 0, 0, 0, 0, 0, 0], 2_500_000_000),
    ];
    for (options, expected) in cases {
        let file = pcapng(&[interface(options), enhanced(5, &FRAME, 20, &[])]);
        assert_eq!(Capture::all(&file).unwrap()[0].time_ns, Some(expected));
    }
}

/// Each interface has an origin of time of its own (if_tsoffset), as have those of another section.
#[test]
fn pcapng_times_begin_where_their_interface_says() {
    let offset = |seconds: i64| [&[0, 14, 0, 8][..], &seconds.to_be_bytes(), &[0; 4]].concat();
    let of = |id: u8, ticks| {
        let mut block = enhanced(ticks, &FRAME, 20, &[]);
        block[11] = id;
        block
    };
    let other_section = [block(0x0a0d_0d0a, &SECTION), interface(&offset(-1))].concat();
    let file = pcapng(&[
        interface(&offset(1_000)),
        interface(&offset(1_002)),
        of(0, 5),
        of(1, 0),
        of(1, 1_000_000),
        other_section,
        of(0, 1_500_000),
    ]);
    let times: Vec<_> =
        Capture::all(&file).unwrap().iter().map(|frame| frame.time_ns.unwrap()).collect();
    assert_eq!(times, [1_000_000_005_000, 1_002_000_000_000, 1_003_000_000_000, 500_000_000]);
    let before_1970 = pcapng(&[interface(&offset(-1)), of(0, 999_999)]);
    assert!(Capture::all(&before_1970).unwrap_err().to_string().contains("if_tsoffset is -1 s"));
}

/// Some programs do not end options with opt_endofopt, and write text that is not UTF-8.
#[test]
fn pcapng_options_end_with_their_block_and_hold_any_text() {
    let latin_1 = [0, 2, 0, 4, 0xe9, b't', b'h', b'0'];
    let nanoseconds = [0, 9, 0, 1, 9, 0, 0, 0];
    let (inbound, comment) = ([0, 2, 0, 4, 0, 0, 0, 1], [0, 1, 0, 2, b'c', 0xe9, 0, 0]);
    let section = block(0x0a0d_0d0a, &[&SECTION[..], &[0, 4, 0, 1, 0xff, 0, 0, 0]].concat());
    let interface = interface(&[latin_1, nanoseconds].concat());
    let frame = enhanced(5, &FRAME, 20, &[comment, inbound].concat());
    let file = [section, interface, frame.clone(), frame].concat();
    let frames = Capture::all(&file).unwrap();
    assert_eq!(frames.len(), 2);
    for frame in frames {
        assert_eq!((frame.time_ns, frame.direction), (Some(5), Some(Direction::Inbound)));
    }
}

#[test]
fn damage_of_pcapng_is_told_in_words() {
    let error = |blocks: &[Vec<u8>]| Capture::all(&pcapng(blocks)).unwrap_err().to_string();
    let frame = |options: &[u8]| enhanced(1, &FRAME, 20, options);
    assert!(error(&[interface(&[0, 2, 0, 9, 1, 2, 3, 4])]).contains("longer than its block"));
    assert!(error(&[interface(&[0, 14, 0, 1, 4, 0, 0, 0])]).contains("if_tsoffset of 1 bytes"));
    let flags = error(&[interface(&[]), frame(&[0, 2, 0, 1, 1, 0, 0, 0])]);
    assert!(flags.contains("after 0 frames") && flags.contains("epb_flags of 1 bytes"));
    let mut long = frame(&[]);
    long[20..24].copy_from_slice(&40u32.to_be_bytes());
    assert!(error(&[interface(&[]), long]).contains("40 bytes in a block with room for 20"));
    let mut unequal = frame(&[]);
    *unequal.last_mut().unwrap() += 4;
    assert!(error(&[interface(&[]), unequal]).contains("52 bytes at its beginning and of 56"));
    let version_2 = block(0x0a0d_0d0a, &[&SECTION[..4], &[0, 2, 0, 0], &SECTION[8..]].concat());
    assert!(error(&[version_2]).contains("version 2.0"));
}

#[test]
fn all_kinds_of_packet_blocks_are_read_and_others_passed_over() {
    let simple = block(3, &[&20u32.to_be_bytes()[..], &FRAME[..]].concat());
    let mut obsolete = vec![0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9];
    obsolete.extend([20u32.to_be_bytes(), 20u32.to_be_bytes()].concat());
    obsolete.extend(FRAME);
    // A name resolution block whose records make no sense.
    let names = block(4, &[0, 1, 0xff, 0xff]);
    let file = pcapng(&[interface(&[]), names, simple, block(2, &obsolete)]);
    let frames = Capture::all(&file).unwrap();
    assert_eq!(frames.iter().map(|frame| frame.time_ns).collect::<Vec<_>>(), [None, Some(9_000)]);
    assert!(frames.iter().all(|frame| frame.bytes[..] == FRAME));
}

#[test]
fn the_frames_before_a_cut_are_whole() {
    let short = FRAME.as_slice();
    let ng = [interface(&[]), enhanced(1, short, 20, &[]), enhanced(2, short, 20, &[])];
    for file in [pcap(1, &[(short, 20), (short, 20)]), pcapng(&ng)] {
        let cut = &file[..file.len() - 15];
        let mut capture = Capture::open(cut).unwrap();
        assert_eq!(capture.next().unwrap().unwrap().bytes[..], FRAME);
        assert_eq!(capture.next(), Some(Err(CaptureError::CutOff { whole_frames: 1 })));
        assert_eq!(capture.next(), None);
        assert_eq!(Capture::all(cut), Err(CaptureError::CutOff { whole_frames: 1 }));
    }
}

#[test]
fn what_is_no_frame_is_refused_with_the_reason() {
    let error = |bytes: &[u8]| Capture::all(bytes).unwrap_err().to_string();
    assert!(error(b"").contains("empty"));
    assert!(error(b"# a list of addresses\n02:00:00:00:00:01\n").contains("text"));
    assert!(error(&[0x1f, 0x8b, 8, 0]).contains("gunzip"));
    assert!(error(b"BZh91AY&SY and so on").contains("bunzip2"));
    assert!(
        error(&[4, 0x22, 0x4d, 0x18, 0x64, 0x40, 0xa7, 1, 0, 0, 0x80, 9, 9, 9]).contains("unlz4")
    );
    let mut kuznetzov = pcap(1, &[(&FRAME, 20)]);
    kuznetzov[..2].copy_from_slice(&[0x34, 0xcd]);
    assert!(error(&kuznetzov).contains("editcap -F pcap"));
    assert!(error(&[1; 13]).contains("14 bytes"));
    assert!(error(&[1; 20_000]).contains("too long"));
    assert!(error(&pcap(113, &[(&FRAME, 20)])).contains("link type 113"));
    assert!(error(&pcap(1, &[])).contains("without a frame"));
    assert!(error(&pcap(1, &[(&FRAME, 19)])).contains("damaged after 0 frames"));
    assert!(error(&pcap(1, &[(&FRAME, u32::MAX)])).contains("4294967295 bytes"));
    assert!(error(&pcapng(&[enhanced(1, &FRAME, 20, &[])])).contains("interface 0"));
}

#[test]
fn a_raw_file_is_one_frame() {
    let frames: Vec<_> = Capture::open(&FRAME).unwrap().map(Result::unwrap).collect();
    assert_eq!((frames.len(), frames[0].time_ns), (1, None));
    assert_eq!(frames[0].bytes[..], FRAME);
    assert_eq!(Capture::all(&FRAME), Err(CaptureError::NeitherPcapNorPcapng));
}

proptest::proptest! {
    /// Options of any bytes, of an interface and of a frame: what is read is the frame.
    #[test]
    fn no_options_panic(of_interface: Vec<u8>, of_frame: Vec<u8>) {
        let frame = enhanced(u64::MAX, &FRAME, 20, &of_frame);
        let file = pcapng(&[interface(&of_interface), frame]);
        if let Ok(frames) = Capture::all(&file) {
            proptest::prop_assert!(FRAME.starts_with(&frames[0].bytes));
        }
    }

    /// Any byte of a good file with another value, and the file cut off anywhere.
    #[test]
    fn no_damage_panics(at: proptest::sample::Index, value: u8, end: proptest::sample::Index) {
        let options = [0, 9, 0, 1, 9, 0, 0, 0, 0, 14, 0, 8, 0xff, 0, 0, 0, 0, 0, 0, 1];
        let simple = block(3, &[&20u32.to_be_bytes()[..], &FRAME[..]].concat());
        let frame = enhanced(u64::MAX, &FRAME, 20, &[0, 2, 0, 4, 0, 0, 0, 0x80]);
        let mut file = pcapng(&[interface(&options), frame, simple]);
        let at = at.index(file.len());
        file[at] = value;
        file.truncate(end.index(file.len()) + 1);
        if let Ok(capture) = Capture::open(&file) {
            proptest::prop_assert!(capture.count() <= 3);
        }
    }

    #[test]
    fn no_bytes_panic(start in 0..6usize, bytes: Vec<u8>) {
        let starts: [&[u8]; 6] = [
            &[], &[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0],
            &[0xa1, 0xb2, 0x3c, 0x4d], &[0x0a, 0x0d, 0x0d, 0x0a],
            &block(0x0a0d_0d0a, &SECTION), &pcapng(&[interface(&[])]),
        ];
        let file = [starts[start], &bytes].concat();
        if let Ok(capture) = Capture::open(&file) {
            proptest::prop_assert!(capture.count() <= file.len());
        }
    }
}
