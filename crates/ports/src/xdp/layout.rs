//! The structures that the BPF programs share with user space, as `bpf/transmit.h` and
//! `bpf/receive.h` state them. All are made of whole numbers without gaps.

use std::sync::atomic::{AtomicU64, Ordering};
use trial::{Histogram, QUEUES_MAX, Segment, Trigger};
use units::{Duration, FrameRate};
use wire::signature::EARLIER_TRIALS;

/// Plain numbers that may be copied to and from shared memory, eight bytes at a time.
///
/// # Safety
/// Implementors are `repr(C)`, have no padding, are valid for every bit pattern, are aligned to
/// 8 bytes and have a size that is a multiple of 8.
pub(super) unsafe trait Shared: Copy {}

macro_rules! shared {
    ($($name:ident = $bytes:expr),* $(,)?) => {$(
        // SAFETY: `repr(C)`, made of integers whose sizes add up to the size asserted, which is
        // that of the C structure.
        unsafe impl Shared for $name {}
        const _: () = assert!(size_of::<$name>() == $bytes && align_of::<$name>() == 8);
    )*};
}

shared! {
    Time = 16, SegmentEntry = 88, InsertionEntry = 64, StreamEntry = 24, TransmitState = TRANSMIT_STATE,
    HistogramEntry = HISTOGRAM, ReceiveControl = 152, Expected = 104, FingerprintEntry = 16,
    Jump = 16, Account = ACCOUNT, Stray = 56, TaggedEntry = 16, QueueAccount = 80, CaptureState = 24,
}
// SAFETY: a plain number of eight bytes.
unsafe impl Shared for u64 {}

const HISTOGRAM: usize = (4 + Histogram::BUCKETS) * 8;
const TRANSMIT_STATE: usize = 312 + HISTOGRAM;
const ACCOUNT: usize = (26 + SECONDS + QUEUES_MAX as usize + 1) * 8 + JUMPS * 16 + 2 * HISTOGRAM;

/// Seconds that the receive program counts before they must have been fetched.
pub(super) const SECONDS: usize = 64;
/// Jumps in the sequence that it keeps to find a reordered frame's extent.
pub(super) const JUMPS: usize = 4096;
/// Insertions that the transmit program has room for.
pub(super) const MAX_INSERTIONS: usize = 64;

/// A time or a span of it: whole nanoseconds, and the picoseconds below them.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(super) struct Time {
    pub ns: u64,
    pub ps: u64,
}

impl From<Duration> for Time {
    fn from(span: Duration) -> Self {
        Time { ns: span.as_ps() / 1_000, ps: span.as_ps() % 1_000 }
    }
}

impl From<Time> for Duration {
    fn from(time: Time) -> Self {
        Duration::from_ps(time.ns * 1_000 + time.ps)
    }
}

/// Frames at one pace: `spacing` is that of frames, or of bytes on the medium where there is a `mean`.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct SegmentEntry {
    pub frames: u64,
    pub start: Time,
    pub spacing: Time,
    /// Above whole picoseconds the spacing is `part`/`parts` of one.
    pub part: u64,
    pub parts: u64,
    /// 0 for a constant load.
    pub burst_frames: u64,
    pub burst_period: Time,
    /// Bytes on the medium of a frame of mean length; 0 where frames are evenly spaced.
    pub mean_bytes: u64,
}

impl SegmentEntry {
    /// A segment that starts this long after the schedule's start.
    pub fn new(segment: &Segment, start: Duration) -> Self {
        let (spacing, part, parts) = match &segment.by_length {
            None => spacing(segment.rate),
            Some(cycle) => coarse(spacing(cycle.byte_rate(segment.rate))),
        };
        let (burst_frames, period) = segment.bursts.unwrap_or((0, Duration::ZERO));
        SegmentEntry {
            frames: segment.frames,
            start: start.into(),
            spacing: spacing.into(),
            part,
            parts,
            burst_frames,
            burst_period: period.into(),
            mean_bytes: segment.by_length.as_ref().map_or(0, |cycle| cycle.mean_bytes().into()),
        }
    }
}

/// Time between two frames of a rate: whole picoseconds, and the fraction left of one.
fn spacing(rate: FrameRate) -> (Duration, u64, u64) {
    let (frames, seconds) = rate.as_fraction();
    let frames = frames.max(1);
    let ps = u128::from(seconds) * 1_000_000_000_000;
    let whole = u64::try_from(ps / u128::from(frames)).unwrap_or(u64::MAX);
    (Duration::from_ps(whole), (ps % u128::from(frames)) as u64, frames)
}

