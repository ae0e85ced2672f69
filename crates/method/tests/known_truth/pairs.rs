//! Several pairs of ports at once, and RFC 2544 section 16: what each port carries, and all together.

use super::bed::config;
use method::rfc2544::{
    BackToBackResult, FrameLossResult, LatencyResult, RecoveryResult, ResetResult, ThroughputResult,
};
use method::{
    Attachment, Direction, Event, Finding, Forwarding, Modifier, Outcome, Pattern, RunError,
    SearchPolicy, Suite, SuiteConfig, TestKind, Topology,
};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::de::DeserializeOwned;
use sim::{Addresses, Description, DeviceUnderTest, SimTester};
use std::collections::BTreeMap;
use trial::{PortId, Tester};
use units::{Duration, FrameRate};

type Simulated = SimTester<Box<dyn DeviceUnderTest>>;

/// 10 us a frame and processor: 100,000 frames a second.
const PER_PORT: &str = "cpu = { servers = \"per-port\", cost = { per-frame = \"10us\" } }\n";
const SHARED: &str = "cpu = { cost = { per-frame = \"10us\" } }\n";

fn device(ports: usize, more: &str) -> Description {
    let text =
        format!("ports = {ports}\nline-rate = \"200M\"\nroute = [\"ipv4\", \"ipv6\"]\n{more}");
    Description::from_toml(&text).unwrap()
}

fn tester(device: &Description) -> Simulated {
    device.tester(&Addresses::plan(device.ports)).unwrap()
}

fn suite(config: SuiteConfig, forwarding: Forwarding, ports: usize) -> Suite {
    let attach = |port| Attachment::plan(PortId(port));
    Suite {
        program: "test".into(),
        device: "a simulated device of many ports".into(),
        environment: BTreeMap::new(),
        config,
        topology: Topology::of(forwarding, (0..ports as u16).map(attach).collect()),
        self_test: None,
        more: &[],
    }
}

fn short(pattern: Pattern, test: TestKind) -> SuiteConfig {
    let mut config = SuiteConfig { pattern, tests: vec![test], ..config() };
    config.trial.duration_s = 0.1;
    config.search.trial_duration_s = 0.1;
    config.trial.drain_s = 0.05;
    config.search.lowest_load_percent = 0.5;
    config
}

/// All events of a run that is not stopped.
fn events_of(suite: &Suite, device: &Description) -> Vec<Event> {
    let mut events = vec![];
    suite.run(&mut tester(device), None, &mut events).unwrap();
    events
}

fn results(config: SuiteConfig, device: &Description) -> Vec<Outcome> {
    let routes = !device.route.is_empty();
    let forwarding = if routes { Forwarding::Routed } else { Forwarding::Bridged };
    let events = events_of(&suite(config, forwarding, device.ports), device);
    let result = |event| match event {
        Event::TestFinished(result) => Some(*result),
        _ => None,
    };
    events.into_iter().filter_map(result).collect()
}

fn of<T: DeserializeOwned>(outcome: Outcome) -> T {
    serde_json::from_value(outcome.detail).unwrap()
}

fn throughput(config: SuiteConfig, device: &Description) -> ThroughputResult {
    of(results(config, device).remove(0))
}

fn loss(config: SuiteConfig, device: &Description) -> FrameLossResult {
    let mut results = results(config, device).into_iter();
    of(results.find(|outcome| outcome.test == TestKind::FrameLoss).unwrap())
}

/// That what each port carries, and all of them together, lie around the truth.
fn holds(result: &ThroughputResult, each: f64, ports: usize) {
    let near = |low: f64, high: f64, truth: f64| low <= truth * 1.005 && truth * 0.98 <= high;
    let (rate, upper) = (result.throughput.rate.unwrap(), result.throughput.upper);
    let upper = upper.unwrap_or(rate).fps();
    assert!(near(rate.fps(), upper, each), "{} to {upper}, not {each}", rate.fps());
    let figures = result.outcome().figures;
    let name = format!("aggregate throughput of {ports} transmitting ports");
    let all = figures.iter().find(|figure| figure.name == name).expect("an aggregate");
    let (low, high) = all.bounds();
    assert!(near(low, high, each * ports as f64), "{low} to {high}, not {ports} x {each}");
    assert_eq!(result.conditions.transmitting_ports, ports);
}

/// Each port has a processor of its own: pairs do not disturb each other.
#[test]
fn ports_that_share_nothing_carry_as_much_together_as_alone() {
    let device = device(4, PER_PORT);
    for (pattern, direction, ports) in [
        (Pattern::Pairs, Direction::Unidirectional, 2),
        (Pattern::Pairs, Direction::Bidirectional, 4),
        (Pattern::MultiPort, Direction::Unidirectional, 2),
        (Pattern::MultiPort, Direction::Bidirectional, 4),
    ] {
        let config = SuiteConfig { direction, ..short(pattern, TestKind::Throughput) };
        holds(&throughput(config, &device), 100_000.0, ports);
    }
}

