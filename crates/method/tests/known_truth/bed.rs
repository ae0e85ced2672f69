//! What the tests share: addresses, a configuration of short trials, and a bench.

use method::rfc2544::ThroughputResult;
use method::{
    Attachment, Bench, Direction, Event, Forwarding, LegacyAddresses, Modifier, Outcome, Profile,
    RunError, Subject, Suite, SuiteConfig, Topology, Traffic, clauses,
};
use sim::{DeviceUnderTest, SimPort, SimTester};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use traffic::size::SizePattern;
use trial::{InvalidReason, PortId, Tester, TesterError, Trial, TrialResult, Validity};
use units::{FrameSize, LineRate};
use wire::ethernet::MacAddr;

pub const GIGABIT: SimPort = SimPort::physical(LineRate::from_gbps(1));
pub const VIRTUAL: SimPort = SimPort::nominal(LineRate::from_mbps(100));

pub fn topology(forwarding: Forwarding) -> Topology {
    let attachment = |index: u8| Attachment {
        port: PortId(index.into()),
        mac: MacAddr([2, 0, 0, 0, index, 2]),
        host_ipv4: Ipv4Addr::new(198, 18 + index, 1, 2),
        host_ipv6: Ipv6Addr::new(0x2001, 2, 0, 0x8000 * u16::from(index), 0, 0, 0, 2),
        device_mac: MacAddr([2, 0, 0, 0, index, 1]),
        device_ipv4: Ipv4Addr::new(198, 18 + index, 1, 1),
        device_ipv6: Ipv6Addr::new(0x2001, 2, 0, 0x8000 * u16::from(index), 0, 0, 0, 1),
        network_hosts_ipv4: (0..=255).map(|n| Ipv4Addr::new(198, 18 + index, n, 129)).collect(),
        network_hosts_ipv6: (0..256)
            .map(|n| {
                Ipv6Addr::new(0x2001, 2, 0, 0x4000 + 0x8000 * u16::from(index) + n, 0, 0, 0, 1)
            })
            .collect(),
        network_prefix_ipv4: 25,
        prefix_hosts_ipv6: [48, 126, 128].map(|length| (length, hosts_of(index, length))).into(),
        legacy: LegacyAddresses::plan(PortId(index.into())),
    };
    Topology::of(forwarding, vec![attachment(0), attachment(1)])
}

/// The second host of 256 networks behind a port, at prefixes that tell their length in the fourth hextet;
/// a /128 is its one host.
pub fn hosts_of(index: u8, length: u8) -> Vec<Ipv6Addr> {
    let side = u16::from(index) << 8;
    let host = |n: u16| match length {
        48 => Ipv6Addr::new(0x2001, 0xdb8, side | n, 0, 0, 0, 0, 2),
        126 => Ipv6Addr::new(0x2001, 2, 0, 0x126, side, 0, 0, 4 * n + 2),
        _ => Ipv6Addr::new(0x2001, 2, 0, 0x128, side, 0, 0, n),
    };
    (0..256).map(host).collect()
}

/// Trials of a second, waits of little.
pub fn config() -> SuiteConfig {
    let mut config = SuiteConfig::of(Profile::Quick);
    config.frame_sizes = vec![size(64)];
    config.trial.duration_s = 1.0;
    config.trial.drain_s = 0.5;
    config.trial.limits = trial::ValidityLimits::default();
    config.trial.learning_wait_s = 0.1;
    config.search.trial_duration_s = 1.0;
    config.search.resolution_percent = 1.0;
    config.search.lowest_load_percent = 0.1;
    config.throughput.loss_tolerances_percent = vec![];
    config
}

/// A run of this configuration on two ports.
pub fn suite(config: SuiteConfig, forwarding: Forwarding) -> Suite {
    Suite {
        program: "test".into(),
        device: "a simulated device".into(),
        environment: BTreeMap::new(),
        config,
        topology: topology(forwarding),
        self_test: None,
        more: &[],
    }
}

pub fn size(bytes: u32) -> SizePattern {
    SizePattern::Fixed(FrameSize::from_bytes(bytes))
}

/// Runs `work` for one size of `config` on `tester`, with the events in order.
pub fn run<R>(
    config: &SuiteConfig,
    tester: &mut dyn Tester,
    work: impl FnOnce(&mut Bench<'_>, &Subject<'_>) -> Result<R, RunError>,
) -> (R, Vec<Event>) {
    let topology = topology(Forwarding::Routed);
    let size = &config.frame_sizes[0];
    let traffic = Traffic::new(config, &topology, size, config.modifiers[0]).unwrap();
    let description = tester.describe().clone();
    let subject = Subject::new(config, &traffic, &description, None).unwrap();
    let mut events = vec![];
    let mut bench = Bench::new(tester, &mut events, config.trial.invalid_retries, config.run_key());
    let result = work(&mut bench, &subject).unwrap();
    (result, events)
}

/// Throughput of a simulated device.
pub fn throughput_of(
    config: &SuiteConfig,
    ports: [SimPort; 2],
    device: impl DeviceUnderTest,
) -> ThroughputResult {
    run(config, &mut SimTester::new(&ports, device), method::rfc2544::throughput).0
}

/// What the tests of a run came to.
pub fn outcomes(events: &[Event]) -> Vec<Outcome> {
    let outcome = |event: &Event| match event {
        Event::TestFinished(outcome) => Some((**outcome).clone()),
        _ => None,
    };
    events.iter().filter_map(outcome).collect()
}

/// Where an outcome that was not judged yet departs from its documents.
pub fn departures(config: &SuiteConfig, outcome: &Outcome) -> Vec<String> {
    let basis = clauses::Basis {
        test: outcome.test,
        config,
        sizes: &config.frame_sizes,
        destinations: config.traffic.destinations,
        topology: &topology(Forwarding::Routed),
        facts: &outcome.facts,
    };
    clauses::judge(&basis).iter().filter_map(clauses::Judged::departure).collect()
}

pub fn bidirectional(mut config: SuiteConfig) -> SuiteConfig {
    config.direction = Direction::Bidirectional;
    config
}

pub fn with_modifier(mut config: SuiteConfig, modifier: Modifier) -> SuiteConfig {
    config.modifiers = vec![modifier];
    config
}

/// Runs a trial whose sources offer only these shares of what they are asked for, in the order of the loads; the last
/// one holds for all that follow.
pub fn run_held_up(
    tester: &mut dyn Tester,
    trial: &Trial,
    shares: &[f64],
) -> Result<TrialResult, TesterError> {
    let share = |at: usize| shares[at.min(shares.len() - 1)];
    let mut slower = trial.clone();
    for (at, load) in slower.loads.iter_mut().enumerate() {
        for segment in &mut load.schedule.segments {
            segment.rate = segment.rate.scaled(share(at));
        }
    }
    let mut result = tester.run(&slower)?;
    let mut reasons = result.invalid_reasons().to_vec();
    for sent in &mut result.sent {
        let port = sent.report.port;
        let at = trial.loads.iter().position(|load| load.port == port).expect("a load of it");
        let offered = sent.intended_rate;
        let intended = offered.scaled(1.0 / share(at));
        sent.intended_rate = intended;
        if trial.limits.shortfall < 1.0 - share(at) {
            reasons.push(InvalidReason::Shortfall { port, intended, offered, unsent_frames: 0 });
        }
    }
    if !reasons.is_empty() {
        result.validity = Validity::Invalid(reasons);
    }
    Ok(result)
}
