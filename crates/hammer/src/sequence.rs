//! The frames of one turn of hammer's loop, in order.

use crate::Item;
use crate::capture::{Capture, CaptureError};
use std::collections::BTreeMap;
use thiserror::Error;
use traffic::error_frame::fcs;
use units::FrameSize;
use wire::ethernet::{EtherType, HEADER_LEN, MacAddr, Repr, View};
use wire::vlan;

/// Where pad frames go that are not given the address of `-t`: to nobody.
pub const PAD_ADDRESS: MacAddr = MacAddr([2, 0, 0, 0, 0, 0]);
/// Frames that the loop may have.
const LONGEST_LOOP: u64 = 16 << 20;

/// The bytes of the files, by name.
pub type Sources = BTreeMap<String, Vec<u8>>;

/// What the flags ask for besides the frames.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Wishes {
    /// `-taddr`: the destination address to write into frames.
    pub address: Option<MacAddr>,
    /// `-n#`: only into so many of them, the first in the loop; into all where it is not given.
    pub readdressed: Option<u64>,
    /// `-c`: with a bad FCS.
    pub bad_fcs: bool,
    /// The source of frames that hammer makes.
    pub source: MacAddr,
    /// Where a file is cut off or damaged, its whole frames will do.
    pub ending: Ending,
}

/// What to do with a file whose last frame is not whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ending {
    /// Refuse it.
    #[default]
    Refuse,
    /// Take the frames before.
    Take,
}

/// Why there is no loop.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum SequenceError {
    /// A file gives no frames.
    #[error("{path}: {error}")]
    File {
        /// Which.
        path: String,
        /// Why.
        error: CaptureError,
    },
    /// A frame of which its file holds the beginning alone.
    #[error(
        "{path}: of frame {frame} only {captured_bytes} of {len_bytes} bytes were captured; \
         capture whole frames (tcpdump -s0)"
    )]
    Snapped {
        /// Which file.
        path: String,
        /// Which frame of it, from 1.
        frame: usize,
        /// Bytes in the file.
        captured_bytes: usize,
        /// Bytes that were on the wire.
        len_bytes: usize,
    },
    /// A frame without room for addresses and type.
    #[error("{path}: frame {frame} has {len_bytes} bytes; a frame has 14 at least, without FCS")]
    TooShort {
        /// Which file.
        path: String,
        /// Which frame of it, from 1.
        frame: usize,
        /// Its bytes.
        len_bytes: usize,
    },
    /// More frames than memory is meant for.
    #[error(
        "the loop would have more than {LONGEST_LOOP} frames; repeat fewer, the loop itself repeats"
    )]
    TooLong,
    /// No frames at all.
    #[error("no frames to send: name a file, or +64 for a frame of 64 bytes")]
    Nothing,
}

/// The frames of one turn of the loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sequence {
    /// Different frames, as they are handed to a port.
    frames: Vec<Vec<u8>>,
    /// Which of them comes at each place of the loop.
    places: Vec<u32>,
    fcs_bytes: usize,
}

impl Sequence {
    /// Puts the loop together: the files in the order of the command line, then the frames made by
    /// `+#`, wherever it stood. Thus `-n1 +200 packet/p64`, as it was written in 1989, readdresses
    /// the packet and leaves the pad, whose length then sets the rate.
    pub fn new(
        items: &[Item],
        sources: &Sources,
        wishes: &Wishes,
    ) -> Result<Sequence, SequenceError> {
        let mut sequence = Sequence {
            frames: vec![],
            places: vec![],
            fcs_bytes: if wishes.bad_fcs { fcs(&[]).len() } else { 0 },
        };
        for item in items {
            if let Item::File { path, times } = item {
                let bytes = sources.get(path).map_or(&[][..], Vec::as_slice);
                sequence.append(&read(path, bytes, wishes.ending)?, *times, wishes)?;
            }
        }
        for item in items {
            if let Item::Pad(size) = item {
                sequence.append(&[pad(*size, wishes.source)], 1, wishes)?;
            }
        }
        if sequence.places.is_empty() { Err(SequenceError::Nothing) } else { Ok(sequence) }
    }

