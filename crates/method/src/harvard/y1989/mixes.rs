//! Mixes: of frame lengths as a network has them, of protocols, and which sizes pass when the device
//! is flooded.

use super::Test1989;
use super::control::Control;
use super::rates::search;
use super::result::{Harvard1989Result, Misbehaviour, Unit};
use super::scene::{frames, result_of, run_changed, steady};
use super::stops::{Fate, fate};
use super::suite::offered;
use crate::FigureName;
use crate::bench::{Bench, flooding};
use crate::subject::Subject;
use crate::traffic::{FORWARD, Forwarding, Traffic};
use crate::{Protocol, RunError, TestKind};
use traffic::size::SizePattern;
use trial::{StreamId, Trial};
use units::{Duration, FrameRate, FrameSize};

/// The max rate of the configured mix of lengths.
pub(super) fn length_mix(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
) -> Result<Harvard1989Result, RunError> {
    let test = Test1989::LengthMix;
    let mix = subject.config.harvard_1989.mix.clone();
    with_size(bench, subject, test, &mix, |bench, subject| {
        let mut result = result_of(test, subject);
        let found = search(bench, subject, test)?;
        result.put("mean frame size", subject.traffic.size().average_bytes(), Unit::Bytes);
        result.put("theoretical", subject.theoretical_max().fps(), Unit::Fps);
        result.put_rate("max rate", &found);
        Ok(result)
    })
}

/// The same work with frames of another size, at loads that the tester can offer of them.
fn with_size<R>(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    test: Test1989,
    size: &SizePattern,
    work: impl FnOnce(&mut Bench<'_>, &Subject<'_>) -> Result<R, RunError>,
) -> Result<R, RunError> {
    let traffic = subject.traffic.of_size(size)?;
    let description = bench.tester().describe().clone();
    let other = Subject::new(subject.config, &traffic, &description, None);
    let other = other.map_err(RunError::Config)?;
    let reach = offered(bench, &other, TestKind::Harvard1989(test))?;
    work(bench, &other.within(&reach))
}

/// Frames of all protocols that the device forwards, in turn.
pub(super) fn mixed_protocols(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
) -> Result<Harvard1989Result, RunError> {
    let test = Test1989::MixedProtocols;
    let mut result = result_of(test, subject);
    let mut together: Vec<(Protocol, Traffic)> = vec![];
    for &protocol in &subject.config.harvard_1989.protocols {
        let Some(traffic) = traffic_of(subject, protocol) else { continue };
        let alone = subject.with_traffic(&traffic);
        let ran = bench.run(frames(test, &alone, protocol.name(), QUIET, 10))?;
        match ran.result.forwarded_frames() {
            1.. => together.push((protocol, traffic)),
            0 => result.note(format!("{} is not forwarded by this device", protocol.name())),
        }
    }
    let Some((_, first)) = together.first() else {
        return Ok(result.not_possible("not possible on this device: it forwards none of them"));
    };
    let subject = &subject.with_traffic(first);
    let duration = Duration::from_secs_f64(subject.config.harvard_1989.rate_stream_s);
    let rate = subject.ceiling.rate;
    let request = steady(test, subject, "in turn", rate, duration);
    let ran = run_changed(bench, request, &|trial| Ok(flooding(in_turn(trial, &together)?)))?;
    let trial = match ran {
        Ok(ran) if ran.result.is_valid() => ran.result,
        Ok(ran) => return Ok(result.invalid(ran.invalid_reasons())),
        Err(why) => return Ok(result.not_possible(why)),
    };
    result.put("offered", trial.offered_rate().fps(), Unit::Fps);
    result.put("forwarded", trial.forwarding_rate().fps(), Unit::Fps);
    result.call_last(FigureName::ForwardingRate);
    for (index, (protocol, _)) in together.iter().enumerate() {
        let id = StreamId(FORWARD.0 + index as u16);
        let stream = trial.streams.iter().find(|stream| stream.id == id);
        let share = stream.map(|s| s.received as f64 / s.sent.max(1) as f64 * 100.0);
        result.put(format!("{} forwarded", protocol.name()), share, Unit::Percent);
    }
    Ok(result)
}

/// A load that any device carries.
const QUIET: FrameRate = FrameRate::from_fps(20);

