//! The far side of links that were not built here, where it is on this host: interfaces in a namespace
//! that `ip netns` knows, or beside the tester's own.

use crate::counters;
use crate::error::{Result, TestbedError};
use crate::places::{DeviceReadings, PlaceCounters, ip_places};
use crate::program::find_program;
use crate::rules;
use kernel::{InterfaceState, KernelError, Namespace, Rtnetlink};
use netlink_packet_route::link::LinkMessage;

/// Interfaces of a device at the other ends of the tester's links. It is only ever read.
#[derive(Debug)]
pub struct FarSide {
    /// That of the calling thread where there is none.
    namespace: Option<Namespace>,
    interfaces: Vec<Interface>,
    reads_rules: bool,
}

#[derive(Debug)]
struct Interface {
    name: String,
    index: u32,
    is_veth: bool,
    /// Number of the other end of a veth, in that end's namespace.
    peer: Option<u32>,
}

impl FarSide {
    /// These interfaces, in the order of the tester's ports; an error where one does not exist, or where
    /// there is no such namespace.
    pub fn open(namespace: Option<&str>, names: &[String]) -> Result<Self> {
        let namespace = namespace.map(Namespace::named).transpose()?;
        let mut side =
            FarSide { namespace, interfaces: vec![], reads_rules: find_program("nft").is_some() };
        let found = side.within(|| {
            let mut netlink = Rtnetlink::here()?;
            names.iter().map(|name| Ok(Interface::of(name, &netlink.link(name)?))).collect()
        });
        side.interfaces = found.map_err(|error| side.in_place(error))?;
        Ok(side)
    }

    /// Whether rules that drop are read: `nft` is installed.
    pub fn reads_rules(&self) -> bool {
        self.reads_rules
    }

    /// Whether these are the other ends of veth links to interfaces of those numbers, in another order.
    pub fn is_crossed(&self, ports: &[u32]) -> bool {
        let peers: Vec<Option<u32>> = self.interfaces.iter().map(|far| far.peer).collect();
        let straight: Vec<Option<u32>> = ports.iter().map(|port| Some(*port)).collect();
        let mut crossed = straight.clone();
        crossed.reverse();
        peers == crossed && peers != straight
    }

    /// The counters of the interfaces.
    pub fn links(&self) -> Result<Vec<InterfaceState>> {
        self.within(|| self.links_by(&mut Rtnetlink::here()?))
    }

    /// Everything that can be read: the interfaces, and before them their qdiscs, rules that drop, IP and
    /// the processors' backlogs. Without a namespace of its own the counters of rules and of IP are those
    /// of the whole machine.
    pub fn readings(&self) -> Result<DeviceReadings> {
        let of_machine = self.namespace.is_none();
        self.within(|| {
            let mut netlink = Rtnetlink::here()?;
            let mut places = self.queue_places(&mut netlink)?;
            if self.reads_rules {
                let rule = |(name, dropped)| place(name, dropped, of_machine);
                places.extend(rules::drops_here()?.into_iter().map(rule));
            }
            places.extend(ip_places()?.into_iter().map(|ip| PlaceCounters { of_machine, ..ip }));
            let backlogs = "backlogs of the processors (whole machine)".to_owned();
            places.push(place(backlogs, counters::softnet_dropped()?, true));
            let mut links = self.links_by(&mut netlink)?;
            for (link, interface) in links.iter_mut().zip(&self.interfaces) {
                // Only a veth counts here what its other end had no room for.
                if !interface.is_veth {
                    let dropped = std::mem::take(&mut link.counters.tx_dropped);
                    places.push(place(format!("tx_dropped of {}", interface.name), dropped, false));
                }
            }
            Ok(DeviceReadings { links, places })
        })
    }

    fn links_by(&self, netlink: &mut Rtnetlink) -> Result<Vec<InterfaceState>> {
        let link = |far: &Interface| Ok(netlink.state(&far.name)?);
        let links: Result<Vec<InterfaceState>> = self.interfaces.iter().map(link).collect();
        links.map_err(|error| self.in_place(error))
    }

    /// The outermost qdisc of each interface.
    fn queue_places(&self, netlink: &mut Rtnetlink) -> Result<Vec<PlaceCounters>> {
        let queues = netlink.root_queues()?.into_iter();
        let places = queues.filter_map(|(index, queue)| {
            let far = self.interfaces.iter().find(|far| far.index == index)?;
            let name = format!("{} of {}", queue.kind, far.name);
            Some(PlaceCounters { waiting: queue.waiting, ..place(name, queue.dropped, false) })
        });
        Ok(places.collect())
    }

    fn within<T: Send>(&self, body: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        match &self.namespace {
            Some(namespace) => namespace.run(body)?,
            None => body(),
        }
    }

    /// An error that says where an interface was looked for.
    fn in_place(&self, error: TestbedError) -> TestbedError {
        match (error, &self.namespace) {
            (TestbedError::Kernel(KernelError::NoSuchInterface { name, .. }), Some(namespace)) => {
                let place = format!("network namespace {}", namespace.name());
                KernelError::NoSuchInterface { name, place }.into()
            }
            (error, _) => error,
        }
    }
}

impl Interface {
    fn of(name: &str, link: &LinkMessage) -> Self {
        let state = InterfaceState::of(link);
        let is_veth = state.kind.as_deref() == Some("veth");
        let peer = state.peer.filter(|_| is_veth);
        Interface { name: name.into(), index: link.header.index, is_veth, peer }
    }
}

fn place(name: String, dropped: u64, of_machine: bool) -> PlaceCounters {
    PlaceCounters { name, dropped, waiting: 0, of_machine }
}
