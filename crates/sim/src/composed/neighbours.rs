//! A cache of who is where: ARP, neighbour discovery, AARP, DECnet adjacencies.

use std::collections::BTreeMap;
use trial::PortId;
use units::{Duration, Instant};
use wire::ethernet::MacAddr;

/// Bounds of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TableLimits {
    /// Entries at most.
    pub entries: u64,
    /// Without being refreshed for so long an entry is gone; `None` for never.
    pub ageing: Option<Duration>,
}

#[cfg(test)]
impl TableLimits {
    pub(crate) const NONE: TableLimits = TableLimits { entries: u64::MAX, ageing: None };
}

/// Neighbours by their address. When the table is full, new ones are not taken in before an old
/// one has aged away.
#[derive(Clone, Debug)]
pub(crate) struct Neighbours<A> {
    limits: TableLimits,
    known: BTreeMap<A, Neighbour>,
    /// When somebody was last asked for.
    asked: BTreeMap<A, Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Neighbour {
    port: PortId,
    mac: MacAddr,
    gone_at: Instant,
}

/// No more often is somebody asked for (RFC 1122 section 2.3.2.1).
const BETWEEN_QUESTIONS: Duration = Duration::from_secs(1);

impl<A: Copy + Ord> Neighbours<A> {
    pub(crate) fn new(limits: TableLimits) -> Self {
        Neighbours { limits, known: BTreeMap::new(), asked: BTreeMap::new() }
    }

    /// Notes where somebody is.
    pub(crate) fn learn(&mut self, now: Instant, address: A, port: PortId, mac: MacAddr) {
        let gone_at = self.limits.ageing.map_or(Instant::FAR_FUTURE, |age| now + age);
        self.learn_until(now, gone_at, address, port, mac);
    }

    /// The same with a time of its own.
    pub(crate) fn learn_until(
        &mut self,
        now: Instant,
        gone_at: Instant,
        address: A,
        port: PortId,
        mac: MacAddr,
    ) {
        let is_full = self.known.len() as u64 >= self.limits.entries;
        if is_full && !self.known.contains_key(&address) {
            self.known.retain(|_, neighbour| neighbour.gone_at > now);
            if self.known.len() as u64 >= self.limits.entries {
                return;
            }
        }
        self.asked.remove(&address);
        self.known.insert(address, Neighbour { port, mac, gone_at });
    }

    /// Where somebody is, as far as is known.
    #[inline]
    pub(crate) fn find(&self, now: Instant, address: A) -> Option<(PortId, MacAddr)> {
        let neighbour = self.known.get(&address).filter(|neighbour| neighbour.gone_at > now)?;
        Some((neighbour.port, neighbour.mac))
    }

    /// Whether it is time to ask for somebody (again).
    pub(crate) fn may_ask(&mut self, now: Instant, address: A) -> bool {
        let asked = self.asked.get(&address);
        let may = asked.is_none_or(|asked| now.since(*asked) >= BETWEEN_QUESTIONS);
        if may {
            self.asked.insert(address, now);
        }
        may
    }

    pub(crate) fn clear(&mut self) {
        self.known.clear();
        self.asked.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 9]);

    fn at_s(s: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(s)
    }

    #[test]
    fn entries_age_and_a_full_table_takes_nobody_in() {
        let limits = TableLimits { entries: 2, ageing: Some(Duration::from_secs(60)) };
        let mut table = Neighbours::new(limits);
        table.learn(at_s(0), 1, PortId(0), MAC);
        table.learn(at_s(30), 2, PortId(1), MAC);
        table.learn(at_s(30), 3, PortId(1), MAC);
        assert_eq!(table.find(at_s(59), 1), Some((PortId(0), MAC)));
        assert_eq!(table.find(at_s(59), 3), None, "the table was full");
        assert_eq!(table.find(at_s(60), 1), None, "aged");
        table.learn(at_s(60), 3, PortId(1), MAC);
        assert_eq!(table.find(at_s(61), 3), Some((PortId(1), MAC)));
    }

    #[test]
    fn nobody_is_asked_for_twice_in_a_second() {
        let mut table: Neighbours<u8> = Neighbours::new(TableLimits::NONE);
        assert!(table.may_ask(at_s(1), 7));
        assert!(!table.may_ask(at_s(1) + Duration::from_ms(999), 7));
        assert!(table.may_ask(at_s(2), 7));
    }
}