/// The subject's traffic in another protocol; `None` where its frames cannot be so small, or a
/// bridge would get what only routers take.
fn traffic_of(subject: &Subject<'_>, protocol: Protocol) -> Option<Traffic> {
    let is_routed = subject.traffic.forwarding() == Forwarding::Routed;
    if protocol == Protocol::Ethernet && is_routed {
        return None;
    }
    subject.traffic.of_protocol(protocol).ok()
}

/// The first one's trial with the others' streams taking turns.
fn in_turn(mut trial: Trial, together: &[(Protocol, Traffic)]) -> Result<Trial, RunError> {
    let mut order = vec![FORWARD];
    for (index, (_, traffic)) in together.iter().enumerate().skip(1) {
        let id = StreamId(FORWARD.0 + index as u16);
        trial.streams.push(traffic.stream_as(0, trial.key, id)?);
        trial.prelude.splice(0..0, traffic.prelude());
        order.push(id);
    }
    if let Some(load) = trial.loads.first_mut() {
        load.order = order;
    }
    Ok(trial)
}

/// Which of the configured sizes pass when the device is flooded; where short ones do and long ones
/// do not, the largest that does.
pub(super) fn flooded_sizes(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
) -> Result<Harvard1989Result, RunError> {
    let test = Test1989::FloodedSizes;
    let mut result = result_of(test, subject);
    let mut sizes: Vec<u32> = subject
        .config
        .frame_sizes
        .iter()
        .filter_map(|size| match size {
            SizePattern::Fixed(size) => Some(size.bytes()),
            _ => None,
        })
        .collect();
    sizes.sort_unstable();
    let (mut passes, mut stops, mut reasons) = (None, None, vec![]);
    for size in sizes {
        match flooded(bench, subject, size)? {
            Fate::GoesOn | Fate::StoppedOnce => passes = Some(size),
            Fate::Stops if passes.is_some() => stops = Some(size),
            Fate::Stops => {}
            Fate::Undecided(why) => reasons = why,
        }
        if stops.is_some() {
            break;
        }
    }
    let Some(lower) = passes else {
        return Ok(match reasons.is_empty() {
            true => {
                result.note("no size passes");
                result
            }
            false => result.invalid(reasons),
        });
    };
    let Some(upper) = stops else {
        result.put_at_least("largest that passes", f64::from(lower), Unit::Bytes);
        if !reasons.is_empty() {
            result.note(format!("larger sizes were not decided: {}", reasons.join("; ")));
        }
        return Ok(result);
    };
    let (lower, upper, reasons) = between(bench, subject, (lower, upper))?;
    match reasons.is_empty() {
        true => result.put("largest that passes", f64::from(lower), Unit::Bytes),
        false => {
            result.put_at_least("largest that passes", f64::from(lower), Unit::Bytes);
            let why = reasons.join("; ");
            result.note(format!("sizes from {lower} to {upper} bytes were not decided: {why}"));
        }
    }
    let over_bytes = upper - 1;
    result.misbehaviours.push(Misbehaviour::DropsLongWhenFlooded { over_bytes });
    Ok(result)
}

/// Halves the sizes between one that passes and one that does not, as far as the tester can tell; then says why
/// it cannot.
fn between(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    (mut lower, mut upper): (u32, u32),
) -> Result<(u32, u32, Vec<String>), RunError> {
    while upper - lower > 1 {
        let size = lower + (upper - lower) / 2;
        match flooded(bench, subject, size)? {
            Fate::GoesOn | Fate::StoppedOnce => lower = size,
            Fate::Stops => upper = size,
            Fate::Undecided(reasons) => return Ok((lower, upper, reasons)),
        }
    }
    Ok((lower, upper, vec![]))
}

/// Whether frames of this size go on coming out as long as the flood lasts.
fn flooded(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    size_bytes: u32,
) -> Result<Fate, RunError> {
    let test = Test1989::FloodedSizes;
    let size = SizePattern::Fixed(FrameSize::from_bytes(size_bytes));
    with_size(bench, subject, test, &size, |bench, subject| {
        let duration = Duration::from_secs_f64(subject.config.harvard_1989.rate_stream_s);
        let make = |bench: &mut Bench<'_>| {
            let request = steady(test, subject, "flooded", subject.ceiling.rate, duration);
            bench.run_changed(request, &|trial| Ok(flooding(trial)))
        };
        let ran = make(bench)?;
        let fate = fate(&ran, || Ok(Ok(make(bench)?)))?;
        Ok(fate.under(Control::of(subject, subject.ceiling.rate)))
    })
}
