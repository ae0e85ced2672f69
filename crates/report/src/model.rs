//! A run as a value: everything that renderers need, folded from its events. Counts are kept as
//! they were saved; whatever is derived is derived here or later, never stored.

use crate::{Notice, PacketComposition};
use method::clauses::{Judged, Level, Verdict as Ruled};
use method::consistency::{Consistency, Contradiction};
use method::outcome::TestConditions;
use method::{Event, Outcome, RunFinished, RunStarted, SelfTest, TestKind, TrialRecord, Verdict};
use std::collections::BTreeMap;
use trial::InvalidReason;
use units::{FrameRate, FrameSize};

/// A run, whole or interrupted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// How it began; `None` where not even that was saved.
    pub started: Option<RunStarted>,
    /// How often it was resumed.
    pub resumed: u32,
    /// What the tester can do by itself, size by size.
    pub self_test: Vec<Outcome>,
    /// What the tests came to, in the order in which they came; of tests that contradicted each other what is
    /// stated after their repetition.
    pub results: Vec<Outcome>,
    /// What the results say of each other; `None` of a run that did not come to that, or had nothing to compare.
    pub consistency: Option<Consistency>,
    /// Every trial, valid or not, in the order in which they were run.
    pub trials: Vec<TrialRecord>,
    /// What the user should mend or know before trusting the results.
    pub warnings: Vec<String>,
    /// What is worth knowing.
    pub notes: Vec<String>,
    /// What was wrong with the saved events.
    pub notices: Vec<Notice>,
    /// How it ended; `None` where it was cut off.
    pub finished: Option<RunFinished>,
    /// Of which packets the run's captures are composed, by port. No events: who reads the captures
    /// adds it.
    pub compositions: Vec<PacketComposition>,
    /// What became of the acceptance criteria. No events either: who knows the criteria adds it.
    pub criteria: Vec<crate::answers::Verdict>,
}

impl Report {
    /// Folds events. A resumed run tells again what it knew: a result told twice counts once,
    /// the later telling, and so does a trial.
    pub fn from_events(events: &[Event], notices: Vec<Notice>) -> Self {
        let mut report = Report { notices, ..Report::default() };
        events.iter().for_each(|event| report.take(event));
        if let Some(consistency) = &report.consistency {
            consistency.revise(&mut report.results);
        }
        report
    }

    fn take(&mut self, event: &Event) {
        match event {
            Event::RunStarted(started) => {
                self.resumed += u32::from(self.started.is_some());
                self.started = Some((**started).clone());
                // A run that goes on has not ended.
                self.finished = None;
                self.consistency = None;
            }
            Event::SelfTestFinished(self_test) => {
                self.self_test = SelfTest::outcomes(self_test).collect();
            }
            Event::TrialFinished(record) => {
                put(&mut self.trials, &**record, |a, b| {
                    (a.identity, a.attempt, a.result.started_at)
                        == (b.identity, b.attempt, b.result.started_at)
                });
            }
            Event::TestFinished(outcome) => {
                put(&mut self.results, &**outcome, Outcome::is_of_same);
            }
            Event::Warning(text) => put(&mut self.warnings, text, PartialEq::eq),
            Event::Note(text) => put(&mut self.notes, text, PartialEq::eq),
            Event::ConsistencyChecked(consistency) => {
                self.consistency = Some((**consistency).clone());
            }
            Event::RunFinished(finished) => self.finished = Some(finished.clone()),
            Event::TestStarted(_) | Event::TestRepeated(_) | Event::TrialStarted(_) => {}
        }
    }

    /// What was tested, in the user's words.
    pub fn device(&self) -> &str {
        self.started.as_ref().map_or("unknown device", |started| &started.device)
    }

    /// What every test came to, the tester's own first.
    pub fn outcomes(&self) -> impl Iterator<Item = &Outcome> {
        self.self_test.iter().chain(&self.results)
    }

