//! The kind of port, in builds with its shim and without.

use crate::{Interface, Opened, OpenedDevice, PortKind, PortRequest, PortType, Room};
use trial::{ArrivalStamp, Capabilities, PortDescription, TesterError};

/// The kind.
pub struct Dpdk;

impl PortKind for Dpdk {
    fn name(&self) -> &'static str {
        PortType::DPDK.name()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { arrivals: ArrivalStamp::Program, ..Capabilities::default() }
    }

    fn queues_max(&self) -> u16 {
        trial::QUEUES_MAX
    }

    fn has_interface(&self) -> bool {
        false
    }

    fn open(
        &self,
        interface: &Interface,
        _: PortDescription,
        _: Room,
    ) -> Result<Opened, TesterError> {
        Err(TesterError::Unsupported {
            port: interface.name().into(),
            what: "the kernel's interfaces as DPDK devices".into(),
            remedy: format!("write dpdk:net_af_packet0,iface={}", interface.name()),
        })
    }

    #[cfg(dpdk_shim)]
    fn open_device(
        &self,
        request: &PortRequest,
        description: PortDescription,
        room: Room,
    ) -> Result<OpenedDevice, TesterError> {
        let mut opened = super::port::open(request, description, room.queues)?;
        if room.receive_frames.is_some() {
            let name = opened.link.name();
            opened.notes.push(format!("{name}: its receive queue has the length of its device"));
        }
        Ok(opened)
    }

    #[cfg(not(dpdk_shim))]
    fn open_device(
        &self,
        request: &PortRequest,
        _: PortDescription,
        _: Room,
    ) -> Result<OpenedDevice, TesterError> {
        Err(TesterError::Unsupported {
            port: request.interface.clone(),
            what: "dpdk ports in this build".into(),
            remedy: super::available().err().unwrap_or_default().into(),
        })
    }
}
