//! Echo requests of a device, and which frame is the answer: pure.

use crate::device::Interface;
use std::net::IpAddr;
use wire::ethernet::{self, EtherType, MacAddr};
use wire::ipv4::{self, Protocol};
use wire::vlan;
use wire::{icmpv4, icmpv6, ipv6};

/// A tag more than any device has, to tell frames with too many.
const TAGS_LOOKED_AT: usize = 3;
/// As many bytes as ping(8) sends by default, and of which the answer must be.
const DATA_BYTES: u8 = 56;

/// One question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Echo {
    /// Who is asked.
    pub target: IpAddr,
    /// Tells one request of clients from another.
    pub identifier: u16,
    /// Which of its questions.
    pub sequence: u16,
}

fn data() -> Vec<u8> {
    (0..DATA_BYTES).collect()
}

/// The question as a frame without FCS, to whoever has the hardware address `to`. `None` where target and source are
/// of different versions of IP.
pub fn request(echo: &Echo, from: &Interface, to: MacAddr) -> Option<Vec<u8>> {
    let Echo { identifier, sequence, .. } = *echo;
    let (ether_type, packet) = match (from.ip, echo.target) {
        (IpAddr::V4(own), IpAddr::V4(target)) => {
            let message = icmpv4::Repr::EchoRequest { identifier, sequence }.message(&data());
            let header = ipv4::Repr::new(own, target, Protocol::ICMPV4, message.len() as u16);
            (EtherType::IPV4, header.packet(&message))
        }
        (IpAddr::V6(own), IpAddr::V6(target)) => {
            let message = icmpv6::Repr::EchoRequest { identifier, sequence };
            let message = message.message(own, target, &data());
            let header = ipv6::Repr::new(own, target, Protocol::ICMPV6, message.len() as u16);
            (EtherType::IPV6, header.packet(&message))
        }
        _ => return None,
    };
    let frame = ethernet::Repr { dst: to, src: from.mac, ether_type }.frame(&packet);
    Some(vlan::push(frame, &from.tags))
}

/// Whether a frame is the answer: from whoever was asked, to whoever has asked, in the same VLAN, with the same data and
/// good checksums.
pub fn is_answer(echo: &Echo, from: &Interface, frame: &[u8]) -> bool {
    answers(echo, from, frame).unwrap_or(false)
}

fn answers(echo: &Echo, from: &Interface, frame: &[u8]) -> Option<bool> {
    let (tags, plain) = vlan::untag(frame, TAGS_LOOKED_AT)?;
    let (header, packet) = ethernet::Repr::parse(&plain).ok()?;
    let is_here = header.dst == from.mac && vlan::are_same_vlan(&tags, &from.tags);
    let (src, dst, asked, told) = match header.ether_type {
        EtherType::IPV4 => {
            let (header, rest) = ipv4::Repr::parse(packet).ok()?;
            let (message, told) = icmpv4::Repr::parse(rest).ok()?;
            let icmpv4::Repr::EchoReply { identifier, sequence } = message else { return None };
            let is_icmp = header.protocol == Protocol::ICMPV4;
            (header.src.into(), header.dst.into(), (is_icmp, identifier, sequence), told)
        }
        EtherType::IPV6 => {
            let (header, rest) = ipv6::Repr::parse(packet).ok()?;
            icmpv6::verify(header.src, header.dst, rest).ok()?;
            let (message, told) = icmpv6::Repr::parse(rest).ok()?;
            let icmpv6::Repr::EchoReply { identifier, sequence } = message else { return None };
            let is_icmp = header.next_header == Protocol::ICMPV6;
            (IpAddr::from(header.src), header.dst.into(), (is_icmp, identifier, sequence), told)
        }
        _ => return None,
    };
    let is_same = asked == (true, echo.identifier, echo.sequence) && told == data();
    Some(is_here && is_same && (src, dst) == (echo.target, from.ip))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trial::PortId;
    use wire::vlan::Tag;

    const ROUTER: MacAddr = MacAddr([2, 0, 0, 0, 0, 9]);

    fn device(ip: &str, tags: Vec<Tag>) -> Interface {
        let ip: IpAddr = ip.parse().unwrap();
        Interface {
            name: "a".into(),
            device: "d".into(),
            ethernet: "e".into(),
            port: PortId(0),
            mac: MacAddr([2, 0, 0, 0, 0, 1]),
            tags,
            ip,
            prefix: 24,
            ends: vec![],
            gateway: ip,
            gateway_mac: None,
        }
    }

    /// As a host answers: addresses turned round, the type of a reply (RFC 792, RFC 4443 section 4.2).
    fn reply(echo: &Echo, device: &Interface) -> Vec<u8> {
        let Echo { identifier, sequence, .. } = *echo;
        let (ether_type, packet) = match (device.ip, echo.target) {
            (IpAddr::V4(own), IpAddr::V4(target)) => {
                let message = icmpv4::Repr::EchoReply { identifier, sequence }.message(&data());
                let header = ipv4::Repr::new(target, own, Protocol::ICMPV4, message.len() as u16);
                (EtherType::IPV4, header.packet(&message))
            }
            (IpAddr::V6(own), IpAddr::V6(target)) => {
                let message = icmpv6::Repr::EchoReply { identifier, sequence };
                let message = message.message(target, own, &data());
                let header = ipv6::Repr::new(target, own, Protocol::ICMPV6, message.len() as u16);
                (EtherType::IPV6, header.packet(&message))
            }
            _ => unreachable!("both are of one version"),
        };
        let frame = ethernet::Repr { dst: device.mac, src: ROUTER, ether_type }.frame(&packet);
        vlan::push(frame, &device.tags)
    }

    #[test]
    fn the_answer_to_a_question_is_known_and_no_other_frame() {
        let tag = Tag { tpid: EtherType::VLAN, priority: 0, id: 7 };
        for (own, target) in [("10.0.0.1", "10.0.0.9"), ("2001:db8::1", "2001:db8::9")] {
            for tags in [vec![], vec![tag]] {
                let device = device(own, tags);
                let echo =
                    Echo { target: target.parse().unwrap(), identifier: 0x1234, sequence: 2 };
                let asked = request(&echo, &device, ROUTER).unwrap();
                assert!(!is_answer(&echo, &device, &asked), "the question itself");
                let answer = reply(&echo, &device);
                assert!(is_answer(&echo, &device, &answer));
                assert!(!is_answer(&Echo { sequence: 1, ..echo }, &device, &answer));
                assert!(!is_answer(&Echo { identifier: 1, ..echo }, &device, &answer));
                let elsewhere = Echo { target: "10.9.9.9".parse().unwrap(), ..echo };
                assert!(!is_answer(&elsewhere, &device, &answer));
                let other = Interface { tags: vec![Tag { id: 8, ..tag }], ..device.clone() };
                assert!(!is_answer(&echo, &other, &answer), "another VLAN");
                for length in 0..answer.len() {
                    assert!(!is_answer(&echo, &device, &answer[..length]));
                }
                let mut damaged = answer.clone();
                *damaged.last_mut().unwrap() ^= 1;
                assert!(!is_answer(&echo, &device, &damaged));
            }
        }
        let echo = Echo { target: "2001:db8::1".parse().unwrap(), identifier: 1, sequence: 1 };
        assert_eq!(request(&echo, &device("10.0.0.1", vec![]), ROUTER), None);
    }
}
