//! For how long the device keeps frames, as far as trials have shown, and what follows for the next
//! trial: how long nothing is waited for, what a trial is worth that met what an earlier one left, and how
//! long the device is given to become empty.

use std::collections::VecDeque;
use trial::{InvalidReason, Trial, TrialResult};
use units::{Duration, Instant};
use wire::signature::EARLIER_TRIALS;

/// Frames of the prelude are waited for for at least so many times the shortest delay seen.
const PRELUDE_DELAYS: u64 = 4;
/// A device that still held frames after a trial is waited for so long before the next.
const PATIENCE_MIN: Duration = Duration::from_secs(2);

/// What is known of one device.
#[derive(Clone, Debug, Default)]
pub(crate) struct Residence {
    /// The shortest that any frame has taken in each of the last two trials: in one the device may have stood still.
    shortest: [Duration; 2],
    /// The longest that any frame has taken; `None` until the first wait is over.
    longest: Option<Duration>,
    /// Whether frames of earlier trials may still be within the device.
    may_hold: bool,
    /// How long the device was given last to put out what it held.
    patience: Duration,
    /// When the last frames of the trials before left, the latest first.
    departures: VecDeque<Instant>,
}

impl Residence {
    /// Lengthens the waits of a trial for a device that keeps frames.
    pub(crate) fn prepare(&self, trial: &mut Trial) {
        // A slow device still serves the frames of the prelude when the wait for a quick one is over; one that held
        // frames may serve those of earlier trials before them.
        let slow = (self.shortest[0].min(self.shortest[1]) * PRELUDE_DELAYS)
            .min(trial.waits.longest_drain())
            .max(self.patience);
        trial.prelude.iter_mut().for_each(|step| step.wait = step.wait.max(slow));
        // Of an unknown device that shows nothing it is not known whether it loses frames or is slow.
        trial.waits.nothing_yet = match self.longest {
            Some(longest) => trial.waits.nothing_yet.max(longest * 2),
            None => trial.waits.longest_drain(),
        };
    }

    /// Takes in what a trial shows; one that decides nothing is made invalid.
    pub(crate) fn learn(&mut self, result: &mut TrialResult) {
        let held = self.may_hold;
        self.note_delays(result);
        if let Some(reason) = self.doubt(result, held) {
            result.invalidate(reason);
        }
        let is_cut = result.invalid_reasons().iter().any(says_that_it_holds_frames);
        // Frames leave in the order in which they came: behind those of this trial there is nothing older.
        self.may_hold = is_cut || (held && result.forwarded_frames() == 0);
        let sent = result.sent.iter().filter_map(|sent| sent.report.last_departure);
        self.departures.push_front(sent.max().unwrap_or(result.started_at));
        self.departures.truncate(EARLIER_TRIALS);
    }

    fn note_delays(&mut self, result: &TrialResult) {
        let latency = result.latency();
        let of = |pick: fn(&trial::Histogram) -> Option<Duration>| latency.as_ref().and_then(pick);
        if let Some(shortest) = of(trial::Histogram::min) {
            self.shortest = [shortest, self.shortest[0]];
        }
        let by_earlier = self.kept_by_leftovers(result).max(self.kept_by_older(result));
        let kept = by_earlier.max(of(trial::Histogram::max));
        let has_waited = result.expected_frames() > 0 || kept.is_some();
        if has_waited {
            self.longest = self.longest.max(Some(kept.unwrap_or_default()));
        }
    }

    /// Frames of an earlier trial were in the device at least from the last departure of that trial on.
    fn kept_by_leftovers(&self, result: &TrialResult) -> Option<Duration> {
        let of_port = |port: &trial::PortReceived| {
            let (last, (ago, _)) = (port.leftovers.last_at?, port.leftovers.trials_ago().next()?);
            let departed = self.departures.get(ago as usize - 1)?;
            Some(last.since((*departed).min(last)))
        };
        result.received.iter().filter_map(of_port).max()
    }

    /// A frame with this run's signature that is of no trial known is of one before them, or forged.
    fn kept_by_older(&self, result: &TrialResult) -> Option<Duration> {
        let has_come = result.received.iter().any(|port| port.forged > 0);
        let departed = self.departures.get(EARLIER_TRIALS - 1).filter(|_| has_come)?;
        Some(result.started_at.since(*departed))
    }

    /// Why a trial decides nothing whose own counts look well.
    fn doubt(&self, result: &TrialResult, held: bool) -> Option<InvalidReason> {
        let forged: u64 = result.received.iter().map(|port| port.forged).sum();
        if held && forged > 0 {
            return Some(InvalidReason::Other {
                what: format!(
                    "{forged} frames with this run's signature, but of none of the last {EARLIER_TRIALS} \
                     trials, came from a device that may hold frames of earlier ones"
                ),
            });
        }
        (is_silent(result) && (held || self.keeps_longer_than(result.drained_after)))
            .then(|| InvalidReason::Other { what: self.silence(result.drained_after) })
    }

    /// Why nothing is known of a trial without a frame after all, waited for so long, from what trials after it have
    /// shown.
    pub(crate) fn late_doubt(&self, waited: Duration) -> Option<String> {
        self.keeps_longer_than(waited).then(|| self.silence(waited))
    }

    fn keeps_longer_than(&self, waited: Duration) -> bool {
        self.longest.is_some_and(|longest| waited < longest)
    }

    fn silence(&self, waited: Duration) -> String {
        let longest = self.longest.unwrap_or_default();
        format!(
            "nothing came back in {waited}, and the device keeps frames for {longest} or more: they may \
             not be lost; set a longer trial.drain_max_s"
        )
    }

    /// How long to wait before the next trial, so that what the device still holds takes no room in it.
    pub(crate) fn wait_for_empty(
        &mut self,
        trial: &Trial,
        result: &TrialResult,
    ) -> Option<Duration> {
        if !self.may_hold {
            self.patience = Duration::ZERO;
            return None;
        }
        let least = PATIENCE_MIN.max(self.patience * 2).max(still_to_come(result));
        self.patience = least.min(trial.waits.longest_drain().max(PATIENCE_MIN));
        Some(self.patience)
    }
}

/// Whether nothing came back of what should have.
pub(crate) fn is_silent(result: &TrialResult) -> bool {
    result.expected_frames() > 0 && result.forwarded_frames() == 0
}

fn says_that_it_holds_frames(reason: &InvalidReason) -> bool {
    matches!(reason, InvalidReason::StillArriving { .. } | InvalidReason::Leftovers { .. })
}

/// How long all that is missing takes, if none of it is lost and it comes as fast as what has come.
fn still_to_come(result: &TrialResult) -> Duration {
    let accounts = || result.expected_accounts().map(|received| &received.account);
    let first = accounts().filter_map(|account| account.first_at).min();
    let last = accounts().filter_map(|account| account.last_at).max();
    let span = last.zip(first).map_or(Duration::ZERO, |(last, first)| last.since(first));
    let intervals = result.forwarded_frames().saturating_sub(1).max(1);
    let seconds = span.as_secs_f64() * result.lost_frames() as f64 / intervals as f64;
    // A tenth more: the last interval is one of several.
    Duration::from_secs_f64(seconds * 1.1)
}
