//! Decouples the device from the sender: the device's ports receive in kernel threads of their own
//! (threaded NAPI), pinned to a chosen processor.
//!
//! Over a plain veth the sender's system call runs the device's whole forwarding path. Such a device
//! never drops, it slows the tester, and every trial above its capacity shows a shortfall of the
//! tester instead of loss. With a thread per port the device has a receive queue (the veth's ring of
//! 256 frames) and drops like a device when that runs over.

use crate::error::Result;
use kernel::{Namespace, napis, read_file, write_file};
use serde::Serialize;

/// What was achieved for one port of the device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PortThreads {
    /// Interface in the device's namespace.
    pub interface: String,
    /// Whether its receive work is done by threads of its own, read back from the kernel.
    pub threaded: bool,
    /// Process ids of the threads.
    pub threads: Vec<u32>,
    /// The processor they are pinned to.
    pub pinned_to_cpu: Option<usize>,
    /// Why less was achieved than asked for.
    pub shortfall: Option<String>,
}

/// Gives an interface of the device receive threads, pinned to `cpu` where one is given. GRO must
/// be on and the interface up, else a veth has no NAPI. Never fails: what could not be had is in
/// the result.
pub(crate) fn thread_port(
    namespace: &Namespace,
    interface: &str,
    index: u32,
    cpu: Option<usize>,
) -> PortThreads {
    let mut achieved = PortThreads {
        interface: interface.into(),
        threaded: false,
        threads: Vec::new(),
        pinned_to_cpu: None,
        shortfall: None,
    };
    let outcome = set_threaded(namespace, interface).and_then(|()| {
        achieved.threaded = true;
        achieved.threads =
            namespace.run(|| napis(index))??.iter().filter_map(|n| n.thread).collect();
        Ok(())
    });
    if let Err(error) = outcome {
        achieved.shortfall = Some(error.to_string());
    } else if let Some(cpu) = cpu {
        match pin(&achieved.threads, cpu) {
            Ok(()) => achieved.pinned_to_cpu = Some(cpu),
            Err(why) => achieved.shortfall = Some(why),
        }
    }
    achieved
}

/// Process ids of the kernel threads of this name.
#[cfg(bpf_programs)]
pub(crate) fn kernel_threads_named(name: &str) -> Vec<u32> {
    kernel::thread::of_kernel(|other| other == name).into_iter().map(|(id, _)| id).collect()
}

fn set_threaded(namespace: &Namespace, interface: &str) -> kernel::Result<()> {
    let file = format!("/sys/class/net/{interface}/threaded");
    namespace.run_with_sysfs(|| {
        write_file(&file, "1")?;
        read_file(&file).map(drop)
    })?
}

fn pin(threads: &[u32], cpu: usize) -> Result<(), String> {
    if threads.is_empty() {
        return Err("not pinned: the kernel names no thread for this interface".into());
    }
    for &thread in threads {
        kernel::thread::pin(thread, cpu).map_err(|error| {
            format!("not pinned to processor {cpu}: {error} (kernel threads are root's)")
        })?;
    }
    Ok(())
}
