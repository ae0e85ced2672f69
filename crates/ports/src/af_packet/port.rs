//! An AF_PACKET port: both rings and their meaning as a [`Port`].

use super::receive_ring::ReceiveRing;
use super::transmit_ring::TransmitRing;
use crate::control::OwnFrames;
use crate::interface::open_ethtool;
use crate::open::TAGS_BYTES;
use crate::pumped::{PumpedReceive, PumpedTransmit, TrialSource};
use crate::{Facts, Halves, Interface, Opened, Port, PortKind, PortType, Room, clock, sys};
use std::io;
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
        let mixed = (queues > 1).then(|| mixes(name, queues));
        let port = AfPacketPort::open(interface, description, room.receive_frames, room.ports)?;
        Ok((Box::new(port), [note].into_iter().chain(mixed).collect()))
    }
}

/// The kernel fills one ring from all queues of an interface, on several processors at a time.
fn mixes(name: &str, queues: u32) -> String {
    format!(
        "{name}: {queues} receive queues share one packet ring: frames of different flows may be counted as reordered though \
         they came in order; use --port-type af_xdp, or one queue: ethtool -L {name} combined 1"
    )
}

/// A port whose frames go through AF_PACKET rings.
pub struct AfPacketPort {
    description: PortDescription,
    transmit: PumpedTransmit<TransmitRing>,
    receive: PumpedReceive<ReceiveRing>,
}

impl AfPacketPort {
    /// Opens both rings on an interface, in the namespace of the calling thread, as one of a tester's
    /// so many ports; the receive ring for about so many of the longest frames, or of the default size.
    pub fn open(
        interface: &Interface,
        description: PortDescription,
        receive_frames: Option<usize>,
        ports: usize,
    ) -> Result<Self, TesterError> {
        let name = interface.name().to_string();
        let longest_bytes = description.max_frame_size_bytes as usize + TAGS_BYTES;
        let ethtool = open_ethtool(&name)?;
        let blocks = match receive_frames {
            Some(frames) => ReceiveRing::blocks_for(frames, longest_bytes),
            None => ReceiveRing::blocks_of_many(ports),
        };
        let transmit = TransmitRing::open(interface.index(), ethtool, longest_bytes, ports)
            .map_err(|error| sys::port_error(&name, "open the AF_PACKET transmit ring", &error))?;
        let receive = ReceiveRing::open(interface.index(), blocks, ports)
            .map_err(|error| sys::port_error(&name, "open the AF_PACKET receive ring", &error))?;
        let slot_bytes = transmit.longest_bytes();
        Ok(AfPacketPort {
            description,
            transmit: PumpedTransmit::new(&name, transmit, slot_bytes),
            receive: PumpedReceive::new(&name, receive, longest_bytes),
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

impl TrialSource for ReceiveRing {
    fn restart(&mut self, own: &OwnFrames) -> io::Result<()> {
        self.know(own);
        self.restart(clock::now())
    }

    fn drops(&mut self) -> io::Result<Vec<(String, u64)>> {
        Ok(vec![("AF_PACKET ring full (tp_drops)".into(), self.dropped()?)])
    }

    fn fault(&self) -> Option<(&'static str, &'static str)> {
        let fault = (
            "measure arrival times",
            "the time of day was set during the trial, and AF_PACKET stamps arrivals with it; stop \
             whatever sets it (NTP steps, VM time sync) and run again",
        );
        self.clock_was_set().then_some(fault)
    }
}
