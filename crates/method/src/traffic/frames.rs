//! Streams, and the frames that they are made of.

use super::{Attachment, Forwarding, Path, Traffic};
use crate::RunError;
use crate::ipv6_traffic::VersionMix;
use crate::protocol::Protocol;
use traffic::template::{BuildError, FrameTemplate};
use trial::{Expectation, Fingerprint, Role, Stream, StreamFrame, StreamId};
use units::FrameSize;
use wire::ethernet::MacAddr;
use wire::signature::Key;

impl Traffic {
    /// The test streams: for each sending port one to each port that it sends to.
    pub(super) fn streams(&self, key: Key) -> Result<Vec<Stream>, RunError> {
        (0..self.streams_of_test()).map(|index| self.stream(index, key)).collect()
    }

    pub(super) fn stream(&self, index: usize, key: Key) -> Result<Stream, RunError> {
        self.stream_as(index, key, self.stream_id(index))
    }

    /// A sender's stream by another number, for trials with streams of several traffics.
    pub(crate) fn stream_as(
        &self,
        index: usize,
        key: Key,
        id: StreamId,
    ) -> Result<Stream, RunError> {
        Ok(Stream {
            id,
            name: self.stream_name(index),
            role: Role::Test,
            from: self.from(index).port,
            expect: Expectation::Ports(vec![self.to(index).port]),
            frames: self.test_frames(index, (key, id.0))?,
            fingerprint: self.replay.is_none().then(|| self.fingerprint(index)),
            given_up: self.given_up(),
            bad_fcs: false,
            grows_by_bytes: self.grows_by_bytes(index),
        })
    }

    /// One period of a sender's frames. Where both versions of IP take turns, each has every size.
    pub(super) fn test_frames(
        &self,
        index: usize,
        signature: (Key, u16),
    ) -> Result<Vec<StreamFrame>, BuildError> {
        if let Some(replay) = &self.replay {
            return Ok(self.replayed(replay, index, signature));
        }
        let templates = self.templates(index);
        let frames = templates.iter().map(|template| self.frames_of(template, signature, index));
        Ok(self.mixed(frames.collect::<Result<_, _>>()?))
    }

    /// The frames of each protocol, in turn where there are two.
    pub(super) fn mixed(&self, frames: Vec<Vec<StreamFrame>>) -> Vec<StreamFrame> {
        let (Some(percent), [ipv4, ipv6]) = (self.config.ipv6_percent, &frames[..]) else {
            return frames.into_iter().next().unwrap_or_default();
        };
        let (mix, sizes) = (VersionMix::new(percent), self.size.period());
        let rounds = ipv4.len().max(ipv6.len()) as u64 / sizes;
        let frame = |at: u64| {
            let of = if mix.is_ipv6(at / sizes) { ipv6 } else { ipv4 };
            of[at as usize % of.len()].clone()
        };
        (0..rounds.next_multiple_of(mix.period()) * sizes).map(frame).collect()
    }

    /// One period of a sender's template, as it looks at that sender's port.
    pub(super) fn frames_of(
        &self,
        template: &FrameTemplate,
        signature: (Key, u16),
        index: usize,
    ) -> Result<Vec<StreamFrame>, BuildError> {
        let behind = self.topology.encapsulated.as_ref().filter(|_| index == 1);
        // What is translated has its native size at the first port; what is wrapped has it within.
        let grows = behind.map_or(0, |encapsulated| encapsulated.kind.grows_by_bytes().min(0));
        let mut frames = self.frames_longer_by(grows, template, Some(signature))?;
        if let Some(encapsulated) = behind {
            for frame in &mut frames {
                frame.bytes = encapsulated.wrap(std::mem::take(&mut frame.bytes));
            }
        }
        Ok(frames)
    }

    /// One period of a template: as many frames as its modifiers and the sizes make different,
    /// and where anything is random no more than configured.
    pub(crate) fn frames(
        &self,
        template: &FrameTemplate,
        signature: Option<(Key, u16)>,
    ) -> Result<Vec<StreamFrame>, BuildError> {
        self.frames_longer_by(0, template, signature)
    }

