//! A link that loses, repeats, damages, delays and reorders datagrams, in virtual time.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;
use units::{Duration, Instant};

/// Seeded random numbers.
pub struct Dice(Xoshiro256PlusPlus);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Dice(Xoshiro256PlusPlus::seed_from_u64(seed))
    }
    /// From 0 to `below` - 1.
    pub fn below(&mut self, below: u64) -> u64 {
        self.0.next_u64() % below.max(1)
    }
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }
    /// True so many times in a thousand.
    pub fn permille(&mut self, chance: u64) -> bool {
        self.below(1000) < chance
    }
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.0.fill_bytes(&mut bytes);
        bytes
    }
}

/// What a link does to datagrams, in each direction.
#[derive(Clone, Copy, Debug)]
pub struct Faults {
    pub loss_permille: u64,
    pub duplication_permille: u64,
    pub damage_permille: u64,
    pub delay: Duration,
    /// Each datagram is delayed by up to so much more.
    pub jitter: Duration,
    /// One in a hundred is delayed by up to so much more still.
    pub outlier: Duration,
    /// From then on nothing comes through.
    pub cut_at: Instant,
    /// Longer datagrams never come through, towards end 0 and towards end 1.
    pub carried_bytes: [usize; 2],
    /// Nothing arrives, and then everything at once.
    pub stalls: Nap,
}

/// Somebody gets no processor for a while, again and again: what comes waits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nap {
    /// From nap to nap; zero for none.
    pub every: Duration,
    pub length: Duration,
}

impl Nap {
    /// The earliest time from `now` on that is in no nap. The first comes after a while.
    pub fn awake(self, now: Instant) -> Instant {
        let (every, since) = (self.every.as_ps(), now.since(Instant::ZERO).as_ps());
        let began = since.checked_div(every).unwrap_or(0) * every;
        if began > 0 { now.max(Instant::from_ps(began) + self.length) } else { now }
    }
}

/// Datagrams under way to end 0 and end 1.
pub struct Link {
    faults: Faults,
    dice: Dice,
    under_way: BTreeMap<(Instant, u64), (usize, Vec<u8>)>,
    count: u64,
}

impl Link {
    pub fn new(faults: Faults, seed: u64) -> Self {
        Link { faults, dice: Dice::new(seed), under_way: BTreeMap::new(), count: 0 }
    }

    pub fn send(&mut self, now: Instant, to: usize, datagram: &[u8]) {
        let copies = 1 + usize::from(self.dice.permille(self.faults.duplication_permille));
        for _ in 0..copies {
            if datagram.len() > self.faults.carried_bytes[to] {
                continue;
            }
            if now >= self.faults.cut_at || self.dice.permille(self.faults.loss_permille) {
                continue;
            }
            let mut datagram = datagram.to_vec();
            if self.dice.permille(self.faults.damage_permille) {
                // Sixteen bits of ones' complement always find a single bit turned over.
                let bit = self.dice.below(8 * datagram.len() as u64) as usize;
                datagram[bit / 8] ^= 1 << (bit % 8);
            }
            let mut late = self.dice.below(self.faults.jitter.as_ps());
            if self.dice.permille(10) {
                late += self.dice.below(self.faults.outlier.as_ps());
            }
            let at = self.faults.stalls.awake(now + self.faults.delay + Duration::from_ps(late));
            self.count += 1;
            self.under_way.insert((at, self.count), (to, datagram));
        }
    }

    pub fn next_arrival(&self) -> Option<Instant> {
        self.under_way.keys().next().map(|(at, _)| *at)
    }
    pub fn arrival(&mut self, now: Instant) -> Option<(usize, Vec<u8>)> {
        let entry = self.under_way.first_entry()?;
        (entry.key().0 <= now).then(|| entry.remove())
    }
}
