//! Two runs side by side: what differs, by how much, and whether that means anything.

use crate::model::{Report, is_a_date};
use crate::tables::{self, Table};
use method::outcome::{Basis, Figure, FigureName, Relation, TestConditions, Unit};
use method::{Outcome, TestKind};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Where the uncertainty holds no difference but is wider than this share of the value, the
/// verdict is "cannot tell" and not "same".
const SAME_WITHIN: f64 = 0.1;
/// The same for shares in percent, in percentage points.
const SAME_WITHIN_POINTS: f64 = 1.0;

/// Two runs compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Name of the first run.
    pub a: String,
    /// Name of the second.
    pub b: String,
    /// What else differs between the runs, so that the device need not be the cause.
    pub warnings: Vec<String>,
    /// One for each quantity that either run has.
    pub differences: Vec<Difference>,
}

impl Comparison {
    /// Whether the runs have a quantity in common; without one nothing is compared.
    pub fn has_common(&self) -> bool {
        self.differences.iter().any(|difference| difference.verdict != Verdict::OnlyOne)
    }
}

/// One quantity in both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Of which test.
    pub test: TestKind,
    /// As it was asked for.
    pub frame_size: String,
    /// Conditions in words.
    pub conditions: String,
    /// Which.
    pub quantity: String,
    /// Such as `fps`, `frames`, `ns` or `percent`.
    pub unit: Unit,
    /// In the first run; `None` where it has no such number.
    pub a: Option<f64>,
    /// The other end, where `a` is the lower end of an interval.
    pub a_high: Option<f64>,
    /// How the truth relates to `a`.
    pub a_relation: Relation,
    /// In the second run.
    pub b: Option<f64>,
    /// The same of `b`.
    pub b_high: Option<f64>,
    /// How the truth relates to `b`.
    pub b_relation: Relation,
    /// b - a, in percent of a; for shares (unit `percent`) in percentage points.
    pub difference: Option<f64>,
    /// The difference is at least this, as far as the runs show; in the same measure.
    pub low: Option<f64>,
    /// The difference is at most this.
    pub high: Option<f64>,
    /// Where `low` and `high` come from.
    pub basis: Basis,
    /// What follows.
    pub verdict: Verdict,
}

/// What a difference means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// No difference within the uncertainty, and that is small.
    Same,
    /// More than the uncertainty explains.
    Different,
    /// The uncertainty is too large, or not known.
    CannotTell,
    /// Only one of the runs measured it.
    OnlyOne,
}

/// A figure with what it holds for.
#[derive(Clone, Copy)]
struct Compared<'a> {
    test: TestKind,
    conditions: &'a TestConditions,
    figure: &'a Figure,
}

impl Compared<'_> {
    /// Between which values the truth lies. What the tester could not offer is no more than the medium carries.
    fn bounds(&self) -> (f64, f64) {
        let (low, high) = self.figure.bounds();
        let most = self.conditions.theoretical_max.fps();
        let is_throughput = self.figure.known_as == Some(FigureName::Throughput);
        let is_open = self.figure.relation == Relation::AtLeast && is_throughput && low <= most;
        (low, if is_open { high.min(most) } else { high })
    }
}

/// Compares two runs.
pub fn compare(a: (&str, &Report), b: (&str, &Report)) -> Comparison {
    let (of_a, of_b) = (figures(a.1), figures(b.1));
    let mut differences: Vec<Difference> = vec![];
    for figure in &of_a {
        let other = of_b.iter().find(|other| alike(figure, other));
        differences.push(difference(*figure, Some(*figure), other.copied()));
    }
    let new = of_b.iter().filter(|b| !of_a.iter().any(|a| alike(a, b)));
    differences.extend(new.map(|figure| difference(*figure, None, Some(*figure))));
    Comparison { a: a.0.into(), b: b.0.into(), warnings: warnings(a.1, b.1), differences }
}

fn figures(report: &Report) -> Vec<Compared<'_>> {
    let of = |outcome| {
        let Outcome { test, conditions, figures, .. }: &Outcome = outcome;
        figures.iter().map(move |figure| Compared { test: *test, conditions, figure })
    };
    report.outcomes().flat_map(of).collect()
}

