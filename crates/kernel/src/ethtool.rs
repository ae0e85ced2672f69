//! What an interface's driver is and does by itself, by the ethtool ioctl: it works in every kernel this
//! project supports and needs one socket of any kind in the interface's namespace. Numbers and layouts are
//! those of linux/ethtool.h.

#![allow(unsafe_code)]

use crate::error::{KernelError, Result};
use crate::socket;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, OwnedFd};

const SIOCETHTOOL: libc::Ioctl = 0x8946;
const GET_DRIVER: u32 = 0x03;
const GET_STRINGS: u32 = 0x1b;
const GET_STATISTICS: u32 = 0x1d;
const GET_STRING_COUNTS: u32 = 0x37;
const GET_FEATURES: u32 = 0x3a;
const GET_TS_INFO: u32 = 0x41;
const SET_FEATURES: u32 = 0x3b;
const GET_CHANNELS: u32 = 0x3c;
const GET_LINK: u32 = 0x4c;
const GET_LINK_DETECTED: u32 = 0x0a;
/// include/uapi/linux/net_tstamp.h.
const SOF_RX_HARDWARE: u32 = 1 << 2;
const SOF_RX_SOFTWARE: u32 = 1 << 3;
const SOF_SOFTWARE: u32 = 1 << 4;
const SOF_RAW_HARDWARE: u32 = 1 << 6;
const HWTSTAMP_FILTER_ALL: u32 = 1;
const STATISTIC_NAMES: u32 = 1;
const FEATURE_NAMES: u32 = 4;
const NAME_BYTES: usize = 32;
/// Room for statistics that a driver gets between two questions (queues added meanwhile).
const SPARE_STATISTICS: usize = 1024;

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

/// Who may stamp arrivals of an interface, as `ethtool -T` shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stamping {
    /// The kernel, when the driver hands a frame over.
    pub software: bool,
    /// The card: every frame. Cards that stamp frames of PTP only are of no use here.
    pub hardware: bool,
    /// The number of its clock, `/dev/ptpN`.
    pub clock: Option<u32>,
}

impl Stamping {
    /// Of `struct ethtool_ts_info` (include/uapi/linux/ethtool.h), after the command: what SO_TIMESTAMPING may ask for,
    /// the clock, what may be sent with a stamp and three words of no use, and the filters of arrivals.
    fn of(words: &[u32; 10]) -> Self {
        let [so_timestamping, clock, _, _, _, _, filters, ..] = *words;
        let has = |bit: u32| so_timestamping & bit != 0;
        let stamps_all = filters & (1 << HWTSTAMP_FILTER_ALL) != 0;
        Stamping {
            software: has(SOF_RX_SOFTWARE) && has(SOF_SOFTWARE),
            hardware: has(SOF_RX_HARDWARE) && has(SOF_RAW_HARDWARE) && stamps_all,
            clock: (clock as i32 >= 0).then_some(clock),
        }
    }
}

/// Asks an interface's driver, in the namespace in which it was opened.
#[derive(Debug)]
pub struct Ethtool {
    socket: OwnedFd,
    interface: String,
}

impl Ethtool {
    /// Opens a way to ask about an interface of the calling thread's namespace.
    pub fn open(interface: &str) -> Result<Self> {
        let socket = socket::open(libc::AF_INET, libc::SOCK_DGRAM, 0);
        let socket = socket.map_err(|e| KernelError::system("open an ethtool socket", e))?;
        Ok(Ethtool { socket, interface: interface.into() })
    }

