//! The control channel of a copy: lines of JSON between the two programs, over what started the far one.
//!
//! ```text
//!  far end                                    this end
//!  {"greeting":{"copy":1,...}}      ------->                     its version, at once
//!                                   <-------  {"request":{...}}  version, key, what is wanted
//!  {"listening":{"port":N,...}}     ------->                     or {"failure":"why not"}
//!       the receiver tells the sender, while the stream comes by NETBLT:
//!       want, resume, compare, same, kept, failed
//!  {"summary":{...}}                ------->                     before the last OK
//! ```
//!
//! Each end says the highest version that it speaks, and both use the lower one. The key is 32 random
//! bytes, drawn for this copy alone and forgotten with it.

use super::names::shown;
use crate::ranges::Ranges;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// The version of channel and stream that this program speaks.
pub const VERSION: u32 = 1;
/// A line is not longer: what a hostile end can make us hold.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// What is done with symbolic links.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Links {
    /// Kept if they lead nowhere out of what is copied.
    #[default]
    Within,
    /// None is copied.
    Refuse,
    /// Kept, wherever they lead.
    Any,
}

/// What is done with files that have holes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sparse {
    /// They are not copied.
    #[default]
    Refuse,
    /// Their holes are sent, and written, as zeros.
    Fill,
}

/// What is left out, and what all the same is not; patterns as `.gitignore` has them.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Patterns {
    /// Left out.
    pub exclude: Vec<String>,
    /// Not left out.
    pub include: Vec<String>,
}

/// Where the files are put.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Destination {
    /// Into a directory.
    Directory(String),
    /// Standard input into a file of this path.
    File(String),
}

/// What the far end is to do.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// Send these.
    Send {
        /// Paths, with globs.
        sources: Vec<String>,
        /// Which of what is in them.
        patterns: Patterns,
        /// Files with holes.
        sparse: Sparse,
        /// None faster than so many bits a second.
        rate_bps: Option<f64>,
    },
    /// Receive.
    Receive {
        /// Into this.
        destination: Destination,
        /// Files of equal size are compared by digest, not by time.
        checksum: bool,
    },
}

/// What this end asks for.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Request {
    /// The highest version that is spoken.
    pub copy: u32,
    /// 64 hexadecimal digits.
    pub key: String,
    /// What is to be done.
    pub task: Task,
    /// Symbolic links.
    pub links: Links,
    /// Seconds of silence after which the other end counts as dead.
    pub death_timer_s: u16,
    /// UDP ports to listen on, the first that is free: from, to; any without.
    pub ports: Option<(u16, u16)>,
}

/// How a receiver fared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Summary {
    /// Entries that are in their place.
    pub kept: u64,
    /// Files that had been there already.
    pub same: u64,
    /// Entries that are not.
    pub failed: u64,
}

/// A line.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// The far end is there.
    Greeting {
        /// The highest version that it speaks.
        copy: u32,
        /// The version of the program, for people.
        program: String,
    },
    /// What it is to do.
    Request(Box<Request>),
    /// It listens.
    Listening {
        /// UDP port.
        port: u16,
        /// Its own idea of its address, if it has one.
        address: Option<String>,
    },
    /// These entries, from their first bytes; ranges.
    Want(String),
    /// This entry, from a byte on: what comes before is there.
    Resume {
        /// Which.
        entry: u32,
        /// The first byte that is missing.
        from: u64,
    },
    /// This entry, unless it has this digest.
    Compare {
        /// Which.
        entry: u32,
        /// Of the file that is there; hexadecimal.
        digest: String,
    },
    /// These entries are there already; ranges.
    Same(String),
    /// These entries are in their place; ranges.
    Kept(String),
    /// This entry is not and will not be.
    Failed {
        /// Which.
        entry: u32,
        /// Why.
        reason: String,
    },
    /// Send no faster than so many bits a second; null for as fast as the path carries.
    Rate(Option<f64>),
    /// All entries are settled, and what is in its place is on the disk.
    Summary(Summary),
    /// It cannot go on.
    Failure(String),
}

/// Writes messages; cheap to clone.
#[derive(Clone)]
pub struct Teller(Arc<Mutex<Box<dyn Write + Send>>>);

