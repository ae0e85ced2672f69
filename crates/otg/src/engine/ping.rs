//! Pings from devices: real echo requests, sent beside whatever the port sends.

use super::active::ActiveConfiguration;
use super::{Engine, typed};
use crate::bgp::is_near;
use crate::device::Interface;
use crate::error::Refused;
use crate::model::*;
use crate::ping::{Echo, is_answer, request};
use kernel::{FrameSocket, Has, Offload, wait_readable};
use ports::clock;
use serde_json::Value;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU16, Ordering};
use trial::Patience;
use units::Duration;
use wire::ethernet::MacAddr;
use wire::vlan;

/// Questions before a ping has failed, and how long the answer to each is waited for.
const QUESTIONS: u16 = 3;
const ANSWERS_WITHIN: Duration = Duration::from_secs(1);
/// Pings at the same time.
const AT_ONCE: usize = 16;
/// The longest frame that the kernel hands over.
const LONGEST: usize = 70_000;

impl Engine {
    /// Pings from devices.
    ///
    /// # Errors
    /// Where the request names what there is not, or a port has no way for pings.
    pub fn control_action(&self, request: Value) -> Result<ControlActionResponse, Refused> {
        let (action, checked) = typed::<ControlAction>("ControlAction", request)?;
        let wrong = |what: &str| Refused::request(vec![what.to_owned()]);
        let protocol = action.protocol.ok_or_else(|| wrong("protocol: give the action"))?;
        let active = self.active()?;
        let (ipv4, ipv6) = match protocol.choice {
            ActionProtocolChoice::Ipv4 => {
                let ping = protocol.ipv4.and_then(|ipv4| ipv4.ping);
                let ping = ping.ok_or_else(|| wrong("protocol.ipv4.ping: give its requests"))?;
                let all = ping.requests.into_iter().map(|one| (one.src_name, one.dst_ip));
                (Some(pings(&active, all.collect(), true)?), None)
            }
            ActionProtocolChoice::Ipv6 => {
                let ping = protocol.ipv6.and_then(|ipv6| ipv6.ping);
                let ping = ping.ok_or_else(|| wrong("protocol.ipv6.ping: give its requests"))?;
                let all = ping.requests.into_iter().map(|one| (one.src_name, one.dst_ip));
                (None, Some(pings(&active, all.collect(), false)?))
            }
            _ => return Err(wrong("protocol.choice: choose `ipv4` or `ipv6`")),
        };
        Ok(ControlActionResponse {
            warnings: checked.warnings,
            response: Some(response(ipv4, ipv6)),
        })
    }
}

/// A ping that is over.
struct Pinged {
    from: String,
    target: IpAddr,
    succeeded: bool,
}

fn response(ipv4: Option<Vec<Pinged>>, ipv6: Option<Vec<Pinged>>) -> ActionResponse {
    macro_rules! responses {
        ($all:expr, $response:ident, $result:ident) => {
            $all.into_iter()
                .map(|ping| $response {
                    src_name: ping.from,
                    dst_ip: ping.target.to_string(),
                    result: if ping.succeeded { $result::Succeeded } else { $result::Failed },
                })
                .collect()
        };
    }
    let ipv4 = ipv4.map(|all| ActionResponseProtocolIpv4 {
        choice: ActionResponseProtocolIpv4Choice::Ping,
        ping: Some(ActionResponseProtocolIpv4Ping {
            responses: responses!(
                all,
                ActionResponseProtocolIpv4PingResponse,
                ActionResponseProtocolIpv4PingResponseResult
            ),
        }),
    });
    let ipv6 = ipv6.map(|all| ActionResponseProtocolIpv6 {
        choice: ActionResponseProtocolIpv6Choice::Ping,
        ping: Some(ActionResponseProtocolIpv6Ping {
            responses: responses!(
                all,
                ActionResponseProtocolIpv6PingResponse,
                ActionResponseProtocolIpv6PingResponseResult
            ),
        }),
    });
    let choice = match ipv4 {
        Some(_) => ActionResponseProtocolChoice::Ipv4,
        None => ActionResponseProtocolChoice::Ipv6,
    };
    ActionResponse {
        choice: ActionResponseChoice::Protocol,
        protocol: Some(ActionResponseProtocol { choice, ipv4, ipv6 }),
    }
}

