//! The ring from which frames are sent: TPACKET_V2, past the queueing discipline.
//!
//! By itself the kernel copies only the Ethernet header of a frame out of the ring and lets the
//! rest refer to it, until the frame enters a virtual link or a stack on this machine: there all
//! of it is copied into pages of its own. Each frame here carries a virtio-net header which names
//! the whole frame as header, and is copied once, at once: on a veth that sends more frames a
//! second, and no frame that waits anywhere depends on a slot that is written again.
//!
//! A frame that the interface turns away (ENOBUFS) stays in the ring, to be tried again. That is
//! right where a network card is busy. But where the frame is lost already, because the far end
//! of a veth has a full queue or the link is down, trying again would hold up the schedule until
//! there is room: the device could never lose a frame, only slow the tester. Such a frame is
//! taken out of the ring; it has left, and is lost on its way.

use crate::pump::FrameSink;
use crate::sys::{self, Mapping};
use kernel::{Ethtool, socket};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};

/// linux/if_packet.h.
const PACKET_VERSION: i32 = 10;
const PACKET_TX_RING: i32 = 13;
const PACKET_LOSS: i32 = 14;
const PACKET_VNET_HDR: i32 = 15;
const PACKET_QDISC_BYPASS: i32 = 20;
const TPACKET_V2: i32 = 1;
const STATUS_AVAILABLE: u32 = 0;
const STATUS_SEND_REQUEST: u32 = 1;
/// A length no frame has: with PACKET_LOSS set the kernel passes over it.
const NO_FRAME: u32 = 0;
/// Where the virtio-net header begins within a slot: after a tpacket2_hdr, aligned to 16.
const VNET_OFFSET: usize = size_of::<libc::tpacket2_hdr>().next_multiple_of(16);
/// Where the frame begins.
const FRAME_OFFSET: usize = VNET_OFFSET + size_of::<VnetHeader>();

/// Slots of a ring, and of all of a tester together, where they are many: what is written again and
/// again should stay in the processor's cache.
const SLOTS_MAX: usize = 512;
const ALL_SLOTS: usize = 8_192;
/// Room for frames on their way through an interface that is slow to give them back.
const SEND_BUFFER_BYTES: i32 = 16 << 20;

/// struct virtio_net_hdr (linux/virtio_net.h).
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct VnetHeader {
    flags: u8,
    gso_type: u8,
    header_len: u16,
    gso_size: u16,
    checksum_start: u16,
    checksum_offset: u16,
}

/// Frames to be sent, shared with the kernel.
pub(crate) struct TransmitRing {
    socket: OwnedFd,
    mapping: Mapping,
    slot_bytes: usize,
    /// How many there are.
    slots: usize,
    next: usize,
    /// The oldest slot that the kernel may still own.
    oldest: usize,
    handed_over: usize,
    /// Tells why an interface turns frames away.
    ethtool: Ethtool,
    is_veth: bool,
}

impl TransmitRing {
    /// Opens a ring, one of so many, on an interface for frames up to `longest_bytes` (without FCS).
    pub fn open(
        ifindex: u32,
        ethtool: Ethtool,
        longest_bytes: usize,
        rings: usize,
    ) -> io::Result<Self> {
        // A power of two: whole blocks.
        let slots = (ALL_SLOTS / rings.max(1).next_power_of_two()).clamp(64, SLOTS_MAX);
        let socket = socket::open(libc::AF_PACKET, libc::SOCK_RAW, 0)?;
        let fd = sys::raw(&socket);
        sys::set_option(fd, libc::SOL_PACKET, PACKET_VERSION, TPACKET_V2)?;
        sys::set_option(fd, libc::SOL_PACKET, PACKET_QDISC_BYPASS, 1i32)?;
        sys::set_option(fd, libc::SOL_PACKET, PACKET_VNET_HDR, 1i32)?;
        sys::set_option(fd, libc::SOL_PACKET, PACKET_LOSS, 1i32)?;
        let forced = sys::set_option(fd, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, SEND_BUFFER_BYTES);
        if forced.is_err() {
            sys::set_option(fd, libc::SOL_SOCKET, libc::SO_SNDBUF, SEND_BUFFER_BYTES)?;
        }
        let slot_bytes = (FRAME_OFFSET + longest_bytes).next_power_of_two().max(2048);
        let block_bytes = slot_bytes.max(64 << 10);
        let request = libc::tpacket_req {
            tp_block_size: block_bytes as u32,
            tp_block_nr: (slots * slot_bytes / block_bytes) as u32,
            tp_frame_size: slot_bytes as u32,
            tp_frame_nr: slots as u32,
        };
        sys::set_option(fd, libc::SOL_PACKET, PACKET_TX_RING, request)?;
        let mapping = Mapping::of(fd, slots * slot_bytes, 0)?;
        // Protocol 0: this socket receives nothing.
        socket::bind_packet(fd, ifindex, 0)?;
        Ok(TransmitRing {
            socket,
            mapping,
            slot_bytes,
            slots,
            next: 0,
            oldest: 0,
            handed_over: 0,
            is_veth: ethtool.driver() == "veth",
            ethtool,
        })
    }

