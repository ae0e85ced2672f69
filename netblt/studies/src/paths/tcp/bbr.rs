//! BBR version 1 (draft-cardwell-iccrg-bbr-congestion-control-00): the bottleneck's rate is the highest
//! rate of delivery of the last ten round trips, the path the shortest round trip of the last ten seconds.
//!
//! Where Linux (`net/ipv4/tcp_bbr.c`) departs from the draft, or says more, this is Linux: phases drawn, the margin of
//! the pacing, the budget for packets at the ends, packets acknowledged at once, recovery. Left out: its detection of
//! policers (it needs a fifth of the packets lost), and the groups of packets that a host sends at once.

use super::aggregation::Aggregation;
use super::delivery::RateSample;
use super::{INITIAL_WINDOW, Window};
use crate::rfc1030::Dice;
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
/// Linux, bbr_cycle_rand: so many of them may be the first.
const FIRST_PHASES: usize = 7;
/// Section 4.2.3.2: cwnd_gain in ProbeBW.
const WINDOW_GAIN: f64 = 2.0;
/// Section 4.2.3: BBRMinPipeCwnd.
const LEAST_WINDOW: f64 = 4.0;
/// Section 4.2.3.2: send quanta at the ends of a path.
const QUANTA: f64 = 3.0;
/// Linux, tcp_tso_autosize: a send quantum is what leaves in 1/1024 s, up to 64 KiB of 1,448 bytes. From 1.2 Mb/s on it
/// is two packets at least (section 4.2.2: BBRMinTsoRate).
const QUANTUM_S: f64 = 1.0 / 1024.0;
const MOST_QUANTUM: f64 = 45.0;
const TWO_FROM_PPS: f64 = 1.2e6 / 8.0 / 1448.0;
/// Linux, bbr_pacing_margin_percent: the pace is that much below the rate.
const MARGIN: f64 = 0.01;
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
    /// Until then, and until a packet was delivered that left after so many, once the window has drained.
    ProbePath {
        until: Option<(Instant, u64)>,
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
    /// Lost packets are being sent again.
    recovering: bool,
    /// Of that, the first round trip: packets are conserved.
    conserving: bool,
    delivered: u64,
    aggregation: Aggregation,
    dice: Dice,
}

impl Bbr {
    /// Phases are drawn from the dice.
    pub fn new(dice: Dice) -> Bbr {
        Bbr {
            state: State::Startup,
            window: INITIAL_WINDOW,
            rates: VecDeque::new(),
            round: 0,
            round_ends: 0,
            path: None,
            full_pps: 0.0,
            full_rounds: 0,
            prior: 0.0,
            recovering: false,
            conserving: false,
            delivered: 0,
            aggregation: Aggregation::default(),
            dice,
        }
    }

    fn rate_pps(&self) -> Option<f64> {
        self.rates.front().map(|(_, pps)| *pps)
    }
    fn gain(&self) -> f64 {
        match self.state {
            State::Startup => HIGH_GAIN,
            State::Drain => 1.0 / HIGH_GAIN,
            State::ProbeRate { phase, .. } => CYCLE[phase],
            State::ProbePath { .. } => 1.0,
        }
    }
    /// Before the first sample a round trip of a millisecond is assumed (section 4.2.1).
    fn pace_pps(&self) -> f64 {
        self.gain() * self.rate_pps().map_or(INITIAL_WINDOW / 0.001, |pps| pps * (1.0 - MARGIN))
    }
    /// Packets that fill the path, times `gain`.
    fn bdp(&self, gain: f64) -> f64 {
        match (self.rate_pps(), self.path) {
            (Some(pps), Some((path, _))) => (gain * pps * path.as_secs_f64()).ceil(),
            _ => INITIAL_WINDOW,
        }
    }
    /// Linux, bbr_quantization_budget: with what is at the ends, an even number, and two more where it probes.
    fn with_budget(&self, packets: f64) -> f64 {
        let pace_pps = self.pace_pps();
        let least = if pace_pps < TWO_FROM_PPS { 1.0 } else { 2.0 };
        let quantum = (pace_pps * QUANTUM_S).floor().clamp(least, MOST_QUANTUM);
        let probes = matches!(self.state, State::ProbeRate { phase: 0, .. });
        ((packets + QUANTA * quantum) / 2.0).ceil() * 2.0 + if probes { 2.0 } else { 0.0 }
    }
    fn inflight(&self, gain: f64) -> f64 {
        self.with_budget(self.bdp(gain))
    }
    fn is_filled(&self) -> bool {
        self.full_rounds >= FULL_ROUNDS
    }

