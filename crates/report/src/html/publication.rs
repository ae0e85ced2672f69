//! A review to be printed: cover, results side by side, a chapter for each product with the reviewer's remarks, its test
//! bed, tables and graphs, and the appendices that let a reader repeat it.

use super::{balance, sections, test_bed};
use crate::compare::{Question, conditions_that_differ, question};
use crate::model::Report;
use crate::publication::{Publication, paragraphs};
use crate::{Answers, tables};
use maud::{Markup, PreEscaped, html};
use method::outcome::Relation;
use method::{Outcome, TestKind};

/// A product's name and its run.
struct Reviewed<'a> {
    name: &'a str,
    remarks: &'a str,
    response: &'a str,
    report: &'a Report,
}

/// The review as a page; `reports` are the runs of its products, in the same order.
pub(super) fn publication(of: &Publication, reports: &[Report]) -> Markup {
    let reviewed = of.products.iter().zip(reports).map(|(product, report)| Reviewed {
        name: if product.name.is_empty() { report.device() } else { &product.name },
        remarks: &product.remarks,
        response: &product.response,
        report,
    });
    let all: Vec<Reviewed<'_>> = reviewed.collect();
    html! {
        (cover(of, &all))
        main {
            (side_by_side(&all))
            @for (at, one) in all.iter().enumerate() { (chapter(at, one)) }
            (sections::sources())
            @for one in &all { (appendix(one)) }
        }
    }
}

fn cover(of: &Publication, all: &[Reviewed<'_>]) -> Markup {
    html! {
        header.cover {
            p.kicker { @if of.publisher.is_empty() { "Network device benchmark" } @else { (of.publisher) } }
            h1 { (of.title) }
            p.facts {
                @if !of.authors.is_empty() { span { (of.authors.join(", ")) } }
                @if !of.date.is_empty() { span { (of.date) } }
            }
            @for paragraph in paragraphs(&of.summary) { p { (paragraph) } }
            h2 { "Contents" }
            ul {
                @if all.len() > 1 { li { a href="#side-by-side" { "Side by side" } } }
                @for (at, one) in all.iter().enumerate() { li { a href={ "#product-" (at) } { (one.name) } } }
                li { "Definitions and their sources" }
                li { "For each product: set-up, clauses, every trial" }
            }
            p.about {
                "Every number is one that netanvil measured; where a number is only a bound, or no trial was valid, \
                 it says so. Remarks are the reviewer's."
            }
        }
    }
}

/// What an outcome's main figure answers, and the answer.
fn answered(outcome: &Outcome) -> Option<(Question<'_>, String)> {
    let figure = tables::figure_of(outcome)?;
    let (value, unit) = figure.printed();
    let is_known = figure.relation != Relation::Unknown;
    let answer = if is_known { format!("{value} {unit}") } else { value };
    Some((question(outcome.test, &outcome.conditions, figure), answer))
}

/// Every question that two products or more were asked, with all answers.
fn side_by_side(all: &[Reviewed<'_>]) -> Markup {
    let reports = all.iter().map(|one| one.report);
    let answers = reports.map(|report| report.results.iter().filter_map(answered).collect());
    let answers: Vec<Vec<(Question<'_>, String)>> = answers.collect();
    let mut common: Vec<&Question<'_>> = vec![];
    for (question, _) in answers.iter().flatten() {
        let count = answers.iter().filter(|of_one| answer(of_one, question).is_some()).count();
        if count > 1 && !common.contains(&question) {
            common.push(question);
        }
    }
    html! {
        @if all.len() > 1 {
            section.test #side-by-side {
                h2 { "Side by side" }
                @if common.is_empty() {
                    p.about { "No test was made of two products under the same conditions." }
                } @else {
                    div.scroll { table {
                        thead { tr {
                            th scope="col" { "test" } th scope="col" { "figure" } th.num scope="col" { "frame size" }
                            @for one in all { th.num scope="col" { (one.name) } }
                            th scope="col" { "conditions" }
                        } }
                        tbody { @for asked in &common { (row(asked, &answers)) } }
                    } }
                }
                (conditions(all))
            }
        }
    }
}

/// In what the runs of all others differ from the first one, their devices apart: a shorter profile, another host.
fn conditions(all: &[Reviewed<'_>]) -> Markup {
    let Some((first, others)) = all.split_first() else { return html! {} };
    let differing =
        others.iter().map(|one| (one, conditions_that_differ(first.report, one.report)));
    let differing: Vec<_> = differing.filter(|(_, differences)| !differences.is_empty()).collect();
    html! {
        @if !differing.is_empty() {
            h3 { "Conditions that differ" }
            p.about { "Read the figures above with these in mind." }
            @for (one, differences) in differing {
                p { (first.name) " / " (one.name) ":" }
                ul { @for difference in differences { li { (difference) } } }
            }
        }
    }
}

/// The first one to a question.
fn answer<'a>(of_one: &'a [(Question<'_>, String)], asked: &Question<'_>) -> Option<&'a str> {
    of_one.iter().find(|(question, _)| question == asked).map(|(_, value)| &value[..])
}

fn row(asked: &Question<'_>, answers: &[Vec<(Question<'_>, String)>]) -> Markup {
    let (test, frame_size, conditions, figure) = asked;
    html! {
        tr {
            td { (test) } td { (figure) } td.num { (tables::in_words(frame_size)) }
            @for of_one in answers { td.num { (answer(of_one, asked).unwrap_or("not measured")) } }
            td { (conditions) }
        }
    }
}

fn chapter(at: usize, one: &Reviewed<'_>) -> Markup {
    let report = one.report;
    let outcomes = tables::of_outcomes(report);
    let outcomes: Vec<_> =
        outcomes.into_iter().filter(|it| it.test != TestKind::SelfTest).collect();
    html! {
        section.chapter id={ "product-" (at) } {
            h1 { (one.name) }
            (sections::facts(report))
            @for paragraph in paragraphs(one.remarks) { p { (paragraph) } }
            @if !one.response.is_empty() {
                blockquote {
                    p { strong { "What its maker says" } }
                    @for paragraph in paragraphs(one.response) { p { (paragraph) } }
                }
            }
            (sections::answers(&Answers::of(report)))
            @if let Some(started) = &report.started { (test_bed::test_bed(started, &report.trials)) }
            (opened(sections::caveats(report)))
            (sections::every_result(&outcomes))
        }
    }
}

fn appendix(one: &Reviewed<'_>) -> Markup {
    html! {
        section.chapter {
            h1 { "Appendix: " (one.name) }
            (sections::trials(one.report))
            (balance::drawn(one.report))
            (sections::set_up(one.report))
        }
        (sections::clauses(one.report))
        (sections::every_trial(one.report))
    }
}

/// Nothing can be unfolded on paper.
fn opened(part: Markup) -> Markup {
    PreEscaped(part.into_string().replace("<details", "<details open"))
}
