//! What test bed to build, as data: the `[testbed]` table of a configuration file.

use crate::addressing::MAX_NETWORKS_PER_SIDE;
use crate::addressing::OTHER_IPV6_PREFIXES;
use crate::bulk_routes;
use crate::error::{Result, TestbedError};
use crate::feed::{self, Feed};
use crate::l3fwd;
use crate::multicast::{MULTICAST_INTERFACES, MulticastRouting, tunnels};
use crate::ovs;
use crate::ovs_dpdk;
use crate::testpmd;
use crate::tunnel::Tunnel;
use kernel::VethEnd;
use serde::{Deserialize, Serialize};

/// The kind of device under test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceKind {
    /// The kernel's own IPv4 and IPv6 forwarding in a namespace.
    #[default]
    LinuxRouter,
    /// The kernel's learning bridge in a namespace.
    LinuxBridge,
    /// The kernel's IPv4 multicast forwarding in a namespace, beside its unicast forwarding.
    LinuxMcast,
    /// Open vSwitch's user-space datapath, a learning switch outside of the kernel.
    OvsUserspace,
    /// Open vSwitch's DPDK datapath between two vhost-user sockets, a learning switch.
    OvsDpdk,
    /// DPDK's testpmd between two memif sockets: a program, no network namespace.
    Testpmd,
    /// DPDK's example l3fwd between two memif sockets, a router by longest prefix.
    L3fwd,
    /// No device: ports 0-1, 2-3, ... of the tester are joined back to back.
    Loopback,
}

/// What testpmd does to a frame that it forwards from one port to the other ("Testpmd Application User Guide",
/// `set fwd`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ForwardMode {
    /// Nothing.
    #[default]
    Io,
    /// Replaces both Ethernet addresses by those of its port and of the tester's port behind it.
    Mac,
    /// Swaps the Ethernet addresses.
    Macswap,
    /// Swaps the Ethernet addresses, the IP addresses and the ports of UDP or TCP.
    #[serde(rename = "5tswap")]
    FiveTupleSwap,
}

impl std::fmt::Display for ForwardMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            ForwardMode::Io => "io",
            ForwardMode::Mac => "mac",
            ForwardMode::Macswap => "macswap",
            ForwardMode::FiveTupleSwap => "5tswap",
        })
    }
}

impl DeviceKind {
    /// Its name, as a configuration file has it.
    pub fn name(self) -> &'static str {
        match self {
            DeviceKind::LinuxRouter => "linux-router",
            DeviceKind::LinuxBridge => "linux-bridge",
            DeviceKind::LinuxMcast => "linux-mcast",
            DeviceKind::OvsUserspace => "ovs-userspace",
            DeviceKind::OvsDpdk => "ovs-dpdk",
            DeviceKind::Testpmd => "testpmd",
            DeviceKind::L3fwd => "l3fwd",
            DeviceKind::Loopback => "loopback",
        }
    }

    /// Whether it is a switch, which has no addresses of its own.
    pub fn is_switch(self) -> bool {
        matches!(self, DeviceKind::LinuxBridge | DeviceKind::OvsUserspace | DeviceKind::OvsDpdk)
    }

    /// Whether it is a program that polls sockets, without interfaces of the kernel.
    pub fn polls(self) -> bool {
        matches!(self, DeviceKind::OvsDpdk | DeviceKind::Testpmd | DeviceKind::L3fwd)
    }
}

/// How the device learns the Ethernet addresses of the tester's hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Neighbours {
    /// They are permanent entries: no ARP, no neighbour discovery.
    #[default]
    Static,
    /// The device asks and the tester answers.
    Dynamic,
}

/// Which filter rules the device carries (RFC 2544 section 11.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FilterRules {
    /// No filter at all: not even a rule set is loaded.
    #[default]
    #[serde(rename = "none")]
    None,
    /// One rule, which permits the test stream; everything else is denied.
    #[serde(rename = "1")]
    One,
    /// Ten rules: nine that never match and the permit (the Harvard tests).
    #[serde(rename = "10")]
    Ten,
    /// 25 rules: 24 that never match and the permit.
    #[serde(rename = "25")]
    TwentyFive,
}

