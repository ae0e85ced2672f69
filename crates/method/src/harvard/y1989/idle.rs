//! Idle state: what the device sends with nobody speaking to it ("Count packets for 10 sec").

use super::Test1989;
use super::result::{Harvard1989Result, Unit};
use super::scene::{frames, result_of, run_changed};
use crate::RunError;
use crate::bench::Bench;
use crate::subject::Subject;
use trial::Waits;
use units::{Duration, FrameRate};

/// Listens at every port.
pub(super) fn idle(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
) -> Result<Harvard1989Result, RunError> {
    let test = Test1989::IdleState;
    let mut result = result_of(test, subject);
    let span = Duration::from_secs_f64(subject.config.harvard_1989.idle_s);
    let request =
        frames(test, subject, &format!("listening for {span}"), FrameRate::from_fps(1), 0);
    let ran = run_changed(bench, request, &|mut trial| {
        trial.streams.clear();
        trial.loads.clear();
        trial.prelude.clear();
        trial.waits = Waits { drain: span, drain_max: span, ..trial.waits };
        Ok(trial)
    })?;
    let ran = match ran {
        Ok(ran) if ran.result.is_valid() => ran,
        Ok(ran) => return Ok(result.invalid(ran.invalid_reasons())),
        Err(why) => return Ok(result.not_possible(why)),
    };
    let mut all = 0;
    for port in &ran.result.received {
        result.put(format!("frames at {}", port.port), port.foreign as f64, Unit::Frames);
        result.put(format!("bytes at {}", port.port), port.foreign_bytes as f64, Unit::Bytes);
        all = all.max(port.foreign);
    }
    let every = (all > 0).then(|| span.as_secs_f64() / all as f64);
    result.put("one frame every", every, Unit::Seconds);
    if all == 0 {
        result.note(format!("the device says nothing within {span}"));
    }
    Ok(result)
}
