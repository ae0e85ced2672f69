//! The parts of the page, from top to bottom.

use super::chart::Chart;
use super::sources::SOURCES;
use super::{bars, plots};
use crate::model::{Report, Status};
use crate::number::{grouped, share_of};
use crate::tables::{self, Column, OutcomeTable, Table};
use crate::{Answers, PacketComposition};
use maud::{Markup, html};
use method::outcome::{Figure, FigureName, Relation, Unit, capitalised};
use method::{Outcome, TestKind};
use serde_json::Value;
use trial::PortDescription;

/// Title, date and ports; whether the run is whole.
pub(super) fn head(report: &Report) -> Markup {
    html! {
        header {
            p.kicker { "Network device benchmark" }
            h1 { (report.device()) }
            (facts(report))
            (incomplete(report))
        }
    }
}

/// Date, program and ports.
pub(super) fn facts(report: &Report) -> Markup {
    let started = report.started.as_ref();
    html! {
        p.facts {
            @for (name, value) in started.iter().flat_map(|s| &s.environment) {
                @if crate::model::is_a_date(name) { span { (name) ": " (value) } }
            }
            @if let Some(started) = started { span { (started.program) } }
            @if let Some(started) = started { span { (ports_in_short(&started.tester.ports)) } }
        }
    }
}

/// What limits the numbers above it: warnings, tests without a valid result, departures from the standards.
pub(super) fn caveats(report: &Report) -> Markup {
    let deviations = report.deviations();
    let invalid = report.finished.iter().flat_map(|finished| &finished.invalid_tests);
    html! {
        section.caveats {
            @for test in invalid {
                p.banner.bad { strong { "No valid result: " } (test) }
            }
            @for warning in &report.warnings { p.banner.warn { strong { "Warning: " } (warning) } }
            @for notice in &report.notices {
                p.banner.warn { strong { "Saved events: " } (notice) }
            }
            (contradictions(report))
            @if report.is_conformant() {
                p.banner.good {
                    strong { "Conformance: " }
                    "no departure from the standards named at each test was recorded"
                    @if report.unchecked_musts() > 0 {
                        "; the tester cannot check " (report.unchecked_musts())
                        " MUST clauses, which the annex names"
                    }
                    "."
                }
            } @else if !deviations.is_empty() {
                details.banner.calm {
                    summary {
                        strong { "Not conformant." }
                        " These results depart from the standards in " (deviations.len())
                        " points."
                    }
                    ul {
                        @for (tests, deviations) in by_tests(&deviations, report) {
                            li { strong { (tests) ":" } " " (deviations.join("; ")) }
                        }
                    }
                }
            }
        }
    }
}

/// What results say of each other: those that contradicted one another, folded.
fn contradictions(report: &Report) -> Markup {
    let told = report.contradictions();
    html! {
        @if let Some(found) = &report.consistency {
            @if told.is_empty() {
                p.banner.good { strong { "Consistency: " } (found.in_words()) "." }
            } @else {
                details.banner.warn {
                    summary { strong { "Contradictions." } " " (capitalised(&found.in_words())) "." }
                    ul { @for words in &told { li { (words) "." } } }
                }
            }
        }
    }
}

/// Departures put together that hold for the same tests.
fn by_tests<'a>(
    deviations: &'a [(String, Vec<TestKind>)],
    report: &Report,
) -> Vec<(String, Vec<&'a str>)> {
    let run = report.outcomes().map(|outcome| outcome.test);
    let mut run: Vec<TestKind> = run.filter(|kind| *kind != TestKind::SelfTest).collect();
    run.dedup();
    let mut by_tests: Vec<(String, Vec<&str>)> = vec![];
    for (deviation, tests) in deviations {
        let words: Vec<String> = tests.iter().map(ToString::to_string).collect();
        let all = run.iter().all(|test| tests.contains(test));
        let words = if all { "all tests".into() } else { words.join(", ") };
        match by_tests.iter_mut().find(|(known, _)| *known == words) {
            Some((_, known)) => known.push(deviation),
            None => by_tests.push((words, vec![deviation])),
        }
    }
    by_tests
}

