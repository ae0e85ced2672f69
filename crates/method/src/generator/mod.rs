//! Traffic by hand: a load for as long as one likes, seen second by second, with every frame accounted for.
//!
//! Traffic is one trial, looked at while it runs. A change (another rate, a pause) ends that trial with its
//! accounts closed and begins the next: so does a trial of [`STRETCH_FRAMES`] frames, since each frame is a
//! bit in memory. Between two such stretches nothing is sent for some tens of milliseconds, until the device
//! has let go of all frames.

mod criterion;
mod totals;

pub use criterion::{LatencyOf, TrafficBound, TrafficCriterion};
pub use totals::{Second, Totals};

use crate::traffic::TrialShape;
use crate::{RunError, Traffic};
use totals::SoFar;
use trial::{Observer, Sample, Schedule, Tester, Trial, TrialResult, Waits};
use units::text::Load;
use units::{Duration, FrameRate, LineRate};
use wire::signature::{Key, RunKey};

/// More frames no stretch has that is sent by hand: 32 MiB of bits a stream.
pub const STRETCH_FRAMES: u64 = 1 << 28;
/// How often whoever is in control is asked during a pause.
const PAUSE_LOOK: Duration = Duration::from_ms(20);
/// Residual frames are waited for no longer.
const DRAIN_MAX: Duration = Duration::from_secs(10);

/// What is to be sent.
#[derive(Clone, PartialEq, Debug)]
pub struct GeneratorConfig {
    /// Of each sending port.
    pub load: Load,
    /// For how long; `None` until somebody ends it.
    pub duration: Option<Duration>,
    /// From one look to the next.
    pub every: Duration,
    /// Key of the frames' signatures.
    pub run_key: RunKey,
    /// More frames no stretch has; [`STRETCH_FRAMES`].
    pub stretch_frames: u64,
}

/// What may be done to traffic while it is sent.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Order {
    /// The end.
    End,
    /// So many times the load from now on.
    Scale(f64),
    /// Nothing is sent until the same comes again.
    Pause,
}

/// Whoever is in control.
pub trait Control {
    /// What is to be done now, if anything.
    fn poll(&mut self) -> Option<Order>;
}

/// What happens to traffic.
#[derive(Clone, PartialEq, Debug)]
pub enum GeneratorEvent {
    /// A stretch of this load begins, of each sending port.
    Began(FrameRate),
    /// A second has passed.
    Second(Box<Second>),
    /// Sending pauses.
    Paused,
}

/// Sends traffic and accounts for it.
pub struct Generator<'a> {
    /// How much.
    pub config: &'a GeneratorConfig,
    /// What.
    pub traffic: &'a Traffic,
}

impl Generator<'_> {
    /// The load of each sending port, on these media.
    ///
    /// # Errors
    /// Where a medium takes no such load.
    pub fn rate(&self, tester: &dyn Tester) -> Result<FrameRate, RunError> {
        let senders = self.traffic.senders();
        let ports = || {
            let all = tester.describe().ports.iter();
            all.filter(|port| senders.iter().any(|sender| sender.port == port.id))
        };
        let slowest = ports().map(|port| port.line_rate).min();
        let slowest = slowest.ok_or_else(|| RunError::Config("no port sends".into()))?;
        let rate = match self.config.load {
            Load::Frames(rate) => rate,
            Load::Bits(rate) => self.traffic.theoretical_max(rate.line_rate()),
            Load::Share(share) => self.traffic.theoretical_max(slowest).scaled(share.0),
        };
        let takes = |line: LineRate| self.traffic.theoretical_max(line);
        let too_slow = ports()
            .find(|port| port.line_rate_is_physical && takes(port.line_rate).fps() < rate.fps());
        if let Some(port) = too_slow {
            return Err(RunError::Config(format!(
                "{} is more than {} takes: {} of {} B frames at {}",
                Load::Frames(rate),
                port.name,
                Load::Frames(takes(port.line_rate)),
                self.traffic.frame_size(),
                port.line_rate,
            )));
        }
        Ok(rate)
    }

    /// Sends until the time is over, or `control` ends it; tells `sink` what happens.
    pub fn run(
        &self,
        tester: &mut dyn Tester,
        control: &mut dyn Control,
        sink: &mut dyn FnMut(&GeneratorEvent) -> Result<(), RunError>,
    ) -> Result<Totals, RunError> {
        let mut rate = self.rate(tester)?;
        let mut totals = Totals::default();
        let mut passed = Duration::ZERO;
        let mut is_rested = true;
        loop {
            let left = self.config.duration.map(|duration| duration.saturating_sub(passed));
            let schedule = stretch(rate, left, self.config.stretch_frames);
            if schedule.frames() == 0 {
                return Ok(totals);
            }
            let trial = self.trial(&schedule, totals.stretches, is_rested)?;
            sink(&GeneratorEvent::Began(rate))?;
            let mut looks =
                Looks::new(self.config.every, (passed, trial.duration()), control, sink);
            let result = tester.run_observed(&trial, &mut looks)?;
            let order = looks.finish(&result)?;
            totals.add(&result, self.traffic.flows());
            passed += match order {
                Some(_) => sent_for(&result),
                None => trial.duration(),
            };
            is_rested = false;
            match order {
                None => {}
                Some(Order::End) => return Ok(totals),
                Some(Order::Scale(factor)) => rate = rate.scaled(factor),
                Some(Order::Pause) => {
                    sink(&GeneratorEvent::Paused)?;
                    is_rested = true;
                    if !pause(tester, control, &mut rate)? {
                        return Ok(totals);
                    }
                }
            }
        }
    }

    fn trial(&self, schedule: &Schedule, number: u64, is_rested: bool) -> Result<Trial, RunError> {
        let shape = TrialShape {
            label: format!("traffic, stretch {}", number + 1),
            schedule: schedule.clone(),
            waits: Waits::until_silence(Duration::ZERO, DRAIN_MAX, Duration::ZERO),
            tags: None,
            action: None,
            beside: None,
        };
        let mut trial = self.traffic.trial(Key::new(self.config.run_key, number + 1), &shape)?;
        trial.count_flows = self.traffic.flows().is_some();
        if !is_rested {
            // The device has just seen all of it.
            trial.prelude.clear();
        }
        Ok(trial)
    }
}

