//! Which rate the sender takes, where its client names none.
//!
//! It works at the sender, which may always restrict the rate further than the receiver offers (RFC 998
//! section 4). It needs the OKs and RESENDs that every receiver sends, and nothing else.

mod compete;
mod scavenge;

use crate::Burst;
use crate::pacer::Pace;
use compete::Compete;
use scavenge::Scavenge;
use std::ops::Range;
use units::{Duration, Instant};

/// How the sender finds its rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RateControl {
    /// By loss, after the law of CUBIC (RFC 9438): it takes about what a TCP would take in its place.
    #[default]
    Competitive,
    /// The same, and where a network marks early (L4S, RFC 9330) by the share of marks: queues stay short there.
    L4s,
    /// By delay: it keeps the queue short, and leaves the path to those who fill it.
    Scavenging,
}

impl RateControl {
    /// Whether it is to leave the path to others.
    pub fn of(scavenges: bool) -> RateControl {
        if scavenges { RateControl::Scavenging } else { RateControl::Competitive }
    }
}

/// The rate of one sender. Pure: time is an argument.
#[derive(Clone, Debug)]
pub enum Control {
    Compete(Compete),
    Scavenge(Scavenge),
}

/// A buffer that arrived at the first attempt.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// When its last packet left.
    pub left: Instant,
    /// Its packets among all that left.
    pub packets: Range<u64>,
    /// So long its OK may have waited in this host before it was read.
    pub late: Duration,
}

impl Control {
    /// Nothing is known of the path but, where OPEN was answered, how long that took. Buffers have so many
    /// packets.
    pub fn new(
        rule: RateControl,
        now: Instant,
        buffer_packets: u32,
        handshake: Option<Duration>,
    ) -> Control {
        match rule {
            RateControl::Competitive => {
                Control::Compete(Compete::new(now, buffer_packets, handshake))
            }
            RateControl::L4s => {
                Control::Compete(Compete::new(now, buffer_packets, handshake).scalable())
            }
            RateControl::Scavenging => Control::Scavenge(Scavenge::new(now, buffer_packets)),
        }
    }

    /// Bursts of the rate chosen, none faster than `limit`.
    pub fn pace(&self, limit: Burst) -> Pace {
        match self {
            Control::Compete(control) => control.pace(limit),
            Control::Scavenge(control) => control.pace(limit),
        }
    }
    /// The rate in packets a second.
    pub fn pps(&self) -> f64 {
        match self {
            Control::Compete(control) => control.pps(),
            Control::Scavenge(control) => control.pps(),
        }
    }
    /// Data packets that left so far.
    pub fn sent(&self) -> u64 {
        match self {
            Control::Compete(control) => control.sent(),
            Control::Scavenge(control) => control.sent(),
        }
    }
    /// Shortest round trip seen, if any.
    pub fn round_trip(&self) -> Option<Duration> {
        match self {
            Control::Compete(control) => control.round_trip(),
            Control::Scavenge(control) => control.round_trip(),
        }
    }

    /// It waits for word of what left, or pauses; its pace is no rate.
    pub fn is_quiet(&self) -> bool {
        match self {
            Control::Compete(control) => control.is_quiet(),
            Control::Scavenge(control) => control.is_quiet(),
        }
    }

    /// A data packet leaves.
    pub fn departed(&mut self, now: Instant) {
        match self {
            Control::Compete(control) => control.departed(now),
            Control::Scavenge(control) => control.departed(),
        }
    }
    /// A buffer is complete at the other end.
    pub fn completed(&mut self, now: Instant) {
        match self {
            Control::Compete(control) => control.completed(now),
            Control::Scavenge(control) => control.completed(),
        }
    }
    /// The sender would send but has nothing, or no permission.
    pub fn idle(&mut self, now: Instant) {
        match self {
            Control::Compete(control) => control.idle(now),
            Control::Scavenge(control) => control.idle(),
        }
    }
    /// A buffer arrived at the first attempt.
    pub fn arrived(&mut self, now: Instant, arrival: Arrival) {
        match self {
            Control::Compete(control) => control.arrived(now, &arrival),
            Control::Scavenge(control) => control.arrived(now, arrival.left, arrival.packets),
        }
    }
    /// Time has come to `now`.
    pub fn tick(&mut self, now: Instant) {
        if let Control::Scavenge(control) = self {
            control.tick(now);
        }
    }
    /// Everything that came before `heard_until` is known.
    pub fn handle_timeout(&mut self, heard_until: Instant) {
        if let Control::Compete(control) = self {
            control.handle_timeout(heard_until);
        }
    }
    /// When one of these two has something to do, at the latest.
    pub fn timeout(&self) -> Option<Instant> {
        match self {
            Control::Compete(control) => control.timeout(),
            Control::Scavenge(control) => control.timeout(),
        }
    }
}
