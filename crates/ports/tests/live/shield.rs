//! What arrives on an AF_PACKET port is kept from the kernel's own stack, while the port is open
//! and no longer. Needs root.

use crate::bed;
use crate::bed::Bed;
use ports::PortType;
use std::process::Command;
use trial::Tester;
use trial::conformance::Load;
use units::{Duration, FrameRate, FrameSize};
use wire::signature::Key;

const FRAMES: u64 = 1_000;

/// IP packets that the stack of the tester's namespace has received.
fn received_by_ip(testbed: &Bed) -> u64 {
    let text = testbed.tester().run(|| std::fs::read_to_string("/proc/thread-self/net/snmp"));
    let text = text.expect("enter the namespace").expect("read its counters");
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Ip: "));
    let mut words = || lines.next().expect("names and numbers").split(' ');
    let at = words().position(|name| name == "InReceives").expect("the counter");
    words().nth(at).expect("its number").parse().expect("a number")
}

fn tables(testbed: &Bed) -> String {
    let nft = ["netns", "exec", testbed.tester().name(), "nft", "list", "ruleset"];
    let output = Command::new("ip").args(nft).output().expect("iproute2 and nftables");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn the_stack_sees_nothing_while_the_port_is_open() {
    let testbed = bed::loopback(1500);
    let before = received_by_ip(&testbed);
    let mut tester = bed::tester(&testbed, PortType::AF_PACKET, FrameSize::MIN_ETHERNET);
    assert!(tables(&testbed).contains("policy drop"), "{}", tables(&testbed));
    let load = Load {
        paths: &bed::paths(&testbed)[..1],
        streams_each: 1,
        sizes: &[FrameSize::MIN_ETHERNET],
        rate: FrameRate::from_fps(10_000),
        duration: Duration::from_ms(100),
        key: Key::from_seed(0x51),
    };
    let result = tester.run(&load.trial("shielded")).expect("a trial");
    // All reached the tester, none went further.
    assert_eq!((result.forwarded_frames(), result.lost_frames()), (FRAMES, 0));
    assert_eq!(received_by_ip(&testbed) - before, 0);
    drop(tester);
    assert_eq!(tables(&testbed), "");
}
