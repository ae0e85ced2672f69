//! RFC 2889 on half-duplex Ethernet: the load that was intended and the load that was offered.

use super::bed::{record, run};
use method::Finding;
use method::chassis::ChassisTest;
use method::rfc2889::MeshResult;
use units::{FrameSize, LineRate};

const SWITCH: &str = "ports = 2\nbridge = true\nline-rate = \"100M\"\nduplex = \"half\"\n";

fn maximum() -> f64 {
    LineRate::from_mbps(100).max_frame_rate(FrameSize::MIN_ETHERNET).fps()
}

/// RFC 2889 section 5.2 with one way only: each medium has one sender.
#[test]
fn one_way_a_half_duplex_switch_reaches_the_theoretical_maximum() {
    let result: MeshResult = record(&run(SWITCH, ChassisTest::Unidirectional));
    assert_eq!(result.throughput.finding, Finding::AtTheoreticalMaximum);
}

/// RFC 2889 section 5.1.2: an intended load above 50 % both ways oversubscribes a half-duplex port.
/// The trial is valid, and states what was offered; both ways together never exceed the medium.
#[test]
fn both_ways_a_half_duplex_switch_is_offered_what_the_medium_takes() {
    let result: MeshResult = record(&run(SWITCH, ChassisTest::FullyMeshed));
    let most = result.points.iter().find(|point| point.load_percent == 100.0).expect("a point");
    assert!(most.invalid.is_empty(), "{:?}", most.invalid);
    assert!((most.intended.fps() / maximum() - 1.0).abs() < 1e-6, "{most:?}");
    // Two media carry every frame that comes out twice: when it is offered, and then.
    let (offered, forwarded) = (most.offered.fps(), most.forwarding_rate.fps());
    assert!(offered < 2.0 * maximum() && forwarded <= maximum() * 1.02, "{offered} {forwarded}");
    let throughput = result.throughput.rate.expect("a rate").fps();
    assert!(throughput <= 0.5 * maximum() * 1.02, "{throughput} each way of {}", maximum());
    assert!(throughput >= 0.2 * maximum(), "{throughput}");
}
