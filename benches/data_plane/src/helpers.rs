//! Small programs that are compiled for the run: the sink, and a preload that lets
//! xdp-trafficgen start on newer kernels.

use crate::error::{BenchError, Result, system};
use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

const SINK: &str = include_str!("../bpf/drop.bpf.c");
const PRELOAD: &str = include_str!("../bpf/xdp_trafficgen_preload.c");

/// Compiled helpers, in a directory that goes with the value.
pub struct Helpers {
    directory: TempDir,
    sink: PathBuf,
    preload: OnceCell<Option<PathBuf>>,
}

impl Helpers {
    /// Compiles the sink.
    pub fn compile() -> Result<Self> {
        let directory =
            TempDir::with_prefix("netanvil-bench-").map_err(system("make a directory"))?;
        // Where a system keeps <asm/types.h> apart by architecture, the BPF target needs telling.
        let headers = format!("-I/usr/include/{}-linux-gnu", std::env::consts::ARCH);
        let flags = ["-O2", "-target", "bpf", &headers, "-c"];
        let sink = clang(directory.path(), "drop.bpf.c", SINK, "drop.o", &flags, &[])?;
        Ok(Helpers { directory, sink, preload: OnceCell::new() })
    }

    /// Where files of the run can be put.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The compiled sink.
    pub fn sink(&self) -> &Path {
        &self.sink
    }

    /// What xdp-trafficgen has to be started with here; found out once.
    pub fn preload(&self) -> Result<Option<PathBuf>> {
        if let Some(found) = self.preload.get() {
            return Ok(found.clone());
        }
        let found = self.find_preload()?;
        Ok(self.preload.get_or_init(|| found).clone())
    }

    fn find_preload(&self) -> Result<Option<PathBuf>> {
        if probe(None)?.status.success() {
            return Ok(None);
        }
        let flags = ["-O2", "-shared", "-fPIC"];
        let directory = self.directory.path();
        let preload = clang(directory, "preload.c", PRELOAD, "preload.so", &flags, &["-lbpf"])?;
        let output = probe(Some(&preload))?;
        if output.status.success() {
            return Ok(Some(preload));
        }
        Err(BenchError::Tool {
            tool: "xdp-trafficgen".into(),
            what: "it cannot run on this kernel; leave it out with --without xdp-trafficgen".into(),
            said: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }
}

/// Asks xdp-trafficgen whether it can run.
fn probe(preload: Option<&Path>) -> Result<Output> {
    remove_stale_lock();
    let mut command = Command::new("xdp-trafficgen");
    command.arg("probe").envs(preload.map(|path| ("LD_PRELOAD", path)));
    command.output().map_err(system("run xdp-trafficgen"))
}

/// An xdp-trafficgen that was killed leaves a lock behind, which no later one gets past.
fn remove_stale_lock() {
    const LOCK: &str = "/run/xdp-trafficgen.lck";
    let Ok(owner) = std::fs::read_to_string(LOCK) else { return };
    let name = std::fs::read_to_string(format!("/proc/{}/comm", owner.trim()));
    if !name.is_ok_and(|name| "xdp-trafficgen".starts_with(name.trim())) {
        let _ = std::fs::remove_file(LOCK);
    }
}

fn clang(
    directory: &Path,
    name: &str,
    source: &str,
    to: &str,
    flags: &[&str],
    libraries: &[&str],
) -> Result<PathBuf> {
    let (from, to) = (directory.join(name), directory.join(to));
    std::fs::write(&from, source).map_err(system(format!("write {}", from.display())))?;
    let output = Command::new("clang")
        .args(flags)
        .arg(&from)
        .arg("-o")
        .arg(&to)
        .args(libraries)
        .output()
        .map_err(system("run clang (apt install clang)"))?;
    if output.status.success() {
        return Ok(to);
    }
    Err(BenchError::Tool {
        tool: "clang".into(),
        what: format!("cannot compile {name} (apt install clang libbpf-dev libc6-dev)"),
        said: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}
