//! Values of options, written alike on the command line and in a configuration file.

use method::GoalConfig;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;
use units::{Duration, LineRate};
use wire::size::SizePattern;

/// A time: `60s`, `500ms`, `2m`, `20us`; a bare number is seconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span(pub Duration);

/// A rate of the medium or of a limit: `10G`, `2.5G`, `100M`, `64k`; a bare number is bits a second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BitRate(pub u64);

/// A share of a whole: `1%`, `0.01`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Share(pub f64);

/// A goal of MLRsearch: `loss=0.5%,exceed=50%,final=1s`; a flag only.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Goal(pub GoalConfig);

const SPAN_UNITS: [(&str, f64); 6] =
    [("us", 1e-6), ("ms", 1e-3), ("min", 60.0), ("m", 60.0), ("h", 3600.0), ("s", 1.0)];
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
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = self.0.as_ps() / 1_000_000;
        match us {
            us if us % 1_000_000 == 0 => write!(f, "{}s", us / 1_000_000),
            us if us % 1_000 == 0 => write!(f, "{}ms", us / 1_000),
            us => write!(f, "{us}us"),
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
        let (number, unit) = match text.strip_suffix('%') {
            Some(number) => (number, 0.01),
            None => (text, 1.0),
        };
        match number.trim().parse::<f64>() {
            Ok(number) if (0.0..=1.0).contains(&(number * unit)) => Ok(Share(number * unit)),
            _ => Err(format!("`{text}` is no share; write 1% or 0.01")),
        }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl FromStr for Goal {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let mut goal = GoalConfig::default();
        for part in text.split(',').filter(|part| !part.trim().is_empty()) {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let percent = || value.trim().parse::<Share>().map(|Share(share)| share * 100.0);
            let seconds = || value.trim().parse::<Span>().map(|span| span.0.as_secs_f64());
            match key.trim() {
                "loss" => goal.loss_percent = percent()?,
                "exceed" => goal.exceed_percent = percent()?,
                "width" => goal.width_percent = Some(percent()?),
                "initial" => goal.initial_trial_s = Some(seconds()?),
                "final" => goal.final_trial_s = Some(seconds()?),
                "sum" => goal.duration_sum_s = Some(seconds()?),
                other => {
                    return Err(format!(
                        "a goal has no `{other}`; write \
                         loss=0.5%,exceed=50%,initial=1s,final=1s,sum=21s,width=0.5%"
                    ));
                }
            }
        }
        Ok(Goal(goal))
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

struct TextOrNumber;

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

/// Frame sizes: each a size, a sweep, a list in turn, or an IMIX; the suite is run for each.
///
/// As a text: separated by commas, or by semicolons where a size itself has commas.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sizes(pub Vec<SizePattern>);

impl FromStr for Sizes {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let parse =
            |text: &str| text.parse().map_err(|e: wire::size::SizePatternError| e.to_string());
        let parts: Vec<&str> = match text {
            text if text.contains(';') => text.split(';').collect(),
            text if text.starts_with("imix:") || text.starts_with("dist:") => vec![text],
            text => text.split(',').collect(),
        };
        Ok(Sizes(parts.into_iter().map(parse).collect::<Result<_, _>>()?))
    }
}

impl Serialize for Sizes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(untagged)]
        enum Element {
            Bytes(u32),
            Text(String),
        }
        serializer.collect_seq(self.0.iter().map(|size| match size {
            SizePattern::Fixed(size) => Element::Bytes(size.bytes()),
            pattern => Element::Text(pattern.clone().into()),
        }))
    }
}

impl<'de> Deserialize<'de> for Sizes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> de::Visitor<'de> for List {
            type Value = String;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("frame sizes, such as [64, 512, \"imix\"] or \"64..1518/100\"")
            }
            fn visit_str<E>(self, text: &str) -> Result<String, E> {
                Ok(text.into())
            }
            fn visit_i64<E>(self, bytes: i64) -> Result<String, E> {
                Ok(bytes.to_string())
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> Result<String, A::Error> {
                let mut texts = vec![];
                while let Some(Item(text)) = items.next_element()? {
                    texts.push(text);
                }
                Ok(texts.join(";"))
            }
        }
        deserializer.deserialize_any(List)?.parse().map_err(de::Error::custom)
    }
}

/// One element of a list of sizes: a number, or text that may be a sweep.
struct Item(String);

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Item(deserializer.deserialize_any(TextOrNumber)?))
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
    fn sizes_are_separated_by_commas_unless_they_have_some() {
        let count = |text: &str| text.parse::<Sizes>().unwrap().0.len();
        assert_eq!(count("64,512,imix"), 3);
        assert_eq!(count("dist:64*7,1518*3"), 1);
        assert_eq!(count("64;64,128;imix:64,594"), 3);
        assert_eq!(count("imix:64,594,64"), 1);
        assert!("63".parse::<Sizes>().unwrap_err().contains("64"));
        assert!("64,big".parse::<Sizes>().unwrap_err().contains("`big`"));
    }

    #[test]
    fn goals_leave_out_what_is_rfc_2544s() {
        let Goal(goal) = "loss=0.5%, exceed=50%,final=1s,sum=21s".parse().unwrap();
        assert_eq!((goal.loss_percent, goal.exceed_percent), (0.5, 50.0));
        assert_eq!((goal.final_trial_s, goal.duration_sum_s), (Some(1.0), Some(21.0)));
        assert_eq!((goal.initial_trial_s, goal.width_percent), (None, None));
        assert!("los=1%".parse::<Goal>().unwrap_err().contains("loss=0.5%"));
        assert!("loss=much".parse::<Goal>().unwrap_err().contains("1%"));
    }

    #[test]
    fn shares_are_percent_or_parts() {
        assert_eq!("1%".parse::<Share>().unwrap(), Share(0.01));
        assert_eq!("0.5".parse::<Share>().unwrap(), Share(0.5));
        assert!("101%".parse::<Share>().is_err());
    }
}
