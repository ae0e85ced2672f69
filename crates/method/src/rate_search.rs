//! The search for the highest rate that meets a goal: search, then final check; shared by
//! throughput and self-test.

mod adaptively;
mod known;

pub(crate) use known::Known;

use crate::bench::{Bench, Ran, Request, by_offer, is_short};
use crate::event::{SearchBounds, Verdict};
use crate::outcome::number::several;
use crate::rfc2544::MaximumOf;
use crate::search::adaptive::{Against, Noise};
use crate::search::{
    Bisect, Bounds, FinalCheck, GapSteps, LoadVerdict, LossVerification, Range, Resolution, Search,
    Upper, drive,
};
use crate::subject::Subject;
use crate::{Buffered, Finding, RateFound, RunError, SearchPolicy, TestKind};
use std::collections::BTreeMap;
use trial::TrialResult;
use units::{Duration, FrameRate};

/// Loads are parts per thousand million of the ceiling.
pub(crate) const PARTS: u64 = 1_000_000_000;

/// A load of which this share was offered was offered: a clock's tick may lack.
const WHOLE: f64 = 1.0 - 1e-6;
/// Bounds that are further apart, as a share of the upper one, are called a bracket.
const WIDE: f64 = 0.1;
/// Bounds of a noisy device are near enough at this share of the upper one.
pub(crate) const NEAR: f64 = 0.045;

/// Why a noisy device's rate is an interval.
pub(crate) const VARIES: &str =
    "trials contradict each other: what the device carries varies from trial to trial";

/// What is searched for.
pub(crate) struct RateGoal<'a> {
    pub test: TestKind,
    /// Who chooses the loads; not MLRsearch.
    pub policy: SearchPolicy,
    /// Loss that still passes, in percent.
    pub tolerance_percent: f64,
    pub resolution_percent: f64,
    pub lowest_load_percent: f64,
    pub max_trials_per_load: u32,
    pub gap_step_ns: Option<f64>,
    pub no_verification_above_lost_frames: Option<u64>,
    /// Length of trials while searching.
    pub search_duration: Duration,
    /// Length of trials that decide.
    pub final_duration: Duration,
    /// How many of them at the end; 0 only where searching trials are as long.
    pub final_trials: u32,
    /// What to do where trials contradict each other; `None` to take no notice. For the adaptive search.
    pub noise: Option<Against>,
    pub judge: &'a dyn Fn(&TrialResult) -> Verdict,
}

/// The largest loss of any test stream, 0 to 1: a direction must not hide behind the other
/// (RFC 2544 section 14; loss in either fails a trial).
pub(crate) fn worst_loss_ratio(result: &TrialResult) -> f64 {
    let test = result.streams.iter().filter(|stream| stream.role == trial::Role::Test);
    let ratios = test.map(|stream| {
        let expected = stream.sent * stream.expected_ports.len() as u64;
        stream.lost as f64 / expected.max(1) as f64
    });
    ratios.fold(0.0, f64::max)
}

/// A valid trial passes with no more than this loss in any direction.
pub fn judge_loss(result: &TrialResult, tolerance_percent: f64) -> Verdict {
    match result.is_valid() {
        false => Verdict::Invalid,
        true if worst_loss_ratio(result) * 100.0 <= tolerance_percent => Verdict::Passed,
        true => Verdict::Failed,
    }
}

impl RateFound {
    /// What is known where a search cannot begin.
    pub(crate) fn not_sought(goal: &RateGoal<'_>, why: String) -> RateFound {
        RateFound {
            loss_tolerance_percent: goal.tolerance_percent,
            confidence: None,
            finding: Finding::Invalid { reasons: vec![why] },
            rate: None,
            buffered: None,
            conditional_throughput: None,
            percent_of_theoretical: None,
            offered: None,
            loss_percent: None,
            upper: None,
            resolution_fps: None,
            resolution_percent_of_theoretical: None,
            trial_duration: goal.final_duration,
            trials: 0,
            invalid_trials: 0,
            test_time: Duration::ZERO,
            trials_at_rate: 0,
            failed_trials_at_rate: 0,
            policy: goal.policy,
            search: goal.describe(),
        }
    }
}

