//! Everything that anvil counts of the frames it sees.

use super::{Average, Path, TenSeconds};
use serde::Serialize;
use std::collections::BTreeMap;
use traffic::distribution::Distribution;
use units::{Duration, FrameSize};
use wire::decode::summarize;

/// Frame sizes counted together, FCS included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LengthClass {
    /// The smallest.
    pub from: u32,
    /// The largest.
    pub to: u32,
}

/// The classes of RMON's statistics (RFC 2819, etherStatsTable), with the undersized and the
/// oversized around them.
pub const LENGTH_CLASSES: [LengthClass; 8] = {
    const fn class(from: u32, to: u32) -> LengthClass {
        LengthClass { from, to }
    }
    [
        class(0, 63),
        class(64, 64),
        class(65, 127),
        class(128, 255),
        class(256, 511),
        class(512, 1023),
        class(1024, 1518),
        class(1519, u32::MAX),
    ]
};

/// Frames of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Share {
    /// Frames.
    pub frames: u64,
    /// Their bytes, FCS included.
    pub bytes: u64,
    /// Frames among them with a header that contradicts itself or a bad checksum.
    pub faulty_frames: u64,
}

/// The counts.
#[derive(Clone, Debug, Default)]
pub struct Census {
    total: Share,
    first: Option<Duration>,
    last: Duration,
    lengths: BTreeMap<FrameSize, u64>,
    protocols: BTreeMap<Path, Share>,
    recent: TenSeconds,
}

impl Census {
    /// Counts a frame (without FCS) that arrived at this time from the start. Of `len_bytes` on the
    /// wire `frame` may hold the beginning alone: then what cannot be read of it is no fault.
    pub fn count(&mut self, at: Duration, frame: &[u8], len_bytes: usize) {
        let size = FrameSize::from_bytes_without_fcs(len_bytes as u32);
        let summary = summarize(frame);
        let faulty = summary.fault.is_some() && frame.len() == len_bytes;
        self.first.get_or_insert(at);
        self.last = self.last.max(at);
        self.recent.count(at, size.bytes());
        *self.lengths.entry(size).or_default() += 1;
        self.total.add(size, faulty);
        self.protocols.entry(Path::of(&summary)).or_default().add(size, faulty);
    }

    /// All frames.
    pub fn total(&self) -> Share {
        self.total
    }
    /// Times of the first and the last frame.
    pub fn span(&self) -> Option<(Duration, Duration)> {
        self.first.map(|first| (first, self.last))
    }
    /// The ten-second average at this time.
    pub fn average(&self, now: Duration) -> Option<Average> {
        self.recent.at(now)
    }
    /// Frames of each size, the smallest first.
    pub fn lengths(&self) -> &BTreeMap<FrameSize, u64> {
        &self.lengths
    }
    /// Frames of each of [`LENGTH_CLASSES`].
    pub fn length_classes(&self) -> [u64; LENGTH_CLASSES.len()] {
        LENGTH_CLASSES.map(|class| {
            let sizes = FrameSize::from_bytes(class.from)..=FrameSize::from_bytes(class.to);
            self.lengths.range(sizes).map(|(_, frames)| frames).sum()
        })
    }
    /// Frames by what they carry, the most first.
    pub fn composition(&self) -> Vec<(Path, Share)> {
        let mut shares: Vec<_> =
            self.protocols.iter().map(|(path, share)| (*path, *share)).collect();
        shares.sort_by_key(|(path, share)| (std::cmp::Reverse(share.frames), *path));
        shares
    }
    /// The distribution of sizes as a traffic mix of a test, such as `dist:64*3,1518*1`; none where
    /// a size is one that no test sends.
    pub fn size_pattern(&self) -> Option<String> {
        let weights = self.lengths.iter().map(|(size, frames)| (*size, *frames));
        Distribution::new(weights).ok().map(String::from)
    }
    /// The distribution of sizes as the table that [`Distribution::from_csv`] reads.
    pub fn lengths_csv(&self) -> String {
        let rows = self.lengths.iter().map(|(size, frames)| format!("{size},{frames}\n"));
        "frame_size_bytes,frames\n".to_string() + &rows.collect::<String>()
    }
}

