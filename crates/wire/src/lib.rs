//! Frames as bytes: one file a protocol, the frame template with its field modifiers, and the
//! signature by which the tester knows its own frames again.
//!
//! Pure: no clock, no socket, no randomness without a seed. Each protocol's `Repr` is the meaning
//! of its header as plain data; `parse` gives it with the payload, cut to the length that the
//! header states, and never panics; `emit` writes it.
//!
//! # Example
//!
//! A 128-byte test frame, stamped as it leaves, and known again as it arrives:
//!
//! ```
//! use std::net::Ipv4Addr;
//! use units::FrameSize;
//! use wire::ethernet::MacAddr;
//! use wire::signature::{self, Key, Stamp};
//! use wire::template::FrameTemplate;
//!
//! let tester = (MacAddr([2, 0, 0, 0, 0, 2]), Ipv4Addr::new(198, 18, 1, 2));
//! let router = (MacAddr([2, 0, 0, 0, 0, 1]), Ipv4Addr::new(198, 19, 1, 2));
//! let (key, stream) = (Key::from_seed(1), 7);
//! let template = FrameTemplate::udp_ipv4(tester, router);
//! let prepared = template.prepare(FrameSize::from_bytes(128), Some((key, stream)))?;
//!
//! let mut frame = prepared.frame(0);
//! assert_eq!(frame.len(), 124, "without FCS");
//! let form = prepared.form().expect("a frame with a signature");
//! let stamp = Stamp { stream, sequence: 41, transmit_ticks: 1_000 };
//! signature::write(form, key, stamp, &mut frame);
//! let read = signature::read(form, key, &frame).expect("it is ours");
//! assert_eq!(read, stamp);
//! // Another trial's key does not know it.
//! assert!(signature::read(form, Key::from_seed(2), &frame).is_none());
//! # Ok::<(), wire::template::BuildError>(())
//! ```

mod bytes;
mod error;
#[cfg(test)]
mod testing;

pub mod appletalk;
pub mod arp;
pub mod bpdu;
pub mod checksum;
pub mod decnet;
pub mod decode;
pub mod distribution;
pub mod error_frame;
pub mod ethernet;
pub mod fragment;
pub mod gre;
pub mod group_message;
mod group_records;
pub mod icmpv4;
pub mod icmpv6;
pub mod igmp;
pub mod imix;
pub mod ip_in_ip;
pub mod ipv4;
pub mod ipv6;
pub mod ipx;
pub mod keepalive;
pub mod learning;
pub mod llc;
pub mod mld;
pub mod modifier;
pub mod netblt;
pub mod pause;
pub mod replay;
pub mod rip;
pub mod ripng;
mod run_key;
pub mod signature;
mod siphash;
pub mod size;
pub mod snap;
pub mod snmp;
pub mod tcp;
pub mod template;
pub mod test_frame;
pub mod udp;
pub mod verify;
pub mod vlan;
pub mod vxlan;

pub use error::DecodeError;
