//! The receiving half: lays out the accounts for the receive program and reads them at the end.

use super::accounts::{Seconds, StreamQueues, strays_received};
use super::capture::{Capture, ring_bytes};
use super::layout::{
    Account, ClockMapping, Expected, FingerprintEntry, HistogramEntry, QueueAccount,
    ReceiveControl, Stray, TaggedEntry,
};
use super::prepared::{tag_blocks, targets};
use super::program::{Object, Size, Spare, failed, receive_object};
use super::seen;
use super::shared::SharedArray;
use crate::clock::{self, TICK};
use crate::{CaptureWish, Captured, Interface, ReceiveHalf, TrialSignals};
use aya::programs::ProgramError;
use aya::programs::xdp::{XdpLink, XdpMode};
use std::mem::offset_of;
use std::sync::atomic::Ordering::{Relaxed, Release};
use trial::{
    ExpectedStream, Fingerprint, Histogram, Leftovers, PortId, PortReceived, ReceivePlan,
    ReceivedSoFar, StreamId, TesterError,
};
use units::{Duration, Instant};
use wire::signature::{EARLIER_TRIALS, Form, Key};

/// Flag in `by_number`: frames of the stream are captured.
const CAPTURED_STREAM: u64 = 1 << 32;
/// Where an account keeps its latencies.
const LATENCIES: usize = offset_of!(Account, latencies);
/// How often the accounts are looked at while they are counted.
const LOOK_EVERY: Duration = Duration::from_ms(1);

/// Receives on one interface.
pub(super) struct XdpReceive {
    name: String,
    queues: usize,
    link: Option<XdpLink>,
    wish: Option<CaptureWish>,
    /// What is attached.
    object: Object,
    /// Where it counts.
    accounts: Accounts,
    /// None of these is attached.
    spare: Spare,
    capture: Option<Capture>,
}

impl XdpReceive {
    /// Attaches to the interface; until a trial is prepared every frame goes on to the kernel.
    pub fn open(interface: &Interface) -> Result<Self, TesterError> {
        let name = interface.name();
        let queues = interface.ethtool().receive_queues() as usize;
        let mut spare = Spare::default();
        let plan = nothing_expected();
        let mut object = spare.take(name, size(queues, &plan, None))?;
        let accounts = Accounts::lay_out(&object, 0, queues, &plan, None)?;
        object.is_used_now();
        let program = object.load_program("receive")?;
        let id = program
            .attach_to_if_index(interface.index(), XdpMode::Driver)
            .map_err(|error| cannot_attach(name, &error))?;
        let link = program.take_link(id).map_err(|error| failed(name, "attach", &error))?;
        Ok(XdpReceive {
            name: name.into(),
            queues,
            link: Some(link),
            wish: None,
            object,
            accounts,
            spare,
            capture: None,
        })
    }

    /// Prepares a trial in the half of the maps that does not count now, which takes no time: another
    /// program in place of this one would be in place only once the kernel knows that no frame is within
    /// the old one (a grace period of RCU).
    fn prepare_other_half(&mut self, plan: &ReceivePlan) -> Result<(), TesterError> {
        let half = 1 - self.accounts.half;
        self.accounts = Accounts::lay_out(&self.object, half, self.queues, plan, None)?;
        self.capture = None;
        Ok(())
    }

    /// Prepares a trial that needs another program, and puts that in place.
    fn prepare_other_program(&mut self, plan: &ReceivePlan, size: Size) -> Result<(), TesterError> {
        let wish = self.wish.as_ref();
        let mut object = self.spare.take(&self.name, size)?;
        let accounts = Accounts::lay_out(&object, 0, self.queues, plan, wish)?;
        object.is_used_now();
        let capture = wish.map(|wish| Capture::new(&self.name, &mut object, wish));
        let capture = capture.transpose()?;
        let program = object.load_program("receive")?;
        let error = |error: ProgramError| failed(&self.name, "replace the XDP program", &error);
        let link = self.link.take().expect("attached since it was opened");
        let id = program.attach_to_link(link).map_err(error)?;
        self.link = Some(program.take_link(id).map_err(error)?);
        let before = std::mem::replace(&mut self.object, object);
        // A program whose ring for captures was taken out cannot be used again, and large ones are not
        // kept.
        if !self.accounts.captures && before.size().halves > 1 {
            self.spare.give_back(before);
        }
        self.accounts = accounts;
        self.capture = capture;
        Ok(())
    }
}

