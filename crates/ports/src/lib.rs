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
//!
//! # Example
//!
//! A tester on two interfaces that are joined by a device or a cable; as root:
//!
//! ```no_run
//! use ports::{LiveOptions, LiveTester, PortRequest, PortType, open_ports};
//! use trial::{PortId, Tester};
//! use units::{FrameSize, LineRate};
//!
//! let request = |(id, interface): (u16, &str)| PortRequest {
//!     id: PortId(id),
//!     interface: interface.into(),
//!     nominal_rate: LineRate::from_gbps(10),
//!     largest_frame: FrameSize::from_bytes(1518),
//!     port_type: PortType::AUTO,
//!     queues: 1,
//! };
//! let ports = open_ports(&[(0, "eth1"), (1, "eth2")].map(request))?;
//! let tester = LiveTester::new(ports, LiveOptions::default())?;
//! for port in &tester.describe().ports {
//!     println!("{}: {}, {}", port.name, port.port_type, port.reason);
//! }
//! # Ok::<(), trial::TesterError>(())
//! ```
//!
//! Which type of port `auto` becomes is decided by what the host allows, and needs no right to be asked:
//!
//! ```
//! use ports::{Facts, PortType, choose};
//!
//! let facts = Facts {
//!     xdp_built: Ok(()),
//!     bpf_allowed: Err("BPF programs need root".into()),
//!     driver_xdp: None,
//!     xdp_sends: None,
//!     xdp_frame_size_max_bytes: 3404,
//!     frame_size_bytes: 1518,
//!     ports_and_cores: (2, 2),
//! };
//! assert_eq!(choose(PortType::AUTO, &facts).port_type, PortType::AF_PACKET);
//! ```
#![allow(unsafe_code)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod af_packet;
mod af_xdp;
mod capture;
mod capture_file;
mod carrier;
pub mod clock;
mod control;
pub mod cores;
pub mod dpdk;
mod groups;
mod interface;
mod kind;
mod link;
mod live;
mod live_trial;
mod location;
mod lock;
mod loose;
mod open;
mod own_fcs;
mod port;
mod pressure;
mod probe;
mod pump;
mod pumped;
mod queues;
mod recorder;
mod sampling;
pub mod scheduling;
mod shield;
mod signals;
mod sys;
mod tally;
mod turns;
mod watch;
pub mod witness;
pub mod xdp;

pub use af_packet::AfPacketPort;
pub use af_xdp::AfXdpPort;
pub use capture::{CaptureWish, Captured, CapturedFrame};
pub use control::{ControlHandle, ControlSocket, Host, control_socket};
pub use interface::Interface;
pub use kind::{Choice, Facts, Opened, OpenedDevice, PortKind, PortType, Room, choose};
pub use link::Link;
pub use live::{
    DeviceControl, DeviceCounts, DeviceLink, LiveOptions, LiveTester, PlaceCount, RealTime,
};
pub use location::Location;
pub use lock::PortLock;
pub use loose::{FrameListener, FrameSender};
pub use open::{OpenPort, PortRequest, open_port, open_port_of, open_port_with_room, open_ports};
pub use port::{
    CatchUp, Halves, PerhapsFull, Port, ReceiveHalf, ReceiveTurns, Transmission, TransmitHalf,
    TransmitTurns,
};
pub use pressure::DeviceThread;
pub use signals::{ArrivalsSoFar, ReceiveQueue, TrialSignals};
pub use watch::settle_thread;

/// The kinds of port that a user can name: those of interfaces, fastest first, then those of other devices.
pub static KINDS: [&dyn PortKind; 4] =
    [&xdp::Xdp, &af_xdp::AfXdp, &af_packet::AfPacket, &dpdk::Dpdk];
