//! The pure receiver: accounts for every frame that arrives on one port.

use crate::queue_account::{QueueAccount, QueueStream};
use crate::{
    ExpectedStream, Leftovers, PortReceived, ReceivePlan, ReceivedSoFar, SeenSet, Silence,
    StreamAccount, StreamId,
};
use std::collections::VecDeque;
use units::{Duration, Instant};
use wire::signature::{self, Form, Reading, SEQUENCE_BITS, Stamp};

/// How many recent gaps in the sequence are kept to find a reordered frame's extent: the earliest
/// frame that overtook it is the one right behind its gap.
const REORDER_HISTORY: usize = 4096;

/// What an arrival was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival {
    /// A frame of this stream that should arrive here (in time or late, once or again).
    Ours(StreamId),
    /// A frame of this stream that should not.
    Misdirected(StreamId),
    /// A frame of an earlier trial of this run, so many trials ago.
    Leftover(usize),
    /// It bears the run's check and no trial's tag.
    Forged,
    /// One of ours whose signature does not check.
    Corrupted,
    /// None of ours: the device's own or somebody else's.
    Foreign,
}

/// Takes in a port's arrivals, in the order in which they come.
#[derive(Clone, Debug)]
pub struct Receiver<'a> {
    plan: &'a ReceivePlan,
    tick_ps: u64,
    tick: Duration,
    start: Instant,
    deadline: Instant,
    /// Transmit times before this were not stamped in this trial, in ticks.
    earliest_ticks: u64,
    slack_ticks: u64,
    /// An account is opened with its first arrival: of all streams of a mesh few arrive at one
    /// port.
    streams: Vec<Option<Box<Tracked<'a>>>>,
    /// Stream number -> index into `streams`, plus one; 0 for unknown numbers.
    by_id: Vec<u16>,
    foreign: u64,
    foreign_bytes: u64,
    corrupted: u64,
    /// Of frames that should arrive here.
    last_arrival: Option<Instant>,
    longest_ticks: Option<u64>,
    forged: u64,
    leftovers: Leftovers,
}

/// What the end of a frame makes it.
enum Recognised {
    Ours(Form, Stamp, usize),
    Leftover(usize),
    Forged,
    Unknown,
}

/// What each arrival needs of its stream stands here and first: with thousands of streams whatever lies
/// elsewhere is far away.
#[derive(Clone, Debug)]
struct Tracked<'a> {
    arrival: Arrival,
    frames_max: u64,
    /// The length of all frames, if they have the same.
    length_bytes: Option<u32>,
    is_tagged: bool,
    expected: &'a ExpectedStream,
    account: StreamAccount,
    seen: SeenSet,
    next_expected: u64,
    /// The same by queue, where several send the stream.
    next_of_queue: Vec<u64>,
    /// Recent arrivals that left a gap before them: (number of arrival, sequence), both ascending.
    jumps: VecDeque<(u64, u64)>,
    previous: Option<(u64, u64)>,
}

impl<'a> Receiver<'a> {
    /// A receiver for a trial that begins at `start`, on a clock of `tick`.
    pub fn new(plan: &'a ReceivePlan, start: Instant, tick: Duration) -> Self {
        let largest = plan.streams.iter().map(|stream| usize::from(stream.id.0)).max();
        let mut by_id = vec![0; largest.map_or(0, |id| id + 1)];
        for (index, stream) in plan.streams.iter().enumerate() {
            by_id[usize::from(stream.id.0)] = index as u16 + 1;
        }
        let tick_ps = tick.as_ps().max(1);
        let mut receiver = Receiver {
            plan,
            tick_ps,
            tick,
            start,
            deadline: Instant::FAR_FUTURE,
            earliest_ticks: 0,
            slack_ticks: plan.clock_slack.as_ps() / tick_ps,
            streams: (0..plan.streams.len()).map(|_| None).collect(),
            by_id,
            foreign: 0,
            foreign_bytes: 0,
            corrupted: 0,
            last_arrival: None,
            longest_ticks: None,
            forged: 0,
            leftovers: Leftovers::default(),
        };
        receiver.set_start(start);
        receiver
    }

