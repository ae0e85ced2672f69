//! Keep-alive frames: what a tester sends again and again so that the device under test goes on
//! knowing an address that the tester plays, and with which period.
//!
//! They are sent beside the measured streams and are no part of offered load or loss.

use crate::appletalk::{self, aarp, rtmp};
use crate::decnet::hello::{Endnode, HeardRouter, Level, Router};
use crate::decnet::routing::{self, Distance, Segment};
use crate::ethernet::MacAddr;
use crate::ipx::{self, Encapsulation};
use crate::rip::{self, RipError};
use crate::{decnet, learning};
use std::net::{Ipv4Addr, Ipv6Addr};
use units::Duration;

/// Frames to be sent, and sent again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeepAlive {
    /// Without FCS.
    pub frames: Vec<Vec<u8>>,
    /// Time from one sending to the next.
    pub period: Duration,
    /// When the device forgets what it is not told again; `None` where that is the device's own
    /// choice.
    pub forgotten_after: Option<Duration>,
    /// Where period and forgetting come from.
    pub source: &'static str,
}

/// Hellos that are missed before a DECnet router gives its neighbour up.
const DECNET_MISSED_HELLOS: u64 = 3;
const DECNET_SOURCE: &str = "DECnet Phase IV routing layer: the hello states its timer (T3, 15 s \
                             by default), a neighbour is lost after three times that (BCT3MULT)";
/// The time between hellos that nodes use where nothing else is asked for, in seconds.
pub const DECNET_HELLO_TIMER_S: u16 = 15;

/// IPv4: an ARP request in the name of `host` for the address of the device's port. Its receiver
/// updates or, being the target, makes an entry for the sender.
pub fn arp(host: (MacAddr, Ipv4Addr), device: Ipv4Addr) -> KeepAlive {
    KeepAlive {
        frames: vec![learning::arp_request(host.0, host.1, device)],
        period: Duration::from_secs(20),
        forgotten_after: None,
        source: "RFC 826 (packet reception), RFC 1122 section 2.3.2.1 (entries are to time out, \
                 of the order of a minute where proxies are in use)",
    }
}

/// IPv6: a neighbour solicitation in the name of `host` for the address of the device's port.
pub fn neighbor_solicitation(host: (MacAddr, Ipv6Addr), device: Ipv6Addr) -> KeepAlive {
    KeepAlive {
        frames: vec![learning::neighbor_solicitation(host.0, host.1, device)],
        period: Duration::from_secs(20),
        forgotten_after: None,
        source: "RFC 4861 section 7.2.3 (a solicitation teaches its sender's address), section 10 \
                 (reachable for 30 s)",
    }
}

/// A bridge: a broadcast from `mac`.
pub fn bridge(mac: MacAddr) -> KeepAlive {
    KeepAlive {
        frames: vec![learning::bridge(mac)],
        period: Duration::from_secs(60),
        forgotten_after: Some(Duration::from_secs(300)),
        source: "IEEE 802.1D section 7.9.2: ageing time 300 s by default; sent five times in it",
    }
}

/// DECnet: the hello of an endnode. A large timer lets a tester be silent through a trial.
pub fn decnet_endnode(node: decnet::Address, timer_s: u16) -> KeepAlive {
    let hello = decnet::Repr::EndnodeHello(Endnode::new(node, timer_s));
    decnet_hello(vec![hello.frame(node.mac(), decnet::ALL_ROUTERS, &[])], timer_s)
}

/// DECnet: nodes behind a level-1 router of the tester's. The hello lists the device, so that both
/// know to have heard each other; the routing message tells of the nodes, one hop away. Nodes of
/// other areas than the router's are left out.
pub fn decnet_router(
    router: decnet::Address,
    device: decnet::Address,
    nodes: &[decnet::Address],
    timer_s: u16,
) -> KeepAlive {
    let heard = vec![HeardRouter { router: device, priority: DECNET_PRIORITY, two_way: true }];
    let hello = decnet::Repr::RouterHello(Router {
        router,
        level: Level::One,
        block_size: decnet::hello::BLOCK_SIZE_ETHERNET,
        // Below the device's: that one remains the designated router.
        priority: DECNET_PRIORITY - 1,
        timer_s,
        heard,
    });
    let near = Distance { hops: 1, cost: DECNET_CIRCUIT_COST };
    let own = Segment { first: router.node(), distances: vec![Distance { hops: 0, cost: 0 }] };
    let behind = nodes.iter().filter(|node| node.area() == router.area());
    let behind = behind.map(|node| Segment { first: node.node(), distances: vec![near] });
    let segments: Vec<Segment> = std::iter::once(own).chain(behind).collect();
    let table = |segments: &[Segment]| {
        let (level, segments) = (Level::One, segments.to_vec());
        decnet::Repr::Routing(routing::Repr { level, sender: router, segments })
    };
    let frames = std::iter::once(hello).chain(segments.chunks(SEGMENTS_PER_FRAME).map(table));
    let frame = |message: decnet::Repr| message.frame(router.mac(), decnet::ALL_ROUTERS, &[]);
    decnet_hello(frames.map(frame).collect(), timer_s)
}

