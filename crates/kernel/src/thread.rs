//! Where a thread runs, and before whom.

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::mman::{MlockAllFlags, mlockall};
use nix::sys::resource::{RLIM_INFINITY, Resource, setrlimit};
use nix::unistd::Pid;
use std::io;

/// The calling thread, to the system calls below.
const THIS_THREAD: u32 = 0;

/// Restricts a thread to one core.
pub fn pin(thread: u32, core: usize) -> io::Result<()> {
    let mut cores = CpuSet::new();
    cores.set(core)?;
    Ok(sched_setaffinity(Pid::from_raw(thread as i32), &cores)?)
}

/// Restricts the calling thread to one core.
pub fn pin_this(core: usize) -> io::Result<()> {
    pin(THIS_THREAD, core)
}

/// The cores on which the calling thread may run.
pub fn allowed_cores() -> Vec<usize> {
    let allowed = sched_getaffinity(Pid::from_raw(THIS_THREAD as i32)).unwrap_or_default();
    (0..CpuSet::count()).filter(|core| allowed.is_set(*core).unwrap_or(false)).collect()
}

/// Asks the kernel to wake this thread's sleeps on time and not up to 50 us late. A failure leaves
/// the default slack: later wake-ups, nothing wrong.
pub fn tighten_timer_slack() {
    let _ = nix::sys::prctl::set_timerslack(1);
}

/// Keeps all memory of the process from being paged out; present and future memory where no limit
/// is set, else only what there is now, since with a limit later allocations would fail.
pub fn lock_memory() -> io::Result<()> {
    let all = setrlimit(Resource::RLIMIT_MEMLOCK, RLIM_INFINITY, RLIM_INFINITY).is_ok();
    let future = if all { MlockAllFlags::MCL_FUTURE } else { MlockAllFlags::empty() };
    Ok(mlockall(MlockAllFlags::MCL_CURRENT | future)?)
}

/// Lets the calling thread go before others of normal priority. An ordinary user may not; then
/// it stays as it was, and lateness tells what that costs.
#[allow(unsafe_code)]
pub fn prefer_this() {
    // SAFETY: no pointers.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, THIS_THREAD, -20) };
}

/// Runs a thread with this real-time priority (SCHED_FIFO).
pub fn make_real_time(thread: u32, priority: i32) -> io::Result<()> {
    schedule(thread, libc::SCHED_FIFO, priority)
}

/// Runs the calling thread with this real-time priority (SCHED_FIFO).
pub fn make_this_real_time(priority: i32) -> io::Result<()> {
    make_real_time(THIS_THREAD, priority)
}

/// Real-time priority of the calling thread until this is dropped; the threads that it starts have
/// none.
pub struct RealTimeTurn(());

impl RealTimeTurn {
    /// Begins it, where that is allowed; elsewhere the thread stays as it is.
    pub fn begin(priority: i32) -> Self {
        let _ = schedule(THIS_THREAD, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, priority);
        RealTimeTurn(())
    }
}

impl Drop for RealTimeTurn {
    fn drop(&mut self) {
        let _ = schedule(THIS_THREAD, libc::SCHED_OTHER, 0);
    }
}

/// sched_setscheduler(2), asked of the kernel itself: musl's function refuses, and its structure is larger.
#[allow(unsafe_code)]
fn schedule(thread: u32, policy: i32, priority: i32) -> io::Result<()> {
    // The kernel's `struct sched_param`.
    let parameters: &libc::c_int = &priority;
    let pointer: *const libc::c_int = parameters;
    // SAFETY: `parameters` lives across the call, which only reads it.
    let result =
        unsafe { libc::syscall(libc::SYS_sched_setscheduler, thread as i32, policy, pointer) };
    crate::socket::check(result as libc::c_int).map(drop)
}
