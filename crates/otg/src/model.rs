//! The types of the specification, generated from it when this crate is built, and the one type of a pattern.

use serde::{Deserialize, Serialize};
use serde_json::Value;

include!(concat!(env!("OUT_DIR"), "/model.rs"));

/// Values that a header field takes in turn: `PatternFlow...` of the specification.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Pattern {
    /// Which of the others counts.
    pub choice: String,
    /// One value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// A list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<Value>>,
    /// Counting up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub increment: Option<Counter>,
    /// Counting down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decrement: Option<Counter>,
    /// What the sender chooses; the value is ignored, as the specification has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto: Option<Value>,
    /// Drawn at random from a seed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub random: Option<RandomValues>,
    /// A checksum that is `good` or `bad`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generated: Option<String>,
    /// A checksum of one's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom: Option<Value>,
}

/// `start`, `start + step`, ...: `count` values.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Counter {
    /// The first.
    pub start: Value,
    /// From one to the next.
    pub step: Value,
    /// How many.
    pub count: u32,
}

/// `count` values from `min` to `max`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RandomValues {
    /// The least.
    pub min: Value,
    /// The greatest.
    pub max: Value,
    /// Of the generator.
    pub seed: u32,
    /// How many.
    pub count: u32,
}

/// A header, as the patterns of its fields.
pub trait Fields {
    /// Each field by its name; none where the request leaves it to the sender.
    fn fields(&self) -> Vec<(&'static str, Option<&Pattern>)>;
}

/// 64-bit integers are text in JSON, since many readers keep 53 bits of a number.
mod u64_of_text {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer};
    use serde_json::Value;

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        let value = Value::deserialize(from)?;
        super::as_u64(&value).ok_or_else(|| D::Error::custom("no integer of 64 bits"))
    }
}

/// The same where there may be none.
mod optional_u64 {
    use serde::{Deserializer, Serializer};

    pub fn serialize<S: Serializer>(number: &Option<u64>, to: S) -> Result<S::Ok, S::Error> {
        match number {
            Some(number) => to.collect_str(number),
            None => to.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
        super::u64_of_text::deserialize(from).map(Some)
    }
}

/// A number, or the text of one.
pub(crate) fn as_u64(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}
