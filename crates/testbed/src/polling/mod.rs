//! Forwarders of DPDK as devices: programs that poll sockets of memif or vhost-user and have no interface of the kernel.
//!
//! What all of them share: how the tester joins one, reads it and keeps off its processor.

mod ends;
mod folder;
mod place;
mod words;

pub use ends::OwnMemif;
pub(crate) use ends::{
    RING_BITS, mac_text, memif_far_end, memif_near_end, next_device, vhost_user_near_end,
};
pub(crate) use folder::Folder;
pub(crate) use place::{Place, place};
pub(crate) use words::Words;

use crate::error::{Result, TestbedError};

/// Ports of such a device, which it forwards between.
pub const PORTS: usize = 2;
/// What puts a program before other work of its session: to nice -20, wherever this process is (nice(1) adds). It has no
/// real-time priority: it polls, and the kernel stops real-time threads that never sleep for 50 ms of each second
/// (sched(7)).
pub(crate) const BEFORE_OTHERS: [&str; 3] = ["nice", "-n", "-40"];
/// Where DPDK keeps what other processes may see (`eal_create_runtime_dir`).
pub(crate) const RUNTIME: &str = "RUNTIME_DIRECTORY";

/// What a driver of a forwarder's port has counted since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Frames received.
    pub rx_packets: u64,
    /// Frames missed on the way in.
    pub rx_dropped: u64,
    /// Frames sent.
    pub tx_packets: u64,
    /// Frames given up since the driver took them not: the far end's queue had no room.
    pub tx_dropped: u64,
}

/// What is to be told of a running forwarder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PollingFacts {
    /// The device in words, for the head of a report.
    pub title: String,
    /// The program, its release and its memory.
    pub program: String,
    /// The command with which it was started.
    pub command: String,
    /// Its settings beside the command; empty for none.
    pub settings: String,
    /// The queues between it and the tester.
    pub queues: String,
    /// Which frames are too long for it.
    pub mtu: String,
    /// The processor of the thread that forwards.
    pub forwarding_cpu: usize,
    /// The processor of all its other threads.
    pub main_cpu: usize,
}

/// A running forwarder. It ends with this value, and with this process however that ends.
pub trait PollingDevice: std::fmt::Debug + Send {
    /// The devices of DPDK, with their arguments, by which the tester joins its ports.
    fn near_ends(&self) -> &[String];

    /// Both ports are joined: nobody needs the files of its folder any more. Returns when it forwards.
    ///
    /// # Errors
    /// If it has ended, or does not forward.
    fn joined(&mut self) -> Result<()>;

    /// What it is.
    fn facts(&self) -> &PollingFacts;

    /// The threads that forward, with their names.
    fn forwarding_threads(&self) -> Vec<(u32, String)>;

    /// What its ports have counted up to now.
    ///
    /// # Errors
    /// If it has ended, or does not answer.
    fn counters(&mut self) -> Result<[PortCounters; PORTS]>;

    /// An error with what it said if it has ended.
    ///
    /// # Errors
    /// That one.
    fn check(&mut self) -> Result<()>;

    /// The tester's ports are about to close.
    fn freeze(&self);
}

/// How a message calls the memory of a program.
pub(crate) fn memory_in_words(has_huge_pages: bool) -> &'static str {
    match has_huge_pages {
        true => "in huge pages",
        false => "without huge pages",
    }
}

/// Refuses a length that the rings of these sockets cannot have.
pub(crate) fn check_ring(
    frames: u32,
    bits: std::ops::RangeInclusive<u32>,
    socket: &str,
) -> Result<()> {
    if frames.is_power_of_two() && bits.contains(&frames.ilog2()) {
        return Ok(());
    }
    Err(TestbedError::Configuration(format!(
        "input_queue_frames = {frames}: a ring of {socket} holds a power of two, from {} to {} frames",
        1 << bits.start(),
        1 << bits.end()
    )))
}

/// Threads that forward, as DPDK names them: `rte-worker-1` in 22.11, `lcore-worker-1` before, `dpdk-worker1` after.
pub(crate) fn is_worker(name: &str) -> bool {
    ["rte-worker", "lcore-worker", "dpdk-worker"].iter().any(|worker| name.starts_with(worker))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_workers_forward() {
        assert!(is_worker("rte-worker-1"));
        assert!(!is_worker("dpdk-testpmd") && !is_worker("eal-intr-thread"));
    }
}
