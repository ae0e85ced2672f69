//! The kind of port, in builds with its programs and without.

use crate::{Facts, Interface, Opened, PortKind, PortType, Room};
use trial::{ArrivalStamp, Capabilities, PortDescription, TesterError};

/// The kind.
pub struct Xdp;

impl PortKind for Xdp {
    fn name(&self) -> &'static str {
        PortType::XDP.name()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            arrivals: ArrivalStamp::Driver,
            passes_foreign: true,
            ..Capabilities::default()
        }
    }

    fn queues_max(&self) -> u16 {
        trial::QUEUES_MAX
    }

    fn suits(&self, facts: &Facts) -> Result<String, String> {
        facts.xdp_built.clone()?;
        facts.driver_runs_programs()?;
        if let Some(Err(why)) = &facts.xdp_sends {
            return Err(why.clone());
        }
        // Each spins on a core for a trial, and takes no turns.
        let (ports, cores) = facts.ports_and_cores;
        if ports > cores + 1 {
            return Err(format!(
                "{ports} ports on {cores} processors, and those that share one do not send at the same time"
            ));
        }
        let (largest, max) = (facts.frame_size_bytes, facts.xdp_frame_size_max_bytes);
        match largest > max {
            true => Err(format!("frames of {largest} bytes are more than its {max}")),
            false => Ok("fastest, and frames stay in the kernel".into()),
        }
    }

    #[cfg(xdp_programs)]
    fn open(
        &self,
        interface: &Interface,
        description: PortDescription,
        room: Room,
    ) -> Result<Opened, TesterError> {
        let port = super::XdpPort::open_with_queues(interface, description, room.queues)?;
        let notes = port.notes().to_vec();
        Ok((Box::new(port), notes))
    }

    #[cfg(not(xdp_programs))]
    fn open(
        &self,
        interface: &Interface,
        _: PortDescription,
        _: Room,
    ) -> Result<Opened, TesterError> {
        Err(TesterError::Unsupported {
            port: interface.name().into(),
            what: super::available().err().unwrap_or("the xdp port").into(),
            remedy: "use --port-type af_xdp or af_packet".into(),
        })
    }
}
