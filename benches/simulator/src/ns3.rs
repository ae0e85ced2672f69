//! The other side: the same scenario in ns-3, compiled here with the highest optimisation.

use crate::Scenario;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

const SOURCE: &str = include_str!("../ns3/store_and_forward.cc");
const MODULES: [&str; 5] =
    ["ns3-core", "ns3-network", "ns3-internet", "ns3-point-to-point", "ns3-traffic-control"];

/// The program, compiled.
pub struct Rival {
    folder: TempDir,
}

/// Compiles it against the installed libraries.
pub fn compile() -> Result<Rival, String> {
    let folder = tempfile::tempdir().map_err(|error| format!("a scratch folder: {error}"))?;
    let source = folder.path().join("scenario.cc");
    std::fs::write(&source, SOURCE).map_err(|error| format!("write the scenario: {error}"))?;
    let libraries = MODULES.map(|module| format!("-l{module}"));
    let output = Command::new("g++")
        .args(["-O3", "-DNDEBUG", "-march=native", "-std=c++17", "-o"])
        .args([&folder.path().join("scenario"), &source])
        .args(libraries)
        .output();
    run(output, "g++", "is libns3-dev installed? `make bench` does that as root")?;
    Ok(Rival { folder })
}

impl Rival {
    /// Runs it; frames for each second of processor time.
    pub fn run(&self, scenario: Scenario, frames: u64) -> Result<f64, String> {
        let program = self.folder.path().join("scenario");
        let output =
            Command::new(Path::new(&program)).args([scenario.name(), &frames.to_string()]).output();
        let text = run(output, "ns-3", "it ran before; is memory short?")?;
        let said: serde_json::Value =
            serde_json::from_str(&text).map_err(|error| format!("ns-3 said {text}: {error}"))?;
        let received = said["received_frames"].as_u64();
        let took_s = said["processor_s"].as_f64();
        match (received, took_s) {
            (Some(received), Some(took_s)) if received == frames => Ok(frames as f64 / took_s),
            _ => Err(format!("ns-3 did not forward all {frames} frames: {text}")),
        }
    }
}

/// Version of the installed library.
pub fn version() -> Option<String> {
    let output = Command::new("dpkg-query").args(["-W", "-f=${Version}", "libns3-dev"]).output();
    run(output, "dpkg-query", "").ok().filter(|version| !version.is_empty())
}

fn run(output: std::io::Result<Output>, tool: &str, help: &str) -> Result<String, String> {
    let output = output.map_err(|error| format!("cannot run {tool}: {error}; {help}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            let first = said.lines().next().unwrap_or("nothing");
            Err(format!("{tool} failed: {first}; {help}"))
        }
    }
}
