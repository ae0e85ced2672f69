//! The last look at a rate that a search has found, where trials with loss agree on no limit: did frames pass that no
//! longer do once something is used up?
//!
//! A limit may be that of one flow of many, or of a second bucket behind the first: what comes out of an overload then
//! depends on the load, and no two trials agree on it. But each of them lost nothing for a while, and then lost frames
//! steadily: it let out as many frames as it would have lost meanwhile. A trial of length t passes at a load of which
//! n/t frames a second are too many, if the device lets n out. How many more are too many at a load that is higher,
//! the slope, is seen between two trials with loss; so a load that passes is above the limit by n/(t slope) at most. Where
//! that is more than the resolution, trials follow in which it is half of it.
//!
//! A device may also count what it lets pass by windows of a clock of its own, or do more at one time than at another. Then
//! a trial loses much where one just below it lost nothing, and long trials tell, too.

use crate::bench::{Bench, Ran};
use crate::event::Verdict;
use crate::rate_search::{Known, load_of, worst_loss_ratio};
use crate::subject::Subject;
use crate::sustained::{is_wide, once_more_for, rounded_down, within};
use crate::tokens::{LONGER, LONGEST_TRIALS};
use crate::{Buffered, Finding, RateFound, RunError};
use trial::{LetOut, TrialResult, let_out};
use units::{Duration, FrameRate};

/// Longer trials at most, but for those that are repeated.
const TRIALS_MAX: u32 = 7;
/// Loads of two trials whose excess is compared are so far apart.
const APART: f64 = 1.05;
/// A trial with so much more loss than its load explains, at a load so near to one that passed, shows that what passes
/// depends on the time.
const FALLS_OFF: f64 = 0.1;
const NEAR_BY: f64 = 0.05;
/// Losses in so few places may be what a trial before has left behind: the trial is repeated.
const LAPSES_MAX: u64 = 2;

/// What trials with loss have shown.
struct Seen {
    /// The most frames that one let out, without those that stood in a queue, and with them.
    frames: f64,
    with_queue_frames: f64,
    /// Of a frame a second more, so many are too many.
    slope: f64,
}

impl Seen {
    fn of(known: &Known) -> Seen {
        let mut all: Vec<LetOut> = known.trials().filter_map(let_out).collect();
        all.sort_by(|a, b| a.offered_fps.total_cmp(&b.offered_fps));
        let mut seen = Seen { frames: 0.0, with_queue_frames: 0.0, slope: 1.0 };
        all.iter().for_each(|it| seen.add(it));
        let Some(least) = all.iter().find(|it| it.frames > 0.0) else { return seen };
        let higher = all.iter().filter(|it| it.offered_fps > APART * least.offered_fps);
        let slopes = higher
            .map(|it| (it.excess_fps - least.excess_fps) / (it.offered_fps - least.offered_fps));
        // A limit is above zero: the excess grows by no less than its share.
        let share = least.excess_fps / least.offered_fps;
        let slope = slopes.filter(|slope| *slope > share).min_by(f64::total_cmp);
        Seen { slope: slope.unwrap_or(share).min(1.0), ..seen }
    }

    fn add(&mut self, shown: &LetOut) {
        self.frames = self.frames.max(shown.frames);
        self.with_queue_frames = self.with_queue_frames.max(shown.with_queue_frames);
    }

    /// By how much a load that passes a trial of this length may exceed the limit, in frames a second.
    fn beyond_fps(&self, frames: f64, lasts: Duration) -> f64 {
        frames / (lasts.as_secs_f64() * self.slope)
    }

    /// The load of which so much is too many as may be lost, by a trial above it.
    fn limit_fps(&self, shown: &LetOut, allowed: f64) -> f64 {
        let LetOut { offered_fps, excess_fps, .. } = *shown;
        let steeper = (self.slope - allowed).max(self.slope / 2.0);
        offered_fps - (excess_fps - allowed * offered_fps).max(0.0) / steeper
    }
}

