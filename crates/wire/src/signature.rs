//! The test signature: the last bytes of a test frame (before the FCS), by which the tester knows
//! its own frames again, whatever headers the device changed, added or took off.
//!
//! | form | bytes | check | stream | transmit time | tag | sequence | tag |
//! |---|---|---|---|---|---|---|---|
//! | [`Form::Full`] | 18 | 16 bits | 16 bits | 48 bits of ticks | | low 32 bits | 32 bits |
//! | [`Form::Short`] | 14 | 16 bits | 12 bits | 44 bits of ticks | 8 bits | low 32 bits | |
//! | [`Form::Compact`] | 6 | 16 bits | folded into the check | none: no latency | none | low 32 bits | |
//!
//! `Full` is exactly the payload of a 64-byte UDP/IPv4 frame, `Short` that of a 64-byte frame with
//! one 802.1Q tag, `Compact` what a 64-byte IPv6 frame has left after its IPv6 header.
//! Layout, all big-endian, in the order of the table.
//!
//! **The check makes the form's 16-bit ones' complement sum a constant.** So it detects a
//! corrupted signature, it tells a test frame from a foreign one at little cost, and stamping a new
//! sequence and time leaves the UDP or TCP checksum of the frame as it was (RFC 1071 section 2: the
//! sum does not depend on which words hold the value). The constant is drawn from the
//! [`RunKey`]: frames of another tester do not match. It is linear: who has one frame can make others
//! that match, so it proves nothing.
//!
//! **The tag does.** It is SipHash-1-3, keyed with the run's key, of stream, transmit time, sequence
//! number, form and number of the trial, cut to the width that the form has room for. Who does not
//! know the key cannot make a frame that bears it, except by guessing (once in 2^32 tries, or 2^8), and
//! a frame of an earlier trial of the run is known as such. [`Form::Compact`] has no room for one:
//! its check is the trial's own instead of the run's, so that frames of earlier trials are known,
//! and nothing protects it from forgery.

pub use crate::run_key::{Key, RunKey};
use serde::{Deserialize, Serialize};

/// Bits of the sequence number that every form carries.
pub const SEQUENCE_BITS: u32 = 32;
/// So many trials back a frame of an earlier trial is known as such.
pub const EARLIER_TRIALS: usize = 4;

/// Which of the three forms a stream's frames carry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// 18 bytes: everything.
    Full,
    /// 14 bytes: a narrow tag, and streams up to number 4,095.
    Short,
    /// 6 bytes: no transmit time, so no latency; no tag; stream and check share 16 bits.
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
    /// What a stream of this form cannot do, for the report; `None` for [`Form::Full`].
    pub const fn given_up(self) -> Option<&'static str> {
        match self {
            Form::Full => None,
            Form::Short => {
                Some("a tag of 8 bits: one of 256 forged frames passes for a test frame")
            }
            Form::Compact => Some(
                "no transmit time in the frame, so no latency; no tag, so a frame that a device \
                 forges passes for a test frame; stream number and integrity check share 16 bits",
            ),
        }
    }
    /// Bits of the tag.
    pub const fn tag_bits(self) -> u32 {
        match self {
            Form::Full => 32,
            Form::Short => 8,
            Form::Compact => 0,
        }
    }
    /// Bits of the transmit time.
    pub const fn time_bits(self) -> u32 {
        match self {
            Form::Full => 48,
            Form::Short => 44,
            Form::Compact => 0,
        }
    }
    /// Streams have numbers up to this.
    pub const fn stream_max(self) -> u16 {
        match self {
            Form::Full => u16::MAX,
            Form::Short => 0x0fff,
            // 0xffff reads as 0.
            Form::Compact => u16::MAX - 1,
        }
    }
    /// Where the stream and the transmit time begin in the eight bytes behind the check, in bits from
    /// the lowest.
    const fn shifts(self) -> (u32, u32) {
        match self {
            Form::Short => (52, 8),
            _ => (48, 0),
        }
    }
}

/// What a frame says of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp {
    /// Number of the stream, unique within the trial.
    pub stream: u16,
    /// Number of the frame within its stream, from 0. From a received frame: its low
    /// [`SEQUENCE_BITS`] ([`extend`] restores the rest).
    pub sequence: u64,
    /// Transmit time in ticks of the tester's clock. From a received frame: as many low bits as the
    /// form carries ([`extend_time`] restores the rest); 0 in [`Form::Compact`].
    pub transmit_ticks: u64,
}

