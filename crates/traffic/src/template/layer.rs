//! The layers of a template: what is chosen of a header. Lengths, checksums and the number of the
//! layer within follow.

use super::legacy::{DdpLayer, DecnetLayer, IpxLayer};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::appletalk::{ddp, echo};
use wire::decnet::{self, nsp};
use wire::ethernet::{EtherType, MacAddr};
use wire::ipv4::Protocol;
use wire::ipv6::Extension;
use wire::llc::Sap;
use wire::snap::Oui;
use wire::tcp::Flags;
use wire::{ethernet, icmpv4, ipv4, ipv6, ipx, llc, snap, tcp, udp, vlan};

/// One header.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Layer {
    /// Ethernet: the first layer.
    Ethernet {
        /// Source.
        src: MacAddr,
        /// Destination.
        dst: MacAddr,
        /// Type, where it is not to follow from the next layer.
        #[serde(default)]
        ether_type: Option<EtherType>,
    },
    /// A VLAN tag, behind Ethernet or another tag.
    Vlan {
        /// 802.1Q or 802.1ad.
        #[serde(default = "customer_tag")]
        tag: EtherType,
        /// VLAN identifier, 0 to 4095.
        id: u16,
        /// Priority code point, 0 to 7.
        #[serde(default)]
        priority: u8,
        /// Drop eligible indicator.
        #[serde(default)]
        drop_eligible: bool,
        /// Type, where it is not to follow from the next layer.
        #[serde(default)]
        ether_type: Option<EtherType>,
    },
    /// IPv4.
    Ipv4(Ipv4Layer),
    /// IPv6.
    Ipv6(Ipv6Layer),
    /// An IPv6 extension header, behind IPv6 or another.
    Ipv6Extension(Extension),
    /// UDP, behind IP.
    Udp(UdpLayer),
    /// TCP, behind IP.
    Tcp(TcpLayer),
    /// ICMP echo request, behind IPv4.
    Icmpv4Echo {
        /// Who asks.
        identifier: u16,
        /// Which of its questions.
        sequence: u16,
    },
    /// ICMPv6 echo request, behind IPv6.
    Icmpv6Echo {
        /// Who asks.
        identifier: u16,
        /// Which of its questions.
        sequence: u16,
    },
    /// LLC (IEEE 802.2), behind Ethernet or a VLAN tag, whose type becomes a length: a datagram
    /// of this service access point.
    Llc {
        /// Of source and destination.
        sap: Sap,
    },
    /// LLC and SNAP, behind Ethernet or a VLAN tag, whose type becomes a length. Owner and number
    /// of the protocol follow from the next layer.
    Snap,
    /// IPX.
    Ipx(IpxLayer),
    /// A DECnet data packet.
    Decnet(DecnetLayer),
    /// A data segment of NSP, behind DECnet.
    NspData,
    /// DDP, behind SNAP.
    Ddp(DdpLayer),
    /// An AppleTalk echo request, behind DDP.
    AppletalkEcho,
    /// Any bytes. The layer before needs its type given, where it is to have one.
    Raw(Vec<u8>),
}

const fn customer_tag() -> EtherType {
    EtherType::VLAN
}

/// What a template says of IPv4.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ipv4Layer {
    /// Source.
    pub src: Ipv4Addr,
    /// Destination.
    pub dst: Ipv4Addr,
    /// Time to live, in hops.
    #[serde(default = "default_hops")]
    pub ttl: u8,
    /// Differentiated services code point, 6 bits.
    #[serde(default)]
    pub dscp: u8,
    /// Explicit congestion notification, 2 bits.
    #[serde(default)]
    pub ecn: u8,
    /// Identification.
    #[serde(default)]
    pub identification: u16,
    /// Routers must not fragment.
    #[serde(default)]
    pub dont_fragment: bool,
    /// Protocol, where it is not to follow from the next layer.
    #[serde(default)]
    pub protocol: Option<Protocol>,
}

impl Ipv4Layer {
    /// TTL 64, the rest zero.
    pub const fn new(src: Ipv4Addr, dst: Ipv4Addr) -> Self {
        Ipv4Layer {
            src,
            dst,
            ttl: default_hops(),
            dscp: 0,
            ecn: 0,
            identification: 0,
            dont_fragment: false,
            protocol: None,
        }
    }
}

/// What a template says of IPv6.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ipv6Layer {
    /// Source.
    pub src: Ipv6Addr,
    /// Destination.
    pub dst: Ipv6Addr,
    /// Hops that the packet may take.
    #[serde(default = "default_hops")]
    pub hop_limit: u8,
    /// Differentiated services code point, 6 bits.
    #[serde(default)]
    pub dscp: u8,
    /// Explicit congestion notification, 2 bits.
    #[serde(default)]
    pub ecn: u8,
    /// Flow label, 20 bits.
    #[serde(default)]
    pub flow_label: u32,
    /// Next header, where it is not to follow from the next layer.
    #[serde(default)]
    pub next_header: Option<Protocol>,
}

