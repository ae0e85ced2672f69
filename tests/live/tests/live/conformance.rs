//! The one body of checks that every tester must pass, on every port type through every device,
//! each valid trial compared with what the kernel counted; and on the simulator.

use live::{Audited, Bed, IpVersion, JUMBO, can_run, undecided};
use method::LegacyAddresses;
use ports::PortType;
use sim::{Addresses, Description, QueueLimit, SimPort, SimTester, StoreAndForward};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use testbed::DeviceKind;
use traffic::template::FrameTemplate;
use trial::conformance::{self, Capacity, Load, Path};
use trial::{PortId, Prelude, Tester};
use units::{Duration, FrameRate, FrameSize, LineRate};
use wire::ethernet::MacAddr;
use wire::ipx::Encapsulation;
use wire::keepalive::{self, KeepAlive};
use wire::signature::Key;

/// What the virtual links are taken for.
const LINE: LineRate = LineRate::from_gbps(10);
/// Carried without loss by any kernel, on a processor shared with others.
const RATE: FrameRate = FrameRate::from_fps(20_000);

/// The same for real ports. A machine whose instructions are translated, as in `make kernels`, carries less:
/// NETANVIL_CONFORMANCE_FPS states how much.
fn rate() -> FrameRate {
    let stated = std::env::var("NETANVIL_CONFORMANCE_FPS").ok();
    stated.map_or(RATE, |fps| FrameRate::from_fps(fps.parse().expect("frames a second")))
}
/// The largest frame of the xdp port, on kernels that take it.
const XDP_LARGEST: FrameSize = FrameSize::from_bytes(3_404);

fn conforms(device: DeviceKind, port_type: PortType, versions: &[IpVersion], largest: FrameSize) {
    if !can_run(&format!("conformance of {port_type} ports through {device:?}")) {
        return;
    }
    let bed = Bed::of(device, largest);
    let mut tester = Audited::new(bed.live(port_type, largest, LINE), &bed);
    let of_ports = tester.describe().ports.iter().map(|port| port.max_frame_size_bytes).min();
    let largest = largest.min(FrameSize::from_bytes(of_ports.expect("a port")));
    for version in versions {
        let before = tester.audited();
        let capacity = Capacity { rate: rate(), largest };
        let held_up = conformance::check(&mut tester, &bed.paths(*version), capacity);
        let audited = tester.audited() - before;
        assert!(audited + held_up.len() as u32 >= 8, "every check had its audit");
        held_up.iter().for_each(|why| undecided::tell(why));
    }
}

#[test]
fn xdp_back_to_back() {
    conforms(DeviceKind::Loopback, PortType::XDP, &[IpVersion::V4], XDP_LARGEST);
}

#[test]
fn xdp_through_a_router() {
    let versions = [IpVersion::V4, IpVersion::V6];
    conforms(DeviceKind::LinuxRouter, PortType::XDP, &versions, FrameSize::MAX_ETHERNET);
}

#[test]
fn xdp_through_a_bridge() {
    conforms(DeviceKind::LinuxBridge, PortType::XDP, &[IpVersion::V4], FrameSize::MAX_ETHERNET);
}

#[test]
fn af_xdp_back_to_back() {
    conforms(DeviceKind::Loopback, PortType::AF_XDP, &[IpVersion::V4], JUMBO);
}

#[test]
fn af_xdp_through_a_router() {
    let versions = [IpVersion::V4, IpVersion::V6];
    conforms(DeviceKind::LinuxRouter, PortType::AF_XDP, &versions, FrameSize::MAX_ETHERNET);
}

#[test]
fn af_xdp_through_a_bridge() {
    conforms(DeviceKind::LinuxBridge, PortType::AF_XDP, &[IpVersion::V4], FrameSize::MAX_ETHERNET);
}

#[test]
fn af_packet_back_to_back() {
    conforms(DeviceKind::Loopback, PortType::AF_PACKET, &[IpVersion::V4], JUMBO);
}

#[test]
fn af_packet_through_a_router() {
    let versions = [IpVersion::V4, IpVersion::V6];
    conforms(DeviceKind::LinuxRouter, PortType::AF_PACKET, &versions, FrameSize::MAX_ETHERNET);
}

#[test]
fn af_packet_through_a_bridge() {
    let largest = FrameSize::MAX_ETHERNET;
    conforms(DeviceKind::LinuxBridge, PortType::AF_PACKET, &[IpVersion::V4], largest);
}

/// The same body, in virtual time: through a device of just the capacity that is asked for, on
/// links that take their time and on links that do not.
#[test]
fn the_simulator() {
    let capacity = Capacity { rate: RATE, largest: JUMBO };
    let hosts: [[IpAddr; 2]; 2] = [
        [Ipv4Addr::new(198, 18, 1, 2).into(), Ipv4Addr::new(198, 19, 1, 2).into()],
        [
            Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 2).into(),
            Ipv6Addr::new(0x2001, 2, 0, 0x8000, 0, 0, 0, 2).into(),
        ],
    ];
    for port in [SimPort::physical(LINE), SimPort::nominal(LINE)] {
        for hosts in hosts {
            let host = |port: u16| (mac(port), hosts[usize::from(port)]);
            let path = |from, to| Path::udp(PortId(from), PortId(to), host(from), host(to));
            let device = StoreAndForward::with_capacity(RATE, QueueLimit::Frames(4));
            let mut tester = SimTester::new(&[port; 2], device);
            let held_up = conformance::check(&mut tester, &[path(0, 1), path(1, 0)], capacity);
            assert_eq!(held_up, [""; 0]);
        }
    }
}

