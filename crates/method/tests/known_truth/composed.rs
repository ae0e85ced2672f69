//! Composed devices at random, by seed: what a method finds is what arithmetic says.

use super::bed::{config, run};
use method::rfc2544::{BurstOutcome, back_to_back, throughput};
use method::search::{
    Bisect, GapSteps, LoadVerdict, LossVerification, Range, Resolution, Search, drive,
};
use sim::{
    Addresses, Composed, Cost, Cpu, Description, Impair, Interface, Protocol, Queue, SimPort,
    SimTester,
};
use traffic::modifier::sub_seed;
use traffic::template::FrameTemplate;
use trial::{
    Expectation, PortId, PortLoad, Prelude, Role, Schedule, Stream, StreamFrame, StreamId,
    StreamResult, Tester, Trial, TrialResult, ValidityLimits, Waits,
};
use units::text::Span;
use units::{Duration, FrameRate, FrameSize, LineRate};
use wire::learning;
use wire::signature::Key;

const DEVICES: u64 = 12;
const SIZE: FrameSize = FrameSize::from_bytes(128);
const TRIAL: Duration = Duration::from_ms(20);
/// No link stands between the tester and the truth.
const PORTS: [SimPort; 2] = [SimPort::nominal(LineRate::from_mbps(100)); 2];

/// A router with one processor and a queue before it.
#[derive(Clone, Debug)]
struct Random {
    seed: u64,
    per_frame: Duration,
    per_byte: Duration,
    queue_frames: u64,
    delay: Duration,
    size: FrameSize,
}

impl Random {
    fn new(seed: u64) -> Self {
        let draw = |what: u64, from: u64, to: u64| from + sub_seed(seed, what) % (to - from);
        Random {
            seed,
            per_frame: Duration::from_ps(draw(0, 8_000_000, 120_000_000)),
            per_byte: Duration::from_ps(draw(1, 0, 300_000)),
            queue_frames: draw(2, 1, 300),
            delay: Duration::from_ps(draw(3, 0, 3_000_000_000)),
            size: FrameSize::from_bytes(draw(4, 64, 1_519) as u32),
        }
    }

    fn all() -> impl Iterator<Item = Random> {
        (0..DEVICES).map(Random::new)
    }

    fn service(&self) -> Duration {
        self.per_frame + self.per_byte * self.size.bytes().into()
    }

    fn description(&self) -> Description {
        let cost = Cost {
            per_frame: Span(self.per_frame),
            per_byte: Span(self.per_byte),
            ..Cost::default()
        };
        Description {
            route: vec![Protocol::Ipv4],
            delay: Span(self.delay),
            input: Queue { frames: Some(self.queue_frames), bytes: None },
            cpu: Some(Cpu { cost, ..Cpu::default() }),
            ..Description::default()
        }
    }

    /// Whether `frames` at this spacing all get through. Before the first loss the processor is
    /// never idle: when frame k comes, floor(t(k) / s) of the k before it are done, one is in
    /// service, the others wait.
    fn carries(&self, rate: FrameRate, frames: u64) -> bool {
        let Some(last) = frames.checked_sub(1) else { return true };
        let done = rate.departure(last).as_ps() / self.service().as_ps();
        last.saturating_sub(done) <= self.queue_frames
    }

    /// What its processor carries without end, whatever its buffer.
    fn sustains_fps(&self) -> f64 {
        1e12 / self.service().as_ps() as f64
    }

    fn carries_for(&self, rate: FrameRate, duration: Duration) -> bool {
        self.carries(rate, rate.frames_in(duration))
    }
}

/// Addresses of the bed's topology.
pub(crate) fn addresses() -> Addresses {
    let mut plan = Addresses::plan(2);
    for (interface, attached) in
        plan.interfaces.iter_mut().zip(super::bed::topology(method::Forwarding::Routed).ports)
    {
        let ipv4 = (attached.device_ipv4, 24);
        *interface = Interface { mac: attached.device_mac, ipv4, ..*interface };
    }
    plan
}

