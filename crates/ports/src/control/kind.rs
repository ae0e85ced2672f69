//! Which frames are the control side's: ARP, IPv6 neighbour and router discovery, IGMP and MLD queries, and
//! replies of SNMP agents. Everything else is a port's to account for. The XDP program of the AF_XDP port
//! draws the same line. A frame with a signature of the trial at hand is a test frame all the same.

use std::collections::BTreeSet;
use trial::ReceivePlan;
use wire::ethernet::EtherType;
use wire::ipv4::{self, Protocol};
use wire::signature::{self, Form, Key};
use wire::{group_message, icmpv6, ipv6, snmp, udp, vlan};

const MAX_TAGS: usize = 2;
/// From router solicitation to redirect.
const DISCOVERY_TYPES: std::ops::RangeInclusive<u8> = 133..=137;

/// What a control frame is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// ARP, or IPv6 neighbour or router discovery.
    Discovery,
    /// An IGMP or MLD query.
    GroupQuery,
    /// UDP from port 161.
    SnmpReply,
}

/// Whether a frame belongs to the control side.
#[inline]
pub(crate) fn is_control(frame: &[u8]) -> bool {
    kind_of(frame).is_some()
}

/// By what the test frames of a trial are known, some of which may look like frames of the control side: those that
/// a capture or a client has, such as ARP.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnFrames {
    key: Option<Key>,
    forms: Vec<Form>,
    streams: BTreeSet<u16>,
}

impl OwnFrames {
    /// Those of a trial.
    pub fn of(plan: &ReceivePlan) -> Self {
        let streams = plan.streams.iter().map(|stream| stream.id.0).collect();
        OwnFrames { key: Some(plan.key), forms: plan.forms.clone(), streams }
    }

    /// Whether a frame is one of them.
    pub fn has(&self, frame: &[u8]) -> bool {
        let Some(key) = self.key else { return false };
        self.forms.iter().any(|form| {
            let stamp = signature::read(*form, key, frame);
            stamp.is_some_and(|stamp| self.streams.contains(&stamp.stream))
        })
    }

    /// What the signatures of this form add up to, if frames have it and theirs do.
    pub fn sum(&self, form: Form) -> Option<u16> {
        self.key.filter(|_| self.forms.contains(&form)).map(|key| key.expected_sum(form))
    }
}

/// What a frame of the control side is; `None` for all others.
#[inline]
pub(super) fn kind_of(frame: &[u8]) -> Option<Kind> {
    if group_message::is_query(frame) {
        return Some(Kind::GroupQuery);
    }
    let (ether_type, packet) = vlan::behind_tags(frame, MAX_TAGS)?;
    match ether_type {
        EtherType::ARP => Some(Kind::Discovery),
        EtherType::IPV4 => {
            let header = ipv4::View::peek(packet)?;
            let has_options = header.header_len() != ipv4::HEADER_LEN;
            let is_udp = header.version() == 4 && header.protocol() == Protocol::UDP;
            snmp_reply(&packet[ipv4::HEADER_LEN..]).filter(|_| is_udp && !has_options)
        }
        EtherType::IPV6 => {
            let (header, rest) = (ipv6::View::peek(packet)?, &packet[ipv6::HEADER_LEN..]);
            match header.next_header() {
                Protocol::ICMPV6 => {
                    let kind = icmpv6::View::peek(rest)?.kind();
                    DISCOVERY_TYPES.contains(&kind).then_some(Kind::Discovery)
                }
                Protocol::UDP => snmp_reply(rest),
                _ => None,
            }
        }
        _ => None,
    }
}

fn snmp_reply(datagram: &[u8]) -> Option<Kind> {
    (udp::View::peek(datagram)?.src_port() == snmp::PORT).then_some(Kind::SnmpReply)
}

