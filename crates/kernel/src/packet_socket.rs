//! A packet socket on one interface: frames as they are on the wire, for programs that forward them.

#![allow(unsafe_code)]

use crate::socket;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// linux/if_ether.h, linux/if_packet.h.
const ETH_P_ALL: u16 = 3;
const PACKET_STATISTICS: libc::c_int = 6;
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;
/// Asked of the kernel for each direction.
const BUFFER_BYTES: libc::c_int = 32 << 20;

/// Hears every frame that comes in by its interface, and none that goes out; sends what it is given
/// there. Frames are without FCS. Never blocks.
#[derive(Debug)]
pub struct PacketSocket(OwnedFd);

impl PacketSocket {
    /// On an interface of the calling thread's namespace.
    pub fn open(interface: &str) -> io::Result<Self> {
        let index = nix::net::if_::if_nametoindex(interface)?;
        // Protocol 0 hears nothing yet.
        let socket = socket::open(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_NONBLOCK, 0)?;
        socket::set_option(&socket, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)?;
        socket::set_option(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, BUFFER_BYTES)?;
        socket::set_option(&socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, BUFFER_BYTES)?;
        socket::bind_packet(socket.as_raw_fd(), index, ETH_P_ALL)?;
        Ok(PacketSocket(socket))
    }

    /// Frames that came in and found no room, since the last call.
    pub fn dropped(&self) -> io::Result<u64> {
        let mut statistics = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut len = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        let to = (&raw mut statistics).cast();
        // SAFETY: `statistics` is plain data, writable for `len` bytes.
        socket::check(unsafe {
            libc::getsockopt(self.0.as_raw_fd(), libc::SOL_PACKET, PACKET_STATISTICS, to, &mut len)
        })?;
        Ok(statistics.tp_drops.into())
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
