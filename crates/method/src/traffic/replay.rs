//! Captured frames, and frames that somebody else makes, sent in place of built ones.

use super::{Forwarding, Traffic};
use crate::{Direction, RunError};
use std::fmt;
use std::sync::Arc;
use traffic::replay::{self, Rewrite};
use traffic::size::SizePattern;
use trial::StreamFrame;
use units::FrameSize;
use wire::signature::{Form, Key};
use wire::verify::transport_is_good;

/// Makes one period of frames (without FCS) between these addresses. Each ends with a signature of this key and stream
/// of [`Form::Full`]; its lengths and checksums are whatever its maker wants.
type Make = dyn Fn(&Rewrite, (Key, u16)) -> Vec<Vec<u8>> + Send + Sync;

#[derive(Clone)]
enum Source {
    /// As they were captured.
    Captured(Arc<Vec<Vec<u8>>>),
    /// Made for each trial, with a place for the signature.
    Made(Arc<Make>),
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Source::Captured(_) => "Captured",
            Source::Made(_) => "Made",
        })
    }
}

/// Ready frames, and which of their addresses become those of the tester and its device.
#[derive(Clone, Debug)]
pub struct Replay {
    source: Source,
    count: usize,
    rewrites: Rewrites,
    /// How many have to grow to hold a signature.
    grown: usize,
    /// How many are of a protocol in IP whose own lengths and checksums leave the signature out.
    behind_packets: usize,
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
        if frames.is_empty() {
            let what = "a capture without a frame: there is nothing to send";
            return Err(RunError::Config(what.into()));
        }
        self.check_ready("captured frames", rewrites)?;
        let rewrite = self.rewrite(rewrites, 0);
        let (mut sizes, mut grown, mut behind_packets) = (vec![], 0, 0);
        for (number, frame) in (1..).zip(&frames) {
            let ready = replay::ready(frame, &rewrite, (Key::from_seed(0), 0)).map_err(|why| {
                RunError::Config(format!("frame {number} of the capture: {why}; filter it out"))
            })?;
            grown += usize::from(ready.grown_bytes > 0);
            behind_packets += usize::from(ready.is_behind_packet);
            sizes.push(FrameSize::from_bytes(ready.bytes.len() as u32 + 4));
        }
        self.size = SizePattern::List(sizes);
        let (count, source) = (frames.len(), Source::Captured(Arc::new(frames)));
        self.replay = Some(Replay { source, count, rewrites, grown, behind_packets });
        Ok(self)
    }

    /// The same with the frames that `make` gives, in their order and over again. They are sent as they are made.
    ///
    /// # Errors
    /// Where they do not fit the topology.
    pub fn sending(
        mut self,
        make: impl Fn(&Rewrite, (Key, u16)) -> Vec<Vec<u8>> + Send + Sync + 'static,
        rewrites: Rewrites,
    ) -> Result<Traffic, RunError> {
        self.check_ready("the frames of a flow", rewrites)?;
        let frames = make(&self.rewrite(rewrites, 0), (Key::from_seed(0), 0));
        let size = |frame: &Vec<u8>| FrameSize::from_bytes(frame.len() as u32 + 4);
        self.size = SizePattern::List(frames.iter().map(size).collect());
        // One whose own lengths or headers make its checksums wrong would always pass for a damaged one.
        self.verify_checksums &= frames.iter().all(|frame| transport_is_good(frame));
        let (count, source) = (frames.len(), Source::Made(Arc::new(make)));
        self.replay = Some(Replay { source, count, rewrites, grown: 0, behind_packets: 0 });
        Ok(self)
    }

    fn check_ready(&self, what: &str, rewrites: Rewrites) -> Result<(), RunError> {
        if self.direction == Direction::Bidirectional && !rewrites.macs {
            let what = "both ports would send with the same addresses: rewrite mac";
            return Err(RunError::Config(what.into()));
        }
        if self.topology.encapsulated.is_some() {
            let what = format!("{what} do not go through a tunnel: leave out --tunnel");
            return Err(RunError::Config(what));
        }
        Ok(())
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
        let frame = |bytes| StreamFrame { bytes, form: Some(Form::Full) };
        match &replay.source {
            Source::Made(make) => make(&rewrite, signature).into_iter().map(frame).collect(),
            Source::Captured(frames) => {
                let ready = frames.iter().map(|frame| replay::ready(frame, &rewrite, signature));
                ready
                    .map(|ready| frame(ready.expect("made ready when the capture was read").bytes))
                    .collect()
            }
        }
    }
}

impl Replay {
    /// Where the frames are from, in words.
    pub(super) fn origin(&self) -> &'static str {
        match self.source {
            Source::Captured(_) => "frames of a capture",
            Source::Made(_) => "frames of a flow",
        }
    }

    /// What is sent, in words.
    pub(super) fn describe(&self) -> String {
        let mut words = vec![format!("{} ready frames", self.count)];
        if self.grown > 0 {
            words.push(format!("{} of them longer by a signature", self.grown));
        }
        if self.behind_packets > 0 {
            words.push(format!(
                "{} of them with the signature behind a packet that is not of UDP, TCP, ICMP or IGMP: its own \
                 lengths and checksums leave the signature out, and who checks them may drop the frame",
                self.behind_packets
            ));
        }
        words.extend(self.rewrites.macs.then(|| "MAC addresses rewritten".into()));
        words.extend(self.rewrites.ips.then(|| "IP addresses rewritten".into()));
        words.join(", ")
    }
}
