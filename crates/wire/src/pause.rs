//! PAUSE frames of MAC control (IEEE 802.3 annex 31B): a station asks the other end of its
//! full-duplex link for silence.

use crate::ethernet::{self, EtherType, MacAddr};
use crate::view::view;
use units::{Duration, LineRate};

/// The group address to which PAUSE frames go; no bridge forwards it.
pub const DESTINATION: MacAddr = MacAddr([0x01, 0x80, 0xc2, 0x00, 0x00, 0x01]);
/// The EtherType of MAC control frames.
pub const MAC_CONTROL: EtherType = EtherType(0x8808);

const OPCODE_PAUSE: u16 = 1;
/// Opcode and pause time.
const BODY_BYTES: usize = 4;
/// A quantum is so many bit times.
const QUANTUM_BITS: u64 = 512;

view! {
    /// What follows the Ethernet header of a MAC control frame, as bytes.
    pub struct View("MAC control frame", BODY_BYTES);
    /// What is asked for; 1 is a pause.
    opcode / set_opcode: u16 = 0;
    /// Of a pause: for how long, in quanta of 512 bit times.
    quanta / set_quanta: u16 = 2;
}

/// What a PAUSE frame says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Repr {
    /// Who asks.
    pub src: MacAddr,
    /// For how long, in quanta of 512 bit times; 0 ends a pause.
    pub quanta: u16,
}

impl Repr {
    /// Reads a frame without FCS; `None` where it is no PAUSE frame.
    pub fn parse(frame: &[u8]) -> Option<Repr> {
        let header =
            ethernet::View::peek(frame).filter(|frame| frame.ether_type() == MAC_CONTROL)?;
        let body = View::peek(header.payload()).filter(|body| body.opcode() == OPCODE_PAUSE)?;
        Some(Repr { src: header.src(), quanta: body.quanta() })
    }

    /// The frame, 64 bytes with FCS.
    pub fn frame(&self) -> Vec<u8> {
        let header = ethernet::Repr { dst: DESTINATION, src: self.src, ether_type: MAC_CONTROL };
        let mut bytes = [0; BODY_BYTES];
        let mut body = View::new_unchecked(&mut bytes);
        body.set_opcode(OPCODE_PAUSE);
        body.set_quanta(self.quanta);
        header.frame(&bytes)
    }

    /// The time asked for, on a link of this rate.
    pub fn time(&self, line: LineRate) -> Duration {
        line.time_of_bytes(u64::from(self.quanta) * QUANTUM_BITS / 8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SRC: MacAddr = MacAddr([2, 0, 0, 0, 0, 9]);

    #[test]
    fn as_annex_31b_has_it() {
        let frame = Repr { src: SRC, quanta: 0xffff }.frame();
        assert_eq!(frame.len(), 60);
        assert_eq!(frame[..6], [0x01, 0x80, 0xc2, 0, 0, 1]);
        assert_eq!(frame[12..18], [0x88, 0x08, 0, 1, 0xff, 0xff]);
        assert_eq!(Repr::parse(&frame), Some(Repr { src: SRC, quanta: 0xffff }));
    }

    /// 65,535 x 512 bits at 10 Mb/s are 3.355392 s.
    #[test]
    fn a_quantum_is_512_bit_times() {
        let time = |quanta| Repr { src: SRC, quanta }.time(LineRate::from_mbps(10));
        assert_eq!(time(0xffff), Duration::from_us(3_355_392));
        assert_eq!(time(1), Duration::from_ns(51_200));
    }

    #[test]
    fn other_frames_are_none() {
        let mut frame = Repr { src: SRC, quanta: 1 }.frame();
        frame[15] = 2;
        assert_eq!(Repr::parse(&frame), None);
        assert_eq!(Repr::parse(&frame[..15]), None);
        assert_eq!(Repr::parse(&[]), None);
    }
}