/// Where the permit stands among the rules that never match. RFC 2544 contradicts itself here: the
/// text of section 11.4 puts it last, the listing of section 11.4.1 in the middle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PermitPosition {
    /// Last: every condition is evaluated (section 11.4).
    #[default]
    Last,
    /// After half of the denies (section 11.4.1).
    Middle,
}

/// Who does the device's forwarding work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceThreads {
    /// Kernel threads of the device's ports (threaded NAPI): the device has its own receive queue
    /// and drops like a device.
    #[default]
    Threaded,
    /// The sender's own system call runs the device's forwarding path: the device can hardly ever
    /// drop, it slows the tester instead.
    Inline,
}

/// How the device comes by its routes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Routing {
    /// They are configured.
    #[default]
    Static,
    /// Beside those, a routing daemon takes in what it hears by RIPv2 (RFC 2453) and RIPng (RFC 2080) at every
    /// port.
    Rip,
}

/// A limit the kernel itself puts upon the device, for tests whose right answer is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Impairment {
    /// A token bucket on the way out of a device port, with a queue of known length before it
    /// (`tc` qdiscs tbf and pfifo).
    RateLimit {
        /// Port the limit is on, from 0.
        port: usize,
        /// Rate in bits a second, counted over frame plus `overhead_bytes`.
        rate_bps: u64,
        /// Depth of the token bucket in bytes: what may leave at once after idleness.
        burst_bytes: u32,
        /// Length of the queue in frames; what comes when it is full is lost.
        queue_frames: u32,
        /// Octets counted for each frame beyond the kernel's view of it (which has no FCS). 24
        /// makes the rate an Ethernet line rate: FCS 4, preamble 8, inter-frame gap 12.
        #[serde(default = "line_overhead_bytes")]
        overhead_bytes: u16,
    },
    /// A rule that forwards at most so many frames a second (nftables `limit`), counted over all ports.
    FrameRateLimit {
        /// Frames a second.
        frames_per_second: u64,
        /// Frames that may exceed the rate after idleness.
        burst_frames: u32,
    },
    /// A rule that drops exactly every `every`th forwarded frame (nftables `numgen`), counted over
    /// all ports: of F frames floor(F / every) are lost.
    DropEvery {
        /// The N of 1 in N.
        every: u32,
    },
}

fn line_overhead_bytes() -> u16 {
    24
}

