//! Many ports at once: which port sends to which, in what order, and what came of each pair.
//!
//! [`Pattern`] is the order of destinations, exactly as RFC 2889 has it; a [`Rack`] makes trials of
//! it; a [`PortMatrix`] is what came of each pair of ports. [`ChassisSuite`] runs the tests of
//! [`rfc2889`](crate::rfc2889), [`gigaswitch`](crate::gigaswitch) and [`tolly`](crate::tolly) that are
//! made of these.

mod burst;
mod config;
mod figures;
mod layout;
mod load;
mod pattern;
mod rack;
mod suite;

pub use crate::outcome::{PairCount, PortMatrix};
pub use burst::Bursts;
pub use config::{
    AddressConfig, ArpServerConfig, ChassisConfig, ErroredConfig, FanoutConfig,
    ForwardPressureConfig,
};
pub(crate) use figures::latency_spread;
pub(crate) use layout::percent;
pub use load::{LoadPoint, Throughput};
pub(crate) use load::{Loads, highest_load, highest_load_of, point_at, shortfall_words};
pub use pattern::{Pattern, Turn};
pub(crate) use rack::{Draft, Sent};
pub use rack::{Known, Rack};
pub use suite::ChassisSuite;

use crate::clauses::Judged;
use crate::gigaswitch::{ArpServerResult, ExtrapolationResult, FanoutResult};
use crate::rfc2889::{
    AddressResult, BroadcastLatencyResult, CongestionResult, ErroredResult, ForwardPressureResult,
    MeshResult,
};
use crate::rfc3918::{
    GroupCapacityResult, GroupDelayResult, MulticastLatencyResult, MulticastThroughputResult,
    ScaledGroupsResult,
};
use crate::tolly::TollyResult;
use crate::{Attachment, Forwarding, Outcome, RunError, TestKind};
use serde::{Deserialize, Serialize};
use std::fmt;
use units::{Duration, FrameRate, LineRate};

/// The ports of the tester on the device, in order of their numbers.
#[derive(Clone, PartialEq, Debug)]
pub struct Chassis {
    /// Whether frames are addressed to the device or through it; where it routes, each port has a
    /// network of its own.
    pub forwarding: Forwarding,
    /// Who has which address.
    pub ports: Vec<Attachment>,
}

impl Chassis {
    /// Refuses addresses that two ports share: a device would take them for one, and frames of one port
    /// for those of the other.
    pub fn check(&self) -> Result<(), RunError> {
        for (index, port) in self.ports.iter().enumerate() {
            for other in &self.ports[..index] {
                if let Some(shared) = shared_address(other, port) {
                    return Err(RunError::Config(format!(
                        "{} and {} have the same address, {shared}: give each its own",
                        other.port, port.port
                    )));
                }
            }
        }
        Ok(())
    }
}

/// An address that two ports have both; loopback addresses stand for none.
fn shared_address(one: &Attachment, other: &Attachment) -> Option<String> {
    let ipv6 = one.host_ipv6 == other.host_ipv6 && !one.host_ipv6.is_loopback();
    if one.mac == other.mac {
        Some(one.mac.to_string())
    } else if one.host_ipv4 == other.host_ipv4 {
        Some(one.host_ipv4.to_string())
    } else {
        ipv6.then(|| one.host_ipv6.to_string())
    }
}

