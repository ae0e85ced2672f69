//! Back-to-back frames: the longest burst without loss, and the buffer behind it (RFC 2544
//! section 26.4 as RFC 9004 has it).

use crate::bench::{Bench, Ran, Request, has_shortfall, is_short};
use crate::event::SearchBounds;
use crate::outcome::number::several;
use crate::rate_search::{judge_loss, without_tester_limited};
use crate::reach::{
    LONGEST_BURST_TRIED, SLOWER_BY_ONE_IN, STEPS_MAX, burst_reach, held_to_its_rate, slower,
};
use crate::rfc2544::{MaximumOf, ThroughputResult, known_rate};
use crate::search::{
    Bisect, Bounds, LoadVerdict, LossVerification, Range, Resolution, Upper, drive,
};
use crate::subject::{Ceiling, Subject};
use crate::traffic::TrialShape;
use crate::{Conditions, Finding, RateFound, RunError, Spread, TestKind, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use trial::{Schedule, Segment, Waits};
use units::{Duration, FrameRate};

/// The result for one frame size.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BackToBackResult {
    /// Under which conditions.
    pub conditions: Conditions,
    /// Why there is no result (RFC 9004 section 3 and 6.1); `None` where there is one.
    pub not_measured: Option<String>,
    /// Rate within a burst: the medium's maximum or, where the tester does not send bursts that fast,
    /// the highest that it does.
    pub burst_rate: Option<FrameRate>,
    /// Whether `burst_rate` is the medium's theoretical maximum.
    pub burst_rate_is_theoretical: bool,
    /// Throughput used for the correction.
    pub throughput: Option<FrameRate>,
    /// Averages over the searches; `None` where no search came to an end.
    pub summary: Option<BurstSummary>,
    /// Search by search; N in the RFC.
    pub searches: Vec<BurstFound>,
    /// Smallest step of the searches, in frames.
    pub step_frames: u64,
    /// Longest burst tried, in frames.
    pub limit_frames: u64,
    /// The same as a time.
    pub limit: Duration,
    /// How the search was made, in words, with its parameters.
    pub search: String,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// What the searches of one size come to.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BurstSummary {
    /// Of the burst lengths, in frames.
    pub frames: Spread,
    /// Mean burst / burst rate (RFC 9004 section 6.4).
    pub implied_buffer_time: Duration,
    /// Implied time corrected for the frames that the device forwarded meanwhile.
    pub corrected_buffer_time: Duration,
    /// The same in frames.
    pub corrected_buffer_frames: f64,
}

/// What one search found.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BurstFound {
    /// The longest burst without loss; 0 where even the shortest lost frames.
    pub frames: u64,
    /// The shortest burst that lost frames, or could not be sent; `None` where none did.
    #[serde(default)]
    pub too_long_frames: Option<u64>,
    /// What the number is worth.
    pub outcome: BurstOutcome,
    /// Trials of the search.
    pub trials: u32,
    /// The rate at which the longest burst without loss left; `None` of a single frame.
    #[serde(default)]
    pub left_at_fps: Option<f64>,
}

/// What a burst length found is worth.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum BurstOutcome {
    /// A burst of one step more lost frames.
    Measured,
    /// No burst up to the limit lost frames: the limit is too low.
    AtLimit,
    /// Longer bursts could not be sent validly: tester-limited.
    AtLeast {
        /// What kept the tester from going on.
        why: String,
    },
    /// Even a single frame was lost.
    NothingPassed,
    /// No valid trial.
    Invalid {
        /// Why, in words.
        reasons: Vec<String>,
    },
}

/// Searches for the longest lossless burst, several times over.
pub fn back_to_back(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    throughput: &ThroughputResult,
) -> Result<BackToBackResult, RunError> {
    let config = &subject.config.back_to_back;
    let mut result = BackToBackResult {
        conditions: subject.conditions(),
        not_measured: not_applicable(subject, &throughput.throughput),
        burst_rate: None,
        burst_rate_is_theoretical: false,
        throughput: None,
        summary: None,
        searches: vec![],
        step_frames: config.step_frames,
        limit_frames: 0,
        limit: Duration::from_secs_f64(config.limit_s),
        search: describe(subject),
        notes: vec![],
    };
    if result.not_measured.is_some() {
        return Ok(result);
    }
    let (rate, note) = match known_rate(throughput) {
        Ok(known) => known,
        Err(why) => {
            result.not_measured = Some(why);
            return Ok(result);
        }
    };
    result.throughput = Some(rate);
    result.notes.extend(note.map(|note| format!("the correction uses a rate with loss: {note}")));
    let mut asked = *subject;
    restore(bench, subject, rate)?;
    for step in 0..=STEPS_MAX {
        let Some(ceiling) = burst_reach(bench, &asked, TestKind::BackToBack, rate)? else {
            result.not_measured = Some(format!(
                "beside this device the tester sends no bursts well faster than its throughput, {rate:.1}"
            ));
            return Ok(result);
        };
        result.begin_at(ceiling);
        restore(bench, subject, rate)?;
        let at = &subject.with_ceiling(ceiling);
        let Some(slower) = searches(bench, at, rate, &mut result, step < STEPS_MAX)? else {
            break;
        };
        result.notes.push(format!(
            "the tester no longer sent bursts at {:.1}: begun anew with slower ones",
            ceiling.rate
        ));
        asked = subject.with_ceiling(slower);
    }
    let left_at = result.correct_burst_rate(result.burst_rate.expect("begun"));
    conclude(&mut result, left_at, rate);
    Ok(result)
}

