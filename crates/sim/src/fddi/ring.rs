//! A ring of stations with a timed token (ANSI X3.139), asynchronous traffic only.
//!
//! Each station notes when the token came (TRT). If it comes back early, the station may hold it for the
//! time by which it was early (THT), and start frames as long as that lasts; then it passes the token on.
//! If the token is late, it passes it on at once. Where no token comes, stations claim: each sends its
//! bid for the target token rotation time (TTRT), the lowest wins, and its station issues a token. The
//! first two rotations after that carry no asynchronous frames.
//!
//! The ring is looked at when something happens; whole rotations of an idle one are skipped.

use super::{
    CLAIM_SYMBOLS, RATE, SYMBOL, TOKEN_SYMBOLS, VALID_TRANSMISSION, WITHIN_BYTES, time_of_frame,
};
use crate::Frame;
use std::collections::VecDeque;
use units::{Duration, Instant};

/// Rotations after a claim in which no asynchronous frame may be sent.
const SILENT_ROTATIONS: u32 = 2;

/// Of a transmitter's intervals: a longer gap is no wait for a token.
const OVERRUN_GAPS_MAX: u64 = 4;

/// How a station is set up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StationSetup {
    /// What it bids for TTRT (T_Req).
    pub bid: Duration,
    /// Frames that it sends by one token at most; else as many as the token holding time takes.
    pub frames_per_token: Option<u32>,
}

/// What a ring has counted since the beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct RingCounts {
    /// Times that stations claimed and a new token came of it, the first included.
    pub claims: u64,
    /// Tokens that were late, and could not be used.
    pub late_tokens: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Ring {
    stations: Vec<Station>,
    /// From a station to the next one: its latency and the fibre.
    hop: Duration,
    /// What the winner of the last claim bid (T_Opr).
    pub(super) ttrt: Duration,
    pub(super) token: Token,
    counts: RingCounts,
}

#[derive(Clone, Debug)]
struct Station {
    setup: StationSetup,
    waiting: VecDeque<(Instant, Frame)>,
    in_flight: VecDeque<(Instant, Frame)>,
    /// When its token rotation timer began anew.
    rotation_began: Instant,
    is_late: bool,
    silent_rotations: u32,
    /// Where it begins a frame without the token when it is a whole frame behind.
    overrun: Option<Overrun>,
}

/// A transmitter that keeps its own time: a frame each interval. When it is a whole interval behind, it
/// begins without the token, which is lost by that.
#[derive(Clone, Copy, Debug)]
struct Overrun {
    interval: Duration,
    behind: Duration,
    last: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Token {
    /// Its last symbol reaches a station.
    Arrives { station: usize, at: Instant },
    /// A station has it and may start frames at `at`, up to `until`; it has sent so many.
    Held { station: usize, at: Instant, until: Instant, sent: u32 },
    /// Stations claim; its winner issues the next one at `until`.
    Claimed { winner: usize, until: Instant },
}

impl Ring {
    /// A ring that claims at the beginning; `hop` from each station to the next.
    pub(crate) fn new(stations: &[StationSetup], hop: Duration) -> Self {
        let station = |setup: &StationSetup| Station {
            setup: *setup,
            waiting: VecDeque::new(),
            in_flight: VecDeque::new(),
            rotation_began: Instant::ZERO,
            is_late: false,
            silent_rotations: 0,
            overrun: None,
        };
        let mut ring = Ring {
            stations: stations.iter().map(station).collect(),
            hop,
            ttrt: Duration::ZERO,
            token: Token::Claimed { winner: 0, until: Instant::ZERO },
            counts: RingCounts::default(),
        };
        ring.claim(Instant::ZERO);
        ring
    }

    /// Once around, without token or frames.
    pub(crate) fn latency(&self) -> Duration {
        self.hop * self.stations.len() as u64
    }

    pub(crate) fn counts(&self) -> RingCounts {
        self.counts
    }

    /// Has a station keep its own time, from now on.
    pub(crate) fn overruns_after(&mut self, station: usize, interval: Duration) {
        let overrun = Overrun { interval, behind: Duration::ZERO, last: None };
        self.stations[station].overrun = Some(overrun);
    }

    /// The token is lost at `at`: stations claim as soon as the timer of valid transmissions is over.
    #[cfg(test)]
    pub(crate) fn lose_token(&mut self, at: Instant) {
        self.advance(at);
        self.claim(at + VALID_TRANSMISSION);
    }

