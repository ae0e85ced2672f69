//! The pure transmitter: which frame leaves when, and its bytes. It sends nothing itself.

use crate::cycle::on_medium;
use crate::schedule::Length;
use crate::{
    ByLength, Deferred, Departures, Histogram, Paused, Slips, StreamId, TransmitPlan,
    TransmitReport, Trigger,
};
use units::{Duration, Instant};
use wire::signature::{self, Stamp};

/// Walks through a [`TransmitPlan`]. A driver asks [`next_due`](Self::next_due), waits in its own
/// way, and has the frame written by [`emit`](Self::emit) straight into the place from which it
/// is sent.
#[derive(Clone, Debug)]
pub struct Transmitter<'a> {
    plan: &'a TransmitPlan,
    start: Instant,
    tick: Duration,
    departures: Departures,
    /// Frames of the port so far: sent here, and passed over since other queues send them.
    frame: u64,
    share: Share,
    order_at: usize,
    streams: Vec<Cursor>,
    insertions: Vec<Pending>,
    /// No frame leaves before this: the device has asked for a pause.
    paused_until: Instant,
    /// Of the next frame on a medium that others share: when the tester would send it by itself, and when
    /// it may.
    medium: Option<(Instant, Instant)>,
    report: TransmitReport,
}

/// How far one stream of the set has come.
#[derive(Clone, Copy, Debug, Default)]
struct Cursor {
    sequence: u64,
    slot: usize,
}

/// When an insertion fires next.
#[derive(Clone, Copy, Debug)]
struct Pending {
    stream: usize,
    trigger: Trigger,
    next_frame: u64,
    next_time: Duration,
}

/// What one of a port's queues sends of its plan. All queues take the same walk, each past the frames of the others.
#[derive(Clone, Copy, Debug)]
struct Share {
    queue: usize,
    queues: usize,
    /// The walk ends before this frame of the port.
    end: u64,
    /// The stream that takes the departure at hand, and whether it is inserted, once that is known.
    chosen: Option<(usize, bool)>,
}

/// Where frames are written, one after the other.
pub trait Places {
    /// The next place, and the slot of the plan whose frame it still has, as in
    /// [`emit_over`](Transmitter::emit_over); `None` while there is no room.
    fn place(&mut self) -> Option<(&mut [u8], Option<usize>)>;
    /// The frame of this slot was written to the place given last.
    fn written(&mut self, slot: usize, len_bytes: usize);
}

/// What [`Transmitter::emit`] has written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Emitted {
    /// Of which stream.
    pub stream: StreamId,
    /// Which slot of the plan's [`FrameSet`](crate::FrameSet) it was.
    pub slot: usize,
    /// Its number in the stream.
    pub sequence: u64,
    /// Bytes written, without FCS.
    pub len_bytes: usize,
    /// When it should have left.
    pub due: Instant,
    /// Whether it is to leave with an FCS that does not fit.
    pub bad_fcs: bool,
}

impl<'a> Transmitter<'a> {
    /// A transmitter whose first frame is due at `start`, on a clock of `tick`.
    pub fn new(plan: &'a TransmitPlan, start: Instant, tick: Duration) -> Self {
        Self::of_queue(plan, start, tick, (0, 1))
    }

    /// The same of one queue of so many that send the plan: its frames are those of slots `queue` modulo `queues`.
    /// `sent_of_stream` of its report is how far it has come on the walk, as [`TransmitReport::add_queue`] takes it.
    pub fn of_queue(
        plan: &'a TransmitPlan,
        start: Instant,
        tick: Duration,
        (queue, queues): (usize, usize),
    ) -> Self {
        let insertions = plan.insertions.iter().map(|&(stream, trigger)| {
            let (next_frame, next_time) = match trigger {
                Trigger::Frames { first, .. } => (first, Duration::ZERO),
                Trigger::Interval { first, .. } => (0, first),
            };
            Pending { stream, trigger, next_frame, next_time }
        });
        Transmitter {
            plan,
            start,
            tick,
            departures: plan.schedule.departures(),
            frame: 0,
            share: Share { queue, queues: queues.max(1), end: u64::MAX, chosen: None },
            order_at: 0,
            streams: vec![Cursor::default(); plan.set.streams().len()],
            insertions: insertions.collect(),
            paused_until: Instant::ZERO,
            medium: None,
            report: TransmitReport::new(plan, tick),
        }
    }

    /// When the next frame is due; `None` when all were sent.
    #[inline]
    pub fn next_due(&mut self) -> Option<Instant> {
        if self.share.queues > 1 {
            self.choose();
            self.share.chosen.filter(|_| self.frame < self.share.end)?;
        }
        let held = self.report.held();
        let due = self.departures.peek().map(|from_start| self.start + from_start + held);
        due.map(|due| due.max(self.paused_until))
    }

