//! Counters as an agent tells them, followed from one reading to the next: which of them can be believed.
//! Pure: readings in, a verdict out.
//!
//! An agent may show counters of some seconds ago. A reading is up to date where it agrees with the
//! tester's own interfaces to the frame, or where it was taken later after the last frame than the agent's
//! counters can be old; one that even then shows fewer frames than have gone over the link is no reading.

use std::fmt;

/// A counter of 32 bits that goes forward by more than this has gone backward.
const HALF_OF_32_BITS: u64 = 1 << 31;

/// A counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Told {
    /// As it stands.
    pub count: u64,
    /// Whether it begins anew at 2^32.
    pub wraps: bool,
}

/// What is counted at an interface, each the sum of some counters.
pub const RECEIVED: usize = 0;
/// Frames sent.
pub const SENT: usize = 1;
/// Frames lost on the way in.
pub const LOST_IN: usize = 2;
/// Frames lost on the way out.
pub const LOST_OUT: usize = 3;

/// One reading of an agent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reading {
    /// Since the agent started.
    pub up_time_ticks: u32,
    /// By port, the counters of [`RECEIVED`], [`SENT`], [`LOST_IN`] and [`LOST_OUT`].
    pub ports: Vec<[Vec<Told>; 4]>,
}

/// What the tester's interface at the other end of a link has counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Own {
    /// Frames sent.
    pub sent: u64,
    /// Frames received.
    pub received: u64,
    /// Frames received and dropped.
    pub dropped: u64,
}

/// Frames since the base, by port.
pub type Counted = Vec<[u64; 4]>;

/// What a reading is worth.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Worth {
    /// It is up to date.
    Fresh(Counted),
    /// It may be old: ask again.
    Old,
    /// It is no reading, and asking again does not help.
    None(Unread),
}

/// Why counters could not be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unread {
    /// The agent has started anew.
    Restarted,
    /// A counter has fallen, or is another one.
    WentBack {
        /// By number.
        port: usize,
    },
    /// So many frames that a counter of 32 bits may have begun anew more than once.
    Wrapped {
        /// By number.
        port: usize,
    },
    /// Fewer frames in than the tester sent, after all the time that there was.
    FewerIn {
        /// By number.
        port: usize,
        /// How many are missing.
        frames: u64,
    },
    /// Fewer frames out than the tester received.
    FewerOut {
        /// By number.
        port: usize,
        /// How many are missing.
        frames: u64,
    },
}

/// What is to be made of a reading after an earlier one that was up to date; each with what the tester's
/// interfaces had counted just before it. `late`: it was taken later after the last frame than counters
/// can be old.
pub fn worth(
    (base, own_then): (&Reading, &[Own]),
    (now, own): (&Reading, &[Own]),
    late: bool,
) -> Worth {
    if now.up_time_ticks < base.up_time_ticks {
        return Worth::None(Unread::Restarted);
    }
    let mut counted = vec![];
    let (mut agrees, mut fewer) = (true, None);
    for (port, (then, told)) in base.ports.iter().zip(&now.ports).enumerate() {
        let frames = match since(then, told) {
            Some(frames) => frames,
            None => return Worth::None(Unread::WentBack { port }),
        };
        let sent = own[port].sent.saturating_sub(own_then[port].sent);
        let received = own[port].received.saturating_sub(own_then[port].received);
        let dropped = own[port].dropped.saturating_sub(own_then[port].dropped);
        let wraps = told.iter().flatten().any(|told| told.wraps);
        if wraps && sent.max(received + dropped) >= HALF_OF_32_BITS {
            return Worth::None(Unread::Wrapped { port });
        }
        let out = frames[SENT];
        agrees &= frames[RECEIVED] == sent && (out == received || out == received + dropped);
        let lacks_in = sent.saturating_sub(frames[RECEIVED] + frames[LOST_IN]);
        let lacks_out = received.saturating_sub(out);
        fewer = fewer
            .or((lacks_in > 0).then_some(Unread::FewerIn { port, frames: lacks_in }))
            .or((lacks_out > 0).then_some(Unread::FewerOut { port, frames: lacks_out }));
        counted.push(frames);
    }
    match (agrees, late, fewer) {
        (true, ..) | (false, true, None) => Worth::Fresh(counted),
        (false, true, Some(fewer)) => Worth::None(fewer),
        (false, false, _) => Worth::Old,
    }
}

/// What an interface has counted in between; `None` where a counter has fallen or is another one.
fn since(then: &[Vec<Told>; 4], now: &[Vec<Told>; 4]) -> Option<[u64; 4]> {
    let mut frames = [0; 4];
    for ((sum, then), now) in frames.iter_mut().zip(then).zip(now) {
        if then.len() != now.len() {
            return None;
        }
        for (then, now) in then.iter().zip(now) {
            *sum += now.since(*then)?;
        }
    }
    Some(frames)
}

