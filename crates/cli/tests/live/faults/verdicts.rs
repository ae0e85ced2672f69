//! Each trial of a run beside what the kernel saw of it.

use super::witness::{Frame, Tapped};
use method::TrialRecord;
use std::collections::{HashMap, HashSet};
use trial::InvalidReason;

/// Stamps of a trial lie between its first and its last departure, as reported, but for this.
const SLACK_NS: u64 = 1_000_000;
/// Signatures have so many bits of time.
const TIME_MASK: u64 = (1 << 48) - 1;

/// What the kernel saw of one trial.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Seen {
    /// Frames that came into the device.
    pub entered: u64,
    /// Different ones among them.
    pub different: u64,
    /// Of those, the ones that left it, counted once.
    pub left: u64,
    /// All copies of them that left it.
    pub copies: u64,
}

/// What taps at the device's two ports saw, ready to be asked.
pub struct Witness {
    entered: Vec<Frame>,
    /// When each copy left.
    left: HashMap<Frame, Vec<u64>>,
}

impl std::hash::Hash for Frame {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.signature.hash(state);
    }
}

impl Witness {
    pub fn new(entered: &Tapped, left: &Tapped) -> Self {
        let mut copies: HashMap<Frame, Vec<u64>> = HashMap::new();
        left.frames
            .iter()
            .for_each(|(frame, at_ns)| copies.entry(*frame).or_default().push(*at_ns));
        Witness { entered: entered.frames.iter().map(|(frame, _)| *frame).collect(), left: copies }
    }

    /// Different frames that came into the device and never left it, whichever trial's they are.
    pub fn stayed(&self) -> u64 {
        let entered: HashSet<&Frame> = self.entered.iter().collect();
        entered.into_iter().filter(|frame| !self.left.contains_key(frame)).count() as u64
    }

    pub fn seen(&self, record: &TrialRecord) -> Seen {
        let (mut seen, mut known) = (Seen::default(), HashSet::new());
        let Some((first, last)) = departures_ns(record) else { return seen };
        let window = (first - SLACK_NS) & TIME_MASK..=(last + SLACK_NS) & TIME_MASK;
        // Somebody may send a copy of a frame that the device dropped, when its trial is over.
        let (_, over_ns) = span_ns(record);
        for frame in self.entered.iter().filter(|frame| window.contains(&frame.sent_ns())) {
            seen.entered += 1;
            if known.insert(frame) {
                seen.different += 1;
                let copies = self.left.get(frame).into_iter().flatten();
                let copies = copies.filter(|at_ns| **at_ns <= over_ns).count() as u64;
                seen.left += u64::from(copies > 0);
                seen.copies += copies;
            }
        }
        seen
    }
}

/// The first and the last departure of a trial, in nanoseconds of CLOCK_MONOTONIC.
fn departures_ns(record: &TrialRecord) -> Option<(u64, u64)> {
    let reports = || record.result.sent.iter().map(|sent| &sent.report);
    let first = reports().filter_map(|report| report.first_departure).min()?;
    let last = reports().filter_map(|report| report.last_departure).max()?;
    Some((first.as_ns(), last.as_ns()))
}

/// From when to when a trial was made, in nanoseconds of CLOCK_MONOTONIC.
pub fn span_ns(record: &TrialRecord) -> (u64, u64) {
    let start = record.result.started_at.as_ns();
    let last = departures_ns(record).map_or(start, |(_, last)| last);
    (start, last + record.result.drained_after.as_ns())
}

/// What a device may do to frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Truth {
    /// It drops frames by itself; else any loss is the fault's.
    pub loses: bool,
    /// Somebody copies frames: not each copy need count as a duplicate of its trial.
    pub copied: bool,
}

/// What a valid trial says that the kernel did not see. Empty where they agree.
pub fn disagreements(record: &TrialRecord, seen: &Seen, truth: Truth) -> Vec<String> {
    let result = &record.result;
    let sent: u64 = result.sent.iter().map(|sent| sent.report.sent_frames).sum();
    let received: u64 = result.streams.iter().map(|stream| stream.received).sum();
    let duplicates: u64 = result.streams.iter().map(|stream| stream.duplicates).sum();
    let lost = result.lost_frames();
    let mut found = vec![];
    let mut must = |holds: bool, what: String| {
        if !holds {
            found.push(what)
        }
    };
    must(sent == seen.entered, format!("{sent} sent, {} entered the device", seen.entered));
    must(
        seen.entered == seen.different,
        format!("{} entered twice", seen.entered - seen.different),
    );
    must(received == seen.left, format!("{received} received, {} left the device", seen.left));
    let truly_lost = seen.different - seen.left;
    must(lost == truly_lost, format!("{lost} lost, {truly_lost} stayed in the device"));
    must(lost == 0 || truth.loses, format!("{lost} lost by a device that loses none by itself"));
    let copies = seen.copies - seen.left;
    let agrees = if truth.copied { duplicates <= copies } else { duplicates == copies };
    must(agrees, format!("{duplicates} duplicates, {copies} more copies left the device"));
    found
}

/// The reasons of a trial by the names they have in a run's record.
pub fn reasons(record: &TrialRecord) -> Vec<String> {
    let kind = |reason: &InvalidReason| {
        let value = serde_json::to_value(reason).expect("plain data");
        value["kind"].as_str().expect("a kind").to_owned()
    };
    record.result.invalid_reasons().iter().map(kind).collect()
}

/// That a wrong count is found at all: this trial with one frame more or less would not agree.
pub fn assert_sharp(record: &TrialRecord, seen: &Seen, truth: Truth) {
    let agrees = |record: &TrialRecord, seen: &Seen| disagreements(record, seen, truth).is_empty();
    let mut more = record.clone();
    more.result.streams[0].received += 1;
    let mut sent = record.clone();
    sent.result.sent[0].report.sent_frames += 1;
    let mut lost = record.clone();
    lost.result.streams[0].lost += 1;
    for changed in [more, sent, lost] {
        assert!(!agrees(&changed, seen), "a frame too many is not found");
    }
    let fewer = Seen { left: seen.left - 1, ..*seen };
    assert!(!agrees(record, &fewer), "a frame that did not leave is not found");
}