    /// Walks past the frames of other queues to the next one of this queue.
    fn choose(&mut self) {
        let Share { queue, queues, end, .. } = self.share;
        while self.share.chosen.is_none() && self.frame < end {
            let Some(from_start) = self.departures.peek() else { return };
            let (index, is_inserted) = self.next_stream(from_start);
            let stream = &self.plan.set.streams()[index];
            let slot_index = stream.first_slot + self.streams[index].slot;
            if slot_index % queues == queue {
                self.share.chosen = Some((index, is_inserted));
                return;
            }
            self.streams[index].step(stream.period);
            self.report.sent_of_stream[index].1 += 1;
            self.pass(from_start, self.plan.set.slots()[slot_index].len_bytes, is_inserted);
        }
    }

    /// Goes on to the departure after this one, of a frame of that length.
    #[inline]
    fn pass(&mut self, from_start: Duration, len_bytes: usize, is_inserted: bool) {
        let bytes = on_medium(len_bytes);
        let length = if is_inserted { Length::Inserted(bytes) } else { Length::Bytes(bytes) };
        self.departures.advance(length);
        self.frame += 1;
        if let Some(spacing) = &mut self.report.by_length {
            spacing.to_last = from_start;
        }
    }

    /// How many frames of its port it has sent or passed over.
    pub fn walked(&self) -> u64 {
        self.frame
    }

    /// Has the walk end before this frame of the port: where another queue, which is further, has stopped.
    pub fn go_on_to(&mut self, end: u64) {
        self.share.end = end;
    }

    /// The device asks for silence until then, or for its end (a PAUSE frame of IEEE 802.3 annex
    /// 31B). What is left of the schedule moves by the time that the pause took, and keeps its
    /// order: no frame is left out and none catches up (RFC 2889 section 5.1.3).
    pub fn pause_until(&mut self, until: Instant) {
        self.paused_until = until;
        self.report.paused.frames += 1;
    }

    /// The next frame would leave at `ready` as far as it is up to the tester, and others have the medium until
    /// `free`: what it waits in between is not the tester's doing (RFC 2285 section 3.5.1). The schedule is kept
    /// as far as the credit makes up for it, and moves by the rest. Of several calls for a frame the first
    /// `ready` holds, and the last `free`; whether that first one, without what the medium delayed before, is
    /// earlier than `by`.
    #[inline]
    pub fn wait_for_medium(&mut self, (ready, free): (Instant, Instant), by: Instant) -> bool {
        let (ready, _) = self.medium.unwrap_or((ready, free));
        self.medium = Some((ready, free));
        ready < by + self.report.deferred.lag
    }

    /// Writes the next frame, stamped with `now`, to the start of `buffer`, and counts it as sent.
    ///
    /// # Panics
    /// If all frames were sent, or `buffer` is shorter than [`FrameSet::longest_bytes`]
    /// (crate::FrameSet::longest_bytes).
    #[inline]
    pub fn emit(&mut self, now: Instant, buffer: &mut [u8]) -> Emitted {
        self.emit_over(now, buffer, None)
    }

    /// The same into a buffer that still has a frame of this transmitter's plan, that of slot `kept`, and nothing
    /// else since: if the next frame is that of the same slot, only its signature is written.
    ///
    /// # Panics
    /// As [`emit`](Self::emit).
    #[inline]
    pub fn emit_over(&mut self, now: Instant, buffer: &mut [u8], kept: Option<usize>) -> Emitted {
        if self.share.queues > 1 {
            self.choose();
        }
        let from_start = self.departures.peek().expect("no frame is left to emit");
        let (index, is_inserted) = match self.share.chosen.take() {
            Some(chosen) => chosen,
            None => self.next_stream(from_start),
        };
        let stream = &self.plan.set.streams()[index];
        let cursor = &mut self.streams[index];
        let slot_index = stream.first_slot + cursor.slot;
        let slot = &self.plan.set.slots()[slot_index];
        let sequence = cursor.sequence;
        cursor.step(stream.period);

        let frame = &mut buffer[..slot.len_bytes];
        if kept != Some(slot_index) {
            copy(self.plan.set.frame(slot), frame);
        }
        if let Some(form) = slot.form {
            let transmit_ticks = now.in_ticks(self.tick);
            let stamp = Stamp { stream: stream.id.0, sequence, transmit_ticks };
            signature::write(form, self.plan.key, stamp, frame);
        }
        self.pass(from_start, slot.len_bytes, is_inserted);
        let due = self.start + from_start + self.report.held();
        let paused = self.paused_until.since(due);
        self.report.paused.time += paused;
        let due = due + paused;
        self.report.count(index, (1, slot.len_bytes as u64 + 4), now);
        let mut lateness = now.since(due);
        if let Some((ready, free)) = self.medium.take() {
            lateness = self.report.defer(lateness, free.since(due.max(ready)));
        }
        self.report.note_lateness(lateness, self.plan.late_after, self.tick);
        let (len_bytes, bad_fcs) = (slot.len_bytes, stream.bad_fcs);
        Emitted { stream: stream.id, slot: slot_index, sequence, len_bytes, due, bad_fcs }
    }

