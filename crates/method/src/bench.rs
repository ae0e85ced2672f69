//! The bench at which every method works: runs trials, repeats invalid ones, and tells the sink.

use crate::besides::Besides;
use crate::clauses::Evidence;
use crate::clocks::Clocks;
use crate::course::{Course, Moment};
use crate::estimate::{Estimate, Foretold};
use crate::event::{
    Event, EventSink, SearchBounds, TestStarted, TrialRecord, TrialStarted, Verdict,
};
use crate::residence::Residence;
use crate::taken::Taken;
use crate::traffic::{Traffic, TrialShape};
use crate::{Modifier, RunError, TestKind, modifiers};
use trial::{DeviceSetup, InvalidReason, Tester, TesterError, Trial, TrialResult};
use units::{Duration, FrameRate, Instant};
use wire::signature::{Key, RunKey};

/// Runs trials for the methods.
pub struct Bench<'a> {
    tester: &'a mut dyn Tester,
    sink: &'a mut dyn EventSink,
    /// How often an invalid trial is repeated at most.
    invalid_retries: u32,
    run_key: RunKey,
    memory: Memory,
}

/// What a bench remembers from trial to trial.
#[derive(Clone, Default)]
pub(crate) struct Memory {
    trials: u64,
    invalid_trials: u64,
    clock: Estimate,
    device: OfDevice,
    /// What trials of the test under way showed so far.
    evidence: Evidence,
    /// What trials of the test under way showed of frames that were changed, doubled or overtaken.
    besides: Besides,
    /// What trials of the test under way showed of clocks of several hosts.
    clocks: Clocks,
    /// When the tester had nothing more to wait for after its last trial, by its own time.
    free_at: Option<Instant>,
}

/// What one device keeps for how long says nothing of another.
#[derive(Clone, Default)]
struct OfDevice {
    residence: Residence,
    /// Somebody was told that it does not answer every management query.
    told_unanswered: bool,
    /// What is to pass before the next trial: what it has learned is to be forgotten by then.
    ageing: Duration,
    /// What the last trials took of its tokens, if it has any.
    taken: Taken,
}

impl Memory {
    /// Trials run, and those among them that were invalid.
    pub(crate) fn trials(&self) -> (u64, u64) {
        (self.trials, self.invalid_trials)
    }
    /// What the run has taken and will take.
    pub(crate) fn clock(&self) -> Estimate {
        self.clock
    }
    /// The same without what is known of the device.
    pub(crate) fn before_another_device(self) -> Self {
        Memory { device: OfDevice::default(), free_at: None, ..self }
    }
}

/// A trial that a method asks for.
pub struct Request<'a> {
    /// Of which test.
    pub test: TestKind,
    /// What is sent.
    pub traffic: &'a Traffic,
    /// When it is sent.
    pub shape: TrialShape,
    /// Of each transmitting port.
    pub intended: FrameRate,
    /// What the search knows so far, where there is one.
    pub bounds: Option<SearchBounds>,
    /// What a trial means to the method.
    pub judge: &'a dyn Fn(&TrialResult) -> Verdict,
}

/// The same of a trial of any kind.
pub(crate) struct Asked<'a> {
    pub test: TestKind,
    /// As it was asked for.
    pub frame_size: String,
    /// Of each transmitting port.
    pub intended: FrameRate,
    pub bounds: Option<SearchBounds>,
    /// Why a trial decides nothing though the tester kept up, if it does.
    pub check: &'a dyn Fn(&TrialResult) -> Option<InvalidReason>,
    /// Makes the trial, with the signatures of an attempt.
    pub build: &'a dyn Fn(Key) -> Result<Trial, RunError>,
    /// What a trial means to the method.
    pub judge: &'a dyn Fn(&TrialResult) -> Verdict,
}

/// A trial that was run, the last attempt of it.
pub struct Ran {
    /// What came of it.
    pub result: TrialResult,
    /// What it means to the method.
    pub verdict: Verdict,
    /// Attempts that were invalid.
    pub invalid_attempts: u32,
}

