//! What the tests of 1989 have found.

use super::Test1989;
use crate::found::LatencySummary;
use crate::{Conditions, FigureName, Finding};
use serde::{Deserialize, Serialize};
use std::fmt;
use traffic::error_frame::ErrorKind;
use trial::{Counted, PortId};
use units::{Duration, FrameRate};

/// The result of one test, of one frame size where it has several.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Harvard1989Result {
    /// Which.
    pub test: Test1989,
    /// Under which conditions.
    pub conditions: Conditions,
    /// Whether there is a result.
    pub outcome: Ending,
    /// The numbers, in the order in which a table has them.
    pub figures: Vec<Number>,
    /// What the device did wrong.
    pub misbehaviours: Vec<Misbehaviour>,
    /// The device's counters beside the tester's.
    pub counters: Vec<CounterCheck>,
    /// What became of frames with an error.
    pub errors: Option<ErrorFrames>,
    /// Times through the device.
    pub delay: Option<LatencySummary>,
    /// Of the raw rate: the most frames that came out for each second of sending. What a device still has in its
    /// buffers then comes out later, and is no rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_passed: Option<FrameRate>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// Whether a test has a result.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// It has.
    Measured,
    /// A port or the device cannot do what the test needs.
    NotPossible {
        /// What, and what would help.
        why: String,
    },
    /// The tester did not keep up; nothing is known of the device.
    Invalid {
        /// Why.
        reasons: Vec<String>,
    },
}

/// A number with its name.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Number {
    /// Such as `max rate`.
    pub name: String,
    /// How much; `None` where there is none (no frame came, say).
    pub value: Option<f64>,
    /// Of what.
    pub unit: Unit,
    /// Whether the truth may be more: the tester, or the test, went no further.
    pub at_least: bool,
    /// Where a search found it: the lowest that failed, in the same unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper: Option<f64>,
    /// Whether the truth may lie anywhere up to that: the tester decided no load between, or none passed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_interval: bool,
    /// What acceptance criteria call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_as: Option<FigureName>,
}

/// What a figure counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Frames a second, of one direction.
    Fps,
    /// Frames.
    Frames,
    /// Hundredths.
    Percent,
    /// Microseconds.
    Us,
    /// Seconds.
    Seconds,
    /// Bytes, FCS included.
    Bytes,
    /// Routes, hosts, filters.
    Entries,
}

/// A counter of the device beside what the tester knows.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CounterCheck {
    /// By which way it was read.
    pub source: String,
    /// At which port; `None` for the whole device.
    pub port: Option<PortId>,
    /// What the device calls it.
    pub name: String,
    /// What it counts.
    pub counted: Counted,
    /// The device's count.
    pub device: u64,
    /// The tester's.
    pub tester: u64,
    /// What explains a difference, where something does.
    pub explained: Option<String>,
}

impl CounterCheck {
    /// Whether the two agree, or their difference is explained.
    pub fn agrees(&self) -> bool {
        self.device == self.tester || self.explained.is_some()
    }
}

/// What became of frames with an error.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ErrorFrames {
    /// Which error.
    pub kind: ErrorKind,
    /// Their size with FCS.
    pub size_bytes: u32,
    /// Frames sent.
    pub sent: u64,
    /// Frames among them that came out, which none should.
    pub forwarded: u64,
    /// Counters of errors that moved, by source and name, and by how much.
    pub counted: Vec<(String, Counted, u64)>,
    /// Whether the device shows counters at all.
    pub has_counters: bool,
}

/// What a device did wrong.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Misbehaviour {
    /// The delay is not constant ("Delay varies as much as 100ms. Hurts round trip prediction
    /// software").
    DelayVaries {
        /// Largest less smallest.
        by: Duration,
    },
    /// Nothing comes out any more under a load that is too high.
    StopsUnderLoad {
        /// In words.
        load: String,
    },
    /// It did not recover after a load ("Crashing routers. Heavy load").
    DeadAfter {
        /// What it was given.
        what: String,
    },
    /// Flooded, it passes short frames and no long ones.
    DropsLongWhenFlooded {
        /// The largest size that passes.
        over_bytes: u32,
    },
    /// Error frames come out again.
    ForwardsErrors {
        /// Which.
        kind: ErrorKind,
        /// How many.
        frames: u64,
        /// Of how many.
        of: u64,
    },
    /// Error frames are counted as something else.
    MiscountsErrors {
        /// What was sent.
        kind: ErrorKind,
        /// What it was counted as.
        counted: Counted,
        /// How many.
        frames: u64,
    },
    /// Error frames are not counted.
    DoesNotCount {
        /// Which.
        kind: ErrorKind,
    },
    /// It switched its port off ("Disable interface on non-fatal conditions").
    DisablesPort {
        /// What it had met.
        after: ErrorKind,
    },
    /// A counter is wrong.
    CounterWrong {
        /// Source, port and name.
        counter: String,
        /// The device's count.
        device: u64,
        /// The truth.
        tester: u64,
    },
    /// It does not answer for itself under load ("Dead cpu under load conditions").
    UnreachableUnderLoad {
        /// In words.
        load: String,
        /// Requests answered.
        answered: u64,
        /// Requests sent.
        asked: u64,
    },
}

impl Harvard1989Result {
    /// Whether the tester, not the device, kept the test from a result.
    pub fn is_invalid(&self) -> bool {
        matches!(self.outcome, Ending::Invalid { .. })
    }
    /// The value of a figure.
    pub fn figure(&self, name: &str) -> Option<f64> {
        self.figures.iter().find(|figure| figure.name == name)?.value
    }

