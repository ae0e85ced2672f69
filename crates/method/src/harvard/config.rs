//! The numbers of the Harvard tests.

use serde::{Deserialize, Serialize};

/// The numbers of the Harvard tests; the defaults are those of 1990.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HarvardConfig {
    /// Length of a stream with the shortest gap ("about 30 sec of data stream"), in seconds.
    pub raw_rate_stream_s: f64,
    /// Length of a stream whose gap is searched for ("about 20 sec"), in seconds.
    pub max_rate_stream_s: f64,
    /// One step of the gap between frames, in nanoseconds. The test of 1990 took steps of "1"
    /// without saying of what; this is a bit at 10 Mb/s.
    pub gap_step_ns: f64,
    /// Length of the stream whose delay is taken, in seconds.
    pub delay_stream_s: f64,
    /// From frame to frame in it ("a large ifg"), in seconds.
    pub delay_gap_s: f64,
}

impl Default for HarvardConfig {
    fn default() -> Self {
        HarvardConfig {
            raw_rate_stream_s: 30.0,
            max_rate_stream_s: 20.0,
            gap_step_ns: 100.0,
            delay_stream_s: 2.0,
            delay_gap_s: 0.02,
        }
    }
}

impl HarvardConfig {
    /// Short streams, for a first look.
    pub(crate) fn quick() -> Self {
        HarvardConfig {
            raw_rate_stream_s: 0.5,
            max_rate_stream_s: 0.4,
            delay_stream_s: 0.4,
            ..HarvardConfig::default()
        }
    }
}
