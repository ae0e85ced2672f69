//! What a frame carries: its protocols from the outermost to the innermost that we read.

use std::fmt;
use wire::decode::{FrameSummary, Header};
use wire::ethernet::EtherType;
use wire::ipv4::Protocol;
use wire::ipv6::Extension;

/// The deepest that is told apart.
const DEPTH: usize = 8;

/// Protocols one within the other, such as IPv4 / UDP / RIP.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Path([Layer; DEPTH]);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Layer {
    None,
    Known(&'static str),
    /// A type that we do not read.
    EtherType(u16),
    /// A protocol of IP that we do not read.
    Protocol(u8),
}

impl Path {
    /// That of a frame taken apart.
    pub fn of(summary: &FrameSummary) -> Path {
        let mut layers = [Layer::None; DEPTH];
        let named = summary.headers.iter().filter_map(name).map(Layer::Known);
        let last = summary.headers.last().and_then(unread);
        for (place, layer) in layers.iter_mut().zip(named.chain(last)) {
            *place = layer;
        }
        Path(layers)
    }

    /// Their names, the outermost first; none of a frame whose very beginning cannot be read.
    pub fn names(&self) -> Vec<String> {
        let layers = self.0.iter().take_while(|layer| **layer != Layer::None);
        layers.map(Layer::to_string).collect()
    }
}

fn name(header: &Header) -> Option<&'static str> {
    Some(match header {
        Header::Ethernet(_) => return None,
        Header::Ipv6Extension(Extension::Fragment { offset, more, .. })
            if *offset != 0 || *more =>
        {
            "fragment"
        }
        Header::Ipv6Extension(_) => return None,
        Header::Vlan(_) => "VLAN",
        Header::Arp(_) => "ARP",
        Header::Ipv4(_) => "IPv4",
        Header::Ipv6(_) => "IPv6",
        Header::Udp(_) => "UDP",
        Header::Tcp(_) => "TCP",
        Header::Icmpv4(_) => "ICMP",
        Header::Icmpv6(_) => "ICMPv6",
        Header::Rip(_) => "RIP",
        Header::Snmp(_) => "SNMP",
        Header::Llc(_) => "LLC",
        Header::Snap(_) => "SNAP",
        Header::Bpdu(_) => "BPDU",
        Header::Igmp(_) => "IGMP",
        Header::Mld(_) => "MLD",
        Header::Decnet(_) => "DECnet",
        Header::Nsp(_) => "NSP",
        Header::Aarp(_) => "AARP",
        Header::Ddp(_) => "DDP",
        Header::AppletalkEcho(_) => "AEP",
        Header::Rtmp(_) => "RTMP",
        Header::Ipx(_) => "IPX",
        Header::IpxRip(_) => "IPX RIP",
        Header::IpxSap(_) => "SAP",
    })
}

/// What the innermost header announces that was not read.
fn unread(innermost: &Header) -> Option<Layer> {
    let typed =
        |ether_type: EtherType| (!ether_type.is_length()).then_some(Layer::EtherType(ether_type.0));
    match innermost {
        Header::Ethernet(header) => typed(header.ether_type),
        Header::Vlan(tag) => typed(tag.ether_type),
        Header::Ipv4(header) if header.is_fragment() => Some(Layer::Known("fragment")),
        Header::Ipv4(header) => Some(Layer::Protocol(header.protocol.0)),
        Header::Ipv6(header) if !Extension::is_known(header.next_header) => {
            Some(Layer::Protocol(header.next_header.0))
        }
        _ => None,
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Layer::None => Ok(()),
            Layer::Known(name) => f.write_str(name),
            Layer::EtherType(number) => write!(f, "EtherType {number:#06x}"),
            // A header that is cut off leaves a protocol that we would have read.
            Layer::Protocol(number) => write!(f, "{}", Protocol(*number)),
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.names() {
            names if names.is_empty() => f.write_str("unreadable"),
            names => f.write_str(&names.join(" / ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};
    use wire::decode::summarize;
    use wire::ethernet::{MacAddr, Repr};
    use wire::{keepalive, learning};

    const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

    fn path(frame: &[u8]) -> String {
        Path::of(&summarize(frame)).to_string()
    }

    fn ethernet(ether_type: u16, payload: &[u8]) -> Vec<u8> {
        Repr { dst: MAC, src: MAC, ether_type: EtherType(ether_type) }.frame(payload)
    }

    fn ipv4(protocol: u8, more: bool) -> Vec<u8> {
        let host = Ipv4Addr::new(198, 18, 0, 1);
        let mut header = wire::ipv4::Repr::new(host, host, Protocol(protocol), 8);
        header.more_fragments = more;
        header.packet(&[0; 8])
    }

    #[test]
    fn protocols_are_named_from_the_outermost_on() {
        let host = Ipv4Addr::new(198, 18, 1, 2);
        let six = Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 2);
        assert_eq!(path(&learning::gratuitous_arp(MAC, host)), "ARP");
        assert_eq!(path(&learning::unsolicited_advertisement(MAC, six)), "IPv6 / ICMPv6");
        let node = wire::decnet::Address::new(1, 5);
        assert_eq!(path(&keepalive::decnet_endnode(node, 10).frames[0]), "DECnet");
        let group = wire::mld::Repr::v2_join(Ipv6Addr::new(0xff0e, 0, 0, 0, 0, 0, 0, 1));
        assert_eq!(path(&group.frame((MAC, six))), "IPv6 / MLD");
    }

    #[test]
    fn what_is_not_read_is_named_by_its_number() {
        assert_eq!(path(&ethernet(0x88cc, &[0; 46])), "EtherType 0x88cc");
        assert_eq!(path(&ethernet(0x8100, &[0, 5, 0x88, 0xcc, 0, 0])), "VLAN / EtherType 0x88cc");
        assert_eq!(path(&ethernet(0x0800, &ipv4(132, false))), "IPv4 / protocol 132");
        assert_eq!(path(&ethernet(0x0800, &ipv4(17, true))), "IPv4 / fragment");
        assert_eq!(path(&[1; 5]), "unreadable");
    }
}