/// Gives the device time for the tokens that trials took: the first burst is to find as many as the last.
fn restore(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    throughput: FrameRate,
) -> Result<(), RunError> {
    let of_all = throughput.scaled(subject.traffic.senders().len() as f64);
    match bench.until_restored(of_all).min(RESTORED_MAX) {
        Duration::ZERO => Ok(()),
        missing => bench.pause(missing),
    }
}

/// A device that carries next to nothing without loss may put out much more, and owes nothing.
const RESTORED_MAX: Duration = Duration::from_secs(60);

/// Search after search with bursts at the subject's ceiling. Where the tester does not send a burst of the lengths that
/// [`burst_reach`] tried, it has become slower: the rate to try next, if `may_slow_down`.
fn searches(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    throughput: FrameRate,
    result: &mut BackToBackResult,
    may_slow_down: bool,
) -> Result<Option<Ceiling>, RunError> {
    let config = &subject.config.back_to_back;
    let highest = Duration::from_secs_f64(config.highest_limit_s);
    let burst_rate = subject.ceiling.rate;
    while (result.searches.len() as u64) < u64::from(config.repetitions) {
        result.limit_frames = burst_rate.frames_in(result.limit).max(1);
        let repetition = result.searches.len() as u32 + 1;
        let limit = result.limit_frames;
        let found = match search(bench, subject, limit, throughput, repetition, may_slow_down) {
            Ok(found) => found,
            Err(Stop::Slower) => return Ok(Some(slower(burst_rate, burst_rate))),
            Err(Stop::Run(error)) => return Err(error),
        };
        if found.outcome == BurstOutcome::AtLimit && result.limit < highest {
            result.raise_limit(highest);
        } else {
            result.searches.push(found);
        }
    }
    Ok(None)
}

impl BackToBackResult {
    /// Begins, or begins anew, with bursts of this rate.
    fn begin_at(&mut self, ceiling: Ceiling) {
        self.burst_rate = Some(ceiling.rate);
        self.burst_rate_is_theoretical = ceiling.of == MaximumOf::Medium;
        self.searches.clear();
    }

    /// Begins anew with longer bursts: "the test MUST be repeated" (RFC 9004 section 6.2).
    fn raise_limit(&mut self, highest: Duration) {
        let raised = (self.limit * 4).min(highest);
        let limit = self.limit;
        self.notes.push(format!("no burst of {limit} lost a frame: repeated with up to {raised}"));
        self.limit = raised;
        self.searches.clear();
    }

    /// States the rate at which the bursts left that the result is about, where it falls short of the one
    /// intended: a buffer lasts the longer, the slower it is filled.
    fn correct_burst_rate(&mut self, intended: FrameRate) -> FrameRate {
        let rates: Vec<f64> = self.searches.iter().filter_map(|found| found.left_at_fps).collect();
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        if rates.is_empty() {
            return intended;
        }
        let left_at = FrameRate::from_fps_f64(mean);
        if !is_short(intended, left_at) {
            return intended;
        }
        self.notes.push(format!("bursts were to leave at {intended:.1}, and left at {left_at:.1}"));
        (self.burst_rate, self.burst_rate_is_theoretical) = (Some(left_at), false);
        left_at
    }
}

/// Why a size cannot be tested (RFC 9004 sections 3, 5 and 6.1).
fn not_applicable(subject: &Subject<'_>, throughput: &RateFound) -> Option<String> {
    if subject.traffic.size().period() > 1 {
        return Some("a mix of frame sizes must not be used (RFC 9004 section 3)".into());
    }
    let beyond = "no burst can be faster than the device forwards (RFC 9004 section 6.1)";
    // Buffers and tokens may carry a load for so long.
    let found_in = format!("in trials of {}", throughput.trial_duration);
    match &throughput.finding {
        Finding::AtTheoreticalMaximum => {
            Some(format!("the throughput {found_in} is the medium's theoretical maximum: {beyond}"))
        }
        Finding::AtLeast { why } => Some(format!(
            "the throughput {found_in} is at the limit of the tester ({}): {beyond}",
            without_tester_limited(why)
        )),
        _ => None,
    }
}

