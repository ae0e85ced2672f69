//! The C part of the port (`dpdk/shim.c`): its structures and functions, loaded out of this program's own
//! bytes when the first port is opened.

use super::missing::in_words;
use std::ffi::{CStr, c_char, c_void};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd};

const ABI: u32 = 3;
static BYTES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/dpdk_shim.so"));

/// Frames that go through one call.
pub(super) const BURST: usize = 64;

/// `struct nv_wish`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish {
    pub buffers: u32,
    pub buffer_bytes: u32,
    pub mtu_bytes: u32,
    pub rx_descriptors: u16,
    pub tx_descriptors: u16,
    pub queues: u16,
    pub pad: u16,
}

/// `struct nv_device`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Attached {
    pub port: u16,
    pub rx_descriptors: u16,
    pub tx_descriptors: u16,
    pub promiscuous: u8,
    pub mac: [u8; 6],
    pad: u8,
    pub queues_max: u16,
    pub mtu_bytes: u32,
    pub numa_node: i32,
    driver: [u8; 64],
    step: [u8; 64],
}

/// `struct nv_link`.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct LinkState {
    pub speed_mbps: u32,
    pub up: u32,
}

/// `struct nv_stats`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Stats {
    pub ipackets: u64,
    pub opackets: u64,
    pub ibytes: u64,
    pub obytes: u64,
    pub imissed: u64,
    pub ierrors: u64,
    pub oerrors: u64,
    pub rx_nombuf: u64,
}

/// `struct nv_xstat`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct ExtraStat {
    name: [u8; 64],
    pub value: u64,
}

/// `struct nv_frame`: a frame in a buffer of the port's pool.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub buffer: *mut c_void,
    pub data: *mut u8,
    /// What was written here when the buffer was last sent; 0 where it never was.
    pub kept: u64,
    pub len: u32,
    pad: u32,
}

const _: () = assert!(size_of::<Wish>() == 20);
const _: () = assert!(size_of::<Attached>() == 152);
const _: () = assert!(size_of::<LinkState>() == 8);
const _: () = assert!(size_of::<Stats>() == 64);
const _: () = assert!(size_of::<ExtraStat>() == 72);
const _: () = assert!(size_of::<Frame>() == 32);

// SAFETY: a frame is owned by whoever holds it; buffers belong to a pool that any thread may use.
unsafe impl Send for Frame {}

impl Frame {
    pub const NONE: Frame =
        Frame { buffer: std::ptr::null_mut(), data: std::ptr::null_mut(), kept: 0, len: 0, pad: 0 };
}

impl Attached {
    pub fn empty() -> Self {
        // SAFETY: integers and bytes, for which all zeroes is a value.
        unsafe { std::mem::zeroed() }
    }
    pub fn driver(&self) -> String {
        text(&self.driver)
    }
    /// What was being done last.
    pub fn step(&self) -> String {
        text(&self.step)
    }
}

impl ExtraStat {
    pub const NONE: ExtraStat = ExtraStat { name: [0; 64], value: 0 };
    pub fn name(&self) -> String {
        text(&self.name)
    }
}

/// The text before the first zero.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// Declares the functions, and how they are found by their names.
macro_rules! functions {
    ($($name:ident: $kind:ty = $symbol:literal,)*) => {
        /// The functions; `dpdk/shim.c` says what each does.
        pub(super) struct Shim {
            $(pub $name: $kind,)*
        }
        impl Shim {
            /// # Safety
            /// `library` is the shim, open.
            unsafe fn of(library: *mut c_void) -> Result<Shim, String> {
                Ok(Shim {$(
                    $name: {
                        let symbol: &CStr = $symbol;
                        // SAFETY: an open library and a terminated name.
                        let found = unsafe { libc::dlsym(library, symbol.as_ptr()) };
                        if found.is_null() {
                            return Err(format!("its part for DPDK lacks {symbol:?}"));
                        }
                        // SAFETY: the shim defines the symbol as a function of this type.
                        unsafe { std::mem::transmute::<*mut c_void, $kind>(found) }
                    },
                )*})
            }
        }
    };
}

functions! {
    abi: extern "C" fn() -> u32 = c"nv_abi",
    version: extern "C" fn() -> *const c_char = c"nv_version",
    said: unsafe extern "C" fn(*mut u8, u32) -> u32 = c"nv_said",
    start: unsafe extern "C" fn(i32, *mut *mut c_char) -> i32 = c"nv_start",
    thread_join: extern "C" fn() -> i32 = c"nv_thread_join",
    thread_leave: extern "C" fn() = c"nv_thread_leave",
    attach: unsafe extern "C" fn(*const c_char, *const Wish, *mut Attached) -> i32 = c"nv_attach",
    run: unsafe extern "C" fn(u16, *mut u8) -> i32 = c"nv_run",
    detach: unsafe extern "C" fn(u16) = c"nv_detach",
    link: unsafe extern "C" fn(u16, *mut LinkState) -> i32 = c"nv_link",
    stats: unsafe extern "C" fn(u16, *mut Stats) -> i32 = c"nv_stats",
    xstats: unsafe extern "C" fn(u16, *mut ExtraStat, u32) -> i32 = c"nv_xstats",
    oversize: unsafe extern "C" fn(u16) -> u64 = c"nv_oversize",
    rx: unsafe extern "C" fn(u16, u16, *mut Frame, u32) -> u32 = c"nv_rx",
    free: unsafe extern "C" fn(*const Frame, u32) = c"nv_free",
    alloc: unsafe extern "C" fn(u16, u16, *mut Frame, u32) -> i32 = c"nv_alloc",
    tx: unsafe extern "C" fn(u16, u16, *const Frame, u32) -> u32 = c"nv_tx",
}

impl Shim {
    /// Loads it, and with it DPDK's libraries; once a process.
    ///
    /// # Errors
    /// In words, with the package that has a missing library.
    pub fn load() -> Result<Shim, String> {
        let file = in_memory(BYTES).map_err(|error| format!("load its part for DPDK: {error}"))?;
        let path = format!("/proc/self/fd/{}\0", file.as_raw_fd());
        let path = CStr::from_bytes_with_nul(path.as_bytes()).expect("one zero, at the end");
        // Global: the drivers, which DPDK loads itself, find its functions there.
        // SAFETY: a terminated path; what runs while it is loaded are the constructors of DPDK's libraries.
        let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        if library.is_null() {
            return Err(in_words(&last_error()));
        }
        // SAFETY: just opened, and never closed.
        let shim = unsafe { Shim::of(library) }?;
        match (shim.abi)() {
            ABI => Ok(shim),
            other => Err(format!("its part for DPDK has interface {other} and not {ABI}")),
        }
    }

    /// The release of DPDK.
    pub fn release(&self) -> String {
        // SAFETY: a terminated text that stays.
        unsafe { CStr::from_ptr((self.version)()) }.to_string_lossy().into_owned()
    }
}

/// A file without a name that has these bytes.
fn in_memory(bytes: &[u8]) -> io::Result<File> {
    // SAFETY: a terminated name.
    let fd = unsafe { libc::memfd_create(c"netanvil-dpdk".as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just opened, and nobody else's.
    let mut file = unsafe { File::from_raw_fd(fd) };
    file.write_all(bytes)?;
    Ok(file)
}

/// What `dlopen` says.
fn last_error() -> String {
    // SAFETY: the text is copied before the next call of this thread.
    let error = unsafe { libc::dlerror() };
    match error.is_null() {
        true => "unknown".into(),
        // SAFETY: a terminated text.
        false => unsafe { CStr::from_ptr(error) }.to_string_lossy().into_owned(),
    }
}