    /// The only stream of the plan, where its frames need no choice and differ in their stamps and slots alone: what
    /// nearly all trials send. Of such a plan [`emit_run`](Self::emit_run) writes the frames.
    pub fn only_stream(&self) -> Option<StreamId> {
        let [index] = self.plan.order[..] else { return None };
        let stream = &self.plan.set.streams()[index];
        let is_plain = self.insertions.is_empty() && self.report.by_length.is_none();
        (is_plain && !stream.bad_fcs).then_some(stream.id)
    }

    /// The same as [`emit_over`](Self::emit_over) for each frame that is due by `now`, up to `most` and while there is
    /// room; gives their number. What they have in common is looked up once. 0 where there is no
    /// [only stream](Self::only_stream).
    pub fn emit_run(&mut self, now: Instant, most: usize, places: &mut impl Places) -> usize {
        let (Some(id), Some(&index)) = (self.only_stream(), self.plan.order.first()) else {
            return 0;
        };
        let plan = self.plan;
        let stream = &plan.set.streams()[index];
        let slots = &plan.set.slots()[stream.first_slot..stream.first_slot + stream.period];
        let mut cursor = self.streams[index];
        let mut stamp =
            Stamp { stream: id.0, sequence: 0, transmit_ticks: now.in_ticks(self.tick) };
        let (mut frames, mut bytes) = (0, 0);
        while frames < most {
            let due = self.next_due();
            if self.share.queues > 1 {
                cursor = self.streams[index];
            }
            let Some(due) = due.filter(|due| *due <= now) else { break };
            let Some((buffer, kept)) = places.place() else { break };
            let (slot, slot_index) = (&slots[cursor.slot], stream.first_slot + cursor.slot);
            let frame = &mut buffer[..slot.len_bytes];
            if kept != Some(slot_index) {
                copy(plan.set.frame(slot), frame);
            }
            if let Some(form) = slot.form {
                stamp.sequence = cursor.sequence;
                signature::write(form, plan.key, stamp, frame);
            }
            cursor.step(stream.period);
            if self.share.queues > 1 {
                self.streams[index] = cursor;
                self.share.chosen = None;
            }
            self.hold(due);
            self.departures.advance(Length::Planned);
            self.report.note_lateness(now.since(due), plan.late_after, self.tick);
            places.written(slot_index, slot.len_bytes);
            bytes += slot.len_bytes as u64 + 4;
            frames += 1;
            self.frame += 1;
        }
        if frames > 0 {
            self.streams[index] = cursor;
            self.report.count(index, (frames as u64, bytes), now);
        }
        frames
    }

    /// Takes in the pause that the frame at hand, due then, has waited for.
    #[inline]
    fn hold(&mut self, due: Instant) {
        if due == self.paused_until {
            let from_start = self.departures.peek().unwrap_or_default();
            let unpaused = self.start + from_start + self.report.held();
            self.report.paused.time += due.since(unpaused);
        }
    }

    /// The stream that takes the departure at hand, and whether it is inserted.
    #[inline]
    fn next_stream(&mut self, from_start: Duration) -> (usize, bool) {
        for pending in &mut self.insertions {
            if pending.fires(self.frame, from_start) {
                return (pending.stream, true);
            }
        }
        let index = self.plan.order[self.order_at];
        self.order_at =
            if self.order_at + 1 == self.plan.order.len() { 0 } else { self.order_at + 1 };
        (index, false)
    }

    /// What was sent so far.
    pub fn report(&self) -> &TransmitReport {
        &self.report
    }
    /// What was sent.
    pub fn into_report(self) -> TransmitReport {
        self.report
    }
}

/// Bytes of the shortest frame, without FCS.
const SHORTEST_BYTES: usize = 60;

/// Copies a frame. The shortest ones, of which there are the most a second, without a call.
#[inline]
fn copy(from: &[u8], to: &mut [u8]) {
    match (<&[u8; SHORTEST_BYTES]>::try_from(from), <&mut [u8; SHORTEST_BYTES]>::try_from(&mut *to))
    {
        (Ok(from), Ok(to)) => *to = *from,
        _ => to.copy_from_slice(from),
    }
}