    /// Frames in a turn of the loop.
    pub fn len(&self) -> u64 {
        self.places.len() as u64
    }
    /// Never: a loop has a frame at least.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
    /// The `k`-th frame sent, from 0, as it is handed to a port: without FCS, or with a bad one
    /// where that was asked for.
    pub fn frame(&self, k: u64) -> &[u8] {
        &self.frames[self.places[(k % self.len()) as usize] as usize]
    }
    /// Its size, FCS included.
    pub fn size(&self, k: u64) -> FrameSize {
        FrameSize::from_bytes_without_fcs((self.frame(k).len() - self.fcs_bytes) as u32)
    }
    /// Bytes of the first `frames` frames sent, FCS included.
    pub fn bytes(&self, frames: u64) -> u64 {
        let sum =
            |places: u64| -> u64 { (0..places).map(|k| u64::from(self.size(k).bytes())).sum() };
        frames / self.len() * sum(self.len()) + sum(frames % self.len())
    }
    /// Sizes of the smallest and the largest frame, FCS included.
    pub fn sizes(&self) -> (FrameSize, FrameSize) {
        let lens = self.frames.iter().map(|frame| (frame.len() - self.fcs_bytes) as u32);
        let size = |len: Option<u32>| FrameSize::from_bytes_without_fcs(len.unwrap_or(0));
        (size(lens.clone().min()), size(lens.max()))
    }
    /// Bytes of the longest packet behind its header and VLAN tags: what the MTU must allow.
    pub fn longest_packet_bytes(&self) -> usize {
        self.frames
            .iter()
            .map(|frame| frame.len() - self.fcs_bytes - header_bytes(frame))
            .max()
            .unwrap_or(0)
    }

    /// Adds frames, so many times.
    fn append(
        &mut self,
        frames: &[Vec<u8>],
        times: u64,
        wishes: &Wishes,
    ) -> Result<(), SequenceError> {
        let added = (frames.len() as u64).saturating_mul(times);
        if self.len().saturating_add(added) > LONGEST_LOOP {
            return Err(SequenceError::TooLong);
        }
        let readdressed = wishes.address.map_or(0, |_| wishes.readdressed.unwrap_or(u64::MAX));
        let left = readdressed.saturating_sub(self.len());
        let plain = self.keep(frames, None, wishes.bad_fcs);
        let other =
            if left > 0 { self.keep(frames, wishes.address, wishes.bad_fcs) } else { plain };
        for place in 0..added {
            let first = if place < left { other } else { plain };
            self.places.push(first + (place % frames.len() as u64) as u32);
        }
        Ok(())
    }

    /// Keeps frames; gives the number of the first.
    fn keep(&mut self, frames: &[Vec<u8>], address: Option<MacAddr>, bad_fcs: bool) -> u32 {
        let first = self.frames.len() as u32;
        for frame in frames {
            let mut frame = frame.clone();
            if let Some(address) = address {
                View::new_unchecked(&mut frame).set_dst(address);
            }
            if bad_fcs {
                let bad = fcs(&frame).map(|byte| !byte);
                frame.extend(bad);
            }
            self.frames.push(frame);
        }
        first
    }
}

/// The whole frames of a file.
fn read(path: &str, bytes: &[u8], ending: Ending) -> Result<Vec<Vec<u8>>, SequenceError> {
    let failed = |error| SequenceError::File { path: path.into(), error };
    let mut frames = vec![];
    for (index, frame) in Capture::open(bytes).map_err(failed)?.enumerate() {
        let frame = match frame {
            Err(_) if ending == Ending::Take && !frames.is_empty() => break,
            frame => frame.map_err(failed)?,
        };
        let (path, at) = (path.to_owned(), index + 1);
        let (len_bytes, captured_bytes) = (frame.len_bytes, frame.bytes.len());
        if !frame.is_whole() {
            return Err(SequenceError::Snapped { path, frame: at, captured_bytes, len_bytes });
        }
        if len_bytes < HEADER_LEN {
            return Err(SequenceError::TooShort { path, frame: at, len_bytes });
        }
        frames.push(frame.bytes.into_owned());
    }
    if frames.is_empty() { Err(failed(CaptureError::NoFrames)) } else { Ok(frames) }
}

/// A frame of zeros of this size.
fn pad(size: FrameSize, source: MacAddr) -> Vec<u8> {
    let header = Repr { dst: PAD_ADDRESS, src: source, ether_type: EtherType::EXPERIMENTAL };
    let mut frame = vec![0; size.bytes_without_fcs()];
    header.emit(&mut frame);
    frame
}