/// Finds the highest rate that meets `goal`. Trials in `known` are not made again; new ones are
/// added to it.
pub(crate) fn find_rate(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    goal: &RateGoal<'_>,
    known: &mut Known,
) -> Result<RateFound, RunError> {
    let mut hunt = RateSearch {
        bench,
        subject,
        goal,
        known: known.clone(),
        made: known,
        tally: BTreeMap::new(),
        passed: BTreeMap::new(),
        trials: 0,
        invalid_trials: 0,
        failure: Failure::default(),
        buffered: None,
        has_pauses: false,
        wide: false,
        confirmed_at: None,
        confidence: None,
    };
    let before = hunt.bench.clock().spent;
    let bounds = hunt.search()?;
    let test_time = hunt.bench.clock().spent.saturating_sub(before);
    Ok(RateFound { test_time, ..hunt.found(bounds) })
}

/// The loads of a search.
pub(crate) fn range(lowest_load_percent: f64) -> Range {
    let min = (lowest_load_percent / 100.0 * PARTS as f64) as u64;
    Range { min: min.max(1), max: PARTS }
}

/// The ceiling itself exactly, else the nearest thousandth of a frame a second.
pub(crate) fn rate_of(subject: &Subject<'_>, load: u64) -> FrameRate {
    let ceiling = subject.ceiling.rate;
    if load == PARTS { ceiling } else { ceiling.scaled(load as f64 / PARTS as f64) }
}

/// The nearest load that is no faster.
pub(crate) fn load_of(subject: &Subject<'_>, fps: f64) -> u64 {
    (fps / subject.ceiling.rate.fps() * PARTS as f64) as u64
}

/// Asks for a trial at a load of a search for `test`, for so long; `percent` of loss may pass.
pub(crate) fn request<'a>(
    subject: &Subject<'a>,
    test: TestKind,
    percent: f64,
    (load, duration): (u64, Duration),
    bounds: Bounds,
) -> Request<'a> {
    let rate = rate_of(subject, load);
    let size = subject.size_in_words();
    let goal = match percent {
        0.0 => "no loss".to_string(),
        percent => format!("loss up to {percent} %"),
    };
    let label = format!("{test}, {size}, {goal}: {rate:.1} for {duration}");
    let fps = |load| rate_of(subject, load).fps();
    let bounds = SearchBounds {
        lower: bounds.lower.map(fps),
        upper: bounds.upper.map(|(load, _)| fps(load)),
        unit: "fps".into(),
    };
    Request { bounds: Some(bounds), ..subject.request(test, label, rate, duration) }
}

/// A search under way.
struct RateSearch<'h, 'b> {
    bench: &'h mut Bench<'b>,
    subject: &'h Subject<'h>,
    goal: &'h RateGoal<'h>,
    /// Trials of earlier searches that this one has not used yet.
    known: Known,
    made: &'h mut Known,
    /// By load: full-length trials, and those that failed.
    tally: BTreeMap<u64, (u32, u32)>,
    /// By load: the last full-length trial that passed.
    passed: BTreeMap<u64, Passed>,
    trials: u32,
    invalid_trials: u32,
    failure: Failure,
    /// The highest load that passed from a buffer alone.
    buffered: Option<Buffered>,
    /// Whether the device asked for pauses: it, and not the tester, held back what was not offered.
    has_pauses: bool,
    /// Whether the bounds are further apart than a result may be.
    wide: bool,
    /// The load that trials of full length confirmed, where it is not the lower bound itself.
    confirmed_at: Option<u64>,
    /// The chance that the bounds hold the truth, where trials contradicted each other.
    confidence: Option<f64>,
}

#[derive(Clone, Copy)]
struct Passed {
    offered: FrameRate,
    loss_percent: f64,
}

/// What is known of the last loads that did not pass.
#[derive(Default)]
struct Failure {
    /// By load, the loss in percent.
    loss_percent: BTreeMap<u64, f64>,
    /// Why the last invalid trial was invalid.
    reasons: Vec<String>,
}

/// A device that loses less of the lowest load, in percent, is likely to lose some of any load.
const SLOW_LOSES_PERCENT: f64 = 3.0;
/// How often a search goes on below its lowest load.
const DESCENTS_MAX: u32 = 3;
/// A trial of fewer frames tells no rate to some percent.
const FRAMES_THAT_TELL: f64 = 50.0;
/// Nor is it no accident that none is lost where fewer were to be expected.
const LOST_THAT_TELL: f64 = 10.0;

