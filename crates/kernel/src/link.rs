//! Interfaces by rtnetlink: create, change, look up, delete.

use crate::error::{KernelError, Result};
use crate::netlink::Rtnetlink;
use crate::state::InterfaceState;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoBridge, InfoBridgePort, InfoData, InfoKind, InfoPortData, InfoPortKind, InfoVeth,
    LinkAttribute, LinkFlags, LinkInfo, LinkMessage, State,
};
use std::fs::File;
use std::os::fd::AsRawFd;

/// Whether the operational state is up and the transmit queue is no longer the one that drops all.
fn carries_frames(link: &LinkMessage) -> bool {
    let up = |a: &LinkAttribute| matches!(a, LinkAttribute::OperState(State::Up));
    let dropping = |a: &LinkAttribute| matches!(a, LinkAttribute::Qdisc(kind) if kind == "noop");
    link.attributes.iter().any(up) && !link.attributes.iter().any(dropping)
}

/// One end of a veth pair to be made.
pub struct VethEnd<'a> {
    /// Its name.
    pub name: &'a str,
    /// Ethernet address.
    pub mac: [u8; 6],
    /// MTU in bytes: frame size less 18.
    pub mtu_bytes: u32,
    /// Length of its transmit queue.
    pub tx_queue_frames: u32,
    /// Queues each way, at least one.
    pub queues: u32,
}

impl VethEnd<'_> {
    fn message(&self) -> LinkMessage {
        let mut message = LinkMessage::default();
        message.attributes = vec![
            LinkAttribute::IfName(self.name.into()),
            LinkAttribute::Address(self.mac.to_vec()),
            LinkAttribute::Mtu(self.mtu_bytes),
            LinkAttribute::TxQueueLen(self.tx_queue_frames),
            LinkAttribute::NumTxQueues(self.queues.max(1)),
            LinkAttribute::NumRxQueues(self.queues.max(1)),
        ];
        message
    }
}

