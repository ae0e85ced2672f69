//! Tokens: frames that a device lets pass beyond the rate that it keeps up, and for which they need not wait.
//!
//! A policer drops what it has no token for. Its tokens carry a load above its rate for a while, and neither loss nor
//! delay tells of it in a trial that is short enough. A trial that loses frames does: none is lost until the tokens
//! are used up, and what comes out from then on is the rate at which they come.
//!
//! ```text
//! departures  |k k k k k k k k k k k k k k k k|
//! arrivals    |k k k k k k   k     k     k    |
//!                          ^ first loss, from where on the device does what it keeps up
//! ```

use crate::sustained::{Delays, accounts_from};
use crate::{PortSent, StreamReceived, TrialResult};
use units::Duration;

/// A rate is told from so much of a trial, at least, and from so many frames.
const TAIL_AT_LEAST: f64 = 0.2;
const FRAMES_AT_LEAST: f64 = 20.0;

/// What one trial with loss shows of tokens, in one direction (all frames that one port sent).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Allowance {
    /// Frames a second that came out from the first loss on, at least and at most: a frame more or less.
    pub steady_fps: (f64, f64),
    /// Frames that came out before it beyond that rate, and did not have to wait for it in a queue.
    pub frames: f64,
}

/// The allowance of the direction that shows the most; `None` where too little of the trial came after the first
/// loss, and where frames have no transmit time: then a queue cannot be told from tokens.
pub fn allowance(result: &TrialResult) -> Option<Allowance> {
    let all = result.sent.iter().filter_map(|sent| of_direction(result, sent));
    all.max_by(|a, b| a.frames.total_cmp(&b.frames))
}

fn of_direction(result: &TrialResult, sent: &PortSent) -> Option<Allowance> {
    let report = &sent.report;
    let accounts: Vec<_> = accounts_from(result, report.port).collect();
    let sending = report.last_departure?.since(report.first_departure?);
    let offered: u64 = accounts.iter().map(|(stream, _)| stream.sent).sum();
    let received: u64 = accounts.iter().map(|(_, received)| received.account.unique).sum();
    // Streams take turns: each has had the same share of its frames when the first of any is lost.
    let lost_at = accounts.iter().filter_map(|(stream, received)| {
        let first = received.missing.first?;
        (stream.sent > 0).then(|| first as f64 / stream.sent as f64)
    });
    let before = lost_at.min_by(f64::total_cmp)?.min(1.0);
    let (offered, time_s) = (offered as f64, sending.as_secs_f64());
    let tail_s = time_s * (1.0 - before);
    let tail_frames = received as f64 - offered * before;
    if 1.0 - before < TAIL_AT_LEAST || tail_frames < FRAMES_AT_LEAST || sending == Duration::ZERO {
        return None;
    }
    let accounts: Vec<&StreamReceived> = accounts.iter().map(|(_, received)| *received).collect();
    let steady = tail_frames / tail_s;
    let waited = Delays::of(&accounts)?.longest.as_secs_f64() * steady;
    Some(Allowance {
        steady_fps: ((tail_frames - 1.0) / tail_s, (tail_frames + 1.0) / tail_s),
        frames: (offered * before - steady * time_s * before - waited).max(0.0),
    })
}
