//! `results.json`: the run for programs.
//!
//! The schema is stable: members are added, never changed or removed, while `schema_version`
//! stays the same. Every number's unit is the end of its name: `_fps` (frames a second), `_bps`
//! (bits a second), `_ps` (picoseconds), `_bytes`, `_frames`, `_percent` (0 to 100). Counts and
//! times are whole numbers and exact; rates are the nearest binary fraction. A value that is not
//! known is `null`. Rates in results are those of **one** direction, rates and counts of trials
//! are over all ports.
//!
//! `outcomes` has what every test came to, whatever the suite, the tester's own first: `test`,
//! `conditions`, and `figures` with name, unit, `value`, `relation`, bounds (`low` and `high`, `null` where
//! open), where these come from (`basis`), and the reason where there is no value. `known_as` is the name
//! that acceptance criteria use. `layouts` are the tables of the test's document, a tagged value a cell, their
//! curves (`series`) and pictures of bars (`bars`: groups of bars, each with `name`, `origin` and a tagged value, which
//! is words where there is none). `detail` is the test's own record, trial by trial: times in picoseconds, rates as frames in
//! seconds; its members are those of the test and may change with it.
//!
//! `consistency` has what must hold between the results: `pairs_compared`, and `contradictions` with the relation
//! (`says`, `source`), both figures (`less` and `more`, each as it was `first`, `again` and is `stated`), the
//! `ending` (`settled`, `confirmed` or `widened`), and all of it in `words`. A figure that is not what was measured
//! first has `revised`, in words.
//!
//! `relation` says how the truth relates to `value`: `equal` (from `low` to `high`), `between` (anywhere from
//! `low` to `high`), `at_least`, `below` (nothing passed; `value` is the lowest load tried), or `unknown`.
//!
//! Version 1 had a member a test beside `outcomes` (`throughput`, `latency`, ..., `chassis`, `self_test`):
//! what was in these is in the figures and the `detail` of the outcomes of that test.

pub(crate) mod trials;

use crate::PacketComposition;
use crate::model::{Report, Status};
use method::clauses::Judged;
use method::consistency::{self, Contradiction};
use method::{Outcome, TestKind};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use trials::Counts;
pub(crate) use trials::Trial;

/// Of the schema described above.
pub const SCHEMA_VERSION: u32 = 2;

/// The run as JSON, with a line feed at its end.
pub fn render(report: &Report) -> String {
    let mut text = serde_json::to_string_pretty(&Document::of(report))
        .unwrap_or_else(|error| format!("{{\"error\": \"{error}\"}}"));
    text.push('\n');
    text
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    schema_version: u32,
    program: Option<&'a str>,
    device: Option<&'a str>,
    /// `complete`, `stopped` or `cut_off`.
    status: &'static str,
    stopped_by: Option<&'a str>,
    resumed: u32,
    /// Whether every MUST that the tester can check is met, and no SHOULD or default about the results
    /// themselves is departed from.
    conformant: bool,
    /// MUSTs that nothing known decides, such as how the device was set up.
    unchecked_musts: usize,
    /// Every clause that was judged, with the tests that the verdict holds for.
    clauses: Vec<Clause>,
    deviations: Vec<Deviation>,
    invalid_tests: &'a [String],
    environment: Option<&'a BTreeMap<String, String>>,
    tester: Option<Tester<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    test_bed: Option<&'a method::TestBed>,
    configuration: Option<&'a Value>,
    /// The figures of every test alike, the tester's own first.
    outcomes: Vec<Value>,
    /// What results say of each other; `null` where nothing was to be compared.
    consistency: Option<Consistency<'a>>,
    /// Of captured frames, by port.
    packet_composition: &'a [PacketComposition],
    /// Acceptance criteria, and why they are not met.
    criteria: &'a [crate::Verdict],
    trial_counts: Vec<Counts>,
    trials: Vec<Trial>,
    warnings: &'a [String],
    notes: &'a [String],
    notices: Vec<String>,
}

#[derive(Serialize)]
struct Consistency<'a> {
    /// In a sentence.
    summary: String,
    pairs_compared: u64,
    contradictions: Vec<InWords<'a>>,
}

#[derive(Serialize)]
struct InWords<'a> {
    /// As every report says it.
    words: String,
    #[serde(flatten)]
    contradiction: &'a Contradiction,
}

impl<'a> Consistency<'a> {
    fn of(found: &'a consistency::Consistency) -> Self {
        let contradictions = found.contradictions.iter();
        Consistency {
            summary: found.in_words(),
            pairs_compared: found.pairs_compared,
            contradictions: contradictions
                .map(|contradiction| InWords { words: contradiction.in_words(), contradiction })
                .collect(),
        }
    }
}

#[derive(Serialize)]
struct Clause {
    #[serde(flatten)]
    judged: Judged,
    tests: Vec<String>,
}

#[derive(Serialize)]
struct Deviation {
    deviation: String,
    tests: Vec<TestKind>,
}

#[derive(Serialize)]
struct Tester<'a> {
    name: &'a str,
    ports: Vec<Port<'a>>,
    clock_tick_ps: u64,
    notes: &'a [String],
}

