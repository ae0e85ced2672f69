//! The tests of 1989 on devices whose tables, counters and misbehaviours are known: each is found,
//! exactly, and named; and a device that does nothing wrong is not accused of anything.

use super::bed::{config, outcomes, size};
use super::composed::addresses;
use method::harvard::y1989::{Ending, Harvard1989Result, Misbehaviour, Test1989};
use method::{Event, Forwarding, Method, Suite, SuiteConfig};
use sim::{Composed, Description, SimPort, SimTester};
use traffic::error_frame::ErrorKind;
use traffic::modifier::sub_seed;
use trial::{Counted, DeviceSetup, Tester, TesterDescription, TesterError, Trial, TrialResult};
use units::LineRate;

/// A router that carries 5,000 frames a second, 20 of which wait.
const ROUTER: &str = r#"
    line-rate = "10M"
    route = ["ipv4"]
    counters = ["in-frames", "in-bytes", "out-frames", "out-bytes", "crc-errors",
                "alignment-errors", "runts", "giants"]
    delay = "300us"
    [input]
    frames = 20
    [cpu]
    cost = { per-frame = "200us" }
"#;

fn suite(tests: &[Test1989], change: impl FnOnce(&mut SuiteConfig)) -> Suite {
    let mut config = config();
    config.method = Method::Harvard1989;
    config.harvard_1989.tests = tests.to_vec();
    config.harvard_1989.rate_stream_s = 0.5;
    config.frame_sizes = vec![size(64)];
    config.trial.settle_s = 0.2;
    change(&mut config);
    super::bed::suite(config, Forwarding::Routed)
}

/// The results of these tests on a router with more of a description.
fn run_with(
    more: &str,
    tests: &[Test1989],
    change: impl FnOnce(&mut SuiteConfig),
) -> Vec<Harvard1989Result> {
    run_on(&format!("{ROUTER}{more}"), tests, change)
}

