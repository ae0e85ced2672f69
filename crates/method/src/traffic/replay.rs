//! Captured frames, sent in place of built ones.

use super::{Forwarding, Traffic};
use crate::{Direction, RunError};
use std::sync::Arc;
use traffic::replay::{self, Rewrite};
use traffic::size::SizePattern;
use trial::StreamFrame;
use units::FrameSize;
use wire::signature::{Form, Key};

/// Captured frames, and which of their addresses become those of the tester and its device.
#[derive(Clone, Debug)]
pub struct Replay {
    frames: Arc<Vec<Vec<u8>>>,
    rewrites: Rewrites,
    /// How many have to grow to hold a signature.
    grown: usize,
}

/// Which addresses are rewritten.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Rewrites {
    /// Ethernet addresses.
    pub macs: bool,
    /// IPv4 and IPv6 addresses.
    pub ips: bool,
}

impl Traffic {
    /// The same with these frames (without FCS), in their order and over again.
    ///
    /// # Errors
    /// Where one of them cannot be sent and counted.
    pub fn replaying(
        mut self,
        frames: Vec<Vec<u8>>,
        rewrites: Rewrites,
    ) -> Result<Traffic, RunError> {
        let refuse = |what: &str| Err(RunError::Config(what.to_string()));
        if frames.is_empty() {
            return refuse("a capture without a frame: there is nothing to send");
        }
        if self.direction == Direction::Bidirectional && !rewrites.macs {
            return refuse("both ports would send with the same addresses: rewrite mac");
        }
        if self.topology.encapsulated.is_some() {
            return refuse("captured frames do not go through a tunnel: leave out --tunnel");
        }
        let rewrite = self.rewrite(rewrites, 0);
        let (mut sizes, mut grown) = (vec![], 0);
        for (number, frame) in (1..).zip(&frames) {
            let ready = replay::ready(frame, &rewrite, (Key::from_seed(0), 0)).map_err(|why| {
                RunError::Config(format!("frame {number} of the capture: {why}; filter it out"))
            })?;
            grown += usize::from(ready.grown_bytes > 0);
            sizes.push(FrameSize::from_bytes(ready.bytes.len() as u32 + 4));
        }
        self.size = SizePattern::List(sizes);
        self.replay = Some(Replay { frames: Arc::new(frames), rewrites, grown });
        Ok(self)
    }

    fn rewrite(&self, rewrites: Rewrites, index: usize) -> Rewrite {
        let (from, to) = (self.from(index), self.to(index));
        let is_routed = self.topology.forwarding == Forwarding::Routed;
        let next_hop = if is_routed { from.device_mac } else { to.mac };
        Rewrite {
            macs: rewrites.macs.then_some((from.mac, next_hop)),
            ipv4: rewrites.ips.then_some((from.host_ipv4, to.host_ipv4)),
            ipv6: rewrites.ips.then_some((from.host_ipv6, to.host_ipv6)),
        }
    }

    /// The frames as they leave a sender.
    pub(super) fn replayed(
        &self,
        replay: &Replay,
        index: usize,
        signature: (Key, u16),
    ) -> Vec<StreamFrame> {
        let rewrite = self.rewrite(replay.rewrites, index);
        let frame = |frame: &Vec<u8>| {
            let ready = replay::ready(frame, &rewrite, signature);
            let bytes = ready.expect("made ready when the capture was read").bytes;
            StreamFrame { bytes, form: Some(Form::Full) }
        };
        replay.frames.iter().map(frame).collect()
    }
}

impl Replay {
    /// What is sent, in words.
    pub(super) fn describe(&self) -> String {
        let mut words = vec![format!("{} ready frames", self.frames.len())];
        if self.grown > 0 {
            words.push(format!("{} of them longer by a signature", self.grown));
        }
        words.extend(self.rewrites.macs.then(|| "MAC addresses rewritten".into()));
        words.extend(self.rewrites.ips.then(|| "IP addresses rewritten".into()));
        words.join(", ")
    }
}
