//! Under which conditions a result was taken: what every table must say beside its numbers.

use crate::chassis::ChassisTest;
use crate::clauses::Facts;
use crate::harvard::y1989::Test1989;
use crate::outcome::{Figure, Layout, Outcome};
use crate::own_test::OwnTest;
use crate::pattern::Pattern;
use serde::{Deserialize, Serialize};
use std::fmt;
use units::{FrameRate, LineRate};

/// The tests of a suite.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestKind {
    /// The tester measures itself, its ports looped.
    SelfTest,
    /// RFC 2544 section 26.1.
    Throughput,
    /// RFC 2544 section 26.2 and RFC 8219 section 7.2.
    Latency,
    /// RFC 8219 section 7.3.1.
    Pdv,
    /// RFC 8219 section 7.3.2.
    Ipdv,
    /// RFC 2544 section 26.3.
    FrameLoss,
    /// RFC 2544 section 26.4 as RFC 9004 has it.
    BackToBack,
    /// RFC 2544 section 26.5.
    Recovery,
    /// RFC 2544 section 26.6 as RFC 6201 has it.
    Reset,
    /// Time through the device with few frames (Harvard tests).
    Delay,
    /// Highest rate without loss, by steps of the gap between frames (Harvard tests).
    MaxRate,
    /// What comes out when the tester sends with its shortest gap (Harvard tests).
    RawRate,
    /// The raw rate of two streams at once (Harvard tests).
    DualStream,
    /// The max rate of two streams at once (Harvard tests).
    DualMaxRate,
    /// One of the router tests of 1989.
    #[serde(rename = "harvard_1989")]
    Harvard1989(Test1989),
    /// A test of many ports.
    Chassis(ChassisTest),
    /// A test that was registered from outside.
    Own(OwnTest),
}

impl TestKind {
    /// Whether it is one of the Harvard tests.
    pub const fn is_harvard(self) -> bool {
        use TestKind::*;
        matches!(self, Delay | MaxRate | RawRate | DualStream | DualMaxRate | Harvard1989(_))
    }
}

impl fmt::Display for TestKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            TestKind::SelfTest => "self-test",
            TestKind::Throughput => "throughput",
            TestKind::Latency => "latency",
            TestKind::Pdv => "packet delay variation",
            TestKind::Ipdv => "inter-packet delay variation",
            TestKind::FrameLoss => "frame loss rate",
            TestKind::BackToBack => "back-to-back frames",
            TestKind::Recovery => "system recovery",
            TestKind::Reset => "reset",
            TestKind::Delay => "delay",
            TestKind::MaxRate => "max rate",
            TestKind::RawRate => "raw rate",
            TestKind::DualStream => "raw rate of two streams",
            TestKind::DualMaxRate => "max rate of two streams",
            TestKind::Harvard1989(test) => return test.fmt(f),
            TestKind::Chassis(test) => return test.fmt(f),
            TestKind::Own(test) => return test.fmt(f),
        })
    }
}

/// Where the numbers of a configuration come from before they are overridden.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// As the RFCs have it.
    #[default]
    Rfc,
    /// Trials of seconds, enough of them to decide: not conformant, and every result says so.
    Minutes,
    /// Short trials and few of them, for a first look: not conformant, and every result says so.
    Quick,
}

/// Which ports send.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the first port to the second.
    #[default]
    Unidirectional,
    /// Both ways at the same rate (RFC 2544 section 14); loss in either direction is loss.
    Bidirectional,
}

/// What is mixed into the test frames (RFC 2544 section 11).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Modifier {
    /// Nothing.
    #[default]
    None,
    /// 1 % of the frames go to the broadcast address (section 11.1).
    Broadcast,
    /// The first frame of each second is an SNMP query (section 11.2).
    Management,
    /// Routing updates of two alternating states (section 11.3).
    RoutingUpdate,
}

impl fmt::Display for Modifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Modifier::None => "none",
            Modifier::Broadcast => "broadcast frames",
            Modifier::Management => "management frames",
            Modifier::RoutingUpdate => "routing update frames",
        })
    }
}

