//! Sockets of another process, which are given more room for what arrives: the kernel's own default (200 KiB)
//! holds 250 frames, some 2 ms at 100,000 frames/s, and can only be changed for the whole machine.

#![allow(unsafe_code, reason = "no library hands over another process's descriptors")]

use crate::socket;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Gives every packet socket of a process room for so many bytes, by the kernel's account of frames; how many
/// there were.
pub fn give_room(process: u32, bytes: usize) -> io::Result<usize> {
    // SAFETY: plain system call without memory of ours.
    let pidfd = owned(unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) })?;
    let mut sockets = 0;
    for entry in std::fs::read_dir(format!("/proc/{process}/fd"))? {
        let Ok(number) = entry?.file_name().to_string_lossy().parse::<i32>() else { continue };
        // SAFETY: as above; the descriptor is of a process of ours and becomes one of this process.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_getfd, pidfd.as_raw_fd(), number, 0) };
        // It may have been closed since.
        let Ok(found) = owned(fd) else { continue };
        if domain(&found) == Some(libc::AF_PACKET) {
            // The kernel doubles it, for its own bookkeeping.
            let room = libc::c_int::try_from(bytes / 2).unwrap_or(libc::c_int::MAX / 2);
            socket::set_option(&found, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, room)?;
            sockets += 1;
        }
    }
    Ok(sockets)
}

fn owned(fd: libc::c_long) -> io::Result<OwnedFd> {
    match i32::try_from(fd) {
        // SAFETY: a new descriptor that nobody else has.
        Ok(fd) if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The address family of a socket; `None` of what is none.
fn domain(socket: &OwnedFd) -> Option<libc::c_int> {
    let mut domain: libc::c_int = 0;
    let mut length = mem::size_of_val(&domain) as libc::socklen_t;
    let (value, fd) = ((&raw mut domain).cast(), socket.as_raw_fd());
    // SAFETY: `domain` and `length` are live, and `length` is the size of `domain`.
    let got =
        unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_DOMAIN, value, &raw mut length) };
    (got == 0).then_some(domain)
}
