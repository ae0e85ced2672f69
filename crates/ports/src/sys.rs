//! The few system calls that only the ports make, each with a safe face, and what their errors mean to a
//! tester.

use kernel::socket::check;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use trial::TesterError;

/// An error of the operating system while doing `what`.
pub(crate) fn system(what: impl Into<String>, error: &io::Error) -> TesterError {
    TesterError::System { what: what.into(), detail: error.to_string() }
}

/// As [`system`], but where the system says that the interface is down or gone, that is said.
pub(crate) fn port_error(port: &str, what: &str, error: &io::Error) -> TesterError {
    match error.raw_os_error() {
        Some(libc::ENETDOWN) => {
            let detail = format!("the interface went down ({what})");
            TesterError::PortGone { port: port.into(), detail }
        }
        Some(libc::ENXIO | libc::ENODEV) => {
            let detail = format!("the interface was removed ({what})");
            TesterError::PortGone { port: port.into(), detail }
        }
        Some(libc::EPERM | libc::EACCES) => TesterError::System {
            what: format!("{port}: {what}"),
            detail: format!(
                "{error}; run as root, or as an ordinary user inside a user namespace \
                 (unshare -Urn) with --port-type af_packet"
            ),
        },
        _ => system(format!("{port}: {what}"), error),
    }
}

/// Sets a socket option to a plain value.
pub(crate) fn set_option<T: Copy>(fd: RawFd, level: i32, name: i32, value: T) -> io::Result<()> {
    let len = size_of::<T>() as libc::socklen_t;
    // SAFETY: `value` lives across the call and `len` is its size.
    check(unsafe { libc::setsockopt(fd, level, name, (&raw const value).cast(), len) }).map(drop)
}

/// Reads a socket option into `value`; an option shorter than `T` leaves the rest as it was.
pub(crate) fn get_option<T: Copy>(fd: RawFd, level: i32, name: i32, mut value: T) -> io::Result<T> {
    let mut len = size_of::<T>() as libc::socklen_t;
    // SAFETY: `value` is writable for `len` bytes; callers use integers and C structures of
    // integers, for which every bit pattern is a value.
    check(unsafe { libc::getsockopt(fd, level, name, (&raw mut value).cast(), &mut len) })?;
    Ok(value)
}

/// Sends a message on a connected or bound socket.
pub(crate) fn send(socket: &OwnedFd, bytes: &[u8], flags: i32) -> io::Result<()> {
    // SAFETY: the pointer and the length are the slice's, which lives across the call.
    let sent = unsafe { libc::send(raw(socket), bytes.as_ptr().cast(), bytes.len(), flags) };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Waits until `fd` can be read, or has an error, or `timeout_ms` has passed. Gives poll's
/// `revents`.
pub(crate) fn poll_readable(fd: RawFd, timeout_ms: i32) -> io::Result<i16> {
    let mut entry = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // SAFETY: one valid pollfd.
    match check(unsafe { libc::poll(&mut entry, 1, timeout_ms) }) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
        Err(error) => Err(error),
        Ok(_) => Ok(entry.revents),
    }
}

/// The error pending on a socket, if any; asking clears it.
pub(crate) fn pending_error(fd: RawFd) -> io::Result<()> {
    match get_option(fd, libc::SOL_SOCKET, libc::SO_ERROR, 0i32)? {
        0 => Ok(()),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}

/// Memory mapped from a descriptor or anonymously, unmapped on drop.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping is owned; what is in it is shared with the kernel alone, through raw
// pointers whose users order their accesses.
unsafe impl Send for Mapping {}
// SAFETY: shared, it gives raw pointers, and slices only by an unsafe function whose contract is
// exclusive use.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `len` bytes of `fd` from `offset`, readable and writable, populated at once.
    pub fn of(fd: RawFd, len: usize, offset: i64) -> io::Result<Self> {
        Self::map(len, libc::MAP_SHARED | libc::MAP_POPULATE, fd, offset)
    }
    /// Maps `len` bytes of zeroed memory, populated at once.
    pub fn anonymous(len: usize) -> io::Result<Self> {
        Self::map(len, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE, -1, 0)
    }
    fn map(len: usize, flags: i32, fd: RawFd, offset: i64) -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory in use.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), len, protection, flags, fd, offset) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mapped at zero"))?;
        Ok(Mapping { start, len })
    }
    /// Pointer to a `T` that lies `offset` bytes into the mapping.
    ///
    /// # Panics
    /// If it would not lie within the mapping, aligned.
    #[inline]
    pub fn at<T>(&self, offset: usize) -> *mut T {
        assert!(offset + size_of::<T>() <= self.len && offset.is_multiple_of(align_of::<T>()));
        // SAFETY: just checked to be within the mapping.
        unsafe { self.start.as_ptr().add(offset).cast() }
    }
    /// The bytes `offset..offset + len`.
    ///
    /// # Safety
    /// Nobody else, kernel included, may write them while the slice lives, and no other slice of
    /// them may exist.
    ///
    /// # Panics
    /// If they do not lie within the mapping.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn bytes_mut(&self, offset: usize, len: usize) -> &mut [u8] {
        assert!(offset + len <= self.len);
        // SAFETY: within the mapping; exclusive by this function's own contract.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().add(offset), len) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly what was mapped, and no pointer into it outlives its owner.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

/// Raw descriptor, for brevity at call sites.
pub(crate) fn raw(fd: &OwnedFd) -> RawFd {
    fd.as_raw_fd()
}
