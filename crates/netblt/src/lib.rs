//! NETBLT, the bulk transfer protocol of RFC 998 as RFC 1030 ran it: state machines without
//! clock, socket or randomness.
//!
//! A transfer goes one way, in large *buffers* that the two clients fill and empty. The receiver
//! owns all timers that make it reliable; the sender paces bursts of packets and does as it is
//! told. Both ends speak four verbs:
//! * **getters**: [`Connection::terms`], [`Connection::counters`], ...
//! * **`handle_*`**: what came from outside: [`Connection::handle_packet`],
//!   [`Connection::handle_timeout`];
//! * **commands** of the client: [`Connection::send_buffer`], [`Connection::supply_buffer`],
//!   [`Connection::quit`], [`Connection::abort`];
//! * **`poll_*`**: what wants out: [`Connection::poll_transmit`], [`Connection::poll_event`],
//!   [`Connection::poll_timeout`].
//!
//! After any call poll events, answer them, poll packets until there are none, and come back at
//! the time that `poll_timeout` names. In that order OK(n) and GO(n+1) share one packet, which
//! RFC 1030 section 7 found to matter.
//!
//! Buffers are moved, not copied: a sender cuts packets straight out of the client's buffer and
//! gives it back when it has arrived; a receiver puts packets straight into the client's buffer
//! and hands it over when it is whole. What a peer can make an end allocate is bounded by that
//! end's own [`Limits`].
//!
//! An [`Endpoint`] keeps many connections apart and lets the client decide on each that comes in.

mod arrivals;
mod connection;
mod control;
mod control_list;
mod counters;
mod endpoint;
mod event;
mod guard;
mod identity;
mod incoming;
mod outgoing;
mod pacer;
mod patience;
mod receiver;
mod regulated;
mod sender;
mod sequence;
mod terms;

pub use connection::{Connection, Opening};
pub use counters::Counters;
pub use endpoint::{Address, ConnectionId, Endpoint, EndpointLimits, Path, Request};
pub use event::{Event, Outcome};
pub use guard::Secret;
pub use terms::{Burst, DataTimer, Limits, Terms, Timing};
pub use wire::netblt::{Header, Mode, Open};
