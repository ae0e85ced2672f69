//! What two hosts' times of day say of their clocks, where chronyd keeps them.
//!
//! If both hosts read CLOCK_REALTIME beside their own clocks, the difference of these lies within the sum of the errors of
//! both times of day, which chronyd bounds. That is a claim of theirs: exchanges of times can show that it is wrong, and
//! then they count alone.

use crate::clock_bounds::{Exchange, RATE_MAX, error_over};
use crate::host_time::UtcReading;
use ports::clock::Mapping;

/// What an exchange says, and what both times of day said then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Observation {
    /// Of clocks.
    pub exchange: Exchange,
    /// The same bounds by the times of day; `None` where a host does not claim to know the time.
    pub by_ntp: Option<Exchange>,
}

impl Observation {
    /// Both bounds; `None` where they have nothing in common.
    fn narrowed(&self) -> Option<Exchange> {
        let Some(by_ntp) = self.by_ntp else { return Some(self.exchange) };
        let sent_ns = self.exchange.sent_ns.max(by_ntp.sent_ns);
        let received_ns = self.exchange.received_ns.min(by_ntp.received_ns);
        (sent_ns <= received_ns).then_some(Exchange { sent_ns, received_ns, ..self.exchange })
    }
}

/// By what the bounds of a clock are known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// Exchanges of times; a claim, if there is one, says no more.
    Exchanges,
    /// Both hosts' claims; exchanges agree, and say no more.
    Ntp,
    /// Each narrows the other.
    Both,
}

impl Source {
    /// In words.
    pub fn in_words(self) -> &'static str {
        match self {
            Source::Exchanges => "exchanges of times",
            Source::Ntp => "NTP on both hosts",
            Source::Both => "exchanges of times and NTP on both hosts",
        }
    }
}

/// What observations say of a conversion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// It was wrong by this at most, in nanoseconds, at any moment between them; `None` where exchanges contradict each
    /// other.
    pub error_ns: Option<u64>,
    /// By what that is known.
    pub source: Source,
    /// A host's claim cannot be true: exchanges say otherwise. They count alone.
    pub claim_is_wrong: bool,
}

/// Between which times of the tester's clock the agent took its reading, if both know the time of day as well as they
/// claim. `received_ns` is when the tester had the agent's, which was taken after its own.
pub fn by_ntp(tester: &UtcReading, agent: &UtcReading, received_ns: u64) -> Option<Exchange> {
    let claimed_ns = i128::from(tester.claimed_ns()) + i128::from(agent.claimed_ns());
    let window = |reading: &UtcReading| reading.after_ns.checked_sub(reading.before_ns);
    let (own_window, window) = (window(tester)?, window(agent)?);
    let apart_ns = received_ns.checked_sub(tester.before_ns)?;
    // The clocks and the time of day differ in rate while the request is under way.
    let drift_ns = ((apart_ns as f64 + window as f64) * RATE_MAX).ceil() as i128 + 1;
    let (own_window, window) = (i128::from(own_window), i128::from(window));
    let passed_ns = i128::from(agent.realtime_ns) - i128::from(tester.realtime_ns);
    let at_ns = i128::from(tester.before_ns) + passed_ns;
    let clamped = |ns: i128| ns.clamp(0, i128::from(i64::MAX)) as u64;
    Some(Exchange {
        sent_ns: clamped(at_ns - claimed_ns - window - drift_ns),
        agent_ns: agent.before_ns,
        received_ns: clamped(at_ns + claimed_ns + own_window + drift_ns),
    })
}

/// What exchanges say alone.
pub fn exchanges(observations: &[Observation]) -> Vec<Exchange> {
    observations.iter().map(|observation| observation.exchange).collect()
}

/// Exchanges, each with what is claimed of the times of day; `None` where that cannot be true.
pub fn narrowed(observations: &[Observation]) -> Option<Vec<Exchange>> {
    observations.iter().map(Observation::narrowed).collect()
}

/// By how much a conversion was wrong at any moment between the observations, at most, and how that is known.
pub fn judge(mapping: &Mapping, observations: &[Observation]) -> Verdict {
    let alone = error_over(mapping, &exchanges(observations));
    let by_exchanges =
        Verdict { error_ns: alone, source: Source::Exchanges, claim_is_wrong: false };
    let claims: Vec<Exchange> = observations.iter().filter_map(|one| one.by_ntp).collect();
    if alone.is_none() || claims.is_empty() {
        return by_exchanges;
    }
    let both = narrowed(observations).and_then(|narrowed| error_over(mapping, &narrowed));
    let Some(error_ns) = both else { return Verdict { claim_is_wrong: true, ..by_exchanges } };
    let is_claimed_always = claims.len() == observations.len();
    let source = if alone <= both {
        Source::Exchanges
    } else if is_claimed_always && error_over(mapping, &claims) == both {
        Source::Ntp
    } else {
        Source::Both
    };
    Verdict { error_ns: Some(error_ns), source, claim_is_wrong: false }
}

#[cfg(test)]
mod tests;
