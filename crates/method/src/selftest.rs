//! The tester measures itself before it measures a device: its ports joined back to back, the
//! same traffic, the same sizes.

mod outcome;

use crate::bench::{Bench, Request};
use crate::event::Verdict;
use crate::rate_search::{Known, RateGoal, find_rate, judge_loss, worst_loss_ratio};
use crate::rfc2544::{MaximumOf, summarise};
use crate::subject::{Ceiling, Subject};
use crate::traffic::Traffic;
use crate::{
    Conditions, Finding, LatencySummary, RateFound, RunError, SearchPolicy, SuiteConfig, TestKind,
};
use serde::{Deserialize, Serialize};
use trial::TrialResult;
use units::{Duration, FrameRate};

/// What the tester can do by itself, its ports looped back to back.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SelfTest {
    /// Port types and names, in words.
    pub ports: String,
    /// By frame size.
    pub sizes: Vec<SelfTestSize>,
}

/// What the tester reached when it was asked for all that the medium carries, trial by trial: by chance
/// it reaches more or less, so one number would say too little. In frames a second of one direction.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Reached {
    /// One trial in ten reached less.
    pub p10: FrameRate,
    /// Half of them reached less.
    pub p50: FrameRate,
    /// One in ten reached more.
    pub p90: FrameRate,
    /// How many trials.
    pub trials: u32,
}

/// What the tester can do with one frame size.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SelfTestSize {
    /// How it was measured.
    pub conditions: Conditions,
    /// The rate offered and received without loss: the median of `reached`, where the tester lost
    /// nothing on the way in; the highest that it received, found by a search, where it did.
    pub maximum: RateFound,
    /// In trials that asked for all of the medium.
    #[serde(default)]
    pub reached: Option<Reached>,
    /// Rate of `floor_low`.
    pub low_rate: FrameRate,
    /// Latency at a low rate: the tester's own floor, its smallest share in every latency.
    pub floor_low: Option<LatencySummary>,
    /// Rate of `floor_high`.
    pub high_rate: FrameRate,
    /// Latency near the maximum.
    pub floor_high: Option<LatencySummary>,
}

impl SelfTest {
    /// What was measured for a frame size.
    pub fn of_size(&self, frame_size: &str) -> Option<&SelfTestSize> {
        self.sizes.iter().find(|size| size.conditions.frame_size == frame_size)
    }
}

/// Trials that ask for all of the medium.
pub(crate) const FLOODS: usize = 5;
/// Trials of latency.
pub(crate) const FLOORS: usize = 2;
/// A latency of the tester's own is that at its rate, or at one lower by no more than this share.
const FLOOR_SHORTFALL: f64 = 0.05;
/// So many are enough where the tester has reached all of the medium in each, and where it has lost
/// frames in each, which a search has to look into.
const FLOODS_ALIKE: usize = 2;
/// Of what was asked for so much is offered by a tester that keeps up.
const WHOLE: f64 = 0.999;
/// A tester that loses frames may carry a little more when it is asked for less.
const MARGIN: f64 = 1.1;
/// A tester that reaches less than this share of the medium is asked for less once.
const FAR_BELOW: f64 = 0.5;
/// One that then carries so many times as much breaks down under too high a load.
const BREAKS_DOWN: f64 = 1.5;

impl Reached {
    /// Of what trials reached; `None` without any. A quantile is the value that stands at its place in
    /// order, and no mean of two.
    fn of(mut rates: Vec<FrameRate>) -> Option<Reached> {
        rates.sort();
        let last = rates.len().checked_sub(1)?;
        let at = |quantile: f64| rates[(quantile * last as f64).round() as usize];
        Some(Reached { p10: at(0.1), p50: at(0.5), p90: at(0.9), trials: rates.len() as u32 })
    }
}

