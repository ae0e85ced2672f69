//! The kernel's multicast forwarding table, loaded without a daemon: one socket, one call an entry
//! (linux/mroute.h). It lasts as long as the socket does.

#![allow(unsafe_code, reason = "the kernel's table is set by socket options that no library has")]

use super::MULTICAST_INTERFACES;
use crate::actions::now;
use crate::error::{Result, TestbedError};
use kernel::Namespace;
use std::fmt;
use std::io;
use std::mem;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, OwnedFd};
use units::Duration;

const MRT_INIT: libc::c_int = 200;
const MRT_ADD_VIF: libc::c_int = 202;
const MRT_ADD_MFC: libc::c_int = 204;
/// The interface is given by its number and not by its address.
const VIFF_USE_IFINDEX: u8 = 0x8;

/// struct vifctl.
#[repr(C)]
struct Vif {
    number: u16,
    flags: u8,
    threshold: u8,
    rate_limit: u32,
    interface_index: i32,
    remote: u32,
}

/// struct mfcctl; what the kernel counts is left at zero.
#[repr(C)]
struct Entry {
    source: u32,
    group: u32,
    parent: u16,
    thresholds: [u8; MULTICAST_INTERFACES],
    packets: u32,
    bytes: u32,
    wrong_interface: u32,
    expire: i32,
}

/// The kernel's table of a namespace, as long as this lives.
#[derive(Debug)]
pub(crate) struct Table {
    socket: OwnedFd,
    interfaces: usize,
}

/// Groups that come from one source at one port and leave by the same others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupRange {
    /// Port where they come in, or [`TestbedConfig::tunnel_interface`](crate::TestbedConfig::tunnel_interface).
    pub input: usize,
    /// Who sends to them.
    pub source: Ipv4Addr,
    /// The first of them.
    pub first: Ipv4Addr,
    /// How many.
    pub groups: u32,
    /// Ports by which they leave, or tunnels at them.
    pub outputs: Vec<usize>,
}

/// What was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableLoaded {
    /// Groups.
    pub groups: u32,
    /// Pairs of a group and a port by which it leaves.
    pub copies: u64,
    /// How long it took.
    pub took: Duration,
}

impl Table {
    /// Has the kernel forward between these interfaces, by their numbers.
    pub(crate) fn open(namespace: &Namespace, interfaces: &[u32]) -> Result<Self> {
        if interfaces.len() > MULTICAST_INTERFACES {
            return Err(TestbedError::Configuration(format!(
                "{} ports: the kernel forwards multicast between {MULTICAST_INTERFACES} interfaces at \
                 most",
                interfaces.len()
            )));
        }
        let socket = namespace
            .run(|| kernel::socket::open(libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_IGMP))?;
        let socket =
            socket.map_err(|e| TestbedError::system("open a multicast routing socket", e))?;
        let table = Table { socket, interfaces: interfaces.len() };
        let one: libc::c_int = 1;
        table.set(MRT_INIT, &one, "become the namespace's multicast router")?;
        for (number, index) in interfaces.iter().enumerate() {
            let vif = Vif {
                number: number as u16,
                flags: VIFF_USE_IFINDEX,
                threshold: 1,
                rate_limit: 0,
                interface_index: *index as i32,
                remote: 0,
            };
            table.set(MRT_ADD_VIF, &vif, "forward multicast on an interface")?;
        }
        Ok(table)
    }

    /// Forwards these groups too.
    pub(crate) fn load(&self, ranges: &[GroupRange]) -> Result<TableLoaded> {
        let began = now()?;
        let mut loaded = TableLoaded::default();
        for range in ranges {
            self.load_range(range)?;
            loaded.groups += range.groups;
            loaded.copies += u64::from(range.groups) * range.outputs.len() as u64;
        }
        Ok(TableLoaded { took: now()?.since(began), ..loaded })
    }

    fn load_range(&self, range: &GroupRange) -> Result<()> {
        let ports = range.outputs.iter().chain([&range.input]);
        if let Some(port) = ports.into_iter().find(|port| **port >= self.interfaces) {
            return Err(TestbedError::Configuration(format!(
                "groups of port {port}: the device has ports (and tunnels) 0 to {}",
                self.interfaces - 1
            )));
        }
        let mut thresholds = [0; MULTICAST_INTERFACES];
        range.outputs.iter().for_each(|port| thresholds[*port] = 1);
        for number in 0..range.groups {
            let group = Ipv4Addr::from_bits(range.first.to_bits().wrapping_add(number));
            let entry = Entry {
                source: u32::from_ne_bytes(range.source.octets()),
                group: u32::from_ne_bytes(group.octets()),
                parent: range.input as u16,
                thresholds,
                packets: 0,
                bytes: 0,
                wrong_interface: 0,
                expire: 0,
            };
            self.set(MRT_ADD_MFC, &entry, "add an entry to the multicast forwarding table")?;
        }
        Ok(())
    }

    fn set<T>(&self, option: libc::c_int, value: &T, doing: &str) -> Result<()> {
        let (fd, length) = (self.socket.as_raw_fd(), mem::size_of::<T>() as libc::socklen_t);
        let value: *const T = value;
        // SAFETY: `value` points to a live value of the length given.
        let set = unsafe { libc::setsockopt(fd, libc::IPPROTO_IP, option, value.cast(), length) };
        match set {
            0 => Ok(()),
            _ => Err(TestbedError::system(doing, io::Error::last_os_error())),
        }
    }
}

impl fmt::Display for TableLoaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TableLoaded { groups, copies, took } = self;
        write!(f, "{groups} groups, {copies} pairs of group and output, in {took}")
    }
}
