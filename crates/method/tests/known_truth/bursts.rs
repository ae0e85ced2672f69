//! RFC 2544 section 21: bursts at the minimum gap, and the shortest gap between them without loss.

use super::bed::config;
use method::rfc2544::{FrameLossResult, ThroughputResult};
use method::{
    Attachment, Event, Finding, Forwarding, RunError, SearchPolicy, Suite, SuiteConfig, TestKind,
    Topology,
};
use serde::de::DeserializeOwned;
use sim::{Addresses, Description};
use std::collections::BTreeMap;
use trial::PortId;

/// 64-byte frames come at 297,619 a second at most; 100,000 leave, and 40 wait.
const ROUTER: &str = "line-rate = \"200M\"\nroute = [\"ipv4\"]\n[input]\nframes = 40\n\
                      [cpu]\ncost = { per-frame = \"10us\" }\n";
const MEDIUM_FPS: f64 = 200e6 / (84.0 * 8.0);
const CAPACITY_FPS: f64 = 100_000.0;

fn with_bursts(burst_frames: u64, test: TestKind) -> SuiteConfig {
    let mut config = SuiteConfig { burst_frames, tests: vec![test], ..config() };
    config.search.policy = SearchPolicy::Tst009;
    config.search.lowest_load_percent = 1.0;
    config
}

fn run(config: SuiteConfig) -> Result<Vec<Event>, RunError> {
    let device = Description::from_toml(ROUTER).unwrap();
    let mut tester = device.tester(&Addresses::plan(2)).unwrap();
    let ports = [0, 1].map(|port| Attachment::plan(PortId(port))).to_vec();
    let suite = Suite {
        program: "test".into(),
        device: "a router with a queue".into(),
        environment: BTreeMap::new(),
        config,
        topology: Topology::of(Forwarding::Routed, ports),
        self_test: None,
        more: &[],
    };
    let mut events = vec![];
    suite.run(&mut tester, None, &mut events).map(|_| events)
}

fn result<T: DeserializeOwned>(config: SuiteConfig) -> T {
    let detail = |event| match event {
        Event::TestFinished(outcome) => Some(outcome.detail),
        _ => None,
    };
    let detail = run(config).unwrap().into_iter().find_map(detail).unwrap();
    serde_json::from_value(detail).unwrap()
}

/// Of a burst of 16, 5 are forwarded while it comes in, and the others wait: what counts is that the queue
/// empties before the next one. The gap is then 16 / 100,000 s less the burst's 16 / 297,619 s, and 96
/// bits of the minimum gap.
#[test]
fn the_shortest_gap_is_the_one_in_which_the_queue_empties() {
    let found: ThroughputResult = result(with_bursts(16, TestKind::Throughput));
    let gap = found.inter_burst_gap.unwrap();
    let truth_ns = (16.0 / CAPACITY_FPS - 16.0 / MEDIUM_FPS) * 1e9 + 96.0 / 0.2;
    assert!((truth_ns - 106_720.0).abs() < 1.0, "{truth_ns}");
    let shortest = gap.shortest.as_ns_f64();
    let too_short = gap.too_short.unwrap().as_ns_f64();
    assert!(too_short <= truth_ns * 1.001 && truth_ns * 0.98 <= shortest, "{gap:?}");
    assert!(shortest - too_short < 0.05 * shortest, "{gap:?}");
    let name = "shortest inter-burst gap without loss";
    let outcome = found.outcome();
    let figure = outcome.figures.iter().find(|figure| figure.name == name).unwrap();
    assert_eq!(figure.bounds(), (too_short, shortest));
    assert!(outcome.conditions.traffic.contains("bursts of 16 frames at the minimum gap"));
}

/// 64 frames in a row are more than 40 that wait and 21 that leave meanwhile: no gap is long enough.
#[test]
fn a_burst_that_overflows_the_queue_is_lost_at_any_gap() {
    let found: ThroughputResult = result(with_bursts(64, TestKind::Throughput));
    assert!(matches!(found.throughput.finding, Finding::NothingPassed { .. }), "{found:?}");
    assert_eq!(found.inter_burst_gap, None);
}

/// At a load far below the capacity the same two or three frames of each 64 are lost.
#[test]
fn loss_with_bursts_does_not_end_with_the_load() {
    let found: FrameLossResult = result(with_bursts(64, TestKind::FrameLoss));
    let least = found.points.last().unwrap();
    assert_eq!(least.percent_of_maximum, 10.0);
    let per_burst = least.loss_percent / 100.0 * 64.0;
    assert!((1.0..=4.0).contains(&per_burst), "{least:?}");
    assert_eq!(least.expected_frames % 64, 0);
}

#[test]
fn what_has_no_bursts_is_refused() {
    let refusal = |config: SuiteConfig| run(config).unwrap_err().to_string();
    let with = |change: fn(&mut SuiteConfig)| {
        let mut config = with_bursts(16, TestKind::Throughput);
        change(&mut config);
        config
    };
    assert!(refusal(with(|c| c.tests.push(TestKind::BackToBack))).contains("back-to-back frames"));
    assert!(
        refusal(with(|c| c.search.policy = SearchPolicy::Adaptive)).contains("--search tst009")
    );
    assert!(refusal(with(|c| c.burst_frames = 0)).contains("1 to 65536"));
    let mix = |c: &mut SuiteConfig| c.frame_sizes = vec!["imix".to_string().try_into().unwrap()];
    assert!(refusal(with(mix)).contains("one size"));
}
