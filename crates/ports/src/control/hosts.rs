//! The hosts that the tester plays on a port, and what they say when asked: pure.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::ethernet::{self, EtherType, MacAddr};
use wire::ipv4::Protocol;
use wire::vlan::{self, Tag};
use wire::{arp, icmpv6, ipv6, learning};

/// A host, or many hosts behind one hardware address: it owns whole networks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Host {
    /// Its hardware address.
    pub mac: MacAddr,
    /// The VLAN tags of its frames, the outermost first; it hears those of its own VLAN alone.
    pub tags: Vec<Tag>,
    /// What it owns: addresses with the lengths of their prefixes in bits (32 or 128 for one).
    pub networks: Vec<(IpAddr, u8)>,
    /// Addresses within its networks that are not its own, such as the device's.
    pub except: Vec<IpAddr>,
}

impl Host {
    /// Whether an address is this host's.
    pub fn owns(&self, address: IpAddr) -> bool {
        let inside = |(network, length): &(IpAddr, u8)| contains(*network, *length, address);
        self.networks.iter().any(inside) && !self.except.contains(&address)
    }
}

/// Tags of a frame that are looked behind.
const TAGS_MAX: usize = 2;

fn contains(network: IpAddr, length: u8, address: IpAddr) -> bool {
    let (difference, width) = match (network, address) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (u128::from(a.to_bits() ^ b.to_bits()), 32),
        (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits() ^ b.to_bits(), 128),
        _ => return false,
    };
    let host_bits = width - u32::from(length).min(width);
    host_bits == 128 || difference >> host_bits == 0
}

/// What a control frame was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Heard {
    /// A question for one of the hosts, with the frame that answers it.
    Question(Vec<u8>),
    /// Somebody in a VLAN told his hardware address.
    Told(Vec<Tag>, IpAddr, MacAddr),
    /// Nothing that concerns the tester.
    Nothing,
}

/// Addresses that hosts of the tester have told a device by asking it for its own, and the hardware
/// addresses behind them.
pub(super) type Told = BTreeMap<Ipv4Addr, MacAddr>;

/// Which address a frame of ours tells, if it does: an ARP request tells the sender's.
pub(super) fn told_by(frame: &[u8]) -> Option<(Ipv4Addr, MacAddr)> {
    let (header, payload) = ethernet::Repr::parse(frame).ok()?;
    let (packet, _) =
        arp::Repr::parse(payload).ok().filter(|_| header.ether_type == EtherType::ARP)?;
    let is_told = packet.operation == arp::Operation::Request && !packet.sender_ip.is_unspecified();
    is_told.then_some((packet.sender_ip, packet.sender_mac))
}

/// A device that knows a host asks it now and then, and it alone, whether it is still there (RFC 1122
/// section 2.3.2.1): a host that has told its address answers that. Questions to all are for the hosts
/// that the tester plays: whether the device remembers the others is what is tested.
pub(super) fn hear_told(told: &Told, frame: &[u8]) -> Heard {
    let answer = || {
        let (header, payload) = ethernet::Repr::parse(frame).ok()?;
        let is_arp = header.ether_type == EtherType::ARP && !header.dst.is_group();
        let (packet, _) = arp::Repr::parse(payload).ok().filter(|_| is_arp)?;
        let mac = told.get(&packet.target_ip).filter(|mac| **mac == header.dst)?;
        Some(packet.answer(*mac)?.frame(packet.sender_mac))
    };
    answer().map_or(Heard::Nothing, Heard::Question)
}

/// Tags of which VLAN they are of, for comparison: the priority does not matter.
pub(super) fn vlan_of(tags: &[Tag]) -> Vec<Tag> {
    tags.iter().map(|tag| Tag { priority: 0, ..*tag }).collect()
}

/// Takes in a frame (without FCS): whoever is in its VLAN hears it, and answers there.
pub(super) fn hear(hosts: &[Host], frame: &[u8]) -> Heard {
    let Some((tags, plain)) = vlan::untag(frame, TAGS_MAX) else { return Heard::Nothing };
    let here: Vec<&Host> =
        hosts.iter().filter(|host| vlan::are_same_vlan(&host.tags, &tags)).collect();
    match hear_plain(&here, &plain) {
        Heard::Told(_, address, mac) => Heard::Told(vlan_of(&tags), address, mac),
        heard => heard,
    }
}

fn hear_plain(hosts: &[&Host], frame: &[u8]) -> Heard {
    let Ok((header, payload)) = ethernet::Repr::parse(frame) else { return Heard::Nothing };
    match header.ether_type {
        EtherType::ARP => hear_arp(hosts, payload),
        EtherType::IPV6 => hear_discovery(hosts, header.src, payload).unwrap_or(Heard::Nothing),
        _ => Heard::Nothing,
    }
}

