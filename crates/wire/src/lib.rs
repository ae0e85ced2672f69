//! Frames as bytes: one file a protocol, the frame template with its field modifiers, and the
//! signature by which the tester knows its own frames again.
//!
//! Pure: no clock, no socket, no randomness without a seed. Each protocol's `Repr` is the meaning
//! of its header as plain data; `parse` gives it with the payload, cut to the length that the
//! header states, and never panics; `emit` writes it.

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
