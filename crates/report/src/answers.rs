//! The answers of a run, before all tables: a row for each throughput that was found, a sentence for the first figure
//! of each test that found none.

use crate::model::Report;
use crate::tables;
use method::outcome::{Figure, Relation, capitalised};
use method::{FigureName, Outcome, TestKind};
use units::text::three_digits;

/// Between two columns.
const GAP: &str = "  ";
/// Of an interval that holds the results of tests that contradict each other.
const CONTRADICTED: &str = "revised: tests contradict each other";

/// The answers in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// What was found under which conditions.
    pub groups: Vec<Group>,
    /// Whether each acceptance criterion is met: the criterion, and why it is not.
    pub criteria: Vec<Verdict>,
}

/// Answers under the same conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// The conditions; empty where all answers have the same.
    pub under: String,
    /// Throughputs: test, size, frame rate, bit rate, what was the limit, latency.
    pub rows: Vec<[String; 6]>,
    /// What other tests found, a sentence each with all its sizes.
    pub sentences: Vec<String>,
}

/// What became of an acceptance criterion.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Verdict {
    /// As it was given.
    pub criterion: String,
    /// Why it is not met; empty where it is.
    pub failures: Vec<String>,
}

impl Verdict {
    /// `PASSED throughput>=2000`, or why not.
    pub fn in_words(&self) -> String {
        match self.failures.is_empty() {
            true => format!("PASSED  {}", self.criterion),
            false => {
                let prefix = format!("{}: ", self.criterion);
                let why = self.failures.iter().map(|why| why.strip_prefix(&prefix).unwrap_or(why));
                format!("FAILED  {prefix}{}", why.collect::<Vec<_>>().join("; "))
            }
        }
    }
}

impl Answers {
    /// Of a run.
    pub fn of(report: &Report) -> Answers {
        let told: Vec<&Outcome> = told(report).collect();
        let conditions = |outcome: &Outcome| outcome.conditions.in_words.clone();
        let differ = told.windows(2).any(|pair| conditions(pair[0]) != conditions(pair[1]));
        let tests = told.iter().filter(|outcome| throughput_of(outcome).is_some());
        let tests: Vec<TestKind> = tests.map(|outcome| outcome.test).collect();
        let name_tests = tests.windows(2).any(|pair| pair[0] != pair[1]);
        let mut groups: Vec<(Group, Vec<&Outcome>)> = vec![];
        for outcome in told {
            let under = if differ { conditions(outcome) } else { String::new() };
            let at =
                groups.iter().position(|(group, _)| group.under == under).unwrap_or_else(|| {
                    groups.push((Group { under, ..Group::default() }, vec![]));
                    groups.len() - 1
                });
            let (group, others) = &mut groups[at];
            match throughput_of(outcome) {
                Some(figure) => group.rows.push(row(report, (outcome, figure), name_tests)),
                None => others.push(outcome),
            }
        }
        let told = groups
            .into_iter()
            .map(|(group, others)| Group { sentences: sentences(&others), ..group });
        Answers { groups: told.collect(), criteria: report.criteria.clone() }
    }

    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.criteria.is_empty()
    }

    /// As lines of text, columns below each other. Bit rates are left out where lines would be wider than `width`.
    pub fn lines(&self, width: Option<usize>) -> Vec<String> {
        let mut lines = vec![];
        for group in &self.groups {
            lines.extend(Some(group.under.clone()).filter(|under| !under.is_empty()));
            lines.extend(aligned_within(&group.rows, width.unwrap_or(usize::MAX)));
            lines.extend(group.sentences.iter().cloned());
        }
        lines.extend(self.criteria.iter().map(Verdict::in_words));
        lines
    }
}

/// Throughputs, and of tests without one the first outcome of each size. Beside throughputs, what else the same
/// tests of one pair found is in the tables.
fn told(report: &Report) -> impl Iterator<Item = &Outcome> {
    let has_throughput = report.results.iter().any(|outcome| throughput_of(outcome).is_some());
    report.results.iter().filter(move |outcome| {
        let of_many = matches!(outcome.test, TestKind::Chassis(_));
        let is_answer = throughput_of(outcome).is_some() || !has_throughput || of_many;
        is_answer && tables::figure_of(outcome).is_some()
    })
}

fn throughput_of(outcome: &Outcome) -> Option<&Figure> {
    outcome.figures_of(FigureName::Throughput).next()
}