#[derive(Serialize)]
struct Port<'a> {
    port: u16,
    name: &'a str,
    port_type: &'a str,
    reason: &'a str,
    line_rate_bps: u64,
    line_rate_is_physical: bool,
    max_frame_size_bytes: u32,
    /// `program`, `kernel`, `driver` or `medium`.
    arrivals_stamped_by: trial::ArrivalStamp,
    mac: &'a str,
    driver: &'a str,
}

impl<'a> Document<'a> {
    fn of(report: &'a Report) -> Self {
        let started = report.started.as_ref();
        let deviations = report.deviations();
        Document {
            schema: "netanvil results",
            schema_version: SCHEMA_VERSION,
            program: started.map(|started| &started.program[..]),
            device: started.map(|started| &started.device[..]),
            status: status_word(report.status()),
            stopped_by: match report.status() {
                Status::Stopped(why) => Some(why),
                Status::Complete | Status::CutOff => None,
            },
            resumed: report.resumed,
            conformant: report.is_conformant(),
            unchecked_musts: report.unchecked_musts(),
            clauses: report
                .clauses()
                .into_iter()
                .map(|(judged, tests)| Clause { judged, tests })
                .collect(),
            deviations: deviations
                .into_iter()
                .map(|(deviation, tests)| Deviation { deviation, tests })
                .collect(),
            invalid_tests: report.finished.as_ref().map_or(&[], |end| &end.invalid_tests),
            environment: started.map(|started| &started.environment),
            tester: started.map(|started| tester(&started.tester)),
            test_bed: started.and_then(|started| started.test_bed.as_ref()),
            configuration: started.map(|started| &started.config),
            outcomes: report.outcomes().map(without_matrices).collect(),
            consistency: report.consistency.as_ref().map(Consistency::of),
            packet_composition: &report.compositions,
            criteria: &report.criteria,
            trial_counts: report.trial_counts().into_iter().map(Counts::from).collect(),
            trials: report.trials.iter().map(Trial::of).collect(),
            warnings: &report.warnings,
            notes: &report.notes,
            notices: report.notices.iter().map(ToString::to_string).collect(),
        }
    }
}

/// Of many ports they are large, and are in the `detail` already.
fn without_matrices(outcome: &Outcome) -> Value {
    let mut value = serde_json::to_value(outcome).unwrap_or_default();
    if let Value::Object(members) = &mut value {
        members.remove("matrices");
    }
    value
}

fn status_word(status: Status<'_>) -> &'static str {
    match status {
        Status::Complete => "complete",
        Status::Stopped(_) => "stopped",
        Status::CutOff => "cut_off",
    }
}

fn tester(tester: &trial::TesterDescription) -> Tester<'_> {
    Tester {
        name: &tester.name,
        ports: tester.ports.iter().map(Port::from).collect(),
        clock_tick_ps: tester.tick.as_ps(),
        notes: &tester.notes,
    }
}

impl<'a> From<&'a trial::PortDescription> for Port<'a> {
    fn from(port: &'a trial::PortDescription) -> Self {
        Port {
            port: port.id.0,
            name: &port.name,
            port_type: &port.port_type,
            reason: &port.reason,
            line_rate_bps: port.line_rate.bps(),
            line_rate_is_physical: port.line_rate_is_physical,
            max_frame_size_bytes: port.max_frame_size_bytes,
            arrivals_stamped_by: port.capabilities.arrivals,
            mac: &port.mac,
            driver: &port.driver,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use method::outcome::{Bar, Bars, Cell, Layout};

    /// Nothing is shown by a picture alone: groups, names, who says so, and each value, or why there is none.
    #[test]
    fn bars_are_in_the_results_as_values() {
        let conditions = serde_json::json!({
            "frame_size": "64", "mean_frame_size_bytes": 64, "direction": null, "modifier": null,
            "traffic": "", "filters": "", "line_rate": 1_000_000_000u64, "line_rate_is_physical": true,
            "theoretical_max": {"frames": 1, "per_seconds": 1}, "tester_max": null, "deviations": [],
            "in_words": ""
        });
        let conditions: method::TestConditions = serde_json::from_value(conditions).unwrap();
        let pair = Bar::pair("received", "not published".into(), Cell::Count(7));
        let bars = Bars::new("Figure 1", "Ports", ("Packets", "packets"), "A document");
        let layout = Layout::new("T", vec![], &[]).with_bars([bars.group("1x16", [pair])]);
        let outcome = Outcome::new(TestKind::Throughput, conditions, vec![], &[]);
        let saved = without_matrices(&outcome.laid_out(layout));
        let expected = serde_json::json!([{
            "chart": "Figure 1", "grouped_by": "Ports", "quantity": ["Packets", "packets"],
            "source": "A document",
            "groups": [{"label": "1x16", "bars": [
                {"name": "received", "origin": "published", "value": {"words": "not published"}},
                {"name": "received", "origin": "measured", "value": {"count": 7}}
            ]}]
        }]);
        assert_eq!(saved["layouts"][0]["bars"], expected);
    }
}
