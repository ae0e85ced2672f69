//! Flow control (IEEE 802.3 annex 31B): the device asks a sender for silence before it would have
//! to drop its frames.

use super::description;
use crate::Frame;
use trial::PortId;
use units::{Duration, Instant, LineRate};
use wire::ethernet::MacAddr;
use wire::pause;

/// Whom it has asked for silence.
#[derive(Clone, Debug)]
pub(crate) struct FlowControl {
    pause_at_frames: u64,
    resume_at_frames: u64,
    /// How long the longest pause lasts: asked again before it is over.
    longest: Duration,
    /// When each port was last asked; `None` where it may send.
    asked: Vec<Option<Instant>>,
}

/// As long as can be asked for.
const LONGEST_QUANTA: u16 = u16::MAX;

impl FlowControl {
    pub(crate) fn new(plan: &description::FlowControl, ports: usize, line: LineRate) -> Self {
        let longest = pause::Repr { src: MacAddr::ZERO, quanta: LONGEST_QUANTA }.time(line);
        FlowControl {
            pause_at_frames: plan.pause_at_frames,
            resume_at_frames: plan.resume_at_frames,
            longest,
            asked: vec![None; ports],
        }
    }

    /// So many frames of a port wait now: what to say to it, if anything.
    #[inline]
    pub(crate) fn note(&mut self, now: Instant, port: PortId, waiting: u64) -> Option<Frame> {
        let asked = &mut self.asked[usize::from(port.0)];
        let soon_over =
            asked.is_none_or(|at| now.since(at) >= Duration::from_ps(self.longest.as_ps() / 2));
        let quanta = match asked {
            _ if waiting >= self.pause_at_frames && soon_over => LONGEST_QUANTA,
            Some(_) if waiting <= self.resume_at_frames => 0,
            _ => return None,
        };
        *asked = (quanta > 0).then_some(now);
        Some(pause::Repr { src: mac_of(port), quanta }.frame().into())
    }

    pub(crate) fn clear(&mut self) {
        self.asked.fill(None);
    }
}

/// The address of the device's port, as the source of what its MAC says by itself.
fn mac_of(port: PortId) -> MacAddr {
    MacAddr::from_u64(0x0200_0000_fc00 + u64::from(port.0))
}
