//! Names in a copy: relative paths that lead nowhere but down.

use std::fmt;
use thiserror::Error;

/// Bytes of a whole name (Linux: `PATH_MAX`).
pub const MAX_NAME_BYTES: usize = 4096;
/// Bytes between two slashes (Linux: `NAME_MAX`).
const MAX_PART_BYTES: usize = 255;

/// A relative path: parts between slashes, none of them empty, `.` or `..`, none with control
/// characters, none a name of ours for a file on its way. Bytes that are no UTF-8 may be in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name<'a>(&'a [u8]);

/// Why a name is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum NameError {
    /// Nothing, or nothing between two slashes: also what begins or ends with one.
    #[error("is empty, absolute or has an empty part")]
    Empty,
    /// More than Linux takes.
    #[error("is too long")]
    TooLong,
    /// `.` or `..`.
    #[error("is not below the directory (it has a part . or ..)")]
    Dots,
    /// A terminal would obey it.
    #[error("has a control character")]
    Control,
    /// The form of [`part_name`].
    #[error("is that of a file on its way (.netblt-...part)")]
    Temporary,
}

impl<'a> Name<'a> {
    /// Checks a name.
    pub fn new(bytes: &'a [u8]) -> Result<Name<'a>, NameError> {
        if bytes.len() > MAX_NAME_BYTES {
            return Err(NameError::TooLong);
        }
        bytes.split(|byte| *byte == b'/').try_for_each(check_part)?;
        Ok(Name(bytes))
    }
    /// The bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.0
    }
    /// The directory, empty for the uppermost, and the name in it.
    pub fn split(&self) -> (&'a [u8], &'a [u8]) {
        split(self.0)
    }
    /// Up to the first slash.
    pub fn first_part(&self) -> &'a [u8] {
        self.0.split(|byte| *byte == b'/').next().unwrap_or(self.0)
    }
}

/// The directory of a path, and the name in it.
pub fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (&[], path),
    }
}

fn check_part(part: &[u8]) -> Result<(), NameError> {
    match part {
        [] => Err(NameError::Empty),
        b"." | b".." => Err(NameError::Dots),
        _ if part.len() > MAX_PART_BYTES => Err(NameError::TooLong),
        _ if has_control(part) => Err(NameError::Control),
        _ if is_temporary(part) => Err(NameError::Temporary),
        _ => Ok(()),
    }
}

/// C0, DEL, and where it is UTF-8 C1 too.
fn has_control(part: &[u8]) -> bool {
    part.iter().any(|byte| *byte < b' ' || *byte == 0x7f)
        || str::from_utf8(part).is_ok_and(|text| text.chars().any(char::is_control))
}

const PART_PREFIX: &[u8] = b".netblt-";
const PART_SUFFIX: &[u8] = b".part";
const HASH_DIGITS: usize = 16;

/// The hidden name of a file on its way, beside its final one: the first half tells which file, the
/// second which version of it.
pub fn part_name(name: &[u8], version: &[u8]) -> String {
    let hash = |bytes: &[u8]| blake3::hash(bytes).to_hex()[..HASH_DIGITS].to_owned();
    format!(".netblt-{}-{}.part", hash(name), hash(version))
}

/// Whether two names are of the same file on its way, whatever its version.
pub fn same_file(part: &[u8], other: &[u8]) -> bool {
    let end = PART_PREFIX.len() + HASH_DIGITS;
    is_temporary(part) && is_temporary(other) && part[..end] == other[..end]
}

/// Whether a name is of the form of [`part_name`].
pub fn is_temporary(part: &[u8]) -> bool {
    let inner = part.strip_prefix(PART_PREFIX).and_then(|rest| rest.strip_suffix(PART_SUFFIX));
    inner.is_some_and(|inner| inner.len() == 2 * HASH_DIGITS + 1)
}

/// Bytes as a terminal may show them: escaped where it would obey or be misled.
pub fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let plain = |char: char| matches!(char, '\'' | '"' | '\\');
    text.chars().fold(String::new(), |mut shown, char| {
        match plain(char) {
            true => shown.push(char),
            false => shown.extend(char.escape_debug()),
        }
        shown
    })
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(self.0))
    }
}