fn row(report: &Report, (outcome, figure): (&Outcome, &Figure), name_tests: bool) -> [String; 6] {
    let (rate, bits, mut limit) = rate_and_limit(figure, outcome);
    if figure.is_revised() && limit != CONTRADICTED {
        limit = format!("{limit}{GAP}revised");
    }
    let test = if name_tests { outcome.test.to_string() } else { String::new() };
    [test, size(outcome), rate, bits, limit, latency_beside(report, outcome)]
}

fn size(outcome: &Outcome) -> String {
    match outcome.conditions.frame_size.parse::<u32>() {
        Ok(bytes) => format!("{bytes} B"),
        Err(_) => outcome.conditions.frame_size.clone(),
    }
}

/// With bit rates where there is room for them.
fn aligned_within(rows: &[[String; 6]], width: usize) -> Vec<String> {
    let lines = aligned(rows);
    if lines.iter().all(|line| line.chars().count() <= width) {
        return lines;
    }
    let without_bits = |row: &[String; 6]| {
        let mut row = row.clone();
        row[3].clear();
        row
    };
    aligned(&rows.iter().map(without_bits).collect::<Vec<_>>())
}

/// Columns as wide as their widest cell, sizes to the right.
fn aligned(rows: &[[String; 6]]) -> Vec<String> {
    let width = |column: usize| {
        rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..6).map(width).collect();
    let line = |row: &[String; 6]| {
        let cells = row.iter().zip(&widths).enumerate().filter(|(_, (_, width))| **width > 0);
        let cells = cells.map(|(column, (cell, width))| match column {
            1 | 2 => format!("{cell:>width$}"),
            _ => format!("{cell:<width$}"),
        });
        cells.collect::<Vec<_>>().join(GAP).trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// A sentence a test; a size that came to no result has its own, with the reason.
fn sentences(outcomes: &[&Outcome]) -> Vec<String> {
    let found = outcomes.iter().filter_map(|outcome| Some((*outcome, tables::figure_of(outcome)?)));
    let alike = |(a, of_a): &(&Outcome, &Figure), (b, of_b): &(&Outcome, &Figure)| {
        let is_known = of_a.relation != Relation::Unknown && of_b.relation != Relation::Unknown;
        a.test == b.test && is_known && (&of_a.name, of_a.unit) == (&of_b.name, of_b.unit)
    };
    let mut of_sizes: Vec<Vec<(&Outcome, &Figure)>> = vec![];
    for one in found {
        match of_sizes.iter_mut().find(|of_sizes| alike(&of_sizes[0], &one)) {
            Some(of_sizes) => of_sizes.push(one),
            None => of_sizes.push(vec![one]),
        }
    }
    of_sizes.iter().map(|of_sizes| sentence(of_sizes)).collect()
}

/// `Congestion control, 64 bytes: 0 % (uncongested loss)`, or of several sizes
/// `Delay: 15.000 us at 64 B, 15.200 at 128 B (median)`.
fn sentence(of_sizes: &[(&Outcome, &Figure)]) -> String {
    let (outcome, figure) = of_sizes[0];
    let test = capitalised(&outcome.test.to_string());
    if of_sizes.len() > 1 {
        let value = |(place, (outcome, figure)): (usize, &(&Outcome, &Figure))| {
            let (value, unit) = figure.printed();
            let unit = if place == 0 { format!(" {unit}") } else { String::new() };
            format!("{value}{unit}{} at {}", mark(figure), size(outcome))
        };
        let values: Vec<String> = of_sizes.iter().enumerate().map(value).collect();
        return format!("{test}: {} ({})", values.join(", "), figure.name);
    }
    let (value, unit) = figure.printed();
    // Of losses, each at its load, the first that is known stands for the test; those before it are missing.
    let before = outcome.figures.iter().take_while(|other| !std::ptr::eq(*other, figure));
    let mut alike = before.filter(|other| other.known_as == figure.known_as).chain([figure]);
    let found = match alike.find(|other| other.relation == Relation::Unknown) {
        Some(missing) => beside_what_is_known(outcome, missing),
        None => format!("{value} {unit}{} ({})", mark(figure), figure.name),
    };
    format!("{test}, {}: {found}", tables::in_words(&outcome.conditions.frame_size))
}

/// So many of the same figures are written out.
const FIGURES_MAX: usize = 3;

/// That a figure is unknown, after what the same test found of it elsewhere: at another load, at another port.
fn beside_what_is_known(outcome: &Outcome, missing: &Figure) -> String {
    let reason = &missing.reason;
    let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    let is_known = |figure: &&Figure| figure.relation != Relation::Unknown;
    let alike = outcome.figures.iter().filter(|figure| figure.known_as == missing.known_as);
    let (known, unknown): (Vec<&Figure>, Vec<&Figure>) = alike.partition(is_known);
    let more = |count: usize| match count {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    if known.is_empty() {
        return format!("no result{why}");
    }
    let told = known.iter().take(FIGURES_MAX).map(|figure| {
        let (value, unit) = figure.printed();
        format!("{value} {unit}{} ({})", mark(figure), figure.name)
    });
    format!(
        "{}{}; no result ({}{}){why}",
        told.collect::<Vec<_>>().join(", "),
        more(known.len().saturating_sub(FIGURES_MAX)),
        missing.name,
        more(unknown.len().saturating_sub(1)),
    )
}

/// Of a figure that is not what was measured first.
fn mark(figure: &Figure) -> &'static str {
    if figure.is_revised() { " [revised]" } else { "" }
}

/// `1.13 Mpps`, `(0.758 Gb/s)` and what was the limit, with the width of the interval.
fn rate_and_limit(figure: &Figure, outcome: &Outcome) -> (String, String, String) {
    let most = outcome.conditions.theoretical_max.fps();
    let bits = |fps: f64| format!("({})", gigabits(fps, outcome));
    match (figure.relation, figure.value, figure.high) {
        (Relation::Equal, Some(fps), _) if fps >= most * (1.0 - 1e-6) => {
            (pps(fps), bits(fps), "medium-limited".into())
        }
        (Relation::Equal, Some(fps), high) => {
            (pps(fps), bits(fps), format!("device-limited{}", deviation(fps, high)))
        }
        (Relation::AtLeast, Some(fps), _) => {
            (format!(">= {}", pps(fps)), bits(fps), "tester-limited".into())
        }
        (Relation::Between, Some(low), Some(high)) => {
            let why = if figure.is_revised() { CONTRADICTED } else { "not decided" };
            (format!("{} .. {}", pps(low), pps(high)), String::new(), why.into())
        }
        (Relation::Below, Some(fps), _) => {
            let why = Some(&*figure.reason).filter(|reason| !reason.is_empty());
            (
                format!("< {}", pps(fps)),
                bits(fps),
                why.unwrap_or("frames are lost at every load").into(),
            )
        }
        _ => ("no result".into(), String::new(), figure.reason.clone()),
    }
}

/// How far the truth may lie from the rate that passed: up to the lowest that failed. Rounded up.
fn deviation(fps: f64, high: Option<f64>) -> String {
    let Some(high) = high.filter(|high| high.is_finite() && *high > fps) else {
        return String::new();
    };
    let percent = ((high / fps - 1.0) * 1_000.0 - 1e-6).ceil() / 10.0;
    format!("{GAP}±{percent} %")
}

/// Bits on the medium in a second, with preamble and gap: its share of the line.
fn gigabits(fps: f64, outcome: &Outcome) -> String {
    let conditions = &outcome.conditions;
    let share = fps / conditions.theoretical_max.fps();
    format!("{:.3} Gb/s", share * conditions.line_rate.bps() as f64 / 1e9)
}

/// Frames a second to three digits, as this field writes them.
fn pps(fps: f64) -> String {
    let (digits, unit) = three_digits(fps, &[(1e6, "Mpps"), (1e3, "kpps"), (1.0, "pps")]);
    format!("{digits} {unit}")
}

fn span(ns: f64) -> String {
    let (digits, unit) = three_digits(ns, &[(1e9, "s"), (1e6, "ms"), (1e3, "us")]);
    format!("{digits} {unit}")
}

/// A latency; between two hosts the interval in which it is.
fn latency(figure: &Figure) -> Option<String> {
    match (figure.relation, figure.low, figure.high) {
        (Relation::Between, Some(low), Some(high)) => {
            Some(format!("{} .. {}", span(low), span(high)))
        }
        _ => figure.value.map(span),
    }
}

/// The 99th percentile of every frame's latency, of the same size under the same conditions: at half of the throughput
/// where that was measured, otherwise at the throughput, where queues of the device may be full.
fn latency_beside(report: &Report, beside: &Outcome) -> String {
    let alike = report.results.iter().filter(|outcome| {
        let (a, b) = (&outcome.conditions, &beside.conditions);
        a.frame_size == b.frame_size && a.in_words == b.in_words
    });
    let alike: Vec<&Outcome> = alike.collect();
    let value_of = |name| {
        let figures = alike.iter().flat_map(|outcome| outcome.figures_of(name));
        figures.filter_map(latency).next()
    };
    let half = value_of(FigureName::HalfLoadP99).map(|latency| format!("p99 at 50 %: {latency}"));
    let full =
        || value_of(FigureName::LatencyP99).map(|latency| format!("p99 at 100 %: {latency}"));
    half.or_else(full).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_in_brief_have_three_digits() {
        assert_eq!(
            [pps(1_128_087.0), pps(753_199.0), pps(333.3)],
            ["1.13 Mpps", "753 kpps", "333 pps"]
        );
        assert_eq!(
            [span(8_585_215.0), span(31_040.0), span(391.0)],
            ["8.59 ms", "31.0 us", "0.39 us"]
        );
        // What rounds to a thousand of one unit is one of the next.
        assert_eq!([pps(999_600.0), pps(99_960.0)], ["1.00 Mpps", "100 kpps"]);
        assert_eq!([span(999_600.0), span(9_996.0)], ["1.00 ms", "10.0 us"]);
    }

    /// The tester could not offer 100 %; at 90 % a frame in a thousand was lost.
    #[test]
    fn a_loss_in_brief_is_that_of_the_highest_load_that_has_one() {
        let unit = method::outcome::Unit::Percent;
        let conditions = crate::model::tests::conditions_of_64_bytes();
        let why = Some("offered load fell short".to_owned());
        let none = Figure::missing("loss at 100 % of the maximum", unit, why);
        let some = Figure::single("loss at 90 % of the maximum", unit, 0.1);
        let figures = vec![none.called(FigureName::Loss), some.called(FigureName::Loss)];
        let brief = |figures| {
            let conditions = conditions.clone();
            let outcome = Outcome::new(TestKind::FrameLoss, conditions, figures, &[]);
            sentences(&[&outcome]).remove(0)
        };
        let told = "0.10 % (loss at 90 % of the maximum); no result (loss at 100 % of the maximum): offered load fell \
                    short";
        assert!(brief(figures.clone()).ends_with(told), "{}", brief(figures.clone()));
        assert!(brief(figures[..1].to_vec()).ends_with("no result: offered load fell short"));
    }

    #[test]
    fn a_latency_between_two_hosts_is_an_interval_in_brief() {
        let basis = method::outcome::Basis::Clocks;
        let unit = method::outcome::Unit::Ns;
        let between = Figure::between("p99", unit, (0.0, 829_000.0), basis);
        assert_eq!(latency(&between), Some("0.00 us .. 829 us".into()));
        assert_eq!(latency(&Figure::single("p99", unit, 31_040.0)), Some("31.0 us".into()));
    }

    /// The rate that passed and the one that failed are both within it.
    #[test]
    fn a_deviation_holds_both_ends_of_the_interval() {
        assert_eq!(deviation(100.0, Some(102.0)), "  ±2 %");
        assert_eq!(deviation(100.0, Some(102.01)), "  ±2.1 %");
        assert_eq!(deviation(1_000.0, Some(1_000.1)), "  ±0.1 %");
        assert_eq!(deviation(100.0, Some(100.0)) + &deviation(100.0, None), "");
        assert_eq!(deviation(100.0, Some(f64::INFINITY)), "");
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell_and_empty_ones_are_left_out() {
        let row = |cells: [&str; 6]| cells.map(str::to_owned);
        let rows = [
            row([
                "",
                "64 B",
                "1.02 Mpps",
                "(0.685 Gb/s)",
                "device-limited  ±2 %",
                "p99 at 50 %: 31.0 us",
            ]),
            row(["", "1518 B", ">= 81.3 kpps", "(1.000 Gb/s)", "tester-limited", ""]),
        ];
        let expected = [
            "  64 B     1.02 Mpps  (0.685 Gb/s)  device-limited  ±2 %  p99 at 50 %: 31.0 us",
            "1518 B  >= 81.3 kpps  (1.000 Gb/s)  tester-limited",
        ];
        assert_eq!(aligned(&rows), expected);
        let narrow = aligned_within(&rows, 70);
        assert!(narrow[0].contains("Mpps  device-limited"), "{narrow:?}");
        assert!(expected.iter().all(|line| line.chars().count() <= 80));
    }
}
