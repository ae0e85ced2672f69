//! Many transfers on one path. Each has few packets in the queue and few samples, and what one does
//! hardly moves what all of them see. So all grow slowly, the slow ones faster, and all step back
//! by a share when the queue gets too long: they see it at the same time and step together, and
//! since the slow ones grow by a larger share in between, all come to the same rate (as Chiu and
//! Jain showed in 1989 of additive increase and multiplicative decrease). Who takes the path without
//! its queue for longer than it is steps some milliseconds later, and no more than that.

/// Of the path's rate, what a transfer has that shares it with several.
const SMALL_SHARE: f64 = 0.4;
/// Rounds whose largest rate counts for that: who was cut back once is not small.
const REMEMBERED_ROUNDS: usize = 6;
/// On longer paths all of this would come too late.
pub const LONGEST_BASE_S: f64 = 0.15;
/// Growth `g` of a transfer with the share `s` of the path in a second: `g = GROWTH_PER_S / sqrt(s)` of its own rate.
/// In packets this is `sqrt(s)`, so that the queue of many small transfers grows slowly; as a share of its rate a
/// small transfer grows faster, so that shares become equal.
const GROWTH_PER_S: f64 = 0.12;
/// What growth adds to the queue before it is seen, at the most.
const UNSEEN_S: f64 = 0.005;
/// No growth for a longer time without news, and no larger one at once.
const LONGEST_GROWTH_S: f64 = 0.2;
const MOST_GROWTH: f64 = 0.25;
/// After so many rounds without any queue growth doubles, and again after two more each.
const CALM_ROUNDS: u32 = 25;
const MOST_DOUBLINGS: u32 = 3;
/// A step is the queue over this,
const STEP_S: f64 = 0.06;
/// but not larger than that.
const MOST_STEP: f64 = 0.3;
/// From step to step, in round trips with a buffer each.
const APART: f64 = 2.0;
const MOST_APART_S: f64 = 0.5;
/// A shorter queue is none.
const NO_QUEUE_S: f64 = 0.001;

/// What is remembered of growing and stepping back.
#[derive(Clone, Debug, Default)]
pub struct Sharing {
    /// Largest rates of the latest rounds.
    rates_pps: [f64; REMEMBERED_ROUNDS],
    rounds: usize,
    calm_rounds: u32,
    grown_s: f64,
    stepped_s: f64,
}

/// What a sample says.
#[derive(Clone, Copy, Debug)]
pub struct Sight {
    pub left_s: f64,
    pub back_s: f64,
    pub queue_s: f64,
    /// From which the queue is too long.
    pub bound_s: f64,
    /// The shortest round trip.
    pub base_s: f64,
    /// From buffer to buffer.
    pub buffer_s: f64,
    /// Of the path's rate.
    pub share: f64,
}

impl Sharing {
    /// A round is over in which this transfer had so many packets a second, with or without a queue.
    pub fn end_round(&mut self, pps: f64, queued: bool) {
        self.rounds += 1;
        self.rates_pps[self.rounds % REMEMBERED_ROUNDS] = pps;
        self.calm_rounds = if queued { 0 } else { self.calm_rounds + 1 };
    }
    /// Whether others have most of a path of `most_pps`, or that is unknown.
    pub fn is_small(&self, now_pps: f64, most_pps: Option<f64>, base_s: f64) -> bool {
        let recent = self.rates_pps.iter().copied().fold(now_pps, f64::max);
        base_s <= LONGEST_BASE_S && most_pps.is_none_or(|most| recent < SMALL_SHARE * most)
    }
    /// The rate for which the bound of the queue is reckoned: that of the smallest who is not small.
    pub fn bounding_pps(most_pps: f64) -> f64 {
        most_pps / 4.0
    }

    /// By what the rate is to be multiplied, and whether there is a queue.
    pub fn factor(&mut self, sight: Sight) -> (f64, bool) {
        let Sight { left_s, back_s, queue_s, bound_s, base_s, buffer_s, share } = sight;
        let since_s = (back_s - self.grown_s).clamp(0.0, LONGEST_GROWTH_S);
        self.grown_s = back_s;
        // What left before the last step tells nothing of it.
        let fresh = left_s > self.stepped_s;
        if queue_s > bound_s {
            let apart_s = APART * (back_s - left_s + buffer_s).min(MOST_APART_S);
            if !fresh || back_s <= self.stepped_s + apart_s {
                return (1.0, true);
            }
            self.stepped_s = back_s;
            return (1.0 - (queue_s / STEP_S).min(MOST_STEP), true);
        }
        if !fresh {
            return (1.0, false);
        }
        let doublings = (self.calm_rounds.saturating_sub(CALM_ROUNDS) / 2).min(MOST_DOUBLINGS);
        let per_s = GROWTH_PER_S.min(UNSEEN_S / (base_s * base_s)) * f64::from(1u32 << doublings);
        let growth = per_s / share.sqrt() * since_s;
        (1.0 + growth.min(MOST_GROWTH), queue_s > NO_QUEUE_S)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Transfers that see the same queue, each at its own times, come to the same rate.
    #[test]
    fn those_who_step_together_become_equal() {
        const ROUND_TRIP_S: f64 = 0.020;
        let mut rates = [0.60, 0.20, 0.05, 0.03, 0.02, 0.01];
        let mut states: [Sharing; 6] = Default::default();
        let (mut queue_s, mut now_s) = (0.0f64, 0.0);
        for tick in 0..30_000 {
            now_s += 0.001;
            queue_s = (queue_s + 0.001 * (rates.iter().sum::<f64>() - 1.0)).max(0.0);
            let who = tick % 6;
            let sight = Sight {
                left_s: now_s - ROUND_TRIP_S - queue_s,
                back_s: now_s,
                queue_s,
                bound_s: 0.008,
                base_s: ROUND_TRIP_S,
                buffer_s: 0.006,
                share: rates[who],
            };
            rates[who] *= states[who].factor(sight).0;
        }
        let (least, most) = rates.iter().fold((1.0f64, 0.0f64), |(a, b), r| (a.min(*r), b.max(*r)));
        assert!(most / least < 1.3, "{rates:?}");
        assert!((0.85..1.15).contains(&rates.iter().sum::<f64>()), "{rates:?}");
    }

    #[test]
    fn one_queue_is_stepped_back_from_once() {
        let mut sharing = Sharing::default();
        let sight = |back_s: f64| Sight {
            left_s: back_s - 0.03,
            back_s,
            queue_s: 0.012,
            bound_s: 0.008,
            base_s: 0.02,
            buffer_s: 0.01,
            share: 0.1,
        };
        let factors = [1.0, 1.01, 1.02, 1.05, 1.09].map(|at| sharing.factor(sight(at)).0);
        assert_eq!(factors, [0.8, 1.0, 1.0, 1.0, 0.8]);
    }
}
