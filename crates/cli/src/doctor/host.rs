//! Rights, kernel and limits: what can be used at all.

use super::{Check, sysfs};
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
use std::process::{Command, Stdio};
use testbed::{Privilege, REGISTRY_DIRECTORY};

/// Capabilities a tester of hardware ports needs: their numbers in linux/capability.h.
const CAPABILITIES: [(u32, &str); 5] = [
    (12, "CAP_NET_ADMIN"),
    (13, "CAP_NET_RAW"),
    (14, "CAP_IPC_LOCK"),
    (23, "CAP_SYS_NICE"),
    (39, "CAP_BPF"),
];

/// All checks of this file.
pub fn examine() -> Vec<Check> {
    let mut checks = vec![privileges(), user_namespaces(), kernel(), test_bed()];
    checks.extend([
        nftables(),
        routing(),
        open_vswitch(),
        jit(),
        locked_memory(),
        open_files(),
        hugepages(),
        remnants(),
    ]);
    checks
}

fn privileges() -> Check {
    let mask = effective_capabilities();
    let missing: Vec<&str> = CAPABILITIES
        .iter()
        .filter(|(number, _)| mask & (1 << number) == 0)
        .map(|(_, name)| *name)
        .collect();
    match (Privilege::current(), missing.is_empty()) {
        (Privilege::Root, true) => Check::ok("privileges", "root"),
        (Privilege::Root, false) => Check::warn(
            "privileges",
            format!("root without {}", missing.join(", ")),
            "start the container with these capabilities, as in `--cap-add NET_ADMIN`",
        ),
        (Privilege::UserNamespace, _) => Check::warn(
            "privileges",
            "root of a user namespace: AF_PACKET ports and devices built here only",
            "sudo netanvil ...",
        ),
        (Privilege::Ordinary, true) => Check::ok("privileges", "ordinary user with capabilities"),
        (Privilege::Ordinary, false) => Check::warn(
            "privileges",
            "ordinary user: devices are built in a user namespace, with AF_PACKET ports; no hardware",
            "sudo netanvil ...",
        ),
    }
}

pub fn effective_capabilities() -> u64 {
    let status = sysfs::text("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    line.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0)
}

/// Tried out in a process of its own, since there is no way back.
fn user_namespaces() -> Check {
    let probe = std::env::current_exe().and_then(|program| {
        let mut command = Command::new(program);
        command.args(["doctor", "--probe-user-namespace"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).output()
    });
    let needed = Privilege::current() == Privilege::Ordinary;
    match probe {
        Ok(output) if output.status.success() => {
            Check::ok("user namespaces", "allowed: an ordinary user can build devices")
        }
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stderr).replace('\n', " ");
            let text = text.trim_start_matches("error: ").trim();
            let (found, mend) = text.split_once(". ").unwrap_or((text, "run netanvil as root"));
            match needed {
                true => Check::fail("user namespaces", found, mend),
                false => Check::warn("user namespaces", found, mend),
            }
        }
        Err(error) => Check::warn("user namespaces", error.to_string(), "run netanvil as root"),
    }
}

/// The probe's own process ends here: 0 if a user namespace can be entered.
pub fn can_enter_user_namespace() -> crate::failure::Outcome {
    testbed::enter_user_namespace()?;
    Ok(crate::failure::Exit::Done)
}

