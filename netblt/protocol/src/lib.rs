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
//!
//! # Example
//!
//! A buffer from one end to the other, over a network that is a loop in memory:
//!
//! ```
//! use netblt::{Connection, Event, Header, Limits, Mode, Opening, Timing};
//! use units::Instant;
//! use wire::netblt::{OUR_VERSION, Packet, Repr};
//!
//! let (there, back) = (
//!     Header { version: OUR_VERSION, local_port: 2000, foreign_port: 30 },
//!     Header { version: OUR_VERSION, local_port: 30, foreign_port: 2000 },
//! );
//! let opening = Opening {
//!     connection_id: 1,
//!     mode: Mode::Write,
//!     transfer_size_bytes: 0,
//!     client_string: "an example",
//! };
//! let mut now = Instant::ZERO;
//! let mut sender = Connection::open(now, there, Limits::default(), Timing::default(), opening);
//! let (mut receiver, mut arrived): (Option<Connection>, Vec<u8>) = (None, vec![]);
//!
//! while !sender.is_over() {
//!     let mut packet = vec![];
//!     while sender.poll_transmit(now, &mut packet) {
//!         let repr = Repr::parse(&packet).expect("our own packet");
//!         match (&mut receiver, &repr.packet) {
//!             (Some(receiver), packet) => receiver.handle_packet(now, packet),
//!             (none, Packet::Open(open)) => {
//!                 let (limits, timing) = (Limits::default(), Timing::default());
//!                 *none = Some(Connection::accept(now, back, limits, timing, open, "").unwrap());
//!             }
//!             _ => {}
//!         }
//!         packet.clear();
//!     }
//!     if let Some(receiver) = &mut receiver {
//!         while let Some(event) = receiver.poll_event() {
//!             match event {
//!                 Event::Opened => receiver.supply_buffer(vec![]),
//!                 Event::Received { data, .. } => arrived = data,
//!                 _ => {}
//!             }
//!         }
//!         while receiver.poll_transmit(now, &mut packet) {
//!             sender.handle_packet(now, &Repr::parse(&packet).expect("our own packet").packet);
//!             packet.clear();
//!         }
//!     }
//!     while let Some(event) = sender.poll_event() {
//!         if event == Event::Opened {
//!             sender.send_buffer(b"forty-two".to_vec(), true).expect("the first buffer");
//!         }
//!     }
//!     // Time passes until one end has something to do.
//!     let ends = [Some(&sender), receiver.as_ref()];
//!     let next = ends.into_iter().flatten().filter_map(|end| end.poll_timeout()).min();
//!     now = next.unwrap_or(now).max(now);
//!     sender.handle_timeout(now);
//!     if let Some(receiver) = &mut receiver {
//!         receiver.handle_timeout(now);
//!     }
//! }
//! assert_eq!(arrived, b"forty-two");
//! ```

mod arrivals;
mod connection;
mod control;
mod control_list;
mod counters;
mod endpoint;
mod event;
mod gaps;
mod guard;
mod identity;
mod incoming;
mod marks;
mod offers;
mod outgoing;
mod pacer;
mod patience;
mod receiver;
mod regulated;
mod sender;
mod sequence;
mod strays;
mod tail;
mod terms;

pub use connection::{Connection, Opening};
pub use control::RateControl;
pub use counters::Counters;
pub use endpoint::{Address, ConnectionId, Endpoint, EndpointLimits, Path, Request};
pub use event::{Ending, Event};
pub use guard::Secret;
pub use identity::PADDED_TO;
pub use terms::{Burst, DataTimer, Limits, Terms, Timing};
pub use wire::ecn::Codepoint;
pub use wire::netblt::{DATA_HEADER_LEN, Header, Mode, Open};
