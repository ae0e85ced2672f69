//! Loads of a pattern: what comes out at one, and the highest without loss.

use super::{ChassisTest, Pattern, PortMatrix, TestSetup};
use crate::bench::{Bench, Ran};
use crate::event::Event;
use crate::rfc2544::MaximumOf;
use crate::search::adaptive::Came;
use crate::search::mlrsearch::{self, MlrSearch, TimedLoad, Tried};
use crate::search::{
    self, Adaptive, Bisect, Bounds, GapSteps, LoadVerdict, LossVerification, Range, Resolution,
    Search as _, Upper, drive,
};
use crate::subject::Ceiling;
use crate::{Finding, RunError, SearchPolicy, SuiteConfig};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use trial::{Role, TrialResult};
use units::{Duration, FrameRate};

/// What came out at one load. Rates are sums over all ports, as RFC 2889 appendix B wants the load
/// offered to the device.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LoadPoint {
    /// Of each sending port, in percent of its medium.
    pub load_percent: f64,
    /// The same as a rate, of each sending port.
    pub intended: FrameRate,
    /// As measured at departure, sum of all ports (Oload).
    pub offered: FrameRate,
    /// Forwarded to the right ports, sum (FR).
    pub forwarding_rate: FrameRate,
    /// Of the receiving port that got least of what it should, 0 to 1.
    pub worst_port_ratio: f64,
    /// Frames offered; a broadcast once for each port where it should arrive.
    pub offered_frames: u64,
    /// Those that came out where and when they should.
    pub received_frames: u64,
    /// Those that also, or only, came out elsewhere.
    pub flood_count: u64,
    /// Of the frames, in percent (RFC 2544 section 26.3).
    pub loss_percent: f64,
    /// Between the first port's first frame and the last port's.
    pub start_skew: Duration,
    /// As intended.
    pub duration: Duration,
    /// Why the trial decides nothing; empty where it does.
    pub invalid: Vec<String>,
    /// What the device asked of the tester by PAUSE frames, and what the tester waited for half-duplex media
    /// beyond what it made up for, sum over ports.
    pub paused: Duration,
    /// What came out a second as a share of what was to be sent, 0 to 1: less than 1 where the device
    /// asked for pauses, lost frames, or still kept some when the last one left. `None` where fewer than two
    /// frames came out: they have no rate.
    #[serde(default)]
    pub kept_up: Option<f64>,
    /// Where nothing speaks against the trial but that less was offered than intended: what the port offered that
    /// offered least.
    #[serde(default)]
    pub short_of: Option<FrameRate>,
}

impl LoadPoint {
    pub(crate) fn of(
        (load_percent, intended): (f64, FrameRate),
        duration: Duration,
        ran: &Ran,
    ) -> LoadPoint {
        let result = &ran.result;
        let forwarded = result.forwarding_rate().fps();
        let of_role = |role| {
            let streams = result.streams.iter().filter(move |stream| stream.role == role);
            streams.map(|stream| stream.sent).sum::<u64>() as f64
        };
        // What takes the place of test frames is not to come out.
        let (test, others) = (of_role(Role::Test), of_role(Role::Modifier));
        let of_test = 1.0 - others / (test + others).max(1.0);
        let share = forwarded / (result.intended_rate().fps() * of_test).max(1e-9);
        LoadPoint {
            load_percent,
            intended,
            offered: result.offered_rate(),
            forwarding_rate: result.forwarding_rate(),
            worst_port_ratio: worst_port(result),
            offered_frames: result.expected_frames(),
            received_frames: result.forwarded_frames(),
            flood_count: result.flood_count(),
            loss_percent: result.loss_ratio() * 100.0,
            start_skew: result.start_skew(),
            duration,
            invalid: shortfall_words(ran),
            paused: result.sent.iter().map(|sent| sent.report.held_back()).sum(),
            kept_up: (forwarded > 0.0).then_some(share),
            short_of: result.least_offered_rate().filter(|_| ran.is_only_short()),
        }
    }
    /// Start skew as a share of the trial: RFC 2889 appendix B wants 1 % or less.
    pub fn skew_percent(&self) -> f64 {
        self.start_skew.as_secs_f64() / self.duration.as_secs_f64().max(1e-12) * 100.0
    }
}

