//! The test signature: the last bytes of a test frame (before the FCS), by which the tester knows
//! its own frames again, whatever headers the device changed, added or took off.
//!
//! | form | bytes | stream | sequence | transmit time | check |
//! |---|---|---|---|---|---|
//! | [`Form::Full`] | 18 | 16 bits | 64 bits | 48 bits of ticks | 16 bits |
//! | [`Form::Short`] | 14 | 16 bits | low 32 bits | 48 bits of ticks | 16 bits |
//! | [`Form::Compact`] | 6 | folded into the check | low 32 bits | none: no latency | 16 bits |
//!
//! `Full` is exactly the payload of a 64-byte UDP/IPv4 frame, `Short` that of a 64-byte frame with
//! one 802.1Q tag, `Compact` what a 64-byte IPv6 frame has left after its IPv6 header.
//! Layout, all big-endian, in the order check, stream, sequence, time.
//!
//! **The check makes the form's 16-bit ones' complement sum a constant.** So it detects a
//! corrupted signature, it tells a test frame from a foreign one, and stamping a new sequence and
//! time leaves the UDP or TCP checksum of the frame as it was (RFC 1071 section 2: the sum does
//! not depend on which words hold the value). The constant is drawn from the trial's [`Key`]:
//! frames of another tester, or of an earlier trial, do not match.

use serde::{Deserialize, Serialize};

const TIME_BITS: u32 = 48;
const TIME_MASK: u64 = (1 << TIME_BITS) - 1;

/// Which of the three forms a stream's frames carry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// 18 bytes: everything.
    Full,
    /// 14 bytes: the sequence is cut to 32 bits and extended by the receiver.
    Short,
    /// 6 bytes: no transmit time, so no latency; stream and check share 16 bits.
    Compact,
}

impl Form {
    /// Bytes at the end of the frame.
    pub const fn len_bytes(self) -> usize {
        match self {
            Form::Full => 18,
            Form::Short => 14,
            Form::Compact => 6,
        }
    }
    /// The richest form that fits in `room` bytes of payload.
    pub const fn fitting(room: usize) -> Option<Form> {
        match room {
            0..6 => None,
            6..14 => Some(Form::Compact),
            14..18 => Some(Form::Short),
            _ => Some(Form::Full),
        }
    }
    /// What a stream of this form cannot measure, for the report; `None` for [`Form::Full`].
    pub const fn given_up(self) -> Option<&'static str> {
        match self {
            Form::Full => None,
            Form::Short => Some("sequence sent as 32 bits and extended by the receiver"),
            Form::Compact => Some(
                "no transmit time in the frame, so no latency; sequence sent as 32 bits; \
                 stream number and integrity check share 16 bits",
            ),
        }
    }
    const fn sum_offset(self) -> u16 {
        match self {
            Form::Full => 0,
            Form::Short => 0x1111,
            Form::Compact => 0x2222,
        }
    }
}

/// What a trial's frames have in common: the constant behind the check.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Key(pub u16);

impl Key {
    /// The ones' complement sum (folded, 0xffff written as 0) of a valid signature of this form;
    /// for [`Form::Compact`] that of stream 0.
    pub const fn expected_sum(self, form: Form) -> u16 {
        let sum = self.0 ^ form.sum_offset();
        if sum == 0xffff { 0 } else { sum }
    }
}

/// What a frame says of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp {
    /// Number of the stream, unique within the trial.
    pub stream: u16,
    /// Number of the frame within its stream, from 0. From a received frame: as many low bits as
    /// the form carries ([`extend`] restores the rest).
    pub sequence: u64,
    /// Transmit time in ticks of the tester's clock, low 48 bits; 0 in [`Form::Compact`].
    pub transmit_ticks: u64,
}

/// Writes the signature over the last bytes of `frame` (which is without FCS).
///
/// # Panics
/// If the frame is shorter than the form.
#[inline]
pub fn write(form: Form, key: Key, stamp: Stamp, frame: &mut [u8]) {
    let start = frame.len() - form.len_bytes();
    let trailer = &mut frame[start..];
    let time = (stamp.transmit_ticks & TIME_MASK).to_be_bytes();
    let target = match form {
        Form::Full => {
            trailer[2..4].copy_from_slice(&stamp.stream.to_be_bytes());
            trailer[4..12].copy_from_slice(&stamp.sequence.to_be_bytes());
            trailer[12..18].copy_from_slice(&time[2..]);
            key.expected_sum(form)
        }
        Form::Short => {
            trailer[2..4].copy_from_slice(&stamp.stream.to_be_bytes());
            trailer[4..8].copy_from_slice(&(stamp.sequence as u32).to_be_bytes());
            trailer[8..14].copy_from_slice(&time[2..]);
            key.expected_sum(form)
        }
        Form::Compact => {
            trailer[2..6].copy_from_slice(&(stamp.sequence as u32).to_be_bytes());
            fold(u32::from(key.expected_sum(form)) + u32::from(stamp.stream))
        }
    };
    let rest = sum(&trailer[2..]);
    let check = fold(u32::from(target) + u32::from(!rest));
    trailer[..2].copy_from_slice(&check.to_be_bytes());
}

