//! Line rate of a medium and frame rate of a stream, both exact.

use crate::{Duration, FrameSize};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;

const PS_PER_S: u128 = 1_000_000_000_000;

/// Bits a second of a medium, data bits of the frame only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LineRate(u64);

impl LineRate {
    /// A rate in bits a second. Panics at zero: a medium without a rate carries no test.
    pub const fn from_bps(bits_per_second: u64) -> Self {
        assert!(bits_per_second > 0, "a line rate of zero");
        LineRate(bits_per_second)
    }
    /// A rate in megabits (10^6) a second.
    pub const fn from_mbps(mbps: u64) -> Self {
        Self::from_bps(mbps * 1_000_000)
    }
    /// A rate in gigabits (10^9) a second.
    pub const fn from_gbps(gbps: u64) -> Self {
        Self::from_bps(gbps * 1_000_000_000)
    }
    /// Bits a second.
    pub const fn bps(self) -> u64 {
        self.0
    }
    /// Time that `bytes` take, truncated to a picosecond; exact for 10M-800G Ethernet.
    pub fn time_of_bytes(self, bytes: u64) -> Duration {
        Duration::from_ps((u128::from(bytes) * 8 * PS_PER_S / u128::from(self.0)) as u64)
    }
    /// The medium's maximum frame rate for one size: rate / ((N + 20) x 8)
    /// (RFC 2544 section 20 and appendix B).
    pub fn max_frame_rate(self, size: FrameSize) -> FrameRate {
        FrameRate::new(self.0, u64::from(size.bytes_on_medium()) * 8)
    }
}

impl fmt::Display for LineRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bps if bps >= 1_000_000_000 => write!(f, "{} Gb/s", bps as f64 / 1e9),
            bps if bps >= 1_000_000 => write!(f, "{} Mb/s", bps as f64 / 1e6),
            bps => write!(f, "{bps} b/s"),
        }
    }
}
impl fmt::Debug for LineRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Frames a second as an exact fraction, so that "line rate for 64 bytes at 10 Gb/s"
/// (14,880,952.38...) is a value and not an approximation.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct FrameRate {
    frames: u64,
    per_seconds: u64,
}

impl FrameRate {
    /// No frames at all.
    pub const ZERO: FrameRate = FrameRate { frames: 0, per_seconds: 1 };

    /// `frames` frames in `per_seconds` seconds. Panics where `per_seconds` is zero.
    pub fn new(frames: u64, per_seconds: u64) -> Self {
        assert!(per_seconds > 0, "a frame rate over no time");
        let divisor = gcd(frames, per_seconds).max(1);
        FrameRate { frames: frames / divisor, per_seconds: per_seconds / divisor }
    }
    /// Whole frames a second.
    pub const fn from_fps(fps: u64) -> Self {
        FrameRate { frames: fps, per_seconds: 1 }
    }
    /// The nearest thousandth of a frame a second, below one frame a second the nearest billionth; negative or not
    /// finite gives zero.
    pub fn from_fps_f64(fps: f64) -> Self {
        let parts = if fps < 1.0 { 1_000_000_000 } else { 1_000 };
        Self::new((fps * parts as f64).round() as u64, parts)
    }
    /// Frames a second as a float, for ratios and for people.
    pub fn fps(self) -> f64 {
        self.frames as f64 / self.per_seconds as f64
    }
    /// Whole frames a second, truncated as RFC 2544 appendix B does.
    pub fn fps_truncated(self) -> u64 {
        self.frames / self.per_seconds
    }
    /// The exact fraction: (frames, seconds).
    pub const fn as_fraction(self) -> (u64, u64) {
        (self.frames, self.per_seconds)
    }
    /// Whether nothing is sent.
    pub const fn is_zero(self) -> bool {
        self.frames == 0
    }
    /// When frame `k` (from 0) leaves, counted from the start, truncated to a picosecond.
    /// Computed from `k`, so that errors never add up. At rate zero nothing ever leaves.
    pub fn departure(self, k: u64) -> Duration {
        if self.frames == 0 {
            return Duration::MAX;
        }
        let ps = u128::from(k) * u128::from(self.per_seconds) * PS_PER_S / u128::from(self.frames);
        Duration::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
    }
    /// How many frames leave within `span`: those whose departure lies in [0, span).
    pub fn frames_in(self, span: Duration) -> u64 {
        let frames = u128::from(span.as_ps()) * u128::from(self.frames);
        let per = u128::from(self.per_seconds) * PS_PER_S;
        u64::try_from(frames.div_ceil(per)).unwrap_or(u64::MAX)
    }
    /// Time between two frames, truncated to a picosecond; at rate zero, for ever.
    pub fn interval(self) -> Duration {
        self.departure(1)
    }
    /// This rate times `factor`, rounded as [`from_fps_f64`](Self::from_fps_f64) does.
    pub fn scaled(self, factor: f64) -> Self {
        Self::from_fps_f64(self.fps() * factor)
    }
    /// Bits a second of frames of this size, FCS included, preamble and gap not
    /// (RFC 2544 section 26.1 counts input bits this way).
    pub fn bits_per_second(self, size: FrameSize) -> f64 {
        self.fps() * f64::from(size.bytes()) * 8.0
    }
}

const fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl PartialEq for FrameRate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for FrameRate {}
impl PartialOrd for FrameRate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for FrameRate {
    fn cmp(&self, other: &Self) -> Ordering {
        let left = u128::from(self.frames) * u128::from(other.per_seconds);
        let right = u128::from(other.frames) * u128::from(self.per_seconds);
        left.cmp(&right)
    }
}
impl fmt::Display for FrameRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let precision = f.precision().unwrap_or(0);
        write!(f, "{:.precision$} fps", self.fps())
    }
}
impl fmt::Debug for FrameRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} fps", self.fps())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 2544 appendix B, the Ethernet column.
    #[test]
    fn maximum_frame_rates_of_rfc2544_appendix_b() {
        let table = [
            (64, 14_880),
            (128, 8_445),
            (256, 4_528),
            (512, 2_349),
            (768, 1_586),
            (1024, 1_197),
            (1280, 961),
            (1518, 812),
        ];
        for (bytes, fps) in table {
            let rate = LineRate::from_mbps(10).max_frame_rate(FrameSize::from_bytes(bytes));
            assert_eq!(rate.fps_truncated(), fps, "{bytes} bytes");
        }
    }

    #[test]
    fn departures_stay_exact_over_a_billion_frames() {
        let rate = LineRate::from_gbps(10).max_frame_rate(FrameSize::MIN_ETHERNET);
        assert_eq!(rate.interval(), Duration::from_ps(67_200));
        assert_eq!(rate.departure(1_000_000_000), Duration::from_ps(67_200_000_000_000));
    }

    #[test]
    fn a_frame_in_days_is_a_rate() {
        let hourly = FrameRate::from_fps_f64(1.0 / 3_600.0);
        assert!((hourly.interval().as_secs_f64() - 3_600.0).abs() < 0.1, "{:?}", hourly.interval());
        let in_100_days = FrameRate::new(1, 8_640_000).scaled(1.0);
        assert!((in_100_days.fps() * 8_640_000.0 - 1.0).abs() < 0.01, "{in_100_days:?}");
        assert_eq!(FrameRate::from_fps_f64(-1.0), FrameRate::ZERO);
        assert_eq!(FrameRate::from_fps_f64(f64::NAN), FrameRate::ZERO);
    }

    #[test]
    fn frames_in_counts_departures_before_the_end() {
        let rate = FrameRate::from_fps(1_000);
        assert_eq!(rate.frames_in(Duration::from_secs(1)), 1_000);
        assert_eq!(rate.frames_in(Duration::from_us(1_001)), 2);
        assert_eq!(FrameRate::ZERO.frames_in(Duration::from_secs(9)), 0);
    }

    #[test]
    fn equal_rates_compare_equal_however_written() {
        assert_eq!(FrameRate::new(2_000, 2), FrameRate::from_fps(1_000));
        assert!(FrameRate::new(1, 3) < FrameRate::new(1, 2));
    }
}
