//! What this host has of DPDK: for `doctor`, and for the start.

use std::fs;
use std::path::Path;

/// Where Debian's packages put the drivers of a release.
const LIBRARIES: &str = "/usr/lib";
const CORE: &str = "librte_eal.so.";
/// Without huge pages DPDK takes all of its memory at the start: enough for a dozen ports.
pub const MEMORY_MB: u32 = 256;
/// Where fewer bytes of huge pages are free, none are used.
pub const HUGE_BYTES: u64 = (MEMORY_MB as u64) << 20;

/// NUMA nodes of this machine.
pub fn numa_nodes() -> usize {
    let nodes = fs::read_dir("/sys/devices/system/node").into_iter().flatten().flatten();
    let is_node = |name: &str| {
        name.strip_prefix("node")
            .is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()) && !n.is_empty())
    };
    nodes.filter(|entry| is_node(&entry.file_name().to_string_lossy())).count().max(1)
}

/// Versions of DPDK's libraries that are installed where Debian puts them, such as `23.0`.
pub fn runtime_libraries() -> Vec<String> {
    let mut versions = vec![];
    let folders = fs::read_dir(LIBRARIES).into_iter().flatten().flatten().map(|entry| entry.path());
    for folder in
        folders.chain([Path::new("/usr/local/lib").into(), Path::new("/usr/lib64").into()])
    {
        let files = fs::read_dir(folder).into_iter().flatten().flatten();
        let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
        versions.extend(names.filter_map(|name| Some(name.strip_prefix(CORE)?.to_owned())));
    }
    versions.sort();
    versions.dedup();
    // The short names are links to the long ones.
    let all = versions.clone();
    versions.retain(|version| !all.iter().any(|other| other.starts_with(&format!("{version}."))));
    versions
}
