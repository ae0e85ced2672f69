//! Kernel settings of a namespace, written by a thread inside it (/proc/sys/net shows the reader's).

use crate::error::{Result, write_file};
use std::path::Path;

/// Whether the kernel has IPv6.
pub fn has_ipv6() -> bool {
    Path::new("/proc/sys/net/ipv6").exists()
}

/// Writes settings, named by their path below /proc/sys; those of IPv6 only where the kernel has it.
pub fn set_sysctls(settings: &[(&str, &str)]) -> Result<()> {
    let ipv6 = has_ipv6();
    settings
        .iter()
        .filter(|(key, _)| ipv6 || !key.starts_with("net/ipv6"))
        .try_for_each(|(key, value)| write_file(Path::new("/proc/sys").join(key), value))
}
