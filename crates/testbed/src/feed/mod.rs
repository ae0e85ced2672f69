//! A router's host routes fed to it as in life: a speaker, BIRD in a namespace of its own, has them all and
//! tells them by BGP, OSPF or RIP over a link that carries nothing else; the router's own BIRD puts them
//! into the kernel's table. Tests begin when that holds every one of them.

mod text;

use crate::bulk_routes::{self, RouteLoad};
use crate::device::Device;
use crate::error::{Result, TestbedError};
use crate::routing::{Bird, learned_routes};
use crate::sysctl;
use kernel::{Namespace, TokenBucket, VethEnd};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// The interface of this link, at both of its ends.
const INTERFACE: &str = "feed0";
const MTU_BYTES: u32 = 1500;
const TX_QUEUE_FRAMES: u32 = 10_000;
/// RIP has no flow control: faster than this, and updates are lost for want of room at the router's socket,
/// to come again half a minute later. 88 updates of 25 routes in 0.1 s are what that has room for.
const RIP_PACE: TokenBucket = TokenBucket {
    rate_bps: 4_000_000,
    burst_bytes: 4_000,
    queue_frames: 1_000_000,
    overhead_bytes: 24,
};
/// Above this BIRD 2.0.12 as OSPF router ends with a segmentation fault (262,144 external LSAs), and RIP says
/// all of it again every half minute.
const OSPF_AND_RIP_ROUTES_MAX: u64 = 65_536;

/// The protocol by which a router is fed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Feed {
    /// BGP-4 within an autonomous system (RFC 4271), next hops kept.
    Bgp,
    /// External routes of OSPFv2 (RFC 2328 section 12.4.4), told apart by their tags.
    Ospf,
    /// RIPv2 (RFC 2453), told apart by their tags.
    Rip,
}

impl fmt::Display for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Feed::Bgp => "BGP",
            Feed::Ospf => "OSPF",
            Feed::Rip => "RIP",
        })
    }
}

/// What the routing daemons of a feed took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Fed {
    /// The protocol.
    pub by: Feed,
    /// Memory of the router's daemon, in bytes (resident).
    pub router_bytes: Option<u64>,
    /// Memory of the speaker, in bytes (resident).
    pub speaker_bytes: Option<u64>,
}

/// Refuses feeds of nothing, and of more than the protocol carries.
pub(crate) fn check(feed: Feed, ports: usize, routes_per_port: u32) -> Result<()> {
    let refuse = |message: String| Err(TestbedError::Configuration(message));
    let routes = ports as u64 * u64::from(routes_per_port);
    match feed {
        _ if routes == 0 => refuse("feed: there is nothing to tell; set routes_per_port".into()),
        Feed::Ospf | Feed::Rip if routes > OSPF_AND_RIP_ROUTES_MAX => refuse(format!(
            "feed: {routes} routes by {feed}: it carries {OSPF_AND_RIP_ROUTES_MAX} here; BGP takes more"
        )),
        _ => Ok(()),
    }
}

/// Joins a router to the namespace of its speaker.
pub(crate) fn join(router: &Namespace, speaker: &Namespace) -> Result<()> {
    speaker.run(sysctl::silence_tester)??;
    let end = |mac| VethEnd {
        name: INTERFACE,
        mac,
        mtu_bytes: MTU_BYTES,
        tx_queue_frames: TX_QUEUE_FRAMES,
        queues: 1,
    };
    let [near, far] = [1, 2].map(|node| end([0x02, b'N', b'A', 0xfd, 0, node]));
    router.netlink()?.add_veth(&near, &far, Some(&speaker.open()?))?;
    if kernel::has_ipv6() {
        router.run(|| sysctl::disable_ipv6(INTERFACE))??;
    }
    for (namespace, address) in [(router, text::ROUTER), (speaker, text::SPEAKER)] {
        let mut netlink = namespace.netlink()?;
        let index = netlink.link_index(INTERFACE)?;
        netlink.set_link_up(INTERFACE, true)?;
        netlink.set_address(index, address.into(), text::PREFIX_LENGTH)?;
    }
    let ends = [router, speaker];
    Ok(ends.iter().try_for_each(|end| end.netlink()?.wait_for_carrier(INTERFACE))?)
}

