//! The device under test: a router or a bridge made of the Linux kernel in its own namespace.

use crate::addressing::{PortAddresses, destination_networks, networks_of_prefix, tester_mac};
use crate::bulk_routes::{self, RouteLoad};
use crate::config::{DeviceKind, DeviceThreads, Impairment, Neighbours, Routing, TestbedConfig};
use crate::counters::{self, DeviceCounters};
use crate::error::{Result, TestbedError};
use crate::feed::{self, Feeding};
use crate::input_queue::InputQueues;
use crate::multicast::{
    self, Daemon, GroupCounters, GroupRange, MulticastRouting, Table, TableLoaded,
};
use crate::ovs::Switch;
use crate::routing::RipDaemon;
use crate::routing::learned_routes;
use crate::rules::{self, FilterEntry};
use crate::scheduling;
use crate::snooping::bridge_settings;
use crate::sysctl;
use crate::threads::{PortThreads, thread_port};
use crate::tunnel;
use kernel::{Ethtool, InterfaceState, Namespace, REWRITING_FEATURES, Rtnetlink, TokenBucket};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Mutex;

/// Name of the bridge in a bridge's namespace.
pub(crate) const BRIDGE: &str = "bridge0";
/// Ethernet address of the bridge itself.
const BRIDGE_MAC: [u8; 6] = [0x02, b'N', b'A', 0, 0xff, 1];

/// Who forwards multicast.
#[derive(Debug)]
enum Multicast {
    Daemon { _running: Daemon },
    Table(Table),
}

/// The device under test. Its methods may be called from any thread.
#[derive(Debug)]
pub struct Device {
    namespace: Namespace,
    config: TestbedConfig,
    threads: Mutex<BTreeMap<usize, PortThreads>>,
    multicast: Mutex<Option<Multicast>>,
    pub(crate) input_queues: InputQueues,
    rip: Mutex<Option<RipDaemon>>,
    /// Who feeds it is there.
    speaker: Option<Namespace>,
    feeding: Mutex<Option<Feeding>>,
    switch: Mutex<Option<Switch>>,
    route_load: Mutex<Option<RouteLoad>>,
    tunnel: Mutex<Option<tunnel::Running>>,
}

impl Device {
    pub(crate) fn new(
        namespace: Namespace,
        speaker: Option<Namespace>,
        config: TestbedConfig,
    ) -> Self {
        let input_queues = InputQueues::choose(&config);
        let (threads, multicast) = (Mutex::default(), Mutex::default());
        let (rip, feeding, route_load) = (Mutex::default(), Mutex::default(), Mutex::default());
        let switch = Mutex::default();
        Device {
            namespace,
            config,
            threads,
            multicast,
            input_queues,
            rip,
            speaker,
            feeding,
            switch,
            route_load,
            tunnel: Mutex::default(),
        }
    }

    /// The device's namespace.
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Name of the device's interface for a port, in the device's namespace.
    pub fn interface(&self, port: usize) -> String {
        format!("dut{port}")
    }

    /// Number of that interface in the device's namespace, by which SNMP names it.
    pub fn interface_index(&self, port: usize) -> Result<u32> {
        Ok(self.namespace.netlink()?.link_index(&self.interface(port))?)
    }

    /// Brings up the loopback of the device's namespace, so that programs there can be asked.
    pub fn loopback_up(&self) -> Result<()> {
        Ok(self.namespace.netlink()?.set_link_up("lo", true)?)
    }

    /// Replaces the packet filters of a router by this list, the first match of which decides and
    /// without match denies; an empty one brings back what the configuration asks for.
    pub fn set_filters(&self, filters: &[FilterEntry]) -> Result<()> {
        if self.config.device != DeviceKind::LinuxRouter {
            let why = "filters on addresses: only linux-router has them";
            return Err(TestbedError::Configuration(why.into()));
        }
        match (filters, self.rule_set()) {
            ([], Some(configured)) => rules::load(&self.namespace, &configured),
            ([], None) => rules::unload(&self.namespace, &rules::listed(&[])),
            (filters, _) => rules::load(&self.namespace, &rules::listed(filters)),
        }
    }