/// One processor for all ports: each pair has its share of it.
#[test]
fn ports_that_share_a_processor_carry_no_more_together_than_one_alone() {
    let alone = throughput(short(Pattern::Pair, TestKind::Throughput), &device(8, SHARED));
    assert!((98_000.0..=100_500.0).contains(&alone.throughput.rate.unwrap().fps()));
    assert!(!alone.outcome().figures.iter().any(|figure| figure.name.contains("aggregate")));
    for (pattern, direction, ports) in [
        (Pattern::Pairs, Direction::Unidirectional, 4),
        (Pattern::Pairs, Direction::Bidirectional, 8),
        (Pattern::MultiPort, Direction::Unidirectional, 4),
        (Pattern::MultiPort, Direction::Bidirectional, 8),
    ] {
        let mut config = SuiteConfig { direction, ..short(pattern, TestKind::Throughput) };
        config.search.policy = SearchPolicy::Bisect;
        // A burst of 8 frames that arrive at once waits in turn.
        let device = device(8, &format!("input = {{ frames = 8 }}\n{SHARED}"));
        holds(&throughput(config, &device), 100_000.0 / ports as f64, ports);
    }
}

/// One policer for all ports. Above its rate it does not share it out evenly, so that what each pair has there tells
/// nothing of a load that it keeps up: each pair has its share of that.
#[test]
fn tokens_that_pairs_share_are_not_taken_for_throughput() {
    const POLICED_FPS: u64 = 20_000;
    let patterns = [
        (Pattern::Pairs, Direction::Unidirectional, 2),
        (Pattern::Pairs, Direction::Bidirectional, 4),
        (Pattern::MultiPort, Direction::Unidirectional, 2),
    ];
    for (burst_frames, (pattern, direction, ports)) in
        [20, 200, 700, 1_500].into_iter().flat_map(|burst| patterns.map(|it| (burst, it)))
    {
        let policer = format!(
            "[impair]\npolice-frames-per-second = {POLICED_FPS}\npolice-burst-frames = {burst_frames}\n"
        );
        let config = SuiteConfig { direction, ..short(pattern, TestKind::Throughput) };
        let result = throughput(config, &device(4, &policer));
        let found = &result.throughput;
        let case = format!("{burst_frames} {pattern:?} {direction:?}: {found:?}");
        let each = POLICED_FPS as f64 / f64::from(ports);
        let (rate, upper) = (found.rate.expect(&case), found.upper.expect(&case));
        assert!(rate.fps() <= each * 1.005 && each * 0.98 <= upper.fps(), "{case}");
        assert!(found.finding == Finding::Measured && upper.fps() <= 1.1 * rate.fps(), "{case}");
    }
}

/// Any policer that ports share, behind any search: what each port has of it is within the bounds.
#[test]
fn no_pair_reads_more_than_its_share_of_a_policer() {
    // Of seed 2083715877 trials are so short that a frame is 1 % of what they tell of the limit.
    for seed in (0..20).chain([2_083_715_877]).chain(crate::new_seeds::new_seeds()) {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut draw = |from: f64, to: f64| {
            let share = random.next_u64() as f64 / u64::MAX as f64;
            (from.ln() + share * (to / from).ln()).exp()
        };
        let fps = draw(2_000.0, 140_000.0).round();
        // As long as a trial, at most: what it does not use up shows nowhere.
        let burst_frames = draw(4.0, 0.1 * fps).round();
        let policer = format!(
            "[impair]\npolice-frames-per-second = {fps}\npolice-burst-frames = {burst_frames}\n"
        );
        let policies = [SearchPolicy::Adaptive, SearchPolicy::Bisect, SearchPolicy::Mlrsearch];
        let mut config = short(Pattern::Pairs, TestKind::Throughput);
        config.search.policy = policies[(seed % 3) as usize];
        let found = throughput(config, &device(4, &policer)).throughput;
        let case = format!("seed {seed}: {fps} {burst_frames}: {found:?}");
        // A frame more or less in a trial.
        let frame = 2.0 / found.trial_duration.as_secs_f64();
        let no_faster = |rate: FrameRate| rate.fps() <= fps / 2.0 * 1.005 + frame;
        let may_be = |upper: FrameRate| upper.fps() >= fps / 2.0 * 0.995 - frame;
        assert!(found.rate.is_none_or(no_faster), "{case}");
        assert!(found.upper.is_none_or(may_be), "{case}");
    }
}