/// Measures one frame size; `traffic` is between ports that are looped.
pub fn self_test_size(
    bench: &mut Bench<'_>,
    config: &SuiteConfig,
    traffic: &Traffic,
) -> Result<SelfTestSize, RunError> {
    let subject = Subject::new(config, traffic, bench.tester().describe(), None);
    let subject = subject.map_err(RunError::Config)?;
    let before = bench.clock().spent;
    let floods = flood(bench, &subject)?;
    let reached = Reached::of(floods.iter().map(carried).collect());
    let loses = floods.iter().any(|flood| worst_loss_ratio(flood) > 0.0);
    let unlosing = reached.filter(|reached| !loses && !reached.p50.is_zero());
    let maximum = match unlosing {
        Some(reached) if breaks_down(bench, &subject, reached)? => search(bench, &subject)?,
        Some(reached) => {
            let test_time = bench.clock().spent.saturating_sub(before);
            RateFound { test_time, ..unlost(&subject, reached, &floods) }
        }
        None => search(bench, &bounded_by(subject, &floods))?,
    };
    let of_maximum =
        |percent: f64| maximum.rate.unwrap_or(subject.ceiling.rate).scaled(percent / 100.0);
    let low_rate = of_maximum(config.self_test.low_rate_percent);
    let high_rate = of_maximum(config.self_test.high_rate_percent);
    Ok(SelfTestSize {
        conditions: subject.conditions(),
        reached,
        low_rate,
        floor_low: floor(bench, &subject, low_rate)?,
        high_rate,
        floor_high: floor(bench, &subject, high_rate)?,
        maximum,
    })
}

/// Whatever keeps a trial from being whole is the tester's doing, and decides: a load that was not
/// offered has not passed.
fn judge(result: &TrialResult) -> Verdict {
    match judge_loss(result, 0.0) {
        Verdict::Passed if is_whole(result) => Verdict::Passed,
        _ => Verdict::Failed,
    }
}

fn is_whole(result: &TrialResult) -> bool {
    let whole = |sent: &trial::PortSent| {
        let offered = sent.report.sent_rate().unwrap_or(sent.intended_rate);
        offered.fps() >= WHOLE * sent.intended_rate.fps()
    };
    result.sent.iter().all(whole)
}

/// The load that the tester carried from end to end: what it offered, less what was lost.
fn carried(result: &TrialResult) -> FrameRate {
    let offered = result.least_offered_rate().unwrap_or(FrameRate::ZERO);
    match worst_loss_ratio(result) {
        0.0 => offered,
        loss => offered.scaled(1.0 - loss),
    }
}

/// Asks for the medium's theoretical maximum a few times.
fn flood(bench: &mut Bench<'_>, subject: &Subject<'_>) -> Result<Vec<TrialResult>, RunError> {
    let theoretical = subject.theoretical_max();
    let mut floods = vec![];
    while floods.len() < FLOODS {
        let what = format!("theoretical maximum, {theoretical:.1}, trial {}", floods.len() + 1);
        floods.push(offer(bench, subject, theoretical, &what)?);
        let all = |is: fn(&TrialResult) -> bool| floods.iter().all(is);
        let are_alike = all(|flood| judge(flood) == Verdict::Passed)
            || all(|flood| worst_loss_ratio(flood) > 0.0);
        if floods.len() >= FLOODS_ALIKE && are_alike {
            break;
        }
    }
    Ok(floods)
}

/// A load that is judged by whether the tester carried all of it.
fn offer(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    rate: FrameRate,
    what: &str,
) -> Result<TrialResult, RunError> {
    let duration = Duration::from_secs_f64(subject.config.self_test.trial_duration_s);
    let label = format!("{}, {}: {what}", TestKind::SelfTest, subject.size_in_words());
    let request = subject.request(TestKind::SelfTest, label, rate, duration);
    Ok(bench.run(Request { judge: &judge, ..request })?.result)
}

/// Whether the tester carries more where it is asked for less. So it is where stations of an FDDI ring that are late
/// make it claim.
fn breaks_down(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    reached: Reached,
) -> Result<bool, RunError> {
    let theoretical = subject.theoretical_max();
    if reached.p50.fps() >= FAR_BELOW * theoretical.fps() {
        return Ok(false);
    }
    let between = FrameRate::from_fps_f64((reached.p50.fps() * theoretical.fps()).sqrt());
    let result = offer(bench, subject, between, &format!("less than the maximum, {between:.1}"))?;
    Ok(carried(&result).fps() >= BREAKS_DOWN * reached.p90.fps())
}

