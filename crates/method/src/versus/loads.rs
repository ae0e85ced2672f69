//! The loads of a comparison, found from what gets through when the medium is full.

use super::Side;
use super::event::Purpose;
use super::run::{Loads, Running};
use super::trials::{Request, is_saturated_at, unfit_for_flood};
use crate::RunError;
use units::{Duration, FrameRate};

/// The flood, in terms of what the faster of the two carries.
pub(super) const FLOOD: f64 = 1.3;
/// The flood of sides that have tokens, or a bucket with a queue: at a lower one these last for most of a trial, and what
/// the device keeps up is told from its end.
const FLOOD_PAST_TOKENS: f64 = 2.5;
/// The moderate load, in terms of what the slower of the two carries.
const MODERATE: f64 = 0.5;
/// Attempts at a flood that says anything, of which two at most are needed.
const ATTEMPTS: u32 = 12;
/// Trials that look for a device that carries more when less is offered.
const REFINEMENTS: u32 = 6;
/// A device that carries this much more at a lower load is looked at once more.
const MORE: f64 = 1.05;
/// No trial of the search is longer.
const PROBE: Duration = Duration::from_ms(100);
/// So many trials that lose nothing make a device faster than the tester: one may have met a tester
/// that was held up.
const UNSATURATED_TRIALS: u32 = 2;

/// What a side carries, roughly.
#[derive(Clone, Copy)]
struct Capacity {
    fps: f64,
    /// Whether it carries no more; else the tester sent no more.
    is_saturated: bool,
    /// Whether a trial has shown tokens.
    has_tokens: bool,
}

/// What came of one trial of the search.
#[derive(Clone, Copy)]
struct Probe {
    carried_fps: f64,
    is_saturated: bool,
    shows_tokens: bool,
}

impl Running<'_, '_> {
    /// The loads that both sides are offered; `None` where nothing passes, and why.
    pub(super) fn find_loads(&mut self) -> Result<Result<Loads, String>, RunError> {
        let found = [self.capacity(Side::A)?, self.capacity(Side::B)?];
        let [a, b] = found.map(|capacity| capacity.fps);
        let (slower, faster) = (a.min(b), a.max(b));
        if slower <= 0.0 {
            let reasons: Vec<String> = self.invalid_reasons.keys().cloned().collect();
            return Ok(Err(format!("no load passes: {}", reasons.join("; "))));
        }
        let has_tokens = found.iter().any(|capacity| capacity.has_tokens);
        let flood = if has_tokens { FLOOD_PAST_TOKENS } else { FLOOD };
        let rate = |fps: f64| FrameRate::from_fps_f64(fps).min(self.versus.ceiling);
        Ok(Ok(Loads {
            carried_fps: [a, b],
            is_saturated: found.map(|capacity| capacity.is_saturated),
            flood: rate(faster * flood),
            moderate: rate(slower * MODERATE),
        }))
    }

    /// Fills the medium first: one trial tells what comes out. Then goes up from 1.3 times that while
    /// more comes out, since a device may carry less the more it is offered.
    fn capacity(&mut self, side: Side) -> Result<Capacity, RunError> {
        let ceiling = self.versus.ceiling;
        let mut capacity = Capacity { fps: 0.0, is_saturated: false, has_tokens: false };
        let mut unsaturated = 0;
        for _ in 0..ATTEMPTS {
            let Some(probe) = self.probe(side, ceiling)? else { continue };
            capacity.fps = capacity.fps.max(probe.carried_fps);
            capacity.is_saturated |= probe.is_saturated;
            capacity.has_tokens |= probe.shows_tokens;
            unsaturated += u32::from(!probe.is_saturated);
            if capacity.is_saturated || unsaturated == UNSATURATED_TRIALS {
                break;
            }
        }
        for _ in 0..REFINEMENTS {
            let load = FrameRate::from_fps_f64(capacity.fps * FLOOD);
            // Of a side that forwards nothing there is nothing to refine: a load of zero says nothing.
            if load.is_zero() || !capacity.is_saturated || load >= ceiling {
                break;
            }
            let Some(probe) = self.probe(side, load)? else { continue };
            let is_more = probe.carried_fps > capacity.fps * MORE;
            capacity.fps = capacity.fps.max(probe.carried_fps);
            if !is_more {
                break;
            }
        }
        Ok(capacity)
    }

    /// `None` where the trial says nothing. What the tester failed to send does no harm here; what it
    /// lost itself does.
    fn probe(&mut self, side: Side, load: FrameRate) -> Result<Option<Probe>, RunError> {
        let duration = self.versus.config.trial.min(PROBE);
        let request = Request { side, purpose: Purpose::Loads, load, duration };
        let trial = self.trial(request, &unfit_for_flood)?;
        let is_saturated = is_saturated_at(trial.rate_fps, trial.offered.fps());
        let shows_tokens = trial.shows_tokens;
        let probe = Probe { carried_fps: trial.rate_fps, is_saturated, shows_tokens };
        Ok(trial.unfit.is_none().then_some(probe))
    }
}
