//! The stream of a copy: files, directories and links as records in the buffers of one transfer.
//!
//! ```text
//!  a buffer:   record | record | ... | record | zeros to its end
//!
//!  a record:    0      1                5
//!              +------+----------------+----------------------+
//!              | kind | length of body | body                 |
//!              +------+----------------+----------------------+
//!
//!  kind            body (numbers are big-endian; what has no width goes to the end)
//!  1 directory     attributes 14 | name
//!  2 file          size 8 | attributes 14 | name
//!  3 link          attributes 14 | length of name 2 | name | target
//!  4 data          entry 4 | offset 8 | bytes
//!  5 whole         entry 4 | size 8 | BLAKE3 of the whole file 32
//!  6 same          entry 4
//!  7 given up      entry 4 | reason, UTF-8
//!  8 refused       length of name 2 | name | reason, UTF-8
//!  9 listed        entries 4
//!  10 end
//!
//!  attributes      seconds of the time of modification 8 (signed) | nanoseconds 4 | mode 2
//! ```
//!
//! Directories, files and links are entries, numbered from 0 in the order in which they come. A
//! directory comes before what is in it. No record crosses the end of a buffer; a kind of 0 is the
//! beginning of the padding. The stream has a version with the control channel ([`super::control`]).
//!
//! ```text
//!  sender, by NETBLT                       receiver, by the control channel
//!  file 0, file 1, file 2, listed 3  --->
//!                                <-------  same 1-2, want 0-1, resume 2 from 4096
//!  data 0 ..., whole 0           ------->
//!                                <-------  kept 0-1       (verified, synced, under its name)
//!  data 2 from 4096 ..., whole 2 ------->
//!                                <-------  kept 2-3
//!  end                           ------->                 (once every entry is settled)
//! ```

use super::names::{self, Name};
use thiserror::Error;

/// Kind and length.
pub const HEADER_BYTES: usize = 5;
/// Bytes of a digest (BLAKE3).
pub const DIGEST_BYTES: usize = 32;
/// A buffer holds the longest record: a link, whose name and target are as long as may be.
pub const MIN_BUFFER_BYTES: usize =
    HEADER_BYTES + ATTRIBUTES_BYTES + 2 + names::MAX_NAME_BYTES + MAX_TARGET_BYTES;
/// The longest target of a link that Linux takes.
pub const MAX_TARGET_BYTES: usize = 4095;
/// Size of a file that nobody knows before its end: standard input.
pub const UNKNOWN_SIZE: u64 = u64::MAX;
/// Bytes of a data record before the data.
pub const DATA_OVERHEAD_BYTES: usize = HEADER_BYTES + 12;

const ATTRIBUTES_BYTES: usize = 14;
/// A reason is for people; a longer one is cut.
const MAX_REASON_BYTES: usize = 500;

/// What is kept of a file beside its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Attributes {
    /// Time of modification: seconds since 1970.
    pub modified_s: i64,
    /// And nanoseconds, below 1,000,000,000.
    pub modified_ns: u32,
    /// Permissions, the lowest nine bits.
    pub mode: u16,
}

/// One record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Record<'a> {
    /// An entry: a directory.
    Directory {
        /// Time and mode.
        attributes: Attributes,
        /// Where.
        name: Name<'a>,
    },
    /// An entry: a file.
    File {
        /// Bytes, or [`UNKNOWN_SIZE`].
        size: u64,
        /// Time and mode.
        attributes: Attributes,
        /// Where.
        name: Name<'a>,
    },
    /// An entry: a symbolic link.
    Link {
        /// Time and mode.
        attributes: Attributes,
        /// Where.
        name: Name<'a>,
        /// What it says, whatever that means.
        target: &'a [u8],
    },
    /// Bytes of a file.
    Data {
        /// Which.
        entry: u32,
        /// From this one on.
        offset: u64,
        /// The bytes.
        bytes: &'a [u8],
    },
    /// All bytes of a file were sent.
    Whole {
        /// Which.
        entry: u32,
        /// Bytes in all.
        size: u64,
        /// Of all of them.
        digest: [u8; DIGEST_BYTES],
    },
    /// The file at the receiver has the digest of the sender's.
    Same {
        /// Which.
        entry: u32,
    },
    /// The sender cannot send a file that it announced.
    GivenUp {
        /// Which.
        entry: u32,
        /// Why.
        reason: &'a str,
    },
    /// The sender does not announce something.
    Refused {
        /// What it is called there; for people, and any bytes.
        name: &'a [u8],
        /// Why.
        reason: &'a str,
    },
    /// No entry follows.
    Listed {
        /// Entries in all.
        entries: u32,
    },
    /// Nothing follows: all entries are settled.
    End,
}

