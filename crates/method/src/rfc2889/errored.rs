//! Errored frames filtering (RFC 2889 section 5.9): what a device must not forward.

use crate::RunError;
use crate::bench::{Bench, Ran};
use crate::chassis::{ChassisConditions, ChassisTest, Draft, TestSetup, shortfall_words};
use serde::{Deserialize, Serialize};
use std::fmt;
use trial::{Schedule, StreamFrame, TesterError};
use units::{Duration, FrameRate, FrameSize};
use wire::ethernet::{self, EtherType};
use wire::signature::Form;

/// What is wrong with a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErroredKind {
    /// Longer than 1,518 bytes, with a good FCS, and no longer than a device that knows tags may forward.
    Oversize,
    /// Longer than that.
    Giant,
    /// Shorter than 64 bytes, with a good FCS.
    Undersize,
    /// Bad FCS.
    CrcError,
    /// A few bits more than whole bytes, with a good FCS.
    Dribble,
    /// A few bits more than whole bytes, and a bad FCS.
    Alignment,
}

impl fmt::Display for ErroredKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            ErroredKind::Oversize => "oversize, 1522 bytes",
            ErroredKind::Giant => "oversize, 1523 bytes",
            ErroredKind::Undersize => "undersize, 60 bytes",
            ErroredKind::CrcError => "CRC error",
            ErroredKind::Dribble => "dribble bits",
            ErroredKind::Alignment => "alignment error",
        })
    }
}

/// What a device did with frames of a kind.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ErroredResult {
    /// Under which conditions.
    pub conditions: ChassisConditions,
    /// Each kind at each load.
    pub trials: Vec<ErroredTrial>,
    /// Why nothing is known of any kind; empty where something is.
    pub invalid: Vec<String>,
}

/// One kind at one load.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ErroredTrial {
    /// What was wrong with every second frame.
    pub kind: ErroredKind,
    /// Good and errored frames together, in percent of the medium.
    pub load_percent: f64,
    /// Errored frames sent, and those that came out anywhere.
    pub errored: (u64, u64),
    /// Good frames sent, and those that came out where they should.
    pub good: (u64, u64),
    /// What that means.
    pub outcome: ErroredOutcome,
}

/// Whether a device does as it must.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ErroredOutcome {
    /// It forwarded none.
    Passed,
    /// It forwarded some.
    Failed,
    /// It forwarded some, and may: filtering of oversize frames is a MAY (section 5.9.3).
    Allowed,
    /// It could not be tried.
    NotTested {
        /// Why.
        why: String,
    },
}

impl ErroredResult {
    /// The verdict over all loads: failed at one is failed, forwarded at one forwarded.
    pub fn verdict(&self, kind: ErroredKind) -> Option<&ErroredOutcome> {
        use ErroredOutcome::{Allowed, Failed};
        let of_kind = || self.trials.iter().filter(|trial| trial.kind == kind);
        let failed = of_kind().find(|trial| matches!(trial.outcome, Failed | Allowed));
        let tested =
            of_kind().find(|trial| !matches!(trial.outcome, ErroredOutcome::NotTested { .. }));
        failed.or(tested).or_else(|| of_kind().next()).map(|trial| &trial.outcome)
    }
}

/// What a device that knows tags may forward (IEEE 802.3ac).
const LARGEST_TAGGED: FrameSize = FrameSize::from_bytes(1_522);
const SENT: [ErroredKind; 4] =
    [ErroredKind::Oversize, ErroredKind::Giant, ErroredKind::Undersize, ErroredKind::CrcError];
const NO_HALF_BYTES: [ErroredKind; 2] = [ErroredKind::Dribble, ErroredKind::Alignment];

/// The test, from the first port to the second: good and errored frames in turn, so that the same
/// trial proves that good ones pass.
pub fn errored(bench: &mut Bench<'_>, rack: &TestSetup<'_>) -> Result<ErroredResult, RunError> {
    let mut trials = vec![];
    let mut invalid = vec![];
    for kind in SENT {
        for load in &rack.config.chassis.errored.loads_percent {
            trials.push(trial(bench, rack, kind, *load, &mut invalid)?);
        }
    }
    let not_sent = |kind| ErroredTrial {
        kind,
        load_percent: 0.0,
        errored: (0, 0),
        good: (0, 0),
        outcome: ErroredOutcome::NotTested { why: "Ethernet interfaces send whole bytes".into() },
    };
    trials.extend(NO_HALF_BYTES.map(not_sent));
    let all_invalid =
        SENT.iter().all(|kind| trials.iter().filter(|t| t.kind == *kind).all(not_tested));
    if !all_invalid {
        invalid.clear();
    }
    Ok(ErroredResult { conditions: rack.conditions(ChassisTest::ErroredFrames), trials, invalid })
}