    /// Arrivals after this point are late: they no longer count as received
    /// (RFC 2544 section 23 d).
    pub fn set_deadline(&mut self, deadline: Instant) {
        self.deadline = deadline;
    }

    /// Says when the trial begins, if that was not known when the receiver was made; before the
    /// first test frame arrives.
    pub fn set_start(&mut self, start: Instant) {
        self.start = start;
        let earliest_ps = start.as_ps().saturating_sub(self.plan.clock_slack.as_ps());
        self.earliest_ticks = earliest_ps / self.tick_ps;
    }

    /// Accounts for one frame (without FCS) that arrived at `now`.
    #[inline]
    pub fn absorb(&mut self, now: Instant, frame: &[u8]) -> Arrival {
        let (form, stamp, index) = match self.recognise(now, frame) {
            Recognised::Ours(form, stamp, index) => (form, stamp, index),
            other => return self.absorb_other(now, frame, &other),
        };
        let (expected, tick) = (&self.plan.streams[index], self.tick);
        let now_ticks = now.in_ticks(self.tick);
        let plausible = self.earliest_ticks..=now_ticks.saturating_add(self.slack_ticks);
        let sent_ticks = Self::sent_ticks(form, stamp, *plausible.end());
        let tracked =
            self.streams[index].get_or_insert_with(|| Box::new(Tracked::new(expected, tick)));
        let sequence = signature::extend(stamp.sequence, SEQUENCE_BITS, tracked.next_expected);
        if sequence >= tracked.frames_max
            || sent_ticks.is_some_and(|sent| !plausible.contains(&sent))
            || (self.plan.verify_payload && !wire::verify::transport_is_good(frame))
        {
            tracked.account.corrupted += 1;
        } else if now > self.deadline {
            tracked.account.late += 1;
        } else if matches!(tracked.arrival, Arrival::Misdirected(_)) {
            tracked.stray(now, sequence, frame.len());
        } else {
            let latency_ticks = sent_ticks.map(|sent| now_ticks.saturating_sub(sent));
            tracked.in_time(now, sequence, latency_ticks, frame.len(), self.start, self.tick);
            self.last_arrival = Some(now);
            self.longest_ticks = self.longest_ticks.max(latency_ticks);
        }
        tracked.arrival
    }

    /// When a frame was sent, in ticks, `latest` at the latest; `None` if it does not say.
    #[inline]
    fn sent_ticks(form: Form, stamp: Stamp, latest: u64) -> Option<u64> {
        let bits = form.time_bits();
        (bits > 0).then(|| signature::extend_time(stamp.transmit_ticks, bits, latest))
    }

    #[inline]
    fn recognise(&self, now: Instant, frame: &[u8]) -> Recognised {
        let mut is_forged = false;
        for &form in &self.plan.forms {
            if is_forged && form == Form::Compact {
                break;
            }
            match signature::examine(form, self.plan.key, frame) {
                Reading::Ours(stamp) => {
                    if let Some(index) = self.index_of(stamp.stream) {
                        return Recognised::Ours(form, stamp, index);
                    }
                }
                Reading::Untagged(stamp) => {
                    if self.is_from_before(form, stamp, now)
                        && let Some(ago) = self.trials_ago(form, frame)
                    {
                        return Recognised::Leftover(ago);
                    }
                    is_forged |= self.index_of(stamp.stream).is_some();
                }
                Reading::None => {}
            }
            if form == Form::Compact
                && let Some(ago) = self.trials_ago(form, frame)
            {
                return Recognised::Leftover(ago);
            }
        }
        if is_forged { Recognised::Forged } else { Recognised::Unknown }
    }

    #[inline]
    fn index_of(&self, stream: u16) -> Option<usize> {
        let entry = self.by_id.get(usize::from(stream)).copied()?;
        Some(usize::from(entry.checked_sub(1)?))
    }

