//! What a reader of a report has to know of the machine it was taken on.

use crate::failure::{Failure, Outcome};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::time::{SystemTime, UNIX_EPOCH};
use wire::signature::RunKey;

/// What a run says of the host and the device, by these names among others.
pub const KERNEL: &str = "kernel";
/// A simulated device, as its file would have it.
pub const DEVICE_DESCRIPTION: &str = "device description";

/// What the user says of the device, `key=value` each.
pub fn facts(told: &[String]) -> Outcome<BTreeMap<String, String>> {
    let fact = |text: &String| {
        let (key, value) = text.split_once('=').filter(|(key, _)| !key.trim().is_empty())?;
        Some((format!("device {}", key.trim()), value.trim().to_owned()))
    };
    let wrong =
        |text| Failure::new(format!("--device-info {text} has no key")).help("write firmware=4.2");
    told.iter().map(|text| fact(text).ok_or_else(|| wrong(text))).collect()
}

/// A key for the test frames of a run, that nobody can guess.
pub fn random_run_key() -> Outcome<RunKey> {
    let mut bytes = [0; 16];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    let error = |error| {
        Failure::new(format!("/dev/urandom: {error}"))
            .help("random numbers protect test frames from forgery; --seed 1 runs without them")
    };
    read.map_err(error)?;
    Ok(RunKey::from_bytes(bytes))
}

/// Seconds since 1970.
pub fn now_unix_s() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |span| span.as_secs() as i64)
}

/// What this host is called.
pub fn name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().into()
}

/// Release and build of the kernel.
pub fn kernel() -> String {
    let read = |name: &str| {
        std::fs::read_to_string(format!("/proc/sys/kernel/{name}")).unwrap_or_default()
    };
    format!("Linux {} {}", read("osrelease").trim(), read("version").trim())
}

/// Model and number of processors.
pub fn processors() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        ["model name", "Model", "Processor"].contains(&key.trim()).then(|| value.trim())
    });
    format!("{cores} x {}", model.unwrap_or("unknown processor"))
}

/// Load average of the last minute, if it is too high for measurements that are to be kept: more
/// than half of the processors were busy before anything was measured.
pub fn busy() -> Option<f64> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    let load: f64 = text.split(' ').next()?.parse().ok()?;
    (load > cores * 0.5).then_some(load)
}

/// Everything of this machine, for the report.
pub fn describe() -> BTreeMap<String, String> {
    let read = |path: &str| std::fs::read_to_string(path).map(|text| text.trim().to_owned());
    let cpu = "/sys/devices/system";
    let files = [
        ("host", "/proc/sys/kernel/hostname".into()),
        ("clock source", format!("{cpu}/clocksource/clocksource0/current_clocksource")),
        ("frequency governor", format!("{cpu}/cpu/cpu0/cpufreq/scaling_governor")),
        ("isolated cores", format!("{cpu}/cpu/isolated")),
        ("kernel command line", "/proc/cmdline".into()),
    ];
    let from_files = files.into_iter().filter_map(|(name, path)| {
        let text = read(&path).ok().filter(|text| !text.is_empty())?;
        Some((name.to_owned(), text))
    });
    let command = std::env::args().collect::<Vec<_>>().join(" ");
    let known = [
        (KERNEL, kernel()),
        ("processors", processors()),
        ("date", report::run_folder::utc(now_unix_s())),
        ("command", command),
        ("rights", format!("{:?}", kernel::Privilege::current())),
    ];
    from_files.chain(known.map(|(name, text)| (name.to_owned(), text))).collect()
}
