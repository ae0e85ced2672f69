//! The ethtool requests of this crate, by ioctl: the one place with `unsafe` code.
//!
//! The ioctl works in every kernel this project supports and needs one socket of any kind in the
//! interface's namespace. Numbers and layouts are those of linux/ethtool.h.

#![allow(unsafe_code)]

use crate::error::{Result, TestbedError};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::mem;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

const SIOCETHTOOL: libc::c_ulong = 0x8946;
const GET_DRIVER: u32 = 0x03;
const GET_STRINGS: u32 = 0x1b;
const GET_STRING_COUNTS: u32 = 0x37;
const GET_FEATURES: u32 = 0x3a;
const SET_FEATURES: u32 = 0x3b;
const GET_CHANNELS: u32 = 0x3c;
const GET_LINK: u32 = 0x4c;
const FEATURE_NAMES: u32 = 4;
const NAME_BYTES: usize = 32;

/// Features that merge, split, strip or leave unfinished the frames that were on the wire: off where
/// frames are to be what they were.
pub const REWRITING_FEATURES: [&str; 19] = [
    "rx-gro",
    "rx-gro-hw",
    "rx-gro-list",
    "rx-udp-gro-forwarding",
    "rx-lro",
    "rx-checksum",
    "rx-vlan-hw-parse",
    "rx-vlan-stag-hw-parse",
    "tx-checksum-ipv4",
    "tx-checksum-ipv6",
    "tx-checksum-ip-generic",
    "tx-checksum-sctp",
    "tx-generic-segmentation",
    "tx-tcp-segmentation",
    "tx-tcp6-segmentation",
    "tx-tcp-ecn-segmentation",
    "tx-udp-segmentation",
    "tx-vlan-hw-insert",
    "tx-vlan-stag-hw-insert",
];

/// A feature of an interface as the kernel tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Feature {
    /// Whether it is on.
    pub on: bool,
    /// Whether it can be switched.
    pub switchable: bool,
}

