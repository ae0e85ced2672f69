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

/// Bytes of huge pages that are free, of every size (Documentation/admin-guide/mm/hugetlbpage.rst).
pub fn free_huge_bytes() -> u64 {
    free_huge_bytes_in(Path::new("/sys/kernel/mm/hugepages"))
}

fn free_huge_bytes_in(folder: &Path) -> u64 {
    let sizes = fs::read_dir(folder).into_iter().flatten().flatten();
    let free = |size: fs::DirEntry| -> Option<u64> {
        let name = size.file_name();
        let kilobytes = name.to_str()?.strip_prefix("hugepages-")?.strip_suffix("kB")?;
        let pages = fs::read_to_string(size.path().join("free_hugepages")).ok()?;
        Some(kilobytes.parse::<u64>().ok()? * 1_024 * pages.trim().parse::<u64>().ok()?)
    };
    sizes.filter_map(free).sum()
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_all_sizes_are_counted_in_bytes() {
        let folder = tempfile::tempdir().unwrap();
        for (size, free) in
            [("hugepages-2048kB", "3\n"), ("hugepages-1048576kB", "1\n"), ("x", "9\n")]
        {
            fs::create_dir(folder.path().join(size)).unwrap();
            fs::write(folder.path().join(size).join("free_hugepages"), free).unwrap();
        }
        assert_eq!(free_huge_bytes_in(folder.path()), 3 * (2 << 20) + (1 << 30));
        assert_eq!(free_huge_bytes_in(&folder.path().join("none")), 0);
    }
}
