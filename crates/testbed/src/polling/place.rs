//! On which processors a forwarder runs, and in which memory.

use crate::config::TestbedConfig;
use kernel::{free_huge_bytes, thread};

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