/// What a figure answers: test, frame size, conditions in words, name of the figure. Runs are compared where these are
/// the same.
pub(crate) type Question<'a> = (TestKind, &'a str, &'a str, &'a str);

pub(crate) fn question<'a>(
    test: TestKind,
    conditions: &'a TestConditions,
    figure: &'a Figure,
) -> Question<'a> {
    (test, &conditions.frame_size, &conditions.in_words, &figure.name)
}

fn alike(a: &Compared<'_>, b: &Compared<'_>) -> bool {
    question(a.test, a.conditions, a.figure) == question(b.test, b.conditions, b.figure)
}

fn difference(
    known: Compared<'_>,
    of_a: Option<Compared<'_>>,
    of_b: Option<Compared<'_>>,
) -> Difference {
    let (a, b) = (of_a.map(|a| a.figure), of_b.map(|b| b.figure));
    let unit = known.figure.unit;
    let mut difference = Difference {
        test: known.test,
        frame_size: known.conditions.frame_size.clone(),
        conditions: known.conditions.in_words.clone(),
        quantity: known.figure.name.clone(),
        unit,
        a: a.and_then(|a| a.value),
        a_high: a.and_then(upper_end),
        a_relation: a.map_or(Relation::Unknown, |a| a.relation),
        b: b.and_then(|b| b.value),
        b_high: b.and_then(upper_end),
        b_relation: b.map_or(Relation::Unknown, |b| b.relation),
        difference: None,
        low: None,
        high: None,
        basis: Basis::None,
        verdict: Verdict::OnlyOne,
    };
    let (Some(of_a), Some(of_b)) = (of_a, of_b) else { return difference };
    let (a, b) = (of_a.figure, of_b.figure);
    difference.verdict = Verdict::CannotTell;
    let (Some(value_a), Some(value_b)) = (a.value, b.value) else { return difference };
    let (low, high) = between(of_a, value_a, of_b, value_b);
    if a.basis == b.basis {
        difference.basis = a.basis;
    }
    difference.verdict = verdict(low, high, value_a.abs().max(value_b.abs()), unit);
    // Shares are compared in percentage points; against nothing there are no percent.
    let scale = if unit == Unit::Percent { 1.0 } else { 100.0 / value_a };
    let scaled = |value: f64| Some(value * scale).filter(|value| value.is_finite());
    // Of an interval no single difference is true.
    let is_interval = |figure: &Figure| figure.relation == Relation::Between;
    difference.difference =
        scaled(value_b - value_a).filter(|_| !is_interval(a) && !is_interval(b));
    (difference.low, difference.high) = (scaled(low), scaled(high));
    difference
}

/// Where an interval ends.
fn upper_end(figure: &Figure) -> Option<f64> {
    (figure.relation == Relation::Between).then_some(figure.high).flatten()
}

/// Between which values b - a lies. Bounds of a search are hard, so they add up; confidence
/// intervals of independent runs add in squares.
fn between(a: Compared<'_>, value_a: f64, b: Compared<'_>, value_b: f64) -> (f64, f64) {
    let add = match (a.figure.basis, b.figure.basis) {
        (
            Basis::SearchResolution | Basis::ProcessorTime | Basis::Contradiction | Basis::Clocks,
            _,
        )
        | (
            _,
            Basis::SearchResolution | Basis::ProcessorTime | Basis::Contradiction | Basis::Clocks,
        ) => |x: f64, y: f64| x + y,
        _ => f64::hypot,
    };
    let difference = value_b - value_a;
    let ((low_a, high_a), (low_b, high_b)) = (a.bounds(), b.bounds());
    let low = difference - add(value_b - low_b, high_a - value_a);
    let high = difference + add(high_b - value_b, value_a - low_a);
    (low, high)
}

fn verdict(low: f64, high: f64, value: f64, unit: Unit) -> Verdict {
    let tolerated = match unit {
        Unit::Percent => SAME_WITHIN_POINTS,
        _ => value * SAME_WITHIN,
    };
    match () {
        () if low > 0.0 || high < 0.0 => Verdict::Different,
        () if high.max(-low) <= tolerated => Verdict::Same,
        () => Verdict::CannotTell,
    }
}

