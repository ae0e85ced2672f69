//! What a complete transfer came to.

use crate::error::{Error, shown};
use crate::follow::Followed;
use netblt::{Counters, Ending};
use netblt_io::{Ended, LatenessSummary};
use std::net::SocketAddr;
use std::time::Duration;

/// A transfer of which everything arrived.
#[derive(Clone, Debug)]
pub struct Outcome {
    ended: Ended,
    lateness: Option<LatenessSummary>,
}

impl Outcome {
    pub(crate) fn of(followed: Followed) -> Result<Outcome, Error> {
        match followed.ended.outcome.is_complete() {
            true => Ok(Outcome { ended: followed.ended, lateness: followed.lateness }),
            false => Err(followed.into_error()),
        }
    }

    /// With whom.
    pub fn peer(&self) -> SocketAddr {
        shown(self.ended.peer)
    }
    /// Whether this end sent the data.
    pub fn sends(&self) -> bool {
        self.ended.sends
    }
    /// Bytes of the file that this transfer moved; those that were there of an earlier attempt are not counted.
    pub fn payload_bytes(&self) -> u64 {
        self.ended.payload_bytes
    }
    /// BLAKE3 of the whole file, in hexadecimal digits: the end that received it has verified it. None where
    /// nobody could, with a peer that knows RFC 998 alone.
    pub fn digest(&self) -> Option<&str> {
        self.ended.digest.as_deref()
    }
    /// From the first packet to the end.
    pub fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.ended.elapsed.as_ns())
    }
    /// Bits of the file moved in a microsecond (RFC 1030 section 3, "real throughput"); None if nothing was.
    pub fn real_mbps(&self) -> Option<f64> {
        self.ended.real_mbps()
    }
    /// The same without setup and late recovery (RFC 1030 section 3, "steady-state throughput").
    pub fn steady_state_mbps(&self) -> Option<f64> {
        self.ended.steady_state_mbps()
    }
    /// Whether the other end confirmed that it knows: if not it fell silent at the very end.
    pub fn is_confirmed(&self) -> bool {
        self.ended.outcome == Ending::Complete
    }
    /// Packets and timers of this end.
    pub fn counters(&self) -> &Counters {
        &self.ended.counters
    }
    /// How late bursts left that were waited for, if this end sent.
    pub fn lateness(&self) -> Option<LatenessSummary> {
        self.lateness
    }
}
