//! The bpf system call, as far as AF_XDP needs it: a map of sockets, a program, and its link to
//! an interface. All three are descriptors; the link goes with the process, so no program is left
//! behind on an interface.

use super::assembler::Instruction;
use crate::sys;
use kernel::socket;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

const MAP_CREATE: i32 = 0;
const MAP_UPDATE_ELEM: i32 = 2;
const PROG_LOAD: i32 = 5;
const PROG_TEST_RUN: i32 = 10;
const LINK_CREATE: i32 = 28;
const MAP_TYPE_ARRAY: u32 = 2;
const MAP_TYPE_XSKMAP: u32 = 17;
const PROG_TYPE_XDP: u32 = 6;
const ATTACH_TYPE_XDP: u32 = 37;
const HAS_FRAGS: u32 = 1 << 5;
const LIVE_FRAMES: u32 = 1 << 1;
const LOG_BYTES: usize = 64 << 10;

/// Where on an interface a program runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum XdpMode {
    /// In the driver, before a socket buffer exists.
    Driver = 1 << 2,
    /// Behind the driver: works everywhere, costs more.
    Generic = 1 << 1,
}

/// union bpf_attr, of which each command reads its own beginning; unused words are zero.
#[repr(C, align(8))]
struct Attributes([u32; 32]);

impl Attributes {
    fn of(words: &[(usize, u32)]) -> Self {
        let mut attributes = Attributes([0; 32]);
        words.iter().for_each(|(at, value)| attributes.0[*at] = *value);
        attributes
    }
    fn pointer<T>(mut self, word: usize, to: *const T) -> Self {
        let address = to as u64;
        self.0[word] = address as u32;
        self.0[word + 1] = (address >> 32) as u32;
        self
    }
}

/// # Safety
/// Every pointer in the attributes is good for what the command does with it.
unsafe fn bpf(command: i32, attributes: &Attributes) -> io::Result<RawFd> {
    let size = size_of::<Attributes>();
    // SAFETY: the attributes live across the call and have that size; the rest is the caller's.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, attributes, size) };
    socket::check(result as libc::c_int)
}

/// A map of this type from numbers to values of so many bytes.
fn create_map(map_type: u32, value_bytes: u32, entries: u32) -> io::Result<OwnedFd> {
    let attributes = Attributes::of(&[(0, map_type), (1, 4), (2, value_bytes), (3, entries)]);
    // SAFETY: no pointers; the descriptor returned is ours alone.
    unsafe { Ok(OwnedFd::from_raw_fd(bpf(MAP_CREATE, &attributes)?)) }
}

/// # Safety
/// A value of the map has as many bytes as this one.
unsafe fn put<T>(map: &OwnedFd, key: u32, value: T) -> io::Result<()> {
    let attributes = Attributes::of(&[(0, sys::raw(map) as u32)])
        .pointer(2, &raw const key)
        .pointer(4, &raw const value);
    // SAFETY: the key is four bytes, as each map is made, and both live across the call.
    unsafe { bpf(MAP_UPDATE_ELEM, &attributes).map(drop) }
}

/// A map from receive queues to AF_XDP sockets.
#[derive(Debug)]
pub(super) struct SocketMap(OwnedFd);

impl SocketMap {
    /// A map for so many queues.
    pub fn new(queues: u32) -> io::Result<Self> {
        create_map(MAP_TYPE_XSKMAP, 4, queues).map(SocketMap)
    }
    /// Descriptor for the program.
    pub fn fd(&self) -> RawFd {
        sys::raw(&self.0)
    }
    /// Frames of this queue go to this socket.
    pub fn insert(&self, queue: u32, socket: RawFd) -> io::Result<()> {
        // SAFETY: four bytes, as the map was made.
        unsafe { put(&self.0, queue, socket) }
    }
}

/// What the signatures of a trial's frames add up to, for the program to know them by.
#[derive(Debug)]
pub(super) struct SumMap(OwnedFd);

impl SumMap {
    /// A map with room for both sums; no frame has them yet.
    pub fn new() -> io::Result<Self> {
        let map = SumMap(create_map(MAP_TYPE_ARRAY, 8, 1)?);
        map.set([None; 2])?;
        Ok(map)
    }
    /// Descriptor for the program.
    pub fn fd(&self) -> RawFd {
        sys::raw(&self.0)
    }
    /// The sums of full and of short signatures, as big-endian words have them; none where no frame has one.
    pub fn set(&self, sums: [Option<u16>; 2]) -> io::Result<()> {
        // No sum of 16 bits is this.
        let sums: [u32; 2] = sums.map(|sum| sum.map_or(u32::MAX, |sum| sum.to_be().into()));
        // SAFETY: eight bytes, as the map was made.
        unsafe { put(&self.0, 0, sums) }
    }
}

/// Loads an XDP program that accepts frames in several pieces.
pub(super) fn load_program(code: &[Instruction]) -> io::Result<OwnedFd> {
    let licence = c"Dual MIT/GPL";
    let mut log = vec![0u8; LOG_BYTES];
    let attributes = Attributes::of(&[(0, PROG_TYPE_XDP), (1, code.len() as u32), (11, HAS_FRAGS)])
        .pointer(2, code.as_ptr())
        .pointer(4, licence.as_ptr());
    // SAFETY: the instructions are eight bytes each and as many as stated; the licence ends with
    // a zero; both live across the call.
    let loaded = unsafe { bpf(PROG_LOAD, &attributes) };
    let fd = loaded.or_else(|error| {
        // Once more, to hear why; level 1, into a buffer of the size stated.
        let mut explained = attributes.pointer(8, log.as_mut_ptr());
        (explained.0[6], explained.0[7]) = (1, LOG_BYTES as u32);
        // SAFETY: as before, and the log is writable for its length.
        unsafe { bpf(PROG_LOAD, &explained) }.map_err(|_| explain(error, &log))
    })?;
    // SAFETY: the descriptor is ours alone.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Has a program take one live frame of so many zeroes.
pub(super) fn run_live(program: &OwnedFd, bytes: usize) -> io::Result<()> {
    let frame = vec![0u8; bytes];
    let attributes = Attributes::of(&[
        (0, sys::raw(program) as u32),
        (2, bytes as u32),
        (8, 1),
        (16, LIVE_FRAMES),
    ])
    .pointer(4, frame.as_ptr());
    // SAFETY: the frame is readable for the length stated and lives across the call; nothing is written.
    unsafe { bpf(PROG_TEST_RUN, &attributes).map(drop) }
}

/// The error with what the verifier said last.
fn explain(error: io::Error, log: &[u8]) -> io::Error {
    let text = String::from_utf8_lossy(log);
    let text = text.trim_end_matches('\0').trim_end();
    match text.lines().last() {
        Some(line) => io::Error::new(error.kind(), format!("{error}; the verifier says: {line}")),
        None => error,
    }
}

/// Attaches a program to an interface until the descriptor is closed.
pub(super) fn attach(program: &OwnedFd, ifindex: u32, mode: XdpMode) -> io::Result<OwnedFd> {
    let program = sys::raw(program) as u32;
    let attributes =
        Attributes::of(&[(0, program), (1, ifindex), (2, ATTACH_TYPE_XDP), (3, mode as u32)]);
    // SAFETY: no pointers; the descriptor returned is ours alone.
    unsafe { Ok(OwnedFd::from_raw_fd(bpf(LINK_CREATE, &attributes)?)) }
}
