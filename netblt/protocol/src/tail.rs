//! Buffers from the highest on that data has come for. Their packets may be lost, or may not have left:
//! their client is slow, or the sender is, and nothing after them tells. RFC 998 section 5.2.2 asks for
//! them when their data timers run out. A slow sender would be asked for all it may send, again and again.
//!
//! Until more was asked for in vain than chance explains, the lowest two are asked for like any others.
//! From then on the lowest is, and of it one packet, once nothing new has come for as long as a packet
//! takes to be missed, then after twice that, and so on. If that packet comes and nothing else, it had been
//! lost: then all that is missing is asked for, of twice as many buffers each time.

use std::collections::BTreeSet;
use units::{Duration, Instant};

/// Doublings of the wait, and the longest wait that they come to.
const MOST_DOUBLINGS: u32 = 7;
const LONGEST: Duration = Duration::from_secs(4);
/// Doublings of the number of buffers asked for at once.
const MOST_REACH_DOUBLINGS: u32 = 10;
/// Buffers asked for without doubt, and what may be asked for in vain until there is one: so many buffers,
/// and some packets.
const TRUSTED: usize = 2;
const TRUSTED_PACKETS: u64 = 32;

/// What may not have left.
#[derive(Clone, Debug, Default)]
pub struct Tail {
    /// Buffers whose data timers have run out.
    pub overdue: BTreeSet<u32>,
    /// Something new came, or was asked for here.
    sign: Instant,
    /// Times that it was asked for since something came.
    vain: u32,
    /// Packets asked for the last time, and new ones that came since.
    asked: u64,
    came: u64,
    /// Times that just those came.
    lost: u32,
    /// Packets asked for at any time that did not come.
    doubt: u64,
    /// What the sender is asked for in vain tells it of the path: nothing is doubted.
    adaptive: bool,
}

/// What to ask for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Choice {
    /// The first packet that is missing of this buffer, if any.
    Packet(Option<u32>),
    /// All that is missing of these buffers.
    Buffers(Vec<u32>),
}

impl Tail {
    /// Something new came, which had been `asked` for or not.
    pub fn arrived(&mut self, now: Instant, asked: bool) {
        (self.sign, self.vain) = (now, 0);
        self.came += 1;
        if asked {
            self.doubt = self.doubt.saturating_sub(1);
        }
    }
    /// Packets are asked for.
    pub fn ask(&mut self, packets: u64) {
        self.doubt += packets;
        self.asked += packets;
    }
    /// The sender finds its rate by what it is asked for, and does not send what it need not.
    pub fn trust(&mut self) {
        self.adaptive = true;
    }
    pub fn is_trusted(&self) -> bool {
        self.adaptive
    }
    /// How many buffers, of so many packets, are asked for like any others.
    pub fn trusted(&self, buffer_packets: u64) -> usize {
        let doubted = self.doubt > TRUSTED as u64 * buffer_packets + TRUSTED_PACKETS;
        match self.adaptive {
            true => usize::MAX,
            false if doubted => 0,
            false => TRUSTED,
        }
    }

    /// When something is to be asked for: one packet is missed after `wait`.
    pub fn timeout(&self, wait: Duration) -> Option<Instant> {
        if self.overdue.is_empty() {
            return None;
        }
        let wait = match self.vain {
            0 => wait,
            vain => (wait * (1 << vain.min(MOST_DOUBLINGS))).min(LONGEST.max(wait)),
        };
        Some(self.sign + wait)
    }

    /// What to ask for now, among the buffers from the lowest on that are not whole.
    pub fn choose(&mut self, now: Instant, incomplete: impl Iterator<Item = u32>) -> Choice {
        let just_those = self.came <= self.asked && self.came >= self.asked.div_ceil(4) * 3;
        self.lost = match self.came {
            0 => self.lost,
            _ if just_those => (self.lost + 1).min(MOST_REACH_DOUBLINGS),
            _ => 0,
        };
        let chosen = incomplete.take(1 << self.lost).filter(|number| self.overdue.contains(number));
        let chosen: Vec<u32> = chosen.collect();
        self.sign = now;
        if !chosen.is_empty() {
            self.vain += 1;
            (self.asked, self.came) = (0, 0);
        }
        match self.lost {
            0 => Choice::Packet(chosen.first().copied()),
            _ => Choice::Buffers(chosen),
        }
    }

    /// Buffers below `highest` are no part of it any more.
    pub fn take_below(&mut self, highest: u32) -> BTreeSet<u32> {
        let rest = self.overdue.split_off(&highest);
        std::mem::replace(&mut self.overdue, rest)
    }
}