impl Cursor {
    /// On to the next frame of a stream whose slots begin anew after so many.
    #[inline]
    fn step(&mut self, period: usize) {
        self.sequence += 1;
        self.slot = if self.slot + 1 == period { 0 } else { self.slot + 1 };
    }
}

impl Pending {
    fn fires(&mut self, frame: u64, from_start: Duration) -> bool {
        match self.trigger {
            Trigger::Frames { every, .. } => {
                let fires = frame >= self.next_frame;
                if fires {
                    self.next_frame += every.max(1);
                }
                fires
            }
            Trigger::Interval { every, .. } => {
                let fires = from_start >= self.next_time;
                if fires {
                    self.next_time += every;
                }
                fires
            }
        }
    }
}

impl TransmitReport {
    fn new(plan: &TransmitPlan, tick: Duration) -> Self {
        let streams = plan.set.streams().iter().map(|stream| (stream.id, 0));
        TransmitReport {
            port: plan.port,
            intended_frames: plan.schedule.frames(),
            sent_frames: 0,
            sent_bytes: 0,
            sent_of_stream: streams.collect(),
            first_departure: None,
            last_departure: None,
            lateness: Histogram::new(tick),
            late_frames: 0,
            late_after: plan.late_after,
            slips: Slips::new(plan.credit),
            paused: Paused::default(),
            deferred: Deferred::default(),
            by_length: ByLength::of(&plan.schedule),
        }
    }

    /// By how much the schedule has moved so far.
    #[inline]
    fn held(&self) -> Duration {
        self.held_back() + self.slips.total
    }

    /// Moves the schedule by what the frame that has just left waited for the medium beyond the credit; gives
    /// how late it is by the schedule moved so. `deferred` of its lateness is its own wait; waits of earlier
    /// frames that were not made up for yet may be in it, too.
    #[inline]
    fn defer(&mut self, lateness: Duration, deferred: Duration) -> Duration {
        let of_medium = lateness.min(self.deferred.lag + deferred);
        let beyond = lateness.saturating_sub(self.slips.credit).min(of_medium);
        self.deferred.frames += u64::from(deferred > Duration::ZERO);
        self.deferred.time += beyond;
        self.deferred.lag = of_medium.saturating_sub(beyond);
        lateness.saturating_sub(beyond)
    }

    /// Adds what another queue of the same port has sent of the same plan. Each knows how far it has come on the walk
    /// that all of them take: that is how many frames of each stream have left. The schedule of the port has moved by
    /// as much as that of the queue which moved the most.
    pub fn add_queue(&mut self, other: TransmitReport) {
        self.sent_frames += other.sent_frames;
        self.sent_bytes += other.sent_bytes;
        for ((_, sent), (_, walked)) in self.sent_of_stream.iter_mut().zip(other.sent_of_stream) {
            *sent = walked.max(*sent);
        }
        let departures = [self.first_departure, other.first_departure];
        self.first_departure = departures.into_iter().flatten().min();
        self.last_departure = self.last_departure.max(other.last_departure);
        self.lateness.merge(&other.lateness);
        self.late_frames += other.late_frames;
        self.slips.total = self.slips.total.max(other.slips.total);
        self.slips.times += other.slips.times;
        if let (Some(all), Some(other)) = (&mut self.by_length, other.by_length) {
            all.to_last = all.to_last.max(other.to_last);
        }
    }

    /// So many frames, with so many bytes, were sent at `now`.
    #[inline]
    fn count(&mut self, stream: usize, (frames, bytes): (u64, u64), now: Instant) {
        self.sent_frames += frames;
        self.sent_bytes += bytes;
        self.sent_of_stream[stream].1 += frames;
        self.first_departure.get_or_insert(now);
        self.last_departure = Some(now);
    }

