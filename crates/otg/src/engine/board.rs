//! What is known of the flows: what is wanted of each, and what has been counted.

use crate::flow::FlowPlan;
use std::collections::{BTreeMap, BTreeSet};
use trial::{DelayVariation, Histogram, Sample, StreamId, TrialResult};
use units::{Duration, Instant};

/// What is wanted of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transmit {
    /// Nothing.
    Stopped,
    /// It is sent.
    Started,
    /// It goes on later where it is now.
    Paused,
}

/// What was counted of a leg.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Counts {
    /// Frames sent.
    pub sent: u64,
    /// Frames received where they should arrive, a second copy too.
    pub received: u64,
    /// Their bytes, with FCS.
    pub received_bytes: u64,
    /// Frames missing, as far as that is known.
    pub lost: u64,
    /// Latency, where frames bear a time.
    pub latency: Option<Histogram>,
    /// Of the frames received, second copies.
    pub duplicates: u64,
    /// Frames that came behind a later one.
    pub reordered: u64,
    /// Frames whose signature was damaged.
    pub corrupted: u64,
    /// Differences of latency from frame to frame.
    pub variation: DelayVariation,
    /// First arrival and last, on the tester's clock.
    pub first_at: Option<Instant>,
    /// The last one.
    pub last_at: Option<Instant>,
}

impl Counts {
    fn add(&mut self, other: &Counts) {
        self.sent += other.sent;
        self.received += other.received;
        self.received_bytes += other.received_bytes;
        self.lost += other.lost;
        self.duplicates += other.duplicates;
        self.reordered += other.reordered;
        self.corrupted += other.corrupted;
        self.variation.merge(&other.variation);
        self.first_at = self.first_at.into_iter().chain(other.first_at).min();
        self.last_at = self.last_at.into_iter().chain(other.last_at).max();
        match (&mut self.latency, &other.latency) {
            (Some(all), Some(more)) => all.merge(more),
            (none @ None, Some(first)) => *none = Some(first.clone()),
            (_, None) => {}
        }
    }
}

/// A leg.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LegState {
    /// Frames still to be sent; none where it goes on.
    pub remaining: Option<u64>,
    /// In trials that are over.
    pub settled: Counts,
    /// In the trial that runs.
    pub live: Counts,
    /// Frames a second sent and received, between the last two samples.
    pub rates: (f64, f64),
}

impl LegState {
    /// All that was counted.
    pub fn total(&self) -> Counts {
        let mut total = self.settled.clone();
        total.add(&self.live);
        total
    }
}

/// A flow.
#[derive(Clone, PartialEq, Debug)]
pub struct FlowState {
    /// What is wanted of it.
    pub transmit: Transmit,
    /// In the order of its plan's.
    pub legs: Vec<LegState>,
    /// Why its counts say nothing about the device: what the tester lacked since it was started.
    pub fell_short: BTreeSet<String>,
}

/// All flows.
#[derive(Clone, PartialEq, Debug)]
pub struct Board {
    /// What they are.
    pub plans: Vec<FlowPlan>,
    /// How they are, in the same order.
    pub flows: Vec<FlowState>,
    /// Whether somebody sends.
    pub running: bool,
    /// Grows whenever whoever sends has taken in what is wanted.
    pub rounds: u64,
    /// Why sending broke off.
    pub broken: Option<String>,
    /// What the client is to be told with the next answer that takes warnings.
    pub notes: Vec<String>,
    /// Trials so far: each has a key of its own.
    pub trials: u64,
}

/// Which leg a stream of a trial is: flow and leg.
pub type Streams = BTreeMap<StreamId, (usize, usize)>;

impl Board {
    /// Nothing sent yet.
    pub fn new(plans: Vec<FlowPlan>) -> Board {
        let stopped = |plan: &FlowPlan| FlowState {
            transmit: Transmit::Stopped,
            legs: vec![LegState::default(); plan.legs.len()],
            fell_short: BTreeSet::new(),
        };
        let flows = plans.iter().map(stopped).collect();
        let (broken, notes) = (None, vec![]);
        Board { plans, flows, running: false, rounds: 0, broken, notes, trials: 0 }
    }

