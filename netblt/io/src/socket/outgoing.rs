//! Datagrams on their way out: on UDP many in one system call that the kernel, or the interface, cuts
//! apart (UDP_SEGMENT); otherwise many in one call as they are (sendmmsg).

use super::{Carrier, MAX_SEND_BYTES, Towards};
use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::{
    ControlMessage, MsgFlags, MultiHeaders, SockaddrIn, SockaddrIn6, SockaddrLike, sendmmsg,
    sendmsg,
};
use std::collections::BTreeSet;
use std::io;
use std::io::IoSlice;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

/// Segments of one send, at most (Linux: `UDP_MAX_SEGMENTS`).
const MAX_SEGMENTS: usize = 64;
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
        socket: &UdpSocket,
        towards: Towards,
        packets: &[u8],
        len: usize,
    ) -> io::Result<()> {
        let (peer, _) = towards;
        let fd = socket.as_fd();
        let segments = (MAX_SEND_BYTES / len).clamp(1, MAX_SEGMENTS);
        for batch in packets.chunks(segments * len) {
            let segmented = batch.len() > len
                && self.carrier == Carrier::Udp
                && !self.unsegmented.contains(&peer.ip());
            if segmented {
                match send_segmented(fd.as_raw_fd(), towards, batch, len) {
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
            let class = TrafficClass::of(towards);
            match peer {
                SocketAddr::V4(to) => send_each(fd, SockaddrIn::from(to), &class, batch, len)?,
                SocketAddr::V6(to) => send_each(fd, SockaddrIn6::from(to), &class, batch, len)?,
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

/// The octet of IP's header in which a packet may be marked, where it is not 0: one of IPv4's, also in the guise
/// of IPv6, or one of IPv6's.
#[derive(Clone, Copy, Debug)]
enum TrafficClass {
    None,
    V4(u8),
    V6(i32),
}

impl TrafficClass {
    fn of((peer, codepoint): Towards) -> TrafficClass {
        match (codepoint.octet(), peer.ip().to_canonical()) {
            (0, _) => TrafficClass::None,
            (octet, IpAddr::V4(_)) => TrafficClass::V4(octet),
            (octet, IpAddr::V6(_)) => TrafficClass::V6(octet.into()),
        }
    }
    fn message(&self) -> Option<ControlMessage<'_>> {
        match self {
            TrafficClass::None => None,
            TrafficClass::V4(octet) => Some(ControlMessage::Ipv4Tos(octet)),
            TrafficClass::V6(octet) => Some(ControlMessage::Ipv6TClass(octet)),
        }
    }
}

/// One system call for many packets, which the kernel cuts apart.
fn send_segmented(fd: RawFd, towards: Towards, batch: &[u8], len: usize) -> Result<(), Errno> {
    let (parts, segment) = ([IoSlice::new(batch)], len as u16);
    let (peer, class) = (towards.0, TrafficClass::of(towards));
    let mut control = vec![ControlMessage::UdpGsoSegments(&segment)];
    control.extend(class.message());
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
    class: &TrafficClass,
    batch: &[u8],
    len: usize,
) -> Result<(), Errno> {
    let packets: Vec<[IoSlice<'_>; 1]> =
        batch.chunks(len).map(|packet| [IoSlice::new(packet)]).collect();
    let mut rest = &packets[..];
    // Room without a message in it is one that the kernel refuses.
    let room = class.message().map(|_| cmsg_space!(i32));
    while !rest.is_empty() {
        let mut headers = MultiHeaders::preallocate(rest.len(), room.clone());
        let to = vec![Some(to); rest.len()];
        let control: Vec<ControlMessage<'_>> = class.message().into_iter().collect();
        match sendmmsg(fd.as_raw_fd(), &mut headers, rest, to, control, MsgFlags::empty()) {
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
