//! Frames out of and into a device, for the pump.

use super::device::Device;
use super::shim::{BURST, Frame};
use super::trial_time::TrialTime;
use crate::PerhapsFull;
use crate::clock;
use crate::control::{OwnFrames, is_control};
use crate::pump::{FrameSink, FrameSource};
use crate::pumped::TrialSource;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError};
use units::{Duration, Instant};

/// At most so many bursts are taken in one turn: 256 frames take some 10 us, for which a sender on the same core waits.
const BURSTS_OF_A_TURN: usize = 4;
/// Queues of virtual devices are short: 256 frames of virtio fill in 50 us at 5 million frames a second.
const NAP: Duration = Duration::from_us(20);
/// What waited before a trial is thrown away, up to so many bursts: a device that never falls silent is not
/// waited for.
const BURSTS_BEFORE: usize = 4_096;

/// Sends.
pub(super) struct Sink {
    device: Arc<Device>,
    /// Which of the device's.
    queue: usize,
    /// Of the frames that the device took and did not send, those that this queue was told of.
    refused: u64,
    frames: [Frame; BURST],
    /// Buffers at hand, of which the first `ready` have a frame.
    allocated: usize,
    ready: usize,
    /// Whether what finds no room was lost at the far end.
    into_far_queue: bool,
    /// Whether a buffer that was sent still has its frame.
    keeps_frames: bool,
    /// Number of the plan that is sent, from 1 on.
    plan: u32,
    /// Frames of its bursts.
    burst: usize,
}

/// A burst has so many bytes at most, but for the shortest burst: what is in the processor's nearest cache is copied
/// fastest, and the buffers of one burst are used again for the next one.
const BURST_BYTES: usize = 32 << 10;
const SHORTEST_BURST: usize = 8;

impl Sink {
    pub fn new(device: Arc<Device>, queue: usize) -> Self {
        let into_far_queue = device.arguments.sends_into_far_queue();
        let keeps_frames = device.arguments.leaves_frames_alone();
        Sink {
            device,
            queue,
            refused: 0,
            frames: [Frame::NONE; BURST],
            allocated: 0,
            ready: 0,
            into_far_queue,
            keeps_frames,
            plan: 0,
            burst: BURST,
        }
    }

    /// What a buffer keeps with the frame of a slot: the plan's number, and one more than the slot's.
    fn mark_of(&self, slot: usize) -> u64 {
        let slot = u32::try_from(slot + 1).unwrap_or(0);
        u64::from(self.plan) << 32 | u64::from(slot)
    }

    /// Buffers for the next frames; false if there are none.
    fn refill(&mut self) -> bool {
        let missing = self.frames.get_mut(self.allocated..self.burst).unwrap_or_default();
        let is_full = !missing.is_empty() && self.device.allocate(self.queue, missing);
        if is_full {
            self.allocated = self.burst;
        }
        is_full
    }
}

impl FrameSink for Sink {
    /// A burst leaves by one call: its first frame waits for the last one to be written, whatever they are stamped with.
    const FRAMES_OF_A_LOOK: usize = BURST / 2;

    fn begin(&mut self, longest_bytes: usize) {
        self.plan += 1;
        self.burst = (BURST_BYTES / longest_bytes.max(1)).clamp(SHORTEST_BURST, BURST);
    }

    fn batch_frames(&self) -> usize {
        self.burst
    }

    #[inline]
    fn kept(&mut self) -> Option<usize> {
        if self.ready == self.allocated && !self.refill() {
            return None;
        }
        let kept = self.frames[self.ready].kept;
        let is_of_plan = kept >> 32 == u64::from(self.plan);
        (kept as u32).checked_sub(1).filter(|_| is_of_plan).map(|slot| slot as usize)
    }

    #[inline]
    fn keep(&mut self, slot: usize) {
        if self.keeps_frames {
            self.frames[self.ready].kept = self.mark_of(slot);
        }
    }

    #[inline]
    fn slot(&mut self) -> Option<&mut [u8]> {
        if self.ready == self.allocated && !self.refill() {
            return None;
        }
        let data = self.frames[self.ready].data;
        // SAFETY: the buffer is ours until the device takes it, and has room for `longest_bytes`; the borrow
        // of `self` keeps other slices from existing.
        Some(unsafe { std::slice::from_raw_parts_mut(data, self.device.longest_bytes) })
    }

    #[inline]
    fn commit(&mut self, len_bytes: usize) {
        self.frames[self.ready].len = len_bytes as u32;
        self.ready += 1;
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.ready == 0 {
            return Ok(());
        }
        let sent = self.device.send(self.queue, &self.frames[..self.ready]);
        let left = self.ready - sent;
        self.frames.copy_within(sent..self.allocated, 0);
        self.allocated -= sent;
        self.ready = left;
        if left > 0 && self.into_far_queue {
            // As on a veth: were they tried again, the device could never lose a frame, only slow the tester.
            self.device.note_refused(self.queue, left);
            self.ready = 0;
        }
        Ok(())
    }

    fn pending(&mut self) -> usize {
        self.ready
    }

    fn refused(&mut self) -> io::Result<u64> {
        self.refused += self.device.newly_refused()?;
        Ok(self.refused)
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        if self.allocated > 0 {
            self.device.free(&self.frames[..self.allocated]);
        }
    }
}

