//! Devices of several processors in a row, at random, by seed: every search, the longest burst and
//! the delay are what the arithmetic of [`tandem`](super::tandem) says.

use super::bed::{config, run, size};
use super::composed::{run_at, tester};
use super::tandem::{Coming, Stage, alone, through};
use method::rfc2544::{BurstOutcome, back_to_back, throughput};
use method::{Finding, RateFound, SearchPolicy, SuiteConfig};
use sim::{
    Card, Composed, Cost, Cpu, Description, Limits, Processor, Protocol, Queue, SimPort, SimTester,
};
use traffic::modifier::sub_seed;
use units::text::Span;
use units::{Duration, FrameRate, FrameSize, LineRate};

const LINE: LineRate = LineRate::from_mbps(100);
const TRIAL_S: f64 = 0.02;

/// A router: any of card, bus and central processor, with a queue before each.
#[derive(Debug)]
struct Pipeline {
    description: Description,
    stages: Vec<Stage>,
    size: FrameSize,
    propagation: Duration,
}

/// Draws numbers, each from a seed and a counter.
pub(crate) struct Draw(pub u64, pub u64);

impl Draw {
    pub(crate) fn between(&mut self, from: u64, to: u64) -> u64 {
        self.1 += 1;
        from + sub_seed(self.0, self.1) % (to - from)
    }
    pub(crate) fn chance(&mut self) -> bool {
        self.between(0, 2) == 0
    }
    pub(crate) fn ps(&mut self, from: u64, to: u64) -> Duration {
        Duration::from_ps(self.between(from, to))
    }
    pub(crate) fn cost(&mut self) -> Cost {
        let (first, buffer) = (self.between(20, 400) as u32, self.between(64, 600) as u32);
        Cost {
            per_frame: Span(self.ps(4_000_000, 60_000_000)),
            per_byte: Span(self.ps(0, 100_000)),
            first_bytes: self.chance().then_some(first),
            per_buffer: Span(self.ps(0, 9_000_000)),
            buffer_bytes: self.chance().then_some(buffer),
            ..Cost::default()
        }
    }
    pub(crate) fn queue(&mut self) -> Queue {
        Queue { frames: Some(self.between(0, 60)), bytes: None }
    }
}

/// What docs/devices.md says that a frame costs.
pub(crate) fn service(cost: &Cost, bytes: u64) -> Duration {
    let counted = cost.first_bytes.map_or(bytes, |first| bytes.min(first.into()));
    let more = cost.buffer_bytes.map_or(0, |buffer| bytes.div_ceil(buffer.into()) - 1);
    cost.per_frame.0 + cost.per_byte.0 * counted + cost.per_buffer.0 * more
}

impl Pipeline {
    fn new(seed: u64) -> Self {
        let mut draw = Draw(seed, 0);
        let bytes = draw.between(64, 700);
        let (input, bus, cpu, output) = (draw.cost(), draw.cost(), draw.cost(), draw.cost());
        let [first, q_bus, q_cpu, q_card] = [(); 4].map(|()| draw.queue());
        let [has_card, has_bus, mut has_cpu] = [(); 3].map(|()| draw.chance());
        has_cpu |= !has_card && !has_bus;
        let mut stages: Vec<Stage> = vec![];
        let mut add = |cost: &Cost, queue: Queue| {
            let queue = if stages.is_empty() { first } else { queue };
            let room = queue.frames.unwrap_or(u64::MAX);
            let service = service(cost, bytes);
            stages.push(Stage { service, room, of_each_input: false });
            // The first one's queue is the device's input.
            if stages.len() == 1 { Queue::default() } else { queue }
        };
        let mut description = Description {
            route: vec![Protocol::Ipv4],
            delay: Span(draw.ps(0, 3_000_000_000)),
            input: first,
            cut_through_bytes: draw.chance().then_some(64),
            ..Description::default()
        };
        if has_card {
            add(&input, Queue::default());
        }
        if has_bus {
            let queue = add(&bus, q_bus);
            description.bus = Some(Processor { cost: bus, queue, ..Processor::default() });
        }
        if has_cpu {
            let queue = add(&cpu, q_cpu);
            description.cpu = Some(Cpu { cost: cpu, queue, ..Cpu::default() });
        }
        if has_card {
            let queue = add(&output, q_card);
            description.card = Some(Card { input, output, queue, ..Card::default() });
        }
        let size = FrameSize::from_bytes(bytes as u32);
        let propagation = draw.ps(0, 5_000_000);
        Pipeline { description, stages, size, propagation }
    }