fn incomplete(report: &Report) -> Markup {
    html! {
        @match report.status() {
            Status::Complete => {}
            Status::Stopped(why) => p.banner.bad { strong { "Incomplete: " } (why) },
            Status::CutOff => p.banner.bad {
                strong { "Incomplete: " }
                "the run was cut off, or was still going on when this was written."
            },
        }
    }
}

fn ports_in_short(ports: &[PortDescription]) -> String {
    let mut kinds: Vec<String> = ports
        .iter()
        .map(|port| {
            let nominal = if port.line_rate_is_physical { "" } else { " nominal" };
            format!("{} ports at {}{nominal}", port.port_type, port.line_rate)
        })
        .collect();
    kinds.dedup();
    kinds.join(", ")
}

/// Cards of the first screen beside that of the trials.
const CARDS: usize = 7;

/// A few figures, each with what makes it one: size, medium, protocol (RFC 2544 section 26.1). Of the first
/// test those of its first and its last frame size, of each other test the first.
pub(super) fn summary(report: &Report, all: &[OutcomeTable]) -> Markup {
    let trials = report.trials.len() as u64;
    let invalid: u64 = report.trial_counts().iter().map(|counts| counts.invalid).sum();
    html! {
        (answers(&Answers::of(report)))
        section.figures {
            @for outcome in tiles(report) { (card(outcome)) }
            div.figure {
                span.label { "Trials" }
                span.value { (grouped(trials)) }
                span.detail { (grouped(invalid)) " invalid; none of those decided anything" }
            }
        }
        @if let Some(chart) = lead(report, all) {
            figure { figcaption { (chart.title) } (chart.render()) }
        }
    }
}

/// The answers, a row or a sentence each.
pub(super) fn answers(answers: &Answers) -> Markup {
    html! {
        @if !answers.is_empty() {
            section.answers {
                @for group in &answers.groups {
                    @if !group.under.is_empty() { p.about { (group.under) } }
                    @if !group.rows.is_empty() {
                        div.scroll { table { tbody { @for row in &group.rows { (answer(row)) } } } }
                    }
                    @for sentence in &group.sentences { p { (sentence) } }
                }
                @for verdict in &answers.criteria {
                    p.verdict.good[verdict.failures.is_empty()].bad[!verdict.failures.is_empty()] {
                        (verdict.in_words())
                    }
                }
            }
        }
    }
}

fn answer([test, size, rate, bits, limit, latency]: &[String; 6]) -> Markup {
    html! {
        tr {
            @if !test.is_empty() { td { (test) } }
            td.num { (size) }
            td.num { strong { (rate) } }
            td.whole { (bits) }
            td.whole { (limit) }
            td.whole { (latency) }
        }
    }
}

/// What is drawn at once: the curves of the first test that has some; else how the values of single frames are
/// distributed, or what every trial came to.
fn lead(report: &Report, all: &[OutcomeTable]) -> Option<Chart> {
    let mut curves = all.iter().flat_map(|outcomes| plots::curves(&outcomes.series));
    let distributed = || plots::percentiles_of(all.iter().flat_map(|it| &it.histograms));
    curves.next().or_else(distributed).or_else(|| plots::timeline(report))
}

fn tiles(report: &Report) -> Vec<&Outcome> {
    let Some(first) = report.results.first() else { return vec![] };
    let words = &first.conditions.in_words;
    // Results with other conditions answer another question.
    let has_pattern = first.conditions.direction.is_none();
    let alike = || {
        let all = report.results.iter().filter(|o| tables::figure_of(o).is_some());
        all.filter(|o| has_pattern || o.conditions.in_words == *words)
    };
    let mut tiles: Vec<&Outcome> = vec![];
    let of_first = |outcome: &&Outcome| outcome.test == first.test;
    tiles.extend(alike().find(of_first));
    tiles.extend(alike().filter(of_first).skip(1).last());
    for outcome in alike() {
        if tiles.len() < CARDS && !tiles.iter().any(|known| known.test == outcome.test) {
            tiles.push(outcome);
        }
    }
    tiles
}

/// What a tile shows: of latency every frame's, not that of a few tagged ones.
fn figure_of(outcome: &Outcome) -> Option<&Figure> {
    outcome.figures_of(FigureName::LatencyP99).next().or_else(|| tables::figure_of(outcome))
}

