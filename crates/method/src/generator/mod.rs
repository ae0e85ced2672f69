//! Traffic by hand: a load for as long as one likes, seen second by second, with every frame accounted for.
//!
//! Traffic is one trial, looked at while it runs. A change (another rate, a pause) ends that trial with its
//! accounts closed and begins the next: so does a trial of [`STRETCH_FRAMES`] frames, since each frame is a
//! bit in memory. Between two such stretches nothing is sent for some tens of milliseconds, until the device
//! has let go of all frames.

mod criterion;
mod mix;
mod totals;

pub use criterion::{LatencyOf, TrafficBound, TrafficCriterion};
pub use mix::Mix;
pub use totals::{Second, StreamTotals, Totals};

use crate::RunError;
use crate::traffic::TrialShape;
pub(crate) use totals::SoFar;
use trial::{Observer, Sample, Schedule, Segment, Tester, Trial, TrialResult, Waits};
use units::text::Load;
use units::{Duration, FrameRate, Instant, LineRate};
use wire::signature::{Key, RunKey};

/// More frames no stretch has that is sent by hand: 32 MiB of bits a stream.
pub const STRETCH_FRAMES: u64 = 1 << 28;
/// No stretch is longer: times are picoseconds in 64 bits.
const STRETCH_TIME: Duration = Duration::from_secs(86_400);
/// A stretch of frames that have times of their own has whole rounds of them, about so many frames.
const TIMED_FRAMES: usize = 100_000;
/// Keys alter a load by tenths; that of a key and its opposite is rounded to a thousandth of a frame a second.
const SAME_SPEED: f64 = 1e-3;
/// How often whoever is in control is asked during a pause.
const PAUSE_LOOK: Duration = Duration::from_ms(20);
/// Time between the frames of two stretches that may be lost: what a tester needs to begin the next is of that order.
const LONGEST_UNRESTED: Duration = Duration::from_ms(500);
/// Residual frames are waited for no longer.
const DRAIN_MAX: Duration = Duration::from_secs(10);

/// What is to be sent.
#[derive(Clone, PartialEq, Debug)]
pub struct GeneratorConfig {
    /// Of each sending port.
    pub load: Load,
    /// The time from each frame to the next, over and over, where frames have times of their own; `load` is
    /// their mean rate then; a key that alters it alters the times with it.
    pub timed: Option<Vec<Duration>>,
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
    /// The stream with this index is switched off, or on again; the others keep their rates.
    Switch(usize),
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
    pub mix: &'a Mix,
}

