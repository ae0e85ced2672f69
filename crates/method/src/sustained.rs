//! The last look at a rate that a search has found: does the device keep it up, or did its buffers
//! carry it to the end of the trial?
//!
//! A trial that loses nothing proves its load only where no queue grew in it. Where one did, what came
//! out meanwhile is what the device keeps up ([`trial::sustained`]); one or two more trials just above
//! that show whether it is more.

use crate::bench::{Bench, Ran, Request};
use crate::event::Verdict;
use crate::rate_search::{Known, VARIES, judge_loss, load_of, rate_of, request, worst_loss_ratio};
use crate::search::Bounds;
use crate::subject::Subject;
use crate::{Buffered, Finding, RateFound, RunError, TestKind};
use trial::{Sustained, TrialResult, sustained_beside};
use units::{Duration, FrameRate, LineRate};

/// A queue that grows by less than this part of the resolution is none.
const OF_RESOLUTION: f64 = 0.05;
/// A rate known no better than by this share is a bracket.
const WIDE: f64 = 0.05;
/// Trials at most that look again at a load whose last frames took longer than the first.
const DOUBTS_MAX: u32 = 2;
/// Trials at most that look for what the device keeps up.
const TRIALS_MAX: u32 = 6;

/// What one trial says of the loads that the device keeps up, in frames a second.
#[derive(Clone, Copy, Debug)]
struct Shown {
    /// It keeps this up.
    low: f64,
    /// But not the load of the trial: a queue grew, frames were lost, or the device asked for pauses.
    fails: bool,
    /// The device asked for pauses. It may carry more of a load that does not make it ask: what it holds back
    /// may leave it idle.
    was_paused: bool,
    /// The last frames took longer than the first, be it for a queue or by accident.
    is_doubtful: bool,
    /// Frames in the queue at the end.
    standing_queue_frames: f64,
}

/// Takes back what a rate found owes to the device's buffers.
pub(crate) fn keep_up(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    found: RateFound,
    known: &Known,
) -> Result<RateFound, RunError> {
    let Some(passed) = found.rate else { return Ok(found) };
    let resolution = subject.config.search.resolution_percent / 100.0;
    let tolerance = found.loss_tolerance_percent / 100.0;
    let judging = Judge::of(subject, known, &found);
    let judge = |result: &TrialResult, load| judging.shown(result, load);
    let trials = known.trials_at(subject, passed, found.trial_duration);
    let passing = trials.filter(|result| worst_loss_ratio(result) <= tolerance);
    // A load that was kept up once can be kept up.
    let best = passing.filter_map(|result| judge(result, passed.fps()));
    let best = best.max_by(|a, b| a.low.total_cmp(&b.low));
    let Some(best) = best else { return Ok(found) };
    let mut found = found;
    let mut best = best;
    for _ in 0..DOUBTS_MAX {
        let leaves_open = |upper| is_wide(subject, rounded_down(best.low), upper);
        if best.fails || !best.is_doubtful || !found.upper.is_some_and(leaves_open) {
            break;
        }
        let load = load_of(subject, passed.fps());
        let ran = once_more(bench, subject, &mut found, load)?;
        found.trials_at_rate += u32::from(ran.verdict != Verdict::Invalid);
        found.failed_trials_at_rate += u32::from(ran.verdict == Verdict::Failed);
        let shown = judge(&ran.result, rate_of(subject, load).fps());
        let passed = shown.filter(|shown| ran.verdict == Verdict::Passed && !shown.fails);
        let Some(shown) = passed else { break };
        best = if shown.low > best.low { shown } else { best };
    }
    if !best.fails {
        return Ok(match found.upper {
            _ if best.is_doubtful => doubted(subject, found, best.low),
            // What queued, however little, was not carried on and on.
            Some(upper) if best.low < passed.fps() => {
                within(subject, found, rounded_down(best.low), upper)
            }
            _ => found,
        });
    }
    let high = match best.was_paused {
        true => found.upper.unwrap_or(subject.ceiling.rate),
        false => passed,
    };
    let (low, high) = (best.low, high.fps());
    let mut hunt = SustainedSearch { low, high, found, trials: 0, has_failed: true };
    while hunt.trials < TRIALS_MAX && hunt.high - hunt.low > resolution * hunt.high {
        // Just above what came out of a load too high: the device is likely to do just that.
        let next = match hunt.has_failed {
            true => hunt.low / (1.0 - 0.9 * resolution),
            false => (hunt.low * hunt.high).sqrt(),
        };
        if !hunt.look(bench, subject, next, &judge)? {
            break;
        }
    }
    Ok(hunt.conclude(subject, passed, resolution, best.standing_queue_frames))
}