    /// Sends a flow from its beginning; what was counted is forgotten.
    pub fn begin(&mut self, flow: usize) {
        let legs = self.plans[flow].legs.iter();
        let fresh = legs.map(|leg| LegState { remaining: leg.pace.frames, ..LegState::default() });
        let (legs, fell_short) = (fresh.collect(), BTreeSet::new());
        self.flows[flow] = FlowState { transmit: Transmit::Started, legs, fell_short };
    }

    /// Takes in what was counted while a trial runs.
    pub fn sample(&mut self, streams: &Streams, sample: &Sample, before: Option<&Sample>) {
        let since =
            before.map_or(sample.elapsed, |before| sample.elapsed.saturating_sub(before.elapsed));
        for (stream, (flow, leg)) in streams {
            let plan = &self.plans[*flow].legs[*leg];
            let state = &mut self.flows[*flow].legs[*leg];
            let last = (state.live.sent, state.live.received);
            let sent = sample.sent_of(*stream);
            let was_sent = before.map_or(0, |before| before.sent_of(*stream));
            let mut counts = Counts { sent, ..Counts::default() };
            let here = sample.received.iter().filter(|here| here.stream == *stream);
            for here in here.filter(|here| plan.to.contains(&here.port)) {
                counts.received += here.unique + here.duplicates;
                // Ports are not read at the same moment; what has arrived was sent.
                counts.sent = counts.sent.max(here.next_expected);
                counts.lost += here.next_expected.max(was_sent).saturating_sub(here.unique);
                counts.add(&Counts { latency: Some(here.latency.clone()), ..Counts::default() });
            }
            if plan.to.len() > 1 {
                counts.lost = was_sent.saturating_sub(counts.received);
            }
            counts.received_bytes = plan.frames.bytes_of(counts.received);
            let seconds = since.as_secs_f64();
            if seconds > 0.0 {
                let rate = |now: u64, last: u64| now.saturating_sub(last) as f64 / seconds;
                state.rates = (rate(counts.sent, last.0), rate(counts.received, last.1));
            }
            (counts.first_at, counts.last_at) = (state.live.first_at, state.live.last_at);
            state.live = counts;
        }
    }

    /// Takes in a trial that is over. `planned` are the frames of each stream that were due.
    pub fn settle(
        &mut self,
        streams: &Streams,
        result: &TrialResult,
        planned: &BTreeMap<StreamId, u64>,
    ) {
        let reasons = result.invalid_reasons();
        for (stream, (flow, leg)) in streams {
            self.flows[*flow].fell_short.extend(reasons.iter().map(ToString::to_string));
            let plan = &self.plans[*flow].legs[*leg];
            let counts = counts_of(result, *stream, plan);
            let state = &mut self.flows[*flow].legs[*leg];
            let done = match plan.pace.by_time {
                true => planned.get(stream).copied().unwrap_or(0).max(counts.sent),
                false => counts.sent,
            };
            state.remaining = state.remaining.map(|remaining| remaining.saturating_sub(done));
            state.settled.add(&counts);
            state.live = Counts::default();
            state.rates = (0.0, 0.0);
        }
    }
}

fn counts_of(result: &TrialResult, stream: StreamId, plan: &crate::flow::Leg) -> Counts {
    let sent = result.streams.iter().find(|of| of.id == stream).map_or(0, |of| of.sent);
    let mut counts = Counts { sent, ..Counts::default() };
    let mut unique = 0;
    let all = result.received.iter().flat_map(|port| &port.streams);
    for here in all.filter(|here| here.stream == stream && plan.to.contains(&here.port)) {
        let account = &here.account;
        unique += account.unique;
        let again = account.duplicates + account.late;
        let mean = |bytes: u64| bytes.checked_div(account.unique).unwrap_or(0);
        counts.add(&Counts {
            received: account.unique + again,
            received_bytes: account.unique_bytes + again * mean(account.unique_bytes),
            duplicates: account.duplicates,
            reordered: account.reordered,
            corrupted: account.corrupted,
            variation: account.variation,
            latency: Some(account.latency.clone()),
            first_at: account.first_at,
            last_at: account.last_at,
            ..Counts::default()
        });
    }
    counts.lost = sent.saturating_sub(unique);
    counts
}

/// How often flows are looked at while they are sent.
pub const EVERY: Duration = Duration::from_ms(100);