/// Why a search ends before its time.
enum Stop {
    /// The tester does not send bursts as fast as it did.
    Slower,
    Run(RunError),
}

impl From<RunError> for Stop {
    fn from(error: RunError) -> Self {
        Stop::Run(error)
    }
}

/// One complete, independent search.
fn search(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    limit_frames: u64,
    throughput: FrameRate,
    repetition: u32,
    may_slow_down: bool,
) -> Result<BurstFound, Stop> {
    let config = subject.config;
    let tried = subject.ceiling.rate.frames_in(LONGEST_BURST_TRIED);
    let relative = config.back_to_back.resolution_percent / 100.0;
    let resolution = Resolution { absolute: config.back_to_back.step_frames, relative };
    let bisect = Bisect::new(Range { min: 1, max: limit_frames }, resolution);
    let z = config.search.no_verification_above_lost_frames;
    let mut search = LossVerification::new(bisect, config.search.max_trials_per_load, z);
    let mut trials = 0;
    let mut reasons = vec![];
    let mut left_at = BTreeMap::new();
    let bounds = drive(&mut search, |frames, bounds| {
        let ran = send_burst(bench, subject, frames, throughput, repetition, bounds)?;
        trials += 1;
        if ran.verdict == Verdict::Invalid {
            if may_slow_down && frames <= tried && has_shortfall(&ran.result) {
                return Err(Stop::Slower);
            }
            reasons = ran.invalid_reasons();
        } else if let Some(rate) = ran.result.slowest_sent_rate() {
            left_at.insert(frames, rate.fps());
        }
        Ok::<_, Stop>(match ran.verdict {
            Verdict::Passed => LoadVerdict::Passed,
            Verdict::Invalid => LoadVerdict::Undecided,
            _ => LoadVerdict::Failed { lost_frames: ran.result.lost_frames() },
        })
    })?;
    Ok(BurstFound {
        frames: bounds.lower.unwrap_or(0),
        too_long_frames: bounds.upper.map(|(frames, _why)| frames),
        outcome: outcome(bounds, reasons),
        trials,
        left_at_fps: bounds.lower.and_then(|frames| left_at.get(&frames).copied()),
    })
}

fn outcome(bounds: Bounds, reasons: Vec<String>) -> BurstOutcome {
    match (bounds.lower, bounds.upper) {
        (Some(_), Some((_, Upper::Failed))) => BurstOutcome::Measured,
        (Some(_), Some((_, Upper::Undecided))) => BurstOutcome::AtLeast { why: reasons.join("; ") },
        (Some(_), None) => BurstOutcome::AtLimit,
        (None, Some((_, Upper::Failed))) => BurstOutcome::NothingPassed,
        (None, _) => BurstOutcome::Invalid { reasons },
    }
}

fn send_burst(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    frames: u64,
    throughput: FrameRate,
    repetition: u32,
    bounds: Bounds,
) -> Result<Ran, RunError> {
    let rate = subject.ceiling.rate;
    let size = subject.size_in_words();
    let schedule = Schedule { segments: vec![Segment::constant(rate, frames)] };
    let request = Request {
        test: TestKind::BackToBack,
        traffic: subject.traffic,
        shape: TrialShape {
            label: format!(
                "{}, {size}: burst of {frames} frames, search {repetition}",
                TestKind::BackToBack
            ),
            waits: waits(subject, schedule.duration(), throughput.departure(frames)),
            schedule,
            tags: None,
            action: None,
            beside: None,
        },
        intended: rate,
        bounds: Some(SearchBounds {
            lower: bounds.lower.map(|frames| frames as f64),
            upper: bounds.upper.map(|(frames, _)| frames as f64),
            unit: "frames".into(),
        }),
        judge: &|result| judge_loss(result, 0.0),
    };
    let sending = request.shape.schedule.duration();
    let ends_on_silence = request.shape.waits.drain == Duration::ZERO;
    let ran = bench.run_changed(request, &|trial| Ok(held_to_its_rate(trial)))?;
    if ends_on_silence {
        // What came out is what the device's buffers or tokens gave: so long they take to be as before.
        let restored = throughput.departure(ran.result.forwarded_frames());
        bench.pause(restored.saturating_sub(sending + ran.result.drained_after))?;
    }
    Ok(ran)
}

