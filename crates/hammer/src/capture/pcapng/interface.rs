//! What an interface description says of the frames of its interface.

use super::super::Trouble;
use super::block::{Fields, option};

/// LINKTYPE_ETHERNET.
const ETHERNET: u16 = 1;
/// Options.
const IF_TSRESOL: u16 = 9;
const IF_FCSLEN: u16 = 13;
const IF_TSOFFSET: u16 = 14;
/// if_tsresol where an interface does not tell: microseconds.
const MICROSECONDS: u8 = 6;
/// The bit of if_tsresol that makes it a power of 2.
const BINARY: u8 = 0x80;
/// An FCS of Ethernet. Some write if_fcslen in bits.
const FCS_BYTES: usize = 4;
const NS_PER_S: i128 = 1_000_000_000;

/// An interface.
pub(super) struct Interface {
    link_type: u16,
    /// Bytes that are kept of a frame at most; 0 for all.
    snap_len: u32,
    /// Units of time in a second; none where there are more than a number holds.
    ticks_a_second: Option<u128>,
    /// What is added to each time.
    offset_s: i64,
    fcs_bytes: usize,
}

impl Interface {
    pub fn read(mut fields: Fields<'_>) -> Result<Interface, Trouble> {
        let short = || Trouble::Damaged("the description of an interface is too short".into());
        let (link_type, _reserved) = fields.u16().zip(fields.u16()).ok_or_else(short)?;
        let snap_len = fields.u32().ok_or_else(short)?;
        let resolution = octet(fields, IF_TSRESOL, "if_tsresol")?.unwrap_or(MICROSECONDS);
        let base: u128 = if resolution & BINARY == 0 { 10 } else { 2 };
        let fcs_len = octet(fields, IF_FCSLEN, "if_fcslen")?.map_or(0, usize::from);
        let offset = exact(fields, IF_TSOFFSET, ("if_tsoffset", 8))?;
        Ok(Interface {
            link_type,
            snap_len,
            ticks_a_second: base.checked_pow((resolution & !BINARY).into()),
            offset_s: offset.and_then(|mut value| value.u64()).unwrap_or(0).cast_signed(),
            fcs_bytes: if fcs_len == 8 * FCS_BYTES { FCS_BYTES } else { fcs_len },
        })
    }

    /// Itself, if its frames are Ethernet's.
    pub fn of_ethernet(&self) -> Result<&Interface, Trouble> {
        match self.link_type {
            ETHERNET => Ok(self),
            other => Err(Trouble::LinkType(other.into())),
        }
    }
    /// Bytes of FCS that are kept with a frame that does not tell itself.
    pub fn fcs_bytes(&self) -> usize {
        self.fcs_bytes
    }
    /// How much is kept of a frame of this length.
    pub fn kept(&self, len_bytes: usize) -> usize {
        match self.snap_len as usize {
            0 => len_bytes,
            most => len_bytes.min(most),
        }
    }
    /// A time in ns since 1970.
    pub fn time_ns(&self, ticks: u64) -> Result<u64, Trouble> {
        let ns = match self.ticks_a_second {
            Some(ticks_a_second) => u128::from(ticks) * NS_PER_S as u128 / ticks_a_second,
            None => 0,
        };
        // At most 2^64 * 10^9, and 2^63 * 10^9.
        let since_1970 = ns.cast_signed() + i128::from(self.offset_s) * NS_PER_S;
        if since_1970 < 0 {
            let offset_s = self.offset_s;
            let why = format!("a frame of a time before 1970: if_tsoffset is {offset_s} s");
            return Err(Trouble::Damaged(why));
        }
        Ok(since_1970.try_into().unwrap_or(u64::MAX))
    }
}

/// The value of an option that has so many bytes.
pub(super) fn exact<'a>(
    options: Fields<'a>,
    code: u16,
    (name, len): (&str, usize),
) -> Result<Option<Fields<'a>>, Trouble> {
    match option(options, code)? {
        Some(value) if value.rest().len() != len => {
            let found = value.rest().len();
            Err(Trouble::Damaged(format!("an option {name} of {found} bytes in place of {len}")))
        }
        value => Ok(value),
    }
}

/// The value of an option of one byte.
fn octet(options: Fields<'_>, code: u16, name: &str) -> Result<Option<u8>, Trouble> {
    Ok(exact(options, code, (name, 1))?.and_then(|value| value.rest().first().copied()))
}