fn not_tested(trial: &ErroredTrial) -> bool {
    matches!(trial.outcome, ErroredOutcome::NotTested { .. })
}

/// Size of frames of a kind, FCS included; those with a bad FCS have that of the test.
fn size_of(kind: ErroredKind, size: FrameSize) -> FrameSize {
    match kind {
        ErroredKind::Oversize => LARGEST_TAGGED,
        ErroredKind::Giant => FrameSize::from_bytes(LARGEST_TAGGED.bytes() + 1),
        ErroredKind::Undersize => FrameSize::from_bytes(60),
        _ => size,
    }
}

fn trial(
    bench: &mut Bench<'_>,
    rack: &TestSetup<'_>,
    kind: ErroredKind,
    load_percent: f64,
    invalid: &mut Vec<String>,
) -> Result<ErroredTrial, RunError> {
    let test = ChassisTest::ErroredFrames;
    let duration = Duration::from_secs_f64(rack.config.trial.duration_s);
    let bad = size_of(kind, rack.size);
    // A good frame and a bad one together fill the medium at 100 %.
    let bits = u64::from(rack.size.bytes_on_medium() + bad.bytes_on_medium()) * 8;
    let maximum = FrameRate::new(2 * rack.described(0).line_rate.bps(), bits);
    // Each frame is followed by a gap in proportion to its own length (`trial::Cycle`).
    let rate = maximum.scaled(load_percent / 100.0);
    let label = format!("{test}, {} bytes: {kind} at {load_percent} %", rack.size);
    let not_tested = |why: String| ErroredTrial {
        kind,
        load_percent,
        errored: (0, 0),
        good: (0, 0),
        outcome: ErroredOutcome::NotTested { why },
    };
    if kind == ErroredKind::Undersize && !rack.described(0).line_rate_is_physical {
        let why = "a virtual link has no smallest frame";
        return Ok(not_tested(why.into()));
    }
    let ran = rack.run(bench, test, &label, rate, &|draft| {
        draft.learn_all(rack);
        let good = rack.frames(0, Some(1), (draft.key(), draft.next_id()))?;
        let good = draft.stream(rack, 0, &[1], good);
        let errored = vec![plain(draft, rack, bad)];
        let errored = draft.stream(rack, 0, &[], errored);
        if kind == ErroredKind::CrcError {
            draft.with_bad_fcs();
        }
        draft.as_modifier();
        draft.send(0, Schedule::constant(rate, duration), vec![good, errored]);
        Ok(())
    });
    match ran {
        Ok(ran) => {
            let why = shortfall_words(&ran);
            let counted = counted(kind, load_percent, &ran);
            if why.is_empty() {
                return Ok(counted);
            }
            invalid.extend(why.clone());
            Ok(ErroredTrial {
                outcome: ErroredOutcome::NotTested { why: why.join("; ") },
                ..counted
            })
        }
        Err(RunError::Tester(error @ TesterError::Unsupported { .. })) => {
            Ok(not_tested(error.to_string()))
        }
        Err(error) => Err(error),
    }
}

/// A signed frame without network layer, of any size.
fn plain(draft: &Draft, rack: &TestSetup<'_>, size: FrameSize) -> StreamFrame {
    let (src, dst) = (rack.port(0).mac, rack.port(1).mac);
    let ether_type = EtherType::EXPERIMENTAL;
    let mut bytes = rack.traffic.tagged(ethernet::Repr { dst, src, ether_type }.frame(&[]));
    bytes.resize(size.bytes() as usize - 4, 0);
    let form = Form::Full;
    let stamp =
        wire::signature::Stamp { stream: draft.next_id().0, sequence: 0, transmit_ticks: 0 };
    wire::signature::write(form, draft.key(), stamp, &mut bytes);
    StreamFrame { bytes, form: Some(form) }
}

fn counted(kind: ErroredKind, load_percent: f64, ran: &Ran) -> ErroredTrial {
    let result = &ran.result;
    let [good, errored] = &result.streams[..] else { unreachable!("two streams were sent") };
    // Those whose FCS is still bad are no frames to the receiver, and counted by its port.
    let bad_fcs: u64 = result.counters.iter().filter_map(|port| port.bad_fcs).sum();
    let forwarded = errored.misdirected + bad_fcs;
    let may_forward = matches!(kind, ErroredKind::Oversize | ErroredKind::Giant);
    let outcome = match forwarded {
        0 => ErroredOutcome::Passed,
        _ if may_forward => ErroredOutcome::Allowed,
        _ => ErroredOutcome::Failed,
    };
    ErroredTrial {
        kind,
        load_percent,
        errored: (errored.sent, forwarded),
        good: (good.sent, good.received),
        outcome,
    }
}
