//! Quantities as people write them, on a command line or in a configuration file.

use crate::{Duration, LineRate};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;

/// A time: `60s`, `500ms`, `2m`, `20us`, `9600ns`; a bare number is seconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Span(pub Duration);

/// A rate of the medium or of a limit: `10G`, `2.5G`, `100M`, `64k`; a bare number is bits a second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BitRate(pub u64);

/// A share of a whole: `1%`, `0.01`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Share(pub f64);

/// Longer names first, so that the `s` of `ms` is not taken for seconds.
const SPAN_UNITS: [(&str, f64); 8] = [
    ("ps", 1e-12),
    ("ns", 1e-9),
    ("us", 1e-6),
    ("ms", 1e-3),
    ("min", 60.0),
    ("m", 60.0),
    ("h", 3600.0),
    ("s", 1.0),
];
const RATE_UNITS: [(&str, f64); 4] = [("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12)];

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
            _ => Err(format!("`{text}` is no time; write 60s, 500ms or 2m")),
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
        let bare = text.trim_end_matches("bit/s").trim_end_matches("bps").trim();
        let (number, unit) = RATE_UNITS
            .iter()
            .find_map(|(unit, factor)| Some((bare.strip_suffix(unit)?, *factor)))
            .unwrap_or((bare, 1.0));
        match number.trim().parse::<f64>() {
            Ok(number) if number * unit >= 1.0 && number * unit <= 1e13 => {
                Ok(BitRate((number * unit).round() as u64))
            }
            _ => Err(format!("`{text}` is no rate; write 10G, 100M or 64k (bits a second)")),
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
        write!(f, "{}", self.0)
    }
}

impl BitRate {
    /// As the rate of a medium.
    pub fn line_rate(self) -> LineRate {
        LineRate::from_bps(self.0)
    }
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
        assert_eq!("2m".parse::<Span>().unwrap().0, Duration::from_secs(120));
        assert_eq!("0.5".parse::<Span>().unwrap().to_string(), "500ms");
        assert!("soon".parse::<Span>().unwrap_err().contains("60s"));
        assert!("-1s".parse::<Span>().is_err());
    }

    #[test]
    fn rates_survive_being_printed() {
        for text in ["10G", "2500M", "64k", "12345"] {
            assert_eq!(text.parse::<BitRate>().unwrap().to_string(), text);
        }
        assert_eq!("2.5G".parse::<BitRate>().unwrap().0, 2_500_000_000);
        assert!("0".parse::<BitRate>().is_err());
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
