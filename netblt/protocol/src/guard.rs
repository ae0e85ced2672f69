//! What an end that was opened may send before the other has shown that it hears: three times the bytes
//! that came. Anybody can write a stranger's address into an OPEN, and into all that RFC 998 has a
//! receiver say after it: GO and OK repeat nothing that only the stranger could know.
//!
//! RESEND does. Until the path is proved, of each buffer one data packet leaves, drawn at random, and
//! the others are withheld as if lost. A receiver asks for those and not for that one. Who does not hear
//! has to guess. Half of a stake is set on each such message, at fair odds: a right one multiplies it by
//! half the packets that it may have been, a wrong one halves it. By Ville's inequality no way of
//! guessing ever takes 1 to 2^20 but with a chance of 2^-20.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Bytes sent for each that came (RFC 9000 section 8.1 has the same).
const FACTOR: u64 = 3;
/// Binary logarithm of the stake at which the path counts as proved.
const PROOF_BITS: f64 = 20.0;
/// Kept for acknowledgements when data leaves: without them no receiver asks again.
const RESERVE_BYTES: u64 = 48;

/// What nobody else knows, drawn by whoever has a source of randomness.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Secret(pub [u64; 2]);

/// The account of one connection.
#[derive(Clone, Debug)]
pub struct Guard {
    secret: Secret,
    /// Which connection of its endpoint.
    number: u64,
    draws: u64,
    received_bytes: u64,
    sent_bytes: u64,
    stake_bits: f64,
    probes: BTreeMap<u32, Probe>,
    proven: bool,
}

/// A buffer of which single packets leave.
#[derive(Clone, Debug)]
struct Probe {
    packets: u32,
    /// The one that may leave.
    chosen: u16,
    /// Of how many it was drawn.
    odds: f64,
    /// It has.
    out: bool,
    /// Those that the receiver said to have.
    known: BTreeSet<u16>,
}

impl Guard {
    /// Of the connection `number`, whose OPEN had so many bytes.
    pub fn new(secret: Secret, number: u64, open_bytes: u64) -> Guard {
        Guard {
            secret,
            number,
            draws: 0,
            received_bytes: open_bytes,
            sent_bytes: 0,
            stake_bits: 0.0,
            probes: BTreeMap::new(),
            proven: false,
        }
    }
    /// Whether the other end has shown that it hears.
    pub fn is_proven(&self) -> bool {
        self.proven
    }
    /// Bytes came.
    pub fn received(&mut self, bytes: usize) {
        self.received_bytes += bytes as u64;
    }
    /// Bytes that may leave now.
    pub fn room(&self) -> u64 {
        match self.proven {
            true => u64::MAX,
            false => (FACTOR * self.received_bytes).saturating_sub(self.sent_bytes),
        }
    }
    /// Whether a packet may leave; then it counts as sent.
    pub fn lets(&mut self, bytes: usize) -> bool {
        let free = bytes as u64 <= self.room();
        if free {
            self.sent_bytes += bytes as u64;
        }
        free
    }
    /// The same for one data packet of a buffer of `packets`. Of the `last` buffer its last packet leaves
    /// first: before, a receiver cannot tell what else there is to ask for.
    pub fn lets_data(
        &mut self,
        bytes: usize,
        (buffer, packet): (u32, u16),
        packets: u32,
        last: bool,
    ) -> bool {
        if self.proven {
            return true;
        }
        if !self.probes.contains_key(&buffer) {
            let mut probe = self.probe(packets, BTreeSet::new());
            if last {
                probe.chosen = end(packets);
            }
            self.probes.insert(buffer, probe);
        }
        let room = self.room();
        let Some(probe) = self.probes.get_mut(&buffer) else { return false };
        if probe.chosen != packet || bytes as u64 + RESERVE_BYTES > room {
            return false;
        }
        probe.out = true;
        if last && packets > 1 && packet == end(packets) && probe.known.is_empty() {
            let next = self.probe(packets, BTreeSet::from([packet]));
            self.probes.insert(buffer, next);
        }
        self.lets(bytes)
    }
    fn probe(&mut self, packets: u32, known: BTreeSet<u16>) -> Probe {
        let (hidden, highest) = hidden(packets, |packet| known.contains(&packet));
        let at = self.draw(hidden.len() as u32) as usize;
        let chosen = hidden.get(at).copied().or(highest).unwrap_or(0);
        Probe { packets, chosen, odds: hidden.len().max(1) as f64, out: false, known }
    }

