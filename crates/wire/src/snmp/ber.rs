//! The few BER encodings (ITU-T X.690) that SNMP's messages need.

use super::{Oid, Value};
use crate::DecodeError;

pub const INTEGER: u8 = 0x02;
pub const OCTET_STRING: u8 = 0x04;
const NULL: u8 = 0x05;
const OBJECT_IDENTIFIER: u8 = 0x06;
pub const SEQUENCE: u8 = 0x30;
const COUNTER32: u8 = 0x41;
const TIME_TICKS: u8 = 0x43;
const NO_SUCH_OBJECT: u8 = 0x80;
const NO_SUCH_INSTANCE: u8 = 0x81;
pub const GET_REQUEST: u8 = 0xa0;
pub const GET_NEXT_REQUEST: u8 = 0xa1;
pub const RESPONSE: u8 = 0xa2;
pub const SET_REQUEST: u8 = 0xa3;

const WHAT: &str = "BER element";

/// Takes elements off the front of some bytes.
pub struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes }
    }
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
    pub fn rest(&self) -> &'a [u8] {
        self.bytes
    }
    /// The next element's tag and contents.
    pub fn element(&mut self) -> Result<(u8, &'a [u8]), DecodeError> {
        let [tag, first, rest @ ..] = self.bytes else {
            return Err(DecodeError::Truncated { what: WHAT, needed: 2, got: self.bytes.len() });
        };
        let (len, rest) = match first {
            0..=0x7f => (usize::from(*first), rest),
            0x81..=0x84 => long_length(usize::from(first & 0x7f), rest)?,
            _ => return Err(DecodeError::malformed(WHAT, "a length that is not definite")),
        };
        if rest.len() < len {
            return Err(DecodeError::Truncated { what: WHAT, needed: len, got: rest.len() });
        }
        let (contents, rest) = rest.split_at(len);
        self.bytes = rest;
        Ok((*tag, contents))
    }
    /// The contents of the next element, which must have this tag.
    pub fn expect(&mut self, tag: u8) -> Result<&'a [u8], DecodeError> {
        match self.element()? {
            (got, contents) if got == tag => Ok(contents),
            _ => Err(DecodeError::malformed(WHAT, "not of the type that belongs here")),
        }
    }
    /// A reader of the next element's contents, which must have this tag.
    pub fn sequence(&mut self, tag: u8) -> Result<Reader<'a>, DecodeError> {
        Ok(Reader::new(self.expect(tag)?))
    }
    pub fn integer(&mut self) -> Result<i64, DecodeError> {
        signed(self.expect(INTEGER)?)
    }
    pub fn int32(&mut self) -> Result<i32, DecodeError> {
        let value = self.integer()?;
        i32::try_from(value)
            .map_err(|_| DecodeError::malformed(WHAT, "an integer of more than 32 bits"))
    }
    pub fn oid(&mut self) -> Result<Oid, DecodeError> {
        decode_oid(self.expect(OBJECT_IDENTIFIER)?)
    }
    pub fn value(&mut self) -> Result<Value, DecodeError> {
        let (tag, contents) = self.element()?;
        Ok(match tag {
            NULL => Value::Null,
            INTEGER => Value::Integer(signed(contents)?),
            COUNTER32 => Value::Counter32(unsigned32(contents)?),
            TIME_TICKS => Value::TimeTicks(unsigned32(contents)?),
            NO_SUCH_OBJECT => Value::NoSuchObject,
            NO_SUCH_INSTANCE => Value::NoSuchInstance,
            other => Value::Other(other, contents.to_vec()),
        })
    }
}

/// A length of `octets` octets, which the caller keeps to at most 4.
fn long_length(octets: usize, bytes: &[u8]) -> Result<(usize, &[u8]), DecodeError> {
    if bytes.len() < octets {
        return Err(DecodeError::Truncated { what: WHAT, needed: octets, got: bytes.len() });
    }
    let (length, rest) = bytes.split_at(octets);
    Ok((length.iter().fold(0, |length, octet| length << 8 | usize::from(*octet)), rest))
}

