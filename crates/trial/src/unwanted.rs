//! What arrived besides the trial's own frames: which of it makes the trial decide nothing, and which
//! of it the reader should know of.
//!
//! Counts of test frames are right whatever else arrives: a frame that is not known by its tag counts
//! for nothing. Frames that the device forwards twice, damages or sends to the wrong port are the
//! device's behaviour, and foreign frames load it besides: a reader of the result is told. A
//! trial decides nothing where frames of an earlier one took its room, and where forged frames may pass for
//! test frames because there is no room for a tag that finds them all.

use crate::{InvalidReason, PortReceived, Trial, TrialResult};
use units::Instant;
use wire::signature::Form;

pub(crate) fn judge(trial: &Trial, result: &mut TrialResult) {
    let reasons: Vec<_> = result
        .received
        .iter()
        .flat_map(|port| {
            [
                leftovers(trial, port, result.started_at),
                forged(trial, port, result.offered_frames()),
            ]
        })
        .flatten()
        .collect();
    reasons.into_iter().for_each(|reason| result.invalidate(reason));
    result.notes.extend(notes(trial, result));
}

/// What came before the trial began took nothing from it.
fn leftovers(trial: &Trial, port: &PortReceived, start: Instant) -> Option<InvalidReason> {
    let last = port.leftovers.last_at.filter(|last| *last >= start)?;
    let (ago, _) = port.leftovers.trials_ago().next()?;
    Some(InvalidReason::Leftovers {
        port: port.port,
        trial: trial.key.trial().saturating_sub(ago),
        frames: port.leftovers.total(),
        until: last.since(start),
    })
}

/// Of 2^bits forged frames one is not found.
fn forged(trial: &Trial, port: &PortReceived, sent: u64) -> Option<InvalidReason> {
    let frames = trial.streams.iter().flat_map(|stream| &stream.frames);
    let tag_bits = frames.filter_map(|frame| frame.form).map(Form::tag_bits).min()?;
    let is_much = exceeds(port.forged, sent, trial);
    (is_much && tag_bits < Form::Full.tag_bits()).then_some(InvalidReason::Forged {
        port: port.port,
        frames: port.forged,
        tag_bits,
    })
}

fn exceeds(frames: u64, sent: u64, trial: &Trial) -> bool {
    frames as f64 > sent as f64 * trial.limits.unwanted
}

fn notes(trial: &Trial, result: &TrialResult) -> Vec<String> {
    let sent = result.offered_frames();
    let of_streams = |count: fn(&crate::StreamResult) -> u64| -> u64 {
        result.streams.iter().filter(|s| s.role == crate::Role::Test).map(count).sum()
    };
    let of_ports =
        |count: fn(&PortReceived) -> u64| -> u64 { result.received.iter().map(count).sum() };
    let counts = [
        (of_streams(|stream| stream.duplicates), "arrived more than once"),
        (
            of_streams(|stream| stream.corrupted) + of_ports(|port| port.corrupted),
            "were corrupted, or are another tester's with the same addresses",
        ),
        (of_ports(|port| port.forged), "bear this run's signature, but were not sent so: forged"),
        (of_streams(|stream| stream.misdirected), "arrived at a port where they should not"),
        (of_ports(|port| port.foreign), "were not the tester's and loaded the device besides"),
    ];
    let told = counts.into_iter().filter(|(frames, _)| exceeds(*frames, sent, trial));
    told.map(|(frames, what)| format!("{frames} frames {what} ({sent} were sent)")).collect()
}
