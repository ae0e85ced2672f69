//! A device of DPDK that this process has attached.

use super::arguments::DeviceArguments;
use super::awaited::{Awaited, CONNECTS_WITHIN};
use super::eal::{Eal, join_thread};
use super::shim::{Attached, BURST, ExtraStat, Frame, LinkState, Stats, Wish};
use super::{pci, said};
use std::ffi::CString;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use trial::TesterError;

/// Frames that a queue of a network card holds. Virtual devices have lengths of their own.
const DESCRIPTORS: u16 = 1_024;
/// Buffers of a port for each direction: a full queue, and what threads keep at hand.
const BUFFERS: u32 = 3_071;
/// What DPDK leaves free before a frame.
const HEADROOM_BYTES: usize = 128;
/// Buffers of network cards are no shorter.
const BUFFER_BYTES_MIN: usize = 2_048;
/// Counters of a driver's own that are looked at.
const EXTRA_STATS: usize = 512;

/// A device and its queues, given back when it is dropped.
pub(super) struct Device {
    eal: &'static Eal,
    pub arguments: DeviceArguments,
    pub attached: Attached,
    /// The longest frame that a buffer holds, without FCS.
    pub longest_bytes: usize,
    /// One for each queue of either direction.
    receive: Vec<Mutex<()>>,
    transmit: Vec<Transmit>,
    /// Frames that the device took and did not send, as far as anybody was told.
    told_refused: AtomicU64,
    carrier: Mutex<Carrier>,
    /// Before that nobody may use its queues.
    is_running: AtomicBool,
}

/// A queue to send, on a line of the cache of its own.
#[derive(Default)]
#[repr(align(128))]
struct Transmit {
    /// Whoever holds it uses the queue.
    held: Mutex<()>,
    /// Frames that it took, and those that the far end's queue had no room for.
    accepted: AtomicU64,
    refused: AtomicU64,
}

/// What was last seen of the link.
#[derive(Default)]
struct Carrier {
    is_up: bool,
    changes: u64,
}

impl Device {
    /// Attaches a device with so many queues each way, and buffers for frames of up to so many bytes without FCS.
    ///
    /// # Errors
    /// If it is not there, is somebody else's, or does not work; with what DPDK says of it.
    pub fn attach(
        eal: &'static Eal,
        arguments: DeviceArguments,
        (queues, longest_bytes, mtu_bytes): (u16, usize, u32),
    ) -> Result<Self, TesterError> {
        if arguments.is_pci {
            pci::check(&arguments.name, eal.has_huge_pages)?;
        }
        let longest_bytes = longest_bytes.max(BUFFER_BYTES_MIN);
        let wish = Wish {
            buffers: BUFFERS,
            buffer_bytes: (longest_bytes + HEADROOM_BYTES) as u32,
            mtu_bytes,
            rx_descriptors: DESCRIPTORS,
            tx_descriptors: DESCRIPTORS,
            queues,
            pad: 0,
        };
        let text = CString::new(arguments.whole.as_str())
            .map_err(|_| TesterError::BadTrial("a zero in the name of a device".into()))?;
        let _one_at_a_time = lock(&eal.devices);
        said(&eal.shim);
        let mut attached = Attached::empty();
        let awaited = awaited(&arguments);
        // SAFETY: a terminated text and two structures that live across the call.
        let failed = unsafe { (eal.shim.attach)(text.as_ptr(), &wish, &mut attached) };
        drop(awaited);
        if failed != 0 {
            let error = io::Error::from_raw_os_error(-failed);
            if failed == -libc::E2BIG && queues > 1 {
                return Err(too_many(&arguments, queues, attached.queues_max));
            }
            return Err(super::refusal::of(&arguments, &attached.step(), &error, &said(&eal.shim)));
        }
        if arguments.carries_any_length() {
            attached.mtu_bytes = mtu_bytes;
        }
        Ok(Device {
            eal,
            arguments,
            attached,
            longest_bytes,
            receive: (0..queues).map(|_| Mutex::default()).collect(),
            transmit: (0..queues).map(|_| Transmit::default()).collect(),
            told_refused: AtomicU64::new(0),
            carrier: Mutex::default(),
            is_running: AtomicBool::new(false),
        })
    }

