//! How far what came has been looked at. A socket does not say when a datagram came, but it gives them
//! in order and holds only so many.

use units::Instant;

/// More datagrams than a socket holds: the smallest takes some 500 bytes of the kernel's memory, of
/// which it has 16 MiB.
const HELD_AT_MOST: usize = 1 << 15;

/// What may still wait in a socket.
#[derive(Clone, Copy, Debug)]
pub struct Backlog {
    /// Everything that came before has been taken.
    heard_until: Instant,
    /// A later time, and datagrams taken since; none if the socket was empty.
    mark: Instant,
    taken: usize,
}

impl Backlog {
    /// A socket that is made at `now`.
    pub fn new(now: Instant) -> Backlog {
        Backlog { heard_until: now, mark: now, taken: 0 }
    }
    /// A datagram was taken. If the socket never becomes empty, what waited at the mark is taken in the
    /// end, whatever came since.
    pub fn took_one(&mut self, now: Instant) {
        self.taken += 1;
        if self.taken >= HELD_AT_MOST {
            *self = Backlog { heard_until: self.mark, mark: now, taken: 1 };
        }
    }
    /// The socket was found empty after `now`.
    pub fn found_empty(&mut self, now: Instant) {
        *self = Backlog::new(now);
    }
    /// Everything that came before has been taken.
    pub fn heard_until(&self) -> Instant {
        self.heard_until
    }
    /// Whether more may wait than was taken. It may do so in this program's memory, where the kernel,
    /// asked to wait for a datagram, does not see it.
    pub fn is_behind(&self) -> bool {
        self.taken > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Duration;

    fn at_ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_ms(ms)
    }

    #[test]
    fn an_empty_socket_hides_nothing_and_one_that_is_not_may_hide_all_since() {
        let mut backlog = Backlog::new(at_ms(0));
        backlog.found_empty(at_ms(10));
        backlog.took_one(at_ms(50));
        assert_eq!(backlog.heard_until(), at_ms(10));
        assert!(backlog.is_behind());
        backlog.found_empty(at_ms(60));
        assert_eq!(backlog.heard_until(), at_ms(60));
        assert!(!backlog.is_behind());
    }

    #[test]
    fn a_flood_that_never_ends_does_not_stop_the_time() {
        let mut backlog = Backlog::new(at_ms(0));
        let mut heard = Vec::new();
        for count in 0..3 * HELD_AT_MOST as u64 {
            backlog.took_one(at_ms(1 + count));
            heard.push(backlog.heard_until());
        }
        assert!(heard.is_sorted());
        let behind_ms = 3 * HELD_AT_MOST as u64 - heard.last().unwrap().as_ps() / 1_000_000_000;
        assert!(behind_ms <= 2 * HELD_AT_MOST as u64, "{behind_ms}");
        assert!(backlog.is_behind());
    }
}
