//! Real ports, and the [`Tester`](trial::Tester) made of them.
//!
//! This crate is an edge of the project by nature: it owns the clock, the sockets, the threads
//! and nearly all of the unsafe code. Therefore it opts out of two of the workspace's rules, as a
//! whole: unsafe code (each block says why it is sound) and the ban on clocks and sleeps. What is
//! counted and when frames leave is not decided here but in [`trial::Transmitter`] and
//! [`trial::Receiver`].
//!
//! Sockets belong to the network namespace in which they were opened. Open ports on a thread
//! inside the namespace of the interfaces; afterwards they may be used from anywhere.
#![allow(unsafe_code)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod af_packet;
mod af_xdp;
mod capture;
mod capture_file;
mod choose;
pub mod clock;
mod control;
pub mod cores;
mod ethtool;
mod interface;
mod live;
mod lock;
mod loose;
mod namespace;
mod open;
mod own_fcs;
mod port;
mod pressure;
mod probe;
mod pump;
mod pumped;
mod recorder;
mod sampling;
pub mod scheduling;
mod session;
mod shield;
mod sys;
mod tally;
mod turns;
mod watch;
pub mod witness;
pub mod xdp;

pub use af_packet::AfPacketPort;
pub use af_xdp::AfXdpPort;
pub use capture::{CaptureWish, Captured, CapturedFrame};
pub use choose::{Choice, Facts, PortType, choose};
pub use control::Host;
pub use ethtool::Ethtool;
pub use interface::{Interface, InterfaceCounters, InterfaceState};
pub use live::{
    DeviceControl, DeviceCounts, DeviceLink, LiveOptions, LiveTester, PlaceCount, RealTime,
};
pub use lock::PortLock;
pub use loose::{FrameListener, FrameSender};
pub use open::{OpenPort, PortRequest, open_port, open_port_with_room, open_ports};
pub use port::{
    Halves, Port, ReceiveHalf, ReceiveTurns, Transmission, TransmitHalf, TransmitTurns,
    TrialSignals,
};
pub use pressure::DeviceThread;