impl Teller {
    /// To this.
    pub fn new(output: impl Write + Send + 'static) -> Teller {
        Teller(Arc::new(Mutex::new(Box::new(output))))
    }
    /// Says something; it is on its way when this returns.
    pub fn tell(&self, message: &Message) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        let mut output = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        output.write_all(&line)?;
        output.flush()
    }
}

/// The next message; None at the end.
pub fn hear(input: &mut impl BufRead) -> io::Result<Option<Message>> {
    let mut line = Vec::new();
    input.take(MAX_LINE_BYTES).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.pop() != Some(b'\n') {
        let why = "the control channel ended within a line, or the line is too long";
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why));
    }
    Ok(Some(understand(&line)?))
}

/// Reads a line, without its end.
pub fn understand(line: &[u8]) -> io::Result<Message> {
    serde_json::from_slice(line).map_err(|error| {
        let start = shown(&line[..line.len().min(60)]);
        // It quotes the line, without the escapes.
        let error = shown(error.to_string().as_bytes());
        io::Error::new(io::ErrorKind::InvalidData, format!("not understood: {start:?}: {error}"))
    })
}

/// The ranges of entries in a message.
pub fn entries(text: &str) -> io::Result<impl Iterator<Item = u32> + use<>> {
    let wrong = || {
        let start = shown(&text.as_bytes()[..text.len().min(60)]);
        io::Error::new(io::ErrorKind::InvalidData, format!("no entries: {start}"))
    };
    let ranges = Ranges::parse(text).ok_or_else(wrong)?;
    if ranges.iter().any(|range| range.end > u64::from(u32::MAX)) {
        return Err(wrong());
    }
    let all: Vec<_> = ranges.iter().collect();
    Ok(all.into_iter().flatten().map(|entry| entry as u32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn messages_are_lines_of_json() {
        for (message, line) in [
            (
                Message::Greeting { copy: 1, program: "0.1.0".into() },
                r#"{"greeting":{"copy":1,"program":"0.1.0"}}"#,
            ),
            (Message::Want("0-20000".into()), r#"{"want":"0-20000"}"#),
            (Message::Resume { entry: 2, from: 4096 }, r#"{"resume":{"entry":2,"from":4096}}"#),
            (Message::Rate(None), r#"{"rate":null}"#),
            (Message::Rate(Some(1e8)), r#"{"rate":100000000.0}"#),
        ] {
            assert_eq!(serde_json::to_string(&message).unwrap(), line);
            assert_eq!(understand(line.as_bytes()).unwrap(), message);
        }
    }

    #[test]
    fn a_shell_that_talks_is_shown() {
        let mut input = &b"Welcome to lab2!\x1b[2J\n{}"[..];
        let error = hear(&mut input).unwrap_err().to_string();
        assert!(error.contains(r"Welcome to lab2!") && !error.contains('\x1b'), "{error}");
        assert_eq!(hear(&mut input).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!(hear(&mut &b""[..]).unwrap(), None);
        let long = vec![b'x'; MAX_LINE_BYTES as usize + 5];
        assert!(hear(&mut &long[..]).is_err());
    }

    /// Whatever a line says is shown, and not obeyed.
    #[test]
    fn no_error_has_what_a_terminal_obeys() {
        for line in
            [r#"{"\u001b[2J":1}"#, r#"{"want":{"\u001b[2J":1}}"#, "\"\u{1b}[2J\"", "\u{9b}2J"]
        {
            let error = understand(line.as_bytes()).unwrap_err().to_string();
            assert!(!error.chars().any(char::is_control), "{line}: {error:?}");
        }
        for text in ["\u{1b}[2J", &"é".repeat(60)] {
            let error = entries(text).err().unwrap().to_string();
            assert!(!error.chars().any(char::is_control), "{error:?}");
        }
    }

    #[test]
    fn entries_are_counted_with_32_bits() {
        assert_eq!(entries("0-2,5-6").unwrap().collect::<Vec<_>>(), [0, 1, 5]);
        assert_eq!(entries("").unwrap().count(), 0);
        for text in ["1", "2-1", "x", "0-4294967296", "-1-2"] {
            assert!(entries(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_read_without_a_panic(line in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = hear(&mut &line[..]);
        }
    }
}