    /// Every feature by the kernel's name (`ethtool -k` prints some under older names).
    pub fn features(&self) -> Result<BTreeMap<String, Feature>> {
        let doing = || format!("read the features of {}", self.interface);
        let read = || -> io::Result<BTreeMap<String, Feature>> {
            let names = self.names(FEATURE_NAMES)?;
            let blocks = names.len().div_ceil(32);
            // Of each 32 features: available, requested, active, never changed.
            let mut words = vec![0u32; 2 + 4 * blocks];
            (words[0], words[1]) = (GET_FEATURES, blocks as u32);
            self.ioctl(&mut words)?;
            let bit = |i: usize, word: usize| words[2 + 4 * (i / 32) + word] >> (i % 32) & 1 == 1;
            let feature = |i: usize| Feature { on: bit(i, 2), switchable: bit(i, 0) && !bit(i, 3) };
            let named = names.into_iter().enumerate().map(|(i, name)| (name, feature(i)));
            Ok(named.filter(|(name, _)| !name.is_empty()).collect())
        };
        read().map_err(|e| KernelError::system(doing(), e))
    }

    /// Switches features by name. Those the interface does not have, or cannot switch, stay as they
    /// are: read them back where that matters.
    pub fn set_features(&self, names: &[&str], on: bool) -> Result<()> {
        let doing = || format!("switch {} of {}", names.join(", "), self.interface);
        let write = || -> io::Result<()> {
            let known = self.names(FEATURE_NAMES)?;
            let blocks = known.len().div_ceil(32);
            // Of each 32 features: which are meant, and their wanted state.
            let mut words = vec![0u32; 2 + 2 * blocks];
            (words[0], words[1]) = (SET_FEATURES, blocks as u32);
            for (i, _) in known.iter().enumerate().filter(|(_, k)| names.contains(&k.as_str())) {
                let block = 2 + 2 * (i / 32);
                words[block] |= 1 << (i % 32);
                words[block + 1] |= u32::from(on) << (i % 32);
            }
            self.ioctl(&mut words)
        };
        write().map_err(|e| KernelError::system(doing(), e))
    }

    /// Name of the driver, such as `veth` or `ixgbe`; empty if it does not say.
    pub fn driver(&self) -> String {
        self.driver_texts().map_or(String::new(), |texts| text(&texts[..NAME_BYTES]))
    }

    /// Bus address, of hardware.
    pub fn bus_address(&self) -> Option<String> {
        let address = text(&self.driver_texts().ok()?[3 * NAME_BYTES..4 * NAME_BYTES]);
        (!address.is_empty()).then_some(address)
    }

    /// Driver, version, firmware version, bus address, 32 octets each; then 64 of no interest.
    fn driver_texts(&self) -> io::Result<Vec<u8>> {
        let mut words = [0; 49];
        words[0] = GET_DRIVER;
        self.ioctl(&mut words)?;
        Ok(octets(&words[1..]))
    }

    /// Whether the link is up; `None` if the driver does not say.
    pub fn link_detected(&self) -> Option<bool> {
        let mut words = [GET_LINK_DETECTED, 0];
        self.ioctl(&mut words).ok().map(|()| words[1] != 0)
    }

    /// Rate of the medium in Mb/s; `None` where the driver has none to tell.
    pub fn speed_mbps(&self) -> Option<u32> {
        // The first call tells how many words the link mode masks have, the second the rest.
        let mut words = [0; 12 + 3 * 127];
        words[0] = GET_LINK;
        self.ioctl(&mut words).ok()?;
        let mask_words = octets(&words[2..5])[7] as i8;
        words.fill(0);
        words[0] = GET_LINK;
        words[3] = u32::from_ne_bytes([0, 0, 0, mask_words.unsigned_abs()]);
        self.ioctl(&mut words).ok()?;
        Some(words[1]).filter(|&mbps| mbps > 0 && mbps != u32::MAX)
    }

    /// Who may stamp its arrivals.
    pub fn stamping(&self) -> io::Result<Stamping> {
        let mut words = [0; 11];
        words[0] = GET_TS_INFO;
        self.ioctl(&mut words)?;
        let [_, rest @ ..] = words;
        Ok(Stamping::of(&rest))
    }

    /// Numbers of queues.
    pub fn channels(&self) -> io::Result<Channels> {
        // The four maxima, then the four current numbers: rx, tx, other, combined.
        let mut words = [0; 9];
        words[0] = GET_CHANNELS;
        self.ioctl(&mut words)?;
        Ok(Channels { receive: words[5], transmit: words[6], combined: words[8] })
    }

