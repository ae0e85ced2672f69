//! What every view must do, and that each agrees with its `Repr`.

use crate::appletalk::ddp;
use crate::checksum::PseudoHeader;
use crate::decnet::{self, data, nsp};
use crate::ethernet::EtherType;
use crate::ipv4::Protocol;
use crate::ipv6::{Extension, ExtensionView, FragmentView};
use crate::llc::Sap;
use crate::{
    DecodeError, arp, bpdu, ethernet, gre, group_records, icmpv4, icmpv6, igmp, ipv4, ipv6, ipx,
    llc, mld, pause, pppoe, snap, tcp, udp, vlan, vxlan,
};
use proptest::prelude::*;

/// A view, as functions of bytes.
pub(crate) struct Tested {
    pub name: &'static str,
    /// Bytes of its fixed part.
    pub len: usize,
    /// The payload of a checked view.
    pub payload: fn(&[u8]) -> Result<&[u8], DecodeError>,
    /// All fields of bytes that hold the fixed part.
    pub fields: fn(&[u8]) -> String,
    /// Reads each field and writes it elsewhere.
    pub copy: fn(&[u8], &mut [u8]),
}

const ALL: [Tested; 32] = [
    ethernet::View::TESTED,
    vlan::View::TESTED,
    arp::View::TESTED,
    ipv4::View::TESTED,
    ipv6::View::TESTED,
    ExtensionView::TESTED,
    FragmentView::TESTED,
    udp::View::TESTED,
    tcp::View::TESTED,
    icmpv4::View::TESTED,
    icmpv6::View::TESTED,
    icmpv6::RouterView::TESTED,
    icmpv6::NeighborView::TESTED,
    icmpv6::OptionView::TESTED,
    icmpv6::PrefixView::TESTED,
    igmp::View::TESTED,
    mld::View::TESTED,
    group_records::TailView::TESTED,
    group_records::ReportView::TESTED,
    group_records::RecordView::TESTED,
    gre::View::TESTED,
    vxlan::View::TESTED,
    llc::View::TESTED,
    snap::View::TESTED,
    bpdu::View::TESTED,
    bpdu::ConfigurationView::TESTED,
    pause::View::TESTED,
    pppoe::View::TESTED,
    ipx::View::TESTED,
    ddp::View::TESTED,
    data::View::TESTED,
    nsp::View::TESTED,
];

/// A view that is not in the list would be tested by nobody.
#[test]
fn every_view_is_tested() {
    fn count(folder: &std::path::Path) -> usize {
        let entries =
            std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
        entries
            .map(|entry| match entry.path() {
                path if path.is_dir() => count(&path),
                path => {
                    let source = std::fs::read_to_string(path).expect("a source");
                    source.lines().filter(|line| *line == "view! {").count()
                }
            })
            .sum()
    }
    assert_eq!(count(std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))), ALL.len());
}

fn some_bytes() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 64..160)
}

proptest! {
    #[test]
    fn too_few_bytes_are_refused(bytes in some_bytes()) {
        for view in ALL {
            for len in 0..view.len {
                let refused = matches!((view.payload)(&bytes[..len]), Err(DecodeError::Truncated { .. }));
                prop_assert!(refused, "{} of {len} bytes", view.name);
            }
        }
    }

    #[test]
    fn no_bytes_make_a_checked_view_panic(bytes: Vec<u8>) {
        for view in ALL {
            if let Ok(payload) = (view.payload)(&bytes) {
                prop_assert!(bytes.len() >= view.len + payload.len(), "{}", view.name);
                let _ = (view.fields)(&bytes);
            }
        }
    }

    /// What is written is read, and nothing beside it is written: with the old fields all is as it was.
    #[test]
    fn setters_write_what_accessors_read(from in some_bytes(), onto in some_bytes()) {
        for view in ALL {
            let mut written = onto.clone();
            (view.copy)(&from, &mut written);
            prop_assert_eq!((view.fields)(&written), (view.fields)(&from), "{}", view.name);
            prop_assert_eq!(&written[view.len..], &onto[view.len..], "{}", view.name);
            (view.copy)(&onto, &mut written);
            prop_assert_eq!(&written, &onto, "{}", view.name);
        }
    }
}