    /// Starts it. May fail where the far end is not there yet, and be tried again.
    ///
    /// # Errors
    /// What DPDK says.
    pub fn run(&self) -> Result<bool, String> {
        let mut is_promiscuous = 0;
        let _awaited = awaited(&self.arguments);
        // SAFETY: an attached port, and a byte that lives across the call.
        let failed = unsafe { (self.eal.shim.run)(self.attached.port, &mut is_promiscuous) };
        match failed {
            0 => {
                self.is_running.store(true, Ordering::Release);
                Ok(is_promiscuous != 0)
            }
            _ => Err(said(&self.eal.shim)),
        }
    }

    /// Whether its link is up, and how often that has changed.
    pub fn link(&self) -> io::Result<(bool, u64)> {
        let mut link = LinkState::default();
        // SAFETY: an attached port, and a structure that lives across the call.
        check(unsafe { (self.eal.shim.link)(self.attached.port, &mut link) })?;
        let is_up = link.up != 0;
        let mut carrier = lock(&self.carrier);
        carrier.changes += u64::from(carrier.is_up != is_up);
        carrier.is_up = is_up;
        Ok((is_up, carrier.changes))
    }

    /// Speed in Mbit/s, where the medium has one.
    pub fn speed_mbps(&self) -> Option<u32> {
        let mut link = LinkState::default();
        // SAFETY: an attached port, and a structure that lives across the call.
        let failed = unsafe { (self.eal.shim.link)(self.attached.port, &mut link) };
        let is_known = failed == 0 && link.up != 0 && ![0, u32::MAX].contains(&link.speed_mbps);
        (is_known && self.arguments.is_pci).then_some(link.speed_mbps)
    }

    /// Its counters.
    pub fn stats(&self) -> io::Result<Stats> {
        let mut stats = Stats::default();
        // SAFETY: an attached port, and a structure that lives across the call.
        check(unsafe { (self.eal.shim.stats)(self.attached.port, &mut stats) })?;
        Ok(stats)
    }

    /// The counters of its driver's own.
    pub fn extra_stats(&self) -> Vec<(String, u64)> {
        let mut stats = vec![ExtraStat::NONE; EXTRA_STATS];
        let room = stats.len() as u32;
        // SAFETY: an attached port, and room for as many as it is told.
        let count = unsafe { (self.eal.shim.xstats)(self.attached.port, stats.as_mut_ptr(), room) };
        let count = usize::try_from(count).unwrap_or(0).min(stats.len());
        stats[..count].iter().map(|stat| (stat.name(), stat.value)).collect()
    }

    /// Frames lost since they came in more pieces than fit into a buffer.
    pub fn oversize(&self) -> u64 {
        // SAFETY: an attached port.
        unsafe { (self.eal.shim.oversize)(self.attached.port) }
    }

    /// Frames that the device took to send.
    pub fn accepted(&self) -> u64 {
        self.transmit.iter().map(|queue| queue.accepted.load(Ordering::Relaxed)).sum()
    }

    /// Frames that the far end's queue had no room for.
    pub fn refused(&self) -> u64 {
        self.transmit.iter().map(|queue| queue.refused.load(Ordering::Relaxed)).sum()
    }

    /// Frames that the device took, that it did not count as sent, and that it counts as failed, but for those that were told
    /// before: whichever queue they were of, one is told of each.
    pub fn newly_refused(&self) -> io::Result<u64> {
        let stats = self.stats()?;
        let all = self.accepted().saturating_sub(stats.opackets).min(stats.oerrors);
        Ok(all.saturating_sub(self.told_refused.fetch_max(all, Ordering::Relaxed)))
    }

    /// How many queues it has each way.
    pub fn queues(&self) -> usize {
        self.receive.len()
    }

