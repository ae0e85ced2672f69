//! The Harvard tests on a device whose answers follow from its description.

use method::harvard::{
    DelayResult, Filters, Laboratory, MaxRateResult, Mode, Path, RawRateResult, Ready, SetUp,
    SetUpError, Setting, Suite1990,
};
use method::{
    Attachment, Event, Finding, Forwarding, LegacyAddresses, Outcome, Profile, RunError,
    RunFinished, SuiteConfig, TestKind, Topology,
};
use sim::{Addresses, Description, Interface, Protocol};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use trial::{PortId, Tester, TesterDescription, TesterError, Trial, TrialResult};
use units::Duration;
use wire::ethernet::MacAddr;

/// Receiving takes 30 us and forwarding 150; a filter list 20 and each rule 3. The sources need
/// 11.4 us and 11.1 us between frames.
const ROUTER: &str = r#"
ports = 4
line-rate = "10M"
route = ["ipv4", "appletalk"]
bridge = true

[card]
ports = 2

[cpu]
cost = { per-frame = "150us", receive = "30us" }
queue = { frames = 20 }

[filter]
per-frame = "20us"
per-rule = "3us"

[tester]
min-gap = "11.4us"
second-min-gap = "11.1us"
"#;

/// Sets up a simulated device with four ports, two on a card.
struct Simulated(Description);

impl Laboratory for Simulated {
    fn describe(&self) -> TesterDescription {
        let tester = self.0.tester(&Addresses::plan(4)).unwrap();
        tester.describe().clone()
    }

    fn is_possible(&self, set_up: &SetUp) -> bool {
        let routes = match set_up.mode {
            Mode::Ip => Some(Protocol::Ipv4),
            Mode::Decnet => Some(Protocol::Decnet),
            Mode::AppleTalk => Some(Protocol::Appletalk),
            Mode::Ipx => Some(Protocol::Ipx),
            Mode::Bridge => None,
        };
        routes.is_none_or(|protocol| self.0.route.contains(&protocol))
    }

    fn set_up(&mut self, set_up: &SetUp) -> Result<Ready<'_>, SetUpError> {
        if !self.is_possible(set_up) {
            return Err(SetUpError::NotPossible("it has no path for it".into()));
        }
        let mut addresses = Addresses::plan(4);
        let pairs = set_up.ports(4, Some(2)).map_err(SetUpError::NotPossible)?;
        for (stream, (from, to)) in pairs.iter().enumerate() {
            for (net, port) in [(100, from), (200, to)] {
                let device = Ipv4Addr::new(192, 32, net + stream as u8, 254);
                addresses.interfaces[usize::from(*port)].ipv4 = (device, 24);
            }
        }
        let device = self.0.permitting(&set_up.filters.permitted());
        let second = pairs.get(1).map(|(from, _)| usize::from(*from));
        let tester = device.tester_with_second(&addresses, second);
        let tester = tester.map_err(|error| RunError::Config(error.to_string()))?;
        let is_bridge = set_up.mode == Mode::Bridge;
        let forwarding = if is_bridge { Forwarding::Bridged } else { Forwarding::Routed };
        let attach = |port: &u16| attachment(*port, &addresses.interfaces[usize::from(*port)]);
        let topology =
            |(from, to): &(u16, u16)| Topology::of(forwarding, vec![attach(from), attach(to)]);
        Ok(Ready {
            streams: pairs.iter().map(topology).collect(),
            filters: set_up.filters.in_words().into(),
            tester: Box::new(tester),
        })
    }
}

fn attachment(port: u16, device: &Interface) -> Attachment {
    let [a, b, c, _] = device.ipv4.0.octets();
    Attachment {
        port: PortId(port),
        mac: MacAddr([2, 0, 0, 0, port as u8, 2]),
        host_ipv4: Ipv4Addr::new(a, b, c, 1),
        host_ipv6: std::net::Ipv6Addr::LOCALHOST,
        device_mac: device.mac,
        device_ipv4: device.ipv4.0,
        device_ipv6: device.ipv6.0,
        network_hosts_ipv4: vec![],
        network_hosts_ipv6: vec![],
        network_prefix_ipv4: 24,
        prefix_hosts_ipv6: Default::default(),
        legacy: LegacyAddresses::plan(PortId(port)),
    }
}

fn run(sizes: &[u32], modes: &[Mode], paths: &[Path]) -> (Vec<Outcome>, Vec<Event>) {
    let router = Description::from_toml(ROUTER).unwrap();
    run_on(router, |config| config.harvard.raw_rate_stream_s = 1.0, sizes, modes, paths)
}