    /// Every departure from a standard, with the tests that it holds for. Empty: none was
    /// recorded.
    pub fn deviations(&self) -> Vec<(String, Vec<TestKind>)> {
        let mut deviations: Vec<(String, Vec<TestKind>)> = vec![];
        // The self-test serves the others; it has no standard of its own.
        let all = self.results.iter().map(|outcome| (outcome.test, &outcome.conditions.deviations));
        for (kind, text) in all.flat_map(|(kind, all)| all.iter().map(move |d| (kind, d))) {
            match deviations.iter_mut().find(|(known, _)| known == text) {
                Some((_, kinds)) if kinds.contains(&kind) => {}
                Some((_, kinds)) => kinds.push(kind),
                None => deviations.push((text.clone(), vec![kind])),
            }
        }
        deviations
    }

    /// Every contradiction between results, and what became of it, in words.
    pub fn contradictions(&self) -> Vec<String> {
        let all = self.consistency.iter().flat_map(|found| &found.contradictions);
        all.map(Contradiction::in_words).collect()
    }

    /// Every clause that was judged, document by document, with the tests of which the verdict holds. Empty
    /// for runs saved before clauses were.
    pub fn clauses(&self) -> Vec<(Judged, Vec<String>)> {
        let mut rows: Vec<(Judged, Vec<String>)> = vec![];
        for outcome in self.outcomes() {
            let test = outcome.test.to_string();
            for judged in &outcome.conditions.clauses {
                match rows.iter_mut().find(|(known, _)| known == judged) {
                    Some((_, tests)) if tests.contains(&test) => {}
                    Some((_, tests)) => tests.push(test.clone()),
                    None => rows.push((judged.clone(), vec![test.clone()])),
                }
            }
        }
        let mut documents: Vec<String> = vec![];
        for (judged, _) in &rows {
            if !documents.contains(&judged.document) {
                documents.push(judged.document.clone());
            }
        }
        rows.sort_by_key(|(judged, _)| {
            let document = documents.iter().position(|known| *known == judged.document);
            (document, judged.level)
        });
        rows
    }

    /// Whether every result conforms to its documents: every MUST that the tester can check is met, and no
    /// SHOULD or default about the result itself is departed from. The departures, which are those of the
    /// clauses, say it; of runs saved before clauses were judged, too. A run without a result conforms to nothing.
    pub fn is_conformant(&self) -> bool {
        !self.results.is_empty() && self.deviations().is_empty()
    }

    /// The MUSTs that nothing known decides.
    pub fn unchecked_musts(&self) -> usize {
        let is_open =
            |judged: &Judged| (judged.level, judged.verdict) == (Level::Must, Ruled::NotChecked);
        self.clauses().iter().filter(|(judged, _)| is_open(judged)).count()
    }

    /// How far the run came.
    pub fn status(&self) -> Status<'_> {
        match &self.finished {
            None => Status::CutOff,
            Some(RunFinished { stopped_by: Some(why), .. }) => Status::Stopped(why),
            Some(_) => Status::Complete,
        }
    }

    /// Trials, and why those that decided nothing did not, by test.
    pub fn trial_counts(&self) -> Vec<TrialCounts> {
        let mut by_test: BTreeMap<TestKind, TrialCounts> = BTreeMap::new();
        for record in &self.trials {
            let counts = by_test.entry(record.test).or_insert_with(|| TrialCounts {
                test: record.test,
                trials: 0,
                invalid: 0,
                answered_short: 0,
                reasons: BTreeMap::new(),
            });
            counts.trials += 1;
            let is_invalid = record.verdict == Verdict::Invalid;
            counts.answered_short += u64::from(!is_invalid && !record.result.is_valid());
            if is_invalid {
                counts.invalid += 1;
                let mut kinds: Vec<String> =
                    record.result.invalid_reasons().iter().map(reason_kind).collect();
                kinds.sort();
                kinds.dedup();
                for kind in kinds {
                    *counts.reasons.entry(kind).or_insert(0) += 1;
                }
            }
        }
        by_test.into_values().collect()
    }

    /// The medium's maximum for a frame size as it was asked for.
    pub fn theoretical_max(&self, frame_size: &str) -> Option<FrameRate> {
        let mut all = self.outcomes().map(|outcome| &outcome.conditions);
        let known = all.find(|conditions: &&TestConditions| conditions.frame_size == frame_size);
        known.map(|conditions| conditions.theoretical_max).or_else(|| {
            let line_rate = self.started.as_ref()?.tester.ports.first()?.line_rate;
            let bytes = frame_size.parse().ok()?;
            Some(line_rate.max_frame_rate(FrameSize::from_bytes(bytes)))
        })
    }
}

