//! Which size the frames of a stream have: one for all, a sweep, a list, or an IMIX.

use crate::distribution::{self, Distribution};
use crate::imix::Imix;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;
use units::FrameSize;

/// Frame sizes of a stream as a pure function of the frame's index.
///
/// As a text, in configuration files: `64`, `64,128,1518` (in turn), `64..1518` or `64..1518/2`
/// (a sweep, ends included), an IMIX (see [`Imix`]), or a distribution (see [`Distribution`]).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum SizePattern {
    /// Every frame has this size.
    Fixed(FrameSize),
    /// From `first` to `last` in steps, then again.
    Sweep {
        /// The first size.
        first: FrameSize,
        /// No size is larger.
        last: FrameSize,
        /// Bytes from one size to the next, at least 1.
        step_bytes: u32,
    },
    /// These sizes in turn; never empty.
    List(Vec<FrameSize>),
    /// A mix with a name.
    Imix(Imix),
    /// A distribution of packet lengths.
    Distribution(Distribution),
}

impl SizePattern {
    /// Size of frame `index`.
    pub fn size_at(&self, index: u64) -> FrameSize {
        let in_turn = |sizes: &[FrameSize]| sizes[(index % sizes.len() as u64) as usize];
        match self {
            SizePattern::Fixed(size) => *size,
            SizePattern::Sweep { first, step_bytes, .. } => {
                let step = (index % self.period()) as u32;
                FrameSize::from_bytes(first.bytes() + step * step_bytes)
            }
            SizePattern::List(sizes) => in_turn(sizes),
            SizePattern::Imix(imix) => in_turn(imix.sequence()),
            SizePattern::Distribution(distribution) => in_turn(distribution.sequence()),
        }
    }
    /// Frames after which the sizes repeat.
    pub fn period(&self) -> u64 {
        match self {
            SizePattern::Fixed(_) => 1,
            SizePattern::Sweep { first, last, step_bytes } => {
                u64::from(last.bytes().saturating_sub(first.bytes()) / (*step_bytes).max(1)) + 1
            }
            SizePattern::List(sizes) => sizes.len() as u64,
            SizePattern::Imix(imix) => imix.sequence().len() as u64,
            SizePattern::Distribution(distribution) => distribution.sequence().len() as u64,
        }
    }
    /// Mean size in bytes, FCS included, over a period.
    pub fn average_bytes(&self) -> f64 {
        let total: u64 = (0..self.period()).map(|i| u64::from(self.size_at(i).bytes())).sum();
        total as f64 / self.period() as f64
    }
    /// The smallest size that occurs.
    pub fn smallest(&self) -> FrameSize {
        self.sizes().min().expect("a pattern has a size")
    }
    /// The largest size that occurs.
    pub fn largest(&self) -> FrameSize {
        self.sizes().max().expect("a pattern has a size")
    }
    /// The sizes of one period, in order.
    pub fn sizes(&self) -> impl Iterator<Item = FrameSize> + '_ {
        (0..self.period()).map(|index| self.size_at(index))
    }
}

/// A text that is no size pattern.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum SizePatternError {
    /// Nothing that we know.
    #[error(
        "`{0}` is no frame size: write bytes with FCS as in `64`, a list `64,128`, a sweep \
         `64..1518`, `imix`, or `dist:64*7,1518*3`"
    )]
    Unknown(String),
    /// A size outside what Ethernet can carry.
    #[error("a frame of {0} bytes: sizes count the FCS and lie between 64 and 65535")]
    OutOfRange(u32),
    /// A sweep that goes nowhere.
    #[error("sweep `{0}`: its first size must not be above its last, its step not 0")]
    EmptySweep(String),
    /// A distribution that cannot be.
    #[error("distribution `{text}`: {why}")]
    Distribution {
        /// The part of the text.
        text: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// An IMIX that cannot be.
    #[error("IMIX `{text}`: {why}")]
    Imix {
        /// The text.
        text: String,
        /// What is wrong with it.
        why: &'static str,
    },
}

/// The smallest and the largest frame that can be asked for, in bytes with FCS.
pub(crate) const SIZE_RANGE_BYTES: std::ops::RangeInclusive<u32> = 64..=65_535;

pub(crate) fn parse_size(text: &str) -> Result<FrameSize, SizePatternError> {
    let bytes: u32 =
        text.trim().parse().map_err(|_| SizePatternError::Unknown(text.to_string()))?;
    if !SIZE_RANGE_BYTES.contains(&bytes) {
        return Err(SizePatternError::OutOfRange(bytes));
    }
    Ok(FrameSize::from_bytes(bytes))
}

impl FromStr for SizePattern {
    type Err = SizePatternError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        if text.to_ascii_lowercase().starts_with("imix") {
            return Ok(SizePattern::Imix(text.parse()?));
        }
        if text.starts_with(distribution::PREFIX) {
            return Ok(SizePattern::Distribution(text.parse()?));
        }
        if let Some((first, rest)) = text.split_once("..") {
            let (last, step) = rest.split_once('/').unwrap_or((rest, "1"));
            let first = parse_size(first)?;
            let last = parse_size(last)?;
            let step_bytes =
                step.trim().parse().map_err(|_| SizePatternError::Unknown(text.to_string()))?;
            if first > last || step_bytes == 0 {
                return Err(SizePatternError::EmptySweep(text.to_string()));
            }
            return Ok(SizePattern::Sweep { first, last, step_bytes });
        }
        let sizes = text.split(',').map(parse_size).collect::<Result<Vec<_>, _>>()?;
        match sizes[..] {
            [size] => Ok(SizePattern::Fixed(size)),
            _ => Ok(SizePattern::List(sizes)),
        }
    }
}