/// The schedule of the next stretch.
fn stretch(rate: FrameRate, left: Option<Duration>, frames_max: u64) -> Schedule {
    let frames = left.map_or(frames_max, |left| rate.frames_in(left)).min(frames_max);
    Schedule { segments: vec![trial::Segment::constant(rate, frames)] }
}

/// How long a stretch that was ended was sent for.
fn sent_for(result: &TrialResult) -> Duration {
    let sent = result.sent.iter().map(|sent| sent.report.sending_time());
    sent.max().unwrap_or_default()
}

/// Waits for the end of a pause, after which another load may be sent; false where all is to end.
fn pause(
    tester: &mut dyn Tester,
    control: &mut dyn Control,
    rate: &mut FrameRate,
) -> Result<bool, RunError> {
    loop {
        match control.poll() {
            Some(Order::Pause) => return Ok(true),
            Some(Order::End) => return Ok(false),
            Some(Order::Scale(factor)) => *rate = rate.scaled(factor),
            None => tester.pause(PAUSE_LOOK)?,
        }
    }
}

/// Looks at a stretch.
struct Looks<'a> {
    every: Duration,
    /// Time for which traffic was sent before, and for which this stretch will.
    passed: Duration,
    duration: Duration,
    control: &'a mut dyn Control,
    sink: &'a mut dyn FnMut(&GeneratorEvent) -> Result<(), RunError>,
    order: Option<Order>,
    /// The look before.
    last: Option<Sample>,
    counted: SoFar,
    failed: Option<RunError>,
}

impl<'a> Looks<'a> {
    fn new(
        every: Duration,
        (passed, duration): (Duration, Duration),
        control: &'a mut dyn Control,
        sink: &'a mut dyn FnMut(&GeneratorEvent) -> Result<(), RunError>,
    ) -> Self {
        let counted = SoFar::default();
        let (order, last, failed) = (None, None, None);
        Looks { every, passed, duration, control, sink, order, last, counted, failed }
    }

    fn tell(&mut self, now: SoFar, elapsed: Duration) {
        let before = self.last.as_ref().map_or(Duration::ZERO, |sample| sample.elapsed);
        let span = (self.passed + elapsed, elapsed.saturating_sub(before));
        let second = now.since(&self.counted, span);
        self.counted = now;
        if let Err(error) = (self.sink)(&GeneratorEvent::Second(Box::new(second))) {
            self.failed.get_or_insert(error);
        }
    }

    /// The rest of the stretch, by its result; gives what ended it.
    fn finish(mut self, result: &TrialResult) -> Result<Option<Order>, RunError> {
        let elapsed = if self.order.is_some() { sent_for(result) } else { self.duration };
        self.tell(SoFar::of_result(result), elapsed);
        self.failed.map_or(Ok(self.order), Err)
    }
}

impl Observer for Looks<'_> {
    fn every(&self) -> Option<Duration> {
        Some(self.every)
    }

    fn observe(&mut self, sample: &Sample) {
        // The last second is told by the result, which has all of it.
        let half = Duration::from_ps(self.every.as_ps() / 2);
        let is_last = sample.elapsed + half > self.duration;
        if is_last || self.order.is_some() {
            return;
        }
        self.tell(SoFar::of_sample(sample, self.last.as_ref()), sample.elapsed);
        self.last = Some(sample.clone());
    }

    fn ends(&mut self) -> bool {
        if self.order.is_none() {
            self.order = match self.failed {
                Some(_) => Some(Order::End),
                None => self.control.poll(),
            };
        }
        self.order.is_some()
    }
}
