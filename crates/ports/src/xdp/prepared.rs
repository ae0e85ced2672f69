//! A trial laid out in the memory of the transmit program.

use super::capture::{Capture, ring_bytes};
use super::layout::{
    ClockMapping, InsertionEntry, MAX_INSERTIONS, SegmentEntry, StreamEntry, TransmitState,
    finished,
};
use super::program::{Object, SLOT_HEADER_BYTES, Size, Spare, transmit_object};
use super::shared::SharedArray;
use crate::CaptureWish;
use crate::af_xdp::longest_live_frame_bytes;
use crate::clock::{self, TICK};
use std::mem::offset_of;
use std::sync::atomic::Ordering::Relaxed;
use trial::{
    ByLength, Deferred, Paused, Schedule, SentSoFar, Slips, TesterError, TransmitPlan,
    TransmitReport,
};
use units::{Duration, Instant};
use wire::signature::{Form, Key};

/// The transmit program with its memory.
pub(super) struct Prepared {
    pub object: Object,
    pub state: SharedArray<TransmitState>,
    pub capture: Option<Capture>,
    /// Whether there is, or was, a capture.
    pub captures: bool,
    /// What the kernel makes live frames of; each gets its slot's bytes over it.
    pub blank: Vec<u8>,
    streams: SharedArray<StreamEntry>,
}

impl Prepared {
    /// Lays out a plan for a queue, of so many that it uses. A program that is not `spare` is not
    /// loaded yet, and knows no interface.
    pub fn new(
        name: &str,
        plan: &TransmitPlan,
        (queue, queues): (usize, usize),
        wish: Option<&CaptureWish>,
        spare: &mut Spare,
    ) -> Result<Self, TesterError> {
        let longest = plan.set.longest_bytes();
        let image = transmit_object(longest).filter(|_| longest <= longest_live_frame_bytes());
        let (image, slot_bytes) = image.ok_or_else(|| too_long(name, longest))?;
        let segments = segments(&plan.schedule);
        let entries = vec![
            ("streams", plan.set.streams().len()),
            ("order", plan.order.len()),
            ("segments", segments.len()),
            ("slots", plan.set.slots().len()),
        ];
        let maps_clock = clock::of_kernel().is_some();
        let constants = vec![
            ("CAPTURE", wish.is_some().into()),
            ("MAPS_CLOCK", maps_clock.into()),
            ("QUEUE", queue as u32),
            ("QUEUES", queues as u32),
        ];
        let ring_bytes = ring_bytes(wish, longest);
        let size = Size { image, halves: 1, entries, ring_bytes, constants };
        let mut object = spare.take(name, size)?;
        let order = object.array::<u64>("order", 0, plan.order.len())?;
        plan.order.iter().enumerate().for_each(|(at, stream)| order.write(at, &(*stream as u64)));
        let entries = object.array::<SegmentEntry>("segments", 0, segments.len())?;
        segments.iter().enumerate().for_each(|(at, segment)| entries.write(at, segment));
        write_insertions(name, &object, plan)?;
        write_slots(&object, plan, slot_bytes)?;
        let streams = write_streams(&object, plan, wish)?;
        let state = object.array::<TransmitState>("state", 0, 1)?;
        state.write(0, &initial_state(plan, &segments));
        let capture = wish.map(|wish| Capture::new(name, &mut object, wish)).transpose()?;
        object.is_used_now();
        let captures = wish.is_some();
        Ok(Prepared { object, state, capture, captures, blank: vec![0; longest.max(60)], streams })
    }

    /// Says when the first frame is due and until when frames may be sent.
    pub fn set_times(&self, start: Instant, stop_at: Instant) {
        let start_ns = start.as_ps().div_ceil(1_000);
        self.state.word(0, offset_of!(TransmitState, start_ns)).store(start_ns, Relaxed);
        ClockMapping::store_now(offset_of!(TransmitState, clock), |at| self.state.word(0, at));
        let stop_at_ns = stop_at.as_ns();
        self.state.word(0, offset_of!(TransmitState, stop_at_ns)).store(stop_at_ns, Relaxed);
    }

