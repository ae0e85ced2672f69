//! Many ports at once: which port sends to which, in what order, and what came of each pair.
//!
//! [`Pattern`] is the order of destinations, exactly as RFC 2889 has it; a [`TestSetup`] makes trials of
//! it; a [`PortMatrix`] is what came of each pair of ports. The tests of [`rfc2889`](crate::rfc2889),
//! [`gigaswitch`](crate::gigaswitch) and [`tolly`](crate::tolly) are made of these.

mod config;
mod figures;
mod layout;
mod load;
mod test_setup;

pub use crate::burst::Bursts;
pub use crate::outcome::{PairCount, PortMatrix};
pub use crate::{Pattern, Turn};
pub use config::{
    AddressConfig, ArpServerConfig, ChassisConfig, ErroredConfig, FanoutConfig,
    ForwardPressureConfig,
};
pub(crate) use figures::latency_spread;
pub(crate) use layout::percent;
pub use load::{LoadPoint, Throughput};
pub(crate) use load::{Loads, highest_load, highest_load_of, point_at, shortfall_words};
pub(crate) use test_setup::Draft;
pub(crate) use test_setup::TablesKnown;
pub use test_setup::TestSetup;

use crate::Modifier;
use serde::{Deserialize, Serialize};
use std::fmt;
use units::{Duration, FrameRate, LineRate};

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
    /// What frames are made of, as far as it was asked for.
    #[serde(default)]
    pub traffic: Vec<String>,
    /// What is mixed in.
    #[serde(default)]
    pub modifier: Option<Modifier>,
    /// The highest rate of a port that the tester reaches by itself, where that was measured.
    #[serde(default)]
    pub tester_max: Option<FrameRate>,
}

#[cfg(test)]
impl ChassisConditions {
    /// Of a result that was never measured: constant load, trials of a second.
    pub(crate) fn sample(test: ChassisTest, (frame_size, ports): (u32, usize)) -> Self {
        let line_rate = LineRate::from_mbps(100);
        ChassisConditions {
            test,
            frame_size,
            ports,
            line_rate,
            line_rate_is_physical: true,
            theoretical_max: line_rate.max_frame_rate(units::FrameSize::from_bytes(frame_size)),
            burst_frames: 1,
            addresses_per_port: 1,
            frame_format: String::new(),
            trial_duration: Duration::from_secs(1),
            traffic: vec![],
            modifier: None,
            tester_max: None,
        }
    }
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
        let mut words = format!(
            "{} ports; frame based, {bursts}, {addresses}, {} s; addresses learned before each trial",
            self.ports,
            self.trial_duration.as_secs_f64()
        );
        for more in self.traffic_in_words() {
            words += &format!("; {more}");
        }
        words
    }

    /// What was asked for of frames, and what is mixed in: what outcomes of a test may differ in.
    pub(crate) fn traffic_in_words(&self) -> Vec<String> {
        let modifier = self.modifier.map(|modifier| format!("with {modifier}"));
        self.traffic.iter().cloned().chain(modifier).collect()
    }
}