    fn ports(&self) -> [SimPort; 2] {
        [SimPort::physical(LINE).propagation(self.propagation); 2]
    }

    fn tester(&self) -> SimTester<Composed> {
        tester(&self.description, &self.ports())
    }

    fn config(&self) -> SuiteConfig {
        let mut config = config();
        config.frame_sizes = vec![size(self.size.bytes())];
        config.trial.duration_s = TRIAL_S;
        config.search.trial_duration_s = TRIAL_S;
        config
    }

    fn carries(&self, rate: FrameRate, frames: u64) -> bool {
        let frames: Vec<Coming> = (0..frames).map(|k| (rate.departure(k).as_ps(), 0)).collect();
        let count = frames.len();
        through(&self.stages, frames).len() == count
    }

    /// What its slowest stage carries without end.
    fn sustains_fps(&self) -> f64 {
        let slowest = self.stages.iter().map(|stage| stage.service).max();
        1e12 / slowest.map_or(1, Duration::as_ps) as f64
    }

    fn carries_for_a_trial(&self, rate: FrameRate) -> bool {
        self.carries(rate, rate.frames_in(Duration::from_secs_f64(TRIAL_S)))
    }

    /// A higher load passed a trial, and the bounds are on both sides of what the slowest processor does.
    fn keeps_up(&self, found: &RateFound) {
        let context = format!("{found:?} {self:?}");
        let buffered = found.buffered.unwrap().rate;
        assert!(self.carries_for_a_trial(buffered), "cannot have passed, {context}");
        let slowest = self.stages.iter().map(|stage| stage.service).max().unwrap();
        let truth = 1e12 / slowest.as_ps() as f64;
        let (rate, upper) = (found.rate.unwrap().fps(), found.upper.unwrap().fps());
        // A twentieth of the resolution, 1 % at most, is no growth.
        assert!(rate <= truth * 1.0005 && truth <= upper * 1.0005, "{truth}, {context}");
    }

    /// The bounds are on both sides of the truth.
    fn agrees_with(&self, found: &RateFound) {
        let context = format!("{}: {found:?} {self:?}", found.policy);
        if found.buffered.is_some() {
            return self.keeps_up(found);
        }
        match found.rate {
            Some(rate) => {
                assert!(self.carries_for_a_trial(rate), "cannot have passed, {context}");
                let by_buffer = rate.fps() > self.sustains_fps() * 1.02;
                let is_adaptive = found.policy == SearchPolicy::Adaptive;
                assert!(!is_adaptive || !by_buffer, "carried by its buffer, {context}");
            }
            None => assert!(matches!(found.finding, Finding::NothingPassed { .. }), "{context}"),
        }
        match (found.upper, &found.finding) {
            (Some(upper), Finding::Measured) => {
                let is_sustained = upper.fps() <= self.sustains_fps();
                let fails = !self.carries_for_a_trial(upper) || !is_sustained;
                assert!(fails, "cannot have failed, {context}");
            }
            (_, Finding::AtTheoreticalMaximum) => {
                let maximum = LINE.max_frame_rate(self.size);
                assert!(self.carries_for_a_trial(maximum), "{context}");
            }
            (_, finding) => panic!("{finding:?}, {context}"),
        }
    }
}

#[test]
fn every_search_brackets_the_truth_within_its_resolution() {
    let policies = [
        SearchPolicy::Bisect,
        SearchPolicy::Step,
        SearchPolicy::Tst009,
        SearchPolicy::Mlrsearch,
        SearchPolicy::Adaptive,
    ];
    let mut measured = 0;
    for (seed, policy) in (0..6).flat_map(|seed| policies.map(|policy| (seed, policy))) {
        let device = Pipeline::new(seed);
        let mut config = device.config();
        config.search.policy = policy;
        config.search.resolution_percent = 0.5;
        let found = run(&config, &mut device.tester(), throughput).0.throughput;
        assert_eq!((found.policy, found.invalid_trials), (policy, 0));
        device.agrees_with(&found);
        if let (Some(rate), Some(upper)) = (found.rate, found.upper) {
            let (rate, upper) = (rate.fps(), upper.fps());
            let maximum = LINE.max_frame_rate(device.size).fps();
            // A step of the gap is that share of the shortest interval.
            let apart = match policy {
                SearchPolicy::Step if found.buffered.is_none() => maximum / rate - maximum / upper,
                _ => (upper - rate) / upper,
            };
            assert!(apart <= 0.005 + 1e-6, "{policy}: {found:?}");
            measured += 1;
        }
    }
    assert!(measured >= 16, "{measured} of 24 were not the medium's maximum");
}