/// What trials of a search say of the loads that the device keeps up.
pub(crate) struct Judge<'k> {
    medium: LineRate,
    calm: Vec<&'k TrialResult>,
    goal: Goal,
    resolution: f64,
}

impl<'k> Judge<'k> {
    /// Of what a search has found, beside the trials known.
    pub(crate) fn of(subject: &Subject<'_>, known: &'k Known, found: &RateFound) -> Self {
        let medium = subject.slowest_line_rate();
        Judge {
            medium,
            calm: calm(known, medium),
            goal: Goal::of(known, found.loss_tolerance_percent / 100.0),
            resolution: subject.config.search.resolution_percent / 100.0,
        }
    }

    fn shown(&self, result: &TrialResult, load_fps: f64) -> Option<Shown> {
        let trial = sustained_beside(result, self.medium, &self.calm)?;
        Some(shown(result, &trial, load_fps, self.goal, self.resolution))
    }

    /// The load, in frames a second, that the device keeps up by this trial of `load_fps`, no more than that; and
    /// whether it does not keep up `load_fps`.
    pub(crate) fn keeps_up(&self, result: &TrialResult, load_fps: f64) -> Option<(f64, bool)> {
        self.shown(result, load_fps).map(|shown| (shown.low, shown.fails))
    }
}

/// Trials in which no queue grew: delays vary by themselves.
fn calm(known: &Known, medium: LineRate) -> Vec<&TrialResult> {
    let is_calm = |result: &&TrialResult| {
        let trial = sustained_beside(result, medium, &[]);
        result.lost_frames() == 0 && trial.is_some_and(|trial| !trial.is_buffered)
    };
    known.trials().filter(is_calm).collect()
}

/// The most that a trial of full length carried on and on, with no more loss than the goal allows, where that is
/// no less than the rate at which the goal was found to fail: the device carries more at one time than at
/// another. An estimate of a noisy device counts on such trials.
pub(crate) fn carried_beyond(
    subject: &Subject<'_>,
    found: &RateFound,
    known: &Known,
) -> Option<FrameRate> {
    let (Some(upper), None) = (found.upper, found.confidence) else { return None };
    // Tokens carry any load for a while.
    if found.buffered.is_some_and(|buffered| buffered.token_frames > 0.0) {
        return None;
    }
    // What the tester could not try is no bound of the device's.
    if matches!(found.finding, Finding::AtLeast { .. } | Finding::Invalid { .. }) {
        return None;
    }
    let medium = subject.slowest_line_rate();
    let calm = calm(known, medium);
    let allowed = found.loss_tolerance_percent / 100.0;
    let carried =
        known.trials_of(subject, found.trial_duration).filter_map(|(intended, result)| {
            let lost = worst_loss_ratio(result);
            let offered = result.least_offered_rate()?.min(intended);
            if lost > allowed || offered < upper {
                return None;
            }
            let put_off =
                sustained_beside(result, medium, &calm).map_or(lost, |it| it.loss_ratio(lost));
            Some(offered.fps() * (1.0 - put_off) / (1.0 - lost))
        });
    let most = rounded_down(carried.max_by(f64::total_cmp)?);
    (most >= upper).then_some(most)
}

/// A rate whose upper bound trials of other searches have exceeded lies between its lower bound and the next load
/// that lost frames: what was carried is no bound of what could have been.
pub(crate) fn widen(subject: &Subject<'_>, found: &mut RateFound, known: &Known) {
    let carried = carried_beyond(subject, found, known);
    let Some((upper, carried)) = found.upper.zip(carried) else { return };
    let why = format!(
        "trials contradict each other: {upper:.1} failed, and {carried:.1} were carried in another trial; \
         what the device carries varies from trial to trial"
    );
    let Some(rate) = found.rate else {
        found.finding = Finding::Invalid { reasons: vec![why] };
        return;
    };
    let upper = lost_beyond(subject, found, known, carried);
    if is_wide(subject, rate, upper) {
        found.finding = Finding::Between { why };
    }
    *found = within(subject, found.clone(), rate, upper);
}

/// The least load above `carried` of which a trial lost more than the goal allows; the ceiling where none did.
fn lost_beyond(
    subject: &Subject<'_>,
    found: &RateFound,
    known: &Known,
    carried: FrameRate,
) -> FrameRate {
    let allowed = found.loss_tolerance_percent / 100.0;
    let lost = known
        .trials_of(subject, Duration::ZERO)
        .filter(|(intended, result)| *intended > carried && worst_loss_ratio(result) > allowed);
    lost.map(|(intended, _)| intended).min().unwrap_or(subject.ceiling.rate.max(carried))
}

/// One trial of a load that a search has found, or of one near it; counted with the search's trials.
fn once_more(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    found: &mut RateFound,
    load: u64,
) -> Result<Ran, RunError> {
    let duration = found.trial_duration;
    once_more_for(bench, subject, found, (load, duration))
}

