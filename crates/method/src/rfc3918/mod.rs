//! The tests of RFC 3918 for devices that forward IP multicast, in the terms of RFC 2432; one file a
//! test.
//!
//! The first port is the source, others listen: a [`GroupMembership`] has hosts there join groups, proves with a
//! frame to each group that they did, and makes the trials. [`Hosts`](hosts) speak IGMP or MLD of the
//! version asked for. What IPv4 and IGMP do, IPv6 and MLD do alike.

mod burden;
mod capacity;
mod config;
mod delay;
mod group_membership;
mod hosts;
mod latency;
mod layout;
mod matrix;
mod mixed;
mod outcome;
mod throughput;

pub use burden::Burden;
pub use capacity::{CapacityTrial, GroupCapacityResult, capacity};
pub use config::MulticastConfig;
pub use delay::{DelayOutcome, DelaySet, GroupDelayResult, PortDelay, join_delay, leave_delay};
pub use group_membership::{GroupFlows, Joins, MulticastConditions};
pub(crate) use group_membership::{GroupMembership, SILENT_BEHIND_TUNNELS, SILENT_FIRST_VERSION};
pub use hosts::{Tunnel, Version, group_v4};
pub use latency::{LatencySet, MulticastLatencyResult, TaggedLatency, latency};
pub use matrix::{MatrixRow, ScaledGroupsResult, scaled_groups};
pub use mixed::mixed_class;
pub use throughput::{MixedClasses, MulticastThroughputResult, throughput};
