//! Ports over AF_PACKET rings: they work on every interface, and for an ordinary user inside a
//! user namespace.

mod port;
mod realtime;
mod receive_ring;
mod receive_rings;
mod transmit_ring;

pub use port::{AfPacket, AfPacketPort};
pub(crate) use receive_ring::ReceiveRing;
pub(crate) use transmit_ring::TransmitRing;