/// The same with a fraction that the program can multiply by the bytes of a frame. Where it has to be
/// rounded it is rounded up, so that frames leave no sooner: by a picosecond after 10^12 bytes.
fn coarse((whole, part, parts): (Duration, u64, u64)) -> (Duration, u64, u64) {
    const PARTS_MAX: u64 = 1 << 40;
    if parts <= PARTS_MAX {
        return (whole, part, parts);
    }
    let rounded = (u128::from(part) * u128::from(PARTS_MAX)).div_ceil(u128::from(parts));
    (whole, rounded as u64, PARTS_MAX)
}

/// An extra stream that takes a departure now and then.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct InsertionEntry {
    pub stream: u64,
    pub by_frames: u64,
    pub next_frame: u64,
    pub every_frames: u64,
    pub next: Time,
    pub every: Time,
}

impl InsertionEntry {
    /// The stream at this index of the set, whenever the trigger says.
    pub fn new(stream: usize, trigger: Trigger) -> Self {
        let mut entry = InsertionEntry { stream: stream as u64, ..Default::default() };
        match trigger {
            Trigger::Frames { first, every } => {
                entry.by_frames = 1;
                entry.next_frame = first;
                entry.every_frames = every.max(1);
            }
            Trigger::Interval { first, every } => {
                entry.next = first.into();
                entry.every = every.into();
            }
        }
        entry
    }
}

/// How far a stream has come.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct StreamEntry {
    pub sequence: u64,
    pub slot: u32,
    pub first_slot: u32,
    pub period: u32,
    pub id: u16,
    pub is_captured: u16,
}

/// A histogram as the programs count it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct HistogramEntry {
    pub min: u64,
    pub max: u64,
    pub sum: u64,
    pub count: u64,
    pub buckets: [u64; Histogram::BUCKETS],
}

impl HistogramEntry {
    /// The same as the histogram that everybody else uses.
    pub fn to_histogram(self: &HistogramEntry, tick: Duration) -> Histogram {
        if self.count == 0 {
            return Histogram::new(tick);
        }
        Histogram::from_parts(tick, &self.buckets, self.min, self.max, self.sum.into())
    }
}

/// Everything about a transmission; `stop` and what is above it are ours, the rest the program's.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct TransmitState {
    pub start_ns: u64,
    pub stop_at_ns: u64,
    pub late_after_ps: u64,
    pub credit_ns: u64,
    pub targets: [u16; 4],
    pub hash: [u64; 4],
    pub tag_blocks: [u64; 4],
    pub order_len: u32,
    pub segments: u32,
    pub insertions: u32,
    pub stop: u32,
    pub clock: ClockMapping,
    pub finished: u32,
    pub order_at: u32,
    /// Sent by this queue.
    pub frame: u64,
    /// Passed over, since other queues of the port send them.
    pub skipped: u64,
    /// Of several queues: no frame of the port from this one on.
    pub end: u64,
    pub chosen: u32,
    pub chosen_is_inserted: u32,
    pub is_chosen: u64,
    pub bytes: u64,
    pub late_frames: u64,
    pub first_ns: u64,
    pub last_ns: u64,
    pub least_gap_ns: u64,
    pub slipped_ns: u64,
    pub slips: u64,
    pub due: Time,
    pub segment: u64,
    pub segment_left: u64,
    pub carried: u64,
    pub burst_left: u64,
    pub burst_start: Time,
    pub lateness: HistogramEntry,
}

/// Values of [`TransmitState::finished`].
pub(super) mod finished {
    pub const RUNNING: u32 = 0;
    pub const ALL_SENT: u32 = 1;
    pub const STOPPED: u32 = 2;
    pub const NO_DEVICE: u32 = 3;
    pub const BROKEN: u32 = 4;
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceiveControl {
    pub start_ns: u64,
    pub deadline_ns: u64,
    pub targets: [u16; 4],
    pub compact_targets: [u16; EARLIER_TRIALS],
    pub hash: [u64; 4],
    pub tag_blocks: [u64; 4],
    /// Earlier trials that there are to be known.
    pub earlier: u64,
    /// Where entries of the trial begin.
    pub queues_first: u32,
    pub fingerprints_first: u32,
    pub numbers_first: u32,
    /// Stream numbers that there are.
    pub numbers: u32,
    pub slack_ns: u64,
    pub clock: ClockMapping,
}

/// [`Mapping`](crate::clock::Mapping) of the kernel's clock.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct ClockMapping {
    pub since_ns: u64,
    pub offset_ns: u64,
    pub rate: i64,
}

