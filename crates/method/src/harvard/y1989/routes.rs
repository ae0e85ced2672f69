//! Many routes: the max rate once the device has been fed routes by RIP; and how many it has room
//! for, found by a search: every network that was announced must be reached.

use super::Test1989;
use super::growing::{Fit, table_size};
use super::rates::search;
use super::result::{Harvard1989Result, Unit};
use super::scene::{Possible, all_sent, frames, patient, result_of, run_changed, told_slowly};
use crate::RunError;
use crate::bench::Bench;
use crate::subject::Subject;
use crate::traffic::{FORWARD, Forwarding};
use std::net::Ipv4Addr;
use traffic::modifier::{Field, Modifier, Pattern};
use trial::{Counted, Prelude, StreamFrame, Trial, TrialResult};
use units::{Duration, FrameRate};
use wire::rip::{self, RFC2544_METRIC, UNREACHABLE, Version};

/// Of the networks announced, in 10.0.0.0/8.
const PREFIX_LEN: u8 = 24;
const NETWORKS_MAX: u64 = 65_536;
/// Of the network between tester and device.
const LINK_PREFIX_LEN: u8 = 24;
/// "pause two seconds to be sure that the routing has settled" (RFC 2544 section 23 a).
pub(super) const ROUTES_SETTLE: Duration = Duration::from_secs(2);

/// Network number `n`.
fn network(n: u64) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0a00_0000 | (n as u32) << 8)
}

/// Why a device has no routes.
pub(super) fn no_routes(subject: &Subject<'_>) -> Option<&'static str> {
    let is_routed = subject.traffic.forwarding() == Forwarding::Routed;
    let is_ipv4 = subject.traffic.protocol() == crate::Protocol::UdpIpv4;
    match (is_routed, is_ipv4) {
        (false, _) => Some("not possible on this device: it routes nothing"),
        (_, false) => Some("not possible with this protocol: choose UDP over IPv4"),
        _ => None,
    }
}

/// Updates out of the receiving port that tell of `networks`, with a metric.
fn updates(
    subject: &Subject<'_>,
    networks: std::ops::Range<u64>,
    metric: u32,
) -> Result<Vec<Prelude>, RunError> {
    let host = subject.traffic.to(0);
    let networks: Vec<_> = networks.map(|n| (network(n), PREFIX_LEN)).collect();
    let from = (host.mac, host.host_ipv4);
    let frames = rip::update_frames(Version::V2, from, LINK_PREFIX_LEN, &networks, metric);
    let frames = frames.map_err(|error| RunError::Config(error.to_string()))?;
    Ok(told_slowly(host.port, frames))
}

fn settled(mut prelude: Vec<Prelude>) -> Vec<Prelude> {
    if let Some(last) = prelude.last_mut() {
        last.wait = ROUTES_SETTLE;
    }
    prelude
}

/// The max rate with many routes.
pub(super) fn many_routes(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
) -> Result<Harvard1989Result, RunError> {
    let test = Test1989::ManyRoutes;
    let mut result = result_of(test, subject);
    let routes = subject.config.harvard_1989.routes.min(NETWORKS_MAX);
    result.put("routes announced", routes as f64, Unit::Entries);
    let reached = match reached(bench, subject, test, 0..routes, 0)? {
        Ok(ran) if !ran.result.is_valid() => return Ok(result.invalid(ran.invalid_reasons())),
        Ok(ran) if !all_sent(&ran.result) => {
            return Ok(result.invalid(vec!["the tester did not send every frame".into()]));
        }
        Ok(ran) => ran.result,
        Err(why) => return Ok(result.not_possible(why)),
    };
    if reached.forwarded_frames() == 0 {
        return Ok(result.not_possible(NO_RIP));
    }
    result.put("routes taken in", reached.forwarded_frames() as f64, Unit::Entries);
    if let Some(routes) = in_its_table(&reached) {
        result.put("routes in its own table", routes as f64, Unit::Entries);
    }
    let announced = settled(updates(subject, 0..routes, RFC2544_METRIC)?);
    let traffic = subject.traffic.clone().announcing(announced);
    let found = search(bench, &subject.with_traffic(&traffic), test)?;
    result.put_rate("max rate", &found);
    // The routes are taken back, so that the next test finds the device as it was.
    self::reached(bench, subject, test, 0..1, routes)?.map(drop).unwrap_or_default();
    Ok(result)
}

/// Routes learned, by the device's own count.
fn in_its_table(trial: &TrialResult) -> Option<u64> {
    let routes = trial.device.iter().find(|count| count.counted == Counted::Routes);
    routes.map(|routes| routes.count)
}

const NO_RIP: &str = "not possible on this device: it takes in no routes by RIP (no network \
                      announced was reached)";

/// How many routes the device has room for.
pub(super) fn routing_table(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
) -> Result<Harvard1989Result, RunError> {
    let test = Test1989::RoutingTable;
    let mut result = result_of(test, subject);
    let limit = subject.config.harvard_1989.table_limit.min(NETWORKS_MAX);
    let mut announced = subject.config.harvard_1989.routes.min(NETWORKS_MAX);
    let mut in_table = None;
    let found = table_size(limit, |routes| {
        let ran = reached(bench, subject, test, 0..routes, announced)?;
        announced = announced.max(routes);
        let counted = ran.as_ref().ok().and_then(|ran| in_its_table(&ran.result));
        in_table = in_table.max(counted);
        Ok(ran.map_or(Fit::Undecided, |ran| Fit::of(&ran, routes)))
    })?;
    if (found.entries, found.beyond) == (0, Fit::NotAll) {
        return Ok(result.not_possible(NO_RIP));
    }
    found.put(&mut result, "routes");
    if let Some(routes) = in_table {
        result.put("most in its own table", routes as f64, Unit::Entries);
    }
    reached(bench, subject, test, 0..1, announced)?.map(drop).unwrap_or_default();
    Ok(result)
}

/// Announces these networks, takes those above them back up to `withdrawn`, and sends a frame to
/// each of them.
fn reached(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    test: Test1989,
    networks: std::ops::Range<u64>,
    withdrawn: u64,
) -> Result<Possible, RunError> {
    let rate = FrameRate::from_fps(subject.config.harvard_1989.table_fps.max(1));
    let what = format!("{} routes by RIP", networks.end);
    let request = frames(test, subject, &what, rate, networks.end - networks.start);
    let change = |mut trial: Trial| -> Result<Trial, RunError> {
        let gone = networks.end..withdrawn.max(networks.end);
        trial.prelude.extend(updates(subject, gone, UNREACHABLE)?);
        trial.prelude.extend(updates(subject, networks.clone(), RFC2544_METRIC)?);
        trial.prelude = settled(trial.prelude);
        trial.streams[0].frames =
            to_each(subject, &trial, networks.clone().map(|n| host_of(network(n))))?;
        Ok(patient(trial))
    };
    run_changed(bench, request, &change)
}

fn host_of(network: Ipv4Addr) -> Ipv4Addr {
    Ipv4Addr::from_bits(network.to_bits() | 1)
}

/// A frame to each of these addresses, in order.
pub(super) fn to_each(
    subject: &Subject<'_>,
    trial: &Trial,
    addresses: impl Iterator<Item = Ipv4Addr>,
) -> Result<Vec<StreamFrame>, RunError> {
    let addresses: Vec<u64> = addresses.map(|address| address.to_bits().into()).collect();
    let template = subject.traffic.plain_template();
    let template = template.modifier(Modifier::new(Field::Ipv4Dst, Pattern::List(addresses)));
    super::scene::signed(&template, subject, trial, FORWARD)
}
