//! A plain packet socket for single frames.

use super::kind;
use crate::sys;
use kernel::socket;
use std::io;
use std::os::fd::OwnedFd;

/// linux/if_ether.h, linux/if_packet.h.
const ETH_P_ALL: u16 = 3;
const PACKET_IGNORE_OUTGOING: i32 = 23;

/// Sends and receives single frames on one interface.
#[derive(Debug)]
pub(crate) struct ControlSocket {
    socket: OwnedFd,
}

impl ControlSocket {
    /// Opens one that receives control frames alone.
    pub fn open(ifindex: u32) -> io::Result<Self> {
        let socket = socket::open(libc::AF_PACKET, libc::SOCK_RAW, 0)?;
        let fd = sys::raw(&socket);
        sys::attach_filter(fd, &mut kind::filter())?;
        sys::set_option(fd, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, 1i32)?;
        socket::bind_packet(fd, ifindex, ETH_P_ALL)?;
        Ok(ControlSocket { socket })
    }

    /// Sends one frame, given without FCS.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        sys::send(&self.socket, frame, 0)
    }

    /// Waits up to `timeout_ms` for a frame; gives the part of `buffer` that it fills.
    pub fn receive<'a>(
        &self,
        buffer: &'a mut [u8],
        timeout_ms: i32,
    ) -> io::Result<Option<&'a [u8]>> {
        let fd = sys::raw(&self.socket);
        if sys::poll_readable(fd, timeout_ms)? == 0 {
            return Ok(None);
        }
        // SAFETY: `buffer` is writable for its length.
        let received =
            unsafe { libc::recv(fd, buffer.as_mut_ptr().cast(), buffer.len(), libc::MSG_DONTWAIT) };
        match usize::try_from(received) {
            Ok(len) => Ok(Some(&buffer[..len])),
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
                error => Err(error),
            },
        }
    }
}
