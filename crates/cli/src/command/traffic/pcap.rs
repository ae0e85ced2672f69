//! The frames of a capture file, and the times between them.

use crate::failure::{Failure, Outcome};
use hammer::capture::Capture;
use std::fmt;
use std::path::Path;
use units::Duration;

/// The most frames of a file.
const FRAMES_MAX: usize = 262_144;

/// The longest round of frames: with the mean gap after the last it is less than a [`Duration`] holds.
const LONGEST_PS: u64 = 213 * 86_400 * 1_000_000_000_000 / 2;

/// Frames of a file.
pub struct Pcap {
    /// Without FCS.
    pub frames: Vec<Vec<u8>>,
    /// Time from each frame to the next, and from the last to the first, or why there is none.
    pub gaps: Result<Vec<Duration>, Untimed>,
}

impl Pcap {
    /// Reads a pcap or pcapng file.
    pub fn read(path: &Path) -> Outcome<Pcap> {
        let name = path.display();
        let bytes = std::fs::read(path)
            .map_err(|error| Failure::new(format!("cannot read {name}: {error}")))?;
        let captured = Capture::all(&bytes)
            .map_err(|error| Failure::new(format!("cannot read frames of {name}: {error}")))?;
        if captured.len() > FRAMES_MAX {
            return Err(Failure::new(format!(
                "{name} has {} frames; the limit is {FRAMES_MAX}",
                captured.len()
            ))
            .help(format!("editcap -r {name} PART.pcap 1-{FRAMES_MAX}")));
        }
        if let Some(number) = captured.iter().position(|frame| !frame.is_whole()) {
            return Err(Failure::new(format!("{name} has only a part of frame {}", number + 1))
                .help("capture whole frames: tcpdump -s 0"));
        }
        let times: Option<Vec<u64>> = captured.iter().map(|frame| frame.time_ns).collect();
        let frames = captured.into_iter().map(|frame| frame.bytes.into_owned()).collect();
        let gaps = times.as_deref().map_or(Err(Untimed::NoTimes), gaps);
        Ok(Pcap { frames, gaps })
    }
}

/// Why a capture says nothing of when its frames are to leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Untimed {
    /// The file has no times.
    NoTimes,
    /// No time passes from one frame to the next.
    OneFrame,
    /// All frames have the same time.
    SameTime,
    /// No frame has a later time than the one before it; this one, from 1, is the first with an earlier time.
    Backward(usize),
    /// This frame, from 1, comes later after the first than spans of time can be long.
    TooLong(usize),
}

impl fmt::Display for Untimed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Untimed::NoTimes => f.write_str("the capture has no times"),
            Untimed::OneFrame => {
                f.write_str("the capture has only one frame, and no time to a next")
            }
            Untimed::SameTime => f.write_str("all frames of the capture have the same time"),
            Untimed::Backward(frame) => {
                write!(f, "the times of the capture run backward, from frame {frame} on")
            }
            Untimed::TooLong(frame) => {
                write!(
                    f,
                    "frame {frame} of the capture comes more than 106 days after the first, which is more than netanvil \
                     waits for"
                )
            }
        }
    }
}

/// The mean gap follows the last frame. After a clock that went back a frame follows at once.
fn gaps(times_ns: &[u64]) -> Result<Vec<Duration>, Untimed> {
    let pairs = || times_ns.windows(2).map(|pair| (pair[0], pair[1]));
    let (mut gaps, mut all_ps) = (vec![], 0u64);
    for (number, (before, after)) in pairs().enumerate() {
        let gap_ps = after.saturating_sub(before).checked_mul(1_000);
        let sum_ps = gap_ps.and_then(|gap| all_ps.checked_add(gap)).filter(|sum| *sum < LONGEST_PS);
        all_ps = sum_ps.ok_or(Untimed::TooLong(number + 2))?;
        gaps.push(Duration::from_ps(gap_ps.unwrap_or_default()));
    }
    let mean_ps = all_ps.checked_div(gaps.len() as u64).ok_or(Untimed::OneFrame)?;
    if all_ps == 0 {
        let backward = pairs().position(|(before, after)| after < before);
        return Err(backward.map_or(Untimed::SameTime, |pair| Untimed::Backward(pair + 2)));
    }
    gaps.push(Duration::from_ps(mean_ps));
    Ok(gaps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_those_of_the_capture_and_their_mean() {
        let ns = |all: &[u64]| all.iter().map(|ns| Duration::from_ns(*ns)).collect::<Vec<_>>();
        assert_eq!(gaps(&[100, 200, 500]), Ok(ns(&[100, 300, 200])));
        assert_eq!(gaps(&[500, 400, 500]), Ok(ns(&[0, 100, 50])), "a clock that went back");
        assert_eq!(gaps(&[7]), Err(Untimed::OneFrame));
        assert_eq!(gaps(&[7, 7]), Err(Untimed::SameTime));
        assert_eq!(gaps(&[9, 9, 8, 7]), Err(Untimed::Backward(3)));
        assert_eq!(
            gaps(&[0, 1, u64::MAX]),
            Err(Untimed::TooLong(3)),
            "a frame without a time, and one with"
        );
        let day = 86_400_000_000_000;
        assert_eq!(gaps(&[0, 60 * day, 120 * day]), Err(Untimed::TooLong(3)));
        assert_eq!(gaps(&[0, 100 * day]), Ok(ns(&[100 * day, 100 * day])));
    }
}