impl Ran {
    /// Trials that were run for it.
    pub(crate) fn attempts(&self) -> u32 {
        self.invalid_attempts + u32::from(self.verdict != Verdict::Invalid)
    }
    /// Whether it decides nothing since the tester offered less than was asked for, and for no other reason.
    pub(crate) fn is_only_short(&self) -> bool {
        let reasons = self.result.invalid_reasons();
        let are_short = shortfalls(&self.result).count() == reasons.len();
        self.verdict == Verdict::Invalid && !reasons.is_empty() && are_short
    }
    /// Why the trial decides nothing, in words; empty where it does.
    pub fn invalid_reasons(&self) -> Vec<String> {
        if self.verdict != Verdict::Invalid {
            return vec![];
        }
        self.result.invalid_reasons().iter().map(ToString::to_string).collect()
    }
}

/// A valid trial is a measurement.
pub(crate) fn measured(result: &TrialResult) -> Verdict {
    if result.is_valid() { Verdict::Measured } else { Verdict::Invalid }
}

impl<'a> Bench<'a> {
    /// A bench before `tester`. The run's key and the number of a trial give its signatures.
    pub fn new(
        tester: &'a mut dyn Tester,
        sink: &'a mut dyn EventSink,
        invalid_retries: u32,
        run_key: RunKey,
    ) -> Self {
        Bench { tester, sink, invalid_retries, run_key, memory: Memory::default() }
    }

    /// The same with what another bench before this tester remembered.
    pub(crate) fn remembering(mut self, memory: Memory) -> Self {
        self.memory = memory;
        self
    }
    /// What is to be remembered by the next bench before this tester.
    pub(crate) fn memory(self) -> Memory {
        self.memory
    }
    /// What the run has taken and will take.
    pub(crate) fn clock(&self) -> Estimate {
        self.memory.clock
    }
    /// A test of this share begins; others of so long in all come after it.
    pub(crate) fn begin_share(&mut self, share: Foretold, later: Foretold) {
        self.memory.clock.begin_test(share, later);
        self.memory.evidence = Evidence::default();
        self.memory.besides = Besides::default();
        self.memory.clocks.begin_test();
    }

    /// What valid trials of the test under way showed of clocks of several hosts.
    pub(crate) fn clocks(&self) -> &Clocks {
        &self.memory.clocks
    }

    /// What the device did to frames of the test under way besides carrying or losing them.
    pub(crate) fn besides(&self) -> &Besides {
        &self.memory.besides
    }

    /// What trials of the test under way showed so far.
    pub(crate) fn evidence(&self) -> &Evidence {
        &self.memory.evidence
    }

    /// Why a trial without a frame, waited for so long, decides nothing after what later ones have shown of the device.
    pub(crate) fn late_doubt(&self, waited: Duration) -> Option<String> {
        self.memory.device.residence.late_doubt(waited)
    }

