//! A TAP: an interface whose other end is this process.

#![allow(unsafe_code)]

use crate::frame_socket::{Offload, write_both};
use crate::socket::check;
use std::fs::File;
use std::io::{self, IoSliceMut, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

/// linux/if_tun.h: TUNSETIFF is _IOW('T', 202, int).
const TUNSETIFF: libc::Ioctl = 0x4004_54ca_u32 as libc::Ioctl;
const IFF_TAP: libc::c_short = 0x0002;
const IFF_NO_PI: libc::c_short = 0x1000;
const IFF_VNET_HDR: libc::c_short = 0x4000;

/// The process's end. The interface goes with it.
#[derive(Debug)]
pub struct Tap(File);

impl Tap {
    /// Makes an interface of this name and hardware address in the calling thread's namespace, down.
    pub fn create(name: &str, mac: [u8; 6]) -> io::Result<Self> {
        let mut options = File::options();
        let file = options.read(true).write(true).custom_flags(libc::O_NONBLOCK);
        let file = file.open("/dev/net/tun").map_err(|error| {
            io::Error::new(error.kind(), format!("/dev/net/tun: {error}; `modprobe tun`"))
        })?;
        // SAFETY: an ifreq is plain data for which all zeroes is a value.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        if name.is_empty() || name.len() >= request.ifr_name.len() {
            return Err(io::Error::other(format!("{name:?} is no name of an interface")));
        }
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
        // SAFETY: `request` lives across the call.
        check(unsafe { libc::ioctl(file.as_raw_fd(), TUNSETIFF, &raw mut request) })?;
        // SAFETY: as above.
        let mut address: libc::sockaddr = unsafe { std::mem::zeroed() };
        address.sa_family = libc::ARPHRD_ETHER;
        for (to, from) in address.sa_data.iter_mut().zip(mac) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_hwaddr = address;
        // SAFETY: as above.
        check(unsafe {
            libc::ioctl(file.as_raw_fd(), libc::SIOCSIFHWADDR as libc::Ioctl, &raw mut request)
        })?;
        Ok(Tap(file))
    }

    /// The next frame that the interface sends, if one waits.
    pub fn receive<'a>(&self, buffer: &'a mut [u8]) -> io::Result<Option<(Offload, &'a mut [u8])>> {
        let mut offload = Offload::default();
        let mut parts = [IoSliceMut::new(offload.bytes_mut()), IoSliceMut::new(buffer)];
        match (&self.0).read_vectored(&mut parts) {
            Ok(read) => Ok(Some((offload, &mut buffer[..read.saturating_sub(Offload::LEN)]))),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Has the interface receive a frame.
    pub fn send(&self, offload: &Offload, frame: &[u8]) -> io::Result<()> {
        write_both(self.0.as_raw_fd(), offload.bytes(), frame)
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