    /// Section 4.1.1: the round trip and the highest rate. Rates that the sender itself kept low count only if they
    /// are the highest.
    fn observe_rate(&mut self, sample: &RateSample) -> bool {
        let Some(pps) = sample.pps else { return false };
        let begins = sample.delivered_before >= self.round_ends;
        if begins {
            self.round_ends = sample.delivered;
            self.round += 1;
            self.conserving = false;
        }
        if !sample.limited || self.rate_pps().is_none_or(|highest| pps >= highest) {
            self.rates.retain(|(_, old)| *old > pps);
            self.rates.push_back((self.round, pps));
            while self.rates[0].0 + RATE_ROUNDS <= self.round {
                self.rates.pop_front();
            }
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

    /// The first phase is drawn: any but the one that drains (section 4.3.4.3).
    fn probe_rate(&mut self, now: Instant) {
        let drawn = (self.dice.unit() * FIRST_PHASES as f64) as usize;
        let phase = (CYCLE.len() - drawn) % CYCLE.len();
        self.state = State::ProbeRate { phase, since: now };
    }

    /// Section 4.3.4.3.
    fn advance(&mut self, now: Instant, sample: &RateSample) {
        let State::ProbeRate { phase, since } = self.state else { return };
        let path = self.path.map_or(Duration::ZERO, |(path, _)| path);
        let elapsed = now.since(since) > path;
        let gain = CYCLE[phase];
        let in_flight = (sample.in_flight + sample.new + sample.lost) as f64;
        let next = match gain {
            gain if gain > 1.0 => elapsed && (sample.lost > 0 || in_flight >= self.inflight(gain)),
            gain if gain < 1.0 => elapsed || in_flight <= self.inflight(1.0),
            _ => elapsed,
        };
        if next {
            self.state = State::ProbeRate { phase: (phase + 1) % CYCLE.len(), since: now };
        }
    }

    /// Linux, bbr_save_cwnd.
    fn save_window(&mut self) {
        let cut = self.recovering || matches!(self.state, State::ProbePath { .. });
        self.prior = if cut { self.prior.max(self.window) } else { self.window };
    }

    /// Sections 4.1.2.3 and 4.3.5.
    fn probe_path(&mut self, now: Instant, sample: &RateSample) {
        let expired = self.path.is_some_and(|(_, seen)| now.since(seen) > PATH_AGE);
        if self.path.is_none_or(|(path, _)| sample.round_trip <= path) || expired {
            self.path = Some((sample.round_trip, now));
        }
        match self.state {
            State::ProbePath { until: None } if sample.in_flight as f64 <= LEAST_WINDOW => {
                self.state = State::ProbePath { until: Some((now + PROBE_PATH, self.delivered)) };
            }
            State::ProbePath { until: Some((until, delivered)) }
                if now >= until && sample.delivered_before >= delivered =>
            {
                self.path = self.path.map(|(path, _)| (path, now));
                self.window = self.window.max(self.prior);
                match self.is_filled() {
                    true => self.probe_rate(now),
                    false => self.state = State::Startup,
                }
            }
            State::ProbePath { .. } => {}
            _ if expired => {
                self.save_window();
                self.state = State::ProbePath { until: None };
            }
            _ => {}
        }
    }

    /// Section 4.2.3.4: packet conservation for a round trip, then slow start, then back to what it was.
    fn recover(&mut self, sample: &RateSample) {
        let (new, in_flight) = (sample.new as f64, sample.in_flight as f64);
        self.window = (self.window - sample.lost as f64).max(1.0);
        match (self.recovering, sample.recovering) {
            (false, true) => {
                self.conserving = true;
                self.round_ends = self.delivered;
                self.window = in_flight + new;
            }
            (true, false) => {
                self.conserving = false;
                self.window = self.window.max(self.prior);
            }
            _ => {}
        }
        self.recovering = sample.recovering;
        if self.conserving {
            self.window = self.window.max(in_flight + new);
        }
    }

    /// Section 4.2.3.
    fn set_window(&mut self, sample: &RateSample) {
        let new = sample.new as f64;
        if sample.new > 0 {
            self.recover(sample);
            if !self.conserving {
                let gain = match self.state {
                    State::Startup | State::Drain => HIGH_GAIN,
                    State::ProbeRate { .. } => WINDOW_GAIN,
                    State::ProbePath { .. } => 1.0,
                };
                let filled = self.is_filled();
                let at_once = if filled { self.aggregation.most(self.rate_pps()) } else { 0.0 };
                let target = self.with_budget(self.bdp(gain) + at_once);
                if filled {
                    self.window = (self.window + new).min(target);
                } else if self.window < target || (self.delivered as f64) < INITIAL_WINDOW {
                    self.window += new;
                }
                self.window = self.window.max(LEAST_WINDOW);
            }
        }
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
    fn lost(&mut self, _now: Instant) {
        self.save_window();
    }
    /// Linux, bbr_set_state.
    fn timed_out(&mut self) {
        self.save_window();
        self.recovering = true;
        self.full_pps = 0.0;
        self.window = 1.0;
    }
    fn pacing_pps(&self) -> Option<f64> {
        Some(self.pace_pps())
    }
    fn limits_itself(&self) -> bool {
        matches!(self.state, State::ProbePath { .. })
    }
    fn sampled(&mut self, now: Instant, sample: &RateSample) {
        self.delivered = sample.delivered;
        let begins = self.observe_rate(sample);
        self.aggregation.observe(now, begins, sample.new, (self.rate_pps(), self.window));
        self.advance(now, sample);
        if begins && !sample.limited {
            self.look_for_full_pipe();
        }
        if self.state == State::Startup && self.is_filled() {
            self.state = State::Drain;
        }
        if self.state == State::Drain && sample.in_flight as f64 <= self.inflight(1.0) {
            self.probe_rate(now);
        }
        self.probe_path(now, sample);
        self.set_window(sample);
    }
}

#[cfg(test)]
mod tests;
