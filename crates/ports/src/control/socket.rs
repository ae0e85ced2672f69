//! The way of single frames: a plain packet socket, or whatever else a port has.

use super::kind;
use crate::sys;
use kernel::socket;
use std::io;
use std::os::fd::OwnedFd;

/// linux/if_ether.h, linux/if_packet.h.
const ETH_P_ALL: u16 = 3;
const PACKET_IGNORE_OUTGOING: i32 = 23;

/// Sends and receives single frames of a port, beside the frames of trials.
pub trait ControlSocket: Send + Sync {
    /// Sends one frame, given without FCS.
    ///
    /// # Errors
    /// If it could not be sent.
    fn send(&self, frame: &[u8]) -> io::Result<()>;

    /// Waits up to `timeout_ms` for a frame of the control side; gives the part of `buffer` that it fills.
    /// Others than control frames may be among those given.
    ///
    /// # Errors
    /// If the port is down or gone.
    fn receive<'a>(&self, buffer: &'a mut [u8], timeout_ms: i32) -> io::Result<Option<&'a [u8]>>;
}

/// Sends and receives single frames on one interface.
#[derive(Debug)]
pub(crate) struct PacketSocket {
    socket: OwnedFd,
}

impl PacketSocket {
    /// Opens one that receives control frames alone.
    pub fn open(ifindex: u32) -> io::Result<Self> {
        let socket = socket::open(libc::AF_PACKET, libc::SOCK_RAW, 0)?;
        let fd = sys::raw(&socket);
        socket::attach_filter(fd, &mut kind::filter())?;
        sys::set_option(fd, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, 1i32)?;
        kernel::tell_tags(&socket)?;
        socket::bind_packet(fd, ifindex, ETH_P_ALL)?;
        Ok(PacketSocket { socket })
    }
}

/// A way for single frames of an interface, beside that of the port that is open on it.
///
/// # Errors
/// If the kernel gives none.
pub fn control_socket(interface: &crate::Interface) -> io::Result<Box<dyn ControlSocket>> {
    Ok(Box::new(PacketSocket::open(interface.index())?))
}

impl ControlSocket for PacketSocket {
    fn send(&self, frame: &[u8]) -> io::Result<()> {
        sys::send(&self.socket, frame, 0)
    }

    fn receive<'a>(&self, buffer: &'a mut [u8], timeout_ms: i32) -> io::Result<Option<&'a [u8]>> {
        let fd = sys::raw(&self.socket);
        if sys::poll_readable(fd, timeout_ms)? == 0 {
            return Ok(None);
        }
        Ok(kernel::receive_frame(&self.socket, &mut [], buffer)?.map(|frame| &*frame))
    }
}