pub(crate) fn tester(description: &Description, ports: &[SimPort]) -> SimTester<Composed> {
    SimTester::new(ports, Composed::new(description, &addresses()).unwrap())
}

/// A constant load from port 0 to port 1, after the host there has made itself known.
fn trial(rate: FrameRate, duration: Duration, size: FrameSize, key: u64) -> Trial {
    let ports = super::bed::topology(method::Forwarding::Routed).ports;
    let (from, to) = (&ports[0], &ports[1]);
    let template =
        FrameTemplate::udp_ipv4((from.mac, from.host_ipv4), (from.device_mac, to.host_ipv4));
    let prepared = template.prepare(size, Some((Key::from_seed(1).later(key), 1))).unwrap();
    Trial {
        label: "random device".into(),
        key: Key::from_seed(1).later(key),
        streams: vec![Stream {
            id: StreamId(1),
            name: "forward".into(),
            role: Role::Test,
            from: PortId(0),
            expect: Expectation::Ports(vec![PortId(1)]),
            frames: vec![StreamFrame { bytes: prepared.frame(0), form: prepared.form() }],
            fingerprint: None,
            given_up: vec![],
            bad_fcs: false,
            grows_by_bytes: 0,
        }],
        loads: vec![PortLoad {
            port: PortId(0),
            schedule: Schedule::constant(rate, duration),
            order: vec![StreamId(1)],
            insertions: vec![],
        }],
        prelude: vec![Prelude {
            port: PortId(1),
            frames: vec![learning::arp_request(to.mac, to.host_ipv4, to.device_ipv4)],
            wait: Duration::from_ms(10),
        }],
        waits: Waits::fixed(Duration::from_secs(1), Duration::ZERO),
        tagging: None,
        count_flows: false,
        verify_payload: true,
        action: None,
        captures: vec![],
        limits: ValidityLimits::default(),
    }
}

pub(crate) fn run_at(tester: &mut dyn Tester, rate: u64, size: FrameSize) -> TrialResult {
    let result = tester.run(&trial(FrameRate::from_fps(rate), TRIAL, size, rate)).unwrap();
    assert!(result.is_valid(), "{:?}", result.validity);
    result
}

/// Runs a search to its end; the bounds must be on both sides of the truth and as near as stated.
fn brackets(
    device: &Random,
    mut search: impl Search<Load = u64, TrialOutput = LoadVerdict>,
    is_near: impl Fn(u64, u64) -> bool,
) {
    let mut tester = tester(&device.description(), &PORTS);
    let bounds = drive(&mut search, |rate, _| {
        let lost_frames = run_at(&mut tester, rate, device.size).lost_frames();
        let failed = LoadVerdict::Failed { lost_frames };
        Ok::<_, ()>(if lost_frames == 0 { LoadVerdict::Passed } else { failed })
    });
    let bounds = bounds.unwrap();
    let carries = |rate| device.carries_for(FrameRate::from_fps(rate), TRIAL);
    let lower = bounds.lower.unwrap_or_else(|| panic!("nothing passed: {device:?}"));
    assert!(carries(lower), "{lower} cannot have passed: {device:?}");
    match bounds.upper {
        Some((upper, _)) => {
            assert!(!carries(upper), "{upper} cannot have failed: {device:?}");
            assert!(is_near(lower, upper), "{lower}..{upper}: {device:?}");
        }
        None => assert!(carries(148_809), "the whole range passed: {device:?}"),
    }
}

const RANGE: Range = Range { min: 100, max: 148_809 };

#[test]
fn every_search_brackets_the_truth() {
    for device in Random::all() {
        let resolution = Resolution { absolute: 1, relative: 0.002 };
        let is_near =
            |lower: u64, upper: u64| upper - lower <= 1.max((upper as f64 * 0.002) as u64);
        brackets(&device, Bisect::new(RANGE, resolution), is_near);
        brackets(&device, LossVerification::new(Bisect::new(RANGE, resolution), 2, None), is_near);
        // A step of a twentieth of the shortest interval: that far apart are neighbouring gaps.
        let step = 0.05;
        let interval = |rate: u64| 148_809.0 / rate as f64;
        // (Loads are whole numbers: the lower one is up to one more.)
        let is_one_step = |lower, upper| interval(lower + 1) - interval(upper) <= step;
        brackets(&device, GapSteps::new(RANGE, step), is_one_step);
    }
}

