//! Devices that copy frames to those who asked for them.

use crate::composed::tests::{Bench, at_us};
use crate::composed::{Addresses, Counter};
use crate::{DeviceUnderTest, Frame};
use std::net::{Ipv4Addr, Ipv6Addr};
use traffic::test_frame;
use trial::PortId;
use units::FrameSize;
use wire::ethernet::{EtherType, HEADER_LEN, MacAddr};
use wire::igmp::{Record, RecordKind};
use wire::{gre, igmp, ipv4, ipv6, learning, mld, vxlan};

const GROUP: Ipv4Addr = Ipv4Addr::new(239, 1, 2, 3);
const GROUP_V6: Ipv6Addr = Ipv6Addr::new(0xff15, 0, 0, 0, 0, 0, 1, 3);
const IN: PortId = PortId(0);

fn mac(port: u16) -> MacAddr {
    MacAddr([2, 0, 0, 0, port as u8, 2])
}

fn host(port: u16) -> Ipv4Addr {
    let (ours, _) = Addresses::plan(4).interfaces[usize::from(port)].ipv4;
    Ipv4Addr::from_bits(ours.to_bits() + 1)
}

fn data() -> Vec<u8> {
    let template = test_frame::template((mac(0), host(0)), (MacAddr::of_ipv4_group(GROUP), GROUP));
    template.build(0, FrameSize::MIN_ETHERNET, None).unwrap()
}

fn data_v6() -> Vec<u8> {
    let source = Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 2);
    let template =
        test_frame::template_ipv6((mac(0), source), (MacAddr::of_ipv6_group(GROUP_V6), GROUP_V6));
    template.build(0, FrameSize::from_bytes(84), None).unwrap()
}

fn ports(out: &[(units::Instant, PortId, Frame)]) -> Vec<u16> {
    let mut ports: Vec<u16> = out.iter().map(|(_, port, _)| port.0).collect();
    ports.sort();
    ports
}

fn say(bench: &mut Bench, port: u16, message: &igmp::Repr) {
    let said = bench.send(PortId(port), message.frame((mac(port), host(port))));
    assert_eq!(said, vec![], "nobody else has to hear of it");
}

fn say_v6(bench: &mut Bench, port: u16, message: &mld::Repr) {
    let frame = message.frame((mac(port), ipv6::link_local(mac(port))));
    assert_eq!(bench.send(PortId(port), frame), vec![]);
}

#[test]
fn a_switch_copies_to_hosts_of_every_version_and_to_nobody_else() {
    let group = GROUP;
    let joins = [
        (igmp::Repr::V1Report { group }, None),
        (igmp::Repr::V2Report { group }, Some(igmp::Repr::Leave { group })),
        (igmp::Repr::v3_join(group), Some(igmp::Repr::v3_leave(group))),
    ];
    for (join, leave) in joins {
        let mut bench = Bench::new("ports = 4\nbridge = true\n[multicast]\n");
        assert_eq!(bench.send(IN, data()), vec![], "nobody asked");
        assert_eq!(bench.count(Counter::NotForwarded), 1);
        say(&mut bench, 2, &join);
        say(&mut bench, 3, &join);
        let copies = bench.send(IN, data());
        assert_eq!(ports(&copies), [2, 3]);
        assert!(copies.iter().all(|(_, _, frame)| frame.bytes == data()), "copied as it is");
        if let Some(leave) = leave {
            say(&mut bench, 2, &leave);
            assert_eq!(ports(&bench.send(IN, data())), [3]);
        }
    }
}

#[test]
fn mld_of_both_versions_is_understood() {
    let group = GROUP_V6;
    let hosts = [
        (mld::Repr::Report { group }, mld::Repr::Done { group }),
        (mld::Repr::v2_join(group), mld::Repr::v2_leave(group)),
    ];
    for (join, leave) in hosts {
        let mut bench = Bench::new("ports = 4\nbridge = true\n[multicast]\n");
        say_v6(&mut bench, 1, &join);
        assert_eq!(ports(&bench.send(IN, data_v6())), [1]);
        say_v6(&mut bench, 1, &leave);
        assert_eq!(bench.send(IN, data_v6()), vec![]);
        // RFC 2710 section 3: not from a link-local address, so not to be believed.
        let forged = join.frame((mac(1), Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 9)));
        bench.send(PortId(1), forged);
        assert_eq!(bench.send(IN, data_v6()), vec![]);
    }
}

