//! Hellos: how a router learns who is on its Ethernet, and when to forget.

use super::Address;
use crate::DecodeError;
use crate::bytes::{array, put, put_u16_le, require, u16_le_at};
use crate::ethernet::MacAddr;
use serde::{Deserialize, Serialize};
use std::fmt;

pub(super) const ENDNODE: u8 = 0x0d;
pub(super) const ROUTER: u8 = 0x0b;

const VERSION: usize = 1;
const ID: usize = 4;
const INFO: usize = 10;
const BLOCK_SIZE: usize = 11;

const ENDNODE_NEIGHBOR: usize = 22;
const ENDNODE_TIMER: usize = 28;
const ENDNODE_DATA_LEN: usize = 31;
const ENDNODE_FIXED_LEN: usize = 32;
/// The most test data that an endnode's hello carries, in bytes.
pub const MAX_TEST_DATA_LEN: u8 = 128;
const TEST_DATA: u8 = 0xaa;

const ROUTER_PRIORITY: usize = 13;
const ROUTER_TIMER: usize = 15;
const ROUTER_LIST_LEN: usize = 18;
const ROUTER_ENTRIES_LEN: usize = 26;
const ROUTER_FIXED_LEN: usize = 27;
const ENTRY_LEN: usize = 7;
/// Name of the Ethernet, reserved, and the byte that counts the entries' bytes.
const LIST_HEAD_LEN: usize = 8;
/// The most routers that a hello can list: the list's length is one byte.
pub const MAX_ROUTERS: usize = (u8::MAX as usize - LIST_HEAD_LEN) / ENTRY_LEN;
const TWO_WAY: u8 = 0x80;

/// Version 2.0.0 of the routing layer: Phase IV.
const PHASE_IV: [u8; 3] = [2, 0, 0];
const KIND_MASK: u8 = 3;
const KIND_ENDNODE: u8 = 3;

/// The largest message that a node on Ethernet takes, length field excluded.
pub const BLOCK_SIZE_ETHERNET: u16 = super::MAX_MESSAGE_LEN as u16;

/// An endnode says that it is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Endnode {
    /// Who.
    pub node: Address,
    /// The largest message it takes, in bytes.
    pub block_size: u16,
    /// The designated router, where it knows one.
    pub neighbor: Option<Address>,
    /// Time to the next hello, in seconds; after three of these a router forgets the node.
    pub timer_s: u16,
    /// Bytes of test data, each AA; at most [`MAX_TEST_DATA_LEN`].
    pub test_data_len: u8,
}

impl Endnode {
    /// With Ethernet's block size, two bytes of test data, and no designated router known.
    pub const fn new(node: Address, timer_s: u16) -> Endnode {
        let (block_size, test_data_len) = (BLOCK_SIZE_ETHERNET, 2);
        Endnode { node, block_size, neighbor: None, timer_s, test_data_len }
    }
    pub(super) fn parse(message: &[u8]) -> Result<Endnode, DecodeError> {
        const WHAT: &str = "DECnet endnode hello";
        require(WHAT, message, ENDNODE_FIXED_LEN)?;
        check_version(WHAT, message)?;
        if message[INFO] & KIND_MASK != KIND_ENDNODE {
            return Err(DecodeError::malformed(WHAT, "from a node that is none"));
        }
        let test_data_len = message[ENDNODE_DATA_LEN];
        if test_data_len > MAX_TEST_DATA_LEN {
            return Err(DecodeError::malformed(WHAT, "more than 128 bytes of test data"));
        }
        let end = ENDNODE_FIXED_LEN + usize::from(test_data_len);
        require(WHAT, message, end)?;
        if message[ENDNODE_FIXED_LEN..end].iter().any(|byte| *byte != TEST_DATA) {
            return Err(DecodeError::malformed(WHAT, "test data that is not AA"));
        }
        let neighbor = match MacAddr(array(message, ENDNODE_NEIGHBOR)) {
            MacAddr::ZERO => None,
            _ => Some(Address::from_id(WHAT, MacAddr(array(message, ENDNODE_NEIGHBOR)))?),
        };
        Ok(Endnode {
            node: Address::from_id(WHAT, MacAddr(array(message, ID)))?,
            block_size: u16_le_at(message, BLOCK_SIZE),
            neighbor,
            timer_s: u16_le_at(message, ENDNODE_TIMER),
            test_data_len,
        })
    }
    pub(super) fn len(&self) -> usize {
        ENDNODE_FIXED_LEN + usize::from(self.test_data_len)
    }
    pub(super) fn emit(&self, message: &mut [u8]) {
        message[..ENDNODE_FIXED_LEN].fill(0);
        emit_head(ENDNODE, self.node, KIND_ENDNODE, self.block_size, message);
        let neighbor = self.neighbor.map_or(MacAddr::ZERO, Address::mac);
        put(message, ENDNODE_NEIGHBOR, &neighbor.0);
        put_u16_le(message, ENDNODE_TIMER, self.timer_s);
        message[ENDNODE_DATA_LEN] = self.test_data_len;
        message[ENDNODE_FIXED_LEN..self.len()].fill(TEST_DATA);
    }
}

