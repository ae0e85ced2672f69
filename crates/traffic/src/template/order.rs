//! Which layers can follow each other, and which cannot be written.

use super::legacy::IpxLayer;
use super::{Ipv4Layer, Ipv6Layer, Layer};
use wire::ipv6::Extension;
use wire::llc::Sap;

impl Layer {
    /// Why this layer cannot stand behind `before`, or cannot be written; `None` where it can.
    pub(super) fn fault(&self, before: Option<&Layer>) -> Option<&'static str> {
        use Layer::*;
        if matches!(before, Some(Raw(_))) && !matches!(self, Ipv6Extension(_)) {
            return self.fault_alone();
        }
        let place = match (self, before) {
            (Ethernet { .. }, None) => Ok(()),
            (_, None) => Err("the first layer must be Ethernet"),
            (Ethernet { .. }, _) => Err("Ethernet is the first layer, or stands behind raw bytes"),
            (Vlan { .. }, Some(Ethernet { .. } | Vlan { .. })) => Ok(()),
            (Vlan { .. }, _) => Err("a VLAN tag stands behind Ethernet or another tag"),
            (Ipv6Extension(Extension::HopByHop { .. }), Some(Ipv6Extension(_))) => {
                Err("hop-by-hop options stand right behind IPv6 (RFC 8200 section 4.1)")
            }
            (Ipv6Extension(_), Some(Ipv6(_) | Ipv6Extension(_))) => Ok(()),
            (Ipv6Extension(_), _) => Err("an extension header stands behind IPv6 or another"),
            (Llc { .. } | Snap, Some(Ethernet { .. } | Vlan { .. })) => Ok(()),
            (Llc { .. } | Snap, _) => Err("LLC and SNAP stand behind Ethernet or a VLAN tag"),
            (Ipx(IpxLayer { raw: true, .. }), Some(Ethernet { .. } | Vlan { .. })) => Ok(()),
            (Ipx(IpxLayer { raw: true, .. }), _) => Err("raw IPX stands right behind Ethernet"),
            (Ipx(_), Some(Ethernet { .. } | Vlan { .. } | Snap | Llc { sap: Sap::IPX })) => Ok(()),
            (Ipx(_), _) => Err("IPX stands behind Ethernet, SNAP, or LLC of its own"),
            (Decnet(_), Some(Ethernet { .. } | Vlan { .. } | Snap)) => Ok(()),
            (Decnet(_), _) => Err("DECnet stands behind Ethernet or SNAP"),
            (NspData, Some(Decnet(_))) => Ok(()),
            (NspData, _) => Err("NSP stands behind DECnet"),
            (Ddp(_), Some(Snap)) => Ok(()),
            (Ddp(_), _) => Err("DDP stands behind SNAP"),
            (AppletalkEcho, Some(Ddp(_))) => Ok(()),
            (AppletalkEcho, _) => Err("an AppleTalk echo stands behind DDP"),
            (Ipv4(_) | Ipv6(_), Some(before)) if !before.may_carry_ip() => {
                Err("IP stands behind Ethernet, a VLAN tag, SNAP, IP, or raw bytes")
            }
            (Udp(_) | Tcp(_), Some(Ipv4(_) | Ipv6(_) | Ipv6Extension(_))) => Ok(()),
            (Udp(_) | Tcp(_), _) => Err("UDP and TCP stand behind IP"),
            (Icmpv4Echo { .. }, Some(Ipv4(_))) => Ok(()),
            (Icmpv4Echo { .. }, _) => Err("ICMP stands behind IPv4"),
            (Icmpv6Echo { .. }, Some(Ipv6(_) | Ipv6Extension(_))) => Ok(()),
            (Icmpv6Echo { .. }, _) => Err("ICMPv6 stands behind IPv6"),
            (Ipv4(_) | Ipv6(_) | Raw(_), _) => Ok(()),
        };
        place.err().or_else(|| self.fault_alone())
    }
    fn may_carry_ip(&self) -> bool {
        use Layer::*;
        let is_link = matches!(self, Ethernet { .. } | Vlan { .. } | Snap | Raw(_));
        is_link || matches!(self, Ipv4(_) | Ipv6(_) | Ipv6Extension(_))
    }
    fn fault_alone(&self) -> Option<&'static str> {
        match self {
            Layer::Vlan { tag, .. } if !tag.is_vlan() => Some("its type is that of no VLAN tag"),
            Layer::Vlan { id: 4096.., .. } => Some("its identifier has more than 12 bits"),
            Layer::Vlan { priority: 8.., .. } => Some("its priority is above 7"),
            Layer::Ipv4(Ipv4Layer { dscp: 64.., .. })
            | Layer::Ipv6(Ipv6Layer { dscp: 64.., .. }) => Some("its DSCP is above 63"),
            Layer::Ipv4(Ipv4Layer { ecn: 4.., .. }) | Layer::Ipv6(Ipv6Layer { ecn: 4.., .. }) => {
                Some("its ECN is above 3")
            }
            Layer::Ipv6(Ipv6Layer { flow_label: 0x10_0000.., .. }) => {
                Some("its flow label has more than 20 bits")
            }
            Layer::Ipv6Extension(extension) if !extension.is_well_formed() => {
                Some("its length is no multiple of 8 bytes up to 2048")
            }
            Layer::Ipv6Extension(Extension::Fragment { offset, more, .. })
                if *offset != 0 || *more =>
            {
                Some(
                    "a template is a whole packet: only a fragment header with offset 0 and no \
                      more to come",
                )
            }
            _ => None,
        }
    }
}
