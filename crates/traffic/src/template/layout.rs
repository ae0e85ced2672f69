//! Where each layer of a template lies in a frame of one size.

use super::{BuildError, IfNoRoom, Layer, UdpLayer};
use crate::size::SIZE_RANGE_BYTES;
use std::ops::Range;
use units::FrameSize;
use wire::signature::Form;

const SMALLEST_SIGNATURE: usize = Form::Compact.len_bytes();

/// The layers that a frame of one size has, with their places.
pub(super) struct Layout<'a> {
    /// Each layer with the offset of its first byte.
    places: Vec<(usize, &'a Layer)>,
    headers_len: usize,
    frame_len: usize,
    udp_left_out: bool,
}

impl<'a> Layout<'a> {
    /// Finds the places, and refuses layers that cannot follow each other and sizes that do not
    /// hold them, with a signature where `signed`.
    pub fn new(layers: &'a [Layer], size: FrameSize, signed: bool) -> Result<Self, BuildError> {
        check_order(layers)?;
        let (maximum, why) = Self::max_size(layers);
        if size > maximum {
            return Err(BuildError::TooLarge { size, maximum, why });
        }
        let frame_len = size.bytes_without_fcs();
        let udp_left_out = may_leave_out_udp(layers) && frame_len < needed(layers, signed);
        let used = if udp_left_out { &layers[..layers.len() - 1] } else { layers };
        let minimum = Self::min_size(layers, signed);
        if size < minimum {
            return Err(BuildError::TooSmall { size, minimum, why: explain(used, signed) });
        }
        let mut headers_len = 0;
        let mut places = Vec::with_capacity(used.len());
        for layer in used {
            places.push((headers_len, layer));
            headers_len += layer.header_len();
        }
        Ok(Layout { places, headers_len, frame_len, udp_left_out })
    }
    /// The smallest size that holds the layers, and a signature where `signed`.
    pub fn min_size(layers: &[Layer], signed: bool) -> FrameSize {
        let used = if may_leave_out_udp(layers) { &layers[..layers.len() - 1] } else { layers };
        let bytes = u32::try_from(needed(used, signed)).unwrap_or(u32::MAX - 4);
        FrameSize::from_bytes_without_fcs(bytes).max(FrameSize::MIN_ETHERNET)
    }
    /// The largest size that the layers allow, and the rule that says so.
    pub fn max_size(layers: &[Layer]) -> (FrameSize, &'static str) {
        let mut max_len = FrameSize::from_bytes(*SIZE_RANGE_BYTES.end()).bytes_without_fcs();
        let mut why = "length fields have 16 bits";
        let mut at = 0;
        for layer in layers {
            if let Some((limit, rule)) = layer.limit()
                && at + limit < max_len
            {
                (max_len, why) = (at + limit, rule);
            }
            at += layer.header_len();
        }
        (FrameSize::from_bytes_without_fcs(max_len as u32), why)
    }
    /// Bytes behind the headers.
    pub fn payload_len(&self) -> usize {
        self.frame_len - self.headers_len
    }
    /// The bytes behind the headers.
    pub fn payload(&self) -> Range<usize> {
        self.headers_len..self.frame_len
    }
    /// Bytes of the frame without FCS.
    pub fn frame_len(&self) -> usize {
        self.frame_len
    }
    /// Whether UDP was left out, because it had no room.
    pub fn udp_left_out(&self) -> bool {
        self.udp_left_out
    }
    /// Each layer with the offset of its first byte, the outermost first.
    pub fn places(&self) -> &[(usize, &'a Layer)] {
        &self.places
    }
    /// The layer after number `i`.
    pub fn next(&self, i: usize) -> Option<&'a Layer> {
        self.places.get(i + 1).map(|(_, layer)| *layer)
    }
    /// The first layer for which `found` has an answer.
    pub fn find<T>(&self, found: impl Fn(usize, &Layer) -> Option<T>) -> Option<T> {
        self.places.iter().find_map(|(at, layer)| found(*at, layer))
    }
}

fn check_order(layers: &[Layer]) -> Result<(), BuildError> {
    let mut before = None;
    for (i, layer) in layers.iter().enumerate() {
        if let Some(why) = layer.fault(before) {
            return Err(BuildError::Layer { place: i + 1, layer: layer.to_string(), why });
        }
        before = Some(layer);
    }
    match layers.is_empty() {
        true => Err(BuildError::Layer {
            place: 1,
            layer: "none".to_string(),
            why: "the first layer must be Ethernet",
        }),
        false => Ok(()),
    }
}

/// Bytes without FCS that these layers take, and a signature where `signed`.
fn needed(layers: &[Layer], signed: bool) -> usize {
    let headers: usize = layers.iter().map(Layer::header_len).sum();
    headers + if signed { SMALLEST_SIGNATURE } else { 0 }
}

fn may_leave_out_udp(layers: &[Layer]) -> bool {
    matches!(layers.last(), Some(Layer::Udp(UdpLayer { if_no_room: IfNoRoom::LeaveOut, .. })))
}

/// What takes the bytes of the smallest frame.
fn explain(layers: &[Layer], signed: bool) -> String {
    let mut parts: Vec<String> = layers
        .iter()
        .map(|layer| {
            let text = layer.to_string();
            let name = text.split(' ').next().unwrap_or_default();
            format!("{name} {}", layer.header_len())
        })
        .collect();
    if signed {
        parts.push(format!("signature {SMALLEST_SIGNATURE}"));
    }
    parts.push("FCS 4".to_string());
    let ethernet =
        if needed(layers, signed) + 4 < 64 { ", and Ethernet's minimum of 64" } else { "" };
    format!("{}{ethernet}", parts.join(" + "))
}
