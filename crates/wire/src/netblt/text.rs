//! Strings of NETBLT: client strings and reasons (RFC 998 section 8).

use super::WHAT;
use crate::DecodeError;
use std::borrow::Cow;
use std::fmt;

/// The largest multiple of four that the length field can hold.
const LONGEST_PACKET: usize = 65_532;

/// Bytes without a zero among them. On the wire at least one zero byte ends them, and more fill
/// the field to a multiple of four.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Text<'a>(Cow<'a, [u8]>);

impl<'a> Text<'a> {
    /// What stands before the first zero byte of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        Text(Cow::Borrowed(&bytes[..end]))
    }
    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
    /// The same without a borrow.
    pub fn into_owned(self) -> Text<'static> {
        Text(Cow::Owned(self.0.into_owned()))
    }

    /// Reads a field that reaches to the end of its packet. None at all is empty (our choice).
    pub(super) fn parse(field: &'a [u8]) -> Result<Self, DecodeError> {
        if !field.is_empty() && !field.contains(&0) {
            return Err(DecodeError::malformed(WHAT, "a string without an end"));
        }
        Ok(Text::new(field))
    }
    /// Appends the field to a packet that has `before` bytes already, cut to what the length
    /// field of the packet can say.
    pub(super) fn emit(&self, before: usize, out: &mut Vec<u8>) {
        let room = LONGEST_PACKET - before - 1;
        let text = &self.0[..self.0.len().min(room)];
        out.extend_from_slice(text);
        let ended = text.len() + 1;
        out.resize(out.len() + ended.next_multiple_of(4) - text.len(), 0);
    }
}

impl From<String> for Text<'static> {
    fn from(text: String) -> Self {
        let mut bytes = text.into_bytes();
        bytes.truncate(Text::new(&bytes).0.len());
        Text(Cow::Owned(bytes))
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Text::new(text.as_bytes())
    }
}

impl fmt::Display for Text<'_> {
    /// As UTF-8, with what is none and what a terminal would obey escaped.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        String::from_utf8_lossy(&self.0).chars().try_for_each(|c| match c.is_control() {
            true => write!(f, "{}", c.escape_default()),
            false => write!(f, "{c}"),
        })
    }
}
