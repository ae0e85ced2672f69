//! Receive queues of known length for the ports of the device.
//!
//! A veth's own receive ring holds 256 frames, a tenth of a network card's, and whatever finds it
//! full is lost: a device thread that is kept from its processor for a millisecond loses frames at
//! any load. So a port is given a queue; of the two kinds the first that can be had:
//!
//! * [`processor`]: an XDP program at the port hands each frame to a kernel thread on the device's
//!   processor. The sender does next to nothing for the device.
//! * [`fifo`]: a pfifo between two links, which works without BPF. The sender's processor carries
//!   each frame through them, and is slowed down by it.
//!
//! Measured on two processors with 64-byte frames from an `xdp` port through the router: with the
//! ring alone 4 % of 100,000 frames/s were lost. With a fifo the tester offered at most 1.2 million
//! frames/s and the router carried 0.9; with the queue on its processor 4 million and 1.5.

#[cfg(bpf_programs)]
mod counts;
mod fifo;
mod processor;

use crate::addressing::device_mac;
use crate::config::{DeviceKind, DeviceThreads, TestbedConfig};
use crate::device::Device;
use crate::error::Result;
use crate::places::PlaceCounters;
use crate::threads::PortThreads;
use kernel::Privilege;
use processor::ProcessorQueue;

/// Where the frames wait that the device has not taken yet.
#[derive(Debug)]
pub(crate) enum InputQueues {
    /// In the ring of the port's veth.
    Ring,
    /// In a pfifo before the port; why not on a processor, where that is worth saying.
    Fifo {
        /// In words.
        why: Option<String>,
    },
    /// On the way to the device's processor.
    Processor {
        /// One for each port.
        queues: Vec<ProcessorQueue>,
        /// Their counters; why there are none.
        counts: Result<QueueCounts, String>,
    },
}

#[cfg(bpf_programs)]
pub(crate) use counts::QueueCounts;

/// Cannot be had in this build.
#[cfg(not(bpf_programs))]
#[derive(Debug)]
pub(crate) enum QueueCounts {}

#[cfg(bpf_programs)]
fn count_at(queues: &[ProcessorQueue]) -> Result<QueueCounts, String> {
    QueueCounts::of(&queues.iter().map(ProcessorQueue::map).collect::<Vec<u32>>())
}

#[cfg(not(bpf_programs))]
fn count_at(_queues: &[ProcessorQueue]) -> Result<QueueCounts, String> {
    Err(env!("NETANVIL_NO_BPF").into())
}

impl InputQueues {
    /// The best kind that this process may have, ready to be put at the ports.
    pub fn choose(config: &TestbedConfig) -> Self {
        let has_threads =
            config.threads == DeviceThreads::Threaded && config.device != DeviceKind::OvsUserspace;
        if !has_threads || config.input_queue_frames == 0 {
            return InputQueues::Ring;
        }
        let queue = |_| ProcessorQueue::new(config.input_queue_frames, config.device_cpu);
        match (0..config.ports).map(queue).collect::<Result<Vec<_>, _>>() {
            Ok(queues) => InputQueues::Processor { counts: count_at(&queues), queues },
            // An ordinary user's namespaces may load no BPF: that is as expected.
            Err(_) if Privilege::current() != Privilege::Root => InputQueues::Fifo { why: None },
            Err(why) => InputQueues::Fifo { why: Some(why) },
        }
    }

    /// What is not as asked for, a sentence each.
    pub fn shortfalls(&self) -> Vec<String> {
        if let InputQueues::Processor { counts: Err(why), .. } = self {
            return vec![format!("what the input queues drop cannot be read: {why}")];
        }
        let InputQueues::Fifo { why } = self else { return vec![] };
        let why = why.as_ref().map(|why| {
            format!("input queues are before the device's ports, not on its processor: {why}")
        });
        why.into_iter().chain(fifo::shortfall()).collect()
    }
}

impl Device {
    fn has_fifos(&self) -> bool {
        matches!(self.input_queues, InputQueues::Fifo { .. })
    }

    /// Whether a port must be given a receive ring (NAPI) to take frames by XDP; a program at the
    /// port gives it one, too.
    pub(crate) fn needs_receive_ring(&self) -> bool {
        !matches!(self.input_queues, InputQueues::Processor { .. })
    }

    /// Interface of the device that the tester's link ends at.
    pub fn connector(&self, port: usize) -> String {
        if self.has_fifos() { fifo::wire(port) } else { self.interface(port) }
    }

    /// Ethernet address of the connector: the device's own, or one of a wire.
    pub(crate) fn connector_mac(&self, port: usize) -> [u8; 6] {
        if self.has_fifos() { fifo::wire_mac(port) } else { device_mac(port) }
    }

    /// Every interface of a port, from the tester's link inwards.
    pub(crate) fn interfaces_of(&self, port: usize) -> Vec<String> {
        match self.has_fifos() {
            true => vec![fifo::wire(port), fifo::queue(port), self.interface(port)],
            false => vec![self.interface(port)],
        }
    }

    /// Puts the queue at its port, whose connector exists.
    pub(crate) fn add_input_queue(&self, port: usize) -> Result<()> {
        match &self.input_queues {
            InputQueues::Ring => Ok(()),
            InputQueues::Fifo { .. } => fifo::add(self, port),
            InputQueues::Processor { queues, .. } => {
                let interface = self.interface(port);
                queues[port].attach(self.namespace(), &interface)
            }
        }
    }

    /// The thread that takes frames out of the port's queue, where it has one on a processor.
    pub(crate) fn queue_thread(&self, port: usize) -> Option<PortThreads> {
        match &self.input_queues {
            InputQueues::Processor { queues, .. } => {
                Some(queues[port].thread(self.interface(port)))
            }
            _ => None,
        }
    }

    /// What the queues on a processor count, where they can be read. A pfifo is a qdisc like others.
    #[cfg(bpf_programs)]
    pub(crate) fn input_queue_places(&self) -> Vec<PlaceCounters> {
        let InputQueues::Processor { queues, counts: Ok(counts) } = &self.input_queues else {
            return vec![];
        };
        let place = |(port, queue): (usize, &ProcessorQueue)| {
            let (dropped, waiting) = counts.read(queue.map())?;
            let name = format!("input queue of {}", self.interface(port));
            Some(PlaceCounters { name, dropped, waiting, of_machine: false })
        };
        queues.iter().enumerate().filter_map(place).collect()
    }

    /// See above.
    #[cfg(not(bpf_programs))]
    pub(crate) fn input_queue_places(&self) -> Vec<PlaceCounters> {
        vec![]
    }
}
