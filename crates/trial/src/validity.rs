//! The tester is judged before the device: whether a trial may decide anything.

use crate::{Owner, PortCounters, PortId, PortReceived, PortSent};
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
    /// The device still put out frames of the trial when the wait for them was over; they are not
    /// lost, and how many are is not known.
    StillArriving {
        /// How long they were waited for.
        waited: Duration,
        /// How many came after that, as far as was looked.
        late_frames: u64,
    },
    /// The machine was late for too long while residual frames were waited for: what is missing may be within the
    /// tester.
    MachineLate {
        /// For how long.
        late: Duration,
    },
    /// Frames of an earlier trial were still within the device when this one began, and took its room.
    Leftovers {
        /// Where they arrived.
        port: PortId,
        /// Number of the trial in its run whose frames they are; the latest one, if of several.
        trial: u64,
        /// How many, of all earlier trials.
        frames: u64,
        /// When the last came, from the start of this trial.
        until: Duration,
    },
    /// Frames bore the run's signature but not its tag, and the tag is too narrow in this trial to
    /// find every such frame.
    Forged {
        /// Where they arrived.
        port: PortId,
        /// How many.
        frames: u64,
        /// Width of the narrowest tag in use.
        tag_bits: u32,
    },
    /// A thread of the device waited for a processor, and there was loss.
    DeviceHeldUp {
        /// The thread that waited longest.
        thread: String,
        /// How long.
        waited: Duration,
        /// How long frames were sent.
        sending: Duration,
        /// How many frames came while a program waited; `None` of a thread of the kernel.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        came_meanwhile: Option<u64>,
    },
    /// Somebody stopped a program of the device, and there was loss.
    DeviceStopped {
        /// The thread that stood still longest.
        thread: String,
        /// For how long, as far as looks at it show.
        stopped: Duration,
    },
    /// A link lost or gained its carrier, or had none, though no reset was asked for.
    LinkChanged {
        /// Where.
        port: PortId,
        /// At whose end this was counted.
        owner: Owner,
        /// Carrier changes; going down and coming up again are two.
        changes: u64,
        /// Whether it had a carrier at the end.
        carrier: bool,
    },
    /// There was loss, and frames had left the device that did not arrive before counting ended.
    OnTheWay {
        /// Where they should have come in.
        port: PortId,
        /// How many.
        frames: u64,
    },
    /// There was loss, and frames still waited within the device when counting ended: not yet out.
    NotYetOut {
        /// Where most of them waited.
        place: String,
        /// How many, over all places.
        frames: u64,
    },
    /// There was loss, and the tester's receive queue may have been full. What finds it full is counted at its far
    /// end alone, which nobody could ask.
    PerhapsFull {
        /// Whose queue.
        port: PortId,
        /// So many frames it holds.
        queue_frames: u64,
        /// How often.
        times: u64,
    },
    /// How far clocks of several hosts may have differed was not known well enough.
    ClockUncertain {
        /// The port whose clock was known worst.
        port: PortId,
        /// Its host.
        host: String,
        /// In words, with what to do.
        what: String,
    },
    /// Something else went wrong on the tester's side.
    Other {
        /// In words.
        what: String,
    },
    /// A reason of another version of the program.
    #[serde(other)]
    Unknown,
}

/// Of the intended rate: what is less is a shortfall however much lateness is allowed.
const LEAST_SHARE: f64 = 0.9;

/// Bounds of validity; the defaults are what reports name.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ValidityLimits {
    /// Largest tolerated relative shortfall of the offered load.
    pub shortfall: f64,
    /// A frame is late if it leaves this long after it was due, or `late_intervals` frame
    /// intervals, whichever is longer. A port that falls behind by more than this is short, too, and so is one that
    /// sends more slowly than intended by a tenth.
    pub late_after_us: u64,
    /// See `late_after_us`.
    pub late_intervals: u64,
    /// The most lateness, in microseconds, that a transmitter makes up for by sending faster than
    /// intended; see [`credit`](Self::credit).
    pub credit_us: u64,
    /// The same in frames: no more than the smallest queue that the device is assumed to have.
    pub credit_frames: u64,
    /// Duplicates, corrupted, forged, misdirected and foreign frames are told of a trial where any of them
    /// come to more than this share of the frames sent.
    pub unwanted: f64,
}

