//! A transparent bridge's table (IEEE 802.1D clause 7.9): addresses are learned from the source of
//! frames, and forgotten.

use super::neighbours::TableLimits;
use trial::PortId;
use units::{Duration, Instant};
use wire::ethernet::MacAddr;

/// How a table finds its entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lookup {
    /// Every address has its place as long as there is room.
    Exact,
    /// So many buckets by a hash of the address, each with so many places: where an address's
    /// bucket is full it is not learned, however empty the rest is.
    Hashed { buckets: u64, places: u64 },
}

/// The table.
#[derive(Clone, Debug)]
pub(crate) struct LearningTable {
    limits: TableLimits,
    lookup: Lookup,
    buckets: Vec<Vec<Entry>>,
    entries: u64,
    /// What it takes to learn an address, and how many may wait for it.
    per_address: Duration,
    backlog: u64,
    /// When all that wait are learned.
    learned_by: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    mac: u64,
    port: PortId,
    seen_at: Instant,
    /// Not found before.
    known_from: Instant,
}

/// Buckets of a table that finds every address: only a matter of speed.
const EXACT_BUCKETS: usize = 4_096;

impl LearningTable {
    pub(crate) fn new(limits: TableLimits, lookup: Lookup) -> Self {
        let buckets = match lookup {
            Lookup::Exact => EXACT_BUCKETS,
            Lookup::Hashed { buckets, .. } => buckets.max(1) as usize,
        };
        LearningTable {
            limits,
            lookup,
            buckets: vec![vec![]; buckets],
            entries: 0,
            per_address: Duration::ZERO,
            backlog: 0,
            learned_by: Instant::ZERO,
        }
    }

    /// The same with a mechanism that takes so long for each new address, and at which so many may
    /// wait.
    pub(crate) fn learning_by(mut self, per_address: Duration, backlog: u64) -> Self {
        (self.per_address, self.backlog) = (per_address, backlog);
        self
    }

    /// Notes at which port an address is; group addresses are nobody's.
    #[inline]
    pub(crate) fn learn(&mut self, now: Instant, mac: MacAddr, port: PortId) {
        if mac.is_group() {
            return;
        }
        let (mac, index) = (mac.to_u64(), self.bucket_of(mac));
        let known = self.buckets[index].iter_mut().find(|entry| entry.mac == mac);
        match known {
            Some(entry) if !is_aged(self.limits.ageing, entry, now) => {
                (entry.port, entry.seen_at) = (port, now);
                return;
            }
            // Forgotten, and to be learned anew.
            Some(_) => self.forget_aged(now, index),
            None => {}
        }
        if self.has_no_room(index) {
            self.forget_aged(now, index);
        }
        if !self.has_no_room(index)
            && let Some(known_from) = self.will_know(now)
        {
            self.buckets[index].push(Entry { mac, port, seen_at: now, known_from });
            self.entries += 1;
        }
    }

    /// At which port an address is.
    #[inline]
    pub(crate) fn find(&self, now: Instant, mac: MacAddr) -> Option<PortId> {
        let number = mac.to_u64();
        let entry = self.buckets[self.bucket_of(mac)].iter().find(|entry| entry.mac == number)?;
        let known = entry.known_from <= now && !is_aged(self.limits.ageing, entry, now);
        known.then_some(entry.port)
    }

    pub(crate) fn clear(&mut self) {
        self.buckets.iter_mut().for_each(Vec::clear);
        self.entries = 0;
        self.learned_by = Instant::ZERO;
    }

    /// When a new address will be known; `None` where too many wait before it.
    #[inline]
    fn will_know(&mut self, now: Instant) -> Option<Instant> {
        let left = self.learned_by.since(now).as_ps();
        let waiting = left.div_ceil(self.per_address.as_ps().max(1));
        (waiting <= self.backlog).then(|| {
            self.learned_by = self.learned_by.max(now) + self.per_address;
            self.learned_by
        })
    }

    fn has_no_room(&self, bucket: usize) -> bool {
        let is_full = match self.lookup {
            Lookup::Exact => false,
            Lookup::Hashed { places, .. } => self.buckets[bucket].len() as u64 >= places,
        };
        is_full || self.entries >= self.limits.entries
    }

