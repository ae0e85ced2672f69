//! Many frames in one system call.

use kernel::PacketSocket;
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, MultiHeaders, recvmmsg, sendmmsg};
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd};
use wire::ecn::Codepoint;
use wire::ethernet::{self, EtherType};
use wire::{ipv4, ipv6};

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

/// What the header of the packet in a frame says of marks, if it is of IP.
pub fn codepoint(frame: &[u8]) -> Codepoint {
    let Ok((ethernet::Repr { ether_type, .. }, rest)) = ethernet::Repr::parse(frame) else {
        return Codepoint::NotCapable;
    };
    let ecn = match ether_type {
        EtherType::IPV4 => ipv4::View::new_checked(rest).map(|view| view.ecn()),
        EtherType::IPV6 => ipv6::View::new_checked(rest).map(|view| view.ecn()),
        _ => return Codepoint::NotCapable,
    };
    ecn.map_or(Codepoint::NotCapable, Codepoint::of_octet)
}

/// Marks the packet in a frame as one that met congestion, if it is of IP and may be marked; gives whether it was.
pub fn mark(frame: &mut [u8]) -> bool {
    let Ok((ethernet::Repr { ether_type, .. }, rest)) = ethernet::Repr::parse(frame) else {
        return false;
    };
    let mark = match ether_type {
        EtherType::IPV4 if ipv4::View::new_checked(rest).is_ok() => ipv4::mark,
        EtherType::IPV6 if ipv6::View::new_checked(rest).is_ok() => ipv6::mark,
        _ => return false,
    };
    mark(&mut frame[ethernet::HEADER_LEN..])
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

#[cfg(test)]
mod tests {
    use super::{codepoint, mark};
    use wire::checksum::{Sum, checksum};
    use wire::ecn::Codepoint;

    /// A frame with an IPv4 header of 20 octets (RFC 791 section 3.1) with this type of service.
    fn ipv4(service: u8) -> Vec<u8> {
        let mut frame = vec![0; 12];
        frame.extend([0x08, 0x00, 0x45, service, 0, 28, 0, 1, 0, 0, 64, 17, 0, 0]);
        frame.extend([198, 18, 0, 1, 198, 18, 0, 2, 0, 7, 0, 7, 0, 8, 0, 0]);
        let sum = checksum(&frame[14..34]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        frame
    }

    #[test]
    fn a_packet_that_may_be_marked_is_and_its_checksum_stays_right() {
        for (service, marks) in [(0b00, false), (0b01, true), (0b10, true), (0b11, false)] {
            let mut frame = ipv4(0xb8 | service);
            assert_eq!(codepoint(&frame), Codepoint::of_octet(service));
            assert_eq!(mark(&mut frame), marks, "{service:02b}");
            assert_eq!(frame[15], if marks { 0xbb } else { 0xb8 | service });
            assert_eq!(Sum::ZERO.bytes(&frame[14..34]).folded(), 0xffff, "{service:02b}");
        }
    }

    #[test]
    fn so_is_one_of_ipv6_and_no_other_frame() {
        let mut frame = vec![0; 12];
        frame.extend([0x86, 0xdd, 0x6b, 0x8f, 0xff, 0xff]);
        frame.resize(14 + 40, 0);
        assert!(!mark(&mut frame.clone()[..40]), "cut off");
        // Traffic class 0xb8: nothing of it may be marked.
        assert!(!mark(&mut frame));
        frame[15] |= 0b10 << 4;
        assert_eq!(codepoint(&frame), Codepoint::Capable);
        assert!(mark(&mut frame));
        assert_eq!(frame[14..18], [0x6b, 0xbf, 0xff, 0xff]);
        frame[12..14].copy_from_slice(&[0x08, 0x06]);
        assert!(!mark(&mut frame) && !mark(&mut []));
    }
}
