//! The frames of a capture file, and the times between them.

use crate::failure::{Failure, Outcome};
use hammer::capture::Capture;
use std::path::Path;
use units::Duration;

/// The most frames of a file.
const FRAMES_MAX: usize = 262_144;

/// Frames of a file.
pub struct Pcap {
    /// Without FCS.
    pub frames: Vec<Vec<u8>>,
    /// Time from each frame to the next, and from the last to the first; `None` if the file has no times.
    pub gaps: Option<Vec<Duration>>,
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
        Ok(Pcap { frames, gaps: times.as_deref().and_then(gaps) })
    }
}

/// The mean gap follows the last frame; `None` without any gap.
fn gaps(times_ns: &[u64]) -> Option<Vec<Duration>> {
    let between = times_ns.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
    let mut gaps: Vec<Duration> = between.map(Duration::from_ns).collect();
    let all: Duration = gaps.iter().copied().sum();
    let mean = all.as_ps().checked_div(gaps.len() as u64)?;
    gaps.push(Duration::from_ps(mean));
    (all > Duration::ZERO).then_some(gaps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_those_of_the_capture_and_their_mean() {
        let ns = |all: &[u64]| all.iter().map(|ns| Duration::from_ns(*ns)).collect::<Vec<_>>();
        assert_eq!(gaps(&[100, 200, 500]), Some(ns(&[100, 300, 200])));
        assert_eq!(gaps(&[500, 400, 500]), Some(ns(&[0, 100, 50])), "a clock that went back");
        assert_eq!(gaps(&[7]), None);
        assert_eq!(gaps(&[7, 7]), None);
    }
}
