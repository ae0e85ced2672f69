//! Virtual time: simulated links and devices whose truth is known, and a tester that runs trials
//! on them.
//!
//! Two fidelities, both behind [`trial::Tester`]:
//! * [`SimTester`] moves every frame: transmitter, link, device, link, receiver. Transmitter and
//!   receiver are the ones the live ports use, so that what is tested here holds there. Links are
//!   Ethernet, full or half duplex, of any rate, or FDDI, full duplex or on rings with tokens; the tester
//!   has limits of its own (gap, clock, resolution).
//! * [`ClosedForm`] computes a trial's counts from a law (a capacity, a noise), for tests of
//!   searches that run thousands of trials.
//!
//! Devices are put together. A [`Composed`] one is made of what its [`Description`] says: queues,
//! processors, tables, counters; a [`StoreAndForward`] server and a [`Patch`] are the simplest ones,
//! that look at no frame. Each may be [`Impaired`] by [`Rule`]s around it. Same seed, same bytes,
//! same result.
//!
//! # Example
//!
//! A device that forwards 1,000 frames a second and keeps 10 that wait, and a second of 1,500:
//!
//! ```
//! use sim::{QueueLimit, SimPort, SimTester, StoreAndForward};
//! use std::net::Ipv4Addr;
//! use trial::{PortId, Schedule, Stream, StreamId, Tester, Trial};
//! use units::{Duration, FrameRate, FrameSize, LineRate};
//! use traffic::template::FrameTemplate;
//! use wire::{ethernet::MacAddr, signature::Key};
//!
//! let capacity = FrameRate::from_fps(1_000);
//! let device = StoreAndForward::with_capacity(capacity, QueueLimit::Frames(10));
//! let mut tester = SimTester::new(&[SimPort::physical(LineRate::from_mbps(100)); 2], device);
//!
//! let end = |n| (MacAddr([2, 0, 0, 0, 0, n]), Ipv4Addr::new(198, 18, n, 2));
//! let frames = FrameTemplate::udp_ipv4(end(0), end(1));
//! let (key, size) = (Key::from_seed(1), FrameSize::from_bytes(128));
//! let stream = Stream::new(StreamId(1), (PortId(0), PortId(1)), &frames, size, key)?;
//! let schedule = Schedule::constant(FrameRate::from_fps(1_500), Duration::from_secs(1));
//! let result = tester.run(&Trial::new("overload", key).sending(stream, schedule))?;
//!
//! assert!(result.is_valid());
//! assert_eq!(result.lost_frames(), tester.device().dropped());
//! // Of 1,500 frames 1,000 are forwarded in that second; 10 wait at its end, and one is being forwarded.
//! assert!((488..=490).contains(&result.lost_frames()), "{}", result.lost_frames());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod closed_form;
mod composed;
mod device;
mod evidence;
mod fddi;
mod frame;
mod impair;
mod link;
mod link_counts;
mod medium;
mod port;
mod rules;
mod running;
mod sender;
mod soonest;
mod store_and_forward;
mod tester;

pub use closed_form::{ClosedForm, Law, Offered, Response, laws};
pub use composed::{
    Addresses, Arbitration, ArpServer, BUILT_IN, BuiltIn, Card, Composed, Cost, Counter, Cpu,
    CpuServers, Description, DescriptionError, Fabric, Filter, FilterAction, FilterBy, FilterRule,
    FlowControl, Impair, Interface, Learning, Misbehaviour, Multicast, PORTS_MAX, Pauses,
    Processor, Protocol, Queue, Reset, RingTimes, Routes, StaticRoute, Table, TesterLimits,
};
pub use device::{Departing, DeviceUnderTest, Patch};
pub use frame::Frame;
pub use impair::{Fate, Impaired, Rule};
pub use port::{Duplex, Lines, Medium, RingSetup, SimPort};
pub use rules::{EveryNth, Noise, Outage, Policer};
pub use sender::{Limits, Stall};
pub use store_and_forward::{QueueLimit, Servers, StoreAndForward};
pub use tester::SimTester;