/// The daemons, running: the router's and its speaker.
#[derive(Debug)]
pub(crate) struct Feeding {
    by: Feed,
    router: Bird,
    speaker: Bird,
}

impl Feeding {
    /// Starts both, and waits until the router's kernel has every route.
    #[allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "what it took is told")]
    pub fn start(by: Feed, device: &Device, speaker: &Namespace) -> Result<(Self, RouteLoad)> {
        let begun = std::time::Instant::now();
        if by == Feed::Rip {
            let mut netlink = speaker.netlink()?;
            let index = netlink.link_index(INTERFACE)?;
            netlink.set_token_bucket(index, RIP_PACE)?;
        }
        let config = device.config();
        let speaker = Bird::start(speaker, &text::of_speaker(by, config))?;
        let router = Bird::start(device.namespace(), &text::of_router(by, config))?;
        let mut feeding = Feeding { by, router, speaker };
        feeding.wait(device)?;
        let load = RouteLoad {
            routes: config.ports as u64 * u64::from(config.routes_per_port),
            took_ms: begun.elapsed().as_millis() as u64,
            table_bytes: bulk_routes::table_bytes(device),
            fed: Some(Fed {
                by,
                router_bytes: feeding.router.resident_bytes(),
                speaker_bytes: feeding.speaker.resident_bytes(),
            }),
        };
        Ok((feeding, load))
    }

    /// Waits until the kernel has every route through its port.
    #[allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "real daemons")]
    pub fn wait(&mut self, device: &Device) -> Result<()> {
        let config = device.config();
        let begun = std::time::Instant::now();
        let patience = Duration::from_secs(config.feed_within_s.into());
        loop {
            let arrived = arrived(device)?;
            if arrived.iter().all(|routes| *routes == u64::from(config.routes_per_port)) {
                return Ok(());
            }
            self.router.check()?;
            self.speaker.check()?;
            let waited = begun.elapsed();
            if waited >= patience {
                return Err(self.late(device, &arrived));
            }
            // Counting a million takes a share of a processor that the daemons need.
            let busy = begun.elapsed() - waited;
            std::thread::sleep((3 * busy).max(Duration::from_millis(50)).min(patience - waited));
        }
    }

    /// Whether the daemon itself mends its routes when a link that they leave by has been down. Next hops
    /// that a policy has set are looked up once.
    pub fn finds_next_hops_again(&self) -> bool {
        self.by == Feed::Bgp
    }

    fn late(&self, device: &Device, arrived: &[u64]) -> TestbedError {
        let config = device.config();
        let of_port = |(port, routes): (usize, &u64)| {
            format!("{} of {} through port {port}", routes, config.routes_per_port)
        };
        let of_ports: Vec<String> = arrived.iter().enumerate().map(of_port).collect();
        TestbedError::Feed {
            message: format!(
                "{} of {} routes have come into the router's table by {} after {} s ({})",
                arrived.iter().sum::<u64>(),
                config.ports as u64 * u64::from(config.routes_per_port),
                self.by,
                config.feed_within_s,
                of_ports.join(", ")
            ),
        }
    }
}

/// Routes in the kernel's table that a daemon has put there, by the port through which they leave.
fn arrived(device: &Device) -> Result<Vec<u64>> {
    let mut netlink = device.namespace().netlink()?;
    let by_interface = learned_routes(&mut netlink)?;
    let of_port = |port| {
        let index = netlink.link_index(&device.interface(port))?;
        Ok(by_interface.get(&index).copied().unwrap_or(0))
    };
    (0..device.config().ports).map(of_port).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feed_of_nothing_or_of_too_much_is_refused() {
        assert!(check(Feed::Bgp, 16, 65_536).is_ok() && check(Feed::Ospf, 2, 32_768).is_ok());
        let refusal = |feed, routes| check(feed, 2, routes).unwrap_err().to_string();
        assert!(refusal(Feed::Bgp, 0).contains("routes_per_port"));
        assert!(refusal(Feed::Rip, 32_769).contains("65538 routes by RIP"));
        assert!(refusal(Feed::Ospf, 65_536).contains("BGP takes more"));
    }
}