impl XdpReceive {
    /// How many receive queues the interface has.
    pub fn queues(&self) -> usize {
        self.queues
    }
}

impl ReceiveHalf for XdpReceive {
    fn prepare(&mut self, plan: &ReceivePlan) -> Result<(), TesterError> {
        let size = size(self.queues, plan, self.wish.as_ref());
        let captures = self.wish.is_some() || self.accounts.captures;
        if size.halves > 1 && !captures && self.object.size().does_for(&size) {
            return self.prepare_other_half(plan);
        }
        self.prepare_other_program(plan, size)
    }

    fn receive(
        &mut self,
        plan: &ReceivePlan,
        signals: &TrialSignals,
    ) -> Result<PortReceived, TesterError> {
        let accounts = &self.accounts;
        let mut seconds = vec![Seconds::default(); accounts.streams * self.queues];
        let mut sampled = 0;
        loop {
            // Read before the accounts are: what arrives after closing belongs to no trial.
            let closed = signals.closed();
            accounts.set_times(signals.start(), signals.deadline());
            for (index, seconds) in seconds.iter_mut().enumerate() {
                seconds.fetch(&accounts.accounts, index);
            }
            let expected = accounts.expected_arrivals(plan);
            self.capture.iter_mut().for_each(Capture::fetch);
            signals.note_arrivals(plan.port, accounts.arrivals(), expected);
            signals.note_longest_delay(plan.port, accounts.longest_delay(plan));
            signals.note_leftover(plan.port, accounts.leftovers().last_at);
            let asked = signals.asked();
            if asked != sampled {
                sampled = asked;
                signals.note_received(plan.port, asked, accounts.so_far(plan));
            }
            if let Some(sent) = closed {
                let sent_of = |id: StreamId| sent.get(&id).copied().unwrap_or(0);
                return Ok(accounts.received(plan, &seconds, sent_of));
            }
            clock::sleep(LOOK_EVERY);
        }
    }

    fn drops(&mut self) -> Result<Vec<(String, u64)>, TesterError> {
        Ok(vec![])
    }

    fn capture(&mut self, wish: Option<CaptureWish>) -> Result<(), TesterError> {
        self.wish = wish;
        Ok(())
    }

    fn captured(&mut self) -> Captured {
        self.capture.take().map(Capture::into_captured).unwrap_or_default()
    }
}

/// A trial with so much memory or more has a program of its own, which is not kept: to keep it would
/// take the memory twice.
const LARGE_BYTES: usize = 32 << 20;

/// What a trial takes of the program and its maps.
fn size(queues: usize, plan: &ReceivePlan, wish: Option<&CaptureWish>) -> Size {
    let expected = plan.streams.len();
    let streams = plan.streams.iter().filter(|stream| !stream.is_stray()).count();
    let strays = if streams < expected { queues * expected } else { 0 };
    let seen: usize = plan.streams.iter().map(seen_words).sum();
    let lengths: usize = plan.streams.iter().map(|stream| stream.lengths_bytes.len()).sum();
    let tagged = queues * tagged_room(&plan.streams);
    let prints = fingerprints(&plan.streams).len();
    let bytes = queues * streams * size_of::<Account>()
        + (seen + lengths) * size_of::<u64>()
        + tagged * size_of::<TaggedEntry>();
    let entries = vec![
        ("control", 1),
        ("queues", queues),
        ("by_number", numbers(plan)),
        ("expected", expected),
        ("accounts", queues * streams),
        ("strays", strays),
        ("seen", seen),
        ("lengths", lengths),
        ("tagged", tagged),
        ("fingerprints", prints),
    ];
    Size {
        image: receive_object(),
        halves: if bytes < LARGE_BYTES { 2 } else { 1 },
        entries,
        ring_bytes: ring_bytes(wish, longest_bytes(plan)),
        constants: constants(queues, plan, prints, wish).to_vec(),
    }
}

