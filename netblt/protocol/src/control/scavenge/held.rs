//! What holds packets up and is no queue: a radio link until its turn, a host until it runs.
//!
//! Buffers that left one after the other and come together, faster than the bottleneck sends, were held up
//! somewhere: the first of them for as long as the last one left later. A queue does not do that, since a bottleneck
//! takes its time for each.

use super::feedback::Sample;

/// What came so many times closer than it left, and than the bottleneck sends, came together.
const CLOSER: f64 = 8.0;
/// The longest of a while counts in it and in the next,
const WHILE_S: f64 = 10.0;
/// where there were several: a link that changes holds packets up once.
const SEVERAL: u32 = 3;
/// A shorter one is the grain of bursts, and a longer one no more than that.
const LEAST_S: f64 = 0.001;
const MOST_S: f64 = 0.040;

/// For how long a path holds packets up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Held {
    /// When the first of those left that came together.
    first_left_s: Option<f64>,
    since_s: f64,
    now: Seen,
    before: Seen,
}

/// What was seen in a while: how often, and the longest.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    times: u32,
    longest_s: f64,
}

impl Held {
    /// A sample came after another one, of a path that sends so many packets a second as far as that is known.
    pub fn observe(&mut self, older: Sample, newer: Sample, ceiling_pps: Option<f64>) {
        if newer.back_s - self.since_s > WHILE_S {
            self.before = std::mem::take(&mut self.now);
            self.since_s = newer.back_s;
        }
        let (left_s, came_s) = (newer.left_s - older.left_s, newer.back_s - older.back_s);
        let packets = newer.packets.saturating_sub(older.packets) as f64;
        let takes_s = ceiling_pps.map_or(f64::INFINITY, |pps| packets / pps);
        if came_s * CLOSER >= left_s.min(takes_s) {
            self.first_left_s = None;
            return;
        }
        self.now.times += u32::from(self.first_left_s.is_none());
        let first_s = *self.first_left_s.get_or_insert(older.left_s);
        self.now.longest_s = self.now.longest_s.max(newer.left_s - first_s).min(MOST_S);
    }

    /// The longest of late, in seconds; 0 where nothing holds packets up.
    pub fn up_s(&self) -> f64 {
        let longest_s = self.now.longest_s.max(self.before.longest_s);
        let counts = self.now.times + self.before.times >= SEVERAL && longest_s > LEAST_S;
        if counts { longest_s } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Buffers of eight packets, by when each left and came, in milliseconds.
    fn held_ms(times: &[(f64, f64)], ceiling_pps: Option<f64>) -> f64 {
        let sample = |(index, (left_ms, back_ms)): (usize, &(f64, f64))| {
            let before = 8 * index as u64;
            let (left_s, back_s) = (left_ms / 1e3, back_ms / 1e3);
            Sample { left_s, before, packets: before + 8, back_s }
        };
        let samples: Vec<Sample> = times.iter().enumerate().map(sample).collect();
        let mut held = Held::default();
        samples.windows(2).for_each(|pair| held.observe(pair[0], pair[1], ceiling_pps));
        held.up_s() * 1e3
    }

    /// Four buffers 2 ms apart come together, and again 8 ms later.
    fn turns(count: u32) -> Vec<(f64, f64)> {
        let turn = |at: f64| [0.0, 2.0, 4.0, 6.0].map(|left| (at + left, at + 30.0 + left / 100.0));
        (0..count).flat_map(|k| turn(8.0 * f64::from(k))).collect()
    }

    #[test]
    fn what_comes_together_was_held_up_from_the_first_on() {
        for ceiling in [None, Some(8_000.0)] {
            let held = held_ms(&turns(5), ceiling);
            assert!((held - 6.0).abs() < 1e-9, "{held}");
            assert_eq!(held_ms(&turns(2), ceiling), 0.0, "twice is not often");
        }
    }

    /// 8,000 packets/s take a millisecond for a buffer: however slowly it was filled, so a queue drains, and what left at
    /// once comes.
    #[test]
    fn a_queue_that_drains_holds_nothing_up() {
        let drains = [(0.0, 30.0), (20.0, 41.0), (25.0, 42.0), (29.0, 43.0)];
        let train = [(0.0, 20.0), (0.0, 21.0), (0.0, 22.0), (0.0, 23.0)];
        for times in [drains, train] {
            assert_eq!(held_ms(&times, Some(8_000.0)), 0.0, "{times:?}");
        }
    }

    #[test]
    fn it_is_forgotten_after_a_while_and_another() {
        let long_ago = |later_ms: f64| {
            let apart = (1..40).map(|k| f64::from(k) * later_ms / 40.0);
            let late: Vec<(f64, f64)> = apart.map(|at| (40.0 + at, 70.0 + at)).collect();
            held_ms(&[turns(5), late].concat(), None)
        };
        assert!((long_ago(15_000.0) - 6.0).abs() < 1e-9);
        assert_eq!(long_ago(25_000.0), 0.0);
    }
}
