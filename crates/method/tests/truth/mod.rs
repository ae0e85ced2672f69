//! Random devices, each with truth by independent arithmetic, in the `quick` and the `rfc` profile
//! with their own waits: no number that is stated with confidence may be wrong.
//!
//! * `NETANVIL_TRUTH_SECONDS`: for how long (20); `NETANVIL_TRUTH_DEVICES`: or for so many devices.
//! * `NETANVIL_TRUTH_FROM`: the seed of the day of an earlier run.
//! * `NETANVIL_TRUTH_SEED`: a single device, with everything that was stated.
//!
//! Devices of which a number was wrong once come first, then seeds that are the same every day, then those
//! from a seed of the day on, which is printed. A wrong number of any of them fails the run: with its seed
//! it can be seen again.

// Tests may read a clock: how long to go on, and the seed of the day.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod arithmetic;
mod check;
mod device;
mod named;

use crate::known_truth::bed;
use check::Tally;
pub use device::Device;
use method::{Event, Forwarding, Profile, RunError, RunFinished, Suite, SuiteConfig, TestKind};
use sim::{Addresses, Description, DeviceUnderTest, Limits, SimTester};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use traffic::size::SizePattern;
use units::{FrameRate, FrameSize, LineRate};

/// Of all statements so many have to decide something: a tester that decides nothing is none.
const DECIDED_AT_LEAST: f64 = 0.9;
/// Seeds that are the same every day.
const FIXED_SEEDS: u64 = 150;
/// Devices of which a number was wrong once. Delays that varied: as much as the queue of 0.1 % grew; by so
/// much that none grew, and yet it looked so; in a trial of six frames, and of twelve; among frames that keep
/// their order. Frames kept for a minute, and forwarded after more than 2 s. 9 s, 9.9 s, 10.5 s and 1 s for each frame.
const ONCE_WRONG: [u64; 12] = [
    1_795_371_529,
    1_795_371_386,
    1_795_371_628,
    5_141_595_801,
    7_000_003_724,
    1_795_371_409,
    79,
    3_141_593_301,
    6_000_003_612,
    6_000_001_052,
    7_000_000_320,
    1_795_783_599,
];

fn config(device: &Device) -> SuiteConfig {
    let profile = if device.is_rfc { Profile::Rfc } else { Profile::Quick };
    let mut config = SuiteConfig::of(profile);
    config.frame_sizes = vec![SizePattern::Fixed(device.size())];
    config.tests = vec![TestKind::Throughput];
    // The same numbers again and again: once is enough, with the waits of the profile.
    config.latency.repetitions = 1;
    config.back_to_back.repetitions = 1;
    match device.seed % 3 {
        0 => config.tests.push(TestKind::Latency),
        1 => config.tests.push(TestKind::FrameLoss),
        _ => config.tests.push(TestKind::BackToBack),
    }
    if !device.is_rfc {
        use TestKind::*;
        config.tests = vec![Throughput, Latency, FrameLoss, BackToBack];
    }
    config
}

/// A tester in front of the device.
fn tester(device: &Device, description: &Description) -> SimTester<Box<dyn DeviceUnderTest>> {
    let addresses = Addresses::plan(2);
    if !device.has_pause {
        return description.tester(&addresses).expect("a device that can be built");
    }
    // Its lines differ, which no file can say.
    let mut ports = description.ports();
    ports[1].line_rate = LineRate::from_bps(device.out_line_bps);
    let built = description.device(&addresses).expect("a device that can be built");
    let max_rate = device.tester_fps.map(FrameRate::from_fps);
    let limits = Limits { honours_pause: true, max_rate, ..Limits::default() };
    SimTester::new(&ports, built).limits(limits)
}

/// The events of throughput and frame loss rate with these frames, by the profile of the device.
pub fn events(device: &Device, sizes: &[u32]) -> Vec<Event> {
    let mut config = config(device);
    config.tests = vec![TestKind::Throughput, TestKind::FrameLoss];
    let mut sizes = sizes.to_vec();
    sizes.dedup();
    let sizes = sizes.into_iter().map(FrameSize::from_bytes);
    config.frame_sizes = sizes.map(SizePattern::Fixed).collect();
    events_of(device, config).0
}

/// Runs a suite before a device; `say` sees every event.
fn run(device: &Device, config: SuiteConfig, say: &mut dyn FnMut(&Event)) -> Tally {
    let (events, ended) = events_of(device, config);
    let mut tally = Tally::default();
    for event in &events {
        say(event);
        if let Event::TestFinished(result) = event {
            tally.judge(device, result);
        }
    }
    if let Err(error) = ended {
        tally.undecided.push(("run", error.to_string()));
    }
    tally
}

