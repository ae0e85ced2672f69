//! What an interface's driver is and does by itself, by the ethtool ioctl: it works on every
//! kernel that has AF_XDP and needs only a socket in the interface's namespace.

use crate::sys;
use std::io;
use std::os::fd::OwnedFd;
use trial::TesterError;

/// linux/sockios.h.
const SIOCETHTOOL: libc::Ioctl = 0x8946;
/// linux/ethtool.h.
const ETHTOOL_GDRVINFO: u32 = 0x03;
const ETHTOOL_GLINK: u32 = 0x0a;
const ETHTOOL_GCHANNELS: u32 = 0x3c;
const ETHTOOL_GSTRINGS: u32 = 0x1b;
const ETHTOOL_GSTATS: u32 = 0x1d;
const ETHTOOL_GSET: u32 = 0x01;
const ETHTOOL_GFLAGS: u32 = 0x25;
const ETHTOOL_SFLAGS: u32 = 0x26;
const FLAG_LARGE_RECEIVE: u32 = 1 << 15;
const FLAG_RECEIVE_VLAN: u32 = 1 << 8;
const FLAG_TRANSMIT_VLAN: u32 = 1 << 7;
const SPEED_UNKNOWN: u32 = u32::MAX;
/// Set of names that belong to the statistics.
const STATISTICS_SET: u32 = 1;
const NAME_BYTES: usize = 32;
/// Room for statistics that a driver gets between two questions (queues added meanwhile).
const SPARE_STATISTICS: usize = 1024;

/// An offload with a switch of its own; each before what it depends on.
const OFFLOADS: [(&str, u32); 6] = [
    ("generic-receive-offload", 0x2b),
    ("tcp-segmentation-offload", 0x1e),
    ("generic-segmentation-offload", 0x23),
    ("scatter-gather", 0x18),
    ("tx-checksumming", 0x16),
    ("rx-checksumming", 0x14),
];
/// Offloads that are bits of one word.
const FLAG_OFFLOADS: [(&str, u32); 3] = [
    ("large-receive-offload", FLAG_LARGE_RECEIVE),
    ("rx-vlan-offload", FLAG_RECEIVE_VLAN),
    ("tx-vlan-offload", FLAG_TRANSMIT_VLAN),
];

/// Asks an interface's driver, in the namespace in which it was opened.
#[derive(Debug)]
pub struct Ethtool {
    socket: OwnedFd,
    interface: String,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Value {
    command: u32,
    data: u32,
}

/// struct ethtool_drvinfo.
#[repr(C)]
#[derive(Clone, Copy)]
struct DriverInfo {
    command: u32,
    driver: [u8; 32],
    others: [u8; 144],
    statistics: u32,
    rest: [u8; 12],
}

/// struct ethtool_channels.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Channels {
    command: u32,
    max: [u32; 4],
    receive: u32,
    transmit: u32,
    other: u32,
    combined: u32,
}

/// struct ethtool_cmd, as far as it is read here.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Settings {
    command: u32,
    supported: u32,
    advertising: u32,
    speed: u16,
    others: [u8; 14],
    speed_high: u16,
    more: [u8; 14],
}

impl Ethtool {
    /// Opens a way to ask about `interface`.
    pub fn open(interface: &str) -> Result<Self, TesterError> {
        let socket = sys::socket(libc::AF_INET, libc::SOCK_DGRAM, 0);
        let socket = socket.map_err(|error| sys::port_error(interface, "ask ethtool", &error))?;
        Ok(Ethtool { socket, interface: interface.into() })
    }

    /// Name of the driver, such as `veth` or `ixgbe`; empty if it does not say.
    pub fn driver(&self) -> String {
        self.driver_info().map_or(String::new(), |info| text(&info.driver))
    }

    fn driver_info(&self) -> Option<DriverInfo> {
        let mut info = DriverInfo {
            command: ETHTOOL_GDRVINFO,
            driver: [0; 32],
            others: [0; 144],
            statistics: 0,
            rest: [0; 12],
        };
        self.ask(&mut info).ok().map(|()| info)
    }

    /// Whether the link is up; `None` if the driver does not say.
    pub fn link_detected(&self) -> Option<bool> {
        let mut value = Value { command: ETHTOOL_GLINK, data: 0 };
        self.ask(&mut value).ok().map(|()| value.data != 0)
    }

    /// Rate of the medium in Mb/s; `None` where the driver has none to tell.
    pub fn speed_mbps(&self) -> Option<u32> {
        let mut settings = Settings { command: ETHTOOL_GSET, ..Default::default() };
        self.ask(&mut settings).ok()?;
        let speed = u32::from(settings.speed_high) << 16 | u32::from(settings.speed);
        (speed != 0 && speed != SPEED_UNKNOWN && settings.speed != u16::MAX).then_some(speed)
    }

    /// How many receive queues are in use.
    pub fn receive_queues(&self) -> u32 {
        let mut channels = Channels { command: ETHTOOL_GCHANNELS, ..Default::default() };
        match self.ask(&mut channels) {
            Ok(()) => (channels.receive + channels.combined).max(1),
            Err(_) => 1,
        }
    }

    /// The driver's own counters by name; none where it has none.
    pub fn statistics(&self) -> Vec<(String, u64)> {
        let names = self.statistic_names();
        // struct ethtool_stats: command and count in one word, then the values.
        let mut words = vec![0u64; 1 + names.len() + SPARE_STATISTICS];
        words[0] = u64::from(ETHTOOL_GSTATS) | (names.len() as u64) << 32;
        // SAFETY: the kernel writes the count and the values of all the driver's statistics,
        // which are as many as it named a moment ago, with room to spare.
        match unsafe { self.ask_at(words.as_mut_ptr().cast()) } {
            Ok(()) => names.into_iter().zip(words[1..].iter().copied()).collect(),
            Err(_) => vec![],
        }
    }

