//! The frame template: what the frames of a stream have in common, and what differs from one to
//! the next.
//!
//! A template is plain data. [`FrameTemplate::prepare`] turns it, for one size, into bytes and
//! places; [`PreparedFrame::write`] then makes any frame of the stream from its index. Lengths,
//! types and checksums follow from the layers and are never written down. The signature is in
//! place with sequence and time 0; stamping it anew leaves every checksum good (see
//! [`signature`](wire::signature)).

mod layer;
mod layout;
mod legacy;
mod order;
mod prepared;

pub use layer::{IfNoRoom, Ipv4Layer, Ipv6Layer, Layer, TcpLayer, UdpChecksum, UdpLayer};
pub use legacy::{DdpLayer, DecnetLayer, IpxLayer};
pub use prepared::PreparedFrame;

use crate::modifier::{Field, Modifier, joint_period, sub_seed};
use layout::Layout;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use thiserror::Error;
use units::FrameSize;
use wire::ethernet::MacAddr;
use wire::ipv6::Extension;
use wire::signature::{Form, Key};

/// What the frames of a stream look like: headers from the outside in, what fills them up to
/// their size, and what changes from frame to frame.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrameTemplate {
    /// Headers, the outermost first: Ethernet.
    pub layers: Vec<Layer>,
    /// What fills the frame behind them.
    #[serde(default)]
    pub payload: Payload,
    /// What changes from frame to frame.
    #[serde(default)]
    pub modifiers: Vec<Modifier>,
}

/// What fills the frame between headers and signature.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Payload {
    /// 00 01 02 ... FF 00 ... (RFC 2544 appendix C.2.6.4).
    #[default]
    Incrementing,
    /// Zeros only.
    Zeros,
    /// One octet again and again.
    Constant(u8),
    /// Pseudo-random octets, the same in each frame of the stream: the outputs of SplitMix64
    /// seeded with `seed`, big-endian.
    Random {
        /// Seed.
        seed: u64,
    },
}

impl Payload {
    pub(crate) fn fill(self, bytes: &mut [u8]) {
        match self {
            Payload::Incrementing => (0..).zip(bytes).for_each(|(i, byte)| *byte = i as u8),
            Payload::Zeros => bytes.fill(0),
            Payload::Constant(octet) => bytes.fill(octet),
            Payload::Random { seed } => {
                for (i, chunk) in (0..).zip(bytes.chunks_mut(8)) {
                    chunk.copy_from_slice(&sub_seed(seed, i).to_be_bytes()[..chunk.len()]);
                }
            }
        }
    }
}

/// Whose signature the frames carry: the trial's key and the stream's number.
pub type Signature = (Key, u16);

impl FrameTemplate {
    /// No layers yet, incrementing payload.
    pub fn new() -> Self {
        Self::default()
    }
    /// UDP over IPv4 from and to RFC 2544's ports; the smallest signed frame has 64 bytes.
    pub fn udp_ipv4(src: (MacAddr, Ipv4Addr), dst: (MacAddr, Ipv4Addr)) -> Self {
        Self::new()
            .layer(Layer::ethernet(src.0, dst.0))
            .layer(Layer::Ipv4(Ipv4Layer::new(src.1, dst.1)))
            .layer(Layer::Udp(UdpLayer::default()))
    }
    /// UDP over IPv6 from and to RFC 2544's ports. A frame of 64 to 71 bytes has no room for UDP
    /// and a signature: there the frame is IPv6 with next header 253 (RFC 3692); see
    /// [`given_up`](Self::given_up).
    pub fn udp_ipv6(src: (MacAddr, Ipv6Addr), dst: (MacAddr, Ipv6Addr)) -> Self {
        Self::new()
            .layer(Layer::ethernet(src.0, dst.0))
            .layer(Layer::Ipv6(Ipv6Layer::new(src.1, dst.1)))
            .layer(Layer::Udp(UdpLayer { if_no_room: IfNoRoom::LeaveOut, ..Default::default() }))
    }
    /// A frame without network layer, of the local experimental EtherType: for bridges.
    pub fn ethernet(src: MacAddr, dst: MacAddr) -> Self {
        Self::new().layer(Layer::ethernet(src, dst))
    }
    /// With one more layer, inside of those before.
    #[must_use]
    pub fn layer(mut self, layer: Layer) -> Self {
        self.layers.push(layer);
        self
    }
    /// With VLAN tags behind the Ethernet header, the outermost first: one is 802.1Q, of several
    /// all but the last are service tags (802.1ad).
    #[must_use]
    pub fn tagged(mut self, ids: &[u16]) -> Self {
        let tags = ids.iter().enumerate().map(|(i, id)| match i + 1 == ids.len() {
            true => Layer::vlan(*id),
            false => Layer::service_vlan(*id),
        });
        let place = self.layers.len().min(1);
        self.layers.splice(place..place, tags);
        self
    }
    /// With IPv4 that routers must not fragment.
    #[must_use]
    pub fn unfragmentable(mut self) -> Self {
        for layer in &mut self.layers {
            if let Layer::Ipv4(ip) = layer {
                ip.dont_fragment = true;
            }
        }
        self
    }
    /// With extension headers right behind IPv6, in this order; a template without IPv6 stays as it
    /// is.
    #[must_use]
    pub fn extended(mut self, extensions: Vec<Extension>) -> Self {
        if let Some(ipv6) = self.layers.iter().position(|layer| matches!(layer, Layer::Ipv6(_))) {
            let extensions = extensions.into_iter().map(Layer::Ipv6Extension);
            self.layers.splice(ipv6 + 1..ipv6 + 1, extensions);
        }
        self
    }
    /// With this payload.
    #[must_use]
    pub fn payload(mut self, payload: Payload) -> Self {
        self.payload = payload;
        self
    }
    /// With one more modifier.
    #[must_use]
    pub fn modifier(mut self, modifier: Modifier) -> Self {
        self.modifiers.push(modifier);
        self
    }