impl Rtnetlink {
    /// Makes a veth pair: `near` here, `far` in `far_namespace` (or here too).
    pub fn add_veth(
        &mut self,
        near: &VethEnd<'_>,
        far: &VethEnd<'_>,
        far_namespace: Option<&File>,
    ) -> Result<()> {
        let mut peer = far.message();
        peer.attributes.extend(far_namespace.map(|file| LinkAttribute::NetNsFd(file.as_raw_fd())));
        let mut message = near.message();
        message.attributes.push(LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
        ]));
        let doing = format!("create veth pair {} - {}", near.name, far.name);
        self.request(RouteNetlinkMessage::NewLink(message), NLM_F_CREATE | NLM_F_EXCL, &doing)
    }

    /// Makes a bridge with these settings.
    pub fn add_bridge(
        &mut self,
        name: &str,
        mac: [u8; 6],
        mtu_bytes: u32,
        settings: Vec<InfoBridge>,
    ) -> Result<()> {
        let mut message = LinkMessage::default();
        message.attributes = vec![
            LinkAttribute::IfName(name.into()),
            LinkAttribute::Address(mac.to_vec()),
            LinkAttribute::Mtu(mtu_bytes),
            LinkAttribute::LinkInfo(vec![
                LinkInfo::Kind(InfoKind::Bridge),
                LinkInfo::Data(InfoData::Bridge(settings)),
            ]),
        ];
        let doing = format!("create bridge {name}");
        self.request(RouteNetlinkMessage::NewLink(message), NLM_F_CREATE | NLM_F_EXCL, &doing)
    }

    /// Everything the kernel tells of one interface.
    pub fn link(&mut self, name: &str) -> Result<LinkMessage> {
        let mut message = LinkMessage::default();
        message.attributes = vec![LinkAttribute::IfName(name.into())];
        self.ask_for_link(message, name)
    }

    /// The same of the interface with this number, whatever it is called now.
    pub fn link_at(&mut self, index: u32) -> Result<LinkMessage> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        self.ask_for_link(message, &index.to_string())
    }

    fn ask_for_link(&mut self, message: LinkMessage, name: &str) -> Result<LinkMessage> {
        let none =
            || KernelError::NoSuchInterface { name: name.into(), place: "this namespace".into() };
        let doing = format!("look up interface {name}");
        let answers =
            self.query(RouteNetlinkMessage::GetLink(message), &doing).map_err(|e| match e {
                KernelError::Netlink { source, .. }
                    if source.raw_os_error() == Some(libc::ENODEV) =>
                {
                    none()
                }
                other => other,
            })?;
        let link = answers.into_iter().find_map(|answer| match answer {
            RouteNetlinkMessage::NewLink(link) => Some(link),
            _ => None,
        });
        link.ok_or_else(none)
    }

    /// The state and the counters of an interface.
    pub fn state(&mut self, name: &str) -> Result<InterfaceState> {
        self.link(name).map(|link| InterfaceState::of(&link))
    }

    /// Index of an interface.
    pub fn link_index(&mut self, name: &str) -> Result<u32> {
        self.link(name).map(|link| link.header.index)
    }

    /// Sets an interface administratively up or down.
    pub fn set_link_up(&mut self, name: &str, up: bool) -> Result<()> {
        let index = self.link_index(name)?;
        self.set_link_up_at(index, name, up)
    }

    /// The same of the interface with this number, which was called `name`.
    pub fn set_link_up_at(&mut self, index: u32, name: &str, up: bool) -> Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.header.change_mask = LinkFlags::Up;
        message.header.flags = if up { LinkFlags::Up } else { LinkFlags::empty() };
        let doing = format!("set interface {name} {}", if up { "up" } else { "down" });
        self.request(RouteNetlinkMessage::SetLink(message), 0, &doing)
    }

    /// Waits until an interface that is up has a carrier and carries frames. The kernel activates the
    /// transmit queue some milliseconds after the carrier has come; until then it drops in silence.
    #[allow(clippy::disallowed_methods, reason = "the kernel's link watch runs in real time")]
    pub fn wait_for_carrier(&mut self, name: &str) -> Result<()> {
        const PATIENCE_MS: u32 = 5000;
        for _ in 0..PATIENCE_MS {
            if carries_frames(&self.link(name)?) {
                return Ok(());
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        Err(KernelError::NoCarrier { name: name.into(), waited_ms: PATIENCE_MS })
    }

    /// Makes an interface a port of a bridge.
    pub fn set_link_bridge(&mut self, name: &str, bridge: &str) -> Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = self.link_index(name)?;
        message.attributes = vec![LinkAttribute::Controller(self.link_index(bridge)?)];
        let doing = format!("make interface {name} a port of bridge {bridge}");
        self.request(RouteNetlinkMessage::SetLink(message), 0, &doing)
    }

    /// Has a bridge ask for members of groups, from now on. (What a kind of link has settings for is changed
    /// by the message that makes one; the kernel passes over it in one that sets a link.)
    pub fn start_querier(&mut self, bridge: &str) -> Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = self.link_index(bridge)?;
        let settings = vec![InfoBridge::MulticastQuerier(true)];
        message.attributes = vec![LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Bridge),
            LinkInfo::Data(InfoData::Bridge(settings)),
        ])];
        let doing = format!("have {bridge} ask for members of groups");
        self.request(RouteNetlinkMessage::NewLink(message), 0, &doing)
    }

    /// Has a port of a bridge pass no groups that nobody behind it has asked for, and take so many at most.
    pub fn limit_groups(&mut self, index: u32, groups_max: Option<u32>) -> Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        let mut settings = vec![InfoBridgePort::MulticastFlood(false)];
        settings.extend(groups_max.map(InfoBridgePort::MulticastMaxGroups));
        message.attributes = vec![LinkAttribute::LinkInfo(vec![
            LinkInfo::PortKind(InfoPortKind::Bridge),
            LinkInfo::PortData(InfoPortData::BridgePort(settings)),
        ])];
        let doing = format!("limit the groups of interface {index}");
        self.request(RouteNetlinkMessage::NewLink(message), 0, &doing)
    }

    /// Deletes an interface (of a veth pair: both ends).
    pub fn delete_link(&mut self, name: &str) -> Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = self.link_index(name)?;
        let doing = format!("delete interface {name}");
        self.request(RouteNetlinkMessage::DelLink(message), 0, &doing)
    }
}
