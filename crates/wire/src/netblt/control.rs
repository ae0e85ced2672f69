//! CONTROL: GO, OK and RESEND messages, from the receiver of data (RFC 998 section 8).

use super::WHAT;
use crate::DecodeError;
use crate::bytes::{require, u16_at, u32_at};
use std::borrow::Cow;
use std::fmt;

const TYPE: usize = 0;
const SEQUENCE: usize = 2;
const BUFFER: usize = 4;
const GO_LEN: usize = 8;
const BURST_SIZE: usize = 8;
const BURST_INTERVAL: usize = 10;
const CONTROL_TIMER: usize = 12;
const OK_LEN: usize = 16;
const MISSING_COUNT: usize = 8;
const MISSING: usize = 12;

/// One control message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message<'a> {
    /// Number of the message, from 1, each one higher than the one before.
    pub sequence: u16,
    /// The buffer that it is about.
    pub buffer: u32,
    /// What it says of it.
    pub kind: Kind<'a>,
}

/// What a control message says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind<'a> {
    /// A buffer stands ready: send.
    Go,
    /// The buffer has arrived whole.
    Ok {
        /// Burst size offered for what follows.
        burst_size_packets: u16,
        /// Burst interval offered for what follows.
        burst_interval_ms: u16,
        /// The receiver's control timer, from which the sender derives how long to dally.
        control_timer_ms: u16,
    },
    /// These packets of the buffer are missing.
    Resend(Missing<'a>),
}

/// Packet numbers, as they stand on the wire.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Missing<'a>(Cow<'a, [u8]>);

impl Missing<'_> {
    /// The numbers.
    pub fn iter(&self) -> impl Iterator<Item = u16> {
        self.0.as_chunks::<2>().0.iter().map(|pair| u16::from_be_bytes(*pair))
    }
    /// How many.
    pub fn count(&self) -> usize {
        self.0.len() / 2
    }
}

impl FromIterator<u16> for Missing<'static> {
    /// Panics if there are more than the count field can hold.
    fn from_iter<I: IntoIterator<Item = u16>>(numbers: I) -> Self {
        let bytes: Vec<u8> = numbers.into_iter().flat_map(u16::to_be_bytes).collect();
        assert!(bytes.len() / 2 <= usize::from(u16::MAX), "a list that its count can hold");
        Missing(Cow::Owned(bytes))
    }
}

impl fmt::Debug for Missing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a> Message<'a> {
    /// Bytes on the wire.
    pub fn len_bytes(&self) -> usize {
        match &self.kind {
            Kind::Go => GO_LEN,
            Kind::Ok { .. } => OK_LEN,
            Kind::Resend(missing) => (MISSING + missing.0.len()).next_multiple_of(4),
        }
    }
    /// The same without a borrow.
    pub fn into_owned(self) -> Message<'static> {
        let kind = match self.kind {
            Kind::Go => Kind::Go,
            Kind::Ok { burst_size_packets, burst_interval_ms, control_timer_ms } => {
                Kind::Ok { burst_size_packets, burst_interval_ms, control_timer_ms }
            }
            Kind::Resend(missing) => Kind::Resend(Missing(Cow::Owned(missing.0.into_owned()))),
        };
        Message { kind, ..self }
    }

    /// Reads the first of `bytes`.
    fn parse(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        require(WHAT, bytes, GO_LEN)?;
        let kind = match bytes[TYPE] {
            0 => Kind::Go,
            1 => {
                require(WHAT, bytes, OK_LEN)?;
                Kind::Ok {
                    burst_size_packets: u16_at(bytes, BURST_SIZE),
                    burst_interval_ms: u16_at(bytes, BURST_INTERVAL),
                    control_timer_ms: u16_at(bytes, CONTROL_TIMER),
                }
            }
            2 => {
                require(WHAT, bytes, MISSING)?;
                let end = MISSING + 2 * usize::from(u16_at(bytes, MISSING_COUNT));
                require(WHAT, bytes, end.next_multiple_of(4))?;
                Kind::Resend(Missing(Cow::Borrowed(&bytes[MISSING..end])))
            }
            _ => return Err(DecodeError::malformed(WHAT, "unknown control message type")),
        };
        Ok(Message { sequence: u16_at(bytes, SEQUENCE), buffer: u32_at(bytes, BUFFER), kind })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let start = out.len();
        let kind = match self.kind {
            Kind::Go => 0,
            Kind::Ok { .. } => 1,
            Kind::Resend(_) => 2,
        };
        out.extend_from_slice(&[kind, 0]);
        out.extend_from_slice(&self.sequence.to_be_bytes());
        out.extend_from_slice(&self.buffer.to_be_bytes());
        match &self.kind {
            Kind::Go => {}
            Kind::Ok { burst_size_packets, burst_interval_ms, control_timer_ms } => {
                for word in [burst_size_packets, burst_interval_ms, control_timer_ms] {
                    out.extend_from_slice(&word.to_be_bytes());
                }
            }
            Kind::Resend(missing) => {
                out.extend_from_slice(&(missing.count() as u16).to_be_bytes());
                out.extend_from_slice(&[0, 0]);
                out.extend_from_slice(&missing.0);
            }
        }
        out.resize(start + self.len_bytes(), 0);
    }
}

/// The messages of a CONTROL packet, checked to be whole; each is read when it is asked for, so
/// that a repeated packet costs next to nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Messages<'a>(Cow<'a, [u8]>);

impl Messages<'_> {
    /// The messages in their order.
    pub fn iter(&self) -> impl Iterator<Item = Message<'_>> {
        let mut rest = &self.0[..];
        std::iter::from_fn(move || {
            let message = Message::parse(rest).ok()?;
            rest = &rest[message.len_bytes()..];
            Some(message)
        })
    }
    /// Appends a message.
    pub fn push(&mut self, message: &Message<'_>) {
        message.emit(self.0.to_mut());
    }
    /// Bytes on the wire.
    pub fn len_bytes(&self) -> usize {
        self.0.len()
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }
}

impl<'a> Messages<'a> {
    /// Reads all messages of a packet.
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            rest = &rest[Message::parse(rest)?.len_bytes()..];
        }
        Ok(Messages(Cow::Borrowed(bytes)))
    }
}

impl<'a> FromIterator<Message<'a>> for Messages<'static> {
    fn from_iter<I: IntoIterator<Item = Message<'a>>>(messages: I) -> Self {
        let mut all = Messages::default();
        messages.into_iter().for_each(|message| all.push(&message));
        all
    }
}

impl fmt::Display for Messages<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().try_for_each(|Message { sequence, buffer, kind }| match kind {
            Kind::Go => write!(f, " {sequence}:GO({buffer})"),
            Kind::Ok { burst_size_packets, burst_interval_ms, control_timer_ms } => write!(
                f,
                " {sequence}:OK({buffer}, {burst_size_packets}/{burst_interval_ms} ms, \
                 control timer {control_timer_ms} ms)"
            ),
            Kind::Resend(missing) => write!(f, " {sequence}:RESEND({buffer}, {missing:?})"),
        })
    }
}