    fn statistic_names(&self) -> Vec<String> {
        let Some(info) = self.driver_info() else { return vec![] };
        // struct ethtool_gstrings: command, set and count, then the names.
        let count = info.statistics as usize;
        let mut bytes = vec![0u8; 12 + (count + SPARE_STATISTICS) * NAME_BYTES];
        bytes[..4].copy_from_slice(&ETHTOOL_GSTRINGS.to_ne_bytes());
        bytes[4..8].copy_from_slice(&STATISTICS_SET.to_ne_bytes());
        bytes[8..12].copy_from_slice(&info.statistics.to_ne_bytes());
        // SAFETY: the kernel writes the count and the names, which there is room for to spare.
        match unsafe { self.ask_at(bytes.as_mut_ptr().cast()) } {
            Ok(()) => bytes[12..].chunks_exact(NAME_BYTES).take(count).map(text).collect(),
            Err(_) => vec![],
        }
    }

    /// Names of the offloads that are on.
    pub fn offloads_on(&self) -> Vec<String> {
        let on = OFFLOADS.iter().filter(|(_, get)| self.is_on(*get));
        on.map(|(name, _)| (*name).into()).collect()
    }

    /// Whether an offload with a switch of its own is on.
    fn is_on(&self, get: u32) -> bool {
        let mut value = Value { command: get, data: 0 };
        self.ask(&mut value).is_ok() && value.data != 0
    }

    /// Sets such an offload. The command that sets is one above that which gets.
    fn switch(&self, get: u32, on: bool) {
        // Whether it worked is seen by asking again: a driver may agree and do nothing.
        let _ = self.ask(&mut Value { command: get + 1, data: u32::from(on) });
    }

    /// The offloads that are bits of one word, as far as they are on.
    fn flags(&self) -> u32 {
        let mut flags = Value { command: ETHTOOL_GFLAGS, data: 0 };
        if self.ask(&mut flags).is_ok() { flags.data } else { 0 }
    }

    /// One SIOCETHTOOL; `data` is the command's own structure, which begins with the command.
    fn ask<T: Copy>(&self, data: &mut T) -> io::Result<()> {
        // SAFETY: `data` is a live and exclusive reference to the structure that its command makes
        // the kernel read and write.
        unsafe { self.ask_at((&raw mut *data).cast()) }
    }

    /// As [`ask`](Self::ask), for structures whose length is known only at run time.
    ///
    /// # Safety
    /// All that the command at `data` makes the kernel read and write must be ours to.
    unsafe fn ask_at(&self, data: *mut libc::c_char) -> io::Result<()> {
        // SAFETY: ifreq is plain data for which all zeroes is a value.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        if self.interface.len() >= request.ifr_name.len() {
            return Err(io::Error::from_raw_os_error(libc::ENODEV));
        }
        for (to, from) in request.ifr_name.iter_mut().zip(self.interface.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_data = data;
        // SAFETY: the name is terminated (shorter than its zeroed array); for `data` the caller
        // answers.
        let result = unsafe { libc::ioctl(sys::raw(&self.socket), SIOCETHTOOL, &mut request) };
        sys::check(result).map(drop)
    }
}

/// A text that ends at its first zero byte.
fn text(bytes: &[u8]) -> String {
    bytes.iter().take_while(|c| **c > 0).map(|c| char::from(*c)).collect()
}

/// Everything that would merge frames, split them, hide their tags or leave their checksums open,
/// switched off; switched on again when this is dropped.
#[derive(Debug)]
pub struct OffloadsOff {
    ethtool: Ethtool,
    /// Their commands, in the order in which they were switched off.
    switched: Vec<u32>,
    /// Bits of the word of flags that were cleared.
    cleared: u32,
    left_on: Vec<String>,
}

impl OffloadsOff {
    /// Switches them off.
    pub fn new(ethtool: Ethtool) -> Self {
        let on: Vec<_> = OFFLOADS.into_iter().filter(|(_, get)| ethtool.is_on(*get)).collect();
        on.iter().for_each(|(_, get)| ethtool.switch(*get, false));
        let (left, off): (Vec<_>, Vec<_>) =
            on.into_iter().partition(|(_, get)| ethtool.is_on(*get));
        let mut left_on: Vec<String> = left.into_iter().map(|(name, _)| name.into()).collect();
        let mut cleared = 0;
        for (name, bit) in FLAG_OFFLOADS.into_iter().filter(|(_, bit)| ethtool.flags() & bit != 0) {
            let mut wanted = Value { command: ETHTOOL_SFLAGS, data: ethtool.flags() & !bit };
            match ethtool.ask(&mut wanted) {
                Ok(()) => cleared |= bit,
                Err(_) => left_on.push(name.into()),
            }
        }
        let switched = off.into_iter().map(|(_, get)| get).collect();
        OffloadsOff { ethtool, switched, cleared, left_on }
    }

    /// Names of what could not be switched off.
    pub fn left_on(&self) -> &[String] {
        &self.left_on
    }
}

impl Drop for OffloadsOff {
    fn drop(&mut self) {
        // What depends on another comes after it. An interface that is gone needs nothing.
        self.switched.iter().rev().for_each(|get| self.ethtool.switch(*get, true));
        if self.cleared != 0 {
            let data = self.ethtool.flags() | self.cleared;
            let _ = self.ethtool.ask(&mut Value { command: ETHTOOL_SFLAGS, data });
        }
    }
}