/// What the end of a frame tells of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reading {
    /// It is a frame of this trial. For [`Form::Compact`] the caller must still see whether the
    /// stream is one of its own: any six bytes name some stream.
    Ours(Stamp),
    /// It bears the run's check and no good tag: forged, or damaged in a way that the check does not
    /// find. Never for [`Form::Compact`].
    Untagged(Stamp),
    /// It is none of this trial's.
    None,
}

/// The two numbers that a form with a tag has after its check.
#[derive(Clone, Copy)]
struct Body {
    /// Stream and transmit time, without a tag; in [`Form::Short`] with zeroes in its place.
    head: u64,
    sequence: u32,
}

impl Body {
    #[inline]
    fn of(form: Form, stamp: Stamp) -> Self {
        let time = stamp.transmit_ticks & (u64::MAX >> (64 - form.time_bits()));
        let (stream_at, time_at) = form.shifts();
        let head = u64::from(stamp.stream) << stream_at | time << time_at;
        Body { head, sequence: stamp.sequence as u32 }
    }

    /// The sum of its 16-bit words, not folded.
    #[inline]
    fn sum(self) -> u64 {
        (self.head >> 32) + (self.head & 0xffff_ffff) + u64::from(self.sequence)
    }

    #[inline]
    fn stamp(self, form: Form) -> Stamp {
        let (stream_at, time_at) = form.shifts();
        Stamp {
            stream: (self.head >> stream_at) as u16,
            sequence: self.sequence.into(),
            transmit_ticks: self.head >> time_at & (u64::MAX >> (64 - form.time_bits())),
        }
    }
}

/// Writes the signature over the last bytes of `frame` (which is without FCS).
///
/// # Panics
/// If the frame is shorter than the form. The stream's number is at most [`Form::stream_max`]: of a larger
/// one the high bits are lost.
#[inline]
pub fn write(form: Form, key: Key, stamp: Stamp, frame: &mut [u8]) {
    let start = frame.len() - form.len_bytes();
    let trailer = &mut frame[start..];
    match form {
        Form::Full => {
            let body = Body::of(form, stamp);
            let tag = key.tag(form, body.head, body.sequence) as u32;
            let check = closing(key.expected_sum(form), body.sum() + u64::from(tag));
            trailer[..2].copy_from_slice(&check.to_be_bytes());
            trailer[2..10].copy_from_slice(&body.head.to_be_bytes());
            trailer[10..14].copy_from_slice(&body.sequence.to_be_bytes());
            trailer[14..18].copy_from_slice(&tag.to_be_bytes());
        }
        Form::Short => {
            let body = Body::of(form, stamp);
            let tag = key.tag(form, body.head, body.sequence) & 0xff;
            let tagged = Body { head: body.head | tag, ..body };
            let check = closing(key.expected_sum(form), tagged.sum());
            trailer[..2].copy_from_slice(&check.to_be_bytes());
            trailer[2..10].copy_from_slice(&tagged.head.to_be_bytes());
            trailer[10..14].copy_from_slice(&tagged.sequence.to_be_bytes());
        }
        Form::Compact => {
            let sequence = stamp.sequence as u32;
            let target = fold(u32::from(key.expected_sum(form)) + u32::from(stamp.stream));
            let check = closing(target, sequence.into());
            trailer[..2].copy_from_slice(&check.to_be_bytes());
            trailer[2..6].copy_from_slice(&sequence.to_be_bytes());
        }
    }
}

/// The check that brings words of this sum up to `target`.
#[inline]
fn closing(target: u16, rest: u64) -> u16 {
    fold(u32::from(target) + u32::from(!fold_wide(rest)))
}

