//! Raw rate: what comes out of the device when the tester sends with its shortest gap ("find out
//! impact of max rate input data rate", router tests of 1990). The tables call it flood.

use super::{Setting, Sources};
use crate::bench::{Bench, Request, flooding, measured};
use crate::subject::Subject;
use crate::traffic::TrialShape;
use crate::{Conditions, RunError};
use serde::{Deserialize, Serialize};
use trial::{StreamResult, TrialResult};
use units::{Duration, FrameRate};

/// The result for one frame size.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RawRateResult {
    /// Where it belongs in the tables.
    pub setting: Setting,
    /// Under which conditions.
    pub conditions: Conditions,
    /// Each stream; empty where the trial was invalid.
    pub streams: Vec<RawStream>,
    /// Why it does not count; empty where it does.
    pub invalid: Vec<String>,
}

/// One stream of it.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct RawStream {
    /// Frames a second that were offered ([`trial::PortSent::offered_rate`]).
    pub offered: FrameRate,
    /// Frames a second that came out while they were: offered x received / sent.
    pub forwarded: FrameRate,
    /// Frames that were sent.
    pub sent_frames: u64,
    /// Frames that came out.
    pub received_frames: u64,
}

/// Sends with the shortest gap of every source, and counts what comes out.
pub fn raw_rate(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    sources: &Sources,
    setting: Setting,
) -> Result<RawRateResult, RunError> {
    let test =
        if setting.streams > 1 { crate::TestKind::DualStream } else { crate::TestKind::RawRate };
    let duration = Duration::from_secs_f64(subject.config.harvard.raw_rate_stream_s);
    if let Some(why) = sources.starved() {
        let conditions = subject.conditions();
        return Ok(RawRateResult { setting, conditions, streams: vec![], invalid: vec![why] });
    }
    let rate = sources.slowest();
    let label = format!("{test}, {}: {rate:.1} for {duration}", subject.size_in_words());
    let request = Request {
        test,
        traffic: subject.traffic,
        shape: TrialShape { label, ..sources.flood(subject, duration) },
        intended: rate,
        bounds: None,
        judge: &measured,
    };
    let ran = bench.run_changed(request, &|trial| Ok(flooding(trial)))?;
    let invalid = ran.invalid_reasons();
    let streams = ran.result.streams.iter().filter_map(|stream| raw_stream(stream, &ran.result));
    Ok(RawRateResult {
        setting,
        conditions: subject.conditions(),
        streams: if invalid.is_empty() { streams.collect() } else { vec![] },
        invalid,
    })
}

fn raw_stream(stream: &StreamResult, result: &TrialResult) -> Option<RawStream> {
    let sent = result.sent.iter().find(|sent| sent.report.port == stream.from)?;
    let offered = sent.offered_rate()?;
    let share = stream.received as f64 / stream.sent.max(1) as f64;
    Some(RawStream {
        offered,
        forwarded: offered.scaled(share),
        sent_frames: stream.sent,
        received_frames: stream.received,
    })
}
