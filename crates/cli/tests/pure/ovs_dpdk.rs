//! Open vSwitch with DPDK as the device, on the command line: what does not go with it is refused, with what does.

use crate::common::Scratch;

/// What is wrong, and what to do.
fn refused(arguments: &str, said: &[&str]) {
    let ran = Scratch::new().run(&format!("run {arguments} --out a")).expect(2);
    let all = said.iter().all(|words| ran.stderr.contains(words));
    assert!(all, "{arguments}: {said:?} in\n{}", ran.stderr);
}

#[test]
fn an_option_that_it_does_not_use_is_refused_with_the_devices_that_do() {
    for option in [
        "--filter 25",
        "--neighbours dynamic",
        "--snooping",
        "--port-count 2",
        "--mtu 2000",
        "--tx-queue 50",
        "--device-threads inline",
        "--tbf-rate 1M",
        "--drop-every 9",
        "--port-type xdp",
    ] {
        let flag = option.split(' ').next().expect("a flag");
        let no_effect = format!("{flag} has no effect on rfc2544 ");
        refused(
            &format!("--device ovs-dpdk {option}"),
            &[&no_effect, "with --device ovs-dpdk\n", "used with --device linux-"],
        );
    }
    refused(
        "--device ovs-dpdk --forward-mode mac",
        &["--forward-mode has no effect on rfc2544 ", "used with --device testpmd"],
    );
}

/// Each is refused before anything is started.
#[test]
fn what_its_sockets_and_its_table_cannot_be_is_refused() {
    refused(
        "--device ovs-dpdk --input-queue 32768",
        &["input_queue_frames = 32768", "vhost-user holds a power of two, from 2 to 16384 frames"],
    );
    refused("--device ovs-dpdk --sizes 1519", &["mtu_bytes = 1501: ovs-dpdk has 1500"]);
    refused("--device ovs-dpdk --address-table 9", &["Open vSwitch has 10 to 1000000"]);
    refused("--device ovs-dpdk --address-ageing 4000s", &["Open vSwitch has 15 to 3600"]);
    for suite in ["rfc2889", "rfc3918", "gigaswitch"] {
        refused(
            &format!("{suite} --device ovs-dpdk"),
            &["ovs-dpdk is built with two", "ovs-userspace"],
        );
    }
    refused("tolly --device ovs-dpdk", &["the device does not route", "linux-router"]);
}

#[test]
fn the_configuration_that_is_printed_is_that_of_the_switch() {
    let print = "run --device ovs-dpdk --input-queue 1024 --address-table 50 --print-config";
    let printed = Scratch::new().run(print).expect(0).stdout;
    for line in ["device = \"ovs-dpdk\"", "input-queue = 1024", "address-table = 50"] {
        assert!(printed.contains(line), "{line} in\n{printed}");
    }
}
