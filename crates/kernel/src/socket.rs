//! Sockets that std does not know, closed on exec.

#![allow(unsafe_code)]

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Turns the result of a system call that gives -1 on failure into a `Result`.
pub fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Opens a socket.
pub fn open(domain: i32, kind: i32, protocol: i32) -> io::Result<OwnedFd> {
    // SAFETY: no pointers; the descriptor returned is ours alone.
    unsafe {
        let fd = check(libc::socket(domain, kind | libc::SOCK_CLOEXEC, protocol))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Sets a socket option that is an integer.
pub fn set_option(socket: &OwnedFd, level: i32, name: i32, value: i32) -> io::Result<()> {
    let len = size_of::<libc::c_int>() as libc::socklen_t;
    let value = (&raw const value).cast();
    // SAFETY: `value` lives across the call and `len` is its size.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, value, len) }).map(drop)
}

/// Has a socket hear only what a classic BPF program lets through.
pub fn attach_filter(socket: RawFd, code: &mut [libc::sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog { len: code.len() as u16, filter: code.as_mut_ptr() };
    let len = size_of::<libc::sock_fprog>() as libc::socklen_t;
    let (level, name, value) =
        (libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, (&raw const program).cast());
    // SAFETY: the program and its code live across the call; the kernel copies them.
    check(unsafe { libc::setsockopt(socket, level, name, value, len) }).map(drop)
}

/// Binds a packet socket to one interface and protocol.
pub fn bind_packet(socket: RawFd, index: u32, protocol: u16) -> io::Result<()> {
    // SAFETY: a sockaddr_ll is plain data for which all zeroes is a value.
    let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = index as i32;
    let len = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: `address` lives across the call and `len` is its size.
    check(unsafe { libc::bind(socket, (&raw const address).cast(), len) }).map(drop)
}