/// What is wrong with a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum FormatError {
    /// A record is longer than the buffer it is in.
    #[error("a record goes beyond its buffer")]
    Truncated,
    /// A body is shorter than its kind has it, or longer.
    #[error("a record of kind {0} has a wrong length")]
    Length(u8),
    /// No such kind.
    #[error("no record has kind {0}")]
    Kind(u8),
    /// A name that nobody may use.
    #[error("a name that {0}")]
    Name(names::NameError),
    /// A field has a value that it cannot have.
    #[error("a {0} that cannot be")]
    Value(&'static str),
    /// Something stands in the padding.
    #[error("padding that is not zero")]
    Padding,
}

impl From<names::NameError> for FormatError {
    fn from(error: names::NameError) -> Self {
        FormatError::Name(error)
    }
}

/// Reads the records of a buffer.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    rest: &'a [u8],
}

/// The records of a buffer, in order; after an error there are no more.
pub fn records(buffer: &[u8]) -> Records<'_> {
    Records { rest: buffer }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, FormatError>;
    fn next(&mut self) -> Option<Self::Item> {
        let kind = *self.rest.first()?;
        let rest = std::mem::take(&mut self.rest);
        if kind == 0 {
            return rest.iter().any(|byte| *byte != 0).then_some(Err(FormatError::Padding));
        }
        let mut fields = Fields { kind, rest: &rest[1..] };
        let Some((body, after)) = fields.u32().ok().and_then(|length| {
            fields.rest.split_at_checked(usize::try_from(length).unwrap_or(usize::MAX))
        }) else {
            return Some(Err(FormatError::Truncated));
        };
        let record = parse(Fields { kind, rest: body });
        if record.is_ok() {
            self.rest = after;
        }
        Some(record)
    }
}

/// The fields of a body, one after another.
struct Fields<'a> {
    kind: u8,
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], FormatError> {
        let (field, rest) = self.rest.split_first_chunk().ok_or(FormatError::Length(self.kind))?;
        self.rest = rest;
        Ok(*field)
    }
    fn u16(&mut self) -> Result<u16, FormatError> {
        self.take().map(u16::from_be_bytes)
    }
    fn u32(&mut self) -> Result<u32, FormatError> {
        self.take().map(u32::from_be_bytes)
    }
    fn u64(&mut self) -> Result<u64, FormatError> {
        self.take().map(u64::from_be_bytes)
    }
    fn counted(&mut self) -> Result<&'a [u8], FormatError> {
        let length = self.u16()?.into();
        let (field, rest) =
            self.rest.split_at_checked(length).ok_or(FormatError::Length(self.kind))?;
        self.rest = rest;
        Ok(field)
    }
    fn attributes(&mut self) -> Result<Attributes, FormatError> {
        let modified_s = self.take().map(i64::from_be_bytes)?;
        let (modified_ns, mode) = (self.u32()?, self.u16()?);
        if modified_ns >= 1_000_000_000 {
            return Err(FormatError::Value("time"));
        }
        if mode > 0o777 {
            return Err(FormatError::Value("mode"));
        }
        Ok(Attributes { modified_s, modified_ns, mode })
    }
    fn text(self) -> Result<&'a str, FormatError> {
        str::from_utf8(self.rest).map_err(|_| FormatError::Value("reason"))
    }
    fn end<T>(self, value: T) -> Result<T, FormatError> {
        if self.rest.is_empty() { Ok(value) } else { Err(FormatError::Length(self.kind)) }
    }
}

