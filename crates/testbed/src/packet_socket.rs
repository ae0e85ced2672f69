//! A packet socket on one interface: frames as they are on the wire, for programs that forward them.

#![allow(unsafe_code)]

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

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
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: no pointers; the descriptor returned is ours alone. Protocol 0 hears nothing yet.
        let fd = unsafe {
            let fd = check(libc::socket(libc::AF_PACKET, kind, 0))?;
            OwnedFd::from_raw_fd(fd)
        };
        let socket = PacketSocket(fd);
        socket.set(libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)?;
        socket.set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, BUFFER_BYTES)?;
        socket.set(libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, BUFFER_BYTES)?;
        // SAFETY: a sockaddr_ll is plain data for which all zeroes is a value.
        let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = ETH_P_ALL.to_be();
        address.sll_ifindex = index as libc::c_int;
        let len = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: `address` lives across the call and `len` is its size.
        check(unsafe { libc::bind(socket.raw(), (&raw const address).cast(), len) })?;
        Ok(socket)
    }

    /// Frames that came in and found no room, since the last call.
    pub fn dropped(&self) -> io::Result<u64> {
        let mut statistics = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut len = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        let to = (&raw mut statistics).cast();
        // SAFETY: `statistics` is plain data, writable for `len` bytes.
        check(unsafe {
            libc::getsockopt(self.raw(), libc::SOL_PACKET, PACKET_STATISTICS, to, &mut len)
        })?;
        Ok(statistics.tp_drops.into())
    }

    fn raw(&self) -> libc::c_int {
        self.0.as_raw_fd()
    }

    fn set(&self, level: libc::c_int, name: libc::c_int, value: libc::c_int) -> io::Result<()> {
        let len = size_of::<libc::c_int>() as libc::socklen_t;
        let value = (&raw const value).cast();
        // SAFETY: `value` lives across the call and `len` is its size.
        check(unsafe { libc::setsockopt(self.raw(), level, name, value, len) }).map(drop)
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