impl fmt::Debug for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", shown(self.0))
    }
}

/// Whether a link at `name` that says `target` stays in the tree that `name` is in: it is relative, and
/// goes up first, not above the tree's top, and then only down. What it names on its way may be another link, and `..`
/// behind that leads up from wherever that one leads to.
pub fn stays_within(name: &Name<'_>, target: &[u8]) -> bool {
    let mut depth = name.bytes().iter().filter(|byte| **byte == b'/').count();
    if target.first() == Some(&b'/') {
        return false;
    }
    let mut goes_down = false;
    for part in target.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." if goes_down || depth == 0 => return false,
            b".." => depth -= 1,
            _ => goes_down = true,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_go_down_and_nowhere_else() {
        for name in ["a", "a b/c.txt", "...", "..a/b..", "日本/é", ".hidden", "-rf", "a\\b", "~"]
        {
            assert!(Name::new(name.as_bytes()).is_ok(), "{name}");
        }
        assert!(Name::new(b"caf\xe9").is_ok(), "Latin-1");
        let part = part_name(b"x", b"v");
        for (name, error) in [
            ("", NameError::Empty),
            ("/a", NameError::Empty),
            ("a/", NameError::Empty),
            ("a//b", NameError::Empty),
            (".", NameError::Dots),
            ("a/./b", NameError::Dots),
            ("..", NameError::Dots),
            ("a/../b", NameError::Dots),
            ("a\nb", NameError::Control),
            ("a\0b", NameError::Control),
            ("\u{1b}[2J", NameError::Control),
            ("\u{7f}", NameError::Control),
            ("\u{9b}31m", NameError::Control),
            (part.as_str(), NameError::Temporary),
        ] {
            assert_eq!(Name::new(name.as_bytes()), Err(error), "{name:?}");
        }
        assert_eq!(Name::new(&[b'a'; 256]), Err(NameError::TooLong));
        assert!(Name::new(&[b'a'; 255]).is_ok());
    }

    #[test]
    fn parts_of_a_file_are_known_whatever_its_version() {
        let [one, two] = ["1", "2"].map(|version| part_name(b"x", version.as_bytes()));
        assert!(one != two && same_file(one.as_bytes(), two.as_bytes()));
        assert!(!same_file(one.as_bytes(), part_name(b"y", b"1").as_bytes()));
        assert!(one.len() < 64 && !is_temporary(b".netblt-x.part"));
    }

    #[test]
    fn a_terminal_obeys_no_name() {
        assert_eq!(shown("a\u{202e}b".as_bytes()), "a\\u{202e}b");
        assert_eq!(shown("it's é".as_bytes()), "it's é");
    }

    #[test]
    fn a_link_stays_within_or_does_not() {
        let at = |name: &'static str| Name::new(name.as_bytes()).unwrap();
        for (name, target, within) in [
            ("a", "b", true),
            ("a", "..", false),
            ("d/a", "../b", true),
            ("d/a", "../../b", false),
            ("d/a", "x/../b", false),
            ("d/a", "x/../../b", false),
            ("d/a", ".././/b/c", true),
            ("d/a", "../../d/b", false),
            ("a", "/etc/passwd", false),
            ("a", "./x//y", true),
        ] {
            assert_eq!(stays_within(&at(name), target.as_bytes()), within, "{name} {target}");
        }
    }

    proptest! {
        /// Against the standard library's idea of where a path leads.
        #[test]
        fn a_name_is_below_wherever_it_is_joined(bytes in "[a./\\\\~]{0,12}") {
            use std::path::{Component, Path};
            let parts: Vec<_> = Path::new(&bytes).components().collect();
            let down = parts.iter().all(|part| matches!(part, Component::Normal(_)));
            let is_name = Name::new(bytes.as_bytes()).is_ok();
            prop_assert!(!is_name || (down && !parts.is_empty()), "{}", bytes);
        }
    }
}
