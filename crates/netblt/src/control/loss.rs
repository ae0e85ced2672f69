//! Losses that say something: those beyond what the path loses anyway.

/// No path is believed to lose more by itself.
const MOST_OWN: f64 = 0.25;
/// Weight of a round in what the path loses by itself.
const WEIGHT: f64 = 0.1;
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
        Losses { now: 0, own: 0.0, overflowed: false, most_queue_s: f64::INFINITY, queues_s }
    }
}

impl Losses {
    pub fn lost(&mut self, packets: u64) {
        self.now += packets;
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

    /// A round is over in which `sent` packets left and the queue came to `queue_s`. Gives the share
    /// of them that an overflow took, if one did.
    pub fn end_round(&mut self, sent: u64, queue_s: f64) -> Option<f64> {
        let (lost, sent) = (std::mem::take(&mut self.now) as f64, sent.max(1) as f64);
        self.queues_s = [queue_s, self.queues_s[0], self.queues_s[1]];
        self.most_queue_s *= DARES;
        let expected = self.own * sent;
        let chance = DEVIATIONS * (expected + 1.0).sqrt() + EXCESS * sent;
        let seldom = lost > expected + chance && lost >= LEAST_LOST && !self.overflowed;
        let overflows = seldom || lost > MOST_OWN * sent + LEAST_LOST;
        self.overflowed = overflows;
        if !overflows {
            self.own += WEIGHT * ((lost / sent).min(MOST_OWN) - self.own);
            return None;
        }
        let full_s = self.queues_s.into_iter().fold(0.0, f64::max);
        self.most_queue_s = self.most_queue_s.min((OF_FULL * full_s).max(LEAST_QUEUE_S));
        Some((lost / sent - self.own).clamp(0.0, 0.5))
    }
}
