//! BBR version 1 (draft-cardwell-iccrg-bbr-congestion-control-00): the bottleneck's rate is the highest
//! rate of delivery of the last ten round trips, the path the shortest round trip of the last ten seconds.

use super::delivery::RateSample;
use super::{INITIAL_WINDOW, Window};
use std::collections::VecDeque;
use units::{Duration, Instant};

/// Section 4.1.1.3: 2 / ln 2, with which delivery doubles in a round trip.
const HIGH_GAIN: f64 = 2.885;
/// Section 4.1.1.3: BtlBwFilterLen, in round trips.
const RATE_ROUNDS: u64 = 10;
/// Section 4.1.2.3: RTpropFilterLen.
const PATH_AGE: Duration = Duration::from_secs(10);
/// Section 4.3.2.2: three round trips without a quarter more.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// Section 4.3.4.3: the gains of ProbeBW, a round trip each.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Section 4.2.3.2: cwnd_gain in ProbeBW.
const WINDOW_GAIN: f64 = 2.0;
/// Section 4.2.3: BBRMinPipeCwnd, and the packets of three send quanta.
const LEAST_WINDOW: f64 = 4.0;
const QUANTA: f64 = 3.0;
/// Section 4.3.5: ProbeRTTDuration.
const PROBE_PATH: Duration = Duration::from_ms(200);

#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    Startup,
    Drain,
    ProbeRate {
        phase: usize,
        since: Instant,
    },
    /// Until then, once the window has drained.
    ProbePath {
        until: Option<Instant>,
    },
}

#[derive(Debug)]
pub struct Bbr {
    state: State,
    window: f64,
    /// Highest rates by round, descending.
    rates: VecDeque<(u64, f64)>,
    round: u64,
    round_ends: u64,
    path: Option<(Duration, Instant)>,
    full_pps: f64,
    full_rounds: u32,
    /// The window before a loss or ProbeRTT.
    prior: f64,
    /// Packets are conserved until so many were delivered.
    recovery_ends: Option<u64>,
    delivered: u64,
    lost: bool,
}

impl Bbr {
    pub fn new() -> Bbr {
        Bbr {
            state: State::Startup,
            window: INITIAL_WINDOW,
            rates: VecDeque::new(),
            round: 0,
            round_ends: 0,
            path: None,
            full_pps: 0.0,
            full_rounds: 0,
            prior: INITIAL_WINDOW,
            recovery_ends: None,
            delivered: 0,
            lost: false,
        }
    }

    fn rate_pps(&self) -> Option<f64> {
        self.rates.front().map(|(_, pps)| *pps)
    }
    /// Packets that fill the path, times `gain`.
    fn inflight(&self, gain: f64) -> f64 {
        match (self.rate_pps(), self.path) {
            (Some(pps), Some((path, _))) => gain * pps * path.as_secs_f64() + QUANTA,
            _ => INITIAL_WINDOW * gain.max(1.0),
        }
    }
    fn is_filled(&self) -> bool {
        self.full_rounds >= FULL_ROUNDS
    }

    /// Section 4.1.1: the round trip and the highest rate.
    fn observe_rate(&mut self, sample: &RateSample) -> bool {
        let begins = sample.delivered_before >= self.round_ends;
        if begins {
            self.round_ends = sample.delivered;
            self.round += 1;
        }
        if let Some(pps) = sample.pps {
            self.rates.retain(|(_, old)| *old > pps);
            self.rates.push_back((self.round, pps));
        }
        while self.rates.len() > 1 && self.rates[0].0 + RATE_ROUNDS <= self.round {
            self.rates.pop_front();
        }
        begins
    }

    /// Section 4.3.2.2.
    fn look_for_full_pipe(&mut self) {
        let pps = self.rate_pps().unwrap_or(0.0);
        if self.is_filled() {
        } else if pps >= self.full_pps * FULL_GROWTH {
            (self.full_pps, self.full_rounds) = (pps, 0);
        } else {
            self.full_rounds += 1;
        }
    }

    fn probe_rate(&mut self, now: Instant) {
        // The draft draws the first phase; any but the one that drains. Which one matters little here, where flows
        // start at times left to chance: the last digits of those choose.
        let drawn = (now.as_ps() / 1_000_000 % 7) as usize;
        let phase = if drawn == 0 { 0 } else { drawn + 1 };
        self.state = State::ProbeRate { phase, since: now };
    }

