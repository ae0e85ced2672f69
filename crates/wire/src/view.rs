//! Views: the fields of a header, read and written in its bytes without a copy.
//!
//! A protocol states the place of each field once, in its `view!`. `Repr::parse` and `Repr::emit` go through
//! the view, and so does everybody who needs a field of a frame.
//!
//! `new_checked` accepts bytes that hold the header and all that its lengths state: after it no accessor
//! panics, whatever the bytes are. `peek` looks at the fixed header alone, for decisions on every frame.
//! A view of `AsMut<[u8]>` has setters.

use crate::bytes::{array, put};
use std::net::{Ipv4Addr, Ipv6Addr};

/// A value at a fixed place of a header, in the order of bytes of its type: big-endian but for [`U16Le`].
pub trait Field: Sized {
    /// Bytes that it has.
    const LEN: usize;
    /// Reads it, `at` bytes in. Panics where `bytes` is too short.
    fn read(bytes: &[u8], at: usize) -> Self;
    /// Writes it, `at` bytes in. Panics where `bytes` is too short.
    fn write(self, bytes: &mut [u8], at: usize);
}

/// A field of which other fields are some bits.
pub trait Word: Field {
    /// Its bits, the lowest first.
    fn to_bits(self) -> u32;
    /// The lowest of these bits; the rest is cut off.
    fn from_bits(bits: u32) -> Self;
}

/// A 16-bit number in little-endian order.
#[derive(Clone, Copy)]
pub struct U16Le(pub u16);

impl From<u16> for U16Le {
    fn from(number: u16) -> U16Le {
        U16Le(number)
    }
}
impl From<U16Le> for u16 {
    fn from(field: U16Le) -> u16 {
        field.0
    }
}

macro_rules! octets {
    ($($ty:ty: $len:literal, $from:expr, $to:expr;)*) => {$(
        impl Field for $ty {
            const LEN: usize = $len;
            #[inline]
            fn read(bytes: &[u8], at: usize) -> Self {
                $from(array::<$len>(bytes, at))
            }
            #[inline]
            fn write(self, bytes: &mut [u8], at: usize) {
                put(bytes, at, &$to(self));
            }
        }
    )*};
}
octets! {
    u8: 1, u8::from_be_bytes, u8::to_be_bytes;
    u16: 2, u16::from_be_bytes, u16::to_be_bytes;
    u32: 4, u32::from_be_bytes, u32::to_be_bytes;
    U16Le: 2, |octets| U16Le(u16::from_le_bytes(octets)), |field: U16Le| field.0.to_le_bytes();
    Ipv4Addr: 4, Ipv4Addr::from, |address: Ipv4Addr| address.octets();
    Ipv6Addr: 16, Ipv6Addr::from, |address: Ipv6Addr| address.octets();
}

impl<const N: usize> Field for [u8; N] {
    const LEN: usize = N;
    #[inline]
    fn read(bytes: &[u8], at: usize) -> Self {
        array(bytes, at)
    }
    #[inline]
    fn write(self, bytes: &mut [u8], at: usize) {
        put(bytes, at, &self);
    }
}

macro_rules! words {
    ($($ty:ty)*) => {$(
        impl Word for $ty {
            #[inline]
            fn to_bits(self) -> u32 {
                self.into()
            }
            #[inline]
            fn from_bits(bits: u32) -> Self {
                bits as $ty
            }
        }
    )*};
}
words! { u8 u16 u32 }

/// What some bits of a word mean.
pub trait Bits {
    /// From the bits, the lowest first.
    fn from_bits(bits: u32) -> Self;
    /// The bits, the lowest first.
    fn to_bits(self) -> u32;
}

impl<T: Word> Bits for T {
    #[inline]
    fn from_bits(bits: u32) -> Self {
        Word::from_bits(bits)
    }
    #[inline]
    fn to_bits(self) -> u32 {
        Word::to_bits(self)
    }
}
impl Bits for bool {
    #[inline]
    fn from_bits(bits: u32) -> Self {
        bits != 0
    }
    #[inline]
    fn to_bits(self) -> u32 {
        self.into()
    }
}

