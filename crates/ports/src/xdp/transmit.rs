//! The sending half: lays out a trial for the transmit program and has the kernel run it.

use super::capture::{Capture, ring_bytes};
use super::interrupt;
use super::layout::{
    InsertionEntry, MAX_INSERTIONS, SegmentEntry, StreamEntry, TransmitState, finished,
};
use super::program::{Object, SLOT_HEADER_BYTES, failed, transmit_object};
use super::shared::SharedArray;
use crate::clock::{self, TICK};
use crate::namespace::NetworkNamespace;
use crate::{CaptureWish, Captured, Ethtool, Interface, Transmission, TransmitHalf, TrialSignals};
use aya::TestRun as _;
use aya::maps::xdp::XdpMapError;
use aya::maps::{DevMap, MapData};
use aya::programs::{ProgramError, TestRunAttrs, TestRunOptions};
use std::mem::offset_of;
use std::sync::atomic::Ordering::Relaxed;
use trial::{Schedule, TesterError, TransmitPlan, TransmitReport};
use units::{Duration, Instant};
use wire::signature::Form;

/// The longest time that the program waits in one run (`PIECE_NS` there).
const PIECE: Duration = Duration::from_us(16);
/// Bytes of frame, without FCS, that a live frame holds: a page less what the kernel keeps in it.
pub(super) const LIVE_FRAME_BYTES: usize = 3_400;

/// Sends through one interface.
pub(super) struct XdpTransmit {
    name: String,
    ifindex: u32,
    namespace: NetworkNamespace,
    ethtool: Ethtool,
    wish: Option<CaptureWish>,
    prepared: Option<Prepared>,
    captured: Captured,
}

impl XdpTransmit {
    pub fn open(interface: &Interface) -> Result<Self, TesterError> {
        let name = interface.name().to_string();
        let namespace = NetworkNamespace::current()
            .map_err(|error| failed(&name, "find its network namespace", &error))?;
        let ethtool = Ethtool::open(&name)?;
        Ok(XdpTransmit {
            name,
            ifindex: interface.index(),
            namespace,
            ethtool,
            wish: None,
            prepared: None,
            captured: Captured::default(),
        })
    }

    /// Makes the program's frames leave by this interface. An interface's number means something
    /// only in its own namespace; anywhere else the frames would leave by another one.
    fn device_map(&self, object: &mut Object) -> Result<DevMap<MapData>, TesterError> {
        let map = object.take_map("device").expect("the object has a device map");
        let set = || -> Result<_, XdpMapError> {
            let mut map = DevMap::try_from(map)?;
            map.set(0, self.ifindex, None, 0)?;
            Ok(map)
        };
        let map = self
            .namespace
            .run(set)
            .map_err(|error| failed(&self.name, "enter its network namespace", &error))?;
        map.map_err(|error| failed(&self.name, "send through it by XDP", &error))
    }

    /// Frames that the interface took from the program, if it counts them: sent, or refused by
    /// the queue of a virtual link's far end, which is no longer the tester's.
    fn taken(&self) -> Option<u64> {
        let statistics = self.ethtool.statistics();
        let taken = statistics
            .iter()
            .filter(|(name, _)| name.ends_with("xdp_xmit") || name.ends_with("xdp_xmit_errors"));
        let counts: Vec<u64> = taken.map(|(_, count)| *count).collect();
        (!counts.is_empty()).then(|| counts.iter().sum())
    }

    fn not_sent(&self, report: &TransmitReport, before: Option<u64>) -> Result<u64, TesterError> {
        let (Some(before), Some(after)) = (before, self.taken()) else { return Ok(0) };
        let not_sent = report.sent_frames.saturating_sub(after - before);
        if not_sent == report.sent_frames && not_sent > 0 {
            return Err(TesterError::Unsupported {
                port: self.name.clone(),
                what: "the interface took none of the frames; a veth takes them only if its far \
                       end polls (NAPI)"
                    .into(),
                remedy: "ethtool -K PEER gro on, while it is up, or use --port-type af_packet"
                    .into(),
            });
        }
        Ok(not_sent)
    }
}

/// Everything that is set up before a trial.
pub(super) struct Prepared {
    object: Object,
    state: SharedArray<TransmitState>,
    streams: SharedArray<StreamEntry>,
    /// What the kernel makes live frames of; each gets its slot's bytes over it.
    blank: Vec<u8>,
    batch: u32,
    capture: Option<Capture>,
    /// The program redirects through it; gone when the interface goes.
    _device: DevMap<MapData>,
}

impl TransmitHalf for XdpTransmit {
    fn prepare(&mut self, plan: &TransmitPlan) -> Result<(), TesterError> {
        self.prepared = None;
        self.prepared = Some(Prepared::new(self, plan)?);
        Ok(())
    }