/// The whole suite on a device, with short streams.
pub(crate) fn run_on(
    device: Description,
    change: impl FnOnce(&mut SuiteConfig),
    sizes: &[u32],
    modes: &[Mode],
    paths: &[Path],
) -> (Vec<Outcome>, Vec<Event>) {
    let (outcomes, events, finished) = run_in(&mut Simulated(device), change, sizes, modes, paths);
    assert_eq!((finished.invalid_trials, finished.stopped_by), (0, None));
    (outcomes, events)
}

fn run_in(
    laboratory: &mut dyn Laboratory,
    change: impl FnOnce(&mut SuiteConfig),
    sizes: &[u32],
    modes: &[Mode],
    paths: &[Path],
) -> (Vec<Outcome>, Vec<Event>, RunFinished) {
    let mut config = SuiteConfig::of(Profile::Quick);
    config.tests = Suite1990::TESTS.to_vec();
    config.frame_sizes = sizes.iter().map(|bytes| super::bed::size(*bytes)).collect();
    config.trial.settle_s = 0.1;
    config.search.lowest_load_percent = 0.1;
    change(&mut config);
    let mut suite = Suite1990 {
        program: "test".into(),
        device: "a described router".into(),
        environment: BTreeMap::new(),
        config,
        set_ups: Suite1990::all_set_ups(),
    };
    suite.set_ups.retain(|set_up| modes.contains(&set_up.mode) && paths.contains(&set_up.path));
    let mut events = vec![];
    let finished = suite.run(laboratory, &mut events).unwrap();
    (super::bed::outcomes(&events), events, finished)
}

/// Where it belongs in the tables.
pub fn setting(outcome: &Outcome) -> Setting {
    serde_json::from_value(outcome.detail["setting"].clone()).unwrap()
}

fn near(found: f64, expected: f64, share: f64) {
    assert!((found / expected - 1.0).abs() <= share, "{found}, expected {expected}");
}

/// The fastest interval of the first source at 64 bytes is 57.6 us + 11.4 us: 14,492.75 a second.
#[test]
fn max_raw_rate_and_delay_are_those_of_the_processor() {
    let (results, _) = run(&[64], &[Mode::Ip], &[Path::Within]);
    let filter_us = |filters| match filters {
        Filters::None => 0.0,
        Filters::One => 23.0,
        Filters::Ten => 50.0,
    };
    let test = 1e6 / 69.0;
    let mut seen = 0;
    for result in &results {
        let Setting { filters, streams, .. } = setting(result);
        let service_us = 150.0 + filter_us(filters);
        match result.test {
            TestKind::MaxRate | TestKind::DualMaxRate => {
                let max: MaxRateResult = result.record().unwrap();
                assert_eq!(max.found.finding, Finding::Measured);
                // A step of the gap is 0.1 us; 20 frames may still wait at the end of 0.4 s.
                let rate = 1e6 / (service_us + 30.0) / streams as f64;
                near(max.found.rate.unwrap().fps(), rate, 0.015);
            }
            TestKind::RawRate => {
                let raw: RawRateResult = result.record().unwrap();
                near(raw.streams[0].offered.fps(), test, 1e-6);
                let forwarded = (1e6 - test * 30.0) / service_us;
                // With those that wait at the end of the second.
                assert!((0.0..25.0).contains(&(raw.streams[0].forwarded.fps() - forwarded)));
            }
            TestKind::DualStream => {
                let raw: RawRateResult = result.record().unwrap();
                let rates: Vec<f64> = raw.streams.iter().map(|s| s.offered.fps()).collect();
                near(rates[0], test, 1e-6);
                near(rates[1], 1e6 / 68.7, 1e-6);
                let left = (1e6 - (rates[0] + rates[1]) * 30.0) / 150.0;
                let both: f64 = raw.streams.iter().map(|s| s.forwarded.fps()).sum();
                assert!((0.0..45.0).contains(&(both - left)), "{both}, {left}");
            }
            TestKind::Delay => {
                let delay: DelayResult = result.record().unwrap();
                assert_eq!(delay.delay(), Some([Duration::from_us(180); 3]));
            }
            other => panic!("{other}"),
        }
        seen += 1;
    }
    assert_eq!(seen, 1 + 3 * 2 + 2, "delay; max and raw rate with 0, 1, 10 filters; dual");
}