/// Takes back what a rate found owes to frames that a device lets out before it loses any.
pub(crate) fn without_what_was_let_out(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    mut found: RateFound,
    known: &Known,
) -> Result<RateFound, RunError> {
    let is_plain = found.finding == Finding::Measured && found.confidence.is_none();
    let (Some(passed), Some(upper), None, true) =
        (found.rate, found.upper, found.buffered, is_plain)
    else {
        return Ok(found);
    };
    let resolution = subject.config.search.resolution_percent / 100.0;
    let allowed = found.loss_tolerance_percent / 100.0;
    let seen = Seen::of(known);
    let longest = found.trial_duration * LONGEST_TRIALS;
    // What had to wait in a queue has been told by its delay.
    let is_let_out = seen.beyond_fps(seen.frames, found.trial_duration) > resolution * passed.fps();
    let enough_s = match known.trials().any(|result| falls_off(result, passed, allowed)) {
        true => longest.as_secs_f64(),
        false if !is_let_out => return Ok(found),
        false => LONGER * seen.with_queue_frames / (seen.slope * resolution * passed.fps()),
    };
    let lasts = Duration::from_secs_f64(enough_s).max(found.trial_duration * 2).min(longest);
    let fall = resolution;
    let mut look =
        Look { resolution, allowed, lasts, seen, low: None, high: upper.fps(), fall, rises: 0 };
    let mut next = passed.fps();
    for _ in 0..TRIALS_MAX {
        let ran = look.once(bench, subject, &mut found, next)?;
        match ran.verdict {
            // It is carried on and on: what is lost above it is lost for another reason.
            Verdict::Passed if next >= passed.fps() => return Ok(found),
            Verdict::Passed => look.low = Some(next),
            Verdict::Failed => look.high = look.high.min(next),
            _ => break,
        }
        match look.next(&ran.result) {
            Some(load_fps) => next = load_fps,
            None => break,
        }
    }
    Ok(look.conclude(subject, found))
}

/// Whether all loss was in one place or two.
fn is_lapse(result: &TrialResult) -> bool {
    let gaps = result.expected_accounts().map(|account| account.missing.gaps);
    gaps.sum::<u64>() <= LAPSES_MAX
}

/// Whether a trial near a load that passed lost far more than the frames that it had more.
fn falls_off(result: &TrialResult, passed: FrameRate, allowed: f64) -> bool {
    let Some(offered) = result.least_offered_rate() else { return false };
    let more = offered.fps() / passed.fps() - 1.0;
    more.abs() < NEAR_BY && worst_loss_ratio(result) > allowed + more.max(0.0) + FALLS_OFF
}

/// Trials of one length, each as long as what is let out needs.
struct Look {
    resolution: f64,
    /// Loss that the goal allows.
    allowed: f64,
    lasts: Duration,
    seen: Seen,
    /// Frames a second that passed, and that did not.
    low: Option<f64>,
    high: f64,
    /// The next load after a loss is lower by this share, at least.
    fall: f64,
    /// Loads tried above one that passed.
    rises: u32,
}

impl Look {
    /// One trial, or two.
    fn once(
        &self,
        bench: &mut Bench<'_>,
        subject: &Subject<'_>,
        found: &mut RateFound,
        load_fps: f64,
    ) -> Result<Ran, RunError> {
        let asked = (load_of(subject, load_fps), self.lasts);
        let ran = once_more_for(bench, subject, found, asked)?;
        if ran.verdict != Verdict::Failed || !is_lapse(&ran.result) {
            return Ok(ran);
        }
        // Should it pass now, it stays one that lost frames.
        let is_at_rate = found.rate.is_some_and(|rate| rate.fps() == load_fps);
        found.trials_at_rate += u32::from(is_at_rate);
        found.failed_trials_at_rate += u32::from(is_at_rate);
        once_more_for(bench, subject, found, asked)
    }

    /// The next load in frames a second, after a trial.
    fn next(&mut self, result: &TrialResult) -> Option<f64> {
        let Some(low) = self.low else {
            let shown = let_out(result);
            shown.iter().for_each(|it| self.seen.add(it));
            let limit = shown.map_or(self.high, |it| self.seen.limit_fps(&it, self.allowed));
            let below = (limit * (1.0 - self.resolution / 2.0)).min(self.high * (1.0 - self.fall));
            self.fall *= 2.0;
            return Some(below).filter(|next| *next > 0.0);
        };
        if self.high - low <= self.resolution * self.high {
            return None;
        }
        self.rises += 1;
        let mean = (low * self.high).sqrt();
        // Just above what the first one passed at: it was likely just below the limit.
        Some(if self.rises == 1 { mean.min(low / (1.0 - 0.9 * self.resolution)) } else { mean })
    }

    fn conclude(self, subject: &Subject<'_>, found: RateFound) -> RateFound {
        let Look { seen, lasts, low, high, .. } = self;
        let Some(passed) = found.rate.filter(|passed| high <= passed.fps()) else { return found };
        let beyond_fps = seen.beyond_fps(seen.with_queue_frames, lasts);
        let low = rounded_down((low.unwrap_or(0.0) - beyond_fps).max(0.0));
        let token_frames = (passed.fps() - high) * found.trial_duration.as_secs_f64();
        let high = FrameRate::from_fps_f64(high);
        let finding = match is_wide(subject, low, high) {
            true => Finding::Between {
                why: format!(
                    "{passed:.1} passed a trial of {}, and not one of {lasts}: frames pass for a while that the \
                     device does not carry on and on, and longer trials left open how many it carries",
                    found.trial_duration
                ),
            },
            false => Finding::Measured,
        };
        let buffered = Some(Buffered {
            rate: passed,
            trial_duration: found.trial_duration,
            standing_queue_frames: 0.0,
            token_frames,
        });
        within(subject, RateFound { finding, buffered, ..found }, low, high)
    }
}
