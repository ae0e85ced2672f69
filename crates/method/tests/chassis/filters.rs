//! Errored frames and broadcasts.

use super::bed::{SWITCH, record, run};
use method::chassis::ChassisTest;
use method::rfc2889::{BroadcastLatencyResult, ErroredKind, ErroredOutcome, ErroredResult};
use trial::LatencyForm;

fn errored(toml: &str) -> ErroredResult {
    record(&run(&format!("ports = 3\n{SWITCH}{toml}"), ChassisTest::ErroredFrames))
}

/// Whether none came out; `None` where nothing is known.
fn passed(result: &ErroredResult, kind: ErroredKind) -> Option<bool> {
    match result.verdict(kind).unwrap() {
        ErroredOutcome::Passed => Some(true),
        ErroredOutcome::Failed | ErroredOutcome::Allowed => Some(false),
        ErroredOutcome::NotTested { .. } => None,
    }
}

const ALL: [ErroredKind; 6] = [
    ErroredKind::Oversize,
    ErroredKind::Giant,
    ErroredKind::Undersize,
    ErroredKind::CrcError,
    ErroredKind::Dribble,
    ErroredKind::Alignment,
];

#[test]
fn a_switch_filters_what_it_must() {
    let result = errored("");
    let verdicts = ALL.map(|kind| passed(&result, kind));
    assert_eq!(verdicts, [Some(true), Some(true), Some(true), Some(true), None, None]);
    for trial in result.trials.iter().filter(|trial| trial.errored.0 > 0) {
        assert_eq!(trial.good.0, trial.good.1, "good frames pass in the same trial: {trial:?}");
        assert!(trial.good.0 > 5 && trial.errored.0.abs_diff(trial.good.0) <= 1, "{trial:?}");
        assert_eq!(trial.errored.1, 0);
    }
}

/// Trials of 10 ms at 100 Mb/s: good and errored frames together, with preamble and gap, fill as much of the
/// medium as the load says, however different their lengths.
#[test]
fn good_and_errored_frames_together_are_the_load() {
    let result = errored("");
    let mut loads = 0;
    for trial in result.trials.iter().filter(|trial| trial.errored.0 > 0) {
        let bytes = match trial.kind {
            ErroredKind::Oversize => 1_522,
            ErroredKind::Giant => 1_523,
            ErroredKind::Undersize => 60,
            _ => 64,
        };
        let on_medium = trial.good.0 * (64 + 20) + trial.errored.0 * (bytes + 20);
        let percent = on_medium as f64 * 8.0 / (100e6 * 0.01) * 100.0;
        assert!((percent - trial.load_percent).abs() < 1.7, "{percent} % sent: {trial:?}");
        loads += 1;
    }
    assert_eq!(loads, 12, "four kinds at three loads");
}

#[test]
fn what_is_not_filtered_is_found() {
    let with = |key: &str, kind| {
        let result = errored(key);
        for other in ALL.into_iter().filter(|other| *other != kind) {
            assert_ne!(passed(&result, other), Some(false), "{key}: {other}");
        }
        passed(&result, kind)
    };
    let wrong = |key: &str| format!("[misbehaviour]\n{key} = true\n");
    assert_eq!(with(&wrong("forwards-runts"), ErroredKind::Undersize), Some(false));
    assert_eq!(with(&wrong("forwards-bad-fcs"), ErroredKind::CrcError), Some(false));
}

/// Filtering of oversize frames is a MAY, and a device that knows tags may forward 1522 bytes (RFC 2889
/// section 5.9.3): neither is a failure.
#[test]
fn oversize_frames_may_be_forwarded() {
    for (toml, forwarded) in [("max-frame-bytes = 1522\n", 1), ("max-frame-bytes = 2000\n", 2)] {
        let result = errored(toml);
        let kinds = [ErroredKind::Oversize, ErroredKind::Giant];
        let verdicts = kinds.map(|kind| result.verdict(kind).unwrap().clone());
        for (at, verdict) in verdicts.iter().enumerate() {
            let truth =
                if at < forwarded { ErroredOutcome::Allowed } else { ErroredOutcome::Passed };
            assert_eq!(*verdict, truth, "{toml}: {}", kinds[at]);
        }
        let outcome = result.outcome();
        let counted = outcome.figures.iter().filter(|f| f.known_as.is_some());
        assert!(counted.map(|figure| figure.value).all(|frames| frames == Some(0.0)), "no errors");
    }
}

/// The delay of the device alone, from last bit in to first bit out (RFC 1242): 64 bytes at 100 Mb/s take
/// 5.12 us in and as much out, which FILO has besides.
#[test]
fn a_broadcast_reaches_every_port_when_it_should() {
    let toml = format!("ports = 6\ndelay = \"7us\"\n{SWITCH}");
    let result: BroadcastLatencyResult = record(&run(&toml, ChassisTest::BroadcastLatency));
    assert_eq!(result.ports.len(), 5);
    for port in &result.ports {
        let latency = port.latency_ns.unwrap();
        assert_eq!((port.received, latency.min, latency.max), (3, 7_000.0, 7_000.0));
        let means = port.forms().into_iter().map(|(form, spread)| (form, spread.mean));
        let forms: Vec<_> = means.collect();
        assert_eq!(forms[0], (LatencyForm::Lifo, 7_000.0));
        assert!(forms.contains(&(LatencyForm::Filo, 17_240.0)), "{forms:?}");
    }
}
