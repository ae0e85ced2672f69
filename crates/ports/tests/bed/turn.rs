//! One live test at a time on this machine: at once they would take each other's cores.
#![allow(unsafe_code, reason = "std of the oldest supported Rust has no file locks")]

use std::fs::File;
use std::os::fd::AsRawFd;

/// Waits for the lock that all live tests share, in whatever process; it ends with the file.
pub fn wait() -> File {
    let path = std::env::temp_dir().join("netanvil-live-tests.lock");
    let file = File::options().create(true).append(true).open(path).expect("a lock file");
    // SAFETY: no pointers; the descriptor is open.
    let locked = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) };
    assert_eq!(locked, 0, "lock: {}", std::io::Error::last_os_error());
    file
}
