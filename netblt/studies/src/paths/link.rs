//! One direction of a path: a queue before a bottleneck, and what comes after it.

use super::chance::{Chance, Loss};
use super::codel::Codel;
use super::handover::{Handover, Handovers};
use super::policer::{Bucket, Policer};
use super::radio::{Radio, Turns};
use crate::rfc1030::Dice;
use units::{Duration, Instant};
use wire::ecn::Codepoint;

/// Some packets take longer than others.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Overtaking {
    /// Share of the packets.
    pub share: f64,
    /// By how much they are late.
    pub late: Duration,
}

/// From time to time nothing comes through, and then everything at once: a radio link, a router or a
/// host that does something else.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Stalls {
    /// From the start of one to the start of the next.
    pub every: Duration,
    /// How long each is.
    pub length: Duration,
}

impl Stalls {
    /// When what would arrive at `at` does.
    fn awaited(self, at: Instant) -> Instant {
        let since_ps = at.as_ps() % self.every.as_ps().max(1);
        let left_ps = self.length.as_ps().saturating_sub(since_ps);
        at + Duration::from_ps(left_ps)
    }
}

/// A direction of a path.
#[derive(Clone, PartialEq, Debug)]
pub struct LinkModel {
    /// Bits a second, counted from the IP header on.
    pub rate_bps: u64,
    /// Later rates, by the time from the start, ascending.
    pub changes: Vec<(Duration, u64)>,
    /// From the end of the queue to the receiver.
    pub delay: Duration,
    /// Before the queue.
    pub policer: Option<Policer>,
    /// What the queue holds, the packet that is leaving included; what does not fit is dropped.
    pub queue_bytes: u64,
    /// A packet that finds so many bytes in the queue, or more, is marked if it may be (RFC 3168). None: none is.
    pub mark_above_bytes: Option<u64>,
    /// The queue marks as CoDel does, which does not know L4S (RFC 8289). It is for paths on which all packets may be
    /// marked: it drops none.
    pub marks_as_codel: bool,
    /// A packet of L4S that waits for so long, or longer, is marked (RFC 9331). None: none is.
    pub mark_l4s_after: Option<Duration>,
    /// Behind the queue.
    pub loss: Loss,
    /// Behind the queue.
    pub overtaking: Option<Overtaking>,
    /// Behind the queue.
    pub stalls: Option<Stalls>,
    /// Behind the queue.
    pub turns: Option<Turns>,
    /// Of the link behind the queue.
    pub handovers: Option<Handovers>,
}

impl LinkModel {
    /// A link with a queue and a delay, and nothing else to say of it.
    pub fn plain(rate_bps: u64, delay: Duration, queue_bytes: u64) -> LinkModel {
        let (changes, loss) = (Vec::new(), Loss::None);
        LinkModel {
            rate_bps,
            changes,
            delay,
            policer: None,
            queue_bytes,
            mark_above_bytes: None,
            marks_as_codel: false,
            mark_l4s_after: None,
            loss,
            overtaking: None,
            stalls: None,
            turns: None,
            handovers: None,
        }
    }
    /// The rate in force at a time since the start.
    pub fn rate_at(&self, since_start: Duration) -> u64 {
        let begun = |(at, _): &&(Duration, u64)| *at <= since_start;
        self.changes.iter().take_while(begun).last().map_or(self.rate_bps, |(_, rate)| *rate)
    }
}

/// What becomes of a packet.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Fate {
    /// The queue was full, or the policer had no token left.
    Dropped,
    /// It waited so long, and is at the receiver at `at` unless it was lost by chance. A packet
    /// that is `late` was overtaken.
    Carried {
        /// Before its first bit left the queue.
        waited: Duration,
        /// At the receiver.
        at: Option<Instant>,
        /// Not in the order of the others.
        late: bool,
        /// It found a queue for which packets are marked.
        marked: bool,
        /// It waited so long that packets of L4S are marked.
        marked_l4s: bool,
    },
}

impl Fate {
    /// Whether a packet with this codepoint is marked on its way.
    pub fn marks(self, codepoint: Codepoint) -> bool {
        let Fate::Carried { marked, marked_l4s, .. } = self else { return false };
        (marked && codepoint.may_be_marked()) || (marked_l4s && codepoint == Codepoint::Scalable)
    }
}