fn events_of(device: &Device, config: SuiteConfig) -> (Vec<Event>, Result<RunFinished, RunError>) {
    let description =
        Description::from_toml(&device.toml()).expect("a description that can be read");
    let addresses = Addresses::plan(2);
    let mut looped = description.looped().tester(&addresses).expect("a cable");
    let mut tester = tester(device, &description);
    let suite = Suite {
        program: "truth".into(),
        device: "at random".into(),
        environment: BTreeMap::new(),
        config,
        topology: bed::topology(Forwarding::Routed),
        self_test: None,
        more: &[],
    };
    let looped: Option<&mut dyn trial::Tester> =
        if device.has_self_test { Some(&mut looped) } else { None };
    let mut events: Vec<Event> = vec![];
    let ended = suite.run(&mut tester, looped, &mut events);
    (events, ended)
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// What came of all devices.
#[derive(Default)]
struct Score {
    devices: u64,
    decided: u64,
    wrong: BTreeMap<&'static str, Vec<(u64, String)>>,
    undecided: BTreeMap<&'static str, Vec<(u64, String)>>,
}

impl Score {
    fn add(&mut self, device: &Device, tally: Tally) {
        self.devices += 1;
        self.decided += tally.decided;
        for (class, what) in tally.wrong {
            self.wrong.entry(class).or_default().push((device.seed, what));
        }
        // A tester that is slower than the medium cannot decide everything.
        for (about, why) in tally.undecided {
            if device.tester_fps.is_none() {
                self.undecided.entry(about).or_default().push((device.seed, why));
            }
        }
    }

    fn merge(&mut self, other: Score) {
        self.devices += other.devices;
        self.decided += other.decided;
        for (class, cases) in other.wrong {
            self.wrong.entry(class).or_default().extend(cases);
        }
        for (about, cases) in other.undecided {
            self.undecided.entry(about).or_default().extend(cases);
        }
    }

    fn print(&self) {
        let examples = |cases: &[(u64, String)]| {
            for (seed, what) in cases.iter().take(4) {
                let what: String = what.chars().take(420).collect();
                println!("    seed {seed}: {what}");
            }
        };
        for (about, cases) in &self.undecided {
            println!("  undecided, {about}: {}", cases.len());
            examples(cases);
        }
        for (class, cases) in &self.wrong {
            println!("  WRONG, {class}: {}", cases.len());
            examples(cases);
            let first = Device::new(cases[0].0);
            println!("    {}\n      {}", first.command(), first.toml().replace('\n', "\n      "));
        }
        let wrong: usize = self.wrong.values().map(Vec::len).sum();
        let undecided: usize = self.undecided.values().map(Vec::len).sum();
        println!(
            "truth: {} devices, {wrong} wrong, {undecided} undecided of {} statements ({:.1} % decided)",
            self.devices,
            self.decided + undecided as u64,
            self.share() * 100.0
        );
    }

    fn share(&self) -> f64 {
        let undecided = self.undecided.values().map(Vec::len).sum::<usize>() as f64;
        self.decided as f64 / (self.decided as f64 + undecided).max(1.0)
    }
}

#[test]
fn no_wrong_number_is_stated_with_confidence() {
    if let Some(seed) = number("NETANVIL_TRUTH_SEED") {
        return one(seed);
    }
    let started = Instant::now();
    let devices = number("NETANVIL_TRUTH_DEVICES");
    let seconds = number("NETANVIL_TRUTH_SECONDS").unwrap_or(20);
    let today = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let today = number("NETANVIL_TRUTH_FROM").unwrap_or(today);
    println!("truth: seeds from 0 and from {today}");
    let next = AtomicU64::new(0);
    let is_over = |number: u64| match devices {
        Some(devices) => number >= devices,
        None => started.elapsed().as_secs() >= seconds,
    };
    let work = || {
        let (mut drawn, mut chosen) = (Score::default(), Score::default());
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if is_over(number) {
                return (drawn, chosen);
            }
            let seed = match ONCE_WRONG.get(number as usize) {
                Some(seed) => *seed,
                None if number < FIXED_SEEDS => number,
                None => today + number,
            };
            let device = Device::new(seed);
            let score = if ONCE_WRONG.contains(&seed) { &mut chosen } else { &mut drawn };
            score.add(&device, run(&device, config(&device), &mut |_| {}));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (mut drawn, mut chosen) = (Score::default(), Score::default());
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            let (of_drawn, of_chosen) = worker.join().expect("a device whose run panicked");
            drawn.merge(of_drawn);
            chosen.merge(of_chosen);
        }
    });
    println!("devices of which a number was wrong once:");
    chosen.print();
    println!("devices drawn at random:");
    drawn.print();
    for score in [&chosen, &drawn] {
        let wrong = &score.wrong;
        assert!(wrong.is_empty(), "wrong numbers stated with confidence: {wrong:?}");
    }
    // What was chosen for being hard is no sample: it says nothing of how much is decided.
    assert!(drawn.share() >= DECIDED_AT_LEAST, "too little is decided");
}

/// A single device, with everything that was stated.
fn one(seed: u64) {
    let device = Device::new(seed);
    println!("{}\n{}\n{device:?}", device.command(), device.toml());
    println!("capacity {:.3} of {:.3} fps", device.capacity_fps(), device.medium_fps());
    let tally = run(&device, config(&device), &mut |event| match event {
        Event::TrialFinished(trial) => {
            let (sent, received) =
                (trial.result.expected_frames(), trial.result.forwarded_frames());
            println!(
                "{}: {:?}, {received} of {sent}, {:?}",
                trial.result.label, trial.verdict, trial.result.validity
            );
        }
        Event::TestFinished(result) => {
            println!("{}", format!("{result:?}").chars().take(1_500).collect::<String>());
        }
        _ => {}
    });
    println!("{tally:#?}");
    assert!(tally.wrong.is_empty(), "wrong numbers stated with confidence");
}
