//! Views of headers.

use crate::with_good_checksum;
use wire::checksum::PseudoHeader;

/// Whatever the bytes, no accessor of a view panics; the payload that can be written is the one that is read,
/// and no field is in it.
macro_rules! sound {
    ($bytes:expr, $($view:path),*) => {$({
        use $view as View;
        let bytes: &[u8] = $bytes;
        let fields = View::peek(bytes).map(|view| format!("{view:?}{:?}", view.payload()));
        if let Ok(view) = View::new_checked(bytes) {
            assert!(fields.is_some(), "a checked view without its fixed part");
            let fields = format!("{view:?}");
            let mut copy = bytes.to_vec();
            let mut written = View::new_checked(&mut copy[..]).expect("the same bytes");
            assert_eq!(written.payload_mut(), view.payload());
            written.payload_mut().iter_mut().for_each(|byte| *byte = !*byte);
            assert_eq!(format!("{written:?}"), fields);
        }
    })*};
}

/// What a `Repr` reads is a good view with the same payload.
macro_rules! as_repr {
    ($bytes:expr, $($module:path),*) => {$({
        use $module as module;
        let bytes: &[u8] = $bytes;
        if let Ok((_, payload)) = module::Repr::parse(bytes) {
            let view = module::View::new_checked(bytes).expect("what a Repr reads");
            assert_eq!(view.payload(), payload);
        }
    })*};
}

/// And the other way round, where a `Repr` checks no more than a view.
macro_rules! and_back {
    ($bytes:expr, $($module:path),*) => {$({
        use $module as module;
        let (view, repr) = (module::View::new_checked($bytes), module::Repr::parse($bytes));
        assert_eq!(view.err(), repr.err());
    })*};
}

/// Any bytes as each header that there is a view of.
pub(crate) fn views(bytes: &[u8]) {
    sound!(bytes, wire::ethernet::View);
    sound!(bytes, wire::vlan::View);
    sound!(bytes, wire::arp::View);
    sound!(bytes, wire::ipv4::View);
    sound!(bytes, wire::ipv6::View, wire::ipv6::ExtensionView, wire::ipv6::FragmentView);
    sound!(bytes, wire::udp::View);
    sound!(bytes, wire::tcp::View);
    sound!(bytes, wire::icmpv4::View);
    sound!(
        bytes,
        wire::icmpv6::View,
        wire::icmpv6::RouterView,
        wire::icmpv6::NeighborView,
        wire::icmpv6::OptionView,
        wire::icmpv6::PrefixView
    );
    sound!(
        bytes,
        wire::igmp::View,
        wire::igmp::TailView,
        wire::igmp::ReportView,
        wire::igmp::RecordView
    );
    sound!(bytes, wire::mld::View);
    sound!(bytes, wire::gre::View);
    sound!(bytes, wire::vxlan::View);
    sound!(bytes, wire::llc::View);
    sound!(bytes, wire::snap::View);
    sound!(bytes, wire::bpdu::View, wire::bpdu::ConfigurationView);
    sound!(bytes, wire::pause::View);
    sound!(bytes, wire::ipx::View);
    sound!(bytes, wire::appletalk::ddp::View);
    sound!(bytes, wire::decnet::data::View);
    sound!(bytes, wire::decnet::nsp::View);
    and_back!(
        bytes,
        wire::ethernet,
        wire::vlan,
        wire::ipv6,
        wire::udp,
        wire::tcp,
        wire::llc,
        wire::snap
    );
    and_back!(bytes, wire::vxlan, wire::ipx, wire::appletalk::ddp);
    as_repr!(
        bytes,
        wire::ethernet,
        wire::vlan,
        wire::arp,
        wire::ipv6,
        wire::udp,
        wire::tcp,
        wire::gre
    );
    as_repr!(bytes, wire::vxlan, wire::llc, wire::snap, wire::ipx, wire::appletalk::ddp);
    let header_len = usize::from(bytes.first().unwrap_or(&0) & 0xf) * 4;
    as_repr!(&with_good_checksum(bytes, header_len, wire::ipv4::CHECKSUM), wire::ipv4);
    as_repr!(&with_good_checksum(bytes, bytes.len(), wire::icmpv4::CHECKSUM), wire::icmpv4);
    checksums(bytes);
}

/// What is filled in is good, over any bytes that hold the header.
fn checksums(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    let addresses = PseudoHeader::V4([198, 18, 0, 1].into(), [198, 18, 0, 2].into());
    if let Ok(mut view) = wire::tcp::View::new_checked(&mut bytes[..]) {
        view.fill_checksum(addresses);
        assert_eq!(view.verify_checksum(addresses), Ok(()));
        let _ = view.options();
    }
    if let Some(mut view) = wire::icmpv4::View::peek(&mut bytes[..]) {
        view.fill_checksum();
        assert_eq!(view.verify_checksum(), Ok(()));
    }
    if let Ok(mut view) = wire::ipv4::View::new_checked(&mut bytes[..]) {
        view.fill_checksum();
        assert_eq!(view.verify_checksum(), Ok(()));
        assert_eq!(view.options().len() + wire::ipv4::HEADER_LEN, view.header_len());
    }
}
