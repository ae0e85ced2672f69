//! Builds and removes real devices under test on one Linux machine: a router, a bridge, or two ports
//! back to back, in network namespaces, by netlink.
//!
//! This is an edge of the project by nature: it talks to the kernel. Rules it keeps:
//! * Nothing is created in the host's own network namespace; the tester's ports have one too.
//! * Whatever is built is on record before it exists, and goes with the run: by
//!   [`Testbed::destroy`], by drop, or by [`clean`] after a kill -9.
//! * What could not be had (threads not pinned, no IPv6) is said in the description, never
//!   passed over.
//!
//! # Example
//!
//! A Linux router with two ports, and the interfaces at which a tester finds it; as root:
//!
//! ```no_run
//! use testbed::{DeviceKind, Testbed, TestbedConfig};
//!
//! let bed = Testbed::build(&TestbedConfig::of(DeviceKind::LinuxRouter))?;
//! for port in bed.ports() {
//!     println!("{} in {}: host {}", port.interface, bed.tester().name(), port.addresses.ipv4.host);
//! }
//! bed.destroy()?;
//! # Ok::<(), testbed::TestbedError>(())
//! ```
//!
//! Who has which address (RFC 2544 appendix C.2.2) is known without building anything, and what cannot be
//! built is refused before:
//!
//! ```
//! use testbed::{DeviceKind, PortAddresses, TestbedConfig};
//!
//! assert_eq!(PortAddresses::of_port(0).ipv4.device.to_string(), "198.18.1.1");
//! assert_eq!(PortAddresses::of_port(1).ipv4.host.to_string(), "198.19.1.2");
//!
//! let odd = TestbedConfig { ports: 3, ..TestbedConfig::of(DeviceKind::Loopback) };
//! assert!(odd.check().is_err(), "ports back to back come in pairs");
//! ```

mod actions;
mod addressing;
mod bulk_routes;
mod config;
mod counters;
mod description;
mod device;
mod error;
mod far;
mod feed;
mod forwarders;
mod hardware;
mod input_queue;
mod l3fwd;
mod multicast;
mod ovs;
mod ovs_dpdk;
mod places;
mod polling;
mod program;
mod registry;
mod routing;
mod rules;
mod scheduling;
mod snooping;
mod speaker;
mod sysctl;
mod test_port;
mod testbed;
mod testpmd;
mod threads;
mod tunnel;
mod two_hosts;

pub use actions::ActionTimes;
pub use addressing::{
    DESTINATION_NETWORKS, MAX_NETWORKS_PER_SIDE, Nodes, OTHER_IPV6_PREFIXES, PortAddresses, Side,
    destination_networks, device_mac, networks_of_prefix, routed_host, tester_mac,
};
pub use bulk_routes::RouteLoad;
pub use config::{
    DeviceKind, DeviceThreads, FilterRules, ForwardMode, Impairment, Neighbours, PermitPosition,
    Routing, TestbedConfig,
};
pub use counters::DeviceCounters;
pub use description::TestbedDescription;
pub use device::Device;
pub use error::{Result, TestbedError};
pub use far::FarSide;
pub use feed::{Fed, Feed};
pub use forwarders::{polling_shortfall, start_polling};
pub use hardware::HardwarePorts;
pub use l3fwd::{L3fwd, l3fwd_shortfall};
pub use multicast::{
    GroupCounters, GroupRange, MULTICAST_INTERFACES, MulticastRouting, TableLoaded,
};
pub use ovs::ovs_shortfall;
pub use ovs_dpdk::{OvsDpdk, ovs_dpdk_shortfall};
pub use places::{DeviceReadings, PlaceCounters};
pub use polling::{OwnMemif, PollingDevice, PollingFacts, PortCounters};
pub use program::{Program, ProgramName, find_program};
pub use registry::{CleanReport, REGISTRY_DIRECTORY, clean, program_folder};
pub use routing::rip_shortfall;
pub use rules::{FilterEntry, RuleCounter, rule_set};
pub use speaker::Speaker;
pub use test_port::TestPort;
pub use testbed::Testbed;
pub use testpmd::{Testpmd, testpmd_shortfall};
pub use threads::PortThreads;
pub use tunnel::{Tunnel, TunnelPlan};
pub use two_hosts::TwoHosts;