    /// The tester.
    pub fn tester(&self) -> &dyn Tester {
        &*self.tester
    }
    /// Trials run, and those among them that were invalid.
    pub fn trials(&self) -> (u64, u64) {
        self.memory.trials()
    }
    /// The same bench before another tester, for as long as `work` takes.
    pub(crate) fn with_tester<R>(
        &mut self,
        tester: &mut dyn Tester,
        work: impl FnOnce(&mut Bench<'_>) -> R,
    ) -> R {
        let mut other = Bench {
            tester,
            sink: &mut *self.sink,
            invalid_retries: self.invalid_retries,
            run_key: self.run_key,
            memory: self.memory.clone().before_another_device(),
        };
        let result = work(&mut other);
        let device = std::mem::take(&mut self.memory.device);
        self.memory = Memory { device, free_at: None, ..other.memory };
        result
    }

    /// How long a device that keeps up `rate`, of all ports together, needs from now on until it has the tokens again
    /// that trials took.
    pub(crate) fn until_restored(&self, rate: FrameRate) -> Duration {
        self.memory.free_at.map_or(Duration::ZERO, |now| self.memory.device.taken.owed(rate, now))
    }

    /// Lets time pass with nothing sent.
    pub(crate) fn pause(&mut self, span: Duration) -> Result<(), RunError> {
        self.memory.clock.pass(span);
        self.memory.free_at = self.memory.free_at.map(|at| at + span);
        Ok(self.tester.pause(span)?)
    }

    /// The next trial, of whatever test, is to find nothing of what the device has learned: it waits so long.
    /// After the last trial of a run nobody waits.
    pub(crate) fn let_age(&mut self, ageing: Duration) {
        let device = &mut self.memory.device;
        device.ageing = device.ageing.max(ageing);
    }

    /// Tells the sink that a test of this traffic begins, and how long all that is left will take.
    pub(crate) fn begin(&mut self, test: TestKind, traffic: &Traffic) -> Result<(), RunError> {
        self.emit(Event::TestStarted(TestStarted {
            test,
            frame_size: traffic.frame_size(),
            direction: traffic.direction(),
            modifier: traffic.modifier(),
            remaining: self.memory.clock.remaining(Duration::ZERO),
        }))
    }

    /// Tells the sink.
    pub fn emit(&mut self, event: Event) -> Result<(), RunError> {
        Ok(self.sink.emit(&event)?)
    }

    /// Configures the device.
    pub(crate) fn configure(&mut self, setup: &DeviceSetup) -> Result<(), TesterError> {
        self.tester.configure(setup)
    }

    /// Runs a trial; one that is invalid is repeated, and only the last attempt is returned. A
    /// tester that twice falls short by a tenth, or once by half, or twice by exactly the same, will not do
    /// better next time.
    pub fn run(&mut self, request: Request<'_>) -> Result<Ran, RunError> {
        self.run_changed(request, &Ok)
    }

    /// The same of a trial that differs from the request's: `change` makes it of that one.
    pub(crate) fn run_changed(
        &mut self,
        request: Request<'_>,
        change: &dyn Fn(Trial) -> Result<Trial, RunError>,
    ) -> Result<Ran, RunError> {
        let Request { test, traffic, shape, intended, bounds, judge } = request;
        self.run_asked(&Asked {
            test,
            frame_size: traffic.frame_size(),
            intended,
            bounds,
            check: &|result| traffic.misshapen(result),
            build: &|key| change(traffic.trial(key, &shape)?),
            judge,
        })
    }

    /// The same with a trial of any kind.
    pub(crate) fn run_asked(&mut self, asked: &Asked<'_>) -> Result<Ran, RunError> {
        let mut invalid_attempts = 0;
        let mut far_short = 0;
        let mut short_before = vec![];
        loop {
            let attempt = invalid_attempts + 1;
            let (result, verdict) = self.attempt(asked, attempt)?;
            invalid_attempts += u32::from(verdict == Verdict::Invalid);
            // Held up by chance, it may do better next time.
            if !was_held_up(&result) {
                let of = |share| u32::from(fell_short(&result, share));
                far_short += of(0.9) + of(0.5);
            }
            // To the last digit: no accident, which a third attempt might be spared.
            let short: Vec<_> = shortfalls(&result).collect();
            let is_the_same = !short.is_empty() && short == short_before;
            short_before = short;
            let is_hopeless = attempt > self.invalid_retries || far_short >= 2 || is_the_same;
            if verdict != Verdict::Invalid || is_hopeless {
                return Ok(Ran { result, verdict, invalid_attempts });
            }
        }
    }

    fn attempt(
        &mut self,
        asked: &Asked<'_>,
        attempt: u32,
    ) -> Result<(TrialResult, Verdict), RunError> {
        let ageing = std::mem::take(&mut self.memory.device.ageing);
        if ageing > Duration::ZERO {
            self.pause(ageing)?;
        }
        let number = self.memory.trials + 1;
        let mut trial = (asked.build)(Key::new(self.run_key, number))?;
        let (planned, before) = (planned_of(&trial), self.memory.clock.took());
        self.memory.device.residence.prepare(&mut trial);
        self.emit(Event::TrialStarted(self.started(asked, &trial, (number, attempt))))?;
        let (mut result, course) = self.looked_at(&trial)?;
        // One that broke off was not run.
        self.memory.trials = number;
        self.time_between(&trial, &result);
        if let Some(reason) = (asked.check)(&result) {
            result.invalidate(reason);
        }
        let queries = management(&result);
        result.notes.extend(queries.map(|(sent, answered)| {
            format!("management queries: {sent} sent, {answered} answered")
        }));
        self.memory.device.residence.learn(&mut result);
        self.memory.device.taken.add(&result);
        if let Some(patience) = self.memory.device.residence.wait_for_empty(&trial, &result) {
            self.pause(patience)?;
        }
        let verdict = (asked.judge)(&result);
        self.memory.evidence.add(&trial, &result);
        if verdict != Verdict::Invalid {
            self.memory.clocks.add(&result);
            self.memory.besides.add(&trial, &result);
        }
        self.memory.invalid_trials += u64::from(verdict == Verdict::Invalid);
        let warnings = self.memory.clocks.new_warnings(&result.clocks);
        let clock = &mut self.memory.clock;
        clock.pass(span_of(&trial, &result));
        clock.learn(asked.test, planned, clock.took().saturating_sub(before));
        let record = TrialRecord {
            number,
            identity: trial.identity(),
            test: asked.test,
            frame_size: asked.frame_size.clone(),
            attempt,
            intended: asked.intended,
            duration: trial.duration(),
            verdict,
            course,
            result,
        };
        let event = Event::TrialFinished(Box::new(record));
        self.sink.emit(&event)?;
        warnings.into_iter().try_for_each(|warning| self.emit(Event::Warning(warning)))?;
        if let Some((sent, answered)) = queries.filter(|(sent, answered)| answered < sent)
            && !self.memory.device.told_unanswered
        {
            self.memory.device.told_unanswered = true;
            self.emit(Event::Warning(format!(
                "trial {number}: the device answered {answered} of {sent} management queries (RFC 2544 \
                 section 11.2); each trial's notes have its own"
            )))?;
        }
        let Event::TrialFinished(record) = event else { unreachable!("built above") };
        Ok((record.result, verdict))
    }

    /// Takes down what passed between the trial before and this one.
    fn time_between(&mut self, trial: &Trial, result: &TrialResult) {
        let after = trial.duration() + result.drained_after + trial.waits.settle;
        let free_at = self.memory.free_at.replace(result.started_at + after);
        let since = free_at.map(|at| result.started_at.since(at + prelude_of(trial)));
        // A trial that an earlier process made may be long ago.
        let between = since.filter(|since| *since <= LONGEST_BETWEEN);
        self.memory.clock.between += between.unwrap_or_default();
    }

    /// Runs a trial and takes down its course, where the tester can be looked at.
    fn looked_at(&mut self, trial: &Trial) -> Result<(TrialResult, Vec<Moment>), TesterError> {
        if let Some(mut course) = Course::of(trial) {
            match self.tester.run_observed(trial, &mut course) {
                Err(TesterError::Unsupported { .. }) => {}
                ran => {
                    let result = ran?;
                    let course = course.finished(&result);
                    return Ok((result, course));
                }
            }
        }
        Ok((self.tester.run(trial)?, vec![]))
    }

    fn started(
        &self,
        asked: &Asked<'_>,
        trial: &Trial,
        (number, attempt): (u64, u32),
    ) -> TrialStarted {
        TrialStarted {
            number,
            test: asked.test,
            frame_size: asked.frame_size.clone(),
            label: trial.label.clone(),
            attempt,
            intended: asked.intended,
            intended_frames: trial.loads.iter().map(|load| load.schedule.frames()).sum(),
            duration: trial.duration(),
            bounds: asked.bounds.clone(),
            remaining: self.memory.clock.remaining(planned_of(trial)),
        }
    }
}

/// No tester takes longer from one trial to the next.
const LONGEST_BETWEEN: Duration = Duration::from_secs(60);

/// Management queries that were sent, and whole answers to them; `None` where none were, or nobody looked.
fn management(result: &TrialResult) -> Option<(u64, u64)> {
    let sent = modifiers::sent(result, Modifier::Management).map(|(_, sent)| sent).sum();
    let answered = modifiers::answered(result)?;
    (sent > 0).then_some((sent, answered))
}

/// Whether the tester offered less than was intended, by more than is allowed.
pub(crate) fn has_shortfall(result: &TrialResult) -> bool {
    shortfalls(result).next().is_some()
}

/// Whether the tester stood still now and then, rather than being too slow from frame to frame.
pub(crate) fn was_held_up(result: &TrialResult) -> bool {
    let slips: u64 = result.sent.iter().map(|sent| sent.report.slips.times).sum();
    let late: Duration = result.sent.iter().map(|sent| sent.report.slips.total).sum();
    let frames: u64 = result.sent.iter().map(|sent| sent.report.sent_frames).sum();
    let is_rare = slips * 20 < frames && late >= SHORT_SLIP * slips;
    let is_easy = result.sent.iter().all(|sent| sent.intended_rate.fps() <= EASY_FPS);
    slips > 0 && (is_easy || is_rare || late >= LONG_SLIP * slips)
}

/// No tester is too slow for so many frames a second and port.
const EASY_FPS: f64 = 20_000.0;

/// A tester that sends in groups and is too slow is late by less with each group.
const SHORT_SLIP: Duration = Duration::from_us(20);
/// No tester takes so long for a frame: it was kept from its processor.
const LONG_SLIP: Duration = Duration::from_ms(5);

/// Whether the tester offered less than this share of what was intended.
pub(crate) fn fell_short(result: &TrialResult, share: f64) -> bool {
    shortfalls(result).any(|(intended, offered)| offered.fps() < share * intended.fps())
}

/// Whether a load offered no longer stands for the one intended: it is short of it by more than a thousandth.
pub(crate) fn is_short(intended: FrameRate, offered: FrameRate) -> bool {
    offered.fps() < intended.fps() * (1.0 - SHORT_BY)
}

const SHORT_BY: f64 = 0.001;

/// A trial that states what it offered counts where that is less than was asked for by no more than this share. Beside
/// busy programs most trials fall short by some thousandths or hundredths, and none of them would count.
const OFFERS_LESS: f64 = 0.1;

/// A flood is whatever the tester can offer at the time, but for one that stood still for half of it.
const FLOODS_LESS: f64 = 0.5;

/// The trial of a flood, counted by what it offers.
pub(crate) fn flooding(mut trial: Trial) -> Trial {
    trial.limits.shortfall = trial.limits.shortfall.max(FLOODS_LESS);
    trial
}

/// The trial, counted by what it offers: for results that state that beside what came out.
pub(crate) fn by_offer(mut trial: Trial) -> Trial {
    trial.limits.shortfall = trial.limits.shortfall.max(OFFERS_LESS);
    trial
}

/// What was intended and offered where the tester fell short.
fn shortfalls(result: &TrialResult) -> impl Iterator<Item = (FrameRate, FrameRate)> {
    result.invalid_reasons().iter().filter_map(|reason| match reason {
        InvalidReason::Shortfall { intended, offered, .. } => Some((*intended, *offered)),
        _ => None,
    })
}

/// Everything a trial took, by the tester's time.
fn span_of(trial: &Trial, result: &TrialResult) -> Duration {
    prelude_of(trial) + trial.duration() + result.drained_after + trial.waits.settle
}

/// The same as asked for, whatever the device then needs.
fn planned_of(trial: &Trial) -> Duration {
    prelude_of(trial) + trial.duration() + trial.waits.drain + trial.waits.settle
}

/// What the trial waits for before its schedule begins.
fn prelude_of(trial: &Trial) -> Duration {
    trial.prelude.iter().map(|prelude| prelude.wait).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::{Attachment, Forwarding, Topology};
    use crate::{LegacyAddresses, Modifier, SuiteConfig};
    use sim::{ClosedForm, Law, Offered, Response, SimPort};
    use std::net::{Ipv4Addr, Ipv6Addr};
    use trial::{PortId, Schedule, Waits};
    use units::LineRate;
    use wire::ethernet::MacAddr;

    fn attempts(law: impl Law, retries: u32) -> (u32, Verdict, u64) {
        let attachment = |port| Attachment {
            port: PortId(port),
            mac: MacAddr([2, 0, 0, 0, 0, port as u8]),
            host_ipv4: Ipv4Addr::new(198, 18, port as u8, 2),
            host_ipv6: Ipv6Addr::LOCALHOST,
            device_mac: MacAddr::ZERO,
            device_ipv4: Ipv4Addr::new(198, 18, port as u8, 1),
            device_ipv6: Ipv6Addr::LOCALHOST,
            network_hosts_ipv4: vec![],
            network_hosts_ipv6: vec![],
            network_prefix_ipv4: 24,
            prefix_hosts_ipv6: Default::default(),
            legacy: LegacyAddresses::plan(PortId(port)),
        };
        let topology = Topology {
            forwarding: Forwarding::Bridged,
            ports: vec![attachment(0), attachment(1)],
            encapsulated: None,
        };
        let suite = SuiteConfig::default();
        let size = &suite.frame_sizes[0];
        let traffic = Traffic::new(&suite, &topology, size, Modifier::None).unwrap();
        let rate = FrameRate::from_fps(1_000);
        let port = SimPort::nominal(LineRate::from_gbps(1));
        let mut tester = ClosedForm::new(&[port; 2], law);
        let mut events: Vec<Event> = vec![];
        let mut bench = Bench::new(&mut tester, &mut events, retries, RunKey::from_seed(1));
        let ran = bench.run(Request {
            test: TestKind::Throughput,
            traffic: &traffic,
            shape: TrialShape {
                label: "test".into(),
                schedule: Schedule::constant(rate, Duration::from_secs(1)),
                waits: Waits::RFC2544,
                tags: None,
                action: None,
                beside: None,
            },
            intended: rate,
            bounds: None,
            judge: &measured,
        });
        let ran = ran.unwrap();
        (ran.invalid_attempts, ran.verdict, bench.trials().0)
    }

    /// The tester loses a frame itself in its first so many trials.
    fn invalid_at_first(trials: u64) -> impl Law {
        move |offered: Offered| Response {
            dropped_by_tester: u64::from(offered.trial < trials),
            ..Response::default()
        }
    }

    #[test]
    fn an_invalid_trial_is_repeated_so_often_and_no_more() {
        assert_eq!(attempts(invalid_at_first(0), 3), (0, Verdict::Measured, 1));
        assert_eq!(attempts(invalid_at_first(2), 3), (2, Verdict::Measured, 3));
        assert_eq!(attempts(invalid_at_first(9), 3), (4, Verdict::Invalid, 4));
        assert_eq!(attempts(invalid_at_first(9), 0), (1, Verdict::Invalid, 1));
    }

    #[test]
    fn a_tester_far_too_slow_is_not_asked_again_and_again() {
        let slow = |fps| {
            move |_: Offered| Response {
                reached: Some(FrameRate::from_fps(fps)),
                ..Response::default()
            }
        };
        assert_eq!(attempts(slow(400), 3), (1, Verdict::Invalid, 1));
        assert_eq!(attempts(slow(800), 3), (2, Verdict::Invalid, 2));
        assert_eq!(attempts(slow(950), 3), (2, Verdict::Invalid, 2), "the very same twice");
        let slow_by_accident = |offered: Offered| Response {
            reached: Some(FrameRate::from_fps(950 + offered.trial % 7)),
            ..Response::default()
        };
        assert_eq!(attempts(slow_by_accident, 3), (4, Verdict::Invalid, 4));
    }
}
