//! One look at a stream in flight, the same for every generator: what arrived at the far end and
//! what it cost, between two readings of the kernel's own counters.

use crate::bed::Bed;
use crate::error::{BenchError, Result, system};
use crate::process::family;
use ports::clock;
use serde::Serialize;
use std::fs;
use units::{Duration, Instant};

/// Before anything is read: caches fill, clocks speed up.
pub const WARM_UP: Duration = Duration::from_ms(300);
/// Between the two readings.
pub const LENGTH: Duration = Duration::from_ms(1_000);
/// `/proc` counts CPU time in ticks of this length (USER_HZ).
const USER_HZ: f64 = 100.0;

/// What happened between the two readings.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Window {
    /// How long it was.
    pub seconds: f64,
    /// Frames that the far interface says it received.
    pub arrived_frames: u64,
    /// User and system time of the processes measured. Without IRQ_TIME_ACCOUNTING in the kernel,
    /// softirqs that ran on top of them are part of it.
    pub process_seconds: f64,
    /// Time that all cores together spent in softirqs, whoever caused them.
    pub softirq_seconds: f64,
}

impl Window {
    /// Frames a second at the far interface.
    pub fn arrived_fps(&self) -> f64 {
        self.arrived_frames as f64 / self.seconds
    }
    /// CPU time of the processes for each of `frames_per_second`.
    pub fn process_ns_per_frame(&self, frames_per_second: f64) -> f64 {
        self.process_seconds / self.seconds / frames_per_second * 1e9
    }
    /// Softirq time of the machine for each of `frames_per_second`.
    pub fn softirq_ns_per_frame(&self, frames_per_second: f64) -> f64 {
        self.softirq_seconds / self.seconds / frames_per_second * 1e9
    }
}

/// One reading.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    at: Instant,
    arrived_frames: u64,
    process_seconds: f64,
    softirq_seconds: f64,
}

impl Reading {
    /// Reads the far interface's counter and the CPU time of these processes (with their
    /// descendants).
    pub fn take(bed: &Bed, processes: &[u32]) -> Result<Self> {
        let before = clock::now();
        let arrived_frames = bed.arrived()?.received;
        let at = before + Duration::from_ps(clock::now().since(before).as_ps() / 2);
        let process_seconds =
            processes.iter().map(|id| family_seconds(*id)).sum::<Result<f64>>()?;
        let stat = fs::read_to_string("/proc/stat").map_err(system("read /proc/stat"))?;
        let softirq_seconds = softirq_seconds(&stat)
            .ok_or_else(|| BenchError::Implausible("/proc/stat has no softirq time".into()))?;
        Ok(Reading { at, arrived_frames, process_seconds, softirq_seconds })
    }

    /// What happened until a later one.
    pub fn until(&self, later: &Reading) -> Window {
        Window {
            seconds: later.at.since(self.at).as_secs_f64(),
            arrived_frames: later.arrived_frames.saturating_sub(self.arrived_frames),
            process_seconds: later.process_seconds - self.process_seconds,
            softirq_seconds: later.softirq_seconds - self.softirq_seconds,
        }
    }
}

/// Watches for a warm-up and a window, from now.
pub fn watch(bed: &Bed, processes: &[u32]) -> Result<Window> {
    clock::sleep(WARM_UP);
    let first = Reading::take(bed, processes)?;
    clock::sleep(LENGTH);
    Ok(first.until(&Reading::take(bed, processes)?))
}

/// CPU time of a process and of its living descendants.
fn family_seconds(process: u32) -> Result<f64> {
    family(process).into_iter().map(own_seconds).sum()
}

fn own_seconds(process: u32) -> Result<f64> {
    let path = format!("/proc/{process}/stat");
    let stat = fs::read_to_string(&path).map_err(system(format!("read {path}")))?;
    cpu_seconds(&stat).ok_or_else(|| BenchError::Implausible(format!("{path} has no CPU times")))
}

/// utime and stime of `/proc/PID/stat` (proc_pid_stat(5), fields 14 and 15).
fn cpu_seconds(stat: &str) -> Option<f64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace().skip(11).map(str::parse::<f64>);
    let (user, system) = (fields.next()?.ok()?, fields.next()?.ok()?);
    Some((user + system) / USER_HZ)
}

/// The seventh number of `/proc/stat`'s first line (proc_stat(5)).
fn softirq_seconds(stat: &str) -> Option<f64> {
    let ticks: f64 = stat.lines().next()?.split_whitespace().nth(7)?.parse().ok()?;
    Some(ticks / USER_HZ)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_times_are_found_behind_any_name() {
        let stat = "12 (a) b (c) R 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0 1 0 99";
        assert_eq!(cpu_seconds(stat), Some(2.0));
        assert_eq!(cpu_seconds("12 (x) R 1 2"), None);
    }

    #[test]
    fn softirq_time_is_that_of_all_cores() {
        assert_eq!(softirq_seconds("cpu  1 2 3 4 5 6 700 8 9 10\ncpu0 1 2"), Some(7.0));
    }

    #[test]
    fn work_done_here_is_counted_here() {
        let me = std::process::id();
        let (before, end) = (family_seconds(me).unwrap(), clock::now() + Duration::from_secs(20));
        while family_seconds(me).unwrap() - before < 0.1 {
            assert!(clock::now() < end, "20 s of work do not show as 0.1 s");
        }
    }
}
