//! The port made of the two halves.

use super::receive::XdpReceive;
use super::transmit::XdpTransmit;
use crate::{Halves, Port};
use trial::{PortDescription, TesterError};

/// A port whose frames are built and accounted for in the kernel.
pub struct XdpPort {
    description: PortDescription,
    transmit: XdpTransmit,
    receive: XdpReceive,
}

impl XdpPort {
    /// Opens the interface that `description` names, in the network namespace of the calling
    /// thread, which must not change until the port is dropped. Attaches an XDP program to it in
    /// the driver; that is taken off on drop.
    ///
    /// # Errors
    /// If another XDP program is attached, the driver runs none, or privileges are missing.
    pub fn open(
        description: PortDescription,
        ifindex: u32,
        receive_queues: usize,
    ) -> Result<Self, TesterError> {
        let name = description.name.clone();
        let receive = XdpReceive::open(&name, ifindex, receive_queues)?;
        let transmit = XdpTransmit { name, ifindex, prepared: None };
        Ok(XdpPort { description, transmit, receive })
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
