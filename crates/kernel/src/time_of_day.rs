//! Whether anybody keeps the kernel's time of day, CLOCK_REALTIME.

#![allow(unsafe_code)]

use crate::socket::check;
use std::{io, mem};

/// The state of CLOCK_REALTIME, as programs that discipline it left it (adjtimex(2)).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeOfDay {
    /// `TIME_OK` (0), or that a leap second is near, or that the clock is not synchronized.
    pub state: i32,
    /// `STA_...` bits.
    pub status: i32,
    /// By how much it has its clocks run faster than the counter behind them, in parts per 10^9: CLOCK_MONOTONIC as well.
    pub pulled_ppb: i64,
}

/// Microseconds from tick to tick where nobody pulls: there are 100 in a second for every program.
const TICK_US: i64 = 10_000;

/// A microsecond for a tick is 100 ppm; the frequency is in ppm with 16 bits behind the point (adjtimex(2)).
fn pulled_ppb(tick_us: i64, freq: i64) -> i64 {
    (tick_us - TICK_US) * 100_000 + freq * 1_000 / 65_536
}

/// Bits of `status` with which it is not kept: a leap second is near, not synchronized, broken.
const NOT_KEPT: i32 = libc::STA_INS | libc::STA_DEL | libc::STA_UNSYNC | libc::STA_CLOCKERR;

impl TimeOfDay {
    /// Whether a program keeps it, such as chronyd without its option `-x`.
    pub fn is_kept(&self) -> bool {
        self.state == libc::TIME_OK && self.status & NOT_KEPT == 0
    }
}

/// Reads it.
///
/// # Errors
/// If the kernel, or a sandbox, refuses.
pub fn time_of_day() -> io::Result<TimeOfDay> {
    // SAFETY: a C structure of integers, for which zeros are values; no mode is set, so nothing is changed.
    let mut timex: libc::timex = unsafe { mem::zeroed() };
    // SAFETY: a valid structure that the kernel only writes to.
    let state = check(unsafe { libc::adjtimex(&mut timex) })?;
    let pulled_ppb = pulled_ppb(timex.tick, timex.freq);
    Ok(TimeOfDay { state, status: timex.status, pulled_ppb })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel keeps both together: TIME_ERROR (5) where STA_UNSYNC is set.
    #[test]
    fn state_and_status_agree() {
        let read = time_of_day().expect("it needs no privilege");
        if read.status & libc::STA_UNSYNC != 0 {
            assert_eq!(read.state, libc::TIME_ERROR, "{read:?}");
        }
    }

    /// adjtimex(2): a tick may be 9,000 to 11,000 us long, and the frequency is at most 500 ppm.
    #[test]
    fn ticks_and_frequency_pull_together() {
        assert_eq!(pulled_ppb(10_000, 0), 0);
        assert_eq!(pulled_ppb(10_000, 500 << 16), 500_000);
        assert_eq!(pulled_ppb(10_000, -(100 << 16)), -100_000);
        assert_eq!(pulled_ppb(11_000, 0), 100_000_000);
        assert_eq!(pulled_ppb(9_990, 50 << 16), -950_000);
        let read = time_of_day().expect("it needs no privilege");
        assert!(read.pulled_ppb.abs() <= 100_500_000, "{read:?}");
    }

    /// Numbers of include/uapi/linux/timex.h.
    #[test]
    fn a_time_that_nobody_keeps_is_known() {
        let is_kept = |state, status| TimeOfDay { state, status, pulled_ppb: 0 }.is_kept();
        assert!(is_kept(0, 0x2001));
        for (state, status) in
            [(5, 0x40), (0, 0x40), (5, 0), (1, 0x10), (0, 0x10), (0, 0x20), (0, 0x1000)]
        {
            assert!(!is_kept(state, status), "{state} {status:x}");
        }
    }
}
