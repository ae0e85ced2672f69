//! One AF_XDP socket on one queue of an interface, as a sink and a source of frames.

use super::redirect::STAMP_BYTES;
use super::ring::Ring;
use super::umem::{Layout, Umem};
use crate::clock;
use crate::pump::FrameSink;
use crate::sys;
use kernel::socket;
use std::io;
use std::os::fd::{OwnedFd, RawFd};
use std::sync::Arc;
use units::{Duration, Instant};

const COMPLETION_ENTRIES: u32 = 2048;
const TRANSMIT_ENTRIES: u32 = 2048;
/// Chunks that take turns in receiving at first where the kernel copies: room for a stall of 2 ms at
/// a million frames a second. The fewer there are, the more of what the kernel writes to is in its
/// caches. Drivers that use the memory directly are faster than that, and have all chunks.
const CIRCULATING_CHUNKS: usize = 2048;
/// At most so many frames are taken from a socket at once.
const TAKE_FRAMES: usize = 1024;
/// Arrival times of a queue only grow, but for what the clock may step back while the kernel adjusts
/// it. One that is older than this was left by an earlier frame in the same chunk: all chunks in
/// circulation have been filled since then.
const STEP_BACK: Duration = Duration::from_us(10);
const CONTINUES: u32 = libc::XDP_PKT_CONTD;
const SO_PREFER_BUSY_POLL: i32 = 69;
const SO_BUSY_POLL_BUDGET: i32 = 70;
const BUSY_POLL_US: i32 = 20;
const BUSY_POLL_FRAMES: i32 = 64;

/// How frames get into and out of the memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Transfer {
    /// The driver uses it directly.
    ZeroCopy,
    /// The kernel copies.
    Copy,
}

/// Both directions of a socket.
pub(super) struct Socket {
    pub sending: Sending,
    pub receiving: Receiving,
    pub transfer: Transfer,
}

/// What both directions share; the socket lives as long as either.
struct Shared {
    socket: OwnedFd,
    umem: Umem,
}

impl Shared {
    /// The socket's own counters, from its opening on.
    fn statistics(&self) -> io::Result<libc::xdp_statistics> {
        // SAFETY: integers, for which all zeroes is a value.
        let zero: libc::xdp_statistics = unsafe { std::mem::zeroed() };
        sys::get_option(sys::raw(&self.socket), libc::SOL_XDP, libc::XDP_STATISTICS, zero)
    }
}

/// The direction out.
pub(super) struct Sending {
    shared: Arc<Shared>,
    ring: Ring<libc::xdp_desc>,
    completions: Ring<u64>,
    free: Vec<usize>,
    slots: usize,
    current: Option<usize>,
}

/// The direction in.
pub(super) struct Receiving {
    shared: Arc<Shared>,
    ring: Ring<libc::xdp_desc>,
    fill: Ring<u64>,
    /// Number of chunks in circulation; those above are kept for longer stalls.
    circulating: usize,
    /// A frame that came in several pieces.
    joined: Vec<u8>,
    before: libc::xdp_statistics,
    unstamped: u64,
    /// The latest arrival time.
    latest: Instant,
}