fn hear_arp(hosts: &[&Host], packet: &[u8]) -> Heard {
    let Ok((packet, _)) = arp::Repr::parse(packet) else { return Heard::Nothing };
    let asked = hosts.iter().find(|host| host.owns(packet.target_ip.into()));
    match (packet.operation, asked) {
        (arp::Operation::Reply, _) => {
            Heard::Told(vec![], packet.sender_ip.into(), packet.sender_mac)
        }
        (arp::Operation::Request, Some(host)) => {
            let answer = packet.answer(host.mac).expect("a request has an answer");
            Heard::Question(vlan::push(answer.frame(packet.sender_mac), &host.tags))
        }
        (arp::Operation::Request, None) => Heard::Nothing,
    }
}

/// RFC 4861 section 7.1: hop limit 255 and a good checksum, or it is not heard.
fn hear_discovery(hosts: &[&Host], from: MacAddr, packet: &[u8]) -> Option<Heard> {
    let (header, message) = ipv6::Repr::parse(packet).ok()?;
    if header.next_header != Protocol::ICMPV6 || header.hop_limit != icmpv6::ND_HOP_LIMIT {
        return None;
    }
    icmpv6::verify(header.src, header.dst, message).ok()?;
    match icmpv6::Repr::parse(message).ok()?.0 {
        icmpv6::Repr::NeighborSolicitation { target, source_mac } => {
            let host = hosts.iter().find(|host| host.owns(target.into()))?;
            let to = (source_mac.unwrap_or(from), header.src);
            let answer = advertisement(host.mac, target, to)?;
            Some(Heard::Question(vlan::push(answer, &host.tags)))
        }
        icmpv6::Repr::NeighborAdvertisement { target, target_mac, .. } => {
            Some(Heard::Told(vec![], target.into(), target_mac.unwrap_or(from)))
        }
        _ => None,
    }
}

/// The answer to a solicitation. One from the unspecified address is duplicate address detection:
/// it is answered to all nodes (RFC 4861 section 7.2.4).
fn advertisement(mac: MacAddr, target: Ipv6Addr, to: (MacAddr, Ipv6Addr)) -> Option<Vec<u8>> {
    const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
    let detection = to.1.is_unspecified();
    let (to_mac, to_ip) =
        if detection { (MacAddr::of_ipv6_group(ALL_NODES), ALL_NODES) } else { to };
    let answer = icmpv6::Repr::NeighborAdvertisement {
        router: false,
        solicited: !detection,
        override_cache: true,
        target,
        target_mac: Some(mac),
    };
    Some(learning::neighbor_discovery((mac, target), (to_mac, to_ip), &answer))
}