    /// Whether a frame may have been sent before this trial began: tags are narrow, and one of an earlier
    /// trial may fit a frame that was forged in this one.
    fn is_from_before(&self, form: Form, stamp: Stamp, now: Instant) -> bool {
        let latest = now.as_ps() / self.tick_ps + self.slack_ticks;
        let start = self.start.as_ps() / self.tick_ps;
        let sent = Self::sent_ticks(form, stamp, latest);
        start == 0 || sent.is_none_or(|sent| sent <= start + self.slack_ticks)
    }

    #[cold]
    fn trials_ago(&self, form: Form, frame: &[u8]) -> Option<usize> {
        let knows = |stream| self.index_of(stream).is_some();
        signature::trials_ago(form, self.plan.key, frame, knows)
    }

    fn absorb_other(&mut self, now: Instant, frame: &[u8], what: &Recognised) -> Arrival {
        match what {
            Recognised::Leftover(ago) => {
                self.leftovers.add(*ago, now);
                return Arrival::Leftover(*ago);
            }
            Recognised::Forged => {
                self.forged += 1;
                return Arrival::Forged;
            }
            _ => {}
        }
        let prints = self.plan.streams.iter().filter_map(|stream| stream.fingerprint.as_ref());
        if prints.into_iter().any(|print| print.matches(frame)) {
            self.corrupted += 1;
            return Arrival::Corrupted;
        }
        self.foreign += 1;
        self.foreign_bytes += frame.len() as u64 + 4;
        Arrival::Foreign
    }

    /// Frames of expected streams seen so far, for progress and for telling quiescence.
    pub fn arrivals(&self) -> u64 {
        self.streams.iter().flatten().map(|tracked| tracked.account.arrivals()).sum()
    }

    /// When the last frame arrived of those that should arrive here.
    pub fn last_arrival(&self) -> Option<Instant> {
        self.last_arrival
    }

    /// When the last frame of an earlier trial arrived.
    pub fn last_leftover(&self) -> Option<Instant> {
        self.leftovers.last_at
    }

    /// The longest delay of such a frame; `None` where frames carry no transmit time.
    pub fn longest_delay(&self) -> Option<Duration> {
        self.longest_ticks.map(|ticks| Duration::from_ps(ticks.saturating_mul(self.tick_ps)))
    }

    /// Different frames that arrived in time on this port and should, to tell when nothing is
    /// missing any more.
    pub fn expected_arrivals(&self) -> u64 {
        let expected = self.streams.iter().flatten().filter(|tracked| tracked.expected.here);
        expected.map(|tracked| tracked.account.unique).sum()
    }

    /// What has arrived so far: of each stream that belongs here, and of others that came.
    pub fn so_far(&self) -> Vec<ReceivedSoFar> {
        let streams = self.plan.streams.iter().zip(&self.streams);
        let so_far = streams.filter_map(|(expected, tracked)| match tracked {
            Some(tracked) => Some(tracked.so_far(self.plan.port)),
            None if expected.is_stray() => None,
            None => Some(Tracked::new(expected, self.tick).so_far(self.plan.port)),
        });
        so_far.collect()
    }

    /// Closes the account. `sent_of` gives how many frames of a stream were sent in the trial.
    pub fn into_received(self, sent_of: impl Fn(StreamId) -> u64) -> PortReceived {
        let (plan, tick) = (self.plan, self.tick);
        self.into_queue_account().close(plan, tick, sent_of)
    }

    /// Ends counting, for what other receive queues of the port counted to be [added](QueueAccount::add_queue).
    pub fn into_queue_account(self) -> QueueAccount {
        let of_stream = |tracked: Box<Tracked<'_>>| {
            Box::new(QueueStream { account: tracked.account, seen: tracked.seen })
        };
        QueueAccount {
            streams: self.streams.into_iter().map(|tracked| tracked.map(of_stream)).collect(),
            foreign: self.foreign,
            foreign_bytes: self.foreign_bytes,
            corrupted: self.corrupted,
            forged: self.forged,
            leftovers: self.leftovers,
        }
    }
}

