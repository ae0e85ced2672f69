//! What a run says while it goes on. A saved stream of events is the run: reports are rendered
//! from it, and an interrupted run resumes from it.

use crate::consistency::Consistency;
use crate::course::Moment;
use crate::{Direction, Modifier, Outcome, SelfTest, TestBed, TestKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use trial::{TesterDescription, TrialIdentity, TrialResult};
use units::{Duration, FrameRate};

/// Something that happened in a run.
///
/// As JSON each event is an object with one member, the kind of the event:
/// `{"trial_finished": {...}}`. A reader must pass over members that it does not know.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The first event.
    RunStarted(Box<RunStarted>),
    /// A test begins, for one frame size.
    TestStarted(TestStarted),
    /// A trial begins.
    TrialStarted(TrialStarted),
    /// A trial ended, valid or not.
    TrialFinished(Box<TrialRecord>),
    /// A test has come to its outcome for one frame size.
    TestFinished(Box<Outcome>),
    /// Results of the run contradict each other: a test is made once more.
    TestRepeated(TestRepeated),
    /// All tests have ended: what their results say of each other, and which are stated instead of the first.
    ConsistencyChecked(Box<Consistency>),
    /// The tester has measured itself, or brought the measurement of an earlier day.
    SelfTestFinished(Box<SelfTest>),
    /// Something that the user should mend or know before trusting the results.
    Warning(String),
    /// Something worth knowing.
    Note(String),
    /// The last event.
    RunFinished(RunFinished),
}

/// Takes in events as they happen.
pub trait EventSink {
    /// Takes in one event. An error (a full disk, say) ends the run; results already taken are
    /// kept.
    fn emit(&mut self, event: &Event) -> Result<(), SinkError>;
}

/// Collects events in memory.
impl EventSink for Vec<Event> {
    fn emit(&mut self, event: &Event) -> Result<(), SinkError> {
        self.push(event.clone());
        Ok(())
    }
}

/// An event could not be kept.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("cannot save the run: {0}")]
pub struct SinkError(pub String);

/// The form of saved events. It grows with every change after which an older program would misread
/// them; what only adds members leaves it as it is.
pub const EVENT_FORMAT: u32 = 4;

/// The oldest form whose events mean the same to this program.
pub const EVENT_FORMAT_OLDEST: u32 = 3;

/// How a run begins.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RunStarted {
    /// Version of the form of these events ([`EVENT_FORMAT`] of who wrote them).
    pub format: u32,
    /// Name and version of the program.
    pub program: String,
    /// What is tested, in the user's words.
    pub device: String,
    /// Host, kernel, date, device configuration, ...: what the caller knows and a reader needs
    /// (RFC 2544 section 7).
    pub environment: BTreeMap<String, String>,
    /// The complete configuration of the suite, as resolved from profile, file and flags.
    pub config: serde_json::Value,
    /// What the tester says of itself.
    pub tester: TesterDescription,
    /// How its ports are attached to the device; `None` in events saved before that was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_bed: Option<TestBed>,
    /// How long the run will take, by virtual time: trials and waits.
    pub estimate: Duration,
}

/// A test begins for one frame size.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TestStarted {
    /// Which.
    pub test: TestKind,
    /// As it was asked for: `64`, or the name of an IMIX.
    pub frame_size: String,
    /// Which ports send.
    pub direction: Direction,
    /// What is mixed in.
    pub modifier: Modifier,
    /// Estimate of what is left of the whole run, this test included.
    pub remaining: Duration,
}

/// A test is made once more, after all others.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TestRepeated {
    /// Which.
    pub test: TestKind,
    /// As it was asked for.
    pub frame_size: String,
    /// Why, in words.
    pub because: String,
}

/// A trial begins.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TrialStarted {
    /// Which trial of the run, from 1.
    pub number: u64,
    /// Of which test.
    pub test: TestKind,
    /// As it was asked for.
    pub frame_size: String,
    /// What it is for, in words.
    pub label: String,
    /// 1 for the first attempt; more where an invalid trial is repeated.
    pub attempt: u32,
    /// Intended load of each transmitting port.
    pub intended: FrameRate,
    /// Intended frames of all ports.
    pub intended_frames: u64,
    /// From the first departure to the last.
    pub duration: Duration,
    /// What the search knows so far, where there is one.
    pub bounds: Option<SearchBounds>,
    /// Estimate of what is left of the whole run.
    pub remaining: Duration,
}

/// What a search knows: between which values the truth lies.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SearchBounds {
    /// The highest that passed.
    pub lower: Option<f64>,
    /// The lowest that did not.
    pub upper: Option<f64>,
    /// `fps` or `frames`.
    pub unit: String,
}

/// A trial that was run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TrialRecord {
    /// Which trial of the run, from 1.
    pub number: u64,
    /// By which it is known again on resuming.
    pub identity: TrialIdentity,
    /// Of which test.
    pub test: TestKind,
    /// As it was asked for.
    pub frame_size: String,
    /// 1 for the first attempt; more where an invalid trial was repeated.
    pub attempt: u32,
    /// Intended load of each transmitting port.
    pub intended: FrameRate,
    /// From the first departure to the last, as intended.
    pub duration: Duration,
    /// What it means to the test.
    pub verdict: Verdict,
    /// Part by part; empty where it is too short to have parts, or the tester cannot be looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub course: Vec<Moment>,
    /// What came of it.
    pub result: TrialResult,
}

/// What a trial means to the test that asked for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Loss within what the goal allows (for throughput: none).
    Passed,
    /// More loss than the goal allows.
    Failed,
    /// Nothing was to be decided: the numbers are the result.
    Measured,
    /// The tester did not keep up; the trial decides nothing.
    Invalid,
}

/// How a run ended.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RunFinished {
    /// Trials run.
    pub trials: u64,
    /// Trials among them that were invalid.
    pub invalid_trials: u64,
    /// Tests without a valid result: the tester fell short, or the device still sent when the trial was over;
    /// empty where all is well. Not empty means exit code 3.
    pub invalid_tests: Vec<String>,
    /// What ended the run before its end: an error, an interruption; `None` for a full run.
    pub stopped_by: Option<String>,
}