#[test]
fn what_the_device_or_the_protocol_cannot_do_is_said() {
    let (results, events) = run(&[64, 1024], &Mode::ALL, &[Path::Between]);
    let told = |part: &str| {
        events.iter().any(|event| match event {
            Event::Warning(text) | Event::Note(text) => text.contains(part),
            _ => false,
        })
    };
    assert!(told("not possible on this device: DECNET - between interface cards: it has no path"));
    assert!(told("not possible on this device: IPX"));
    assert!(told("AppleTalk II - between interface cards: frame size 1024 is left out"));
    let sizes = |mode| {
        let of_mode = results.iter().filter(|result| setting(result).mode == mode);
        of_mode.filter(|result| result.test == TestKind::RawRate).count()
    };
    assert_eq!((sizes(Mode::AppleTalk), sizes(Mode::Bridge), sizes(Mode::Decnet)), (1, 2, 0));
    assert!(results.iter().all(|result| result.invalid.is_empty()));
}

/// The device has no path for DECNET and IPX.
#[test]
fn no_time_is_foretold_for_what_the_device_cannot_do() {
    let foretold = |modes: &[Mode]| {
        let (_, events) = run(&[64], modes, &[Path::Within]);
        let Some(Event::RunStarted(run)) = events.first() else { panic!("{:?}", events.first()) };
        run.estimate
    };
    let possible = foretold(&[Mode::Ip]);
    assert!(possible > Duration::ZERO);
    assert_eq!(foretold(&[Mode::Ip, Mode::Decnet, Mode::Ipx]), possible);
    assert!(foretold(&[Mode::Ip, Mode::AppleTalk]) > possible);
}

/// A laboratory whose sources offer only shares of what they are asked for, as beside busy programs.
struct HeldUp {
    laboratory: Simulated,
    shares: Vec<f64>,
}

struct Source<'t> {
    tester: Box<dyn Tester + 't>,
    shares: &'t [f64],
}

impl Tester for Source<'_> {
    fn describe(&self) -> &TesterDescription {
        self.tester.describe()
    }
    fn run(&mut self, trial: &Trial) -> Result<TrialResult, TesterError> {
        super::bed::run_held_up(&mut *self.tester, trial, self.shares)
    }
    fn pause(&mut self, span: Duration) -> Result<(), TesterError> {
        self.tester.pause(span)
    }
}

impl Laboratory for HeldUp {
    fn describe(&self) -> TesterDescription {
        self.laboratory.describe()
    }
    fn set_up(&mut self, set_up: &SetUp) -> Result<Ready<'_>, SetUpError> {
        let ready = self.laboratory.set_up(set_up)?;
        Ok(Ready {
            tester: Box::new(Source { tester: ready.tester, shares: &self.shares }),
            ..ready
        })
    }
    fn shows_counters(&self) -> bool {
        true
    }
}

fn held_up(shares: &[f64]) -> (Vec<Outcome>, Vec<Event>) {
    let laboratory = Simulated(Description::from_toml(ROUTER).unwrap());
    let mut held_up = HeldUp { laboratory, shares: shares.to_vec() };
    let change = |config: &mut SuiteConfig| config.harvard.raw_rate_stream_s = 1.0;
    let (outcomes, events, _) = run_in(&mut held_up, change, &[64], &[Mode::Ip], &[Path::Within]);
    (outcomes, events)
}

/// The first source needs 69 us from frame to frame at 64 bytes, and offers 3 % less than it is asked for, whatever that
/// is: its rate is not sought further and further down.
#[test]
fn sources_that_are_held_up_offer_what_they_reach() {
    let (results, events) = held_up(&[0.97]);
    for result in results.iter().filter(|result| result.test == TestKind::RawRate) {
        let raw: RawRateResult = result.record().unwrap();
        assert_eq!(raw.invalid, Vec::<String>::new());
        let most = raw.conditions.tester_max.expect("what the source offers").fps();
        assert!((0.9 * 14_492.0..=14_493.0).contains(&most), "{most}");
    }
    let notes = events.iter().filter_map(|event| match event {
        Event::Note(text) => Some(text),
        _ => None,
    });
    let not_compared: Vec<_> = notes.filter(|note| note.contains("the tester offered")).collect();
    assert!(not_compared.is_empty(), "{not_compared:?}");
}

/// A second source that is kept from its processor has no rate of its own, and so there is no result of both.
#[test]
fn a_source_that_is_starved_beside_another_gives_no_result() {
    starved(0.02);
    starved(0.08);
}

fn starved(share: f64) {
    let (results, _) = held_up(&[1.0, share]);
    for test in [TestKind::DualStream, TestKind::DualMaxRate] {
        let outcome = results.iter().find(|result| result.test == test).expect("a result");
        let why = outcome.invalid.join("; ");
        assert!(why.contains("one source offers"), "{outcome:#?}");
        assert!(outcome.figures.iter().all(|figure| figure.value.is_none()), "{outcome:#?}");
    }
    let single = results.iter().find(|result| result.test == TestKind::RawRate).expect("a result");
    assert_eq!(single.invalid, Vec::<String>::new());
}