/// A whole test bed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TestbedConfig {
    /// The kind of device.
    pub device: DeviceKind,
    /// Number of test ports: 2 to 128; even for the loopback.
    pub ports: usize,
    /// MTU of every link in bytes: frame size less 18. 1500 carries 1518-byte frames.
    pub mtu_bytes: u32,
    /// MTU of the tester's end of every link in bytes, where it is to send frames that are too long for the
    /// device.
    pub tester_mtu_bytes: Option<u32>,
    /// txqueuelen of every interface in frames, used by queues that a qdisc creates.
    pub tx_queue_frames: u32,
    /// Queues of every interface each way, at least one: a sender with several queues needs as many at the far end.
    pub queues: u16,
    /// How the device learns the tester's Ethernet addresses (router only).
    pub neighbours: Neighbours,
    /// Routes to 256 destination networks behind every port (router only).
    pub destination_networks: bool,
    /// Beside those, routes to 256 IPv6 networks of each of these prefix lengths behind every port.
    pub ipv6_prefixes: Vec<u8>,
    /// How the device comes by its routes (router only).
    pub routing: Routing,
    /// The destination networks are announced by RIP and RIPng: no routes to them are configured.
    pub networks_by_rip: bool,
    /// A tunnel, or a translator, between port 0 and port 1 (router only).
    pub tunnel: Option<Tunnel>,
    /// Host routes behind every port, up to 65,536 each (router only): see
    /// [`routed_host`](crate::routed_host).
    pub routes_per_port: u32,
    /// The protocol that brings these, from a speaker in a namespace of its own; none where they are
    /// configured.
    pub feed: Option<Feed>,
    /// How long they may take to come, in seconds.
    pub feed_within_s: u32,
    /// After how long a switch forgets an address that it has not seen again, in seconds; none leaves it as it
    /// is by itself (300 s).
    pub address_ageing_s: Option<u32>,
    /// Addresses that a switch learns at most; none leaves it as it is by itself (linux-bridge: no limit,
    /// ovs-userspace: 8192).
    pub address_table: Option<u32>,
    /// Enables IGMP/MLD snooping and the querier (RFC 4541), so that groups are forwarded to members alone
    /// (linux-bridge only).
    pub snooping: bool,
    /// Groups that a port of a bridge that snoops may have at most; none leaves it without a limit of its own.
    pub group_table: Option<u32>,
    /// After how long a bridge that snoops forgets a member that has not reported again, in seconds; it asks twice
    /// in that time. None leaves it as it is by itself (260 s).
    pub group_membership_s: Option<u32>,
    /// Who decides which multicast groups go where (linux-mcast only).
    pub multicast: MulticastRouting,
    /// Tunnels at every port (linux-mcast with a table only).
    pub multicast_tunnels: Vec<Tunnel>,
    /// What testpmd does to frames (testpmd only); none is [`ForwardMode::Io`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forward_mode: Option<ForwardMode>,
    /// Filter rules.
    pub filter: FilterRules,
    /// Where the permit stands among them.
    pub permit: PermitPosition,
    /// Who does the forwarding work.
    pub threads: DeviceThreads,
    /// Length of each port's receive queue in frames, with [`DeviceThreads::Threaded`] (forwarders of DPDK: of the rings
    /// of their sockets, both ways); 0 leaves the
    /// 256 frames of a veth's ring. The default, the longest that a queue on the device's processor
    /// can have, bridges 16 ms without that processor at a million frames/s, as a virtual machine's
    /// threads have them.
    pub input_queue_frames: u32,
    /// The processor that the device's threads are pinned to; none leaves it to the scheduler.
    pub device_cpu: Option<usize>,
    /// Real-time priority (SCHED_FIFO) of the threads that forward; none leaves them as the kernel makes
    /// them.
    pub real_time_priority: Option<i32>,
    /// Known limits put upon the device.
    pub impairments: Vec<Impairment>,
}

impl Default for TestbedConfig {
    fn default() -> Self {
        TestbedConfig {
            device: DeviceKind::default(),
            ports: 2,
            mtu_bytes: 1500,
            tester_mtu_bytes: None,
            tx_queue_frames: 1000,
            queues: 1,
            neighbours: Neighbours::default(),
            destination_networks: false,
            ipv6_prefixes: vec![],
            routing: Routing::default(),
            networks_by_rip: false,
            tunnel: None,
            routes_per_port: 0,
            feed: None,
            feed_within_s: 120,
            address_ageing_s: None,
            address_table: None,
            snooping: false,
            group_table: None,
            group_membership_s: None,
            multicast: MulticastRouting::default(),
            multicast_tunnels: Vec::new(),
            forward_mode: None,
            filter: FilterRules::default(),
            permit: PermitPosition::default(),
            threads: DeviceThreads::default(),
            input_queue_frames: 16_384,
            device_cpu: None,
            real_time_priority: None,
            impairments: Vec::new(),
        }
    }
}

impl TestbedConfig {
    /// The default test bed around a device of this kind.
    pub fn of(device: DeviceKind) -> Self {
        TestbedConfig { device, ..Self::default() }
    }