#[test]
fn mlrsearch_finds_the_rate_of_each_of_several_pairs() {
    let mut config = short(Pattern::Pairs, TestKind::Throughput);
    config.search.policy = SearchPolicy::Mlrsearch;
    let result = throughput(config, &device(6, SHARED));
    holds(&result, 100_000.0 / 3.0, 3);
}

/// Frames of all inputs for one output arrive at the same time, over and over (RFC 2544 section 16):
/// of three, one leaves, and two have to wait. An output that holds one frame alone loses the third at any
/// load; one that holds two loses none at the medium's maximum. Pairs never meet.
#[test]
fn inputs_that_address_the_outputs_in_the_same_order_meet_there() {
    let switch = |frames: usize| {
        let text = format!(
            "ports = 6\nline-rate = \"20M\"\nbridge = true\noutput = {{ frames = {frames} }}\n"
        );
        Description::from_toml(&text).unwrap()
    };
    let of = |pattern, frames| throughput(short(pattern, TestKind::Throughput), &switch(frames));
    let narrow = of(Pattern::MultiPort, 1);
    let Finding::NothingPassed { loss_percent, .. } = narrow.throughput.finding else {
        panic!("{:?}", narrow.throughput.finding)
    };
    assert!(loss_percent > 30.0, "{loss_percent}");
    assert_eq!(of(Pattern::MultiPort, 3).throughput.finding, Finding::AtTheoreticalMaximum);
    assert_eq!(of(Pattern::Pairs, 1).throughput.finding, Finding::AtTheoreticalMaximum);
}

/// A filter permits the first pair alone: half of the frames are lost, and it says whose.
#[test]
fn loss_is_told_pair_by_pair() {
    let rules =
        "[filter]\nrules = [{ action = \"permit\", from = \"198.18.1.2\", to = \"198.19.1.2\" }]\n";
    let device = device(4, rules);
    let result = loss(short(Pattern::Pairs, TestKind::FrameLoss), &device);
    for point in &result.points {
        assert_eq!(point.loss_percent, 50.0, "{point:?}");
        let pairs: Vec<_> =
            point.pairs.iter().map(|p| (p.from.0, p.to.0, p.loss_ratio())).collect();
        assert_eq!(pairs, [(0, 1, 0.0), (2, 3, 1.0)]);
    }
    assert!(
        result.notes.iter().any(|note| note.contains("port 2 to port 3 lost most, 100.0000 %"))
    );
    let figures = result.outcome().figures;
    let of_pair = |name: &str| figures.iter().find(|f| f.name == name).and_then(|f| f.value);
    assert_eq!(of_pair("loss at 100 % of the maximum, port 0 to port 1"), Some(0.0));
    assert_eq!(of_pair("loss at 100 % of the maximum, port 2 to port 3"), Some(100.0));
}

/// Every test of the suite with several pairs, on a device that they all say something of.
#[test]
fn every_test_runs_with_several_pairs() {
    use TestKind::{BackToBack, FrameLoss, Ipdv, Latency, Pdv, Recovery, Reset, Throughput};
    let device = device(
        4,
        &format!(
            "input = {{ frames = 100 }}\ndelay = \"50us\"\nreset = {{ restart = \"50ms\" }}\n{PER_PORT}"
        ),
    );
    for pattern in [Pattern::Pairs, Pattern::MultiPort] {
        let mut config = short(pattern, Throughput);
        config.tests = vec![Throughput, Latency, Pdv, Ipdv, FrameLoss, BackToBack, Recovery, Reset];
        config.latency.repetitions = 4;
        (config.latency.stream_s, config.latency.first_tag_s) = (0.2, 0.1);
        (config.pdv.stream_s, config.pdv.repetitions) = (0.1, 1);
        (config.ipdv.stream_s, config.ipdv.repetitions) = (0.1, 1);
        config.recovery.overload_s = 0.1;
        config.recovery.observe_s = 0.2;
        (config.reset.before_s, config.reset.after_s) = (0.1, 0.4);
        let results = results(config, &device);
        assert_eq!(results.len(), 9, "reset has two kinds");
        for result in results {
            assert!(result.invalid.is_empty(), "{result:?}");
            match result.test {
                Latency => {
                    let result: LatencyResult = of(result);
                    // 672 ns on each of two lines, 10 us of service, 50 us: as stamped, and then LIFO.
                    let mean = result.rfc2544.unwrap().mean;
                    assert!(mean > Duration::from_us(60) && mean < Duration::from_us(1_100));
                    assert!(result.trials.iter().all(|trial| trial.tagged.is_some()));
                }
                BackToBack => {
                    let result: BackToBackResult = of(result);
                    // 100 wait, and of 297,619 that come in a second 100,000 are served meanwhile.
                    let frames = result.summary.unwrap().frames.mean;
                    assert!((145.0..=155.0).contains(&frames), "{frames}");
                }
                Recovery => assert!(of::<RecoveryResult>(result).mean.is_some()),
                Reset => {
                    let result: ResetResult = of(result);
                    let (by_loss, by_time) = (result.mean_by_loss, result.mean_by_timestamps);
                    let times = [by_loss, by_time].into_iter().flatten();
                    assert!(times.clone().count() > 0);
                    times.for_each(|time| assert!(time >= Duration::from_ms(45), "{time}"));
                }
                _ => {}
            }
        }
    }
}

