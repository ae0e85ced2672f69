//! What exchanges of times say of another host's clock.
//!
//! In an exchange the tester reads its clock, the agent reads its own, and the tester reads its clock again. The
//! agent's reading lies between the tester's two, whatever the path does: delays need not be alike in both directions.
//! So each exchange bounds the difference of the clocks, and many together bound it more closely.
//!
//! Nothing is assumed of clocks but that their rates differ by at most [`RATE_MAX`]. A clock that is set breaks that, and
//! is found ([`error_over`] gives `None`); so is one that its kernel pulls by more than [`PULLED_MAX_PPB`], since both hosts
//! say by how much they do.

use ports::clock::Mapping;

/// Two clocks differ in rate by less than this: each is pulled by [`PULLED_MAX_PPB`] at most, towards the true rate from
/// that of a crystal, or beyond it while somebody works an error off.
pub const RATE_MAX: f64 = 1e-3;
/// What the frequency of adjtimex(2) can do, in parts per 10^9. Programs that are in a hurry change the length of the tick
/// instead, by up to 100,000 ppm: then no bound is stated.
pub const PULLED_MAX_PPB: u64 = 500_000;
/// What two clocks drift apart in the course of a trial, as far as receivers allow for it: a crystal is within 100 ppm.
pub const DRIFT: f64 = 200e-6;
/// Exchanges that a line is laid through.
const FITTED: usize = 48;

/// One exchange of times, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exchange {
    /// The tester's clock before it asked.
    pub sent_ns: u64,
    /// The agent's clock in between.
    pub agent_ns: u64,
    /// The tester's clock when it had the answer.
    pub received_ns: u64,
}

impl Exchange {
    /// How long it took.
    pub fn round_trip_ns(&self) -> u64 {
        self.received_ns.saturating_sub(self.sent_ns)
    }

    /// The difference tester - agent lies between these.
    fn offset(&self) -> (i64, i64) {
        let from = |ns: u64| ns.wrapping_sub(self.agent_ns) as i64;
        (from(self.sent_ns), from(self.received_ns))
    }

    /// Between these the error of a conversion lies: the true time less the converted one.
    fn error(&self, mapping: &Mapping) -> (i64, i64) {
        let converted = mapping.apply(self.agent_ns);
        let from = |ns: u64| ns.wrapping_sub(converted) as i64;
        (from(self.sent_ns), from(self.received_ns))
    }
}

/// A conversion of the agent's clock, and by how much it is wrong where it begins.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fit {
    /// From the agent's clock to the tester's.
    pub mapping: Mapping,
    /// At the last exchange, at most.
    pub error_ns: u64,
}

/// The conversion that explains the latest exchanges with the least difference of rates; the middle of what is
/// possible. Earlier ones that contradict the latest are left out: clocks change their rates. `None` without any.
pub fn fit(exchanges: &[Exchange]) -> Option<Fit> {
    let mut chosen = narrowest(exchanges);
    loop {
        let last = *chosen.last()?;
        if let Some(fit) = line(&chosen, last) {
            return Some(fit);
        }
        chosen.remove(0);
    }
}

/// In order of time, at most [`FITTED`]: of each stretch the exchange that took the shortest time.
fn narrowest(exchanges: &[Exchange]) -> Vec<Exchange> {
    let mut ordered = exchanges.to_vec();
    ordered.sort_by_key(|exchange| exchange.agent_ns);
    let stretch = ordered.len().div_ceil(FITTED).max(1);
    let best =
        ordered.chunks(stretch).map(|some| some.iter().min_by_key(|one| one.round_trip_ns()));
    best.flatten().copied().collect()
}