/// The maximum of a tester that lost nothing, however fast it was asked to be.
fn unlost(subject: &Subject<'_>, reached: Reached, floods: &[TrialResult]) -> RateFound {
    let config = &subject.config.self_test;
    let theoretical = subject.theoretical_max();
    let passed = floods.iter().filter(|flood| judge(flood) == Verdict::Passed).count() as u32;
    let (finding, rate, upper) = match passed * 2 > reached.trials {
        true => (Finding::AtTheoreticalMaximum, theoretical, None),
        false => (Finding::Measured, reached.p50, Some(reached.p90)),
    };
    let resolution_fps = upper.map(|upper| upper.fps() - rate.fps());
    RateFound {
        loss_tolerance_percent: 0.0,
        finding,
        rate: Some(rate),
        buffered: None,
        conditional_throughput: None,
        percent_of_theoretical: Some(subject.percent_of_theoretical(rate)),
        offered: Some(reached.p50),
        loss_percent: Some(0.0),
        upper,
        confidence: None,
        resolution_fps,
        resolution_percent_of_theoretical: resolution_fps
            .map(|fps| fps / theoretical.fps() * 100.0),
        trial_duration: Duration::from_secs_f64(config.trial_duration_s),
        trials: reached.trials,
        invalid_trials: 0,
        test_time: Duration::ZERO,
        // The others fell short; none lost a frame.
        trials_at_rate: passed,
        failed_trials_at_rate: 0,
        policy: SearchPolicy::Adaptive,
        search: format!(
            "median of {} trials of {} s that ask for all of the medium",
            reached.trials, config.trial_duration_s
        ),
    }
}

/// The subject of a tester that loses frames on the way in when it is asked for all of the medium. What it sent then
/// bounds a search: it will not be much faster when asked for less.
fn bounded_by<'a>(subject: Subject<'a>, floods: &[TrialResult]) -> Subject<'a> {
    let theoretical = subject.theoretical_max();
    let fastest = floods.iter().filter_map(TrialResult::slowest_sent_rate).max();
    let ceiling = fastest.unwrap_or(theoretical).scaled(MARGIN).min(theoretical);
    let of = MaximumOf::Tester;
    match ceiling < theoretical {
        true => subject.with_ceiling(Ceiling { rate: ceiling, of, slack_fps: 0.0 }),
        false => subject,
    }
}

/// The highest load that the tester carries whole.
fn search(bench: &mut Bench<'_>, subject: &Subject<'_>) -> Result<RateFound, RunError> {
    find_rate(bench, subject, &goal(subject.config), &mut Known::default())
}

fn goal(config: &SuiteConfig) -> RateGoal<'_> {
    let duration = Duration::from_secs_f64(config.self_test.trial_duration_s);
    RateGoal {
        test: TestKind::SelfTest,
        tolerance_percent: 0.0,
        resolution_percent: config.self_test.resolution_percent,
        lowest_load_percent: config.search.lowest_load_percent,
        policy: SearchPolicy::Adaptive,
        max_trials_per_load: config.search.max_trials_per_load,
        gap_step_ns: None,
        no_verification_above_lost_frames: None,
        search_duration: duration,
        final_duration: duration,
        final_trials: 1,
        noise: None,
        judge: &judge,
    }
}

fn floor(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    rate: FrameRate,
) -> Result<Option<LatencySummary>, RunError> {
    let duration = Duration::from_secs_f64(subject.config.self_test.trial_duration_s);
    let size = subject.size_in_words();
    let label = format!("{}, {size}: latency at {rate:.1}", TestKind::SelfTest);
    let request = subject.request(TestKind::SelfTest, label, rate, duration);
    let ran = bench.run_changed(request, &|mut trial| {
        trial.limits.shortfall = FLOOR_SHORTFALL;
        Ok(trial)
    })?;
    Ok(summarise(&ran.result).filter(|_| ran.verdict == Verdict::Measured))
}