/// Numbers of streams, from 0.
fn numbers(plan: &ReceivePlan) -> usize {
    plan.streams.iter().map(|stream| usize::from(stream.id.0) + 1).max().unwrap_or(0)
}

/// Tagged frames of all streams.
fn tagged_room(streams: &[ExpectedStream]) -> usize {
    let tagging = streams.iter().filter_map(|stream| stream.tagging);
    tagging.map(|tagging| tagging.count).sum::<u64>() as usize
}

/// The memory that a program counts a trial in.
struct Accounts {
    /// Of the object's maps.
    half: usize,
    queues: usize,
    captures: bool,
    control: SharedArray<ReceiveControl>,
    by_queue: SharedArray<QueueAccount>,
    /// Streams that belong here.
    streams: usize,
    /// By queue, then by stream: those that belong here, and all, for the others.
    accounts: SharedArray<Account>,
    strays: SharedArray<Stray>,
    seen: SharedArray<u64>,
    tagged: SharedArray<TaggedEntry>,
    /// Its indices are those within the half.
    expected: Vec<Expected>,
}

impl Accounts {
    /// Lays out a trial in a half of the object's maps, and has frames counted there from now on.
    fn lay_out(
        object: &Object,
        half: usize,
        queues: usize,
        plan: &ReceivePlan,
        wish: Option<&CaptureWish>,
    ) -> Result<Self, TesterError> {
        let expected = expected_entries(&plan.streams);
        let prints = fingerprints(&plan.streams);
        let streams = plan.streams.iter().filter(|stream| !stream.is_stray()).count();
        let at = |map, index: u64| object.first(map, half) as u64 + index;
        let by_number = object.array::<u64>("by_number", half, numbers(plan))?;
        for (index, stream) in plan.streams.iter().enumerate() {
            let flag = if wish.is_some_and(|w| w.wants(stream.id)) { CAPTURED_STREAM } else { 0 };
            by_number.write(stream.id.0.into(), &((at("expected", index as u64) + 1) | flag));
        }
        let all_lengths = plan.streams.iter().flat_map(|stream| &stream.lengths_bytes);
        let to = object.array("lengths", half, 0)?;
        all_lengths.enumerate().for_each(|(at, length)| to.write(at, &u64::from(*length)));
        let to = object.array("expected", half, 0)?;
        let there = |entry: &Expected| Expected {
            account: entry.account + if entry.account > 0 { at("accounts", 0) } else { 0 },
            stray: at("strays", entry.stray),
            seen_first: at("seen", entry.seen_first),
            lengths_first: at("lengths", entry.lengths_first.into()) as u32,
            tagged_first: at("tagged", entry.tagged_first),
            ..*entry
        };
        expected.iter().enumerate().for_each(|(at, entry)| to.write(at, &there(entry)));
        let to = object.array("fingerprints", half, 0)?;
        prints.iter().enumerate().for_each(|(at, print)| to.write(at, print));
        let control = object.array("control", half, 1)?;
        control.write(
            0,
            &ReceiveControl {
                queues_first: at("queues", 0) as u32,
                fingerprints_first: at("fingerprints", 0) as u32,
                numbers_first: at("by_number", 0) as u32,
                numbers: numbers(plan) as u32,
                slack_ns: plan.clock_slack.as_ns(),
                ..initial_control(plan.key)
            },
        );
        let accounts = Accounts {
            half,
            queues,
            captures: wish.is_some(),
            control,
            by_queue: object.array("queues", half, queues)?,
            streams,
            accounts: object.array("accounts", half, queues * streams)?,
            strays: object.array("strays", half, 0)?,
            seen: object.array("seen", half, 0)?,
            tagged: object.array("tagged", half, 0)?,
            expected,
        };
        let current = object.selector("half")?;
        current.word(0, 0).store(half as u64, Release);
        Ok(accounts)
    }