    /// A receiver asks again for packets of a buffer.
    pub fn asked(&mut self, buffer: u32, missing: impl Iterator<Item = u16>) {
        let Some(probe) = self.probes.get(&buffer).filter(|probe| probe.out) else { return };
        let missing: BTreeSet<u16> = missing.collect();
        let (chosen, known, packets) = (probe.chosen, &probe.known, probe.packets);
        let Some(top) = missing.last().map(|top| u32::from(*top)) else { return };
        // Who knows only that a buffer is the last one asks for nothing beyond what must exist.
        let claimed: Vec<u16> = (0..packets.min(top + 1))
            .map(|packet| packet as u16)
            .filter(|packet| !missing.contains(packet) && !known.contains(packet))
            .collect();
        if claimed.is_empty() {
            // Lost, or asked for before it came.
            return;
        }
        // Of two nothing is won.
        let bits = (probe.odds.log2() - 1.0).max(0.0);
        self.stake_bits += if claimed == [chosen] { bits } else { -1.0 };
        // One that is asked for now, or it would not be sent again.
        let out =
            |packet| packet == chosen || known.contains(&packet) || !missing.contains(&packet);
        let (hidden, highest) = hidden(packets, out);
        let odds = hidden.len() as f64;
        let next = (!hidden.is_empty()).then(|| hidden[self.draw(hidden.len() as u32) as usize]);
        let next = next.or(highest);
        if let Some(probe) = self.probes.get_mut(&buffer) {
            probe.known.insert(chosen);
            probe.out = next.is_none();
            probe.chosen = next.unwrap_or(chosen);
            probe.odds = odds.max(1.0);
        }
        if self.stake_bits >= PROOF_BITS {
            self.proven = true;
            self.probes.clear();
        }
    }
    /// Whether all of a buffer has left: nothing else can be OK.
    pub fn has_left(&self, buffer: u32) -> bool {
        let whole = |probe: &Probe| {
            probe.known.len() as u32 + u32::from(probe.out && !probe.known.contains(&probe.chosen))
                == probe.packets
        };
        self.proven || self.probes.get(&buffer).is_some_and(whole)
    }
    /// A buffer is OK.
    pub fn forget(&mut self, buffer: u32) {
        self.probes.remove(&buffer);
    }

    /// A number below `end`, which nobody foresees: SipHash of the secret and of a count.
    fn draw(&mut self, end: u32) -> u32 {
        self.draws += 1;
        let mut hasher = DefaultHasher::new();
        (self.secret.0, self.number, self.draws).hash(&mut hasher);
        (hasher.finish() % u64::from(end.max(1))) as u32
    }
}

/// The last packet of a buffer of so many.
fn end(packets: u32) -> u16 {
    packets.saturating_sub(1) as u16
}
/// The packets of a buffer that are not `out`, and the highest of them apart: while it is missing, a
/// list of what is tells of all below.
fn hidden(packets: u32, out: impl Fn(u16) -> bool) -> (Vec<u16>, Option<u16>) {
    let all = (0..packets).map(|packet| packet as u16);
    let mut all: Vec<u16> = all.filter(|packet| !out(*packet)).collect();
    let highest = all.pop();
    (all, highest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(number: u64) -> Guard {
        let mut guard = Guard::new(Secret([7, 9]), number, 1_000_000);
        guard.lets(100);
        guard
    }
    /// All packets of a buffer try to leave; gives those that do.
    fn leaves(guard: &mut Guard, buffer: u32, packets: u32) -> Vec<u16> {
        (0..packets as u16)
            .filter(|packet| guard.lets_data(1400, (buffer, *packet), packets, false))
            .collect()
    }

    #[test]
    fn who_hears_proves_it_in_a_few_messages() {
        let mut guard = guard(1);
        let mut here = BTreeSet::new();
        let mut asked = 0;
        while !guard.is_proven() {
            here.extend(leaves(&mut guard, 1, 64));
            guard.asked(1, (0..64).filter(|packet| !here.contains(packet)));
            asked += 1;
            assert_eq!(here.len(), asked, "one packet each time");
        }
        assert_eq!(asked, 5, "20 bits, five less one each");
    }

    #[test]
    fn who_hears_is_never_stuck_whatever_is_drawn() {
        for (number, packets) in (0..300).flat_map(|n| [(n, 1), (n, 2), (n, 9), (n, 40)]) {
            for last in [false, true] {
                let mut guard = guard(number);
                let mut here = BTreeSet::new();
                for _ in 0..packets {
                    let here_before = here.len();
                    for packet in 0..packets as u16 {
                        let place = (1, packet);
                        if !here.contains(&packet) && guard.lets_data(100, place, packets, last) {
                            here.insert(packet);
                        }
                    }
                    assert!(here.len() > here_before, "{number} {packets} {last}");
                    if here.len() == packets as usize {
                        break;
                    }
                    guard.asked(1, (0..packets as u16).filter(|packet| !here.contains(packet)));
                }
                assert!(guard.has_left(1), "{number} {packets} {last}: {here:?}");
            }
        }
    }

    #[test]
    fn who_guesses_proves_nothing() {
        let proved = (0..2000).filter(|number| {
            let mut guard = guard(*number);
            for round in 0..400u32 {
                let buffer = round % 40;
                leaves(&mut guard, buffer, 10);
                let guess = (round / 40 * 7 + buffer * 3) as u16 % 10;
                guard.asked(buffer, (0..10).filter(|packet| *packet != guess));
                // Or of several at once, or of the first few only.
                guard.asked(buffer, (0..10).filter(|packet| *packet / 2 != guess / 2));
                guard.asked(buffer, (0..guess + 2).filter(|packet| *packet != guess));
            }
            guard.is_proven()
        });
        assert_eq!(proved.count(), 0);
    }

    #[test]
    fn three_times_what_came_leaves_and_no_more() {
        let mut guard = Guard::new(Secret([1, 2]), 1, 44);
        assert!(guard.lets(100) && !guard.lets(33) && guard.lets(32) && !guard.lets(1));
        guard.received(12);
        assert!(guard.lets(36) && !guard.lets(1));
    }
}
