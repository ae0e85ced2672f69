//! What every [`Tester`] must get right, as one body of checks: the live ports and the simulator
//! run the same. Compiled with the feature `conformance` only.
//!
//! The tester is to be joined by something that forwards every frame of the given [`Path`]s
//! without loss, duplication or reordering, at the rate given: two ports back to back, a router, a
//! bridge, or a perfect simulated device.

use crate::{
    Expectation, Insertion, PortId, PortLoad, Role, Schedule, Stream, StreamFrame, StreamId,
    StreamReceived, Tagging, Tester, Trial, TrialResult, Trigger, ValidityLimits, Waits,
};
use std::net::IpAddr;
use traffic::template::FrameTemplate;
use units::{Duration, FrameRate, FrameSize};
use wire::ethernet::MacAddr;
use wire::signature::{Form, Key};

/// How often a trial in which the tester fell short is tried.
const ATTEMPTS: usize = 20;
/// Long enough for another process's burst of work to pass.
const BETWEEN_ATTEMPTS: Duration = Duration::from_ms(200);

/// A way through the device that frames can take.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Path {
    /// Where frames enter the device.
    pub from: PortId,
    /// Where they come out.
    pub to: PortId,
    /// Frames of any protocol that the device takes from the one to the other.
    pub frames: FrameTemplate,
}

impl Path {
    /// UDP frames from the addresses of a source to the Ethernet address of the next hop and the IP
    /// address of the destination, of the same version.
    ///
    /// # Panics
    /// If source and destination are of different IP versions.
    pub fn udp(
        from: PortId,
        to: PortId,
        source: (MacAddr, IpAddr),
        destination: (MacAddr, IpAddr),
    ) -> Path {
        let ((src_mac, src), (dst_mac, dst)) = (source, destination);
        let frames = match (src, dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                FrameTemplate::udp_ipv4((src_mac, src), (dst_mac, dst))
            }
            (IpAddr::V6(src), IpAddr::V6(dst)) => {
                FrameTemplate::udp_ipv6((src_mac, src), (dst_mac, dst))
            }
            _ => panic!("a path from {src} to {dst}"),
        };
        Path { from, to, frames }
    }

    /// The smallest frame that carries a whole signature.
    fn smallest_full(&self) -> FrameSize {
        let mut sizes = (64..).map(FrameSize::from_bytes);
        let smallest = sizes.find(|size| self.frames.form_for(*size) == Some(Form::Full));
        smallest.expect("some frame is large enough")
    }
}

/// What to send in one trial.
#[derive(Clone, Debug)]
pub struct Load<'a> {
    /// The paths, each with as many streams as `streams_each`.
    pub paths: &'a [Path],
    /// Streams of each path.
    pub streams_each: u16,
    /// Sizes of a stream's frames, in turn.
    pub sizes: &'a [FrameSize],
    /// Of each transmitting port.
    pub rate: FrameRate,
    /// Of the trial.
    pub duration: Duration,
    /// Differs from trial to trial.
    pub key: Key,
}

impl Load<'_> {
    /// The trial that sends it, waiting up to a second for residual frames.
    ///
    /// # Panics
    /// If a size is too small, or too large, for a frame of that protocol with a signature.
    pub fn trial(&self, label: &str) -> Trial {
        let mut streams = vec![];
        for path in self.paths {
            for _ in 0..self.streams_each {
                streams.push(self.stream(path, StreamId(streams.len() as u16 + 1)));
            }
        }
        let mut ports: Vec<PortId> = self.paths.iter().map(|path| path.from).collect();
        ports.sort();
        ports.dedup();
        let loads = ports.into_iter().map(|port| PortLoad {
            port,
            schedule: Schedule::constant(self.rate, self.duration),
            order: streams.iter().filter(|s| s.from == port).map(|s| s.id).collect(),
            insertions: vec![],
        });
        Trial {
            label: label.into(),
            key: self.key,
            loads: loads.collect(),
            streams,
            prelude: vec![],
            waits: Waits::fixed(Duration::from_secs(1), Duration::ZERO),
            tagging: None,
            count_flows: false,
            verify_payload: true,
            action: None,
            captures: vec![],
            // Accounts are checked here, not paces: what a moment held up is made up for, in bursts that any
            // queue takes, or given up.
            limits: ValidityLimits {
                shortfall: 0.05,
                late_after_us: 1_000_000,
                credit_us: 5_000,
                ..ValidityLimits::default()
            },
        }
    }

    fn stream(&self, path: &Path, id: StreamId) -> Stream {
        let frame = |size: &FrameSize| {
            let prepared = path.frames.prepare(*size, Some((self.key, id.0)));
            let prepared = prepared.expect("a size with room for headers and signature");
            StreamFrame { bytes: prepared.frame(0), form: prepared.form() }
        };
        Stream {
            id,
            name: format!("{} to {}, stream {}", path.from, path.to, id.0),
            role: Role::Test,
            from: path.from,
            expect: Expectation::Ports(vec![path.to]),
            frames: self.sizes.iter().map(frame).collect(),
            fingerprint: None,
            given_up: vec![],
            bad_fcs: false,
            grows_by_bytes: 0,
        }
    }
}

