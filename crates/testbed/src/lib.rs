//! Builds and removes real devices under test on one Linux machine: a router, a bridge, or two ports
//! back to back, in network namespaces, by netlink.
//!
//! This is an edge of the project by nature: it talks to the kernel. Rules it keeps:
//! * Nothing is created in the host's own network namespace; the tester's ports have one too.
//! * Whatever is built is on record before it exists, and goes with the run: by
//!   [`Testbed::destroy`], by drop, or by [`clean`] after a kill -9.
//! * What could not be had (threads not pinned, no IPv6) is said in the description, never
//!   passed over.

mod actions;
mod addressing;
mod bulk_routes;
mod config;
mod counters;
mod description;
mod device;
mod error;
mod ethtool;
mod far;
mod feed;
mod foreign_sockets;
mod generic_netlink;
mod hardware;
mod input_queue;
mod interface;
mod layer3;
mod link;
mod multicast;
mod namespace;
mod netlink;
mod ovs;
mod packet_socket;
mod places;
mod privilege;
mod program;
mod queue;
mod registry;
mod routing;
mod rules;
mod scheduling;
mod snooping;
mod sysctl;
mod test_port;
mod testbed;
mod threads;
mod tunnel;
mod two_hosts;

pub use actions::ActionTimes;
pub use addressing::{
    DESTINATION_NETWORKS, MAX_NETWORKS_PER_SIDE, Network, Nodes, PortAddresses, Side,
    destination_networks, device_mac, routed_host, tester_mac,
};
pub use bulk_routes::RouteLoad;
pub use config::{
    DeviceKind, DeviceThreads, FilterRules, Impairment, Neighbours, PermitPosition, Routing,
    TestbedConfig,
};
pub use counters::{DeviceCounters, InterfaceCounters, LinkCounters};
pub use description::TestbedDescription;
pub use device::Device;
pub use error::{Result, TestbedError};
pub use ethtool::{Channels, Feature, REWRITING_FEATURES};
pub use far::FarSide;
pub use feed::{Fed, Feed};
pub use hardware::HardwarePorts;
pub use interface::InterfaceFacts;
pub use multicast::{
    GroupCounters, GroupRange, MULTICAST_INTERFACES, MulticastRouting, TableLoaded,
};
pub use namespace::{NETNS_DIRECTORY, Namespace};
pub use ovs::ovs_shortfall;
pub use packet_socket::PacketSocket;
pub use places::{DeviceReadings, PlaceCounters};
pub use privilege::{Privilege, enter_user_namespace};
pub use program::{Program, ProgramName, find_program};
pub use queue::QueueCounters;
pub use registry::{CleanReport, REGISTRY_DIRECTORY, clean};
pub use routing::rip_shortfall;
pub use rules::{FilterEntry, RuleCounter, rule_set};
pub use test_port::TestPort;
pub use testbed::Testbed;
pub use threads::PortThreads;
pub use tunnel::{Tunnel, TunnelPlan};
pub use two_hosts::TwoHosts;
