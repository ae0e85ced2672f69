//! What is built is on record, so that `netanvil clean` can remove what a killed run left behind.
//!
//! The record of a run is a file under /run/netanvil on which the run holds an exclusive lock
//! (flock). The kernel releases the lock however the process ends, kill -9 included, so a record
//! that can be locked belongs to a dead run. That holds across PID namespaces and reused process
//! ids, where "is process 4711 alive" would lie. The record exists before the first namespace of
//! its run, hence a `netanvil-*` namespace without a record is a remnant too.

use crate::error::{Result, TestbedError};
use crate::hardware::{SwitchedOff, switch};
use kernel::{NETNS_DIRECTORY, Namespace, remove_name};
use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Where the records are.
pub const REGISTRY_DIRECTORY: &str = "/run/netanvil";
const PREFIX: &str = "netanvil-";

/// Programs with a folder of the run's own.
pub(crate) const FOLDERS_OF_RUNS: [&str; 4] = ["l3fwd", "memif", "ovs-dpdk", "testpmd"];

fn folder_of_run(run: &str, program: &str) -> PathBuf {
    Path::new(REGISTRY_DIRECTORY).join(format!("{run}.{program}"))
}

/// What a record says of its run: for the eyes of whoever finds it, and what to put back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    run: String,
    process: u32,
    command: Vec<String>,
    /// Features of hardware ports that were on and are switched off while the run lasts.
    #[serde(default, skip_serializing_if = "SwitchedOff::is_empty")]
    switched_off: SwitchedOff,
}

/// The record of a living run; removed with it.
#[derive(Debug)]
pub(crate) struct Registration {
    run: String,
    path: PathBuf,
    _lock: Flock<File>,
}

impl Registration {
    /// Records a new run under a name no other run has.
    pub fn new(switched_off: &SwitchedOff) -> Result<Self> {
        std::fs::create_dir_all(REGISTRY_DIRECTORY)
            .map_err(|e| TestbedError::system(format!("create {REGISTRY_DIRECTORY}"), e))?;
        loop {
            let run = next_run_name();
            let path = record_path(&run);
            let file = match File::options().write(true).create_new(true).open(&path) {
                // Left by a killed run whose process id is ours now.
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => continue,
                other => other,
            };
            let file =
                file.map_err(|e| TestbedError::system(format!("create {}", path.display()), e))?;
            let Ok(mut lock) = Flock::lock(file, FlockArg::LockExclusiveNonblock) else { continue };
            // `clean` may have taken the file for a remnant between its creation and its lock.
            if !path.exists() || names_of_run(&run).next().is_some() {
                let _ = std::fs::remove_file(&path);
                continue;
            }
            let record = Record {
                run: run.clone(),
                process: std::process::id(),
                command: std::env::args().collect(),
                switched_off: switched_off.clone(),
            };
            let text = serde_json::to_string_pretty(&record).expect("a record is plain data");
            lock.write_all(text.as_bytes())
                .map_err(|e| TestbedError::system(format!("write {}", path.display()), e))?;
            return Ok(Registration { run, path, _lock: lock });
        }
    }

    /// The folder of a program that needs no namespace, beside the record; [`clean`] removes it after a kill.
    pub fn folder(&self, program: &str) -> PathBuf {
        debug_assert!(FOLDERS_OF_RUNS.contains(&program), "nobody would remove {program}");
        folder_of_run(&self.run, program)
    }

