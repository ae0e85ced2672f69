//! Datagrams: UDP as an ordinary user, or IP protocol 30 through a raw socket.
//!
//! In UDP each datagram holds one NETBLT packet, byte for byte what would follow the IP header; the
//! UDP ports tell hosts behind one address apart and mean nothing else.

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::socket::{ControlMessage, MsgFlags, SockaddrIn, SockaddrIn6, sendmsg};
use nix::sys::time::TimeSpec;
use socket2::{Domain, Protocol, Socket as Socket2, Type};
use std::collections::BTreeSet;
use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use units::Duration;

/// Asked of the kernel for each direction; it may give less.
const KERNEL_BUFFER_BYTES: usize = 8 << 20;
/// The largest datagram.
const MAX_DATAGRAM_BYTES: usize = 65_535;
/// Segments of one send, at most (Linux: `UDP_MAX_SEGMENTS`), and bytes.
const MAX_SEGMENTS: usize = 64;
pub(crate) const MAX_SEND_BYTES: usize = 65_000;
/// Peers of which it is remembered that packets to them cannot be cut apart by the kernel.
const MAX_UNSEGMENTED: usize = 256;
/// The number of NETBLT on IP (RFC 998 section 6).
const NETBLT: i32 = 30;
/// Bytes of an IPv4 header without options.
const MIN_IPV4_HEADER_BYTES: usize = 20;

/// What carries NETBLT.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Carrier {
    /// UDP: any user, through any firewall that lets UDP pass.
    Udp,
    /// IP protocol 30, as RFC 998 has it; takes the right to open raw sockets.
    RawIp,
}

/// A socket that gives and takes whole packets of NETBLT.
#[derive(Debug)]
pub struct Socket {
    inner: UdpSocket,
    carrier: Carrier,
    /// Whom the kernel does not cut packets apart for: their path's interface or MTU forbids it.
    unsegmented: BTreeSet<IpAddr>,
}

impl Socket {
    /// A socket bound to `address`, of which a raw one ignores the port.
    pub fn bind(carrier: Carrier, address: SocketAddr) -> io::Result<Socket> {
        let (kind, protocol) = match carrier {
            Carrier::Udp => (Type::DGRAM, Protocol::UDP),
            Carrier::RawIp => (Type::RAW, Protocol::from(NETBLT)),
        };
        let socket = Socket2::new(Domain::for_address(address), kind, Some(protocol))?;
        // Less is no error: what does not fit is lost and sent again.
        let _ = socket.set_recv_buffer_size(KERNEL_BUFFER_BYTES);
        let _ = socket.set_send_buffer_size(KERNEL_BUFFER_BYTES);
        socket.bind(&key(carrier, address).into())?;
        socket.set_nonblocking(true)?;
        Ok(Socket { inner: socket.into(), carrier, unsegmented: BTreeSet::new() })
    }

    /// What carries the packets.
    pub fn carrier(&self) -> Carrier {
        self.carrier
    }
    /// Where it is bound.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }
    /// How a peer is told apart: raw IP has no port.
    pub fn key(&self, peer: SocketAddr) -> SocketAddr {
        key(self.carrier, peer)
    }

    /// The next packet that has come, in `memory`; None if there is none.
    pub fn receive<'m>(
        &self,
        memory: &'m mut Vec<u8>,
    ) -> io::Result<Option<(SocketAddr, &'m [u8])>> {
        memory.resize(MAX_DATAGRAM_BYTES, 0);
        match self.inner.recv_from(memory) {
            // Nobody can be answered there; an empty packet is none of NETBLT's.
            Ok((_, peer)) if self.carrier == Carrier::Udp && peer.port() == 0 => {
                Ok(Some((peer, &[])))
            }
            Ok((len, peer)) => {
                let bytes = &memory[..len];
                let packet = if self.carrier == Carrier::RawIp && peer.is_ipv4() {
                    after_ipv4_header(bytes)
                } else {
                    bytes
                };
                Ok(Some((self.key(peer), packet)))
            }
            Err(error) if is_passing(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends the packets of a burst, each `len` bytes of `packets` but the last, which may be
    /// shorter. What the kernel has no room for is lost, as any network would lose it.
    pub fn send(&mut self, peer: SocketAddr, packets: &[u8], len: usize) -> io::Result<()> {
        let segments = (MAX_SEND_BYTES / len).clamp(1, MAX_SEGMENTS);
        for batch in packets.chunks(segments * len) {
            let segmented = batch.len() > len
                && self.carrier == Carrier::Udp
                && !self.unsegmented.contains(&peer.ip());
            if segmented {
                match self.send_segmented(peer, batch, len) {
                    Ok(()) => continue,
                    // No such thing on this path: from now on one by one.
                    Err(Errno::EIO | Errno::EINVAL | Errno::EOPNOTSUPP | Errno::EMSGSIZE) => {
                        self.leave_unsegmented(peer.ip());
                    }
                    Err(errno) => {
                        tolerate(errno.into())?;
                        continue;
                    }
                }
            }
            for packet in batch.chunks(len) {
                self.inner.send_to(packet, peer).map(drop).or_else(tolerate)?;
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

    /// One system call for many packets: the kernel cuts them apart (UDP_SEGMENT).
    fn send_segmented(&self, peer: SocketAddr, batch: &[u8], len: usize) -> Result<(), Errno> {
        let (parts, segment) = ([IoSlice::new(batch)], len as u16);
        let control = [ControlMessage::UdpGsoSegments(&segment)];
        let (fd, flags) = (self.inner.as_raw_fd(), MsgFlags::empty());
        match peer {
            SocketAddr::V4(to) => {
                sendmsg(fd, &parts, &control, flags, Some(&SockaddrIn::from(to))).map(drop)
            }
            SocketAddr::V6(to) => {
                sendmsg(fd, &parts, &control, flags, Some(&SockaddrIn6::from(to))).map(drop)
            }
        }
    }

    /// Waits for a packet, at most so long.
    pub fn wait(&self, at_most: Duration) -> io::Result<()> {
        let mut fds = [PollFd::new(self.inner.as_fd(), PollFlags::POLLIN)];
        let timeout = TimeSpec::from_duration(std::time::Duration::from_nanos(at_most.as_ns()));
        match ppoll(&mut fds, Some(timeout), None) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }
}

fn key(carrier: Carrier, mut address: SocketAddr) -> SocketAddr {
    if carrier == Carrier::RawIp {
        address.set_port(0);
    }
    address
}

/// A raw IPv4 socket gives the header too.
fn after_ipv4_header(bytes: &[u8]) -> &[u8] {
    let header = bytes.first().map_or(0, |first| usize::from(first & 0xf) * 4);
    bytes.get(header.max(MIN_IPV4_HEADER_BYTES)..).unwrap_or(&[])
}

/// Anything but a socket that is none: nothing is there now, the kernel has no room, a firewall
/// forbids it, an address cannot be reached, or somebody complained about an earlier packet (ICMP
/// unreachable). One peer's troubles are not those of others; for a network that loses packets the
/// protocol has its timers.
fn is_passing(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw);
    !matches!(errno, None | Some(Errno::EBADF | Errno::ENOTSOCK | Errno::EFAULT))
}

fn tolerate(error: io::Error) -> io::Result<()> {
    if is_passing(&error) { Ok(()) } else { Err(error) }
}