impl RateSearch<'_, '_> {
    /// A device that is much slower than the lowest load is sought where its frames come out.
    fn search(&mut self) -> Result<Bounds, RunError> {
        let Range { min, max } = range(self.goal.lowest_load_percent);
        // Where a search for another goal has gone below the lowest load, so does this one.
        let least = self.known.valid.keys().next().map_or(min, |load| min.min(*load));
        let mut bounds = self.search_in(Range { min: least, max })?;
        for _ in 0..DESCENTS_MAX {
            let Some(slower) = self.range_below(bounds) else { break };
            let found = self.search_in(slower)?;
            // A load that carried now what it did not before leaves the rate open.
            let Some(_) = found.upper else { break };
            bounds = found;
        }
        Ok(bounds)
    }

    /// The loads below the lowest one, where most of that was lost and the rest came out.
    fn range_below(&self, bounds: Bounds) -> Option<Range> {
        let (None, Some((lowest, Upper::Failed))) = (bounds.lower, bounds.upper) else {
            return None;
        };
        let lost_percent = *self.failure.loss_percent.get(&lowest)?;
        let lost = lost_percent / 100.0;
        let forwarded = (lowest as f64 * (1.0 - lost)) as u64;
        let frames = FRAMES_THAT_TELL.max(LOST_THAT_TELL / lost);
        let tells = load_of(self.subject, frames / self.goal.search_duration.as_secs_f64());
        let min = (forwarded / 2).max(tells).max(1);
        let is_slow = lost_percent > SLOW_LOSES_PERCENT && forwarded > min;
        is_slow.then_some(Range { min, max: lowest })
    }

    fn search_in(&mut self, range: Range) -> Result<Bounds, RunError> {
        let goal = self.goal;
        let resolution = Resolution { absolute: 1, relative: goal.resolution_percent / 100.0 };
        let bounds = match goal.policy {
            SearchPolicy::Adaptive => return self.search_adaptively(range, resolution),
            SearchPolicy::Step => {
                self.drive(GapSteps::new(range, goal.gap_step(self.subject)), goal.search_duration)?
            }
            _ => self.drive(Bisect::new(range, resolution), goal.search_duration)?,
        };
        let is_short = goal.search_duration < goal.final_duration;
        let (Some(lower), true) = (bounds.lower, is_short || goal.final_trials > 0) else {
            return Ok(self.as_offered(bounds));
        };
        let trials = goal.final_trials.max(1);
        let check = FinalCheck::new(lower, bounds, range.min, resolution, trials);
        let bounds = self.drive(check, goal.final_duration)?;
        Ok(self.as_offered(bounds))
    }

    fn drive(
        &mut self,
        search: impl Search<Load = u64, TrialOutput = LoadVerdict>,
        duration: Duration,
    ) -> Result<Bounds, RunError> {
        let goal = self.goal;
        let z = goal.no_verification_above_lost_frames;
        let mut search = LossVerification::new(search, goal.trials_per_load(), z);
        drive(&mut search, |load, bounds| self.try_load(load, bounds, duration))
    }

    fn try_load(
        &mut self,
        load: u64,
        bounds: Bounds,
        duration: Duration,
    ) -> Result<LoadVerdict, RunError> {
        if let Some(tried) = self.known.take(load, duration) {
            let verdict = (self.goal.judge)(&tried.result);
            return Ok(self.note(load, tried.duration, &tried.result, verdict));
        }
        if let Some(reasons) = self.known.undecided.get(&(load, duration)) {
            self.failure.reasons = reasons.clone();
            return Ok(LoadVerdict::Undecided);
        }
        let ran = self.run(load, bounds, duration)?;
        self.trials += ran.attempts();
        self.invalid_trials += ran.invalid_attempts;
        if ran.verdict == Verdict::Invalid {
            self.failure.reasons = ran.invalid_reasons();
            self.made.undecided.insert((load, duration), self.failure.reasons.clone());
            return Ok(LoadVerdict::Undecided);
        }
        let outcome = self.note(load, duration, &ran.result, ran.verdict);
        if ran.result.is_valid() {
            self.made.add(load, duration, ran.result);
        }
        Ok(outcome)
    }

    fn run(&mut self, load: u64, bounds: Bounds, duration: Duration) -> Result<Ran, RunError> {
        let (test, percent) = (self.goal.test, self.goal.tolerance_percent);
        let request = request(self.subject, test, percent, (load, duration), bounds);
        let request = Request { judge: self.goal.judge, ..request };
        match self.goal.policy {
            // A trial without loss proves what it offered.
            SearchPolicy::Step => self.bench.run_changed(request, &|trial| Ok(by_offer(trial))),
            _ => self.bench.run(request),
        }
    }