/// Bytes of addresses, VLAN tags and type.
fn header_bytes(frame: &[u8]) -> usize {
    let Some(header) = View::peek(frame) else { return HEADER_LEN };
    let (mut ether_type, mut rest) = (header.ether_type(), header.payload());
    while let Some(tag) = vlan::View::peek(rest).filter(|_| ether_type.is_vlan()) {
        (ether_type, rest) = (tag.ether_type(), tag.payload());
    }
    frame.len() - rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUTER: MacAddr = MacAddr([0xaa, 0, 4, 0, 1, 4]);

    fn sources() -> Sources {
        let raw = |byte: u8, len: usize| [&[byte; 12][..], &[8, 0], &vec![byte; len - 18]].concat();
        [("p64".into(), raw(1, 64)), ("p128".into(), raw(2, 128))].into()
    }

    fn sequence(words: &str, wishes: &Wishes) -> Result<Sequence, SequenceError> {
        let items: Vec<Item> = words.split(' ').map(|word| word.parse().unwrap()).collect();
        Sequence::new(&items, &sources(), wishes)
    }

    /// Size and destination of each frame of a turn.
    fn turn(sequence: &Sequence) -> Vec<(u32, MacAddr)> {
        let address = |k| MacAddr(sequence.frame(k)[..6].try_into().unwrap());
        (0..sequence.len()).map(|k| (sequence.size(k).bytes(), address(k))).collect()
    }

    const ONE: MacAddr = MacAddr([1; 6]);
    const TWO: MacAddr = MacAddr([2; 6]);

    #[test]
    fn files_repeat_in_order_and_pads_come_last() {
        let sequence = sequence("+70 p64*2 p128", &Wishes::default()).unwrap();
        assert_eq!(turn(&sequence), [(64, ONE), (64, ONE), (128, TWO), (70, PAD_ADDRESS)]);
        assert_eq!(sequence.frame(4), sequence.frame(0));
        assert_eq!(sequence.bytes(0), 0);
        assert_eq!(sequence.bytes(9), 2 * (64 + 64 + 128 + 70) + 64);
        assert_eq!(sequence.sizes(), (FrameSize::from_bytes(64), FrameSize::from_bytes(128)));
    }

    /// `hammer -taddr -n1 +xx packet/p64`.
    #[test]
    fn the_pad_of_1989_keeps_its_address() {
        let wishes = Wishes { address: Some(ROUTER), readdressed: Some(1), ..Default::default() };
        let sequence = sequence("+200 p64", &wishes).unwrap();
        assert_eq!(turn(&sequence), [(64, ROUTER), (200, PAD_ADDRESS)]);
    }

    #[test]
    fn the_first_frames_of_the_loop_are_readdressed_across_repetitions_and_files() {
        let wishes = Wishes { address: Some(ROUTER), readdressed: Some(4), ..Default::default() };
        let sequence = sequence("p64*3 p128*2", &wishes).unwrap();
        let expected = [(64, ROUTER), (64, ROUTER), (64, ROUTER), (128, ROUTER), (128, TWO)];
        assert_eq!(turn(&sequence), expected);
        // Nothing else of the frame changes.
        assert_eq!(sequence.frame(3)[6..], sequence.frame(4)[6..]);
    }

    /// `hammer -taddr -s1000 +55`.
    #[test]
    fn without_a_number_all_are_readdressed() {
        let wishes = Wishes { address: Some(ROUTER), ..Default::default() };
        let runts = sequence("+55", &wishes).unwrap();
        assert_eq!((turn(&runts), runts.frame(0).len()), (vec![(55, ROUTER)], 51));
    }

    #[test]
    fn a_bad_fcs_is_one_that_no_receiver_takes() {
        let wishes = Wishes { bad_fcs: true, ..Default::default() };
        let sequence = sequence("p64", &wishes).unwrap();
        let (frame, given) = sequence.frame(0).split_at(60);
        assert_ne!(given, fcs(frame));
        assert_eq!(sequence.size(0).bytes(), 64);
        assert_eq!(sequence.longest_packet_bytes(), 46);
    }

    #[test]
    fn tags_do_not_count_against_the_mtu() {
        let frame = [&[1; 12][..], &[0x88, 0xa8, 0, 1, 0x81, 0, 0, 2, 8, 0], &[0; 100]].concat();
        let sources = [("tagged".to_string(), frame)].into();
        let item = Item::File { path: "tagged".into(), times: 1 };
        let sequence = Sequence::new(&[item], &sources, &Wishes::default()).unwrap();
        assert_eq!(sequence.longest_packet_bytes(), 100);
    }

    #[test]
    fn a_cut_file_is_refused_unless_its_whole_frames_will_do() {
        let mut file = vec![
            0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 0, 0, 1, 0, 0, 0,
        ];
        for len in [20u32, 30] {
            file.extend([0; 8]);
            file.extend(len.to_le_bytes());
            file.extend(len.to_le_bytes());
            file.extend(vec![1; 20]);
        }
        let sources: Sources = [("cut".to_string(), file)].into();
        let items = ["cut*2".parse().unwrap()];
        let refused = Sequence::new(&items, &sources, &Wishes::default()).unwrap_err().to_string();
        assert_eq!(
            refused,
            "cut: it is cut off: it ends within frame 2; the 1 before it are whole"
        );
        let wishes = Wishes { ending: Ending::Take, ..Default::default() };
        assert_eq!(Sequence::new(&items, &sources, &wishes).unwrap().len(), 2);
    }

    #[test]
    fn what_cannot_be_sent_is_refused() {
        assert_eq!(Sequence::new(&[], &sources(), &Wishes::default()), Err(SequenceError::Nothing));
        let long = sequence("p64*16777217", &Wishes::default());
        assert_eq!(long, Err(SequenceError::TooLong));
        assert!(sequence("p64*16777216", &Wishes::default()).is_ok());
        let absurd = sequence("p64 p128*99999999999999999999", &Wishes::default());
        assert_eq!(absurd, Err(SequenceError::TooLong));
    }
}