/// Reads a signature of this form from the end of `frame` (without FCS).
#[inline]
pub fn examine(form: Form, key: Key, frame: &[u8]) -> Reading {
    let Some(trailer) = trailer(form, frame) else { return Reading::None };
    let got = canonical(sum_of(form, trailer));
    if form == Form::Compact {
        let sequence = u32::from_be_bytes([trailer[2], trailer[3], trailer[4], trailer[5]]).into();
        return Reading::Ours(Stamp {
            stream: compact_stream(key, got),
            sequence,
            transmit_ticks: 0,
        });
    }
    if got != key.expected_sum(form) {
        return Reading::None;
    }
    let (body, tag) = body_of(form, trailer);
    match is_tag(form, key, body, tag) {
        true => Reading::Ours(body.stamp(form)),
        false => Reading::Untagged(body.stamp(form)),
    }
}

/// The same; `None` where the frame is none of the trial's.
#[inline]
pub fn read(form: Form, key: Key, frame: &[u8]) -> Option<Stamp> {
    match examine(form, key, frame) {
        Reading::Ours(stamp) => Some(stamp),
        _ => None,
    }
}

/// Of which earlier trial of the run a frame is, at most [`EARLIER_TRIALS`] back: 1 for the one before.
/// `knows` says whether a stream is one of the caller's; only asked of [`Form::Compact`], of which any
/// six bytes name some stream.
pub fn trials_ago(
    form: Form,
    key: Key,
    frame: &[u8],
    knows: impl Fn(u16) -> bool,
) -> Option<usize> {
    let trailer = trailer(form, frame)?;
    let got = canonical(sum_of(form, trailer));
    (1..=EARLIER_TRIALS).find(|ago| {
        let Some(key) = key.earlier(*ago as u64) else { return false };
        if form == Form::Compact {
            return knows(compact_stream(key, got));
        }
        let (body, tag) = body_of(form, trailer);
        got == key.expected_sum(form) && is_tag(form, key, body, tag)
    })
}

#[inline]
fn trailer(form: Form, frame: &[u8]) -> Option<&[u8]> {
    let start = frame.len().checked_sub(form.len_bytes())?;
    Some(&frame[start..])
}

/// Four bytes as a number.
#[inline]
fn long(trailer: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(trailer[at..at + 4].try_into().expect("four bytes"))
}

/// The folded sum of a trailer's 16-bit words.
#[inline]
fn sum_of(form: Form, trailer: &[u8]) -> u16 {
    let longs = |places: &[usize]| places.iter().map(|at| u64::from(long(trailer, *at))).sum();
    let rest: u64 = match form {
        Form::Full => longs(&[2, 6, 10, 14]),
        Form::Short => longs(&[2, 6, 10]),
        Form::Compact => longs(&[2]),
    };
    fold_wide(u64::from(u16::from_be_bytes([trailer[0], trailer[1]])) + rest)
}

/// What stands behind the check of a form with a tag, and the tag.
#[inline]
fn body_of(form: Form, trailer: &[u8]) -> (Body, u32) {
    let head = u64::from(long(trailer, 2)) << 32 | u64::from(long(trailer, 6));
    let sequence = long(trailer, 10);
    match form {
        Form::Full => (Body { head, sequence }, long(trailer, 14)),
        _ => (Body { head: head & !0xff, sequence }, head as u32 & 0xff),
    }
}

#[inline]
fn is_tag(form: Form, key: Key, body: Body, tag: u32) -> bool {
    let mask = u32::MAX >> (32 - form.tag_bits());
    key.tag(form, body.head, body.sequence) as u32 & mask == tag
}

#[inline]
fn compact_stream(key: Key, sum: u16) -> u16 {
    canonical(fold(u32::from(sum) + u32::from(!key.expected_sum(Form::Compact))))
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

/// Restores a transmit time of which only the low `bits` were sent: the last moment up to `latest`
/// with those low bits, all in ticks. Where none is, the first one: later than `latest`.
#[inline]
pub fn extend_time(low: u64, bits: u32, latest: u64) -> u64 {
    let span = 1u64 << bits;
    let candidate = (latest & !(span - 1)) | (low & (span - 1));
    if candidate > latest { candidate.checked_sub(span).unwrap_or(candidate) } else { candidate }
}

#[cfg(test)]
fn sum(bytes: &[u8]) -> u16 {
    fold(bytes.chunks_exact(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]]))).sum())
}