fn card(outcome: &Outcome) -> Markup {
    let Some(figure) = figure_of(outcome) else { return html! {} };
    let conditions = &outcome.conditions;
    let (value, unit) = figure.printed();
    let size = tables::in_words(&conditions.frame_size);
    let most = conditions.theoretical_max.fps();
    let is_interval = figure.relation == Relation::Between;
    html! {
        div.figure {
            span.label { (capitalised(&outcome.test.to_string())) ", " (size) }
            span.value { (value) " " small { (unit) } }
            span.detail {
                (figure.name) "; "
                @if figure.is_revised() { strong { "revised" } "; " }
                @if figure.unit == Unit::Fps {
                    @if let Some(value) = figure.value {
                        (share_of(100.0 * value / most))
                        @if let Some(high) = figure.high.filter(|_| is_interval) {
                            " to " (share_of(100.0 * high / most))
                        }
                        " % of "
                    }
                    (tables::fps(conditions.theoretical_max)) " theoretical at "
                    (conditions.line_rate) "; "
                } @else if let (Some(low), Some(high)) = (figure.low, figure.high) {
                    (figure.printed_value(low)) " to " (figure.printed_value(high)) "; "
                }
                (conditions.in_words)
            }
        }
    }
}

/// Charts, tables and maps of every test, but for the chart that leads the page.
pub(super) fn results(all: &[OutcomeTable]) -> Markup {
    // Its first chart stands above.
    led(all, all.iter().position(|outcomes| !plots::curves(&outcomes.series).is_empty()))
}

/// Charts, tables and maps of every test.
pub(super) fn every_result(all: &[OutcomeTable]) -> Markup {
    led(all, None)
}

fn led(all: &[OutcomeTable], led_by: Option<usize>) -> Markup {
    let mut groups: Vec<&str> = all.iter().map(|outcomes| &outcomes.group[..]).collect();
    groups.dedup();
    html! {
        @for (at, outcomes) in all.iter().enumerate() {
            @if groups.len() > 1 && (at == 0 || all[at - 1].group != outcomes.group) {
                h2.group { (outcomes.group) }
            }
            (of_outcomes(outcomes, usize::from(led_by == Some(at))))
        }
    }
}

/// A table with its curves but for the first so many, and the maps of its pairs of ports.
fn of_outcomes(outcomes: &OutcomeTable, drawn: usize) -> Markup {
    let small = plots::distributions(&outcomes.histograms);
    html! {
        section.test {
            h2 { (outcomes.table.heading) }
            @for about in &outcomes.table.about { p.about { (about) } }
            (bars::pictures(&outcomes.bars))
            @for chart in plots::curves(&outcomes.series).iter().skip(drawn) {
                figure { figcaption { (chart.title) } (chart.render()) }
            }
            @if !small.is_empty() {
                div.pairs {
                    @for chart in &small { figure { figcaption { (chart.title) } (chart.render()) } }
                }
            }
            (grid(&outcomes.table))
            @for (title, matrix) in &outcomes.matrices { (super::matrix::maps(title, matrix)) }
        }
    }
}

/// A table with more columns is printed small, to fit the paper.
const BROAD_FROM: usize = 12;

