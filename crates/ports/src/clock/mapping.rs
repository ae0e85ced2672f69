//! The tester's clock where it is not this process's own: ports that are lent to another host count in
//! that host's time, so that what they report and stamp can be put beside what its own ports do.
//!
//! In a time namespace (time_namespaces(7)) the clock that the kernel's BPF programs read is not the one that
//! processes read either; [`of_kernel`] has both differences.

use serde::{Deserialize, Serialize};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering, fence};

/// The time on another clock: `t + offset_ns + (t - since_ns) * rate / 2^32`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mapping {
    /// When the offset holds exactly, on the clock that is converted.
    pub since_ns: u64,
    /// What to add then.
    pub offset_ns: i64,
    /// By how much the other clock is faster, times 2^32.
    pub rate: i64,
}

impl Mapping {
    /// The time on the other clock.
    #[inline]
    pub fn apply(&self, ns: u64) -> u64 {
        let since = ns.wrapping_sub(self.since_ns) as i64;
        let drift = (i128::from(since) * i128::from(self.rate)) >> 32;
        ns.wrapping_add_signed(self.offset_ns).wrapping_add_signed(drift as i64)
    }
}

/// Odd while it is written, 0 while there is none.
static VERSION: AtomicU64 = AtomicU64::new(0);
static SINCE_NS: AtomicU64 = AtomicU64::new(0);
static OFFSET_NS: AtomicI64 = AtomicI64::new(0);
static RATE: AtomicI64 = AtomicI64::new(0);

/// From now on the clock of this process is converted. One thread at a time, and between trials: times that were
/// taken before are of another clock.
pub fn map(mapping: Mapping) {
    let version = VERSION.load(Ordering::Relaxed);
    VERSION.store(version + 1, Ordering::Relaxed);
    fence(Ordering::Release);
    SINCE_NS.store(mapping.since_ns, Ordering::Relaxed);
    OFFSET_NS.store(mapping.offset_ns, Ordering::Relaxed);
    RATE.store(mapping.rate, Ordering::Relaxed);
    VERSION.store(version + 2, Ordering::Release);
}

/// How it is converted; `None` where it is the clock of the tester itself.
pub fn mapping() -> Option<Mapping> {
    loop {
        let version = VERSION.load(Ordering::Acquire);
        if version == 0 {
            return None;
        }
        let read = Mapping {
            since_ns: SINCE_NS.load(Ordering::Relaxed),
            offset_ns: OFFSET_NS.load(Ordering::Relaxed),
            rate: RATE.load(Ordering::Relaxed),
        };
        fence(Ordering::Acquire);
        if version.is_multiple_of(2) && VERSION.load(Ordering::Relaxed) == version {
            return Some(read);
        }
        std::hint::spin_loop();
    }
}

/// A reading of this process's clock as the time of the tester.
#[inline]
pub(crate) fn mapped(ns: u64) -> u64 {
    match VERSION.load(Ordering::Relaxed) {
        0 => ns,
        _ => mapping().map_or(ns, |mapping| mapping.apply(ns)),
    }
}

/// From the clock that BPF programs read to that of the tester; `None` where they are the same.
pub fn of_kernel() -> Option<Mapping> {
    let (own, namespace_ns) = (mapping(), namespace_offset_ns());
    if own.is_none() && namespace_ns == 0 {
        return None;
    }
    let own = own.unwrap_or_default();
    Some(Mapping {
        since_ns: own.since_ns.wrapping_add_signed(-namespace_ns),
        offset_ns: own.offset_ns + namespace_ns,
        rate: own.rate,
    })
}

/// What this process's time namespace adds to CLOCK_MONOTONIC.
fn namespace_offset_ns() -> i64 {
    static OFFSET_NS: OnceLock<i64> = OnceLock::new();
    *OFFSET_NS.get_or_init(|| {
        let text = std::fs::read_to_string("/proc/self/timens_offsets").unwrap_or_default();
        monotonic_offset_ns(&text).unwrap_or(0)
    })
}

/// Of lines `CLOCK SECONDS NANOSECONDS` (time_namespaces(7)).
fn monotonic_offset_ns(text: &str) -> Option<i64> {
    let line = text.lines().find(|line| line.starts_with("monotonic"))?;
    let mut numbers = line.split_whitespace().skip(1).map(|word| word.parse::<i64>().ok());
    let (seconds, nanoseconds) = (numbers.next()??, numbers.next()??);
    seconds.checked_mul(1_000_000_000)?.checked_add(nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_of_another_rate_is_followed() {
        // 100 ppm in units of 2^-32.
        let mapping = Mapping { since_ns: 5_000_000_000, offset_ns: -3, rate: 429_497 };
        assert_eq!(mapping.apply(5_000_000_000), 4_999_999_997);
        // 10 s later the other clock has gained 1 ms.
        assert_eq!(mapping.apply(15_000_000_000), 15_000_999_997);
    }

    #[test]
    fn offsets_of_a_time_namespace_are_read_as_the_kernel_writes_them() {
        let text = "monotonic           7200         5\nboottime            -60         0\n";
        assert_eq!(monotonic_offset_ns(text), Some(7_200_000_000_005));
        assert_eq!(monotonic_offset_ns("monotonic -1 0\n"), Some(-1_000_000_000));
        assert_eq!(monotonic_offset_ns(""), None);
    }
}
