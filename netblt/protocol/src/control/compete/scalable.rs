//! What a sender of L4S makes of marks (RFC 9331 section 4.3): its window shrinks by the share of marks.
//!
//! * **Share**: a moving average of the share of packets that came with a mark, round trip by round trip, and once in
//!   a round trip with marks the window loses half of it, as DCTCP has it (RFC 8257 section 3.3).
//! * **Growth** between marks is a packet in a round trip. Where round trips are shorter than 25 ms the rate grows as it does
//!   at 25 ms. A queue that marks above a step marks in spells, which all senders meet and answer alike, so that growth decides
//!   who gets more.
//! * **Classic queues**: a queue that does not know L4S marks late. Where marks come with a longer queue than those of
//!   L4S, a mark is answered as a loss is (RFC 3168), until they come with a short one.
//! * **Bursts** are of a quarter of a millisecond once a mark has come.

use crate::Burst;
use crate::pacer::Pace;
use units::Duration;

/// RFC 8257 section 4.2: g, as some implementations have it.
const GAIN: f64 = 1.0 / 16.0;
/// Round trips below this do not make a sender faster (RFC 9331 section 4.3 asks for that). TCP Prague takes this one
/// (draft-briscoe-iccrg-prague-congestion-control, of reduced RTT dependence).
const EVEN_BELOW_S: f64 = 0.025;
/// RFC 9331 section 4.3: about 250 us of a queue by bursts.
const BURST_S: f64 = 250e-6;
/// RFC 9332 appendix A.1 marks from 0.8 ms on and everything from 1.2 ms on; a step (`ce_threshold` of Linux's `fq_codel`)
/// is usual in the middle of it.
const L4S_QUEUE_S: f64 = 0.001;
/// RFC 8289 section 4.4: CoDel's target, the shortest of the queues that classic marking aims at; PIE's is 15 ms (RFC 8033
/// appendix A).
const CLASSIC_QUEUE_S: f64 = 0.005;
/// So many round trips with marks and a long queue tell a classic queue, and as many with a short one that it is none. A
/// start that overshoots is at twice what the path holds, and halves its window in the first of them: the
/// queue is gone after two, or three where it was met on the way.
const ENOUGH: u32 = 5;

/// How the window is to shrink for a mark.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Answer {
    /// As after a loss.
    Classic,
    /// By this share of it.
    Share(f64),
}

/// What marks have told.
#[derive(Clone, Debug)]
pub struct Scalable {
    /// RFC 8257's alpha: 1 until a round trip with marks is over (section 3.3).
    share: f64,
    /// A packet came with a mark.
    is_marked: bool,
    /// Of the round trip under way: over when packet number `until` has arrived.
    until: u64,
    packets: f64,
    marked: f64,
    least_s: f64,
    /// Round trips with marks and a long queue, less those with a short one, from 0 to [`ENOUGH`].
    long: u32,
    is_classic: bool,
}

impl Default for Scalable {
    fn default() -> Self {
        Scalable {
            share: 1.0,
            is_marked: false,
            until: 0,
            packets: 0.0,
            marked: 0.0,
            least_s: f64::INFINITY,
            long: 0,
            is_classic: false,
        }
    }
}

/// Packets by which the window grows in a round trip R: the rate then grows by that over R^2 in a second.
pub fn growth(round_trip_s: f64) -> f64 {
    (round_trip_s / EVEN_BELOW_S).min(1.0).powi(2)
}

impl Scalable {
    /// A packet came with a mark. Before that nothing is other than without L4S.
    pub fn is_marked(&self) -> bool {
        self.is_marked
    }
    /// A round trip was measured.
    pub fn observe(&mut self, round_trip_s: f64) {
        self.least_s = self.least_s.min(round_trip_s);
    }

    /// So many packets more came, so many of them with a mark; those up to number `arrived` are known to have come, of
    /// `sent` that left. A round trip without a queue takes `empty_s`. Gives the answer to a mark now.
    pub fn hear(
        &mut self,
        (packets, marked): (u32, u32),
        (arrived, sent): (u64, u64),
        empty_s: f64,
    ) -> Answer {
        self.is_marked |= marked > 0;
        self.packets += f64::from(packets);
        self.marked += f64::from(marked);
        let answer = match self.is_classic {
            true => Answer::Classic,
            false => Answer::Share(self.share / 2.0),
        };
        if arrived >= self.until && self.is_marked {
            self.end_round(empty_s);
            self.until = sent + 1;
        }
        answer
    }

    fn end_round(&mut self, empty_s: f64) {
        // The geometric mean of the queues of both kinds.
        let long_s = empty_s + (L4S_QUEUE_S * CLASSIC_QUEUE_S).sqrt();
        if self.marked > 0.0 && self.least_s.is_finite() {
            self.long = match self.least_s > long_s {
                true => (self.long + 1).min(ENOUGH),
                false => self.long.saturating_sub(1),
            };
            self.is_classic = match self.is_classic {
                true => self.long > 0,
                false => self.long == ENOUGH,
            };
        }
        if self.packets > 0.0 {
            self.share += GAIN * (self.marked / self.packets - self.share);
        }
        (self.packets, self.marked, self.least_s) = (0.0, 0.0, f64::INFINITY);
    }

