//! Datagrams where the kernel is not Linux: one in each call, by what every system has. No marks are seen or sent.

use super::{Carrier, KERNEL_BUFFER_BYTES, MAX_DATAGRAM_BYTES, Towards};
use netblt::Codepoint;
use socket2::Socket as Socket2;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use units::Duration;

/// Whether packets can be marked, and marks be seen.
pub const HAS_MARKS: bool = false;

/// Shorter waits would be for ever.
const SHORTEST_WAIT: std::time::Duration = std::time::Duration::from_micros(1);

/// Sets what a socket is to have.
pub fn prepare(socket: &Socket2, _carrier: Carrier, _address: SocketAddr) {
    // Where the system allows less, less is no error.
    for size in [KERNEL_BUFFER_BYTES / 16, KERNEL_BUFFER_BYTES] {
        let _ = socket.set_recv_buffer_size(size);
        let _ = socket.set_send_buffer_size(size);
    }
}

/// Threads wake up when the system finds it convenient.
pub fn sleep_precisely() {}

/// Waits for a datagram, at most so long.
pub fn wait(socket: &UdpSocket, at_most: Duration) -> io::Result<()> {
    let at_most = std::time::Duration::from_nanos(at_most.as_ns()).max(SHORTEST_WAIT);
    socket.set_read_timeout(Some(at_most))?;
    socket.set_nonblocking(false)?;
    // Whatever it comes to, the time is over or something is there to be looked at.
    let _ = socket.peek_from(&mut [0]);
    socket.set_nonblocking(true)
}

/// A datagram: of whom, what, and what its IP header says of marks.
pub type Datagram<'a> = (SocketAddr, &'a mut [u8], Codepoint);

/// Datagrams on their way in.
#[derive(Debug, Default)]
pub struct Incoming {
    memory: Vec<u8>,
}

impl Incoming {
    /// The next datagram; None if there is none now.
    pub fn next(&mut self, socket: &UdpSocket) -> io::Result<Option<Datagram<'_>>> {
        self.memory.resize(MAX_DATAGRAM_BYTES, 0);
        match socket.recv_from(&mut self.memory) {
            Ok((len, peer)) => Ok(Some((peer, &mut self.memory[..len], Codepoint::NotCapable))),
            // Nothing is there, or somebody complained of an earlier packet: for what is lost the protocol has timers.
            Err(_) => Ok(None),
        }
    }
}

/// Datagrams on their way out.
#[derive(Debug)]
pub struct Outgoing;

impl Outgoing {
    /// On a socket of this carrier.
    pub fn new(_carrier: Carrier) -> Self {
        Outgoing
    }
    /// Sends the packets of a burst, each `len` bytes of `packets` but the last, which may be shorter. What the system has
    /// no room for is lost, as any network would lose it.
    pub fn send(
        &mut self,
        socket: &UdpSocket,
        (peer, _): Towards,
        packets: &[u8],
        len: usize,
    ) -> io::Result<()> {
        for packet in packets.chunks(len) {
            let _ = socket.send_to(packet, peer);
        }
        Ok(())
    }
}