/// What the device can carry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capacity {
    /// Frames a second of all ports together that it carries without loss.
    pub rate: FrameRate,
    /// Largest frame.
    pub largest: FrameSize,
}

/// Runs every check; panics where one fails. `paths` are to include one and its way back.
///
/// Gives the trials that decided nothing: the tester said in each attempt that it was held up. In virtual time
/// there are none.
#[must_use = "what was not decided did not pass"]
pub fn check(tester: &mut dyn Tester, paths: &[Path], capacity: Capacity) -> Vec<String> {
    let there = &paths[..1];
    let sizes = [there[0].smallest_full(), FrameSize::from_bytes(570), capacity.largest];
    let mut key = Key::from_seed(0x1000);
    let mut next_key = || {
        key = key.later(1);
        key
    };
    let half = FrameRate::from_fps_f64(capacity.rate.fps() / 2.0);
    let duration = Duration::from_ms(200);
    let load = |paths, streams_each, sizes, rate, key| Load {
        paths,
        streams_each,
        sizes,
        rate,
        duration,
        key,
    };
    let smallest = [FrameSize::MIN_ETHERNET];
    let compact = smallest.iter().filter(|size| **size < sizes[0]);
    let mut trials = vec![];
    for size in compact.chain(&sizes) {
        let trial = load(there, 1, std::slice::from_ref(size), capacity.rate, next_key());
        trials.push(trial.trial(&format!("one way, {size} bytes")));
    }
    let both = load(paths, 1, &sizes[..1], half, next_key());
    trials.push(both.trial("every path at once"));
    let many = load(there, 100, &sizes[..1], capacity.rate, next_key());
    trials.push(many.trial("a hundred streams"));
    let mix = load(there, 1, &sizes, half, next_key());
    trials.push(mix.trial("sizes in turn"));
    let mut undecided = vec![];
    for trial in &trials {
        undecided.extend(lossless(tester, trial).err());
    }
    undecided.extend(tagged_frames(tester, mix.trial("tagged frames")).err());
    undecided.extend(inserted_frames(tester, many.trial("an inserted stream")).err());
    nothing_sent(tester, Load { duration: Duration::ZERO, ..both.clone() }.trial("nothing"));
    undecided
}

/// Runs a trial that must not lose anything; an error if the tester was held up.
fn lossless(tester: &mut dyn Tester, trial: &Trial) -> Result<TrialResult, String> {
    let result = run_valid(tester, trial)?;
    let label = &trial.label;
    assert_eq!(result.lost_frames(), 0, "{label}");
    assert_eq!(result.offered_frames(), result.intended_frames(), "{label}");
    for stream in &result.streams {
        let told = (stream.duplicates, stream.reordered, stream.late, stream.corrupted);
        assert_eq!(told, (0, 0, 0, 0), "{label}: {}", stream.name);
        assert_eq!(stream.misdirected, 0, "{label}: {}", stream.name);
    }
    Ok(result)
}

/// Runs a trial until it is valid and everything was sent: on a busy machine a live tester may be held up, must
/// say so, and does better when asked again. Its account closes each time.
fn run_valid(tester: &mut dyn Tester, trial: &Trial) -> Result<TrialResult, String> {
    for attempt in 1..=ATTEMPTS {
        let result = run_accounted(tester, trial);
        let mut ports = result.sent.iter().map(|sent| &sent.report);
        let is_whole = ports.all(|report| report.sent_frames == report.intended_frames);
        if result.is_valid() && is_whole {
            return Ok(result);
        }
        if attempt < ATTEMPTS {
            tester.pause(BETWEEN_ATTEMPTS).expect("a pause");
        }
    }
    Err(format!("{}: held up in each of {ATTEMPTS} attempts", trial.label))
}

/// Runs a trial and checks that its account closes exactly.
///
/// # Panics
/// Where it does not.
pub fn run_accounted(tester: &mut dyn Tester, trial: &Trial) -> TrialResult {
    let result = tester.run(trial).unwrap_or_else(|error| panic!("{}: {error}", trial.label));
    account_closes(trial, &result);
    result
}