/// Everything about a result that is not the result.
///
/// **All rates are those of one direction**, that is of each transmitting port; with two
/// directions the device carries twice as much, with more ports so many times as much.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Conditions {
    /// As it was asked for: `64`, or the name of an IMIX. FCS included.
    pub frame_size: String,
    /// The same as a number, FCS included; the mean where sizes differ.
    pub mean_frame_size_bytes: f64,
    /// Which ports send.
    pub direction: Direction,
    /// Which of them send to which.
    #[serde(default, skip_serializing_if = "Pattern::is_pair")]
    pub pattern: Pattern,
    /// So many send, each at the rates stated; 0 in runs saved before it was kept.
    #[serde(default)]
    pub transmitting_ports: usize,
    /// What is mixed in.
    pub modifier: Modifier,
    /// Protocol and stream format in words: "UDP over IPv4, one address pair".
    pub traffic: String,
    /// The first frame of each kind and direction, header by header: addresses, ports, TTL (RFC 2544 section
    /// 8); empty in runs saved before it was kept.
    #[serde(default)]
    pub frame_formats: Vec<String>,
    /// Packet filters configured on the device, in words; empty for none.
    pub filters: String,
    /// Rate of the sending medium that `theoretical_max` is computed from.
    pub line_rate: LineRate,
    /// Whether the medium itself enforces it; false for a virtual link, whose rate is nominal.
    pub line_rate_is_physical: bool,
    /// The medium's maximum for this size (RFC 2544 section 20).
    pub theoretical_max: FrameRate,
    /// What the tester reaches by itself with this size, from the self-test: the 90th percentile of its
    /// trials, since it was held up by chance in the others.
    pub tester_max: Option<FrameRate>,
    /// The most that it could offer to this device, where that is less than it reaches by itself.
    #[serde(default)]
    pub tester_reach: Option<FrameRate>,
    /// What the frames of this size cannot measure, and why.
    pub given_up: Vec<String>,
}

/// Number of rules of a packet filter that is stated in words, such as `25 rules, the permit last`; 0 where none is
/// known of.
pub fn rules_in(filters: &str) -> u32 {
    let first = filters.split_whitespace().next().unwrap_or_default();
    first.parse().unwrap_or(0)
}

impl Conditions {
    /// The outcome of a test under these conditions.
    pub fn outcome(&self, test: TestKind, figures: Vec<Figure>, invalid: &[String]) -> Outcome {
        Outcome::new(test, self, figures, invalid).judged_by(Facts::under(self))
    }

    /// An empty table under the conditions, the medium and the format of the frames.
    pub fn layout(&self, heading: &str, columns: &[&str]) -> Layout {
        let mut about = vec![format!("{}; {}", self.in_words(), self.medium())];
        if !self.frame_formats.is_empty() {
            about.push(format!("frame format: {}", self.frame_formats.join("; ")));
        }
        Layout { group: self.in_words(), ..Layout::new(heading, about, columns) }
    }

    /// The medium that theoretical maxima are computed from.
    pub(crate) fn medium(&self) -> String {
        match self.line_rate_is_physical {
            true => format!("Ethernet at {}", self.line_rate),
            false => format!(
                "virtual Ethernet, nominally {} (the medium itself does not enforce it)",
                self.line_rate
            ),
        }
    }

    /// Protocol, stream format and direction, as RFC 2544 section 26.1 wants them beside a graph.
    pub fn in_words(&self) -> String {
        let mut parts = vec![self.traffic.clone()];
        let ports = self.transmitting_ports;
        parts.push(match (self.pattern, self.direction) {
            (Pattern::Pair, Direction::Unidirectional) => "unidirectional".into(),
            (Pattern::Pair, Direction::Bidirectional) => {
                "bidirectional (all rates are those of one direction)".into()
            }
            (_, Direction::Unidirectional) => {
                format!("unidirectional (all rates are those of one of {ports} transmitting ports)")
            }
            (_, Direction::Bidirectional) => {
                format!("bidirectional (all rates are those of one of {ports} transmitting ports)")
            }
        });
        if self.modifier != Modifier::None {
            parts.push(format!("with {}", self.modifier));
        }
        if !self.filters.is_empty() {
            parts.push(format!("filters: {}", self.filters));
        }
        parts.retain(|part| !part.is_empty());
        parts.join("; ")
    }
}
