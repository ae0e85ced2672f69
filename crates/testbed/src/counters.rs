//! What the kernel counted in the device: the second opinion on every number of the tester.
//!
//! Where a Linux device on veth links loses frames, and which counter says so:
//!
//! | place | counter |
//! |---|---|
//! | input queue of a device port full | `dropped` of the pfifo on `queueN` in [`DeviceCounters::queues`] |
//! | without input queues: receive ring of a device port full, frame sent by a socket | `tx_dropped` of the **tester's** port: a veth charges the sender |
//! | the same, frame sent by XDP redirect | `rx_dropped` of the device's port |
//! | receive ring of a **tester's** port full: the tester's own loss | `tx_dropped` of the device's port |
//! | backlog of a processor full | [`DeviceCounters::softnet_dropped`], of the whole machine |
//! | no route, bad header, TTL | [`DeviceCounters::ip`] |
//! | a filter or limit that is a rule | [`DeviceCounters::rules`] |
//! | queue of a rate limit full | [`DeviceCounters::queues`] |

use crate::error::Result;
use crate::rules::RuleCounter;
use kernel::{InterfaceCounters, QueueCounters, read_file};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A reading of everything the device counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceCounters {
    /// By interface of the device.
    pub interfaces: BTreeMap<String, InterfaceCounters>,
    /// By qdisc: input queues and rate limits.
    pub queues: Vec<QueueCounters>,
    /// By rule, in the order of the rule set.
    pub rules: Vec<RuleCounter>,
    /// The kernel's IP counters of the device's namespace that tell of forwarding and loss, IPv4 (`Ip...`) and
    /// IPv6 (`Ip6...`), by the kernel's own names.
    pub ip: BTreeMap<String, u64>,
    /// Frames dropped because a processor's backlog was full: all processors, **whole machine**.
    pub softnet_dropped: u64,
}

impl DeviceCounters {
    /// What was counted since an earlier reading. Frames waiting in a queue are as now.
    pub fn since(&self, earlier: &Self) -> Self {
        let interfaces = self.interfaces.iter().map(|(name, now)| {
            (name.clone(), now.since(&earlier.interfaces.get(name).copied().unwrap_or_default()))
        });
        let queues = self.queues.iter().map(|now| {
            let same = |q: &&QueueCounters| q.interface == now.interface && q.kind == now.kind;
            let before = earlier.queues.iter().find(same).cloned().unwrap_or_default();
            QueueCounters {
                frames: now.frames.saturating_sub(before.frames),
                bytes: now.bytes.saturating_sub(before.bytes),
                dropped: now.dropped.saturating_sub(before.dropped),
                ..now.clone()
            }
        });
        let rules = self.rules.iter().map(|now| {
            let same = |r: &&RuleCounter| r.family == now.family && r.rule == now.rule;
            let (frames, bytes) =
                earlier.rules.iter().find(same).map_or((0, 0), |r| (r.frames, r.bytes));
            RuleCounter {
                frames: now.frames.saturating_sub(frames),
                bytes: now.bytes.saturating_sub(bytes),
                ..now.clone()
            }
        });
        let ip = self.ip.iter().map(|(name, now)| {
            (name.clone(), now.saturating_sub(earlier.ip.get(name).copied().unwrap_or_default()))
        });
        DeviceCounters {
            interfaces: interfaces.collect(),
            queues: queues.collect(),
            rules: rules.collect(),
            ip: ip.collect(),
            softnet_dropped: self.softnet_dropped.saturating_sub(earlier.softnet_dropped),
        }
    }
}

/// The IP counters of interest of the calling thread's namespace (/proc/net would show the namespace of
/// the process's first thread).
pub(crate) fn ip_counters() -> Result<BTreeMap<String, u64>> {
    let mut counters = ipv4_counters(&read_file("/proc/thread-self/net/snmp")?);
    if let Ok(text) = read_file("/proc/thread-self/net/snmp6") {
        counters.extend(ipv6_counters(&text));
    }
    Ok(counters)
}

/// IPv4: a line of names and a line of values, both starting with `Ip:`.
fn ipv4_counters(snmp: &str) -> BTreeMap<String, u64> {
    const NAMES: [&str; 6] = [
        "ForwDatagrams",
        "InHdrErrors",
        "InAddrErrors",
        "InDiscards",
        "OutDiscards",
        "OutNoRoutes",
    ];
    let mut lines = snmp.lines().filter(|line| line.starts_with("Ip: "));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return BTreeMap::new() };
    names
        .split_whitespace()
        .zip(values.split_whitespace())
        .filter(|(name, _)| NAMES.contains(name))
        .filter_map(|(name, value)| Some((format!("Ip{name}"), value.parse().ok()?)))
        .collect()
}

/// IPv6: a name and a value a line.
fn ipv6_counters(snmp6: &str) -> BTreeMap<String, u64> {
    const NAMES: [&str; 7] = [
        "Ip6OutForwDatagrams",
        "Ip6InHdrErrors",
        "Ip6InTooBigErrors",
        "Ip6InNoRoutes",
        "Ip6InAddrErrors",
        "Ip6InDiscards",
        "Ip6OutDiscards",
    ];
    let pair = |line: &str| {
        let (name, value) = line.split_once(char::is_whitespace)?;
        NAMES.contains(&name).then(|| Some((name.to_owned(), value.trim().parse().ok()?)))?
    };
    snmp6.lines().filter_map(pair).collect()
}

/// Frames dropped at full backlogs: second hexadecimal column, a line a processor.
pub(crate) fn softnet_dropped() -> Result<u64> {
    let text = read_file("/proc/net/softnet_stat")?;
    let dropped = |line: &str| u64::from_str_radix(line.split_whitespace().nth(1)?, 16).ok();
    Ok(text.lines().filter_map(dropped).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_proc_are_found_by_name() {
        let snmp = "Ip: Forwarding ForwDatagrams InDiscards\nIp: 1 42 7\nIcmp: InMsgs\nIcmp: 9\n";
        let counters = ipv4_counters(snmp);
        assert_eq!(counters.get("IpForwDatagrams"), Some(&42));
        assert_eq!(counters.get("IpInDiscards"), Some(&7));
        assert_eq!(counters.len(), 2);
        let snmp6 = "Ip6InReceives                   \t5\nIp6OutForwDatagrams      \t3\n";
        assert_eq!(ipv6_counters(snmp6), BTreeMap::from([("Ip6OutForwDatagrams".to_owned(), 3)]));
        assert!(ipv4_counters("").is_empty() && ipv6_counters("junk").is_empty());
    }

    #[test]
    fn differences_match_by_name_and_never_wrap() {
        let reading = |rx, dropped| DeviceCounters {
            interfaces: BTreeMap::from([(
                "dut0".to_owned(),
                InterfaceCounters { rx_frames: rx, ..InterfaceCounters::default() },
            )]),
            softnet_dropped: dropped,
            ..DeviceCounters::default()
        };
        let difference = reading(110, 3).since(&reading(10, 5));
        assert_eq!(difference.interfaces["dut0"].rx_frames, 100);
        assert_eq!(difference.softnet_dropped, 0);
    }
}