    /// Frames after which the modifiers repeat; `u64::MAX` where that is beyond counting.
    pub fn period(&self) -> u64 {
        joint_period(&self.modifiers)
    }
    /// The smallest size at which frames with a signature can be built; never below 64 bytes.
    pub fn min_size(&self) -> FrameSize {
        Layout::min_size(&self.layers, true)
    }
    /// The largest size that the protocols allow, for a test to stop at.
    pub fn max_size(&self) -> FrameSize {
        Layout::max_size(&self.layers).0
    }
    /// Bytes of the layers, without payload.
    pub fn headers_len(&self) -> usize {
        self.layers.iter().map(Layer::header_len).sum()
    }
    /// The form of signature that frames of this size carry: the richest for which there is room
    /// behind the headers; `None` below [`min_size`](Self::min_size).
    pub fn form_for(&self, size: FrameSize) -> Option<Form> {
        let room = Layout::new(&self.layers, size, true).ok()?.payload_len();
        Form::fitting(room)
    }
    /// What frames of this size cannot have or measure, for the report; empty where nothing.
    pub fn given_up(&self, size: FrameSize) -> Vec<&'static str> {
        let Ok(layout) = Layout::new(&self.layers, size, true) else { return Vec::new() };
        let udp = layout.udp_left_out().then_some(
            "no UDP header, for which the frame has no room: next header 253 (RFC 3692)",
        );
        let form = Form::fitting(layout.payload_len()).and_then(Form::given_up);
        udp.into_iter().chain(form).collect()
    }
    /// All that the frames of one size have in common, ready to be written by index.
    pub fn prepare(
        &self,
        size: FrameSize,
        signature: Option<Signature>,
    ) -> Result<PreparedFrame, BuildError> {
        PreparedFrame::new(self, size, signature)
    }
    /// Frame `index` of this size, whole but for the FCS. To build many, [`prepare`](Self::prepare)
    /// once.
    pub fn build(
        &self,
        index: u64,
        size: FrameSize,
        signature: Option<Signature>,
    ) -> Result<Vec<u8>, BuildError> {
        Ok(self.prepare(size, signature)?.frame(index))
    }
}

impl fmt::Display for FrameTemplate {
    /// The layers in a line: `Ethernet 02:.. > 02:.. / IPv4 198.18.1.2 > 198.19.1.2 / UDP ...`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, layer) in self.layers.iter().enumerate() {
            f.write_str(if i > 0 { " / " } else { "" })?;
            write!(f, "{layer}")?;
        }
        Ok(())
    }
}

/// Why a template has no frame of a size.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum BuildError {
    /// The headers and the signature do not fit.
    #[error("a frame of {size} bytes is too small: at least {minimum} are needed for {why}")]
    TooSmall {
        /// The size asked for.
        size: FrameSize,
        /// The smallest that would do.
        minimum: FrameSize,
        /// What takes the bytes.
        why: String,
    },
    /// The protocol ends before.
    #[error("a frame of {size} bytes is too large: the largest has {maximum}, for {why}")]
    TooLarge {
        /// The size asked for.
        size: FrameSize,
        /// The largest that the protocol allows.
        maximum: FrameSize,
        /// The rule that says so.
        why: &'static str,
    },
    /// Layers that cannot follow each other, or one that cannot be written.
    #[error("layer {place}, {layer}: {why}")]
    Layer {
        /// The layer's place, counted from 1.
        place: usize,
        /// The layer.
        layer: String,
        /// The rule that it breaks.
        why: &'static str,
    },
    /// A modifier that cannot be applied.
    #[error("modifier of {field:?}: {why}")]
    Modifier {
        /// Its field.
        field: Field,
        /// Why not.
        why: &'static str,
    },
    /// The frame's signature has no room for the stream's number: 12 bits in the short form; in the
    /// compact one 0xffff reads as 0.
    #[error(
        "a frame this small has streams up to number {most}: use fewer streams or larger frames"
    )]
    StreamNumber {
        /// The largest that there is room for.
        most: u16,
    },
}

#[cfg(test)]
mod tests;