/// Reads a signature of this form from the end of `frame` (without FCS); `None` where the check
/// says that this is none of ours. For [`Form::Compact`] the caller must still see whether the
/// stream is one of its own: any six bytes name some stream.
#[inline]
pub fn read(form: Form, key: Key, frame: &[u8]) -> Option<Stamp> {
    let start = frame.len().checked_sub(form.len_bytes())?;
    let trailer = &frame[start..];
    let got = canonical(sum(trailer));
    let expected = key.expected_sum(form);
    let word = |at: usize| u64::from(u16::from_be_bytes([trailer[at], trailer[at + 1]]));
    let stamp = match form {
        Form::Full => Stamp {
            stream: word(2) as u16,
            sequence: word(4) << 48 | word(6) << 32 | word(8) << 16 | word(10),
            transmit_ticks: word(12) << 32 | word(14) << 16 | word(16),
        },
        Form::Short => Stamp {
            stream: word(2) as u16,
            sequence: word(4) << 16 | word(6),
            transmit_ticks: word(8) << 32 | word(10) << 16 | word(12),
        },
        Form::Compact => {
            let stream = canonical(fold(u32::from(got) + u32::from(!expected)));
            return Some(Stamp { stream, sequence: word(2) << 16 | word(4), transmit_ticks: 0 });
        }
    };
    (got == expected).then_some(stamp)
}

/// Restores a counter of which only the low `bits` were sent: the value nearest to `reference`
/// with those low bits.
#[inline]
pub fn extend(low: u64, bits: u32, reference: u64) -> u64 {
    if bits >= 64 {
        return low;
    }
    let span = 1u64 << bits;
    let candidate = (reference & !(span - 1)) | (low & (span - 1));
    if candidate > reference && candidate - reference > span / 2 {
        candidate.checked_sub(span).unwrap_or(candidate)
    } else if reference > candidate && reference - candidate > span / 2 {
        candidate.checked_add(span).unwrap_or(candidate)
    } else {
        candidate
    }
}

/// Restores a full transmit time from a stamp's 48 bits and a time near it, both in ticks.
#[inline]
pub fn extend_time(ticks_48: u64, near_ticks: u64) -> u64 {
    extend(ticks_48, TIME_BITS, near_ticks)
}

fn sum(bytes: &[u8]) -> u16 {
    fold(bytes.chunks_exact(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]]))).sum())
}

const fn fold(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Ones' complement has two zeros; we keep one.
const fn canonical(sum: u16) -> u16 {
    if sum == 0xffff { 0 } else { sum }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Worked by hand: key 0, words 0001 + 0000 0000 0000 0002 + 0000 0000 0003 sum to 6, so the
    /// check is the ones' complement of 6.
    #[test]
    fn full_form_byte_vector() {
        let mut frame = [0u8; 18];
        let stamp = Stamp { stream: 1, sequence: 2, transmit_ticks: 3 };
        write(Form::Full, Key(0), stamp, &mut frame);
        let expected = [0xff, 0xf9, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 3];
        assert_eq!(frame, expected);
        assert_eq!(read(Form::Full, Key(0), &frame), Some(stamp));
        assert_eq!(read(Form::Full, Key(1), &frame), None);
    }

    fn any_form() -> impl Strategy<Value = Form> {
        prop_oneof![Just(Form::Full), Just(Form::Short), Just(Form::Compact)]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(form in any_form(), key: u16, stream in 0u16..0xffff,
                                   sequence: u64, ticks: u64, len in 18usize..100) {
            let mut frame = vec![0xa5; len];
            let stamp = Stamp { stream, sequence, transmit_ticks: ticks };
            write(form, Key(key), stamp, &mut frame);
            let got = read(form, Key(key), &frame).unwrap();
            prop_assert_eq!(got.stream, stream);
            let sequence_bits = if form == Form::Full { 64 } else { 32 };
            prop_assert_eq!(extend(got.sequence, sequence_bits, sequence), sequence);
            if form != Form::Compact {
                prop_assert_eq!(got.transmit_ticks, ticks & TIME_MASK);
            }
        }

        #[test]
        fn a_changed_signature_is_not_ours(bit in 0usize..144, key: u16, sequence: u64) {
            let mut frame = [0u8; 60];
            let stamp = Stamp { stream: 7, sequence, transmit_ticks: 99 };
            write(Form::Full, Key(key), stamp, &mut frame);
            frame[42 + bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(read(Form::Full, Key(key), &frame), None);
        }

        #[test]
        fn stamping_leaves_the_checksum_alone(form in any_form(), key: u16, odd: bool,
                                              a: u64, b: u64, t: u64, u: u64) {
            let mut first = vec![0x5a; 100 + usize::from(odd)];
            let mut second = first.clone();
            write(form, Key(key), Stamp { stream: 3, sequence: a, transmit_ticks: t }, &mut first);
            write(form, Key(key), Stamp { stream: 3, sequence: b, transmit_ticks: u }, &mut second);
            if odd {
                first.push(0);
                second.push(0);
            }
            prop_assert_eq!(canonical(sum(&first)), canonical(sum(&second)));
        }

        #[test]
        fn no_bytes_make_the_reader_panic(form in any_form(), key: u16, bytes: Vec<u8>) {
            let _ = read(form, Key(key), &bytes);
        }

        #[test]
        fn extending_finds_the_nearest(reference: u64, offset in -1_000_000i64..1_000_000) {
            let value = reference.saturating_add_signed(offset);
            prop_assert_eq!(extend(value & 0xffff_ffff, 32, reference), value);
        }
    }
}