/// Why a trial decides nothing.
pub(crate) fn shortfall_words(ran: &Ran) -> Vec<String> {
    ran.invalid_reasons()
}

/// What the worst receiving port got of what it should get.
fn worst_port(result: &TrialResult) -> f64 {
    let ports = result.received.iter().filter_map(|port| {
        let here = port.streams.iter().filter(|stream| stream.expected);
        let (got, missed) = here.fold((0, 0), |(got, missed), stream| {
            (got + stream.account.unique, missed + stream.missing.count)
        });
        (got + missed > 0).then(|| got as f64 / (got + missed) as f64)
    });
    ports.fold(1.0, f64::min)
}

/// The highest load without loss.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Throughput {
    /// What was found.
    pub finding: Finding,
    /// The load, of each sending port, in percent of its medium.
    pub load_percent: Option<f64>,
    /// The same as a rate.
    pub rate: Option<FrameRate>,
    /// The lowest load that failed, in percent; the lowest that could not be tried where none failed.
    pub upper_percent: Option<f64>,
    /// The trial that decided it.
    pub point: Option<LoadPoint>,
    /// Trials of full length at this load that lost frames, and all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lossy_at_rate: Option<(u32, u32)>,
    /// Trials in all.
    pub trials: u32,
    /// Those that decided nothing.
    pub invalid_trials: u32,
    /// The highest loads with some loss, by the loss that passed, in percent. **Not throughput.**
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub with_tolerance: Vec<(f64, Throughput)>,
}

impl Throughput {
    /// Why there is none; empty where there is one, or where the device has none.
    pub fn invalid_reasons(&self) -> &[String] {
        match &self.finding {
            Finding::Invalid { reasons } => reasons,
            _ => &[],
        }
    }
}

impl Throughput {
    /// No more than was offered and came out: what the device held back by PAUSE frames or by frames of its
    /// own on a half-duplex medium, or kept until
    /// after the trial, it does not carry.
    fn kept_up_load(self, resolution: f64) -> Self {
        let kept_up = self.point.as_ref().and_then(|point| Some((point, point.kept_up?)));
        let Some((point, share)) = kept_up.filter(|(_, share)| *share < 1.0 - resolution) else {
            return self;
        };
        let finding = match point.paused > Duration::ZERO {
            true => Finding::Measured,
            false => Finding::Between {
                why: format!(
                    "the device's buffers carried {:.4} % of the medium for {}",
                    point.load_percent, point.duration
                ),
            },
        };
        Throughput {
            finding,
            load_percent: self.load_percent.map(|load| load * share),
            rate: self.rate.map(|rate| rate.scaled(share)),
            upper_percent: self.load_percent,
            ..self
        }
    }
}

/// Trials of full length that are to show what a tester that falls short can offer.
const PROOFS: u32 = 4;
/// What a trial carried while it lost frames, less this, may be carried without.
const SOMEWHAT_LESS: f64 = 0.9;
/// Loads in parts of the medium's maximum.
const PARTS: u64 = 1_000_000;

/// What can be offered at many loads.
pub(crate) trait Loads {
    /// A load in percent of the medium as the rate of each sending port.
    fn rate_of(&self, percent: f64) -> FrameRate;
    /// What the tester reaches by itself, where that was measured.
    fn tester(&self) -> Option<Ceiling>;
    /// What comes out at a load.
    fn point(
        &mut self,
        bench: &mut Bench<'_>,
        load_percent: f64,
        duration: Duration,
    ) -> Result<LoadPoint, RunError>;
}

/// The loads of a pattern of ports.
struct PatternLoads<'r, 'a> {
    rack: &'r TestSetup<'a>,
    test: (ChassisTest, Pattern),
}

impl Loads for PatternLoads<'_, '_> {
    fn rate_of(&self, percent: f64) -> FrameRate {
        self.rack.rate_of(percent)
    }
    fn tester(&self) -> Option<Ceiling> {
        self.rack.tester
    }
    fn point(
        &mut self,
        bench: &mut Bench<'_>,
        load_percent: f64,
        duration: Duration,
    ) -> Result<LoadPoint, RunError> {
        Ok(point_at(bench, self.rack, self.test, load_percent, duration)?.0)
    }
}

