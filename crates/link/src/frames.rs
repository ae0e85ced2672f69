//! Many frames in one system call.

use kernel::PacketSocket;
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, MultiHeaders, recvmmsg, sendmmsg};
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd};

/// Frames of one system call.
pub const BATCH_FRAMES: usize = 64;
/// No frame of the hosts is longer: their MTU is that of Ethernet.
const MAX_FRAME_BYTES: usize = 2048;

/// Receives frames that wait into `batch`, as many as it has places; gives their number.
pub fn receive(socket: &PacketSocket, batch: &mut [Vec<u8>]) -> Result<usize, Errno> {
    for memory in &mut *batch {
        memory.resize(MAX_FRAME_BYTES, 0);
    }
    let mut headers = MultiHeaders::<()>::preallocate(batch.len(), None);
    let mut places: Vec<[IoSliceMut<'_>; 1]> =
        batch.iter_mut().map(|memory| [IoSliceMut::new(memory)]).collect();
    let fd = socket.as_fd().as_raw_fd();
    let lens: Vec<usize> =
        match recvmmsg(fd, &mut headers, &mut places, MsgFlags::MSG_DONTWAIT, None) {
            Ok(received) => received.map(|message| message.bytes).collect(),
            Err(Errno::EAGAIN | Errno::EINTR) => Vec::new(),
            Err(errno) => return Err(errno),
        };
    for (memory, len) in batch.iter_mut().zip(&lens) {
        memory.truncate(*len);
    }
    Ok(lens.len())
}

/// Sends frames; gives how many the interface did not take.
pub fn send(socket: &PacketSocket, frames: &[Vec<u8>]) -> Result<usize, Errno> {
    let (mut at, mut refused) = (0, 0);
    while at < frames.len() {
        let rest = &frames[at..];
        let slices: Vec<[IoSlice<'_>; 1]> =
            rest.iter().map(|frame| [IoSlice::new(frame)]).collect();
        let mut headers = MultiHeaders::<()>::preallocate(rest.len(), None);
        let addresses = vec![None; rest.len()];
        let fd = socket.as_fd().as_raw_fd();
        let control = [];
        let flags = MsgFlags::MSG_DONTWAIT;
        match sendmmsg(fd, &mut headers, &slices, addresses, control, flags) {
            Ok(sent) => at += sent.count().max(1),
            Err(Errno::EINTR) => {}
            Err(Errno::EAGAIN | Errno::ENOBUFS | Errno::EMSGSIZE) => {
                at += 1;
                refused += 1;
            }
            Err(errno) => return Err(errno),
        }
    }
    Ok(refused)
}