    /// Refuses what cannot be built, naming the key.
    pub fn check(&self) -> Result<()> {
        let refuse = |message: String| Err(TestbedError::Configuration(message));
        if !(2..=2 * MAX_NETWORKS_PER_SIDE).contains(&self.ports) {
            return refuse(format!("ports = {}: 2 to 128 are possible", self.ports));
        }
        if !(68..=65_535).contains(&self.mtu_bytes) {
            return refuse(format!("mtu_bytes = {}: 68 to 65535 are possible", self.mtu_bytes));
        }
        self.check_routes()?;
        self.check_switch()?;
        if self.forward_mode.is_some() && self.device != DeviceKind::Testpmd {
            return refuse("forward_mode: only testpmd has it".into());
        }
        match self.device {
            DeviceKind::Loopback => return self.check_loopback(),
            DeviceKind::OvsDpdk | DeviceKind::Testpmd | DeviceKind::L3fwd => {
                return self.check_polling();
            }
            _ => {}
        }
        if self.tester_mtu_bytes.is_some_and(|mtu| mtu < self.mtu_bytes || mtu > 65_535) {
            return refuse("tester_mtu_bytes: from mtu_bytes to 65535 are possible".into());
        }
        if self.device == DeviceKind::LinuxMcast && self.ports > self.multicast.ports_max() {
            let most = self.multicast.ports_max();
            return refuse(format!(
                "ports = {}: the kernel forwards multicast between {MULTICAST_INTERFACES} interfaces at \
                 most{}; {most} ports are possible",
                self.ports,
                if most < MULTICAST_INTERFACES {
                    ", one of which pimd needs for itself"
                } else {
                    ""
                }
            ));
        }
        if self.device.is_switch() && self.destination_networks {
            return refuse("destination_networks: a bridge has no routes; use linux-router".into());
        }
        self.impairments.iter().try_for_each(|impairment| self.check_impairment(impairment))
    }

    fn check_routes(&self) -> Result<()> {
        let refuse = |message: &str| Err(TestbedError::Configuration(message.into()));
        let has_routes =
            self.routing != Routing::Static || self.routes_per_port > 0 || self.feed.is_some();
        if self.device != DeviceKind::LinuxRouter && has_routes {
            return refuse("routing, routes_per_port, feed: only linux-router has routes");
        }
        let is_other = |length: &&u8| !OTHER_IPV6_PREFIXES.contains(length);
        if let Some(length) = self.ipv6_prefixes.iter().find(is_other) {
            return refuse(&format!("ipv6_prefixes: {length} is none of 48, 126 and 128"));
        }
        if !self.ipv6_prefixes.is_empty() && !self.destination_networks {
            return refuse("ipv6_prefixes: they are those of destination_networks = true");
        }
        if self.networks_by_rip && self.routing != Routing::Rip {
            return refuse("networks_by_rip: the routes come by RIP with `routing = \"rip\"` only");
        }
        tunnels::check(self)?;
        self.tunnel.map_or(Ok(()), |tunnel| tunnel.check(self))?;
        bulk_routes::check(self.ports, self.routes_per_port)?;
        let Some(feed) = self.feed else { return Ok(()) };
        if self.routing != Routing::Static {
            return refuse("feed beside routing: a router has one routing daemon");
        }
        feed::check(feed, self.ports, self.routes_per_port)
    }

    fn check_switch(&self) -> Result<()> {
        let refuse = |message: &str| Err(TestbedError::Configuration(message.into()));
        if self.snooping && self.device != DeviceKind::LinuxBridge {
            return refuse("snooping: only linux-bridge has it");
        }
        if self.group_table.is_some_and(|groups| groups == 0 || !self.snooping) {
            return refuse("group_table: at least 1, and beside snooping");
        }
        if self.group_membership_s.is_some_and(|seconds| seconds < 3 || !self.snooping) {
            return refuse(
                "group_membership_s: at least 3, since a bridge waits 1 s or more from one query to the next; and \
                 beside snooping",
            );
        }
        let has_table = self.address_ageing_s.is_some() || self.address_table.is_some();
        match self.device {
            DeviceKind::OvsUserspace => {}
            DeviceKind::OvsDpdk => return ovs::check(self),
            DeviceKind::LinuxBridge if self.address_ageing_s == Some(0) => {
                return refuse("address_ageing_s = 0: at least 1");
            }
            DeviceKind::LinuxBridge if self.address_table == Some(0) => {
                return refuse("address_table = 0: at least 1");
            }
            DeviceKind::LinuxBridge => return Ok(()),
            _ if has_table => {
                return refuse("address_ageing_s, address_table: only switches learn addresses");
            }
            _ => return Ok(()),
        }
        let of_kernel =
            |impairment: &Impairment| !matches!(impairment, Impairment::RateLimit { .. });
        if self.filter != FilterRules::None || self.impairments.iter().any(of_kernel) {
            return refuse(
                "filter, frame-rate-limit, drop-every: frames of ovs-userspace never come by the \
                 kernel's rules; use linux-bridge",
            );
        }
        ovs::check(self)
    }

