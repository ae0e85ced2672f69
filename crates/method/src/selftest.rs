//! The tester measures itself before it measures a device: its ports joined back to back, the
//! same traffic, the same sizes.

use crate::bench::{Bench, Request};
use crate::event::Verdict;
use crate::rate_search::{Known, RateGoal, find_rate, judge_loss};
use crate::rfc2544::{MaximumOf, summarise};
use crate::subject::{Ceiling, Subject};
use crate::traffic::Traffic;
use crate::{Conditions, LatencySummary, RateFound, RunError, SearchPolicy, SuiteConfig, TestKind};
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

/// What the tester can do with one frame size.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SelfTestSize {
    /// How it was measured.
    pub conditions: Conditions,
    /// The highest rate offered in full and received without loss.
    pub maximum: RateFound,
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

/// Measures one frame size; `traffic` is between ports that are looped.
pub fn self_test_size(
    bench: &mut Bench<'_>,
    config: &SuiteConfig,
    traffic: &Traffic,
) -> Result<SelfTestSize, RunError> {
    let subject = Subject::new(config, traffic, bench.tester().describe(), None);
    let subject = subject.map_err(RunError::Config)?;
    let mut known = Known::default();
    let subject = probe(bench, subject, &mut known)?;
    let maximum = find_rate(bench, &subject, &goal(config), &mut known)?;
    let of_maximum =
        |percent: f64| maximum.rate.unwrap_or(subject.ceiling.rate).scaled(percent / 100.0);
    let low_rate = of_maximum(config.self_test.low_rate_percent);
    let high_rate = of_maximum(config.self_test.high_rate_percent);
    Ok(SelfTestSize {
        conditions: subject.conditions(TestKind::SelfTest),
        low_rate,
        floor_low: floor(bench, &subject, low_rate)?,
        high_rate,
        floor_high: floor(bench, &subject, high_rate)?,
        maximum,
    })
}

/// Whatever keeps a trial from being whole is the tester's doing, and decides.
fn judge(result: &TrialResult) -> Verdict {
    match judge_loss(result, 0.0) {
        Verdict::Passed => Verdict::Passed,
        _ => Verdict::Failed,
    }
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
        error: None,
        judge: &judge,
    }
}

/// Tries the medium's theoretical maximum. Where the tester falls short, what it reached bounds
/// the search: it will not be much faster when asked for less.
fn probe<'a>(
    bench: &mut Bench<'_>,
    subject: Subject<'a>,
    known: &mut Known,
) -> Result<Subject<'a>, RunError> {
    const MARGIN: f64 = 1.1;
    let theoretical = subject.theoretical_max();
    let duration = Duration::from_secs_f64(subject.config.self_test.trial_duration_s);
    let size = subject.size_in_words();
    let label = format!("{}, {size}: theoretical maximum, {theoretical:.1}", TestKind::SelfTest);
    let request = subject.request(TestKind::SelfTest, label, theoretical, duration);
    let ran = bench.run(Request { judge: &judge, ..request })?;
    if ran.verdict == Verdict::Passed {
        known.add_at_ceiling(duration, ran.result);
        return Ok(subject);
    }
    let ceiling =
        ran.result.slowest_sent_rate().unwrap_or(theoretical).scaled(MARGIN).min(theoretical);
    Ok(subject.with_ceiling(Ceiling { rate: ceiling, of: MaximumOf::Tester, slack_fps: 0.0 }))
}

fn floor(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    rate: FrameRate,
) -> Result<Option<LatencySummary>, RunError> {
    let duration = Duration::from_secs_f64(subject.config.self_test.trial_duration_s);
    let size = subject.size_in_words();
    let label = format!("{}, {size}: latency at {rate:.1}", TestKind::SelfTest);
    let ran = bench.run(subject.request(TestKind::SelfTest, label, rate, duration))?;
    Ok(summarise(&ran.result).filter(|_| ran.verdict == Verdict::Measured))
}