    /// All stations send claim frames from `from` on. Each that hears a lower bid than its own repeats it;
    /// the lowest comes back to its station, which has won. Of equal bids that of the highest address wins.
    fn claim(&mut self, from: Instant) {
        let bids = self.stations.iter().enumerate();
        let lowest = bids.min_by_key(|(index, of)| (of.setup.bid, usize::MAX - index));
        let (winner, bid) = lowest.map_or((0, Duration::ZERO), |(index, of)| (index, of.setup.bid));
        let until = from + SYMBOL * CLAIM_SYMBOLS + self.latency();
        self.ttrt = bid;
        self.counts.claims += 1;
        for station in &mut self.stations {
            (station.rotation_began, station.is_late) = (until, false);
            station.silent_rotations = SILENT_ROTATIONS;
        }
        self.token = Token::Claimed { winner, until };
    }

    /// When a station may start a frame as far as it can tell at `now`; [`Instant::FAR_FUTURE`] while it
    /// still has one to get rid of.
    pub(crate) fn free_at(&self, station: usize, now: Instant) -> Instant {
        match self.stations[station].waiting.is_empty() {
            true => self.token_at(station, now),
            false => Instant::FAR_FUTURE,
        }
    }

    /// Gives a station a frame; it leaves by the next token that may be used.
    pub(crate) fn send(&mut self, station: usize, now: Instant, frame: Frame) {
        self.advance(now);
        self.stations[station].waiting.push_back((now, frame));
        self.advance(now);
    }

    /// Frames of a station that have not arrived.
    pub(crate) fn waiting(&self, station: usize) -> u64 {
        let of = &self.stations[station];
        (of.waiting.len() + of.in_flight.len()) as u64
    }

    /// Takes back the frames with which a station waits for a token; how many.
    pub(crate) fn withdraw(&mut self, station: usize) -> u64 {
        self.stations[station].waiting.drain(..).count() as u64
    }

    /// When something happens next: a frame arrives, or a token may be taken.
    pub(crate) fn next_event(&self) -> Option<Instant> {
        let arrivals =
            self.stations.iter().filter_map(|of| of.in_flight.front().map(|(at, _)| *at));
        let wants = self.stations.iter().enumerate();
        let wants = wants.filter_map(|(index, of)| Some((index, of.waiting.front()?.0)));
        arrivals.chain(wants.map(|(index, since)| self.token_at(index, since))).min()
    }

    /// The next frame of a station whose last bit has arrived at the one after it, and when.
    pub(crate) fn receive(&mut self, station: usize, now: Instant) -> Option<(Instant, Frame)> {
        self.advance(now);
        let in_flight = &mut self.stations[station].in_flight;
        in_flight.front().filter(|(at, _)| *at <= now)?;
        in_flight.pop_front()
    }

    /// The first time from `from` on at which a station has the token, where no other holds it for longer
    /// than it does now.
    fn token_at(&self, station: usize, from: Instant) -> Instant {
        let (next, at) = match self.token {
            Token::Held { station: holder, at, until, sent }
                if holder == station && at >= from && self.may_send(station, (at, until), sent) =>
            {
                return at;
            }
            Token::Held { station: holder, at, .. } => (self.after(holder), self.passed_on(at)),
            Token::Arrives { station, at } => (station, at),
            Token::Claimed { winner, until } => (self.after(winner), self.passed_on(until)),
        };
        let ahead = (station + self.stations.len() - next) % self.stations.len();
        let silent = u64::from(self.stations[station].silent_rotations);
        let arrives = at + self.hop * ahead as u64 + self.latency() * silent;
        let behind = from.since(arrives).as_ps();
        arrives + self.latency() * behind.div_ceil(self.latency().as_ps().max(1))
    }

    /// Whether a station that has sent so many by a token may send one more at `at`.
    fn may_send(&self, station: usize, (at, until): (Instant, Instant), sent: u32) -> bool {
        let limit = self.stations[station].setup.frames_per_token;
        at < until && limit.is_none_or(|most| sent < most)
    }

    fn after(&self, station: usize) -> usize {
        (station + 1) % self.stations.len()
    }

    /// When a token that is sent at `at` has reached the next station.
    fn passed_on(&self, at: Instant) -> Instant {
        at + SYMBOL * TOKEN_SYMBOLS + self.hop
    }

