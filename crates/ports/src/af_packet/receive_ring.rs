//! The ring into which frames arrive: TPACKET_V3, blocks of packed frames with the kernel's
//! own time stamps.

use super::realtime::RealtimeOffset;
use crate::control::{OwnFrames, is_control};
use crate::pump::FrameSource;
use crate::sys::{self, Mapping};
use kernel::socket;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};
use units::Instant;

/// linux/if_packet.h, linux/if_ether.h.
const PACKET_RX_RING: i32 = 5;
const PACKET_STATISTICS: i32 = 6;
const PACKET_VERSION: i32 = 10;
const PACKET_RESERVE: i32 = 12;
const PACKET_FANOUT: i32 = 18;
const PACKET_IGNORE_OUTGOING: i32 = 23;
const PACKET_ADD_MEMBERSHIP: i32 = 1;
const PACKET_MR_PROMISC: u16 = 1;
/// A frame goes to the member of its receive queue.
const FANOUT_QM: u32 = 5;
const FANOUT_UNIQUE_ID: u32 = 0x2000;
/// What a member would ignore by itself, its group does not.
const FANOUT_IGNORE_OUTGOING: u32 = 0x4000;
const GROUP_ID: u32 = 0xffff;
const TPACKET_V3: i32 = 2;
const ETH_P_ALL: u16 = 3;
const ETH_P_8021Q: u16 = 0x8100;
const BLOCK_KERNEL: u32 = 0;
const BLOCK_USER: u32 = 1;
const STATUS_VLAN_VALID: u32 = 1 << 4;
const STATUS_VLAN_TPID_VALID: u32 = 1 << 6;
const VLAN_TAG_BYTES: usize = 4;
const MAC_ADDRESSES_BYTES: usize = 12;

/// Large enough for the largest jumbo frames, small enough to be handed over often.
const BLOCK_BYTES: usize = 256 << 10;
/// Header, address and alignment before each frame.
const FRAME_OVERHEAD_BYTES: usize = 100;
/// All rings of a tester together take no more than this where each has its default size: 32 MiB for
/// each of eight ports, 4 MiB for each of 64.
const ALL_RINGS_BYTES: usize = 256 << 20;
/// A block that is not full is handed over after a millisecond, and for each ring the kernel has a
/// timer that looks for it. Of so many rings together no more timers run out in a millisecond; with
/// more of them blocks are handed over later.
const RINGS_A_MS: usize = 16;
/// But no later than this: a tester that waits for silence waits longer than any ring holds frames back.
const RETIRE_MS_MAX: usize = 4;
/// So that `take_waiting` comes back to its caller now and then.
const BLOCKS_AT_ONCE: usize = 4;

/// Frames that arrived, shared with the kernel.
pub(crate) struct ReceiveRing {
    socket: OwnedFd,
    mapping: Mapping,
    blocks: usize,
    next: usize,
    clock: RealtimeOffset,
    ignore_before: Instant,
    dropped: u64,
    ifindex: u32,
    /// Frames of the control side are passed on as well.
    with_control: bool,
    /// Those of them that are the trial's.
    own: OwnFrames,
}

impl ReceiveRing {
    /// 32 MiB: 200,000 small frames, a fifth of a second at a million frames a second.
    pub const DEFAULT_BLOCKS: usize = 128;

    /// Blocks of each of so many rings.
    pub fn blocks_of_many(rings: usize) -> usize {
        (ALL_RINGS_BYTES / BLOCK_BYTES / rings.max(1)).clamp(2, Self::DEFAULT_BLOCKS)
    }

    /// Blocks that hold so many frames of this length; at least two, since the kernel fills one
    /// while the other is read.
    pub fn blocks_for(frames: usize, len_bytes: usize) -> usize {
        (frames * (len_bytes + FRAME_OVERHEAD_BYTES)).div_ceil(BLOCK_BYTES).max(2)
    }

