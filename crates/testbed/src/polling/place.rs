//! On which processors a forwarder runs, and in which memory.

use crate::config::TestbedConfig;
use kernel::{read_file, thread};

/// Which processors, and which memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// Of the thread that takes commands and of those that wait for events.
    pub main_cpu: usize,
    /// Of the thread that forwards.
    pub forwarding_cpu: usize,
    /// Whether there are huge pages for it.
    pub has_huge_pages: bool,
}

/// The processor that was asked for, and the first one beside it. Huge pages count where so many bytes of them are free.
pub(crate) fn place(config: &TestbedConfig, huge_bytes: u64) -> Place {
    let allowed = thread::allowed_cores();
    let first = allowed.first().copied().unwrap_or(0);
    let forwarding_cpu = config.device_cpu.unwrap_or(first);
    let mut others = allowed.into_iter().filter(|cpu| *cpu != forwarding_cpu);
    let main_cpu = others.next().unwrap_or(forwarding_cpu);
    Place { main_cpu, forwarding_cpu, has_huge_pages: free_huge_bytes() >= huge_bytes }
}

/// Huge pages that are free, of every size (Documentation/admin-guide/mm/hugetlbpage.rst).
fn free_huge_bytes() -> u64 {
    let sizes = std::fs::read_dir("/sys/kernel/mm/hugepages").into_iter().flatten().flatten();
    let free = |entry: std::fs::DirEntry| -> Option<u64> {
        let name = entry.file_name();
        let kilobytes = name.to_str()?.strip_prefix("hugepages-")?.strip_suffix("kB")?;
        let pages = read_file(entry.path().join("free_hugepages")).ok()?;
        Some(kilobytes.parse::<u64>().ok()? * 1_024 * pages.trim().parse::<u64>().ok()?)
    };
    sizes.filter_map(free).sum()
}
