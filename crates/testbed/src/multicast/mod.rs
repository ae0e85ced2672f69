//! Multicast forwarding by the kernel: which groups go where is decided by FRR's pimd, which hears the
//! tester's hosts, or stands in a table that is loaded.

#![allow(clippy::disallowed_methods, reason = "a daemon takes real time to start")]

mod daemon;
mod table;
pub(crate) mod tunnels;

pub(crate) use daemon::Daemon;
pub(crate) use table::Table;
pub use table::{GroupRange, TableLoaded};

use crate::error::Result;
use kernel::read_file;
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;

/// Interfaces between which the kernel forwards multicast at most (MAXVIFS of linux/mroute.h).
pub const MULTICAST_INTERFACES: usize = 32;

/// Who decides which groups go where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MulticastRouting {
    /// FRR's pimd, by what hosts say in IGMP. It keeps one of the kernel's interfaces for itself.
    #[default]
    Daemon,
    /// A table that [`Device::load_groups`](crate::Device::load_groups) fills.
    Table,
}

impl MulticastRouting {
    /// Ports of a device at most.
    pub const fn ports_max(self) -> usize {
        match self {
            MulticastRouting::Daemon => MULTICAST_INTERFACES - 1,
            MulticastRouting::Table => MULTICAST_INTERFACES,
        }
    }
}

/// What the kernel counted of one group from one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupCounters {
    /// The group.
    pub group: Ipv4Addr,
    /// The source.
    pub source: Ipv4Addr,
    /// Packets that came in for it.
    pub packets: u64,
    /// Their bytes, from the IP header on.
    pub bytes: u64,
    /// Packets that came in at another interface than the source's.
    pub wrong_interface: u64,
    /// Interfaces by which it leaves.
    pub outputs: usize,
}

/// The kernel's table, of the calling thread's namespace. Entries for all sources are left out: nothing
/// is forwarded by them.
pub(crate) fn counters() -> Result<Vec<GroupCounters>> {
    let text = read_file("/proc/thread-self/net/ip_mr_cache")?;
    Ok(text.lines().skip(1).filter_map(entry).filter(|e| !e.source.is_unspecified()).collect())
}

/// A line: group, source, interface, packets, bytes, wrong interface, then `interface:threshold` of each
/// output. Where nothing was decided yet there are no counts.
fn entry(line: &str) -> Option<GroupCounters> {
    let mut fields = line.split_whitespace();
    let group = address(fields.next()?)?;
    let source = address(fields.next()?)?;
    let _interface = fields.next()?;
    let mut count = || fields.next()?.parse().ok();
    let (packets, bytes, wrong_interface) = (count()?, count()?, count()?);
    let outputs = fields.filter(|field| field.contains(':')).count();
    Some(GroupCounters { group, source, packets, bytes, wrong_interface, outputs })
}

/// Addresses are printed as numbers of the machine's own byte order.
fn address(hex: &str) -> Option<Ipv4Addr> {
    let number = u32::from_str_radix(hex, 16).ok()?;
    Some(Ipv4Addr::from(number.to_ne_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Linux 6.18 prints it: 239.192.0.1 from 198.18.1.2, and an entry without a decision.
    #[test]
    #[cfg(target_endian = "little")]
    fn lines_of_the_kernel_are_understood() {
        let line = "0100C0EF 020112C6 1         80     3680        2  3:1    4:1  ";
        let entry = entry(line).expect("an entry");
        assert_eq!(entry.group, Ipv4Addr::new(239, 192, 0, 1));
        assert_eq!(entry.source, Ipv4Addr::new(198, 18, 1, 2));
        assert_eq!((entry.packets, entry.bytes, entry.wrong_interface), (80, 3680, 2));
        assert_eq!(entry.outputs, 2);
        assert_eq!(super::entry("Group    Origin   Iif     Pkts    Bytes    Wrong Oifs"), None);
        let undecided = super::entry("0100C0EF 020112C6 -1         0        0        0");
        assert_eq!(undecided.map(|entry| entry.outputs), Some(0));
    }
}
