//! Ports of other hosts: an agent lends them, and a tester uses them as its own.
//!
//! An [`Agent`] runs on each host and lends its ports to one tester at a time. The tester [`borrow`]s them: a
//! borrowed port is a [`ports::Port`], so that [`ports::LiveTester`] runs trials on it as on any other. Plans go to the
//! agent before a trial, reports come back; frames never cross the connection.
//!
//! ```text
//! tester                              agent
//! Session   -- Hello, Exchange.. -->  one session at a time
//!           -- MapClock ----------->  the agent's clock is converted to the tester's (clock_bounds, ntp_bounds)
//!           -- Lend --------------->  opens the port, holds its lock
//!           -- PrepareReceive .. -->  the halves make ready
//!           -- Receive, Transmit -->  threads run them
//!           -- Poll, every 5 ms --->  each one is an exchange of times, too
//! ```
//!
//! This crate is an edge of the project: sockets, threads and the clock are its work. Pure parts are
//! [`clock_bounds`], [`ntp_bounds`] and [`message`].
//!
//! # Example
//!
//! ```no_run
//! use agent::{Certificates, Session, borrow};
//! use ports::{LiveOptions, LiveTester, PortRequest, PortType};
//! use trial::PortId;
//! use units::{FrameSize, LineRate};
//!
//! let certificates = Certificates::of_controller("certificates".as_ref())?;
//! let session = Session::begin("lab-b", &certificates)?;
//! let request = PortRequest {
//!     id: PortId(0),
//!     interface: "eth1".into(),
//!     nominal_rate: LineRate::from_gbps(10),
//!     largest_frame: FrameSize::from_bytes(1518),
//!     port_type: PortType::AUTO,
//!     queues: 1,
//! };
//! let tester = LiveTester::new(vec![borrow(&session, &request)?], LiveOptions::default())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod borrow;
mod borrowed_port;
mod chrony;
pub mod clock_bounds;
mod codec;
mod connection;
pub mod host_time;
mod identity;
mod lend;
pub mod message;
pub mod ntp_bounds;
mod serve;
mod session;
mod worker;

pub use borrow::borrow;
pub use identity::{Certificates, IdentityError, Validity, make_certificates};
pub use serve::{Agent, AgentError};
pub use session::Session;

/// Where an agent listens if nobody says otherwise.
pub const DEFAULT_PORT: u16 = 8719;
