//! Everything that runs **one** trial, and nothing that decides which trial comes next.
//!
//! The path of a trial, in the order in which the files are best read:
//!
//! 1. [`Stream`] says *what* is sent: a period of ready frames, where they enter and where they
//!    should come out. [`Schedule`] says *when*: the departure of frame `k`, computed from `k`.
//! 2. [`Trial`] puts streams and schedules on ports, with the duration and the waiting times of
//!    RFC 2544 section 23. [`Trial::transmit_plans`] and [`Trial::receive_plan`] turn it into what
//!    a port needs.
//! 3. [`Transmitter`] and [`Receiver`] are pure: time is an argument. The live ports and the
//!    simulator drive the same two.
//! 4. [`TrialResult`] keeps counts, per stream and port; ratios are derived. [`validity`] judges
//!    the tester before anybody judges the device.
//! 5. [`Tester`] is the boundary: a test method sees only this.
//!
//! # Example
//!
//! A trial of 1,000 frames, and what a port is told to send. Any [`Tester`] runs it: the simulator of
//! `netanvil-sim`, the live ports of `netanvil-ports`.
//!
//! ```
//! use std::net::Ipv4Addr;
//! use trial::{PortId, Schedule, Stream, StreamId, Trial};
//! use units::{Duration, FrameRate, FrameSize};
//! use traffic::template::FrameTemplate;
//! use wire::{ethernet::MacAddr, signature::Key};
//!
//! let end = |n| (MacAddr([2, 0, 0, 0, 0, n]), Ipv4Addr::new(198, 18, n, 2));
//! let frames = FrameTemplate::udp_ipv4(end(0), end(1));
//! let (key, size) = (Key::from_seed(1), FrameSize::from_bytes(128));
//! let stream = Stream::new(StreamId(1), (PortId(0), PortId(1)), &frames, size, key)?;
//! let schedule = Schedule::constant(FrameRate::from_fps(500), Duration::from_secs(2));
//! let trial = Trial::new("a first trial", key).sending(stream, schedule);
//!
//! let plan = &trial.transmit_plans()?[0];
//! assert_eq!((plan.port, plan.schedule.frames()), (PortId(0), 1_000));
//! assert_eq!(plan.schedule.departure(999), Duration::from_ms(1_998));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod account;
mod allowance;
pub mod balance;
pub mod clocks;
mod compose;
#[cfg(feature = "conformance")]
pub mod conformance;
mod cycle;
mod device_counts;
mod flows;
mod frame_set;
mod histogram;
mod identity;
mod latency_form;
mod leftovers;
mod plan;
pub mod pressure;
mod query_responder;
mod queue_account;
mod receiver;
mod result;
mod sample;
mod schedule;
mod seen;
mod slips;
mod stream;
mod sustained;
mod tester;
mod transmitter;
#[allow(clippy::module_inception)]
mod trial;
mod unwanted;
pub mod validity;
mod waits;

pub use account::{DelayVariation, Silence, StreamAccount};
pub use allowance::{Allowance, LetOut, allowance, let_out};
pub use balance::{Balance, DevicePlace, Fate, Leg, Part, Station, TakenIn};
pub use clocks::PortClock;
pub use cycle::Cycle;
pub use device_counts::{Counted, DeviceCount, DeviceSetup, PacketFilter, counted_between};
pub use flows::{FlowCounts, FlowRun, sent_of_flow};
pub use frame_set::{FrameSet, Slot};
pub use histogram::{Histogram, percentile_rank};
pub use identity::TrialIdentity;
pub use latency_form::{BitTimes, LatencyForm};
pub use leftovers::Leftovers;
pub use plan::{
    ByQueues, ExpectedStream, Insertion, QUEUES_MAX, ReceivePlan, Tagging, TransmitPlan, Trigger,
    queues_used,
};
pub use pressure::{
    LinkChanges, Owner, PortBalance, Pressure, ProcessorUse, ThreadPressure, held_up_in,
};
pub use query_responder::{QueryCounts, QueryResponder};
pub use queue_account::QueueAccount;
pub use receiver::{Arrival, Receiver};
pub use result::{
    Arrived, ByLength, Deferred, Paused, PortCounters, PortReceived, PortSent, StreamReceived,
    StreamResult, TransmitReport, TrialResult,
};
pub use sample::{Observer, ReceivedSoFar, Sample, SentSoFar, Unobserved};
pub use schedule::{Departures, Schedule, Segment};
pub use seen::{Missing, SeenSet};
pub use slips::Slips;
pub use stream::{Expectation, Fingerprint, PortId, Role, Stream, StreamFrame, StreamId};
pub use sustained::{Sustained, sustained, sustained_beside};
pub use tester::{
    ArrivalStamp, Capabilities, DeviceAction, PortDescription, Tester, TesterDescription,
    TesterError,
};
pub use transmitter::{Emitted, Places, Transmitter};
pub use trial::{CaptureRequest, PortLoad, Prelude, Trial};
pub use validity::{InvalidReason, Validity, ValidityLimits};
pub use waits::{LATE_FROM, LATE_MAX, Patience, Residual, Residue, Waits};
