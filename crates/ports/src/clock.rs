//! The one clock of the tester: CLOCK_MONOTONIC in nanoseconds, the same that a BPF program reads
//! with `bpf_ktime_get_ns` and that the kernel's receive path can be calibrated against.

mod mapping;

pub(crate) use mapping::mapped;
pub use mapping::{Mapping, map, mapping, of_kernel};

use units::{Duration, Instant};

/// Resolution of the clock, and the tick of every stamp and histogram.
pub const TICK: Duration = Duration::from_ns(1);

/// This long before a due time [`wait_until`] stops sleeping and spins: longer than the kernel's
/// usual wake-up latency, short enough to leave an idle core idle.
pub(crate) const SPIN: Duration = Duration::from_us(100);

/// No single sleep is longer: whoever waits wants to notice that he should stop.
const LONGEST_SLEEP: Duration = Duration::from_ms(10);

/// The time now. Where this process lends its ports to another host, the time of that host
/// ([`map`]).
#[inline]
pub fn now() -> Instant {
    Instant::from_ns(mapped(read_ns(libc::CLOCK_MONOTONIC)))
}

/// The time on this process's own clock, whatever it is converted to.
pub fn own_ns() -> u64 {
    read_ns(libc::CLOCK_MONOTONIC)
}

/// The time of day, in nanoseconds since 1970.
pub fn realtime_ns() -> u64 {
    read_ns(libc::CLOCK_REALTIME)
}

/// Reads a clock of the system, in nanoseconds.
#[inline]
pub fn read_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec that the call only writes to; a failure (impossible for
    // the clocks used here) would leave zeros.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Sleeps until shortly before `due`, then spins; returns the time at which it noticed.
pub fn wait_until(due: Instant) -> Instant {
    loop {
        let now = now();
        if now >= due {
            return now;
        }
        pause_before(due, now);
    }
}

/// One step of waiting from `now` for `due`: a sleep if there is time for one, at most
/// [`LONGEST_SLEEP`] so that the caller can look around, else next to nothing.
#[inline]
pub fn pause_before(due: Instant, now: Instant) {
    let left = due.since(now);
    if left > SPIN {
        sleep(left.saturating_sub(SPIN).min(LONGEST_SLEEP));
    } else {
        std::hint::spin_loop();
    }
}

/// Gives the core away for about `span`.
pub fn sleep(span: Duration) {
    std::thread::sleep(std::time::Duration::from_nanos(span.as_ns()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_ends_at_the_time_and_never_before() {
        for wait_us in [0, 30, 2_000] {
            let due = now() + Duration::from_us(wait_us);
            let noticed = wait_until(due);
            assert!(noticed >= due);
            assert!(now() >= noticed);
        }
    }

    /// The kernel's own clock, as /proc/uptime shows it (CLOCK_BOOTTIME, which differs from
    /// CLOCK_MONOTONIC by time spent suspended), never lags behind.
    #[test]
    fn it_is_the_clock_that_counts_from_boot() {
        let before = now();
        let uptime = std::fs::read_to_string("/proc/uptime").unwrap();
        let seconds: f64 = uptime.split(' ').next().unwrap().parse().unwrap();
        assert!(Duration::from_secs_f64(seconds + 0.02) >= before.since(Instant::ZERO));
    }
}
