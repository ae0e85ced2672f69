//! DPDK's environment, which a process starts once.

use super::facts::{HUGE_BYTES, MEMORY_MB};
use super::shim::Shim;
use kernel::free_huge_bytes;
use std::ffi::CString;
use std::sync::{Mutex, OnceLock};

/// No device has this address: with it as the only one allowed, DPDK opens none that is not asked for.
const NO_DEVICE: &str = "ffff:ff:1f.7";
const FILE_PREFIX: &str = "netanvil";

/// DPDK, started.
pub(super) struct Eal {
    pub shim: Shim,
    /// Devices come and go one at a time.
    pub devices: Mutex<()>,
    /// Whether it has huge pages.
    pub has_huge_pages: bool,
}

/// Starts it, if that was not done before.
///
/// # Errors
/// In words. What failed once is not tried again: DPDK cannot start twice.
pub(super) fn eal() -> Result<&'static Eal, String> {
    static EAL: OnceLock<Result<Eal, String>> = OnceLock::new();
    EAL.get_or_init(start).as_ref().map_err(String::clone)
}

fn start() -> Result<Eal, String> {
    let shim = Shim::load()?;
    let core = kernel::thread::allowed_cores().first().copied().unwrap_or(0);
    let has_huge_pages = free_huge_bytes() >= HUGE_BYTES;
    let physical = has_huge_pages && super::pci::any_by_physical_address();
    let arguments = arguments(core, has_huge_pages, physical);
    // The start pins the thread that makes it.
    let (shim, outcome) = std::thread::spawn(move || {
        let outcome = start_with(&shim, &arguments);
        (shim, outcome)
    })
    .join()
    .map_err(|_| String::from("start DPDK: it panicked"))?;
    // Nothing is in it, since no other process may join this one.
    let _ = std::fs::remove_dir(format!("/var/run/dpdk/{FILE_PREFIX}"));
    match outcome {
        0 => Ok(Eal { shim, devices: Mutex::new(()), has_huge_pages }),
        errno => Err(format!(
            "DPDK does not start ({}): {}",
            std::io::Error::from_raw_os_error(-errno),
            super::said(&shim)
        )),
    }
}

fn start_with(shim: &Shim, arguments: &[String]) -> i32 {
    let texts: Vec<CString> = arguments
        .iter()
        .map(|argument| CString::new(argument.as_str()).expect("no zero in an argument"))
        .collect();
    // DPDK keeps pointers to its arguments.
    let pointers: Vec<_> = texts.into_iter().map(CString::into_raw).collect();
    let count = pointers.len() as i32;
    let pointers = Box::leak(pointers.into_boxed_slice());
    // SAFETY: as many terminated texts as it is told, which stay.
    unsafe { (shim.start)(count, pointers.as_mut_ptr()) }
}

/// Quiet, with one core of its own for threads that only wait, and memory that no other process sees; that memory by its
/// physical addresses where a device knows no others.
fn arguments(core: usize, has_huge_pages: bool, physical: bool) -> Vec<String> {
    let memory = match has_huge_pages {
        true if physical => "--in-memory --iova-mode pa".to_owned(),
        true => "--in-memory".to_owned(),
        false => format!("--no-huge --no-shconf -m {MEMORY_MB}"),
    };
    let line = format!(
        "netanvil {memory} --file-prefix {FILE_PREFIX} --no-telemetry --allow {NO_DEVICE} \
         --lcores 0@{core} --log-level *:warning"
    );
    line.split(' ').map(String::from).collect()
}

/// Makes the calling thread known to DPDK until it ends, so that it has caches of its own.
pub(super) fn join_thread(eal: &'static Eal) {
    struct Joined(&'static Eal);
    impl Drop for Joined {
        fn drop(&mut self) {
            (self.0.shim.thread_leave)();
        }
    }
    thread_local! {
        static JOINED: std::cell::OnceCell<Option<Joined>> = const { std::cell::OnceCell::new() };
    }
    // A thread that DPDK has no number for works as well, without caches.
    let join = || ((eal.shim.thread_join)() == 0).then_some(Joined(eal));
    JOINED.with(|joined| {
        joined.get_or_init(join);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DPDK refuses --in-memory together with --no-huge ("not compatible").
    #[test]
    fn huge_pages_decide_where_memory_comes_from() {
        let has = |arguments: &[String], what: &str| arguments.iter().any(|one| one == what);
        let (with, without) = (arguments(3, true, false), arguments(3, false, false));
        assert!(has(&with, "--in-memory") && !has(&with, "--no-huge"));
        assert!(has(&without, "--no-huge") && !has(&without, "--in-memory"));
        for arguments in [with, without] {
            assert!(has(&arguments, "0@3") && has(&arguments, "--no-telemetry"));
            assert!(!has(&arguments, "--iova-mode"));
        }
        assert!(has(&arguments(3, true, true), "pa"));
    }
}
