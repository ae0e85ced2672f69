//! A receive queue of known length for a port of the device.
//!
//! A veth's receive ring holds 256 frames, a tenth of a network card's, and whatever finds it full
//! is lost: a device thread that is kept from its processor for a millisecond loses frames at any
//! load. Measured on two busy processors with 64-byte frames by XDP: with the ring alone 4 % of
//! 100,000 frames/s were lost and 25 % of 600,000, with a queue of 20,000 none of 600,000; the most
//! that was forwarded was the same 0.9 million. Therefore a port can be given a queue:
//!
//! ```text
//! tester0 ===== wire0 --(nftables fwd)--> queue0 [pfifo] ===== dut0 (threaded; the router's port)
//!               ^                          |
//!               +------(nftables fwd)------+
//! ```
//!
//! The tester's processor carries a frame as far as the pfifo, which counts what it drops; the
//! device's thread takes it from there. Since Linux 6.16 a veth whose ring is full stops the queue
//! before it instead of dropping. The way out passes the same interfaces without waiting.

use crate::addressing::device_mac;
use crate::config::DeviceThreads;
use crate::device::Device;
use crate::error::{Result, read_file};
use crate::rules;
use crate::sysctl;

impl Device {
    /// Whether each port has a receive queue of its own.
    pub(crate) fn has_input_queues(&self) -> bool {
        let config = self.config();
        config.threads == DeviceThreads::Threaded && config.input_queue_frames > 0
    }

    /// Interface of the device that the tester's link ends at.
    pub fn connector(&self, port: usize) -> String {
        if self.has_input_queues() { format!("wire{port}") } else { self.interface(port) }
    }

    /// Ethernet address of the connector: the device's own, or one of a wire.
    pub(crate) fn connector_mac(&self, port: usize) -> [u8; 6] {
        if self.has_input_queues() { wire_mac(port, 3) } else { device_mac(port) }
    }

    /// Interface whose qdisc is the port's input queue.
    pub(crate) fn queue_interface(&self, port: usize) -> String {
        format!("queue{port}")
    }

    /// Makes the queue, where there is to be one, between the connector, which exists, and the
    /// device's own interface.
    pub(crate) fn add_input_queue(&self, port: usize) -> Result<()> {
        if !self.has_input_queues() {
            return Ok(());
        }
        let (wire, queue, own) =
            (self.connector(port), self.queue_interface(port), self.interface(port));
        let queue_end = self.config().veth_end(&queue, wire_mac(port, 4));
        let own_end = self.config().veth_end(&own, device_mac(port));
        let mut netlink = self.namespace().netlink()?;
        netlink.add_veth(&queue_end, &own_end, None)?;
        let index = netlink.link_index(&queue)?;
        netlink.set_fifo(index, self.config().input_queue_frames)?;
        // These two are wire, not router: nothing of the kernel's own may enter or leave by them.
        let wires = [wire.as_str(), &queue];
        self.namespace().run(|| wires.into_iter().try_for_each(sysctl::disable_ipv6))??;
        for interface in wires {
            netlink.set_link_up(interface, true)?;
            self.set_offloads(interface, interface == wire)?;
        }
        rules::join(self.namespace(), &wire, &queue)
    }
}

fn wire_mac(port: usize, role: u8) -> [u8; 6] {
    [0x02, b'N', b'A', 0, port as u8, role]
}

/// Why an input queue would be idle on this kernel, if it would.
pub(crate) fn shortfall() -> Option<String> {
    let release = read_file("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split(['.', '-']).map(|part| part.parse::<u32>().ok());
    let version = (numbers.next().flatten()?, numbers.next().flatten()?);
    (version < (6, 16)).then(|| {
        format!(
            "input queues stay empty: before Linux 6.16 (this is {}) a veth drops when its ring of 256 \
             frames is full, whatever queue is before it",
            release.trim()
        )
    })
}
