//! How long data packets are where nobody knows what the path carries (RFC 8899 has the idea).
//!
//! * The end that opens proposes ever shorter packets, and adds zeros to each OPEN until it is as long as the packets
//!   that it proposes. A path that does not carry them does not carry the OPEN either.
//! * Where the other end sends, its RESPONSE to such an OPEN is as long as the packets that it agrees to: the way back
//!   may carry less. If none arrives, the next OPEN asks for less, and nothing has left that would have to be cut anew.

use super::{Connection, Life, Role};
use crate::terms::Limits;
use units::Instant;
use wire::netblt::{Mode, Open};

impl Connection {
    /// Before OPEN leaves: the first OPENs propose data packets of these sizes, one after another, with buffers of as
    /// many packets, and are as long as they are. Where nothing answers, those after them propose what the limits have,
    /// and nothing is added to them.
    pub fn try_packet_sizes(&mut self, bytes: &[u16]) {
        if matches!(self.life, Life::Opening { attempts: 1, .. }) && self.due.open {
            self.tries = bytes.iter().map(|bytes| self.limits.with_packets_of(*bytes)).collect();
        }
    }

    /// When this end is about to say how long packets are to be: what the host knows of the path by then it can be told
    /// by [`bound_packet_size`](Connection::bound_packet_size).
    pub fn sizes_packets_at(&self) -> Option<Instant> {
        match self.life {
            Life::Opening { again, .. } if !self.tries.is_empty() => Some(again.at),
            Life::Open if self.due.response && self.equals_data() => Some(Instant::ZERO),
            _ => None,
        }
    }

    /// The host has heard that the path carries no more than so many bytes of data in a packet. It counts for what this
    /// end has yet to say.
    pub fn bound_packet_size(&mut self, now: Instant, bytes: u16) {
        if self.due.response && self.equals_data() {
            return self.shorten_packets(now, bytes);
        }
        let Life::Opening { attempts, .. } = self.life else { return };
        let said = attempts as usize - usize::from(self.due.open);
        let unsaid = self.tries.iter_mut().skip(said).chain([&mut self.limits]);
        for limits in unsaid.filter(|limits| limits.data_packet_size_bytes > bytes) {
            *limits = limits.with_packets_of(bytes);
        }
    }

    /// Data packets leave with at most so many bytes, unless the other end may know of longer ones already.
    pub(super) fn shorten_packets(&mut self, now: Instant, bytes: u16) {
        let Some(terms) = self.terms.as_mut().filter(|terms| terms.can_be_cut_to(bytes)) else {
            return;
        };
        if let (Role::Sending(sender), false) = (&mut self.role, self.proven) {
            terms.data_packet_size_bytes = bytes;
            sender.cut_packets(now, bytes);
        }
    }

    /// The OPEN that was answered was as long as data packets.
    pub(crate) fn answer_at_length(&mut self) {
        self.answers_at_length = true;
    }

    /// What the OPEN proposes that leaves now or left last; None for the limits.
    pub(super) fn tried(&self) -> Option<Limits> {
        let Life::Opening { attempts, .. } = self.life else { return None };
        self.tries.get(attempts as usize - 1).copied()
    }

    /// Whether RESPONSE is as long as data packets.
    fn equals_data(&self) -> bool {
        self.answers_at_length && matches!(self.role, Role::Sending(_))
    }

    /// Bytes of data in the packets that an OPEN, or a RESPONSE, is to be as long as.
    pub(super) fn data_to_equal(&self, opens: bool, answers: bool) -> Option<u16> {
        match (opens, answers) {
            (true, _) => self.tried().map(|limits| limits.data_packet_size_bytes),
            (_, true) if self.equals_data() => self.terms.map(|terms| terms.data_packet_size_bytes),
            _ => None,
        }
    }

    /// Whether an answer that is as long as data packets agrees to longer ones than were asked for since: who sends
    /// such answers takes the shorter ones, too, and an answer that says so is on its way. (Who does not know of this
    /// keeps to what it agreed to first.)
    pub(super) fn was_too_long(&self, answer: &Open<'_>) -> bool {
        let asked = self.tried().unwrap_or(self.limits).data_packet_size_bytes;
        let reads = self.mode == Mode::Read && matches!(self.life, Life::Opening { .. });
        reads && answer.data_packet_size_bytes > asked
    }
}
