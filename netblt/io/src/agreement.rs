//! What two clients say to each other in OPEN and RESPONSE, as JSON; and how the bytes of a
//! transfer are laid out in buffers.

use crate::ranges::Ranges;
use netblt::{Open, RateControl};
use serde::{Deserialize, Serialize};

/// Bytes of a digest (BLAKE3).
pub const DIGEST_BYTES: u64 = 32;
/// Characters of ranges in a client string: OPEN and RESPONSE are to fit any path's MTU with a name
/// of 255 bytes beside it.
pub const RANGES_CHARS: usize = 600;

/// What the active client wants.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "want", rename_all = "kebab-case")]
pub enum Offer {
    /// To send a file.
    Put {
        /// Its name at the other end.
        name: String,
        /// Bytes.
        size: u64,
        /// Changes when the file does.
        version: String,
    },
    /// To receive a file.
    Get {
        /// Its name at the other end.
        name: String,
        /// What is here of it from an earlier attempt.
        #[serde(default)]
        have: String,
        /// Of which version.
        #[serde(default)]
        version: String,
    },
    /// Nothing but bytes, from memory to memory.
    Memory {
        /// How many.
        bytes: u64,
    },
    /// To copy files as one stream, as was agreed on elsewhere ([`crate::copy`]).
    Copy,
    /// What somebody wants who speaks plain RFC 998: the client string is just a name.
    #[serde(skip)]
    Plain {
        /// Of a file; empty for bytes from memory to memory.
        name: String,
        /// What the transfer size field says of it; 0 for unknown.
        bytes: u64,
    },
}

/// An OPEN's client string.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Proposal {
    /// What is wanted.
    #[serde(flatten)]
    pub offer: Offer,
    /// Whichever end sends is to find the rate that fits the path, none faster than so many packets in so
    /// many milliseconds. A reader's OPEN itself proposes little: who does not know this word keeps to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adaptive: Option<(u16, u16)>,
    /// It is to leave the path to others. Who does not know this word competes, or always leaves it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub scavenge: bool,
    /// Data packets are to leave as L4S if they may be marked at all. Who does not know this word has them leave as
    /// classic ones.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub l4s: bool,
    /// The other end may ask for a cookie first ([`crate::cookie`]).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cookie: bool,
    /// Data packets may be marked in place of being dropped, and CONTROL packets say how many were.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub marks: bool,
}

impl Proposal {
    /// How whichever end sends is to find the rate.
    pub fn rate_control(&self) -> RateControl {
        match (self.scavenge, self.l4s) {
            (false, true) => RateControl::L4s,
            (scavenges, _) => RateControl::of(scavenges),
        }
    }
    /// What an OPEN says. The error is fit for the other end.
    pub fn of(open: &Open<'_>) -> Result<Proposal, String> {
        let string = open.client_string.as_bytes();
        if is_ours(string) {
            return from_bytes(string);
        }
        let name = str::from_utf8(string).map_err(|_| "a file name that is not UTF-8")?.to_owned();
        let offer = Offer::Plain { name, bytes: open.transfer_size_bytes.into() };
        let (scavenge, l4s, cookie, marks) = (false, false, false, false);
        Ok(Proposal { offer, adaptive: None, scavenge, l4s, cookie, marks })
    }
    /// The client string of an OPEN.
    pub fn client_string(&self) -> String {
        match &self.offer {
            Offer::Plain { name, .. } => name.clone(),
            _ => to_string(self),
        }
    }
}

/// What the passive client says to it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "agreed", rename_all = "kebab-case")]
pub enum Answer {
    /// Send it.
    Put {
        /// But not these bytes, which are here already.
        have: String,
    },
    /// Here it comes.
    Get {
        /// Bytes of the whole file.
        size: u64,
        /// Changes when the file does.
        version: String,
        /// Bytes that are not sent: those asked for if the version is still the same.
        have: String,
    },
    /// Go on.
    Memory,
    /// Go on.
    Copy,
    /// Go on, in the plain layout: what anybody says who does not know these messages.
    #[serde(skip)]
    Plain,
}

/// A RESPONSE's client string.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Reply {
    /// What is agreed to.
    #[serde(flatten)]
    pub answer: Answer,
    /// This end sends, and will find the rate.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub adaptive: bool,
    /// Marks are counted, or heeded, at this end, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub marks: bool,
}

impl Reply {
    /// Whether a RESPONSE says that its sender finds the rate.
    pub fn adapts(string: &[u8]) -> bool {
        from_bytes::<Reply>(string).is_ok_and(|reply| reply.adaptive)
    }
    /// The client string of a RESPONSE.
    pub fn client_string(&self) -> String {
        match self.answer {
            Answer::Plain => String::new(),
            _ => to_string(self),
        }
    }
}

/// Whether an OPEN or a RESPONSE says that data packets may be marked.
pub fn heeds_marks(string: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Said {
        #[serde(default)]
        marks: bool,
    }
    from_bytes::<Said>(string).is_ok_and(|said| said.marks)
}