/// A classic BPF program that lets a socket see control frames and few others, so that a million
/// test frames a second do not wake it. [`is_control`] has the last word. The kernel has taken off the outermost
/// tag of a frame by then.
pub(super) fn filter() -> [libc::sock_filter; 24] {
    const LOAD_HALF: u16 = 0x28;
    const LOAD_BYTE: u16 = 0x30;
    const JUMP_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    const IPV4: usize = 6;
    const IPV6: usize = 11;
    const TAGGED: usize = 17;
    const PASS: usize = 22;
    const DROP: usize = 23;
    let load = |code, place| libc::sock_filter { code, jt: 0, jf: 0, k: place };
    let give = |bytes| libc::sock_filter { code: RETURN, jt: 0, jf: 0, k: bytes };
    // Jumps count from the next line: line `at` goes on at one of two others.
    let is = |at: usize, value: u32, then: usize, otherwise: usize| libc::sock_filter {
        code: JUMP_EQUAL,
        jt: (then - at - 1) as u8,
        jf: (otherwise - at - 1) as u8,
        k: value,
    };
    [
        load(LOAD_HALF, 12),
        is(1, EtherType::ARP.0.into(), PASS, 2),
        is(2, EtherType::IPV6.0.into(), IPV6, 3),
        is(3, EtherType::IPV4.0.into(), IPV4, 4),
        is(4, EtherType::VLAN.0.into(), TAGGED, 5),
        is(5, EtherType::SERVICE_VLAN.0.into(), TAGGED, DROP),
        load(LOAD_BYTE, 23),
        is(7, Protocol::IGMP.0.into(), PASS, 8),
        is(8, Protocol::UDP.0.into(), 9, DROP),
        load(LOAD_HALF, 34),
        is(10, 161, PASS, DROP),
        load(LOAD_BYTE, 20),
        is(12, Protocol::ICMPV6.0.into(), PASS, 13),
        is(13, Protocol::HOP_BY_HOP.0.into(), PASS, 14),
        is(14, Protocol::UDP.0.into(), 15, DROP),
        load(LOAD_HALF, 54),
        is(16, 161, PASS, DROP),
        // Of the frames with two tags, ARP and discovery alone.
        load(LOAD_HALF, 16),
        is(18, EtherType::ARP.0.into(), PASS, 19),
        is(19, EtherType::IPV6.0.into(), 20, DROP),
        load(LOAD_BYTE, 24),
        is(21, Protocol::ICMPV6.0.into(), PASS, DROP),
        give(u32::MAX),
        give(0),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(ether_type: u16, set: &[(usize, u8)]) -> Vec<u8> {
        let mut frame = vec![0; 64];
        frame[12..14].copy_from_slice(&ether_type.to_be_bytes());
        set.iter().for_each(|(at, value)| frame[*at] = *value);
        frame
    }

    #[test]
    fn arp_discovery_and_snmp_replies_are_the_control_sides() {
        assert!(is_control(&frame(0x0806, &[])));
        assert!(is_control(&frame(0x86dd, &[(20, 58), (54, 135)])));
        assert!(is_control(&frame(0x0800, &[(14, 0x45), (23, 17), (35, 161)])));
        assert!(is_control(&frame(0x86dd, &[(20, 17), (55, 161)])));
    }

    #[test]
    fn queries_for_members_of_groups_are_the_control_sides() {
        // IGMP behind the router alert option and without options; MLD behind its hop-by-hop header.
        assert!(is_control(&frame(0x0800, &[(14, 0x46), (23, 2), (38, 0x11)])));
        assert!(is_control(&frame(0x0800, &[(14, 0x45), (23, 2), (34, 0x11)])));
        assert!(is_control(&frame(0x86dd, &[(20, 0), (54, 58), (62, 130)])));
        assert!(!is_control(&frame(0x0800, &[(14, 0x46), (23, 2), (38, 0x16)])), "a report");
        assert!(!is_control(&frame(0x86dd, &[(20, 0), (54, 58), (62, 131)])), "a report");
    }

    #[test]
    fn echo_multicast_listeners_and_queries_to_agents_are_not() {
        assert!(!is_control(&frame(0x86dd, &[(20, 58), (54, 128)])));
        assert!(!is_control(&frame(0x86dd, &[(20, 58), (54, 143)])));
        assert!(!is_control(&frame(0x0800, &[(14, 0x45), (23, 17), (37, 161)])));
        assert!(!is_control(&frame(0x0800, &[(14, 0x46), (23, 17), (35, 161)])));
        assert!(!is_control(&[]));
        assert!(!is_control(&frame(0x0800, &[])[..20]));
    }

    #[test]
    fn tags_are_looked_behind() {
        let mut tagged = frame(0x88a8, &[]);
        tagged[16..18].copy_from_slice(&[0x81, 0x00]);
        tagged[20..22].copy_from_slice(&[0x08, 0x06]);
        assert!(is_control(&tagged));
    }
}