/// For each line: bytes that the first closure makes good are read as a `Repr`; of what that writes, the view
/// reads every field (those listed have one name in both, `also` compares others), and what its setters write
/// is read as the same `Repr`. `then` fills in what is no field of this view.
macro_rules! agree {
    ($($name:ident: $module:ident[$View:ident], [$($field:ident)*], $mend:expr
        $(, also $also:expr)? $(, then $then:expr)?;)*) => {$(
        proptest! {
            #[test]
            fn $name(mut bytes in some_bytes()) {
                let mend: fn(&mut Vec<u8>) = $mend;
                mend(&mut bytes);
                let (repr, payload) = $module::Repr::parse(&bytes).expect("good bytes");
                let mut emitted = vec![0xff; repr.header_len()];
                repr.emit(&mut emitted);
                emitted.extend_from_slice(payload);
                let view = $module::$View::new_checked(&emitted[..]).expect("what was emitted");
                $(prop_assert!(view.$field() == repr.$field, "{}: {:?}", stringify!($field), repr);)*
                $(
                    let also: fn($module::$View<&[u8]>, &$module::Repr) -> bool = $also;
                    prop_assert!(also(view, &repr), "{:?}", repr);
                )?
                let mut written = emitted.clone();
                written[..$module::$View::<()>::TESTED.len].fill(0);
                ($module::$View::<()>::TESTED.copy)(&emitted, &mut written);
                $(
                    let then: fn(&mut Vec<u8>) = $then;
                    then(&mut written);
                )?
                prop_assert_eq!($module::Repr::parse(&written), Ok((repr, payload)));
            }
        }
    )*};
}

