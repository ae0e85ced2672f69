//! NETBLT over real sockets: files and memory moved between hosts.
//!
//! This is an edge of the project by nature: it opens sockets, reads the clock and waits.
//! Therefore it opts out of the ban on them. What is decided, is decided in [`netblt`].
//!
//! * [`Socket`]: UDP or raw IP. * [`Station`]: a socket, its connections, their clients.
//! * [`files`]: sending, receiving and serving files; see there for what makes a file whole.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod agreement;
mod backlog;
mod cap;
mod clock;
mod cookie;
pub mod files;
mod incoming;
mod job;
mod lateness;
mod outgoing;
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
pub use seal::{Key, Refusal};
pub use socket::{Carrier, Received, Socket};
pub use station::{Ended, Host, Opener, Progress, Station};