    /// The packets of a quarter of a millisecond at a time, once a mark has come, where these are no more in any of the
    /// receiver's intervals than it offered: a burst is smaller than offered, and the next one sooner.
    pub fn pace(&self, pps: f64, limit: Burst) -> Option<Pace> {
        // A rate that was computed is not exact.
        let size = (pps * BURST_S - 1e-6).ceil().max(1.0);
        let most = pps * limit.interval().as_secs_f64() + size;
        (self.is_marked && most <= f64::from(limit.size_packets)).then(|| Pace {
            size_packets: size as u16,
            interval: Duration::from_secs_f64(size / pps),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round trip of `packets`, of which `marked` came with a mark, with a queue of so long.
    fn round(scalable: &mut Scalable, packets: u32, marked: u32, queue_s: f64) -> Answer {
        let until = scalable.until.max(1);
        scalable.observe(0.020 + queue_s);
        scalable.hear((packets, marked), (until, until + 99), 0.020)
    }

    /// RFC 8257 section 3.3, from 1: (1 - g) alpha + g F.
    #[test]
    fn the_share_is_a_moving_average_by_round_trips() {
        let mut scalable = Scalable::default();
        assert_eq!(round(&mut scalable, 100, 100, 0.0), Answer::Share(0.5));
        assert_eq!(round(&mut scalable, 100, 20, 0.0), Answer::Share(0.5));
        let share = 15.0 / 16.0 + 0.2 / 16.0;
        assert_eq!(round(&mut scalable, 100, 0, 0.0), Answer::Share(share / 2.0));
        // The answer to a mark of the round trip under way is that of those before it.
        let before = scalable.share;
        assert_eq!(scalable.hear((50, 50), (3, 400), 0.020), Answer::Share(before / 2.0));
        assert_eq!(scalable.share, before);
    }

    #[test]
    fn without_a_mark_nothing_is_averaged_and_bursts_are_as_ever() {
        let mut scalable = Scalable::default();
        (0..9).for_each(|_| _ = round(&mut scalable, 100, 0, 0.0));
        let limit = Burst { size_packets: u16::MAX, interval_ms: 1 };
        assert!(scalable.share == 1.0 && scalable.pace(1e4, limit).is_none());
    }

    /// 10,000 packets a second are 2.5 in 250 us: 3 in 300 us. The receiver may be told of a millisecond at least, and
    /// with 3 more than the rate has in it no millisecond has more than 13.
    #[test]
    fn bursts_are_short_once_a_mark_has_come_and_within_the_offer() {
        let mut scalable = Scalable::default();
        round(&mut scalable, 100, 1, 0.0);
        let pace = |size_packets| scalable.pace(1e4, Burst { size_packets, interval_ms: 1 });
        let short = Pace { size_packets: 3, interval: Duration::from_us(300) };
        assert_eq!((pace(13), pace(12)), (Some(short), None));
    }

    #[test]
    fn marks_with_a_long_queue_are_losses_until_they_come_with_a_short_one() {
        let mut scalable = Scalable::default();
        let is_classic = |scalable: &mut Scalable, marked, queue_s| {
            round(scalable, 100, marked, queue_s) == Answer::Classic
        };
        // L4S has 1 ms, CoDel 5 ms: their mean is 2.2 ms.
        assert!((0..50).all(|_| !is_classic(&mut scalable, 5, 0.0021)));
        // A start that overshoots.
        assert!((0..4).all(|_| !is_classic(&mut scalable, 90, 0.020)));
        assert!((0..9).all(|_| !is_classic(&mut scalable, 5, 0.001)));
        // Round trips without a mark say nothing.
        for _ in 0..ENOUGH {
            assert!((0..20).all(|_| !is_classic(&mut scalable, 0, 0.001)));
            assert!(!is_classic(&mut scalable, 1, 0.006));
        }
        assert!(is_classic(&mut scalable, 1, 0.006));
        assert!((0..ENOUGH).all(|_| is_classic(&mut scalable, 1, 0.001)));
        assert!(!is_classic(&mut scalable, 1, 0.001));
    }

    #[test]
    fn short_round_trips_do_not_make_it_faster() {
        // The rate is W / R, and W grows so often.
        let rise_pps = |round_trip_s: f64| growth(round_trip_s) / round_trip_s / round_trip_s;
        assert!((rise_pps(0.001) / rise_pps(0.025) - 1.0).abs() < 1e-9);
        assert!((rise_pps(0.050) / rise_pps(0.025) - 0.25).abs() < 1e-9);
    }
}