    fn set_times(&self, start: Option<Instant>, deadline: Instant) {
        let start_ns = start.map_or(0, Instant::as_ns);
        self.control.word(0, offset_of!(ReceiveControl, start_ns)).store(start_ns, Relaxed);
        ClockMapping::store_now(offset_of!(ReceiveControl, clock), |at| self.control.word(0, at));
        let deadline_ns = deadline.as_ns();
        self.control.word(0, offset_of!(ReceiveControl, deadline_ns)).store(deadline_ns, Relaxed);
    }

    fn arrivals(&self) -> u64 {
        self.of_queues(offset_of!(QueueAccount, arrivals))
    }

    /// Different frames of the streams that should arrive here.
    fn expected_arrivals(&self, plan: &ReceivePlan) -> u64 {
        let here = self.expected.iter().zip(&plan.streams).filter(|(_, stream)| stream.here);
        let accounts = here.filter_map(|(expected, _)| self.accounts_of(expected)).flatten();
        let unique = |at| self.accounts.word(at, offset_of!(Account, unique)).load(Relaxed);
        accounts.map(unique).sum()
    }

    /// The longest delay of such a frame; `None` where none carries its transmit time.
    fn longest_delay(&self, plan: &ReceivePlan) -> Option<Duration> {
        let here = self.expected.iter().zip(&plan.streams).filter(|(_, stream)| stream.here);
        let accounts = here.filter_map(|(expected, _)| self.accounts_of(expected)).flatten();
        let longest = |at| {
            let word = |offset| self.accounts.word(at, LATENCIES + offset).load(Relaxed);
            let is_known = word(offset_of!(HistogramEntry, count)) > 0;
            is_known.then(|| Duration::from_ns(word(offset_of!(HistogramEntry, max))))
        };
        accounts.filter_map(longest).max()
    }

    /// What has arrived so far: of each stream that belongs here, and of others that came.
    fn so_far(&self, plan: &ReceivePlan) -> Vec<ReceivedSoFar> {
        let streams = plan.streams.iter().zip(&self.expected).enumerate();
        let so_far = streams.filter_map(|(index, (stream, expected))| {
            let nothing = nothing_so_far(plan.port, stream);
            let Some(indices) = self.accounts_of(expected) else {
                let strays = (0..self.queues).map(|queue| queue * self.expected.len() + index);
                let strays = strays.map(|at| self.strays.read(at).arrivals).sum();
                return Some(ReceivedSoFar { unique: strays, ..nothing }).filter(|s| s.unique > 0);
            };
            let queues = indices.map(|at| self.accounts.read(at));
            Some(queues.fold(nothing, |all, queue| add_queue(all, &queue)))
        });
        so_far.collect()
    }

    fn of_queues(&self, offset: usize) -> u64 {
        (0..self.queues).map(|queue| self.by_queue.word(queue, offset).load(Relaxed)).sum()
    }

    fn received(
        &self,
        plan: &ReceivePlan,
        seconds: &[Seconds],
        sent_of: impl Fn(StreamId) -> u64,
    ) -> PortReceived {
        let streams = plan.streams.iter().enumerate().filter_map(|(index, stream)| {
            let expected = &self.expected[index];
            let Some(indices) = self.accounts_of(expected) else {
                let strays = (0..self.queues).map(|queue| queue * self.expected.len() + index);
                return strays_received(plan.port, stream, strays.map(|at| *self.strays.read(at)));
            };
            let queues = StreamQueues {
                accounts: indices.clone().map(|at| self.accounts.read(at)).collect(),
                seconds: indices.clone().map(|at| &seconds[at]).collect(),
                seen: self.seen_of(stream, expected),
                tagged: self.tagged_of(expected, indices),
            };
            Some(queues.into_received(plan.port, stream, sent_of(stream.id)))
        });
        PortReceived {
            port: plan.port,
            streams: streams.collect(),
            foreign: self.of_queues(offset_of!(QueueAccount, foreign)),
            foreign_bytes: self.of_queues(offset_of!(QueueAccount, foreign_bytes)),
            corrupted: self.of_queues(offset_of!(QueueAccount, corrupted)),
            forged: self.of_queues(offset_of!(QueueAccount, forged)),
            leftovers: self.leftovers(),
        }
    }

