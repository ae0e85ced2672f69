//! DPDK's l3fwd as the device, on the command line: what does not go with it is refused, with what does.

use crate::common::Scratch;

/// What is wrong, and what to do.
fn refused(arguments: &str, said: &[&str]) {
    let ran = Scratch::new().run(&format!("run {arguments} --out a")).expect(2);
    let all = said.iter().all(|words| ran.stderr.contains(words));
    assert!(all, "{arguments}: {said:?} in\n{}", ran.stderr);
}

#[test]
fn an_option_that_l3fwd_does_not_use_is_refused_with_the_devices_that_do() {
    for option in [
        "--filter 25",
        "--neighbours dynamic",
        "--routing rip",
        "--routes-per-port 9",
        "--tunnel gre",
        "--address-table 50",
        "--port-count 2",
        "--mtu 2000",
        "--tbf-rate 1M",
        "--port-type xdp",
    ] {
        let flag = option.split(' ').next().expect("a flag");
        let no_effect = format!("{flag} has no effect on rfc2544 ");
        refused(
            &format!("--device l3fwd {option}"),
            &[&no_effect, "with --device l3fwd\n", "used with --device linux-"],
        );
    }
}

/// Each is refused before anything is started.
#[test]
fn what_it_has_not_is_refused() {
    refused("--device l3fwd --input-queue 1000", &["input_queue_frames = 1000", "a power of two"]);
    refused("--device l3fwd --sizes 1519", &["mtu_bytes = 1501: l3fwd has 1500"]);
    refused("rfc2889 --device l3fwd", &["l3fwd is built with two", "linux-router"]);
}

/// In a place without the program, which says how to get it.
#[test]
fn a_missing_l3fwd_is_named_with_what_builds_it() {
    let installed = ["/usr/local/bin", "/usr/local/sbin", "/usr/bin", "/usr/sbin"]
        .iter()
        .any(|folder| std::path::Path::new(folder).join("dpdk-l3fwd").exists());
    let scratch = Scratch::new();
    if installed || scratch.run("--version").expect(0).stdout.contains("without dpdk") {
        return;
    }
    let mut command = scratch.command("run --device l3fwd --sizes 64 --out a");
    let ran: crate::common::Ran = command.env("PATH", "/usr/bin").output().expect("starts").into();
    let ran = ran.expect(2);
    for words in ["dpdk-l3fwd is not installed", "make l3fwd", "/usr/local/bin"] {
        assert!(ran.stderr.contains(words), "{words} in\n{}", ran.stderr);
    }
}