#[test]
fn throughput_is_the_load_that_arithmetic_says() {
    for device in Random::all().step_by(3) {
        let mut config = config();
        config.frame_sizes = vec![super::bed::size(device.size.bytes())];
        config.trial.duration_s = 0.02;
        config.search.trial_duration_s = 0.02;
        let line = SimPort::physical(LineRate::from_mbps(100));
        let mut tester = tester(&device.description(), &[line; 2]);
        let found = run(&config, &mut tester, throughput).0.throughput;
        let (rate, maximum) =
            (found.rate.unwrap(), LineRate::from_mbps(100).max_frame_rate(device.size));
        assert!(device.carries_for(rate, TRIAL), "{rate}: {device:?}");
        assert!(rate.fps() <= device.sustains_fps() * 1.02, "{rate} by its buffer: {device:?}");
        match found.upper {
            // The queue carried a higher load for a trial; the processor keeps up its own rate.
            Some(upper) if found.buffered.is_some() => {
                let buffered = found.buffered.unwrap().rate;
                assert!(device.carries_for(buffered, TRIAL), "{buffered}: {device:?}");
                let truth = 1e12 / device.service().as_ps() as f64;
                let (rate, upper) = (rate.fps(), upper.fps());
                assert!(rate <= truth * 1.0005 && truth <= upper * 1.0005, "{found:?} {device:?}");
            }
            Some(upper) => assert!(
                !device.carries_for(upper, TRIAL) || upper.fps() > device.sustains_fps(),
                "{upper}: {device:?}"
            ),
            None => assert!(device.carries_for(maximum, TRIAL), "{device:?}"),
        }
    }
}

#[test]
fn back_to_back_finds_the_buffer_exactly() {
    let line = LineRate::from_mbps(100);
    for device in Random::all().step_by(3) {
        // So small that a burst at line rate overflows the queue.
        let device = Random { size: FrameSize::from_bytes(64), ..device };
        let mut config = config();
        config.trial.duration_s = 0.2;
        config.search.trial_duration_s = 0.2;
        config.back_to_back.repetitions = 2;
        config.back_to_back.step_frames = 1;
        config.back_to_back.resolution_percent = 0.0;
        let mut tester = tester(&device.description(), &[SimPort::physical(line); 2]);
        let (result, _) = run(&config, &mut tester, |bench, subject| {
            let found = throughput(bench, subject)?;
            back_to_back(bench, subject, &found)
        });
        let rate = line.max_frame_rate(device.size);
        let longest = (1..).take_while(|frames| device.carries(rate, *frames)).last().unwrap();
        for search in &result.searches {
            assert_eq!(search.outcome, BurstOutcome::Measured, "{device:?}");
            assert_eq!(search.frames, longest, "{device:?}");
        }
        assert_eq!(result.searches.len(), 2);
    }
}

/// Onto the line, service, delay, off the line: to the picosecond, for every frame.
#[test]
fn latency_is_exact_to_the_picosecond() {
    for device in Random::all() {
        let line = LineRate::from_mbps(100);
        let propagation = Duration::from_ps(sub_seed(device.seed, 9) % 5_000_000);
        let port = SimPort::physical(line).propagation(propagation);
        let mut tester = tester(&device.description(), &[port; 2]);
        let result = run_at(&mut tester, 400, device.size);
        let on_line = device.size.serialization_time(line) + propagation;
        let truth = on_line * 2 + device.service() + device.delay;
        let latency = result.latency().unwrap();
        assert_eq!((latency.min(), latency.max()), (Some(truth), Some(truth)), "{device:?}");
        assert_eq!(latency.count(), 8);
    }
}

