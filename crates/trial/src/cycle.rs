//! The lengths of a port's frames, over and over: what a mix needs to be spaced by length.

use crate::schedule::Length;
use crate::{Stream, TesterError};
use serde::{Deserialize, Serialize};
use units::{FrameRate, FrameSize};

/// FCS, which a frame's bytes are without.
const FCS_BYTES: u32 = 4;
/// A cycle of more frames is refused rather than kept for each port.
const FRAMES_MAX: u64 = 1 << 22;

/// Bytes on the medium of each frame of a cycle: with FCS, preamble and the smallest gap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cycle {
    bytes: Vec<u32>,
}

/// What a frame of so many bytes, without FCS, takes on the medium.
pub(crate) fn on_medium(len_bytes: usize) -> u32 {
    FrameSize::from_bytes(len_bytes as u32 + FCS_BYTES).bytes_on_medium()
}

impl Cycle {
    /// Of frames that take so many bytes on the medium, in this order; never empty, never 0.
    pub fn new(bytes: Vec<u32>) -> Self {
        assert!(!bytes.is_empty() && !bytes.contains(&0), "frames without length");
        Cycle { bytes }
    }

    /// What each of its frames takes.
    pub(crate) fn each_bytes(&self) -> &[u32] {
        &self.bytes
    }

    /// Of streams that take turns in this order; `None` where all their frames have one length.
    pub(crate) fn of(streams: &[&Stream], order: &[usize]) -> Result<Option<Cycle>, TesterError> {
        let lengths = |stream: usize| streams[stream].frames.iter().map(|frame| frame.bytes.len());
        let mut all = order.iter().flat_map(|stream| lengths(*stream));
        let Some(first) = all.next() else { return Ok(None) };
        if all.all(|length| length == first) {
            return Ok(None);
        }
        let mut turns: Vec<(Vec<u32>, usize)> = vec![(vec![], 0); streams.len()];
        for &stream in order {
            let (period, turns) = &mut turns[stream];
            if *turns == 0 {
                *period = shortest_period(lengths(stream).map(on_medium).collect());
            }
            *turns += 1;
        }
        let taken = turns.iter().filter(|(_, turns)| *turns > 0);
        let rounds = taken.fold(1u64, |rounds, (period, turns)| {
            let period = period.len() as u64;
            lcm(rounds, period / gcd(period, *turns as u64))
        });
        let frames = rounds.saturating_mul(order.len() as u64);
        if frames > FRAMES_MAX {
            return Err(TesterError::BadTrial(format!(
                "the lengths of its frames repeat after {frames} frames only, {FRAMES_MAX} are \
                 possible; choose a mix of fewer sizes"
            )));
        }
        let mut next = vec![0; streams.len()];
        let bytes = (0..frames).map(|frame| {
            let stream = order[frame as usize % order.len()];
            let period = &turns[stream].0;
            let bytes = period[next[stream] % period.len()];
            next[stream] += 1;
            bytes
        });
        Ok(Some(Cycle::new(bytes.collect())))
    }

    /// Frames of one cycle.
    pub fn frames(&self) -> u64 {
        self.bytes.len() as u64
    }
    /// Bytes on the medium of one cycle.
    pub fn bytes(&self) -> u64 {
        self.bytes_in(self.bytes.len())
    }
    /// Bytes on the medium of the first so many frames.
    pub fn bytes_before(&self, frames: u64) -> u64 {
        let rest = self.bytes_in((frames % self.frames()) as usize);
        (frames / self.frames()) * self.bytes() + rest
    }
    /// Bytes on the medium of a frame of mean length, rounded up.
    pub fn mean_bytes(&self) -> u32 {
        self.bytes().div_ceil(self.frames()) as u32
    }
    /// Bytes on the medium of the longest frame.
    pub fn longest_bytes(&self) -> u32 {
        self.bytes.iter().copied().max().unwrap_or(0)
    }
    /// By how many bytes a frame differs from the one before it on average, rounded up.
    pub fn step_bytes(&self) -> u32 {
        let before = self.bytes.iter().cycle().skip(self.bytes.len() - 1);
        let steps =
            self.bytes.iter().zip(before).map(|(one, before)| u64::from(one.abs_diff(*before)));
        steps.sum::<u64>().div_ceil(self.frames()) as u32
    }
    /// Bytes a second of frames that leave at this mean rate.
    pub fn byte_rate(&self, rate: FrameRate) -> FrameRate {
        let (frames, seconds) = rate.as_fraction();
        let bytes = u128::from(frames) * u128::from(self.bytes());
        let seconds = u128::from(seconds) * u128::from(self.frames());
        let divisor = gcd_u128(bytes, seconds).max(1);
        match (u64::try_from(bytes / divisor), u64::try_from(seconds / divisor)) {
            (Ok(bytes), Ok(seconds)) => FrameRate::new(bytes, seconds),
            // Slower by less than a byte a second.
            _ => FrameRate::from_fps(u64::try_from(bytes / seconds).unwrap_or(u64::MAX)),
        }
    }

