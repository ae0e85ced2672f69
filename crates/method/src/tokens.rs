//! The last look at a rate that a search has found: does the device keep it up, or did its tokens carry it to the end
//! of the trial?
//!
//! A policer lets some frames pass at any rate and then as many as its limit. A trial that is too short to use its
//! tokens up loses none at a load above the limit. Trials of higher loads have used them up: what came out from their
//! first loss on is the limit, the same in each ([`trial::allowance`]). A trial at the rate found, long enough to use
//! up as many tokens as they had, and those that came below the limit, then decides: a device that does less under too
//! high a load does not lose there.

use crate::bench::Bench;
use crate::event::Verdict;
use crate::rate_search::{Known, load_of, worst_loss_ratio};
use crate::subject::Subject;
use crate::sustained::{is_wide, once_more_for, rounded_down, within};
use crate::{Buffered, Finding, RateFound, RunError};
use std::collections::VecDeque;
use trial::{Allowance, TrialResult, allowance};
use units::{Duration, FrameRate};

/// Trials that agree on the limit, the one that decides included; and their share of all that lost frames.
const TRIALS_AT_LEAST: usize = 2;
const AGREEING: f64 = 0.6;
/// Tokens that explain no more than this of what was carried beyond the limit are not what carried it.
const EXPLAINS: f64 = 0.5;
/// The trial that decides lasts so much longer than the tokens last.
pub(crate) const LONGER: f64 = 2.0;
/// It lasts no longer than so many trials of full length.
pub(crate) const LONGEST_TRIALS: u64 = 20;

/// Why a limit is a bracket.
const UNEVEN: &str =
    "above the limit ports have unequal shares, and no trial told what each has below it";

/// What trials that lost frames agree on.
struct Limit {
    /// Of an even load. A port that has less than others above the limit shows the one bound, the mean port the other.
    fps: (f64, f64),
    /// Medians over the trials, of one of which each agrees: the least port and the mean port.
    medians_fps: [f64; 2],
    /// In the mean trial, which begins with those that came since the one before; and in the one that had most,
    /// with those that came in trials below the limit.
    token_frames: [f64; 2],
    /// In the trial of them that had most.
    most_frames: f64,
    /// The same with a queue's.
    with_queue_frames: f64,
    /// In any trial beyond the limit, of each direction: no more than the device had tokens for.
    let_out_frames: f64,
    trials: usize,
}

impl Limit {
    /// Whether the trial that decides is one more that shows it, or enough others have.
    fn is_shown_by(&self, result: &TrialResult, resolution: f64) -> bool {
        let agrees = |it: Allowance| {
            let shown = [it.steady_fps, it.even_fps].into_iter().zip(self.medians_fps);
            shown.into_iter().any(|(fps, median)| is_near(fps, median, resolution))
        };
        self.trials >= TRIALS_AT_LEAST || allowance(result).is_some_and(agrees)
    }
}

/// Few frames tell a rate with an error that may exceed the resolution: their bounds decide.
fn is_near((low, high): (f64, f64), fps: f64, resolution: f64) -> bool {
    low <= fps * (1.0 + resolution) && fps <= high * (1.0 + resolution)
}

