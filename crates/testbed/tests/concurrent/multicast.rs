//! The kernel's multicast table: as many entries as the tests of 1998 had, and every output counted.

use crate::common::{RawPort, can_build};
use std::net::Ipv4Addr;
use std::time::Duration;
use testbed::{DeviceKind, GroupRange, MulticastRouting, PortAddresses, Testbed, TestbedConfig};
use wire_free::group_frame;

const GROUPS: u32 = 65_536;
const FIRST: Ipv4Addr = Ipv4Addr::new(225, 0, 0, 0);

/// Frames by hand: this crate knows no protocols.
mod wire_free {
    use std::net::Ipv4Addr;

    /// A frame of 60 bytes with an IPv4 packet of an experimental protocol.
    pub fn group_frame(from: Ipv4Addr, group: Ipv4Addr) -> Vec<u8> {
        let [_, b, c, d] = group.octets();
        let mut frame = vec![1, 0, 0x5e, b & 0x7f, c, d, 2, 0, 0, 0, 0, 2, 8, 0];
        let mut header = vec![0x45, 0, 0, 46, 0, 0, 0, 0, 64, 253, 0, 0];
        header.extend(from.octets());
        header.extend(group.octets());
        let words = header.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
        let mut sum: u32 = words.sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        header[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
        frame.extend(header);
        frame.resize(60, 0);
        frame
    }
}

#[test]
fn groups_of_a_table_leave_by_every_output_and_are_counted() {
    if !can_build("groups_of_a_table_leave_by_every_output_and_are_counted") {
        return;
    }
    let config = TestbedConfig {
        ports: 32,
        multicast: MulticastRouting::Table,
        input_queue_frames: 0,
        ..TestbedConfig::of(DeviceKind::LinuxMcast)
    };
    let testbed = Testbed::build(&config).expect("a test bed");
    let device = testbed.device().expect("a device");
    let source = PortAddresses::of_port(0).ipv4.host;
    let all =
        GroupRange { input: 0, source, first: FIRST, groups: GROUPS, outputs: (1..32).collect() };
    let beyond = GroupRange { outputs: vec![32], ..all.clone() };
    let refusal = device.load_groups(&[beyond]).expect_err("no such port").to_string();
    assert!(refusal.contains("port 32"), "{refusal}");
    let loaded = device.load_groups(&[all]).expect("a table");
    assert_eq!((loaded.groups, loaded.copies), (GROUPS, 31 * u64::from(GROUPS)));
    println!("{loaded}");

    // The first and the last group, and one between, go to every output.
    let sent = [0, 40_000, GROUPS - 1].map(|n| Ipv4Addr::from_bits(FIRST.to_bits() + n));
    let listening = [1, 15, 31].map(|port| (port, RawPort::open(&testbed, port)));
    let from = RawPort::open(&testbed, 0);
    for group in sent {
        from.send(&group_frame(source, group)).expect("sent");
        for (port, output) in &listening {
            let like = |frame: &[u8]| frame.len() >= 34 && frame[30..34] == group.octets();
            let copy = output.receive(Duration::from_secs(5), like);
            let copy = copy.unwrap_or_else(|| panic!("{group} at port {port}"));
            assert_eq!(copy[22], 63, "a hop off");
        }
    }
    let counters = device.group_counters().expect("counters");
    assert_eq!(counters.len(), GROUPS as usize);
    assert!(counters.iter().all(|entry| entry.outputs == 31 && entry.wrong_interface == 0));
    for entry in counters {
        let expected = u64::from(sent.contains(&entry.group));
        assert_eq!(entry.packets, expected, "{}", entry.group);
    }
    testbed.destroy().expect("removed");
}

/// MAXVIFS of the kernel.
#[test]
fn a_thirty_third_interface_is_refused_before_anything_is_built() {
    let config = TestbedConfig {
        ports: 33,
        multicast: MulticastRouting::Table,
        ..TestbedConfig::of(DeviceKind::LinuxMcast)
    };
    let refusal = Testbed::build(&config).expect_err("refused").to_string();
    assert!(
        refusal.contains("ports = 33") && refusal.contains("32 interfaces at most"),
        "{refusal}"
    );
}