/// Frames of modifiers go out of every sender, each with its own streams.
#[test]
fn modifiers_go_with_every_pair() {
    for modifier in [Modifier::Broadcast, Modifier::Management, Modifier::RoutingUpdate] {
        let mut config = short(Pattern::MultiPort, TestKind::FrameLoss);
        config.modifiers = vec![modifier];
        config.direction = Direction::Bidirectional;
        let suite = suite(config, Forwarding::Routed, 6);
        let events = events_of(&suite, &device(6, ""));
        let trial = events.iter().find_map(|event| match event {
            Event::TrialFinished(record) => Some(&record.result),
            _ => None,
        });
        let name = modifier.to_string();
        let extra = trial.unwrap().streams.iter().filter(|stream| stream.name == name);
        let from: Vec<u16> = extra.filter(|s| s.sent > 0).map(|stream| stream.from.0).collect();
        assert_eq!(from, [0, 1, 2, 3, 4, 5], "{modifier}");
        assert_eq!(trial.unwrap().lost_frames(), 0);
    }
}

/// The tester measures all pairs at once: here they share its limit.
#[test]
fn the_self_test_is_made_with_as_many_pairs() {
    let cable = Description::from_toml("ports = 4\n").unwrap();
    let mut config = short(Pattern::MultiPort, TestKind::FrameLoss);
    config.self_test.trial_duration_s = 0.05;
    let mut events: Vec<Event> = vec![];
    let suite = suite(config, Forwarding::Routed, 4);
    suite.run(&mut tester(&device(4, "")), Some(&mut tester(&cable)), &mut events).unwrap();
    let measured = events.iter().find_map(|event| match event {
        Event::SelfTestFinished(known) => known.of_size("64"),
        _ => None,
    });
    let conditions = &measured.unwrap().conditions;
    assert_eq!((conditions.pattern, conditions.transmitting_ports), (Pattern::Pairs, 2));
    assert_eq!(measured.unwrap().maximum.finding, Finding::AtTheoreticalMaximum);
}

#[test]
fn what_a_pattern_cannot_be_is_refused() {
    let refusal = |config: SuiteConfig, ports: usize| {
        let mut tester = tester(&device(ports, ""));
        let mut events: Vec<Event> = vec![];
        let stopped = suite(config, Forwarding::Routed, ports).run(&mut tester, None, &mut events);
        match stopped {
            Err(RunError::Config(why)) => why,
            other => panic!("{other:?}"),
        }
    };
    let pairs = || short(Pattern::Pairs, TestKind::Throughput);
    assert!(refusal(pairs(), 2).contains("--port-count 4"));
    assert!(refusal(pairs(), 5).contains("the device has 5"));
    let mesh = short(Pattern::FullMesh, TestKind::Throughput);
    assert!(refusal(mesh, 4).contains("pair, pairs and multi_port"));
}

/// A port of another rate would have another share of its medium.
#[test]
fn ports_of_different_rates_are_refused() {
    let device = device(4, "");
    let mut tester = tester(&device);
    let mut description = tester.describe().clone();
    description.ports[3].line_rate = units::LineRate::from_mbps(10);
    struct Described<'t>(&'t mut Simulated, trial::TesterDescription);
    impl Tester for Described<'_> {
        fn describe(&self) -> &trial::TesterDescription {
            &self.1
        }
        fn run(&mut self, trial: &trial::Trial) -> Result<trial::TrialResult, trial::TesterError> {
            self.0.run(trial)
        }
        fn pause(&mut self, span: Duration) -> Result<(), trial::TesterError> {
            self.0.pause(span)
        }
    }
    let suite = suite(short(Pattern::Pairs, TestKind::Throughput), Forwarding::Routed, 4);
    let mut events: Vec<Event> = vec![];
    let stopped = suite.run(&mut Described(&mut tester, description), None, &mut events);
    let why = stopped.unwrap_err().to_string();
    assert!(why.contains("test ports of one rate together"), "{why}");
}
