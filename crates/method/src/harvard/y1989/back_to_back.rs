//! Back to back: frames as close as the tester can send them, more and more of them, until the
//! device starts to drop ("NFS servers can produce back to back packets").
//!
//! The campaign's source repeated its burst over and over; so does this one, every
//! `burst_period_ms`. Where a burst is as long as its period, the load is a constant one, and the
//! device is too fast for the test.

use super::Test1989;
use super::result::{Harvard1989Result, Unit};
use super::scene::{result_of, steady};
use crate::FigureName;
use crate::RunError;
use crate::bench::{Bench, Request};
use crate::event::Verdict;
use crate::rate_search::judge_loss;
use crate::search::{Bisect, LoadVerdict, Range, Resolution, Upper, drive};
use crate::subject::Subject;
use crate::traffic::TrialShape;
use trial::{Schedule, Segment};
use units::Duration;

/// Searches for the longest burst of which nothing is lost.
pub(super) fn back_to_back(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
) -> Result<Harvard1989Result, RunError> {
    let test = Test1989::BackToBack;
    let config = &subject.config.harvard_1989;
    let mut result = result_of(test, subject);
    let period = Duration::from_secs_f64(config.burst_period_ms / 1e3);
    let rate = subject.ceiling.rate;
    // As many whole frames with their gaps as a period holds.
    let longest = ((rate.fps() * period.as_secs_f64()).floor() as u64).max(1);
    let resolution = Resolution { absolute: 1, relative: 0.0 };
    let mut search = Bisect::new(Range { min: 1, max: longest }, resolution);
    let mut reasons = vec![];
    let bounds = drive(&mut search, |frames, _| {
        let whole = period * config.bursts;
        let request = steady(test, subject, &format!("bursts of {frames}"), rate, whole);
        let segment = Segment::bursty(rate, frames, period, frames * config.bursts);
        let schedule = Schedule { segments: vec![segment] };
        let shape = TrialShape { schedule, ..request.shape };
        let judge = &|result: &_| judge_loss(result, 0.0);
        let ran = bench.run(Request { shape, judge, ..request })?;
        Ok::<_, RunError>(match ran.verdict {
            Verdict::Passed => LoadVerdict::Passed,
            Verdict::Invalid => {
                reasons = ran.invalid_reasons();
                LoadVerdict::Undecided
            }
            _ => LoadVerdict::Failed { lost_frames: ran.result.lost_frames() },
        })
    })?;
    result.put("theoretical", longest as f64, Unit::Frames);
    let name = "back to back";
    match (bounds.lower, bounds.upper) {
        (Some(frames), None) => {
            result.put_at_least(name, frames as f64, Unit::Frames);
            result.note("the device is too fast for the test: the whole period was one burst");
        }
        (Some(frames), Some((_, Upper::Undecided))) => {
            result.put_at_least(name, frames as f64, Unit::Frames);
            result.note(format!("the tester sends no longer bursts: {}", reasons.join("; ")));
        }
        (Some(frames), Some((_, Upper::Failed))) => result.put(name, frames as f64, Unit::Frames),
        (None, Some((_, Upper::Failed))) => result.put(name, 0.0, Unit::Frames),
        (None, _) => return Ok(result.invalid(reasons)),
    }
    if let Some((failed, Upper::Failed)) = bounds.upper {
        result.failed_at(failed as f64);
    }
    result.call_last(FigureName::BackToBack);
    result.put("burst every", period.as_secs_f64(), Unit::Seconds);
    Ok(result)
}
