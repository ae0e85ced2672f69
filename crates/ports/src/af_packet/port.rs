//! An AF_PACKET port: both rings and their meaning as a [`Port`].

use super::receive_ring::ReceiveRing;
use super::transmit_ring::TransmitRing;
use crate::Ethtool;
use crate::pump;
use crate::recorder::Recorder;
use crate::sys;
use crate::{CaptureWish, Captured};
use crate::{
    Halves, Interface, Port, ReceiveHalf, Transmission, TransmitHalf, TrialSignals, clock,
};
use trial::{PortDescription, PortReceived, ReceivePlan, TesterError, TransmitPlan};
use units::Instant;

/// Room for two VLAN tags beyond what the MTU allows.
const TAGS_BYTES: usize = 8;

/// A port whose frames go through AF_PACKET rings.
pub struct AfPacketPort {
    description: PortDescription,
    transmit: Transmit,
    receive: Receive,
}

struct Transmit {
    name: String,
    ring: TransmitRing,
    recorder: Recorder,
}

struct Receive {
    name: String,
    ring: ReceiveRing,
    longest_bytes: usize,
    recorder: Recorder,
}

impl AfPacketPort {
    /// Opens both rings on an interface, in the namespace of the calling thread; the receive ring
    /// for about so many of the longest frames, or of the default size.
    pub fn open(
        interface: &Interface,
        description: PortDescription,
        receive_frames: Option<usize>,
    ) -> Result<Self, TesterError> {
        let name = interface.name().to_string();
        let longest_bytes = description.max_frame_size_bytes as usize + TAGS_BYTES;
        let ethtool = Ethtool::open(&name)?;
        let blocks = match receive_frames {
            Some(frames) => ReceiveRing::blocks_for(frames, longest_bytes),
            None => ReceiveRing::DEFAULT_BLOCKS,
        };
        let transmit = TransmitRing::open(interface.index(), ethtool, longest_bytes)
            .map_err(|error| sys::port_error(&name, "open the AF_PACKET transmit ring", &error))?;
        let receive = ReceiveRing::open(interface.index(), blocks)
            .map_err(|error| sys::port_error(&name, "open the AF_PACKET receive ring", &error))?;
        Ok(AfPacketPort {
            description,
            transmit: Transmit {
                name: name.clone(),
                ring: transmit,
                recorder: Recorder::default(),
            },
            receive: Receive { name, ring: receive, longest_bytes, recorder: Recorder::default() },
        })
    }
}

impl Port for AfPacketPort {
    fn describe(&self) -> &PortDescription {
        &self.description
    }
    fn halves(&mut self) -> Halves<'_> {
        Halves { transmit: &mut self.transmit, receive: &mut self.receive }
    }
}

impl TransmitHalf for Transmit {
    fn prepare(&mut self, plan: &TransmitPlan) -> Result<(), TesterError> {
        let longest_bytes = plan.set.longest_bytes();
        if longest_bytes > self.ring.longest_bytes() {
            return Err(TesterError::BadTrial(format!(
                "{}: a frame of {} bytes is longer than this port was opened for",
                self.name,
                longest_bytes + 4
            )));
        }
        self.recorder.prepare(longest_bytes);
        Ok(())
    }

    fn transmit(
        &mut self,
        plan: &TransmitPlan,
        start: Instant,
        stop_at: Instant,
        signals: &TrialSignals,
    ) -> Result<Transmission, TesterError> {
        pump::transmit(&mut self.ring, &mut self.recorder, plan, start, stop_at, signals)
            .map_err(|error| sys::port_error(&self.name, "send frames", &error))
    }

    fn capture(&mut self, wish: Option<CaptureWish>) -> Result<(), TesterError> {
        self.recorder.set_wish(wish);
        Ok(())
    }

    fn captured(&mut self) -> Captured {
        self.recorder.take()
    }
}

impl ReceiveHalf for Receive {
    fn prepare(&mut self, _plan: &ReceivePlan) -> Result<(), TesterError> {
        self.recorder.prepare(self.longest_bytes);
        self.ring
            .restart(clock::now())
            .map_err(|error| sys::port_error(&self.name, "receive frames", &error))
    }

    fn receive(
        &mut self,
        plan: &ReceivePlan,
        signals: &TrialSignals,
    ) -> Result<PortReceived, TesterError> {
        let received = pump::receive(&mut self.ring, &mut self.recorder, plan, signals)
            .map_err(|error| sys::port_error(&self.name, "receive frames", &error))?;
        if self.ring.clock_was_set() {
            return Err(TesterError::System {
                what: format!("{}: measure arrival times", self.name),
                detail: "the time of day was set during the trial, and AF_PACKET stamps arrivals \
                         with it; stop whatever sets it (NTP steps, VM time sync) and run again"
                    .into(),
            });
        }
        Ok(received)
    }

    fn drops(&mut self) -> Result<Vec<(String, u64)>, TesterError> {
        let dropped = self.ring.dropped();
        let dropped = dropped
            .map_err(|error| sys::port_error(&self.name, "read the ring's statistics", &error))?;
        Ok(vec![("AF_PACKET ring full (tp_drops)".into(), dropped)])
    }

    fn capture(&mut self, wish: Option<CaptureWish>) -> Result<(), TesterError> {
        self.recorder.set_wish(wish);
        Ok(())
    }

    fn captured(&mut self) -> Captured {
        self.recorder.take()
    }
}