impl Default for ValidityLimits {
    fn default() -> Self {
        ValidityLimits {
            shortfall: 0.001,
            late_after_us: 20,
            late_intervals: 16,
            credit_us: 100,
            credit_frames: 128,
            unwanted: 0.001,
        }
    }
}

impl ValidityLimits {
    /// From when on a frame of this rate counts as late.
    pub fn late_after(&self, rate: FrameRate) -> Duration {
        let intervals = rate.departure(self.late_intervals);
        let intervals = if intervals == Duration::MAX { Duration::ZERO } else { intervals };
        Duration::from_us(self.late_after_us).max(intervals)
    }

    /// The most lateness that a transmitter at this rate makes up for: `credit_us`, but no more than
    /// `credit_frames` take, and no less than one frame does, so that a frame that is late does not
    /// delay those that are not.
    pub fn credit(&self, rate: FrameRate) -> Duration {
        let frames = rate.departure(self.credit_frames.max(1));
        let credit = Duration::from_us(self.credit_us).min(frames).max(rate.interval());
        // In whole nanoseconds: not every clock has less.
        Duration::from_ps(credit.as_ps().div_ceil(1_000).saturating_mul(1_000))
    }
}

/// Judges a trial by what its ports say.
pub fn judge(
    limits: &ValidityLimits,
    sent: &[PortSent],
    received: &[PortReceived],
    counters: &[PortCounters],
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
    let held_back = report.held_back() + report.deferred.lag;
    let free = span.map(|span| span.saturating_sub(held_back).as_secs_f64());
    // While the device paused it or others had the medium, the tester had nothing to offer.
    let unpaused = match free {
        Some(seconds) if seconds > 0.0 && held_back > Duration::ZERO => report.gaps() / seconds,
        _ => offered.fps(),
    };
    let share = unpaused / sent.intended_rate.fps().max(f64::MIN_POSITIVE);
    let is_behind_by = |us| behind(sent) > Duration::from_us(us);
    // Lateness that was allowed is no reason to believe in a load that was never offered.
    let far_behind = share < LEAST_SHARE && is_behind_by(ValidityLimits::default().late_after_us);
    let slow = share < 1.0 - limits.shortfall && (is_behind_by(limits.late_after_us) || far_behind);
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
    let intended = match report.by_length {
        Some(by_length) => by_length.to_last,
        None => sent.intended_rate.departure(report.sent_frames.saturating_sub(1)),
    };
    last.since(first).saturating_sub(intended + report.held_back() + report.deferred.lag)
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
            Self::StillArriving { waited, late_frames } => write!(
                f,
                "the device was still sending frames of this trial {waited} after the last one was \
                 sent ({late_frames} came later); set a longer trial.drain_max_s"
            ),
            Self::MachineLate { late } => write!(
                f,
                "the machine was late by {late} while residual frames were waited for; leave it a processor, or \
                 lower the load"
            ),
            Self::Leftovers { port, trial, frames, until } => write!(
                f,
                "{port}: {frames} frames of trial {trial} were still in the device and arrived up to \
                 {until} after this trial began; lengthen the drain time (trial.drain_s)"
            ),
            Self::Forged { port, frames, tag_bits } => write!(
                f,
                "{port}: {frames} frames bear this run's signature, but were not sent so: the device \
                 changes frames, or somebody forges them; tags of {tag_bits} bits in frames this \
                 small do not find all of them"
            ),
            Self::DeviceHeldUp { thread, waited, sending, came_meanwhile } => {
                write!(
                    f,
                    "the device was held up: its thread {thread} waited {waited} of {sending} for a processor"
                )?;
                if let Some(frames) = came_meanwhile {
                    write!(f, ", and {frames} frames came meanwhile")?;
                }
                f.write_str("; stop other programs, or use a machine with more cores")
            }
            Self::DeviceStopped { thread, stopped } => write!(
                f,
                "the device was stopped: its thread {thread} stood still for about {stopped} (SIGSTOP \
                 or a debugger)"
            ),
            Self::LinkChanged { port, owner, changes, carrier } => write!(
                f,
                "{port}: the link changed its carrier {changes} times (counted at the {owner}'s end){}",
                if *carrier { "" } else { " and has none" }
            ),
            Self::OnTheWay { port, frames } => {
                write!(f, "{port}: {frames} frames had left the device and did not arrive in time")
            }
            Self::NotYetOut { place, frames } => write!(
                f,
                "{frames} frames were not yet out of the device when counting ended (most of them in {place})"
            ),
            Self::PerhapsFull { port, queue_frames, times } => write!(
                f,
                "{port}: there was loss, and the receive queue of {queue_frames} frames may have been full \
                 {times} times, which only its far end counts; lower the load, keep other work off the \
                 tester's processors, or ask for a longer queue"
            ),
            Self::ClockUncertain { port, host, what } => {
                write!(f, "{port}: the clock of {host} is not known well enough: {what}")
            }
            Self::Other { what } => f.write_str(what),
            Self::Unknown => f.write_str("a reason that only another version of netanvil knows"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Histogram, Slips, TransmitReport};
    use units::Instant;

    const US: fn(u64) -> Duration = Duration::from_us;

    /// A port that sent `frames` at 100,000 a second with these latenesses in microseconds, the
    /// last one `behind_us` after it was due.
    fn sent(frames: u64, lateness_us: &[u64], behind_us: u64) -> PortSent {
        let rate = FrameRate::from_fps(100_000);
        let late_after = ValidityLimits::default().late_after(rate);
        let mut lateness = Histogram::new(Duration::from_ns(1));
        lateness_us.iter().for_each(|us| lateness.record(us * 1_000));
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
            slips: Slips::default(),
            paused: crate::Paused::default(),
            deferred: crate::Deferred::default(),
            by_length: None,
        };
        PortSent { report, intended_rate: rate, dropped_by_tester: 0 }
    }

    fn is_valid(sent: PortSent) -> bool {
        let limits = ValidityLimits::default();
        judge(&limits, &[sent], &[], &[]) == Validity::Valid
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
        assert!(is_valid(sent(100, &[], 19)), "2 % slower, but within 20 us");
        assert!(!is_valid(sent(100, &[], 21)));
        assert!(is_valid(sent(1_000_000, &[], 9_000)), "0.09 % of 10 s");
        assert!(!is_valid(sent(1_000_000, &[], 11_000)));
    }

    /// With 900 ms allowed, 100 frames at 100,000 a second may be late, but not be sent at half of that.
    #[test]
    fn lateness_that_is_allowed_hides_no_load_that_was_not_offered() {
        let limits = ValidityLimits { late_after_us: 900_000, ..ValidityLimits::default() };
        let is_short = |behind_us| shortfall(&limits, &sent(100, &[], behind_us)).is_some();
        assert!(!is_short(50), "5 % slower");
        assert!(is_short(990), "half");
        let generous = ValidityLimits { shortfall: 0.6, ..limits };
        assert!(shortfall(&generous, &sent(100, &[], 990)).is_none(), "it was asked for");
    }

    /// 128 frames at 10 million a second take 12.8 us; a frame at 1,000 a second takes 1 ms.
    #[test]
    fn the_credit_is_a_time_a_number_of_frames_and_at_least_one_frame() {
        let credit = |fps| ValidityLimits::default().credit(FrameRate::from_fps(fps));
        assert_eq!(credit(10_000_000), Duration::from_ns(12_800));
        assert_eq!(credit(100_000), US(100));
        assert_eq!(credit(1_000), US(1_000));
        // 3,003,003.003 ns: whole ones, and still the frames of one interval.
        assert_eq!(credit(333), Duration::from_ns(3_003_004));
        let mut slow = sent(3, &[], 0);
        slow.intended_rate = FrameRate::from_fps(333);
        slow.report.slips.credit = credit(333);
        assert_eq!(slow.credit_frames(), 1);
    }

    #[test]
    fn a_reason_of_another_version_is_still_a_reason() {
        let old = r#"{"kind":"loss_within_lateness","lost":1,"bunches":2}"#;
        assert_eq!(serde_json::from_str::<InvalidReason>(old).unwrap(), InvalidReason::Unknown);
    }
}
