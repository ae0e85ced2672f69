//! A distribution of packet lengths, as a network's monitor gives it, made into a repeating
//! sequence of frame sizes.

use crate::size::{SIZE_RANGE_BYTES, SizePatternError, parse_size};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use units::FrameSize;

/// The longest sequence: shares are exact to half a frame in so many.
pub const MAX_SEQUENCE: u64 = 1_024;
/// How a distribution starts as a text.
pub(crate) const PREFIX: &str = "dist:";

/// Frame sizes (FCS included) with their weights, counted in frames.
///
/// The sequence has as many frames as the weights add up to once they are reduced, or
/// [`MAX_SEQUENCE`] where that is more: then each size has its share to the nearest frame, by
/// largest remainders, and a size that would round to none is left out, which
/// [`left_out`](Self::left_out) tells. Each size is spread evenly: at each place stands the one that is
/// furthest behind its share.
///
/// As a text: `dist:64*7201,128*1310,1518*490`. From a file: see [`from_csv`](Self::from_csv).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Distribution {
    /// Smallest size first, no weight 0.
    weights: Vec<(FrameSize, u64)>,
    sequence: Vec<FrameSize>,
}

impl Distribution {
    /// Of these weights, those of equal sizes added up.
    pub fn new(
        weights: impl IntoIterator<Item = (FrameSize, u64)>,
    ) -> Result<Distribution, SizePatternError> {
        let mut sums: BTreeMap<FrameSize, u64> = BTreeMap::new();
        for (size, weight) in weights {
            if !SIZE_RANGE_BYTES.contains(&size.bytes()) {
                return Err(SizePatternError::OutOfRange(size.bytes()));
            }
            let sum = sums.entry(size).or_default();
            *sum = sum.checked_add(weight).ok_or_else(too_heavy)?;
        }
        sums.retain(|_, weight| *weight > 0);
        let weights: Vec<(FrameSize, u64)> = sums.into_iter().collect();
        let total = weights.iter().try_fold(0u64, |sum, (_, weight)| sum.checked_add(*weight));
        let total = total.ok_or_else(too_heavy)?;
        if total == 0 {
            return Err(fail("it has no frames"));
        }
        let sequence = interleave(&apportion(&weights, total));
        Ok(Distribution { weights, sequence })
    }
    /// From a table of two columns, frame size with FCS in bytes and number of frames, separated
    /// by a comma; a first line of names, empty lines, and lines that start with `#` are passed
    /// over.
    pub fn from_csv(text: &str) -> Result<Distribution, SizePatternError> {
        let lines = text.lines().map(str::trim);
        let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#')).peekable();
        let is_heading = |line: &&str| line.starts_with(|first: char| first.is_alphabetic());
        lines.next_if(is_heading);
        let entry = |line: &str| {
            let (size, weight) = line
                .split_once(',')
                .ok_or_else(|| in_text(line, "a line is frame size, comma, number of frames"))?;
            parse_entry(line, size, weight)
        };
        Distribution::new(lines.map(entry).collect::<Result<Vec<_>, _>>()?)
    }
    /// The sizes in order; the stream repeats them.
    pub fn sequence(&self) -> &[FrameSize] {
        &self.sequence
    }
    /// The sizes asked for with their weights, smallest first.
    pub fn weights(&self) -> &[(FrameSize, u64)] {
        &self.weights
    }
    /// Sizes so rare that a sequence of [`MAX_SEQUENCE`] frames has none of them.
    pub fn left_out(&self) -> impl Iterator<Item = FrameSize> + '_ {
        let sizes = self.weights.iter().map(|(size, _)| *size);
        sizes.filter(|size| !self.sequence.contains(size))
    }
}

/// How many frames of each size the sequence has (Hamilton's method of largest remainders; of equal
/// remainders the smaller size's comes first).
fn apportion(weights: &[(FrameSize, u64)], total: u64) -> Vec<(FrameSize, u64)> {
    let divisor = weights.iter().fold(0, |divisor, (_, weight)| gcd(divisor, *weight));
    let frames = (total / divisor).min(MAX_SEQUENCE);
    let quota = |weight: u64| u128::from(weight) * u128::from(frames);
    let mut shares: Vec<(FrameSize, u64)> = weights
        .iter()
        .map(|(size, weight)| (*size, (quota(*weight) / u128::from(total)) as u64))
        .collect();
    let given: u64 = shares.iter().map(|(_, share)| share).sum();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|place| std::cmp::Reverse(quota(weights[*place].1) % u128::from(total)));
    for place in order.into_iter().take((frames - given) as usize) {
        shares[place].1 += 1;
    }
    shares.retain(|(_, share)| *share > 0);
    shares
}

