//! The words of hammer's command line that name frames: `+#` and `file[*#]`.

use std::str::FromStr;
use thiserror::Error;
use units::FrameSize;

/// The smallest frame that is addressed: two addresses, a type, and the FCS.
const SHORTEST: u32 = 18;
/// The longest of any Ethernet: jumbo frames of 16 KB.
const LONGEST: u32 = 16 << 10;

/// A word that names frames.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Item {
    /// `+#`: a frame of this size made by hammer itself, FCS included.
    Pad(FrameSize),
    /// `file[*#]`: the frames of a file, so many times.
    File {
        /// Where it is.
        path: String,
        /// How often its frames are repeated, one after the other.
        times: u64,
    },
}

/// A word that names none.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ItemError {
    /// `+` without a size.
    #[error(
        "`{0}` names no size; +64 makes a frame of 64 bytes, FCS included (a file of that name is ./{0})"
    )]
    NoSize(String),
    /// A size that no frame has.
    #[error("a frame has 18 to 16384 bytes, FCS included, not {0}")]
    Size(u32),
    /// No repetitions.
    #[error("`{0}` asks for no frame; *1 is the least")]
    NoTimes(String),
    /// A word without letters.
    #[error("an empty name is no file")]
    NoName,
}

impl FromStr for Item {
    type Err = ItemError;

    /// A file whose name ends like `*3` is written with `*1` behind it.
    fn from_str(word: &str) -> Result<Item, ItemError> {
        if let Some(size) = word.strip_prefix('+') {
            let size = number(size).ok_or_else(|| ItemError::NoSize(word.into()))?;
            let size = u32::try_from(size).unwrap_or(u32::MAX);
            if !(SHORTEST..=LONGEST).contains(&size) {
                return Err(ItemError::Size(size));
            }
            return Ok(Item::Pad(FrameSize::from_bytes(size)));
        }
        let repeated = word.rsplit_once('*').and_then(|(path, times)| Some((path, number(times)?)));
        let (path, times) = repeated.unwrap_or((word, 1));
        match (path, times) {
            ("", _) => Err(ItemError::NoName),
            (_, 0) => Err(ItemError::NoTimes(word.into())),
            (path, times) => Ok(Item::File { path: path.into(), times }),
        }
    }
}

/// Digits and nothing else.
fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_1989() {
        let file = |path: &str, times| Ok(Item::File { path: path.into(), times });
        let known = [
            ("packet/p64", file("packet/p64", 1)),
            ("packet/p64*90", file("packet/p64", 90)),
            ("+55", Ok(Item::Pad(FrameSize::from_bytes(55)))),
            ("+1600", Ok(Item::Pad(FrameSize::from_bytes(1_600)))),
            ("a*b", file("a*b", 1)),
            ("a*3*1", file("a*3", 1)),
            ("./+55", file("./+55", 1)),
        ];
        for (word, item) in known {
            assert_eq!(word.parse(), item, "{word}");
        }
    }

    #[test]
    fn words_that_name_nothing() {
        let error = |word: &str| word.parse::<Item>().unwrap_err();
        assert_eq!(error("+"), ItemError::NoSize("+".into()));
        assert_eq!(error("+x1"), ItemError::NoSize("+x1".into()));
        assert_eq!(error("+17"), ItemError::Size(17));
        assert_eq!(error("+99999999999999999999"), ItemError::Size(u32::MAX));
        assert_eq!(error("p64*0"), ItemError::NoTimes("p64*0".into()));
        assert_eq!(error("*4"), ItemError::NoName);
        assert_eq!(error(""), ItemError::NoName);
    }
}
