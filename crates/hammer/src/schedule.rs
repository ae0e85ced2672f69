//! When each frame of hammer's loop is due.

use units::{Duration, FrameRate};

/// How fast the loop turns.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Pace {
    /// As fast as the port takes frames: each is due at once.
    Flood,
    /// `-s#`: a turn of the loop begins every so often; the frames of a turn leave back to back.
    Slow {
        /// From the start of a turn to the start of the next.
        turn: Duration,
    },
    /// Single frames, evenly spaced.
    Even(FrameRate),
}

/// Which frames are due when.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Schedule {
    /// How fast.
    pub pace: Pace,
    /// Frames in a turn of the loop.
    pub turn_frames: u64,
    /// Frames to send; without end where none is given.
    pub frames: Option<u64>,
}

impl Schedule {
    /// When frame `k`, from 0, is due, counted from the first; `None` after the last one. It is
    /// computed from `k`, so that no error adds up.
    pub fn due(&self, k: u64) -> Option<Duration> {
        if self.frames.is_some_and(|frames| k >= frames) {
            return None;
        }
        Some(match self.pace {
            Pace::Flood => Duration::ZERO,
            Pace::Slow { turn } => {
                Duration::from_ps(turn.as_ps().saturating_mul(k / self.turn_frames))
            }
            Pace::Even(rate) => rate.departure(k),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_turns_begin_at_multiples_of_their_time() {
        let turn = Duration::from_ms(100);
        let slow = Schedule { pace: Pace::Slow { turn }, turn_frames: 3, frames: Some(7) };
        let due_ms: Vec<_> =
            (0..8).map(|k| slow.due(k).map(|due| due.as_ns() / 1_000_000)).collect();
        let at = Some;
        assert_eq!(due_ms, [at(0), at(0), at(0), at(100), at(100), at(100), at(200), None]);
    }

    #[test]
    fn even_frames_are_due_at_k_over_the_rate() {
        let even =
            Schedule { pace: Pace::Even(FrameRate::new(3, 1)), turn_frames: 2, frames: None };
        assert_eq!(even.due(3_000_000), Some(Duration::from_secs(1_000_000)));
        let flood = Schedule { pace: Pace::Flood, ..even };
        assert_eq!(flood.due(u64::MAX), Some(Duration::ZERO));
    }
}