    /// What was asked for.
    pub fn config(&self) -> &TestbedConfig {
        &self.config
    }

    /// The nftables rules the device carries, as loaded; none when it carries none.
    pub fn rule_set(&self) -> Option<String> {
        rules::rule_set(&self.config)
    }

    /// Who does the receive work of each port, as achieved; empty when the sender does
    /// ([`DeviceThreads::Inline`]).
    pub fn threads(&self) -> Vec<PortThreads> {
        self.threads.lock().expect("no panic while held").values().cloned().collect()
    }

    /// Frames that each port could not hand over to the tester's end of its link since that had no room
    /// (or was down): a veth charges the sender.
    pub fn turned_away(&self) -> Result<Vec<u64>> {
        let mut netlink = self.namespace.netlink()?;
        let interfaces = (0..self.config.ports).map(|port| self.interface(port));
        let counts = interfaces.map(|name| netlink.state(&name));
        counts.map(|count| Ok(count?.counters.tx_dropped)).collect()
    }

    /// What the device's ends of the links to the tester count, by port.
    pub fn links(&self) -> Result<Vec<InterfaceState>> {
        self.links_by(&mut self.namespace.netlink()?)
    }

    /// The same, through a socket of its namespace.
    pub(crate) fn links_by(&self, netlink: &mut Rtnetlink) -> Result<Vec<InterfaceState>> {
        let connectors = (0..self.config.ports).map(|port| self.connector(port));
        connectors.map(|name| Ok(netlink.state(&name)?)).collect()
    }

    /// The threads that forward: kernel threads of its ports, and all threads of its programs.
    pub fn forwarding_threads(&self) -> Vec<(u32, String)> {
        let of_ports = self.threads().into_iter().flat_map(|port| port.threads);
        let of_programs = self.programs().into_iter().flat_map(scheduling::threads_of);
        let named = |id| Some((id, scheduling::name_of(id)?));
        of_ports.chain(of_programs).filter_map(named).collect()
    }

    /// Process ids of the programs that forward frames.
    fn programs(&self) -> Vec<u32> {
        let switch = self.switch.lock().expect("no panic while held");
        let tunnel = self.tunnel.lock().expect("no panic while held");
        let translator = tunnel.as_ref().and_then(tunnel::Running::process);
        switch.as_ref().map(Switch::process).into_iter().chain(translator).collect()
    }

    /// Has the forwarding threads go before all ordinary work (SCHED_FIFO), as the configuration asks for.
    /// What was achieved, in words; none where nothing is asked for. Threads that a reset makes anew are given
    /// the same.
    pub fn scheduling(&self) -> Option<String> {
        let priority = self.config.real_time_priority?;
        let threads = self.forwarding_threads();
        Some(scheduling::raise(&threads, priority))
    }

    /// Reads all counters. Compare two readings with [`DeviceCounters::since`], the second taken
    /// after the traffic has come to rest.
    pub fn counters(&self) -> Result<DeviceCounters> {
        let mut netlink = self.namespace.netlink()?;
        let mut reading = DeviceCounters::default();
        for interface in (0..self.config.ports).flat_map(|port| self.interfaces_of(port)) {
            let count = netlink.state(&interface)?.counters;
            let index = netlink.link_index(&interface)?;
            reading.queues.extend(netlink.queue_counters(index, &interface)?);
            reading.interfaces.insert(interface, count);
        }
        if self.rule_set().is_some() {
            reading.rules = rules::counters(&self.namespace)?;
        }
        reading.ip = self.namespace.run(counters::ip_counters)??;
        reading.softnet_dropped = counters::softnet_dropped()?;
        Ok(reading)
    }

    /// Settings that must stand before the device has ports.
    pub(crate) fn prepare(&self) -> Result<()> {
        match self.config.device {
            DeviceKind::LinuxRouter | DeviceKind::LinuxMcast => {
                self.namespace.run(sysctl::prepare_router)?
            }
            _ => self.namespace.run(sysctl::prepare_bridge)?,
        }?;
        self.speaker.iter().try_for_each(|speaker| feed::join(&self.namespace, speaker))
    }

