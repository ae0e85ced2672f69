//! What all ports send until something changes: flows that are sent, as one trial.
//!
//! Flows of a port take turns by their rates. A flow that ends earlier than another of its port ends the trial;
//! the next begins without it.

use super::board::{Board, Streams, Transmit};
use crate::flow::Leg;
use std::collections::{BTreeMap, BTreeSet};
use trial::{
    CaptureRequest, Expectation, PortId, PortLoad, Role, Schedule, Segment, Stream, StreamId,
    Trial, ValidityLimits, Waits,
};
use units::{Duration, FrameRate};
use wire::signature::{Key, RunKey};

/// More frames a port does not send in one trial: each is a bit in memory.
const FRAMES_MAX: u64 = 1 << 28;
/// No trial is longer: times are picoseconds in 64 bits.
const TIME_MAX: Duration = Duration::from_secs(86_400);
/// Turns before all flows of a port have had theirs.
const TURNS_MAX: u64 = 4_096;
/// By so much at most the rate of a flow differs from that asked for, because turns are whole.
const RATE_ERROR: f64 = 0.001;
/// Where frames are missing, or nobody knows how many should arrive, they are waited for so long: what a busy host holds
/// back is not lost. With four busy loops on two processors `ksoftirqd` waited up to 456 ms for one of them.
const DRAIN: Duration = Duration::from_secs(1);
/// Residual frames are waited for no longer.
const DRAIN_MAX: Duration = Duration::from_secs(10);

/// A trial, and what its streams are.
pub struct FlowTrial {
    /// What is run.
    pub trial: Trial,
    /// Its streams.
    pub streams: Streams,
    /// Turns of each port, with its schedule.
    loads: Vec<PortLoad>,
}

/// The turns of a port's flows, with the rate of all together.
struct Turns {
    port: PortId,
    legs: Vec<(usize, usize)>,
    /// By position in `legs`.
    order: Vec<usize>,
    rate: FrameRate,
    bursts: Option<(u64, Duration)>,
}

impl FlowTrial {
    /// Of all flows that are to be sent now; none where there are none.
    ///
    /// # Errors
    /// Where flows of a port cannot be sent together.
    pub fn of(
        board: &Board,
        run_key: RunKey,
        captures: Vec<CaptureRequest>,
    ) -> Result<Option<FlowTrial>, String> {
        let all = turns_of(board)?;
        if all.is_empty() {
            return Ok(None);
        }
        let frames = frames_of(board, &all);
        let key = Key::new(run_key, board.trials + 1);
        let (mut streams, mut built, mut loads) = (Streams::new(), vec![], vec![]);
        for (turns, frames) in all.iter().zip(frames) {
            let first = streams.len() as u16 + 1;
            for (at, (flow, leg)) in turns.legs.iter().enumerate() {
                let id = StreamId(first + at as u16);
                streams.insert(id, (*flow, *leg));
                built.push(stream(board, (*flow, *leg), (id, key)));
            }
            let segment = match turns.bursts {
                None => Segment::constant(turns.rate, frames),
                Some((burst, period)) => Segment::bursty(turns.rate, burst, period, frames),
            };
            loads.push(PortLoad {
                port: turns.port,
                schedule: Schedule { segments: vec![segment] },
                order: turns.order.iter().map(|at| StreamId(first + *at as u16)).collect(),
                insertions: vec![],
            });
        }
        let trial = Trial {
            label: format!("OTG traffic, part {}", board.trials + 1),
            key,
            streams: built,
            loads: loads.clone(),
            prelude: vec![],
            waits: Waits::until_silence(DRAIN, DRAIN_MAX, Duration::ZERO),
            tagging: None,
            count_flows: false,
            verify_payload: false,
            action: None,
            captures,
            limits: ValidityLimits::default(),
        };
        Ok(Some(FlowTrial { trial, streams, loads }))
    }