/// Reads the bits from `low` up to `high` of the word at `at`.
#[inline]
pub(crate) fn read_bits<W: Word, B: Bits>(bytes: &[u8], at: usize, low: u32, high: u32) -> B {
    B::from_bits(Word::to_bits(W::read(bytes, at)) >> low & (u32::MAX >> (32 - (high - low))))
}

/// Writes these bits and leaves the other ones of the word as they are.
#[inline]
pub(crate) fn write_bits<W: Word, B: Bits>(
    bytes: &mut [u8],
    at: usize,
    (low, high): (u32, u32),
    value: B,
) {
    let mask = (u32::MAX >> (32 - (high - low))) << low;
    let others = Word::to_bits(W::read(bytes, at)) & !mask;
    <W as Word>::from_bits(others | value.to_bits() << low & mask).write(bytes, at);
}

/// Lets a struct stand in a header: one that wraps a field as that field, one of several as they follow each other.
macro_rules! field {
    ($ty:ident($inner:ty)) => { $crate::view::field! { $ty { 0: $inner } } };
    ($ty:ident { $($name:tt: $inner:ty),* }) => {
        impl $crate::view::Field for $ty {
            const LEN: usize = 0 $(+ <$inner as $crate::view::Field>::LEN)*;
            #[inline]
            fn read(bytes: &[u8], at: usize) -> Self {
                let mut end = at;
                $ty { $($name: {
                    end += <$inner as $crate::view::Field>::LEN;
                    $crate::view::Field::read(bytes, end - <$inner as $crate::view::Field>::LEN)
                }),* }
            }
            #[inline]
            fn write(self, bytes: &mut [u8], at: usize) {
                let mut end = at;
                $(
                    end += <$inner as $crate::view::Field>::LEN;
                    let start = end - <$inner as $crate::view::Field>::LEN;
                    $crate::view::Field::write(self.$name, bytes, start);
                )*
            }
        }
    };
}
pub(crate) use field;

