//! CoDel (RFC 8289) as a queue that marks in place of dropping, as Linux's `codel` and `fq_codel` do for packets that may
//! be marked.

use units::{Duration, Instant};

/// RFC 8289 section 4.4.
const TARGET: Duration = Duration::from_ms(5);
/// RFC 8289 section 4.3.
const INTERVAL: Duration = Duration::from_ms(100);

/// The state of RFC 8289 section 5.
#[derive(Clone, Debug, Default)]
pub struct Codel {
    first_above: Option<Instant>,
    /// "dropping": marks come, the next one then.
    next: Option<Instant>,
    count: u32,
    last_count: u32,
    /// Of the marks before, when the next one was due.
    last_next: Instant,
}

impl Codel {
    /// A packet that has waited for so long leaves the queue. Gives whether it is marked.
    pub fn marks(&mut self, now: Instant, waited: Duration) -> bool {
        let is_long = self.is_long(now, waited);
        match self.next {
            Some(_) if !is_long => self.next = None,
            Some(next) if now >= next => {
                self.count += 1;
                self.set_next(next);
                return true;
            }
            None if is_long => {
                let delta = self.count - self.last_count;
                let recently = now.since(self.last_next) < INTERVAL * 16;
                self.count = if delta > 1 && recently { delta } else { 1 };
                self.last_count = self.count;
                self.set_next(now);
                return true;
            }
            _ => {}
        }
        false
    }

    /// The queue has been longer than the target for an interval.
    fn is_long(&mut self, now: Instant, waited: Duration) -> bool {
        if waited < TARGET {
            self.first_above = None;
            return false;
        }
        now >= *self.first_above.get_or_insert(now + INTERVAL)
    }

    /// control_law.
    fn set_next(&mut self, after: Instant) {
        let span_s = INTERVAL.as_secs_f64() / f64::from(self.count).sqrt();
        self.last_next = after + Duration::from_secs_f64(span_s);
        self.next = Some(self.last_next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times in milliseconds of the marks on a packet each millisecond that waits for so long.
    fn marks(codel: &mut Codel, from_ms: u64, to_ms: u64, waited_ms: u64) -> Vec<u64> {
        let at = |ms: &u64| {
            codel.marks(Instant::ZERO + Duration::from_ms(*ms), Duration::from_ms(waited_ms))
        };
        (from_ms..to_ms).filter(at).collect()
    }

    /// RFC 8289 section 5: after an interval above the target, then 100 ms / sqrt(n) apart.
    #[test]
    fn marks_come_after_an_interval_and_then_ever_more_often() {
        let mut codel = Codel::default();
        assert_eq!(marks(&mut codel, 0, 400, 4), []);
        // 100, 200, then 200 + 100 / sqrt(2) = 270.7, and + 100 / sqrt(3) = 328.4.
        assert_eq!(marks(&mut codel, 0, 350, 6), [100, 200, 271, 329]);
        assert_eq!(marks(&mut codel, 350, 360, 4), []);
        // Four marks, of which the first does not count: it goes on at 3.
        assert_eq!(marks(&mut codel, 360, 520, 6), [460, 518]);
    }
}