    fn check_loopback(&self) -> Result<()> {
        let nothing_to_carry = [
            ("filter", self.filter != FilterRules::None),
            ("destination_networks", self.destination_networks),
            ("impairments", !self.impairments.is_empty()),
        ];
        if let Some((key, _)) = nothing_to_carry.iter().find(|(_, set)| *set) {
            return Err(TestbedError::Configuration(format!(
                "{key}: a loopback has no device that could carry it; use linux-router or linux-bridge"
            )));
        }
        if !self.ports.is_multiple_of(2) {
            return Err(TestbedError::Configuration(format!(
                "ports = {}: a loopback joins ports in pairs, so their number must be even",
                self.ports
            )));
        }
        Ok(())
    }

    fn check_polling(&self) -> Result<()> {
        let name = self.device.name();
        let refuse = |message: String| Err(TestbedError::Configuration(message));
        let has_routes = self.destination_networks && self.device != DeviceKind::L3fwd;
        if self.filter != FilterRules::None || has_routes {
            return refuse(format!(
                "filter, destination_networks: {name} has neither filters nor other routes here; use linux-router"
            ));
        }
        if !self.impairments.is_empty() {
            return refuse(format!(
                "impairments: {name} has no interface for them; use linux-bridge"
            ));
        }
        match self.device {
            DeviceKind::OvsDpdk => ovs_dpdk::check(self),
            DeviceKind::L3fwd => l3fwd::check(self),
            _ => testpmd::check(self),
        }
    }

    fn check_impairment(&self, impairment: &Impairment) -> Result<()> {
        let refuse = |message: String| Err(TestbedError::Configuration(message));
        match *impairment {
            Impairment::RateLimit { port, .. } if port >= self.ports => {
                refuse(format!("rate-limit on port {port}: the ports are 0 to {}", self.ports - 1))
            }
            Impairment::RateLimit { rate_bps, .. } if rate_bps < 8 => {
                refuse(format!("rate_bps = {rate_bps}: at least 8 (a byte a second) is needed"))
            }
            Impairment::RateLimit { burst_bytes, .. } if burst_bytes < self.mtu_bytes + 14 => {
                refuse(format!(
                    "burst_bytes = {burst_bytes}: a bucket smaller than one frame of the MTU would \
                     drop it always; at least {} is needed",
                    self.mtu_bytes + 14
                ))
            }
            Impairment::RateLimit { queue_frames: 0, .. } => {
                refuse("queue_frames = 0: a queue without a place forwards nothing".into())
            }
            Impairment::FrameRateLimit { frames_per_second: 0, .. } => {
                refuse("frames_per_second = 0: at least 1".into())
            }
            Impairment::DropEvery { every } if every < 2 => {
                refuse(format!("every = {every}: at least 2 (1 would drop every frame)"))
            }
            _ => Ok(()),
        }
    }
}