/// The tester's at a port.
fn mac(port: u16) -> MacAddr {
    MacAddr([2, 0, 0, 0, port as u8, 2])
}

/// What a simulated device forwards, by name: the frames from one port to another, and what makes the
/// host at a port known to the device.
struct Traffic {
    name: &'static str,
    frames: Box<dyn Fn(u16, u16) -> FrameTemplate>,
    keep_alive: Box<dyn Fn(u16) -> KeepAlive>,
}

fn every_protocol() -> Vec<Traffic> {
    let device = |port: u16| Addresses::plan(2).interfaces[usize::from(port)];
    let legacy = |port| LegacyAddresses::plan(PortId(port));
    let traffic = |name, frames, keep_alive| Traffic { name, frames, keep_alive };
    let v4 = |port: u16| Ipv4Addr::new(198, 18 + port as u8, 1, 2);
    let v6 = |port: u16| Ipv6Addr::new(0x2001, 2, 0, 0x8000 * port, 0, 0, 0, 2);
    let mut all = vec![
        traffic(
            "IPv4",
            Box::new(move |from, to| {
                FrameTemplate::udp_ipv4((mac(from), v4(from)), (device(from).mac, v4(to)))
            }),
            Box::new(move |port| keepalive::arp((mac(port), v4(port)), device(port).ipv4.0)),
        ),
        traffic(
            "IPv6",
            Box::new(move |from, to| {
                FrameTemplate::udp_ipv6((mac(from), v6(from)), (device(from).mac, v6(to)))
            }),
            Box::new(move |port| {
                keepalive::neighbor_solicitation((mac(port), v6(port)), device(port).ipv6.0)
            }),
        ),
        traffic(
            "DECnet",
            Box::new(move |from, to| {
                let router = legacy(from).device_decnet.mac();
                FrameTemplate::decnet(legacy(from).host_decnet, legacy(to).host_decnet, router)
            }),
            Box::new(move |port| keepalive::decnet_endnode(legacy(port).host_decnet, 600)),
        ),
        traffic(
            "AppleTalk",
            Box::new(move |from, to| {
                let (src, dst) = (legacy(from).host_appletalk, legacy(to).host_appletalk);
                FrameTemplate::appletalk((mac(from), src), (device(from).mac, dst))
            }),
            Box::new(move |port| {
                let host = (mac(port), legacy(port).host_appletalk);
                keepalive::aarp(host, legacy(port).device_appletalk)
            }),
        ),
        traffic(
            "bridged",
            Box::new(|from, to| FrameTemplate::ethernet(mac(from), mac(to))),
            Box::new(|port| keepalive::bridge(mac(port))),
        ),
    ];
    let encapsulations = [
        ("IPX raw", Encapsulation::Raw),
        ("IPX Ethernet II", Encapsulation::EthernetII),
        ("IPX LLC", Encapsulation::Llc),
        ("IPX SNAP", Encapsulation::Snap),
    ];
    all.extend(encapsulations.map(|(name, encapsulation)| {
        let node = move |port| (legacy(port).ipx_network, mac(port));
        traffic(
            name,
            Box::new(move |from, to| {
                FrameTemplate::ipx(encapsulation, node(from), node(to), device(from).mac)
            }),
            Box::new(move |port| keepalive::ipx_rip(encapsulation, node(port), &[])),
        )
    }));
    all
}

/// The same body again, through a simulated device that looks into each frame of every protocol that
/// it routes, or bridges it; each at every size that the protocol allows.
#[test]
fn the_simulator_in_every_protocol() {
    let text = "line-rate = \"10G\"\nroute = [\"ipv4\", \"ipv6\", \"decnet\", \"appletalk\", \"ipx\"]\n\
                bridge = true\n[input]\nframes = 4\n[cpu]\ncost = { per-frame = \"50us\" }";
    let device = Description::from_toml(text).expect("a description");
    for traffic in every_protocol() {
        let mut tester = device.tester(&Addresses::plan(2)).expect("a tester");
        let paths = [(0, 1), (1, 0)].map(|(from, to)| Path {
            from: PortId(from),
            to: PortId(to),
            frames: (traffic.frames)(from, to),
        });
        let largest = paths[0].frames.max_size().min(FrameSize::MAX_ETHERNET);
        assert_eq!(traffic.name == "AppleTalk", largest == FrameSize::from_bytes(625));
        let no_load = Load {
            paths: &paths,
            streams_each: 1,
            sizes: &[FrameSize::from_bytes(570)],
            rate: RATE,
            duration: Duration::ZERO,
            key: Key::from_seed(1),
        };
        let mut hello = no_load.trial(traffic.name);
        hello.prelude = [0, 1]
            .map(|port| Prelude {
                port: PortId(port),
                frames: (traffic.keep_alive)(port).frames,
                wait: Duration::from_ms(10),
            })
            .to_vec();
        conformance::run_accounted(&mut tester, &hello);
        println!("{}", traffic.name);
        let held_up = conformance::check(&mut tester, &paths, Capacity { rate: RATE, largest });
        assert_eq!(held_up, [""; 0]);
    }
}