    /// Makes room: in the bucket, or where the whole table is full, anywhere.
    fn forget_aged(&mut self, now: Instant, bucket: usize) {
        let ageing = self.limits.ageing;
        let all = self.entries >= self.limits.entries;
        let range = if all { 0..self.buckets.len() } else { bucket..bucket + 1 };
        for bucket in &mut self.buckets[range] {
            let before = bucket.len();
            bucket.retain(|entry| !is_aged(ageing, entry, now));
            self.entries -= (before - bucket.len()) as u64;
        }
    }

    /// A multiplicative hash, the same in every run.
    #[inline]
    fn bucket_of(&self, mac: MacAddr) -> usize {
        let hash = mac.to_u64().wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((u128::from(hash) * self.buckets.len() as u128) >> 64) as usize
    }
}

fn is_aged(ageing: Option<Duration>, entry: &Entry, now: Instant) -> bool {
    ageing.is_some_and(|ageing| now.since(entry.seen_at) >= ageing)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mac(number: u64) -> MacAddr {
        MacAddr::from_u64(0x0200_0000_0000 + number)
    }

    fn at_s(s: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(s)
    }

    fn known(table: &LearningTable, now: Instant, count: u64) -> usize {
        (0..count).filter(|number| table.find(now, mac(*number)).is_some()).count()
    }

    #[test]
    fn a_table_holds_exactly_its_capacity() {
        let limits = TableLimits { entries: 1_000, ageing: Some(Duration::from_secs(300)) };
        let mut table = LearningTable::new(limits, Lookup::Exact);
        (0..1_500).for_each(|number| table.learn(at_s(0), mac(number), PortId(3)));
        assert_eq!(known(&table, at_s(1), 1_500), 1_000);
        assert_eq!(known(&table, at_s(299), 1_500), 1_000);
        assert_eq!(known(&table, at_s(300), 1_500), 0, "all aged");
        table.learn(at_s(300), mac(1_400), PortId(2));
        assert_eq!(table.find(at_s(301), mac(1_400)), Some(PortId(2)), "there is room again");
    }

    /// 256 buckets of 4: 1,024 addresses at random do not all find a place.
    #[test]
    fn a_hash_loses_addresses_before_the_table_is_full() {
        let lookup = Lookup::Hashed { buckets: 256, places: 4 };
        let mut table = LearningTable::new(TableLimits::NONE, lookup);
        (0..1_024).for_each(|number| table.learn(at_s(0), mac(number * 7_919), PortId(0)));
        let found = (0..1_024).filter(|n| table.find(at_s(1), mac(n * 7_919)).is_some()).count();
        assert!((600..1_024).contains(&found), "{found}");
    }

    /// Ten microseconds an address: one every ten is learned, and from one every five each second,
    /// unless the others may wait.
    #[test]
    fn addresses_that_come_too_fast_are_not_learned() {
        let us = Duration::from_us;
        let learned = |spacing_us: u64, backlog| {
            let table = LearningTable::new(TableLimits::NONE, Lookup::Exact);
            let mut table = table.learning_by(us(10), backlog);
            for number in 0..100 {
                table.learn(Instant::ZERO + us(number * spacing_us), mac(number), PortId(0));
            }
            known(&table, at_s(1), 100)
        };
        assert_eq!((learned(10, 0), learned(9, 0), learned(5, 0)), (100, 50, 50));
        assert_eq!((learned(5, 100), learned(1, 4)), (100, 14));
    }

    #[test]
    fn an_address_is_known_once_it_is_learned() {
        let table = LearningTable::new(TableLimits::NONE, Lookup::Exact);
        let mut table = table.learning_by(Duration::from_secs(2), 0);
        table.learn(at_s(1), mac(1), PortId(0));
        assert_eq!(
            (table.find(at_s(2), mac(1)), table.find(at_s(3), mac(1))),
            (None, Some(PortId(0)))
        );
    }

    #[test]
    fn a_host_that_moves_is_found_where_it_was_last_and_groups_are_not_learned() {
        let mut table = LearningTable::new(TableLimits::NONE, Lookup::Exact);
        table.learn(at_s(0), mac(1), PortId(0));
        table.learn(at_s(1), mac(1), PortId(5));
        assert_eq!(table.find(at_s(2), mac(1)), Some(PortId(5)));
        table.learn(at_s(0), MacAddr::BROADCAST, PortId(0));
        assert_eq!(table.find(at_s(2), MacAddr::BROADCAST), None);
    }
}