    /// Section 4.3.4.3.
    fn advance(&mut self, now: Instant, in_flight: f64) {
        let State::ProbeRate { phase, since } = self.state else { return };
        let path = self.path.map_or(Duration::ZERO, |(path, _)| path);
        let elapsed = now.since(since) > path;
        let gain = CYCLE[phase];
        let next = match gain {
            gain if gain > 1.0 => elapsed && (self.lost || in_flight >= self.inflight(gain)),
            gain if gain < 1.0 => elapsed || in_flight <= self.inflight(1.0),
            _ => elapsed,
        };
        if next {
            self.state = State::ProbeRate { phase: (phase + 1) % CYCLE.len(), since: now };
            self.lost = false;
        }
    }

    /// Sections 4.1.2.3 and 4.3.5.
    fn probe_path(&mut self, now: Instant, sample: &RateSample) {
        let expired = self.path.is_some_and(|(_, seen)| now.since(seen) > PATH_AGE);
        if self.path.is_none_or(|(path, _)| sample.round_trip <= path) || expired {
            self.path = Some((sample.round_trip, now));
        }
        match self.state {
            State::ProbePath { until: None } if sample.in_flight as f64 <= LEAST_WINDOW => {
                let path = self.path.map_or(Duration::ZERO, |(path, _)| path);
                self.state = State::ProbePath { until: Some(now + PROBE_PATH.max(path)) };
            }
            State::ProbePath { until: Some(until) } if now >= until => {
                self.path = self.path.map(|(path, _)| (path, now));
                self.window = self.window.max(self.prior);
                match self.is_filled() {
                    true => self.probe_rate(now),
                    false => self.state = State::Startup,
                }
            }
            State::ProbePath { .. } => {}
            _ if expired => {
                self.prior = self.prior.max(self.window);
                self.state = State::ProbePath { until: None };
            }
            _ => {}
        }
    }

    /// Section 4.2.3.
    fn set_window(&mut self, sample: &RateSample) {
        let new = sample.new as f64;
        if self.recovery_ends.is_some_and(|ends| self.delivered >= ends) {
            self.recovery_ends = None;
            self.window = self.window.max(self.prior);
        }
        let gain = if self.state == State::Startup { HIGH_GAIN } else { WINDOW_GAIN };
        let gain = if self.state == State::Drain { HIGH_GAIN } else { gain };
        let target = self.inflight(gain);
        if self.recovery_ends.is_some() {
            self.window = self.window.max(sample.in_flight as f64 + new);
        } else if self.is_filled() {
            self.window = (self.window + new).min(target);
        } else if self.window < target || (self.delivered as f64) < INITIAL_WINDOW {
            self.window += new;
        }
        self.window = self.window.max(LEAST_WINDOW);
        if matches!(self.state, State::ProbePath { .. }) {
            self.window = self.window.min(LEAST_WINDOW);
        }
    }
}

impl Window for Bbr {
    fn packets(&self) -> f64 {
        self.window
    }
    fn acknowledged(&mut self, _now: Instant, _round_trip: Duration, _begins: bool) {}
    /// Section 4.2.3.5: packet conservation for a round trip, then back to what it was.
    fn lost(&mut self, _now: Instant) {
        self.lost = true;
        if self.recovery_ends.is_none() && !matches!(self.state, State::ProbePath { .. }) {
            self.prior = self.window;
            self.recovery_ends = Some(self.delivered + self.window as u64);
            self.window = LEAST_WINDOW;
        }
    }
    fn timed_out(&mut self) {
        self.prior = self.prior.max(self.window);
        self.recovery_ends = Some(self.delivered + 1);
        self.window = 1.0;
    }
    fn pacing_pps(&self) -> Option<f64> {
        let gain = match self.state {
            State::Startup => HIGH_GAIN,
            State::Drain => 1.0 / HIGH_GAIN,
            State::ProbeRate { phase, .. } => CYCLE[phase],
            State::ProbePath { .. } => 1.0,
        };
        // Before the first sample a round trip of a millisecond is assumed (section 4.2.1).
        Some(gain * self.rate_pps().unwrap_or(INITIAL_WINDOW / 0.001))
    }
    fn sampled(&mut self, now: Instant, sample: &RateSample) {
        self.delivered = sample.delivered;
        let in_flight = sample.in_flight as f64;
        if self.observe_rate(sample) {
            self.look_for_full_pipe();
        }
        if self.state == State::Startup && self.is_filled() {
            self.state = State::Drain;
        }
        if self.state == State::Drain && in_flight <= self.inflight(1.0) {
            self.probe_rate(now);
        }
        self.advance(now, in_flight);
        self.probe_path(now, sample);
        self.set_window(sample);
    }
}
