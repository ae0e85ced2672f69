//! Errors: frames with a bad FCS, runts and giants. "Check router stats & check to see that all
//! packets are dropped", and that the port works afterwards.

use super::Test1989;
use super::result::{ErrorFrames, Harvard1989Result, Misbehaviour, Unit};
use super::scene::{frames, is_alive, patient, result_of, run_changed};
use crate::FigureName;
use crate::RunError;
use crate::bench::Bench;
use crate::subject::Subject;
use crate::traffic::FORWARD;
use traffic::error_frame::{ErrorFrame, ErrorKind};
use trial::{Counted, Expectation, StreamFrame, Trial, TrialResult};
use units::{FrameRate, FrameSize};
use wire::signature::Form;

/// Sends frames with the test's error.
pub(super) fn errors(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    test: Test1989,
) -> Result<Harvard1989Result, RunError> {
    let config = &subject.config.harvard_1989;
    let [crc, runt, giant] = config.error_sizes;
    let (kind, size_bytes) = match test {
        Test1989::Giants => (ErrorKind::Giant, giant),
        Test1989::Runts => (ErrorKind::Runt, runt),
        _ => (ErrorKind::Crc, crc),
    };
    let mut result = result_of(test, subject);
    if !is_alive(bench, subject, test, "does it forward beforehand")? {
        return Ok(result.not_possible("not possible: the device forwards nothing any more"));
    }
    let rate = FrameRate::from_fps(config.error_fps.max(1));
    let what = format!("{size_bytes} bytes, each a {kind}");
    let request = frames(test, subject, &what, rate, config.error_frames);
    let size = FrameSize::from_bytes(size_bytes);
    let ran = run_changed(bench, request, &|trial| broken(subject, trial, kind, size))?;
    let trial = match ran {
        Ok(ran) if ran.result.is_valid() => ran.result,
        Ok(ran) => return Ok(result.invalid(ran.invalid_reasons())),
        Err(why) => return Ok(result.not_possible(why)),
    };
    let came = tell(&mut result, &trial, kind, size_bytes);
    result.errors = Some(came);
    if !is_alive(bench, subject, test, "does it forward afterwards")? {
        result.misbehaviours.push(Misbehaviour::DisablesPort { after: kind });
    }
    Ok(result)
}

/// The same trial with broken frames, which should come out nowhere.
fn broken(
    subject: &Subject<'_>,
    mut trial: Trial,
    kind: ErrorKind,
    size: FrameSize,
) -> Result<Trial, RunError> {
    let template = subject.traffic.plain_template();
    let signature = Some((trial.key, FORWARD.0));
    let frame = ErrorFrame::new(kind, &template, size, signature);
    let frame = frame.map_err(|error| RunError::Config(error.to_string()))?;
    let form = match size < FrameSize::MIN_ETHERNET {
        true => Form::fitting(frame.bytes.len().saturating_sub(template.headers_len())),
        false => template.form_for(size),
    };
    // Learned already, and not to be counted.
    trial.prelude.clear();
    if let Some(stream) = trial.streams.first_mut() {
        stream.bad_fcs = !frame.fcs_is_good();
        stream.expect = Expectation::Ports(vec![]);
        stream.frames = vec![StreamFrame { bytes: frame.bytes, form }];
        stream.fingerprint = None;
    }
    Ok(patient(trial))
}

fn tell(
    result: &mut Harvard1989Result,
    trial: &TrialResult,
    kind: ErrorKind,
    size_bytes: u32,
) -> ErrorFrames {
    let sent: u64 = trial.streams.iter().take(1).map(|stream| stream.sent).sum();
    let whole: u64 = trial.streams.iter().take(1).map(|stream| stream.misdirected).sum();
    let damaged: u64 = trial.counters.iter().filter_map(|port| port.bad_fcs).sum();
    let forwarded = whole + damaged;
    result.put("sent", sent as f64, Unit::Frames);
    result.put("came out", forwarded as f64, Unit::Frames);
    result.call_last(FigureName::ErroredFrames);
    if forwarded > 0 {
        let (frames, of) = (forwarded, sent);
        result.misbehaviours.push(Misbehaviour::ForwardsErrors { kind, frames, of });
    }
    // A device may call what it does not take a discarded frame.
    let tells = |counted: Counted| counted.is_error() || counted == Counted::DiscardsIn;
    let moved = trial.device.iter().filter(|count| tells(count.counted) && count.count > 0);
    let named = |count: &trial::DeviceCount| format!("{} {}", count.source, count.name);
    let counted: Vec<_> = moved.map(|count| (named(count), count.counted, count.count)).collect();
    for (name, _, count) in &counted {
        result.note(format!("{name} +{count}"));
    }
    let has_counters = !trial.device.is_empty();
    if has_counters {
        result.misbehaviours.extend(miscounted(kind, sent, &counted));
    } else {
        result.note("the device shows no counters");
    }
    ErrorFrames { kind, size_bytes, sent, forwarded, counted, has_counters }
}

/// A counter of this error, or of errors of any kind, should have moved by as many.
fn miscounted(
    kind: ErrorKind,
    sent: u64,
    counted: &[(String, Counted, u64)],
) -> Option<Misbehaviour> {
    let own = match kind {
        ErrorKind::Runt => Counted::Runts,
        ErrorKind::Giant => Counted::Giants,
        _ => Counted::CrcErrors,
    };
    let is_right = |counted: Counted| {
        counted == own || matches!(counted, Counted::ErrorsIn | Counted::DiscardsIn)
    };
    match counted.iter().find(|(_, what, _)| !is_right(*what)) {
        Some((_, counted, frames)) => {
            Some(Misbehaviour::MiscountsErrors { kind, counted: *counted, frames: *frames })
        }
        None => match counted.iter().find(|(_, what, _)| is_right(*what)) {
            None => Some(Misbehaviour::DoesNotCount { kind }),
            Some((name, _, frames)) if *frames != sent => Some(Misbehaviour::CounterWrong {
                counter: name.clone(),
                device: *frames,
                tester: sent,
            }),
            Some(_) => None,
        },
    }
}
