//! Places within the device where frames wait or are dropped, each with its own counter.

use crate::counters;
use crate::device::Device;
use crate::error::Result;
use crate::rules::{self, RuleCounter};
use kernel::{InterfaceState, QueueCounters, Rtnetlink};

/// What one place has counted up to now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlaceCounters {
    /// What it is called. No two places of a device have the same name.
    pub name: String,
    /// Frames dropped there.
    pub dropped: u64,
    /// Frames waiting there now.
    pub waiting: u64,
    /// The counter is the whole machine's.
    pub of_machine: bool,
}

/// Counters of IP that tell of forwarding, and not of loss.
const FORWARDED: [&str; 2] = ["IpForwDatagrams", "Ip6OutForwDatagrams"];

/// What a device has counted up to now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceReadings {
    /// Its ends of the links to the tester, by port.
    pub links: Vec<InterfaceState>,
    /// Every place within it that can be read, read before `links`: input queues, qdiscs, rules that drop, IP,
    /// the processors' backlogs. A frame dropped is in one of them at most.
    pub places: Vec<PlaceCounters>,
}

impl Device {
    /// Reads every counter of the device, from a single thread in its namespace: a thread may have to wait
    /// for a processor for longer than the reading takes.
    pub fn readings(&self) -> Result<DeviceReadings> {
        let mut places = self.input_queue_places();
        places.extend(self.rule_places()?);
        places.push(PlaceCounters {
            name: "backlogs of the processors (whole machine)".into(),
            dropped: counters::softnet_dropped()?,
            of_machine: true,
            ..PlaceCounters::default()
        });
        self.namespace().run(|| {
            let mut netlink = Rtnetlink::here()?;
            places.extend(self.qdisc_places(&mut netlink)?);
            places.extend(ip_places()?);
            Ok(DeviceReadings { links: self.links_by(&mut netlink)?, places })
        })?
    }

    /// Rules that drop; read by a program that takes some milliseconds, where there are any.
    fn rule_places(&self) -> Result<Vec<PlaceCounters>> {
        if self.rule_set().is_none() {
            return Ok(vec![]);
        }
        let rules = rules::counters(self.namespace())?.into_iter().filter(|rule| rule.drops);
        let place = |rule: RuleCounter| PlaceCounters {
            name: format!("rule {} ({})", rule.rule, rule.family),
            dropped: rule.frames,
            ..PlaceCounters::default()
        };
        Ok(rules.map(place).collect())
    }

    /// The qdisc of each interface. What a qdisc within another drops or keeps the outer one counts too.
    fn qdisc_places(&self, netlink: &mut Rtnetlink) -> Result<Vec<PlaceCounters>> {
        let ports = 0..self.config().ports;
        let interfaces: Vec<(u32, String)> = ports
            .flat_map(|port| self.interfaces_of(port))
            .map(|name| Ok((netlink.link_index(&name)?, name)))
            .collect::<Result<_>>()?;
        let place = |(index, queue): (u32, QueueCounters)| {
            let (_, name) = interfaces.iter().find(|(known, _)| *known == index)?;
            Some(PlaceCounters {
                name: format!("{} of {name}", queue.kind),
                dropped: queue.dropped,
                waiting: queue.waiting,
                of_machine: false,
            })
        };
        Ok(netlink.root_queues()?.into_iter().filter_map(place).collect())
    }
}

/// What IP of the calling thread's namespace dropped, by its reason.
pub(crate) fn ip_places() -> Result<Vec<PlaceCounters>> {
    let lost = counters::ip_counters()?.into_iter();
    let lost = lost.filter(|(name, _)| !FORWARDED.contains(&&**name));
    let place = |(name, dropped)| PlaceCounters { name, dropped, ..PlaceCounters::default() };
    Ok(lost.map(place).collect())
}