    /// Configures the device from its ports up; also after a reset.
    pub(crate) fn start(&self) -> Result<()> {
        if let Some(rule_set) = self.rule_set() {
            rules::load(&self.namespace, &rule_set)?;
        }
        match self.config.device {
            DeviceKind::LinuxBridge => self.add_bridge()?,
            DeviceKind::OvsUserspace => {}
            _ => self.namespace.run(|| sysctl::set_forwarding(true))??,
        }
        (0..self.config.ports).try_for_each(|port| self.start_port(port))?;
        if self.config.device == DeviceKind::OvsUserspace {
            *self.switch.lock().expect("no panic while held") = Some(Switch::start(self)?);
        }
        if self.config.snooping {
            self.start_querier()?;
        }
        if self.config.device == DeviceKind::LinuxMcast {
            self.start_multicast()?;
        }
        if let Some(tunnel) = self.config.tunnel {
            let running = tunnel::Running::start(self, tunnel)?;
            *self.tunnel.lock().expect("no panic while held") = Some(running);
        }
        self.start_routing()?;
        self.scheduling();
        Ok(())
    }

    /// Puts back what of a tunnel hangs on a link that was down.
    pub(crate) fn restore_tunnel(&self) -> Result<()> {
        match &*self.tunnel.lock().expect("no panic while held") {
            Some(running) => running.restore(self),
            None => Ok(()),
        }
    }

    /// Ends the translator, where there is one, and gives the tunnel up.
    pub(crate) fn end_tunnel(&self) -> Option<tunnel::Running> {
        self.tunnel.lock().expect("no panic while held").take()
    }

    fn start_routing(&self) -> Result<()> {
        if self.config.feed.is_some() {
            self.start_feed()?;
        } else if self.config.routes_per_port > 0 {
            let load = bulk_routes::load(self)?;
            *self.route_load.lock().expect("no panic while held") = Some(load);
        }
        if self.config.routing == Routing::Rip {
            let daemon = RipDaemon::start(self)?;
            *self.rip.lock().expect("no panic while held") = Some(daemon);
        }
        Ok(())
    }

    fn start_feed(&self) -> Result<()> {
        let (Some(feed), Some(speaker)) = (self.config.feed, &self.speaker) else { return Ok(()) };
        let (feeding, load) = Feeding::start(feed, self, speaker)?;
        *self.feeding.lock().expect("no panic while held") = Some(feeding);
        *self.route_load.lock().expect("no panic while held") = Some(load);
        Ok(())
    }

    /// Gives a port back the host routes that it has lost with its link; where they are fed, waits for them.
    pub(crate) fn restore_routes(&self, port: usize) -> Result<()> {
        let mut feeding = self.feeding.lock().expect("no panic while held");
        match feeding.as_mut() {
            None if self.config.routes_per_port == 0 => Ok(()),
            None => bulk_routes::load_again(self, port),
            Some(feeding) if feeding.finds_next_hops_again() => feeding.wait(self),
            Some(_) => {
                *feeding = None;
                drop(feeding);
                self.start_feed()
            }
        }
    }

    /// Ends the routing daemons, where there are any.
    pub(crate) fn stop_routing(&self) {
        *self.rip.lock().expect("no panic while held") = None;
        *self.feeding.lock().expect("no panic while held") = None;
    }

    /// Removes the namespace, and that of its speaker.
    pub(crate) fn remove(&self) -> kernel::Result<()> {
        let speaker = self.speaker.as_ref().map_or(Ok(()), Namespace::remove);
        self.namespace.remove().and(speaker)
    }

    /// What it took to load the host routes, where it has any.
    pub fn route_load(&self) -> Option<RouteLoad> {
        *self.route_load.lock().expect("no panic while held")
    }

    /// Routes that a routing daemon has put into the device's table.
    pub fn learned_routes(&self) -> Result<u64> {
        Ok(learned_routes(&mut self.namespace.netlink()?)?.values().sum())
    }

    /// What is to be told of a switch outside of the kernel.
    pub fn switch_facts(&self) -> Option<String> {
        self.switch.lock().expect("no panic while held").as_ref().map(Switch::facts)
    }

