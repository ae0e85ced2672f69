//! A receive queue of known length before a port of the device:
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
use crate::device::Device;
use crate::error::Result;
use crate::rules;
use crate::sysctl;
use kernel::read_file;

/// The end of the tester's link.
pub(super) fn wire(port: usize) -> String {
    format!("wire{port}")
}

/// Its Ethernet address.
pub(super) fn wire_mac(port: usize) -> [u8; 6] {
    mac(port, 3)
}

/// Interface whose qdisc is the queue.
pub(super) fn queue(port: usize) -> String {
    format!("queue{port}")
}

/// Makes the queue between the end of the tester's link, which exists, and the device's own
/// interface.
pub(super) fn add(device: &Device, port: usize) -> Result<()> {
    let (wire, queue, own) = (wire(port), queue(port), device.interface(port));
    let queue_end = device.config().veth_end(&queue, mac(port, 4));
    let own_end = device.config().veth_end(&own, device_mac(port));
    let mut netlink = device.namespace().netlink()?;
    netlink.add_veth(&queue_end, &own_end, None)?;
    let index = netlink.link_index(&queue)?;
    netlink.set_fifo(index, device.config().input_queue_frames)?;
    // These two are wire, not router: nothing of the kernel's own may enter or leave by them.
    let wires = [wire.as_str(), &queue];
    device.namespace().run(|| wires.into_iter().try_for_each(sysctl::disable_ipv6))??;
    for interface in wires {
        netlink.set_link_up(interface, true)?;
        device.set_offloads(interface, interface == wire)?;
    }
    rules::join(device.namespace(), &wire, &queue)
}

fn mac(port: usize, role: u8) -> [u8; 6] {
    [0x02, b'N', b'A', 0, port as u8, role]
}

/// Why an input queue would be idle on this kernel, if it would.
pub(super) fn shortfall() -> Option<String> {
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