    fn transmit(
        &mut self,
        plan: &TransmitPlan,
        start: Instant,
        stop_at: Instant,
        signals: &TrialSignals,
    ) -> Result<Transmission, TesterError> {
        let mut prepared = self.prepared.take().expect("prepared before it transmits");
        prepared.set_times(start, stop_at);
        let taken_before = self.taken();
        let ran = prepared.run(&self.name, plan, stop_at, signals);
        self.captured = prepared.capture.take().map(Capture::into_captured).unwrap_or_default();
        ran?;
        let report = prepared.report(plan);
        let not_sent_frames = self.not_sent(&report, taken_before)?;
        Ok(Transmission { report, not_sent_frames })
    }

    fn capture(&mut self, wish: Option<CaptureWish>) -> Result<(), TesterError> {
        self.wish = wish;
        Ok(())
    }

    fn captured(&mut self) -> Captured {
        std::mem::take(&mut self.captured)
    }
}

impl Prepared {
    fn new(port: &XdpTransmit, plan: &TransmitPlan) -> Result<Self, TesterError> {
        let name = &port.name;
        let longest = plan.set.longest_bytes();
        let object = transmit_object(longest).filter(|_| longest <= LIVE_FRAME_BYTES);
        let (object, slot_bytes) = object.ok_or_else(|| too_long(name, longest))?;
        let segments = segments(&plan.schedule);
        let entries = [
            ("streams", plan.set.streams().len()),
            ("order", plan.order.len()),
            ("segments", segments.len()),
            ("slots", plan.set.slots().len()),
            ("captured", ring_bytes(port.wish.as_ref(), longest)),
        ];
        let constants = [("CAPTURE", port.wish.is_some().into())];
        let mut object = Object::load(name, object, &entries, &constants)?;
        let streams = object.array("streams", plan.set.streams().len())?;
        for (index, stream) in plan.set.streams().iter().enumerate() {
            streams.write(
                index,
                &StreamEntry {
                    first_slot: stream.first_slot as u32,
                    period: stream.period as u32,
                    id: stream.id.0,
                    is_captured: port.wish.as_ref().is_some_and(|w| w.wants(stream.id)).into(),
                    ..Default::default()
                },
            );
        }
        let order = object.array::<u64>("order", plan.order.len())?;
        plan.order.iter().enumerate().for_each(|(at, stream)| order.write(at, &(*stream as u64)));
        let entries = object.array::<SegmentEntry>("segments", segments.len())?;
        segments.iter().enumerate().for_each(|(at, segment)| entries.write(at, segment));
        write_insertions(name, &object, plan)?;
        write_slots(&object, plan, slot_bytes)?;
        let state = object.array::<TransmitState>("state", 1)?;
        state.write(0, &initial_state(plan, &segments));
        let device = port.device_map(&mut object)?;
        let capture = port.wish.as_ref().map(|wish| Capture::new(name, &mut object, wish));
        let capture = capture.transpose()?;
        object.load_program("transmit")?;
        let blank = vec![0; longest.max(60)];
        Ok(Prepared {
            object,
            state,
            streams,
            blank,
            batch: batch_for(&plan.schedule),
            capture,
            _device: device,
        })
    }

    fn set_times(&self, start: Instant, stop_at: Instant) {
        let start_ns = start.as_ps().div_ceil(1_000);
        self.state.word(0, offset_of!(TransmitState, start_ns)).store(start_ns, Relaxed);
        let stop_at_ns = stop_at.as_ns();
        self.state.word(0, offset_of!(TransmitState, stop_at_ns)).store(stop_at_ns, Relaxed);
    }

    /// Runs the program until it says that it has finished. The kernel returns early when a
    /// signal comes in; the program's state is in its maps, so it simply goes on.
    fn run(
        &self,
        name: &str,
        plan: &TransmitPlan,
        stop_at: Instant,
        signals: &TrialSignals,
    ) -> Result<(), TesterError> {
        let stop = || {
            if signals.stopped() {
                self.state.half_word(0, offset_of!(TransmitState, stop)).store(1, Relaxed);
            }
            signals.stopped() || self.finished() != finished::RUNNING
        };
        interrupt::when(stop, || {
            while self.finished() == finished::RUNNING {
                self.run_once(plan, stop_at).map_err(|error| failed(name, "send", &error))?;
            }
            Ok(())
        })?;
        match self.finished() {
            finished::NO_DEVICE => Err(TesterError::PortGone {
                port: name.into(),
                detail: "the interface was removed while the trial was sending".into(),
            }),
            finished::BROKEN => Err(TesterError::System {
                what: format!("{name}: send"),
                detail: "a frame did not fit the live frame that the kernel gave".into(),
            }),
            _ => Ok(()),
        }
    }