/// The same, for so long.
pub(crate) fn once_more_for(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    found: &mut RateFound,
    asked: (u64, Duration),
) -> Result<Ran, RunError> {
    let percent = found.loss_tolerance_percent;
    let asked = request(subject, TestKind::Throughput, percent, asked, Bounds::default());
    let before = bench.clock().spent;
    let ran = bench.run(Request { judge: &|result| judge_loss(result, percent), ..asked })?;
    found.test_time += bench.clock().spent.saturating_sub(before);
    found.trials += ran.attempts();
    found.invalid_trials += ran.invalid_attempts;
    Ok(ran)
}

/// The last frames took longer than the first, though not as behind a queue that grew all the time: the
/// rate is stated as what came out, and how exactly it is known goes with it.
fn doubted(subject: &Subject<'_>, found: RateFound, low: f64) -> RateFound {
    let low = rounded_down(low);
    let why = format!(
        "the last frames took longer than the first ones, so that {low:.1} came out a second"
    );
    let (finding, upper) = match (found.finding.clone(), found.upper) {
        (Finding::AtTheoreticalMaximum, _) => match found.rate {
            Some(highest) if !is_wide(subject, low, highest) => (Finding::Measured, found.rate),
            _ => (Finding::Between { why }, found.rate),
        },
        (Finding::Measured, Some(upper)) if is_wide(subject, low, upper) => {
            (Finding::Between { why }, Some(upper))
        }
        (finding, upper) => (finding, upper),
    };
    match upper {
        Some(upper) => within(subject, RateFound { finding, ..found }, low, upper),
        None => RateFound { finding, rate: Some(low), ..found },
    }
}

/// Whether so much is left open that the rate is a bracket and no measurement.
pub(crate) fn is_wide(subject: &Subject<'_>, low: FrameRate, high: FrameRate) -> bool {
    let resolution = subject.config.search.resolution_percent / 100.0;
    high.fps() - low.fps() > (2.0 * resolution).max(WIDE) * high.fps()
}

/// A device that carries a load without loss carries it where some may be lost: bounds of goals, the strictest
/// first, that say otherwise are mended. Where they exclude each other, the stricter goal's are widened.
pub(crate) fn agree(subject: &Subject<'_>, found: &mut [RateFound]) {
    for index in 1..found.len() {
        let (stricter, later) = found.split_at_mut(index);
        let (strict, tolerant) = (&mut stricter[index - 1], &mut later[0]);
        let (Some(rate), Some(less)) = (strict.rate, tolerant.rate) else { continue };
        let is_noisy = strict.confidence.is_some() && tolerant.confidence.is_some();
        if let (true, Some(upper), Some(bound)) = (is_noisy, strict.upper, tolerant.upper)
            && (rate..upper).contains(&bound)
        {
            *strict = within(subject, strict.clone(), rate, bound);
            let is_of_noise = matches!(&strict.finding, Finding::Between { why } if why == VARIES);
            if is_of_noise && !is_wide(subject, rate, bound) {
                strict.finding = Finding::Measured;
            }
        }
        if rate <= less {
            continue;
        }
        match tolerant.upper {
            Some(upper) if upper <= rate => {
                let why = "searches for two goals exclude each other: what the device carries varies \
                           from trial to trial";
                let upper = strict.upper.unwrap_or(rate);
                let is_wide = is_wide(subject, less, upper);
                *strict = within(subject, strict.clone(), less, upper);
                if is_wide {
                    strict.finding = Finding::Between { why: why.into() };
                }
            }
            Some(upper) => *tolerant = within(subject, tolerant.clone(), rate, upper),
            None => *tolerant = RateFound { rate: Some(rate), ..tolerant.clone() },
        }
    }
}

/// Down to the thousandth: no more than what was seen.
pub(crate) fn rounded_down(fps: f64) -> FrameRate {
    FrameRate::from_fps_f64((fps * 1e3).floor() / 1e3)
}

/// The same rate, known to lie between these.
pub(crate) fn within(
    subject: &Subject<'_>,
    found: RateFound,
    low: FrameRate,
    high: FrameRate,
) -> RateFound {
    let width = high.fps() - low.fps();
    RateFound {
        rate: Some(low),
        conditional_throughput: found.conditional_throughput.map(|rate| rate.min(low)),
        percent_of_theoretical: Some(subject.percent_of_theoretical(low)),
        offered: found.offered.map(|offered| offered.min(low)),
        upper: Some(high),
        resolution_fps: Some(width),
        resolution_percent_of_theoretical: Some(width / subject.theoretical_max().fps() * 100.0),
        ..found
    }
}

