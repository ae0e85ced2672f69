//! What fills a frame between its headers and its signature.

use super::Refusal;
use crate::model::{FlowPayload, FlowPayloadChoice};

/// Bytes of a frame behind its headers.
#[derive(Clone, PartialEq, Debug)]
pub enum Payload {
    /// These, over and over or once; behind them zeros.
    Fixed {
        /// At least one.
        pattern: Vec<u8>,
        /// Whether they begin anew.
        repeats: bool,
    },
    /// Numbers of so many bytes, counting.
    Counting {
        /// One byte or two.
        bytes: usize,
        /// From 0 up, or from the greatest down.
        up: bool,
    },
}

impl Payload {
    /// Of a flow's payload at `path`.
    ///
    /// # Errors
    /// Where the pattern is no whole number of bytes.
    pub fn of(payload: &FlowPayload, path: &str) -> Result<Payload, Refusal> {
        let counting = |bytes, up| Ok(Payload::Counting { bytes, up });
        match payload.choice {
            FlowPayloadChoice::IncrementByte => counting(1, true),
            FlowPayloadChoice::DecrementByte => counting(1, false),
            FlowPayloadChoice::IncrementWord => counting(2, true),
            FlowPayloadChoice::DecrementWord => counting(2, false),
            FlowPayloadChoice::Fixed => {
                let own = payload.fixed.clone().unwrap_or_default();
                let pattern = bytes_of(&own.pattern).ok_or_else(|| {
                    let what = "must be pairs of hexadecimal digits, as in dead beef".into();
                    Refusal::new(&format!("{path}.fixed.pattern"), what)
                })?;
                Ok(Payload::Fixed { pattern, repeats: own.repeat })
            }
        }
    }

    /// Fills the part of a frame behind its headers.
    pub fn fill(&self, part: &mut [u8]) {
        match self {
            Payload::Fixed { pattern, repeats } => {
                let rounds = if *repeats { usize::MAX } else { 1 };
                part.chunks_mut(pattern.len()).take(rounds).for_each(|piece| {
                    piece.copy_from_slice(&pattern[..piece.len()]);
                });
            }
            Payload::Counting { bytes, up } => {
                for (number, piece) in part.chunks_mut(*bytes).enumerate() {
                    let number = number as u16;
                    let number = if *up { number } else { u16::MAX - number };
                    let written = number.to_be_bytes();
                    piece.copy_from_slice(&written[2 - *bytes..][..piece.len()]);
                }
            }
        }
    }
}

/// Pairs of hexadecimal digits, with `0x` before them or without, blanks and colons between them.
pub fn bytes_of(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("0x").or(text.strip_prefix("0X")).unwrap_or(text);
    let digits: Vec<u8> = digits.bytes().filter(|byte| ![b' ', b':'].contains(byte)).collect();
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let pairs = digits.chunks(2).map(|pair| Some(digit(pair[0])? << 4 | digit(*pair.get(1)?)?));
    pairs.collect::<Option<Vec<u8>>>().filter(|bytes| !bytes.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn filled(payload: Value, bytes: usize) -> Vec<u8> {
        let checked = crate::schema::check("FlowPayload", payload).unwrap().value;
        let payload = Payload::of(&serde_json::from_value(checked).unwrap(), "payload").unwrap();
        let mut part = vec![0; bytes];
        payload.fill(&mut part);
        part
    }

    #[test]
    fn each_kind_of_payload_fills_what_is_behind_the_headers() {
        let fixed = |repeat: bool| json!({"fixed": {"pattern": "deadbe", "repeat": repeat}});
        assert_eq!(filled(fixed(true), 7), [0xde, 0xad, 0xbe, 0xde, 0xad, 0xbe, 0xde]);
        assert_eq!(filled(fixed(false), 5), [0xde, 0xad, 0xbe, 0, 0]);
        assert_eq!(filled(json!({}), 3), [0; 3]);
        let counting = |choice: &str, bytes| filled(json!({"choice": choice}), bytes);
        assert_eq!(counting("increment_byte", 258)[254..], [254, 255, 0, 1]);
        assert_eq!(counting("decrement_byte", 3), [255, 254, 253]);
        assert_eq!(counting("increment_word", 5), [0, 0, 0, 1, 0]);
        assert_eq!(counting("decrement_word", 4), [0xff, 0xff, 0xff, 0xfe]);
    }
}