/// Live frames (BPF_F_TEST_XDP_LIVE_FRAMES) came with 5.18, `bpf_loop` with 5.17.
fn kernel() -> Check {
    let release = sysfs::text("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut parts = release.split(|c: char| !c.is_ascii_digit()).map_while(|n| n.parse().ok());
    let version: (u32, u32) = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    match version {
        version if version >= (5, 18) => Check::ok("kernel", release),
        _ => Check::warn(
            "kernel",
            format!("{release}: before 5.18 there are no live XDP frames, hence no `xdp` ports"),
            "sudo apt-get install linux-image-amd64",
        ),
    }
}

/// The proof of the pudding: build the smallest test bed and take it down.
fn test_bed() -> Check {
    if Privilege::current() == Privilege::Ordinary {
        return Check::ok("test bed", "is built in a user namespace; see above");
    }
    let config = testbed::TestbedConfig::of(testbed::DeviceKind::LinuxRouter);
    match testbed::Testbed::build(&config).and_then(testbed::Testbed::destroy) {
        Ok(()) => Check::ok("test bed", "a router in namespaces can be built and removed"),
        Err(error) => Check::fail("test bed", error.to_string(), "sudo netanvil doctor"),
    }
}

fn nftables() -> Check {
    let version = Command::new("nft").arg("--version").output();
    match version {
        Ok(output) if output.status.success() => {
            Check::ok("nft", String::from_utf8_lossy(&output.stdout).trim())
        }
        _ => Check::warn(
            "nft",
            "not installed: no filter rules, frame limits or known loss in built devices",
            "sudo apt-get install nftables",
        ),
    }
}

fn routing() -> Check {
    match testbed::rip_shortfall() {
        None => Check::ok("bird", "installed: built routers can be fed routes"),
        Some(_) => Check::warn(
            "bird",
            "not installed: no routes by RIP, OSPF or BGP in built routers",
            "sudo apt-get install bird2",
        ),
    }
}

fn open_vswitch() -> Check {
    match testbed::ovs_shortfall() {
        None => Check::ok("Open vSwitch", "installed: ovs-userspace can be built"),
        Some(why) => Check::warn(
            "Open vSwitch",
            format!("no ovs-userspace: {why}"),
            "sudo apt-get install openvswitch-switch",
        ),
    }
}

fn jit() -> Check {
    match sysfs::number::<u8>("/proc/sys/net/core/bpf_jit_enable") {
        Some(0) => Check::warn(
            "BPF compiler",
            "off: XDP programs are interpreted",
            "sudo sysctl net.core.bpf_jit_enable=1",
        ),
        Some(_) => Check::ok("BPF compiler", "on"),
        None => Check::ok("BPF compiler", "always on or not readable"),
    }
}

fn locked_memory() -> Check {
    match getrlimit(Resource::RLIMIT_MEMLOCK) {
        Ok((RLIM_INFINITY, _)) => Check::ok("locked memory", "unlimited"),
        Ok((soft, _)) if effective_capabilities() & (1 << 14) != 0 => {
            Check::ok("locked memory", format!("{} kB, not binding with CAP_IPC_LOCK", soft / 1024))
        }
        Ok((soft, _)) if soft >= 64 << 20 => {
            Check::ok("locked memory", format!("{} MB", soft >> 20))
        }
        Ok((soft, _)) => Check::warn(
            "locked memory",
            format!("{} kB: rings may be swapped out", soft / 1024),
            "ulimit -l unlimited    (as root, or in /etc/security/limits.conf)",
        ),
        Err(error) => Check::warn("locked memory", error.to_string(), "ulimit -l unlimited"),
    }
}

fn open_files() -> Check {
    match getrlimit(Resource::RLIMIT_NOFILE) {
        Ok((soft, _)) if soft < 256 => {
            Check::warn("open files", format!("{soft}: too few for many ports"), "ulimit -n 1024")
        }
        Ok((soft, _)) => Check::ok("open files", soft.to_string()),
        Err(error) => Check::warn("open files", error.to_string(), "ulimit -n 1024"),
    }
}

/// No port type of ours needs them; testpmd beside us does.
fn hugepages() -> Check {
    let pages: u64 = sysfs::number("/proc/sys/vm/nr_hugepages").unwrap_or(0);
    match pages {
        0 => Check::ok("huge pages", "none; not needed by xdp, af_xdp and af_packet ports"),
        pages => Check::ok("huge pages", format!("{pages}; not needed, they only take memory")),
    }
}

fn remnants() -> Check {
    let records = std::fs::read_dir(REGISTRY_DIRECTORY).map_or(0, Iterator::count);
    let namespaces = std::fs::read_dir(testbed::NETNS_DIRECTORY).map_or(0, |entries| {
        let names = entries.flatten().map(|entry| entry.file_name());
        names.filter(|name| name.to_string_lossy().starts_with("netanvil-")).count()
    });
    match namespaces {
        0 => Check::ok("remnants", "none of killed runs"),
        _ => Check::warn(
            "remnants",
            format!("{namespaces} namespaces of {records} runs, living or killed"),
            "sudo netanvil clean    (leaves what lives)",
        ),
    }
}