/// Everything besides the results in which the runs differ.
fn warnings(a: &Report, b: &Report) -> Vec<String> {
    let mut warnings = vec![];
    let (Some(of_a), Some(of_b)) = (&a.started, &b.started) else {
        return vec!["the beginning of a run was not saved: what else differs is unknown".into()];
    };
    if of_a.device != of_b.device {
        warnings.push(format!("device differs: {} / {}", of_a.device, of_b.device));
    }
    warnings.extend(conditions_that_differ(a, b));
    for (name, report) in [("first", a), ("second", b)] {
        if report.status() != crate::Status::Complete {
            warnings.push(format!("the {name} run is not complete"));
        }
    }
    warnings
}

/// Everything besides the results and the device in which two runs differ.
pub(crate) fn conditions_that_differ(a: &Report, b: &Report) -> Vec<String> {
    let (Some(of_a), Some(of_b)) = (&a.started, &b.started) else { return vec![] };
    let mut differences = vec![];
    let mut differ = |what: &str, a: &str, b: &str| {
        if a != b {
            differences.push(format!("{what} differs: {a} / {b}"));
        }
    };
    differ("program", &of_a.program, &of_b.program);
    differ("tester", &of_a.tester.name, &of_b.tester.name);
    differ("tester's ports", &ports(a), &ports(b));
    let keys: BTreeSet<&String> = of_a.environment.keys().chain(of_b.environment.keys()).collect();
    for key in keys.into_iter().filter(|key| !differs_anyway(key)) {
        let value = |of: &BTreeMap<String, String>| {
            of.get(key).map_or_else(|| "not stated".into(), String::clone)
        };
        differ(key, &value(&of_a.environment), &value(&of_b.environment));
    }
    let (flat_a, flat_b) = (compared(&of_a.config), compared(&of_b.config));
    let keys: BTreeSet<&String> = flat_a.keys().chain(flat_b.keys()).collect();
    for key in keys {
        let value = |of: &BTreeMap<String, String>| {
            of.get(key).map_or_else(|| "not set".into(), String::clone)
        };
        differ(&format!("configuration {key}"), &value(&flat_a), &value(&flat_b));
    }
    let (deviations_a, deviations_b) = (deviations(a), deviations(b));
    differ("departure from the standards", &deviations_a, &deviations_b);
    differences
}

/// Members of the environment that differ between any two runs: times, where the run was saved,
/// and how old its self-test is (whose results are compared themselves).
fn differs_anyway(key: &str) -> bool {
    is_a_date(key) || ["command", "self-test"].contains(&key)
}

fn ports(report: &Report) -> String {
    let ports = report.started.iter().flat_map(|started| &started.tester.ports);
    let words = ports.map(|port| format!("{} at {}", port.port_type, port.line_rate));
    words.collect::<Vec<_>>().join(", ")
}

fn deviations(report: &Report) -> String {
    let words: Vec<String> = report.deviations().into_iter().map(|(text, _)| text).collect();
    if words.is_empty() { "none".into() } else { words.join("; ") }
}

/// What of a configuration is compared: two runs never have the same key unless they are to.
fn compared(config: &Value) -> BTreeMap<String, String> {
    let mut flat = flattened(config);
    flat.remove("run_key");
    flat
}

/// `{"a": {"b": 1}}` as `a.b = 1`.
fn flattened(value: &Value) -> BTreeMap<String, String> {
    fn walk(path: &str, value: &Value, into: &mut BTreeMap<String, String>) {
        match value {
            Value::Object(members) => members.iter().for_each(|(name, value)| {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                walk(&path, value, into);
            }),
            other => {
                into.insert(path.into(), other.to_string());
            }
        }
    }
    let mut flat = BTreeMap::new();
    walk("", value, &mut flat);
    flat
}

/// The comparison as JSON, with a line feed at its end.
pub fn to_json(comparison: &Comparison) -> String {
    let mut text = serde_json::to_string_pretty(comparison)
        .unwrap_or_else(|error| format!("{{\"error\": \"{error}\"}}"));
    text.push('\n');
    text
}

/// The comparison as a table; quantities that only one run has are left to the JSON form.
pub fn to_table(comparison: &Comparison) -> Table {
    let about = vec![format!("a: {}", comparison.a), format!("b: {}", comparison.b)];
    tables::comparison(about, comparison)
}
