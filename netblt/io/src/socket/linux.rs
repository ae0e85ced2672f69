//! Datagrams as Linux has them: many in one system call, and marks.

pub use super::incoming::Incoming;
pub use super::outgoing::Outgoing;
use super::{Carrier, KERNEL_BUFFER_BYTES};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{
    IpRecvTos, Ipv6RecvTClass, RcvBufForce, SndBufForce, UdpGroSegment,
};
use nix::sys::time::TimeSpec;
use socket2::Socket as Socket2;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use units::Duration;

/// Whether packets can be marked, and marks be seen.
pub const HAS_MARKS: bool = true;

/// Sets what a socket is to have.
pub fn prepare(socket: &Socket2, carrier: Carrier, address: SocketAddr) {
    // Only root gets more than the system's limit. Less is no error: what does not fit is lost and
    // sent again.
    if setsockopt(socket, RcvBufForce, &KERNEL_BUFFER_BYTES).is_err() {
        let _ = socket.set_recv_buffer_size(KERNEL_BUFFER_BYTES);
    }
    if setsockopt(socket, SndBufForce, &KERNEL_BUFFER_BYTES).is_err() {
        let _ = socket.set_send_buffer_size(KERNEL_BUFFER_BYTES);
    }
    if carrier == Carrier::Udp {
        // Kernels before 5.0 give each datagram by itself.
        let _ = setsockopt(socket, UdpGroSegment, &true);
        // Where the kernel does not tell marks, none is seen.
        let _ = setsockopt(socket, IpRecvTos, &true);
        if address.is_ipv6() {
            let _ = setsockopt(socket, Ipv6RecvTClass, &true);
        }
    }
}

/// Bursts are to leave when they are due, not when the kernel finds it convenient.
pub fn sleep_precisely() {
    let _ = nix::sys::prctl::set_timerslack(1);
}

/// Waits for a packet, at most so long.
pub fn wait(socket: &UdpSocket, at_most: Duration) -> io::Result<()> {
    let mut fds = [PollFd::new(socket.as_fd(), PollFlags::POLLIN)];
    let timeout = TimeSpec::from_duration(std::time::Duration::from_nanos(at_most.as_ns()));
    match ppoll(&mut fds, Some(timeout), None) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}