impl Answer {
    /// What a RESPONSE says.
    pub fn of(string: &[u8]) -> Result<Answer, String> {
        if is_ours(string) { from_bytes(string) } else { Ok(Answer::Plain) }
    }
}

/// Whether a client string is JSON, which others would hardly begin theirs like.
fn is_ours(string: &[u8]) -> bool {
    string.starts_with(b"{")
}

fn to_string(message: &impl Serialize) -> String {
    serde_json::to_string(message).unwrap_or_default()
}

fn from_bytes<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, String> {
    serde_json::from_slice(bytes).map_err(|error| format!("client string not understood: {error}"))
}

/// Ranges as a client string has them.
pub fn ranges(text: &str) -> Result<Ranges, String> {
    Ranges::parse(text).ok_or_else(|| format!("ranges not understood: {text}"))
}

const TOO_LARGE: &str = "larger than any file can be";

/// Whether a file can have this size: file systems count with 63 bits.
pub fn check_size(size: u64) -> Result<(), String> {
    let most = i64::MAX as u64 - DIGEST_BYTES;
    if size <= most { Ok(()) } else { Err(TOO_LARGE.to_owned()) }
}

/// How a transfer is cut into buffers.
///
/// A file's missing bytes and its digest fill buffers that are padded with zeros; an empty one
/// closes the transfer. The receiving client makes room for that one only when the file is whole,
/// verified and in its place, so that a transfer which is complete at the sending end is just that.
/// Bytes from memory fill buffers of which the last is as short as it happens to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Bytes of the file, or of memory: what the transfer is for.
    pub payload_bytes: u64,
    /// Those, and the digest of a file.
    pub content_bytes: u64,
    /// Bytes of a buffer.
    pub buffer_bytes: u32,
    /// Whether an empty buffer closes the transfer.
    pub closing: bool,
    /// Whether nobody can verify the content.
    pub plain: bool,
}

