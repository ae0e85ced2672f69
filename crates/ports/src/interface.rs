//! One kernel interface: what it is, its state and its own counters, by rtnetlink.

use crate::ethtool::Ethtool;
use crate::sys;
use netlink_packet_core::{NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    LinkAttribute, LinkFlags, LinkInfo, LinkLayerType, LinkMessage, Stats64,
};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use std::io;
use std::ops::Sub;
use trial::TesterError;

/// A kernel interface, held by its number: a new one of the same name is another one.
pub struct Interface {
    name: String,
    index: u32,
    netlink: Socket,
    ethtool: Ethtool,
}

/// What an interface is like at a moment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct InterfaceState {
    /// Administratively up.
    pub up: bool,
    /// Has a carrier.
    pub carrier: bool,
    /// How often it has lost or gained its carrier.
    pub carrier_changes: u64,
    /// Largest packet in bytes: a frame may be 18 bytes larger, 4 more for each VLAN tag.
    pub mtu_bytes: u32,
    /// Hardware address.
    pub mac: [u8; 6],
    /// Number of the other end of a virtual link, if it is in the same namespace.
    pub peer_here: Option<u32>,
    /// Kind of virtual interface, such as `veth`.
    pub kind: Option<String>,
    /// Its own counters.
    pub counters: InterfaceCounters,
}

/// An interface's own counters (`ip -s link`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct InterfaceCounters {
    /// Frames received.
    pub rx_frames: u64,
    /// Frames sent.
    pub tx_frames: u64,
    /// Received but dropped for want of room (also where the driver counts them as missed).
    pub rx_dropped: u64,
    /// Not sent.
    pub tx_dropped: u64,
    /// Not received by a fault of the interface's own. A frame that arrived damaged (bad FCS, wrong
    /// length or framing) is not among them: whoever sent it has lost it.
    pub rx_errors: u64,
}

impl Sub for InterfaceCounters {
    type Output = Self;
    /// What was counted between two readings.
    fn sub(self, before: Self) -> Self {
        InterfaceCounters {
            rx_frames: self.rx_frames.saturating_sub(before.rx_frames),
            tx_frames: self.tx_frames.saturating_sub(before.tx_frames),
            rx_dropped: self.rx_dropped.saturating_sub(before.rx_dropped),
            tx_dropped: self.tx_dropped.saturating_sub(before.tx_dropped),
            rx_errors: self.rx_errors.saturating_sub(before.rx_errors),
        }
    }
}

impl Interface {
    /// Finds an interface by name in the network namespace of the calling thread.
    pub fn open(name: &str) -> Result<Self, TesterError> {
        let failed = |error: io::Error| sys::port_error(name, "open a netlink socket", &error);
        let mut netlink = Socket::new(NETLINK_ROUTE).map_err(failed)?;
        netlink.bind_auto().map_err(failed)?;
        netlink.connect(&SocketAddr::new(0, 0)).map_err(failed)?;
        let ethtool = Ethtool::open(name)?;
        let mut message = LinkMessage::default();
        message.attributes = vec![LinkAttribute::IfName(name.into())];
        let found = ask(&netlink, message).map_err(|error| match error.raw_os_error() {
            Some(libc::ENODEV) => TesterError::System {
                what: format!("open port {name}"),
                detail: "there is no such interface in this network namespace; see `ip link`"
                    .into(),
            },
            _ => sys::port_error(name, "look up the interface", &error),
        })?;
        if found.header.link_layer_type != LinkLayerType::Ether {
            return Err(TesterError::Unsupported {
                port: name.into(),
                what: format!("an interface of type {:?}", found.header.link_layer_type),
                remedy: "use an Ethernet interface".into(),
            });
        }
        Ok(Interface { name: name.into(), index: found.header.index, netlink, ethtool })
    }

    /// Its name when it was opened.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// Its number.
    pub fn index(&self) -> u32 {
        self.index
    }
    /// Its driver and offloads.
    pub fn ethtool(&self) -> &Ethtool {
        &self.ethtool
    }

