//! What is sent: a period of ready frames, where they enter the device and where they come out.

use serde::{Deserialize, Serialize};
use std::fmt;
use wire::signature::Form;

/// A port of the tester, numbered from 0 in the order in which ports were given.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct PortId(pub u16);

impl fmt::Display for PortId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "port {}", self.0)
    }
}

/// Number of a stream, unique within a trial; it travels in the signature.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StreamId(pub u16);

/// Why a stream is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// It is what the test measures: its frames make up offered load and loss.
    #[default]
    Test,
    /// A modifier of RFC 2544 section 11 (broadcast, management, routing update): sent and
    /// counted, but no part of offered load and loss.
    Modifier,
}

/// Where a stream's frames should come out.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expectation {
    /// Each frame once on each of these ports; one port for unicast, none for frames that a
    /// device must discard. Anywhere else it is misdirected.
    Ports(Vec<PortId>),
    /// Anywhere or nowhere: arrivals are counted, absence is no loss.
    Unchecked,
}

/// Bytes that every frame of a stream has at a fixed place, by which a frame whose signature
/// does not check is known as a corrupted one of ours and not a foreign one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Fingerprint {
    /// From the start of the frame.
    pub offset_bytes: u16,
    /// Four bytes, big-endian.
    pub value: u32,
    /// Which of their bits count.
    pub mask: u32,
}

impl Fingerprint {
    /// Whether a frame (without FCS) bears it.
    pub fn matches(&self, frame: &[u8]) -> bool {
        let at = usize::from(self.offset_bytes);
        let Some(word) = frame.get(at..at + 4) else { return false };
        let word = u32::from_be_bytes([word[0], word[1], word[2], word[3]]);
        word & self.mask == self.value & self.mask
    }
}

/// One ready frame, without FCS, checksums good, and room for the signature at its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StreamFrame {
    /// As handed to an interface.
    pub bytes: Vec<u8>,
    /// Which signature it carries; `None` for frames that are not counted on the way back
    /// (learning frames, queries, routing updates).
    pub form: Option<Form>,
}

/// Frames sent over and over in order: one period of the template's modifiers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stream {
    /// Unique within the trial.
    pub id: StreamId,
    /// For people.
    pub name: String,
    /// Why it is there.
    pub role: Role,
    /// Where it enters the device.
    pub from: PortId,
    /// Where it should come out.
    pub expect: Expectation,
    /// One period; never empty.
    pub frames: Vec<StreamFrame>,
    /// How a corrupted frame of this stream is told from a foreign one.
    pub fingerprint: Option<Fingerprint>,
    /// What its frames cannot measure, and why (from the template), for the report.
    pub given_up: Vec<String>,
    /// Its frames are sent with an FCS that does not fit them, on purpose: a device must discard
    /// them. A port that cannot do so says `TesterError::Unsupported`.
    pub bad_fcs: bool,
    /// By how many bytes its frames are longer when they arrive than they were sent, where the device
    /// encapsulates or translates them; 0 for a device that leaves their size alone.
    pub grows_by_bytes: i32,
}

impl Stream {
    /// Mean frame size with FCS over one period, in bytes.
    pub fn mean_frame_size_bytes(&self) -> f64 {
        let total: usize = self.frames.iter().map(|frame| frame.bytes.len() + 4).sum();
        total as f64 / self.frames.len().max(1) as f64
    }
    /// Whether its frames carry a transmit time.
    pub fn measures_latency(&self) -> bool {
        self.frames.iter().all(|f| matches!(f.form, Some(Form::Full | Form::Short)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_counts_only_its_mask() {
        let print = Fingerprint { offset_bytes: 2, value: 0xc612_0000, mask: 0xffff_0000 };
        assert!(print.matches(&[0, 0, 0xc6, 0x12, 1, 2]));
        assert!(!print.matches(&[0, 0, 0xc6, 0x13, 1, 2]));
        assert!(!print.matches(&[0, 0, 0xc6]));
    }
}
