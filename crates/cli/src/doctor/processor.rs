//! Processors and clocks.

use super::{Check, sysfs};
use std::collections::BTreeSet;
use std::time::Duration;

const CPU: &str = "/sys/devices/system/cpu";

/// All checks of this file.
pub fn examine() -> Vec<Check> {
    let mut checks = vec![cores(), isolation(), clocksource()];
    checks.extend(governor());
    checks.extend([steal(), load()]);
    checks
}

fn cores() -> Check {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    match cores {
        0..=2 => Check::warn(
            "cores",
            format!("{cores}: transmitter, receiver and a built device share them"),
            "use at least 4 cores; results stay valid and state what was shared",
        ),
        _ => Check::ok("cores", cores.to_string()),
    }
}

fn isolation() -> Check {
    match sysfs::text(format!("{CPU}/isolated")) {
        Some(list) => Check::ok("isolated cores", list),
        None => Check::warn(
            "isolated cores",
            "none: other processes may run on the tester's cores",
            "for permanent use boot with `isolcpus=2,3 nohz_full=2,3` (your core numbers)",
        ),
    }
}

fn clocksource() -> Check {
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    match sysfs::text(path) {
        Some(name)
            if ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page"]
                .contains(&&*name) =>
        {
            Check::ok("clock source", name)
        }
        Some(name) => Check::warn(
            "clock source",
            format!("{name}: slow, each read is a system call or more"),
            format!("echo tsc | sudo tee {path}"),
        ),
        None => Check::warn("clock source", "unknown", "mount sysfs on /sys"),
    }
}

fn governor() -> Option<Check> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let names: BTreeSet<String> = (0..cores)
        .filter_map(|core| sysfs::text(format!("{CPU}/cpu{core}/cpufreq/scaling_governor")))
        .collect();
    let list = names.iter().cloned().collect::<Vec<_>>().join(", ");
    match names.len() {
        0 => None,
        _ if list == "performance" => Some(Check::ok("frequency governor", list)),
        _ => Some(Check::warn(
            "frequency governor",
            format!("{list}: the processor frequency changes with the load"),
            "sudo cpupower frequency-set -g performance",
        )),
    }
}

/// Share of time that the hypervisor gave to other machines, now and since boot.
fn steal() -> Check {
    let Some(before) = processor_times() else {
        return Check::warn("stolen time", "unknown: /proc/stat cannot be read", "mount /proc");
    };
    std::thread::sleep(Duration::from_millis(250));
    let after = processor_times().unwrap_or(before);
    let now = share(after.0 - before.0, after.1 - before.1);
    let found =
        format!("{:.1} % now, {:.1} % since boot", now * 100.0, share(after.0, after.1) * 100.0);
    if now > 0.01 {
        let mend = "move this virtual machine to a quieter host, or pin its processors";
        return Check::warn("stolen time", found, mend);
    }
    Check::ok("stolen time", found)
}

fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// Stolen ticks and all ticks of all processors (proc(5), /proc/stat).
fn processor_times() -> Option<(u64, u64)> {
    let text = sysfs::text("/proc/stat")?;
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = line.split_whitespace().filter_map(|n| n.parse().ok()).collect();
    Some((*ticks.get(7)?, ticks.iter().take(8).sum()))
}

fn load() -> Check {
    match crate::host::busy() {
        Some(load) => Check::warn(
            "load",
            format!("{load:.2}: other programs use the processors and disturb the tester"),
            "stop them; `top` lists them",
        ),
        None => Check::ok("load", "low"),
    }
}
