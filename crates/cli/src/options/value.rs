//! Values of options, written alike on the command line and in a configuration file.

use method::GoalConfig;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;
use traffic::size::SizePattern;
use units::text::TextOrNumber;
pub use units::text::{BitRate, Share, Span};

/// A goal of MLRsearch: `loss=0.5%,exceed=50%,final=1s`; a flag only.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Goal(pub GoalConfig);

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
                        "a goal has no key `{other}`; write \
                         loss=0.5%,exceed=50%,initial=1s,final=1s,sum=21s,width=0.5%"
                    ));
                }
            }
        }
        Ok(Goal(goal))
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
            |text: &str| text.parse().map_err(|e: traffic::size::SizePatternError| e.to_string());
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
}