#[test]
fn back_to_back_finds_the_longest_burst_exactly() {
    let mut measured = 0;
    // Of seed 100246 every burst up to the limit passes: a frame waits little longer than on the line.
    for seed in (20..26).chain([100_246]).chain(crate::new_seeds::new_seeds()) {
        let device = Pipeline::new(seed);
        let mut config = device.config();
        config.trial.duration_s = 0.2;
        config.search.trial_duration_s = 0.2;
        config.back_to_back.repetitions = 1;
        config.back_to_back.step_frames = 1;
        config.back_to_back.resolution_percent = 0.0;
        let (result, _) = run(&config, &mut device.tester(), |bench, subject| {
            let found = throughput(bench, subject)?;
            back_to_back(bench, subject, &found)
        });
        let rate = LINE.max_frame_rate(device.size);
        for search in &result.searches {
            assert!(device.carries(rate, search.frames), "{} lose some: {device:?}", search.frames);
            let one_more_fits = device.carries(rate, search.frames + 1);
            match &search.outcome {
                BurstOutcome::Measured => assert!(!one_more_fits, "one more fits: {device:?}"),
                BurstOutcome::AtLimit => {
                    let highest = Duration::from_secs_f64(config.back_to_back.highest_limit_s);
                    assert_eq!((result.limit, search.frames), (highest, rate.frames_in(highest)));
                }
                other => panic!("{other:?}: {device:?}"),
            }
            measured += 1;
        }
    }
    assert!(measured >= 4, "{measured}");
}

/// Onto the line (as much of it as is waited for), every service, the delay, off the line.
#[test]
fn latency_is_exact_to_the_picosecond() {
    for seed in (40..60).chain(crate::new_seeds::new_seeds()) {
        let device = Pipeline::new(seed);
        let result = run_at(&mut device.tester(), 300, device.size);
        let heard = device
            .description
            .cut_through_bytes
            .map_or(device.size.bytes(), |bytes| bytes.min(device.size.bytes()));
        let on_line = LINE.time_of_bytes(heard.into()) + device.size.serialization_time(LINE);
        let inside = alone(&device.stages) + device.description.delay.0;
        let truth = on_line + inside + device.propagation * 2;
        let latency = result.latency().unwrap();
        assert_eq!((latency.min(), latency.max()), (Some(truth), Some(truth)), "{device:?}");
    }
}

/// A tester that sends no faster than it can, or stands still now and then, before any of them: the
/// device is never called slower than it is, and no trial decides in which the tester fell short.
#[test]
fn a_slow_tester_is_never_the_device() {
    for seed in (60..66).chain(crate::new_seeds::new_seeds()) {
        let device = Pipeline::new(seed);
        let most = 4_000 + sub_seed(seed, 77) % 30_000;
        let limits = Limits { max_rate: Some(FrameRate::from_fps(most)), ..Limits::default() };
        let mut tester = device.tester().limits(limits);
        let (result, _) = run(&device.config(), &mut tester, throughput);
        let found = &result.throughput;
        let context = format!("{found:?} {device:?}");
        assert!(found.rate.is_none_or(|rate| device.carries_for_a_trial(rate)), "{context}");
        match &found.finding {
            Finding::Measured if found.buffered.is_some() => device.keeps_up(found),
            Finding::Measured => {
                let upper = found.upper.unwrap();
                let is_sustained = upper.fps() <= device.sustains_fps();
                assert!(!device.carries_for_a_trial(upper) || !is_sustained, "{context}");
            }
            Finding::AtLeast { why } => {
                assert!(why.contains("the tester could offer"), "{context}");
                assert!(found.rate.unwrap().fps() <= most as f64 * 1.002, "{context}");
            }
            // The line ends before tester and device do.
            Finding::AtTheoreticalMaximum => {
                let line = LINE.max_frame_rate(device.size).fps();
                let is_carried = line <= device.sustains_fps() * 1.02;
                assert!(line <= most as f64 && is_carried, "{context}");
            }
            finding => panic!("{finding:?}, {context}"),
        }
    }
}