    /// Its state now.
    pub fn state(&self) -> Result<InterfaceState, TesterError> {
        let mut message = LinkMessage::default();
        message.header.index = self.index;
        let link = ask(&self.netlink, message)
            .map_err(|error| sys::port_error(&self.name, "read its state", &error))?;
        Ok(state_of(&link))
    }

    /// Its state, or an error if it is gone or down.
    pub fn state_if_up(&self) -> Result<InterfaceState, TesterError> {
        let state = self.state()?;
        if !state.up {
            return Err(TesterError::PortGone {
                port: self.name.clone(),
                detail: format!("the interface is down; ip link set {} up", self.name),
            });
        }
        Ok(state)
    }
}

/// Asks the kernel for one link.
fn ask(netlink: &Socket, message: LinkMessage) -> io::Result<LinkMessage> {
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST;
    header.sequence_number = 1;
    let payload = NetlinkPayload::from(RouteNetlinkMessage::GetLink(message));
    let mut packet = NetlinkMessage::new(header, payload);
    packet.finalize();
    let mut buffer = vec![0; packet.buffer_len()];
    packet.serialize(&mut buffer);
    netlink.send(&buffer, 0)?;
    let (answer, _) = netlink.recv_from_full()?;
    let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
    match answer.payload {
        NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewLink(link)) => Ok(link),
        NetlinkPayload::Error(error) => Err(error.to_io()),
        other => Err(io::Error::new(io::ErrorKind::InvalidData, format!("{other:?}"))),
    }
}

fn state_of(link: &LinkMessage) -> InterfaceState {
    let mut state = InterfaceState {
        up: link.header.flags.contains(LinkFlags::Up),
        carrier: link.header.flags.contains(LinkFlags::Running),
        ..Default::default()
    };
    let mut peer = None;
    let mut peer_elsewhere = false;
    for attribute in &link.attributes {
        match attribute {
            LinkAttribute::Mtu(mtu) => state.mtu_bytes = *mtu,
            LinkAttribute::Address(mac) => {
                state.mac = mac.as_slice().try_into().unwrap_or_default();
            }
            LinkAttribute::CarrierChanges(changes) => state.carrier_changes = (*changes).into(),
            LinkAttribute::Link(index) => peer = Some(*index),
            LinkAttribute::LinkNetNsId(_) => peer_elsewhere = true,
            LinkAttribute::Stats64(stats) => state.counters = counters_of(stats),
            LinkAttribute::LinkInfo(infos) => {
                state.kind = infos.iter().find_map(|info| match info {
                    LinkInfo::Kind(kind) => Some(kind.to_string()),
                    _ => None,
                });
            }
            _ => {}
        }
    }
    state.peer_here = peer.filter(|_| !peer_elsewhere);
    state
}

fn counters_of(stats: &Stats64) -> InterfaceCounters {
    let damaged = stats.rx_crc_errors + stats.rx_length_errors + stats.rx_frame_errors;
    InterfaceCounters {
        rx_frames: stats.rx_packets,
        tx_frames: stats.tx_packets,
        rx_dropped: stats.rx_dropped + stats.rx_missed_errors,
        tx_dropped: stats.tx_dropped,
        rx_errors: stats.rx_errors.saturating_sub(damaged),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_frames_are_the_senders_loss_and_overruns_the_testers() {
        let mut stats = Stats64::default();
        (stats.rx_errors, stats.rx_crc_errors, stats.rx_length_errors) = (10, 4, 1);
        (stats.rx_frame_errors, stats.rx_over_errors) = (2, 3);
        assert_eq!(counters_of(&stats).rx_errors, 3);
    }

    #[test]
    fn an_interface_that_does_not_exist_is_an_error_that_says_so() {
        let Err(error) = Interface::open("no-such-if") else { panic!("opened") };
        assert!(error.to_string().contains("no such interface"), "{error}");
    }

    #[test]
    fn the_loopback_interface_is_no_ethernet() {
        let Err(error) = Interface::open("lo") else { panic!("opened") };
        assert!(error.to_string().contains("use an Ethernet interface"), "{error}");
    }
}