    /// Opens a ring of so many blocks, one of so many rings, on an interface; it receives at once, in
    /// promiscuous mode.
    pub fn open(ifindex: u32, blocks: usize, rings: usize) -> io::Result<Self> {
        let socket = socket::open(libc::AF_PACKET, libc::SOCK_RAW, 0)?;
        let fd = sys::raw(&socket);
        sys::set_option(fd, libc::SOL_PACKET, PACKET_VERSION, TPACKET_V3)?;
        // Room to put a VLAN tag back that the kernel took off.
        sys::set_option(fd, libc::SOL_PACKET, PACKET_RESERVE, VLAN_TAG_BYTES as u32)?;
        sys::set_option(fd, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, 1i32)?;
        let frame_bytes = 2048;
        let request = libc::tpacket_req3 {
            tp_block_size: BLOCK_BYTES as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: frame_bytes,
            tp_frame_nr: (blocks * BLOCK_BYTES) as u32 / frame_bytes,
            tp_retire_blk_tov: rings.div_ceil(RINGS_A_MS).clamp(1, RETIRE_MS_MAX) as u32,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        sys::set_option(fd, libc::SOL_PACKET, PACKET_RX_RING, request)?;
        let mapping = Mapping::of(fd, blocks * BLOCK_BYTES, 0)?;
        let promiscuous = libc::packet_mreq {
            mr_ifindex: ifindex as i32,
            mr_type: PACKET_MR_PROMISC,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        sys::set_option(fd, libc::SOL_PACKET, PACKET_ADD_MEMBERSHIP, promiscuous)?;
        // Only now does it begin to receive, and only from this interface.
        socket::bind_packet(fd, ifindex, ETH_P_ALL)?;
        Ok(ReceiveRing {
            socket,
            mapping,
            blocks,
            next: 0,
            clock: RealtimeOffset::measure(),
            ignore_before: Instant::ZERO,
            dropped: 0,
            ifindex,
            with_control: false,
            own: OwnFrames::default(),
        })
    }

    /// Makes these rings of one interface, one for each of its receive queues, a group: each frame comes to the ring of its
    /// queue (packet(7), PACKET_FANOUT_QM). Nothing of it lasts longer than they.
    pub fn share_queues(rings: &[Self]) -> io::Result<()> {
        let kind = (FANOUT_QM | FANOUT_IGNORE_OUTGOING) << 16;
        let join = |ring: &Self, group: u32| {
            sys::set_option(sys::raw(&ring.socket), libc::SOL_PACKET, PACKET_FANOUT, group)
        };
        let Some((first, others)) = rings.split_first() else { return Ok(()) };
        join(first, kind | FANOUT_UNIQUE_ID << 16)?;
        let group =
            sys::get_option(sys::raw(&first.socket), libc::SOL_PACKET, PACKET_FANOUT, 0u32)?;
        others.iter().try_for_each(|ring| join(ring, kind | group & GROUP_ID))
    }

    /// The same, but passing on every frame: for who looks on and plays no host.
    pub fn with_control_frames(self) -> Self {
        ReceiveRing { with_control: true, ..self }
    }

    /// From now on frames of this trial come, which may look like the control side's.
    pub fn know(&mut self, own: &OwnFrames) {
        self.own = own.clone();
    }

    /// Forgets what has arrived before `now`.
    pub fn restart(&mut self, now: Instant) -> io::Result<()> {
        self.ignore_before = now;
        self.clock = RealtimeOffset::measure();
        while self.take_block(&mut |_, _| {}).is_some() {}
        self.dropped()?;
        self.dropped = 0;
        match sys::pending_error(sys::raw(&self.socket)) {
            // The link was down for a while before; now frames arrive again.
            Err(error) if error.raw_os_error() == Some(libc::ENETDOWN) && self.is_up() => Ok(()),
            other => other,
        }
    }

    fn is_up(&self) -> bool {
        let link = kernel::Rtnetlink::here().and_then(|mut netlink| netlink.link_at(self.ifindex));
        link.is_ok_and(|link| kernel::InterfaceState::of(&link).up)
    }

    /// Frames lost since `restart` because the ring was full.
    pub fn dropped(&mut self) -> io::Result<u64> {
        // The kernel's counters start again from zero whenever they are read.
        let fd = sys::raw(&self.socket);
        let zero = libc::tpacket_stats_v3 { tp_packets: 0, tp_drops: 0, tp_freeze_q_cnt: 0 };
        let statistics = sys::get_option(fd, libc::SOL_PACKET, PACKET_STATISTICS, zero)?;
        self.dropped += u64::from(statistics.tp_drops);
        Ok(self.dropped)
    }

    /// Whether the clock by which the kernel stamps frames was set during the trial, which makes
    /// the arrival times worthless.
    pub fn clock_was_set(&self) -> bool {
        self.clock.was_set()
    }

    fn block_status(&self, block: usize) -> &AtomicU32 {
        let at = block * BLOCK_BYTES + std::mem::offset_of!(libc::tpacket_block_desc, hdr);
        // SAFETY: within the mapping and aligned (`at` checks); the word is only ever accessed
        // atomically, by us and the kernel.
        unsafe { AtomicU32::from_ptr(self.mapping.at::<u32>(at)) }
    }

    /// Passes on the frames of the next block, if the kernel has handed it over.
    fn take_block(&mut self, take: &mut impl FnMut(Instant, &[u8])) -> Option<u64> {
        if self.block_status(self.next).load(Ordering::Acquire) & BLOCK_USER == 0 {
            return None;
        }
        let taken = self.walk_block(take);
        self.block_status(self.next).store(BLOCK_KERNEL, Ordering::Release);
        self.next = if self.next + 1 == self.blocks { 0 } else { self.next + 1 };
        Some(taken)
    }

    /// Passes on the frames of all blocks that wait, up to a bound.
    pub fn take_blocks(&mut self, mut take: impl FnMut(Instant, &[u8])) -> u64 {
        let blocks = (0..BLOCKS_AT_ONCE).map_while(|_| self.take_block(&mut take));
        blocks.sum()
    }

    fn walk_block(&self, take: &mut impl FnMut(Instant, &[u8])) -> u64 {
        let start = self.next * BLOCK_BYTES;
        // SAFETY: the block was handed over to us: the kernel writes it no more until its status
        // is reset, and no other slice of it exists while `self` is borrowed here.
        let block = unsafe { self.mapping.bytes_mut(start, BLOCK_BYTES) };
        // SAFETY: `at` checked bounds and alignment; the block is ours as above.
        let (frames, first) = unsafe {
            let header = (*self.mapping.at::<libc::tpacket_block_desc>(start)).hdr.bh1;
            (header.num_pkts, header.offset_to_first_pkt as usize)
        };
        let mut at = first;
        let mut taken = 0;
        for _ in 0..frames {
            let header = Header::read(block, at);
            let arrived = self.clock.to_monotonic(header.seconds, header.nanoseconds);
            let frame = header.frame(block, at);
            let is_counted = self.with_control || !is_control(frame) || self.own.has(frame);
            if arrived >= self.ignore_before && is_counted {
                take(arrived, frame);
                taken += 1;
            }
            at += header.next_offset;
        }
        taken
    }
}

/// What of a tpacket3_hdr is needed.
struct Header {
    next_offset: usize,
    seconds: u32,
    nanoseconds: u32,
    captured_bytes: usize,
    status: u32,
    mac_offset: usize,
    vlan: (u16, u16),
}

impl Header {
    #[inline]
    fn read(block: &[u8], at: usize) -> Header {
        const LEN: usize = size_of::<libc::tpacket3_hdr>();
        let bytes: &[u8; LEN] = block[at..at + LEN].try_into().expect("a slice of that length");
        // SAFETY: a tpacket3_hdr is integers without padding; the array has its size.
        let header: libc::tpacket3_hdr = unsafe { std::ptr::read_unaligned(bytes.as_ptr().cast()) };
        Header {
            next_offset: header.tp_next_offset as usize,
            seconds: header.tp_sec,
            nanoseconds: header.tp_nsec,
            captured_bytes: header.tp_snaplen as usize,
            status: header.tp_status,
            mac_offset: usize::from(header.tp_mac),
            vlan: (header.hv1.tp_vlan_tpid, header.hv1.tp_vlan_tci as u16),
        }
    }

    /// The frame as it was on the wire: with the VLAN tag that the kernel took off, if any.
    #[inline]
    fn frame<'a>(&self, block: &'a mut [u8], at: usize) -> &'a [u8] {
        let start = at + self.mac_offset;
        let end = start + self.captured_bytes;
        if self.status & STATUS_VLAN_VALID == 0 {
            return &block[start..end];
        }
        let tpid = match self.status & STATUS_VLAN_TPID_VALID {
            0 => ETH_P_8021Q,
            _ => self.vlan.0,
        };
        let tagged = start - VLAN_TAG_BYTES;
        block.copy_within(start..start + MAC_ADDRESSES_BYTES, tagged);
        let tag = tagged + MAC_ADDRESSES_BYTES;
        block[tag..tag + 2].copy_from_slice(&tpid.to_be_bytes());
        block[tag + 2..tag + 4].copy_from_slice(&self.vlan.1.to_be_bytes());
        &block[tagged..end]
    }
}

impl FrameSource for ReceiveRing {
    fn take_waiting(&mut self, _queue: usize, take: impl FnMut(Instant, &[u8])) -> io::Result<u64> {
        let taken = self.take_blocks(take);
        if taken == 0 {
            self.clock.check();
            sys::pending_error(sys::raw(&self.socket))?;
        }
        Ok(taken)
    }
}
