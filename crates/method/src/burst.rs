//! Bursts and the gaps between them (RFC 2544 section 21, RFC 2889 appendix A).

use trial::{Schedule, Segment};
use units::{Duration, FrameRate, FrameSize, LineRate};

/// Bursts of frames at the minimum gap, so far apart that their load is a share of the medium.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bursts {
    /// Of the medium.
    pub line: LineRate,
    /// FCS included.
    pub size: FrameSize,
    /// Frames in a burst, at least 1; of 1 there is a constant load.
    pub frames: u64,
    /// The load as a rate of frames, no higher than the medium's.
    pub rate: FrameRate,
}

impl Bursts {
    /// From a burst's first bit to its last frame's last: TXTIME of appendix A (whose numerator the
    /// text has lost), B (8 L + 64) + (B - 1) IFG bits.
    pub fn transmit_time(&self) -> Duration {
        let frame = self.size.bytes() + FrameSize::PREAMBLE_BYTES;
        let bytes = self.frames * u64::from(frame) + (self.frames - 1) * GAP;
        self.line.time_of_bytes(bytes)
    }

    /// IBG of appendix A: from a burst's last bit to the next one's first.
    pub fn gap(&self) -> Duration {
        self.period().saturating_sub(self.transmit_time())
    }

    /// From a burst's start to the next one's.
    pub fn period(&self) -> Duration {
        self.rate.departure(self.frames)
    }

    /// See [`schedule`], at the minimum gap of the medium.
    pub fn schedule(&self, duration: Duration) -> Schedule {
        schedule(self.frames, self.line.max_frame_rate(self.size), self.rate, duration)
    }
}

/// All bursts that begin within `duration`, each of them whole (#BURSTS of appendix A): so many frames at
/// the rate `within`, so far apart that `rate` is their mean. Of one frame there is a constant load.
pub(crate) fn schedule(
    burst: u64,
    within: FrameRate,
    rate: FrameRate,
    duration: Duration,
) -> Schedule {
    let frames = rate.frames_in(duration);
    let segment = match burst {
        1 => Segment::constant(rate, frames),
        _ => {
            let whole = frames.div_ceil(burst) * burst;
            Segment::bursty(within.max(rate), burst, rate.departure(burst), whole)
        }
    };
    Schedule { segments: vec![segment] }
}

const GAP: u64 = FrameSize::GAP_BYTES as u64;

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames of 64 bytes in bursts of 24 at 10 Mb/s for 10 s; worked from appendix A's formula. Its
    /// own example has the gap of half the load, without the gap of one frame that belongs to it.
    #[test]
    fn gaps_as_appendix_a_has_them() {
        let line = LineRate::from_mbps(10);
        let size = FrameSize::MIN_ETHERNET;
        let full = line.max_frame_rate(size);
        let of = |rate| Bursts { line, size, frames: 24, rate };
        let half = of(FrameRate::new(1, 2 * 672).scaled(1.0));
        assert_eq!(of(full).transmit_time(), Duration::from_ps(1_603_200_000));
        assert_eq!(of(full).gap(), Duration::from_ps(9_600_000));
        let half = Bursts { rate: FrameRate::new(10_000_000, 2 * 672), ..half };
        assert_eq!(half.gap(), Duration::from_ps(1_622_400_000));
        let bursts = |b: Bursts| b.schedule(Duration::from_secs(10)).frames() / 24;
        assert_eq!((bursts(of(full)), bursts(half)), (6_201, 3_101));
    }
}