    /// What passed is the load that was offered, which falls short of the one asked for where the tester was held up.
    fn as_offered(&mut self, mut bounds: Bounds) -> Bounds {
        let by_steps = self.goal.policy == SearchPolicy::Step;
        let Some(asked) = bounds.lower.filter(|_| by_steps) else { return bounds };
        let offered = self.passed.get(&asked).map(|passed| passed.offered);
        if let Some(offered) = offered.filter(|offered| is_short(self.rate(asked), *offered)) {
            bounds.lower = Some(load_of(self.subject, offered.fps()).max(1));
            self.confirmed_at = Some(asked);
            self.explain_width(bounds);
        }
        bounds
    }

    /// Keeps what the result will tell of a trial that decides.
    fn note(
        &mut self,
        load: u64,
        duration: Duration,
        result: &TrialResult,
        verdict: Verdict,
    ) -> LoadVerdict {
        let loss_percent = worst_loss_ratio(result) * 100.0;
        let did_pass = verdict == Verdict::Passed;
        if duration >= self.goal.final_duration {
            let tally = self.tally.entry(load).or_default();
            *tally = (tally.0 + 1, tally.1 + u32::from(!did_pass));
            if did_pass {
                let senders = self.subject.traffic.senders().len() as f64;
                let offered = result.offered_rate().scaled(1.0 / senders);
                self.passed.insert(load, Passed { offered, loss_percent });
            }
        }
        if did_pass {
            return LoadVerdict::Passed;
        }
        self.failure.loss_percent.insert(load, loss_percent);
        LoadVerdict::Failed { lost_frames: result.lost_frames() }
    }

    fn rate(&self, load: u64) -> FrameRate {
        rate_of(self.subject, load)
    }

    fn found(self, bounds: Bounds) -> RateFound {
        let subject = self.subject;
        let rate = bounds.lower.map(|load| self.rate(load));
        let upper = bounds.failed.or(bounds.upper.map(|(load, _)| load));
        let upper = upper.map(|load| self.rate(load));
        let at = self.confirmed_at.or(bounds.lower);
        let passed = at.and_then(|load| self.passed.get(&load)).copied();
        let tally = at.and_then(|load| self.tally.get(&load)).copied();
        let (trials_at_rate, failed_trials_at_rate) = tally.unwrap_or_default();
        let resolution_fps = rate.zip(upper).map(|(rate, upper)| upper.fps() - rate.fps());
        let theoretical = subject.theoretical_max().fps();
        let is_more = |it: &Buffered| rate.is_some_and(|rate| it.rate > rate);
        RateFound {
            loss_tolerance_percent: self.goal.tolerance_percent,
            finding: self.finding(bounds),
            rate,
            confidence: self.confidence,
            buffered: self.buffered.filter(is_more),
            conditional_throughput: None,
            percent_of_theoretical: rate.map(|rate| subject.percent_of_theoretical(rate)),
            offered: passed.map(|passed| passed.offered),
            loss_percent: passed.map(|passed| passed.loss_percent),
            upper,
            resolution_fps,
            resolution_percent_of_theoretical: resolution_fps.map(|fps| fps / theoretical * 100.0),
            trial_duration: self.goal.final_duration,
            trials: self.trials,
            invalid_trials: self.invalid_trials,
            test_time: Duration::ZERO,
            trials_at_rate,
            failed_trials_at_rate,
            policy: self.goal.policy,
            search: self.goal.describe(),
        }
    }

    fn finding(&self, bounds: Bounds) -> Finding {
        if self.wide {
            return Finding::Between { why: self.failure.reasons.join("; ") };
        }
        let at_upper = bounds.upper.and_then(|(load, _)| self.failure.loss_percent.get(&load));
        let mut found = finding(
            self.subject,
            bounds,
            (at_upper.copied().unwrap_or(0.0), self.goal.tolerance_percent),
            &self.failure.reasons,
        );
        // An estimate is no load that was tried.
        if let Finding::NothingPassed { lowest, loss_percent } = &mut found
            && at_upper.is_none()
            && let Some((load, percent)) = self.failure.loss_percent.first_key_value()
        {
            (*lowest, *loss_percent) = (self.rate(*load), *percent);
        }
        found
    }
}

/// How the reason of a rate begins that the tester could not exceed.
const TESTER_LIMITED: &str = "tester-limited: ";
/// The rest of such a reason, where a sentence has said that it is the tester's limit.
pub(crate) fn without_tester_limited(why: &str) -> &str {
    why.strip_prefix(TESTER_LIMITED).unwrap_or(why)
}

