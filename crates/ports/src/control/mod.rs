//! The control side of a port, beside the fast path: single frames are sent, ARP, IPv6 neighbour
//! discovery and queries for members of multicast groups are answered for the hosts the tester plays, gateways are resolved, and
//! replies of SNMP agents are collected. It works whatever carries the test frames.

mod hosts;
mod kind;
mod responder;
mod socket;

pub use hosts::Host;
pub(crate) use kind::{OwnFrames, is_control};
pub use responder::ControlHandle;
pub(crate) use responder::{ControlCounts, Responder};
pub(crate) use socket::PacketSocket;
pub use socket::{ControlSocket, control_socket};
