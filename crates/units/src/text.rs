//! Quantities as people write them, on a command line or in a configuration file.

use crate::{Duration, FrameRate, LineRate};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;

/// A time: `60s`, `30sec`, `500ms`, `2min`, `20us`, `9600ns`; a bare number is seconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Span(pub Duration);

/// A rate of the medium or of a limit: `10G`, `2.5Gbit`, `100Mbit/s`, `64kbps`, `9600bit/s`. A bare number
/// is refused: it may be meant in bits, megabits or frames a second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BitRate(pub u64);

/// A load: frames a second (`1Mpps`, `1.5kpps`), bits a second on the medium with preamble and gap
/// (`500Mbit/s`, `10G`), or a share of the medium (`40%`). A bare number is refused: nothing says which.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Load {
    /// Frames a second.
    Frames(FrameRate),
    /// On the medium.
    Bits(BitRate),
    /// Of what the medium takes.
    Share(Share),
}

/// A share of a whole: `1%`, `0.01`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Share(pub f64);

/// Longer names first, so that the `s` of `ms` is not taken for seconds.
const SPAN_UNITS: [(&str, f64); 9] = [
    ("sec", 1.0),
    ("ps", 1e-12),
    ("ns", 1e-9),
    ("us", 1e-6),
    ("ms", 1e-3),
    ("min", 60.0),
    ("m", 60.0),
    ("h", 3600.0),
    ("s", 1.0),
];
/// Longer names first.
const BIT_UNITS: [&str; 4] = ["bit/s", "b/s", "bps", "bit"];
const FRAME_UNITS: [&str; 5] = ["frames/s", "pkt/s", "pps", "fps", "f/s"];
const RATE_UNITS: [(&str, f64); 4] = [("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12)];

/// What is wrong with a quantity that has to be above 0 and begins with a number that is not.
fn not_above_zero(text: &str, what: &str, examples: &str) -> Result<(), String> {
    let is_of_number = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.');
    let rest = text.trim_start_matches(is_of_number);
    let number = text[..text.len() - rest.len()].parse::<f64>();
    match number {
        Ok(number) if number < 0.0 => {
            Err(format!("`{text}` is below 0, and {what} is above it; write {examples}"))
        }
        Ok(0.0) => Err(format!("`{text}` is 0, and {what} is above it; write {examples}")),
        _ => Ok(()),
    }
}

impl FromStr for Span {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (number, unit) = SPAN_UNITS
            .iter()
            .find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, *seconds)))
            .unwrap_or((text, 1.0));
        match number.trim().parse::<f64>() {
            Ok(number) if number >= 0.0 && number * unit < 1e6 => {
                Ok(Span(Duration::from_secs_f64(number * unit)))
            }
            Ok(number) if number < 0.0 => {
                Err(format!("`{text}` is below 0, and no time is; write 60s, 500ms or 2min"))
            }
            _ => Err(format!("`{text}` is no time; write 60s, 500ms or 2min")),
        }
    }
}

impl fmt::Display for Span {
    /// In the largest unit of which it is a whole number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ps = self.0.as_ps();
        let units =
            [(1_000_000_000_000, "s"), (1_000_000_000, "ms"), (1_000_000, "us"), (1_000, "ns")];
        match units.into_iter().find(|(unit_ps, _)| ps.is_multiple_of(*unit_ps)) {
            Some((unit_ps, unit)) => write!(f, "{}{unit}", ps / unit_ps),
            None => write!(f, "{ps}ps"),
        }
    }
}

impl FromStr for BitRate {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        not_above_zero(text.trim(), "a rate", "10G, 100Mbit/s or 64k (bits a second)")?;
        if let Ok(number) = text.trim().parse::<f64>() {
            return Err(format!(
                "`{text}` has no unit; write {number}G, {number}M, {number}k or {number}bit/s"
            ));
        }
        let bare = BIT_UNITS.iter().find_map(|unit| text.trim().strip_suffix(unit));
        match prefixed(bare.unwrap_or(text.trim())) {
            Some(bps) if (1.0..=1e13).contains(&bps) => Ok(BitRate(bps.round() as u64)),
            _ => Err(format!("`{text}` is no rate; write 10G, 100Mbit/s or 64k (bits a second)")),
        }
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, factor) in [("G", 1_000_000_000), ("M", 1_000_000), ("k", 1_000)] {
            if self.0.is_multiple_of(factor) {
                return write!(f, "{}{unit}", self.0 / factor);
            }
        }
        write!(f, "{}bit/s", self.0)
    }
}

