//! Memory for the buffers of connections that others opened: how much each may take.
//!
//! Terms reserve memory before anything has come, so that greed costs nothing. Nobody gets more than a half of
//! what is free, and no owner holds more than a half of all.

use netblt::Limits;
use std::collections::BTreeMap;

/// For all of them.
const MEMORY_BYTES: u64 = 1 << 30;
/// For those of one owner.
const OWNER_BYTES: u64 = MEMORY_BYTES / 2;
/// Of either, when less than this part is free, it is scarce.
const SCARCE: u64 = 8;

/// Whose memory it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    /// All who have proved no path share one half: anybody can write any source into a packet.
    Unproven,
    /// Addresses that belong together.
    Source(u128),
}

/// What each connection holds.
#[derive(Debug)]
pub struct Ledger<Id> {
    held: BTreeMap<Id, (Owner, u64)>,
}

impl<Id: Copy + Ord> Ledger<Id> {
    /// Nobody holds anything.
    pub fn new() -> Self {
        Ledger { held: BTreeMap::new() }
    }
    /// A connection holds memory for so many buffers, until it is removed.
    pub fn enter(&mut self, id: Id, owner: Owner, buffer_bytes: u32, buffers: u16) {
        self.held.insert(id, (owner, memory_bytes(buffer_bytes, buffers.into())));
    }
    /// It holds none any more.
    pub fn remove(&mut self, id: Id) {
        self.held.remove(&id);
    }

    /// What a connection holds, if it is one of this owner; of anybody without one.
    pub fn held_bytes(&self, id: Id, of: Option<Owner>) -> u64 {
        let held = self.held.get(&id).filter(|(owner, _)| of.is_none_or(|of| of == *owner));
        held.map_or(0, |(_, bytes)| *bytes)
    }
    fn free(&self, of: Option<Owner>) -> u64 {
        let all = if of.is_some() { OWNER_BYTES } else { MEMORY_BYTES };
        let held = self.held.values().filter(|(owner, _)| of.is_none_or(|of| of == *owner));
        all.saturating_sub(held.map(|(_, bytes)| bytes).sum())
    }

    /// Where memory is scarce for one more connection of this owner: among all connections, or among its own.
    pub fn scarce(&self, owner: Owner) -> Option<Option<Owner>> {
        if self.free(None) < MEMORY_BYTES / SCARCE {
            return Some(None);
        }
        (self.free(Some(owner)) < OWNER_BYTES / SCARCE).then_some(Some(owner))
    }

    /// The same limits with as many buffers of the size asked for as one more connection of this owner may have. Nobody gets
    /// more than a half of the memory that is free, so that something is left for the next; None if that is
    /// not even one buffer.
    pub fn afford(&self, owner: Owner, limits: Limits, asked_buffer_bytes: u32) -> Option<Limits> {
        let free = self.free(None).min(self.free(Some(owner)));
        let buffer_bytes = asked_buffer_bytes.min(limits.buffer_size_bytes).max(1);
        let most = free / 2 / memory_bytes(buffer_bytes, 1);
        let max_outstanding_buffers =
            u16::try_from(most).unwrap_or(u16::MAX).min(limits.max_outstanding_buffers);
        (max_outstanding_buffers > 0).then_some(Limits { max_outstanding_buffers, ..limits })
    }
}

/// Buffers under way, and as many that are being read or written.
fn memory_bytes(buffer_size_bytes: u32, buffers: u64) -> u64 {
    2 * u64::from(buffer_size_bytes) * buffers
}

#[cfg(test)]
mod tests {
    use super::*;
    use netblt::Burst;

    const LIMITS: Limits = Limits {
        buffer_size_bytes: 128 << 10,
        data_packet_size_bytes: 1400,
        burst: Burst { size_packets: 1, interval_ms: 1 },
        max_outstanding_buffers: 2048,
        checksum_data: false,
        death_timer_s: 30,
    };

    /// One that asks for everything again and again; how often it gets something.
    fn greed(ledger: &mut Ledger<u32>, owner: Owner) -> u32 {
        let mut connections = 0;
        while let Some(limits) = ledger.afford(owner, LIMITS, u32::MAX) {
            let id = ledger.held.len() as u32;
            ledger.enter(id, owner, limits.buffer_size_bytes, limits.max_outstanding_buffers);
            connections += 1;
        }
        connections
    }
    fn taken(ledger: &Ledger<u32>, of: Option<Owner>) -> u64 {
        ledger.held.keys().map(|id| ledger.held_bytes(*id, of)).sum()
    }

    #[test]
    fn all_connections_together_keep_to_the_memory_there_is() {
        let mut ledger = Ledger::new();
        for source in 0..10 {
            let connections = greed(&mut ledger, Owner::Source(source));
            assert!(source > 0 || connections > 8, "the greedy leave something: {connections}");
        }
        assert!(taken(&ledger, None) <= 1 << 30);
        // Who asks for small buffers is not made to take fewer.
        let ledger = Ledger::<u32>::new();
        assert_eq!(ledger.afford(Owner::Unproven, LIMITS, 1000), Some(LIMITS));
    }

    #[test]
    fn no_source_and_no_crowd_of_forged_ones_holds_more_than_a_half() {
        for owner in [Owner::Unproven, Owner::Source(7)] {
            let mut ledger = Ledger::new();
            greed(&mut ledger, owner);
            assert!(taken(&ledger, Some(owner)) <= 1 << 29);
            assert_eq!(ledger.scarce(owner), Some(Some(owner)));
            // What netanvil's own client asks for by default: 2,048 buffers of 8 packets.
            let other = Owner::Source(8);
            assert_eq!(ledger.scarce(other), None);
            assert_eq!(ledger.afford(other, LIMITS, 8 * 1400), Some(LIMITS));
        }
    }
}