/// The priority that routers have by default.
const DECNET_PRIORITY: u8 = 64;
/// The cost of an Ethernet.
const DECNET_CIRCUIT_COST: u16 = 4;
/// Segments of one entry, 6 bytes each, in a message of at most 576 bytes, which every Phase IV
/// router takes.
const SEGMENTS_PER_FRAME: usize = 90;

fn decnet_hello(frames: Vec<Vec<u8>>, timer_s: u16) -> KeepAlive {
    let timer = u64::from(timer_s.max(1));
    KeepAlive {
        frames,
        period: Duration::from_secs(timer),
        forgotten_after: Some(Duration::from_secs(timer * DECNET_MISSED_HELLOS)),
        source: DECNET_SOURCE,
    }
}

/// AppleTalk: an AARP request in the name of `host` for the node of the device's port.
pub fn aarp(host: (MacAddr, appletalk::Address), device: appletalk::Address) -> KeepAlive {
    KeepAlive {
        frames: vec![aarp::Repr::request(host.0, host.1, device).frame()],
        period: Duration::from_secs(30),
        forgotten_after: None,
        source: "AARP: entries may be learned from requests; their age is left open (Linux keeps \
                 them for five minutes)",
    }
}

/// AppleTalk: networks behind a router of the tester's, whose own range on the cable, `own_range`,
/// must be the device's.
pub fn rtmp(
    router: (MacAddr, appletalk::Address),
    own_range: (u16, u16),
    networks: &[(u16, u16)],
) -> KeepAlive {
    let route = |(first, last), hops| rtmp::Route::Extended { first, last, hops };
    let table = |networks: &[(u16, u16)]| {
        let behind = networks.iter().map(|range| route(*range, 0));
        let routes = std::iter::once(route(own_range, 0)).chain(behind).collect();
        rtmp::Repr::Data { sender: router.1, routes }.frame(router.0, router.1)
    };
    let frames = match networks {
        [] => vec![table(&[])],
        _ => networks.chunks(ROUTES_PER_DATAGRAM).map(table).collect(),
    };
    KeepAlive {
        frames,
        period: Duration::from_secs(10),
        forgotten_after: Some(Duration::from_secs(40)),
        source: "RTMP: a table every 10 s; a route unheard of for 20 s is suspect, and bad after \
                 20 s more",
    }
}

/// Beside the sender's own range, in the 582 bytes behind an RTMP header.
const ROUTES_PER_DATAGRAM: usize = (appletalk::ddp::MAX_DATA_LEN - 4) / 6 - 1;

/// IPX: networks behind a router of the tester's on this cable, as RIP. A node on the device's own
/// network needs none.
pub fn ipx_rip(
    encapsulation: Encapsulation,
    router: (u32, MacAddr),
    networks: &[u32],
) -> KeepAlive {
    let entry = |network: &u32| ipx::rip::Entry { network: *network, hops: 1, ticks: 2 };
    let message = |networks: &[u32]| {
        let entries = networks.iter().map(entry).collect();
        ipx::rip::Repr { operation: ipx::rip::Operation::Response, entries }
    };
    let frames = networks.chunks(ipx::rip::MAX_ENTRIES).map(message);
    KeepAlive {
        frames: frames.map(|message| message.frame(encapsulation, router)).collect(),
        ..ipx_broadcast()
    }
}

/// IPX: servers, as SAP. Not needed for forwarding.
pub fn ipx_sap(
    encapsulation: Encapsulation,
    sender: (u32, MacAddr),
    servers: &[ipx::sap::Server],
) -> KeepAlive {
    let message = |servers: &[ipx::sap::Server]| ipx::sap::Repr::Response {
        nearest: false,
        servers: servers.to_vec(),
    };
    let frames = servers.chunks(ipx::sap::MAX_SERVERS).map(message);
    KeepAlive {
        frames: frames.map(|message| message.frame(encapsulation, sender)).collect(),
        ..ipx_broadcast()
    }
}

fn ipx_broadcast() -> KeepAlive {
    KeepAlive {
        frames: vec![],
        period: Duration::from_secs(60),
        forgotten_after: Some(Duration::from_secs(180)),
        source: "Novell IPX RIP and SAP: a broadcast every 60 s, forgotten after three of them",
    }
}