impl BitRate {
    /// As the rate of a medium.
    pub fn line_rate(self) -> LineRate {
        LineRate::from_bps(self.0)
    }
}

/// A number with or without a prefix.
fn prefixed(text: &str) -> Option<f64> {
    let (number, factor) = RATE_UNITS
        .iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, *factor)))
        .unwrap_or((text, 1.0));
    let number = number.trim().parse::<f64>().ok()?;
    number.is_finite().then_some(number * factor)
}

impl FromStr for Load {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let no_load = || format!("`{text}` is no load; write 1Mpps, 500Mbit/s, 10G or 40%");
        not_above_zero(text, "a load", "1Mpps, 500Mbit/s, 10G or 40%")?;
        if text.parse::<f64>().is_ok() {
            return Err(format!("`{text}` is ambiguous; write {text}pps, {text}Mbit/s or {text}%"));
        }
        if text.ends_with('%') {
            let share: Share = text.parse().map_err(|_| no_load())?;
            return Some(Load::Share(share)).filter(|_| share.0 > 0.0).ok_or_else(no_load);
        }
        let frames = FRAME_UNITS.iter().find_map(|unit| text.strip_suffix(unit));
        match frames.map(|number| prefixed(number.trim())) {
            None => text.parse().map(Load::Bits).map_err(|_| no_load()),
            Some(Some(fps)) if (1e-3..=1e12).contains(&fps) => {
                Ok(Load::Frames(FrameRate::from_fps_f64(fps)))
            }
            Some(_) => Err(no_load()),
        }
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Load::Frames(rate) => write!(f, "{}", Pps(rate.fps())),
            Load::Bits(rate) => write!(f, "{rate}"),
            Load::Share(share) => write!(f, "{}%", share.0 * 100.0),
        }
    }
}

/// Frames a second as people write them: `1.02 Mpps`, `14.88 kpps`, `7 pps`.
pub struct Pps(pub f64);

impl fmt::Display for Pps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefixes = [(1e9, "G"), (1e6, "M"), (1e3, "k")];
        let found = prefixes.into_iter().find(|(factor, _)| self.0 >= *factor * 0.999_95);
        let (factor, prefix) = found.unwrap_or((1.0, ""));
        let digits = format!("{:.4}", self.0 / factor);
        write!(f, "{} {prefix}pps", digits.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// Three digits and a unit, the first of `units` (factor and name, the largest first) of which there is one, else
/// the last: `1.13` and `Mpps`, `31.0` and `us`.
pub fn three_digits<'a>(value: f64, units: &[(f64, &'a str)]) -> (String, &'a str) {
    let found = units.iter().find(|(factor, _)| value >= factor * 0.9995).or(units.last());
    let (factor, unit) = found.copied().unwrap_or((1.0, ""));
    let value = value / factor;
    let digits = match value {
        _ if value >= 99.95 => 0,
        _ if value >= 9.995 => 1,
        _ => 2,
    };
    (format!("{value:.digits$}"), unit)
}

impl FromStr for Share {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (number, whole) = match text.strip_suffix('%') {
            Some(number) => (number, 100.0),
            None => (text, 1.0),
        };
        // Divided, so that 95 % is the same as 0.95.
        match number.trim().parse::<f64>() {
            Ok(number) if (0.0..=1.0).contains(&(number / whole)) => Ok(Share(number / whole)),
            _ => Err(format!("`{text}` is no share; write 1% or 0.01")),
        }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// In a file a value is a string, or a bare number where that has a meaning.
macro_rules! as_text_or_number {
    ($($value:ty),*) => {$(
        impl Serialize for $value {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let text = self.to_string();
                match text.parse::<i64>() {
                    Ok(number) => serializer.serialize_i64(number),
                    Err(_) => serializer.serialize_str(&text),
                }
            }
        }
        impl<'de> Deserialize<'de> for $value {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(TextOrNumber)?.parse().map_err(de::Error::custom)
            }
        }
    )*};
}
as_text_or_number!(Span, BitRate, Share);

/// Reads a value that is written as a string, or as a bare number where that has a meaning.
pub struct TextOrNumber;

