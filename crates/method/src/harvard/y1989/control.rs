//! The control run of the tester: a device is blamed only at a load that the tester, its ports joined back to back,
//! has offered and received at this frame size. That run is its self-test.

use super::result::{Harvard1989Result, Misbehaviour};
use crate::outcome::number;
use crate::subject::Subject;
use units::FrameRate;

/// A load may be above what the tester reached by itself by this share: rates are rounded.
const ROUNDING: f64 = 0.001;

/// What is known of a load from the tester's own run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Control {
    /// The tester reached as much by itself.
    Reached,
    /// It reached only so much.
    Above(FrameRate),
    /// There was none.
    Missing,
}

impl Control {
    /// Of a load of this frame size.
    pub(super) fn of(subject: &Subject<'_>, load: FrameRate) -> Control {
        match subject.tester_max() {
            None => Control::Missing,
            Some(most) if load.fps() > most.fps() * (1.0 + ROUNDING) => Control::Above(most),
            Some(_) => Control::Reached,
        }
    }

    /// Why nothing can be said of the device at the load; `None` where something can.
    pub(super) fn objection(self) -> Option<String> {
        match self {
            Control::Above(most) => Some(format!(
                "the tester by itself reached only {} frames/s at this size (self-test)",
                number::fps(most)
            )),
            Control::Reached | Control::Missing => None,
        }
    }

    /// Holds a misbehaviour against the device, or says why not.
    pub(super) fn accuse(self, result: &mut Harvard1989Result, of: Misbehaviour) {
        match self.objection() {
            Some(why) => result.note(format!("{of}: not held against the device: {why}")),
            None => {
                result.misbehaviours.push(of);
                if self == Control::Missing && !result.notes.iter().any(|note| note == NO_CONTROL) {
                    result.note(NO_CONTROL);
                }
            }
        }
    }
}

/// Beside what is held against a device.
const NO_CONTROL: &str =
    "no control run: without a self-test nobody knows whether the tester alone passes this load";