impl Ipv6Layer {
    /// Hop limit 64, the rest zero.
    pub const fn new(src: Ipv6Addr, dst: Ipv6Addr) -> Self {
        Ipv6Layer {
            src,
            dst,
            hop_limit: default_hops(),
            dscp: 0,
            ecn: 0,
            flow_label: 0,
            next_header: None,
        }
    }
}

const fn default_hops() -> u8 {
    64
}

/// What a template says of UDP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UdpLayer {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Computed, or none.
    #[serde(default)]
    pub checksum: UdpChecksum,
    /// What to do at sizes that do not hold UDP and a signature.
    #[serde(default)]
    pub if_no_room: IfNoRoom,
}

impl Default for UdpLayer {
    /// The ports of RFC 2544 appendix C.2.6.4, 49184 to 7, with checksum.
    fn default() -> Self {
        UdpLayer {
            src_port: 0xc020,
            dst_port: udp::ECHO_PORT,
            checksum: UdpChecksum::Computed,
            if_no_room: IfNoRoom::Refuse,
        }
    }
}

/// Whether UDP over IPv4 carries a checksum.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UdpChecksum {
    /// A good one.
    #[default]
    Computed,
    /// 0, none, as RFC 2544 appendix C.2.6.4 prints it; not allowed over IPv6.
    Off,
}

/// What to do at sizes that do not hold UDP and a signature.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IfNoRoom {
    /// Build nothing.
    #[default]
    Refuse,
    /// Leave UDP out: the IP header says protocol 253, experimental (RFC 3692).
    LeaveOut,
}

/// What a template says of TCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TcpLayer {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Sequence number.
    #[serde(default)]
    pub sequence: u32,
    /// Acknowledgment number.
    #[serde(default)]
    pub acknowledgment: u32,
    /// Control bits.
    #[serde(default)]
    pub flags: Flags,
    /// Window.
    #[serde(default)]
    pub window: u16,
}

impl TcpLayer {
    /// A segment of an open connection: ACK, window 65,535.
    pub const fn new(src_port: u16, dst_port: u16) -> Self {
        TcpLayer {
            src_port,
            dst_port,
            sequence: 0,
            acknowledgment: 0,
            flags: Flags::ACK,
            window: u16::MAX,
        }
    }
    pub(super) fn repr(&self) -> tcp::Repr {
        tcp::Repr {
            src_port: self.src_port,
            dst_port: self.dst_port,
            sequence: self.sequence,
            acknowledgment: self.acknowledgment,
            flags: self.flags,
            window: self.window,
            urgent: 0,
            options: Vec::new(),
        }
    }
}

impl Layer {
    /// Ethernet, its type following from the next layer.
    pub const fn ethernet(src: MacAddr, dst: MacAddr) -> Layer {
        Layer::Ethernet { src, dst, ether_type: None }
    }
    /// An 802.1Q tag of priority 0.
    pub const fn vlan(id: u16) -> Layer {
        Self::tag(EtherType::VLAN, id)
    }
    /// An 802.1ad service tag of priority 0.
    pub const fn service_vlan(id: u16) -> Layer {
        Self::tag(EtherType::SERVICE_VLAN, id)
    }
    const fn tag(tag: EtherType, id: u16) -> Layer {
        Layer::Vlan { tag, id, priority: 0, drop_eligible: false, ether_type: None }
    }

