//! A device that is said to encapsulate: frames that come out otherwise are told, never counted as
//! forwarded.

use super::bed::{VIRTUAL, config, topology};
use method::rfc2544::frame_loss;
use method::{
    Bench, Direction, Encapsulated, Encapsulation, Forwarding, Protocol, Subject, Traffic,
};
use sim::{Patch, SimTester};
use trial::Tester;
use wire::signature::RunKey;

/// Ports joined back to back forward everything, and encapsulate nothing: 6in4 makes 20 bytes more one way
/// and 20 less the other.
#[test]
fn a_device_that_does_not_encapsulate_has_no_result() {
    let mut topology = topology(Forwarding::Routed);
    let outer = topology.ports[1].clone();
    topology.encapsulated =
        Some(Encapsulated { kind: Encapsulation::SixInFour, outer, network: 0 });
    let mut config = config();
    config.traffic.protocol = Protocol::UdpIpv6;
    config.direction = Direction::Bidirectional;
    config.frame_sizes = vec![super::bed::size(128)];
    let traffic =
        Traffic::new(&config, &topology, &config.frame_sizes[0], config.modifiers[0]).unwrap();
    let mut tester = SimTester::new(&[VIRTUAL; 2], Patch::default());
    let description = tester.describe().clone();
    let subject = Subject::new(&config, &traffic, &description, None).unwrap();
    let mut events = vec![];
    let mut bench = Bench::new(&mut tester, &mut events, 0, RunKey::from_seed(1));
    let result = frame_loss(&mut bench, &subject).unwrap();
    assert!(!result.points.is_empty());
    for point in &result.points {
        let why = point.invalid.join("; ");
        assert!(why.contains("another size than 6in4 makes"), "{why}");
    }
    // 100 Mb/s / (8 x (128 + 20 + 20)): the longer side sets the rate (RFC 8219 section 5).
    assert_eq!(result.maximum.fps_truncated(), 74_404);
}