/// Finds the highest load of which no more than so much is lost.
struct Search<'l> {
    config: &'l SuiteConfig,
    loads: &'l mut dyn Loads,
    tolerance_percent: f64,
    trials: u32,
    invalid_trials: u32,
    reasons: Vec<String>,
    /// At the load tried last.
    loss_percent: f64,
    /// The same of the receiving port that got least of what it should, as a share that came.
    worst_port_ratio: f64,
    /// By load: the last trial of full length that passed.
    passed: BTreeMap<u64, LoadPoint>,
    /// So long are trials that decide.
    full: Duration,
    /// By load: such trials that lost frames, and all of them.
    at: BTreeMap<u64, (u32, u32)>,
    /// The highest load that a trial offered, though not the one intended, without more loss than may be.
    proved: Option<(FrameRate, LoadPoint)>,
    /// The same in trials shorter than full ones, with the loads intended.
    proved_shortly: Vec<(FrameRate, u64)>,
    /// The least that came out of such trials that lost frames, in parts of the medium.
    carried_shortly: Option<u64>,
}

/// Runs one load of a pattern.
pub(crate) fn point_at(
    bench: &mut Bench<'_>,
    rack: &TestSetup<'_>,
    (test, pattern): (ChassisTest, Pattern),
    load_percent: f64,
    duration: Duration,
) -> Result<(LoadPoint, PortMatrix), RunError> {
    let rate = rack.rate_of(load_percent);
    let label = format!("{test}, {} bytes: {load_percent:.4} % for {duration}", rack.size);
    let ran = rack.run(bench, test, &label, rate, &|draft| {
        draft.learn_all(rack);
        for turn in pattern.turns(rack.ports) {
            draft.turn(rack, &turn, rack.schedule(rate, duration))?;
        }
        Ok(())
    })?;
    let point = LoadPoint::of((load_percent, rate), duration, &ran);
    let about = format!("{load_percent:.2} % of the medium offered at each port, {duration}");
    Ok((point, PortMatrix::of(&ran.result, rack.ports, about)))
}

/// The highest load without loss (RFC 2889 section 5.1.4: the search adjusts the intended load).
pub(crate) fn highest_load(
    bench: &mut Bench<'_>,
    rack: &TestSetup<'_>,
    test: ChassisTest,
    pattern: Pattern,
) -> Result<Throughput, RunError> {
    let mut loads = PatternLoads { rack, test: (test, pattern) };
    let found = highest_load_of(bench, rack.config, &mut loads)?;
    let flooded = found.point.as_ref().filter(|point| point.flood_count > 0);
    if let Some(point) = flooded.filter(|_| pattern != Pattern::Broadcast) {
        // A hub, or a switch that has not learned.
        bench.emit(Event::Warning(format!(
            "{test}, {}: at {:.4} % of the medium the device flooded {} frames though their addresses were \
             announced before the trial: its table is full, it forgets within the trial, or it learns \
             nothing; the throughput is that of a device that floods",
            rack.size, point.load_percent, point.flood_count
        )))?;
    }
    Ok(found)
}

/// The same of anything that can be offered at many loads; then with each loss that is tolerated.
pub(crate) fn highest_load_of(
    bench: &mut Bench<'_>,
    config: &SuiteConfig,
    loads: &mut dyn Loads,
) -> Result<Throughput, RunError> {
    if config.search.policy == SearchPolicy::Mlrsearch {
        return goals_together(bench, config, loads);
    }
    let mut found = Search::new(config, loads, 0.0).run(bench)?;
    for percent in &config.throughput.loss_tolerances_percent {
        let more = Search::new(config, loads, *percent).run(bench)?;
        found.with_tolerance.push((*percent, more));
    }
    Ok(found)
}

