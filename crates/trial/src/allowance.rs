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
use crate::{PortSent, StreamReceived, StreamResult, TrialResult};
use units::Duration;

/// A rate is told from so much of a trial, at least, and from so many frames.
const TAIL_AT_LEAST: f64 = 0.2;
const FRAMES_AT_LEAST: f64 = 20.0;

/// What one trial with loss shows of tokens. A direction is all frames that one port sent.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Allowance {
    /// Frames a second that came out from the first loss on, at least and at most (a frame more or less), of the
    /// direction that had the least.
    pub steady_fps: (f64, f64),
    /// The same of the mean direction. Where directions share the tokens, the limit of an even load: above it they
    /// may have unequal shares.
    pub even_fps: (f64, f64),
    /// The same of all directions together.
    pub all_fps: (f64, f64),
    /// Frames that came out before it beyond that rate, and did not have to wait for it in a queue: of the direction
    /// that had the most.
    pub frames: f64,
    /// The same with those that stood in a queue as the first one was lost.
    pub with_queue_frames: f64,
}

/// `None` where too little of the trial came after the first loss, and where frames have no transmit time: then a
/// queue cannot be told from tokens.
pub fn allowance(result: &TrialResult) -> Option<Allowance> {
    let sent: Vec<&PortSent> = result.sent.iter().filter(|sent| sending(sent).is_some()).collect();
    let together = of_directions(result, &sent)?;
    let shares = 1.0 / sent.len() as f64;
    let apart = sent.iter().map(|sent| {
        let alone = of_directions(result, std::slice::from_ref(sent));
        // Of a direction that had next to nothing, what it had from the first loss of any on.
        alone.unwrap_or_else(|| of_tail(result, sent, together.before))
    });
    let apart: Vec<Shown> = apart.collect();
    let least = apart.iter().map(|it| it.steady_fps).min_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(Allowance {
        steady_fps: least,
        even_fps: (together.steady_fps.0 * shares, together.steady_fps.1 * shares),
        all_fps: together.steady_fps,
        frames: apart.iter().map(|it| it.frames).fold(together.frames * shares, f64::max),
        with_queue_frames: apart
            .iter()
            .map(|it| it.with_queue_frames)
            .fold(together.with_queue_frames * shares, f64::max),
    })
}

/// What a trial shows that lost frames from some time on, steadily until its end, of the direction that lost most of
/// them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LetOut {
    /// Frames a second that were offered.
    pub offered_fps: f64,
    /// Of these, what was lost from the first loss on.
    pub excess_fps: f64,
    /// Frames that would have been lost before it at the same rate, and were not, nor had to wait in a queue; 0 where
    /// chance may have put the first loss so late.
    pub frames: f64,
    /// The same with those that stood in a queue.
    pub with_queue_frames: f64,
}

/// A first loss so late, or a last one so early, is no accident: of losses at random, one trial in ten thousand has it
/// (e^-9.2).
const NO_ACCIDENT: f64 = 9.2;

/// What each trial lets out may depend on its load: where few of many flows have a limit, say. `None` where nothing was
/// lost, or frames were lost in a part of the trial only, as in a standstill.
pub fn let_out(result: &TrialResult) -> Option<LetOut> {
    let all = result.sent.iter().filter_map(|sent| let_out_of(result, sent));
    all.max_by(|a, b| a.excess_fps.total_cmp(&b.excess_fps))
}