/// Takes back what a rate found owes to the device's tokens.
pub(crate) fn without_tokens(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    mut found: RateFound,
    known: &Known,
) -> Result<RateFound, RunError> {
    let resolution = subject.config.search.resolution_percent / 100.0;
    let Some(limit) = limit(known, resolution) else { return Ok(found) };
    // A tolerance lets more be offered: of a load r a policer of c drops 1 - c/r.
    let allowed = 1.0 - found.loss_tolerance_percent / 100.0;
    let bounds = (limit.fps.0 / allowed, limit.fps.1 / allowed);
    let Some(passed) = found.rate else {
        if limit.trials < TRIALS_AT_LEAST || bounds.0 == 0.0 {
            return Ok(found);
        }
        // Trials contradicted each other, or all lost: what tokens there were decided.
        let below = load_of(subject, bounds.0 * (1.0 - resolution / 2.0));
        let asked = (below, found.trial_duration);
        let ran = once_more_for(bench, subject, &mut found, asked)?;
        let holds = ran.verdict == Verdict::Passed;
        return Ok(if holds { concluded(subject, found, &limit, bounds) } else { found });
    };
    if !explains(&limit, &found, passed, bounds) {
        return Ok(found);
    }
    let beyond_fps = passed.fps() - bounds.1;
    let lasting_s = limit.token_frames.map(|frames| LONGER * frames / beyond_fps);
    let mut lasting_s = VecDeque::from(lasting_s);
    while let Some(lasts_s) = lasting_s.pop_front() {
        let lasts = Duration::from_secs_f64(lasts_s).max(found.trial_duration);
        if lasts > found.trial_duration * LONGEST_TRIALS {
            let (low, _) = narrowed(bench, subject, &mut found, (&limit, bounds))?;
            return Ok(left_open(subject, found, low));
        }
        let ran =
            once_more_for(bench, subject, &mut found, (load_of(subject, passed.fps()), lasts))?;
        match ran.verdict {
            Verdict::Failed if limit.is_shown_by(&ran.result, resolution) => {
                let bounds = narrowed(bench, subject, &mut found, (&limit, bounds))?;
                return Ok(concluded(subject, found, &limit, bounds));
            }
            // Behind the tokens there is a queue, which took in what was beyond the limit until the last frames: they
            // were lost, and the tolerance hides it.
            Verdict::Passed if lasting_s.is_empty() && ran.result.lost_frames() > 0 => {
                lasting_s.push_back(LONGER * lasts.as_secs_f64());
            }
            // Too late a loss shows no limit; a longer trial may.
            Verdict::Failed | Verdict::Passed => {}
            _ => break,
        }
    }
    Ok(found)
}

/// The rate that trials with loss agree on, in frames a second, and how many frames at most they let out or took in beyond
/// it before their first loss.
pub(crate) fn beyond_the_limit(known: &Known, resolution: f64) -> Option<(f64, f64)> {
    let limit = limit(known, resolution)?;
    Some((limit.fps.0, limit.with_queue_frames))
}

/// The limit that trials agree on in which tokens were used up. A device that collapses, or whose limit is a
/// processor's, does not agree so well with itself; a policer behind a link or a processor does but for the highest
/// loads.
fn limit(known: &Known, resolution: f64) -> Option<Limit> {
    let lossy = known.trials().filter(|result| worst_loss_ratio(result) > 0.0);
    let all: Vec<Allowance> = lossy.filter_map(allowance).collect();
    let agreeing = |bounds: fn(&Allowance) -> (f64, f64)| {
        let median = median(all.iter().map(|it| (bounds(it).0 + bounds(it).1) / 2.0))?;
        let near = all.iter().filter(|it| is_near(bounds(it), median, resolution));
        Some((near.collect::<Vec<_>>(), median))
    };
    // The port that has the least shows the limit where each has its own, the mean port the one that all share.
    let (of_port, of_mean) = (agreeing(|it| it.steady_fps)?, agreeing(|it| it.even_fps)?);
    let medians_fps = [of_port.1, of_mean.1];
    let agreeing = if of_mean.0.len() > of_port.0.len() { of_mean.0 } else { of_port.0 };
    let low = agreeing.iter().map(|it| it.steady_fps.0).fold(0.0, f64::max);
    let high = agreeing.iter().map(|it| it.even_fps.1).fold(f64::INFINITY, f64::min);
    let most = agreeing.iter().map(|it| it.frames).fold(0.0, f64::max);
    let with_queue = agreeing.iter().map(|it| it.with_queue_frames).fold(0.0, f64::max);
    let refilled = known.trials().filter_map(|result| refilled(result, low)).sum::<f64>();
    let token_frames = [median(agreeing.iter().map(|it| it.frames))?, most + refilled];
    let agree = agreeing.len() as f64 >= AGREEING * all.len() as f64;
    let (fps, trials) = ((low.min(high), low.max(high)), agreeing.len());
    let let_out = known.trials().filter_map(|result| let_out(result, fps.1)).fold(0.0, f64::max);
    (agree && high > 0.0).then_some(Limit {
        fps,
        medians_fps,
        token_frames,
        most_frames: most,
        with_queue_frames: with_queue,
        let_out_frames: let_out,
        trials,
    })
}

