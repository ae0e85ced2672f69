//! Ports of DPDK on virtual devices: what every tester must get right, and each refusal.

use crate::bed::{devices, undecided};
use crate::common::{elsewhere, ip};
use ports::LiveTester;
use trial::Tester;
use trial::conformance::{Capacity, check};
use units::{FrameRate, FrameSize};

/// So slow that two processors with other work on them carry it in any queue of 256 frames.
fn capacity() -> Capacity {
    Capacity { rate: FrameRate::from_fps(20_000), largest: FrameSize::MAX_ETHERNET }
}

/// The conformance body between two ports, or of one port with itself.
fn conforms(mut tester: LiveTester, pairs: &[(usize, usize)]) {
    let paths: Vec<_> = pairs.iter().map(|(from, to)| devices::path(&tester, *from, *to)).collect();
    let kinds: Vec<_> = tester.describe().ports.iter().map(|port| &port.port_type).collect();
    assert!(kinds.iter().all(|kind| *kind == "dpdk"), "{kinds:?}");
    for why in check(&mut tester, &paths, capacity()) {
        undecided::tell(&why);
    }
}

#[test]
fn a_memif_link_conforms() {
    let folder = devices::folder();
    let devices = [folder.memif(0, "server", "a"), folder.memif(1, "client", "a")];
    conforms(devices::tester(&devices, FrameSize::MAX_ETHERNET), &[(0, 1), (1, 0)]);
}

#[test]
fn a_vhost_user_link_conforms() {
    let folder = devices::folder();
    let path = folder.path("v");
    let devices = [
        format!("net_vhost0,iface={}", path.display()),
        format!("net_virtio_user0,path={},queue_size=1024", path.display()),
    ];
    conforms(devices::tester(&devices, FrameSize::MAX_ETHERNET), &[(0, 1), (1, 0)]);
}

#[test]
fn af_packet_by_dpdk_conforms_on_a_veth() {
    let _folder = devices::folder();
    elsewhere(|| {
        let devices =
            [(0, "va"), (1, "vb")].map(|(n, name)| format!("net_af_packet{n},iface={name}"));
        conforms(devices::tester(&devices, FrameSize::MAX_ETHERNET), &[(0, 1), (1, 0)]);
        ip("link delete va");
    });
}

#[test]
fn a_ring_conforms() {
    let _folder = devices::folder();
    conforms(devices::tester(&["net_ring0".into()], FrameSize::MAX_ETHERNET), &[(0, 0)]);
}
