//! Datagrams on their way in: many in one system call (recvmmsg), and on UDP many of one peer in one
//! of them (UDP_GRO), as the sender's kernel or ours put them together.

use super::MAX_DATAGRAM_BYTES;
use super::outgoing::is_passing;
use netblt::Codepoint;
use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, MultiHeaders, RecvMsg, SockaddrStorage, recvmmsg,
};
use std::collections::VecDeque;
use std::io;
use std::io::IoSliceMut;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

/// Messages of one system call.
const MAX_MESSAGES: usize = 32;

/// Datagrams that the kernel has given and nobody has taken yet.
#[derive(Debug, Default)]
pub struct Incoming {
    memory: Vec<Vec<u8>>,
    waiting: VecDeque<Message>,
}

/// A datagram: of whom, what, and what its IP header says of marks.
pub type Datagram<'a> = (SocketAddr, &'a mut [u8], Codepoint);

/// Datagrams of one peer, one after another.
#[derive(Clone, Copy, Debug)]
struct Message {
    peer: SocketAddr,
    codepoint: Codepoint,
    /// Which memory they are in.
    memory: usize,
    start: usize,
    end: usize,
    /// Bytes of each but the last, which may be shorter.
    stride: usize,
}

impl Incoming {
    /// The next datagram, with what its IP header says; None if there is none now.
    pub fn next(&mut self, socket: &UdpSocket) -> io::Result<Option<Datagram<'_>>> {
        if self.waiting.is_empty() {
            match self.fill(socket) {
                Err(errno) if is_passing(errno) => return Ok(None),
                filled => filled?,
            }
        }
        let Some(message) = self.waiting.front_mut() else { return Ok(None) };
        let Message { peer, codepoint, memory, start, end, stride } = *message;
        let next = (start + stride).min(end);
        message.start = next;
        if next == end {
            self.waiting.pop_front();
        }
        Ok(Some((peer, &mut self.memory[memory][start..next], codepoint)))
    }

    fn fill(&mut self, socket: &UdpSocket) -> Result<(), Errno> {
        self.memory.resize_with(MAX_MESSAGES, || vec![0; MAX_DATAGRAM_BYTES]);
        // Made anew each time: the kernel writes lengths into it that the next call must not find.
        let mut headers =
            MultiHeaders::<SockaddrStorage>::preallocate(MAX_MESSAGES, Some(cmsg_space!(i32, i32)));
        let mut places: Vec<[IoSliceMut<'_>; 1]> =
            self.memory.iter_mut().map(|memory| [IoSliceMut::new(memory)]).collect();
        let flags = MsgFlags::MSG_DONTWAIT;
        let received = recvmmsg(socket.as_raw_fd(), &mut headers, &mut places, flags, None)?;
        let messages = received.enumerate().filter_map(|(memory, message)| of(memory, &message));
        self.waiting.extend(messages);
        Ok(())
    }
}

fn of(memory: usize, message: &RecvMsg<'_, '_, SockaddrStorage>) -> Option<Message> {
    let peer = address(message.address.as_ref()?)?;
    let end = message.bytes;
    let (mut stride, mut codepoint) = (end.max(1), Codepoint::NotCapable);
    for control in message.cmsgs().into_iter().flatten() {
        match control {
            ControlMessageOwned::UdpGroSegments(bytes) if bytes > 0 => {
                stride = usize::try_from(bytes).unwrap_or(stride);
            }
            ControlMessageOwned::Ipv4Tos(octet) => codepoint = Codepoint::of_octet(octet),
            ControlMessageOwned::Ipv6TClass(octet) => codepoint = Codepoint::of_octet(octet as u8),
            _ => {}
        }
    }
    Some(Message { peer, codepoint, memory, start: 0, end, stride })
}

fn address(storage: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = storage.as_sockaddr_in().map(|v4| SocketAddr::V4((*v4).into()));
    v4.or_else(|| storage.as_sockaddr_in6().map(|v6| SocketAddr::V6((*v6).into())))
}