/// What bounds mean. `loss_percent` is the loss at the upper one, `reasons` say why the last
/// invalid trial was invalid.
pub(crate) fn finding(
    subject: &Subject<'_>,
    bounds: Bounds,
    (loss_percent, tolerance_percent): (f64, f64),
    reasons: &[String],
) -> Finding {
    let rate = |load| rate_of(subject, load);
    let ceiling = subject.ceiling;
    let is_testers = ceiling.of == MaximumOf::Tester;
    let own_maximum = || Finding::AtLeast { why: "the tester's own maximum".into() };
    match (bounds.lower, bounds.upper) {
        (None, Some((lowest, Upper::Failed))) => {
            Finding::NothingPassed { lowest: rate(lowest), loss_percent }
        }
        (None, _) => Finding::Invalid { reasons: reasons.to_vec() },
        (Some(_), Some((_, Upper::Undecided))) => match bounds.failed {
            Some(_) => Finding::Between { why: reasons.join("; ") },
            None => Finding::AtLeast { why: reasons.join("; ") },
        },
        (Some(_), None) if is_testers => own_maximum(),
        (Some(lower), None) if rate(lower) < ceiling.rate => Finding::AtLeast {
            why: match tolerance_percent > 0.0 {
                true => format!(
                    "{TESTER_LIMITED}no more than {tolerance_percent} % was lost at the highest load that the tester \
                     could offer"
                ),
                false => format!(
                    "{TESTER_LIMITED}nothing was lost at the highest load that the tester could offer"
                ),
            },
        },
        (Some(_), None) => Finding::AtTheoreticalMaximum,
        (Some(lower), Some((_, Upper::Failed))) => {
            let is_near = rate(lower).fps() + ceiling.slack_fps >= ceiling.rate.fps();
            if is_testers && is_near { own_maximum() } else { Finding::Measured }
        }
    }
}

impl RateGoal<'_> {
    fn noisy(&self) -> Option<Noise> {
        let are_all_final = self.search_duration >= self.final_duration;
        self.noise.map(|against| Noise {
            against,
            near: NEAR,
            are_all_final,
            challenges: self.final_trials,
        })
    }

    /// One step of the gap as a share of the shortest interval from frame to frame.
    fn gap_step(&self, subject: &Subject<'_>) -> f64 {
        let shortest_ns = subject.ceiling.rate.interval().as_ns_f64();
        self.gap_step_ns.map_or(self.resolution_percent / 100.0, |step_ns| step_ns / shortest_ns)
    }

    /// Loss verification belongs to TST009's search.
    fn trials_per_load(&self) -> u32 {
        if self.policy == SearchPolicy::Tst009 { self.max_trials_per_load } else { 1 }
    }

    /// How the search is made, with its parameters.
    fn describe(&self) -> String {
        let policy = match (self.policy, self.trials_per_load()) {
            (SearchPolicy::Tst009, 1) => SearchPolicy::Bisect.to_string(),
            (SearchPolicy::Tst009, r) => {
                let unless = self.no_verification_above_lost_frames;
                let unless = unless.map(|z| format!(", none after more than {z} lost frames"));
                let unless = unless.unwrap_or_default();
                format!("{}, at most {r} trials a load{unless}", self.policy)
            }
            (SearchPolicy::Step, _) => match self.gap_step_ns {
                Some(step_ns) => format!("{} of {step_ns} ns", self.policy),
                None => format!("{}, each the resolution's share of the shortest", self.policy),
            },
            (SearchPolicy::Adaptive, _) => {
                let against = match self.noise {
                    None => String::new(),
                    Some(Against::Estimate) => ", an estimate on noisy devices".into(),
                    Some(Against::Sequential { error }) => {
                        format!(", error of up to {:.0} % on noisy devices", error * 100.0)
                    }
                };
                format!(
                    "{}, up to {} per load{against}",
                    self.policy,
                    several(self.max_trials_per_load.into(), "trial", "trials")
                )
            }
            (policy, _) => policy.to_string(),
        };
        format!(
            "{policy}, resolution {} %, lowest load {} % of the maximum, trials of {}, \
             {} of {}",
            self.resolution_percent,
            self.lowest_load_percent,
            self.search_duration,
            several(self.final_trials.into(), "final trial", "final trials"),
            self.final_duration,
        )
    }
}