/// What a device had lost at one time, by counter.
#[derive(Clone, Copy, Default)]
struct Losses {
    missed: u64,
    no_buffer: u64,
    oversize: u64,
}

/// Receives.
pub(super) struct Source {
    device: Arc<Device>,
    /// Which of the device's.
    queue: usize,
    time: Arc<TrialTime>,
    frames: [Frame; BURST],
    control: SyncSender<Vec<u8>>,
    /// Those of the trial, which may look like control frames.
    own: OwnFrames,
    /// Control frames that found no room since the trial began.
    control_dropped: u64,
    before: Losses,
    /// Slots of frames taken since the queue was found empty, and how often they were more than it has.
    in_a_row: usize,
    times_full: u64,
    /// Slots of its queue, where its far end fills it without telling what found no room; and bytes of a slot.
    queue_frames: Option<usize>,
    slot_bytes: usize,
}

impl Source {
    /// Its control frames go to `control`.
    pub fn new(
        (device, queue): (Arc<Device>, usize),
        time: Arc<TrialTime>,
        control: SyncSender<Vec<u8>>,
    ) -> Self {
        let (queue_frames, slot_bytes) =
            (device.arguments.queue_frames(), device.arguments.slot_bytes());
        Source {
            device,
            queue,
            time,
            frames: [Frame::NONE; BURST],
            control,
            own: OwnFrames::default(),
            control_dropped: 0,
            before: Losses::default(),
            in_a_row: 0,
            times_full: 0,
            queue_frames,
            slot_bytes,
        }
    }

    /// Those of the device, which are told once: by its first queue.
    fn losses(&self) -> io::Result<Losses> {
        if self.queue > 0 {
            return Ok(Losses::default());
        }
        let stats = self.device.stats()?;
        let oversize = self.device.oversize();
        Ok(Losses { missed: stats.imissed, no_buffer: stats.rx_nombuf, oversize })
    }
}

/// Slots that a frame takes. Nearly all take one: then without a division.
#[inline]
fn slots_of(len_bytes: usize, slot_bytes: usize) -> usize {
    if len_bytes <= slot_bytes { 1 } else { len_bytes.div_ceil(slot_bytes) }
}

/// Passes a control frame on; says whether there was room for it.
fn pass_on(control: &SyncSender<Vec<u8>>, frame: &[u8]) -> bool {
    // Nobody listens once the port closes: then nothing is lost either.
    !matches!(control.try_send(frame.to_vec()), Err(TrySendError::Full(_)))
}

impl TrialSource for Source {
    fn nap(&self) -> Duration {
        NAP
    }

    fn is_short(&self) -> bool {
        true
    }

    fn restart(&mut self, own: &OwnFrames) -> io::Result<()> {
        self.own = own.clone();
        self.time.prepare(clock::now());
        let mut queue = self.device.receive_queue(self.queue);
        for _ in 0..BURSTS_BEFORE {
            let control = &self.control;
            let taken = queue.take(&mut self.frames, |frame| {
                if is_control(frame) {
                    pass_on(control, frame);
                }
            });
            if taken == 0 {
                break;
            }
        }
        drop(queue);
        (self.control_dropped, self.in_a_row, self.times_full) = (0, 0, 0);
        self.before = self.losses()?;
        Ok(())
    }

    fn perhaps_full(&self) -> Option<PerhapsFull> {
        let queue_frames = self.queue_frames? as u64;
        let times = self.times_full;
        (times > 0).then_some(PerhapsFull { queue_frames, times })
    }

    fn drops(&mut self) -> io::Result<Vec<(String, u64)>> {
        self.time.end();
        let now = self.losses()?;
        let since = |now: u64, before: u64| now.saturating_sub(before);
        Ok(vec![
            ("DPDK receive queue full (imissed)".into(), since(now.missed, self.before.missed)),
            (
                "DPDK without buffers (rx_nombuf)".into(),
                since(now.no_buffer, self.before.no_buffer),
            ),
            ("frame longer than a buffer".into(), since(now.oversize, self.before.oversize)),
            ("control queue full".into(), self.control_dropped),
        ])
    }
}

impl FrameSource for Source {
    fn take_waiting(
        &mut self,
        _queue: usize,
        mut take: impl FnMut(Instant, &[u8]),
    ) -> io::Result<u64> {
        self.time.run();
        let (mut all, mut dropped) = (0, 0);
        let slot_bytes = self.slot_bytes;
        let mut queue = self.device.receive_queue(self.queue);
        for _ in 0..BURSTS_OF_A_TURN {
            let (control, own) = (&self.control, &self.own);
            let mut at = None;
            let taken = queue.take(&mut self.frames, |frame| {
                self.in_a_row += slots_of(frame.len(), slot_bytes);
                let at = *at.get_or_insert_with(clock::now);
                match is_control(frame) && !own.has(frame) {
                    true => dropped += u64::from(!pass_on(control, frame)),
                    false => {
                        take(at, frame);
                        all += 1;
                    }
                }
            });
            if taken == 0 {
                self.in_a_row = 0;
                break;
            }
        }
        drop(queue);
        if self.queue_frames.is_some_and(|frames| self.in_a_row >= frames) {
            self.times_full += 1;
            self.in_a_row = 0;
        }
        self.control_dropped += dropped;
        Ok(all)
    }
}
