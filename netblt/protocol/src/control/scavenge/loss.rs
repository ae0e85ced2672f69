//! Losses that say something: those beyond what the path loses anyway.

/// No path is believed to lose more by itself.
const MOST_OWN: f64 = 0.25;
/// Weight of a round in what the path loses by itself.
const WEIGHT: f64 = 0.1;
const CALM_WEIGHT: f64 = 0.5;
/// A queue overflowed if so many more packets than that are lost, as a share of those sent,
const EXCESS: f64 = 0.03;
/// beside what chance explains: so many standard deviations,
const DEVIATIONS: f64 = 4.0;
/// and so many in all.
const LEAST_LOST: f64 = 8.0;
/// Of a queue that overflowed, what is aimed at afterwards.
const OF_FULL: f64 = 0.5;
/// Shortest queue aimed at.
const LEAST_QUEUE_S: f64 = 0.0003;
/// That much more of it is dared in every round.
const DARES: f64 = 1.01;

/// What is lost, round by round.
#[derive(Clone, Debug)]
pub struct Losses {
    now: u64,
    /// Packets that left in the round before.
    sent_before: f64,
    /// The fastest rate at which those left.
    left_pps: f64,
    /// Share that the path loses by itself.
    own: f64,
    /// The last round was one of overflow: what is lost now in spite of a lower rate is the path's
    /// own.
    overflowed: bool,
    most_queue_s: f64,
    /// Of the last rounds: losses are heard of late.
    queues_s: [f64; 3],
}

impl Default for Losses {
    fn default() -> Self {
        let queues_s = [0.0; 3];
        Losses {
            now: 0,
            sent_before: 0.0,
            left_pps: 0.0,
            own: 0.0,
            overflowed: false,
            most_queue_s: f64::INFINITY,
            queues_s,
        }
    }
}

impl Losses {
    /// So many packets were lost, which had left at a rate of `left_pps`.
    pub fn lost(&mut self, packets: u64, left_pps: f64) {
        self.now += packets;
        self.left_pps = self.left_pps.max(left_pps);
    }
    /// What was lost so far says nothing: of the path only that it is there was known.
    pub fn forget(&mut self) {
        (self.now, self.left_pps) = (0, 0.0);
    }
    /// Whether any were lost in this round.
    pub fn any(&self) -> bool {
        self.now > 0
    }
    /// The share that the path loses by itself.
    pub fn own(&self) -> f64 {
        self.own
    }
    /// The longest queue that the path is known to hold.
    pub fn most_queue_s(&self) -> f64 {
        self.most_queue_s
    }

    /// A round is over in which `sent` packets left and the queue came to `queue_s`. Tells of
    /// an overflow, if there was one.
    ///
    /// In a round that was `calm` the rate was far below what the path can do, so that what was lost
    /// is the path's own.
    pub fn end_round(&mut self, sent: u64, queue_s: f64, calm: bool) -> Option<Overflow> {
        let left_pps = std::mem::take(&mut self.left_pps);
        let (lost, sent) = (std::mem::take(&mut self.now) as f64, sent.max(1) as f64);
        let sent_before = std::mem::replace(&mut self.sent_before, sent);
        if calm {
            // The rate grows fast: what is heard now left in the round before.
            let share = (lost / sent_before.max(1.0)).min(MOST_OWN);
            self.own += CALM_WEIGHT * (share - self.own);
            return None;
        }
        self.queues_s = [queue_s, self.queues_s[0], self.queues_s[1]];
        self.most_queue_s *= DARES;
        let expected = self.own * sent;
        let chance = DEVIATIONS * (expected + 1.0).sqrt() + EXCESS * sent;
        let usual = self.overflowed || lost <= expected + chance;
        let seldom = lost >= LEAST_LOST && !usual;
        let overflows = seldom || lost > MOST_OWN * sent + LEAST_LOST;
        self.overflowed = overflows;
        if !overflows {
            self.own += WEIGHT * ((lost / sent).min(MOST_OWN) - self.own);
            return None;
        }
        let full_s = self.queues_s.into_iter().fold(0.0, f64::max);
        self.most_queue_s = self.most_queue_s.min((OF_FULL * full_s).max(LEAST_QUEUE_S));
        Some(Overflow { share: (lost / sent - self.own).clamp(0.0, 0.5), left_pps })
    }
}

/// A queue that overflowed.
#[derive(Clone, Copy, Debug)]
pub struct Overflow {
    /// What it took of all packets, beyond what the path loses by itself.
    pub share: f64,
    /// The fastest rate at which those left that were lost.
    pub left_pps: f64,
}

impl Overflow {
    /// The rate that would not have been too high. Losses are heard of late: who has stepped back to
    /// it before knows nothing new.
    pub fn bearable_pps(&self) -> f64 {
        self.left_pps * (1.0 - self.share)
    }
}