    /// Longest frame that fits into a slot, without FCS.
    pub fn longest_bytes(&self) -> usize {
        self.slot_bytes - FRAME_OFFSET
    }

    #[inline]
    fn status(&self, slot: usize) -> &AtomicU32 {
        // SAFETY: `at` checks bounds and alignment (slots are powers of two); the status word is
        // the first field of the header and only ever accessed atomically, by us and the kernel.
        unsafe { AtomicU32::from_ptr(self.mapping.at::<u32>(slot * self.slot_bytes)) }
    }

    /// Takes back slots that the kernel has done with, in order.
    fn reclaim(&mut self) {
        while self.handed_over > 0
            && self.status(self.oldest).load(Ordering::Acquire) == STATUS_AVAILABLE
        {
            self.oldest = self.following(self.oldest);
            self.handed_over -= 1;
        }
    }

    /// The interface has turned the next frame away: lets it go where it is lost already.
    fn turned_away(&mut self) {
        if !self.is_veth && self.ethtool.link_detected() != Some(false) {
            return;
        }
        self.reclaim();
        let mut slot = self.oldest;
        for _ in 0..self.handed_over {
            if self.status(slot).load(Ordering::Acquire) == STATUS_SEND_REQUEST {
                self.set_length(slot, NO_FRAME);
                return;
            }
            slot = self.following(slot);
        }
    }

    #[inline]
    fn following(&self, slot: usize) -> usize {
        if slot + 1 == self.slots { 0 } else { slot + 1 }
    }

    fn set_length(&mut self, slot: usize, bytes: u32) {
        let header = self.mapping.at::<libc::tpacket2_hdr>(slot * self.slot_bytes);
        // SAFETY: `at` checked bounds and alignment; the kernel only reads a slot's length, and
        // only within a system call, which this thread does not make meanwhile.
        unsafe { (&raw mut (*header).tp_len).write(bytes) };
    }
}

impl FrameSink for TransmitRing {
    #[inline]
    fn slot(&mut self) -> Option<&mut [u8]> {
        if self.handed_over == self.slots {
            self.reclaim();
            if self.handed_over == self.slots {
                return None;
            }
        }
        let start = self.next * self.slot_bytes + FRAME_OFFSET;
        // SAFETY: the slot was reclaimed, so the kernel is done with it until `commit` hands it
        // over again; the borrow of `self` keeps other slices from existing.
        Some(unsafe { self.mapping.bytes_mut(start, self.longest_bytes()) })
    }

    #[inline]
    fn commit(&mut self, len_bytes: usize) {
        let vnet = self.mapping.at::<VnetHeader>(self.next * self.slot_bytes + VNET_OFFSET);
        let whole_frame = VnetHeader { header_len: len_bytes as u16, ..Default::default() };
        // SAFETY: the slot is ours (see `slot`), and `at` checked bounds and alignment.
        unsafe { vnet.write(whole_frame) };
        self.set_length(self.next, (size_of::<VnetHeader>() + len_bytes) as u32);
        self.status(self.next).store(STATUS_SEND_REQUEST, Ordering::Release);
        self.next = self.following(self.next);
        self.handed_over += 1;
    }

    fn flush(&mut self) -> io::Result<()> {
        // SAFETY: an empty message; the kernel takes the frames from the ring.
        let sent =
            unsafe { libc::send(sys::raw(&self.socket), std::ptr::null(), 0, libc::MSG_DONTWAIT) };
        let outcome = if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) };
        if self.handed_over > self.slots / 2 || outcome.is_err() {
            self.reclaim();
        }
        match outcome {
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {
                self.turned_away();
                Ok(())
            }
            // The socket's budget is spent: the next call goes on.
            Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => Ok(()),
            outcome => outcome,
        }
    }

    fn pending(&mut self) -> usize {
        self.reclaim();
        self.handed_over
    }

    /// A frame that the kernel finds fault with is passed over and not counted here; the
    /// interface's own counter tells.
    fn refused(&mut self) -> io::Result<u64> {
        Ok(0)
    }
}
