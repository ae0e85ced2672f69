//! The port made of the two halves.

use super::receive::XdpReceive;
use super::transmit::XdpTransmit;
use crate::af_xdp::longest_live_frame_bytes;
use crate::{Halves, Interface, Port};
use trial::{PortDescription, TesterError};

/// The driver that counts what a program takes (`XDP_DROP`) in the interface's rx_dropped, beside its own counters of XDP.
const VIRTIO: &str = "virtio_net";

/// A port whose frames are built and accounted for in the kernel.
pub struct XdpPort {
    description: PortDescription,
    transmit: XdpTransmit,
    receive: XdpReceive,
    notes: Vec<String>,
}

impl XdpPort {
    /// Opens an interface in the network namespace of the calling thread: attaches an XDP program
    /// to it in the driver, which is taken off on drop.
    ///
    /// # Errors
    /// If another XDP program is attached, the driver runs none, or privileges are missing.
    pub fn open(
        interface: &Interface,
        mut description: PortDescription,
    ) -> Result<Self, TesterError> {
        let longest = (longest_live_frame_bytes() + 4) as u32;
        description.max_frame_size_bytes = description.max_frame_size_bytes.min(longest);
        description.capabilities.drops_what_it_takes = description.driver == VIRTIO;
        let receive = XdpReceive::open(interface)?;
        let transmit = XdpTransmit::open(interface)?;
        let notes = notes(interface.name(), receive.queues());
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
        Halves { transmit: &mut self.transmit, receive: &mut self.receive }
    }
}

fn notes(name: &str, queues: usize) -> Vec<String> {
    let mut notes = vec![format!("{name}: arrivals are stamped by an XDP program in the driver")];
    if queues > 1 {
        notes.push(format!(
            "{name}: {queues} receive queues, each seen on its own: reordering, gaps, silences and \
             delay variation between frames of different queues are not seen; for one queue: \
             ethtool -L {name} combined 1"
        ));
    }
    notes
}
