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
    /// There was loss, and no more of it than frames that the tester, having fallen behind, sent
    /// faster than intended to catch up: these bunches could have caused it.
    LossWithinLateness {
        /// Frames lost by the trial.
        lost: u64,
        /// How often the tester caught up with its schedule.
        bunches: u64,
        /// Frames that it sent faster than intended to do so.
        bunched_frames: u64,
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
    /// Ports that should have started together did not.
    StartSkew {
        /// Between the first port's first frame and the last port's.
        skew: Duration,
    },
    /// Ports sent faster than intended, as a whole.
    TooFast {
        /// Rate asked for, over all ports.
        intended: FrameRate,
        /// Rate reached.
        offered: FrameRate,
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
    let offered = match report.sent_frames {
        0 => FrameRate::ZERO,
        // One frame alone has no rate.
        _ => report.sent_rate().unwrap_or(sent.intended_rate),
    };
    let span = report.last_departure.zip(report.first_departure).map(|(to, from)| to.since(from));
    let free = span.map(|span| span.saturating_sub(report.paused.time).as_secs_f64());
    // While it was paused by the device, the tester had nothing to offer.
    let unpaused = match free {
        Some(seconds) if seconds > 0.0 && report.paused.time > Duration::ZERO => {
            report.sent_frames.saturating_sub(1) as f64 / seconds
        }
        _ => offered.fps(),
    };
    let slow = unpaused < sent.intended_rate.fps() * (1.0 - limits.shortfall)
        && behind(sent) > Duration::from_us(limits.late_after_us);
    let few = unsent_frames as f64 > report.intended_frames as f64 * limits.shortfall;
    (slow || few).then_some(InvalidReason::Shortfall {
        port: report.port,
        intended: sent.intended_rate,
        offered,
        unsent_frames,
    })
}

/// How much longer the frames took than intended. In a burst of microseconds the lateness of its
/// last frame is a large share of the rate; it matters once it is beyond `late_after_us`.
fn behind(sent: &PortSent) -> Duration {
    let report = &sent.report;
    let (Some(first), Some(last)) = (report.first_departure, report.last_departure) else {
        return Duration::MAX;
    };
    let intended = sent.intended_rate.departure(report.sent_frames.saturating_sub(1));
    last.since(first).saturating_sub(intended + report.paused.time)
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
    let bunches = sent.iter().map(|sent| sent.report.catch_up.bunches).sum();
    let bunched_frames: u64 = sent.iter().map(PortSent::bunched_frames).sum();
    let worst = sent.iter().filter_map(|sent| sent.report.lateness.max()).max()?;
    (lost > 0 && lost <= bunched_frames).then_some(InvalidReason::LossWithinLateness {
        lost,
        bunches,
        bunched_frames,
        worst,
    })
}

impl fmt::Display for InvalidReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shortfall { port, intended, offered, unsent_frames } => {
                // As many places as show the difference.
                let words =
                    |places| (format!("{offered:.places$}"), format!("{intended:.places$}"));
                let shown = (0..6).map(words).find(|(offered, intended)| offered != intended);
                let (offered, intended) = shown.unwrap_or_else(|| words(6));
                write!(
                    f,
                    "{port}: the tester offered {offered} of {intended} intended \
                     ({unsent_frames} frames never left); lower the load or use a faster port type"
                )
            }
            Self::TesterDropped { port, counter, frames } => {
                write!(f, "{port}: the tester itself lost {frames} received frames ({counter})")
            }
            Self::NotSent { port, frames } => {
                write!(f, "{port}: the interface did not send {frames} frames handed to it")
            }
            Self::LossWithinLateness { lost, bunches, bunched_frames, worst } => write!(
                f,
                "{lost} frames were lost, but the tester fell behind {bunches} times (by up to \
                 {worst}) and sent {bunched_frames} frames too fast to catch up: the loss may be \
                 its own doing"
            ),
            Self::CountersDisagree { port, what, tester, interface } => write!(
                f,
                "{port}: the tester counted {tester} {what}, the interface only {interface}"
            ),
            Self::StartSkew { skew } => write!(
                f,
                "the ports started {skew} apart, more than 1 % of the trial; fewer ports or \
                 --port-type af_packet may help"
            ),
            Self::TooFast { intended, offered } => write!(
                f,
                "the ports sent in bunches, at {offered:.0} where {intended:.0} was intended"
            ),
            Self::Other { what } => f.write_str(what),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CatchUp, Histogram, TransmitReport};
    use units::Instant;

    const US: fn(u64) -> Duration = Duration::from_us;

    /// A port that sent `frames` at 100,000 a second with these latenesses in microseconds, the
    /// last one `behind_us` after it was due.
    fn sent(frames: u64, lateness_us: &[u64], behind_us: u64) -> PortSent {
        let rate = FrameRate::from_fps(100_000);
        let late_after = ValidityLimits::default().late_after(rate);
        let mut lateness = Histogram::new(Duration::from_ns(1));
        let mut catch_up = CatchUp::default();
        lateness_us.iter().for_each(|us| lateness.record(us * 1_000));
        lateness_us.iter().for_each(|us| catch_up.observe(US(*us), late_after));
        let last = Instant::ZERO + rate.departure(frames - 1) + US(behind_us);
        let report = TransmitReport {
            port: PortId(0),
            intended_frames: frames,
            sent_frames: frames,
            sent_bytes: 0,
            sent_of_stream: vec![],
            first_departure: Some(Instant::ZERO),
            last_departure: Some(last),
            lateness,
            late_frames: lateness_us.iter().filter(|us| US(**us) > late_after).count() as u64,
            late_after,
            catch_up,
            paused: crate::Paused::default(),
        };
        PortSent { report, intended_rate: rate, dropped_by_tester: 0 }
    }

    fn stream(lost: u64) -> StreamResult {
        StreamResult {
            id: crate::StreamId(1),
            name: "test".into(),
            role: crate::Role::Test,
            from: PortId(0),
            mean_frame_size_bytes: 64.0,
            sent: 1_000_000,
            expected_ports: vec![PortId(1)],
            received: 1_000_000 - lost,
            lost,
            misdirected: 0,
            duplicates: 0,
            reordered: 0,
            late: 0,
            corrupted: 0,
        }
    }

    fn is_valid(sent: PortSent, lost: u64) -> bool {
        let limits = ValidityLimits::default();
        judge(&limits, &[sent], &[], &[], &[stream(lost)]) == Validity::Valid
    }

    #[test]
    fn a_port_that_sent_nothing_offered_nothing() {
        let mut silent = sent(100, &[], 0);
        silent.report.sent_frames = 0;
        (silent.report.first_departure, silent.report.last_departure) = (None, None);
        let reason = shortfall(&ValidityLimits::default(), &silent).expect("a shortfall");
        let text = reason.to_string();
        assert!(text.contains("offered 0 fps of 100000 fps intended (100 frames"), "{text}");
    }

    #[test]
    fn a_short_burst_may_be_behind_by_what_a_single_frame_may() {
        assert!(is_valid(sent(100, &[], 19), 0), "2 % slower, but within 20 us");
        assert!(!is_valid(sent(100, &[], 21), 0));
        assert!(is_valid(sent(1_000_000, &[], 9_000), 0), "0.09 % of 10 s");
        assert!(!is_valid(sent(1_000_000, &[], 11_000), 0));
    }

    /// Standing still for 1 ms at 100,000 fps makes a bunch of 100 frames. So many may be lost by
    /// the tester's doing, and as many again by a second bunch.
    #[test]
    fn loss_up_to_what_was_sent_in_bunches_decides_nothing() {
        let bunch: Vec<u64> = (0..=100).rev().map(|n| 10 * n).collect();
        let once = || sent(1_000_000, &[&[0], &bunch[..]].concat(), 0);
        assert!(!is_valid(once(), 1));
        assert!(!is_valid(once(), 100));
        assert!(is_valid(once(), 102), "more than the bunch: the device's own");
        assert!(is_valid(once(), 0), "no loss, no harm");
        let twice = sent(1_000_000, &[&[0], &bunch[..], &bunch[..]].concat(), 0);
        assert!(!is_valid(twice.clone(), 200));
        assert!(is_valid(twice, 203));
    }

    /// A tester that is late all the time without ever catching up makes no bunches.
    #[test]
    fn steady_lateness_makes_no_bunches() {
        assert!(is_valid(sent(1_000, &[500; 1_000], 0), 1));
    }
}