    fn run_once(&self, plan: &TransmitPlan, stop_at: Instant) -> Result<(), ProgramError> {
        let sent = self.state.word(0, offset_of!(TransmitState, frame)).load(Relaxed);
        let frames = plan.schedule.frames().saturating_sub(sent);
        let pieces = stop_at.since(clock::now()).as_ps() / PIECE.as_ps();
        let repeat = frames.saturating_add(pieces).saturating_add(64);
        let mut options = TestRunOptions::new();
        options.data_in = Some(&self.blank);
        options.repeat = u32::try_from(repeat).unwrap_or(u32::MAX);
        options.attrs = TestRunAttrs::new().xdp_live_frames(self.batch);
        match self.object.program("transmit").test_run(options) {
            Err(ProgramError::SyscallError(error))
                if error.io_error.raw_os_error() == Some(libc::EINTR) =>
            {
                Ok(())
            }
            other => other.map(drop),
        }
    }

    fn finished(&self) -> u32 {
        self.state.half_word(0, offset_of!(TransmitState, finished)).load(Relaxed)
    }

    fn report(&self, plan: &TransmitPlan) -> TransmitReport {
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
        }
    }
}

fn too_long(port: &str, longest: usize) -> TesterError {
    TesterError::Unsupported {
        port: port.into(),
        what: format!(
            "frames of {} bytes: the xdp port sends frames of at most {} bytes (a memory page)",
            longest + 4,
            LIVE_FRAME_BYTES + 4
        ),
        remedy: "use --port-type af_xdp or af_packet".into(),
    }
}

/// Segments that hold frames, with their starts.
fn segments(schedule: &Schedule) -> Vec<SegmentEntry> {
    let mut start = Duration::ZERO;
    let mut entries = vec![];
    for segment in &schedule.segments {
        if segment.frames > 0 {
            entries.push(SegmentEntry::new(segment, start));
        }
        start += segment.duration();
    }
    entries
}

fn initial_state(plan: &TransmitPlan, segments: &[SegmentEntry]) -> TransmitState {
    let first = segments.first().copied().unwrap_or_default();
    // SAFETY: plain numbers, for which all zeroes is a value.
    let mut state: TransmitState = unsafe { std::mem::zeroed() };
    state.late_after_ps = plan.late_after.as_ps();
    state.targets = targets(plan.key);
    state.order_len = plan.order.len() as u32;
    state.segments = segments.len() as u32;
    state.insertions = plan.insertions.len() as u32;
    state.finished = if segments.is_empty() { finished::ALL_SENT } else { finished::RUNNING };
    state.due = first.start;
    state.segment_left = first.frames;
    state.burst_left = first.burst_frames;
    state.burst_start = first.start;
    state
}

/// How the programs number the forms.
pub(super) fn form_number(form: Option<Form>) -> u32 {
    match form {
        None => 0,
        Some(Form::Full) => 1,
        Some(Form::Short) => 2,
        Some(Form::Compact) => 3,
    }
}

/// What the words of a signature must sum up to, by the number of its form.
pub(super) fn targets(key: wire::signature::Key) -> [u16; 4] {
    let sum = |form| key.expected_sum(form);
    [0, sum(Form::Full), sum(Form::Short), sum(Form::Compact)]
}

fn write_insertions(port: &str, object: &Object, plan: &TransmitPlan) -> Result<(), TesterError> {
    if plan.insertions.len() > MAX_INSERTIONS {
        return Err(TesterError::Unsupported {
            port: port.into(),
            what: format!(
                "{} insertions: there is room for {MAX_INSERTIONS}",
                plan.insertions.len()
            ),
            remedy: "use --port-type af_xdp or af_packet".into(),
        });
    }
    let entries = object.array::<InsertionEntry>("insertions", MAX_INSERTIONS)?;
    for (at, &(stream, trigger)) in plan.insertions.iter().enumerate() {
        entries.write(at, &InsertionEntry::new(stream, trigger));
    }
    Ok(())
}

fn write_slots(object: &Object, plan: &TransmitPlan, slot_bytes: usize) -> Result<(), TesterError> {
    let words = (SLOT_HEADER_BYTES + slot_bytes) / 8;
    let to = object.array::<u64>("slots", plan.set.slots().len() * words)?;
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

/// Frames that the kernel gathers before it hands them to the interface. One at a time keeps each
/// frame's departure exact; at rates that one at a time cannot reach, groups as small as will do.
fn batch_for(schedule: &Schedule) -> u32 {
    let fastest = schedule.segments.iter().map(|segment| segment.rate.fps());
    match fastest.fold(0.0, f64::max) {
        ..1.0e6 => 1,
        1.0e6..2.0e6 => 8,
        2.0e6..3.0e6 => 16,
        _ => 64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xdp::layout::Time;

    #[test]
    fn a_time_is_split_into_whole_nanoseconds_and_the_rest() {
        assert_eq!(Time::from(Duration::from_ps(67_200)), Time { ns: 67, ps: 200 });
    }
}
