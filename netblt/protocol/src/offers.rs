//! What a receiver offers a sender that keeps whatever rate it is given, over a path that neither knows.
//! RFC 998 section 4 has both "adjust the transfer rate according to the performance observed from
//! transferring the previous buffer", and does not say how.
//!
//! The offer doubles as long as data comes as fast as it was offered. Where less comes than was offered,
//! the path or the sender does no more: the offer goes to a little less than that, so that a queue
//! drains. Where packets are missing it goes lower. After either it grows by a twentieth at a time.

use crate::Burst;
use units::{Duration, Instant};

/// Between two changes, beside a round trip: a change has to have come into force, and then to show.
const WINDOW: Duration = Duration::from_ms(250);
/// Packets that show something.
const LEAST_PACKETS: u64 = 32;
/// A path may lose so much by itself.
const BEARABLE_LOSS: f64 = 0.02;
const LOWERED_BY_LOSS: f64 = 0.85;
/// Of what was offered, what has to come.
const KEPT_UP: f64 = 0.75;
const LOWERED: f64 = 0.95;
const GROWTH: f64 = 1.05;
/// No slower offers: a packet in a second floods no path.
const SLOWEST_PPS: f64 = 1.0;
/// Packets of a burst, if the rate is not too fast for it.
const BURST_PACKETS: f64 = 8.0;

/// The offers of one receiver.
#[derive(Clone, Debug)]
pub struct Offers {
    most: Burst,
    offer: Burst,
    doubles: bool,
    /// What came since then counts; none before the change has come into force.
    since: Instant,
    packets: u64,
    missed: u64,
}

fn pps(burst: Burst) -> f64 {
    burst.packets_per_ms() * 1e3
}

impl Offers {
    /// Begins with what was agreed on.
    pub fn new(now: Instant, agreed: Burst, most: Burst) -> Offers {
        Offers { most, offer: agreed, doubles: true, since: now, packets: 0, missed: 0 }
    }
    /// None is faster than this from now on.
    pub fn bound(&mut self, most: Burst) {
        self.most = most;
        self.offer = self.burst_of(pps(self.offer));
    }
    /// A new data packet came.
    pub fn arrived(&mut self) {
        self.packets += 1;
    }
    /// So many were missed.
    pub fn missed(&mut self, packets: u64) {
        self.missed += packets;
    }

    /// The offer of the next OK.
    pub fn next(&mut self, now: Instant, round_trip: Duration) -> Burst {
        let span = now.since(self.since);
        if now <= self.since || span < WINDOW || self.packets + self.missed < LEAST_PACKETS {
            return self.offer;
        }
        let offered = pps(self.offer);
        let arrived = self.packets as f64 / span.as_secs_f64();
        let lost = self.missed as f64 / (self.packets + self.missed) as f64;
        let rate = if lost > BEARABLE_LOSS {
            self.doubles = false;
            LOWERED_BY_LOSS * arrived.min(offered)
        } else if arrived < KEPT_UP * offered {
            self.doubles = false;
            LOWERED * arrived
        } else if self.doubles {
            2.0 * offered
        } else {
            GROWTH * offered
        };
        self.offer = self.burst_of(rate);
        // What left at the old rate still comes for a round trip.
        self.since = now + round_trip;
        (self.packets, self.missed) = (0, 0);
        self.offer
    }

    /// The burst that comes nearest to a rate without exceeding it, or what may be at most.
    fn burst_of(&self, rate_pps: f64) -> Burst {
        let per_ms = rate_pps.clamp(SLOWEST_PPS, pps(self.most)) / 1e3;
        let longest = f64::from(u16::MAX);
        let interval =
            (BURST_PACKETS / per_ms).ceil().clamp(self.most.interval_ms.max(1).into(), longest);
        let size = (per_ms * interval).floor().clamp(1.0, self.most.size_packets.into());
        let interval = (size / per_ms - 1e-6).ceil().clamp(interval, longest);
        Burst { size_packets: size as u16, interval_ms: interval as u16 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: Burst = Burst { size_packets: u16::MAX, interval_ms: 1 };
    const ROUND_TRIP: Duration = Duration::from_ms(20);

    /// Offers over a path that carries `path_pps`, each in force after a round trip; gives the last ones.
    fn offers(path_pps: f64, sender_pps: f64, most: Burst) -> Vec<Burst> {
        let mut now = Instant::ZERO;
        let mut offers = Offers::new(now, Burst { size_packets: 32, interval_ms: 128 }, most);
        let (mut offer, mut came, mut queue) = (offers.offer, 0.0, 0.0);
        let mut all = vec![];
        for _ in 0..3000 {
            now += Duration::from_ms(10);
            let sent = pps(offer).min(sender_pps) / 100.0;
            let served = path_pps / 100.0;
            queue += sent;
            came += served.min(queue);
            queue -= served.min(queue);
            // The queue holds a tenth of a second.
            let dropped = (queue - path_pps / 10.0).max(0.0);
            queue -= dropped;
            offers.missed(dropped.ceil() as u64);
            while came >= 1.0 {
                offers.arrived();
                came -= 1.0;
            }
            offer = offers.next(now, ROUND_TRIP);
            all.push(offer);
        }
        all.split_off(1500)
    }

    #[test]
    fn offers_come_to_what_the_path_bears() {
        for path_pps in [50.0, 500.0, 3_000.0, 90_000.0] {
            let rates = offers(path_pps, f64::INFINITY, MOST).into_iter().map(pps);
            let mean = rates.clone().sum::<f64>() / 1500.0;
            assert!((0.75..1.1).contains(&(mean / path_pps)), "{path_pps}: {mean}");
            let most = rates.fold(0.0, f64::max);
            assert!(most < 1.4 * path_pps, "{path_pps}: {most}");
        }
    }

    #[test]
    fn a_slow_sender_is_not_offered_less_and_less_and_nobody_more_than_may_be() {
        let last = *offers(f64::INFINITY, 700.0, MOST).last().unwrap();
        assert!((600.0..1500.0).contains(&pps(last)), "{last:?}");
        let most = Burst { size_packets: 16, interval_ms: 10 };
        for offer in offers(f64::INFINITY, f64::INFINITY, most) {
            assert_eq!(offer.restricted_by(most), offer);
        }
    }
}
