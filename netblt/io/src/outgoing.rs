//! Datagrams on their way out: on UDP many in one system call that the kernel, or the interface, cuts
//! apart (UDP_SEGMENT); otherwise many in one call as they are (sendmmsg).

use crate::socket::Carrier;
use nix::errno::Errno;
use nix::sys::socket::{
    ControlMessage, MsgFlags, MultiHeaders, SockaddrIn, SockaddrIn6, SockaddrLike, sendmmsg,
    sendmsg,
};
use std::collections::BTreeSet;
use std::io::IoSlice;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

/// Segments of one send, at most (Linux: `UDP_MAX_SEGMENTS`), and bytes.
const MAX_SEGMENTS: usize = 64;
pub(crate) const MAX_SEND_BYTES: usize = 65_000;
/// Peers of which it is remembered that packets to them cannot be cut apart by the kernel.
const MAX_UNSEGMENTED: usize = 256;

/// Sends packets of one size.
#[derive(Debug)]
pub struct Outgoing {
    carrier: Carrier,
    /// Whom the kernel does not cut packets apart for: their path's interface or MTU forbids it.
    unsegmented: BTreeSet<IpAddr>,
}

impl Outgoing {
    /// On a socket of this carrier.
    pub fn new(carrier: Carrier) -> Self {
        Outgoing { carrier, unsegmented: BTreeSet::new() }
    }

    /// Sends the packets of a burst, each `len` bytes of `packets` but the last, which may be
    /// shorter. What the kernel has no room for is lost, as any network would lose it.
    pub fn send(
        &mut self,
        fd: BorrowedFd<'_>,
        peer: SocketAddr,
        packets: &[u8],
        len: usize,
    ) -> Result<(), Errno> {
        let segments = (MAX_SEND_BYTES / len).clamp(1, MAX_SEGMENTS);
        for batch in packets.chunks(segments * len) {
            let segmented = batch.len() > len
                && self.carrier == Carrier::Udp
                && !self.unsegmented.contains(&peer.ip());
            if segmented {
                match send_segmented(fd.as_raw_fd(), peer, batch, len) {
                    Ok(()) => continue,
                    // No such thing on this path: from now on one by one.
                    Err(Errno::EIO | Errno::EINVAL | Errno::EOPNOTSUPP | Errno::EMSGSIZE) => {
                        self.leave_unsegmented(peer.ip());
                    }
                    Err(errno) => {
                        tolerate(errno)?;
                        continue;
                    }
                }
            }
            match peer {
                SocketAddr::V4(to) => send_each(fd, SockaddrIn::from(to), batch, len)?,
                SocketAddr::V6(to) => send_each(fd, SockaddrIn6::from(to), batch, len)?,
            }
        }
        Ok(())
    }

    /// Forgetting it again costs a call that fails.
    fn leave_unsegmented(&mut self, peer: IpAddr) {
        if self.unsegmented.len() >= MAX_UNSEGMENTED {
            self.unsegmented.clear();
        }
        self.unsegmented.insert(peer);
    }
}

/// One system call for many packets, which the kernel cuts apart.
fn send_segmented(fd: RawFd, peer: SocketAddr, batch: &[u8], len: usize) -> Result<(), Errno> {
    let (parts, segment) = ([IoSlice::new(batch)], len as u16);
    let control = [ControlMessage::UdpGsoSegments(&segment)];
    let flags = MsgFlags::empty();
    match peer {
        SocketAddr::V4(to) => {
            sendmsg(fd, &parts, &control, flags, Some(&SockaddrIn::from(to))).map(drop)
        }
        SocketAddr::V6(to) => {
            sendmsg(fd, &parts, &control, flags, Some(&SockaddrIn6::from(to))).map(drop)
        }
    }
}

/// One system call for many packets as they are. One that is refused is lost, and the rest goes on.
fn send_each<S: SockaddrLike + Copy>(
    fd: BorrowedFd<'_>,
    to: S,
    batch: &[u8],
    len: usize,
) -> Result<(), Errno> {
    let packets: Vec<[IoSlice<'_>; 1]> =
        batch.chunks(len).map(|packet| [IoSlice::new(packet)]).collect();
    let mut rest = &packets[..];
    while !rest.is_empty() {
        let mut headers = MultiHeaders::preallocate(rest.len(), None);
        let to = vec![Some(to); rest.len()];
        match sendmmsg(fd.as_raw_fd(), &mut headers, rest, to, [], MsgFlags::empty()) {
            Ok(sent) => rest = &rest[sent.count().max(1)..],
            Err(errno) => {
                tolerate(errno)?;
                rest = &rest[1..];
            }
        }
    }
    Ok(())
}

/// Errors of one packet or one peer are none of the socket.
pub fn tolerate(errno: Errno) -> Result<(), Errno> {
    if is_passing(errno) { Ok(()) } else { Err(errno) }
}

/// Anything but a socket that is none: nothing is there now, the kernel has no room, a firewall
/// forbids it, an address cannot be reached, or somebody complained about an earlier packet (ICMP
/// unreachable). One peer's troubles are not those of others; for a network that loses packets the
/// protocol has its timers.
pub fn is_passing(errno: Errno) -> bool {
    !matches!(errno, Errno::EBADF | Errno::ENOTSOCK | Errno::EFAULT)
}