impl ClockMapping {
    /// Writes it as it is now into an entry that has it behind `offset_bytes`, of which `word` gives each word. A
    /// program that reads it meanwhile reads nonsense: between trials only.
    pub fn store_now<'a>(offset_bytes: usize, word: impl Fn(usize) -> &'a AtomicU64) {
        let ClockMapping { since_ns, offset_ns, rate } = ClockMapping::now();
        for (at, value) in [since_ns, offset_ns, rate as u64].into_iter().enumerate() {
            word(offset_bytes + at * size_of::<u64>()).store(value, Ordering::Relaxed);
        }
    }

    /// Of the process as it is now; nothing where the kernel's clock is the tester's.
    pub fn now() -> Self {
        let mapping = crate::clock::of_kernel().unwrap_or_default();
        let (since_ns, offset_ns) = (mapping.since_ns, mapping.offset_ns as u64);
        ClockMapping { since_ns, offset_ns, rate: mapping.rate }
    }
}

/// What is known of a stream beforehand.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected {
    pub frames_max: u64,
    /// 1 + index of its account on the first queue; 0 for strays.
    pub account: u64,
    /// Index of its entry on the first queue, if it is a stray.
    pub stray: u64,
    pub seen_first: u64,
    pub lengths_first: u32,
    pub lengths_count: u32,
    pub tag_first: u64,
    pub tag_every: u64,
    pub tag_count: u64,
    pub tagged_first: u64,
    /// Queues that send it; 0 where one does.
    pub send_queues: u64,
    pub queues_log2: u64,
    pub first_slot: u64,
    pub period: u64,
}

#[repr(C, align(8))]
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct FingerprintEntry {
    pub offset: u32,
    pub value: u32,
    pub mask: u32,
    pub unused: u32,
}

/// A frame that left a gap before it.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Jump {
    pub arrival: u64,
    pub sequence: u64,
}

/// The account of one stream on one receive queue, and its workings.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Account {
    pub unique: u64,
    pub unique_bytes: u64,
    pub duplicates: u64,
    pub late: u64,
    pub corrupted: u64,
    pub wrong_length: u64,
    pub reordered: u64,
    pub extent_max: u64,
    pub arrivals_in_time: u64,
    pub first_ns: u64,
    pub last_ns: u64,
    pub silence_from_ns: u64,
    pub silence_to_ns: u64,
    pub next_expected: u64,
    pub previous_sequence: u64,
    pub previous_ticks: u64,
    pub variations: u64,
    pub variation_sum: u64,
    pub variation_min: i64,
    pub variation_max: i64,
    pub length_sequence: u64,
    pub length_at: u64,
    pub tag_last: u64,
    pub tagged: u64,
    pub second: u64,
    pub second_end_ns: u64,
    pub seconds: [u64; SECONDS],
    pub next_of_queue: [u64; QUEUES_MAX as usize],
    pub jumps_made: u64,
    pub jumps: [Jump; JUMPS],
    pub latencies: HistogramEntry,
    pub gaps: HistogramEntry,
}

/// What arrived of a stream that does not belong here, on one receive queue.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Stray {
    pub arrivals: u64,
    pub bytes: u64,
    pub late: u64,
    pub corrupted: u64,
    pub first_ns: u64,
    pub last_ns: u64,
    pub next_expected: u64,
}

/// The latency of one tagged frame.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct TaggedEntry {
    pub index: u64,
    pub ticks: u64,
}

/// What arrived on one receive queue, whatever it was.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct QueueAccount {
    pub arrivals: u64,
    pub foreign: u64,
    pub foreign_bytes: u64,
    pub corrupted: u64,
    pub forged: u64,
    pub leftovers: [u64; EARLIER_TRIALS],
    pub leftover_last_ns: u64,
}

/// How far a capture has come.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct CaptureState {
    pub wanted: u64,
    pub found: u64,
    pub lost: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_split_into_whole_nanoseconds_and_the_rest() {
        assert_eq!(Time::from(Duration::from_ps(67_200)), Time { ns: 67, ps: 200 });
    }

    /// 2^40 parts times the bytes of any frame fit in 64 bits.
    #[test]
    fn a_fraction_too_fine_for_the_program_is_rounded_up() {
        let exact = (Duration::ZERO, 3, 1 << 40);
        assert_eq!(coarse(exact), exact);
        assert_eq!(coarse((Duration::ZERO, 5, 1 << 42)), (Duration::ZERO, 2, 1 << 40));
        // Rounded up to a whole: the program carries it over as it does any other sum.
        let almost = (Duration::ZERO, u64::MAX - 1, u64::MAX);
        assert_eq!(coarse(almost), (Duration::ZERO, 1 << 40, 1 << 40));
    }

    /// A third of a second, and what is left of it carried along.
    #[test]
    fn a_spacing_keeps_the_fraction_of_a_picosecond() {
        let (whole, part, parts) = spacing(FrameRate::from_fps(3));
        assert_eq!((whole.as_ps(), part, parts), (333_333_333_333, 1, 3));
    }
}
