//! Test methods: which trial comes next, and what the outcome means.
//!
//! A method is an ordinary function over a [`trial::Tester`], so that it reads like the standard.
//! It knows no port, no simulator and no clock: waiting is asked of the tester. Everything it
//! learns goes to an [`EventSink`] the moment it is known; its result is plain data.
//!
//! The way of a run, in the order in which the files are best read: [`SuiteConfig`] says what to
//! do, [`Topology`] and [`Traffic`] with what; a [`Bench`] runs the trials and repeats invalid
//! ones; a [`search`] chooses loads; the tests in [`rfc2544`] and [`harvard`] are made of these.
//!
//! # Example
//!
//! The throughput of RFC 2544 section 26.1 for 64-byte frames, of a simulated router whose truth is known:
//!
//! ```
//! use method::{Forwarding, Profile, Suite, SuiteConfig, TestKind, Topology};
//! use sim::{QueueLimit, SimPort, SimTester, StoreAndForward};
//! use units::{FrameRate, FrameSize, LineRate};
//! use traffic::size::SizePattern;
//!
//! let capacity = FrameRate::from_fps(50_000);
//! let router = StoreAndForward::with_capacity(capacity, QueueLimit::Frames(64));
//! let mut tester = SimTester::new(&[SimPort::physical(LineRate::from_mbps(100)); 2], router);
//!
//! let mut config = SuiteConfig::of(Profile::Quick);
//! config.tests = vec![TestKind::Throughput];
//! config.frame_sizes = vec![SizePattern::Fixed(FrameSize::from_bytes(64))];
//! let suite = Suite {
//!     program: "an example".into(),
//!     device: "a router of 50,000 frames/s".into(),
//!     environment: Default::default(),
//!     config,
//!     topology: Topology::plan(Forwarding::Routed),
//!     self_test: None,
//!     more: &[],
//! };
//! let mut events = vec![];
//! suite.run(&mut tester, None, &mut events)?;
//!
//! let outcomes = events.iter().filter_map(|event| match event {
//!     method::Event::TestFinished(outcome) => Some(outcome),
//!     _ => None,
//! });
//! let figures: Vec<_> = outcomes.flat_map(|outcome| &outcome.figures).collect();
//! let throughput = figures.iter().find(|figure| figure.name == "throughput").expect("a figure");
//! let (low, high) = throughput.bounds();
//! assert!(low <= 50_000.0 && 50_000.0 <= high, "{low} to {high} frames/s");
//! # Ok::<(), method::RunError>(())
//! ```

mod bench;
mod besides;
mod burst;
pub mod chassis;
pub mod clauses;
mod clocks;
mod conditions;
mod config;
pub mod consistency;
mod cost;
mod course;
mod encapsulation;
mod error;
mod estimate;
mod event;
mod found;
pub mod generator;
pub mod gigaswitch;
mod goal_search;
pub mod harvard;
mod ipv6_traffic;
mod lanes;
mod latency_definition;
mod let_out;
mod modifiers;
mod on_and_on;
pub mod outcome;
mod own_test;
mod pattern;
mod protocol;
mod rate_search;
mod reach;
pub mod registry;
mod residence;
mod resume;
pub mod rfc2544;
pub mod rfc2889;
pub mod rfc3918;
pub mod rfc8219;
pub mod search;
mod search_config;
mod selftest;
mod stamps;
mod subject;
mod suite;
mod sustained;
mod taken;
mod tokens;
pub mod tolly;
mod traffic;
pub mod versus;

pub use bench::{Bench, Ran, Request};
pub use conditions::{Conditions, Direction, Modifier, Profile, TestKind, rules_in};
pub use config::{
    BackToBackConfig, FrameLossConfig, IpdvConfig, LatencyConfig, Method, PdvConfig,
    RecoveryConfig, ResetConfig, ResetKind, SelfTestConfig, SuiteConfig, ThroughputConfig,
    TrialConfig,
};
pub use cost::{CostFound, CostPerFrame};
pub use course::Moment;
pub use encapsulation::{Encapsulated, Encapsulation};
pub use error::RunError;
pub use event::{
    EVENT_FORMAT, EVENT_FORMAT_OLDEST, Event, EventSink, RunFinished, RunStarted, SearchBounds,
    SinkError, TestRepeated, TestStarted, TrialRecord, TrialStarted, Verdict,
};
pub use found::{Buffered, Finding, LatencySummary, RateFound, Spread, median, percentile};
pub use ipv6_traffic::ExtensionHeader;
pub use lanes::{Lane, MakeLane};
pub use latency_definition::LatencyDefinition;
pub use outcome::{Figure, FigureName, Outcome, TestConditions};
pub use own_test::OwnTest;
pub use pattern::{Pattern, Turn};
pub use protocol::{LegacyAddresses, Protocol};
pub use rate_search::judge_loss;
pub use resume::{Recorded, ResumingTester};
pub use search_config::{GoalConfig, SearchConfig, SearchPolicy};
pub use selftest::{Reached, SelfTest, SelfTestSize, self_test_size};
pub use subject::Subject;
pub use suite::Suite;
pub use traffic::{
    Attachment, Destinations, Flows, Forwarding, IPV6_PREFIXES, OriginalBed, Placed, PlacedPort,
    Rewrites, Tags, TestBed, Topology, Traffic, TrafficConfig, TrialShape, Vary,
};