#[test]
fn a_device_understands_the_versions_that_it_understands() {
    let mut bench = Bench::new("ports = 4\nbridge = true\n[multicast]\nigmp = [1, 2]\nmld = [1]");
    say(&mut bench, 1, &igmp::Repr::v3_join(GROUP));
    say_v6(&mut bench, 1, &mld::Repr::v2_join(GROUP_V6));
    assert_eq!(bench.send(IN, data()), vec![]);
    assert_eq!(bench.send(IN, data_v6()), vec![]);
    say(&mut bench, 1, &igmp::Repr::V2Report { group: GROUP });
    assert_eq!(ports(&bench.send(IN, data())), [1]);
}

#[test]
fn hosts_may_want_single_sources() {
    let record = |sources: Vec<Ipv4Addr>| igmp::Repr::V3Report {
        records: vec![Record { kind: RecordKind::ALLOW_SOURCES, group: GROUP, sources }],
    };
    let mut bench = Bench::new("ports = 4\nbridge = true\n[multicast]\n");
    say(&mut bench, 1, &record(vec![host(0)]));
    say(&mut bench, 2, &record(vec![host(3)]));
    assert_eq!(ports(&bench.send(IN, data())), [1]);
}

/// RFC 1112 section 6.4: 239.129.2.3 has the hardware address of 239.1.2.3.
#[test]
fn a_switch_may_know_groups_by_hardware_address_only() {
    let alias = Ipv4Addr::new(239, 129, 2, 3);
    for (by_mac, expected) in [("true", vec![1]), ("false", vec![])] {
        let mut bench =
            Bench::new(&format!("ports = 4\nbridge = true\n[multicast]\nby-mac = {by_mac}"));
        say(&mut bench, 1, &igmp::Repr::V2Report { group: alias });
        assert_eq!(ports(&bench.send(IN, data())), expected);
    }
}

#[test]
fn what_is_for_the_local_network_or_not_asked_for_is_flooded() {
    let mut bench = Bench::new("ports = 4\nbridge = true\n[multicast]\nfloods-unknown = true");
    assert_eq!(ports(&bench.send(IN, data())), [1, 2, 3]);
    say(&mut bench, 1, &igmp::Repr::V2Report { group: GROUP });
    assert_eq!(ports(&bench.send(IN, data())), [1]);
    let all_hosts = Ipv4Addr::new(224, 0, 0, 251);
    let template =
        test_frame::template((mac(0), host(0)), (MacAddr::of_ipv4_group(all_hosts), all_hosts));
    let local = template.build(0, FrameSize::MIN_ETHERNET, None).unwrap();
    assert_eq!(ports(&bench.send(IN, local)), [1, 2, 3]);
}

#[test]
fn a_full_table_refuses_and_counts() {
    let mut bench = Bench::new("ports = 4\nbridge = true\n[multicast]\ngroups = 2");
    let records = (1..=3).map(|n| Record {
        kind: RecordKind::TO_EXCLUDE,
        group: Ipv4Addr::new(239, 1, 2, n),
        sources: vec![],
    });
    say(&mut bench, 1, &igmp::Repr::V3Report { records: records.collect() });
    assert_eq!(bench.device.truth(PortId(1), Counter::GroupsRefused), 1);
    assert_eq!(bench.send(IN, data()), vec![], "the third group found no room");
}

#[test]
fn a_bridge_may_flood_all_groups_once_its_table_was_full() {
    let mut bench =
        Bench::new("ports = 4\nbridge = true\n[multicast]\ngroups = 1\nfloods-when-full = true");
    say(&mut bench, 1, &igmp::Repr::V2Report { group: GROUP });
    assert_eq!(ports(&bench.send(IN, data())), [1]);
    say(&mut bench, 1, &igmp::Repr::V2Report { group: Ipv4Addr::new(239, 1, 2, 9) });
    assert_eq!(ports(&bench.send(IN, data())), [1, 2, 3]);
}

const ROUTER: &str = "ports = 4\nroute = [\"ipv4\", \"ipv6\"]\n[multicast]\n";

#[test]
fn a_router_takes_a_hop_off_and_sends_each_copy_as_its_own() {
    let mut bench = Bench::new(ROUTER);
    say(&mut bench, 1, &igmp::Repr::V2Report { group: GROUP });
    say(&mut bench, 2, &igmp::Repr::V2Report { group: GROUP });
    say_v6(&mut bench, 1, &mld::Repr::v2_join(GROUP_V6));
    let copies = bench.send(IN, data());
    assert_eq!(ports(&copies), [1, 2]);
    for (_, port, frame) in &copies {
        assert_eq!(frame[6..12], Addresses::plan(4).interfaces[usize::from(port.0)].mac.0);
        let (packet, _) = ipv4::Repr::parse(&frame[HEADER_LEN..]).expect("a mended checksum");
        assert_eq!((packet.ttl, packet.dst), (test_frame::TTL - 1, GROUP));
    }
    let copies = bench.send(IN, data_v6());
    let [(_, PortId(1), copy)] = &copies[..] else { panic!("{copies:?}") };
    let (packet, _) = ipv6::Repr::parse(&copy[HEADER_LEN..]).unwrap();
    assert_eq!(packet.hop_limit, test_frame::TTL - 1);
    // From another network than the port's: it did not come the right way.
    assert_eq!(bench.send(PortId(3), data()), vec![]);
    assert_eq!(bench.device.truth(PortId(3), Counter::NoRoutes), 1);
}

