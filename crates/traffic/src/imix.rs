//! IMIX: an exact repeating sequence of frame sizes, in the notation of RFC 6985.

use crate::size::{SizePatternError, comma_separated, parse_size};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use units::FrameSize;

/// RFC 6985 section 4: the sizes that have a letter of their own.
const GENOME: [(char, u32); 10] = [
    ('a', 64),
    ('b', 128),
    ('c', 256),
    ('d', 512),
    ('e', 1024),
    ('f', 1280),
    ('g', 1518),
    ('h', 2112),
    ('i', 9000),
    ('j', 16_000),
];
/// The letter whose size is stated with the result: the MTU's frame size.
const MTU_LETTER: char = 'z';
/// RFC 6985 section 4 is for sequences of fewer than 100 frames.
const MAX_SEQUENCE: usize = 99;

/// Seven small, four middle, one large, spread evenly: ABAABAABAABC.
const SIMPLE_ORDER: [usize; 12] = [0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 2];

/// A repeating sequence of frame sizes, each counted with its FCS.
///
/// There is no standard IMIX; a result needs the exact sizes and their order, which
/// [`Display`](fmt::Display) gives in the form of RFC 6985. Weights count **frames**, not bits.
///
/// As a text: `imix` or `imix-a` (64, 594, 1518 in ratio 7:4:1), `imix-b` (64, 570, 1518),
/// `imix-csit-ipv6` (78, 570, 1518), `imix:aaafg` (letters of RFC 6985), `imix:aaz=1400` (with
/// the size for `z`), `imix:64,594,64` (any sequence), `imix:64*7,594*4,1518*1` (any weights,
/// spread evenly).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Imix {
    sequence: Vec<FrameSize>,
    /// The size to which the letter `z` was put.
    mtu: Option<FrameSize>,
}

impl Imix {
    /// Simple IMIX: IP packets of 40, 576 and 1500 octets in ratio 7:4:1, with 18 octets of
    /// Ethernet and padding: 64, 594, 1518. Average 361.83 bytes.
    pub fn simple_a() -> Imix {
        Imix::simple([64, 594, 1518])
    }
    /// Simple IMIX in its other common translation: 64, 570, 1518. Average 353.83 bytes.
    pub fn simple_b() -> Imix {
        Imix::simple([64, 570, 1518])
    }
    /// FD.io CSIT's IPv6 mix: 78, 570, 1518 in ratio 7:4:1. Average 362 bytes.
    pub fn csit_ipv6() -> Imix {
        Imix::simple([78, 570, 1518])
    }
    fn simple(sizes: [u32; 3]) -> Imix {
        let sequence = SIMPLE_ORDER.map(|i| FrameSize::from_bytes(sizes[i])).to_vec();
        Imix { sequence, mtu: None }
    }
    /// A mix with these weights, counted in frames, each size spread evenly over the sequence:
    /// at each place stands the size that is furthest behind its share, the earlier of equals.
    /// `None` where the weights have no frame or need a sequence of more than 99.
    pub fn interleaved(weights: &[(FrameSize, u32)]) -> Option<Imix> {
        let divisor = weights.iter().fold(0, |divisor, (_, weight)| gcd(divisor, *weight));
        let total = weights.iter().map(|(_, weight)| i64::from(*weight)).sum::<i64>()
            / i64::from(divisor.max(1));
        if total == 0 || total > MAX_SEQUENCE as i64 {
            return None;
        }
        let mut behind = vec![0; weights.len()];
        let mut sequence = Vec::new();
        for _ in 0..total {
            let mut chosen = 0;
            for (i, (_, weight)) in weights.iter().enumerate() {
                behind[i] += i64::from(weight / divisor);
                if behind[i] > behind[chosen] {
                    chosen = i;
                }
            }
            behind[chosen] -= total;
            sequence.push(weights[chosen].0);
        }
        Some(Imix { sequence, mtu: None })
    }
    /// The sizes in order; the stream repeats them.
    pub fn sequence(&self) -> &[FrameSize] {
        &self.sequence
    }
    /// The different sizes, smallest first, each with its number in the sequence.
    pub fn weights(&self) -> Vec<(FrameSize, u32)> {
        let mut counts = std::collections::BTreeMap::new();
        for size in &self.sequence {
            *counts.entry(*size).or_insert(0) += 1;
        }
        counts.into_iter().collect()
    }
    /// The text that reads back as this mix.
    pub fn text(&self) -> String {
        match self.letters() {
            Some(letters) => match self.mtu {
                Some(mtu) => format!("imix:{letters}={mtu}"),
                None => format!("imix:{letters}"),
            },
            None => format!("imix:{}", comma_separated(&self.sequence)),
        }
    }
    fn letters(&self) -> Option<String> {
        let letter = |size: &FrameSize| match self.mtu {
            Some(mtu) if mtu == *size => Some(MTU_LETTER),
            _ => GENOME.iter().find(|(_, bytes)| *bytes == size.bytes()).map(|(letter, _)| *letter),
        };
        self.sequence.iter().map(letter).collect()
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl fmt::Display for Imix {
    /// RFC 6985: `IMIX - aaafg`, or `CUSTOM IMIX - AAB (A = 64, B = 594)` with its table.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(letters) = self.letters() {
            write!(f, "IMIX - {letters}")?;
            return match self.mtu {
                Some(mtu) => write!(f, " ({MTU_LETTER} = {mtu})"),
                None => Ok(()),
            };
        }
        let table = self.weights();
        let letter = |size: &FrameSize| {
            let place = table.iter().position(|(other, _)| other == size).unwrap_or_default();
            char::from(b'A' + place as u8)
        };
        let letters: String = self.sequence.iter().map(letter).collect();
        let key: Vec<_> =
            table.iter().map(|(size, _)| format!("{} = {size}", letter(size))).collect();
        write!(f, "CUSTOM IMIX - {letters} ({})", key.join(", "))
    }
}