fn account_closes(trial: &Trial, result: &TrialResult) {
    let label = &trial.label;
    for stream in &result.streams {
        let expected = stream.sent * stream.expected_ports.len() as u64;
        // Where a stream may arrive anywhere or nowhere, whatever arrives is received.
        let received = if expected > 0 { stream.received } else { 0 };
        assert_eq!(received + stream.lost, expected, "{label}: {}", stream.name);
    }
    for sent in &result.sent {
        let of_streams: u64 = sent.report.sent_of_stream.iter().map(|(_, frames)| frames).sum();
        // What one queue of a port did not come to, though others did, the tester says that it did not send.
        let left_out = of_streams.checked_sub(sent.report.sent_frames);
        let is_told = left_out.is_some_and(|frames| frames <= sent.dropped_by_tester);
        assert!(is_told, "{label}: frames of all streams: {of_streams}, {:?}", sent.report);
        let lateness = &sent.report.lateness;
        assert_eq!(lateness.count(), sent.report.sent_frames, "{label}: lateness of each frame");
    }
    for received in result.received.iter().flat_map(|port| &port.streams) {
        let account = &received.account;
        let in_seconds: u64 = account.per_second.iter().sum();
        assert_eq!(in_seconds, account.unique, "{label}: frames by the second");
        if received.expected {
            let stream = result.streams.iter().find(|stream| stream.id == received.stream);
            let sent = stream.expect("a result for every stream").sent;
            assert_eq!(account.unique + received.missing.count, sent, "{label}: missing frames");
            latencies_are_of_timed_frames(trial, received);
        }
    }
    counters_agree(label, result);
}

/// Each frame that carries its transmit time has a latency, and no other.
fn latencies_are_of_timed_frames(trial: &Trial, received: &StreamReceived) {
    let stream = trial.streams.iter().find(|stream| stream.id == received.stream);
    let stream = stream.expect("a stream of the trial");
    let (label, name) = (&trial.label, &stream.name);
    let is_timed = |form| matches!(form, Some(Form::Full | Form::Short));
    let timed = stream.frames.iter().filter(|frame| is_timed(frame.form)).count();
    let (latencies, unique) = (received.account.latency.count(), received.account.unique);
    match timed {
        0 => assert_eq!(latencies, 0, "{label}: {name}, no latencies"),
        _ if timed == stream.frames.len() => {
            assert_eq!(latencies, unique, "{label}: {name}, latency of each frame");
        }
        _ => assert!(latencies <= unique, "{label}: {name}, latency of some frames"),
    }
}

/// What interfaces count, where they count, is at least what the tester counts.
fn counters_agree(label: &str, result: &TrialResult) {
    for counters in &result.counters {
        let sent = result.sent.iter().find(|sent| sent.report.port == counters.port);
        let sent = sent.map_or(0, |sent| sent.report.sent_frames);
        let received = result.received.iter().find(|port| port.port == counters.port);
        let received = received.expect("every port receives").arrivals();
        let port = counters.port;
        assert!(counters.interface_sent.is_none_or(|n| n >= sent), "{label}: {port} sent");
        assert!(counters.interface_received.is_none_or(|n| n >= received), "{label}: {port}");
    }
}

fn tagged_frames(tester: &mut dyn Tester, mut trial: Trial) -> Result<(), String> {
    let stream = trial.streams[0].id;
    let (first, count) = (3, 20);
    // All of them are within the trial at every rate.
    let every = ((trial.loads[0].schedule.frames() - first) / count).min(50);
    trial.tagging = Some(Tagging { stream, first, every, count });
    let result = lossless(tester, &trial)?;
    let account = &result.expected_accounts().next().expect("one stream").account;
    let indices: Vec<u64> = account.tagged.iter().map(|(index, _)| *index).collect();
    assert_eq!(indices, (0..count).collect::<Vec<_>>());
    for (_, latency) in &account.tagged {
        assert!(Some(*latency) >= account.latency.min(), "a latency below the minimum");
        assert!(Some(*latency) <= account.latency.max(), "a latency above the maximum");
    }
    Ok(())
}

fn inserted_frames(tester: &mut dyn Tester, mut trial: Trial) -> Result<(), String> {
    let mut inserted = trial.streams[0].clone();
    inserted.id = StreamId(500);
    inserted.role = Role::Modifier;
    trial.streams.push(inserted);
    let trigger = Trigger::Frames { first: 0, every: 100 };
    trial.loads[0].insertions.push(Insertion { stream: StreamId(500), trigger });
    let result = run_valid(tester, &trial)?;
    assert_eq!(result.lost_frames(), 0);
    let frames = trial.loads[0].schedule.frames();
    let modifier = result.streams.last().expect("the inserted stream");
    assert_eq!(modifier.sent, frames.div_ceil(100));
    assert_eq!(modifier.received, modifier.sent);
    assert_eq!(result.offered_frames() + modifier.sent, frames);
    Ok(())
}

fn nothing_sent(tester: &mut dyn Tester, trial: Trial) {
    let result = run_accounted(tester, &trial);
    assert_eq!((result.offered_frames(), result.forwarded_frames()), (0, 0));
    assert!(result.latency().is_none());
}
