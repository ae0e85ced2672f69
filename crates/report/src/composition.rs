//! Of which packets captures are composed, as the Tolly Group's analyzer told it of a router port in 1998:
//! counts alone, made elsewhere of captured frames.

use serde::Serialize;

/// The packets captured at one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PacketComposition {
    /// A port of the tester, or a file.
    pub place: String,
    /// How they were captured, and what a reader should know.
    pub about: Vec<String>,
    /// Frames in all.
    pub frames: u64,
    /// Their bytes, FCS included.
    pub bytes: u64,
    /// By way, addressee and protocols.
    pub kinds: Vec<PacketKind>,
    /// By length.
    pub lengths: Vec<PacketLength>,
}

/// Packets of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PacketKind {
    /// `sent` or `received` by the tester; empty where the capture does not tell.
    pub direction: String,
    /// `unicast`, `multicast` or `broadcast`.
    pub addressed_to: String,
    /// From the outermost to the innermost that was read.
    pub protocols: String,
    /// How many.
    pub frames: u64,
    /// Their bytes, FCS included.
    pub bytes: u64,
    /// Frames among them with a header that contradicts itself or a bad checksum.
    pub faulty_frames: u64,
}

/// Packets of one size, or of one of RMON's classes of sizes (RFC 2819).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PacketLength {
    /// In bytes, FCS included.
    pub size_bytes: String,
    /// How many.
    pub frames: u64,
}
