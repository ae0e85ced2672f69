//! By what a trial is known again: a digest of everything that is sent, waited for and looked at, written out
//! byte by byte in a form of this file's own, so that no type's name or hasher is on disk.
//!
//! Not in it: the key of the signatures, which differs from attempt to attempt; captures, which alter nothing; and
//! names of streams and what their frames cannot measure, which are for people.

use crate::{
    Cycle, DeviceAction, Expectation, Fingerprint, Insertion, PortId, PortLoad, Prelude, Role,
    Schedule, Segment, Stream, StreamFrame, StreamId, Tagging, Trial, Trigger, ValidityLimits,
    Waits,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use units::{Duration, FrameRate};
use wire::signature::Form;

/// Version of what is written below: it grows with every change of it.
const FORM: u64 = 1;

/// A digest of a trial; as text 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TrialIdentity([u8; 16]);

impl fmt::Display for TrialIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Serialize for TrialIdentity {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}
impl<'a> Deserialize<'a> for TrialIdentity {
    fn deserialize<D: Deserializer<'a>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let digits = Some(&text).filter(|text| text.len() == 32 && !text.starts_with('+'));
        let number = digits.and_then(|digits| u128::from_str_radix(digits, 16).ok());
        let number = number.ok_or_else(|| {
            serde::de::Error::custom("an identity of a trial has 32 hexadecimal digits")
        })?;
        Ok(TrialIdentity(number.to_be_bytes()))
    }
}

impl Trial {
    /// Differs where anything differs that is sent, waited for or looked at; equal trials of a run resumed have
    /// equal ones.
    pub fn identity(&self) -> TrialIdentity {
        let mut text = Text(blake3::Hasher::new());
        text.trial(self);
        let mut digest = [0; 16];
        digest.copy_from_slice(&text.0.finalize().as_bytes()[..16]);
        TrialIdentity(digest)
    }
}

/// What the digest is of. Every value has a fixed length or its length before it. Types are taken apart member by
/// member: a new one is an error here until it is written, or left out for a reason.
struct Text(blake3::Hasher);

impl Text {
    fn number(&mut self, number: u64) {
        self.0.update(&number.to_le_bytes());
    }
    fn numbers(&mut self, numbers: &[u64]) {
        numbers.iter().for_each(|number| self.number(*number));
    }
    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.update(bytes);
    }
    fn list<T>(&mut self, all: &[T], write: impl Fn(&mut Self, &T)) {
        self.number(all.len() as u64);
        all.iter().for_each(|one| write(self, one));
    }
    fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.number(u64::from(value.is_some()));
        if let Some(value) = value {
            write(self, value);
        }
    }
    fn time(&mut self, time: Duration) {
        self.number(time.as_ps());
    }
    fn rate(&mut self, rate: FrameRate) {
        let (frames, seconds) = rate.as_fraction();
        self.numbers(&[frames, seconds]);
    }

    fn trial(&mut self, trial: &Trial) {
        let Trial {
            label,
            key: _,
            streams,
            loads,
            prelude,
            waits,
            tagging,
            count_flows,
            verify_payload,
            action,
            captures: _,
            limits,
        } = trial;
        self.number(FORM);
        self.bytes(label.as_bytes());
        self.list(streams, Self::stream);
        self.list(loads, Self::load);
        self.list(prelude, Self::prelude);
        self.waits(waits);
        self.option(*tagging, Self::tagging);
        self.numbers(&[u64::from(*count_flows), u64::from(*verify_payload)]);
        self.option(action.as_ref(), |text, (after, action)| {
            text.time(*after);
            text.action(action);
        });
        self.limits(limits);
    }

    fn stream(&mut self, stream: &Stream) {
        let Stream {
            id,
            name: _,
            role,
            from,
            expect,
            frames,
            fingerprint,
            given_up: _,
            bad_fcs,
            grows_by_bytes,
        } = stream;
        let role = match role {
            Role::Test => 0,
            Role::Modifier => 1,
        };
        self.numbers(&[u64::from(id.0), role, u64::from(from.0), u64::from(*bad_fcs)]);
        self.number(i64::from(*grows_by_bytes) as u64);
        match expect {
            Expectation::Unchecked => self.number(0),
            Expectation::Ports(ports) => {
                self.number(1);
                self.list(ports, |text, PortId(port)| text.number(u64::from(*port)));
            }
        }
        self.list(frames, Self::frame);
        self.option(*fingerprint, |text, Fingerprint { offset_bytes, value, mask }| {
            text.numbers(&[u64::from(offset_bytes), u64::from(value), u64::from(mask)]);
        });
    }

    fn frame(&mut self, StreamFrame { bytes, form }: &StreamFrame) {
        self.bytes(bytes);
        self.number(match form {
            None => 0,
            Some(Form::Full) => 1,
            Some(Form::Short) => 2,
            Some(Form::Compact) => 3,
        });
    }

    fn load(&mut self, PortLoad { port, schedule, order, insertions }: &PortLoad) {
        let Schedule { segments } = schedule;
        self.number(u64::from(port.0));
        self.list(segments, Self::segment);
        self.list(order, |text, StreamId(id)| text.number(u64::from(*id)));
        self.list(insertions, |text, Insertion { stream, trigger }| {
            text.number(u64::from(stream.0));
            match trigger {
                Trigger::Frames { first, every } => text.numbers(&[0, *first, *every]),
                Trigger::Interval { first, every } => {
                    text.numbers(&[1, first.as_ps(), every.as_ps()]);
                }
            }
        });
    }

    fn segment(&mut self, Segment { frames, rate, bursts, by_length }: &Segment) {
        self.number(*frames);
        self.rate(*rate);
        self.option(*bursts, |text, (frames, period)| text.numbers(&[frames, period.as_ps()]));
        self.option(by_length.as_ref(), |text, cycle: &Cycle| {
            text.list(cycle.each_bytes(), |text, bytes| text.number(u64::from(*bytes)));
        });
    }

    fn prelude(&mut self, Prelude { port, frames, wait }: &Prelude) {
        self.number(u64::from(port.0));
        self.list(frames, |text, frame| text.bytes(frame));
        self.time(*wait);
    }

    fn waits(&mut self, Waits { drain, drain_max, nothing_yet, settle }: &Waits) {
        [drain, drain_max, nothing_yet, settle].into_iter().for_each(|wait| self.time(*wait));
    }

    fn tagging(&mut self, Tagging { stream, first, every, count }: Tagging) {
        self.numbers(&[u64::from(stream.0), first, every, count]);
    }

    fn action(&mut self, action: &DeviceAction) {
        match action {
            DeviceAction::LinkReset { port, down_for } => {
                self.numbers(&[0, u64::from(port.0), down_for.as_ps()]);
            }
            DeviceAction::SoftwareReset => self.number(1),
        }
    }

    /// They say when a transmitter catches up, and which trial counts.
    fn limits(&mut self, limits: &ValidityLimits) {
        let ValidityLimits {
            shortfall,
            late_after_us,
            late_intervals,
            credit_us,
            credit_frames,
            unwanted,
        } = limits;
        self.numbers(&[shortfall.to_bits(), unwanted.to_bits()]);
        self.numbers(&[*late_after_us, *late_intervals, *credit_us, *credit_frames]);
    }
}

#[cfg(test)]
mod tests;