/// Queues of an interface: how many there are now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Channels {
    /// That only receive.
    pub receive: u32,
    /// That only transmit.
    pub transmit: u32,
    /// That do both.
    pub combined: u32,
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

    /// Every feature by the kernel's name (`ethtool -k` prints some under older names).
    pub fn features(&self, interface: &str) -> Result<BTreeMap<String, Feature>> {
        let doing = || format!("read the features of {interface}");
        let read = || -> io::Result<BTreeMap<String, Feature>> {
            let names = self.feature_names(interface)?;
            let blocks = names.len().div_ceil(32);
            // Of each 32 features: available, requested, active, never changed.
            let mut words = vec![0u32; 2 + 4 * blocks];
            (words[0], words[1]) = (GET_FEATURES, blocks as u32);
            self.ioctl(interface, &mut words)?;
            let bit = |i: usize, word: usize| words[2 + 4 * (i / 32) + word] >> (i % 32) & 1 == 1;
            let feature = |i: usize| Feature { on: bit(i, 2), switchable: bit(i, 0) && !bit(i, 3) };
            let named = names.into_iter().enumerate().map(|(i, name)| (name, feature(i)));
            Ok(named.filter(|(name, _)| !name.is_empty()).collect())
        };
        read().map_err(|e| TestbedError::system(doing(), e))
    }

    /// Switches features by name. Those the interface does not have, or cannot switch, stay as they
    /// are: read them back where that matters.
    pub fn set_features(&self, interface: &str, names: &[&str], on: bool) -> Result<()> {
        let doing = || format!("switch {} of {interface}", names.join(", "));
        let write = || -> io::Result<()> {
            let known = self.feature_names(interface)?;
            let blocks = known.len().div_ceil(32);
            // Of each 32 features: which are meant, and their wanted state.
            let mut words = vec![0u32; 2 + 2 * blocks];
            (words[0], words[1]) = (SET_FEATURES, blocks as u32);
            for (i, _) in known.iter().enumerate().filter(|(_, k)| names.contains(&k.as_str())) {
                let block = 2 + 2 * (i / 32);
                words[block] |= 1 << (i % 32);
                words[block + 1] |= u32::from(on) << (i % 32);
            }
            self.ioctl(interface, &mut words)
        };
        write().map_err(|e| TestbedError::system(doing(), e))
    }

    /// Name of the driver, and of the bus address if it has one.
    pub fn driver(&self, interface: &str) -> io::Result<(String, Option<String>)> {
        // driver, version, firmware version, bus address, 32 octets each; then 64 of no interest.
        let mut words = vec![0u32; 49];
        words[0] = GET_DRIVER;
        self.ioctl(interface, &mut words)?;
        let bytes = octets(&words[1..]);
        let bus = text(&bytes[96..128]);
        Ok((text(&bytes[..NAME_BYTES]), (!bus.is_empty()).then_some(bus)))
    }

    /// Speed of the link in Mbit/s, where the interface knows one.
    pub fn speed_mbps(&self, interface: &str) -> io::Result<Option<u32>> {
        // The first call tells how many words the link mode masks have, the second the rest.
        let mut words = vec![0u32; 12 + 3 * 127];
        words[0] = GET_LINK;
        self.ioctl(interface, &mut words)?;
        let mask_words = octets(&words[2..5])[7] as i8;
        words.fill(0);
        words[0] = GET_LINK;
        words[3] = u32::from_ne_bytes([0, 0, 0, mask_words.unsigned_abs()]);
        self.ioctl(interface, &mut words)?;
        Ok(Some(words[1]).filter(|&mbps| mbps > 0 && mbps != u32::MAX))
    }

    /// Numbers of queues.
    pub fn channels(&self, interface: &str) -> io::Result<Channels> {
        // The four maxima, then the four current numbers: rx, tx, other, combined.
        let mut words = vec![0u32; 9];
        words[0] = GET_CHANNELS;
        self.ioctl(interface, &mut words)?;
        Ok(Channels { receive: words[5], transmit: words[6], combined: words[8] })
    }

    fn feature_names(&self, interface: &str) -> io::Result<Vec<String>> {
        // command, reserved, mask of the sets asked for (64 bits), a count for each.
        let mut counts = vec![0u32; 5];
        counts[0] = GET_STRING_COUNTS;
        let mask = (1u64 << FEATURE_NAMES).to_ne_bytes();
        counts[2] = u32::from_ne_bytes([mask[0], mask[1], mask[2], mask[3]]);
        counts[3] = u32::from_ne_bytes([mask[4], mask[5], mask[6], mask[7]]);
        self.ioctl(interface, &mut counts)?;
        let count = counts[4] as usize;
        let mut words = vec![0u32; 3 + count * NAME_BYTES / 4];
        (words[0], words[1], words[2]) = (GET_STRINGS, FEATURE_NAMES, counts[4]);
        self.ioctl(interface, &mut words)?;
        Ok(octets(&words[3..]).chunks(NAME_BYTES).map(text).collect())
    }

    /// One SIOCETHTOOL. `words` is the request's own structure, which starts with the command and
    /// is as long as the kernel will write.
    fn ioctl(&self, interface: &str, words: &mut [u32]) -> io::Result<()> {
        // SAFETY: ifreq is plain data for which all zeroes is a value.
        let mut request: libc::ifreq = unsafe { mem::zeroed() };
        if interface.len() >= request.ifr_name.len() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "interface name too long"));
        }
        for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
        // SAFETY: the name is terminated (shorter than its zeroed array). `words` is live and
        // exclusively ours, and every caller above makes it as long as its command's structure
        // with the counts it carries, which is all the kernel reads and writes.
        let result = unsafe { libc::ioctl(self.socket.as_raw_fd(), SIOCETHTOOL, &mut request) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

fn octets(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// A zero-terminated name.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}
