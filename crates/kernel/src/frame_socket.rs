//! A packet socket for single frames beside whatever else an interface carries: those that a filter lets through, as
//! they were on the wire, with what the kernel knows of a checksum that is not there yet.

#![allow(unsafe_code)]

use crate::socket;
use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

/// linux/if_ether.h, linux/if_packet.h.
const ETH_P_ALL: u16 = 3;
const PACKET_AUXDATA: libc::c_int = 8;
const PACKET_VNET_HDR: libc::c_int = 15;
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;
const TP_STATUS_VLAN_VALID: u32 = 1 << 4;
const TP_STATUS_VLAN_TPID_VALID: u32 = 1 << 6;
/// Addresses before a tag, and a tag.
const ADDRESSES: usize = 12;
const TAG: usize = 4;

/// `struct tpacket_auxdata` of linux/if_packet.h.
#[repr(C)]
#[derive(Clone, Copy)]
struct Auxdata {
    status: u32,
    len: u32,
    snaplen: u32,
    mac: u16,
    net: u16,
    vlan_tci: u16,
    vlan_tpid: u16,
}

/// Room for the one control message that is asked for, aligned as control messages are.
#[repr(C, align(8))]
struct Control([u8; 64]);

/// Puts back the VLAN tag that the kernel takes off a frame before packet sockets see it. The frame stands in `buffer`
/// from its fifth byte on and has `len` bytes; gives the part of the buffer that it fills then.
fn put_back(buffer: &mut [u8], len: usize, tag: Option<(u16, u16)>) -> &mut [u8] {
    match tag {
        Some((tpid, tci)) if len >= ADDRESSES => {
            buffer.copy_within(TAG..TAG + ADDRESSES, 0);
            buffer[ADDRESSES..ADDRESSES + 2].copy_from_slice(&tpid.to_be_bytes());
            buffer[ADDRESSES + 2..ADDRESSES + TAG].copy_from_slice(&tci.to_be_bytes());
            &mut buffer[..len + TAG]
        }
        _ => &mut buffer[TAG..TAG + len],
    }
}

/// Has a packet socket tell of the tags that the kernel takes off; [`receive_frame`] needs it.
pub fn tell_tags(socket: &OwnedFd) -> io::Result<()> {
    socket::set_option(socket, libc::SOL_PACKET, PACKET_AUXDATA, 1)
}

/// Takes one frame from a packet socket that [tells of tags](tell_tags), with its tags, without waiting. What the
/// socket puts before a frame goes into `before`. `None` where no frame waits.
pub fn receive_frame<'a>(
    socket: &OwnedFd,
    before: &mut [u8],
    buffer: &'a mut [u8],
) -> io::Result<Option<&'a mut [u8]>> {
    let room = buffer.len().saturating_sub(TAG);
    let mut parts = [
        libc::iovec { iov_base: before.as_mut_ptr().cast(), iov_len: before.len() },
        libc::iovec { iov_base: buffer[TAG..].as_mut_ptr().cast(), iov_len: room },
    ];
    let mut control = Control([0; 64]);
    // SAFETY: a msghdr is plain data for which all zeroes is a value.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_iov = parts.as_mut_ptr();
    message.msg_iovlen = parts.len() as _; // its type differs between C libraries
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = control.0.len() as _;
    // SAFETY: every pointer in `message` is to memory that lives across the call and is writable for its length.
    let received = unsafe { libc::recvmsg(socket.as_raw_fd(), &mut message, libc::MSG_DONTWAIT) };
    let Ok(received) = usize::try_from(received) else {
        return match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            error => Err(error),
        };
    };
    let len = received.saturating_sub(before.len());
    Ok(Some(put_back(buffer, len, tag_of(&message))))
}

/// The tag that the kernel has taken off: its own type, and its two bytes.
fn tag_of(message: &libc::msghdr) -> Option<(u16, u16)> {
    // SAFETY: the kernel has filled the control buffer of `message`, which still lives.
    let mut next = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !next.is_null() {
        // SAFETY: not null, hence within the control buffer.
        let header = unsafe { *next };
        if (header.cmsg_level, header.cmsg_type) == (libc::SOL_PACKET, PACKET_AUXDATA) {
            // SAFETY: a message of this type holds an `Auxdata`; it may be unaligned.
            let told = unsafe { libc::CMSG_DATA(next).cast::<Auxdata>().read_unaligned() };
            let tpid = match told.status & TP_STATUS_VLAN_TPID_VALID {
                0 => 0x8100,
                _ => told.vlan_tpid,
            };
            return (told.status & TP_STATUS_VLAN_VALID != 0).then_some((tpid, told.vlan_tci));
        }
        // SAFETY: `next` is from this message.
        next = unsafe { libc::CMSG_NXTHDR(message, next) };
    }
    None
}