    /// Ends the switch outside of the kernel, where there is one.
    pub(crate) fn end_switch(&self) {
        self.switch.lock().expect("no panic while held").take();
    }

    /// Takes everything back that [`Device::start`] did, except the links themselves.
    pub(crate) fn stop(&self) -> Result<()> {
        self.stop_routing();
        self.end_multicast();
        multicast::tunnels::remove(&self.namespace, &self.config)?;
        self.end_switch();
        if let Some(tunnel) = self.end_tunnel() {
            tunnel.stop(self)?;
        }
        let mut netlink = self.namespace.netlink()?;
        match self.config.device {
            DeviceKind::LinuxBridge => netlink.delete_link(BRIDGE)?,
            DeviceKind::OvsUserspace => {}
            _ => self.namespace.run(|| sysctl::set_forwarding(false))??,
        }
        // Routes, neighbours and IPv6 addresses go with the link; IPv4 addresses would stay.
        for port in 0..self.config.ports {
            self.stop_port(port)?;
            if !self.config.device.is_switch() {
                let index = netlink.link_index(&self.interface(port))?;
                let ipv4 = PortAddresses::of_port(port).ipv4;
                netlink.delete_address(index, ipv4.device.into(), ipv4.prefix_length)?;
            }
        }
        if let Some(rule_set) = self.rule_set() {
            rules::unload(&self.namespace, &rule_set)?;
        }
        Ok(())
    }

    /// Takes the device's end of a link down.
    pub(crate) fn stop_port(&self, port: usize) -> Result<()> {
        let mut netlink = self.namespace.netlink()?;
        netlink.set_link_up(&self.connector(port), false)?;
        Ok(netlink.set_link_up(&self.interface(port), false)?)
    }

    /// Brings a port up and configures all that hangs on it.
    pub(crate) fn start_port(&self, port: usize) -> Result<()> {
        let interface = self.interface(port);
        let mut netlink = self.namespace.netlink()?;
        netlink.set_link_up(&self.connector(port), true)?;
        netlink.set_link_up(&interface, true)?;
        let index = netlink.link_index(&interface)?;
        self.set_offloads(&interface, self.needs_receive_ring())?;
        let has_threads = self.config.device != DeviceKind::OvsUserspace;
        if self.config.threads == DeviceThreads::Threaded && has_threads {
            let cpu = self.config.device_cpu;
            let threads = || thread_port(&self.namespace, &interface, index, cpu);
            let achieved = self.queue_thread(port).unwrap_or_else(threads);
            self.threads.lock().expect("no panic while held").insert(port, achieved);
        }
        if let Some(&bucket) = self.token_buckets().get(&port) {
            netlink.set_token_bucket(index, bucket)?;
        }
        match self.config.device {
            DeviceKind::LinuxBridge => {
                netlink.set_link_bridge(&interface, BRIDGE)?;
                if self.config.snooping {
                    netlink.limit_groups(index, self.config.group_table)?;
                }
            }
            DeviceKind::OvsUserspace => {}
            _ => self.configure_layer3(port, index)?,
        }
        netlink.wait_for_carrier(&self.connector(port))?;
        Ok(netlink.wait_for_carrier(&interface)?)
    }

    /// Starts who forwards multicast.
    fn start_multicast(&self) -> Result<()> {
        let interfaces: Vec<String> =
            (0..self.config.ports).map(|port| self.interface(port)).collect();
        let forwarding = match self.config.multicast {
            MulticastRouting::Daemon => {
                Multicast::Daemon { _running: Daemon::start(&self.namespace, &interfaces)? }
            }
            MulticastRouting::Table => {
                let tunnels = multicast::tunnels::build(&self.namespace, &self.config)?;
                let mut netlink = self.namespace.netlink()?;
                let indices =
                    interfaces.iter().chain(&tunnels).map(|name| netlink.link_index(name));
                let indices = indices.collect::<kernel::Result<Vec<u32>>>()?;
                Multicast::Table(Table::open(&self.namespace, &indices)?)
            }
        };
        *self.multicast.lock().expect("no panic while held") = Some(forwarding);
        Ok(())
    }