const fn fold(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// The same for a sum of few 32-bit words.
const fn fold_wide(sum: u64) -> u16 {
    let sum = (sum >> 32) + (sum & 0xffff_ffff);
    let sum = (sum >> 16) + (sum & 0xffff);
    fold(sum as u32)
}

/// Ones' complement has two zeros; we keep one.
const fn canonical(sum: u16) -> u16 {
    if sum == 0xffff { 0 } else { sum }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(seed: u64, trial: u64) -> Key {
        Key::new(RunKey::from_seed(seed), trial)
    }

    /// The layout, by hand; that the tag is SipHash's the tests of `siphash` show.
    #[test]
    fn full_form_byte_vector() {
        let mut frame = [0u8; 18];
        let stamp =
            Stamp { stream: 0x0102, sequence: 0x0304_0506, transmit_ticks: 0x0708_090a_0b0c };
        let key = key(9, 5);
        write(Form::Full, key, stamp, &mut frame);
        assert_eq!(frame[2..14], [1, 2, 7, 8, 9, 0xa, 0xb, 0xc, 3, 4, 5, 6]);
        let tag = key.tag(Form::Full, 0x0102_0708_090a_0b0c, 0x0304_0506) as u32;
        assert_eq!(frame[14..], tag.to_be_bytes());
        let words = frame.chunks(2).map(|w| u32::from(w[0]) * 256 + u32::from(w[1])).sum::<u32>();
        assert_eq!(words % 0xffff, u32::from(key.expected_sum(Form::Full)));
        assert_eq!(read(Form::Full, key, &frame), Some(stamp));
    }

    #[test]
    fn short_and_compact_byte_vectors() {
        let mut frame = [0u8; 14];
        let stamp = Stamp { stream: 0x102, sequence: 0x0304_0506, transmit_ticks: 0x708_090a_0b0c };
        let key = key(9, 5);
        write(Form::Short, key, stamp, &mut frame);
        assert_eq!(frame[2..9], [0x10, 0x27, 8, 9, 0xa, 0xb, 0xc]);
        assert_eq!(frame[9], key.tag(Form::Short, 0x1027_0809_0a0b_0c00, 0x0304_0506) as u8);
        assert_eq!(frame[10..], [3, 4, 5, 6]);
        assert_eq!(read(Form::Short, key, &frame), Some(stamp));
        write(Form::Compact, key, stamp, &mut frame[..6]);
        assert_eq!(frame[2..6], [3, 4, 5, 6]);
        let of_trial = u32::from(key.expected_sum(Form::Compact)) + 0x0102;
        let check = u32::from(frame[0]) * 256 + u32::from(frame[1]);
        assert_eq!((check + 0x0304 + 0x0506) % 0xffff, of_trial % 0xffff);
    }

    fn any_form() -> impl Strategy<Value = Form> {
        prop_oneof![Just(Form::Full), Just(Form::Short), Just(Form::Compact)]
    }

    /// Makes the sum of a form good again after a change: what a device does that mends checksums, or
    /// anybody who has seen one frame.
    fn mend(form: Form, key: Key, frame: &mut [u8]) {
        let start = frame.len() - form.len_bytes();
        let trailer = &mut frame[start..];
        trailer[..2].fill(0);
        let check = fold(u32::from(key.expected_sum(form)) + u32::from(!sum(trailer)));
        trailer[..2].copy_from_slice(&check.to_be_bytes());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(form in any_form(), seed: u64, trial: u64, stream in 0u16..0xffff,
                                   sequence: u64, ticks: u64, len in 18usize..100) {
            let mut frame = vec![0xa5; len];
            let stream = stream.min(form.stream_max());
            let stamp = Stamp { stream, sequence, transmit_ticks: ticks };
            write(form, key(seed, trial), stamp, &mut frame);
            let got = read(form, key(seed, trial), &frame).unwrap();
            prop_assert_eq!(got.stream, stream);
            prop_assert_eq!(extend(got.sequence, SEQUENCE_BITS, sequence), sequence);
            if form != Form::Compact {
                prop_assert_eq!(extend_time(got.transmit_ticks, form.time_bits(), ticks), ticks);
            }
        }

        #[test]
        fn a_changed_signature_is_not_ours(bit in 0usize..144, seed: u64, sequence: u64) {
            let mut frame = [0u8; 60];
            let stamp = Stamp { stream: 7, sequence, transmit_ticks: 99 };
            write(Form::Full, key(seed, 3), stamp, &mut frame);
            frame[42 + bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(examine(Form::Full, key(seed, 3), &frame), Reading::None);
        }

        /// Changed, and the check mended.
        #[test]
        fn a_forged_signature_is_known(bit in 16usize..144, seed: u64, sequence: u64, ticks: u64) {
            let mut frame = [0u8; 60];
            let key = key(seed, 3);
            write(Form::Full, key, Stamp { stream: 7, sequence, transmit_ticks: ticks }, &mut frame);
            frame[42 + bit / 8] ^= 1 << (bit % 8);
            mend(Form::Full, key, &mut frame);
            let is_known = matches!(examine(Form::Full, key, &frame), Reading::Untagged(_));
            prop_assert!(is_known);
            prop_assert_eq!(trials_ago(Form::Full, key, &frame, |_| true), None);
        }

        #[test]
        fn frames_of_earlier_trials_say_which(form in any_form(), seed: u64, trial in 4u64..100_000,
                                              ago in 1usize..5, stream in 1u16..9_000, sequence: u64) {
            let (now, then) = (key(seed, trial), key(seed, trial - ago as u64));
            let mut frame = vec![0; 60];
            let stream = stream.min(form.stream_max());
            write(form, then, Stamp { stream, sequence, transmit_ticks: 5 }, &mut frame);
            match examine(form, now, &frame) {
                Reading::Ours(stamp) if form == Form::Compact => prop_assert!(stamp.stream >= 9_561),
                // One in 256 tags of 8 bits fits anyway.
                Reading::Ours(_) if form == Form::Short => return Ok(()),
                reading => prop_assert!(matches!(reading, Reading::Untagged(_)), "{reading:?}"),
            }
            let found = trials_ago(form, now, &frame, |stream| stream < 9_000);
            let fits_sooner = form == Form::Short && found < Some(ago);
            prop_assert!(found == Some(ago) || fits_sooner, "{found:?}");
        }

        #[test]
        fn stamping_leaves_the_checksum_alone(form in any_form(), seed: u64, odd: bool,
                                              a: u64, b: u64, t: u64, u: u64) {
            let mut first = vec![0x5a; 100 + usize::from(odd)];
            let mut second = first.clone();
            let key = key(seed, 1);
            write(form, key, Stamp { stream: 3, sequence: a, transmit_ticks: t }, &mut first);
            write(form, key, Stamp { stream: 3, sequence: b, transmit_ticks: u }, &mut second);
            if odd {
                first.push(0);
                second.push(0);
            }
            prop_assert_eq!(canonical(sum(&first)), canonical(sum(&second)));
        }

        #[test]
        fn no_bytes_make_the_reader_panic(form in any_form(), seed: u64, bytes: Vec<u8>) {
            let _ = read(form, key(seed, 7), &bytes);
            let _ = trials_ago(form, key(seed, 7), &bytes, |_| true);
        }

        #[test]
        fn extending_finds_the_nearest(reference: u64, offset in -1_000_000i64..1_000_000) {
            let value = reference.saturating_add_signed(offset);
            prop_assert_eq!(extend(value & 0xffff_ffff, 32, reference), value);
        }

        /// However long it was under way, up to all that the bits can tell.
        #[test]
        fn a_time_is_extended_backwards(latest in 1u64 << 48..1 << 60, ago in 0u64..1 << 40) {
            let value = latest - ago;
            prop_assert_eq!(extend_time(value & ((1 << 40) - 1), 40, latest), value);
        }
    }

    #[test]
    fn frames_of_another_run_are_mostly_not_even_looked_at() {
        let mut frame = [0u8; 60];
        let mut untagged = 0;
        for other in 0..20_000 {
            write(
                Form::Full,
                key(other, 1),
                Stamp { stream: 1, sequence: 4, transmit_ticks: 9 },
                &mut frame,
            );
            match examine(Form::Full, key(77_777, 1), &frame) {
                Reading::None => {}
                Reading::Untagged(_) => untagged += 1,
                Reading::Ours(_) => panic!("another run's frame was taken for ours"),
            }
        }
        assert!(untagged < 6, "{untagged} of 20,000 have the same constant; one in 65,535 should");
    }
}