impl TryFrom<String> for SizePattern {
    type Error = SizePatternError;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}
impl From<SizePattern> for String {
    /// The text that reads back as the same pattern.
    fn from(pattern: SizePattern) -> String {
        match pattern {
            SizePattern::Fixed(size) => size.to_string(),
            SizePattern::Sweep { first, last, step_bytes } => {
                format!("{first}..{last}/{step_bytes}")
            }
            SizePattern::List(sizes) => comma_separated(&sizes),
            SizePattern::Imix(imix) => imix.text(),
            SizePattern::Distribution(distribution) => distribution.into(),
        }
    }
}

pub(crate) fn comma_separated(sizes: &[FrameSize]) -> String {
    sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

impl From<FrameSize> for SizePattern {
    fn from(size: FrameSize) -> Self {
        SizePattern::Fixed(size)
    }
}

impl fmt::Display for SizePattern {
    /// For reports: an IMIX under its RFC 6985 name, with its sizes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SizePattern::Fixed(size) => write!(f, "{size}"),
            SizePattern::Sweep { first, last, step_bytes: 1 } => write!(f, "{first} to {last}"),
            SizePattern::Sweep { first, last, step_bytes } => {
                write!(f, "{first} to {last} in steps of {step_bytes}")
            }
            SizePattern::List(sizes) => write!(f, "{} in turn", comma_separated(sizes)),
            SizePattern::Imix(imix) => write!(f, "{imix}"),
            SizePattern::Distribution(distribution) => write!(f, "{distribution}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pattern(text: &str) -> SizePattern {
        text.parse().unwrap()
    }

    #[test]
    fn sizes_by_index() {
        let take = |text, n| -> Vec<u32> {
            let pattern = pattern(text);
            (0..n).map(|i| pattern.size_at(i).bytes()).collect()
        };
        assert_eq!(take("64", 3), [64, 64, 64]);
        assert_eq!(take("64,128", 3), [64, 128, 64]);
        assert_eq!(take("64..70/3", 4), [64, 67, 70, 64]);
        assert_eq!(take("64..69/3", 3), [64, 67, 64]);
        assert_eq!(take("imix:ab", 3), [64, 128, 64]);
    }

    #[test]
    fn averages() {
        assert_eq!(pattern("64..66").average_bytes(), 65.0);
        assert_eq!(pattern("64,1518").average_bytes(), 791.0);
        assert_eq!(pattern("64,1518").largest().bytes(), 1518);
    }

    #[test]
    fn texts_that_are_no_pattern_say_why() {
        assert_eq!("63".parse::<SizePattern>(), Err(SizePatternError::OutOfRange(63)));
        assert_eq!("70000".parse::<SizePattern>(), Err(SizePatternError::OutOfRange(70_000)));
        for text in ["", "big", "64,", "64..", "-64", "64..70/x"] {
            let error = text.parse::<SizePattern>().unwrap_err();
            assert!(matches!(error, SizePatternError::Unknown(_)), "{text}: {error}");
        }
        for text in ["128..64", "64..128/0"] {
            let error = text.parse::<SizePattern>().unwrap_err();
            assert!(matches!(error, SizePatternError::EmptySweep(_)), "{text}: {error}");
        }
    }

    #[test]
    fn names_for_reports() {
        assert_eq!(pattern("64..1518").to_string(), "64 to 1518");
        assert_eq!(pattern("64,128").to_string(), "64,128 in turn");
    }

    fn any_pattern() -> impl Strategy<Value = SizePattern> {
        let size = || (64u32..=65_535).prop_map(FrameSize::from_bytes);
        prop_oneof![
            size().prop_map(SizePattern::Fixed),
            (64u32..2000, 0u32..2000, 1u32..100).prop_map(|(first, span, step_bytes)| {
                let last = FrameSize::from_bytes(first + span);
                SizePattern::Sweep { first: FrameSize::from_bytes(first), last, step_bytes }
            }),
            proptest::collection::vec(size(), 2..9).prop_map(SizePattern::List),
        ]
    }

    proptest! {
        #[test]
        fn the_text_form_reads_back(pattern in any_pattern()) {
            let text = String::from(pattern.clone());
            prop_assert_eq!(text.parse(), Ok(pattern));
        }

        #[test]
        fn sizes_repeat_after_the_period_and_stay_in_range(pattern in any_pattern(), i: u32) {
            let index = u64::from(i);
            let size = pattern.size_at(index);
            prop_assert_eq!(size, pattern.size_at(index + pattern.period()));
            prop_assert!(pattern.smallest() <= size && size <= pattern.largest());
        }

        #[test]
        fn no_text_makes_the_parser_panic(text: String) {
            let _ = text.parse::<SizePattern>();
        }
    }
}
