//! Between which bits of a frame a latency is taken, and the one stamp model that all forms come from.
//!
//! A tester stamps a frame as its first bit leaves, and times its arrival when its last bit is in. So
//! what an account holds is FILO; the other forms are that less the time of the frame's bits on the
//! lines (RFC 1242 section 3.8, RFC 4689 section 3.2.1, RFC 8238 section 2.1). On real ports the tester's
//! own time, from stamp to line and from line to arrival, is in each of them.

use serde::{Deserialize, Serialize};
use std::fmt;
use units::Duration;

/// From which bit of a frame at the device's input to which at its output.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LatencyForm {
    /// Last bit in to first bit out: RFC 1242's latency of a store-and-forward device. Below zero
    /// where a device begins to forward before it has the whole frame.
    Lifo,
    /// First bit in to first bit out: RFC 1242's latency of a bit-forwarding device.
    Fifo,
    /// Last bit in to last bit out: the forwarding delay of RFC 4689.
    Lilo,
    /// First bit in to last bit out: what the stamps say.
    Filo,
}

impl LatencyForm {
    /// All of them.
    pub const ALL: [LatencyForm; 4] =
        [LatencyForm::Lifo, LatencyForm::Fifo, LatencyForm::Lilo, LatencyForm::Filo];

    /// From which bit to which, and whose latency that is.
    pub const fn meaning(self) -> &'static str {
        match self {
            LatencyForm::Lifo => "last bit in to first bit out (RFC 1242, store and forward)",
            LatencyForm::Fifo => "first bit in to first bit out (RFC 1242, bit forwarding)",
            LatencyForm::Lilo => "last bit in to last bit out (RFC 4689 forwarding delay)",
            LatencyForm::Filo => "first bit in to last bit out (as stamped)",
        }
    }

    /// What it includes besides the time that the device takes.
    pub const fn includes(self) -> &'static str {
        match self {
            LatencyForm::Lifo => "no line time",
            LatencyForm::Fifo => "the frame's time on the sending line",
            LatencyForm::Lilo => "the frame's time on the receiving line",
            LatencyForm::Filo => "the frame's time on both lines",
        }
    }
}

impl fmt::Display for LatencyForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            LatencyForm::Lifo => "LIFO",
            LatencyForm::Fifo => "FIFO",
            LatencyForm::Lilo => "LILO",
            LatencyForm::Filo => "FILO",
        })
    }
}

/// What a frame's bits take, first to last, on the lines into the device and out of it: zero on
/// virtual links.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct BitTimes {
    /// On the line into the device.
    pub sending: Duration,
    /// On the line out of it.
    pub receiving: Duration,
}

impl BitTimes {
    /// What is to be taken off a stamped (FILO) latency for another form, in picoseconds.
    pub const fn taken_off_ps(self, form: LatencyForm) -> i64 {
        let (sending, receiving) = (self.sending.as_ps() as i64, self.receiving.as_ps() as i64);
        match form {
            LatencyForm::Filo => 0,
            LatencyForm::Fifo => receiving,
            LatencyForm::Lilo => sending,
            LatencyForm::Lifo => sending + receiving,
        }
    }

    /// A stamped latency in this form, in picoseconds; LIFO may be below zero.
    pub const fn in_form_ps(self, form: LatencyForm, stamped: Duration) -> i64 {
        stamped.as_ps() as i64 - self.taken_off_ps(form)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1518 bytes take 12.144 ms at 1 Mb/s; a device that takes 2.0 ms from the last bit.
    #[test]
    fn one_stamp_gives_every_form() {
        let line = Duration::from_us(12_144);
        let bits = BitTimes { sending: line, receiving: line };
        let stamped = Duration::from_us(26_288);
        let us = |form| bits.in_form_ps(form, stamped) / 1_000_000;
        assert_eq!(LatencyForm::ALL.map(us), [2_000, 14_144, 14_144, 26_288]);
    }

    /// 64 bytes at 100 Mb/s in and 1 Gb/s out, begun to be sent after 14 bytes: the first bit leaves
    /// 1.12 us after the first came, 4 us before the last.
    #[test]
    fn lifo_of_a_cut_through_device_is_below_zero() {
        let bits =
            BitTimes { sending: Duration::from_ns(5_120), receiving: Duration::from_ns(512) };
        let stamped = Duration::from_ns(1_120 + 512);
        let ns = |form| bits.in_form_ps(form, stamped) / 1_000;
        assert_eq!(LatencyForm::ALL.map(ns), [-4_000, 1_120, -3_488, 1_632]);
    }
}