    /// Name of one of the run's namespaces: `netanvil-<run>-<role>`.
    pub fn namespace_name(&self, role: &str) -> String {
        format!("{PREFIX}{}-{role}", self.run)
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Process id and a count within the process: short enough to type.
pub(crate) fn next_run_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("{}.{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

fn record_path(run: &str) -> PathBuf {
    Path::new(REGISTRY_DIRECTORY).join(format!("{run}.json"))
}

/// What [`clean`] did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CleanReport {
    /// Namespaces removed, with everything in them.
    pub removed_namespaces: Vec<String>,
    /// Hardware ports whose features were switched on again.
    pub restored_interfaces: Vec<String>,
    /// Records of dead runs removed.
    pub removed_records: Vec<PathBuf>,
    /// Namespaces left alone because their run is alive.
    pub kept_namespaces: Vec<String>,
    /// What could not be removed, and why.
    pub failures: Vec<String>,
}

impl CleanReport {
    /// Whether there was nothing to remove.
    pub fn is_empty(&self) -> bool {
        self.removed_namespaces.is_empty()
            && self.restored_interfaces.is_empty()
            && self.removed_records.is_empty()
            && self.failures.is_empty()
    }
}

/// Removes what runs that no longer live have left: their namespaces (and with them links, rules
/// and routes) and their records. With `force`, also what belongs to living runs.
pub fn clean(force: bool) -> Result<CleanReport> {
    let mut report = CleanReport::default();
    // Namespaces first: a run makes its record before its namespaces, so none listed here can
    // belong to a run whose record does not exist yet.
    let namespaces = file_names(NETNS_DIRECTORY)?;
    let records = file_names(REGISTRY_DIRECTORY)?;
    let mut living = BTreeSet::new();
    let mut dead_records = Vec::new();
    for run in records.iter().filter_map(|name| name.strip_suffix(".json")) {
        match try_lock(&record_path(run)) {
            None if !force => {
                living.insert(run.to_owned());
            }
            lock => {
                for program in FOLDERS_OF_RUNS {
                    let _ = std::fs::remove_dir_all(folder_of_run(run, program));
                }
                dead_records.push((record_path(run), lock));
            }
        }
    }
    for name in namespaces.iter().filter(|name| name.starts_with(PREFIX)) {
        if run_of(name).is_some_and(|run| living.contains(run)) {
            report.kept_namespaces.push(name.clone());
            continue;
        }
        match remove_name(&Path::new(NETNS_DIRECTORY).join(name)) {
            Ok(()) => {
                for file in files_of_namespace(Path::new(REGISTRY_DIRECTORY), name) {
                    let _ = std::fs::remove_file(file);
                }
                for program in ["ovs", "snmp"] {
                    let folder = folder_of_namespace(Path::new(REGISTRY_DIRECTORY), name, program);
                    let _ = std::fs::remove_dir_all(folder);
                }
                report.removed_namespaces.push(name.clone());
            }
            Err(error) => report.failures.push(error.to_string()),
        }
    }
    // Records last: while one stands, a second `clean` finds what this one may not have finished.
    for (path, _lock) in dead_records {
        if let Err(error) = restore(&path, &mut report) {
            report.failures.push(error.to_string());
            continue;
        }
        match std::fs::remove_file(&path) {
            Ok(()) => report.removed_records.push(path),
            Err(error) => report.failures.push(format!("delete {}: {error}", path.display())),
        }
    }
    Ok(report)
}

/// Files of programs in a namespace.
pub(crate) fn files_of(namespace: &Namespace) -> [PathBuf; 3] {
    files_of_namespace(&place_of(namespace), namespace.name())
}

/// Beside the record of the run, where `clean` finds what is left; an ordinary user's, where he may write.
fn place_of(namespace: &Namespace) -> PathBuf {
    match namespace.is_named() {
        true => PathBuf::from(REGISTRY_DIRECTORY),
        false => std::env::temp_dir(),
    }
}

/// Folder of a program in this namespace, `ovs` or `snmp`; whoever makes it removes it, and [`clean`] after a kill.
pub fn program_folder(namespace: &Namespace, program: &str) -> PathBuf {
    folder_of_namespace(&place_of(namespace), namespace.name(), program)
}

/// Files of programs in the namespace of this name: a routing daemon's configuration and control socket,
/// and a translator's configuration.
fn files_of_namespace(folder: &Path, name: &str) -> [PathBuf; 3] {
    ["bird.conf", "bird.ctl", "tayga.conf"].map(|file| folder.join(format!("{name}.{file}")))
}

fn folder_of_namespace(parent: &Path, name: &str, program: &str) -> PathBuf {
    parent.join(format!("{name}.{program}"))
}

/// Puts hardware ports back as a dead run found them. A record cut short by the kill has nothing to say:
/// it is written before anything is changed.
fn restore(record: &Path, report: &mut CleanReport) -> Result<()> {
    let Ok(text) = std::fs::read_to_string(record) else { return Ok(()) };
    let Ok(record) = serde_json::from_str::<Record>(&text) else { return Ok(()) };
    switch(&record.switched_off, true)?;
    report.restored_interfaces.extend(record.switched_off.into_keys());
    Ok(())
}

/// The lock of a record, or nothing while its run lives.
fn try_lock(record: &Path) -> Option<Flock<File>> {
    Flock::lock(File::open(record).ok()?, FlockArg::LockExclusiveNonblock).ok()
}

/// The run of a namespace name `netanvil-<run>-<role>`.
fn run_of(namespace: &str) -> Option<&str> {
    namespace.strip_prefix(PREFIX)?.rsplit_once('-').map(|(run, _)| run)
}

fn names_of_run(run: &str) -> impl Iterator<Item = String> {
    file_names(NETNS_DIRECTORY)
        .unwrap_or_default()
        .into_iter()
        .filter(move |n| run_of(n) == Some(run))
}

/// Names in a directory, sorted; none when it does not exist.
fn file_names(directory: &str) -> Result<Vec<String>> {
    let entries = match std::fs::read_dir(directory) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(|e| TestbedError::system(format!("list {directory}"), e))?,
    };
    let mut names: Vec<String> =
        entries.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}