    /// Everything before `now`, and at `now` what is decided by then: a station that has no frame may still
    /// be given one.
    pub(super) fn advance(&mut self, now: Instant) {
        loop {
            match self.token {
                Token::Claimed { winner, until } if until <= now => {
                    let at = self.passed_on(until);
                    self.token = Token::Arrives { station: self.after(winner), at };
                }
                Token::Arrives { station, at } if at <= now => {
                    if !self.skip_idle(station, at, now) {
                        self.arrive(station, at);
                    }
                }
                Token::Held { station, at, until, sent } if at <= now => {
                    let may_send = self.may_send(station, (at, until), sent);
                    let has_frame = self.stations[station].has_frame(at);
                    if may_send && has_frame {
                        let began = at;
                        let at = self.start(station, at);
                        self.token = Token::Held { station, at, until, sent: sent + 1 };
                        if self.stations[station].overruns(began) {
                            self.claim(at + VALID_TRANSMISSION);
                        }
                    } else if may_send && at == now {
                        return;
                    } else {
                        let arrives = if sent == 0 { at + self.hop } else { self.passed_on(at) };
                        self.token = Token::Arrives { station: self.after(station), at: arrives };
                    }
                }
                _ => return,
            }
        }
    }

    /// Skips whole rotations in which nobody has a frame; false where there are none.
    fn skip_idle(&mut self, station: usize, at: Instant, now: Instant) -> bool {
        let wanted = self.stations.iter().filter_map(|of| of.waiting.front().map(|(at, _)| *at));
        let until = wanted.min().unwrap_or(now).min(now);
        let rotations = until.since(at).as_ps() / self.latency().as_ps().max(1);
        if rotations <= u64::from(SILENT_ROTATIONS) + 2 {
            return false;
        }
        let skipped = self.latency() * (rotations - 1);
        for ahead in 0..self.stations.len() {
            let index = (station + ahead) % self.stations.len();
            let last = at + self.latency() * (rotations - 2) + self.hop * ahead as u64;
            let of = &mut self.stations[index];
            (of.rotation_began, of.is_late, of.silent_rotations) = (last, false, 0);
        }
        self.token = Token::Arrives { station, at: at + skipped };
        true
    }

    /// The token has come to a station: its timers say how long it may hold it.
    fn arrive(&mut self, station: usize, at: Instant) {
        let ttrt = self.ttrt;
        let of = &mut self.stations[station];
        while at >= of.rotation_began + ttrt {
            of.rotation_began += ttrt;
            of.is_late = true;
        }
        let until = match (of.is_late, of.silent_rotations) {
            // Late: the timer goes on, so that the next rotation makes up for this one.
            (true, _) => {
                of.is_late = false;
                self.counts.late_tokens += 1;
                at
            }
            (false, 0) => at + ttrt.saturating_sub(at.since(of.rotation_began)),
            (false, _) => at,
        };
        if until > at || of.silent_rotations > 0 {
            of.rotation_began = at;
        }
        of.silent_rotations = of.silent_rotations.saturating_sub(1);
        self.token = Token::Held { station, at, until, sent: 0 };
    }

    /// Sends a station's next frame; when it is out.
    fn start(&mut self, station: usize, at: Instant) -> Instant {
        let hop = self.hop;
        let of = &mut self.stations[station];
        let Some((_, frame)) = of.waiting.pop_front() else { return at };
        let size = frame.size();
        // As on every link here, a frame's time is that of its bits alone.
        let bits = RATE.time_of_bytes((size.bytes() + WITHIN_BYTES).into());
        of.in_flight.push_back((at + bits + hop, frame));
        at + time_of_frame(size)
    }
}

impl Station {
    /// Whether a frame that began at `at` was one too late for a transmitter that keeps its own time.
    /// Much later ones are no matter of tokens: it had nothing to send.
    fn overruns(&mut self, at: Instant) -> bool {
        let Some(overrun) = &mut self.overrun else { return false };
        let gap = overrun.last.map_or(overrun.interval, |last| at.since(last));
        overrun.last = Some(at);
        let late = overrun.behind + gap;
        overrun.behind = match gap > overrun.interval * OVERRUN_GAPS_MAX {
            true => Duration::ZERO,
            false => late.saturating_sub(overrun.interval),
        };
        let overruns = overrun.behind > overrun.interval;
        if overruns {
            (overrun.behind, overrun.last) = (Duration::ZERO, None);
        }
        overruns
    }

    fn has_frame(&self, at: Instant) -> bool {
        self.waiting.front().is_some_and(|(since, _)| *since <= at)
    }
}
