//! The frames of a capture file, and the times between them.

use crate::failure::{Failure, Outcome};
use hammer::capture::Capture;
use std::fmt;
use std::path::Path;
use units::Duration;

/// The most frames of a file.
const FRAMES_MAX: usize = 262_144;

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
        }
    }
}

/// The mean gap follows the last frame. After a clock that went back a frame follows at once.
fn gaps(times_ns: &[u64]) -> Result<Vec<Duration>, Untimed> {
    let pairs = || times_ns.windows(2).map(|pair| (pair[0], pair[1]));
    let between = pairs().map(|(before, after)| after.saturating_sub(before));
    let mut gaps: Vec<Duration> = between.map(Duration::from_ns).collect();
    let all: Duration = gaps.iter().copied().sum();
    let mean = all.as_ps().checked_div(gaps.len() as u64).ok_or(Untimed::OneFrame)?;
    if all == Duration::ZERO {
        let backward = pairs().position(|(before, after)| after < before);
        return Err(backward.map_or(Untimed::SameTime, |pair| Untimed::Backward(pair + 2)));
    }
    gaps.push(Duration::from_ps(mean));
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
    }
}
