//! The tester is judged before the device: whether a trial may decide anything.

use crate::{PortCounters, PortId, PortReceived, PortSent, StreamResult};
use serde::{Deserialize, Serialize};
use std::fmt;
use units::{Duration, FrameRate};

/// Whether the tester itself kept up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Validity {
    /// It did; the result is the device's.
    Valid,
    /// It did not; the result decides nothing.
    Invalid(Vec<InvalidReason>),
}

/// What was wrong with the tester in a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum InvalidReason {
    /// Fewer frames left than intended, or more slowly.
    Shortfall {
        /// Where.
        port: PortId,
        /// Rate asked for.
        intended: FrameRate,
        /// Rate reached.
        offered: FrameRate,
        /// Frames of the schedule that never left.
        unsent_frames: u64,
    },
    /// The tester lost frames that had reached it.
    TesterDropped {
        /// Where.
        port: PortId,
        /// Name of the counter.
        counter: String,
        /// How many.
        frames: u64,
    },
    /// Frames handed to the interface were not sent.
    NotSent {
        /// Where.
        port: PortId,
        /// How many.
        frames: u64,
    },
    /// There was loss, and the tester's own late frames (sent in a bunch to catch up) could
    /// have caused it.
    LossWithinLateness {
        /// Frames lost by the trial.
        lost: u64,
        /// Frames sent late, beyond the bound.
        late_frames: u64,
        /// The largest lateness.
        worst: Duration,
    },
    /// An interface's own counter contradicts the tester's count.
    CountersDisagree {
        /// Where.
        port: PortId,
        /// Which counts.
        what: String,
        /// The tester's.
        tester: u64,
        /// The interface's.
        interface: u64,
    },
    /// Something else went wrong on the tester's side.
    Other {
        /// In words.
        what: String,
    },
}

/// Bounds of validity; the defaults are what reports name.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ValidityLimits {
    /// Largest tolerated relative shortfall of the offered load.
    pub shortfall: f64,
    /// A frame is late if it leaves this long after it was due, or `late_intervals` frame
    /// intervals, whichever is longer.
    pub late_after_us: u64,
    /// See `late_after_us`.
    pub late_intervals: u64,
}

impl Default for ValidityLimits {
    fn default() -> Self {
        ValidityLimits { shortfall: 0.001, late_after_us: 20, late_intervals: 16 }
    }
}

impl ValidityLimits {
    /// From when on a frame of this rate counts as late.
    pub fn late_after(&self, rate: FrameRate) -> Duration {
        let intervals = rate.departure(self.late_intervals);
        let intervals = if intervals == Duration::MAX { Duration::ZERO } else { intervals };
        Duration::from_us(self.late_after_us).max(intervals)
    }
}

/// Judges a trial by what its ports say.
pub fn judge(
    limits: &ValidityLimits,
    sent: &[PortSent],
    received: &[PortReceived],
    counters: &[PortCounters],
    streams: &[StreamResult],
) -> Validity {
    let mut reasons = vec![];
    for port in sent {
        reasons.extend(shortfall(limits, port));
        if port.dropped_by_tester > 0 {
            let frames = port.dropped_by_tester;
            reasons.push(InvalidReason::NotSent { port: port.report.port, frames });
        }
    }
    for port in counters {
        let dropped = port.tester_drops.iter().filter(|(_, frames)| *frames > 0);
        reasons.extend(dropped.map(|(counter, frames)| InvalidReason::TesterDropped {
            port: port.port,
            counter: counter.clone(),
            frames: *frames,
        }));
        reasons.extend(disagreements(port, sent, received));
    }
    reasons.extend(loss_within_lateness(sent, streams));
    if reasons.is_empty() { Validity::Valid } else { Validity::Invalid(reasons) }
}

fn shortfall(limits: &ValidityLimits, sent: &PortSent) -> Option<InvalidReason> {
    let report = &sent.report;
    let unsent_frames = report.intended_frames.saturating_sub(report.sent_frames);
    let offered = report.sent_rate().unwrap_or(sent.intended_rate);
    let slow = offered.fps() < sent.intended_rate.fps() * (1.0 - limits.shortfall);
    let few = unsent_frames as f64 > report.intended_frames as f64 * limits.shortfall;
    (slow || few).then_some(InvalidReason::Shortfall {
        port: report.port,
        intended: sent.intended_rate,
        offered,
        unsent_frames,
    })
}

/// The interface may carry more than the tester counts (a device's own frames), never less.
fn disagreements(
    counters: &PortCounters,
    sent: &[PortSent],
    received: &[PortReceived],
) -> Vec<InvalidReason> {
    let mut reasons = vec![];
    let mut compare = |what: &str, tester: u64, interface: Option<u64>| {
        if let Some(interface) = interface.filter(|interface| *interface < tester) {
            let what = what.to_string();
            reasons.push(InvalidReason::CountersDisagree {
                port: counters.port,
                what,
                tester,
                interface,
            });
        }
    };
    if let Some(sent) = sent.iter().find(|sent| sent.report.port == counters.port) {
        let left = sent.report.sent_frames.saturating_sub(sent.dropped_by_tester);
        compare("frames sent", left, counters.interface_sent);
    }
    if let Some(received) = received.iter().find(|received| received.port == counters.port) {
        compare("frames received", received.arrivals(), counters.interface_received);
    }
    reasons
}

fn loss_within_lateness(sent: &[PortSent], streams: &[StreamResult]) -> Option<InvalidReason> {
    let lost: u64 = streams.iter().filter(|s| s.role == crate::Role::Test).map(|s| s.lost).sum();
    let late_frames: u64 = sent.iter().map(|sent| sent.report.late_frames).sum();
    let worst = sent.iter().filter_map(|sent| sent.report.lateness.max()).max()?;
    (lost > 0 && lost <= late_frames).then_some(InvalidReason::LossWithinLateness {
        lost,
        late_frames,
        worst,
    })
}

impl fmt::Display for InvalidReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shortfall { port, intended, offered, unsent_frames } => write!(
                f,
                "{port}: the tester offered {offered} of {intended} intended \
                 ({unsent_frames} frames never left); lower the load or use a faster port type"
            ),
            Self::TesterDropped { port, counter, frames } => {
                write!(f, "{port}: the tester itself lost {frames} received frames ({counter})")
            }
            Self::NotSent { port, frames } => {
                write!(f, "{port}: the interface did not send {frames} frames handed to it")
            }
            Self::LossWithinLateness { lost, late_frames, worst } => write!(
                f,
                "{lost} frames were lost, but the tester sent {late_frames} frames late (up to \
                 {worst}) and caught up in a bunch: the loss may be its own doing"
            ),
            Self::CountersDisagree { port, what, tester, interface } => write!(
                f,
                "{port}: the tester counted {tester} {what}, the interface only {interface}"
            ),
            Self::Other { what } => f.write_str(what),
        }
    }
}