impl Share {
    fn add(&mut self, size: FrameSize, faulty: bool) {
        self.frames += 1;
        self.bytes += u64::from(size.bytes());
        self.faulty_frames += u64::from(faulty);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;
    use traffic::size::SizePattern;
    use wire::ethernet::MacAddr;
    use wire::learning;

    fn arp() -> Vec<u8> {
        learning::gratuitous_arp(MacAddr([2, 0, 0, 0, 0, 1]), Ipv4Addr::new(198, 18, 1, 2))
    }

    /// A frame of zeros of an EtherType that nobody reads.
    fn other(size: usize) -> Vec<u8> {
        [&[0; 12][..], &[0x88, 0xb5], &vec![0; size - 18]].concat()
    }

    fn census() -> Census {
        let mut census = Census::default();
        for (at_ms, size) in [(0, 64), (10, 64), (20, 127), (30, 1_518), (40, 1_522), (50, 40)] {
            let frame = other(size);
            census.count(Duration::from_ms(at_ms), &frame, frame.len());
        }
        let arp = arp();
        census.count(Duration::from_ms(2_000), &arp, arp.len());
        census
    }

    #[test]
    fn lengths_are_with_fcs_and_fall_into_the_classes_of_rmon() {
        let census = census();
        let arp_size = arp().len() as u64 + 4;
        assert_eq!(arp_size, 64);
        assert_eq!(census.length_classes(), [1, 3, 1, 0, 0, 0, 1, 1]);
        assert_eq!(census.total().bytes, 64 * 3 + 127 + 1_518 + 1_522 + 40);
        assert_eq!(census.span(), Some((Duration::ZERO, Duration::from_ms(2_000))));
        assert_eq!(census.average(Duration::from_ms(2_500)).unwrap().frames, 6);
        let mut whole = census.lengths().clone();
        whole.remove(&FrameSize::from_bytes(40));
        let sizes: Vec<_> = whole.into_iter().collect();
        assert_eq!(sizes[0], (FrameSize::from_bytes(64), 3));
    }

    #[test]
    fn the_composition_has_the_largest_share_first() {
        let shares = census().composition();
        assert_eq!(shares.iter().map(|(_, share)| share.frames).collect::<Vec<_>>(), [6, 1]);
        assert_eq!(shares[0].0.to_string(), "EtherType 0x88b5");
        assert_eq!(shares[1].0.to_string(), "ARP");
    }

    #[test]
    fn a_damaged_header_is_a_fault_and_a_frame_cut_by_the_capture_is_none() {
        let host = Ipv4Addr::new(198, 18, 0, 1);
        let header = wire::ipv4::Repr::new(host, host, wire::ipv4::Protocol(47), 8);
        let mut frame = [&[0; 12][..], &[8, 0], &header.packet(&[0; 8])].concat();
        let mut census = Census::default();
        census.count(Duration::ZERO, &frame[..20], frame.len());
        census.count(Duration::ZERO, &frame, frame.len());
        frame[20] ^= 1;
        census.count(Duration::ZERO, &frame, frame.len());
        assert_eq!(census.total().faulty_frames, 1);
    }

    #[test]
    fn the_table_of_lengths_is_what_a_traffic_mix_is_made_of() {
        let mut census = Census::default();
        for size in [64, 64, 64, 1_518] {
            census.count(Duration::ZERO, &other(size), size - 4);
        }
        let mix = Distribution::from_csv(&census.lengths_csv()).unwrap();
        let weights = [(FrameSize::from_bytes(64), 3), (FrameSize::MAX_ETHERNET, 1)];
        assert_eq!(mix.weights(), weights);
        assert_eq!(census.size_pattern().unwrap().parse(), Ok(SizePattern::Distribution(mix)));
    }
}