/// A [`LinkModel`] at work.
#[derive(Clone, Debug)]
pub struct Link {
    model: LinkModel,
    chance: Chance,
    free_at: Instant,
    rate_bps: u64,
    /// Of `model.changes`, those that are in force.
    changed: usize,
    codel: Codel,
    bucket: Option<Bucket>,
    radio: Option<Radio>,
    handover: Option<Handover>,
    /// Nothing that keeps its place arrives before it.
    latest: Instant,
}

impl Link {
    /// Nothing is on its way.
    pub fn new(model: LinkModel) -> Link {
        Link {
            chance: Chance::new(model.loss),
            free_at: Instant::ZERO,
            rate_bps: model.rate_bps,
            changed: 0,
            codel: Codel::default(),
            bucket: model.policer.map(Bucket::new),
            radio: model.turns.map(Radio::new),
            handover: model.handovers.map(Handover::new),
            latest: Instant::ZERO,
            model,
        }
    }

    /// A packet comes to the queue. Packets come in the order of time.
    pub fn carry(&mut self, now: Instant, bytes: usize, dice: &mut Dice) -> Fate {
        if self.bucket.as_mut().is_some_and(|bucket| !bucket.passes(now, bytes)) {
            return Fate::Dropped;
        }
        let free_at = now.max(self.free_at);
        let start = self.handover.as_ref().map_or(free_at, |handover| handover.starts(free_at));
        let waited = start.since(now);
        let served = self.handover.as_ref().map_or(waited, |model| model.served(now, start));
        let bits = 8 * bytes as u64;
        let queued_bits =
            u128::from(served.as_ps()) * u128::from(self.rate_bps) / 1_000_000_000_000;
        if queued_bits + u128::from(bits) > u128::from(8 * self.model.queue_bytes)
            && served > Duration::ZERO
        {
            return Fate::Dropped;
        }
        let above = |least: u64| queued_bits >= u128::from(least) * 8;
        // At the head of the queue, as CoDel has it, the time is `start`.
        let marked = self.model.mark_above_bytes.is_some_and(above)
            || (self.model.marks_as_codel && self.codel.marks(start, waited));
        let marked_l4s = self.model.mark_l4s_after.is_some_and(|least| waited >= least);
        let done = self.finish(start, bits);
        self.free_at = self.handover.as_ref().map_or(done, |handover| handover.leaves(start, done));
        let late = self.model.overtaking.filter(|late| dice.unit() < late.share);
        let due = self.due(late.map(|late| late.late), dice);
        let at = due.filter(|_| !self.chance.loses(dice));
        Fate::Carried { waited, at, late: late.is_some(), marked, marked_l4s }
    }

    /// When what has just left the queue arrives; none if an outage loses it. What is `late` is on its own, everything
    /// else keeps its order.
    fn due(&mut self, late: Option<Duration>, dice: &mut Dice) -> Option<Instant> {
        let passage = self.handover.as_mut().map(|handover| handover.passes(self.free_at, dice));
        let extra = passage.unwrap_or(Some(Duration::ZERO))?;
        let due = self.free_at + self.model.delay + extra + late.unwrap_or(Duration::ZERO);
        let due = self.model.stalls.map_or(due, |stalls| stalls.awaited(due));
        if late.is_some() {
            return Some(due);
        }
        let due = self.radio.as_mut().map_or(due, |radio| radio.released(due, dice));
        self.latest = self.latest.max(due);
        Some(self.latest)
    }

    /// When the last of so many bits has left, if the first does at `start`; rates change on the
    /// way. Starts never go back.
    fn finish(&mut self, start: Instant, bits: u64) -> Instant {
        const PS_PER_S: u128 = 1_000_000_000_000;
        let mut at = start;
        // In units of 1 / 10^12 bit, which a bit a second sends in a picosecond.
        let mut left = u128::from(bits) * PS_PER_S;
        loop {
            let next =
                self.model.changes.get(self.changed).map(|(at, rate)| (Instant::ZERO + *at, *rate));
            let rate = u128::from(self.rate_bps.max(1));
            let until =
                next.map_or(u128::MAX, |(next, _)| u128::from(next.since(at).as_ps()) * rate);
            match next {
                Some((change, rate_bps)) if until < left || change <= at => {
                    left -= if change <= at { 0 } else { until };
                    at = at.max(change);
                    self.rate_bps = rate_bps;
                    self.changed += 1;
                }
                _ => return at + Duration::from_ps((left / rate) as u64),
            }
        }
    }
}