impl Socket {
    /// Opens a socket on a queue: zero-copy if `transfer` says so.
    pub fn open(
        ifindex: u32,
        queue: u32,
        layout: Layout,
        in_pieces: bool,
        transfer: Transfer,
    ) -> io::Result<Self> {
        let socket = socket::open(libc::AF_XDP, libc::SOCK_RAW, 0)?;
        let fd = sys::raw(&socket);
        let umem = Umem::new(layout)?;
        register(fd, &umem)?;
        let entries = [
            (libc::XDP_UMEM_FILL_RING, fill_entries(&layout)),
            (libc::XDP_UMEM_COMPLETION_RING, COMPLETION_ENTRIES),
            (libc::XDP_RX_RING, receive_entries(&layout)),
            (libc::XDP_TX_RING, TRANSMIT_ENTRIES),
        ];
        for (ring, entries) in entries {
            sys::set_option(fd, libc::SOL_XDP, ring, entries)?;
        }
        // SAFETY: integers, for which all zeroes is a value.
        let offsets: libc::xdp_mmap_offsets = unsafe { std::mem::zeroed() };
        let offsets = sys::get_option(fd, libc::SOL_XDP, libc::XDP_MMAP_OFFSETS, offsets)?;
        let [fill, completion] =
            [libc::XDP_UMEM_PGOFF_FILL_RING, libc::XDP_UMEM_PGOFF_COMPLETION_RING];
        let shared = Arc::new(Shared { socket, umem });
        let mut receiving = Receiving {
            shared: shared.clone(),
            ring: Ring::map(fd, offsets.rx, receive_entries(&layout), libc::XDP_PGOFF_RX_RING)?,
            fill: Ring::map(fd, offsets.fr, fill_entries(&layout), fill as i64)?,
            circulating: 0,
            joined: Vec::with_capacity(layout.slot_bytes()),
            // SAFETY: integers, for which all zeroes is a value.
            before: unsafe { std::mem::zeroed() },
            unstamped: 0,
            latest: Instant::ZERO,
        };
        receiving.circulate(match transfer {
            Transfer::Copy => CIRCULATING_CHUNKS,
            Transfer::ZeroCopy => layout.receive_chunks,
        });
        let sending = Sending {
            shared,
            ring: Ring::map(fd, offsets.tx, TRANSMIT_ENTRIES, libc::XDP_PGOFF_TX_RING)?,
            completions: Ring::map(fd, offsets.cr, COMPLETION_ENTRIES, completion as i64)?,
            free: (0..layout.transmit_slots).rev().collect(),
            slots: layout.transmit_slots,
            current: None,
        };
        prefer_busy_polling(fd);
        bind(fd, ifindex, queue, in_pieces, transfer)?;
        Ok(Socket { sending, receiving, transfer })
    }

    /// Descriptor for the map of sockets.
    pub fn fd(&self) -> RawFd {
        sys::raw(&self.sending.shared.socket)
    }
}

fn receive_entries(layout: &Layout) -> u32 {
    layout.receive_chunks as u32
}

/// Twice as many as chunks: the kernel shows received frames a moment before it shows that it has
/// taken their chunks from the fill ring (`xsk_flush`), so a chunk can be on its way back while
/// its old entry still looks taken.
fn fill_entries(layout: &Layout) -> u32 {
    2 * receive_entries(layout)
}

fn register(fd: RawFd, umem: &Umem) -> io::Result<()> {
    let region = libc::xdp_umem_reg {
        addr: umem.memory.at::<u8>(0) as u64,
        len: umem.layout.len_bytes() as u64,
        chunk_size: umem.layout.chunk_bytes as u32,
        headroom: 0,
        flags: if umem.layout.is_spread() { libc::XDP_UMEM_UNALIGNED_CHUNK_FLAG } else { 0 },
        tx_metadata_len: 0,
    };
    sys::set_option(fd, libc::SOL_XDP, libc::XDP_UMEM_REG, region)
}

/// Lets the kernel leave interrupts off while the socket is polled; older kernels and ordinary
/// users do without.
fn prefer_busy_polling(fd: RawFd) {
    for (option, value) in [
        (SO_PREFER_BUSY_POLL, 1),
        (libc::SO_BUSY_POLL, BUSY_POLL_US),
        (SO_BUSY_POLL_BUDGET, BUSY_POLL_FRAMES),
    ] {
        let _ = sys::set_option(fd, libc::SOL_SOCKET, option, value);
    }
}