/// 10 us for the frame, and 2 us for each of two further copies.
#[test]
fn copies_cost_the_processor_their_time() {
    let toml = "ports = 4\nbridge = true\n[multicast]\nper-copy = \"2us\"\n[cpu]\n\
                cost = { per-frame = \"10us\" }";
    let mut bench = Bench::new(toml);
    for port in 1..4 {
        say(&mut bench, port, &igmp::Repr::V2Report { group: GROUP });
    }
    bench.now = at_us(1_000);
    let copies = bench.send(IN, data());
    assert_eq!(ports(&copies), [1, 2, 3]);
    assert!(copies.iter().all(|(at, _, _)| *at == at_us(1_014)), "{copies:?}");
}

#[test]
fn copies_go_into_the_tunnels_that_were_asked_by() {
    let mut bench = Bench::new(&format!("{ROUTER}tunnels = true"));
    let interfaces = Addresses::plan(4).interfaces;
    let ends = |port: u16| {
        let interface = interfaces[usize::from(port)];
        ((mac(port), host(port)), (interface.mac, interface.ipv4.0))
    };
    let join = |port: u16| igmp::Repr::V2Report { group: GROUP }.frame((mac(port), host(port)));
    let (ours, its) = ends(1);
    bench.send(PortId(1), gre::frame_over_ipv4(ours, its, &join(1)).unwrap());
    let (ours, its) = ends(2);
    bench.send(PortId(2), vxlan::frame_over_ipv4(ours, its, 77, &join(2)));
    bench.send(PortId(3), join(3));
    let plain = data();
    let (ours, its) = ends(0);
    let in_gre = gre::frame_over_ipv4(ours, its, &plain).unwrap();
    for sent in [plain.clone(), in_gre] {
        let copies = bench.send(IN, sent);
        assert_eq!(ports(&copies), [1, 2, 3]);
        for (_, port, copy) in copies {
            let (outer, payload) = match port.0 {
                3 => (None, &copy.bytes[HEADER_LEN..]),
                _ => {
                    let (outer, payload) = ipv4::Repr::parse(&copy[HEADER_LEN..]).unwrap();
                    (Some(outer), payload)
                }
            };
            if let Some(outer) = outer {
                let (ours, its) = ends(port.0);
                assert_eq!((outer.src, outer.dst), (its.1, ours.1));
                assert_eq!(copy[..6], ours.0.0);
            }
            let packet = match port.0 {
                1 => gre::Repr::parse(payload).unwrap().1,
                2 => {
                    let (vxlan, within) = vxlan::Repr::parse(&payload[8..]).unwrap();
                    assert_eq!(vxlan.network, 77);
                    assert_eq!(within[..6], MacAddr::of_ipv4_group(GROUP).0);
                    &within[HEADER_LEN..]
                }
                _ => payload,
            };
            let (inner, _) = ipv4::Repr::parse(packet).unwrap();
            assert_eq!((inner.dst, inner.ttl), (GROUP, test_frame::TTL - 1));
            assert_eq!(packet[20..46], plain[HEADER_LEN + 20..], "payload as it was");
        }
    }
}

#[test]
fn what_is_no_multicast_goes_its_way() {
    let mut bench = Bench::new("ports = 4\nbridge = true\n[multicast]\n");
    assert_eq!(ports(&bench.send(PortId(1), learning::bridge(mac(1)))), [0, 2, 3]);
    let other = wire::ethernet::Repr {
        dst: MacAddr([1, 0, 0x5e, 1, 2, 3]),
        src: mac(0),
        ether_type: EtherType::EXPERIMENTAL,
    };
    assert_eq!(ports(&bench.send(IN, other.frame(&[]))), [1, 2, 3], "a group, but not of IP");
    // Cut off anywhere, nothing panics.
    for frame in [data(), igmp::Repr::v3_join(GROUP).frame((mac(1), host(1)))] {
        for len in 0..frame.len() {
            bench.device.handle_frame(bench.now, IN, frame[..len].to_vec().into());
            bench.drain();
        }
    }
}