/// The tests of a chassis.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChassisTest {
    /// RFC 2889 section 5.1.
    FullyMeshed,
    /// RFC 2889 section 5.2, from one port to all others.
    OneToMany,
    /// RFC 2889 section 5.2, from all other ports to one.
    ManyToOne,
    /// RFC 2889 section 5.2, both at once.
    OneAndMany,
    /// RFC 2889 section 5.3, with local traffic.
    BackboneLocal,
    /// RFC 2889 section 5.3, only across the backbone.
    Backbone,
    /// RFC 2889 section 5.4.
    Unidirectional,
    /// RFC 2889 section 5.5.
    Congestion,
    /// RFC 2889 section 5.6.
    ForwardPressure,
    /// RFC 2889 section 5.7.
    AddressCaching,
    /// RFC 2889 section 5.8.
    AddressLearning,
    /// RFC 2889 section 5.9.
    ErroredFrames,
    /// RFC 2889 section 5.10, forwarding.
    Broadcast,
    /// RFC 2889 section 5.10, latency.
    BroadcastLatency,
    /// The de-multiplexed fan-out of the GIGAswitch/FDDI tests.
    Fanout,
    /// What fewer ports say of all of them, and what all of them say.
    Extrapolation,
    /// The ARP server test of the GIGAswitch/FDDI tests.
    ArpServer,
    /// To a million hosts, of the IP9000 tests.
    InternetScale,
    /// To 65,536 groups, of the IP9000 tests.
    LargeScaleMulticast,
    /// Groups in a mesh, of the IP9000 tests.
    MulticastMesh,
    /// One group, of the IP9000 tests.
    BaseMulticast,
    /// One stream for each pair of ports, of the IP9000 tests.
    BaseUnicast,
    /// RFC 3918 section 4.1.
    MixedClass,
    /// RFC 3918 section 4.2.
    ScaledGroups,
    /// RFC 3918 section 4.3.
    AggregatedMulticast,
    /// RFC 3918 section 4.4.1.
    Encapsulation,
    /// RFC 3918 section 4.4.2.
    Decapsulation,
    /// RFC 3918 section 4.4.3.
    Reencapsulation,
    /// RFC 3918 section 5.1.
    MulticastLatency,
    /// RFC 3918 section 5.2.
    MinMaxLatency,
    /// RFC 3918 section 6.1.
    GroupJoinDelay,
    /// RFC 3918 section 6.2.
    GroupLeaveDelay,
    /// RFC 3918 section 7.1.
    GroupCapacity,
    /// RFC 3918 section 8.1.
    BurdenedLatency,
    /// RFC 3918 section 8.2.
    BurdenedJoinDelay,
}

impl ChassisTest {
    /// Those of RFC 2889, in its order.
    pub const RFC2889: [ChassisTest; 14] = [
        ChassisTest::FullyMeshed,
        ChassisTest::OneToMany,
        ChassisTest::ManyToOne,
        ChassisTest::OneAndMany,
        ChassisTest::BackboneLocal,
        ChassisTest::Backbone,
        ChassisTest::Unidirectional,
        ChassisTest::Congestion,
        ChassisTest::ForwardPressure,
        ChassisTest::AddressCaching,
        ChassisTest::AddressLearning,
        ChassisTest::ErroredFrames,
        ChassisTest::Broadcast,
        ChassisTest::BroadcastLatency,
    ];
    /// Those of the GIGAswitch/FDDI tests.
    pub const GIGASWITCH: [ChassisTest; 2] = [ChassisTest::Extrapolation, ChassisTest::ArpServer];
    /// Those of the IP9000 tests, in the order of the document's figures.
    pub const TOLLY: [ChassisTest; 5] = [
        ChassisTest::InternetScale,
        ChassisTest::LargeScaleMulticast,
        ChassisTest::MulticastMesh,
        ChassisTest::BaseUnicast,
        ChassisTest::BaseMulticast,
    ];

