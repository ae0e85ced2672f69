//! A port of the tester: the near end of a link to the device.

use crate::addressing::PortAddresses;
use serde::Serialize;

/// A port of the tester, in the tester's namespace. It has no addresses of its own: the tester
/// speaks for the hosts behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TestPort {
    /// Number of the port, from 0.
    pub port: usize,
    /// Interface name in the tester's namespace.
    pub interface: String,
    /// Interface index in the tester's namespace.
    pub interface_index: u32,
    /// Ethernet address of this port, source of what it sends.
    pub mac: [u8; 6],
    /// Ethernet address of the device's end; none where the device has none (a bridge) or there is no
    /// device (a loopback).
    pub device_mac: Option<[u8; 6]>,
    /// Who has which address on the port's network. On a bridge or loopback they are only names for
    /// the tester's hosts.
    pub addresses: PortAddresses,
    /// MTU in bytes: frame size less 18.
    pub mtu_bytes: u32,
}
