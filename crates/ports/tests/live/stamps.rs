//! A veth has no stamps of a card, and nobody says so. Needs root.

use crate::bed;
use ports::PortType;
use std::process::Command;
use units::FrameSize;

#[test]
fn a_veth_has_no_hardware_stamps() {
    let testbed = bed::loopback(1500);
    let interface = testbed.ports()[0].interface.clone();
    // What another program says of it.
    let ethtool = ["netns", "exec", testbed.tester().name(), "ethtool", "-T", &interface];
    let output = Command::new("ip").args(ethtool).output().expect("iproute2 and ethtool");
    let said = String::from_utf8(output.stdout).expect("text");
    assert!(said.contains("software-receive") && !said.contains("hardware-receive"), "{said}");
    let read = || kernel::Ethtool::open(&interface).expect("a way to ask").stamping();
    let read = testbed.tester().run(read).expect("the namespace").expect("an answer");
    assert!(read.software && !read.hardware && read.clock.is_none(), "{read:?}");
    for port_type in [PortType::AF_PACKET, PortType::AF_XDP] {
        let ports = bed::open(&testbed, port_type, FrameSize::MIN_ETHERNET).expect("ports");
        assert!(
            !ports[0].notes().iter().any(|note| note.contains("its card")),
            "{:?}",
            ports[0].notes()
        );
    }
}
