//! A link in real time: what two hosts in namespaces send to each other waits in a queue, leaves at a
//! rate, takes its time, and is lost or overtaken, as [`netblt_studies::paths::Link`] decides. It is the very
//! model that transfers are simulated over; here its packets are frames of the kernel.
//!
//! This is an edge of the project by nature: it reads the clock, waits, and moves frames. Therefore
//! it opts out of the ban on them. What becomes of a packet is decided in [`netblt_studies::paths`].
//!
//! The program that forwards is not infinitely fast. What it did late, and what it lost, is counted
//! apart from what the model lost: see [`WayCounts::is_faithful`].
//!
//! # Example
//!
//! Two hosts in namespaces with a satellite between them, for five seconds; as root:
//!
//! ```no_run
//! use link::RealTimeLink;
//! use netblt_studies::paths::LinkModel;
//! use testbed::TwoHosts;
//! use units::Duration;
//!
//! let hosts = TwoHosts::apart()?;
//! let satellite = LinkModel::plain(2_000_000, Duration::from_ms(270), 64_000);
//! let link = RealTimeLink::start(&hosts, [satellite.clone(), satellite], 1)?;
//! std::thread::sleep(std::time::Duration::from_secs(5));
//! for way in link.stop() {
//!     println!("{way:?}, faithful: {}", way.is_faithful());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The model itself needs neither root nor time: a queue of one packet refuses the second.
//!
//! ```
//! use link::RealTimeLink;
//! use netblt_studies::paths::{Fate, Link, LinkModel};
//! use units::{Duration, Instant};
//!
//! let mut link = Link::new(LinkModel::plain(8_000_000, Duration::from_ms(1), 1_500));
//! let mut dice = RealTimeLink::dice(1, 0);
//! let first = link.carry(Instant::ZERO, 1_000, &mut dice);
//! // 1 ms at 8 Mb/s, and 1 ms on the way.
//! let at = Some(Instant::ZERO + Duration::from_ms(2));
//! let (waited, late, marked, marked_l4s) = (Duration::ZERO, false, false, false);
//! assert_eq!(first, Fate::Carried { waited, at, late, marked, marked_l4s });
//! assert_eq!(link.carry(Instant::ZERO, 1_000, &mut dice), Fate::Dropped);
//! ```
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod counts;
mod frames;
mod in_flight;
mod running;

pub use counts::WayCounts;
pub use running::{LinkError, RealTimeLink};
