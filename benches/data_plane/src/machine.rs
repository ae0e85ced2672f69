//! The machine: what it is, which cores are used, and how the measured programs get them.

use crate::error::{BenchError, Result, system};
use crate::options::Options;
use crate::subject::Subject;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;
use serde::Serialize;
use std::fs;
use std::process::Command;

/// What the results were measured on.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Machine {
    /// Civil time of the start, with its offset from UTC.
    pub date: String,
    /// Release of the kernel.
    pub kernel: String,
    /// Model of the CPU.
    pub cpu: String,
    /// Number of cores.
    pub cores: usize,
    /// Tools and their versions.
    pub versions: Vec<(String, String)>,
}

/// Programs that are needed, whom they serve, and the Debian packages that have them.
const NEEDED: [(&str, &str, &str, &[Subject]); 5] = [
    ("trafgen", "netsniff-ng", "trafgen", &[Subject::Trafgen]),
    ("xdp-trafficgen", "xdp-tools", "xdp-trafficgen", &[Subject::XdpTrafficgen]),
    (
        "dpdk-testpmd",
        "dpdk-dev",
        "testpmd-af-packet --without testpmd-af-xdp",
        &[Subject::TestpmdAfPacket, Subject::TestpmdAfXdp],
    ),
    ("clang", "clang", "anything but frame-building", &Subject::GENERATORS),
    ("ip", "iproute2", "anything but frame-building", &Subject::GENERATORS),
];

/// Checks that everything needed is there, and describes the machine.
pub fn examine(options: &Options) -> Result<Machine> {
    let mut versions = vec![("netanvil".to_string(), env!("CARGO_PKG_VERSION").to_string())];
    for (program, package, without, served) in NEEDED {
        if !served.iter().any(|subject| options.wants(*subject)) {
            continue;
        }
        if !is_installed(program) {
            return Err(BenchError::Missing { program, package, without });
        }
        versions.push((program.into(), package_version(program)));
    }
    let read = |path: &str| fs::read_to_string(path).map_err(system(format!("read {path}")));
    let cpuinfo = read("/proc/cpuinfo")?;
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    Ok(Machine {
        date: jiff::Zoned::now().strftime("%Y-%m-%d %H:%M %:z").to_string(),
        kernel: read("/proc/sys/kernel/osrelease")?.trim().into(),
        cpu: model.map_or("unknown".into(), |(_, name)| name.trim().into()),
        cores: cpuinfo.lines().filter(|line| line.starts_with("processor")).count(),
        versions,
    })
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

/// Version of the Debian package that a program came from; none of them tells its own.
fn package_version(program: &str) -> String {
    let script = format!(
        "file=$(realpath $(command -v {program})); \
         owner=$(dpkg -S $file || dpkg -S ${{file#/usr}}); \
         dpkg-query -W -f='${{Package}} ${{Version}}' $(echo $owner | cut -d: -f1)"
    );
    let output = Command::new("sh").args(["-c", &script]).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_string());
    text.ok().filter(|text| !text.is_empty()).unwrap_or_else(|| "not from a package".into())
}

/// The cores that send and receive: the first two that this process may use.
pub fn pick_cores() -> Result<[usize; 2]> {
    let errno = |errno: nix::errno::Errno| std::io::Error::from(errno);
    let set = sched_getaffinity(Pid::from_raw(0))
        .map_err(|error| system("read which cores may be used")(errno(error)))?;
    let mut cores = (0..CpuSet::count()).filter(|core| set.is_set(*core).unwrap_or(false));
    let first = cores.next().unwrap_or(0);
    Ok([first, cores.next().unwrap_or(first)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_cores_are_picked_where_there_are_two() {
        let [first, second] = pick_cores().unwrap();
        let only_one = std::thread::available_parallelism().unwrap().get() == 1;
        assert_eq!(first == second, only_one);
    }

    #[test]
    fn a_program_that_does_not_exist_is_not_installed() {
        assert!(is_installed("sh"));
        assert!(!is_installed("no-such-program"));
    }
}