agree! {
    ethernet_agrees: ethernet[View], [dst src ether_type], |_| {};
    vlan_agrees: vlan[View], [priority drop_eligible id ether_type], |_| {};
    arp_agrees: arp[View], [sender_mac sender_ip target_mac target_ip], |bytes| {
        let mut view = arp::View::new_unchecked(bytes);
        view.set_hardware(1);
        view.set_protocol(EtherType::IPV4);
        view.set_lengths([6, 4]);
        view.set_operation(1 + view.operation() % 2);
    }, also |view, repr| (view.operation() == 1) == (repr.operation == arp::Operation::Request);
    ipv4_agrees: ipv4[View], [dscp ecn identification dont_fragment more_fragments fragment_offset ttl
        protocol src dst options], |bytes| {
        let len = bytes.len();
        let mut view = ipv4::View::new_unchecked(bytes);
        view.set_version(4);
        view.set_header_words(view.header_words().max(5));
        view.set_total_len(len as u16);
        view.fill_checksum();
    }, also |view, repr| usize::from(repr.payload_len) == view.payload().len();
    ipv6_agrees: ipv6[View], [dscp ecn flow_label payload_len next_header hop_limit src dst], |bytes| {
        let len = bytes.len() - ipv6::HEADER_LEN;
        let mut view = ipv6::View::new_unchecked(bytes);
        view.set_version(6);
        view.set_payload_len(len as u16);
    };
    udp_agrees: udp[View], [src_port dst_port], |bytes| {
        let len = bytes.len() as u16;
        udp::View::new_unchecked(bytes).set_length(len);
    }, also |view, repr| usize::from(repr.payload_len) == view.payload().len();
    tcp_agrees: tcp[View], [src_port dst_port sequence acknowledgment flags window urgent options], |bytes| {
        let mut view = tcp::View::new_unchecked(bytes);
        view.set_header_words(view.header_words().max(5));
    };
    icmpv6_agrees: icmpv6[View], [], |bytes| {
        let mut view = icmpv6::View::new_unchecked(bytes);
        view.set_kind(128);
        view.set_code(0);
    }, also |view, repr| {
        let (identifier, sequence) = (view.identifier(), view.sequence());
        *repr == icmpv6::Repr::EchoRequest { identifier, sequence }
    };
    router_advertisement_agrees: icmpv6[RouterView], [], |bytes| {
        bytes.truncate(16);
        router_advertisement(bytes);
    }, also |view, repr| *repr == icmpv6::Repr::RouterAdvertisement {
        hop_limit: view.hop_limit(),
        managed: view.managed(),
        other: view.other(),
        lifetime_s: view.lifetime_s(),
        reachable_ms: view.reachable_ms(),
        retransmit_ms: view.retransmit_ms(),
        source_mac: None,
        mtu: None,
        prefixes: vec![],
    }, then router_advertisement;
    neighbor_advertisement_agrees: icmpv6[NeighborView], [], |bytes| {
        bytes.truncate(24);
        neighbor_advertisement(bytes);
    }, also |view, repr| *repr == icmpv6::Repr::NeighborAdvertisement {
        router: view.router(),
        solicited: view.solicited(),
        override_cache: view.override_cache(),
        target: view.target(),
        target_mac: None,
    }, then neighbor_advertisement;
    igmp_agrees: igmp[View], [], |bytes| {
        bytes.truncate(8);
        let mut view = igmp::View::new_unchecked(bytes);
        view.set_kind(igmp::QUERY);
        view.fill_checksum();
    }, also |view, repr| {
        *repr == igmp::Repr::Query { max_response_tenths: view.code(), group: view.group() }
    };
    mld_agrees: mld[View], [], |bytes| {
        bytes.truncate(24);
        mld::View::new_unchecked(bytes).set_kind(mld::QUERY);
    }, also |view, repr| {
        *repr == mld::Repr::Query { max_response_ms: view.max_response(), group: view.group() }
    };
    gre_agrees: gre[View], [protocol], |bytes| {
        let mut view = gre::View::new_unchecked(bytes);
        view.set_flags(view.flags() & 0x3000);
    };
    vxlan_agrees: vxlan[View], [network], |bytes| vxlan::View::new_unchecked(bytes).set_valid(true);
    llc_agrees: llc[View], [dsap ssap], |_| {}, also |view, repr| repr.control == view.control();
    snap_agrees: snap[View], [oui protocol], |bytes| llc::Repr::datagram(Sap::SNAP).emit(bytes),
        then |bytes| llc::Repr::datagram(Sap::SNAP).emit(bytes);
    bpdu_agrees: bpdu[View], [], |bytes| {
        let mut view = bpdu::View::new_unchecked(bytes);
        view.set_protocol(0);
        view.set_version(2);
        view.set_kind(2);
    }, also |view, repr| matches!(repr, bpdu::Repr::Rapid(_)) && view.version() == 2;
    bpdu_configuration_agrees: bpdu[ConfigurationView], [], |bytes| bytes[..4].fill(0),
    also |view, repr| *repr == bpdu::Repr::Configuration(bpdu::Configuration {
        flags: view.flags(),
        root: view.root(),
        root_cost: view.root_cost(),
        bridge: view.bridge(),
        port: view.port(),
        message_age: view.message_age(),
        max_age: view.max_age(),
        hello_time: view.hello_time(),
        forward_delay: view.forward_delay(),
    });
    ipx_agrees: ipx[View], [hops kind dst src], |bytes| {
        let len = bytes.len() as u16;
        ipx::View::new_unchecked(bytes).set_length(len);
    }, also |view, repr| usize::from(repr.payload_len) == view.payload().len();
    ddp_agrees: ddp[View], [hops dst src kind], |bytes| {
        let len = bytes.len() as u16;
        let mut view = ddp::View::new_unchecked(bytes);
        view.set_hops(view.hops() % 16);
        view.set_length(len);
    }, also |view, repr| usize::from(repr.payload_len) == view.payload().len();
    decnet_agrees: data[View], [return_requested returning intra_ethernet visits], |bytes| {
        let mut view = data::View::new_unchecked(bytes);
        view.set_format(6);
        view.set_is_later(false);
        view.set_dst_id(decnet::Address(0x1234).mac());
        view.set_src_id(decnet::Address(0x5678).mac());
    }, also |view, repr| (view.dst_id(), view.src_id()) == (repr.dst.mac(), repr.src.mac());
    nsp_agrees: nsp[View], [dst_link src_link], |bytes| nsp::View::new_unchecked(bytes).set_flags(0x60);
}

