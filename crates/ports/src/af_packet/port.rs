//! An AF_PACKET port: both rings and their meaning as a [`Port`].

use super::receive_ring::ReceiveRing;
use super::receive_rings::ReceiveRings;
use super::transmit_ring::TransmitRing;
use crate::interface::open_ethtool;
use crate::open::TAGS_BYTES;
use crate::pump::FrameSource;
use crate::pumped::{PumpedReceive, PumpedTransmit};
use crate::queues::{one_queue, receives_by};
use crate::{Facts, Halves, Interface, Opened, Port, PortKind, PortType, Room, sys};
use trial::{ArrivalStamp, Capabilities, PortDescription, TesterError};

/// The kind.
pub struct AfPacket;

impl PortKind for AfPacket {
    fn name(&self) -> &'static str {
        PortType::AF_PACKET.name()
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            arrivals: ArrivalStamp::Kernel,
            arrivals_reach_host: true,
            passes_foreign: true,
            ..Capabilities::default()
        }
    }
    fn suits(&self, _: &Facts) -> Result<String, String> {
        Ok("works on every interface".into())
    }
    fn open(
        &self,
        interface: &Interface,
        description: PortDescription,
        room: Room,
    ) -> Result<Opened, TesterError> {
        let name = interface.name();
        let note = format!("{name}: AF_PACKET; arrivals are stamped by the kernel (packet ring)");
        let queues = interface.ethtool().receive_queues();
        let port = AfPacketPort::open(interface, description, room.receive_frames, room.ports)?;
        let several = (queues > 1).then(|| match port.rings > 1 && !spreads_packets(name) {
            true => receives_by(
                name,
                &format!("{queues} receive queues with a packet ring each"),
                &one_queue(name),
            ),
            false => mixes(name, queues),
        });
        Ok((Box::new(port), [note].into_iter().chain(several).collect()))
    }
}

/// Several processors fill a ring at a time: those of all queues, or those among which the kernel spreads each queue.
fn mixes(name: &str, queues: u32) -> String {
    format!(
        "{name}: frames of {queues} receive queues come to a packet ring from several processors: those of different flows \
         may be counted as reordered though they came in order; use --port-type af_xdp, one queue (ethtool -L {name} combined \
         1), or no packet steering (/sys/class/net/{name}/queues/rx-*/rps_cpus)"
    )
}

/// Whether the kernel has several processors handle the packets of a queue (Documentation/networking/scaling.rst, RPS).
fn spreads_packets(name: &str) -> bool {
    let queues = std::fs::read_dir(format!("/sys/class/net/{name}/queues")).into_iter().flatten();
    let masks =
        queues.flatten().map(|queue| std::fs::read_to_string(queue.path().join("rps_cpus")));
    masks.flatten().any(|mask| mask.chars().any(|digit| !matches!(digit, '0' | ',' | '\n')))
}

/// A port whose frames go through AF_PACKET rings.
pub struct AfPacketPort {
    description: PortDescription,
    transmit: PumpedTransmit<TransmitRing>,
    receive: PumpedReceive<ReceiveRings>,
    /// How many it receives by.
    rings: usize,
}

impl AfPacketPort {
    /// Opens a ring to send and one for each receive queue of an interface, in the namespace of the calling thread, as one of
    /// a tester's so many ports; receive rings for about so many of the longest frames, or of the default size.
    pub fn open(
        interface: &Interface,
        description: PortDescription,
        receive_frames: Option<usize>,
        ports: usize,
    ) -> Result<Self, TesterError> {
        let name = interface.name().to_string();
        let longest_bytes = description.max_frame_size_bytes as usize + TAGS_BYTES;
        let ethtool = open_ethtool(&name)?;
        let queues = interface.ethtool().receive_queues().max(1) as usize;
        let rings = ports * queues;
        let blocks = match receive_frames {
            Some(frames) => ReceiveRing::blocks_for(frames, longest_bytes),
            None => ReceiveRing::blocks_of_many(rings),
        };
        let transmit = TransmitRing::open(interface.index(), ethtool, longest_bytes, ports)
            .map_err(|error| sys::port_error(&name, "open the AF_PACKET transmit ring", &error))?;
        let receive = ReceiveRings::open(interface.index(), queues, blocks, rings)
            .map_err(|error| sys::port_error(&name, "open the AF_PACKET receive ring", &error))?;
        let rings = receive.queues();
        let slot_bytes = transmit.longest_bytes();
        Ok(AfPacketPort {
            description,
            transmit: PumpedTransmit::new(&name, transmit, slot_bytes),
            receive: PumpedReceive::new(&name, receive, longest_bytes),
            rings,
        })
    }
}

impl Port for AfPacketPort {
    fn describe(&self) -> &PortDescription {
        &self.description
    }
    fn halves(&mut self) -> Halves<'_> {
        Halves::of(&mut self.transmit, &mut self.receive)
    }
}
