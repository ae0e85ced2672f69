//! Processor time and memory of this process.

use crate::Failure;
use crate::point::Reading;
use nix::time::{ClockId, clock_gettime};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use trial::{Tester, Trial, TrialResult};

/// How often the memory of BPF maps is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Runs a short trial and one of so many times its frames: what the further frames cost, and what the
/// rest does. The first run of all is not counted: during it the maps are looked at, which takes time.
pub fn read(
    tester: &mut dyn Tester,
    times: u64,
    trial_of: &mut dyn FnMut(u64) -> Result<Trial, Failure>,
    check: &dyn Fn(&TrialResult) -> Result<(), Failure>,
) -> Result<Reading, Failure> {
    let mut run = |times| -> Result<(f64, u64), Failure> {
        let trial = trial_of(times)?;
        let before = processor_s();
        let result = tester.run(&trial)?;
        let took = processor_s() - before;
        check(&result)?;
        Ok((took, result.offered_frames()))
    };
    let (maps_bytes, over) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| watch_maps(&maps_bytes, &over));
        let warmed_up = run(1);
        over.store(true, Ordering::Relaxed);
        warmed_up
    })?;
    let (short, long) = (run(1)?, run(times)?);
    let further = long.1.checked_sub(short.1).filter(|further| *further > 0);
    let further = further.ok_or("the longer trial sent no more frames than the shorter one")?;
    let frame_s = (long.0 - short.0) / further as f64;
    Ok(Reading {
        frame_ns: frame_s * 1e9,
        memory_bytes: own_bytes()? + maps_bytes.load(Ordering::Relaxed),
        fixed_s: (short.0 - frame_s * short.1 as f64).max(0.0),
    })
}

/// Processor time of all threads so far.
fn processor_s() -> f64 {
    let time =
        clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("every Linux has this clock");
    time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9
}

/// The most that was ever resident.
fn own_bytes() -> Result<u64, Failure> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = kilobytes.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    Ok(kilobytes.ok_or("/proc/self/status has no VmHWM")? * 1024)
}

fn watch_maps(most: &AtomicU64, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        most.fetch_max(maps_bytes(), Ordering::Relaxed);
        std::thread::sleep(LOOK_EVERY);
    }
}

/// What the kernel says that this process's BPF maps take.
fn maps_bytes() -> u64 {
    let Ok(files) = std::fs::read_dir("/proc/self/fdinfo") else { return 0 };
    let texts = files.flatten().filter_map(|file| std::fs::read_to_string(file.path()).ok());
    texts.map(|text| map_bytes(&text)).sum()
}

/// Of one open file; 0 if it is no map.
fn map_bytes(fdinfo: &str) -> u64 {
    let number = |key: &str| {
        let line = fdinfo.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
        line.trim().parse::<u64>().ok()
    };
    number("map_type").and_then(|_| number("memlock")).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_maps_have_memory_of_maps() {
        let map =
            "pos:\t0\nflags:\t02000002\nmap_type:\t2\nkey_size:\t4\nmemlock:\t266144\nmap_id:\t7\n";
        assert_eq!(map_bytes(map), 266_144);
        assert_eq!(map_bytes("pos:\t0\nprog_type:\t6\nmemlock:\t4096\n"), 0);
        assert_eq!(map_bytes("pos:\t0\n"), 0);
        assert!(own_bytes().unwrap() > 100_000);
    }
}