    pub(super) fn new(test: Test1989, conditions: Conditions) -> Self {
        Harvard1989Result {
            test,
            conditions,
            outcome: Ending::Measured,
            figures: vec![],
            misbehaviours: vec![],
            counters: vec![],
            errors: None,
            delay: None,
            most_passed: None,
            notes: vec![],
        }
    }
    pub(super) fn not_possible(mut self, why: impl Into<String>) -> Self {
        self.outcome = Ending::NotPossible { why: why.into() };
        self
    }
    pub(super) fn invalid(mut self, reasons: Vec<String>) -> Self {
        self.outcome = Ending::Invalid { reasons };
        self
    }
    pub(super) fn put(
        &mut self,
        name: impl Into<String>,
        value: impl Into<Option<f64>>,
        unit: Unit,
    ) {
        let (name, value, at_least) = (name.into(), value.into(), false);
        let (upper, is_interval, known_as) = (None, false, None);
        self.figures.push(Number { name, value, unit, at_least, upper, is_interval, known_as });
    }
    pub(super) fn put_at_least(&mut self, name: impl Into<String>, value: f64, unit: Unit) {
        self.put(name, value, unit);
        self.last(|number| number.at_least = true);
    }
    /// Names the number put last for acceptance criteria.
    pub(super) fn call_last(&mut self, name: FigureName) {
        self.last(|number| number.known_as = Some(name));
    }
    /// Says of the number put last what failed next above it.
    pub(super) fn failed_at(&mut self, upper: f64) {
        self.last(|number| number.upper = Some(upper));
    }
    fn last(&mut self, change: impl FnOnce(&mut Number)) {
        if let Some(number) = self.figures.last_mut() {
            change(number);
        }
    }
    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }
    /// Puts what a search for a rate has come to.
    pub(super) fn put_rate(&mut self, name: &str, found: &crate::RateFound) {
        let fps = found.rate.map(units::FrameRate::fps);
        match &found.finding {
            Finding::Invalid { reasons } => {
                self.outcome = Ending::Invalid { reasons: reasons.clone() };
            }
            Finding::NothingPassed { lowest, loss_percent } => {
                self.put(name, 0.0, Unit::Fps);
                self.note(format!("even of {lowest:.1} it loses {loss_percent:.2} %"));
            }
            Finding::AtLeast { why } => {
                self.put_at_least(name, fps.unwrap_or(0.0), Unit::Fps);
                self.note(format!("the device is too fast for the tester: {why}"));
            }
            Finding::Between { why } => {
                self.put(name, fps, Unit::Fps);
                self.note(format!("the tester could not decide loads above it: {why}"));
            }
            Finding::AtTheoreticalMaximum => {
                self.put(name, fps, Unit::Fps);
                self.note("the medium's maximum");
            }
            Finding::Measured => self.put(name, fps, Unit::Fps),
        }
        let upper = match &found.finding {
            Finding::Invalid { .. } => return,
            Finding::NothingPassed { lowest, .. } => Some(*lowest),
            Finding::AtTheoreticalMaximum => found.rate,
            _ => found.upper,
        };
        let is_interval =
            matches!(found.finding, Finding::Between { .. } | Finding::NothingPassed { .. });
        self.last(|number| {
            number.upper = upper.map(units::FrameRate::fps);
            number.is_interval = is_interval;
        });
        self.call_last(FigureName::MaxRate);
    }
}

impl Unit {
    /// As a table heads its column.
    pub const fn symbol(self) -> &'static str {
        match self {
            Unit::Fps => "fps",
            Unit::Frames => "frames",
            Unit::Percent => "%",
            Unit::Us => "us",
            Unit::Seconds => "s",
            Unit::Bytes => "bytes",
            Unit::Entries => "entries",
        }
    }
}

impl fmt::Display for Misbehaviour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misbehaviour::DelayVaries { by } => {
                write!(f, "the delay varies by {by}: that hurts every estimate of round trip times")
            }
            Misbehaviour::StopsUnderLoad { load } => {
                write!(f, "nothing comes out any more at {load}")
            }
            Misbehaviour::DeadAfter { what } => {
                write!(f, "the device forwards nothing any more after {what}")
            }
            Misbehaviour::DropsLongWhenFlooded { over_bytes } => {
                write!(f, "when flooded it passes no frames above {over_bytes} bytes")
            }
            Misbehaviour::ForwardsErrors { kind, frames, of } => {
                write!(f, "{frames} of {of} frames came out again though each was a {kind}")
            }
            Misbehaviour::MiscountsErrors { kind, counted, frames } => {
                write!(
                    f,
                    "of frames each of which was a {kind}, {frames} were counted as {counted}"
                )
            }
            Misbehaviour::DoesNotCount { kind } => {
                write!(f, "no counter registers a {kind}")
            }
            Misbehaviour::DisablesPort { after } => write!(
                f,
                "the port forwards nothing any more after a {after}, which is no fatal condition"
            ),
            Misbehaviour::CounterWrong { counter, device, tester } => {
                write!(f, "{counter} says {device}, it was {tester}")
            }
            Misbehaviour::UnreachableUnderLoad { load, answered, asked } => {
                write!(f, "at {load} the device itself answers {answered} of {asked} echo requests")
            }
        }
    }
}