impl Told {
    fn since(self, then: Told) -> Option<u64> {
        match (then.wraps, self.wraps) {
            (false, false) => self.count.checked_sub(then.count),
            (true, true) => {
                let forward = u64::from((self.count as u32).wrapping_sub(then.count as u32));
                Some(forward).filter(|forward| *forward < HALF_OF_32_BITS)
            }
            _ => None,
        }
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unread::Restarted => write!(f, "the agent has started anew"),
            Unread::WentBack { port } => {
                write!(f, "port {port}: a counter went backward, or is another one now")
            }
            Unread::Wrapped { port } => {
                write!(f, "port {port}: a counter of 32 bits may have begun anew more than once")
            }
            Unread::FewerIn { port, frames } => write!(
                f,
                "port {port}: {frames} frames fewer in than the tester sent; the agent shows older \
                 counters than --far-lag allows, or frames were lost before they were counted"
            ),
            Unread::FewerOut { port, frames } => write!(
                f,
                "port {port}: {frames} frames fewer out than the tester received; the agent shows \
                 older counters than --far-lag allows, or this is another interface"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(counts: [u64; 4], wraps: bool) -> [Vec<Told>; 4] {
        counts.map(|count| vec![Told { count, wraps }])
    }

    fn reading(ports: [[u64; 4]; 2], wraps: bool) -> Reading {
        let ports = ports.map(|counts| port(counts, wraps)).to_vec();
        Reading { up_time_ticks: 100, ports }
    }

    fn own(ports: [[u64; 3]; 2]) -> Vec<Own> {
        ports.map(|[sent, received, dropped]| Own { sent, received, dropped }).to_vec()
    }

    /// 1,000 frames into port 0, 900 of them out of port 1.
    const SENT_THEN: [[u64; 3]; 2] = [[5, 7, 0], [8, 9, 0]];
    const SENT_NOW: [[u64; 3]; 2] = [[1_005, 7, 0], [8, 909, 0]];

    fn of(now: [[u64; 4]; 2], late: bool) -> Worth {
        let base = reading([[50, 60, 0, 0], [70, 80, 0, 0]], false);
        let (then, sent) = (own(SENT_THEN), own(SENT_NOW));
        worth((&base, &then), (&reading(now, false), &sent), late)
    }

    #[test]
    fn counters_that_agree_to_the_frame_are_taken_at_once() {
        let counted = vec![[1_000, 0, 0, 0], [0, 900, 0, 0]];
        assert_eq!(of([[1_050, 60, 0, 0], [70, 980, 0, 0]], false), Worth::Fresh(counted));
    }

    #[test]
    fn counters_that_may_be_old_are_waited_for_and_then_not_believed() {
        for late in [false, true] {
            let expected = |unread| if late { Worth::None(unread) } else { Worth::Old };
            let nothing = of([[50, 60, 0, 0], [70, 80, 0, 0]], late);
            assert_eq!(nothing, expected(Unread::FewerIn { port: 0, frames: 1_000 }));
            let half = of([[1_050, 60, 0, 0], [70, 880, 0, 0]], late);
            assert_eq!(half, expected(Unread::FewerOut { port: 1, frames: 100 }));
        }
    }

    /// 40 of the 1,000 were discarded on the way in, 30 more on the way out: that takes time to believe.
    #[test]
    fn losses_are_believed_when_counters_cannot_be_old() {
        let lossy = [[1_010, 60, 40, 0], [70, 980, 0, 30]];
        assert_eq!(of(lossy, false), Worth::Old);
        let counted = vec![[960, 0, 40, 0], [0, 900, 0, 30]];
        assert_eq!(of(lossy, true), Worth::Fresh(counted));
    }

    #[test]
    fn counters_that_fall_are_no_reading() {
        let fallen = of([[49, 60, 0, 0], [70, 980, 0, 0]], true);
        assert_eq!(fallen, Worth::None(Unread::WentBack { port: 0 }));
        let base = reading([[50, 60, 0, 0], [70, 80, 0, 0]], false);
        let then = own(SENT_THEN);
        let anew = Reading { up_time_ticks: 3, ..base.clone() };
        let restarted = worth((&base, &then), (&anew, &then), true);
        assert_eq!(restarted, Worth::None(Unread::Restarted));
    }

    #[test]
    fn counters_of_32_bits_wrap_once_and_fall_never() {
        let near_end = u64::from(u32::MAX) - 99;
        let base = reading([[near_end, 60, 0, 0], [70, 80, 0, 0]], true);
        let (then, now) = (own(SENT_THEN), own(SENT_NOW));
        let of = |received| reading([[received, 60, 0, 0], [70, 980, 0, 0]], true);
        let counted = vec![[1_000, 0, 0, 0], [0, 900, 0, 0]];
        assert_eq!(worth((&base, &then), (&of(900), &now), false), Worth::Fresh(counted));
        let fallen = worth((&base, &then), (&of(near_end - 1), &now), true);
        assert_eq!(fallen, Worth::None(Unread::WentBack { port: 0 }));
        let mut flood = now.clone();
        flood[0].sent += 1 << 32;
        let wrapped = worth((&base, &then), (&of(900), &flood), true);
        assert_eq!(wrapped, Worth::None(Unread::Wrapped { port: 0 }));
    }
}
