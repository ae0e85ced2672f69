//! What the tests of 1989 take by virtual time, one frame size each, reckoned from their trials.

use super::Test1989;
use super::routes::ROUTES_SETTLE;
use super::scene::{QUIET, QUIET_FRAMES, RESIDUAL, TOLD_EVERY};
use crate::estimate::{steps, waits};
use crate::traffic::{Forwarding, Topology};
use crate::{Protocol, SuiteConfig};
use traffic::size::SizePattern;
use units::Duration;
use wire::rip;

/// A device is taken to carry so large a part of what the tester offers: a search by steps of the gap takes as many
/// trials for a part half as large as for two steps more.
const CARRIES: f64 = 1.0 / 3.0;
/// Frames a second of a burst: only their logarithm matters.
const BURST_FPS: f64 = 1e6;
/// Loads of the raw rate, most of which lie below what a tester can offer.
const RAW_LOADS: f64 = 5.0;
/// Loads at which the device is asked whether it still answers.
const MANAGEMENT_LOADS: f64 = 5.0;
/// Trials with which a tester that has not measured itself finds what it can offer, and their length in seconds.
const FIND: f64 = 2.0;
const FIND_S: f64 = 0.5;
/// The hosts of a network, with prefixes of 24 bits.
const HOSTS: f64 = 253.0;
/// Trials that halve the sizes between the smallest and the largest, of which half of the devices need none.
const SIZES_HALVED: f64 = 5.0;

/// Of a test with one frame size.
pub(crate) fn foretold(config: &SuiteConfig, test: Test1989) -> Duration {
    Duration::from_secs_f64(Trials { config, waits_s: waits(config) }.seconds(test))
}

/// What the tester needs to find out what it can offer, before the first test of a frame size.
pub(crate) fn foretold_of_reach(config: &SuiteConfig) -> Duration {
    Duration::from_secs_f64(Trials { config, waits_s: waits(config) }.find())
}

/// Whether the test can be made at all: a bridge has no routes.
pub(crate) fn is_made(config: &SuiteConfig, topology: &Topology, test: Test1989) -> bool {
    let has_routes = topology.forwarding == Forwarding::Routed;
    !test.needs_routes() || has_routes && config.traffic.protocol == Protocol::UdpIpv4
}

struct Trials<'c> {
    config: &'c SuiteConfig,
    /// Before and after each.
    waits_s: f64,
}

impl Trials<'_> {
    fn seconds(&self, test: Test1989) -> f64 {
        let own = &self.config.harvard_1989;
        let (stream, alive) = (self.of(own.rate_stream_s), self.of(alive_s()));
        let limit = own.table_limit.max(1) as f64;
        match test {
            Test1989::IdleState => self.of(own.idle_s),
            Test1989::Delay => self.of(own.delay_stream_s),
            Test1989::MaxRate => self.search(0.0),
            Test1989::RawRate => RAW_LOADS * stream,
            Test1989::Overload25 | Test1989::Flood | Test1989::Counters => stream + alive,
            Test1989::BackToBack => {
                let longest = BURST_FPS * own.burst_period_ms / 1e3;
                steps(longest) * self.of(own.burst_period_ms / 1e3 * own.bursts as f64)
            }
            Test1989::LengthMix => self.find() + self.search(0.0),
            Test1989::MixedProtocols => own.protocols.len() as f64 * alive + stream,
            Test1989::Filtering => own.filters.len() as f64 * self.search(0.0),
            Test1989::ManyRoutes => {
                let told = routes_s(own.routes as f64);
                let reached = told + own.routes as f64 / own.table_fps.max(1) as f64;
                2.0 * self.of(reached) + self.search(told)
            }
            Test1989::RoutingTable => self.table(limit, &routes_s),
            Test1989::ArpCache => {
                self.table(limit.min(HOSTS), &|hosts| hosts * TOLD_EVERY.as_secs_f64())
            }
            Test1989::FilterList => steps(limit) * self.of(0.0),
            Test1989::Management => MANAGEMENT_LOADS * stream,
            Test1989::ArpStorm | Test1989::BroadcastStorm | Test1989::RoutingUpdates => {
                2.0 * stream + alive
            }
            Test1989::NfsBursts => self.of(own.burst_period_ms / 1e3 * own.bursts as f64),
            Test1989::FloodedSizes => {
                let is_fixed = |size: &&SizePattern| matches!(size, SizePattern::Fixed(_));
                let sizes = self.config.frame_sizes.iter().filter(is_fixed).count() as f64;
                (sizes + SIZES_HALVED) * (self.find() + stream)
            }
            // What comes out of frames with errors is waited for.
            Test1989::CrcErrors | Test1989::Giants | Test1989::Runts => {
                let frames = own.error_frames as f64 / own.error_fps.max(1) as f64;
                2.0 * alive + self.of(frames + RESIDUAL.as_secs_f64())
            }
        }
    }

    /// A trial that sends, or speaks to the device, for so long.
    fn of(&self, seconds: f64) -> f64 {
        seconds + self.waits_s
    }

    fn find(&self) -> f64 {
        FIND * self.of(FIND_S)
    }

    /// A search by steps of the gap, with so long a prelude of each trial: strides double up to the gap, and halve
    /// on the way back.
    fn search(&self, prelude_s: f64) -> f64 {
        let own = &self.config.harvard_1989;
        let step = match own.gap_step_ns {
            Some(gap_ns) => gap_ns / 1e9 * BURST_FPS,
            None => self.config.search.resolution_percent / 100.0,
        };
        2.0 * steps((1.0 / CARRIES - 1.0) / step) * self.of(prelude_s + own.rate_stream_s)
    }

    /// Tables that double up to the limit, each told to the device in some seconds, and then a frame to each entry.
    fn table(&self, limit: f64, told_s: &dyn Fn(f64) -> f64) -> f64 {
        let fps = self.config.harvard_1989.table_fps.max(1) as f64;
        let doubled = (0..steps(limit) as i32).map(|at| limit / 2f64.powi(at));
        doubled.map(|entries| self.of(told_s(entries) + entries / fps)).sum()
    }
}

/// A trial that looks whether the device forwards at all.
fn alive_s() -> f64 {
    QUIET_FRAMES as f64 / QUIET.fps()
}

/// To announce so many routes.
fn routes_s(routes: f64) -> f64 {
    let updates = (routes / rip::MAX_ENTRIES as f64).ceil();
    updates * TOLD_EVERY.as_secs_f64() + ROUTES_SETTLE.as_secs_f64()
}