    #[inline]
    fn note_lateness(&mut self, lateness: Duration, late_after: Duration, tick: Duration) {
        let ticks = lateness.in_ticks(tick);
        self.lateness.record(ticks);
        self.late_frames += u64::from(lateness > late_after);
        // In whole ticks, which is what the transmit program of the xdp port counts in.
        self.slips.observe(Duration::from_ps(ticks * tick.as_ps().max(1)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FrameSet, PortId, Schedule, Stream, StreamFrame};
    use std::collections::BTreeSet;
    use units::FrameRate;
    use wire::signature::{Form, Key};

    const TICK: Duration = Duration::from_ns(1);

    fn stream(id: u16, fills: &[u8], form: Option<Form>) -> Stream {
        let frame = |fill: &u8| StreamFrame { bytes: vec![*fill; 60], form };
        Stream {
            id: StreamId(id),
            name: format!("stream {id}"),
            role: crate::Role::Test,
            from: PortId(0),
            expect: crate::Expectation::Ports(vec![PortId(1)]),
            frames: fills.iter().map(frame).collect(),
            fingerprint: None,
            given_up: vec![],
            bad_fcs: false,
            grows_by_bytes: 0,
        }
    }

    fn plan(streams: &[Stream], order: &[usize], insertions: &[(usize, Trigger)]) -> TransmitPlan {
        TransmitPlan {
            port: PortId(0),
            key: Key::from_seed(0x4e41),
            set: FrameSet::new(streams),
            order: order.to_vec(),
            insertions: insertions.to_vec(),
            schedule: Schedule::constant(FrameRate::from_fps(1_000), Duration::from_ms(10)),
            late_after: Duration::from_us(20),
            credit: Duration::from_us(100),
        }
    }

    /// Sends everything on time; (stream, first byte) of each frame.
    fn send_all(plan: &TransmitPlan) -> (Vec<(u16, u8)>, TransmitReport) {
        let mut transmitter = Transmitter::new(plan, Instant::from_ns(500), TICK);
        let mut sent = vec![];
        let mut buffer = [0; 64];
        while let Some(due) = transmitter.next_due() {
            let emitted = transmitter.emit(due, &mut buffer);
            if let Some(form) = plan.set.slots()[0].form {
                let stamp = signature::read(form, plan.key, &buffer[..emitted.len_bytes]);
                assert_eq!(stamp.map(|s| s.sequence), Some(emitted.sequence));
            }
            sent.push((emitted.stream.0, buffer[0]));
        }
        (sent, transmitter.into_report())
    }

    #[test]
    fn frame_n_of_a_stream_is_its_slot_n_mod_period() {
        let streams = [stream(7, &[1, 2, 3], Some(Form::Full)), stream(8, &[9], Some(Form::Full))];
        let (sent, report) = send_all(&plan(&streams, &[0, 0, 1], &[]));
        let expected =
            [(7, 1), (7, 2), (8, 9), (7, 3), (7, 1), (8, 9), (7, 2), (7, 3), (8, 9), (7, 1)];
        assert_eq!(sent, expected);
        assert_eq!(report.sent_of_stream, vec![(StreamId(7), 7), (StreamId(8), 3)]);
        assert_eq!(report.sent_bytes, 640);
        assert_eq!(report.late_frames, 0);
    }

    /// Frames of two slots in two places that keep them: as if written anew, and of what is kept nothing is written but
    /// the signature.
    #[test]
    fn over_a_kept_frame_its_signature_alone_is_written() {
        let plan = plan(&[stream(1, &[1, 2], Some(Form::Full))], &[0], &[]);
        let mut over = Transmitter::new(&plan, Instant::ZERO, TICK);
        let mut anew = over.clone();
        let (mut places, mut kept, mut fresh) = ([[0u8; 60]; 2], [None; 2], [0; 60]);
        for n in [0, 1, 0, 1, 0, 1] {
            let due = over.next_due().unwrap();
            kept[n] = Some(over.emit_over(due, &mut places[n], kept[n]).slot);
            anew.emit(due, &mut fresh);
            assert_eq!(places[n], fresh);
        }
        let due = over.next_due().unwrap();
        places[0][5] = 0xee;
        over.emit_over(due, &mut places[0], kept[0]);
        assert_eq!(places[0][5], 0xee, "it was written though it was kept");
        over.emit_over(due, &mut places[0], kept[0]);
        assert_eq!(places[0][..42], [2; 42], "another slot's frame");
    }

    /// Places that keep nothing, of which there are so many.
    struct Room(usize, Vec<[u8; 60]>);

    impl Places for Room {
        fn place(&mut self) -> Option<(&mut [u8], Option<usize>)> {
            let has_room = self.1.len() < self.0;
            has_room.then(|| self.1.push([0; 60]))?;
            self.1.last_mut().map(|place| (&mut place[..], None))
        }
        fn written(&mut self, _slot: usize, len_bytes: usize) {
            assert_eq!(len_bytes, 60);
        }
    }

    /// Sent in runs of whatever length, held up and paused: the same frames at the same times with the same account as
    /// one by one.
    #[test]
    fn a_run_is_frames_one_by_one() {
        let mut plan = plan(&[stream(1, &[1, 2, 3], Some(Form::Full))], &[0], &[]);
        plan.schedule = Schedule {
            segments: vec![
                crate::Segment::constant(FrameRate::new(1_000_000, 7), 100),
                crate::Segment::bursty(FrameRate::from_fps(1_000_000), 4, Duration::from_us(9), 80),
            ],
        };
        let mut run = Transmitter::new(&plan, Instant::from_ns(500), TICK);
        let mut single = run.clone();
        assert_eq!(run.only_stream(), Some(StreamId(1)));
        let (mut now, mut all, mut turn) = (Instant::ZERO, 0, 0u64);
        while let Some(due) = run.next_due() {
            assert_eq!(single.next_due(), Some(due));
            turn += 1;
            // Late by up to 70 us, and once by more than is made up for.
            let late_ns = if turn == 9 { 400_000 } else { turn * 7_919 % 70_000 };
            now = now.max(due) + Duration::from_ns(late_ns);
            if turn % 5 == 0 {
                let until = now + Duration::from_us(3);
                run.pause_until(until);
                single.pause_until(until);
                now = until;
            }
            let (most, room) = ((turn % 7 + 1) as usize, (turn % 11 + 1) as usize);
            let mut places = Room(room, vec![]);
            let frames = run.emit_run(now, most, &mut places);
            assert!((1..=most.min(room)).contains(&frames));
            for place in &places.1[..frames] {
                assert!(single.next_due().is_some_and(|due| due <= now));
                let mut buffer = [0; 60];
                single.emit(now, &mut buffer);
                assert_eq!(*place, buffer);
            }
            all += frames;
            assert_eq!(run.report(), single.report(), "after {all} frames");
            let more_due = single.next_due().is_some_and(|due| due <= now);
            assert!(!more_due || frames == most.min(room), "one that was due did not leave");
        }
        assert_eq!((all, single.next_due()), (180, None));
        assert!(run.report().paused.time > Duration::ZERO && run.report().slips.times > 0);
    }

    #[test]
    fn plans_that_need_a_choice_have_no_run() {
        let streams = [stream(1, &[1], Some(Form::Full)), stream(2, &[2], Some(Form::Full))];
        let trigger = Trigger::Frames { first: 1, every: 2 };
        let mut damaged = stream(1, &[1], None);
        damaged.bad_fcs = true;
        for plan in [
            plan(&streams, &[0, 1], &[]),
            plan(&streams, &[0], &[(1, trigger)]),
            plan(&[damaged], &[0], &[]),
        ] {
            let mut transmitter = Transmitter::new(&plan, Instant::ZERO, TICK);
            assert_eq!(transmitter.emit_run(Instant::from_ns(9), 4, &mut Room(4, vec![])), 0);
            assert_eq!(transmitter.report().sent_frames, 0);
        }
    }

    #[test]
    fn an_insertion_takes_a_test_frames_place_and_alternates() {
        let streams = [stream(1, &[1], Some(Form::Full)), stream(2, &[0xa, 0xb], Some(Form::Full))];
        let trigger = Trigger::Interval { first: Duration::ZERO, every: Duration::from_ms(4) };
        let (sent, _) = send_all(&plan(&streams, &[0], &[(1, trigger)]));
        let inserted: Vec<_> = sent.iter().enumerate().filter(|(_, frame)| frame.0 == 2).collect();
        assert_eq!(inserted, vec![(0, &(2, 0xa)), (4, &(2, 0xb)), (8, &(2, 0xa))]);
        assert_eq!(sent.len(), 10);
    }

    #[test]
    fn lateness_is_kept_for_every_frame() {
        let streams = [stream(1, &[1], Some(Form::Full))];
        let plan = plan(&streams, &[0], &[]);
        let mut transmitter = Transmitter::new(&plan, Instant::ZERO, TICK);
        let mut buffer = [0; 64];
        for late_us in [0, 5, 50] {
            let due = transmitter.next_due().unwrap();
            transmitter.emit(due + Duration::from_us(late_us), &mut buffer);
        }
        let report = transmitter.report();
        assert_eq!(report.late_frames, 1);
        assert_eq!(report.lateness.max(), Some(Duration::from_us(50)));
        assert_eq!((report.intended_frames, report.sent_frames), (10, 3));
    }
    /// Held up for 5 ms, the transmitter makes up for 100 us and no more: neither does any frame
    /// leave before the moved schedule, nor does the mean rate over any time exceed that intended by
    /// more than the credit.
    #[test]
    fn a_transmitter_that_was_held_up_makes_up_for_its_credit_only() {
        let streams = [stream(1, &[1], Some(Form::Full))];
        let mut plan = plan(&streams, &[0], &[]);
        plan.schedule = Schedule::constant(FrameRate::from_fps(100_000), Duration::from_ms(20));
        let mut transmitter = Transmitter::new(&plan, Instant::ZERO, TICK);
        let (mut buffer, mut now, mut departures) = ([0; 64], Instant::ZERO, vec![]);
        while let Some(due) = transmitter.next_due() {
            // Frame 500 is due at 5 ms.
            let stall = Duration::from_ms(if departures.len() == 500 { 5 } else { 0 });
            now = now.max(due) + stall;
            transmitter.emit(now, &mut buffer);
            departures.push(now);
        }
        let report = transmitter.into_report();
        assert_eq!((report.sent_frames, report.slips.times), (2_000, 1));
        assert_eq!(report.slips.total, Duration::from_us(4_900));
        let at = |us| Instant::ZERO + Duration::from_us(us);
        assert_eq!(
            (departures[500], departures[510], departures[511]),
            (at(10_000), at(10_000), at(10_010))
        );
        assert_eq!(departures[1_999], at(19_990 + 4_900));
    }

    /// Frames of 60 and 1,514 bytes in turn at 10 Mb/s, some replaced by others of 300: none is due
    /// before the medium has done with the one before it, and nine out of ten take no longer than the
    /// mean.
    #[test]
    fn a_mix_never_asks_for_more_than_the_medium_whatever_is_inserted() {
        let frame = |len: usize| StreamFrame { bytes: vec![0; len], form: None };
        let mut mix = stream(1, &[0], None);
        mix.frames = vec![frame(60), frame(1_514)];
        let mut other = stream(2, &[0], None);
        other.frames = vec![frame(300)];
        let maximum = FrameRate::new(10_000_000 * 2, (84 + 1_538) * 8);
        let load = crate::PortLoad {
            port: PortId(0),
            schedule: Schedule { segments: vec![crate::Segment::constant(maximum, 1_000)] },
            order: vec![StreamId(1)],
            insertions: vec![crate::Insertion {
                stream: StreamId(2),
                trigger: Trigger::Frames { first: 3, every: 10 },
            }],
        };
        let trial = crate::Trial {
            label: "mix".into(),
            key: Key::from_seed(1),
            streams: vec![mix, other],
            loads: vec![load],
            prelude: vec![],
            waits: crate::Waits::RFC2544,
            tagging: None,
            count_flows: false,
            verify_payload: false,
            action: None,
            captures: vec![],
            limits: crate::ValidityLimits::default(),
        };
        let plan = trial.transmit_plans().unwrap().remove(0);
        let mut transmitter = Transmitter::new(&plan, Instant::ZERO, TICK);
        let mut buffer = [0; 2_000];
        let mut free_at = Instant::ZERO;
        let mut sent = [0u64; 3];
        while let Some(due) = transmitter.next_due() {
            assert!(due >= free_at, "due at {due:?}, the medium is busy until {free_at:?}");
            let emitted = transmitter.emit(due, &mut buffer);
            // 0.8 us a byte.
            free_at = due + Duration::from_ns((emitted.len_bytes as u64 + 24) * 800);
            sent[usize::from(emitted.stream.0)] += 1;
        }
        assert_eq!(sent, [0, 900, 100]);
        let report = transmitter.into_report();
        assert_eq!(report.sent_rate(), Some(FrameRate::from_fps_f64(maximum.fps())));
        // 900 frames of the mix and 100 times a mean one: 811 bytes.
        let (all, last) = (900 * 811 + 100 * 811, 1_538);
        let span = report.last_departure.unwrap().since(report.first_departure.unwrap());
        assert_eq!(span, Duration::from_ns((all - last) * 800));
    }

    /// Frames that a queue writes: stream, sequence, and what fills the slot.
    fn written(
        plan: &TransmitPlan,
        share: (usize, usize),
        by_runs: bool,
    ) -> (BTreeSet<(u16, u64, u8)>, TransmitReport) {
        struct Buffers(Vec<u8>, Vec<Vec<u8>>);
        impl Places for Buffers {
            fn place(&mut self) -> Option<(&mut [u8], Option<usize>)> {
                Some((&mut self.0, None))
            }
            fn written(&mut self, _slot: usize, len_bytes: usize) {
                self.1.push(self.0[..len_bytes].to_vec());
            }
        }
        let mut transmitter = Transmitter::of_queue(plan, Instant::ZERO, TICK, share);
        let mut buffers = Buffers(vec![0; 2_000], vec![]);
        while let Some(due) = transmitter.next_due() {
            if by_runs {
                assert!(transmitter.emit_run(due + Duration::from_ms(2), 3, &mut buffers) > 0);
            } else {
                let len_bytes = transmitter.emit(due, &mut buffers.0).len_bytes;
                buffers.written(0, len_bytes);
            }
        }
        let identity = |frame: &Vec<u8>| {
            let stamp = signature::read(Form::Full, plan.key, frame).expect("a signature");
            (stamp.stream, stamp.sequence, frame[0])
        };
        let frames: BTreeSet<_> = buffers.1.iter().map(identity).collect();
        assert_eq!(frames.len(), buffers.1.len(), "one was written twice");
        (frames, transmitter.into_report())
    }

    /// Whatever is inserted and in whatever turns: each frame is of one queue, that of its slot.
    #[test]
    fn queues_write_together_what_one_writes() {
        let full = Some(Form::Full);
        let streams =
            [stream(1, &[1, 2, 3, 4, 5], full), stream(2, &[6, 7], full), stream(3, &[8], full)];
        let every = |every| Trigger::Frames { first: 1, every };
        let at = Trigger::Interval { first: Duration::from_ms(1), every: Duration::from_us(2_500) };
        let mixed = plan(&streams, &[0, 0, 1], &[(2, every(3)), (1, at)]);
        let simple = plan(&streams[..1], &[0], &[]);
        for (plan, by_runs) in [(&mixed, false), (&simple, false), (&simple, true)] {
            let (all, by_one) = written(plan, (0, 1), by_runs);
            for queues in 2..=4 {
                let parts = (0..queues).map(|queue| written(plan, (queue, queues), by_runs));
                let (frames, reports): (Vec<_>, Vec<_>) = parts.unzip();
                for (queue, frames) in frames.iter().enumerate() {
                    assert!(
                        frames.iter().all(|(.., fill)| (usize::from(*fill) - 1) % queues == queue)
                    );
                }
                assert_eq!(frames.iter().map(BTreeSet::len).sum::<usize>(), all.len());
                assert_eq!(frames.into_iter().flatten().collect::<BTreeSet<_>>(), all);
                let mut reports = reports.into_iter();
                let mut report = reports.next().unwrap();
                reports.for_each(|queue| report.add_queue(queue));
                assert_eq!(
                    (report.sent_frames, report.sent_bytes),
                    (by_one.sent_frames, by_one.sent_bytes)
                );
                assert_eq!(report.sent_of_stream, by_one.sent_of_stream);
                assert_eq!(report.lateness.count(), by_one.lateness.count());
            }
        }
    }

    /// One queue has stopped before frame 6, the other one before 3 and goes on to there: no number is left out.
    #[test]
    fn the_hindmost_queue_goes_on_as_far_as_the_foremost() {
        let plan = plan(&[stream(1, &[1, 2], Some(Form::Full))], &[0], &[]);
        let mut buffer = [0; 60];
        let mut queue = |number: usize, frames: usize| {
            let mut queue = Transmitter::of_queue(&plan, Instant::ZERO, TICK, (number, 2));
            for _ in 0..frames {
                let due = queue.next_due().unwrap();
                queue.emit(due, &mut buffer);
            }
            queue
        };
        let (mut even, mut odd) = (queue(0, 3), queue(1, 1));
        assert!(even.next_due().is_some() && odd.next_due().is_some());
        assert_eq!((even.walked(), odd.walked()), (6, 3));
        even.go_on_to(6);
        odd.go_on_to(6);
        assert_eq!(even.next_due(), None);
        while let Some(due) = odd.next_due() {
            odd.emit(due, &mut buffer);
        }
        let mut report = even.into_report();
        report.add_queue(odd.into_report());
        assert_eq!((report.sent_frames, &report.sent_of_stream[..]), (6, &[(StreamId(1), 6)][..]));
    }

    /// Of frames 0 to 9 one queue sends the even ones, and is at 8 when it ends; the other one is at 9.
    #[test]
    fn a_port_has_sent_what_its_queues_have() {
        let plan = plan(&[stream(1, &[1, 2], Some(Form::Full))], &[0], &[]);
        let at = |ns: u64| Some(Instant::from_ns(ns));
        let queue = |sent: u64, walked: u64, first: u64, last: u64, late_ns: u64| {
            let mut report = TransmitReport::new(&plan, TICK);
            report.count(0, (sent, sent * 64), Instant::from_ns(last));
            report.sent_of_stream[0].1 = walked;
            report.first_departure = at(first);
            (0..sent).for_each(|_| report.lateness.record(late_ns));
            report.slips.total = Duration::from_ns(late_ns);
            report
        };
        let mut port = queue(4, 8, 100, 900, 5);
        port.add_queue(queue(5, 9, 50, 800, 7));
        assert_eq!((port.sent_frames, port.sent_bytes, port.intended_frames), (9, 9 * 64, 10));
        assert_eq!(port.sent_of_stream, [(StreamId(1), 9)]);
        assert_eq!((port.first_departure, port.last_departure), (at(50), at(900)));
        assert_eq!((port.lateness.count(), port.slips.total), (9, Duration::from_ns(7)));
    }
}