/// Does what the requests ask for, some of them at a time; in their order.
fn pings(
    active: &ActiveConfiguration,
    requests: Vec<(Option<String>, Option<String>)>,
    ipv4: bool,
) -> Result<Vec<Pinged>, Refused> {
    let version = if ipv4 { "ipv4" } else { "ipv6" };
    let mut wanted = vec![];
    for (at, (name, target)) in requests.into_iter().enumerate() {
        let path = format!("protocol.{version}.ping.requests[{at}]");
        let wrong = |property: &str, what: &str| {
            Refused::request(vec![format!("{path}.{property}: {what}")])
        };
        let name = name.ok_or_else(|| wrong("src_name", "give the name of an address"))?;
        let is_own = |own: &&Interface| own.name == name && own.ip.is_ipv4() == ipv4;
        let from = active.addresses.iter().find(is_own).ok_or_else(|| {
            wrong("src_name", &format!("no device has an {version} address `{name}`"))
        })?;
        let target: Option<IpAddr> = target.and_then(|target| target.parse().ok());
        let target = target.ok_or_else(|| wrong("dst_ip", "give the address to ping"))?;
        let port = &active.ports[usize::from(from.port.0)];
        if let Some(why) = port.joint().deafness() {
            return Err(wrong("src_name", &why));
        }
        wanted.push((from, target));
    }
    if wanted.is_empty() {
        let what = format!("protocol.{version}.ping.requests: there is none");
        return Err(Refused::request(vec![what]));
    }
    let mut done = vec![];
    for some in wanted.chunks(AT_ONCE) {
        let results: Vec<Result<Pinged, Refused>> = std::thread::scope(|scope| {
            let start = |(from, target)| scope.spawn(move || ping(active, from, target));
            let threads: Vec<_> = some.iter().copied().map(start).collect();
            let failed = |_| Err(Refused::failed("a ping ended early"));
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(failed)).collect()
        });
        done.extend(results.into_iter().collect::<Result<Vec<_>, _>>()?);
    }
    Ok(done)
}

fn ping(active: &ActiveConfiguration, from: &Interface, target: IpAddr) -> Result<Pinged, Refused> {
    static PINGS: AtomicU16 = AtomicU16::new(1);
    let port = &active.ports[usize::from(from.port.0)];
    let failed = |error: std::io::Error| Refused::failed(format!("port {}: {error}", port.name));
    let identifier = PINGS.fetch_add(1, Ordering::Relaxed);
    let socket = FrameSocket::open(port.index, &wanted(from)).map_err(failed)?;
    let mut buffer = vec![0; LONGEST];
    let mut succeeded = false;
    for sequence in 1..=QUESTIONS {
        let echo = Echo { target, identifier, sequence };
        let mut patience = Patience::begin(clock::now());
        let mut asked = false;
        while !succeeded && patience.waited() < ANSWERS_WITHIN && !patience.is_exhausted() {
            if !asked && let Some(to) = next_hop(active, from, target) {
                let frame = request(&echo, from, to).expect("both are of one version of IP");
                socket.send(&Offload::default(), &frame).map_err(failed)?;
                asked = true;
            }
            wait_readable(&[socket.as_fd()], 10).map_err(failed)?;
            while let Some((_, frame)) = socket.receive(&mut buffer).map_err(failed)? {
                succeeded |= is_answer(&echo, from, frame);
            }
            patience.look(clock::now(), false);
        }
        if patience.is_exhausted() && !succeeded {
            return Err(Refused::failed(format!(
                "port {}: the machine was late by {} while an answer was waited for; leave it a processor",
                port.name,
                patience.late()
            )));
        }
    }
    Ok(Pinged { from: from.name.clone(), target, succeeded })
}

/// The hardware address of the next hop; asks for it where it is not known.
fn next_hop(active: &ActiveConfiguration, from: &Interface, target: IpAddr) -> Option<MacAddr> {
    let is_near = is_near(from, target);
    if let Some(mac) = from.gateway_mac.filter(|_| !is_near || target == from.gateway) {
        return Some(mac);
    }
    let hop = if is_near { target } else { from.gateway };
    let known = active.gateway_mac(from.port, &from.tags, hop);
    if known.is_none() {
        active.ask_for(from, hop);
    }
    known
}

/// Echo replies: the kernel has taken off the outermost tag by then. [`is_answer`] has the last word.
fn wanted(from: &Interface) -> Vec<Vec<Has>> {
    let shift = (from.tags.len().saturating_sub(1) * vlan::HEADER_LEN) as u32;
    vec![
        vec![Has::Half(12 + shift, 0x0800), Has::Byte(23 + shift, 1), Has::Byte(34 + shift, 0)],
        vec![Has::Half(12 + shift, 0x86dd), Has::Byte(20 + shift, 58), Has::Byte(54 + shift, 129)],
    ]
}