/// The question for the hardware address of `target`, from an address of the tester's.
pub(super) fn question(from: (MacAddr, IpAddr), target: IpAddr) -> Option<Vec<u8>> {
    match (from.1, target) {
        (IpAddr::V4(sender_ip), IpAddr::V4(target_ip)) => {
            let request = arp::Repr {
                operation: arp::Operation::Request,
                sender_mac: from.0,
                sender_ip,
                target_mac: MacAddr::ZERO,
                target_ip,
            };
            Some(request.frame(MacAddr::BROADCAST))
        }
        (IpAddr::V6(sender), IpAddr::V6(target)) => {
            Some(learning::neighbor_solicitation(from.0, sender, target))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TESTER: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
    const ROUTER: MacAddr = MacAddr([2, 0, 0, 0, 0, 9]);

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }
    fn hosts() -> Vec<Host> {
        vec![Host {
            mac: TESTER,
            tags: vec![],
            networks: vec![(ip("198.19.1.0"), 24), (ip("2001:2:0:8000::"), 64)],
            except: vec![ip("198.19.1.1"), ip("2001:2:0:8000::1")],
        }]
    }

    #[test]
    fn a_host_owns_its_networks_but_not_the_exceptions() {
        let host = &hosts()[0];
        assert!(host.owns(ip("198.19.1.2")) && host.owns(ip("198.19.1.254")));
        assert!(!host.owns(ip("198.19.1.1")) && !host.owns(ip("198.19.2.2")));
        assert!(host.owns(ip("2001:2:0:8000::ffff")) && !host.owns(ip("2001:2:0:8001::2")));
        let all = Host { mac: TESTER, tags: vec![], networks: vec![(ip("::"), 0)], except: vec![] };
        assert!(all.owns(ip("2001:db8::1")) && !all.owns(ip("10.0.0.1")));
    }

    #[test]
    fn a_host_that_told_its_address_answers_when_it_alone_is_asked() {
        let host = (MacAddr([2, 0xa9, 0, 0, 0, 7]), Ipv4Addr::new(198, 19, 1, 7));
        let telling = question((host.0, host.1.into()), ip("198.19.1.1")).unwrap();
        let told = Told::from([told_by(&telling).unwrap()]);
        assert_eq!(told[&host.1], host.0);
        let mut asked = question((ROUTER, ip("198.19.1.1")), host.1.into()).unwrap();
        assert_eq!(hear_told(&told, &asked), Heard::Nothing, "all are asked");
        asked[..6].copy_from_slice(&host.0.0);
        let Heard::Question(answer) = hear_told(&told, &asked) else { panic!("no answer") };
        assert_eq!(hear(&[], &answer), Heard::Told(vec![], host.1.into(), host.0));
        asked[..6].copy_from_slice(&TESTER.0);
        assert_eq!(hear_told(&told, &asked), Heard::Nothing, "somebody else is asked");
        let probe = question((host.0, ip("0.0.0.0")), ip("198.19.1.7")).unwrap();
        assert_eq!(told_by(&probe), None, "a probe tells nothing");
        assert_eq!(told_by(&answer), None);
        assert!((0..telling.len()).all(|len| told_by(&telling[..len]).is_none() || len >= 42));
    }

    #[test]
    fn a_question_of_one_is_answered_by_the_other_in_both_families() {
        for (router, host) in
            [("198.19.1.1", "198.19.1.2"), ("2001:2:0:8000::1", "2001:2:0:8000::2")]
        {
            let asked = question((ROUTER, ip(router)), ip(host)).unwrap();
            let Heard::Question(answer) = hear(&hosts(), &asked) else { panic!("no answer") };
            assert_eq!(hear(&[], &answer), Heard::Told(vec![], ip(host), TESTER));
            assert_eq!(&answer[..6], &ROUTER.0);
        }
    }

    #[test]
    fn a_host_hears_and_answers_in_its_own_vlan_alone() {
        let outer = Tag { tpid: EtherType::SERVICE_VLAN, priority: 0, id: 100 };
        let inner = Tag { tpid: EtherType::VLAN, priority: 3, id: 7 };
        for tags in [vec![inner], vec![outer, inner]] {
            let of_vlan = Host { tags: tags.clone(), ..hosts()[0].clone() };
            for (router, host) in
                [("198.19.1.1", "198.19.1.2"), ("2001:2:0:8000::1", "2001:2:0:8000::2")]
            {
                let asked = question((ROUTER, ip(router)), ip(host)).unwrap();
                assert_eq!(hear(std::slice::from_ref(&of_vlan), &asked), Heard::Nothing);
                let tagged = vlan::push(asked, &vlan_of(&tags));
                assert_eq!(hear(&hosts(), &tagged), Heard::Nothing, "a host without tags");
                let other = Host { tags: vec![outer], ..of_vlan.clone() };
                let Heard::Question(answer) = hear(&[other, of_vlan.clone()], &tagged) else {
                    panic!("no answer")
                };
                // It answers with its own priority.
                assert_eq!(vlan::tags_of(&answer, 3), Some(tags.clone()));
                assert_eq!(hear(&[], &answer), Heard::Told(vlan_of(&tags), ip(host), TESTER));
            }
        }
        // A tag that gives a priority and no VLAN.
        let priority = Tag { id: 0, ..inner };
        let asked = question((ROUTER, ip("198.19.1.1")), ip("198.19.1.2")).unwrap();
        let Heard::Question(answer) = hear(&hosts(), &vlan::push(asked, &[priority])) else {
            panic!("no answer")
        };
        assert_eq!(vlan::tags_of(&answer, 2), Some(vec![]));
    }

    #[test]
    fn questions_for_others_and_damaged_ones_stay_unanswered() {
        let other = question((ROUTER, ip("198.19.1.1")), ip("198.19.9.9")).unwrap();
        assert_eq!(hear(&hosts(), &other), Heard::Nothing);
        let own = ip("2001:2:0:8000::2");
        let mut damaged = question((ROUTER, ip("2001:2:0:8000::1")), own).unwrap();
        damaged[60] ^= 1;
        assert_eq!(hear(&hosts(), &damaged), Heard::Nothing);
        assert!(question((ROUTER, ip("198.19.1.1")), own).is_none());
    }

    #[test]
    fn duplicate_address_detection_is_answered_to_all_nodes() {
        let asked = question((ROUTER, ip("::")), ip("2001:2:0:8000::2")).unwrap();
        let Heard::Question(answer) = hear(&hosts(), &asked) else { panic!("no answer") };
        assert_eq!(&answer[..6], &[0x33, 0x33, 0, 0, 0, 1]);
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let frame = question((ROUTER, ip("2001:2:0:8000::1")), ip("2001:2:0:8000::2")).unwrap();
        for len in 0..frame.len() {
            let _ = hear(&hosts(), &frame[..len]);
        }
    }
}