/// Tokens that came while a trial offered less than the limit, and no trial that lost frames had.
fn refilled(result: &TrialResult, limit_fps: f64) -> Option<f64> {
    let offered = result.least_offered_rate()?.fps();
    let sent = result.sent.iter().filter_map(|sent| {
        Some(sent.report.last_departure?.since(sent.report.first_departure?).as_secs_f64())
    });
    Some((limit_fps - offered).max(0.0) * sent.fold(0.0, f64::max))
}

/// What came out of a trial beyond the limit of each direction, and what a queue let out after the last departure counts
/// as the limit's.
fn let_out(result: &TrialResult, limit_fps: f64) -> Option<f64> {
    let directions = result.sent.iter().filter(|sent| sent.report.sent_frames > 0).count() as f64;
    let frames = result.forwarded_frames() as f64 / directions;
    let time_s = frames * directions / result.forwarding_rate().fps();
    let beyond = frames - limit_fps * time_s;
    beyond.is_finite().then_some(beyond.max(0.0))
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// Whether the rate found exceeds the limit, and tokens explain by how much.
fn explains(limit: &Limit, found: &RateFound, rate: FrameRate, (_, high): (f64, f64)) -> bool {
    let carried = (rate.fps() - high) * found.trial_duration.as_secs_f64();
    carried > 0.0 && limit.token_frames[1] >= EXPLAINS * carried
}

/// No trial is long enough to use up the tokens.
fn left_open(subject: &Subject<'_>, found: RateFound, low: f64) -> RateFound {
    let (low, Some(upper)) = (rounded_down(low), found.upper.or(found.rate)) else { return found };
    let finding = match is_wide(subject, low, upper) {
        true => Finding::Between {
            why: format!(
                "from the first loss on {low:.1} came out: tokens may have carried the rest, and no trial \
                 was long enough to use them up"
            ),
        },
        false => found.finding.clone(),
    };
    within(subject, RateFound { finding, confidence: None, ..found }, low, upper)
}

/// Ports that have unequal shares above the limit leave open whether each has a limit of its own, which the least share
/// shows, or all have one, of which the mean port shows what each can have. A trial below the one or above the other
/// tells, if it is long enough to use up the tokens of any trial before.
fn narrowed(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    found: &mut RateFound,
    (limit, (mut low, mut high)): (&Limit, (f64, f64)),
) -> Result<(f64, f64), RunError> {
    let resolution = subject.config.search.resolution_percent / 100.0;
    let least = low;
    for next in [high * (1.0 - resolution / 2.0), low * (1.0 + resolution)] {
        if high - low <= resolution * high || next <= least {
            break;
        }
        let lasts = Duration::from_secs_f64(LONGER * limit.most_frames / (next - least));
        let asked = (load_of(subject, next), lasts.max(found.trial_duration));
        if lasts > found.trial_duration * LONGEST_TRIALS {
            break;
        }
        match once_more_for(bench, subject, found, asked)?.verdict {
            Verdict::Passed => low = low.max(next),
            Verdict::Failed => high = high.min(next),
            _ => break,
        }
    }
    Ok((low, high))
}

fn concluded(
    subject: &Subject<'_>,
    found: RateFound,
    limit: &Limit,
    (low, high): (f64, f64),
) -> RateFound {
    let resolution = subject.config.search.resolution_percent / 100.0;
    let (low, high) = (rounded_down(low), high.max(low * (1.0 + resolution)));
    let buffered = found.rate.map(|rate| Buffered {
        rate,
        trial_duration: found.trial_duration,
        standing_queue_frames: 0.0,
        token_frames: limit.let_out_frames,
    });
    let finding = match is_wide(subject, low, FrameRate::from_fps_f64(high)) {
        true => Finding::Between { why: UNEVEN.into() },
        false => Finding::Measured,
    };
    let found = RateFound { finding, buffered, confidence: None, ..found };
    within(subject, found, low, FrameRate::from_fps_f64(high))
}
