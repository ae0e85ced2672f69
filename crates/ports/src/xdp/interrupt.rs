//! Ends a long system call of this thread when there is a reason to.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

/// How often the reason is looked for.
const WATCH_EVERY: Duration = Duration::from_millis(5);

/// Runs `call`; whenever `reason` holds meanwhile, the system call in which this thread is ends
/// with `EINTR`. `call` must expect that at any time.
pub(super) fn when<T>(mut reason: impl FnMut() -> bool + Send, call: impl FnOnce() -> T) -> T {
    install_handler();
    let done = AtomicBool::new(false);
    // SAFETY: no arguments; it cannot fail. A number, since musl's pthread_t is a pointer and no thread may share it.
    let this = unsafe { libc::pthread_self() } as usize;
    thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            while !done.load(Relaxed) {
                thread::park_timeout(WATCH_EVERY);
                if !done.load(Relaxed) && reason() {
                    // SAFETY: the thread lives: it waits for this scope to end.
                    unsafe { libc::pthread_kill(this as libc::pthread_t, signal()) };
                }
            }
        });
        let result = call();
        done.store(true, Relaxed);
        watcher.thread().unpark();
        result
    })
}

/// A real-time signal that nobody else in the process uses.
fn signal() -> libc::c_int {
    libc::SIGRTMIN() + 7
}

/// The signal only has to be noticed: a handler that does nothing, without `SA_RESTART`.
fn install_handler() {
    extern "C" fn nothing(_: libc::c_int) {}
    static INSTALLED: OnceLock<()> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        // SAFETY: a sigaction is plain data for which all zeroes is a value (no flags, empty
        // mask); the handler does nothing and so may run at any point.
        let result = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = nothing as *const () as usize;
            libc::sigaction(signal(), &action, std::ptr::null_mut())
        };
        assert_eq!(result, 0, "sigaction: {}", io::Error::last_os_error());
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn a_long_call_ends_when_there_is_a_reason() {
        let begun = Instant::now();
        let result = when(
            || begun.elapsed() > Duration::from_millis(20),
            // SAFETY: no descriptors, only a timeout.
            || unsafe { libc::poll(std::ptr::null_mut(), 0, 10_000) },
        );
        assert_eq!(result, -1);
        assert_eq!(io::Error::last_os_error().kind(), io::ErrorKind::Interrupted);
        assert!(begun.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn a_call_without_a_reason_runs_to_its_end() {
        assert_eq!(when(|| false, || 7), 7);
    }
}
