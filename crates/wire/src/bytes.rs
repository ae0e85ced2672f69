//! Reading and writing at an offset that was checked before: big-endian, where the name does not
//! say otherwise.

use crate::DecodeError;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Refuses input of fewer than `needed` bytes.
#[inline]
pub(crate) fn require(what: &'static str, bytes: &[u8], needed: usize) -> Result<(), DecodeError> {
    if bytes.len() < needed {
        return Err(DecodeError::Truncated { what, needed, got: bytes.len() });
    }
    Ok(())
}

/// The `N` bytes at `at`, which the caller has checked to be there.
#[inline]
pub(crate) fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[at..at + N]);
    out
}
/// The 16-bit number at `at`, which the caller has checked to be there.
#[inline]
pub fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(array(bytes, at))
}
pub(crate) fn u16_le_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(array(bytes, at))
}
#[inline]
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(array(bytes, at))
}
#[inline]
pub(crate) fn ipv4_at(bytes: &[u8], at: usize) -> Ipv4Addr {
    Ipv4Addr::from(array::<4>(bytes, at))
}
pub(crate) fn ipv6_at(bytes: &[u8], at: usize) -> Ipv6Addr {
    Ipv6Addr::from(array::<16>(bytes, at))
}

/// Writes `value` at `at`.
#[inline]
pub(crate) fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}
/// Writes a 16-bit number at `at`, which the caller has checked to be there.
#[inline]
pub fn put_u16(bytes: &mut [u8], at: usize, value: u16) {
    put(bytes, at, &value.to_be_bytes());
}
pub(crate) fn put_u16_le(bytes: &mut [u8], at: usize, value: u16) {
    put(bytes, at, &value.to_le_bytes());
}
pub(crate) fn put_u32(bytes: &mut [u8], at: usize, value: u32) {
    put(bytes, at, &value.to_be_bytes());
}
