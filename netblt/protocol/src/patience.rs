//! How much longer than its data timer a receiver waits. A packet that comes after it was asked for,
//! but left before the sender heard of that, was late and not lost: data packets say which control
//! messages the sender has, as RFC 3522 lets time stamps say it. Who was wrong so waits longer the
//! next time; who was right, a little less.

use units::{Duration, Instant};

/// Longest wait: a host may be kept from its processor for so long, a path may be busy with others.
const LONGEST: Duration = Duration::from_ms(500);
/// Of the wait, what goes each time that a packet asked for was lost indeed.
const KEPT_OF_16: u64 = 15;

/// What is added to every data timer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Patience {
    wait: Duration,
}

impl Patience {
    pub fn wait(self) -> Duration {
        self.wait
    }
    /// What was asked for at `asked` came at `now`, but had left before.
    pub fn was_too_short(&mut self, asked: Instant, now: Instant) {
        self.wait = self.wait.max(now.since(asked) * 2).min(LONGEST);
    }
    /// What was asked for was lost.
    pub fn was_long_enough(&mut self) {
        self.wait = Duration::from_ps(self.wait.as_ps() / 16 * KEPT_OF_16);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_grows_with_every_mistake_and_goes_when_there_are_none() {
        let at_ms = |ms| Instant::ZERO + Duration::from_ms(ms);
        let mut patience = Patience::default();
        assert_eq!(patience.wait(), Duration::ZERO);
        patience.was_too_short(at_ms(100), at_ms(130));
        assert_eq!(patience.wait(), Duration::from_ms(60));
        patience.was_too_short(at_ms(200), at_ms(201));
        assert_eq!(patience.wait(), Duration::from_ms(60));
        patience.was_too_short(at_ms(300), at_ms(9000));
        assert_eq!(patience.wait(), LONGEST);
        (0..100).for_each(|_| patience.was_long_enough());
        assert!(patience.wait() < Duration::from_ms(1));
    }
}
