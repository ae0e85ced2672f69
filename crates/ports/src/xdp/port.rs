//! The port made of the two halves.

use super::receive::XdpReceive;
use super::transmit::XdpTransmit;
use crate::af_xdp::longest_live_frame_bytes;
use crate::queues::{one_queue, receives_by, sends_by};
use crate::{Halves, Interface, Port};
use trial::{PortDescription, TesterError};

/// The driver that counts what a program takes (`XDP_DROP`) in the interface's rx_dropped, beside its own counters of XDP.
const VIRTIO: &str = "virtio_net";

/// A port whose frames are built and accounted for in the kernel.
pub struct XdpPort {
    description: PortDescription,
    /// One for each queue, at least one.
    transmit: Vec<XdpTransmit>,
    receive: XdpReceive,
    notes: Vec<String>,
}

impl XdpPort {
    /// Opens an interface in the network namespace of the calling thread: attaches an XDP program
    /// to it in the driver, which is taken off on drop.
    ///
    /// # Errors
    /// If another XDP program is attached, the driver runs none, or privileges are missing.
    pub fn open(interface: &Interface, description: PortDescription) -> Result<Self, TesterError> {
        Self::open_with_queues(interface, description, 1)
    }

    /// The same; it sends by so many queues, at least one.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with_queues(
        interface: &Interface,
        mut description: PortDescription,
        queues: u16,
    ) -> Result<Self, TesterError> {
        let longest = (longest_live_frame_bytes() + 4) as u32;
        description.max_frame_size_bytes = description.max_frame_size_bytes.min(longest);
        description.capabilities.drops_what_it_takes = description.driver == VIRTIO;
        let receive = XdpReceive::open(interface)?;
        let transmit = XdpTransmit::open_all(interface, usize::from(queues.max(1)))?;
        let mut notes = notes(interface.name(), receive.queues());
        notes.extend((queues > 1).then(|| sends_by(interface.name(), queues)));
        Ok(XdpPort { description, transmit, receive, notes })
    }

    /// What a reader of its results should know.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

impl Port for XdpPort {
    fn describe(&self) -> &PortDescription {
        &self.description
    }
    fn halves(&mut self) -> Halves<'_> {
        Halves::of_queues(&mut self.transmit, std::slice::from_mut(&mut self.receive))
    }
}

fn notes(name: &str, queues: usize) -> Vec<String> {
    let mut notes = vec![format!("{name}: arrivals are stamped by an XDP program in the driver")];
    if queues > 1 {
        notes.push(receives_by(name, &format!("{queues} receive queues"), &one_queue(name)));
    }
    notes
}
