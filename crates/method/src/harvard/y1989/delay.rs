//! Delay and its distribution: frames far apart, each timed from the end of the input frame to the
//! start of the output frame, where the campaign read an oscilloscope.

use super::Test1989;
use super::result::{Harvard1989Result, Misbehaviour, Unit};
use super::scene::{result_of, steady};
use crate::FigureName;
use crate::RunError;
use crate::bench::Bench;
use crate::rfc2544::summarise;
use crate::subject::Subject;
use units::{Duration, FrameRate};

/// A spread of no more than this share of the median is constant.
const CONSTANT: f64 = 0.01;

/// Sends frames far apart and times each.
pub(super) fn delay(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
) -> Result<Harvard1989Result, RunError> {
    let test = Test1989::Delay;
    let config = &subject.config.harvard_1989;
    let mut result = result_of(test, subject);
    let rate = FrameRate::from_fps_f64(1.0 / config.delay_gap_s);
    let duration = Duration::from_secs_f64(config.delay_stream_s);
    let ran = bench.run(steady(test, subject, "frames far apart", rate, duration))?;
    if !ran.result.is_valid() {
        return Ok(result.invalid(ran.invalid_reasons()));
    }
    let Some(summary) = summarise(&ran.result) else {
        result.note("no frame came back with a time in it");
        result.put("frames lost", ran.result.lost_frames() as f64, Unit::Frames);
        return Ok(result);
    };
    let on_the_lines = on_the_lines(subject);
    let us = |time: Duration| time.saturating_sub(on_the_lines).as_ns_f64() / 1e3;
    for (name, time) in
        [("min", summary.min), ("median", summary.p50), ("p99", summary.p99), ("max", summary.max)]
    {
        result.put(name, us(time), Unit::Us);
        if name == "median" {
            result.call_last(FigureName::Delay);
        }
    }
    let spread = summary.max.saturating_sub(summary.min);
    result.put("spread", spread.as_ns_f64() / 1e3, Unit::Us);
    result.put("frames lost", ran.result.lost_frames() as f64, Unit::Frames);
    result.note(match spread.as_ns_f64() <= CONSTANT * us(summary.p50) * 1e3 {
        true => "constant".to_string(),
        false => format!("varies by {spread}"),
    });
    let varies = spread >= Duration::from_secs_f64(config.delay_varies_ms / 1e3);
    // What held the tester up may have held the device up, where both are on one machine.
    let reports = ran.result.sent.iter().map(|sent| &sent.report);
    let held_up = reports.filter_map(|report| report.lateness.max()).max().unwrap_or_default();
    match varies && held_up * 10 >= spread {
        true => result.note(format!(
            "the tester itself was held up by {held_up} in this trial: the device is not blamed"
        )),
        false if varies => result.misbehaviours.push(Misbehaviour::DelayVaries { by: spread }),
        false => {}
    }
    if on_the_lines == Duration::ZERO {
        result.note("a virtual link takes no time of its own: from stamp to arrival");
    }
    result.delay = Some(summary);
    Ok(result)
}

/// The time of a frame's bits on both lines, which is in what the tester sees.
fn on_the_lines(subject: &Subject<'_>) -> Duration {
    let size = subject.traffic.size().size_at(0);
    let lines = [subject.line_rate(), subject.receiving_line_rate()];
    match subject.line_rate_is_physical() {
        true => lines.into_iter().map(|line| size.serialization_time(line)).sum(),
        false => Duration::ZERO,
    }
}
