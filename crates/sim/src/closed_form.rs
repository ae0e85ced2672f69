//! A tester that computes a trial's counts instead of moving frames, for tests of searches.

use std::collections::BTreeMap;
use trial::{
    Deferred, FlowCounts, Histogram, Missing, Paused, PortCounters, PortId, PortReceived, Slips,
    StreamAccount, StreamReceived, Tester, TesterDescription, TesterError, TransmitReport, Trial,
    TrialResult,
};
use units::{Duration, FrameRate, Instant};

use crate::SimPort;

/// What a device sees of one transmitting port in a trial.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Offered {
    /// Number of the trial on this tester, from 0.
    pub trial: u64,
    /// Where the frames come from.
    pub port: PortId,
    /// Mean rate over the schedule.
    pub rate: FrameRate,
    /// Frames of the schedule.
    pub frames: u64,
    /// Mean frame size, FCS included.
    pub frame_size_bytes: f64,
}

/// What becomes of it.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Response {
    /// Frames that the device loses.
    pub lost: u64,
    /// Rate at which the tester really sent, where it fell short.
    pub reached: Option<FrameRate>,
    /// Frames that the tester itself lost.
    pub dropped_by_tester: u64,
    /// Latency of every frame.
    pub latency: Duration,
}

/// The law of a device and its tester: from what is offered to what becomes of it.
pub trait Law {
    /// Decides over one port of one trial.
    fn respond(&mut self, offered: Offered) -> Response;
}

impl<F: FnMut(Offered) -> Response> Law for F {
    fn respond(&mut self, offered: Offered) -> Response {
        self(offered)
    }
}

/// A tester that applies a [`Law`].
pub struct ClosedForm<L> {
    description: TesterDescription,
    law: L,
    now: Instant,
    trials: u64,
}

const TICK: Duration = Duration::from_ns(1);

impl<L: Law> ClosedForm<L> {
    /// A tester with these ports.
    pub fn new(ports: &[SimPort], law: L) -> Self {
        let frames = crate::SimTester::new(ports, crate::Patch::default());
        let mut description = trial::Tester::describe(&frames).clone();
        description.tick = TICK;
        ClosedForm { description, law, now: Instant::ZERO, trials: 0 }
    }
    /// Trials run so far.
    pub fn trials(&self) -> u64 {
        self.trials
    }
    /// Virtual time passed so far.
    pub fn now(&self) -> Instant {
        self.now
    }
}

impl<L: Law> Tester for ClosedForm<L> {
    fn describe(&self) -> &TesterDescription {
        &self.description
    }

    fn run(&mut self, trial: &Trial) -> Result<TrialResult, TesterError> {
        self.now += trial.prelude.iter().map(|prelude| prelude.wait).sum();
        let start = self.now;
        let mut reports = vec![];
        let mut received: BTreeMap<PortId, PortReceived> = BTreeMap::new();
        let mut drops: BTreeMap<PortId, u64> = BTreeMap::new();
        for load in &trial.loads {
            let [stream] = load.order[..] else {
                let what = "a closed form knows one stream a port, without insertions";
                return Err(TesterError::BadTrial(what.into()));
            };
            let stream = trial.streams.iter().find(|candidate| candidate.id == stream);
            let stream = stream.ok_or_else(|| TesterError::BadTrial("no such stream".into()))?;
            let frames = load.schedule.frames();
            let response = self.law.respond(Offered {
                trial: self.trials,
                port: load.port,
                rate: load.schedule.mean_rate(),
                frames,
                frame_size_bytes: stream.mean_frame_size_bytes(),
            });
            let rate = response.reached.unwrap_or(load.schedule.mean_rate());
            reports.push((report(trial, load.port, stream.id, frames, rate, start), 0));
            let trial::Expectation::Ports(ports) = &stream.expect else { continue };
            for port in ports {
                let arrived = frames.saturating_sub(response.lost + response.dropped_by_tester);
                *drops.entry(*port).or_default() += response.dropped_by_tester;
                let account = account(arrived, response.latency);
                let missing = missing(arrived, frames);
                received.entry(*port).or_insert_with(|| PortReceived::nothing(*port)).streams.push(
                    StreamReceived {
                        port: *port,
                        stream: stream.id,
                        expected: true,
                        unchecked: false,
                        missing,
                        flows: FlowCounts::default(),
                        account,
                    },
                );
            }
        }
        self.trials += 1;
        self.now += trial.duration() + trial.waits.drain + trial.waits.settle;
        let counters = drops.into_iter().map(|(port, frames)| PortCounters {
            port,
            tester_drops: vec![("simulated ring full".into(), frames)],
            ..PortCounters::default()
        });
        let left = reports.iter().filter_map(|(report, _)| report.last_departure).max();
        let over = (start, left.unwrap_or(start) + trial.waits.drain, Duration::ZERO);
        Ok(trial.conclude(over, reports, received.into_values().collect(), counters.collect()))
    }

