//! DPDK's testpmd as the device, on the command line: what does not go with it is refused, with what does.

use crate::common::Scratch;

/// What is wrong, and what to do.
fn refused(arguments: &str, said: &[&str]) {
    let ran = Scratch::new().run(&format!("run {arguments} --out a")).expect(2);
    let all = said.iter().all(|words| ran.stderr.contains(words));
    assert!(all, "{arguments}: {said:?} in\n{}", ran.stderr);
}

#[test]
fn an_option_that_testpmd_does_not_use_is_refused_with_the_devices_that_do() {
    for option in [
        "--filter 25",
        "--neighbours dynamic",
        "--routes-per-port 9",
        "--tunnel gre",
        "--address-table 50",
        "--snooping",
        "--multicast table",
        "--port-count 2",
        "--mtu 2000",
        "--tx-queue 50",
        "--device-threads inline",
        "--tbf-rate 1M",
        "--frame-limit 1000",
        "--drop-every 9",
        "--port-type xdp",
    ] {
        let flag = option.split(' ').next().expect("a flag");
        let no_effect = format!("{flag} has no effect on rfc2544 ");
        refused(
            &format!("--device testpmd {option}"),
            &[&no_effect, "with --device testpmd\n", "used with --device linux-"],
        );
    }
}

#[test]
fn a_forward_mode_is_testpmds_and_one_that_sends_frames_back_or_drops_them_is_none() {
    let no_effect = "--forward-mode has no effect on rfc2544 ";
    refused("--device linux-bridge --forward-mode mac", &[no_effect, "used with --device testpmd"]);
    for mode in ["flowgen", "rxonly", "csum"] {
        refused(&format!("--device testpmd --forward-mode {mode}"), &["io, mac, macswap, 5tswap"]);
    }
}

/// Each is refused before anything is started.
#[test]
fn what_two_memifs_cannot_be_is_refused() {
    for frames in ["0", "1000", "32768"] {
        let said = format!("input_queue_frames = {frames}");
        refused(
            &format!("--device testpmd --input-queue {frames}"),
            &[&said, "a power of two, from 2 to 16384 frames"],
        );
    }
    for suite in ["rfc2889", "rfc3918", "gigaswitch"] {
        refused(
            &format!("{suite} --device testpmd"),
            &["testpmd forwards between two", "linux-bridge"],
        );
    }
    refused("tolly --device testpmd", &["the device does not route", "linux-router"]);
    refused(
        "--device testpmd --pattern pairs --test throughput",
        &["testpmd forwards between two"],
    );
}

#[test]
fn the_configuration_that_is_printed_is_that_of_testpmd() {
    let print = "run --device testpmd --forward-mode 5tswap --input-queue 1024 --print-config";
    let printed = Scratch::new().run(print).expect(0).stdout;
    for line in ["device = \"testpmd\"", "forward-mode = \"5tswap\"", "input-queue = 1024"] {
        assert!(printed.contains(line), "{line} in\n{printed}");
    }
    for key in ["filter", "port-type", "device-threads", "neighbours"] {
        assert!(!printed.contains(&format!("\n{key} = ")), "{key} in\n{printed}");
    }
}