    /// The time of how many bytes belongs to the schedule's frame with this number.
    pub(crate) fn charge(&self, length: Length, frame: u64) -> u32 {
        match length {
            Length::Planned => self.bytes[(frame % self.frames()) as usize],
            Length::Bytes(bytes) => bytes,
            Length::Inserted(bytes) => bytes.max(self.mean_bytes()),
        }
    }

    fn bytes_in(&self, frames: usize) -> u64 {
        self.bytes[..frames].iter().map(|bytes| u64::from(*bytes)).sum()
    }
}

/// The shortest sequence that gives this one when it is repeated a whole number of times.
fn shortest_period(mut lengths: Vec<u32>) -> Vec<u32> {
    let len = lengths.len();
    let repeats = |period: &usize| {
        len.is_multiple_of(*period) && lengths[*period..] == lengths[..len - *period]
    };
    let shortest = (1..=len).find(repeats).unwrap_or(len);
    lengths.truncate(shortest);
    lengths
}

fn gcd(a: u64, b: u64) -> u64 {
    gcd_u128(a.into(), b.into()) as u64
}

fn gcd_u128(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn lcm(a: u64, b: u64) -> u64 {
    (a / gcd(a, b)).saturating_mul(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Expectation, PortId, Role, StreamFrame, StreamId};

    fn stream(id: u16, lengths: &[usize]) -> Stream {
        let frame = |length: &usize| StreamFrame { bytes: vec![0; *length], form: None };
        Stream {
            id: StreamId(id),
            name: format!("stream {id}"),
            role: Role::Test,
            from: PortId(0),
            expect: Expectation::Unchecked,
            frames: lengths.iter().map(frame).collect(),
            fingerprint: None,
            given_up: vec![],
            bad_fcs: false,
            grows_by_bytes: 0,
        }
    }

    fn cycle(streams: &[Stream], order: &[usize]) -> Option<Vec<u32>> {
        let streams: Vec<_> = streams.iter().collect();
        Cycle::of(&streams, order).unwrap().map(|cycle| cycle.bytes)
    }

    #[test]
    fn frames_of_one_length_need_no_cycle() {
        assert_eq!(cycle(&[stream(1, &[60; 7]), stream(2, &[60])], &[0, 1]), None);
        assert_eq!(cycle(&[stream(1, &[60, 1514])], &[]), None);
        // A stream that takes no turn, such as one that is inserted, does not count.
        assert_eq!(cycle(&[stream(1, &[60; 7]), stream(2, &[1514])], &[0]), None);
    }

    /// 60 bytes and FCS, preamble and gap: 84 on the medium (RFC 2544 appendix B).
    #[test]
    fn a_cycle_is_the_shortest_one() {
        let lengths = [60, 60, 1514, 60, 60, 1514];
        assert_eq!(cycle(&[stream(1, &lengths)], &[0]), Some(vec![84, 84, 1538]));
    }

    #[test]
    fn streams_that_take_turns_have_a_cycle_of_their_own() {
        let streams = [stream(1, &[60, 1514]), stream(2, &[60])];
        assert_eq!(cycle(&streams, &[0, 1]), Some(vec![84, 84, 1538, 84]));
        assert_eq!(cycle(&streams, &[0, 0, 1]), Some(vec![84, 1538, 84]));
    }

    /// 1,538 bytes at 10 Gb/s take 1,230.4 ns.
    #[test]
    fn a_byte_rate_at_the_mediums_maximum_is_the_mediums() {
        let cycle = Cycle::new(vec![84, 1538]);
        let maximum = FrameRate::new(10_000_000_000 * 2, (84 + 1538) * 8);
        assert_eq!(cycle.byte_rate(maximum), FrameRate::from_fps(1_250_000_000));
    }

    /// 84, 84 and 1,538 bytes: from the last to the first 1,454, to the next 0, to the next 1,454.
    #[test]
    fn lengths_differ_from_frame_to_frame_all_around_the_cycle() {
        let cycle = Cycle::new(vec![84, 84, 1538]);
        assert_eq!((cycle.longest_bytes(), cycle.step_bytes()), (1_538, 970));
        assert_eq!(Cycle::new(vec![84]).step_bytes(), 0);
    }

    #[test]
    fn a_cycle_beyond_all_bounds_is_refused() {
        // Relatively prime periods: 2,039 x 2,053 x 2 frames.
        let sizes = |n: usize| (0..n).map(|i| 60 + i % (n - 1)).collect::<Vec<_>>();
        let streams = [stream(1, &sizes(2_039)), stream(2, &sizes(2_053))];
        let streams: Vec<_> = streams.iter().collect();
        assert!(matches!(Cycle::of(&streams, &[0, 1]), Err(TesterError::BadTrial(_))));
    }
}
