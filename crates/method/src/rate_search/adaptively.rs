//! The adaptive search's trials: each tells what the device carried, not only whether it passed.

use super::known::Tried;
use super::{RateSearch, VARIES, WHOLE, WIDE, load_of, rate_of, request, worst_loss_ratio};
use crate::bench::{self, Request};
use crate::event::Verdict;
use crate::search::adaptive::{Against, Asked, Came, FAR_SHORT};
use crate::search::{Adaptive, Bounds, Range, Resolution, Search, Upper};
use crate::sustained::has_pauses;
use crate::{Buffered, RunError};
use trial::{Sustained, TrialResult};
use units::{Duration, FrameRate};

/// So many trials of a search at most are made again because the tester was held up.
const REPEATS: u32 = 4;

impl RateSearch<'_, '_> {
    /// Trials are held to no shortfall: each decides by the load that it offered.
    pub(super) fn search_adaptively(
        &mut self,
        range: Range,
        resolution: Resolution,
    ) -> Result<Bounds, RunError> {
        let goal = self.goal;
        let mut search =
            Adaptive::new(range, resolution, goal.max_trials_per_load, goal.final_trials)
                .with_noise(goal.noisy());
        self.learn(&mut search);
        let mut repeats = REPEATS;
        while let Some(asked) = search.next_load() {
            let came = self.unhindered(asked, search.bounds(), &mut repeats)?;
            let is_buffered = self.buffered.is_some() && !self.known.varies;
            if is_buffered && goal.noise == Some(Against::Estimate) {
                search.trust();
            }
            if self.has_pauses {
                search.keep_to_rate();
            }
            if asked.is_final && !search.is_challenging() {
                self.confirmed_at = Some(asked.load);
            }
            search.record(asked, came);
        }
        let mut bounds = search.bounds();
        if search.is_noisy() {
            self.confidence = search.error().map(|error| 1.0 - error);
            self.confirmed_at = bounds.lower.and_then(|lower| search.asked_for(lower));
            self.explain_noise(bounds);
            return Ok(bounds);
        }
        if goal.search_duration < goal.final_duration {
            bounds.lower = search.confirmed();
        }
        self.explain_width(bounds);
        Ok(bounds)
    }

    /// Bounds that the tester kept apart are no measurement: it offered far less than intended, and
    /// what the device carries between is not known.
    pub(super) fn explain_width(&mut self, bounds: Bounds) {
        let (Some(lower), Some((upper, Upper::Failed))) = (bounds.lower, bounds.upper) else {
            return;
        };
        let allowed = (self.goal.resolution_percent / 100.0).max(WIDE);
        if (upper.saturating_sub(lower)) as f64 > allowed * upper as f64 {
            self.wide = true;
            self.failure.reasons = vec![format!(
                "the tester was held up: it offered {:.0} where up to {:.0} was intended",
                self.rate(lower),
                self.rate(upper)
            )];
        }
    }

    /// Bounds that are far apart, or open, because the device is noisy.
    fn explain_noise(&mut self, bounds: Bounds) {
        if let (Some(lower), Some((upper, _))) = (bounds.lower, bounds.upper) {
            let allowed = (self.goal.resolution_percent / 100.0).max(WIDE);
            self.wide = upper.saturating_sub(lower) as f64 > allowed * upper as f64;
        }
        self.failure.reasons = vec![VARIES.into()];
    }

    /// Begins with what searches for other goals have found.
    fn learn(&mut self, search: &mut Adaptive) {
        self.has_pauses = self.known.trials().any(has_pauses);
        if self.has_pauses {
            search.keep_to_rate();
        }
        let known = std::mem::take(&mut self.known);
        for (load, tried) in &known.valid {
            let tried = tried.iter().filter(|tried| tried.duration >= self.goal.search_duration);
            let came = tried.map(|tried| self.learnt(*load, tried, known.varies));
            search.learn(*load, &came.collect::<Vec<_>>());
        }
        self.known = known;
    }

    /// What came of a trial made before, and whether it had its full length.
    fn learnt(&mut self, load: u64, tried: &Tried, varies: bool) -> (Came, bool) {
        let verdict = (self.goal.judge)(&tried.result);
        if verdict == Verdict::Failed {
            let percent = worst_loss_ratio(&tried.result) * 100.0;
            self.failure.loss_percent.insert(load, percent);
        }
        let sustained = self.sustained(&tried.result);
        let mut came = self.came(load, &tried.result, verdict, sustained);
        if varies {
            came = self.kept_up(came, &tried.result, sustained, tried.duration);
        }
        (came, tried.duration >= self.goal.final_duration)
    }

    /// A trial in which the tester was held up and offered far less than asked for is made again: it says
    /// nothing of what the tester can offer. The most that was carried counts.
    fn unhindered(
        &mut self,
        asked: Asked,
        bounds: Bounds,
        repeats: &mut u32,
    ) -> Result<Came, RunError> {
        let mut best = (0, 0);
        loop {
            let (came, was_held_up) = self.try_adaptively(asked, bounds)?;
            let Came::Carried { offered, sustained } = came else { return Ok(came) };
            best = best.max((offered, sustained));
            let is_far_short = (best.0 as f64) < FAR_SHORT * asked.load as f64;
            if !(is_far_short && was_held_up && *repeats > 0) {
                return Ok(Came::Carried { offered: best.0, sustained: best.1 });
            }
            *repeats -= 1;
        }
    }

