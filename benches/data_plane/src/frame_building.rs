//! The loops that build frames and account for them, without any port: the Criterion benchmark of
//! the `trial` crate, run on one core, and its estimates.

use crate::error::{BenchError, Result, system};
use crate::subject::SIZES_BYTES;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Frames of one iteration there.
const FRAMES: f64 = 100_000.0;
/// The loops there.
const LOOPS: [&str; 2] = ["build", "account"];

/// How fast a loop runs on one core.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LoopRate {
    /// `build` or `account`.
    pub name: String,
    /// Frame size, FCS included.
    pub size_bytes: u32,
    /// Frames a second, from the mean time of an iteration.
    pub fps: f64,
    /// The same at both ends of the 95 % confidence interval.
    pub fps_interval: [f64; 2],
}

/// Runs the benchmark and reads its estimates.
pub fn measure(core: usize) -> Result<Vec<LoopRate>> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    // What is read afterwards is of this run.
    for size_bytes in SIZES_BYTES {
        for name in LOOPS {
            let _ = std::fs::remove_file(estimates_path(size_bytes, name));
        }
    }
    let output = Command::new("taskset")
        .args(["--cpu-list", &core.to_string(), &cargo, "bench", "--quiet"])
        .args(["--package", "netanvil-trial", "--bench", "frame_building", "--"])
        .args(["--warm-up-time", "0.5", "--measurement-time", "2", "--noplot"])
        .output()
        .map_err(system("run cargo bench"))?;
    if !output.status.success() {
        return Err(BenchError::Tool {
            tool: "cargo bench".into(),
            what: "the frame-building benchmark failed".into(),
            said: String::from_utf8_lossy(&output.stderr).into_owned(),
        });
    }
    let mut rates = vec![];
    for size_bytes in SIZES_BYTES {
        for name in LOOPS {
            rates.push(read(&estimates_path(size_bytes, name), size_bytes, name)?);
        }
    }
    Ok(rates)
}

fn estimates_path(size_bytes: u32, name: &str) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let group = format!("{size_bytes}-byte frames");
    Path::new(&target).join("criterion").join(group).join(name).join("new/estimates.json")
}

fn read(path: &Path, size_bytes: u32, name: &str) -> Result<LoopRate> {
    let text = std::fs::read_to_string(path)
        .map_err(system(format!("read the benchmark's estimates, {}", path.display())))?;
    let malformed = || BenchError::Implausible(format!("{} lacks a mean", path.display()));
    let estimates: serde_json::Value = serde_json::from_str(&text).map_err(|_| malformed())?;
    let mean = &estimates["mean"];
    let fps =
        |ns: &serde_json::Value| ns.as_f64().map(|ns| FRAMES / ns * 1e9).ok_or_else(malformed);
    let interval = &mean["confidence_interval"];
    Ok(LoopRate {
        name: name.into(),
        size_bytes,
        fps: fps(&mean["point_estimate"])?,
        fps_interval: [fps(&interval["upper_bound"])?, fps(&interval["lower_bound"])?],
    })
}
