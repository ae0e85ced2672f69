//! The few system calls that the ports share, each with a safe face.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use trial::TesterError;

/// Turns the result of a system call that gives -1 on failure into a `Result`.
pub(crate) fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

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

/// Opens a socket that is closed on exec.
pub(crate) fn socket(domain: i32, kind: i32, protocol: i32) -> io::Result<OwnedFd> {
    // SAFETY: no pointers; the descriptor returned is ours alone.
    unsafe {
        let fd = check(libc::socket(domain, kind | libc::SOCK_CLOEXEC, protocol))?;
        Ok(OwnedFd::from_raw_fd(fd))
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

/// Binds a packet socket to one interface and protocol.
pub(crate) fn bind_packet(fd: RawFd, ifindex: u32, protocol: u16) -> io::Result<()> {
    // SAFETY: a sockaddr_ll is plain data for which all zeroes is a value.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = ifindex as i32;
    let len = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: `address` lives across the call and `len` is its size.
    check(unsafe { libc::bind(fd, (&raw const address).cast(), len) }).map(drop)
}

/// Attaches a classic BPF program to a socket.
pub(crate) fn attach_filter(fd: RawFd, code: &mut [libc::sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog { len: code.len() as u16, filter: code.as_mut_ptr() };
    // The kernel copies the program; `code` outlives the call.
    set_option(fd, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, program)
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

/// Restricts the calling thread to one core.
pub(crate) fn pin_thread(core: usize) -> io::Result<()> {
    // SAFETY: a cpu_set_t is plain data for which all zeroes is the empty set; CPU_SET checks its
    // bound; 0 means the calling thread.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        check(libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set)).map(drop)
    }
}

/// The cores on which this process may run.
pub(crate) fn allowed_cores() -> Vec<usize> {
    // SAFETY: as in `pin_thread`; the kernel writes at most the size given.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set);
        set
    };
    // SAFETY: CPU_ISSET only reads the set, below its size.
    let allowed = |core: &usize| unsafe { libc::CPU_ISSET(*core, &set) };
    (0..libc::CPU_SETSIZE as usize).filter(allowed).collect()
}

/// Asks the kernel to wake this thread's sleeps on time and not up to 50 us late.
pub(crate) fn tighten_timer_slack() {
    // SAFETY: no pointers. A failure leaves the default slack: later wake-ups, nothing wrong.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1u64) };
}

/// Keeps all memory of the process from being paged out; present and future memory where no limit
/// is set, else only what there is now, since with a limit later allocations would fail.
pub(crate) fn lock_memory() -> io::Result<()> {
    let unlimited = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: `unlimited` lives across the call.
    let all = check(unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &unlimited) }).is_ok();
    let future = if all { libc::MCL_FUTURE } else { 0 };
    // SAFETY: no pointers.
    check(unsafe { libc::mlockall(libc::MCL_CURRENT | future) }).map(drop)
}

/// Lets the calling thread go before others of normal priority. An ordinary user may not; then
/// it stays as it was, and lateness tells what that costs.
pub(crate) fn prefer_thread() {
    // SAFETY: no pointers; 0 means the calling thread.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) };
}

/// Runs the calling thread with this real-time priority (SCHED_FIFO).
pub(crate) fn make_real_time(priority: i32) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: `parameters` lives across the call; 0 means the calling thread.
    check(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) }).map(drop)
}

/// Real-time priority of the calling thread until this is dropped; the threads that it starts have
/// none.
pub(crate) struct RealTimeTurn(());

impl RealTimeTurn {
    /// Begins it, where that is allowed; elsewhere the thread stays as it is.
    pub fn begin(priority: i32) -> Self {
        let parameters = libc::sched_param { sched_priority: priority };
        let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
        // SAFETY: `parameters` lives across the call; 0 means the calling thread.
        unsafe { libc::sched_setscheduler(0, policy, &parameters) };
        RealTimeTurn(())
    }
}

impl Drop for RealTimeTurn {
    fn drop(&mut self) {
        let parameters = libc::sched_param { sched_priority: 0 };
        // SAFETY: as above.
        unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER, &parameters) };
    }
}

/// Raw descriptor, for brevity at call sites.
pub(crate) fn raw(fd: &OwnedFd) -> RawFd {
    fd.as_raw_fd()
}