/// All of them in one search, the manager of which this is (draft-ietf-bmwg-mlrsearch-15).
fn goals_together(
    bench: &mut Bench<'_>,
    config: &SuiteConfig,
    loads: &mut dyn Loads,
) -> Result<Throughput, RunError> {
    let tolerances = &config.throughput.loss_tolerances_percent;
    let goals = config.search.goals(tolerances, config.trial.duration_s);
    let mut search = Search::new(config, loads, 0.0);
    search.full = goals.first().map_or(search.full, |goal| goal.final_duration);
    let mut controller = MlrSearch::new(search.range(), &goals);
    drive(&mut controller, |asked: TimedLoad, _| {
        let point = search.point(bench, asked.load, asked.duration)?;
        let tried = Tried {
            duration: asked.duration,
            expected_frames: point.offered_frames,
            lost_frames: point.offered_frames - point.received_frames,
        };
        let is_valid = point.invalid.is_empty();
        search.passed.insert(asked.load, point);
        Ok::<_, RunError>(match is_valid {
            true => mlrsearch::TrialOutput::Measured(tried),
            false => mlrsearch::TrialOutput::Undecided { reached: None },
        })
    })?;
    let points = search.passed.clone();
    let mut found = vec![];
    for result in controller.results() {
        search.tolerance_percent = result.goal.loss_ratio * 100.0;
        search.passed.clone_from(&points);
        let of_goal = search.found(result.bounds());
        found.push((search.tolerance_percent, search.at_least_proved(of_goal)));
    }
    let (_, first) = found.remove(0);
    Ok(Throughput { with_tolerance: found, ..first })
}

impl<'l> Search<'l> {
    fn new(config: &'l SuiteConfig, loads: &'l mut dyn Loads, tolerance_percent: f64) -> Self {
        let (trials, invalid_trials, reasons) = (0, 0, vec![]);
        let (loss_percent, worst_port_ratio, passed) = (0.0, 1.0, BTreeMap::new());
        Search {
            config,
            loads,
            tolerance_percent,
            trials,
            invalid_trials,
            reasons,
            loss_percent,
            worst_port_ratio,
            passed,
            full: Duration::from_secs_f64(config.trial.duration_s),
            at: BTreeMap::new(),
            proved: None,
            proved_shortly: vec![],
            carried_shortly: None,
        }
    }

    fn run(&mut self, bench: &mut Bench<'_>) -> Result<Throughput, RunError> {
        let config = self.config;
        let full = Duration::from_secs_f64(config.trial.duration_s);
        let short =
            Duration::from_secs_f64(config.search.trial_duration_s.min(config.trial.duration_s));
        if config.search.policy == SearchPolicy::Adaptive {
            return self.run_adaptively(bench, (short, full));
        }
        let most = self.range().max;
        let mut bounds = self.search_up_to(bench, most, short)?;
        while let Some(lower) = bounds.lower.filter(|_| short < full) {
            // What was found in short trials must stand one of full length.
            match self.try_load(bench, lower, full)? {
                LoadVerdict::Passed => break,
                outcome => {
                    let why = match outcome {
                        LoadVerdict::Undecided => Upper::Undecided,
                        _ => Upper::Failed,
                    };
                    let below = lower.saturating_sub(self.step(lower));
                    bounds = match below {
                        0 => Bounds::default(),
                        below => self.search_up_to(bench, below, short)?,
                    };
                    bounds.upper = bounds.upper.or(Some((lower, why)));
                }
            }
        }
        self.found_or_proved(bench, bounds)
    }

    /// By what the port carried that got least of what it should; what short trials found must stand one of
    /// full length.
    fn run_adaptively(
        &mut self,
        bench: &mut Bench<'_>,
        (short, full): (Duration, Duration),
    ) -> Result<Throughput, RunError> {
        let config = &self.config.search;
        let resolution = Resolution { absolute: 1, relative: config.resolution_percent / 100.0 };
        let (trials, confirmations) = (config.max_trials_per_load, u32::from(short < full));
        let mut search = Adaptive::new(self.range(), resolution, trials, confirmations);
        while let Some(asked) = search.next_load() {
            let duration = if asked.is_final { full } else { short };
            let came = match self.try_load(bench, asked.load, duration)? {
                LoadVerdict::Passed => Came::Carried { offered: asked.load, sustained: asked.load },
                LoadVerdict::Failed { .. } => self.lost(asked.load),
                LoadVerdict::Undecided => Came::Undecided,
            };
            search.record(asked, came);
        }
        let mut bounds = search.bounds();
        if short < full {
            bounds.lower = search.confirmed();
        }
        self.found_or_proved(bench, bounds)
    }

    fn found_or_proved(
        &mut self,
        bench: &mut Bench<'_>,
        bounds: Bounds,
    ) -> Result<Throughput, RunError> {
        let found = self.found(bounds);
        self.prove(bench, &found)?;
        Ok(self.at_least_proved(found))
    }

