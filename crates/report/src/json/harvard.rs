//! The Harvard tests in `results.json`.

use super::results::{Conditions, Rate};
use method::TestKind;
use method::harvard::{HarvardResult, Mode, Path, RawStream};
use serde::Serialize;
use units::Duration;

#[derive(Serialize)]
pub(super) struct Harvard<'a> {
    test: TestKind,
    mode: Mode,
    path: Path,
    streams: usize,
    /// Columns of the tables of 1990 that it fills.
    columns: Vec<String>,
    #[serde(flatten)]
    conditions: Conditions<'a>,
    /// Of a max rate test.
    max_rate: Option<Rate<'a>>,
    /// Of a raw rate test, stream by stream.
    raw_rate: Vec<Stream>,
    /// Of a delay test: smallest, median and largest.
    delay_ps: Option<[u64; 3]>,
    lost_frames: Option<u64>,
    invalid_reasons: &'a [String],
}

#[derive(Serialize)]
struct Stream {
    offered_fps: f64,
    forwarded_fps: f64,
    sent_frames: u64,
    received_frames: u64,
}

impl<'a> From<&'a HarvardResult> for Harvard<'a> {
    fn from(result: &'a HarvardResult) -> Self {
        let setting = result.setting();
        let empty = Harvard {
            test: result.kind(),
            mode: setting.mode,
            path: setting.path,
            streams: setting.streams,
            columns: vec![],
            conditions: result.conditions().into(),
            max_rate: None,
            raw_rate: vec![],
            delay_ps: None,
            lost_frames: None,
            invalid_reasons: &[],
        };
        match result {
            HarvardResult::MaxRate(result) => Harvard {
                columns: vec![setting.column("max", 0)],
                max_rate: Some((&result.found).into()),
                ..empty
            },
            HarvardResult::RawRate(result) => Harvard {
                columns: (0..setting.streams).map(|n| setting.column("fld", n)).collect(),
                raw_rate: result.streams.iter().map(Stream::from).collect(),
                invalid_reasons: &result.invalid,
                ..empty
            },
            HarvardResult::Delay(result) => Harvard {
                delay_ps: result.delay().map(|times| times.map(Duration::as_ps)),
                lost_frames: Some(result.lost_frames),
                invalid_reasons: &result.invalid,
                ..empty
            },
        }
    }
}

impl From<&RawStream> for Stream {
    fn from(stream: &RawStream) -> Self {
        Stream {
            offered_fps: stream.offered.fps(),
            forwarded_fps: stream.forwarded.fps(),
            sent_frames: stream.sent_frames,
            received_frames: stream.received_frames,
        }
    }
}