/// A value that a frame has at some place, so that a filter lets it through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Has {
    /// One byte.
    Byte(u32, u8),
    /// Two bytes.
    Half(u32, u16),
}

/// A classic BPF program that lets through frames with all values of one of these lists.
fn filter(any: &[Vec<Has>]) -> Vec<libc::sock_filter> {
    const LOAD_HALF: u16 = 0x28;
    const LOAD_BYTE: u16 = 0x30;
    const JUMP_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    let line = |code, jf, k| libc::sock_filter { code, jt: 0, jf, k };
    let mut code = vec![];
    for all in any {
        for (place, has) in all.iter().enumerate() {
            let (load, at, value) = match *has {
                Has::Byte(at, value) => (LOAD_BYTE, at, value.into()),
                Has::Half(at, value) => (LOAD_HALF, at, value.into()),
            };
            // Over the rest of this list and the return behind it.
            let rest = (all.len() - place - 1) * 2 + 1;
            code.extend([line(load, 0, at), line(JUMP_EQUAL, rest as u8, value)]);
        }
        code.push(line(RETURN, 0, u32::MAX));
    }
    code.push(line(RETURN, 0, 0));
    code
}

/// What the kernel says of a frame beside its bytes: `struct virtio_net_hdr` of linux/virtio_net.h.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Offload([u8; 10]);

impl Offload {
    /// Bytes before a frame, at a packet socket and at a TAP.
    pub const LEN: usize = 10;
    const NEEDS_CHECKSUM: u8 = 1;

    /// The frame has lost this many bytes near its beginning, or gained them (negative).
    pub fn moved(&mut self, lost: i32) {
        // hdr_len, and csum_start where a checksum is still to be made: both count from the beginning.
        let places: &[usize] = if self.0[0] & Self::NEEDS_CHECKSUM == 0 { &[2] } else { &[2, 6] };
        for at in places {
            let value = u16::from_ne_bytes([self.0[*at], self.0[at + 1]]);
            if value > 0 {
                let value = (i32::from(value) - lost).clamp(0, i32::from(u16::MAX)) as u16;
                self.0[*at..at + 2].copy_from_slice(&value.to_ne_bytes());
            }
        }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Writes what the kernel is to know of a frame, and the frame, as one message.
pub(crate) fn write_both(fd: RawFd, before: &[u8], frame: &[u8]) -> io::Result<()> {
    let part = |bytes: &[u8]| libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    };
    let parts = [part(before), part(frame)];
    // SAFETY: both parts live across the call, and the kernel only reads them.
    let written = unsafe { libc::writev(fd, parts.as_ptr(), 2) };
    if written < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Waits until one of these descriptors can be read, or `timeout_ms` has passed.
pub fn wait_readable(fds: &[BorrowedFd<'_>], timeout_ms: i32) -> io::Result<()> {
    let entry =
        |fd: &BorrowedFd<'_>| libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let mut entries: Vec<libc::pollfd> = fds.iter().map(entry).collect();
    // SAFETY: `entries` is valid for its length.
    let polled = unsafe { libc::poll(entries.as_mut_ptr(), entries.len() as _, timeout_ms) };
    match socket::check(polled) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        _ => Ok(()),
    }
}

/// Sends and receives frames of an interface that a filter lets through. Never blocks.
#[derive(Debug)]
pub struct FrameSocket(OwnedFd);

impl FrameSocket {
    /// On an interface of the calling thread's namespace, for frames with all values of one of these lists. The
    /// kernel takes off the outermost tag of a frame before a filter sees it.
    pub fn open(index: u32, any: &[Vec<Has>]) -> io::Result<Self> {
        // Protocol 0 hears nothing yet.
        let socket = socket::open(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_NONBLOCK, 0)?;
        socket::attach_filter(socket.as_raw_fd(), &mut filter(any))?;
        tell_tags(&socket)?;
        socket::set_option(&socket, libc::SOL_PACKET, PACKET_VNET_HDR, 1)?;
        socket::set_option(&socket, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)?;
        socket::bind_packet(socket.as_raw_fd(), index, ETH_P_ALL)?;
        Ok(FrameSocket(socket))
    }

    /// The next frame that waits, with its tags, if one does.
    pub fn receive<'a>(&self, buffer: &'a mut [u8]) -> io::Result<Option<(Offload, &'a mut [u8])>> {
        let mut offload = Offload::default();
        let before = buffer.as_ptr() as usize + TAG;
        let Some(frame) = receive_frame(&self.0, offload.bytes_mut(), buffer)? else {
            return Ok(None);
        };
        if (frame.as_ptr() as usize) < before {
            offload.moved(-(TAG as i32));
        }
        Ok(Some((offload, frame)))
    }

    /// Sends a frame, given without FCS.
    pub fn send(&self, offload: &Offload, frame: &[u8]) -> io::Result<()> {
        write_both(self.0.as_raw_fd(), offload.bytes(), frame)
    }
}

impl AsFd for FrameSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_that_was_taken_off_is_put_back_behind_the_addresses() {
        let mut buffer: Vec<u8> = (0..40).collect();
        let frame = put_back(&mut buffer, 20, Some((0x88a8, 0x2005)));
        let expected: Vec<u8> = (4..16).chain([0x88, 0xa8, 0x20, 0x05]).chain(16..24).collect();
        assert_eq!(frame, &expected[..]);
        let mut buffer: Vec<u8> = (0..40).collect();
        assert_eq!(put_back(&mut buffer, 2, None), [4, 5]);
        assert_eq!(put_back(&mut buffer, 2, Some((0x8100, 1))), [4, 5], "too short for addresses");
    }

