//! What every block of pcapng is made of: lengths, numbers and options.

use super::super::Trouble;

/// The type of a section header, the same in either order of bytes.
pub(super) const SECTION_HEADER: u32 = 0x0a0d_0d0a;
/// What a section header begins with, in the order of bytes of its section.
const ORDER_MAGIC: u32 = 0x1a2b_3c4d;
/// Its type, and its length before and after what it holds.
const FRAME_BYTES: usize = 12;
/// Blocks, and values of options, end on a boundary of so many bytes.
const BOUNDARY_BYTES: usize = 4;
/// opt_endofopt.
const END_OF_OPTIONS: u16 = 0;

/// The order of bytes of a section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Order {
    Big,
    Little,
}

/// Bytes from which numbers are read, one after the other.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    bytes: &'a [u8],
    order: Order,
}

impl<'a> Fields<'a> {
    pub fn new(bytes: &'a [u8], order: Order) -> Self {
        Fields { bytes, order }
    }
    pub fn order(&self) -> Order {
        self.order
    }
    /// What has not been read.
    pub fn rest(&self) -> &'a [u8] {
        self.bytes
    }
    pub fn u16(&mut self) -> Option<u16> {
        let big = u16::from_be_bytes(self.array()?);
        Some(if self.order == Order::Big { big } else { big.swap_bytes() })
    }
    pub fn u32(&mut self) -> Option<u32> {
        let big = u32::from_be_bytes(self.array()?);
        Some(if self.order == Order::Big { big } else { big.swap_bytes() })
    }
    pub fn u64(&mut self) -> Option<u64> {
        let big = u64::from_be_bytes(self.array()?);
        Some(if self.order == Order::Big { big } else { big.swap_bytes() })
    }
    /// So many bytes, and those up to the next boundary, as far as they are there.
    pub fn padded(&mut self, len: usize) -> Option<&'a [u8]> {
        let (value, _) = self.bytes.split_at_checked(len)?;
        let padded = len.next_multiple_of(BOUNDARY_BYTES).min(self.bytes.len());
        self.bytes = self.bytes.get(padded..)?;
        Some(value)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(*first)
    }
}

/// A block.
pub(super) struct Block<'a> {
    pub kind: u32,
    /// What it holds.
    pub fields: Fields<'a>,
}

/// The next block in a section of this order, and the bytes behind it. The block's own order is another
/// where it begins a section.
pub(super) fn next(bytes: &[u8], order: Order) -> Result<(Block<'_>, &[u8]), Trouble> {
    let mut fields = Fields::new(bytes, order);
    let kind = fields.u32().ok_or(Trouble::CutOff)?;
    if kind == SECTION_HEADER {
        fields.order = order_of_section(fields.rest())?;
    }
    let len = fields.u32().ok_or(Trouble::CutOff)? as usize;
    if len < FRAME_BYTES || !len.is_multiple_of(BOUNDARY_BYTES) {
        return Err(Trouble::Damaged(format!(
            "a block of {len} bytes; a block has {FRAME_BYTES} at least and a multiple of {BOUNDARY_BYTES}"
        )));
    }
    let (held, rest) = fields.rest().split_at_checked(len - FRAME_BYTES).ok_or(Trouble::CutOff)?;
    let mut behind = Fields::new(rest, fields.order);
    let again = behind.u32().ok_or(Trouble::CutOff)? as usize;
    if again != len {
        return Err(Trouble::Damaged(format!(
            "a block of {len} bytes at its beginning and of {again} at its end"
        )));
    }
    Ok((Block { kind, fields: Fields::new(held, fields.order) }, behind.rest()))
}

/// By what stands behind the length of its header, which is in that order, too.
fn order_of_section(from_length: &[u8]) -> Result<Order, Trouble> {
    let mut fields = Fields::new(from_length, Order::Big);
    let magic = fields.u32().and_then(|_| fields.u32()).ok_or(Trouble::CutOff)?;
    match magic {
        ORDER_MAGIC => Ok(Order::Big),
        _ if magic.swap_bytes() == ORDER_MAGIC => Ok(Order::Little),
        _ => Err(Trouble::Damaged("a section whose order of bytes is not known".into())),
    }
}

/// The value of the first option of this code, if there is one. Options end with opt_endofopt or, as some
/// programs write them, with their block. Text is not looked at: it may be in any encoding.
pub(super) fn option(mut options: Fields<'_>, code: u16) -> Result<Option<Fields<'_>>, Trouble> {
    while !options.rest().is_empty() {
        let cut = || Trouble::Damaged("an option that is longer than its block".into());
        let (found, len) = options.u16().zip(options.u16()).ok_or_else(cut)?;
        if found == END_OF_OPTIONS {
            break;
        }
        let value = options.padded(len.into()).ok_or_else(cut)?;
        if found == code {
            return Ok(Some(Fields::new(value, options.order)));
        }
    }
    Ok(None)
}