/// How far a router routes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Within its area.
    One,
    /// Between areas, too.
    Two,
}

/// A router that another has heard.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HeardRouter {
    /// Who.
    pub router: Address,
    /// Its priority, 0 to 127.
    pub priority: u8,
    /// It has heard the sender, too.
    pub two_way: bool,
}

/// A router says that it is there.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Router {
    /// Who.
    pub router: Address,
    /// How far it routes.
    pub level: Level,
    /// The largest message it takes, in bytes.
    pub block_size: u16,
    /// Of those with the highest, the router of the highest address is designated; 0 to 127.
    pub priority: u8,
    /// Time to the next hello, in seconds.
    pub timer_s: u16,
    /// The routers that it has heard; at most [`MAX_ROUTERS`].
    pub heard: Vec<HeardRouter>,
}

impl Router {
    pub(super) fn parse(message: &[u8]) -> Result<Router, DecodeError> {
        const WHAT: &str = "DECnet router hello";
        require(WHAT, message, ROUTER_FIXED_LEN)?;
        check_version(WHAT, message)?;
        let level = match message[INFO] & KIND_MASK {
            1 => Level::Two,
            2 => Level::One,
            _ => return Err(DecodeError::malformed(WHAT, "from a node that is no router")),
        };
        let entries_len = usize::from(message[ROUTER_ENTRIES_LEN]);
        let is_whole = usize::from(message[ROUTER_LIST_LEN]) == LIST_HEAD_LEN + entries_len;
        if !is_whole || !entries_len.is_multiple_of(ENTRY_LEN) {
            return Err(DecodeError::malformed(WHAT, "lengths of its list that do not fit"));
        }
        require(WHAT, message, ROUTER_FIXED_LEN + entries_len)?;
        let entries = message[ROUTER_FIXED_LEN..][..entries_len].chunks_exact(ENTRY_LEN);
        let entry = |bytes: &[u8]| -> Result<HeardRouter, DecodeError> {
            Ok(HeardRouter {
                router: Address::from_id(WHAT, MacAddr(array(bytes, 0)))?,
                priority: bytes[6] & !TWO_WAY,
                two_way: bytes[6] & TWO_WAY != 0,
            })
        };
        Ok(Router {
            router: Address::from_id(WHAT, MacAddr(array(message, ID)))?,
            level,
            block_size: u16_le_at(message, BLOCK_SIZE),
            priority: message[ROUTER_PRIORITY],
            timer_s: u16_le_at(message, ROUTER_TIMER),
            heard: entries.map(entry).collect::<Result<_, _>>()?,
        })
    }
    pub(super) fn len(&self) -> usize {
        ROUTER_FIXED_LEN + ENTRY_LEN * self.heard.len()
    }
    pub(super) fn emit(&self, message: &mut [u8]) {
        assert!(self.heard.len() <= MAX_ROUTERS, "a hello lists at most {MAX_ROUTERS} routers");
        message[..ROUTER_FIXED_LEN].fill(0);
        let info = match self.level {
            Level::Two => 1,
            Level::One => 2,
        };
        emit_head(ROUTER, self.router, info, self.block_size, message);
        message[ROUTER_PRIORITY] = self.priority;
        put_u16_le(message, ROUTER_TIMER, self.timer_s);
        let entries_len = ENTRY_LEN * self.heard.len();
        message[ROUTER_LIST_LEN] = (LIST_HEAD_LEN + entries_len) as u8;
        message[ROUTER_ENTRIES_LEN] = entries_len as u8;
        for (entry, heard) in
            message[ROUTER_FIXED_LEN..].chunks_exact_mut(ENTRY_LEN).zip(&self.heard)
        {
            put(entry, 0, &heard.router.mac().0);
            entry[6] = heard.priority & !TWO_WAY | if heard.two_way { TWO_WAY } else { 0 };
        }
    }
}

fn emit_head(kind: u8, node: Address, info: u8, block_size: u16, message: &mut [u8]) {
    message[0] = kind;
    put(message, VERSION, &PHASE_IV);
    put(message, ID, &node.mac().0);
    message[INFO] = info;
    put_u16_le(message, BLOCK_SIZE, block_size);
}

/// Later versions may be laid out otherwise; of 2, any minor one is read.
fn check_version(what: &'static str, message: &[u8]) -> Result<(), DecodeError> {
    match message[VERSION] {
        2 => Ok(()),
        _ => Err(DecodeError::malformed(what, "not of Phase IV")),
    }
}

impl fmt::Display for Endnode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DECnet hello of endnode {} every {} s", self.node, self.timer_s)
    }
}
impl fmt::Display for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::One => 1,
            Level::Two => 2,
        };
        write!(f, "DECnet hello of level-{level} router {} every {} s", self.router, self.timer_s)
    }
}
