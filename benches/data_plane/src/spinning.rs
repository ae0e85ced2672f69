//! What the machine itself takes: a thread that does nothing but look at the clock, on the core that
//! sends and as preferred as the senders are. While it is away nothing that spins can send on time,
//! whatever its program.

use crate::error::{Result, system};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use ports::clock;
use serde::Serialize;
use units::Duration;

/// How long is looked at.
const SPAN: Duration = Duration::from_secs(1);
/// Between two looks at the clock this much is never needed.
const AWAY: Duration = Duration::from_us(1);

/// Times when the thread was away.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Interruptions {
    /// Share of the time, in percent.
    pub away_percent: f64,
    /// How often in a second.
    pub per_second: f64,
    /// Median length, in ns.
    pub median_ns: f64,
}

/// Spins on `core` for a second.
pub fn measure(core: usize) -> Result<Interruptions> {
    let spin = move || {
        let mut only = CpuSet::new();
        only.set(core).and_then(|()| sched_setaffinity(Pid::from_raw(0), &only))?;
        Ok::<_, nix::errno::Errno>(interruptions(&away_times()))
    };
    let ended = std::thread::spawn(spin).join().expect("a loop that cannot panic");
    ended.map_err(|errno| system(format!("run on core {core}"))(errno.into()))
}

fn away_times() -> Vec<Duration> {
    let start = clock::now();
    let (mut last, mut away) = (start, vec![]);
    while last.since(start) < SPAN {
        let now = clock::now();
        let since = now.since(last);
        if since > AWAY {
            away.push(since);
        }
        last = now;
    }
    away
}

fn interruptions(away: &[Duration]) -> Interruptions {
    let total: Duration = away.iter().copied().sum();
    Interruptions {
        away_percent: total.as_secs_f64() / SPAN.as_secs_f64() * 100.0,
        per_second: away.len() as f64 / SPAN.as_secs_f64(),
        median_ns: crate::results::median(away.iter().map(|span| span.as_ns_f64())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_away_is_a_share_of_the_span() {
        let away = [5, 10, 15].map(Duration::from_ms);
        let found = interruptions(&away);
        assert_eq!((found.per_second, found.median_ns), (3.0, 1e7));
        assert!((found.away_percent - 3.0).abs() < 1e-9);
    }
}
