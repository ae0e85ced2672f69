//! What came out of a trial in which a queue grew is not yet what the device keeps up: tokens that it had saved came out,
//! too. A longer trial of that rate tells; of two in which a queue grew, the frames that the longer one had more came out
//! in the time that it lasted longer.

use crate::bench::Bench;
use crate::event::Verdict;
use crate::rate_search::{Known, load_of, rate_of};
use crate::subject::Subject;
use crate::sustained::{Judge, is_wide, once_more_for, rounded_down, within};
use crate::tokens::{LONGER, LONGEST_TRIALS, beyond_the_limit};
use crate::{Finding, RateFound, RunError};
use units::{Duration, FrameRate};

/// Trials at most just above what is kept up.
const ABOVE_MAX: u32 = 3;

/// Bounds of what a device keeps up, in frames a second, as longer trials narrow them.
struct Proof {
    low: f64,
    high: f64,
    /// Of the longest trial in which a queue grew: for how long it lasted and what came out, in seconds and frames.
    longest: Option<(f64, f64)>,
    /// Whether nothing that the device had saved is in `low`: the trial that carried it was longer than that lasts, or it
    /// is what came out from the first loss on.
    is_proven: bool,
}

/// Takes back from a bracket what tokens gave to its lower bound. `passed` is what the search found.
pub(crate) fn on_and_on(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    found: RateFound,
    (known, passed): (&Known, Option<FrameRate>),
) -> Result<RateFound, RunError> {
    let resolution = subject.config.search.resolution_percent / 100.0;
    let (Some(low), Some(high), Some(passed)) = (found.rate, found.upper, passed) else {
        return Ok(found);
    };
    let is_open = matches!(found.finding, Finding::Between { .. });
    if !is_open || low.fps() >= passed.fps() * (1.0 - resolution) {
        return Ok(found);
    }
    let judge = Judge::of(subject, known, &found);
    let mut found = found;
    let mut proof = Proof { low: low.fps(), high: high.fps(), longest: None, is_proven: false };
    let saved = beyond_the_limit(known, resolution);
    let longest = found.trial_duration * LONGEST_TRIALS;
    let mut lasts = found.trial_duration * 2;
    loop {
        // Above the limit that trials with loss agree on, what they let out beyond it is used up first.
        let beyond = saved.map(|(limit, frames)| (proof.low - limit, frames));
        let beyond = beyond.filter(|(more, _)| *more > resolution * proof.low);
        if let Some((more, frames)) = beyond {
            lasts = lasts.max(Duration::from_secs_f64(LONGER * frames / more));
        }
        if lasts > longest {
            // No trial is long enough: what came out from the first loss on is what is known of it.
            if let (Some((limit, _)), Some(_)) = (saved, beyond) {
                (proof.low, proof.is_proven) = (limit, true);
            }
            break;
        }
        match proof.look(bench, subject, &mut found, (proof.low, lasts), &judge)? {
            None => break,
            Some(false) => lasts = lasts * 2,
            Some(true) => {
                proof.is_proven = saved.is_some();
                proof.narrow(bench, subject, &mut found, lasts, &judge)?;
                return Ok(proof.conclude(subject, found, passed));
            }
        }
    }
    Ok(proof.conclude(subject, found, passed))
}

impl Proof {
    /// Whether a rate is kept up for so long; `None` where no valid trial of it was to be had.
    fn look(
        &mut self,
        bench: &mut Bench<'_>,
        subject: &Subject<'_>,
        found: &mut RateFound,
        (fps, lasts): (f64, Duration),
        judge: &Judge<'_>,
    ) -> Result<Option<bool>, RunError> {
        let resolution = subject.config.search.resolution_percent / 100.0;
        let load = load_of(subject, fps);
        let rate_fps = rate_of(subject, load).fps();
        let ran = once_more_for(bench, subject, found, (load, lasts))?;
        if ran.verdict == Verdict::Invalid {
            return Ok(None);
        }
        let Some((came_out_fps, fails)) = judge.keeps_up(&ran.result, rate_fps) else {
            return Ok(None);
        };
        let is_all = came_out_fps >= rate_fps * (1.0 - resolution / 2.0);
        if is_all && !fails && ran.verdict == Verdict::Passed {
            self.low = came_out_fps.min(rate_fps);
            return Ok(Some(true));
        }
        if fails {
            self.high = self.high.min(rate_fps);
        }
        let frames = came_out_fps * lasts.as_secs_f64();
        let more = self.longest.filter(|(shorter_s, _)| *shorter_s < lasts.as_secs_f64());
        let more = more.map(|(s, fewer)| (frames - fewer) / (lasts.as_secs_f64() - s));
        self.low = self.low.min(came_out_fps).min(more.unwrap_or(f64::INFINITY)).max(0.0);
        self.longest = Some((lasts.as_secs_f64(), frames));
        Ok(Some(false))
    }

    /// Just above what is kept up: the device is likely to do just that.
    fn narrow(
        &mut self,
        bench: &mut Bench<'_>,
        subject: &Subject<'_>,
        found: &mut RateFound,
        lasts: Duration,
        judge: &Judge<'_>,
    ) -> Result<(), RunError> {
        let resolution = subject.config.search.resolution_percent / 100.0;
        for trial in 0..ABOVE_MAX {
            let next = match trial {
                0 => self.low / (1.0 - 0.9 * resolution),
                _ => (self.low * self.high).sqrt(),
            };
            if self.high - self.low <= resolution * self.high || next >= self.high {
                break;
            }
            let kept_fps = self.low;
            if self.look(bench, subject, found, (next, lasts), judge)?.is_none() {
                break;
            }
            // What was kept up before stays so.
            self.low = self.low.max(kept_fps);
        }
        Ok(())
    }

    fn conclude(self, subject: &Subject<'_>, found: RateFound, passed: FrameRate) -> RateFound {
        let (low, high) = (rounded_down(self.low), FrameRate::from_fps_f64(self.high));
        let finding = match !self.is_proven || is_wide(subject, low, high) {
            true => Finding::Between {
                why: format!(
                    "buffers or tokens of the device carried {passed:.1} for {}: no trial said more of what it \
                     keeps up",
                    found.trial_duration
                ),
            },
            false => Finding::Measured,
        };
        within(subject, RateFound { finding, confidence: None, ..found }, low, high)
    }
}
