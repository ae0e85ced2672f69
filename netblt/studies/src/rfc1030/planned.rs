//! What the authors of RFC 1030 planned to do next over the Wideband (section 8) and could not:
//! "transmissions of 10 to 50 million bytes", "several NETBLT processes in parallel, each tuned to
//! take a fraction of the Wideband Network's available bandwidth" to see "whether or not burst
//! synchronization across different NETBLT processes will cause network congestion or failure", and
//! "higher throughputs".
//!
//! The network and its constants are those fitted to what they did do. A full earth station drops
//! packets here; theirs crashed, and the better interface that they waited for is taken not to.

use super::campaign::{Constants, Network};
use super::world::{Together, Transfer, run_together};
use netblt::Burst;
use units::Duration;

/// Data in a packet that crosses the network whole, and packets of a buffer (appendix IV).
const PACKET_BYTES: u16 = 1432;
const BUFFER_PACKETS: u32 = 10;
/// Burst interval that one process of five packets a burst filled nine tenths of the network with.
const ONE_PROCESS_MS: u16 = 55;
const BURST_PACKETS: u16 = 5;
/// Buffers that cover a round trip of 1.8 s at the whole rate, with some to spare.
const BUFFERS: u16 = 25;
/// And as many as overload takes: with 25, permission runs out before the earth station's room does,
/// so that what is offered is never more than what comes through.
const OVERLOADING_BUFFERS: u16 = 60;

/// What a run was to find out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// "Accurate steady-state throughput results."
    LongTransfers,
    /// Several processes whose bursts begin at the same time.
    InStep,
    /// The same, begun evenly over a burst interval.
    Staggered,
    /// "Higher throughputs", and what overload does.
    HigherRates,
}

/// A run that they planned.
#[derive(Clone, PartialEq, Debug)]
pub struct PlannedRun {
    /// What for.
    pub purpose: Purpose,
    /// Processes at once.
    pub processes: u16,
    /// What each of them does.
    pub transfer: Transfer,
}

impl PlannedRun {
    fn new(purpose: Purpose, processes: u16, interval_ms: u16, megabytes: u64) -> PlannedRun {
        let buffers = match purpose {
            Purpose::HigherRates => OVERLOADING_BUFFERS,
            _ => BUFFERS.div_ceil(processes) + u16::from(processes > 1),
        };
        let transfer = Transfer {
            burst: Burst { size_packets: BURST_PACKETS, interval_ms },
            data_packet_size_bytes: PACKET_BYTES,
            buffer_size_bytes: BUFFER_PACKETS * u32::from(PACKET_BYTES),
            transfer_size_bytes: megabytes * 1_000_000 / u64::from(processes),
            outstanding_buffers: buffers,
        };
        PlannedRun { purpose, processes, transfer }
    }

    /// Runs it. None if a transfer does not come to its end.
    pub fn run(&self, seed: u64) -> Option<Together> {
        let interval = self.transfer.burst.interval();
        let wait = |process: u16| match self.purpose {
            Purpose::Staggered => {
                let part = u64::from(process) * interval.as_ps() / u64::from(self.processes);
                Duration::from_ps(part)
            }
            _ => Duration::ZERO,
        };
        let transfers: Vec<_> =
            (0..self.processes).map(|process| (self.transfer, wait(process))).collect();
        run_together(&Constants::FITTED.bed(Network::Wideband), &transfers, seed)
    }
    /// Bits of data that all processes offer, in Mb/s.
    pub fn offered_mbps(&self) -> f64 {
        let Burst { size_packets, .. } = self.transfer.burst;
        let bits = 8.0 * f64::from(PACKET_BYTES) * f64::from(size_packets);
        bits * f64::from(self.processes) / self.transfer.burst.interval().as_secs_f64() / 1e6
    }
}

/// All of them.
pub fn plans() -> Vec<PlannedRun> {
    let mut plans: Vec<PlannedRun> = [10, 20, 50]
        .map(|megabytes| PlannedRun::new(Purpose::LongTransfers, 1, ONE_PROCESS_MS, megabytes))
        .to_vec();
    for processes in [2, 4, 8] {
        for purpose in [Purpose::InStep, Purpose::Staggered] {
            plans.push(PlannedRun::new(purpose, processes, ONE_PROCESS_MS * processes, 10));
        }
    }
    // 53 ms are two packets in a frame of 21.22 ms, all that it holds.
    for interval_ms in [54, 53, 52, 50, 45] {
        plans.push(PlannedRun::new(Purpose::HigherRates, 1, interval_ms, 10));
    }
    plans
}