fn let_out_of(result: &TrialResult, sent: &PortSent) -> Option<LetOut> {
    let time_s = sending(sent)?.as_secs_f64();
    let accounts: Vec<_> = accounts_from(result, sent.report.port).collect();
    let offered: u64 = accounts.iter().map(|(stream, _)| stream.sent).sum();
    let lost: u64 = accounts.iter().map(|(_, received)| received.missing.count).sum();
    let before = before_loss(&accounts)?;
    let lasts = accounts.iter().filter_map(|(stream, it)| share(it.missing.last?, stream));
    let last = lasts.max_by(f64::total_cmp)?;
    let tail = 1.0 - before;
    if offered as f64 * tail < FRAMES_AT_LEAST {
        return None;
    }
    // The chance that none of so many losses falls within a share of the trial. Frames in a row are lost for one reason.
    let losses = accounts.iter().map(|(_, received)| received.missing.gaps).sum::<u64>() as f64;
    let is_accident = |within: f64| losses * -(1.0 - within).max(1e-12).ln() < NO_ACCIDENT;
    if !is_accident(((1.0 - last) / tail).clamp(0.0, 1.0)) {
        return None;
    }
    let received: Vec<&StreamReceived> = accounts.iter().map(|(_, received)| *received).collect();
    let offered_fps = offered as f64 / time_s;
    let excess_fps = lost as f64 / (time_s * tail);
    let waited = Delays::of(&received)?.longest.as_secs_f64() * (offered_fps - excess_fps).max(0.0);
    let beyond = if is_accident(before) { 0.0 } else { excess_fps * time_s * before };
    let frames = (beyond - waited).max(0.0);
    Some(LetOut { offered_fps, excess_fps, frames, with_queue_frames: beyond })
}

struct Shown {
    steady_fps: (f64, f64),
    frames: f64,
    with_queue_frames: f64,
    /// The share of the trial before the first loss.
    before: f64,
}

fn sending(sent: &PortSent) -> Option<Duration> {
    let time = sent.report.last_departure?.since(sent.report.first_departure?);
    (time > Duration::ZERO).then_some(time)
}

/// How far a stream had come when this frame of it left, as a share.
fn share(sequence: u64, stream: &StreamResult) -> Option<f64> {
    (stream.sent > 0).then(|| (sequence as f64 / stream.sent as f64).min(1.0))
}

/// The share of a trial before the first loss. Streams take turns: each has had the same share of its frames when the
/// first of any is lost.
fn before_loss(accounts: &[(&StreamResult, &StreamReceived)]) -> Option<f64> {
    let lost_at = accounts.iter().filter_map(|(stream, it)| share(it.missing.first?, stream));
    lost_at.min_by(f64::total_cmp)
}

/// What a direction had after that share of the trial, and no tokens.
fn of_tail(result: &TrialResult, sent: &PortSent, before: f64) -> Shown {
    let (mut offered, mut received) = (0.0, 0.0);
    for (stream, came) in accounts_from(result, sent.report.port) {
        offered += stream.sent as f64;
        received += came.account.unique as f64;
    }
    let tail_s = sending(sent).map_or(f64::INFINITY, |time| time.as_secs_f64() * (1.0 - before));
    let frames = (received - offered * before).max(0.0);
    let steady_fps = ((frames - 1.0).max(0.0) / tail_s, (frames + 1.0) / tail_s);
    Shown { steady_fps, frames: 0.0, with_queue_frames: 0.0, before }
}

/// Of directions that send side by side, as if they were one.
fn of_directions(result: &TrialResult, sent: &[&PortSent]) -> Option<Shown> {
    let accounts = sent.iter().flat_map(|sent| accounts_from(result, sent.report.port));
    let accounts: Vec<_> = accounts.collect();
    let time_s = sent.iter().filter_map(|sent| sending(sent)).max()?.as_secs_f64();
    let offered: u64 = accounts.iter().map(|(stream, _)| stream.sent).sum();
    let received: u64 = accounts.iter().map(|(_, received)| received.account.unique).sum();
    let before = before_loss(&accounts)?;
    let offered = offered as f64;
    let tail_s = time_s * (1.0 - before);
    let tail_frames = received as f64 - offered * before;
    if 1.0 - before < TAIL_AT_LEAST || tail_frames < FRAMES_AT_LEAST {
        return None;
    }
    let accounts: Vec<&StreamReceived> = accounts.iter().map(|(_, received)| *received).collect();
    let steady = tail_frames / tail_s;
    let beyond = offered * before - steady * time_s * before;
    let waited = Delays::of(&accounts)?.longest.as_secs_f64() * steady;
    // Each direction may have sent a frame less before the first loss than its share.
    let more = sent.len() as f64;
    Some(Shown {
        steady_fps: ((tail_frames - more).max(0.0) / tail_s, (tail_frames + 1.0) / tail_s),
        frames: (beyond - waited).max(0.0),
        with_queue_frames: beyond.max(0.0),
        before,
    })
}