    #[test]
    fn where_a_checksum_begins_moves_with_the_frame() {
        // NEEDS_CSUM, no GSO, hdr_len 54, gso_size 0, csum_start 34, csum_offset 16.
        let halves = |bytes: [u16; 4]| -> Vec<u8> {
            [1u8, 0].into_iter().chain(bytes.into_iter().flat_map(u16::to_ne_bytes)).collect()
        };
        let mut offload = Offload(halves([54, 0, 34, 16]).try_into().unwrap());
        offload.moved(-4);
        assert_eq!(offload.bytes(), halves([58, 0, 38, 16]));
        offload.moved(8);
        assert_eq!(offload.bytes(), halves([50, 0, 30, 16]));
        let mut none = Offload::default();
        none.moved(4);
        assert_eq!(none, Offload::default());
    }

    /// Runs a program over a frame as the kernel does: what it cannot load, it does not let through.
    fn passes(code: &[libc::sock_filter], frame: &[u8]) -> bool {
        let (mut at, mut value) = (0, 0u32);
        loop {
            let line = &code[at];
            let place = line.k as usize;
            at += 1;
            match line.code {
                0x28 if place + 2 <= frame.len() => {
                    value = u16::from_be_bytes([frame[place], frame[place + 1]]).into();
                }
                0x30 if place < frame.len() => value = frame[place].into(),
                0x15 => at += usize::from(if value == line.k { line.jt } else { line.jf }),
                0x06 => return line.k > 0,
                _ => return false,
            }
        }
    }

    #[test]
    fn a_filter_lets_through_what_has_all_values_of_a_list() {
        let code = filter(&[
            vec![Has::Half(12, 0x0800), Has::Byte(23, 6), Has::Half(36, 179)],
            vec![Has::Half(12, 0x0806)],
        ]);
        let mut frame = [0; 60];
        assert!(!passes(&code, &frame));
        frame[12..14].copy_from_slice(&[8, 6]);
        assert!(passes(&code, &frame) && passes(&code, &frame[..14]));
        frame[13] = 0;
        assert!(!passes(&code, &frame));
        (frame[23], frame[37]) = (6, 179);
        assert!(passes(&code, &frame));
        frame[36] = 1;
        assert!(!passes(&code, &frame));
        assert!(!passes(&filter(&[]), &frame));
    }
}