    /// The load at which the worst port would have lost no more than may be, of the trial made last.
    fn lost(&self, load: u64) -> Came {
        let allowed = (self.tolerance_percent / 100.0).min(0.5);
        let forwarded = (load as f64 * self.worst_port_ratio / (1.0 - allowed)) as u64;
        Came::Lost { forwarded, sustained: (forwarded.min(load), load) }
    }

    /// From the lowest load to the medium's maximum, or the tester's own where that is less.
    fn range(&self) -> Range {
        let min = (self.config.search.lowest_load_percent / 100.0 * PARTS as f64) as u64;
        let share = self.tester_share().unwrap_or(1.0);
        Range { min: min.max(1), max: (share * PARTS as f64) as u64 }
    }

    /// What the tester reaches by itself of the medium's maximum, where that is less.
    fn tester_share(&self) -> Option<f64> {
        let tester = self.loads.tester().filter(|tester| tester.of == MaximumOf::Tester)?;
        Some(tester.rate.fps() / self.loads.rate_of(100.0).fps()).filter(|share| *share < 1.0)
    }

    fn step(&self, load: u64) -> u64 {
        ((load as f64 * self.config.search.resolution_percent / 100.0) as u64).max(1)
    }

    fn search_up_to(
        &mut self,
        bench: &mut Bench<'_>,
        max: u64,
        duration: Duration,
    ) -> Result<Bounds, RunError> {
        let search = &self.config.search;
        let relative = search.resolution_percent / 100.0;
        let range = Range { max, ..self.range() };
        if search.policy == SearchPolicy::Step {
            let shortest_ns = self.loads.rate_of(100.0).interval().as_ns_f64();
            let step = search.gap_step_ns.map_or(relative, |step_ns| step_ns / shortest_ns);
            return self.drive(bench, GapSteps::new(range, step), duration);
        }
        self.drive(bench, Bisect::new(range, Resolution { absolute: 1, relative }), duration)
    }

    fn drive(
        &mut self,
        bench: &mut Bench<'_>,
        search: impl search::Search<Load = u64, TrialOutput = LoadVerdict>,
        duration: Duration,
    ) -> Result<Bounds, RunError> {
        let config = &self.config.search;
        let trials = match config.policy {
            SearchPolicy::Tst009 => config.max_trials_per_load,
            _ => 1,
        };
        let most = config.no_verification_above_lost_frames;
        let mut search = LossVerification::new(search, trials, most);
        drive(&mut search, |load, _| self.try_load(bench, load, duration))
    }

    fn point(
        &mut self,
        bench: &mut Bench<'_>,
        load: u64,
        duration: Duration,
    ) -> Result<LoadPoint, RunError> {
        let point = self.loads.point(bench, percent(load), duration)?;
        self.trials += 1;
        match point.invalid.is_empty() {
            true => {
                self.loss_percent = point.loss_percent;
                self.worst_port_ratio = point.worst_port_ratio;
                if duration >= self.full {
                    let (lossy, all) = self.at.entry(load).or_default();
                    *lossy += u32::from(point.received_frames < point.offered_frames);
                    *all += 1;
                }
            }
            false => {
                self.invalid_trials += 1;
                self.reasons.clone_from(&point.invalid);
                self.note_proved(load, &point, duration);
            }
        }
        Ok(point)
    }

    /// A trial that offered less than intended says nothing of the load intended. That all came out is true of the
    /// load that was offered all the same.
    fn note_proved(&mut self, load: u64, point: &LoadPoint, duration: Duration) {
        let Some(offered) = point.short_of.filter(|_| point.kept_up.is_some()) else { return };
        if point.loss_percent > self.tolerance_percent {
            let carried = (load as f64 * point.worst_port_ratio) as u64;
            self.carried_shortly = self.carried_shortly.into_iter().chain([carried]).min();
        } else if duration < self.full {
            self.proved_shortly.push((offered, load));
        } else if self.proved.as_ref().is_none_or(|(rate, _)| *rate < offered) {
            self.proved = Some((offered, point.clone()));
        }
    }