fn bind(
    fd: RawFd,
    ifindex: u32,
    queue: u32,
    in_pieces: bool,
    transfer: Transfer,
) -> io::Result<()> {
    let mode = match transfer {
        Transfer::ZeroCopy => libc::XDP_ZEROCOPY,
        Transfer::Copy => libc::XDP_COPY,
    };
    let pieces = if in_pieces { libc::XDP_USE_SG } else { 0 };
    let address = libc::sockaddr_xdp {
        sxdp_family: libc::AF_XDP as u16,
        sxdp_flags: mode | pieces | libc::XDP_USE_NEED_WAKEUP,
        sxdp_ifindex: ifindex,
        sxdp_queue_id: queue,
        sxdp_shared_umem_fd: 0,
    };
    let len = size_of::<libc::sockaddr_xdp>() as libc::socklen_t;
    // SAFETY: `address` lives across the call and `len` is its size.
    socket::check(unsafe { libc::bind(fd, (&raw const address).cast(), len) }).map(drop)
}

impl Sending {
    /// Takes back the slots of frames that have left.
    fn reclaim(&mut self) {
        while let Some(address) = self.completions.pop() {
            self.free.extend(self.shared.umem.layout.slot_at(address as usize));
        }
        self.completions.release();
    }
}

impl FrameSink for Sending {
    #[inline]
    fn slot(&mut self) -> Option<&mut [u8]> {
        if self.free.is_empty() {
            self.reclaim();
        }
        let slot = self.current.or_else(|| self.free.pop())?;
        self.current = Some(slot);
        let layout = &self.shared.umem.layout;
        // SAFETY: the slot was free, so the kernel is done with it until `commit` hands it over;
        // the borrow of `self` keeps other slices from existing.
        Some(unsafe {
            self.shared.umem.memory.bytes_mut(layout.slot_address(slot), layout.slot_bytes())
        })
    }

    #[inline]
    fn commit(&mut self, len_bytes: usize) {
        let slot = self.current.take().expect("a slot was asked for");
        let layout = &self.shared.umem.layout;
        let mut address = layout.slot_address(slot);
        let mut left = len_bytes;
        while left > 0 {
            let len = left.min(layout.chunk_bytes);
            left -= len;
            let options = if left > 0 { CONTINUES } else { 0 };
            let piece = libc::xdp_desc { addr: address as u64, len: len as u32, options };
            assert!(self.ring.push(piece), "the ring has room for every slot's pieces");
            address += len;
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.ring.publish();
        if !self.ring.needs_wakeup() {
            self.reclaim();
            return Ok(());
        }
        let fd = sys::raw(&self.shared.socket);
        // SAFETY: an empty message; the kernel takes the frames from the ring.
        let sent = unsafe {
            libc::sendto(fd, std::ptr::null(), 0, libc::MSG_DONTWAIT, std::ptr::null(), 0)
        };
        let outcome = if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) };
        self.reclaim();
        match outcome {
            // More frames than one call takes, or no room on the way: the next call goes on. EBUSY
            // is a frame that the interface has dropped; its own counter says so.
            Err(error)
                if matches!(
                    error.raw_os_error(),
                    Some(libc::EAGAIN | libc::EBUSY | libc::ENOBUFS)
                ) =>
            {
                Ok(())
            }
            outcome => outcome,
        }
    }

    fn pending(&mut self) -> usize {
        self.reclaim();
        self.slots - self.free.len() - usize::from(self.current.is_some())
    }

    fn refused(&mut self) -> io::Result<u64> {
        Ok(self.shared.statistics()?.tx_invalid_descs)
    }
}

impl Receiving {
    /// Forgets what has arrived so far.
    pub fn restart(&mut self) -> io::Result<()> {
        while self.take_waiting(|_, _| {})? > 0 {}
        self.before = self.shared.statistics()?;
        self.unstamped = 0;
        Ok(())
    }

