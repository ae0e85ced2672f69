//! ARP cache size, found by a search: hosts that have all made themselves known must all be reached.

use super::Test1989;
use super::growing::{Fit, table_size};
use super::result::Harvard1989Result;
use super::routes::to_each;
use super::scene::{frames, patient, result_of, run_changed, told_slowly};
use crate::RunError;
use crate::bench::Bench;
use crate::subject::Subject;
use std::net::Ipv4Addr;
use trial::Trial;
use units::FrameRate;
use wire::ethernet::MacAddr;
use wire::learning;

/// Addresses of a network of prefix length 24.
const HOSTS_MAX: u64 = 254;

/// How many hosts the device knows at once.
pub(super) fn arp_cache(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
) -> Result<Harvard1989Result, RunError> {
    let test = Test1989::ArpCache;
    let mut result = result_of(test, subject);
    let hosts = hosts(subject);
    let limit = subject.config.harvard_1989.table_limit.min(hosts.len() as u64);
    let found = table_size(limit, |count| {
        let hosts = &hosts[..count as usize];
        reached(bench, subject, hosts)
    })?;
    found.put(&mut result, "hosts");
    if found.beyond == Fit::All {
        result.note("no more hosts were tried: the network has no more addresses");
    }
    Ok(result)
}

/// The tester's host first, which the device knows already, then all others of its network but
/// the device.
fn hosts(subject: &Subject<'_>) -> Vec<(MacAddr, Ipv4Addr)> {
    let attached = subject.traffic.to(0);
    let network = attached.host_ipv4.to_bits() & !0xff;
    let others = (1..=HOSTS_MAX as u32).map(|host| Ipv4Addr::from_bits(network | host));
    let others = others.filter(|host| *host != attached.host_ipv4 && *host != attached.device_ipv4);
    let other = |host: Ipv4Addr| {
        let mut mac = attached.mac;
        (mac.0[1], mac.0[5]) = (0xa9, host.octets()[3]);
        (mac, host)
    };
    [(attached.mac, attached.host_ipv4)].into_iter().chain(others.map(other)).collect()
}

/// Lets these hosts make themselves known, and sends a frame to each: whether all came out.
fn reached(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    hosts: &[(MacAddr, Ipv4Addr)],
) -> Result<Fit, RunError> {
    let attached = subject.traffic.to(0);
    let rate = FrameRate::from_fps(subject.config.harvard_1989.table_fps.max(1));
    let what = format!("{} hosts by ARP", hosts.len());
    let request = frames(Test1989::ArpCache, subject, &what, rate, hosts.len() as u64);
    let change = |mut trial: Trial| -> Result<Trial, RunError> {
        let known = |(mac, host): &(MacAddr, Ipv4Addr)| {
            learning::arp_request(*mac, *host, attached.device_ipv4)
        };
        let known = hosts.iter().map(known).collect();
        trial.prelude.extend(told_slowly(attached.port, known));
        trial.streams[0].frames = to_each(subject, &trial, hosts.iter().map(|(_, host)| *host))?;
        Ok(patient(trial))
    };
    let ran = run_changed(bench, request, &change)?;
    Ok(ran.map_or(Fit::Undecided, |ran| Fit::of(&ran, hosts.len() as u64)))
}