impl Generator<'_> {
    /// The load of each sending port, on these media.
    ///
    /// # Errors
    /// Where a medium takes no such load.
    pub fn rate(&self, tester: &dyn Tester) -> Result<FrameRate, RunError> {
        let senders = self.mix.senders();
        let ports = || {
            let all = tester.describe().ports.iter();
            all.filter(|port| senders.iter().any(|sender| sender.port == port.id))
        };
        let slowest = ports().map(|port| port.line_rate).min();
        let slowest = slowest.ok_or_else(|| RunError::Config("no port sends".into()))?;
        let rate = match self.config.load {
            Load::Frames(rate) => rate,
            Load::Bits(rate) => self.mix.theoretical_max(rate.line_rate()),
            Load::Share(share) => self.mix.theoretical_max(slowest).scaled(share.0),
        };
        let takes = |line: LineRate| self.mix.theoretical_max(line);
        let too_slow = ports()
            .find(|port| port.line_rate_is_physical && takes(port.line_rate).fps() < rate.fps());
        if let Some(port) = too_slow {
            return Err(RunError::Config(format!(
                "{} is more than {} takes: {} of such frames at {}",
                Load::Frames(rate),
                port.name,
                Load::Frames(takes(port.line_rate)),
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
        let captured_rate = self.rate(tester)?;
        let mut rate = captured_rate;
        let mut totals = Totals::default();
        // As the schedule has it, and as it was.
        let (mut passed, mut sent_for) = (Duration::ZERO, Duration::ZERO);
        let (mut is_rested, mut trials) = (true, 0);
        let mut off = vec![false; self.mix.len()];
        let mut last_departure = None;
        loop {
            let left = self.config.duration.map(|duration| duration.saturating_sub(passed));
            let rate_on = rate.scaled(self.mix.share_without(&off));
            // The load may be rounded, and the captured times are not: what counts is what became of the load.
            let speed = rate_on.fps() / captured_rate.fps();
            let schedule = self.stretch((rate_on, speed), left)?;
            if schedule.frames() == 0 {
                return Ok(totals);
            }
            let trial = self.trial(&schedule, trials, (is_rested, &off))?;
            trials += 1;
            sink(&GeneratorEvent::Began(rate_on))?;
            let frames = schedule.frames() * self.mix.senders().len() as u64;
            let mut looks = Looks::new(self.config.every, (sent_for, frames), control, sink);
            let mut result = tester.run_observed(&trial, &mut looks)?;
            let misshapen =
                self.mix.streams().find_map(|(_, traffic, _)| traffic.misshapen(&result));
            misshapen.into_iter().for_each(|reason| result.invalidate(reason));
            let order = looks.finish(&result)?;
            // One that was ended before more than its first frame was due says nothing of the tester.
            let due: u64 = result.sent.iter().map(|sent| sent.report.intended_frames).sum();
            let is_empty = result.expected_frames() == 0 && due <= self.mix.senders().len() as u64;
            if order.is_none() || !is_empty {
                totals.add(&result, self.mix);
            }
            sent_for += sending_time(&result);
            let mut lasted = Duration::ZERO;
            if let Some((first, last)) = departures(&result) {
                lasted = last.since(first);
                let before = last_departure.replace(last).filter(|_| !is_rested);
                totals.between += before.map_or(Duration::ZERO, |before| first.since(before));
            }
            passed += match order {
                Some(_) => sending_time(&result),
                None => trial.duration(),
            };
            is_rested = false;
            match order {
                None => {
                    // What follows the last frame of a stretch is no part of it.
                    let owed = trial.duration().saturating_sub(lasted);
                    let goes_on = self.config.duration.is_none_or(|duration| passed < duration);
                    if goes_on && !rest(tester, control, owed, (&mut rate, &mut off))? {
                        return Ok(totals);
                    }
                }
                Some(Order::End) => return Ok(totals),
                Some(Order::Scale(factor)) => rate = rate.scaled(factor),
                Some(Order::Switch(stream)) => switch(&mut off, stream),
                Some(Order::Pause) => {
                    sink(&GeneratorEvent::Paused)?;
                    is_rested = true;
                    if !pause(tester, control, (&mut rate, &mut off))? {
                        return Ok(totals);
                    }
                }
            }
        }
    }

    /// The schedule of the next stretch; frames that have times of their own leave `speed` times as fast.
    fn stretch(
        &self,
        (rate, speed): (FrameRate, f64),
        left: Option<Duration>,
    ) -> Result<Schedule, RunError> {
        let frames_max = self.config.stretch_frames.min(rate.frames_in(STRETCH_TIME));
        let Some(gaps) = &self.config.timed else {
            let frames = left.map_or(frames_max, |left| rate.frames_in(left)).min(frames_max);
            return Ok(Schedule { segments: vec![Segment::constant(rate, frames)] });
        };
        let one_round: Duration = gaps.iter().copied().sum();
        if one_round == Duration::ZERO {
            return Err(RunError::Config("all frames have the same time: send at a rate".into()));
        }
        if !speed.is_finite() || speed <= 0.0 {
            return Err(RunError::Config(
                "a load of no frames leaves no time between frames".into(),
            ));
        }
        let rounds = (TIMED_FRAMES / gaps.len()).max(1);
        let (mut segments, mut at) = (vec![], Duration::ZERO);
        for (number, gap) in gaps.iter().cycle().take(rounds * gaps.len()).enumerate() {
            // The next stretch begins with the first frame again.
            let is_long = number > 0 && number % gaps.len() == 0 && at >= STRETCH_TIME;
            if is_long || left.is_some_and(|left| at >= left) {
                break;
            }
            // To the picosecond: a round that is shorter than the capture would end with its first frame again.
            let gap = match (speed - 1.0).abs() < SAME_SPEED {
                true => *gap,
                false => Duration::from_secs_f64(gap.as_secs_f64() / speed),
            };
            segments.push(Segment::bursty(rate, 1, gap, 1));
            at += gap;
        }
        Ok(Schedule { segments })
    }

    fn trial(
        &self,
        schedule: &Schedule,
        number: u64,
        (is_rested, off): (bool, &[bool]),
    ) -> Result<Trial, RunError> {
        let shape = TrialShape {
            label: format!("traffic, stretch {}", number + 1),
            schedule: schedule.clone(),
            waits: Waits::until_silence(Duration::ZERO, DRAIN_MAX, Duration::ZERO),
            tags: None,
            action: None,
            beside: None,
        };
        let key = Key::new(self.config.run_key, number + 1);
        let mut trial = self.mix.trial(key, &shape, off)?;
        trial.count_flows = self.mix.streams().any(|(_, traffic, _)| traffic.flows().is_some());
        if !is_rested {
            // The device has just seen all of it.
            trial.prelude.clear();
        }
        Ok(trial)
    }
}

/// Switches a stream; the last that is on stays so.
fn switch(off: &mut [bool], stream: usize) {
    if let Some(is_off) = off.get_mut(stream) {
        *is_off = !*is_off;
        if off.iter().all(|is_off| *is_off) {
            off[stream] = false;
        }
    }
}

/// How long a stretch was sent for.
fn sending_time(result: &TrialResult) -> Duration {
    let sent = result.sent.iter().map(|sent| sent.report.sending_time());
    sent.max().unwrap_or_default()
}

/// When the first frame of a stretch left, and the last.
fn departures(result: &TrialResult) -> Option<(Instant, Instant)> {
    let reports = || result.sent.iter().map(|sent| &sent.report);
    let first = reports().filter_map(|report| report.first_departure).min()?;
    Some((first, reports().filter_map(|report| report.last_departure).max()?))
}

/// Waits between the last frame of a stretch and the first of the next, where frames are far apart; false where all is
/// to end.
fn rest(
    tester: &mut dyn Tester,
    control: &mut dyn Control,
    mut owed: Duration,
    (rate, off): (&mut FrameRate, &mut [bool]),
) -> Result<bool, RunError> {
    while owed > LONGEST_UNRESTED {
        match control.poll() {
            Some(Order::End) => return Ok(false),
            Some(Order::Pause) => return pause(tester, control, (rate, off)),
            Some(Order::Scale(factor)) => *rate = rate.scaled(factor),
            Some(Order::Switch(stream)) => switch(off, stream),
            None => {
                tester.pause(LONGEST_UNRESTED)?;
                owed = owed.saturating_sub(LONGEST_UNRESTED);
            }
        }
    }
    Ok(true)
}

/// Waits for the end of a pause, after which another load may be sent; false where all is to end.
fn pause(
    tester: &mut dyn Tester,
    control: &mut dyn Control,
    (rate, off): (&mut FrameRate, &mut [bool]),
) -> Result<bool, RunError> {
    loop {
        match control.poll() {
            Some(Order::Pause) => return Ok(true),
            Some(Order::End) => return Ok(false),
            Some(Order::Scale(factor)) => *rate = rate.scaled(factor),
            Some(Order::Switch(stream)) => switch(off, stream),
            None => tester.pause(PAUSE_LOOK)?,
        }
    }
}

/// Looks at a stretch.
struct Looks<'a> {
    every: Duration,
    /// Time for which traffic was sent before this stretch.
    passed: Duration,
    /// Of this stretch.
    frames: u64,
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
        (passed, frames): (Duration, u64),
        control: &'a mut dyn Control,
        sink: &'a mut dyn FnMut(&GeneratorEvent) -> Result<(), RunError>,
    ) -> Self {
        let counted = SoFar::default();
        let (order, last, failed) = (None, None, None);
        Looks { every, passed, frames, control, sink, order, last, counted, failed }
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
        self.tell(SoFar::of_result(result), sending_time(result));
        self.failed.map_or(Ok(self.order), Err)
    }
}

impl Observer for Looks<'_> {
    fn every(&self) -> Option<Duration> {
        Some(self.every)
    }

    fn observe(&mut self, sample: &Sample) {
        let so_far = SoFar::of_sample(sample, self.last.as_ref());
        // When all has left, the result tells the rest.
        if so_far.sent >= self.frames || self.order.is_some() {
            return;
        }
        self.tell(so_far, sample.elapsed);
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
