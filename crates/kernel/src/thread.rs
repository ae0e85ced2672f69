//! Where a thread runs, and before whom.

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::mman::{MlockAllFlags, mlockall};
use nix::sys::resource::{RLIM_INFINITY, Resource, setrlimit};
use nix::unistd::Pid;
use std::{fs, io};

/// The calling thread, to the system calls below.
const THIS_THREAD: u32 = 0;
/// A thread of the kernel, which nobody can stop (include/linux/sched.h).
pub const PF_KTHREAD: u64 = 0x0020_0000;

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

/// Keeps this process off a core until it is dropped: all threads that there are, and those that they start. A
/// program that polls there has the core for itself.
#[derive(Debug)]
pub struct KeptOff {
    /// Of the threads that were restricted.
    before: Vec<(Pid, CpuSet)>,
}

impl KeptOff {
    /// Begins it. None where the calling thread may run on no other core.
    ///
    /// # Errors
    /// If the kernel does not let a thread be restricted; then all are as they were.
    pub fn begin(core: usize) -> io::Result<Option<Self>> {
        if allowed_cores().iter().all(|allowed| *allowed == core) {
            return Ok(None);
        }
        let mut kept_off = KeptOff { before: vec![] };
        for thread in own_threads() {
            // A thread may have ended meanwhile.
            let Ok(before) = sched_getaffinity(thread) else { continue };
            let mut without = before;
            without.unset(core)?;
            let is_elsewhere = before == without;
            let has_no_other = without == CpuSet::new();
            if is_elsewhere || has_no_other {
                continue;
            }
            match sched_setaffinity(thread, &without) {
                Ok(()) => kept_off.before.push((thread, before)),
                Err(nix::errno::Errno::ESRCH) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Some(kept_off))
    }
}

impl Drop for KeptOff {
    fn drop(&mut self) {
        for (thread, cores) in &self.before {
            let _ = sched_setaffinity(*thread, cores);
        }
    }
}

fn own_threads() -> impl Iterator<Item = Pid> {
    let entries = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    entries.filter_map(|entry| Some(Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)))
}

/// The cores on which the calling thread may run.
pub fn allowed_cores() -> Vec<usize> {
    let allowed = sched_getaffinity(Pid::from_raw(THIS_THREAD as i32)).unwrap_or_default();
    (0..CpuSet::count()).filter(|core| allowed.is_set(*core).unwrap_or(false)).collect()
}

/// Threads of the kernel whose names are such, with their names. A process that is called so is none.
pub fn of_kernel(is_meant: impl Fn(&str) -> bool) -> Vec<(u32, String)> {
    let named = |entry: fs::DirEntry| {
        let id = entry.file_name().to_str()?.parse().ok()?;
        let name = fs::read_to_string(entry.path().join("comm")).ok()?.trim_end().to_owned();
        let (_, flags) = is_meant(&name).then(|| state_and_flags(id))??;
        (flags & PF_KTHREAD != 0).then_some((id, name))
    };
    fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(named).collect()
}

/// State and flags of a thread: the third and the ninth member of `/proc/PID/stat`, proc(5). The second is a
/// name in parentheses, which may hold anything.
pub fn state_and_flags(thread: u32) -> Option<(char, u64)> {
    parse(&fs::read_to_string(format!("/proc/{thread}/stat")).ok()?)
}

fn parse(stat: &str) -> Option<(char, u64)> {
    let (_, members) = stat.rsplit_once(") ")?;
    let mut members = members.split_whitespace();
    let state = members.next()?.chars().next()?;
    Some((state, members.nth(5)?.parse().ok()?))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Other tests run in threads of this process and are kept off, too; they are not pinned.
    #[test]
    fn threads_are_kept_off_a_core_and_get_it_back() {
        let all = allowed_cores();
        let Some(last) = all.last().copied().filter(|_| all.len() > 1) else { return };
        let rest = &all[..all.len() - 1];
        let kept_off = KeptOff::begin(last).expect("allowed").expect("there are other cores");
        assert_eq!(allowed_cores(), rest);
        let inherited = std::thread::spawn(allowed_cores).join().expect("no panic");
        assert_eq!(inherited, rest);
        drop(kept_off);
        assert_eq!(allowed_cores(), all);
    }

    #[test]
    fn a_thread_without_another_core_stays() {
        let stays = || {
            let core = allowed_cores()[0];
            pin_this(core).expect("pinned");
            assert!(KeptOff::begin(core).expect("nothing to do").is_none());
            assert_eq!(allowed_cores(), [core]);
        };
        std::thread::spawn(stays).join().expect("no panic");
    }

    #[test]
    fn the_state_of_a_thread_is_read_whatever_its_name() {
        let stopped =
            "712 (a) R (b) T 1 712 712 0 -1 4194304 95 0 0 0 0 0 0 0 20 0 1 0 8801 2621440";
        assert_eq!(parse(stopped), Some(('T', 0x40_0000)));
        let kernel = "16 (ksoftirqd/0) S 2 0 0 0 -1 69238848 0 0 0 0 0 12 0 0 20 0 1 0 30 0 0";
        assert_eq!(
            parse(kernel).map(|(state, flags)| (state, flags & PF_KTHREAD != 0)),
            Some(('S', true))
        );
        assert_eq!(parse("16 (x"), None);
    }

    /// A process of ours may be called as it likes.
    #[test]
    fn a_softirq_thread_of_each_processor_is_found_and_no_process() {
        let mut other = std::process::Command::new("sh")
            .args(["-c", "printf ksoftirqd/0 > /proc/$$/comm; echo; read line"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("a shell");
        let mut said = [0];
        std::io::Read::read_exact(&mut other.stdout.take().expect("piped"), &mut said)
            .expect("said");
        let name = fs::read_to_string(format!("/proc/{}/comm", other.id())).expect("it waits");
        assert_eq!(name, "ksoftirqd/0\n");
        let found = of_kernel(|name| name.starts_with("ksoftirqd/"));
        other.kill().and_then(|()| other.wait()).expect("it ends");
        let processors = fs::read_to_string("/proc/stat").expect("processors");
        let processors = processors.lines().filter(|line| line.starts_with("cpu")).count() - 1;
        assert_eq!(found.len(), processors, "{found:?}");
        assert!(found.iter().all(|(id, _)| *id != other.id()));
    }
}