/// A two's complement integer of up to 8 octets.
fn signed(contents: &[u8]) -> Result<i64, DecodeError> {
    if !(1..=8).contains(&contents.len()) {
        return Err(DecodeError::malformed(WHAT, "an integer of no or more than 8 octets"));
    }
    let sign = if contents[0] & 0x80 != 0 { -1 } else { 0 };
    Ok(contents.iter().fold(sign, |value, octet| value << 8 | i64::from(*octet)))
}

fn unsigned32(contents: &[u8]) -> Result<u32, DecodeError> {
    u32::try_from(signed(contents)?)
        .map_err(|_| DecodeError::malformed(WHAT, "a counter outside 0 to 2^32 - 1"))
}

fn decode_oid(contents: &[u8]) -> Result<Oid, DecodeError> {
    let fault = |why| DecodeError::malformed("object identifier", why);
    let mut numbers = Vec::new();
    let mut number = 0u32;
    for octet in contents {
        number = number.checked_mul(128).ok_or(fault("an arc of more than 32 bits"))?
            | u32::from(octet & 0x7f);
        if octet & 0x80 == 0 {
            numbers.push(number);
            number = 0;
        }
    }
    if contents.last().is_none_or(|last| last & 0x80 != 0) {
        return Err(fault("it is empty, or its last arc is cut short"));
    }
    // X.690 section 8.19.4: the first number holds two arcs, 40 times the first and the second.
    let first = (numbers[0] / 40).min(2);
    let second = numbers[0] - 40 * first;
    Ok(Oid([&[first, second], &numbers[1..]].concat()))
}

/// One element.
pub fn element(tag: u8, contents: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    match contents.len() {
        len @ 0..0x80 => bytes.push(len as u8),
        len => {
            let octets = (len as u32).to_be_bytes();
            let leading = octets.iter().take_while(|octet| **octet == 0).count();
            bytes.push(0x80 | (4 - leading) as u8);
            bytes.extend_from_slice(&octets[leading..]);
        }
    }
    bytes.extend_from_slice(contents);
    bytes
}
/// A sequence of ready elements.
pub fn sequence(elements: &[Vec<u8>]) -> Vec<u8> {
    element(SEQUENCE, &elements.concat())
}
pub fn integer(value: i64) -> Vec<u8> {
    element(INTEGER, &minimal(value))
}
/// The fewest octets that hold the number and its sign (X.690 section 8.3.2).
fn minimal(value: i64) -> Vec<u8> {
    let octets = value.to_be_bytes();
    let redundant = octets.windows(2).take_while(|pair| {
        let sign = pair[1] & 0x80 != 0;
        (pair[0] == 0 && !sign) || (pair[0] == 0xff && sign)
    });
    octets[redundant.count()..].to_vec()
}
pub fn oid(oid: &Oid) -> Vec<u8> {
    let arc = |at: usize| oid.0.get(at).copied().unwrap_or(0);
    let mut contents = base128(arc(0).saturating_mul(40).saturating_add(arc(1)));
    contents.extend(oid.0.iter().skip(2).flat_map(|arc| base128(*arc)));
    element(OBJECT_IDENTIFIER, &contents)
}
/// Seven bits an octet, all but the last marked.
fn base128(number: u32) -> Vec<u8> {
    let groups = (1..5).rev().map(|group| number >> (7 * group)).skip_while(|rest| *rest == 0);
    let mut octets: Vec<u8> = groups.map(|rest| 0x80 | (rest & 0x7f) as u8).collect();
    octets.push((number & 0x7f) as u8);
    octets
}
pub fn value(value: &Value) -> Vec<u8> {
    match value {
        Value::Null => element(NULL, &[]),
        Value::Integer(value) => integer(*value),
        Value::Counter32(value) => element(COUNTER32, &minimal((*value).into())),
        Value::TimeTicks(value) => element(TIME_TICKS, &minimal((*value).into())),
        Value::NoSuchObject => element(NO_SUCH_OBJECT, &[]),
        Value::NoSuchInstance => element(NO_SUCH_INSTANCE, &[]),
        Value::Other(tag, contents) => element(*tag, contents),
    }
}
