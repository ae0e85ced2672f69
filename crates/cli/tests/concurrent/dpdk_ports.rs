//! Ports of DPDK on the command line: what is refused, and what takes a process of its own to refuse.

use crate::common::{Ran, Scratch, as_ordinary_user, is_root};
use std::process::Command;

/// Whether this program has them.
fn are_built(scratch: &Scratch) -> bool {
    let version = scratch.run("--version").expect(0).stdout;
    !version.contains("without dpdk")
}

const SHORT: &str = "--rate 1kpps --duration 1s";

#[test]
fn without_libraries_the_package_is_named_and_all_else_works() {
    let scratch = Scratch::new();
    if !is_root() || !are_built(&scratch) {
        return;
    }
    let program = env!("CARGO_BIN_EXE_netanvil");
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c"]).arg(format!(
        "for library in $(ls /usr/lib/*/librte_ethdev.so.2*); do mount --bind /dev/null $library; done; \
         {program} traffic --sim router {SHORT} --quiet > simulated.txt && \
         {program} traffic --ports dpdk:net_ring0 --ports dpdk:net_ring1 {SHORT}"
    ));
    let ran: Ran = command.current_dir(scratch.path()).output().expect("unshare").into();
    let ran = ran.expect(2);
    assert!(ran.stderr.contains("apt install librte-ethdev23"), "{}", ran.stderr);
    let simulated = std::fs::read_to_string(scratch.path().join("simulated.txt")).expect("a file");
    assert!(!simulated.is_empty(), "a program without DPDK ports needs no DPDK");
}

/// What a shell does where some file of the host is missing, to this process alone.
fn without(file: &str, scratch: &Scratch, arguments: &str) -> Ran {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c"]).arg(format!(
        "for file in $(ls {file}); do mount --bind /dev/null $file; done; {} {arguments}",
        env!("CARGO_BIN_EXE_netanvil")
    ));
    command.current_dir(scratch.path()).output().expect("unshare").into()
}

#[test]
fn without_testpmd_or_its_driver_the_package_is_named() {
    let scratch = Scratch::new();
    if !is_root() || !are_built(&scratch) || testbed::testpmd_shortfall().is_some() {
        return;
    }
    let run = format!("traffic --device testpmd {SHORT}");
    let ran = without("/usr/bin/dpdk-testpmd", &scratch, &run).expect(2);
    assert!(
        ran.stderr.contains("dpdk-testpmd is not installed: `apt install dpdk-dev`"),
        "{}",
        ran.stderr
    );
    let driver = "/usr/lib/*/dpdk/pmds-*/librte_net_memif.so*";
    let ran = without(driver, &scratch, &run).expect(2);
    assert!(ran.stderr.contains("apt install librte-net-memif23"), "{}", ran.stderr);
}

#[test]
fn an_ordinary_user_is_told_what_a_device_needs() {
    let scratch = Scratch::new();
    if !is_root() || !are_built(&scratch) {
        return;
    }
    let refused = |device: &str| {
        let arguments = format!("traffic --ports {device} --ports dpdk:net_ring1 {SHORT}");
        let output = as_ordinary_user(&scratch, &arguments).output().expect("the program starts");
        Ran::from(output).expect(2).stderr
    };
    // Sockets of other users' programs are as closed as any file of theirs.
    std::fs::create_dir(scratch.path().join("closed")).expect("a folder");
    let closed = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(scratch.path().join("closed"), closed).expect("closed");
    let socket = scratch.path().join("closed/v");
    let error = refused(&format!("dpdk:net_virtio_user0,path={}", socket.display()));
    assert!(error.contains("run as root"), "{error}");
}

#[test]
fn what_is_no_device_is_refused_with_what_to_write() {
    let scratch = Scratch::new();
    let refused = |ports: &str| scratch.run(&format!("traffic {ports} {SHORT}")).expect(2).stderr;
    let error = refused("--ports pfring:eth1,eth2");
    assert!(error.contains("dpdk:net_memif0,role=client,socket=/run/x.sock"), "{error}");
    let error = refused("--ports dpdk:net_ring0");
    assert!(error.contains("--ports once for each device of DPDK"), "{error}");
    if is_root() && are_built(&scratch) {
        let error = refused("--ports dpdk:eth1 --ports dpdk:net_ring0");
        assert!(error.contains("dpdk:net_af_packet0,iface=eth1"), "{error}");
        let error = refused("--ports dpdk:net_ring0 --ports dpdk:net_ring1 --far-ports a,b");
        assert!(error.contains("no interface of this host"), "{error}");
    }
}

#[test]
fn doctor_says_what_dpdk_ports_have_here() {
    let scratch = Scratch::new();
    let ran = scratch.run("doctor --json --ports dpdk:net_ring0 --ports dpdk:0000:77:1f.7");
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let checks = report["checks"].as_array().expect("checks");
    let of = |subject: &str, name: &str| {
        let mut all = checks.iter();
        all.find(|check| check["subject"] == subject && check["name"] == name).expect(name).clone()
    };
    if are_built(&scratch) {
        let found = of("host", "dpdk ports")["found"].as_str().expect("words").to_owned();
        assert!(found.starts_with("in this build"), "{found}");
    }
    assert!(of("host", "dpdk memory")["found"].as_str().expect("words").contains("NUMA node"));
    assert_eq!(of("net_ring0", "device")["state"], "ok");
    let missing = of("0000:77:1f.7", "device");
    assert_eq!(missing["state"], "fail");
    // Where this host speaks nobody is told to take the card away.
    for card in checks.iter().filter(|check| check["name"] == "PCI network device") {
        let found = card["found"].as_str().expect("words");
        let interface = found.split_once("interface ").map(|(_, rest)| rest);
        let name = interface.and_then(|rest| rest.split([',', ';']).next()).unwrap_or("none");
        let told = Command::new("ip").args(["-brief", "-4", "address", "show", name]).output();
        let speaks = told.is_ok_and(|told| told.status.success() && told.stdout.contains(&b'/'));
        assert!(!speaks || found.contains("leave it") && !found.contains("bind"), "{found}");
    }
    let cards = checks.iter().filter(|check| check["name"] == "PCI network device").count();
    let classes = std::fs::read_dir("/sys/bus/pci/devices").into_iter().flatten().flatten();
    let is_network = |class: String| class.starts_with("0x02");
    let classes =
        classes.filter_map(|entry| std::fs::read_to_string(entry.path().join("class")).ok());
    assert_eq!(cards, classes.filter(|class| is_network(class.clone())).count());
}
