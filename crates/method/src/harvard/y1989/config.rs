//! The numbers of the tests of 1989.

use super::Test1989;
use crate::Protocol;
use serde::{Deserialize, Serialize};
use traffic::size::SizePattern;

/// The numbers of the tests of 1989; the defaults are those of the campaign where it tells them.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Harvard1989Config {
    /// Which tests.
    pub tests: Vec<Test1989>,
    /// How long the idle device is listened to ("Count packets for 10 sec"), in seconds.
    pub idle_s: f64,
    /// From frame to frame of the stream whose delay is taken, in seconds.
    pub delay_gap_s: f64,
    /// How long that stream is, in seconds.
    pub delay_stream_s: f64,
    /// A delay that varies by so much hurts round trip estimates, in milliseconds. (The campaign
    /// saw 100.)
    pub delay_varies_ms: f64,
    /// Length of a stream whose rate is searched for, or measured, in seconds.
    pub rate_stream_s: f64,
    /// One step of the gap between frames, in nanoseconds; left out for the search's resolution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap_step_ns: Option<f64>,
    /// From the start of a burst to the start of the next, in milliseconds. The campaign's source
    /// sent its bursts so often; a longer time lets the device recover from each.
    pub burst_period_ms: f64,
    /// Bursts of a trial.
    pub bursts: u64,
    /// Lengths of packet filter lists to test the max rate with.
    pub filters: Vec<u64>,
    /// Routes that are fed by RIP before the max rate is taken.
    pub routes: u64,
    /// Largest tables that are tried: routes, hosts, filters.
    pub table_limit: u64,
    /// Frames a second in the tests of tables; never more than half the max rate.
    pub table_fps: u64,
    /// Frames of a test with errors.
    pub error_frames: u64,
    /// How many of them a second.
    pub error_fps: u64,
    /// Sizes in bytes with FCS: CRC error, runt, giant.
    pub error_sizes: [u32; 3],
    /// Echo requests a second in the test of management.
    pub echo_fps: u64,
    /// Frame lengths of the traffic mix.
    pub mix: SizePattern,
    /// What is sent in turn in the test of mixed protocols; those that the device does not
    /// forward are named and left out.
    pub protocols: Vec<Protocol>,
    /// Datagrams in an NFS-like burst, of 8 KiB each.
    pub nfs_datagrams: u16,
}

impl Default for Harvard1989Config {
    fn default() -> Self {
        Harvard1989Config {
            tests: Test1989::ALL.to_vec(),
            idle_s: 10.0,
            delay_gap_s: 0.01,
            delay_stream_s: 5.0,
            delay_varies_ms: 10.0,
            rate_stream_s: 10.0,
            gap_step_ns: None,
            burst_period_ms: 100.0,
            bursts: 20,
            filters: vec![1, 10],
            routes: 200,
            table_limit: 4_096,
            table_fps: 200,
            error_frames: 100,
            error_fps: 50,
            error_sizes: [64, 55, 1_600],
            echo_fps: 10,
            mix: "imix".parse().expect("a name that is known"),
            protocols: vec![
                Protocol::UdpIpv4,
                Protocol::Decnet,
                Protocol::Appletalk,
                Protocol::IpxRaw,
            ],
            nfs_datagrams: 4,
        }
    }
}

impl Harvard1989Config {
    /// Short streams, for a first look.
    pub(crate) fn quick() -> Self {
        Harvard1989Config {
            idle_s: 2.0,
            delay_gap_s: 0.005,
            delay_stream_s: 1.0,
            rate_stream_s: 0.4,
            burst_period_ms: 50.0,
            bursts: 4,
            table_limit: 512,
            table_fps: 1_000,
            error_fps: 200,
            ..Harvard1989Config::default()
        }
    }
}