fn parse(mut fields: Fields<'_>) -> Result<Record<'_>, FormatError> {
    Ok(match fields.kind {
        1 => Record::Directory { attributes: fields.attributes()?, name: Name::new(fields.rest)? },
        2 => Record::File {
            size: fields.u64()?,
            attributes: fields.attributes()?,
            name: Name::new(fields.rest)?,
        },
        3 => {
            let (attributes, name) = (fields.attributes()?, Name::new(fields.counted()?)?);
            let target = fields.rest;
            let possible = (1..=MAX_TARGET_BYTES).contains(&target.len()) && !target.contains(&0);
            if !possible {
                return Err(FormatError::Value("target"));
            }
            Record::Link { attributes, name, target }
        }
        4 => Record::Data { entry: fields.u32()?, offset: fields.u64()?, bytes: fields.rest },
        5 => {
            let (entry, size, digest) = (fields.u32()?, fields.u64()?, fields.take()?);
            return fields.end(Record::Whole { entry, size, digest });
        }
        6 => {
            let entry = fields.u32()?;
            return fields.end(Record::Same { entry });
        }
        7 => Record::GivenUp { entry: fields.u32()?, reason: fields.text()? },
        8 => Record::Refused { name: fields.counted()?, reason: fields.text()? },
        9 => {
            let entries = fields.u32()?;
            return fields.end(Record::Listed { entries });
        }
        10 => return fields.end(Record::End),
        kind => return Err(FormatError::Kind(kind)),
    })
}

/// Writes records into a buffer.
#[derive(Debug)]
pub struct Writer<'a> {
    buffer: &'a mut [u8],
    at: usize,
}

