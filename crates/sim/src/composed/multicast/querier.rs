//! The querier of a device: it asks for members of groups, in general again and again, and of a group that
//! somebody has left (RFC 2236 section 3, RFC 3376 section 6, RFC 3810 section 7).

use crate::Frame;
use crate::composed::addresses::Interface;
use crate::composed::description;
use std::net::{Ipv4Addr, Ipv6Addr};
use trial::PortId;
use units::{Duration, Instant};
use wire::igmp::{self, V3Query};
use wire::mld::{self, V2Query};

/// RFC 3376 sections 8.1 and 8.8.
const ROBUSTNESS: u8 = 2;
const LAST_MEMBER_RESPONSE: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
pub(crate) struct Querier {
    plan: description::Multicast,
    interfaces: Vec<Interface>,
    every: Duration,
    next: Instant,
}

impl Querier {
    /// `None` for a device that asks nobody.
    pub(crate) fn of(plan: &description::Multicast, interfaces: &[Interface]) -> Option<Querier> {
        let every = plan.query_interval?.0;
        let interfaces = interfaces.to_vec();
        Some(Querier { plan: plan.clone(), interfaces, every, next: Instant::ZERO + every })
    }

    /// When it asks next.
    pub(crate) fn next(&self) -> Instant {
        self.next
    }

    /// The general queries that are due, and when they are.
    pub(crate) fn due(&mut self, now: Instant) -> Option<(Instant, Vec<(PortId, Frame)>)> {
        let at = self.next;
        (at <= now).then(|| {
            self.next = at + self.every;
            let ports = (0..self.interfaces.len()).map(|port| PortId(port as u16));
            (at, ports.flat_map(|port| self.general(port)).collect())
        })
    }

    fn general(&self, port: PortId) -> Vec<(PortId, Frame)> {
        let within = self.plan.query_response.0;
        let groups = [Ipv4Addr::UNSPECIFIED.to_ipv6_mapped(), Ipv6Addr::UNSPECIFIED];
        groups.into_iter().filter_map(|group| self.query(port, group, within)).collect()
    }

    /// Whether anybody is left at a port that listens to this group.
    pub(crate) fn last_member(&self, port: PortId, group: u128) -> Option<(PortId, Frame)> {
        self.query(port, Ipv6Addr::from_bits(group), LAST_MEMBER_RESPONSE)
    }

    /// A query in the newest version that the device understands. Groups of both families are numbers.
    fn query(&self, port: PortId, group: Ipv6Addr, within: Duration) -> Option<(PortId, Frame)> {
        let interface = &self.interfaces[usize::from(port.0)];
        let ms = within.as_ps() / 1_000_000_000;
        let frame = match group.to_ipv4_mapped() {
            Some(group) => {
                let newest = *self.plan.igmp.iter().max()?;
                igmp_query(newest, group, ms / 100).frame((interface.mac, interface.ipv4.0))
            }
            None => {
                let newest = *self.plan.mld.iter().max()?;
                let from = wire::ipv6::link_local(interface.mac);
                mld_query(newest, group, ms).frame((interface.mac, from))
            }
        };
        Some((port, frame.into()))
    }
}

/// Times below 12.8 s are their own codes (RFC 3376 section 4.1.1).
fn igmp_query(version: u8, group: Ipv4Addr, tenths: u64) -> igmp::Repr {
    let tenths = tenths.clamp(1, 127) as u8;
    match version {
        1 => igmp::Repr::Query { max_response_tenths: 0, group: Ipv4Addr::UNSPECIFIED },
        2 => igmp::Repr::Query { max_response_tenths: tenths, group },
        _ => igmp::Repr::V3Query(V3Query {
            max_response_code: tenths,
            group,
            suppress: false,
            robustness: ROBUSTNESS,
            interval_code: 0,
            sources: vec![],
        }),
    }
}

/// Times below 32.768 s are their own codes (RFC 3810 section 5.1.3).
fn mld_query(version: u8, group: Ipv6Addr, ms: u64) -> mld::Repr {
    let ms = ms.clamp(1, 0x7fff) as u16;
    match version {
        1 => mld::Repr::Query { max_response_ms: ms, group },
        _ => mld::Repr::V2Query(V2Query {
            max_response_code: ms,
            group,
            suppress: false,
            robustness: ROBUSTNESS,
            interval_code: 0,
            sources: vec![],
        }),
    }
}