    /// The packet sizes of the document in bytes, where a test has sizes of its own.
    pub const fn sizes_bytes(self) -> Option<&'static [u32]> {
        match self {
            ChassisTest::InternetScale => Some(&[64]),
            ChassisTest::LargeScaleMulticast | ChassisTest::BaseMulticast => Some(&[64, 1518]),
            ChassisTest::MulticastMesh => Some(&[64, 128, 512, 1518]),
            _ => None,
        }
    }

    /// Those of RFC 3918. The capacity of groups comes first, since no test may use more; then the
    /// throughput, at which the delays are measured.
    pub const RFC3918: [ChassisTest; 13] = [
        ChassisTest::GroupCapacity,
        ChassisTest::AggregatedMulticast,
        ChassisTest::MixedClass,
        ChassisTest::ScaledGroups,
        ChassisTest::Encapsulation,
        ChassisTest::Decapsulation,
        ChassisTest::Reencapsulation,
        ChassisTest::MulticastLatency,
        ChassisTest::MinMaxLatency,
        ChassisTest::GroupJoinDelay,
        ChassisTest::GroupLeaveDelay,
        ChassisTest::BurdenedLatency,
        ChassisTest::BurdenedJoinDelay,
    ];

    /// The section of its document.
    pub const fn section(self) -> &'static str {
        match self {
            ChassisTest::FullyMeshed => "RFC 2889 section 5.1",
            ChassisTest::OneToMany | ChassisTest::ManyToOne | ChassisTest::OneAndMany => {
                "RFC 2889 section 5.2"
            }
            ChassisTest::BackboneLocal | ChassisTest::Backbone => "RFC 2889 section 5.3",
            ChassisTest::Unidirectional => "RFC 2889 section 5.4",
            ChassisTest::Congestion => "RFC 2889 section 5.5",
            ChassisTest::ForwardPressure => "RFC 2889 section 5.6",
            ChassisTest::AddressCaching => "RFC 2889 section 5.7",
            ChassisTest::AddressLearning => "RFC 2889 section 5.8",
            ChassisTest::ErroredFrames => "RFC 2889 section 5.9",
            ChassisTest::Broadcast | ChassisTest::BroadcastLatency => "RFC 2889 section 5.10",
            ChassisTest::MixedClass => "RFC 3918 section 4.1",
            ChassisTest::ScaledGroups => "RFC 3918 section 4.2",
            ChassisTest::AggregatedMulticast => "RFC 3918 section 4.3",
            ChassisTest::Encapsulation => "RFC 3918 section 4.4.1",
            ChassisTest::Decapsulation => "RFC 3918 section 4.4.2",
            ChassisTest::Reencapsulation => "RFC 3918 section 4.4.3",
            ChassisTest::MulticastLatency => "RFC 3918 section 5.1",
            ChassisTest::MinMaxLatency => "RFC 3918 section 5.2",
            ChassisTest::GroupJoinDelay => "RFC 3918 section 6.1",
            ChassisTest::GroupLeaveDelay => "RFC 3918 section 6.2",
            ChassisTest::GroupCapacity => "RFC 3918 section 7.1",
            ChassisTest::BurdenedLatency => "RFC 3918 section 8.1",
            ChassisTest::BurdenedJoinDelay => "RFC 3918 section 8.2",
            ChassisTest::Fanout | ChassisTest::Extrapolation | ChassisTest::ArpServer => {
                "DIGITAL GIGAswitch/FDDI System tests"
            }
            ChassisTest::InternetScale => "Tolly Group 8276, figure 2",
            ChassisTest::LargeScaleMulticast => "Tolly Group 8276, figure 3",
            ChassisTest::MulticastMesh => "Tolly Group 8276, figure 4",
            ChassisTest::BaseUnicast => "Tolly Group 8276, figure 5",
            ChassisTest::BaseMulticast => "Tolly Group 8276, figure 6",
        }
    }
}

impl fmt::Display for ChassisTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            ChassisTest::FullyMeshed => "fully meshed",
            ChassisTest::OneToMany => "one to many",
            ChassisTest::ManyToOne => "many to one",
            ChassisTest::OneAndMany => "one to many and back",
            ChassisTest::BackboneLocal => "two halves, all traffic",
            ChassisTest::Backbone => "two halves, backbone only",
            ChassisTest::Unidirectional => "unidirectional",
            ChassisTest::Congestion => "congestion control",
            ChassisTest::ForwardPressure => "forward pressure",
            ChassisTest::AddressCaching => "address caching capacity",
            ChassisTest::AddressLearning => "address learning rate",
            ChassisTest::ErroredFrames => "errored frames filtering",
            ChassisTest::Broadcast => "broadcast forwarding",
            ChassisTest::BroadcastLatency => "broadcast latency",
            ChassisTest::Fanout => "fan-out",
            ChassisTest::Extrapolation => "extrapolation to all ports",
            ChassisTest::ArpServer => "ARP server",
            ChassisTest::InternetScale => "Internet-scale routing",
            ChassisTest::LargeScaleMulticast => "large-scale multicast",
            ChassisTest::MulticastMesh => "multicast mesh",
            ChassisTest::BaseUnicast => "base unicast",
            ChassisTest::BaseMulticast => "base multicast",
            ChassisTest::MixedClass => "mixed class throughput",
            ChassisTest::ScaledGroups => "scaled group forwarding matrix",
            ChassisTest::AggregatedMulticast => "aggregated multicast throughput",
            ChassisTest::Encapsulation => "encapsulation throughput",
            ChassisTest::Decapsulation => "decapsulation throughput",
            ChassisTest::Reencapsulation => "re-encapsulation throughput",
            ChassisTest::MulticastLatency => "multicast latency",
            ChassisTest::MinMaxLatency => "min/max multicast latency",
            ChassisTest::GroupJoinDelay => "group join delay",
            ChassisTest::GroupLeaveDelay => "group leave delay",
            ChassisTest::GroupCapacity => "multicast group capacity",
            ChassisTest::BurdenedLatency => "forwarding burdened multicast latency",
            ChassisTest::BurdenedJoinDelay => "forwarding burdened group join delay",
        })
    }
}