impl<'a> Tracked<'a> {
    fn new(expected: &'a ExpectedStream, tick: Duration) -> Self {
        let arrival = match expected.is_stray() {
            true => Arrival::Misdirected(expected.id),
            false => Arrival::Ours(expected.id),
        };
        let length_bytes = match &expected.lengths_bytes[..] {
            [only] => Some(*only),
            _ => None,
        };
        Tracked {
            arrival,
            frames_max: expected.frames_max,
            length_bytes,
            is_tagged: expected.tagging.is_some(),
            expected,
            account: StreamAccount::new(tick),
            seen: SeenSet::default(),
            next_expected: 0,
            next_of_queue: expected.by_queues.map_or(vec![], |by| vec![0; by.queues.into()]),
            jumps: VecDeque::new(),
            previous: None,
        }
    }

    /// A frame that belongs elsewhere.
    fn stray(&mut self, now: Instant, sequence: u64, len: usize) {
        self.account.first_at.get_or_insert(now);
        self.account.last_at = Some(now);
        self.account.unique += 1;
        self.account.unique_bytes += len as u64 + 4;
        self.next_expected = self.next_expected.max(sequence + 1);
    }

    #[inline]
    fn in_time(
        &mut self,
        now: Instant,
        sequence: u64,
        latency_ticks: Option<u64>,
        len: usize,
        start: Instant,
        tick: Duration,
    ) {
        self.note_arrival_time(now, tick);
        if !self.seen.insert(sequence) {
            self.account.duplicates += 1;
            return;
        }
        self.account.unique += 1;
        self.account.unique_bytes += len as u64 + 4;
        self.note_length(sequence, len);
        self.note_order(sequence);
        self.note_second(now, start);
        if let Some(ticks) = latency_ticks {
            self.note_latency(sequence, ticks, tick);
        }
    }

    #[inline]
    fn note_arrival_time(&mut self, now: Instant, tick: Duration) {
        self.account.first_at.get_or_insert(now);
        if let Some(last) = self.account.last_at {
            let gap = now.since(last);
            self.account.arrival_gaps.record(gap.in_ticks(tick));
            if self.account.longest_silence.is_none_or(|silence| gap > silence.duration()) {
                self.account.longest_silence = Some(Silence { from: last, to: now });
            }
        }
        self.account.last_at = Some(now);
    }

    #[inline]
    fn note_length(&mut self, sequence: u64, len: usize) {
        let expected = self.length_bytes.or_else(|| {
            let lengths = &self.expected.lengths_bytes;
            let index = sequence.checked_rem(lengths.len() as u64)?;
            Some(lengths[index as usize])
        });
        let wrong = expected.is_some_and(|expected| expected as usize != len);
        self.account.wrong_length += u64::from(wrong);
    }

    #[inline]
    fn note_order(&mut self, sequence: u64) {
        if let Some(by_queues) = self.expected.by_queues {
            return self.note_order_in_queue(sequence, by_queues.queue_of(sequence));
        }
        if sequence >= self.next_expected {
            if sequence > self.next_expected {
                self.note_jump(sequence);
            }
            self.next_expected = sequence + 1;
            return;
        }
        self.account.reordered += 1;
        let overtaker = self.jumps.partition_point(|&(_, behind)| behind < sequence);
        if let Some(&(arrival, _)) = self.jumps.get(overtaker) {
            let extent = self.account.unique - arrival;
            let largest = &mut self.account.reorder_extent_max_frames;
            *largest = (*largest).max(extent);
        }
    }

    /// Frames of different queues have no order. How far behind a frame comes is not told: that would count them.
    fn note_order_in_queue(&mut self, sequence: u64, queue: usize) {
        self.next_expected = self.next_expected.max(sequence + 1);
        let next = &mut self.next_of_queue[queue];
        if sequence < *next {
            self.account.reordered += 1;
        } else {
            *next = sequence + 1;
        }
    }

