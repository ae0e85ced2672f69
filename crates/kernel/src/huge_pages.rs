//! Huge pages, as the kernel counts them (Documentation/admin-guide/mm/hugetlbpage.rst).

use crate::read_file;
use std::fs::{DirEntry, read_dir};
use std::path::Path;

/// Bytes of huge pages that are free, of every size.
pub fn free_huge_bytes() -> u64 {
    free_in(Path::new("/sys/kernel/mm/hugepages"))
}

fn free_in(folder: &Path) -> u64 {
    let sizes = read_dir(folder).into_iter().flatten().flatten();
    let free = |size: DirEntry| -> Option<u64> {
        let name = size.file_name();
        let kilobytes = name.to_str()?.strip_prefix("hugepages-")?.strip_suffix("kB")?;
        let pages = read_file(size.path().join("free_hugepages")).ok()?;
        Some(kilobytes.parse::<u64>().ok()? * 1_024 * pages.trim().parse::<u64>().ok()?)
    };
    sizes.filter_map(free).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn pages_of_all_sizes_are_counted_in_bytes() {
        let folder = tempfile::tempdir().unwrap();
        for (size, free) in
            [("hugepages-2048kB", "3\n"), ("hugepages-1048576kB", "1\n"), ("x", "9\n")]
        {
            fs::create_dir(folder.path().join(size)).unwrap();
            fs::write(folder.path().join(size).join("free_hugepages"), free).unwrap();
        }
        assert_eq!(free_in(folder.path()), 3 * (2 << 20) + (1 << 30));
        assert_eq!(free_in(&folder.path().join("none")), 0);
    }
}
