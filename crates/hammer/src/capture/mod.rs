//! Frames from files: pcap, pcapng, or one raw frame.

mod pcap;
mod pcapng;
mod raw;

use pcap::Pcap;
use pcapng::PcapNg;
use std::borrow::Cow;
use thiserror::Error;

/// One frame of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame<'a> {
    /// What the file holds of it, without FCS.
    pub bytes: Cow<'a, [u8]>,
    /// Its length on the wire without FCS; more than `bytes` holds where the capture was told to
    /// keep the beginning of each frame alone.
    pub len_bytes: usize,
    /// When it was captured, in ns since 1970; none in a file of one raw frame.
    pub time_ns: Option<u64>,
    /// Which way it went, where the file tells.
    pub direction: Option<Direction>,
}

/// Which way a frame went, as who captured it saw it (epb_flags of pcapng).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Direction {
    /// It was received.
    Inbound,
    /// It was sent.
    Outbound,
}

impl Frame<'_> {
    /// Whether the file holds all of it.
    pub fn is_whole(&self) -> bool {
        self.bytes.len() == self.len_bytes
    }

    fn without_fcs(mut self, fcs_bytes: usize) -> Self {
        self.len_bytes = self.len_bytes.saturating_sub(fcs_bytes);
        if let Cow::Borrowed(bytes) = self.bytes {
            self.bytes = Cow::Borrowed(&bytes[..bytes.len().min(self.len_bytes)]);
        }
        self
    }
}

/// No frame is longer, on whatever link or in whatever kernel: what claims to be is damaged.
const LONGEST_BYTES: usize = 1 << 20;

/// Why a file gives no frames, or no more of them.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum CaptureError {
    /// Nothing is in it.
    #[error("it is empty")]
    Empty,
    /// It has no frames, only a capture's header.
    #[error("it is a capture without a frame")]
    NoFrames,
    /// It is of another kind.
    #[error("it is no capture and no frame: {0}")]
    NotACapture(&'static str),
    /// It may be one frame, where a capture is asked for.
    #[error("it is neither a pcap nor a pcapng file")]
    NeitherPcapNorPcapng,
    /// Its frames are of another link layer.
    #[error("its frames are not Ethernet but of link type {0}")]
    LinkType(u32),
    /// It ends within a frame.
    #[error("it is cut off: it ends within frame {}; the {whole_frames} before it are whole", whole_frames + 1)]
    CutOff {
        /// Frames before the cut.
        whole_frames: u64,
    },
    /// A structure of it contradicts itself.
    #[error("it is damaged after {whole_frames} frames: {why}")]
    Damaged {
        /// Frames before the damage.
        whole_frames: u64,
        /// What is wrong.
        why: String,
    },
}

/// The frames of a file, in its order. The last item is an error where the file is cut off or
/// damaged; the frames before it are good.
pub struct Capture<'a> {
    form: Form<'a>,
    frames: u64,
    over: bool,
}

enum Form<'a> {
    Pcap(Pcap<'a>),
    PcapNg(PcapNg<'a>),
    Raw(&'a [u8]),
}

/// The next frame, the end, or what is wrong.
type Step<'a> = Result<Option<Frame<'a>>, Trouble>;

/// What is wrong with a file, where it is wrong.
#[derive(Debug)]
enum Trouble {
    CutOff,
    LinkType(u32),
    Damaged(String),
}

impl<'a> Capture<'a> {
    /// Finds out what the bytes of a file are. Never panics, whatever they are.
    pub fn open(bytes: &'a [u8]) -> Result<Capture<'a>, CaptureError> {
        let at_beginning = |trouble| told(trouble, 0);
        let form = match bytes {
            [] => return Err(CaptureError::Empty),
            _ if pcap::is_pcap(bytes) => Form::Pcap(Pcap::open(bytes).map_err(at_beginning)?),
            _ if pcapng::is_pcapng(bytes) => {
                Form::PcapNg(PcapNg::open(bytes).map_err(at_beginning)?)
            }
            _ => Form::Raw(raw::check(bytes).map_err(CaptureError::NotACapture)?),
        };
        Ok(Capture { form, frames: 0, over: false })
    }

    /// All frames of a pcap or pcapng file, or what is wrong with it. A file that may be one raw frame is
    /// none of these.
    pub fn all(bytes: &'a [u8]) -> Result<Vec<Frame<'a>>, CaptureError> {
        let capture = Capture::open(bytes)?;
        if matches!(capture.form, Form::Raw(_)) {
            return Err(CaptureError::NeitherPcapNorPcapng);
        }
        let frames: Vec<_> = capture.collect::<Result<_, _>>()?;
        if frames.is_empty() { Err(CaptureError::NoFrames) } else { Ok(frames) }
    }
}

impl<'a> Iterator for Capture<'a> {
    type Item = Result<Frame<'a>, CaptureError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let step = match &mut self.form {
            Form::Pcap(pcap) => pcap.next(),
            Form::PcapNg(pcapng) => pcapng.next(),
            Form::Raw(bytes) => {
                let len_bytes = bytes.len();
                let bytes = Cow::Borrowed(*bytes);
                let whole = Frame { bytes, len_bytes, time_ns: None, direction: None };
                Ok(Some(whole).filter(|_| self.frames == 0))
            }
        };
        let step = step.and_then(|frame| match frame {
            Some(frame) if frame.len_bytes > LONGEST_BYTES => {
                Err(Trouble::Damaged(format!("a frame of {} bytes", frame.len_bytes)))
            }
            frame => Ok(frame),
        });
        self.over = !matches!(step, Ok(Some(_)));
        self.frames += u64::from(!self.over);
        step.map_err(|trouble| told(trouble, self.frames)).transpose()
    }
}

fn told(trouble: Trouble, whole_frames: u64) -> CaptureError {
    match trouble {
        Trouble::CutOff => CaptureError::CutOff { whole_frames },
        Trouble::LinkType(link_type) => CaptureError::LinkType(link_type),
        Trouble::Damaged(why) => CaptureError::Damaged { whole_frames, why },
    }
}

/// What the library says.
impl From<pcap_file::PcapError> for Trouble {
    fn from(error: pcap_file::PcapError) -> Self {
        match error {
            pcap_file::PcapError::IncompleteBuffer => Trouble::CutOff,
            other => Trouble::Damaged(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests;