impl<'a> Writer<'a> {
    /// Into this buffer, from its beginning.
    pub fn new(buffer: &'a mut [u8]) -> Self {
        Writer { buffer, at: 0 }
    }
    /// Bytes that are left.
    pub fn room(&self) -> usize {
        self.buffer.len() - self.at
    }
    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.at == 0
    }

    /// Writes a record; false if it does not fit into what is left.
    pub fn put(&mut self, record: &Record<'_>) -> bool {
        let (kind, parts) = body(record);
        let length: usize = parts.iter().map(|part| part.len()).sum();
        if HEADER_BYTES + length > self.room() {
            return false;
        }
        self.write(&[kind]);
        self.write(&(length as u32).to_be_bytes());
        parts.iter().for_each(|part| self.write(part));
        true
    }

    /// Writes the bytes of a file that `read` puts into what is left, at most `most`; `read` says how many.
    /// Needs room for [`DATA_OVERHEAD_BYTES`] and a byte.
    pub fn put_data<E>(
        &mut self,
        entry: u32,
        offset: u64,
        most: u64,
        read: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<usize, E> {
        let start = self.at + DATA_OVERHEAD_BYTES;
        let room = self.buffer.len().saturating_sub(start);
        let room = room.min(usize::try_from(most).unwrap_or(usize::MAX));
        let len = read(&mut self.buffer[start..start + room])?.min(room);
        if len > 0 {
            self.write(&[4]);
            self.write(&((12 + len) as u32).to_be_bytes());
            self.write(&entry.to_be_bytes());
            self.write(&offset.to_be_bytes());
            self.at += len;
        }
        Ok(len)
    }

    /// Zeros to the end.
    pub fn finish(self) {
        self.buffer[self.at..].fill(0);
    }

    fn write(&mut self, bytes: &[u8]) {
        self.buffer[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }
}

fn attributes_bytes(attributes: &Attributes) -> Vec<u8> {
    let mut bytes = attributes.modified_s.to_be_bytes().to_vec();
    bytes.extend_from_slice(&attributes.modified_ns.to_be_bytes());
    bytes.extend_from_slice(&attributes.mode.to_be_bytes());
    bytes
}

/// As much of a reason as may be, to the end of a character.
fn cut(reason: &str) -> &[u8] {
    let mut ends = (0..=reason.len().min(MAX_REASON_BYTES)).rev();
    let end = ends.find(|end| reason.is_char_boundary(*end)).unwrap_or(0);
    &reason.as_bytes()[..end]
}

fn counted(name: &[u8]) -> Vec<u8> {
    let name = &name[..name.len().min(names::MAX_NAME_BYTES)];
    [&(name.len() as u16).to_be_bytes(), name].concat()
}

/// The kind of a record, and its body in pieces.
fn body<'a>(record: &Record<'a>) -> (u8, Vec<std::borrow::Cow<'a, [u8]>>) {
    match record {
        Record::Directory { attributes, name } => {
            (1, vec![attributes_bytes(attributes).into(), name.bytes().into()])
        }
        Record::File { size, attributes, name } => {
            let fixed = [&size.to_be_bytes()[..], &attributes_bytes(attributes)].concat();
            (2, vec![fixed.into(), name.bytes().into()])
        }
        Record::Link { attributes, name, target } => {
            let fixed = [attributes_bytes(attributes), counted(name.bytes())].concat();
            (3, vec![fixed.into(), (*target).into()])
        }
        Record::Data { entry, offset, bytes } => {
            let fixed = [&entry.to_be_bytes()[..], &offset.to_be_bytes()].concat();
            (4, vec![fixed.into(), (*bytes).into()])
        }
        Record::Whole { entry, size, digest } => {
            let fixed = [&entry.to_be_bytes()[..], &size.to_be_bytes(), digest].concat();
            (5, vec![fixed.into()])
        }
        Record::Same { entry } => (6, vec![entry.to_be_bytes().to_vec().into()]),
        Record::GivenUp { entry, reason } => {
            (7, vec![entry.to_be_bytes().to_vec().into(), cut(reason).into()])
        }
        Record::Refused { name, reason } => (8, vec![counted(name).into(), cut(reason).into()]),
        Record::Listed { entries } => (9, vec![entries.to_be_bytes().to_vec().into()]),
        Record::End => (10, vec![]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// By hand, from the diagram above.
    #[test]
    fn the_bytes_are_those_of_the_diagram() {
        let attributes = Attributes { modified_s: -1, modified_ns: 5, mode: 0o640 };
        let name = Name::new(b"a/b").unwrap();
        let mut buffer = [7; 64];
        let mut writer = Writer::new(&mut buffer);
        assert!(writer.put(&Record::File { size: 258, attributes, name }));
        assert!(writer.put(&Record::Same { entry: 1 }));
        writer.finish();
        let mut expected = vec![2, 0, 0, 0, 25, 0, 0, 0, 0, 0, 0, 1, 2];
        expected.extend_from_slice(&[0xff; 8]);
        expected.extend_from_slice(&[0, 0, 0, 5, 1, 0o240, b'a', b'/', b'b']);
        expected.extend_from_slice(&[6, 0, 0, 0, 4, 0, 0, 0, 1]);
        expected.resize(64, 0);
        assert_eq!(buffer.to_vec(), expected);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (bytes, error) in [
            (&[1, 0, 0][..], FormatError::Truncated),
            (&[6, 0, 0, 0, 9, 0], FormatError::Truncated),
            (&[6, 0xff, 0xff, 0xff, 0xff, 0], FormatError::Truncated),
            (&[6, 0, 0, 0, 5, 0, 0, 0, 0, 0], FormatError::Length(6)),
            (&[6, 0, 0, 0, 3, 0, 0, 0], FormatError::Length(6)),
            (&[11, 0, 0, 0, 0], FormatError::Kind(11)),
            (&[0, 0, 1], FormatError::Padding),
            (&[7, 0, 0, 0, 5, 0, 0, 0, 0, 0xff], FormatError::Value("reason")),
        ] {
            let all: Vec<_> = records(bytes).collect();
            assert_eq!(all, [Err(error)], "{bytes:?}");
        }
        assert_eq!(records(&[0; 9]).count(), 0);
        let mode = [&[1, 0, 0, 0, 15][..], &[0; 12], &[2, 0, b'a']].concat();
        assert_eq!(records(&mode).next(), Some(Err(FormatError::Value("mode"))));
    }

    #[test]
    fn names_that_lead_out_are_no_names() {
        for name in ["../x", "/etc/passwd", "a/../../b", "a//b", "a/", ".", "a\nb", "a\0b", ""] {
            let body = [&[0; 14][..], name.as_bytes()].concat();
            let buffer = [&[1, 0, 0, 0, body.len() as u8][..], &body].concat();
            let record = records(&buffer).next();
            assert!(matches!(record, Some(Err(FormatError::Name(_)))), "{name:?}: {record:?}");
        }
    }

    fn any_record() -> impl Strategy<Value = (u8, u32, u64, Vec<u8>, Vec<u8>, [u8; 32])> {
        let name = "[a-z]{1,9}(/[a-zA-Z0-9 .é-]{1,9}x){0,3}".prop_map(String::into_bytes);
        (0u8..10, any::<u32>(), any::<u64>(), name, "[a-z/.]{1,40}", any::<[u8; 32]>())
            .prop_map(|(a, b, c, d, e, f)| (a, b, c, d, e.into_bytes(), f))
    }

    fn record<'a>(
        (kind, entry, number, name, bytes, digest): &'a (u8, u32, u64, Vec<u8>, Vec<u8>, [u8; 32]),
    ) -> Record<'a> {
        let attributes = Attributes {
            modified_s: *number as i64,
            modified_ns: entry % 1_000_000_000,
            mode: (entry % 0o1000) as u16,
        };
        let (entry, reason) = (*entry, str::from_utf8(bytes).unwrap());
        let path = || Name::new(name).unwrap();
        match kind {
            0 => Record::Directory { attributes, name: path() },
            1 => Record::File { size: *number, attributes, name: path() },
            2 => Record::Link { attributes, name: path(), target: bytes },
            3 => Record::Data { entry, offset: *number, bytes },
            4 => Record::Whole { entry, size: *number, digest: *digest },
            5 => Record::Same { entry },
            6 => Record::GivenUp { entry, reason },
            7 => Record::Refused { name, reason },
            8 => Record::Listed { entries: entry },
            _ => Record::End,
        }
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(
            values in proptest::collection::vec(any_record(), 0..20), len in 0usize..700
        ) {
            let mut buffer = vec![0xaa; len];
            let mut writer = Writer::new(&mut buffer);
            let all: Vec<Record<'_>> = values.iter().map(record).collect();
            let written: Vec<_> = all.into_iter().take_while(|one| writer.put(one)).collect();
            writer.finish();
            let read: Result<Vec<_>, _> = records(&buffer).collect();
            prop_assert_eq!(read, Ok(written));
        }

        #[test]
        fn data_read_in_place_is_a_data_record(
            bytes in proptest::collection::vec(any::<u8>(), 1..300), room in 18usize..300
        ) {
            let mut buffer = vec![0; room];
            let mut writer = Writer::new(&mut buffer);
            let len = writer.put_data(3, 9, bytes.len() as u64, |into| {
                let len = into.len().min(bytes.len());
                into[..len].copy_from_slice(&bytes[..len]);
                Ok::<_, ()>(len)
            }).unwrap();
            writer.finish();
            prop_assert_eq!(len, bytes.len().min(room - DATA_OVERHEAD_BYTES));
            let first = records(&buffer).next();
            prop_assert_eq!(first, Some(Ok(Record::Data { entry: 3, offset: 9, bytes: &bytes[..len] })));
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let all: Vec<_> = records(&bytes).collect();
            let errors = all.iter().filter(|record| record.is_err()).count();
            prop_assert!(errors == 0 || (errors == 1 && all.last().unwrap().is_err()));
        }
    }
}