    /// Where no trial of full length was valid: those that shorter ones give hope of, from the highest on, or where all
    /// of them lost frames, somewhat less than they carried.
    fn prove(&mut self, bench: &mut Bench<'_>, found: &Throughput) -> Result<(), RunError> {
        if !matches!(found.finding, Finding::Invalid { .. }) {
            return Ok(());
        }
        self.proved_shortly.sort();
        for _ in 0..PROOFS {
            let hoped = self.proved_shortly.pop();
            let known = self.proved.as_ref().map(|(rate, _)| *rate);
            let load = match (hoped, known) {
                (Some((offered, load)), _) if known.is_none_or(|known| known < offered) => load,
                (None, None) => match self.carried_shortly {
                    Some(carried) => (carried as f64 * SOMEWHAT_LESS) as u64,
                    None => break,
                },
                _ => break,
            };
            if load < self.range().min {
                break;
            }
            self.point(bench, load, self.full)?;
        }
        Ok(())
    }

    /// Of a tester that could not offer more, what it did offer without a loss, where that is more than was found and
    /// below what failed.
    fn at_least_proved(&self, found: Throughput) -> Throughput {
        let Some((rate, point)) = &self.proved else { return found };
        let load_percent = 100.0 * rate.fps() / self.loads.rate_of(100.0).fps();
        let finding = match &found.finding {
            _ if found.rate.is_some_and(|known| known >= *rate) => return found,
            Finding::Invalid { .. } | Finding::AtLeast { .. } => {
                Finding::AtLeast { why: point.invalid.join("; ") }
            }
            Finding::Between { .. } if found.upper_percent.is_some_and(|up| up > load_percent) => {
                found.finding.clone()
            }
            _ => return found,
        };
        Throughput {
            finding,
            load_percent: Some(load_percent),
            rate: Some(*rate),
            point: Some(point.clone()),
            lossy_at_rate: None,
            ..found
        }
    }

    fn try_load(
        &mut self,
        bench: &mut Bench<'_>,
        load: u64,
        duration: Duration,
    ) -> Result<LoadVerdict, RunError> {
        let point = self.point(bench, load, duration)?;
        if !point.invalid.is_empty() {
            return Ok(LoadVerdict::Undecided);
        }
        if point.loss_percent > self.tolerance_percent {
            let lost_frames = point.offered_frames - point.received_frames;
            return Ok(LoadVerdict::Failed { lost_frames });
        }
        if point.kept_up.is_none() {
            self.reasons = vec![format!(
                "{duration} hold less than two frames at {:.4} %: set a longer trial",
                point.load_percent
            )];
            return Ok(LoadVerdict::Undecided);
        }
        if duration == Duration::from_secs_f64(self.config.trial.duration_s) {
            self.passed.insert(load, point);
        }
        Ok(LoadVerdict::Passed)
    }

    fn found(&mut self, bounds: Bounds) -> Throughput {
        let invalid = || self.reasons.join("; ");
        let finding = match (bounds.lower, bounds.upper) {
            (Some(_), None) if self.tester_share().is_some() => {
                Finding::AtLeast { why: "the tester's own maximum".into() }
            }
            (Some(_), None) => Finding::AtTheoreticalMaximum,
            (Some(_), Some((_, Upper::Failed))) => Finding::Measured,
            (Some(_), Some((_, Upper::Undecided))) => match bounds.failed {
                Some(_) => Finding::Between { why: invalid() },
                None => Finding::AtLeast { why: invalid() },
            },
            (None, Some((load, Upper::Failed))) => Finding::NothingPassed {
                lowest: self.loads.rate_of(percent(load)),
                loss_percent: self.loss_percent,
            },
            (None, _) => Finding::Invalid { reasons: self.reasons.clone() },
        };
        let point = bounds.lower.and_then(|load| self.passed.remove(&load));
        let throughput = Throughput {
            finding,
            load_percent: bounds.lower.map(percent),
            rate: bounds.lower.map(|load| self.loads.rate_of(percent(load))),
            // A load that the tester could not try bounds nothing, where the device failed another.
            upper_percent: bounds.failed.or(bounds.upper.map(|(load, _)| load)).map(percent),
            point,
            lossy_at_rate: bounds.lower.and_then(|load| self.at.get(&load).copied()),
            trials: self.trials,
            invalid_trials: self.invalid_trials,
            with_tolerance: vec![],
        };
        let slack_percent = self.config.search.resolution_percent + self.tolerance_percent;
        throughput.kept_up_load(slack_percent / 100.0)
    }
}

fn percent(load: u64) -> f64 {
    load as f64 * 100.0 / PARTS as f64
}
