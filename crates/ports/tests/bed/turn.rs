//! One live test at a time on this machine: at once they would take each other's cores.
#![allow(unsafe_code, reason = "std of the oldest supported Rust has no file locks")]

use std::fs::File;
use std::os::fd::AsRawFd;

/// Waits for the lock that all live tests share, in whatever process; it ends with the file. Tests of a module
/// `concurrent`, which measure nothing, hold it together.
pub fn wait() -> File {
    let path = std::env::temp_dir().join("netanvil-live-tests.lock");
    let file = File::options().create(true).append(true).open(path).expect("a lock file");
    // The harness names a test's thread after the test.
    let is_shared =
        std::thread::current().name().is_some_and(|name| name.starts_with("concurrent::"));
    let how = if is_shared { libc::LOCK_SH } else { libc::LOCK_EX };
    // SAFETY: no pointers; the descriptor is open.
    let locked = unsafe { libc::flock(file.as_raw_fd(), how) };
    assert_eq!(locked, 0, "lock: {}", std::io::Error::last_os_error());
    file
}