impl de::Visitor<'_> for TextOrNumber {
    type Value = String;
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a string or a number")
    }
    fn visit_str<E>(self, text: &str) -> Result<String, E> {
        Ok(text.into())
    }
    fn visit_i64<E>(self, number: i64) -> Result<String, E> {
        Ok(number.to_string())
    }
    fn visit_u64<E>(self, number: u64) -> Result<String, E> {
        Ok(number.to_string())
    }
    fn visit_f64<E>(self, number: f64) -> Result<String, E> {
        Ok(number.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_their_units() {
        assert_eq!("500ms".parse::<Span>().unwrap().0, Duration::from_ms(500));
        for text in ["2m", "2min", "120sec", "120"] {
            assert_eq!(text.parse::<Span>().unwrap().0, Duration::from_secs(120), "{text}");
        }
        assert_eq!("0.5".parse::<Span>().unwrap().to_string(), "500ms");
        assert!("soon".parse::<Span>().unwrap_err().contains("60s"));
        assert!("-1s".parse::<Span>().is_err());
    }

    #[test]
    fn rates_survive_being_printed() {
        for text in ["10G", "2500M", "64k", "12345bit/s"] {
            assert_eq!(text.parse::<BitRate>().unwrap().to_string(), text);
        }
        assert_eq!("2.5G".parse::<BitRate>().unwrap().0, 2_500_000_000);
        for (text, bps) in [("10Gbit", 10_000_000_000), ("1.5Mbps", 1_500_000), ("9 kb/s", 9_000)] {
            assert_eq!(text.parse::<BitRate>().unwrap().0, bps, "{text}");
        }
        assert!("0k".parse::<BitRate>().is_err());
        let ambiguous = "10".parse::<BitRate>().unwrap_err();
        assert!(ambiguous.contains("10G, 10M"), "{ambiguous}");
    }

    #[test]
    fn loads_are_frames_bits_or_a_share() {
        let load = |text: &str| text.parse::<Load>().unwrap();
        let frames = |fps| Load::Frames(FrameRate::from_fps(fps));
        assert_eq!(load("1.5Mpps"), frames(1_500_000));
        assert_eq!([load("7 pps"), load("2kfps"), load("3 frames/s")], [7, 2_000, 3].map(frames));
        assert_eq!(load("500Mbit/s"), Load::Bits(BitRate(500_000_000)));
        assert_eq!(load("10G"), Load::Bits(BitRate(10_000_000_000)));
        assert_eq!(load("40%"), Load::Share(Share(0.4)));
        assert!("10".parse::<Load>().unwrap_err().contains("10pps, 10Mbit/s or 10%"));
        for text in ["0%", "101%", "0pps", "-1Mpps", "fast", "Mpps", "infpps", ""] {
            assert!(text.parse::<Load>().unwrap_err().contains("1Mpps"), "{text}");
        }
        assert_eq!(load("1.5Mpps").to_string(), "1.5 Mpps");
        assert_eq!(load("14880pps").to_string(), "14.88 kpps");
        assert_eq!(load("999999pps").to_string(), "1 Mpps");
    }

    #[test]
    fn what_is_not_above_zero_is_named_so() {
        let load = |text: &str| text.parse::<Load>().unwrap_err();
        assert!(
            load("-5pps").starts_with("`-5pps` is below 0, and a load is above it; write 1Mpps")
        );
        for text in ["0", "0pps", "0%", "0G", "-0.5"] {
            assert!(load(text).contains("0, and a load is above it"), "{text}: {}", load(text));
        }
        for text in ["0", "0G", "-3", "-3M"] {
            let error = text.parse::<BitRate>().unwrap_err();
            assert!(error.contains("0, and a rate is above it; write 10G"), "{error}");
        }
        let error = "-5s".parse::<Span>().unwrap_err();
        assert!(error.contains("below 0, and no time is; write 60s"), "{error}");
        assert!("0.5pps".parse::<Load>().is_ok() && "0s".parse::<Span>().is_ok());
    }

    #[test]
    fn times_survive_being_printed() {
        for text in ["9600ns", "67200ns", "1ps", "1500us", "60s", "0s"] {
            assert_eq!(text.parse::<Span>().unwrap().to_string(), text);
        }
        assert_eq!("1.5us".parse::<Span>().unwrap().to_string(), "1500ns");
    }

    #[test]
    fn shares_are_percent_or_parts() {
        assert_eq!("1%".parse::<Share>().unwrap(), Share(0.01));
        assert_eq!("95%".parse::<Share>().unwrap(), Share(0.95));
        assert_eq!("0.5".parse::<Share>().unwrap(), Share(0.5));
        assert!("101%".parse::<Share>().is_err());
    }
}