    fn note_jump(&mut self, sequence: u64) {
        if self.jumps.len() == REORDER_HISTORY {
            self.jumps.pop_front();
        }
        self.jumps.push_back((self.account.unique, sequence));
    }

    #[inline]
    fn note_second(&mut self, now: Instant, start: Instant) {
        let second = (now.since(start).as_ps() / Duration::from_secs(1).as_ps()) as usize;
        let seconds = &mut self.account.per_second;
        if second >= seconds.len() {
            seconds.resize(second + 1, 0);
        }
        seconds[second] += 1;
    }

    #[inline]
    fn note_latency(&mut self, sequence: u64, ticks: u64, tick: Duration) {
        self.account.latency.record(ticks);
        if let Some((previous, previous_ticks)) = self.previous
            && previous + 1 == sequence
        {
            self.account.variation.record(previous_ticks, ticks);
        }
        self.previous = Some((sequence, ticks));
        if !self.is_tagged {
            return;
        }
        if let Some(index) = self.expected.tagging.and_then(|tagging| tagging.index_of(sequence)) {
            let latency = Duration::from_ps(ticks * tick.as_ps().max(1));
            self.account.tagged.push((index, latency));
        }
    }

    fn so_far(&self, port: crate::PortId) -> ReceivedSoFar {
        ReceivedSoFar {
            port,
            stream: self.expected.id,
            expected: self.expected.here,
            unique: self.account.unique,
            duplicates: self.account.duplicates,
            reordered: self.account.reordered,
            next_expected: self.next_expected,
            latency: self.account.latency.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ByQueues, StreamReceived};
    use crate::{Fingerprint, PortId, Role, Tagging};
    use wire::signature::Key;

    const TICK: Duration = Duration::from_ns(1);
    const KEY: Key = Key::from_seed(0x1234).later(9);

    fn plan() -> ReceivePlan {
        let stream = |id: u16, here: bool| ExpectedStream {
            id: StreamId(id),
            role: Role::Test,
            here,
            unchecked: false,
            frames_max: 1_000,
            lengths_bytes: vec![60],
            flows: 3,
            tagging: Some(Tagging { stream: StreamId(1), first: 2, every: 2, count: 2 }),
            fingerprint: Some(Fingerprint { offset_bytes: 0, value: 0xabab_abab, mask: !0 }),
            by_queues: None,
        };
        ReceivePlan {
            port: PortId(1),
            key: KEY,
            forms: vec![Form::Full],
            streams: vec![stream(1, true), stream(2, false)],
            verify_payload: false,
            clock_slack: crate::clocks::SLACK,
        }
    }

    fn frame(stream: u16, sequence: u64, sent_ns: u64) -> Vec<u8> {
        frame_of(KEY, stream, sequence, sent_ns)
    }

    fn frame_of(key: Key, stream: u16, sequence: u64, sent_ns: u64) -> Vec<u8> {
        let mut bytes = vec![0xab; 60];
        let stamp = Stamp { stream, sequence, transmit_ticks: sent_ns };
        signature::write(Form::Full, key, stamp, &mut bytes);
        bytes
    }

    /// Another sequence number in a frame, and the check mended: the ones' complement sum stays.
    fn renumbered(mut frame: Vec<u8>, sequence: u32) -> Vec<u8> {
        let words = |number: u32| (number >> 16) + (number & 0xffff);
        let word = |bytes: &[u8]| u32::from(u16::from_be_bytes([bytes[0], bytes[1]]));
        let (check, number) =
            (word(&frame[42..44]), words(word(&frame[52..54]) << 16 | word(&frame[54..56])));
        let mended = (check + number + 2 * 0xffff - words(sequence)) % 0xffff;
        frame[42..44].copy_from_slice(&(mended as u16).to_be_bytes());
        frame[52..56].copy_from_slice(&sequence.to_be_bytes());
        frame
    }

    /// Feeds (sequence, sent at ns, arrived at ns) of stream 1.
    fn account_of(arrivals: &[(u64, u64, u64)], sent: u64) -> StreamReceived {
        let plan = plan();
        let mut receiver = Receiver::new(&plan, Instant::ZERO, TICK);
        receiver.set_deadline(Instant::from_ns(1_000_000));
        for &(sequence, sent_ns, at_ns) in arrivals {
            let arrival = receiver.absorb(Instant::from_ns(at_ns), &frame(1, sequence, sent_ns));
            assert_eq!(arrival, Arrival::Ours(StreamId(1)));
        }
        receiver.into_received(|_| sent).streams.swap_remove(0)
    }

    #[test]
    fn every_arrival_is_accounted_for_once() {
        let received = account_of(&[(0, 0, 10), (1, 5, 15), (1, 5, 16), (4, 20, 2_000_000)], 5);
        let account = &received.account;
        assert_eq!((account.unique, account.duplicates, account.late), (2, 1, 1));
        assert_eq!(account.arrivals(), 4);
        assert_eq!((received.missing.count, received.missing.gaps), (3, 1));
        assert_eq!(received.flows.counts().collect::<Vec<_>>(), [1, 1, 0], "frames 0, 1 and none");
    }

    /// RFC 4737 section 4.2.2: arrivals 1 2 3 7 8 9 4 5 6; frame 4 is overtaken by 7, three
    /// arrivals before it; 5 and 6 likewise with extents 4 and 5.
    #[test]
    fn reordering_as_rfc4737() {
        let order = [1, 2, 3, 7, 8, 9, 4, 5, 6];
        let arrivals: Vec<_> = (0u64..).zip(order).map(|(at, s)| (s - 1, at, at + 1)).collect();
        let account = account_of(&arrivals, 9).account;
        assert_eq!((account.reordered, account.reorder_extent_max_frames), (3, 5));
    }

    /// Four flows by two queues, flows 0 and 2 by one, 1 and 3 by the other, each in order: 4 1 6 3 arrive in any
    /// order. Frame 2 comes after 4, which left by the same queue.
    #[test]
    fn frames_of_different_queues_have_no_order() {
        let mut plan = plan();
        plan.streams[0].by_queues = Some(ByQueues { queues: 2, first_slot: 0, period: 4 });
        let reordered = |order: &[u64]| {
            let mut receiver = Receiver::new(&plan, Instant::ZERO, TICK);
            for (at_ns, sequence) in (1..).zip(order) {
                receiver.absorb(Instant::from_ns(at_ns), &frame(1, *sequence, 0));
            }
            receiver.into_received(|_| 8).streams[0].account.reordered
        };
        assert_eq!(reordered(&[0, 2, 4, 1, 6, 3, 5, 7]), 0);
        assert_eq!(reordered(&[0, 4, 2, 1, 6, 3, 5, 7]), 1);
    }

    /// A frame that arrives twice overtakes once.
    #[test]
    fn duplicates_make_no_extent() {
        let order = [1, 2, 3, 7, 7, 7, 8, 9, 9, 4, 5, 5, 6];
        let arrivals: Vec<_> = (0u64..).zip(order).map(|(at, s)| (s - 1, at, at + 1)).collect();
        let account = account_of(&arrivals, 9).account;
        assert_eq!((account.duplicates, account.reordered), (4, 3));
        assert_eq!(account.reorder_extent_max_frames, 5, "as without the copies");
    }

    /// However many frames overtake, as long as few gaps are open.
    #[test]
    fn an_extent_may_be_longer_than_the_history() {
        let order = (0..100).chain(101..900).chain([100]).map(|s| (s, s, s + 1));
        let account = account_of(&order.collect::<Vec<_>>(), 900).account;
        assert_eq!((account.reordered, account.reorder_extent_max_frames), (1, 799));
    }

    #[test]
    fn loss_alone_is_not_reordering() {
        let account = account_of(&[(0, 0, 1), (2, 0, 2), (5, 0, 3)], 6).account;
        assert_eq!(account.reordered, 0);
    }

    #[test]
    fn latency_variation_and_tags() {
        let arrivals = [(0, 0, 100), (1, 10, 130), (2, 40, 145), (4, 40, 300)];
        let account = account_of(&arrivals, 5).account;
        assert_eq!(account.latency.min(), Some(Duration::from_ns(100)));
        assert_eq!(account.latency.max(), Some(Duration::from_ns(260)));
        assert_eq!((account.variation.count, account.variation.min_ticks), (2, -15));
        let tagged = vec![(0, Duration::from_ns(105)), (1, Duration::from_ns(260))];
        assert_eq!(account.tagged, tagged);
        let silence = account.longest_silence.unwrap();
        assert_eq!((silence.from, silence.to), (Instant::from_ns(145), Instant::from_ns(300)));
    }

    /// Looked at after four arrivals of five frames sent: frame 2 is missing.
    #[test]
    fn an_account_can_be_read_before_it_is_closed() {
        let plan = plan();
        let mut receiver = Receiver::new(&plan, Instant::ZERO, TICK);
        for (sequence, at_ns) in [(0, 10), (1, 20), (3, 30), (3, 40)] {
            receiver.absorb(Instant::from_ns(at_ns), &frame(1, sequence, 5));
        }
        let so_far = receiver.so_far();
        let [one] = &so_far[..] else { panic!("{so_far:?}") };
        assert_eq!((one.unique, one.duplicates, one.next_expected), (3, 1, 4));
        assert_eq!(one.latency.max(), Some(Duration::from_ns(25)));
    }

    /// Frames 0 to 9 arrive at two receive queues, even ones at one; 4 at both of them, 8 at none, 5 twice at its own,
    /// and 12, which was not sent.
    #[test]
    fn what_receive_queues_counted_adds_up() {
        let plan = plan();
        let queue = |sequences: &[u64], from_ns: u64| {
            let mut receiver = Receiver::new(&plan, Instant::ZERO, TICK);
            for (at, sequence) in sequences.iter().enumerate() {
                let now = Instant::from_ns(from_ns + 10 * at as u64);
                receiver.absorb(now, &frame(1, *sequence, from_ns));
            }
            receiver.absorb(Instant::from_ns(from_ns), &[0; 60]);
            receiver.into_queue_account()
        };
        let mut port = queue(&[0, 2, 4, 6], 100);
        port.add_queue(queue(&[1, 3, 5, 5, 7, 4, 9, 12], 50), &plan);
        let received = port.close(&plan, TICK, |_| 10);
        let [one] = &received.streams[..] else { panic!("{received:?}") };
        let account = &one.account;
        assert_eq!((account.unique, account.duplicates, account.corrupted), (9, 2, 1));
        assert_eq!(account.unique_bytes, 9 * 64);
        assert_eq!((one.missing.count, one.missing.first, one.missing.last), (1, Some(8), Some(8)));
        let at = |ns| Some(Instant::from_ns(ns));
        assert_eq!((account.first_at, account.last_at), (at(50), at(130)));
        assert_eq!(account.reordered, 1, "4 behind 7, at the queue that saw both");
        assert_eq!((received.foreign, received.arrivals()), (2, 14));
    }

    #[test]
    fn what_is_not_expected_is_told_apart() {
        let plan = plan();
        let mut receiver = Receiver::new(&plan, Instant::ZERO, TICK);
        let now = Instant::from_ns(9);
        assert_eq!(receiver.absorb(now, &frame(2, 0, 0)), Arrival::Misdirected(StreamId(2)));
        let mut broken = frame(1, 0, 0);
        broken[50] ^= 0x10;
        assert_eq!(receiver.absorb(now, &broken), Arrival::Corrupted);
        assert_eq!(receiver.absorb(now, &[0; 60]), Arrival::Foreign);
        assert_eq!(receiver.absorb(now, &[]), Arrival::Foreign);
        let impossible = frame(1, 1_000, 0);
        assert_eq!(receiver.absorb(now, &impossible), Arrival::Ours(StreamId(1)));
        let received = receiver.into_received(|_| 1);
        assert_eq!((received.foreign, received.corrupted), (2, 1));
        assert_eq!(received.streams[0].account.corrupted, 1);
        assert_eq!(received.streams[1].account.unique, 1);
    }

    /// A device that loses every second frame, and copies the others with the number of the one lost.
    #[test]
    fn a_copy_with_another_number_hides_no_loss() {
        let plan = plan();
        let mut receiver = Receiver::new(&plan, Instant::ZERO, TICK);
        for sequence in (0..596).step_by(2) {
            let now = Instant::from_ns(sequence + 10);
            let sent = frame(1, sequence, sequence);
            assert_eq!(receiver.absorb(now, &sent), Arrival::Ours(StreamId(1)));
            let copy = renumbered(sent, sequence as u32 + 1);
            assert_eq!(receiver.absorb(now, &copy), Arrival::Forged);
        }
        let received = receiver.into_received(|_| 596);
        assert_eq!(
            (received.streams[0].account.unique, received.streams[0].missing.count),
            (298, 298)
        );
        assert_eq!((received.forged, received.corrupted, received.foreign), (298, 0, 0));
        assert_eq!(received.arrivals(), 596);
    }

    /// Frames of the trials before are told by which they are of; older ones are forged for all we
    /// know, and another run's are foreign or, if they bear a fingerprint, corrupted.
    #[test]
    fn leftovers_are_known_with_their_trial() {
        let plan = plan();
        let mut receiver = Receiver::new(&plan, Instant::ZERO, TICK);
        let mut at = |ns, key: Option<Key>| {
            let frame = frame_of(key.unwrap(), 1, 7, 3);
            receiver.absorb(Instant::from_ns(ns), &frame)
        };
        assert_eq!(at(5, KEY.earlier(1)), Arrival::Leftover(1));
        assert_eq!(at(9, KEY.earlier(4)), Arrival::Leftover(4));
        assert_eq!(at(8, KEY.earlier(5)), Arrival::Forged);
        assert_eq!(at(8, Some(Key::from_seed(0x1235).later(9))), Arrival::Corrupted);
        // Streams of an earlier trial need not be among this one's.
        let unknown = frame_of(KEY.earlier(2).unwrap(), 77, 7, 3);
        assert_eq!(receiver.absorb(Instant::from_ns(7), &unknown), Arrival::Leftover(2));
        let received = receiver.into_received(|_| 0);
        assert_eq!(received.leftovers.frames, [1, 1, 0, 1]);
        assert_eq!(received.leftovers.last_at, Some(Instant::from_ns(9)));
        assert_eq!((received.forged, received.corrupted, received.arrivals()), (1, 1, 5));
    }

    /// A number that was never sent, though the trial might have sent it, is no frame received.
    #[test]
    fn numbers_never_sent_are_corruption() {
        let received = account_of(&[(0, 0, 10), (1, 5, 15), (7, 20, 25), (999, 20, 26)], 7);
        let account = &received.account;
        assert_eq!((account.unique, account.unique_bytes, account.corrupted), (2, 128, 2));
        assert_eq!((received.missing.count, account.arrivals()), (5, 4));
    }

    /// Stamps from before the trial or after their arrival are of no frame of it, but clocks may
    /// disagree a little.
    #[test]
    fn times_outside_of_the_trial_are_corruption() {
        let plan = plan();
        let start = Instant::from_ns(50_000_000);
        let mut receiver = Receiver::new(&plan, start, TICK);
        for (sequence, sent_ns) in
            [48_900_000, 49_100_000, 60_900_000, 61_100_000].into_iter().enumerate()
        {
            receiver.absorb(Instant::from_ns(60_000_000), &frame(1, sequence as u64, sent_ns));
        }
        let received = receiver.into_received(|_| 4);
        let account = &received.streams[0].account;
        assert_eq!((account.unique, account.corrupted), (2, 2));
        assert_eq!(account.latency.min(), Some(Duration::ZERO), "stamped 0.9 ms after its arrival");
    }
}
