//! The search for the rates that meet several goals at once, by MLRsearch.
//!
//! Of its three parts (draft-ietf-bmwg-mlrsearch-15, "Test Components") the suite is the manager,
//! [`MlrSearch`] the controller, and the bench the measurer: one trial of RFC 2544 section 23 for
//! each load and duration. Load is that of each sending port; counts are those of all ports
//! together, so that with two directions of which one is dead half of the frames are lost.

use crate::bench::{Bench, Ran, Request};
use crate::event::Verdict;
use crate::rate_search::{Known, PARTS, finding, range, rate_of, request};
use crate::search::mlrsearch::{GoalResult, MlrSearch, SearchGoal, TimedLoad, TrialOutput, Tried};
use crate::search::{Bounds, drive};
use crate::subject::Subject;
use crate::{RateFound, RunError, SearchPolicy, TestKind};
use std::collections::BTreeMap;
use trial::TrialResult;
use units::{Duration, FrameRate};

/// A search under way.
struct GoalSearch<'h, 'b> {
    bench: &'h mut Bench<'b>,
    subject: &'h Subject<'h>,
    /// Trials made before that this search has not used yet.
    known: Known,
    made: &'h mut Known,
    trials: u32,
    invalid_trials: u32,
    /// Why the last invalid trial was invalid.
    reasons: Vec<String>,
    /// By load: what was really offered in the last valid trial there.
    offered: BTreeMap<u64, FrameRate>,
}

/// Finds the highest rate for each goal, in their order. Trials and time of the search stand with
/// the first. Trials in `known` are not made again; new ones are added to it.
pub(crate) fn find_rates(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    goals: &[SearchGoal],
    known: &mut Known,
) -> Result<Vec<RateFound>, RunError> {
    let before = bench.clock().spent;
    let mut under_way = GoalSearch {
        bench,
        subject,
        known: known.clone(),
        made: known,
        trials: 0,
        invalid_trials: 0,
        reasons: vec![],
        offered: BTreeMap::new(),
    };
    let range = range(subject.config.search.lowest_load_percent);
    let mut search = MlrSearch::new(range, goals);
    drive(&mut search, |asked, bounds| under_way.try_load(asked, bounds))?;
    let results = search.results();
    let mut found: Vec<_> = results.iter().map(|result| under_way.found(&search, result)).collect();
    if let Some(first) = found.first_mut() {
        first.trials = under_way.trials;
        first.invalid_trials = under_way.invalid_trials;
        first.test_time = under_way.bench.clock().spent.saturating_sub(before);
    }
    Ok(found)
}

impl GoalSearch<'_, '_> {
    fn try_load(&mut self, asked: TimedLoad, bounds: Bounds) -> Result<TrialOutput, RunError> {
        if let Some(known) = self.known.take(asked.load, asked.duration) {
            return Ok(self.note(asked.load, known.duration, &known.result));
        }
        let ran = self.run(asked, bounds)?;
        self.trials += ran.attempts();
        self.invalid_trials += ran.invalid_attempts;
        if ran.verdict == Verdict::Invalid {
            self.reasons = ran.invalid_reasons();
            return Ok(TrialOutput::Undecided { reached: self.reached(&ran.result) });
        }
        let outcome = self.note(asked.load, asked.duration, &ran.result);
        self.made.add(asked.load, asked.duration, ran.result);
        Ok(outcome)
    }

    fn note(&mut self, load: u64, duration: Duration, result: &TrialResult) -> TrialOutput {
        let senders = self.subject.traffic.senders().len() as f64;
        self.offered.insert(load, result.offered_rate().scaled(1.0 / senders));
        TrialOutput::Measured(Tried {
            duration,
            expected_frames: result.expected_frames(),
            lost_frames: result.lost_frames(),
        })
    }

    fn run(&mut self, asked: TimedLoad, bounds: Bounds) -> Result<Ran, RunError> {
        let TimedLoad { load, duration, loss_ratio } = asked;
        let (test, percent) = (TestKind::Throughput, percent(loss_ratio));
        let request = request(self.subject, test, percent, (load, duration), bounds);
        self.bench.run(Request {
            judge: &|result| match result.is_valid() {
                false => Verdict::Invalid,
                true if result.loss_ratio() <= loss_ratio => Verdict::Passed,
                true => Verdict::Failed,
            },
            ..request
        })
    }

    /// The load that the slowest port reached, where the tester fell short.
    fn reached(&self, result: &TrialResult) -> Option<u64> {
        let slowest = result.slowest_sent_rate()?;
        Some((slowest.fps() / self.subject.ceiling.rate.fps() * PARTS as f64) as u64)
    }

    fn found(&self, search: &MlrSearch, result: &GoalResult) -> RateFound {
        let subject = self.subject;
        let (goal, bounds) = (&result.goal, result.bounds());
        let rate = bounds.lower.map(|load| rate_of(subject, load));
        let upper = bounds.failed.or(bounds.upper.map(|(load, _)| load));
        let upper = upper.map(|load| rate_of(subject, load));
        let resolution_fps = rate.zip(upper).map(|(rate, upper)| upper.fps() - rate.fps());
        let theoretical = subject.theoretical_max().fps();
        let forwarding_ratio = goal.conditional_forwarding_ratio(&result.trials);
        let at_rate = || result.trials.iter().filter(|tried| tried.duration >= goal.final_duration);
        let failed_at_rate = at_rate().filter(|tried| tried.loss_ratio() > goal.loss_ratio);
        let at_upper = bounds.upper.map_or(&[][..], |(load, _)| search.trials_at(load));
        let worst = at_upper.iter().map(Tried::loss_ratio).fold(0.0, f64::max);
        RateFound {
            loss_tolerance_percent: percent(goal.loss_ratio),
            finding: finding(
                subject,
                bounds,
                (worst * 100.0, percent(goal.loss_ratio)),
                &self.reasons,
            ),
            rate,
            confidence: None,
            buffered: None,
            conditional_throughput: rate.map(|rate| rate.scaled(forwarding_ratio)),
            percent_of_theoretical: rate.map(|rate| subject.percent_of_theoretical(rate)),
            offered: bounds.lower.and_then(|load| self.offered.get(&load)).copied(),
            loss_percent: rate.map(|_| (1.0 - forwarding_ratio) * 100.0),
            upper,
            resolution_fps,
            resolution_percent_of_theoretical: resolution_fps.map(|fps| fps / theoretical * 100.0),
            trial_duration: goal.final_duration,
            trials: 0,
            invalid_trials: 0,
            test_time: Duration::ZERO,
            trials_at_rate: at_rate().count() as u32,
            failed_trials_at_rate: failed_at_rate.count() as u32,
            policy: SearchPolicy::Mlrsearch,
            search: describe(goal),
        }
    }
}

/// How the search is made, with every attribute of the goal.
fn describe(goal: &SearchGoal) -> String {
    format!(
        "{}: goal loss ratio {} %, exceed ratio {} %, initial trial duration {}, final trial \
         duration {}, duration sum {}, width {} % of the upper bound; load of each direction, \
         counts of all together, effective duration the trial's own",
        SearchPolicy::Mlrsearch,
        percent(goal.loss_ratio),
        percent(goal.exceed_ratio),
        goal.initial_duration,
        goal.final_duration,
        goal.duration_sum,
        percent(goal.width),
    )
}

/// As it was written, without what a division by a hundred left behind.
fn percent(ratio: f64) -> f64 {
    (ratio * 1e11).round() / 1e9
}