impl TestbedConfig {
    /// An end of a pair as this test bed has them all.
    pub(crate) fn veth_end<'a>(&self, name: &'a str, mac: [u8; 6]) -> VethEnd<'a> {
        VethEnd {
            name,
            mac,
            mtu_bytes: self.mtu_bytes,
            tx_queue_frames: self.tx_queue_frames,
            queues: self.queues.into(),
        }
    }

    /// The tester's end of a link to the device.
    pub(crate) fn tester_end<'a>(&self, name: &'a str, mac: [u8; 6]) -> VethEnd<'a> {
        let mtu_bytes = self.tester_mtu_bytes.unwrap_or(self.mtu_bytes);
        VethEnd { mtu_bytes, ..self.veth_end(name, mac) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        let config: TestbedConfig = toml::from_str(text).expect("parses");
        config.check().expect_err("is refused").to_string()
    }

    #[test]
    fn an_empty_table_is_the_default_router() {
        let config: TestbedConfig = toml::from_str("").expect("parses");
        assert_eq!(config, TestbedConfig::of(DeviceKind::LinuxRouter));
        config.check().expect("can be built");
    }

    #[test]
    fn a_full_table_reads_as_documented() {
        let text = r#"
            device = "linux-bridge"
            ports = 4
            filter = "25"
            permit = "middle"
            threads = "threaded"
            device_cpu = 1
            impairments = [
                { kind = "rate-limit", port = 1, rate_bps = 10_000_000, burst_bytes = 1600, queue_frames = 100 },
                { kind = "drop-every", every = 10 },
            ]"#;
        let config: TestbedConfig = toml::from_str(text).expect("parses");
        config.check().expect("can be built");
        assert_eq!(config.device_cpu, Some(1));
        assert_eq!(config.filter, FilterRules::TwentyFive);
        let again = toml::to_string(&config).expect("can be written");
        assert_eq!(toml::from_str::<TestbedConfig>(&again).expect("reads back"), config);
    }

    #[test]
    fn a_device_has_the_name_that_a_file_has() {
        use DeviceKind::*;
        for kind in
            [LinuxRouter, LinuxBridge, LinuxMcast, OvsUserspace, OvsDpdk, Testpmd, L3fwd, Loopback]
        {
            let file: TestbedConfig =
                toml::from_str(&format!("device = \"{}\"", kind.name())).expect("parses");
            assert_eq!(file.device, kind);
        }
    }

    #[test]
    fn a_misspelt_key_is_named() {
        let error =
            toml::from_str::<TestbedConfig>("nieghbours = \"static\"").expect_err("refused");
        assert!(error.to_string().contains("nieghbours"), "{error}");
        let stray = "impairments = [{ kind = \"drop-every\", every = 3, port = 1 }]";
        let error = toml::from_str::<TestbedConfig>(stray).expect_err("refused");
        assert!(error.to_string().contains("port"), "{error}");
    }

    #[test]
    fn what_cannot_be_built_is_refused_by_key() {
        let mcast = |routing: &str, ports| {
            refusal(&format!(
                "device = \"linux-mcast\"\nmulticast = \"{routing}\"\nports = {ports}"
            ))
        };
        assert!(mcast("table", 33).contains("32 interfaces at most; 32 ports"));
        assert!(mcast("daemon", 32).contains("31 ports"));
        let tunnels = |ports| {
            refusal(&format!(
                "device = \"linux-mcast\"\nmulticast = \"table\"\nports = {ports}\n\
                 multicast_tunnels = [\"gre\", \"vxlan\"]"
            ))
        };
        assert!(tunnels(11).contains("10 ports"));
        assert!(refusal("multicast_tunnels = [\"vxlan\"]").contains("linux-mcast"));
        assert!(refusal("ports = 1").contains("ports = 1"));
        assert!(refusal("device = \"linux-bridge\"\ntunnel = \"gre\"").contains("linux-router"));
        assert!(refusal("ports = 4\ntunnel = \"6in4\"").contains("two ports"));
        assert!(refusal("device = \"loopback\"\nports = 3").contains("even"));
        assert!(refusal("device = \"loopback\"\nfilter = \"1\"").contains("filter"));
        assert!(refusal("device = \"linux-bridge\"\nrouting = \"rip\"").contains("linux-router"));
        assert!(refusal("destination_networks = true\nipv6_prefixes = [47]").contains("47"));
        assert!(refusal("ipv6_prefixes = [48]").contains("destination_networks"));
        assert!(refusal("networks_by_rip = true").contains("routing = \"rip\""));
        assert!(refusal("routes_per_port = 70000").contains("70000"));
        assert!(refusal("impairments = [{ kind = \"drop-every\", every = 1 }]").contains("every"));
        let small = "impairments = [{ kind = \"rate-limit\", port = 0, rate_bps = 1000, burst_bytes = 1513, queue_frames = 1 }]";
        assert!(refusal(small).contains("1514"));
    }
}
