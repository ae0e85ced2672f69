//! Ports on several hosts have several clocks. What is known of them decides what a latency between two hosts
//! means, and whether a trial may decide anything.
//!
//! Every port counts in the time of the host that runs the trial: a port elsewhere converts its own clock. The
//! conversion is wrong by no more than a bound, which is kept for each port. A latency from one port to another is
//! wrong by no more than the sum of their bounds.

use crate::{InvalidReason, PortId, TrialResult};
use serde::{Deserialize, Serialize};
use units::Duration;

/// By so much stamps and arrival times of one host may disagree.
pub const SLACK: Duration = Duration::from_ms(1);

/// How well the clock of a port on another host was known in a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortClock {
    /// The port.
    pub port: PortId,
    /// Its host.
    pub host: String,
    /// Its times, converted to the clock of the host that ran the trial, were wrong by this at most, at any moment of
    /// the trial; `None` where what was observed contradicts itself, since a clock was set or its host stood still, or
    /// where a clock was pulled by more than 500 ppm.
    pub error: Option<Duration>,
    /// Receivers allowed for such an error.
    pub allowed: Duration,
    /// How it is known, in words.
    pub known_by: String,
    /// What was found to be wrong on the way; the error holds all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// The error of a latency between two different ones of so many ports of a trial, at most; zero where all ports are on
/// one host. Ports of one other host share its clock.
pub fn latency_error(clocks: &[PortClock], ports: usize) -> Duration {
    let mut by_host: Vec<(&str, Duration)> = vec![];
    for clock in clocks {
        let error = clock.error.unwrap_or(Duration::MAX);
        match by_host.iter_mut().find(|(host, _)| *host == clock.host) {
            Some((_, worst)) => *worst = error.max(*worst),
            None => by_host.push((&clock.host, error)),
        }
    }
    if by_host.len() == 1 && clocks.len() == ports {
        return Duration::ZERO;
    }
    let mut errors: Vec<Duration> = by_host.into_iter().map(|(_, error)| error).collect();
    errors.sort();
    let sum = errors.iter().rev().take(2).map(|error| u128::from(error.as_ps())).sum::<u128>();
    Duration::from_ps(u64::try_from(sum).unwrap_or(u64::MAX))
}

/// Judges a trial by its clocks: beyond what receivers allowed for they may have taken good frames for damaged ones.
pub fn judge(result: &mut TrialResult) {
    let reasons: Vec<_> = result.clocks.iter().filter_map(reason).collect();
    reasons.into_iter().for_each(|reason| result.invalidate(reason));
}

fn reason(clock: &PortClock) -> Option<InvalidReason> {
    let what = match clock.error {
        None => "its clock or this host's was set, stood still or was pulled by more than 500 ppm in the trial; wait \
                 until nothing sets or slews the time of day (chronyc tracking), and repeat the trial"
            .into(),
        Some(error) if error > clock.allowed => format!(
            "it may have been wrong by {error}, and {} was allowed for; use a faster or less loaded path to the \
             agent",
            clock.allowed
        ),
        Some(_) => return None,
    };
    Some(InvalidReason::ClockUncertain { port: clock.port, host: clock.host.clone(), what })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(port: u16, host: &str, error_us: Option<u64>) -> PortClock {
        PortClock {
            port: PortId(port),
            host: host.into(),
            error: error_us.map(Duration::from_us),
            allowed: Duration::from_us(100),
            known_by: String::new(),
            warning: None,
        }
    }

    #[test]
    fn errors_of_two_hosts_add_up_and_those_of_one_do_not() {
        assert_eq!(latency_error(&[], 2), Duration::ZERO);
        let one = [clock(0, "a", Some(7)), clock(1, "a", Some(5))];
        assert_eq!(latency_error(&one, 3), Duration::from_us(7));
        assert_eq!(latency_error(&one, 2), Duration::ZERO, "both on one host");
        let three = [clock(0, "a", Some(7)), clock(1, "b", Some(5)), clock(2, "c", Some(6))];
        assert_eq!(latency_error(&three, 3), Duration::from_us(13));
        assert_eq!(latency_error(&[clock(0, "a", None)], 2), Duration::MAX);
    }

    #[test]
    fn an_error_beyond_what_was_allowed_for_is_a_reason() {
        assert_eq!(reason(&clock(0, "a", Some(100))), None);
        let text = |clock: &PortClock| reason(clock).expect("a reason").to_string();
        assert!(text(&clock(0, "lab-b", Some(101))).contains("lab-b is not known well enough"));
        assert!(text(&clock(0, "lab-b", None)).contains("was set, stood still or was pulled"));
    }
}
