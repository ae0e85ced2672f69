//! The body of checks that every tester must pass, on real ports back to back.

mod bed;

use trial::conformance::{self, Capacity};
use units::{FrameRate, FrameSize};

#[test]
fn af_packet_conforms_back_to_back() {
    let testbed = bed::loopback(1500);
    let mut tester = bed::tester(&testbed, FrameSize::MAX_ETHERNET);
    let capacity = Capacity { rate: FrameRate::from_fps(20_000), largest: FrameSize::MAX_ETHERNET };
    conformance::check(&mut tester, &bed::paths(&testbed), capacity);
}