    fn leftovers(&self) -> Leftovers {
        let first = offset_of!(QueueAccount, leftovers);
        let last = offset_of!(QueueAccount, leftover_last_ns);
        let last = (0..self.queues).map(|queue| self.by_queue.word(queue, last).load(Relaxed));
        Leftovers {
            frames: std::array::from_fn(|ago| self.of_queues(first + 8 * ago)),
            last_at: last.max().filter(|ns| *ns > 0).map(Instant::from_ns),
        }
    }

    /// Where a stream's accounts stand, queue by queue; None for strays.
    fn accounts_of(
        &self,
        expected: &Expected,
    ) -> Option<impl Iterator<Item = usize> + Clone + use<>> {
        let (index, streams) = ((expected.account as usize).checked_sub(1)?, self.streams);
        Some((0..self.queues).map(move |queue| queue * streams + index))
    }

    /// The words that hold the bits of a stream's frames, those that were not sent among them.
    fn seen_of(&self, stream: &ExpectedStream, expected: &Expected) -> Vec<u64> {
        let (first, words) = (expected.seen_first as usize, seen_words(stream));
        let words = self.seen.words()[first..first + words].iter();
        seen::in_order(words.map(|word| word.load(Relaxed)).collect(), seen::queues_log2(stream))
    }

    /// In the order in which each queue saw them.
    fn tagged_of(
        &self,
        expected: &Expected,
        accounts: impl Iterator<Item = usize>,
    ) -> Vec<TaggedEntry> {
        let room = self.expected.iter().map(|entry| entry.tag_count).sum::<u64>() as usize;
        let of_queue = |(queue, at): (usize, usize)| {
            let word = self.accounts.word(at, offset_of!(Account, tagged));
            let first = queue * room + expected.tagged_first as usize;
            let count = word.load(Relaxed).min(expected.tag_count) as usize;
            (first..first + count).map(|at| *self.tagged.read(at))
        };
        accounts.enumerate().flat_map(of_queue).collect()
    }
}

fn nothing_so_far(port: PortId, stream: &ExpectedStream) -> ReceivedSoFar {
    ReceivedSoFar {
        port,
        stream: stream.id,
        expected: stream.here,
        unique: 0,
        duplicates: 0,
        reordered: 0,
        next_expected: 0,
        latency: Histogram::new(TICK),
    }
}

fn add_queue(mut all: ReceivedSoFar, queue: &Account) -> ReceivedSoFar {
    all.unique += queue.unique;
    all.duplicates += queue.duplicates;
    all.reordered += queue.reordered;
    all.next_expected = all.next_expected.max(queue.next_expected);
    all.latency.merge(&queue.latencies.to_histogram(TICK));
    all
}

fn initial_control(key: Key) -> ReceiveControl {
    let earlier: Vec<Key> = (1..=EARLIER_TRIALS as u64).map_while(|ago| key.earlier(ago)).collect();
    let mut compact_targets = [0; EARLIER_TRIALS];
    for (target, key) in compact_targets.iter_mut().zip(&earlier) {
        *target = key.expected_sum(Form::Compact);
    }
    ReceiveControl {
        start_ns: 0,
        deadline_ns: u64::MAX,
        targets: targets(key),
        compact_targets,
        hash: key.hash_state(),
        tag_blocks: tag_blocks(key),
        earlier: earlier.len() as u64,
        queues_first: 0,
        fingerprints_first: 0,
        numbers_first: 0,
        numbers: 0,
        slack_ns: 0,
        clock: ClockMapping::now(),
    }
}

fn nothing_expected() -> ReceivePlan {
    ReceivePlan {
        port: trial::PortId(0),
        key: Key::from_seed(0),
        forms: vec![],
        streams: vec![],
        verify_payload: false,
        clock_slack: Duration::ZERO,
    }
}

/// A guess: devices may lengthen frames, and foreign ones have any length.
fn longest_bytes(plan: &ReceivePlan) -> usize {
    let lengths = plan.streams.iter().flat_map(|stream| &stream.lengths_bytes);
    lengths.max().map_or(0, |longest| *longest as usize)
}