/// How much of what it cannot forward the device drops, up to the tolerance, as far as trials have shown.
#[derive(Clone, Copy, Debug)]
struct Goal {
    drops_at_least: f64,
    drops_at_most: f64,
}

impl Goal {
    /// A device that asks for pauses takes no more than it forwards. One that has neither asked nor lost a
    /// frame may do either.
    fn of(known: &Known, tolerance: f64) -> Self {
        let pauses = known.trials().any(has_pauses);
        let drops = known.trials().any(|result| result.lost_frames() > 0);
        Goal {
            drops_at_least: if drops && !pauses { tolerance } else { 0.0 },
            drops_at_most: if pauses { 0.0 } else { tolerance },
        }
    }
}

/// Whether the device asked for pauses, or a half-duplex medium was taken.
pub(crate) fn has_pauses(result: &TrialResult) -> bool {
    result.sent.iter().any(|sent| sent.report.held_back() > Duration::ZERO)
}

/// What a valid trial at a load says.
fn shown(
    result: &TrialResult,
    trial: &Sustained,
    load_fps: f64,
    goal: Goal,
    resolution: f64,
) -> Shown {
    let senders = result.sent.iter();
    let paused = senders.filter(|sent| sent.report.held_back() > Duration::ZERO);
    let slowest = paused.filter_map(|sent| sent.report.sent_rate()).min();
    // What device or medium held back was never offered.
    let offered = slowest.map_or(load_fps, |slowest| slowest.fps().min(load_fps));
    let is_held_back = offered < load_fps * (1.0 - OF_RESOLUTION * resolution);
    let is_slower = 1.0 - trial.share > OF_RESOLUTION * resolution;
    let has_grown = trial.is_buffered && 1.0 - trial.share_at_most > OF_RESOLUTION * resolution;
    let lost = worst_loss_ratio(result);
    let share = match is_slower || is_held_back || trial.is_buffered {
        true => trial.share,
        false => 1.0,
    };
    // Of a load r the device drops 1 - c/r: it keeps up c / (1 - tolerance), and here c came out.
    let low = offered * (share * (1.0 - lost) / (1.0 - goal.drops_at_least)).min(1.0);
    let put_off = if has_grown { trial.loss_ratio_at_least(lost) } else { lost };
    Shown {
        low,
        fails: is_held_back || put_off > goal.drops_at_most,
        was_paused: has_pauses(result),
        is_doubtful: low < load_fps * (1.0 - OF_RESOLUTION * resolution),
        standing_queue_frames: trial.standing_queue_frames,
    }
}

/// The search between what came out and what went in.
struct SustainedSearch {
    low: f64,
    high: f64,
    found: RateFound,
    trials: u32,
    /// Whether the last load was too high.
    has_failed: bool,
}

impl SustainedSearch {
    /// One more load; false where no valid trial of it was to be had.
    fn look(
        &mut self,
        bench: &mut Bench<'_>,
        subject: &Subject<'_>,
        fps: f64,
        judge: &dyn Fn(&TrialResult, f64) -> Option<Shown>,
    ) -> Result<bool, RunError> {
        let load = load_of(subject, fps);
        let rate = rate_of(subject, load);
        if rate.fps() <= self.low || rate.fps() >= self.high {
            return Ok(false);
        }
        let ran = once_more(bench, subject, &mut self.found, load)?;
        self.trials += ran.attempts();
        if ran.verdict == Verdict::Invalid {
            return Ok(false);
        }
        let Some(shown) = judge(&ran.result, rate.fps()) else { return Ok(false) };
        self.low = self.low.max(shown.low);
        self.has_failed = shown.fails;
        if shown.fails {
            self.high = rate.fps();
        }
        Ok(true)
    }

    fn conclude(
        self,
        subject: &Subject<'_>,
        passed: FrameRate,
        resolution: f64,
        standing_queue_frames: f64,
    ) -> RateFound {
        let found = self.found;
        let low = rounded_down(self.low.min(self.high));
        let high = FrameRate::from_fps_f64(self.high);
        let width = high.fps() - low.fps();
        // The rates are decimals.
        let is_narrow = width <= resolution * high.fps() * (1.0 + 1e-6) + 0.002;
        let finding = match is_narrow {
            true => Finding::Measured,
            false => Finding::Between {
                why: format!(
                    "the device's buffers carried {passed:.1} for {}: no trial said more of what it \
                     keeps up",
                    found.trial_duration
                ),
            },
        };
        let found = RateFound {
            finding,
            buffered: Some(Buffered {
                rate: passed,
                trial_duration: found.trial_duration,
                standing_queue_frames,
                token_frames: 0.0,
            }),
            ..found
        };
        within(subject, found, low, high)
    }
}