/// `None` where no line goes through all.
fn line(exchanges: &[Exchange], last: Exchange) -> Option<Fit> {
    let base = i128::from(last.offset().0);
    let points = exchanges.iter().map(|exchange| {
        let (low, high) = exchange.offset();
        let at = last.agent_ns.wrapping_sub(exchange.agent_ns) as f64;
        (-at, (i128::from(low) - base) as f64, (i128::from(high) - base) as f64)
    });
    let points: Vec<(f64, f64, f64)> = points.collect();
    let (mut least, mut most) = (-RATE_MAX, RATE_MAX);
    for (index, (at, low, high)) in points.iter().enumerate() {
        for (later, later_low, later_high) in &points[index + 1..] {
            let apart = later - at;
            if apart <= 0.0 {
                continue;
            }
            least = least.max((later_low - high) / apart);
            most = most.min((later_high - low) / apart);
        }
    }
    if least > most {
        return None;
    }
    let rate = 0.0_f64.clamp(least, most);
    let low = points.iter().map(|(at, low, _)| low - rate * at).fold(f64::MIN, f64::max);
    let high = points.iter().map(|(at, _, high)| high - rate * at).fold(f64::MAX, f64::min);
    // A nanosecond of rounding is no contradiction.
    if low > high + 1.0 {
        return None;
    }
    let middle = (low + high) / 2.0;
    let offset_ns = i64::try_from(base + middle.round() as i128).ok()?;
    let rate = (rate * 4_294_967_296.0).round() as i64;
    let mapping = Mapping { since_ns: last.agent_ns, offset_ns, rate };
    let (lowest, highest) = at_last(&points);
    let error = (highest - middle).max(middle - lowest).max(0.0);
    Some(Fit { mapping, error_ns: error.ceil() as u64 + 2 })
}

/// Between which values the difference is at the last point, whatever the rate: each line that is possible there goes
/// through all the intervals before.
fn at_last(points: &[(f64, f64, f64)]) -> (f64, f64) {
    let (mut lowest, mut highest) = (f64::MIN, f64::MAX);
    for (index, (at, low, high)) in points.iter().enumerate() {
        // From here to the last point, at 0.
        let left = -at;
        lowest = lowest.max(low - RATE_MAX * left);
        highest = highest.min(high + RATE_MAX * left);
        for (before, low_before, high_before) in &points[..index] {
            let apart = at - before;
            if apart > 0.0 {
                lowest = lowest.max(low + (low - high_before) / apart * left);
                highest = highest.min(high + (high - low_before) / apart * left);
            }
        }
    }
    (lowest, highest)
}

/// By how much the conversion was wrong at any moment from the first of the exchanges to the last, at most, in
/// nanoseconds. `None` where no clocks whose rates differ by less than [`RATE_MAX`] could have given these times.
pub fn error_over(mapping: &Mapping, exchanges: &[Exchange]) -> Option<u64> {
    let mut ordered = exchanges.to_vec();
    ordered.sort_by_key(|exchange| exchange.agent_ns);
    let error = |exchange: &Exchange| {
        let (low, high) = exchange.error(mapping);
        (exchange.agent_ns, low as f64, high as f64)
    };
    let mut bounds: Vec<(u64, f64, f64)> = ordered.iter().map(error).collect();
    // The error changes by the difference of rates, which the conversion's own is part of.
    let rate = RATE_MAX + (mapping.rate as f64 / 4_294_967_296.0).abs();
    let drift = |from: u64, to: u64| to.abs_diff(from) as f64 * rate + 1.0;
    for at in 1..bounds.len() {
        let (before, low, high) = bounds[at - 1];
        let may = drift(before, bounds[at].0);
        bounds[at].1 = bounds[at].1.max(low - may);
        bounds[at].2 = bounds[at].2.min(high + may);
    }
    for at in (1..bounds.len()).rev() {
        let (after, low, high) = bounds[at];
        let may = drift(after, bounds[at - 1].0);
        bounds[at - 1].1 = bounds[at - 1].1.max(low - may);
        bounds[at - 1].2 = bounds[at - 1].2.min(high + may);
    }
    if bounds.iter().any(|(_, low, high)| low > high) {
        return None;
    }
    let worst = |low: f64, high: f64| high.max(-low).max(0.0);
    let at = bounds.iter().map(|(_, low, high)| worst(*low, *high));
    // In between it is largest where the bounds from both sides meet.
    let between = bounds.windows(2).map(|pair| {
        let [(from, low, high), (to, later_low, later_high)] = pair else { return 0.0 };
        let may = drift(*from, *to);
        worst((low + later_low - may) / 2.0, (high + later_high + may) / 2.0)
    });
    let error = at.chain(between).reduce(f64::max)?;
    Some(error.ceil() as u64 + 1)
}

#[cfg(test)]
mod tests;