/// Under which conditions a result was taken (RFC 2889 section 5.x.5).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ChassisConditions {
    /// Which test.
    pub test: ChassisTest,
    /// In bytes, FCS included.
    pub frame_size: u32,
    /// Ports that take part.
    pub ports: usize,
    /// Of the sending media.
    pub line_rate: LineRate,
    /// Whether the medium itself enforces it; false for a virtual link.
    pub line_rate_is_physical: bool,
    /// The medium's maximum for this size on each port, which is the maximum offered load.
    pub theoretical_max: FrameRate,
    /// Frames of a burst; 1 for constant load.
    pub burst_frames: u64,
    /// Source addresses of each port.
    pub addresses_per_port: u64,
    /// The first test frame, header by header (RFC 2889 section 4.1, RFC 2544 section 8); empty in runs saved
    /// before it was kept.
    #[serde(default)]
    pub frame_format: String,
    /// Intended length of a trial that counts.
    pub trial_duration: Duration,
    /// Where the test departs from its document, in words; empty where it conforms.
    pub deviations: Vec<String>,
    /// Which clauses of its documents it meets; empty in runs saved before they were judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clauses: Vec<Judged>,
}

impl ChassisConditions {
    /// Load mode, learning and the like, in words.
    pub fn describe(&self) -> String {
        let bursts = match self.burst_frames {
            1 => "constant load".to_string(),
            frames => format!("bursts of {frames} frames at the minimum gap"),
        };
        let addresses = match self.addresses_per_port {
            1 => "1 address a port".to_string(),
            count => format!("{count} addresses a port, pairs at random"),
        };
        format!(
            "{} ports; frame based, {bursts}, {addresses}, {} s; addresses learned before each trial",
            self.ports,
            self.trial_duration.as_secs_f64()
        )
    }
}

/// The result of one test of a chassis for one frame size.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChassisResult {
    /// RFC 2889 sections 5.1 to 5.4 and the forwarding part of 5.10.
    Mesh(MeshResult),
    /// RFC 2889 section 5.5.
    Congestion(CongestionResult),
    /// RFC 2889 section 5.6.
    ForwardPressure(ForwardPressureResult),
    /// RFC 2889 sections 5.7 and 5.8.
    Addresses(AddressResult),
    /// RFC 2889 section 5.9.
    Errored(ErroredResult),
    /// RFC 2889 section 5.10, latency.
    BroadcastLatency(BroadcastLatencyResult),
    /// The fan-out test with one number of ports.
    Fanout(FanoutResult),
    /// What it says of all ports.
    Extrapolation(ExtrapolationResult),
    /// The ARP server test.
    ArpServer(ArpServerResult),
    /// The IP9000 tests.
    Tolly(TollyResult),
    /// RFC 3918 sections 4.1, 4.3 and 4.4.
    MulticastThroughput(MulticastThroughputResult),
    /// RFC 3918 section 4.2.
    ScaledGroups(ScaledGroupsResult),
    /// RFC 3918 sections 5 and 8.1.
    MulticastLatency(MulticastLatencyResult),
    /// RFC 3918 sections 6 and 8.2.
    GroupDelay(GroupDelayResult),
    /// RFC 3918 section 7.1.
    GroupCapacity(GroupCapacityResult),
}