    /// Ends who forwards multicast.
    pub(crate) fn end_multicast(&self) {
        self.multicast.lock().expect("no panic while held").take();
    }

    /// Forwards these groups too ([`MulticastRouting::Table`] only).
    pub fn load_groups(&self, ranges: &[GroupRange]) -> Result<TableLoaded> {
        match &*self.multicast.lock().expect("no panic while held") {
            Some(Multicast::Table(table)) => table.load(ranges),
            _ => Err(TestbedError::Configuration(
                "a table of groups: only linux-mcast with multicast = \"table\" has one".into(),
            )),
        }
    }

    /// What the kernel counted of each group that it forwards.
    pub fn group_counters(&self) -> Result<Vec<GroupCounters>> {
        self.namespace.run(multicast::counters)?
    }

    fn add_bridge(&self) -> Result<()> {
        let mut netlink = self.namespace.netlink()?;
        let settings = bridge_settings(&self.config);
        netlink.add_bridge(BRIDGE, BRIDGE_MAC, self.config.mtu_bytes, settings)?;
        if self.config.snooping && kernel::has_ipv6() {
            self.namespace.run(|| sysctl::enable_ipv6(BRIDGE))??;
        }
        Ok(netlink.set_link_up(BRIDGE, true)?)
    }

    /// Switches off what rewrites frames, so that they leave as they came, except GRO where it is asked
    /// for: it gives a veth a receive ring (NAPI), without which it takes no frames by XDP.
    pub(crate) fn set_offloads(&self, interface: &str, receive_ring: bool) -> Result<()> {
        self.namespace.run(|| {
            let (on, off): (Vec<&str>, Vec<&str>) =
                REWRITING_FEATURES.iter().partition(|name| receive_ring && **name == "rx-gro");
            let ethtool = Ethtool::open(interface)?;
            ethtool.set_features(&off, false)?;
            Ok(ethtool.set_features(&on, true)?)
        })?
    }

    /// Addresses, neighbours and routes of a router's port, as configured.
    fn configure_layer3(&self, port: usize, index: u32) -> Result<()> {
        let mut netlink = self.namespace.netlink()?;
        let PortAddresses { ipv4, ipv6, .. } = PortAddresses::of_port(port);
        let supported = |address: &IpAddr| address.is_ipv4() || kernel::has_ipv6();
        netlink.set_address(index, ipv4.device.into(), ipv4.prefix_length)?;
        if supported(&ipv6.device.into()) {
            netlink.set_address(index, ipv6.device.into(), ipv6.prefix_length)?;
        }
        if self.config.neighbours == Neighbours::Static {
            let addresses = PortAddresses::of_port(port).tester_addresses();
            for address in addresses.into_iter().filter(supported) {
                netlink.set_permanent_neighbour(index, address, tester_mac(port))?;
            }
        }
        if self.config.destination_networks {
            let next_hops = [ipv4.phantom_router.into(), ipv6.phantom_router.into()];
            let configured = |_: &IpAddr| !self.config.networks_by_rip;
            for next_hop in next_hops.into_iter().filter(supported).filter(configured) {
                let mut networks =
                    destination_networks(port, self.config.ports, next_hop.is_ipv6());
                let others = self.config.ipv6_prefixes.iter().filter(|_| next_hop.is_ipv6());
                networks.extend(others.flat_map(|length| networks_of_prefix(port, *length)));
                for network in networks {
                    netlink.set_route(index, network, next_hop)?;
                }
            }
        }
        Ok(())
    }

    /// Rate limits by port.
    fn token_buckets(&self) -> BTreeMap<usize, TokenBucket> {
        let bucket = |impairment: &Impairment| match *impairment {
            Impairment::RateLimit { port, rate_bps, burst_bytes, queue_frames, overhead_bytes } => {
                Some((port, TokenBucket { rate_bps, burst_bytes, queue_frames, overhead_bytes }))
            }
            _ => None,
        };
        self.config.impairments.iter().filter_map(bucket).collect()
    }
}