    pub(super) fn frames_longer_by(
        &self,
        bytes: i32,
        template: &FrameTemplate,
        signature: Option<(Key, u16)>,
    ) -> Result<Vec<StreamFrame>, BuildError> {
        let mut prepared = std::collections::BTreeMap::new();
        for size in self.size.sizes() {
            let built = FrameSize::from_bytes(size.bytes().saturating_add_signed(bytes));
            prepared.insert(size, template.prepare(built, signature)?);
        }
        let sizes = self.size.period();
        let varied = template.period().min(self.config.distinct_frames.max(1));
        // A mix keeps its proportions: whole periods of it only.
        let frames = match self.config.flows {
            Some(_) => self.ready_frames(template.period()),
            None if varied > 1 => varied.div_ceil(sizes) * sizes,
            None => sizes,
        };
        let frame = |index| {
            let prepared = &prepared[&self.size.size_at(index)];
            StreamFrame { bytes: prepared.frame(index), form: prepared.form() }
        };
        Ok((0..frames).map(frame).collect())
    }

    /// To which MAC address a stream's frames go.
    pub(crate) fn next_hop(&self, index: usize) -> MacAddr {
        match self.topology.forwarding {
            Forwarding::Routed => self.from(index).device_mac,
            Forwarding::Bridged | Forwarding::Looped => self.to(index).mac,
        }
    }

    /// Of each protocol that a stream's frames are made of.
    pub(super) fn templates(&self, index: usize) -> Vec<FrameTemplate> {
        self.templates_of(index, self.path(index))
    }

    pub(super) fn templates_of(&self, index: usize, path: Path) -> Vec<FrameTemplate> {
        let template = |protocol| {
            let protocol = self.protocol_at(index, protocol);
            let plain = self.config.template(protocol, &self.topology, (path.from, path.to));
            let is_translated = protocol != self.config.protocol && index == 1;
            let plain = if is_translated { plain.unfragmentable() } else { plain };
            self.vary(plain, protocol, (index, path))
        };
        self.config.protocols().into_iter().map(template).collect()
    }

    /// A frame from a port to another, whatever the pattern.
    pub(crate) fn template_between(&self, (from, to): (usize, usize)) -> FrameTemplate {
        let index = from * self.topology.ports.len() + to;
        let plain = self.config.template(self.config.protocol, &self.topology, (from, to));
        self.with_random_ports(plain, index)
    }

    /// The frames from a port to another, whatever the pattern, changed as a test needs them.
    pub(crate) fn frames_between(
        &self,
        (from, to): (usize, usize),
        signature: (Key, u16),
        change: &dyn Fn(FrameTemplate) -> FrameTemplate,
    ) -> Result<Vec<StreamFrame>, BuildError> {
        let index = from * self.topology.ports.len() + to;
        let templates = self.templates_of(index, Path { from, to }).into_iter();
        let frames = templates.map(|template| self.frames(&change(template), Some(signature)));
        Ok(self.mixed(frames.collect::<Result<_, _>>()?))
    }

    /// What frames are made of at a port: behind a translator it is another protocol.
    pub(super) fn protocol_at(&self, index: usize, protocol: Protocol) -> Protocol {
        match &self.topology.encapsulated {
            Some(encapsulated) if index == 1 => encapsulated.kind.protocol_behind(protocol),
            _ => protocol,
        }
    }

    /// The same of a port between which and the others nothing is encapsulated.
    pub(crate) fn fingerprint_of(&self, port: &Attachment) -> Fingerprint {
        let untagged = self.config.protocol.fingerprint(port);
        let tags = 4 * self.config.vlans.len() as u16;
        Fingerprint { offset_bytes: untagged.offset_bytes + tags, ..untagged }
    }

    /// A frame with the tags of test frames: of what a host says in the same VLAN.
    pub(crate) fn tagged(&self, frame: Vec<u8>) -> Vec<u8> {
        wire::vlan::tag(frame, &self.config.vlans)
    }

    /// Our source address as it arrives: no frame of the device's own bears it.
    pub(super) fn fingerprint(&self, index: usize) -> Fingerprint {
        let tags = 4 * self.config.vlans.len() as u16;
        let arrives_as = match &self.topology.encapsulated {
            Some(_) => self.protocol_at(1 - index, self.config.protocol),
            None => self.config.protocol,
        };
        let untagged = arrives_as.fingerprint(self.from(index));
        let tunnel = self.topology.encapsulated.as_ref().filter(|_| index == 0);
        let shift = tunnel.map_or(0, |encapsulated| encapsulated.shift_bytes());
        Fingerprint { offset_bytes: untagged.offset_bytes + tags + shift, ..untagged }
    }

    /// The tester as the device knows it at a port: outside of any tunnel.
    pub(super) fn outside(&self, index: usize) -> &Attachment {
        match &self.topology.encapsulated {
            Some(encapsulated) if index == 1 => &encapsulated.outer,
            _ => &self.topology.ports[index],
        }
    }
}
