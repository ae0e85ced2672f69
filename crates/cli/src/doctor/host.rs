//! Privileges, kernel, programs and limits.

use super::{Check, sysfs};
use kernel::Privilege;
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
use std::process::{Command, Stdio};
use testbed::REGISTRY_DIRECTORY;

/// Capabilities that a tester of hardware ports needs, with their numbers in linux/capability.h.
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
            "start the container with these capabilities, such as `--cap-add NET_ADMIN`",
        ),
        (Privilege::UserNamespace, _) => Check::warn(
            "privileges",
            "root of a user namespace: only AF_PACKET ports and devices built here",
            "sudo netanvil ...",
        ),
        (Privilege::Ordinary, true) => Check::ok("privileges", "ordinary user with capabilities"),
        (Privilege::Ordinary, false) => Check::warn(
            "privileges",
            "ordinary user: only devices built in a user namespace, with AF_PACKET ports",
            "sudo netanvil ...",
        ),
    }
}

pub fn effective_capabilities() -> u64 {
    let status = sysfs::text("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    line.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0)
}

/// Tried in a separate process, because a process cannot leave a user namespace.
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
    kernel::enter_user_namespace()?;
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
            format!("{release}: `xdp` ports need live XDP frames (Linux 5.18 or later)"),
            "sudo apt-get install linux-image-amd64",
        ),
    }
}

/// Builds the smallest test bed and removes it.
fn test_bed() -> Check {
    if Privilege::current() == Privilege::Ordinary {
        return Check::ok("test bed", "built in a user namespace; see above");
    }
    let config = testbed::TestbedConfig::of(testbed::DeviceKind::LinuxRouter);
    match testbed::Testbed::build(&config).and_then(testbed::Testbed::destroy) {
        Ok(()) => Check::ok("test bed", "built and removed a router in namespaces"),
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
            "not installed: built devices have no --filter, --frame-limit and --drop-every",
            "sudo apt-get install nftables",
        ),
    }
}

fn routing() -> Check {
    match testbed::rip_shortfall() {
        None => Check::ok("bird", "installed: --feed and --routing rip are available"),
        Some(_) => Check::warn(
            "bird",
            "not installed: --feed and --routing rip are not available",
            "sudo apt-get install bird2",
        ),
    }
}

fn open_vswitch() -> Check {
    match testbed::ovs_shortfall() {
        None => Check::ok("Open vSwitch", "installed: --device ovs-userspace is available"),
        Some(why) => Check::warn(
            "Open vSwitch",
            format!("--device ovs-userspace is not available: {why}"),
            "sudo apt-get install openvswitch-switch",
        ),
    }
}

fn jit() -> Check {
    match sysfs::number::<u8>("/proc/sys/net/core/bpf_jit_enable") {
        Some(0) => Check::warn(
            "BPF compiler",
            "off: the kernel interprets XDP programs",
            "sudo sysctl net.core.bpf_jit_enable=1",
        ),
        Some(_) => Check::ok("BPF compiler", "on"),
        None => Check::ok("BPF compiler", "always on or not readable"),
    }
}

fn locked_memory() -> Check {
    match getrlimit(Resource::RLIMIT_MEMLOCK) {
        Ok((RLIM_INFINITY, _)) => Check::ok("locked memory", "unlimited"),
        Ok((soft, _)) if effective_capabilities() & (1 << 14) != 0 => Check::ok(
            "locked memory",
            format!("{} kB, without effect because of CAP_IPC_LOCK", soft / 1024),
        ),
        Ok((soft, _)) if soft >= 64 << 20 => {
            Check::ok("locked memory", format!("{} MB", soft >> 20))
        }
        Ok((soft, _)) => Check::warn(
            "locked memory",
            format!("{} kB: the kernel may swap out frame rings", soft / 1024),
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

/// No port type here needs them; testpmd in the benchmarks does.
fn hugepages() -> Check {
    let pages: u64 = sysfs::number("/proc/sys/vm/nr_hugepages").unwrap_or(0);
    match pages {
        0 => Check::ok(
            "huge pages",
            "none; ports of interfaces need none, and dpdk ports can do without",
        ),
        pages => Check::ok("huge pages", format!("{pages}; only dpdk ports use them")),
    }
}

fn remnants() -> Check {
    let records = std::fs::read_dir(REGISTRY_DIRECTORY).map_or(0, Iterator::count);
    let namespaces = std::fs::read_dir(kernel::NETNS_DIRECTORY).map_or(0, |entries| {
        let names = entries.flatten().map(|entry| entry.file_name());
        names.filter(|name| name.to_string_lossy().starts_with("netanvil-")).count()
    });
    match namespaces {
        0 => Check::ok("remnants", "none of killed runs"),
        _ => Check::warn(
            "remnants",
            format!("{namespaces} namespaces of {records} active or killed runs"),
            "sudo netanvil clean    (keeps those of active runs)",
        ),
    }
}
