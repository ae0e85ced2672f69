//! The options of neighbour discovery messages (RFC 4861 section 4.6).

use crate::DecodeError;
use crate::bytes::{array, ipv6_at, put, put_u32, require, u32_at};
use crate::ethernet::MacAddr;
use serde::{Deserialize, Serialize};
use std::net::Ipv6Addr;

pub(super) const SOURCE_MAC: u8 = 1;
pub(super) const TARGET_MAC: u8 = 2;
const PREFIX: u8 = 3;
const MTU: u8 = 5;
pub(super) const PREFIX_OPTION_LEN: usize = 32;

/// A prefix of a router advertisement (RFC 4861 section 4.6.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Prefix {
    /// Its address.
    pub prefix: Ipv6Addr,
    /// Its length in bits.
    pub len: u8,
    /// Hosts with this prefix are on the link.
    pub on_link: bool,
    /// Hosts may make themselves an address of it.
    pub autonomous: bool,
    /// How long it is valid, in seconds; all ones for ever.
    pub valid_s: u32,
    /// How long addresses of it are preferred, in seconds; all ones for ever.
    pub preferred_s: u32,
}

/// Those that we know, as a message has them.
#[derive(Default)]
pub(super) struct Options {
    pub source_mac: Option<MacAddr>,
    pub target_mac: Option<MacAddr>,
    pub mtu: Option<u32>,
    pub prefixes: Vec<Prefix>,
}

impl Options {
    /// Reads all that is left of a message; those that we do not know are passed over.
    pub fn parse(mut bytes: &[u8]) -> Result<Options, DecodeError> {
        const WHAT: &str = "neighbour discovery option";
        let mut options = Options::default();
        while !bytes.is_empty() {
            require(WHAT, bytes, 8)?;
            let len = usize::from(bytes[1]) * 8;
            if len == 0 {
                return Err(DecodeError::malformed(WHAT, "length 0 (RFC 4861 section 4.6)"));
            }
            require(WHAT, bytes, len)?;
            match (bytes[0], len) {
                (SOURCE_MAC, 8) => options.source_mac = Some(MacAddr(array(bytes, 2))),
                (TARGET_MAC, 8) => options.target_mac = Some(MacAddr(array(bytes, 2))),
                (MTU, 8) => options.mtu = Some(u32_at(bytes, 4)),
                (PREFIX, PREFIX_OPTION_LEN) => options.prefixes.push(Prefix::parse(bytes)),
                _ => {}
            }
            bytes = &bytes[len..];
        }
        Ok(options)
    }
}

impl Prefix {
    /// From an option whose length was checked.
    fn parse(bytes: &[u8]) -> Prefix {
        Prefix {
            len: bytes[2],
            on_link: bytes[3] & 0x80 != 0,
            autonomous: bytes[3] & 0x40 != 0,
            valid_s: u32_at(bytes, 4),
            preferred_s: u32_at(bytes, 8),
            prefix: ipv6_at(bytes, 16),
        }
    }
    /// Writes the option. Panics where `bytes` is too short.
    pub(super) fn emit(&self, bytes: &mut [u8]) {
        let flags = u8::from(self.on_link) << 7 | u8::from(self.autonomous) << 6;
        put(bytes, 0, &[PREFIX, 4, self.len, flags]);
        put_u32(bytes, 4, self.valid_s);
        put_u32(bytes, 8, self.preferred_s);
        put_u32(bytes, 12, 0);
        put(bytes, 16, &self.prefix.octets());
    }
}

/// Writes a link-layer address option, where there is an address; the bytes it took.
pub(super) fn emit_mac(kind: u8, mac: Option<MacAddr>, bytes: &mut [u8]) -> usize {
    let Some(mac) = mac else { return 0 };
    put(bytes, 0, &[kind, 1]);
    put(bytes, 2, &mac.0);
    8
}

/// Writes an MTU option, where there is an MTU; the bytes it took.
pub(super) fn emit_mtu(mtu: Option<u32>, bytes: &mut [u8]) -> usize {
    let Some(mtu) = mtu else { return 0 };
    put(bytes, 0, &[MTU, 1, 0, 0]);
    put_u32(bytes, 4, mtu);
    8
}
