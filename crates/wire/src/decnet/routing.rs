//! Level-1 and level-2 routing messages: what a router can reach, and how far it is.

use super::Address;
use crate::DecodeError;
use crate::bytes::{put_u16_le, require, u16_le_at};
use crate::decnet::hello::Level;
use serde::{Deserialize, Serialize};
use std::fmt;

pub(super) const LEVEL_1: u8 = 0x07;
pub(super) const LEVEL_2: u8 = 0x09;

const SENDER: usize = 1;
const SEGMENTS: usize = 4;
const SEGMENT_HEAD_LEN: usize = 4;
const CHECKSUM_LEN: usize = 2;
/// The checksum of no segments.
const CHECKSUM_START: u32 = 1;
const HOPS_SHIFT: u32 = 10;
const HOPS_MASK: u16 = 0x1f;
const COST_MASK: u16 = 0x3ff;
const WHAT: &str = "DECnet routing message";

/// How far it is to a node or an area.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Distance {
    /// 0 to 31.
    pub hops: u8,
    /// 0 to 1023.
    pub cost: u16,
}

impl Distance {
    /// Of what cannot be reached: all bits set.
    pub const UNREACHABLE: Distance = Distance { hops: 31, cost: 1023 };
}

/// Distances to destinations in a row.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Segment {
    /// The first of them: a node of the sender's area (0 is the nearest level-2 router), or at
    /// level 2 an area.
    pub first: u16,
    /// How far it is to it and to those after it.
    pub distances: Vec<Distance>,
}

/// A routing message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Repr {
    /// Nodes of an area, or areas.
    pub level: Level,
    /// Who sends it.
    pub sender: Address,
    /// What it can reach.
    pub segments: Vec<Segment>,
}

impl Repr {
    pub(super) fn parse(message: &[u8]) -> Result<Repr, DecodeError> {
        require(WHAT, message, SEGMENTS + CHECKSUM_LEN)?;
        let level = if message[0] == LEVEL_1 { Level::One } else { Level::Two };
        let (mut rest, found) =
            message[SEGMENTS..].split_at(message.len() - SEGMENTS - CHECKSUM_LEN);
        let mut segments = Vec::new();
        let checksum = checksum(rest);
        while !rest.is_empty() {
            require(WHAT, rest, SEGMENT_HEAD_LEN)?;
            let count = usize::from(u16_le_at(rest, 0));
            let end = SEGMENT_HEAD_LEN + 2 * count;
            require(WHAT, rest, end)?;
            let words = rest[SEGMENT_HEAD_LEN..end].chunks_exact(2);
            let distances = words.map(|word| distance(u16_le_at(word, 0))).collect();
            segments.push(Segment { first: u16_le_at(rest, 2), distances });
            rest = &rest[end..];
        }
        let found = u16_le_at(found, 0);
        if found != checksum {
            return Err(DecodeError::Checksum { what: WHAT, found, expected: checksum });
        }
        Ok(Repr { level, sender: Address(u16_le_at(message, SENDER)), segments })
    }
    pub(super) fn len(&self) -> usize {
        let segment = |segment: &Segment| SEGMENT_HEAD_LEN + 2 * segment.distances.len();
        SEGMENTS + self.segments.iter().map(segment).sum::<usize>() + CHECKSUM_LEN
    }
    pub(super) fn emit(&self, message: &mut [u8]) {
        message[0] = match self.level {
            Level::One => LEVEL_1,
            Level::Two => LEVEL_2,
        };
        put_u16_le(message, SENDER, self.sender.0);
        message[SENDER + 2] = 0;
        let mut at = SEGMENTS;
        for segment in &self.segments {
            put_u16_le(message, at, segment.distances.len() as u16);
            put_u16_le(message, at + 2, segment.first);
            at += SEGMENT_HEAD_LEN;
            for Distance { hops, cost } in &segment.distances {
                let hops = (u16::from(*hops) & HOPS_MASK) << HOPS_SHIFT;
                put_u16_le(message, at, hops | cost & COST_MASK);
                at += 2;
            }
        }
        let checksum = checksum(&message[SEGMENTS..at]);
        put_u16_le(message, at, checksum);
    }
}

const fn distance(word: u16) -> Distance {
    Distance { hops: (word >> HOPS_SHIFT & HOPS_MASK) as u8, cost: word & COST_MASK }
}

/// The ones' complement sum of the segments' little-endian words, which starts with 1.
fn checksum(segments: &[u8]) -> u16 {
    let words = segments.chunks_exact(2).map(|word| u32::from(u16_le_at(word, 0)));
    let mut sum = words.fold(CHECKSUM_START, |sum, word| sum + word);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::One => 1,
            Level::Two => 2,
        };
        let entries: usize = self.segments.iter().map(|segment| segment.distances.len()).sum();
        write!(f, "DECnet level-{level} routing of {} with {entries} entries", self.sender)
    }
}