/// IPv4: networks behind a router of the tester's, as RIP; see [`rip::update_frames`].
pub fn rip(
    version: rip::Version,
    router: (MacAddr, Ipv4Addr),
    prefix_len: u8,
    networks: &[(Ipv4Addr, u8)],
    metric: u32,
) -> Result<KeepAlive, RipError> {
    Ok(KeepAlive {
        frames: rip::update_frames(version, router, prefix_len, networks, metric)?,
        period: Duration::from_secs(30),
        forgotten_after: Some(Duration::from_secs(180)),
        source: "RFC 2453 section 3.8: an update every 30 s, time-out after 180 s",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{Header, summarize};

    const MAC: MacAddr = MacAddr([2, 0, 0x5e, 0x10, 0, 2]);
    const NODE: decnet::Address = decnet::Address::new(2, 10);
    const ROUTER: decnet::Address = decnet::Address::new(2, 20);
    const DEVICE: decnet::Address = decnet::Address::new(2, 1);

    fn all() -> Vec<KeepAlive> {
        let v4 = Ipv4Addr::new;
        let v6 = |last| Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, last);
        let apple = appletalk::Address::new;
        let nodes: Vec<_> = (100..300).map(|node| decnet::Address::new(2, node)).collect();
        let ranges: Vec<_> = (0..100).map(|n| (1_000 + 10 * n, 1_009 + 10 * n)).collect();
        let networks: Vec<u32> = (0x300..0x300 + 60).collect();
        let server = ipx::sap::Server {
            service: ipx::sap::Service::FILE_SERVER,
            name: b"FS".to_vec(),
            at: ipx::Endpoint::new(0x300, MAC, ipx::socket::NCP),
            hops: 1,
        };
        vec![
            arp((MAC, v4(198, 18, 1, 2)), v4(198, 18, 1, 1)),
            neighbor_solicitation((MAC, v6(2)), v6(1)),
            bridge(MAC),
            decnet_endnode(NODE, 600),
            decnet_router(ROUTER, DEVICE, &nodes, DECNET_HELLO_TIMER_S),
            aarp((MAC, apple(200, 20)), apple(200, 1)),
            rtmp((MAC, apple(200, 20)), (200, 200), &ranges),
            ipx_rip(Encapsulation::Snap, (2, MAC), &networks),
            ipx_sap(Encapsulation::Raw, (2, MAC), &vec![server; 8]),
            rip(rip::Version::V2, (MAC, v4(198, 18, 1, 2)), 24, &[(v4(10, 0, 0, 0), 8)], 1)
                .unwrap(),
        ]
    }

    #[test]
    fn every_frame_is_whole_and_is_sent_before_it_is_forgotten() {
        for alive in all() {
            assert!(!alive.frames.is_empty(), "{}", alive.source);
            for frame in &alive.frames {
                let summary = summarize(frame);
                assert_eq!(summary.fault, None, "{summary}");
                assert!((60..=1514).contains(&frame.len()), "{summary}");
            }
            let forgotten = alive.forgotten_after.unwrap_or(Duration::MAX);
            assert!(alive.period < forgotten, "{}", alive.source);
        }
    }

    /// 600 s in the hello give half an hour of silence.
    #[test]
    fn a_hello_states_how_long_it_holds() {
        let alive = decnet_endnode(NODE, 600);
        assert_eq!(alive.forgotten_after, Some(Duration::from_secs(1_800)));
        assert_eq!(alive.frames[0][..6], decnet::ALL_ROUTERS.0);
    }

    #[test]
    fn long_lists_take_several_frames_and_nothing_is_left_out() {
        let headers = |alive: &KeepAlive| -> Vec<Header> {
            let innermost = |frame: &Vec<u8>| summarize(frame).headers.pop();
            alive.frames.iter().filter_map(innermost).collect()
        };
        let all = all();
        let mut counts = vec![0; all.len()];
        for (count, alive) in counts.iter_mut().zip(&all) {
            for header in headers(alive) {
                *count += match header {
                    Header::Decnet(decnet::Repr::Routing(table)) => table.segments.len(),
                    Header::Rtmp(rtmp::Repr::Data { routes, .. }) => routes.len() - 1,
                    Header::IpxRip(message) => message.entries.len(),
                    Header::IpxSap(ipx::sap::Repr::Response { servers, .. }) => servers.len(),
                    _ => 0,
                };
            }
        }
        let frames: Vec<usize> = all.iter().map(|alive| alive.frames.len()).collect();
        assert_eq!((counts[4], frames[4]), (201, 1 + 3), "the router itself and 200 nodes");
        assert_eq!((counts[6], frames[6]), (100, 2));
        assert_eq!((counts[7], frames[7]), (60, 2));
        assert_eq!((counts[8], frames[8]), (8, 2));
    }
}