/// One bit a frame.
fn seen_words(stream: &ExpectedStream) -> usize {
    match stream.is_stray() {
        true => 0,
        false => seen::words(stream.frames_max, seen::queues_log2(stream)),
    }
}

fn expected_entries(streams: &[ExpectedStream]) -> Vec<Expected> {
    let (mut accounts, mut seen, mut lengths, mut tagged) = (0, 0, 0, 0);
    let entry = |(index, stream): (usize, &ExpectedStream)| {
        let tagging = stream.tagging;
        accounts += u64::from(!stream.is_stray());
        let entry = Expected {
            frames_max: stream.frames_max,
            account: if stream.is_stray() { 0 } else { accounts },
            stray: index as u64,
            seen_first: seen,
            lengths_first: lengths,
            lengths_count: stream.lengths_bytes.len() as u32,
            tag_first: tagging.map_or(0, |tagging| tagging.first),
            tag_every: tagging.map_or(1, |tagging| tagging.every.max(1)),
            tag_count: tagging.map_or(0, |tagging| tagging.count),
            tagged_first: tagged,
            send_queues: stream.by_queues.map_or(0, |by| by.queues.into()),
            queues_log2: seen::queues_log2(stream).into(),
            first_slot: stream.by_queues.map_or(0, |by| by.first_slot),
            period: stream.by_queues.map_or(1, |by| by.period.max(1)),
        };
        seen += seen_words(stream) as u64;
        lengths += entry.lengths_count;
        tagged += entry.tag_count;
        entry
    };
    streams.iter().enumerate().map(entry).collect()
}

/// The different fingerprints of all streams.
fn fingerprints(streams: &[ExpectedStream]) -> Vec<FingerprintEntry> {
    let mut prints: Vec<Fingerprint> = vec![];
    for print in streams.iter().filter_map(|stream| stream.fingerprint) {
        if !prints.contains(&print) {
            prints.push(print);
        }
    }
    let entry = |print: Fingerprint| FingerprintEntry {
        offset: print.offset_bytes.into(),
        value: print.value,
        mask: print.mask,
        unused: 0,
    };
    prints.into_iter().map(entry).collect()
}

/// What the trial does not need is left out of the program when it is verified.
fn constants(
    queues: usize,
    plan: &ReceivePlan,
    prints: usize,
    wish: Option<&CaptureWish>,
) -> [(&'static str, u32); 12] {
    let has = |form| u32::from(plan.forms.contains(&form));
    [
        ("QUEUES", queues as u32),
        ("STREAMS", plan.streams.len() as u32),
        ("ACCOUNTS", plan.streams.iter().filter(|stream| !stream.is_stray()).count() as u32),
        ("FINGERPRINTS", prints as u32),
        ("VERIFY_PAYLOAD", plan.verify_payload.into()),
        ("HAS_FULL", has(Form::Full)),
        ("HAS_SHORT", has(Form::Short)),
        ("HAS_COMPACT", has(Form::Compact)),
        ("TAGGED", tagged_room(&plan.streams) as u32),
        ("MAPS_CLOCK", clock::of_kernel().is_some().into()),
        ("CAPTURE", wish.is_some().into()),
        ("CAPTURE_ALL", wish.is_some_and(|wish| wish.streams.is_empty()).into()),
    ]
}

fn cannot_attach(port: &str, error: &ProgramError) -> TesterError {
    let errno = match error {
        ProgramError::SyscallError(error) => error.io_error.raw_os_error(),
        _ => None,
    };
    match errno {
        Some(libc::EBUSY | libc::EEXIST) => TesterError::System {
            what: format!("open port {port} as xdp"),
            detail: format!(
                "another XDP program is attached to it, perhaps another tester's; end that \
                 program, or take it off with: ip link set dev {port} xdp off"
            ),
        },
        Some(libc::EOPNOTSUPP) => TesterError::Unsupported {
            port: port.into(),
            what: "its driver runs no XDP programs".into(),
            remedy: "use --port-type af_packet".into(),
        },
        _ => failed(port, "attach an XDP program to the interface's driver", error),
    }
}