    /// Has the program end at its next run.
    pub fn stop(&self) {
        self.state.half_word(0, offset_of!(TransmitState, stop)).store(1, Relaxed);
    }

    /// How far it has come on its walk through the plan: frames sent, by this queue and by others.
    pub fn walked(&self) -> u64 {
        let word = |offset| self.state.word(0, offset).load(Relaxed);
        word(offset_of!(TransmitState, frame)) + word(offset_of!(TransmitState, skipped))
    }

    /// Has a program that was stopped go on, up to this frame of the port and to this time.
    pub fn go_on_to(&self, end: u64, stop_at: Instant) {
        self.state.word(0, offset_of!(TransmitState, end)).store(end, Relaxed);
        let stop_at_ns = stop_at.as_ns();
        self.state.word(0, offset_of!(TransmitState, stop_at_ns)).store(stop_at_ns, Relaxed);
        self.state.half_word(0, offset_of!(TransmitState, stop)).store(0, Relaxed);
        let running = finished::RUNNING;
        self.state.half_word(0, offset_of!(TransmitState, finished)).store(running, Relaxed);
    }

    /// How it stands: one of [`finished`].
    pub fn finished(&self) -> u32 {
        self.state.half_word(0, offset_of!(TransmitState, finished)).load(Relaxed)
    }

    /// What was sent so far.
    pub fn sent_so_far(&self, plan: &TransmitPlan) -> SentSoFar {
        let of_stream = plan.set.streams().iter().enumerate().map(|(index, stream)| {
            let sequence = self.streams.word(index, offset_of!(StreamEntry, sequence));
            (stream.id, sequence.load(Relaxed))
        });
        SentSoFar { port: plan.port, of_stream: of_stream.collect() }
    }

    /// What was sent.
    pub fn report(&self, plan: &TransmitPlan) -> TransmitReport {
        let state = self.state.read(0);
        let streams = plan.set.streams().iter().enumerate();
        let sent_of_stream =
            streams.map(|(index, stream)| (stream.id, self.streams.read(index).sequence));
        let at = |ns: u64| (state.frame > 0).then(|| Instant::from_ns(ns));
        TransmitReport {
            port: plan.port,
            intended_frames: plan.schedule.frames(),
            sent_frames: state.frame,
            sent_bytes: state.bytes,
            sent_of_stream: sent_of_stream.collect(),
            first_departure: at(state.first_ns),
            last_departure: at(state.last_ns),
            lateness: state.lateness.to_histogram(TICK),
            late_frames: state.late_frames,
            late_after: plan.late_after,
            slips: Slips {
                credit: plan.credit,
                total: Duration::from_ns(state.slipped_ns),
                times: state.slips,
            },
            paused: Paused::default(),
            deferred: Deferred::default(),
            by_length: ByLength::of(&plan.schedule).map(|by_length| ByLength {
                // The program leaves the time of the last frame as it was.
                to_last: match state.finished {
                    finished::ALL_SENT => state.due.into(),
                    _ => plan.schedule.departure(self.walked().saturating_sub(1)),
                },
                ..by_length
            }),
        }
    }
}

fn too_long(port: &str, longest: usize) -> TesterError {
    TesterError::Unsupported {
        port: port.into(),
        what: format!(
            "frames of {} bytes: the xdp port sends frames of at most {} bytes on this kernel (a memory page)",
            longest + 4,
            longest_live_frame_bytes() + 4
        ),
        remedy: "use --port-type af_xdp or af_packet".into(),
    }
}

/// Segments that hold frames, with their starts.
fn segments(schedule: &Schedule) -> Vec<SegmentEntry> {
    let with_frames = schedule.starts().filter(|(segment, ..)| segment.frames > 0);
    with_frames.map(|(segment, _, start)| SegmentEntry::new(segment, start)).collect()
}

