//! Frames as bytes: one file a protocol, and the signature by which the tester knows its own frames again.
//!
//! Pure: no clock, no socket, no randomness without a seed. Each protocol's `Repr` is the meaning
//! of its header as plain data; `parse` gives it with the payload, cut to the length that the
//! header states, and never panics; `emit` writes it.
//!
//! Beside it, a `View` of a header reads and writes its fields in the bytes, without a copy: `new_checked`
//! checks the lengths once, then each field has an accessor and a setter. `Repr` uses the same table of fields,
//! so each offset is stated once. NETBLT, SNMP, RIP, RIPng, AARP, RTMP, the echo of AppleTalk, the hellos and
//! routing messages of DECnet, and RIP and SAP of IPX have no view: their messages are lists, or are read whole.
//!
//! # Example
//!
//! A learning frame, read again layer by layer:
//!
//! ```
//! use std::net::Ipv4Addr;
//! use wire::ethernet::{self, EtherType, MacAddr};
//! use wire::{arp, learning};
//!
//! let (mac, host) = (MacAddr([2, 0, 0, 0, 0, 2]), Ipv4Addr::new(198, 18, 1, 2));
//! let frame = learning::arp_request(mac, host, Ipv4Addr::new(198, 18, 1, 1));
//!
//! let (header, packet) = ethernet::Repr::parse(&frame)?;
//! assert_eq!(header.ether_type, EtherType::ARP);
//! let (request, _) = arp::Repr::parse(packet)?;
//! assert_eq!((request.sender_mac, request.sender_ip), (mac, host));
//!
//! // One field of a frame, and a change in its place.
//! assert_eq!(ethernet::View::new_checked(&frame)?.src(), mac);
//! let mut frame = frame;
//! ethernet::View::new_checked(&mut frame)?.set_dst(MacAddr([2, 0, 0, 0, 0, 1]));
//! assert_eq!(frame[..6], [2, 0, 0, 0, 0, 1]);
//! # Ok::<(), wire::DecodeError>(())
//! ```

mod error;
#[cfg(test)]
mod testing;

pub mod appletalk;
pub mod arp;
pub mod bpdu;
pub mod bytes;
pub mod checksum;
pub mod decnet;
pub mod decode;
pub mod ecn;
pub mod ethernet;
pub mod gre;
pub mod group_message;
mod group_records;
pub mod icmpv4;
pub mod icmpv6;
pub mod igmp;
pub mod ip_in_ip;
pub mod ipv4;
pub mod ipv6;
pub mod ipx;
pub mod keepalive;
pub mod learning;
pub mod llc;
pub mod mld;
pub mod netblt;
pub mod pause;
pub mod pppoe;
pub mod rip;
pub mod ripng;
mod run_key;
pub mod signature;
mod siphash;
pub mod snap;
pub mod snmp;
pub mod tcp;
pub mod udp;
pub mod verify;
mod view;
pub mod vlan;
pub mod vxlan;

pub use error::DecodeError;