    /// What came of a trial, and whether the tester was held up in it.
    fn try_adaptively(&mut self, asked: Asked, bounds: Bounds) -> Result<(Came, bool), RunError> {
        let (goal, load) = (self.goal, asked.load);
        let duration = if asked.is_final { goal.final_duration } else { goal.search_duration };
        let (test, percent) = (goal.test, goal.tolerance_percent);
        let request = request(self.subject, test, percent, (load, duration), bounds);
        let request = Request { judge: goal.judge, ..request };
        let ran = self.bench.run_changed(request, &|mut trial| {
            trial.limits.shortfall = 1.0;
            Ok(trial)
        })?;
        self.trials += ran.attempts();
        self.invalid_trials += ran.invalid_attempts;
        if ran.verdict == Verdict::Invalid {
            self.failure.reasons = ran.invalid_reasons();
        } else {
            self.note(load, duration, &ran.result, ran.verdict);
        }
        let sustained = self.sustained(&ran.result);
        let came = self.came(load, &ran.result, ran.verdict, sustained);
        if came == Came::Undecided && ran.verdict == Verdict::Passed {
            self.failure.reasons = vec![format!(
                "{duration} hold less than two frames at {:.3}: set a longer \
                 search.trial_duration_s",
                rate_of(self.subject, load)
            )];
        }
        let came = self.kept_up(came, &ran.result, sustained, duration);
        let was_held_up = bench::was_held_up(&ran.result);
        self.has_pauses |= has_pauses(&ran.result);
        if ran.result.is_valid() {
            self.made.add(load, duration, ran.result);
        }
        Ok((came, was_held_up))
    }

    /// A load that only a growing queue carried is not kept up: what came out meanwhile is.
    fn kept_up(
        &mut self,
        came: Came,
        result: &TrialResult,
        sustained: Option<Sustained>,
        duration: Duration,
    ) -> Came {
        let (Came::Carried { offered, .. }, Some(trial)) = (came, sustained) else { return came };
        let lost = worst_loss_ratio(result);
        let allowed = self.goal.tolerance_percent / 100.0;
        let proven = trial.loss_ratio_at_least(lost);
        let is_kept_up = proven <= allowed + self.goal.resolution_percent / 100.0;
        if !trial.is_buffered || is_kept_up {
            return came;
        }
        let rate = rate_of(self.subject, offered);
        if self.buffered.as_ref().is_none_or(|buffered| buffered.rate < rate) {
            self.buffered = Some(Buffered {
                rate,
                trial_duration: duration,
                standing_queue_frames: trial.standing_queue_frames,
                token_frames: 0.0,
            });
        }
        let put_off = (proven + trial.loss_ratio(lost)) / 2.0;
        let less = |ratio: f64| (offered as f64 * (1.0 - ratio) / (1.0 - allowed)) as u64;
        let sustained = (less(trial.loss_ratio(lost)), less(proven));
        Came::Lost { forwarded: less(put_off), sustained }
    }

    fn sustained(&self, result: &TrialResult) -> Option<Sustained> {
        trial::sustained(result, self.subject.slowest_line_rate())
    }

    fn came(
        &self,
        load: u64,
        result: &TrialResult,
        verdict: Verdict,
        sustained: Option<Sustained>,
    ) -> Came {
        let offered = result.least_offered_rate().map_or(0.0, FrameRate::fps);
        let as_load = |fps: f64| load_of(self.subject, fps);
        let lost = worst_loss_ratio(result);
        let put_off =
            sustained.filter(|trial| trial.is_buffered).map_or(lost, |it| it.loss_ratio(lost));
        match verdict {
            Verdict::Invalid => Came::Undecided,
            // A single frame has no rate.
            Verdict::Passed if offered == 0.0 => Came::Undecided,
            Verdict::Passed => {
                // What a device that asked for pauses took in first is in its buffer: it carries what came out.
                let came_out = sustained.filter(|_| has_pauses(result)).map_or(1.0, |it| it.share);
                let offered = offered * came_out;
                let is_whole = offered >= WHOLE * rate_of(self.subject, load).fps();
                let offered = if is_whole { load } else { as_load(offered) };
                // Whether a queue grew or the delay varied: no more is proven than what came out.
                let put_off = sustained.map_or(lost, |trial| trial.loss_ratio(lost));
                let kept = (1.0 - put_off) / (1.0 - lost);
                Came::Carried { offered, sustained: (offered as f64 * kept) as u64 }
            }
            _ => {
                // The load at which so much would have been lost as may be.
                let allowed = (self.goal.tolerance_percent / 100.0).min(0.5);
                let less = |ratio: f64| as_load(offered * (1.0 - ratio) / (1.0 - allowed));
                Came::Lost { forwarded: less(lost), sustained: (less(put_off), less(lost)) }
            }
        }
    }
}