/// How far a run came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status<'a> {
    /// To its end.
    Complete,
    /// It ended early and said why.
    Stopped(&'a str),
    /// Its events end without an end.
    CutOff,
}

/// Trials of one test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialCounts {
    /// Which.
    pub test: TestKind,
    /// How many were run.
    pub trials: u64,
    /// Those among them that decided nothing, because the tester did not keep up.
    pub invalid: u64,
    /// Those that asked how much the tester can offer, and were answered by falling short.
    pub answered_short: u64,
    /// Why: kind of reason, and in how many trials it was found (one trial may have several).
    pub reasons: BTreeMap<String, u64>,
}

/// Puts a value in its like's place, or at the end.
fn put<T: Clone>(values: &mut Vec<T>, value: &T, alike: fn(&T, &T) -> bool) {
    match values.iter_mut().find(|known| alike(known, value)) {
        Some(known) => *known = value.clone(),
        None => values.push(value.clone()),
    }
}

/// A reason without its numbers, so that like ones can be counted.
fn reason_kind(reason: &InvalidReason) -> String {
    match reason {
        InvalidReason::Shortfall { .. } => "offered load fell short".into(),
        InvalidReason::TesterDropped { counter, .. } => {
            format!("tester lost received frames ({counter})")
        }
        InvalidReason::NotSent { .. } => "interface did not send frames handed to it".into(),
        InvalidReason::CountersDisagree { .. } => "interface counters disagree".into(),
        InvalidReason::StartSkew { .. } => "ports started too far apart".into(),
        InvalidReason::TooFast { .. } => "ports sent faster than intended".into(),
        InvalidReason::StillArriving { .. } => "frames were still arriving".into(),
        InvalidReason::MachineLate { .. } => "machine late while frames were waited for".into(),
        InvalidReason::Leftovers { .. } => {
            "frames of an earlier trial were still in the device".into()
        }
        InvalidReason::Forged { .. } => "forged frames that a narrow tag may not tell".into(),
        InvalidReason::DeviceHeldUp { .. } => "device held up: it waited for a processor".into(),
        InvalidReason::DeviceStopped { .. } => "device stopped by somebody".into(),
        InvalidReason::LinkChanged { .. } => "link changed its carrier".into(),
        InvalidReason::OnTheWay { .. } => {
            "frames that left the device did not arrive in time".into()
        }
        InvalidReason::NotYetOut { .. } => "frames were still within the device".into(),
        InvalidReason::PerhapsFull { .. } => "the tester's receive queue may have been full".into(),
        InvalidReason::ClockUncertain { host, .. } => {
            format!("the clock of {host} is not known well enough")
        }
        InvalidReason::Other { what } => what.clone(),
        InvalidReason::Unknown => reason.to_string(),
    }
}

/// Members of the environment that differ between any two runs.
pub(crate) fn is_a_date(key: &str) -> bool {
    let key = key.to_lowercase();
    ["date", "time", "started"].iter().any(|word| key.contains(word))
}

#[cfg(test)]
pub(crate) mod tests {
    use units::{FrameRate, LineRate};

    /// Of a result at 64 bytes on a virtual link.
    pub(crate) fn conditions_of_64_bytes() -> method::TestConditions {
        method::TestConditions {
            frame_size: "64".into(),
            mean_frame_size_bytes: 64.0,
            direction: None,
            modifier: None,
            traffic: String::new(),
            filters: String::new(),
            line_rate: LineRate::from_gbps(1),
            line_rate_is_physical: false,
            theoretical_max: FrameRate::from_fps(1_488_095),
            tester_max: None,
            deviations: vec![],
            clauses: vec![],
            in_words: String::new(),
        }
    }
}
