//! Accuracy of counters: "Record value on router counters. Run one of above tests. Record value on
//! router counters." Frame for frame beside the tester's own, by every way in which the device's
//! can be read.

use super::Test1989;
use super::result::{CounterCheck, Harvard1989Result, Misbehaviour, Unit};
use super::scene::{is_alive, result_of, run_changed, steady};
use crate::RunError;
use crate::bench::{Bench, by_offer};
use crate::subject::Subject;
use trial::{Counted, DeviceCount, PortId, Role, TrialResult};
use units::{Duration, FrameRate};

/// Bytes of an FCS.
const FCS_BYTES: u64 = 4;
/// Bytes of an Ethernet header.
const ETHERNET_BYTES: u64 = 14;

/// Sends at half the max rate, and lays the device's counters beside the tester's.
pub(super) fn counters(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    max_rate: FrameRate,
) -> Result<Harvard1989Result, RunError> {
    let test = Test1989::Counters;
    let mut result = result_of(test, subject);
    // So that the device knows its hosts, and nothing but test frames is to be counted.
    is_alive(bench, subject, test, "learning")?;
    let duration = Duration::from_secs_f64(subject.config.harvard_1989.rate_stream_s);
    let request = steady(test, subject, "counted by both", max_rate.scaled(0.5), duration);
    let ran = run_changed(bench, request, &|mut trial| {
        trial.prelude.clear();
        Ok(by_offer(trial))
    })?;
    let trial = match ran {
        Ok(ran) if ran.result.is_valid() => ran.result,
        Ok(ran) => return Ok(result.invalid(ran.invalid_reasons())),
        Err(why) => return Ok(result.not_possible(why)),
    };
    if trial.device.is_empty() {
        return Ok(result.not_possible("not possible on this device: it shows no counters"));
    }
    result.put("frames sent", trial.offered_frames() as f64, Unit::Frames);
    result.put("frames received", trial.forwarded_frames() as f64, Unit::Frames);
    result.counters = counter_checks(&trial);
    let wrong = result.counters.iter().filter(|check| !check.agrees());
    result.misbehaviours = wrong.map(misbehaviour).collect();
    Ok(result)
}

/// The device's counters beside what they should say, those of which the tester knows.
pub(crate) fn counter_checks(trial: &TrialResult) -> Vec<CounterCheck> {
    trial.device.iter().filter_map(|count| check(count, trial)).collect()
}

fn misbehaviour(check: &CounterCheck) -> Misbehaviour {
    let port = check.port.map(|port| format!(" at {port}")).unwrap_or_default();
    Misbehaviour::CounterWrong {
        counter: format!("{} {}{port} ({})", check.source, check.name, check.counted),
        device: check.device,
        tester: check.tester,
    }
}

/// A counter beside what it should say; `None` where the tester does not know.
fn check(count: &DeviceCount, trial: &TrialResult) -> Option<CounterCheck> {
    let truth = Truth::of(trial, count.port);
    let (tester, explained) = match count.counted {
        Counted::FramesIn => (truth.sent, truth.explained_by_interface(count.count, truth.into)),
        Counted::FramesOut => {
            (truth.received, truth.explained_by_interface(count.count, truth.out_of))
        }
        Counted::OctetsIn => {
            (truth.sent_bytes, without_fcs(count.count, truth.sent_bytes, truth.sent))
        }
        Counted::OctetsOut => {
            (truth.received_bytes, without_fcs(count.count, truth.received_bytes, truth.received))
        }
        Counted::Forwarded => (trial.forwarded_frames(), None),
        counted if counted.is_error() => (0, None),
        // What was lost may have been discarded anywhere.
        Counted::DiscardsIn | Counted::DiscardsOut if trial.lost_frames() == 0 => (0, None),
        _ => return None,
    };
    Some(CounterCheck {
        source: count.source.clone(),
        port: count.port,
        name: count.name.clone(),
        counted: count.counted,
        device: count.count,
        tester,
        explained: explained.filter(|_| count.count != tester),
    })
}

/// What the tester knows of a port, or of all of them.
#[derive(Default)]
struct Truth {
    sent: u64,
    sent_bytes: u64,
    received: u64,
    received_bytes: u64,
    /// What its interfaces say: test frames and all others.
    into: Option<u64>,
    out_of: Option<u64>,
}

impl Truth {
    fn of(trial: &TrialResult, port: Option<PortId>) -> Truth {
        let is_here = |here: PortId| port.is_none_or(|port| port == here);
        let mut truth = Truth::default();
        for sent in trial.sent.iter().filter(|sent| is_here(sent.report.port)) {
            truth.sent += sent.report.sent_frames;
            truth.sent_bytes += sent.report.sent_bytes;
        }
        for received in trial.received.iter().filter(|received| is_here(received.port)) {
            truth.received += received.arrivals();
            truth.received_bytes += received.foreign_bytes;
        }
        for stream in trial.streams.iter().filter(|stream| stream.role == Role::Test) {
            let here = stream.expected_ports.iter().any(|port| is_here(*port));
            let bytes = (stream.received as f64 * stream.mean_frame_size_bytes).round() as u64;
            truth.received_bytes += if here { bytes } else { 0 };
        }
        for port in trial.counters.iter().filter(|counters| is_here(counters.port)) {
            truth.into = port.interface_sent;
            truth.out_of = port.interface_received;
        }
        truth
    }

    /// Frames that were no test frames crossed the link, and the tester's interface saw them too.
    fn explained_by_interface(&self, device: u64, interface: Option<u64>) -> Option<String> {
        let is_so = interface == Some(device);
        is_so.then(|| "the tester's interface counted the same, with frames of its own".into())
    }
}

/// What a count of bytes leaves out, where that is all that is missing.
fn without_fcs(device: u64, bytes: u64, frames: u64) -> Option<String> {
    let without = |left_out: u64| device == bytes.saturating_sub(left_out * frames);
    match (without(FCS_BYTES), without(FCS_BYTES + ETHERNET_BYTES)) {
        (true, _) => Some("it counts bytes without FCS".into()),
        (_, true) => Some("it counts bytes without Ethernet header and FCS".into()),
        _ => None,
    }
}
