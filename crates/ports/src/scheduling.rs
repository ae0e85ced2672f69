//! Who gets a processor first: the tester and the device that it tests, or whoever else has work.
//!
//! A nice value orders the threads of one autogroup (sched(7)): one session of processes, as a rule
//! one terminal. Between autogroups their own nice values decide. A tester that sets the nice value of its
//! threads alone is therefore held up by any busy program of another session. [`Priority`] gives the
//! tester's autogroup nice -20 for as long as it lives.

use kernel::thread;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Where the kernel keeps the nice value of this session among all others.
const AUTOGROUP: &str = "/proc/self/autogroup";
/// What the tester's is for the time of a run.
const OWN_NICE: i32 = -20;
/// Real-time priority (SCHED_FIFO) of the device's threads: the lowest, above all ordinary work.
pub const DEVICE_PRIORITY: i32 = 1;
/// Of the tester's receivers: above the device, which a saturating load lets no core to others.
pub const RECEIVER_PRIORITY: i32 = 2;
/// Of the thread that begins and ends a trial.
pub const CONTROL_PRIORITY: i32 = 3;
/// Waits for the end of this process, however it comes, and gives the session its nice value back.
const GUARD: &str = "trap '' INT TERM HUP; read -r _; echo \"$0\" > /proc/self/autogroup";

/// How the processors are shared with other work.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheduling {
    /// As the kernel does it for any program; the tester's threads have nice -20 where they may.
    Normal,
    /// Tester and built device go before all ordinary work, as far as this process may have that.
    #[default]
    Own,
}

/// Weight over the other work of the machine, for this process's session; given back on drop, and by
/// a guard where this process is killed.
#[derive(Debug)]
pub struct Priority {
    /// The session's own nice value, and who gives it back.
    raised: Option<(i32, Option<Child>)>,
    /// What was done, in words.
    pub note: String,
}

impl Priority {
    /// Raises it as the kernel allows.
    pub fn raise() -> Self {
        let unchanged = |note: String| Priority { raised: None, note };
        let Some(before) = fs::read_to_string(AUTOGROUP).ok().as_deref().and_then(nice_of) else {
            return unchanged("the kernel has no autogroups: threads have nice -20 alone".into());
        };
        if let Some(group) = control_group() {
            return unchanged(format!(
                "control group {group} shares the processors out, which nice values do not change"
            ));
        }
        if before == OWN_NICE {
            return unchanged("autogroup at nice -20, as it was".into());
        }
        // The guard first: a session must not stay raised for want of one.
        let guard = Command::new("sh")
            .args(["-c", GUARD, &before.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        match fs::write(AUTOGROUP, OWN_NICE.to_string()) {
            Ok(()) => Priority {
                raised: Some((before, guard.ok())),
                note: "autogroup at nice -20 before all other sessions".into(),
            },
            Err(error) => {
                end(guard.ok());
                unchanged(format!("autogroup as it was ({error}): other sessions are equals"))
            }
        }
    }
}

impl Drop for Priority {
    fn drop(&mut self) {
        if let Some((before, guard)) = self.raised.take() {
            let _ = fs::write(AUTOGROUP, before.to_string());
            end(guard);
        }
    }
}

/// The guard ends when nobody holds the other end of its pipe.
fn end(guard: Option<Child>) {
    if let Some(mut guard) = guard {
        drop(guard.stdin.take());
        let _ = guard.wait();
    }
}

/// Of `/autogroup-25 nice 0`.
fn nice_of(text: &str) -> Option<i32> {
    text.trim().rsplit_once(" nice ")?.1.parse().ok()
}

/// The control group that gets this process its processor time, where it is not the root: autogroups
/// hold in the root group only.
fn control_group() -> Option<String> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let has_weight =
        |path: &str| Path::new("/sys/fs/cgroup").join(path).join("cpu.weight").exists();
    control_group_in(&groups, has_weight)
}

/// The same, of the text of `/proc/self/cgroup` (cgroups(7)): by version 1 where a hierarchy has the
/// controller `cpu`, else by the nearest group of version 2 that has a weight.
fn control_group_in(groups: &str, has_weight: impl Fn(&str) -> bool) -> Option<String> {
    let lines = groups.lines().filter_map(|line| {
        let (_, rest) = line.split_once(':')?;
        rest.split_once(':')
    });
    let lines: Vec<(&str, &str)> = lines.collect();
    let of_version_1 = lines.iter().find(|(names, _)| names.split(',').any(|name| name == "cpu"));
    if let Some((_, path)) = of_version_1 {
        return (*path != "/").then(|| (*path).to_owned());
    }
    let (_, path) = lines.iter().find(|(names, _)| names.is_empty())?;
    let mut path = path.trim_start_matches('/');
    while !path.is_empty() {
        if has_weight(path) {
            return Some(format!("/{path}"));
        }
        path = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    }
    None
}

/// Time that real-time threads have of each period, where the kernel stops them for the rest of it
/// (sched(7)): one that never sleeps, as a saturated device, pauses for that long.
pub fn real_time_pause() -> Option<String> {
    let read = |name: &str| {
        let text = fs::read_to_string(format!("/proc/sys/kernel/sched_rt_{name}_us")).ok()?;
        text.trim().parse::<i64>().ok()
    };
    let (runtime, period) = (read("runtime")?, read("period")?);
    (runtime >= 0 && runtime < period).then(|| {
        format!(
            "the kernel stops real-time threads that never sleep for {} ms of each {} ms",
            (period - runtime) / 1_000,
            period / 1_000
        )
    })
}

/// Whether this process may run threads with real-time priority; why not, where it may not.
pub fn real_time_shortfall() -> Option<String> {
    let tried = std::thread::spawn(|| thread::make_this_real_time(DEVICE_PRIORITY).err());
    let error = tried.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    Some(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nice_value_of_an_autogroup_is_its_last_word() {
        assert_eq!(nice_of("/autogroup-25 nice 0\n"), Some(0));
        assert_eq!(nice_of("/autogroup-3 nice -20\n"), Some(-20));
        assert_eq!(nice_of(""), None);
    }

    #[test]
    fn control_groups_of_both_versions_are_found() {
        let never = |_: &str| false;
        let found = |text: &str| control_group_in(text, never);
        assert_eq!(found("3:cpuset:/\n1:cpu,cpuacct:/\n0::/\n"), None);
        assert_eq!(found("1:cpu,cpuacct:/a/b\n0::/\n"), Some("/a/b".into()));
        assert_eq!(found("0::/user.slice/session-1.scope\n"), None, "without weights");
        let weighed = |path: &str| path == "user.slice";
        let groups = "0::/user.slice/session-1.scope\n";
        assert_eq!(control_group_in(groups, weighed), Some("/user.slice".into()));
    }
}