    /// How many receive queues are in use.
    pub fn receive_queues(&self) -> u32 {
        self.channels().map_or(1, |queues| (queues.receive + queues.combined).max(1))
    }

    /// How many transmit queues are in use.
    pub fn transmit_queues(&self) -> u32 {
        self.channels().map_or(1, |queues| (queues.transmit + queues.combined).max(1))
    }

    /// The driver's own counters by name; none where it has none.
    pub fn statistics(&self) -> Vec<(String, u64)> {
        let names = self.names(STATISTIC_NAMES).unwrap_or_default();
        // Command and count, then values of two words each.
        let mut words = vec![0; 2 + 2 * (names.len() + SPARE_STATISTICS)];
        (words[0], words[1]) = (GET_STATISTICS, names.len() as u32);
        if names.is_empty() || self.ioctl(&mut words).is_err() {
            return vec![];
        }
        let value = |octets: &[u8]| u64::from_ne_bytes(octets.try_into().expect("eight octets"));
        let values = octets(&words[2..]);
        names.into_iter().zip(values.chunks_exact(8).map(value)).collect()
    }

    /// The names of a set.
    fn names(&self, set: u32) -> io::Result<Vec<String>> {
        // command, reserved, mask of the sets asked for (64 bits), a count for each.
        let mut counts = [GET_STRING_COUNTS, 0, 0, 0, 0];
        let mask = (1u64 << set).to_ne_bytes();
        counts[2] = u32::from_ne_bytes([mask[0], mask[1], mask[2], mask[3]]);
        counts[3] = u32::from_ne_bytes([mask[4], mask[5], mask[6], mask[7]]);
        self.ioctl(&mut counts)?;
        let count = counts[4] as usize;
        // Statistics may become more until the kernel answers; it writes as many as there are then.
        let mut words = vec![0; 3 + (count + SPARE_STATISTICS) * NAME_BYTES / 4];
        (words[0], words[1], words[2]) = (GET_STRINGS, set, counts[4]);
        self.ioctl(&mut words)?;
        Ok(octets(&words[3..]).chunks(NAME_BYTES).take(count).map(text).collect())
    }

    /// One SIOCETHTOOL. `words` is the request's own structure, which starts with the command and
    /// is as long as the kernel will write.
    fn ioctl(&self, words: &mut [u32]) -> io::Result<()> {
        // SAFETY: ifreq is plain data for which all zeroes is a value.
        let mut request: libc::ifreq = unsafe { mem::zeroed() };
        if self.interface.len() >= request.ifr_name.len() {
            return Err(io::Error::from_raw_os_error(libc::ENODEV));
        }
        for (to, from) in request.ifr_name.iter_mut().zip(self.interface.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
        // SAFETY: the name is terminated (shorter than its zeroed array). `words` is live and
        // exclusively ours, and every caller above makes it as long as its command's structure
        // with the counts it carries, which is all the kernel reads and writes.
        let result = unsafe { libc::ioctl(self.socket.as_raw_fd(), SIOCETHTOOL, &mut request) };
        socket::check(result).map(drop)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What drivers answer: veth; one whose card stamps every frame (filter 1); one whose card stamps frames of PTP only
    /// (filter 4).
    #[test]
    fn a_card_that_stamps_every_frame_is_told_from_others() {
        let of = |so_timestamping, clock, filters| {
            Stamping::of(&[so_timestamping, clock, 0, 0, 0, 0, filters, 0, 0, 0])
        };
        let none = u32::MAX;
        let software = Stamping { software: true, hardware: false, clock: None };
        assert_eq!(of(0b1_1010, none, 0), Stamping { software: true, ..software });
        let every = Stamping { software: true, hardware: true, clock: Some(3) };
        assert_eq!(of(0b101_1111, 3, 0b11), every);
        let of_ptp = Stamping { hardware: false, clock: Some(0), ..software };
        assert_eq!(of(0b101_1111, 0, 0b1_0001), of_ptp);
        assert_eq!(of(0, none, 0), Stamping::default());
    }
}