/// After the burst: until it has been received at the throughput rate (reckoned twice, for the
/// throughput may owe something to the buffer), and then the stated wait or, where the burst was
/// longer, as long again (RFC 9004 section 6.2, step 3). A profile whose other trials end on silence ends these
/// on it, too, after no longer than the burst takes at the throughput rate: a device that drops most of a burst would
/// be waited for as if it kept all of it. `send_burst` then gives it time for what it did put out.
fn waits(subject: &Subject<'_>, sending: Duration, receiving: Duration) -> Waits {
    let wait = Duration::from_secs_f64(subject.config.back_to_back.wait_s);
    let waits = subject.config.waits();
    if waits.drain == Duration::ZERO {
        let drain_max = waits.drain_max.max(receiving.saturating_sub(sending));
        return Waits { drain_max, ..waits };
    }
    let drain = (receiving * 2).saturating_sub(sending) + wait.max(sending);
    Waits { drain, drain_max: waits.drain_max.max(drain), ..waits }
}

fn conclude(result: &mut BackToBackResult, burst_rate: FrameRate, throughput: FrameRate) {
    let counts = |found: &&BurstFound| {
        use BurstOutcome::{AtLimit, Measured, NothingPassed};
        matches!(found.outcome, Measured | NothingPassed | AtLimit)
    };
    let frames: Vec<f64> =
        result.searches.iter().filter(counts).map(|found| found.frames as f64).collect();
    result.summary =
        Spread::of(&frames).map(|frames| BurstSummary::of(frames, burst_rate, throughput));
    let count = |kind: fn(&BurstOutcome) -> bool| {
        result.searches.iter().filter(|found| kind(&found.outcome)).count()
    };
    let at_limit = count(|outcome| matches!(outcome, BurstOutcome::AtLimit));
    let testers = count(|outcome| {
        matches!(outcome, BurstOutcome::AtLeast { .. } | BurstOutcome::Invalid { .. })
    });
    let mut say = |when: bool, what: String| result.notes.extend(when.then_some(what));
    say(
        at_limit > 0,
        format!(
            "{at_limit} searches lost nothing up to the limit of {}, so that the averages are lower \
             bounds: repeat with a higher limit (RFC 9004 section 6.2)",
            result.limit
        ),
    );
    say(testers > 0, format!("{testers} searches ended at the tester's limit and do not count"));
    say(
        !result.burst_rate_is_theoretical,
        format!(
            "bursts leave at {burst_rate:.1}, the most that the tester can, which takes the place \
             of the medium's theoretical maximum in the formulas"
        ),
    );
}

impl BurstSummary {
    /// RFC 9004 section 6.4: implied = burst / max; corrected = implied - implied x throughput /
    /// max.
    fn of(frames: Spread, burst_rate: FrameRate, throughput: FrameRate) -> Self {
        let implied_s = frames.mean / burst_rate.fps();
        let corrected_s = implied_s - implied_s * throughput.fps() / burst_rate.fps();
        BurstSummary {
            frames,
            implied_buffer_time: Duration::from_secs_f64(implied_s),
            corrected_buffer_time: Duration::from_secs_f64(corrected_s),
            corrected_buffer_frames: corrected_s * burst_rate.fps(),
        }
    }
}

fn describe(subject: &Subject<'_>) -> String {
    let config = &subject.config.back_to_back;
    let trials = several(subject.config.search.max_trials_per_load.into(), "trial", "trials");
    format!(
        "binary search over the burst length with loss verification (ETSI GS NFV-TST 009), at most \
         {trials} a length, {}, step {} frames or {} % of the upper bound, up to \
         {} s (raised to {} s if need be); a burst is slower than its rate by one \
         part in {SLOWER_BY_ONE_IN} at most",
        several(config.repetitions.into(), "search", "searches"),
        config.step_frames,
        config.resolution_percent,
        config.limit_s,
        config.highest_limit_s
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 Gb/s, 64 bytes: 14,880,952.38 fps at most, 12,000,000 forwarded, bursts of 26,000:
    /// 26,000 / 14,880,952.38 = 1.7472 ms; x (1 - 0.8064) = 0.33826 ms; x rate = 5,033.6 frames.
    #[test]
    fn the_buffer_is_corrected_for_what_was_forwarded_meanwhile() {
        let max = FrameRate::new(10_000_000_000, 672);
        let frames = Spread::of(&[25_000.0, 27_000.0]).unwrap();
        let summary = BurstSummary::of(frames, max, FrameRate::from_fps(12_000_000));
        assert_eq!(summary.implied_buffer_time, Duration::from_ns(1_747_200));
        let corrected = summary.corrected_buffer_time.as_secs_f64() * 1e3;
        assert!((corrected - 0.338_258).abs() < 1e-6, "{corrected}");
        assert!((summary.corrected_buffer_frames - 5_033.6).abs() < 0.1);
    }
}