    /// Frames lost since `restart`, by counter.
    pub fn drops(&self) -> io::Result<[(&'static str, u64); 2]> {
        let (now, before) = (self.shared.statistics()?, &self.before);
        Ok([
            // An empty fill ring shows here too, as frames for which there was no buffer.
            ("AF_XDP no buffer (rx_dropped)", now.rx_dropped - before.rx_dropped),
            ("AF_XDP receive ring full", now.rx_ring_full - before.rx_ring_full),
        ])
    }

    /// Frames since `restart` whose arrival time is that at which they were read.
    pub fn unstamped(&self) -> u64 {
        self.unstamped
    }

    /// Gives the kernel so many chunks more for receiving, as far as there are.
    fn circulate(&mut self, more: usize) {
        let layout = self.shared.umem.layout;
        let until = layout.receive_chunks.min(self.circulating + more);
        for chunk in self.circulating..until {
            assert!(self.fill.push(layout.chunk_address(chunk) as u64), "twice as many entries");
        }
        self.circulating = until;
        self.fill.publish();
    }

    /// Where stalls let half of the chunks pile up, twice as many are needed.
    fn make_room(&mut self) {
        if self.circulating < self.shared.umem.layout.receive_chunks
            && self.ring.waiting() > self.circulating / 2
        {
            self.circulate(self.circulating);
        }
    }

    /// The arrival time before a frame, if the program has put it there. It is only read: what this
    /// side writes the kernel's would have to fetch before it can put the next frame there.
    #[inline]
    fn stamp(&mut self, chunk: usize, address: usize) -> Option<Instant> {
        let memory = &self.shared.umem.memory;
        if address - chunk < STAMP_BYTES {
            return None;
        }
        // SAFETY: the chunk is ours between the receive ring and the fill ring.
        let stamp = unsafe { memory.bytes_mut(address - STAMP_BYTES, STAMP_BYTES) };
        let word = |at: usize| u64::from_ne_bytes(stamp[at..at + 8].try_into().expect("eight"));
        let (time_ns, complement) = (word(0), word(8));
        let at = Instant::from_ns(time_ns);
        if time_ns != !complement || at + STEP_BACK < self.latest {
            return None;
        }
        self.latest = self.latest.max(at);
        Some(at)
    }

    #[inline]
    fn piece(&self, address: usize, len: u32) -> &[u8] {
        // SAFETY: the chunk is ours between the receive ring and the fill ring, and `self` is
        // borrowed meanwhile.
        unsafe { self.shared.umem.memory.bytes_mut(address, len as usize) }
    }

    /// As [`FrameSource::take_waiting`](crate::pump::FrameSource::take_waiting), of this socket.
    pub fn take_waiting(&mut self, mut take: impl FnMut(Instant, &[u8])) -> io::Result<u64> {
        self.make_room();
        let mut taken = 0;
        let mut arrived = None;
        let mut joined = std::mem::take(&mut self.joined);
        for _ in 0..TAKE_FRAMES {
            let Some(descriptor) = self.ring.pop() else { break };
            let (chunk, address) = self.shared.umem.layout.received_at(descriptor.addr);
            let len = descriptor.len;
            if joined.is_empty() {
                arrived = self.stamp(chunk, address);
            }
            let continues = descriptor.options & CONTINUES != 0;
            if continues || !joined.is_empty() {
                joined.extend_from_slice(self.piece(address, len));
            }
            if !continues {
                self.unstamped += u64::from(arrived.is_none());
                let at = arrived.unwrap_or_else(clock::now);
                match joined.is_empty() {
                    true => take(at, self.piece(address, len)),
                    false => take(at, &joined),
                }
                joined.clear();
                taken += 1;
            }
            assert!(self.fill.push(chunk as u64), "half the entries are free");
        }
        self.joined = joined;
        self.ring.release();
        self.fill.publish();
        let fd = sys::raw(&self.shared.socket);
        if self.fill.needs_wakeup() {
            // Only a driver without copying asks for it; whatever it answers, frames tell.
            let _ = sys::poll_readable(fd, 0);
        }
        if taken == 0 {
            sys::pending_error(fd)?;
        }
        Ok(taken)
    }
}