fn router_advertisement(bytes: &mut Vec<u8>) {
    let mut view = icmpv6::View::new_unchecked(bytes);
    view.set_kind(134);
    view.set_code(0);
}

fn neighbor_advertisement(bytes: &mut Vec<u8>) {
    let mut view = icmpv6::View::new_unchecked(bytes);
    view.set_kind(136);
    view.set_code(0);
}

proptest! {
    /// The same of ICMPv4, whose checksum stands over what a `Repr` does not hold.
    #[test]
    fn icmpv4_agrees(mut bytes in some_bytes(), kind in 0usize..3) {
        let mut view = icmpv4::View::new_unchecked(&mut bytes);
        view.set_kind([0, 8, 77][kind]);
        view.set_code(0);
        view.fill_checksum();
        let (repr, payload) = icmpv4::Repr::parse(&bytes).expect("good bytes");
        let emitted = repr.message(payload);
        let view = icmpv4::View::new_checked(&emitted[..]).expect("what was emitted");
        let (identifier, sequence) = (view.identifier(), view.sequence());
        let expected = match view.kind() {
            0 => icmpv4::Repr::EchoReply { identifier, sequence },
            8 => icmpv4::Repr::EchoRequest { identifier, sequence },
            kind => icmpv4::Repr::Other { kind, code: view.code(), rest: view.rest() },
        };
        prop_assert_eq!(repr, expected);
        prop_assert_eq!(view.verify_checksum(), Ok(()));
        prop_assert_eq!(&emitted, &bytes);
    }

    /// And of headers of IPv6 behind the first.
    #[test]
    fn extensions_agree(mut bytes in some_bytes(), more_units in 0u8..8) {
        let (fragment, next, rest) = Extension::parse(Protocol::FRAGMENT, &bytes).expect("enough bytes");
        let view = FragmentView::new_checked(&bytes[..]).expect("enough bytes");
        let (offset, more, identification) = (view.offset(), view.more(), view.identification());
        prop_assert_eq!(fragment, Extension::Fragment { offset, more, identification });
        prop_assert_eq!((next, rest), (view.next_header(), view.payload()));
        ExtensionView::new_unchecked(&mut bytes).set_more_units(more_units % 8);
        let (routing, next, rest) = Extension::parse(Protocol::ROUTING, &bytes).expect("enough bytes");
        let view = ExtensionView::new_checked(&bytes[..]).expect("enough bytes");
        let (kind, segments_left) = (view.routing_kind(), view.segments_left());
        let data = view.routing_data().to_vec();
        prop_assert_eq!(routing, Extension::Routing { kind, segments_left, data });
        prop_assert_eq!((next, rest), (view.next_header(), view.payload()));
    }

    #[test]
    fn a_checksum_that_is_filled_in_is_good(mut bytes in some_bytes(), src: u128, dst: u128) {
        let addresses = PseudoHeader::V6(src.into(), dst.into());
        let len = bytes.len() as u16;
        let mut view = udp::View::new_unchecked(&mut bytes);
        view.set_length(len);
        view.fill_checksum(addresses);
        prop_assert_eq!(view.verify_checksum(addresses), Ok(()));
        let mut view = tcp::View::new_unchecked(&mut bytes);
        view.fill_checksum(addresses);
        prop_assert_eq!(view.verify_checksum(addresses), Ok(()));
        let mut view = icmpv6::View::new_unchecked(&mut bytes);
        view.fill_checksum(src.into(), dst.into());
        prop_assert_eq!(view.verify_checksum(src.into(), dst.into()), Ok(()));
    }
}