/// Rows, and the notes under them.
pub(super) fn grid(table: &Table) -> Markup {
    html! {
        @if !table.rows.is_empty() {
            div.scroll {
                table.broad[table.columns.len() > BROAD_FROM] {
                    thead { tr {
                        @for column in &table.columns {
                            th.num[column.numeric] scope="col" { (column.title) }
                        }
                    } }
                    tbody {
                        @for row in &table.rows {
                            tr {
                                @for (column, cell) in table.columns.iter().zip(row) {
                                    td.num[column.numeric].bad[is_bad(cell)].whole[is_short(column, cell)] {
                                        (cell)
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
        @if !table.notes.is_empty() {
            ul.notes { @for note in &table.notes { li { (note) } } }
        }
    }
}

/// Cells that must not be passed over.
fn is_bad(cell: &str) -> bool {
    cell.starts_with("INVALID") || cell == "invalid" || cell.starts_with(">=")
}

/// A verdict of a few words stays on its line.
fn is_short(column: &Column, cell: &str) -> bool {
    column.title == "verdict" && cell.len() < 26
}

/// Of which packets the captures of a place are composed.
pub(super) fn composition(composition: &PacketComposition) -> Markup {
    html! {
        @for table in tables::composition(composition) {
            section.test {
                h2 { (table.heading) }
                @for about in &table.about { p.about { (about) } }
                (grid(&table))
            }
        }
    }
}

/// How many trials counted, and all of them at a glance.
pub(super) fn trials(report: &Report) -> Markup {
    let table = tables::trial_counts(report);
    html! {
        section.test {
            h2 { (table.heading) }
            @if let Some(chart) = plots::timeline(report) {
                figure { figcaption { (chart.title) } (chart.render()) }
            }
            (grid(&table))
        }
    }
}

/// Tester, self-test, host, configuration.
pub(super) fn set_up(report: &Report) -> Markup {
    let started = report.started.as_ref();
    html! {
        @for outcomes in tables::of_outcomes(report) {
            @if outcomes.test == TestKind::SelfTest { (of_outcomes(&outcomes, 0)) }
        }
        @if let Some(started) = started {
            section.test {
                h2 { "Set-up" }
                h3 { "Tester: " (started.tester.name) }
                (ports(&started.tester.ports))
                p.about { "Resolution of the clock: " (started.tester.tick) }
                @if !started.tester.notes.is_empty() {
                    ul.notes { @for note in &started.tester.notes { li { (note) } } }
                }
                h3 { "Environment" }
                dl.pairs-of-words {
                    dt { "Device under test" } dd { (started.device) }
                    @for (name, value) in &started.environment {
                        dt { (name) } dd { (value) }
                    }
                    @if report.resumed > 0 {
                        dt { "Resumed" } dd { (report.resumed) " times" }
                    }
                }
                @if !report.notes.is_empty() {
                    h3 { "Notes" }
                    ul.notes { @for note in &report.notes { li { (note) } } }
                }
                h3 { "Configuration, as resolved from profile, file and flags" }
                pre { (configuration(&started.config)) }
            }
        }
    }
}

fn ports(ports: &[PortDescription]) -> Markup {
    html! {
        div.scroll { table {
            thead { tr {
                @for title in ["port", "interface", "type", "rate", "largest frame", "arrivals stamped by", "MAC", "driver", "why this type"] {
                    th scope="col" { (title) }
                }
            } }
            tbody { @for port in ports { tr {
                td { (port.id) } td { (port.name) } td { (port.port_type) }
                td { (port.line_rate) @if !port.line_rate_is_physical { " nominal" } }
                td { (port.max_frame_size_bytes) " bytes" } td { (port.capabilities.arrivals) }
                td { (port.mac) } td { (port.driver) } td { (port.reason) }
            } } }
        } }
    }
}

/// As TOML, the form in which it can be given again; as JSON where TOML cannot hold it.
fn configuration(config: &Value) -> String {
    let json = || serde_json::to_string_pretty(config).unwrap_or_else(|error| error.to_string());
    toml::to_string_pretty(&without_nulls(config)).unwrap_or_else(|_| json())
}

/// TOML leaves out what is not set.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let set = members.iter().filter(|(_, value)| !value.is_null());
            set.map(|(name, value)| (name.clone(), without_nulls(value))).collect()
        }
        Value::Array(values) => values.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

/// Where the formulas come from.
pub(super) fn sources() -> Markup {
    html! {
        section.test {
            h2 { "Definitions and their sources" }
            div.scroll { table {
                thead { tr { th scope="col" { "quantity" } th scope="col" { "definition" } th scope="col" { "source" } } }
                tbody { @for (what, rule, source) in SOURCES {
                    tr { td { (what) } td { (rule) } td { (source) } }
                } }
            } }
        }
    }
}

/// Which clauses of their documents the results meet.
pub(super) fn clauses(report: &Report) -> Markup {
    let all = [tables::clause_counts(report), tables::clauses(report)];
    html! {
        @for table in all.iter().flatten() {
            section.appendix {
                h2 { (table.heading) }
                @for about in &table.about { p.about { (about) } }
                (grid(table))
            }
        }
    }
}

/// The appendix.
pub(super) fn every_trial(report: &Report) -> Markup {
    let table = tables::trials(report);
    html! {
        section.appendix {
            h2 { "Appendix: every trial" }
            @for about in &table.about { p.about { (about) } }
            (grid(&table))
        }
    }
}