fn initial_state(plan: &TransmitPlan, segments: &[SegmentEntry]) -> TransmitState {
    let first = segments.first().copied().unwrap_or_default();
    // SAFETY: plain numbers, for which all zeroes is a value.
    let mut state: TransmitState = unsafe { std::mem::zeroed() };
    state.late_after_ps = plan.late_after.as_ps();
    state.credit_ns = plan.credit.as_ns();
    state.targets = targets(plan.key);
    state.hash = plan.key.hash_state();
    state.tag_blocks = tag_blocks(plan.key);
    state.order_len = plan.order.len() as u32;
    state.segments = segments.len() as u32;
    state.insertions = plan.insertions.len() as u32;
    state.finished = if segments.is_empty() { finished::ALL_SENT } else { finished::RUNNING };
    state.due = first.start;
    state.segment_left = first.frames;
    state.burst_left = first.burst_frames;
    state.burst_start = first.start;
    state.end = u64::MAX;
    state
}

/// How the programs number the forms.
fn form_number(form: Option<Form>) -> u32 {
    match form {
        None => 0,
        Some(Form::Full) => 1,
        Some(Form::Short) => 2,
        Some(Form::Compact) => 3,
    }
}

/// What the words of a signature must sum up to, by the number of its form.
pub(super) fn targets(key: Key) -> [u16; 4] {
    let sum = |form| key.expected_sum(form);
    [0, sum(Form::Full), sum(Form::Short), sum(Form::Compact)]
}

/// The second block of what is hashed for a tag, by the number of its form.
pub(super) fn tag_blocks(key: Key) -> [u64; 4] {
    [0, key.tag_block(Form::Full), key.tag_block(Form::Short), 0]
}

fn write_streams(
    object: &Object,
    plan: &TransmitPlan,
    wish: Option<&CaptureWish>,
) -> Result<SharedArray<StreamEntry>, TesterError> {
    let entries = object.array("streams", 0, plan.set.streams().len())?;
    for (index, stream) in plan.set.streams().iter().enumerate() {
        let entry = StreamEntry {
            sequence: 0,
            slot: 0,
            first_slot: stream.first_slot as u32,
            period: stream.period as u32,
            id: stream.id.0,
            is_captured: wish.is_some_and(|wish| wish.wants(stream.id)).into(),
        };
        entries.write(index, &entry);
    }
    Ok(entries)
}

fn write_insertions(port: &str, object: &Object, plan: &TransmitPlan) -> Result<(), TesterError> {
    if plan.insertions.len() > MAX_INSERTIONS {
        let insertions = plan.insertions.len();
        return Err(TesterError::Unsupported {
            port: port.into(),
            what: format!("{insertions} insertions: there is room for {MAX_INSERTIONS}"),
            remedy: "use --port-type af_xdp or af_packet".into(),
        });
    }
    let entries = object.array::<InsertionEntry>("insertions", 0, MAX_INSERTIONS)?;
    for (at, &(stream, trigger)) in plan.insertions.iter().enumerate() {
        entries.write(at, &InsertionEntry::new(stream, trigger));
    }
    Ok(())
}

fn write_slots(object: &Object, plan: &TransmitPlan, slot_bytes: usize) -> Result<(), TesterError> {
    let words = (SLOT_HEADER_BYTES + slot_bytes) / 8;
    let to = object.array::<u64>("slots", 0, plan.set.slots().len() * words)?;
    let mut image = vec![0; SLOT_HEADER_BYTES + slot_bytes];
    for (index, slot) in plan.set.slots().iter().enumerate() {
        image[..4].copy_from_slice(&(slot.len_bytes as u32).to_ne_bytes());
        image[4..8].copy_from_slice(&form_number(slot.form).to_ne_bytes());
        image[8..8 + slot.len_bytes].copy_from_slice(plan.set.frame(slot));
        for (at, word) in image.chunks_exact(8).enumerate() {
            let word = u64::from_ne_bytes(word.try_into().expect("eight bytes"));
            to.words()[index * words + at].store(word, Relaxed);
        }
    }
    Ok(())
}
