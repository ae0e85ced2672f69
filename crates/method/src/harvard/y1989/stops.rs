//! Whether a device stops under load: only what a valid trial shows, and a second one shows again, is held
//! against it, and only at a load that the tester passes by itself ([`Control`]). On a host that others use, a
//! device may be kept from its processor for one whole trial.

use super::control::Control;
use super::result::{Harvard1989Result, Misbehaviour};
use super::scene::Possible;
use crate::RunError;
use crate::bench::Ran;
use trial::{StreamReceived, TrialResult};

/// So large a part of a stream lost in one piece is a stop.
const STOPPED: f64 = 0.9;

/// What becomes of a device under a load.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    /// Frames come out to the end.
    GoesOn,
    /// From some moment on nothing comes out, in one trial of two.
    StoppedOnce,
    /// From some moment on nothing comes out, in two trials of two.
    Stops,
    /// The tester could not tell, and why.
    Undecided(Vec<String>),
}

/// The fate of a device of which a trial is known; `again` makes another one alike, where that shows a stop.
pub(super) fn fate(
    known: &Ran,
    again: impl FnOnce() -> Result<Possible, RunError>,
) -> Result<Fate, RunError> {
    if !known.result.is_valid() {
        return Ok(Fate::Undecided(known.invalid_reasons()));
    }
    if !is_stopped(&known.result) {
        return Ok(Fate::GoesOn);
    }
    Ok(match again()? {
        Err(why) => Fate::Undecided(vec![why]),
        Ok(ran) if !ran.result.is_valid() => Fate::Undecided(ran.invalid_reasons()),
        Ok(ran) if is_stopped(&ran.result) => Fate::Stops,
        Ok(_) => Fate::StoppedOnce,
    })
}

impl Fate {
    /// The same where the load itself may be too much for the tester.
    pub fn under(self, control: Control) -> Fate {
        match (self, control.objection()) {
            (Fate::Stops, Some(why)) => Fate::Undecided(vec![why]),
            (fate, _) => fate,
        }
    }

    /// Says it of the device, or why nothing can be said.
    pub fn tell(self, result: &mut Harvard1989Result, load: String, control: Control) {
        match self {
            Fate::GoesOn => {}
            Fate::Stops => control.accuse(result, Misbehaviour::StopsUnderLoad { load }),
            Fate::StoppedOnce => result.note(format!(
                "at {load} nothing came out any more in one trial, and frames to the end in another: not held \
                 against the device"
            )),
            Fate::Undecided(reasons) => result.note(format!(
                "at {load} nothing came out any more in one trial, and another decided nothing: {}; not held \
                 against the device",
                reasons.join("; ")
            )),
        }
    }
}

/// Whether the device forwards nothing any more: what it lets slip in the first moments, before it
/// stops, is no forwarding. A device that is only too slow loses a frame here and a frame there.
fn is_stopped(trial: &TrialResult) -> bool {
    let lost_in_a_row = |account: &StreamReceived| {
        let all = account.missing.count + account.account.unique;
        account.missing.longest_gap as f64 >= STOPPED * all as f64
    };
    trial.offered_frames() > 0 && trial.expected_accounts().all(lost_in_a_row)
}
