//! A plain packet socket beside the fast path, for single frames: learning frames, routing
//! updates, and what the tester answers itself. It works whatever carries the test frames.

use crate::sys;
use std::io;
use std::os::fd::OwnedFd;

/// Sends and receives single frames on one interface.
#[derive(Debug)]
pub(crate) struct ControlSocket {
    socket: OwnedFd,
}

impl ControlSocket {
    /// Opens one that only sends.
    pub fn open(ifindex: u32) -> io::Result<Self> {
        let socket = sys::socket(libc::AF_PACKET, libc::SOCK_RAW, 0)?;
        sys::bind_packet(sys::raw(&socket), ifindex, 0)?;
        Ok(ControlSocket { socket })
    }

    /// Sends one frame, given without FCS.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        // SAFETY: `frame` is readable for its length.
        let sent =
            unsafe { libc::send(sys::raw(&self.socket), frame.as_ptr().cast(), frame.len(), 0) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}