impl FromStr for Imix {
    type Err = SizePatternError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let fail = |why| SizePatternError::Imix { text: text.to_string(), why };
        let imix = match text.to_ascii_lowercase().as_str() {
            "imix" | "imix-a" => Imix::simple_a(),
            "imix-b" => Imix::simple_b(),
            "imix-csit-ipv6" => Imix::csit_ipv6(),
            lower => {
                let sequence = lower.strip_prefix("imix:").ok_or_else(|| {
                    fail("known are imix, imix-b, imix-csit-ipv6, and imix: with a sequence")
                })?;
                parse_sequence(sequence.trim(), &fail)?
            }
        };
        let sizes = imix.weights().len();
        if imix.sequence.is_empty() {
            return Err(fail("an empty sequence"));
        }
        if imix.sequence.len() > MAX_SEQUENCE {
            return Err(fail("more than 99 frames (RFC 6985 section 4)"));
        }
        if sizes > 26 {
            return Err(fail("more than 26 different sizes"));
        }
        Ok(imix)
    }
}

fn parse_sequence(
    text: &str,
    fail: &dyn Fn(&'static str) -> SizePatternError,
) -> Result<Imix, SizePatternError> {
    if text.contains('*') {
        let weight = |item: &str| {
            let (size, weight) = item.split_once('*').ok_or_else(|| {
                fail("a size without weight: write 64*7 for 7 frames of 64 bytes")
            })?;
            let weight = weight.trim().parse().map_err(|_| fail("a weight that is no number"))?;
            Ok((parse_size(size)?, weight))
        };
        let weights = text.split(',').map(weight).collect::<Result<Vec<_>, _>>()?;
        return Imix::interleaved(&weights)
            .ok_or_else(|| fail("weights must add up to 1 to 99 frames once reduced"));
    }
    if !text.starts_with(|first: char| first.is_ascii_alphabetic()) {
        let sequence = text.split(',').map(parse_size).collect::<Result<Vec<_>, _>>()?;
        return Ok(Imix { sequence, mtu: None });
    }
    let (letters, mtu) = match text.split_once('=') {
        Some((letters, mtu)) => (letters.trim_end(), Some(parse_size(mtu)?)),
        None => (text, None),
    };
    if mtu.is_some() != letters.contains(MTU_LETTER) {
        return Err(fail("the letter z and its size, as in imix:aaz=1400, go together"));
    }
    let size = |letter| match GENOME.iter().find(|(known, _)| *known == letter) {
        Some((_, bytes)) => Ok(FrameSize::from_bytes(*bytes)),
        None if letter == MTU_LETTER => Ok(mtu.expect("checked above")),
        None => Err(fail("letters run from a (64) to j (16000), and z (RFC 6985 section 4)")),
    };
    Ok(Imix { sequence: letters.chars().map(size).collect::<Result<_, _>>()?, mtu })
}

impl TryFrom<String> for Imix {
    type Error = SizePatternError;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}
impl From<Imix> for String {
    fn from(imix: Imix) -> String {
        imix.text()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::size::SizePattern;
    use proptest::prelude::*;

    fn imix(text: &str) -> Imix {
        text.parse().unwrap()
    }

    /// Averages: (7 x 64 + 4 x 594 + 1518) / 12 and so on.
    #[test]
    fn simple_imix_has_its_weights_name_and_average() {
        let average = |text: &str| text.parse::<SizePattern>().unwrap().average_bytes();
        assert_eq!(average("imix"), 4342.0 / 12.0);
        assert_eq!(average("imix-b"), 4246.0 / 12.0);
        assert_eq!(average("imix-csit-ipv6"), 362.0);
        let bytes = FrameSize::from_bytes;
        assert_eq!(imix("imix").weights(), [(bytes(64), 7), (bytes(594), 4), (bytes(1518), 1)]);
        let name = "CUSTOM IMIX - ABAABAABAABC (A = 64, B = 594, C = 1518)";
        assert_eq!(imix("imix").to_string(), name);
    }

    /// The letters of RFC 6985 section 4; seven of them are the sizes of RFC 2544 section 9.1.
    #[test]
    fn letters_of_rfc6985() {
        assert_eq!(imix("imix:abcdefg").sequence(), FrameSize::RFC2544_ETHERNET);
        assert_eq!(imix("IMIX:AAAFG").to_string(), "IMIX - aaafg");
        assert_eq!(imix("imix:hij").weights().len(), 3);
        assert_eq!(imix("imix:aaz=1400").to_string(), "IMIX - aaz (z = 1400)");
        assert_eq!(imix("imix:az=1518").to_string(), "IMIX - az (z = 1518)");
    }

    #[test]
    fn weights_are_reduced_and_spread() {
        let sequence: Vec<u32> =
            imix("imix:64*6,128*2,256*2").sequence().iter().map(|size| size.bytes()).collect();
        assert_eq!(sequence, [64, 128, 64, 256, 64]);
    }

    #[test]
    fn texts_that_are_no_imix_say_why() {
        for (text, part) in [
            ("imix:", "no frame size"),
            ("imix:k", "letters run"),
            ("imix:az", "go together"),
            ("imix:a=64", "go together"),
            ("imix:64*0", "weights must add up"),
            ("imix:64*1,128", "without weight"),
            ("imix:64*x", "no number"),
            ("imix-c", "known are"),
            ("imix:63", "between 64"),
        ] {
            let error = text.parse::<Imix>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
        let long = format!("imix:{}", "a".repeat(100));
        assert!(long.parse::<Imix>().unwrap_err().to_string().contains("99 frames"));
    }

    proptest! {
        #[test]
        fn the_text_form_reads_back(sizes in proptest::collection::vec(64u32..=16_000, 1..26)) {
            let sequence = sizes.into_iter().map(FrameSize::from_bytes).collect();
            let imix = Imix { sequence, mtu: None };
            prop_assert_eq!(imix.text().parse(), Ok(imix));
        }

        #[test]
        fn an_interleaved_mix_keeps_its_weights_and_strays_by_less_than_two_frames(
            weights in proptest::collection::vec(1u32..8, 1..6)
        ) {
            let sizes = (0u32..).map(|i| FrameSize::from_bytes(64 + i));
            let weights: Vec<_> = sizes.zip(weights).collect();
            let imix = Imix::interleaved(&weights).unwrap();
            let total: i64 = weights.iter().map(|(_, weight)| i64::from(*weight)).sum();
            for (size, weight) in weights {
                let mut count = 0;
                for (place, other) in (1i64..).zip(imix.sequence()) {
                    count += i64::from(*other == size);
                    let strays = (count * total - place * i64::from(weight)).abs();
                    prop_assert!(strays < 2 * total, "{} frames of {} in {}", count, size, place);
                }
                let len = imix.sequence().len() as i64;
                prop_assert_eq!(count * total, len * i64::from(weight));
            }
        }

        #[test]
        fn no_text_makes_the_parser_panic(text: String) {
            let _ = format!("imix:{text}").parse::<Imix>();
        }
    }
}
