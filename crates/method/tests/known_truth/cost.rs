//! What a frame costs a device of known cost, and what that says of its throughput.

use super::bed::{VIRTUAL, config, run};
use method::rfc2544::{ThroughputResult, throughput};
use method::{CostFound, CostPerFrame, Direction, Finding};
use sim::{Description, EveryNth, Fate, Impaired, Patch, SimTester};
use trial::{
    Balance, Fate as FrameFate, Station, Tester, TesterDescription, TesterError, Trial, TrialResult,
};
use units::Duration;

/// 100 Mb/s, 64 bytes: 148,809 frames/s.
fn of(toml: &str, direction: Direction) -> (ThroughputResult, Vec<method::Event>) {
    let description = Description::from_toml(&format!("route = [\"ipv4\"]\n{toml}"));
    let mut tester = super::composed::tester(&description.expect("a device"), &[VIRTUAL; 2]);
    let config = method::SuiteConfig { direction, ..config() };
    run(&config, &mut tester, throughput)
}

fn cost(result: &ThroughputResult) -> CostPerFrame {
    match &result.cost {
        Some(CostFound::Measured(cost)) => *cost,
        other => panic!("{other:?}"),
    }
}

fn says(result: &ThroughputResult, words: &str) -> bool {
    result.notes.iter().any(|note| note.contains(words))
}

/// 20 us a frame on one processor: 50,000 frames/s, by either way.
#[test]
fn a_device_that_is_full_when_its_processor_is_agrees_with_its_cost() {
    let router = "[cpu]\ncost = { per-frame = \"20us\" }\n[input]\nframes = 20\n";
    let (result, events) = of(router, Direction::Unidirectional);
    let cost = cost(&result);
    assert!((cost.low_ns - 20_000.0).abs() < 1.0 && (cost.high_ns - 20_000.0).abs() < 1.0);
    assert!((cost.capacity_low.fps() - 50_000.0).abs() < 3.0, "{cost:?}");
    assert_eq!(cost.processors, 1.0);
    let (rate, upper) = (result.throughput.rate.unwrap(), result.throughput.upper.unwrap());
    assert!(rate.fps() <= 50_000.0 && 50_000.0 <= upper.fps(), "{result:?}");
    assert!(!says(&result, "the cost of a frame"), "{:?}", result.notes);
    // Its trials are trials like others.
    let labels = events.iter().filter_map(|event| match event {
        method::Event::TrialFinished(record) => Some(record.result.label.clone()),
        _ => None,
    });
    assert_eq!(labels.filter(|label| label.starts_with("cost of a frame")).count(), 2);
}

/// Two directions share one processor, or have one each: half of the rate each, or all of it.
#[test]
fn directions_that_share_a_processor_share_its_capacity() {
    for (servers, each, processors) in [("shared", 25_000.0, 1.0), ("per-port", 50_000.0, 2.0)] {
        let router = format!(
            "[cpu]\ncost = {{ per-frame = \"20us\" }}\nservers = \"{servers}\"\n[input]\nframes = 20\n"
        );
        let (result, _) = of(&router, Direction::Bidirectional);
        let cost = cost(&result);
        assert!((cost.low_ns - 20_000.0).abs() < 1.0, "{servers}: {cost:?}");
        assert!((cost.capacity_low.fps() - each).abs() < 0.001 * each, "{servers}: {cost:?}");
        assert!((cost.processors - processors).abs() < 0.001, "{servers}: {cost:?}");
        assert!(!says(&result, "the cost of a frame"), "{:?}", result.notes);
    }
}

/// Every 20 ms the processor is away for 2 ms: a queue of 20 frames is full after 20, so that frames
/// are lost from 10,000 a second on, though the processor is idle for most of the time.
#[test]
fn a_throughput_that_ends_before_the_processor_is_full_is_told() {
    let router = "[cpu]\ncost = { per-frame = \"20us\" }\nstall = { every = \"20ms\", lasts = \"2ms\" }\n\
                  [input]\nframes = 20\n";
    let (result, _) = of(router, Direction::Unidirectional);
    assert_eq!(result.throughput.finding, Finding::Measured);
    assert!(result.throughput.upper.unwrap().fps() < 15_000.0, "{result:?}");
    assert!((cost(&result).capacity_low.fps() - 50_000.0).abs() < 100.0, "{result:?}");
    assert!(says(&result, "something other than its processor"), "{:?}", result.notes);
}

#[test]
fn a_device_whose_time_nobody_tells_has_no_cost_and_says_why() {
    let device = Impaired::new(Patch::default(), EveryNth::new(1_000_000_000, Fate::Drop));
    let (result, _) = run(&config(), &mut SimTester::new(&[VIRTUAL; 2], device), throughput);
    let Some(CostFound::Unknown { why }) = &result.cost else { panic!("{:?}", result.cost) };
    assert!(why.contains("does not tell"), "{why}");
}

/// A device of known cost that polls: its processor is busy at every load, and no cost follows from that.
struct Polling<T>(T);

impl<T: Tester> Tester for Polling<T> {
    fn describe(&self) -> &TesterDescription {
        self.0.describe()
    }
    fn run(&mut self, trial: &Trial) -> Result<TrialResult, TesterError> {
        let mut result = self.0.run(trial)?;
        result.pressure.untimed = Some("it polls".into());
        Ok(result)
    }
    fn pause(&mut self, span: Duration) -> Result<(), TesterError> {
        self.0.pause(span)
    }
}

#[test]
fn a_device_that_polls_has_no_cost_though_its_threads_are_known() {
    let router =
        "route = [\"ipv4\"]\n[cpu]\ncost = { per-frame = \"20us\" }\n[input]\nframes = 20\n";
    let description = Description::from_toml(router).expect("a device");
    let tester = super::composed::tester(&description, &[VIRTUAL; 2]);
    let (result, _) = run(&config(), &mut Polling(tester), throughput);
    let Some(CostFound::Unknown { why }) = &result.cost else { panic!("{:?}", result.cost) };
    assert_eq!(why, "it polls");
}

/// Every trial of a search closes: what the device drops has a name, and nothing is unknown.
#[test]
fn every_trial_of_a_search_closes_its_balance() {
    let routers = [
        "[cpu]\ncost = { per-frame = \"20us\" }\n[input]\nframes = 20\n",
        "delay = \"3ms\"\n[cpu]\ncost = { per-frame = \"70us\" }\n[input]\nframes = 60\n",
        "[bus]\ncost = { per-frame = \"11us\" }\n[cpu]\ncost = { per-frame = \"9us\" }\nqueue = { frames = 7 }\n\
         [input]\nframes = 50\n",
    ];
    for router in routers {
        let mut lossy = 0;
        for event in of(router, Direction::Unidirectional).1 {
            let method::Event::TrialFinished(record) = event else { continue };
            let result = &record.result;
            let balance = Balance::of(result);
            assert_eq!(balance.legs.len(), 5, "{router}: {balance:#?}");
            assert_eq!(balance.sent(), result.sent[0].report.sent_frames);
            assert_eq!((balance.unknown(), balance.surplus()), (0, 0), "{router}: {balance:#?}");
            let missing = balance.frames(FrameFate::Dropped) + balance.frames(FrameFate::NotYetOut);
            let late = balance.taken_in.late;
            assert_eq!(result.lost_frames(), missing + late, "{router}: {balance:#?}");
            assert!(balance.disagreements().is_empty());
            assert_eq!(balance.legs[2].from, Station::DeviceIn);
            lossy += u32::from(result.lost_frames() > 0);
        }
        assert!(lossy > 1, "{lossy}: {router}");
    }
}
