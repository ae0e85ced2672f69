//! The ethtool requests of this crate, by ioctl: the one place with `unsafe` code.
//!
//! The ioctl works in every kernel this project supports and needs one socket of any kind in the
//! interface's namespace.

#![allow(unsafe_code)]

use crate::error::{Result, TestbedError};
use std::io;
use std::mem;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

/// linux/sockios.h.
const SIOCETHTOOL: libc::c_ulong = 0x8946;

/// An offload that has a switch of its own in the ethtool interface (linux/ethtool.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offload {
    ReceiveChecksum,
    TransmitChecksum,
    ScatterGather,
    TcpSegmentation,
    GenericSegmentation,
    GenericReceive,
}

impl Offload {
    /// In the order in which they can be switched off: each before what depends on it.
    pub const ALL: [Offload; 6] = [
        Offload::GenericReceive,
        Offload::TcpSegmentation,
        Offload::GenericSegmentation,
        Offload::ScatterGather,
        Offload::TransmitChecksum,
        Offload::ReceiveChecksum,
    ];

    /// The name `ethtool -k` prints.
    pub fn name(self) -> &'static str {
        match self {
            Offload::ReceiveChecksum => "rx-checksumming",
            Offload::TransmitChecksum => "tx-checksumming",
            Offload::ScatterGather => "scatter-gather",
            Offload::TcpSegmentation => "tcp-segmentation-offload",
            Offload::GenericSegmentation => "generic-segmentation-offload",
            Offload::GenericReceive => "generic-receive-offload",
        }
    }

    /// ETHTOOL_G*; the matching ETHTOOL_S* is one more.
    fn get_command(self) -> u32 {
        match self {
            Offload::ReceiveChecksum => 0x14,
            Offload::TransmitChecksum => 0x16,
            Offload::ScatterGather => 0x18,
            Offload::TcpSegmentation => 0x1e,
            Offload::GenericSegmentation => 0x23,
            Offload::GenericReceive => 0x2b,
        }
    }
}

/// struct ethtool_value.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// Asks ethtool questions in the namespace of the thread that made it.
pub(crate) struct Ethtool {
    socket: UdpSocket,
}

impl Ethtool {
    #[allow(clippy::disallowed_methods, reason = "no traffic: the ioctl needs some socket")]
    pub fn new() -> Result<Self> {
        let socket = UdpSocket::bind(("0.0.0.0", 0));
        Ok(Ethtool {
            socket: socket.map_err(|e| TestbedError::system("open an ethtool socket", e))?,
        })
    }

    /// Switches an offload.
    pub fn set_offload(&self, interface: &str, offload: Offload, on: bool) -> Result<()> {
        let mut value = Value { command: offload.get_command() + 1, data: u32::from(on) };
        let doing =
            format!("switch {} of {interface} {}", offload.name(), if on { "on" } else { "off" });
        self.ioctl(interface, &mut value).map_err(|e| TestbedError::system(doing, e))
    }

    /// One SIOCETHTOOL. `data` is the request's own structure, which starts with the command.
    fn ioctl<T>(&self, interface: &str, data: &mut T) -> io::Result<()> {
        // SAFETY: ifreq is plain data for which all zeroes is a value.
        let mut request: libc::ifreq = unsafe { mem::zeroed() };
        if interface.len() >= request.ifr_name.len() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "interface name too long"));
        }
        for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_data = std::ptr::from_mut(data).cast();
        // SAFETY: the name is terminated (shorter than its zeroed array), and `data` is a live,
        // exclusive reference to the structure its command makes the kernel read and write.
        let result = unsafe { libc::ioctl(self.socket.as_raw_fd(), SIOCETHTOOL, &mut request) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}