    pub(super) fn header_len(&self) -> usize {
        match self {
            Layer::Ethernet { .. } => ethernet::HEADER_LEN,
            Layer::Vlan { .. } => vlan::HEADER_LEN,
            Layer::Ipv4(_) => ipv4::HEADER_LEN,
            Layer::Ipv6(_) => ipv6::HEADER_LEN,
            Layer::Ipv6Extension(extension) => extension.header_len(),
            Layer::Udp(_) => udp::HEADER_LEN,
            Layer::Tcp(_) => tcp::HEADER_LEN,
            Layer::Icmpv4Echo { .. } | Layer::Icmpv6Echo { .. } => icmpv4::HEADER_LEN,
            Layer::Llc { .. } => llc::HEADER_LEN,
            Layer::Snap => snap::HEADER_LEN,
            Layer::Ipx(_) => ipx::HEADER_LEN,
            Layer::Decnet(_) => decnet::LENGTH_LEN + 1 + decnet::data::HEADER_LEN,
            Layer::NspData => nsp::HEADER_LEN,
            Layer::Ddp(_) => ddp::HEADER_LEN,
            Layer::AppletalkEcho => echo::HEADER_LEN,
            Layer::Raw(bytes) => bytes.len(),
        }
    }
    /// The type field of a header before this layer, which has `len` bytes with all that follows.
    pub(super) fn ether_type(&self, len: usize) -> EtherType {
        match self {
            Layer::Vlan { tag, .. } => *tag,
            Layer::Ipv4(_) => EtherType::IPV4,
            Layer::Ipv6(_) => EtherType::IPV6,
            Layer::Decnet(_) => EtherType::DECNET,
            Layer::Ddp(_) => EtherType::APPLETALK,
            _ if self.is_behind_a_length() => EtherType::length(len),
            Layer::Ipx(_) => EtherType::IPX,
            _ => EtherType::EXPERIMENTAL,
        }
    }
    /// Whether the type field before this layer is an 802.3 length.
    pub(super) fn is_behind_a_length(&self) -> bool {
        matches!(self, Layer::Llc { .. } | Layer::Snap | Layer::Ipx(IpxLayer { raw: true, .. }))
    }
    /// Who gave the protocol of this layer the number that SNAP states.
    pub(super) fn oui(&self) -> Oui {
        if matches!(self, Layer::Ddp(_)) { Oui::APPLE } else { Oui::ETHERTYPE }
    }
    /// The DDP type in a header before this layer.
    pub(super) fn ddp_kind(&self) -> ddp::Kind {
        match self {
            Layer::AppletalkEcho => ddp::Kind::ECHO,
            _ => ddp::Kind(0),
        }
    }
    /// The most bytes that this layer may have, with all that follows, and the rule that says so.
    pub(super) fn limit(&self) -> Option<(usize, &'static str)> {
        match self {
            Layer::Ddp(_) => {
                Some((ddp::HEADER_LEN + ddp::MAX_DATA_LEN, "DDP carries at most 586 bytes of data"))
            }
            Layer::Decnet(_) => Some((
                decnet::LENGTH_LEN + decnet::MAX_MESSAGE_LEN,
                "DECnet's block on Ethernet has at most 1498 bytes",
            )),
            _ if self.is_behind_a_length() => {
                Some((ethernet::MAX_LENGTH, "an 802.3 length field states at most 1500 bytes"))
            }
            _ => None,
        }
    }
    /// The protocol number in an IP header before this layer.
    pub(super) fn protocol(&self) -> Protocol {
        match self {
            Layer::Ipv4(_) => Protocol::IPV4,
            Layer::Ipv6(_) => Protocol::IPV6,
            Layer::Ipv6Extension(extension) => extension.protocol(),
            Layer::Udp(_) => Protocol::UDP,
            Layer::Tcp(_) => Protocol::TCP,
            Layer::Icmpv4Echo { .. } => Protocol::ICMPV4,
            Layer::Icmpv6Echo { .. } => Protocol::ICMPV6,
            _ => Protocol::EXPERIMENTAL,
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Layer::Ethernet { src, dst, .. } => write!(f, "Ethernet {src} > {dst}"),
            Layer::Vlan { tag, id, priority, .. } => {
                write!(f, "{tag} VLAN {id} priority {priority}")
            }
            Layer::Ipv4(ip) => write!(f, "IPv4 {} > {} TTL {}", ip.src, ip.dst, ip.ttl),
            Layer::Ipv6(ip) => write!(f, "IPv6 {} > {} hop limit {}", ip.src, ip.dst, ip.hop_limit),
            Layer::Ipv6Extension(extension) => write!(f, "{extension}"),
            Layer::Udp(udp) => write!(f, "UDP {} > {}", udp.src_port, udp.dst_port),
            Layer::Tcp(tcp) => write!(f, "TCP {} > {} {}", tcp.src_port, tcp.dst_port, tcp.flags),
            Layer::Icmpv4Echo { identifier, .. } => {
                write!(f, "ICMP echo request {identifier:#06x}")
            }
            Layer::Icmpv6Echo { identifier, .. } => {
                write!(f, "ICMPv6 echo request {identifier:#06x}")
            }
            Layer::Llc { sap } => llc::Repr::datagram(*sap).fmt(f),
            Layer::Snap => f.write_str("SNAP"),
            Layer::Ipx(ipx) => write!(f, "IPX {} > {}", ipx.src, ipx.dst),
            Layer::Decnet(decnet) => write!(f, "DECnet {} > {}", decnet.src, decnet.dst),
            Layer::NspData => f.write_str("NSP data"),
            Layer::Ddp(ddp) => write!(f, "DDP {} > {}", ddp.src, ddp.dst),
            Layer::AppletalkEcho => f.write_str("AEP request"),
            Layer::Raw(bytes) => write!(f, "{} raw bytes", bytes.len()),
        }
    }
}