    /// Frames of each stream that were due of what a port was to send in all.
    pub fn due(&self, intended: &BTreeMap<PortId, u64>) -> BTreeMap<StreamId, u64> {
        let mut due = BTreeMap::new();
        for load in &self.loads {
            let frames = intended.get(&load.port).copied().unwrap_or(0);
            let (rounds, rest) =
                (frames / load.order.len() as u64, frames % load.order.len() as u64);
            for (at, stream) in (0..).zip(&load.order) {
                *due.entry(*stream).or_default() += rounds + u64::from(at < rest);
            }
        }
        due
    }
}

fn stream(board: &Board, (flow, leg): (usize, usize), (id, key): (StreamId, Key)) -> Stream {
    let plan = &board.plans[flow].legs[leg];
    let state = &board.flows[flow].legs[leg];
    // Frame `n` of a flow has value `n mod count` of each pattern, in whichever trial it is sent.
    let first = state.settled.sent;
    Stream {
        id,
        name: board.plans[flow].name.clone(),
        role: Role::Test,
        from: plan.from,
        expect: match &plan.to[..] {
            [one] if board.plans[flow].is_counted => Expectation::Ports(vec![*one]),
            _ => Expectation::Unchecked,
        },
        frames: plan.frames.ready(first % plan.frames.period(), key, id.0),
        fingerprint: None,
        given_up: vec![],
        bad_fcs: false,
        grows_by_bytes: 0,
    }
}

fn turns_of(board: &Board) -> Result<Vec<Turns>, String> {
    let mut by_port: BTreeMap<PortId, Vec<(usize, usize)>> = BTreeMap::new();
    for (flow, state) in board.flows.iter().enumerate() {
        for (leg, of_leg) in state.legs.iter().enumerate() {
            if state.transmit == Transmit::Started && of_leg.remaining != Some(0) {
                by_port.entry(board.plans[flow].legs[leg].from).or_default().push((flow, leg));
            }
        }
    }
    by_port.into_iter().map(|(port, legs)| turns(board, port, legs)).collect()
}

fn turns(board: &Board, port: PortId, legs: Vec<(usize, usize)>) -> Result<Turns, String> {
    let plans: Vec<&Leg> = legs.iter().map(|(flow, leg)| &board.plans[*flow].legs[*leg]).collect();
    let names: BTreeSet<&str> =
        legs.iter().map(|(flow, _)| board.plans[*flow].name.as_str()).collect();
    if let [only] = &plans[..] {
        let pace = only.pace;
        return Ok(Turns { port, legs, order: vec![0], rate: pace.rate, bursts: pace.bursts });
    }
    if plans.iter().any(|plan| plan.pace.bursts.is_some()) {
        let names: Vec<&str> = names.into_iter().collect();
        return Err(format!(
            "{}: a flow of bursts must be alone on its port while it is sent",
            names.join(", ")
        ));
    }
    let rates: Vec<f64> = plans.iter().map(|plan| plan.pace.rate.fps()).collect();
    let weights = weights(&rates).ok_or_else(|| {
        let names: Vec<&str> = names.into_iter().collect();
        format!(
            "{}: their rates on one port have no ratio of whole turns below {TURNS_MAX}; choose rates such as \
             1000 and 250",
            names.join(", ")
        )
    })?;
    let order = spread(&weights);
    Ok(Turns { port, legs, order, rate: FrameRate::from_fps_f64(rates.iter().sum()), bursts: None })
}

/// Whole numbers in the ratio of these rates.
fn weights(rates: &[f64]) -> Option<Vec<u64>> {
    let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let all: f64 = rates.iter().sum();
    let most = (TURNS_MAX as f64 * least / all) as u64;
    (1..=most).find_map(|of_least| {
        let exact: Vec<f64> = rates.iter().map(|rate| rate / least * of_least as f64).collect();
        let is_near =
            exact.iter().all(|weight| (weight.round() / weight - 1.0).abs() <= RATE_ERROR);
        is_near.then(|| exact.iter().map(|weight| weight.round() as u64).collect())
    })
}

