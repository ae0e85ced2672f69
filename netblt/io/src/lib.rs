//! NETBLT over real sockets: files and memory moved between hosts.
//!
//! This is an edge of the project by nature: it opens sockets, reads the clock and waits.
//! Therefore it opts out of the ban on them. What is decided, is decided in [`netblt`].
//!
//! * [`Socket`]: UDP or raw IP. * [`Station`]: a socket, its connections, their clients.
//! * [`files`]: sending, receiving and serving files; see there for what makes a file whole.
//! * `copy` (Linux): many files as one stream between two ends that talk over a channel beside it.
//!
//! # Example
//!
//! A file, sent over the loopback interface to a directory that is served in a thread:
//!
//! ```
//! use netblt::{EndpointLimits, Limits, Timing};
//! use netblt_io::files::{self, Nobody, Served};
//! use netblt_io::{Carrier, Socket, Station};
//! use std::net::SocketAddr;
//! use units::Duration;
//!
//! fn station() -> std::io::Result<(Station, SocketAddr)> {
//!     let socket = Socket::bind(Carrier::Udp, "127.0.0.1:0".parse().expect("an address"))?;
//!     let address = socket.local_address()?;
//!     let station =
//!         Station::new(socket, EndpointLimits::default(), Limits::default(), Timing::default());
//!     Ok((station, address))
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! std::fs::create_dir(folder.path().join("served"))?;
//! std::fs::write(folder.path().join("letter"), "Dear receiver")?;
//!
//! let (mut server, address) = station()?;
//! let mut served = Served::open(&folder.path().join("served"))?;
//! server.listen(30);
//! std::thread::spawn(move || {
//!     while server.turn(Duration::from_ms(20), &mut served).is_ok() {}
//! });
//!
//! let (mut client, _) = station()?;
//! let (mode, offer, opener) = files::send(&folder.path().join("letter"), "letter")?;
//! client.open(address, (2000, 30), (mode, 1), &offer, opener).expect("a free port");
//! while client.connections().next().is_some() {
//!     client.turn(Duration::from_ms(20), &mut Nobody)?;
//! }
//! let ended = client.take_ended().pop().expect("one transfer");
//! assert!(ended.outcome.is_complete(), "{}", ended.outcome);
//! assert_eq!(std::fs::read(folder.path().join("served/letter"))?, b"Dear receiver");
//! # Ok(())
//! # }
//! ```
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod agreement;
mod backlog;
mod cap;
mod clock;
mod cookie;
#[cfg(target_os = "linux")]
pub mod copy;
pub mod files;
mod job;
mod lateness;
mod ledger;
mod memory;
mod path_mtu;
mod plain;
mod ranges;
mod seal;
mod sink;
mod socket;
mod source;
mod station;

pub use agreement::{Answer, Layout, Offer};
pub use job::Job;
pub use lateness::LatenessSummary;
pub use netblt::{ConnectionId, RateControl};
pub use path_mtu::{Envelope, path_mtu_bytes};
pub use seal::{Code, Key, Refusal, SEAL_BYTES};
pub use sink::Sink;
pub use socket::{Carrier, Received, Socket};
pub use source::{CHANGED, Source};
pub use station::{Ended, Host, Opener, Progress, Station};