    fn pause(&mut self, span: Duration) -> Result<(), TesterError> {
        self.now += span;
        Ok(())
    }
}

fn report(
    trial: &Trial,
    port: PortId,
    stream: trial::StreamId,
    frames: u64,
    rate: FrameRate,
    start: Instant,
) -> TransmitReport {
    let late_after = trial.limits.late_after(rate);
    TransmitReport {
        port,
        intended_frames: frames,
        sent_frames: frames,
        sent_bytes: 0,
        sent_of_stream: vec![(stream, frames)],
        first_departure: (frames > 0).then_some(start),
        last_departure: frames.checked_sub(1).map(|last| start + rate.departure(last)),
        lateness: Histogram::new(TICK),
        late_frames: 0,
        late_after,
        slips: Slips::new(trial.limits.credit(rate)),
        paused: Paused::default(),
        deferred: Deferred::default(),
        by_length: None,
    }
}

/// The frames that arrive are the first ones; all with the same latency.
fn account(arrived: u64, latency: Duration) -> StreamAccount {
    let mut account = StreamAccount::new(TICK);
    account.unique = arrived;
    if arrived > 0 {
        let ticks = latency.as_ns();
        let mut buckets = vec![0; Histogram::bucket_of(ticks) + 1];
        *buckets.last_mut().expect("at least one bucket") = arrived;
        let sum = u128::from(ticks) * u128::from(arrived);
        account.latency = Histogram::from_parts(TICK, &buckets, ticks, ticks, sum);
    }
    account
}

fn missing(arrived: u64, sent: u64) -> Missing {
    let lost = sent - arrived;
    let mut missing = Missing::default();
    if lost > 0 {
        missing.count = lost;
        missing.gaps = 1;
        missing.first = Some(arrived);
        missing.last = Some(sent - 1);
        missing.longest_gap = lost;
    }
    missing
}

/// The laws of some devices and testers.
pub mod laws {
    use super::{Law, Offered, Response};
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;
    use units::FrameRate;

    /// Carries everything up to a capacity (each direction), and above it just that.
    pub fn sharp_knee(capacity_fps: f64) -> impl Law {
        move |offered: Offered| Response { lost: beyond(capacity_fps, offered), ..nothing() }
    }

    /// A sharp knee, and with `probability` a trial below it loses a few frames all the same.
    pub fn noisy_knee(capacity_fps: f64, probability: f64, seed: u64) -> impl Law {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        move |offered: Offered| {
            let strikes = (random.next_u64() as f64 / u64::MAX as f64) < probability;
            let noise = if strikes { 3.min(offered.frames) } else { 0 };
            Response { lost: beyond(capacity_fps, offered).max(noise), ..nothing() }
        }
    }

    /// Loses this share of all frames (at least one) at every load.
    pub fn always_lossy(ratio: f64) -> impl Law {
        move |offered: Offered| {
            let lost = ((offered.frames as f64 * ratio) as u64).clamp(1, offered.frames);
            Response { lost, ..nothing() }
        }
    }

    /// Loses nothing.
    pub fn never_lossy() -> impl Law {
        |_: Offered| nothing()
    }

    /// A tester that reaches no more than this, in front of any device.
    pub fn slow_tester(max_fps: f64, mut device: impl Law) -> impl Law {
        move |offered: Offered| {
            let mut response = device.respond(offered);
            if offered.rate.fps() > max_fps {
                response.reached = Some(FrameRate::from_fps_f64(max_fps));
            }
            response
        }
    }

    /// A tester that loses frames itself in some trials, drawn with `probability`.
    pub fn flaky_tester(probability: f64, seed: u64, mut device: impl Law) -> impl Law {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        move |offered: Offered| {
            let mut response = device.respond(offered);
            if (random.next_u64() as f64 / u64::MAX as f64) < probability {
                response.dropped_by_tester = 1;
            }
            response
        }
    }

    fn nothing() -> Response {
        Response::default()
    }

    fn beyond(capacity_fps: f64, offered: Offered) -> u64 {
        let excess = 1.0 - capacity_fps / offered.rate.fps();
        (offered.frames as f64 * excess.max(0.0)).ceil() as u64
    }
}