impl ChassisResult {
    /// Under which conditions.
    pub fn conditions(&self) -> &ChassisConditions {
        match self {
            ChassisResult::Mesh(result) => &result.conditions,
            ChassisResult::Congestion(result) => &result.conditions,
            ChassisResult::ForwardPressure(result) => &result.conditions,
            ChassisResult::Addresses(result) => &result.conditions,
            ChassisResult::Errored(result) => &result.conditions,
            ChassisResult::BroadcastLatency(result) => &result.conditions,
            ChassisResult::Fanout(result) => &result.conditions,
            ChassisResult::Extrapolation(result) => &result.conditions,
            ChassisResult::ArpServer(result) => &result.conditions,
            ChassisResult::Tolly(result) => &result.conditions,
            ChassisResult::MulticastThroughput(result) => &result.conditions,
            ChassisResult::ScaledGroups(result) => &result.conditions,
            ChassisResult::MulticastLatency(result) => &result.conditions,
            ChassisResult::GroupDelay(result) => &result.conditions,
            ChassisResult::GroupCapacity(result) => &result.conditions,
        }
    }
    /// The same, to put into them what was judged at the end.
    pub(crate) fn conditions_mut(&mut self) -> &mut ChassisConditions {
        match self {
            ChassisResult::Mesh(result) => &mut result.conditions,
            ChassisResult::Congestion(result) => &mut result.conditions,
            ChassisResult::ForwardPressure(result) => &mut result.conditions,
            ChassisResult::Addresses(result) => &mut result.conditions,
            ChassisResult::Errored(result) => &mut result.conditions,
            ChassisResult::BroadcastLatency(result) => &mut result.conditions,
            ChassisResult::Fanout(result) => &mut result.conditions,
            ChassisResult::Extrapolation(result) => &mut result.conditions,
            ChassisResult::ArpServer(result) => &mut result.conditions,
            ChassisResult::Tolly(result) => &mut result.conditions,
            ChassisResult::MulticastThroughput(result) => &mut result.conditions,
            ChassisResult::ScaledGroups(result) => &mut result.conditions,
            ChassisResult::MulticastLatency(result) => &mut result.conditions,
            ChassisResult::GroupDelay(result) => &mut result.conditions,
            ChassisResult::GroupCapacity(result) => &mut result.conditions,
        }
    }
    /// Which test.
    pub fn kind(&self) -> TestKind {
        TestKind::Chassis(self.conditions().test)
    }
    /// Its figures, with what they hold for.
    pub fn outcome(&self) -> Outcome {
        match self {
            ChassisResult::Mesh(result) => result.outcome(),
            ChassisResult::Congestion(result) => result.outcome(),
            ChassisResult::ForwardPressure(result) => result.outcome(),
            ChassisResult::Addresses(result) => result.outcome(),
            ChassisResult::Errored(result) => result.outcome(),
            ChassisResult::BroadcastLatency(result) => result.outcome(),
            ChassisResult::Fanout(result) => result.outcome(),
            ChassisResult::Extrapolation(result) => result.outcome(),
            ChassisResult::ArpServer(result) => result.outcome(),
            ChassisResult::Tolly(result) => result.outcome(),
            ChassisResult::MulticastThroughput(result) => result.outcome(),
            ChassisResult::ScaledGroups(result) => result.outcome(),
            ChassisResult::MulticastLatency(result) => result.outcome(),
            ChassisResult::GroupDelay(result) => result.outcome(),
            ChassisResult::GroupCapacity(result) => result.outcome(),
        }
    }
    /// Why nothing is known of the device: the tester did not keep up; empty where something is.
    pub fn invalid_reasons(&self) -> &[String] {
        match self {
            ChassisResult::Mesh(result) => result.throughput.invalid_reasons(),
            ChassisResult::Fanout(result) => result.throughput.invalid_reasons(),
            ChassisResult::Congestion(result) => &result.invalid,
            ChassisResult::ForwardPressure(result) => result.throughput.invalid_reasons(),
            ChassisResult::Addresses(result) => &result.invalid,
            ChassisResult::Errored(result) => &result.invalid,
            ChassisResult::BroadcastLatency(result) => &result.invalid,
            ChassisResult::ArpServer(result) => &result.invalid,
            ChassisResult::Tolly(result) => result.invalid_reasons(),
            ChassisResult::MulticastThroughput(result) => result.throughput.invalid_reasons(),
            ChassisResult::ScaledGroups(result) => &result.invalid,
            ChassisResult::MulticastLatency(result) => &result.invalid,
            ChassisResult::GroupDelay(result) => &result.invalid,
            ChassisResult::GroupCapacity(result) => &result.invalid,
            ChassisResult::Extrapolation(_) => &[],
        }
    }
}