/// Declares a view of a header called `$what`, whose fixed part has `$len` bytes:
///
/// ```text
/// view! {
///     /// The packet as bytes.
///     pub struct View("IPv4 header", HEADER_LEN), check: Self::check, payload: Self::payload_range;
///     /// Time to live, in hops.
///     ttl / set_ttl: u8 = 8;
///     /// What is counted in little-endian order.
///     count / set_count: u16 = 4 as U16Le;
///     /// The low 13 bits of a 16-bit word.
///     fragment_offset / set_fragment_offset: u16 = 6 as u16[0..13];
/// }
/// ```
///
/// Without `check` a view is good where the fixed part is there; without `payload` everything behind the
/// fixed part is payload.
macro_rules! view {
    (
        $(#[$meta:meta])*
        $vis:vis struct $View:ident($what:expr, $len:expr)
            $(, check: $check:expr)? $(, payload: $payload:expr)?;
        $(
            $(#[$doc:meta])*
            $get:ident / $set:ident: $ty:ty = $at:tt $(as $wire:ident $([$low:literal..$high:literal])?)?;
        )*
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy)]
        $vis struct $View<T>(T);

        /// Every field.
        impl<T: AsRef<[u8]>> std::fmt::Debug for $View<T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let mut fields = f.debug_struct($what);
                if self.0.as_ref().len() >= $len {
                    $(fields.field(stringify!($get), &self.$get());)*
                }
                fields.finish_non_exhaustive()
            }
        }

        #[allow(dead_code, reason = "every view has all of them")]
        impl<T: AsRef<[u8]>> $View<T> {
            /// Views bytes that hold the header and all that its lengths state. After this no accessor
            /// panics.
            #[inline]
            pub fn new_checked(bytes: T) -> Result<Self, $crate::DecodeError> {
                $crate::bytes::require($what, bytes.as_ref(), $len)?;
                let view = $View(bytes);
                $($check(&view)?;)?
                Ok(view)
            }
            /// Views bytes that hold the fixed part of the header; whatever they say. `None` where they
            /// are fewer.
            #[inline]
            pub fn peek(bytes: T) -> Option<Self> {
                (bytes.as_ref().len() >= $len).then(|| $View(bytes))
            }
            /// Views bytes without a look at them. Accessors panic where the bytes are too few.
            #[inline]
            pub const fn new_unchecked(bytes: T) -> Self {
                $View(bytes)
            }
            $(
                $(#[$doc])*
                #[inline]
                pub fn $get(&self) -> $ty {
                    $crate::view::get!(self.0.as_ref(), $ty, $at $(, $wire $(, $low, $high)?)?)
                }
            )*
        }

        #[allow(dead_code, reason = "every view has all of them")]
        impl<T: AsRef<[u8]> + AsMut<[u8]>> $View<T> {
            $(
                #[doc = concat!("Writes what [`", stringify!($get), "`](Self::", stringify!($get), ") reads.")]
                #[inline]
                pub fn $set(&mut self, value: $ty) {
                    $crate::view::set!(self.0.as_mut(), value, $ty, $at $(, $wire $(, $low, $high)?)?);
                }
            )*
            /// What is behind the header, to be changed; empty where the lengths do not fit the bytes.
            #[inline]
            pub fn payload_mut(&mut self) -> &mut [u8] {
                let range = $crate::view::range!(self, $len $(, $payload)?);
                self.0.as_mut().get_mut(range).unwrap_or_default()
            }
        }

        #[allow(dead_code, reason = "every view has all of them")]
        impl<'a, T: AsRef<[u8]> + ?Sized> $View<&'a T> {
            /// What is behind the header, cut to the length that it states; empty where that does not fit
            /// the bytes.
            #[inline]
            pub fn payload(&self) -> &'a [u8] {
                let range = $crate::view::range!(self, $len $(, $payload)?);
                self.0.as_ref().get(range).unwrap_or_default()
            }
        }

        #[cfg(test)]
        impl $View<()> {
            /// This view, for the tests of all.
            pub(crate) const TESTED: $crate::view::tests::Tested = $crate::view::tests::Tested {
                name: concat!(module_path!(), "::", stringify!($View)),
                len: $len,
                payload: |bytes| $View::new_checked(bytes).map(|view| view.payload()),
                fields: |bytes| format!("{:?}", $View::new_unchecked(bytes)),
                copy: |from, to| {
                    let (from, mut to) = ($View::new_unchecked(from), $View::new_unchecked(to));
                    $(to.$set(from.$get());)*
                },
            };
        }
    };
}
pub(crate) use view;

macro_rules! get {
    ($bytes:expr, $ty:ty, $at:expr) => {
        <$ty as $crate::view::Field>::read($bytes, $at)
    };
    ($bytes:expr, $ty:ty, $at:expr, $wire:ident) => {
        <$ty>::from(<$wire as $crate::view::Field>::read($bytes, $at))
    };
    ($bytes:expr, $ty:ty, $at:expr, $wire:ident, $low:literal, $high:literal) => {
        $crate::view::read_bits::<$wire, $ty>($bytes, $at, $low, $high)
    };
}
pub(crate) use get;

macro_rules! set {
    ($bytes:expr, $value:expr, $ty:ty, $at:expr) => {
        <$ty as $crate::view::Field>::write($value, $bytes, $at)
    };
    ($bytes:expr, $value:expr, $ty:ty, $at:expr, $wire:ident) => {
        <$wire as $crate::view::Field>::write(<$wire>::from($value), $bytes, $at)
    };
    ($bytes:expr, $value:expr, $ty:ty, $at:expr, $wire:ident, $low:literal, $high:literal) => {
        $crate::view::write_bits::<$wire, $ty>($bytes, $at, ($low, $high), $value)
    };
}
pub(crate) use set;

macro_rules! range {
    ($view:expr, $len:expr) => {
        $len..$view.0.as_ref().len()
    };
    ($view:expr, $len:expr, $payload:expr) => {
        $payload($view)
    };
}
pub(crate) use range;

#[cfg(test)]
pub(crate) mod tests;