/// What became of a thousand frames, 20 us apart, through a cable with these faults.
fn count(impair: Impair) -> StreamResult {
    // Ports in pairs: no frame but the test frames comes by.
    let description = Description { impair, ..Description::default() };
    let device = description.device(&addresses()).unwrap();
    let mut tester = SimTester::new(&PORTS, device);
    let mut trial = trial(FrameRate::from_fps(50_000), TRIAL, SIZE, 7);
    trial.prelude.clear();
    let result = tester.run(&trial).unwrap();
    assert_eq!(result.offered_frames(), 1_000);
    result.streams[0].clone()
}

#[test]
fn what_is_injected_is_counted_exactly() {
    for device in Random::all() {
        let every = 2 + sub_seed(device.seed, 5) % 40;
        let struck = 1_000 / every;
        let dropped = count(Impair { drop_every: Some(every), ..Impair::default() });
        assert_eq!((dropped.lost, dropped.duplicates, dropped.reordered), (struck, 0, 0));
        let doubled = count(Impair { duplicate_every: Some(every), ..Impair::default() });
        assert_eq!((doubled.lost, doubled.duplicates, doubled.reordered), (0, struck, 0));
        // Held back by 75 intervals, a frame is overtaken unless none comes after it. Where two
        // are held at once, the later one is still behind those in between.
        let reorder_by = Some(Span(Duration::from_us(1_500)));
        let held = count(Impair { reorder_every: Some(every), reorder_by, ..Impair::default() });
        let at_the_end = u64::from(struck * every == 1_000);
        assert_eq!((held.lost, held.duplicates), (0, 0));
        assert_eq!(held.reordered, struck - at_the_end);
        let flipped = count(Impair { corrupt_every: Some(every), ..Impair::default() });
        assert_eq!((flipped.lost, flipped.duplicates), (struck, 0));
    }
}

/// Some frames damaged, some of all doubled, and some of what is there then dropped: rules around
/// rules, each with its own count.
#[test]
fn faults_on_top_of_each_other_are_counted_exactly() {
    for seed in (0..40).chain(crate::new_seeds::new_seeds()) {
        let every = |what| 2 + sub_seed(seed, what) % 30;
        let (corrupt, double, drop) = (every(1), every(2), every(3));
        let sent = 0..1_000u64;
        let whole = sent.map(|frame| (frame, (frame + 1) % corrupt > 0));
        let strikes = |index: usize, every: u64| (index as u64 + 1).is_multiple_of(every);
        let doubled = whole.enumerate().flat_map(|(index, frame)| {
            std::iter::repeat_n(frame, 1 + usize::from(strikes(index, double)))
        });
        let kept = doubled.enumerate().filter(|(index, _)| !strikes(*index, drop));
        let arrived: Vec<u64> =
            kept.filter_map(|(_, (frame, is_whole))| is_whole.then_some(frame)).collect();
        let unique = arrived.iter().collect::<std::collections::BTreeSet<_>>().len() as u64;
        let found = count(Impair {
            corrupt_every: Some(corrupt),
            duplicate_every: Some(double),
            drop_every: Some(drop),
            ..Impair::default()
        });
        let context = format!("damaged {corrupt}, doubled {double}, dropped {drop}: {found:?}");
        assert_eq!((found.received, found.lost), (unique, 1_000 - unique), "{context}");
        assert_eq!(found.duplicates, arrived.len() as u64 - unique, "{context}");
        assert_eq!((found.reordered, found.late, found.misdirected), (0, 0, 0), "{context}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    for device in Random::all().take(4) {
        let description = Description {
            delay_varies_by: Span(Duration::from_ms(1)),
            seed: device.seed,
            ..device.description()
        };
        let result = || run_at(&mut tester(&description, &PORTS), 5_000, device.size);
        let (once, again) = (result(), result());
        assert_eq!(once, again);
        assert!(once.latency().unwrap().max() > once.latency().unwrap().min());
    }
}