    /// One of its receive queues, once nobody else uses it.
    pub fn receive_queue(&self, number: usize) -> ReceiveQueue<'_> {
        join_thread(self.eal);
        ReceiveQueue { device: self, number: number as u16, _held: lock(&self.receive[number]) }
    }

    /// Takes `frames.len()` buffers to send by a queue, all or none; at most [`BURST`].
    pub fn allocate(&self, queue: usize, frames: &mut [Frame]) -> bool {
        join_thread(self.eal);
        let (port, count) = (self.attached.port, frames.len() as u32);
        // SAFETY: an attached port with that queue, and room for as many frames as it is told.
        let failed =
            unsafe { (self.eal.shim.alloc)(port, queue as u16, frames.as_mut_ptr(), count) };
        failed == 0
    }

    /// Gives buffers back.
    pub fn free(&self, frames: &[Frame]) {
        // SAFETY: the caller owns the buffers of these frames, and lets them go.
        unsafe { (self.eal.shim.free)(frames.as_ptr(), frames.len() as u32) };
    }

    /// Hands over frames to a queue; gives how many of them, the first ones, the device took.
    pub fn send(&self, queue: usize, frames: &[Frame]) -> usize {
        if !self.is_running.load(Ordering::Acquire) {
            return 0;
        }
        let Transmit { held, accepted, .. } = &self.transmit[queue];
        let _held = lock(held);
        let (port, count) = (self.attached.port, frames.len() as u32);
        // SAFETY: an attached port, whose queue nobody else uses now; the caller owns the frames, and passes
        // those on that are taken.
        let taken = unsafe { (self.eal.shim.tx)(port, queue as u16, frames.as_ptr(), count) };
        accepted.fetch_add(u64::from(taken), Ordering::Relaxed);
        taken as usize
    }

    /// Notes that frames of a queue were lost for want of room at the far end.
    pub fn note_refused(&self, queue: usize, frames: usize) {
        self.transmit[queue].refused.fetch_add(frames as u64, Ordering::Relaxed);
    }

    /// Sends one frame at once, given without FCS.
    ///
    /// # Errors
    /// `ENOBUFS` if there is no room, `EMSGSIZE` if it is too long.
    pub fn send_one(&self, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() > self.longest_bytes {
            return Err(io::Error::from_raw_os_error(libc::EMSGSIZE));
        }
        let mut one = [Frame::NONE];
        if !self.allocate(0, &mut one) {
            return Err(io::Error::from_raw_os_error(libc::ENOBUFS));
        }
        let [buffer] = &mut one;
        // SAFETY: the buffer is ours and has room for `longest_bytes`.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), buffer.data, bytes.len()) };
        (buffer.len, buffer.kept) = (bytes.len() as u32, 0);
        if self.send(0, &one) == 0 {
            self.free(&one);
            return Err(io::Error::from_raw_os_error(libc::ENOBUFS));
        }
        Ok(())
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let _one_at_a_time = lock(&self.eal.devices);
        // SAFETY: whoever uses the port holds a reference to this value; there is none any more.
        unsafe { (self.eal.shim.detach)(self.attached.port) };
    }
}

/// A receive queue of a device, held.
pub(super) struct ReceiveQueue<'a> {
    device: &'a Device,
    number: u16,
    _held: MutexGuard<'a, ()>,
}

impl ReceiveQueue<'_> {
    /// Passes up to a burst of frames that wait to `take`; gives their number. The bytes are good as long as
    /// `take` runs.
    #[inline]
    pub fn take(&mut self, room: &mut [Frame; BURST], mut take: impl FnMut(&[u8])) -> usize {
        if !self.device.is_running.load(Ordering::Acquire) {
            return 0;
        }
        let shim = &self.device.eal.shim;
        let (port, burst) = (self.device.attached.port, BURST as u32);
        // SAFETY: an attached port, whose queue nobody else uses now, and room for a burst.
        let taken = unsafe { (shim.rx)(port, self.number, room.as_mut_ptr(), burst) };
        let frames = &room[..taken as usize];
        for frame in frames {
            // SAFETY: the frame is ours, whole and in one piece, until it is freed below.
            take(unsafe { std::slice::from_raw_parts(frame.data, frame.len as usize) });
        }
        if !frames.is_empty() {
            self.device.free(frames);
        }
        frames.len()
    }
}

fn too_many(arguments: &DeviceArguments, queues: u16, most: u16) -> TesterError {
    TesterError::Unsupported {
        port: arguments.whole.clone(),
        what: format!("sending by {queues} queues on a device with {most}"),
        remedy: "leave --queues out, or name a device with more".into(),
    }
}

/// An end to the wait of a device that serves a socket.
fn awaited(arguments: &DeviceArguments) -> Option<Awaited> {
    arguments.served_socket().map(|socket| Awaited::at(socket, CONNECTS_WITHIN))
}

fn check(failed: i32) -> io::Result<()> {
    if failed == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(-failed)) }
}

/// A thread that panicked leaves nothing half done behind these locks.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