impl Layout {
    /// Of a file of which so many bytes are missing.
    pub fn file(missing_bytes: u64, buffer_bytes: u32) -> Result<Layout, String> {
        let content_bytes = missing_bytes.checked_add(DIGEST_BYTES).ok_or(TOO_LARGE)?;
        let payload_bytes = missing_bytes;
        Layout { payload_bytes, content_bytes, buffer_bytes, closing: true, plain: false }
            .countable()
    }
    /// Of bytes from memory.
    pub fn memory(content_bytes: u64, buffer_bytes: u32) -> Result<Layout, String> {
        let payload_bytes = content_bytes;
        Layout { payload_bytes, content_bytes, buffer_bytes, closing: false, plain: false }
            .countable()
    }
    /// Of however much comes, until the last buffer.
    pub fn until_last(buffer_bytes: u32) -> Layout {
        let (payload_bytes, content_bytes) = (u64::MAX, u64::MAX);
        Layout { payload_bytes, content_bytes, buffer_bytes, closing: false, plain: true }
    }
    /// Of records in whole buffers, of which the last says that it is the last ([`crate::copy`]).
    pub fn stream(buffer_bytes: u32) -> Layout {
        Layout { plain: false, ..Layout::until_last(buffer_bytes) }
    }
    /// The same for content that nobody can verify.
    #[must_use]
    pub fn plain(self) -> Layout {
        Layout { plain: true, ..self }
    }
    /// Whether only the last buffer tells how many there are.
    pub fn is_until_last(&self) -> bool {
        self.content_bytes == u64::MAX
    }
    /// Buffers, the closing one included, are numbered with 32 bits.
    fn countable(self) -> Result<Layout, String> {
        if self.buffer_bytes == 0 || self.buffers() >= u32::MAX.into() {
            return Err("more buffers than can be numbered: larger ones are needed".to_owned());
        }
        Ok(self)
    }
    /// Buffers with content.
    pub fn buffers(&self) -> u64 {
        self.content_bytes.div_ceil(self.buffer_bytes.into()).max(1)
    }
    /// Bytes of payload in the buffers before buffer `index`.
    pub fn payload_before(&self, index: u64) -> u64 {
        index.saturating_mul(self.buffer_bytes.into()).min(self.payload_bytes)
    }
    /// Bytes of payload in buffer `index`.
    pub fn payload_in(&self, index: u64) -> u64 {
        self.payload_before(index.saturating_add(1)) - self.payload_before(index)
    }
    /// Bytes of buffer `index` of those.
    pub fn len(&self, index: u64) -> usize {
        let rest = self.content_bytes - index * u64::from(self.buffer_bytes);
        let full = self.closing || rest >= self.buffer_bytes.into();
        if full { self.buffer_bytes as usize } else { rest as usize }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_fills_whole_buffers_and_memory_what_it_takes() {
        let file = Layout::file(100, 50).unwrap();
        assert_eq!((file.buffers(), file.len(0), file.len(2)), (3, 50, 50));
        assert_eq!((file.payload_in(1), file.payload_in(2), file.payload_before(3)), (50, 0, 100));
        let memory = Layout::memory(120, 50).unwrap();
        assert_eq!((memory.buffers(), memory.len(0), memory.len(2)), (3, 50, 20));
        let empty = Layout::memory(0, 50).unwrap();
        assert_eq!((empty.buffers(), empty.len(0)), (1, 0));
        assert_eq!(Layout::memory(100, 50).unwrap().buffers(), 2);
    }

    #[test]
    fn sizes_that_cannot_be_are_refused() {
        assert_eq!(check_size(i64::MAX as u64 - 32), Ok(()));
        for size in [i64::MAX as u64 - 31, i64::MAX as u64, u64::MAX - 31, u64::MAX] {
            assert!(check_size(size).is_err(), "{size}");
        }
        assert!(Layout::file(u64::MAX, u32::MAX).is_err());
        assert!(Layout::memory(u64::MAX, u32::MAX).is_err(), "2^32 buffers");
        assert!(Layout::memory(1, 0).is_err());
    }

    #[test]
    fn messages_are_what_the_documentation_says() {
        let get = Offer::Get { name: "a\"b".into(), have: "0-9".into(), version: "v".into() };
        let text = to_string(&get);
        assert_eq!(text, r#"{"want":"get","name":"a\"b","have":"0-9","version":"v"}"#);
        assert_eq!(from_bytes(text.as_bytes()), Ok(get.clone()));
        for adaptive in [None, Some((5, 40))] {
            let proposal = Proposal {
                offer: get.clone(),
                adaptive,
                scavenge: false,
                l4s: false,
                cookie: false,
                marks: false,
            };
            let text = to_string(&proposal);
            assert_eq!(text.contains(r#","adaptive":[5,40]}"#), adaptive.is_some(), "{text}");
            assert_eq!(from_bytes(text.as_bytes()), Ok(proposal));
            assert_eq!(from_bytes(text.as_bytes()), Ok(get.clone()), "understood by an older end");
        }
        let reply =
            |adaptive| Reply { answer: Answer::Memory, adaptive, marks: false }.client_string();
        assert_eq!(reply(false), r#"{"agreed":"memory"}"#);
        assert_eq!(reply(true), r#"{"agreed":"memory","adaptive":true}"#);
        assert_eq!(Answer::of(reply(true).as_bytes()), Ok(Answer::Memory));
        assert!(Reply::adapts(reply(true).as_bytes()) && !Reply::adapts(reply(false).as_bytes()));
        assert!(!Reply::adapts(b"ok"));
        assert!(from_bytes::<Offer>(br#"{"want":"money"}"#).is_err());
    }

    #[test]
    fn a_client_string_that_is_not_ours_is_a_name() {
        let said = |client_string: &'static str| {
            let open = Open {
                connection_id: 1,
                buffer_size_bytes: 1,
                transfer_size_bytes: 7,
                data_packet_size_bytes: 1,
                burst_size_packets: 1,
                burst_interval_ms: 1,
                death_timer_s: 1,
                mode: netblt::Mode::Read,
                checksum_data: false,
                max_outstanding_buffers: 1,
                client_string: client_string.into(),
            };
            Proposal::of(&open).map(|proposal| proposal.offer)
        };
        for name in ["", "hello.txt", "ok", "42", "\"x\"", "[1]"] {
            assert_eq!(said(name), Ok(Offer::Plain { name: name.to_owned(), bytes: 7 }));
            assert_eq!(Answer::of(name.as_bytes()), Ok(Answer::Plain));
        }
        assert_eq!(said(r#"{"want":"memory","bytes":3}"#), Ok(Offer::Memory { bytes: 3 }));
        assert!(said("{").is_err() && Answer::of(b"{").is_err());
        let plain = Offer::Plain { name: "a".to_owned(), bytes: 0 };
        assert_eq!(
            Proposal {
                offer: plain,
                adaptive: Some((1, 1)),
                scavenge: true,
                l4s: true,
                cookie: true,
                marks: true
            }
            .client_string(),
            "a"
        );
        let reply = Reply { answer: Answer::Plain, adaptive: true, marks: true };
        assert_eq!(reply.client_string(), "");
        for (words, rule) in [
            ("", RateControl::Competitive),
            (r#","l4s":true"#, RateControl::L4s),
            (r#","scavenge":true"#, RateControl::Scavenging),
            (r#","scavenge":true,"l4s":true"#, RateControl::Scavenging),
        ] {
            let text = format!(r#"{{"want":"copy"{words}}}"#);
            let proposal = from_bytes::<Proposal>(text.as_bytes()).unwrap();
            assert_eq!((proposal.rate_control(), proposal.client_string()), (rule, text));
        }
        assert!(heeds_marks(br#"{"want":"copy","marks":true}"#));
        assert!(heeds_marks(br#"{"agreed":"copy","marks":true}"#));
        assert!(!heeds_marks(br#"{"want":"copy"}"#) && !heeds_marks(b"marks"));
    }
}