/// The results of these tests on this device.
fn run_on(
    text: &str,
    tests: &[Test1989],
    change: impl FnOnce(&mut SuiteConfig),
) -> Vec<Harvard1989Result> {
    let device = Description::from_toml(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let line = SimPort::physical(LineRate::from_mbps(10));
    let device = Composed::new(&device, &addresses()).expect("a device");
    let mut tester = SimTester::new(&[line; 2], device);
    let mut events: Vec<Event> = vec![];
    let finished = suite(tests, change).run(&mut tester, None, &mut events).expect("a run");
    assert!(finished.invalid_tests.is_empty(), "{:?}", finished.invalid_tests);
    outcomes(&events).iter().map(|outcome| outcome.record().expect("a record")).collect()
}

fn run(more: &str, tests: &[Test1989]) -> Vec<Harvard1989Result> {
    run_with(more, tests, |_| {})
}

fn one(more: &str, test: Test1989) -> Harvard1989Result {
    let results = run(more, &[test]);
    results.into_iter().find(|result| result.test == test).expect("a result")
}

#[test]
fn a_router_without_fault_passes_every_test_with_its_numbers() {
    let results = run_with("", &Test1989::ALL, |config| {
        config.frame_sizes = vec![size(64), size(512)];
        config.harvard_1989.table_limit = 64;
    });
    for result in &results {
        assert_eq!(result.misbehaviours, [], "{}: {result:#?}", result.test);
        let excused = matches!(result.test, Test1989::MixedProtocols);
        let measured = result.outcome == Ending::Measured;
        assert!(measured || excused, "{}: {:?}", result.test, result.outcome);
    }
    let by = |test, size: &str| {
        let found = results.iter().find(|r| r.test == test && r.conditions.frame_size == size);
        found.unwrap_or_else(|| panic!("no {test} of {size}"))
    };
    let figure = |test, size: &str, name: &str| by(test, size).figure(name).unwrap();
    // 64 bytes in 51.2 us, 512 in 409.6: twice over, 200 us of service and 300 us of delay. The
    // lines are taken off.
    assert_eq!(figure(Test1989::Delay, "64", "median"), 500.0);
    assert_eq!(figure(Test1989::Delay, "512", "spread"), 0.0);
    // 5,000 frames a second and what 20 places swallow in half a second: at most 40 more.
    let max = figure(Test1989::MaxRate, "64", "max rate");
    assert!((4_950.0..=5_045.0).contains(&max), "{max}");
    let at_line = figure(Test1989::MaxRate, "512", "max rate");
    assert!((at_line - 10e6 / (532.0 * 8.0)).abs() < 0.1, "the line's {at_line}");
    let raw = figure(Test1989::RawRate, "64", "raw rate");
    assert!((5_000.0..5_060.0).contains(&raw), "{raw}");
    let over = by(Test1989::Overload25, "64");
    assert!((figure(Test1989::Overload25, "64", "loss") - 19.6).abs() < 1.0, "{over:?}");
    let routes = by(Test1989::ManyRoutes, "64");
    assert_eq!(routes.figure("routes taken in"), Some(200.0));
    for test in [Test1989::RoutingTable, Test1989::ArpCache, Test1989::FilterList] {
        let figure = &by(test, "64").figures[0];
        assert_eq!((figure.value, figure.at_least), (Some(64.0), true), "{test}");
    }
    let counters = &by(Test1989::Counters, "64").counters;
    assert!(counters.len() >= 8 && counters.iter().all(|check| check.device == check.tester));
}

/// At line rate a frame comes every 67.2 us and is served for s. Of n at most so many as there is room
/// for wait and one is in service, when the nth comes: n - floor((n - 1) 67.2 / s) - 1 <= room.
#[test]
fn back_to_back_is_what_arithmetic_says() {
    let random = |seed| (sub_seed(seed, 1) % 60, 80_000 + sub_seed(seed, 2) % 300_000);
    for (room, service_ns) in [(20, 200_000)].into_iter().chain((0..8).map(random)) {
        let waiting = |n: u64| n - (n - 1) * 67_200 / service_ns - 1;
        let longest = (1..).take_while(|n| waiting(*n) <= room).last().unwrap();
        let text = ROUTER
            .replace("frames = 20", &format!("frames = {room}"))
            .replace("200us", &format!("{service_ns}ns"));
        let results = run_on(&text, &[Test1989::BackToBack], |_| {});
        let found = results.last().expect("a result");
        assert_eq!(found.figure("back to back"), Some(longest as f64), "{room}, {service_ns}");
        assert_eq!(found.figure("theoretical"), Some((50_000.0f64 / 67.2).floor()));
    }
}

/// Frame for frame, on routers of any speed.
#[test]
fn counters_of_any_router_are_those_of_the_tester() {
    for seed in (0..8).chain(crate::new_seeds::new_seeds()) {
        let service = format!("{}ns", 20_000 + sub_seed(seed, 3) % 900_000);
        let results = run_on(&ROUTER.replace("200us", &service), &[Test1989::Counters], |config| {
            config.frame_sizes = vec![size(64 + (sub_seed(seed, 4) % 1_400) as u32)];
        });
        let counters = &results.last().expect("a result").counters;
        assert!(counters.len() >= 8 && counters.iter().all(|check| check.device == check.tester));
        assert!(counters.iter().any(|check| check.device > 100), "{counters:?}");
    }
}

#[test]
fn tables_are_found_exactly() {
    let random = (0..6).map(|seed| 1 + sub_seed(seed, 5) % 200);
    for entries in [1, 7, 37].into_iter().chain(random) {
        let routes = one(&format!("[routes]\nentries = {entries}"), Test1989::RoutingTable);
        assert_eq!(routes.figure("routes"), Some(entries as f64));
        let hosts = one(&format!("[neighbours]\nentries = {entries}"), Test1989::ArpCache);
        assert_eq!(hosts.figure("hosts"), Some(entries as f64));
        let filters = one(&format!("[filter]\nroom = {entries}"), Test1989::FilterList);
        assert_eq!(filters.figure("filters"), Some(entries as f64));
        assert!(!filters.figures[0].at_least);
    }
}

#[test]
fn filters_cost_what_they_cost() {
    let costs = "[filter]\nper-frame = \"50us\"\nper-rule = \"25us\"";
    let result = one(costs, Test1989::Filtering);
    // 200 + 50 + 25 us: 3,636 a second; with nine rules more 2,000.
    let rate = |name| result.figure(name).unwrap();
    assert!((rate("max rate, 1 filters") - 3_636.0).abs() < 60.0, "{result:?}");
    assert!((rate("max rate, 10 filters") - 2_000.0).abs() < 60.0, "{result:?}");
}

#[test]
fn errors_are_seen_to_be_discarded_and_counted() {
    for (test, counted) in [
        (Test1989::CrcErrors, Counted::CrcErrors),
        (Test1989::Runts, Counted::Runts),
        (Test1989::Giants, Counted::Giants),
    ] {
        let result = one("", test);
        let errors = result.errors.expect("what became of them");
        assert_eq!((errors.sent, errors.forwarded), (100, 0), "{test}");
        let (_, what, count) = &errors.counted[0];
        assert_eq!((*what, *count, errors.counted.len()), (counted, 100, 1), "{test}");
    }
}

#[test]
fn a_device_that_counts_crc_errors_as_alignment_errors_is_named() {
    let result = one("[misbehaviour]\ncrc-as-alignment = true", Test1989::CrcErrors);
    let (kind, counted, frames) = (ErrorKind::Crc, Counted::AlignmentErrors, 100);
    let named = Misbehaviour::MiscountsErrors { kind, counted, frames };
    assert_eq!(result.misbehaviours, [named]);
}

#[test]
fn a_device_without_a_counter_of_runts_is_named() {
    let text = ROUTER.replace("\"runts\", ", "");
    let results = run_on(&text, &[Test1989::Runts], |_| {});
    let kind = ErrorKind::Runt;
    assert_eq!(results[0].misbehaviours, [Misbehaviour::DoesNotCount { kind }]);
}

#[test]
fn a_device_that_disables_its_port_on_runts_is_named() {
    let result = one("[misbehaviour]\ndisables-port-on-runt = true", Test1989::Runts);
    assert_eq!(result.misbehaviours, [Misbehaviour::DisablesPort { after: ErrorKind::Runt }]);
}

#[test]
fn a_device_that_forwards_frames_with_a_bad_fcs_is_named() {
    let result = one("[misbehaviour]\nforwards-bad-fcs = true", Test1989::CrcErrors);
    let named =
        |wrong: &Misbehaviour| matches!(wrong, Misbehaviour::ForwardsErrors { frames: 100, .. });
    assert!(result.misbehaviours.iter().any(named), "{result:?}");
}

#[test]
fn a_device_that_drops_long_frames_when_flooded_is_named_with_its_limit() {
    let more = "[misbehaviour]\nflooded-drops-over-bytes = 250\nflooded-at-frames = 4\n\
                flooded-for = \"20ms\"\n[cpu.protocols.ipv4]\nper-frame = \"900us\"";
    let results = run_with(more, &[Test1989::Flood, Test1989::FloodedSizes], |config| {
        config.frame_sizes = [64, 128, 256, 512].map(size).to_vec();
    });
    let sizes = results.last().expect("a result");
    assert_eq!(sizes.misbehaviours, [Misbehaviour::DropsLongWhenFlooded { over_bytes: 250 }]);
    let stops = |size: &str| {
        let is =
            |r: &&Harvard1989Result| r.test == Test1989::Flood && r.conditions.frame_size == size;
        let flood = results.iter().find(is).expect("a flood");
        flood.misbehaviours.iter().any(|w| matches!(w, Misbehaviour::StopsUnderLoad { .. }))
    };
    assert_eq!(["64", "128", "256", "512"].map(stops), [false, false, true, true]);
}

/// A device that stands still for a second and a half now and then, as one that is kept from its processor, is not said
/// to stop under load: what one trial shows, another one does not.
#[test]
fn what_happens_in_one_trial_is_not_held_against_a_device() {
    let notes = (0..50).map(|step| {
        let more = format!("[cpu.stall]\nevery = \"{}ms\"\nlasts = \"1500ms\"", 7_000 + 110 * step);
        let results = run_with(&more, &[Test1989::Flood], |config| {
            config.harvard_1989.rate_stream_s = 1.0;
        });
        let flood = results.iter().find(|result| result.test == Test1989::Flood).expect("a flood");
        assert_eq!(flood.misbehaviours, [], "{more}");
        flood.notes.iter().filter(|note| note.contains("in one trial")).count()
    });
    let notes: Vec<usize> = notes.collect();
    assert!(notes.iter().sum::<usize>() > 0, "no flood met a stall: {notes:?}");
}

/// Where the tester decides nothing, nothing is said of the device: this one stops above 250 bytes, and the tester
/// loses frames itself.
#[test]
fn a_tester_without_a_valid_trial_accuses_nobody() {
    let text = format!(
        "{ROUTER}[misbehaviour]\nflooded-drops-over-bytes = 250\nflooded-at-frames = 4\n\
         flooded-for = \"20ms\"\n[cpu.protocols.ipv4]\nper-frame = \"900us\"\n\
         [tester]\nloses-every = 7"
    );
    let device = Description::from_toml(&text).expect("a description");
    let mut tester = device.tester(&addresses()).expect("a tester");
    let suite = suite(&[Test1989::FloodedSizes], |config| {
        config.frame_sizes = [64, 128, 256, 512].map(size).to_vec();
        config.trial.invalid_retries = 0;
    });
    let mut events: Vec<Event> = vec![];
    suite.run(&mut tester, None, &mut events).expect("a run");
    let sizes: Harvard1989Result =
        outcomes(&events).last().expect("one").record().expect("a record");
    assert_eq!((sizes.test, &*sizes.misbehaviours), (Test1989::FloodedSizes, &[][..]), "{sizes:?}");
    assert!(matches!(sizes.outcome, Ending::Invalid { .. }), "{sizes:?}");
}

#[test]
fn a_device_that_does_not_answer_under_load_is_named() {
    let more = "[misbehaviour]\nunreachable-at-frames = 3";
    let results = run_with(more, &[Test1989::Management], |config| {
        config.harvard_1989.rate_stream_s = 4.0;
    });
    let result = results.last().expect("a result");
    let answered = |load: &str| result.figure(&format!("answered at {load}")).unwrap();
    assert_eq!(answered("1 % of the max rate"), 100.0);
    // The first of 40 requests comes before the queue has filled.
    assert_eq!(answered("flood"), 2.5);
    let named = result.misbehaviours.iter().any(|wrong| {
        matches!(wrong, Misbehaviour::UnreachableUnderLoad { load, answered: 1, asked: 40 } if load == "flood")
    });
    assert!(named, "{:?}", result.misbehaviours);
}

#[test]
fn a_device_whose_delay_varies_is_named() {
    let result = one("", Test1989::Delay);
    assert_eq!(result.misbehaviours, []);
    let text = ROUTER.replace("[input]", "delay-varies-by = \"100ms\"\nseed = 3\n[input]");
    let results = run_on(&text, &[Test1989::Delay], |config| {
        config.harvard_1989.delay_gap_s = 0.2;
        config.harvard_1989.delay_stream_s = 60.0;
    });
    let wrong = &results[0].misbehaviours[0];
    let Misbehaviour::DelayVaries { by } = wrong else { panic!("{wrong:?}") };
    assert!((90..=100).contains(&by.as_ns().div_euclid(1_000_000)), "{by}");
}

#[test]
fn a_device_that_crashes_under_load_is_named() {
    let more = "[misbehaviour]\ncrashes-above-fps = 7000";
    let results = run(more, &[Test1989::Flood]);
    let result = &results[0];
    assert_eq!(result.test, Test1989::MaxRate);
    let dead = |wrong: &Misbehaviour| matches!(wrong, Misbehaviour::DeadAfter { .. });
    assert!(result.misbehaviours.iter().any(dead), "{result:?}");
}

#[test]
fn an_idle_device_is_heard() {
    let text = format!("hello = \"250ms\"\n{ROUTER}");
    let results = run_on(&text, &[Test1989::IdleState], |config| {
        config.harvard_1989.idle_s = 10.0;
    });
    assert_eq!(results[0].figure("frames at port 0"), Some(40.0));
    assert_eq!(results[0].figure("one frame every"), Some(0.25));
}

/// A host that a device forgets after 30 s is heard of again during a longer trial.
#[test]
fn keep_alives_are_repeated_during_a_trial() {
    let forgets = "[neighbours]\nageing = \"30s\"";
    let lost = |keep_alives| {
        let results = run_with(forgets, &[Test1989::Delay], |config| {
            config.trial.keep_alives = keep_alives;
            config.harvard_1989.delay_gap_s = 1.0;
            config.harvard_1989.delay_stream_s = 100.0;
        });
        results[0].figure("frames lost").unwrap()
    };
    assert_eq!(lost(true), 0.0);
    assert!(lost(false) > 60.0);
}

/// What a flood finds on a device that stops when it is flooded, where the tester has measured itself and offers so
/// many frames a second by itself; none where nothing limits it.
fn flood_after_a_self_test(own_limit: Option<u64>) -> Harvard1989Result {
    let text = format!(
        "{ROUTER}[misbehaviour]\nflooded-drops-over-bytes = 60\nflooded-at-frames = 4\nflooded-for = \"20ms\""
    );
    let device = Description::from_toml(&text).expect("a description");
    let mut alone = device.looped();
    alone.tester.frames_per_second = own_limit;
    let suite = suite(&[Test1989::Flood], |config| config.harvard_1989.rate_stream_s = 2.0);
    let mut looped = alone.tester(&addresses()).expect("a cable");
    let self_test =
        suite.run_self_test(&mut looped, &mut Vec::<Event>::new()).expect("a self-test");
    let suite = Suite { self_test: Some(self_test), ..suite };
    let mut tester = device.tester(&addresses()).expect("a tester");
    let mut events: Vec<Event> = vec![];
    suite.run(&mut tester, None, &mut events).expect("a run");
    let outcomes = outcomes(&events);
    let flood = outcomes.iter().map(|outcome| outcome.record().expect("a record"));
    let mut flood = flood.filter(|result: &Harvard1989Result| result.test == Test1989::Flood);
    flood.next().expect("a flood")
}

/// The control run of the tester: what it did not pass by itself blames no device.
#[test]
fn a_load_above_what_the_tester_reached_by_itself_blames_no_device() {
    let stops = |wrong: &Misbehaviour| matches!(wrong, Misbehaviour::StopsUnderLoad { .. });
    let reached = flood_after_a_self_test(None);
    assert!(reached.misbehaviours.iter().any(stops), "{reached:?}");
    assert!(!reached.notes.iter().any(|note| note.contains("no control run")), "{reached:?}");
    let above = flood_after_a_self_test(Some(7_500));
    assert!(above.figure("offered").unwrap() > 7_600.0, "it offers more to the device: {above:?}");
    assert_eq!(above.misbehaviours, [], "{above:?}");
    let objection = "the tester by itself reached only 7,500 frames/s";
    assert!(above.notes.iter().any(|note| note.contains(objection)), "{above:?}");
}

/// A tester that offers only a share of what it is asked for, as beside busy programs: in every trial, or in those of one test.
struct HeldUp {
    tester: SimTester<Composed>,
    share: f64,
    only_in: Option<Test1989>,
}

impl Tester for HeldUp {
    fn describe(&self) -> &TesterDescription {
        self.tester.describe()
    }
    fn run(&mut self, trial: &Trial) -> Result<TrialResult, TesterError> {
        if self.only_in.is_some_and(|test| !trial.label.starts_with(&test.to_string())) {
            return self.tester.run(trial);
        }
        super::bed::run_held_up(&mut self.tester, trial, &[self.share])
    }
    fn pause(&mut self, span: units::Duration) -> Result<(), TesterError> {
        self.tester.pause(span)
    }
    fn configure(&mut self, setup: &DeviceSetup) -> Result<(), TesterError> {
        self.tester.configure(setup)
    }
}

/// The results of these tests of 1989 by such a tester.
fn held_up(share: f64, only_in: Option<Test1989>, tests: &[Test1989]) -> Vec<Harvard1989Result> {
    let device = Description::from_toml(ROUTER).expect("a description");
    let line = SimPort::physical(LineRate::from_mbps(10));
    let device = Composed::new(&device, &addresses()).expect("a device");
    let mut tester = HeldUp { tester: SimTester::new(&[line; 2], device), share, only_in };
    let mut events: Vec<Event> = vec![];
    suite(tests, |_| {}).run(&mut tester, None, &mut events).expect("a run");
    outcomes(&events).iter().map(|outcome| outcome.record().expect("a record")).collect()
}

/// What comes out of what is offered is known where that is less than was asked for: the results state both. The router
/// carries 5,000 frames a second, and 20 more wait, whatever more is offered.
#[test]
fn a_tester_that_is_held_up_in_every_trial_states_what_it_offered() {
    use Test1989::{BroadcastStorm, Counters, Flood, MaxRate, MixedProtocols, Overload25, RawRate};
    let tests = [MaxRate, RawRate, Overload25, Flood, MixedProtocols, Counters, BroadcastStorm];
    let share = 0.97;
    let results = held_up(share, None, &tests);
    for result in &results {
        assert_eq!(result.outcome, Ending::Measured, "{result:#?}");
        assert_eq!(result.misbehaviours, [], "{result:#?}");
    }
    let by = |test| results.iter().find(|result| result.test == test).expect("a result");
    let figure = |test, name: &str| by(test).figure(name).unwrap();
    let carried = 5_000.0..=5_060.0;
    for (test, forwarded) in
        [(RawRate, "raw rate"), (Overload25, "forwarded"), (Flood, "forwarded")]
    {
        assert!(carried.contains(&figure(test, forwarded)), "{:#?}", by(test));
    }
    let flood = figure(Flood, "offered");
    assert!((figure(Flood, "loss") - (1.0 - 5_040.0 / flood) * 100.0).abs() < 0.5);
    let over = figure(Overload25, "offered");
    let asked = figure(MaxRate, "max rate") * 1.25;
    assert!((over - asked * share).abs() < 5.0, "{over} of {asked}");
    let note = &by(Overload25).notes[0];
    assert!(note.contains("were asked for, and the tester offered"), "{note}");
}

/// A flood is as fast as the tester can, and that may be much less than it could alone. Of half of it nothing is stated.
#[test]
fn a_flood_counts_by_what_the_tester_can_offer_at_the_time() {
    let flood = |share| {
        let tests = [Test1989::MaxRate, Test1989::Flood];
        held_up(share, Some(Test1989::Flood), &tests).pop().expect("a flood")
    };
    for share in [1.0, 0.8, 0.6] {
        let flood = flood(share);
        let (offered, forwarded) = (flood.figure("offered"), flood.figure("forwarded"));
        // The line carries 14,880.95 frames a second, and the device 5,000, with 20 that wait for half a second.
        assert!((offered.unwrap() - 14_880.95 * share).abs() < 30.0, "{share}: {flood:#?}");
        assert!((5_000.0..=5_060.0).contains(&forwarded.unwrap()), "{share}: {flood:#?}");
    }
    let flood = flood(0.4);
    assert!(matches!(flood.outcome, Ending::Invalid { .. }), "{flood:#?}");
    for test in [Test1989::MixedProtocols, Test1989::FloodedSizes] {
        let result = held_up(0.8, Some(test), &[test]).pop().expect("a result");
        assert_eq!(result.outcome, Ending::Measured, "{result:#?}");
        assert!(!result.figures.is_empty(), "{result:#?}");
    }
}

/// Whether a device answers under a load is known where the load was somewhat less than asked for, too. The router
/// answers every question that its queue has room for.
#[test]
fn a_tester_that_is_held_up_sees_what_a_device_answers_under_load() {
    let tests = [Test1989::MaxRate, Test1989::Management];
    let loads =
        ["1 % of the max rate", "half the max rate", "the max rate", "the max rate +25 %", "flood"];
    for share in [1.0, 0.95, 0.91] {
        let result = held_up(share, Some(Test1989::Management), &tests).pop().expect("a result");
        let answered = loads.map(|load| result.figure(&format!("answered at {load}")));
        assert_eq!(answered[..3], [Some(100.0); 3], "{share}: {result:#?}");
        assert!(answered.iter().all(Option::is_some), "{share}: {result:#?}");
        let told = |load: &&str| {
            let beginning = format!("{load}: ");
            let mut notes = result.notes.iter().filter(|note| note.starts_with(&beginning));
            notes.any(|note| note.contains("were asked for, and the tester offered"))
        };
        assert_eq!(loads.iter().filter(|load| told(load)).count(), if share < 1.0 { 5 } else { 0 });
    }
    // The line as fast as the tester can at the time is a flood; a fifth less than the max rate is another load.
    let result = held_up(0.8, Some(Test1989::Management), &tests).pop().expect("a result");
    let answered = loads.map(|load| result.figure(&format!("answered at {load}")).is_some());
    assert_eq!(answered, [false, false, false, false, true], "{result:#?}");
}