/// A round in which each has as many turns as its weight: always the one that is the longest overdue.
fn spread(weights: &[u64]) -> Vec<usize> {
    let all: i64 = weights.iter().sum::<u64>() as i64;
    let mut overdue = vec![0; weights.len()];
    let turn = |_| {
        overdue.iter_mut().zip(weights).for_each(|(due, weight)| *due += *weight as i64);
        let most = overdue.iter().copied().max().unwrap_or(0);
        let next = overdue.iter().position(|due| *due == most).unwrap_or(0);
        overdue[next] -= all;
        next
    };
    (0..all).map(turn).collect()
}

/// How many frames each port sends: until a flow would send one too many, and no port longer than until another
/// must change its turns.
fn frames_of(board: &Board, all: &[Turns]) -> Vec<u64> {
    let wanted: Vec<(u64, bool)> = all.iter().map(|turns| until_change(board, turns)).collect();
    let time = |turns: &Turns, frames: u64| match turns.bursts {
        None => turns.rate.departure(frames),
        Some((burst, period)) => period * (frames / burst) + turns.rate.departure(frames % burst),
    };
    let changes = all.iter().zip(&wanted).filter(|(_, (_, goes_on))| *goes_on);
    let ends_at = changes.map(|(turns, (frames, _))| time(turns, *frames)).min();
    let ends_at = ends_at.unwrap_or(TIME_MAX).min(TIME_MAX);
    let cut = |(turns, (frames, goes_on)): (&Turns, &(u64, bool))| match turns.bursts {
        // The port whose end it is keeps its last frame, whatever rounding says.
        _ if *goes_on && time(turns, *frames) == ends_at => *frames,
        None => (*frames).min(turns.rate.frames_in(ends_at)),
        Some((burst, period)) => {
            let bursts = ends_at.as_ps() / period.as_ps().max(1) + 1;
            (*frames).min(bursts.saturating_mul(burst))
        }
    };
    all.iter().zip(&wanted).map(cut).collect()
}

/// Frames until a flow of the port would send one too many, and whether another goes on then.
fn until_change(board: &Board, turns: &Turns) -> (u64, bool) {
    let round = turns.order.len() as u64;
    let remaining = |at: usize| {
        let (flow, leg) = turns.legs[at];
        board.flows[flow].legs[leg].remaining
    };
    let end_of = |at: usize| {
        let own: Vec<u64> =
            (0..).zip(&turns.order).filter(|(_, of)| **of == at).map(|(k, _)| k).collect();
        let (turns, left) = (own.len() as u64, remaining(at)?);
        Some((left / turns).saturating_mul(round).saturating_add(own[(left % turns) as usize]))
    };
    let frames = (0..turns.legs.len()).filter_map(end_of).min().unwrap_or(u64::MAX);
    let most = FRAMES_MAX.min(turns.rate.frames_in(TIME_MAX));
    if frames > most {
        return (most, true);
    }
    let sent = |at: usize| {
        let turn_of = |count: u64| {
            turns.order.iter().take(count as usize).filter(|of| **of == at).count() as u64
        };
        frames / round * turn_of(round) + turn_of(frames % round)
    };
    let goes_on = (0..turns.legs.len()).any(|at| remaining(at).is_none_or(|left| left > sent(at)));
    (frames, goes_on)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_in_the_ratio_of_the_rates() {
        assert_eq!(weights(&[1_000.0, 250.0]), Some(vec![4, 1]));
        assert_eq!(weights(&[300.0, 200.0]), Some(vec![3, 2]));
        assert_eq!(weights(&[1e6, 1.0]), None);
        let near = weights(&[1_000.0, 333.333]).unwrap();
        assert!((near[0] as f64 / near[1] as f64 - 3.0).abs() < 0.01);
    }

    #[test]
    fn turns_are_spread() {
        assert_eq!(spread(&[3, 1]), [0, 0, 1, 0]);
    }
}