/// At each place the size that is furthest behind its share, the earlier of equals.
fn interleave(shares: &[(FrameSize, u64)]) -> Vec<FrameSize> {
    let total: u64 = shares.iter().map(|(_, share)| share).sum();
    let mut behind = vec![0i64; shares.len()];
    let next = |_| {
        let mut chosen = 0;
        for (place, (_, share)) in shares.iter().enumerate() {
            behind[place] += *share as i64;
            if behind[place] > behind[chosen] {
                chosen = place;
            }
        }
        behind[chosen] -= total as i64;
        shares[chosen].0
    };
    (0..total).map(next).collect()
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn parse_entry(text: &str, size: &str, weight: &str) -> Result<(FrameSize, u64), SizePatternError> {
    let weight = weight.trim().parse();
    let weight = weight.map_err(|_| in_text(text, "a number of frames that is no whole number"))?;
    Ok((parse_size(size)?, weight))
}

fn fail(why: &'static str) -> SizePatternError {
    in_text(PREFIX, why)
}
fn too_heavy() -> SizePatternError {
    fail("the numbers of frames add up to more than 64 bits")
}
fn in_text(text: &str, why: &'static str) -> SizePatternError {
    SizePatternError::Distribution { text: text.to_string(), why }
}

impl FromStr for Distribution {
    type Err = SizePatternError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let entries = text.trim();
        let entries = entries.strip_prefix(PREFIX).unwrap_or(entries);
        let entry = |item: &str| {
            let (size, weight) = item.split_once('*').ok_or_else(|| {
                in_text(item, "a size without weight: write 64*7 for 7 frames of 64 bytes")
            })?;
            parse_entry(item, size, weight)
        };
        Distribution::new(entries.split(',').map(entry).collect::<Result<Vec<_>, _>>()?)
    }
}
impl TryFrom<String> for Distribution {
    type Error = SizePatternError;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}
impl From<Distribution> for String {
    fn from(distribution: Distribution) -> String {
        let entry = |(size, weight): &(FrameSize, u64)| format!("{size}*{weight}");
        let entries: Vec<String> = distribution.weights.iter().map(entry).collect();
        format!("{PREFIX}{}", entries.join(","))
    }
}
impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = (self.weights[0].0, self.weights[self.weights.len() - 1].0);
        let (sizes, frames) = (self.weights.len(), self.sequence.len());
        write!(f, "distribution of {sizes} sizes from {first} to {last} over {frames} frames")?;
        match self.left_out().count() {
            0 => Ok(()),
            rare => write!(f, ", without {rare} too rare for it"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::size::SizePattern;
    use proptest::prelude::*;

    fn counts(distribution: &Distribution) -> Vec<(u32, usize)> {
        let mut counts = BTreeMap::new();
        for size in distribution.sequence() {
            *counts.entry(size.bytes()).or_default() += 1;
        }
        counts.into_iter().collect()
    }

    /// Seven, four and one of twelve, as simple IMIX has them, whatever the common factor.
    #[test]
    fn small_weights_are_kept_exactly() {
        let distribution: Distribution = "dist:64*700,594*400,1518*100".parse().unwrap();
        assert_eq!(counts(&distribution), [(64, 7), (594, 4), (1518, 1)]);
        assert_eq!(
            distribution.to_string(),
            "distribution of 3 sizes from 64 to 1518 over 12 frames"
        );
    }

    /// Of 1024 frames: 1024 x 3 / 4099 = 0.749 rounds up, 1024 x 4095 / 4099 = 1023.0007 down,
    /// 1024 / 4099 = 0.2498 to none.
    #[test]
    fn large_weights_are_shared_by_largest_remainders() {
        let distribution: Distribution = "dist:64*4095,128*3,1518*1".parse().unwrap();
        assert_eq!(counts(&distribution), [(64, 1023), (128, 1)]);
        let left_out: Vec<_> = distribution.left_out().map(FrameSize::bytes).collect();
        assert_eq!(left_out, [1518]);
        assert!(distribution.to_string().ends_with("without 1 too rare for it"));
    }

    #[test]
    fn a_table_of_a_monitor_is_read() {
        let table = "size,frames\n# a quiet day\n64, 60\n\n1518,20\n64,20\n";
        let distribution = Distribution::from_csv(table).unwrap();
        assert_eq!(counts(&distribution), [(64, 4), (1518, 1)]);
        assert_eq!(String::from(distribution), "dist:64*80,1518*20");
    }

    #[test]
    fn what_is_no_distribution_says_why() {
        for (text, part) in [
            ("dist:", "without weight"),
            ("dist:64", "without weight"),
            ("dist:64*-1", "whole number"),
            ("dist:64*0", "no frames"),
            ("dist:63*1", "between 64"),
            ("dist:64*18446744073709551615,65*1", "64 bits"),
        ] {
            let error = text.parse::<SizePattern>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
        for (table, part) in [("64;1", "comma"), ("", "no frames"), ("64,many", "whole number")] {
            let error = Distribution::from_csv(table).unwrap_err().to_string();
            assert!(error.contains(part), "{table}: {error}");
        }
    }

    proptest! {
        #[test]
        fn shares_are_exact_to_a_frame_and_the_text_reads_back(
            weights in proptest::collection::vec((64u32..=65_535, 0u64..1_000_000), 1..50)
        ) {
            let weights = weights.into_iter().map(|(size, n)| (FrameSize::from_bytes(size), n));
            let Ok(distribution) = Distribution::new(weights) else { return Ok(()) };
            let total: u64 = distribution.weights().iter().map(|(_, weight)| weight).sum();
            let frames = distribution.sequence().len() as f64;
            prop_assert!(frames <= MAX_SEQUENCE as f64);
            for (size, weight) in distribution.weights() {
                let count = distribution.sequence().iter().filter(|other| *other == size).count();
                let share = *weight as f64 * frames / total as f64;
                prop_assert!((count as f64 - share).abs() < 1.0, "{} of {}", count, share);
            }
            let text = String::from(SizePattern::Distribution(distribution.clone()));
            prop_assert_eq!(text.parse(), Ok(SizePattern::Distribution(distribution)));
        }

        #[test]
        fn no_text_makes_the_parsers_panic(text: String) {
            let _ = Distribution::from_csv(&text);
            let _ = format!("dist:{text}").parse::<SizePattern>();
        }
    }
}
