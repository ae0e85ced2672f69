//! The page of `netanvil harvard reproduce-1989`: each statement, and the graphs that the document has, of our models.
//! The text of the document has the titles of these graphs and not their values.

use super::findings_1989::{Finding, Products};
use super::reproduce_1989::{Answer, Found, configuration as of_statements};
use method::SuiteConfig;
use method::harvard::y1989::{Harvard1989Result, Test1989};
use report::html::figures::{Figure, Line, Row, Table, page as figures_page};

const TITLE: &str = "The router tests of 1989, repeated";
/// What a reader of the graphs should know.
const ABOUT: &str = "The graphs are of the models alone: of the document's graphs the text has the titles and not the \
values. The models have what the text tells: it does not tell what a filter costs, so that they have no such cost, \
and curves lie on each other.";
/// With how many filters the document tested.
const FILTERS: [u64; 2] = [1, 10];

/// What the graphs are drawn from: the tests by packet length.
pub(super) fn configuration() -> SuiteConfig {
    let mut config = of_statements();
    config.harvard_1989.tests = vec![
        Test1989::Delay,
        Test1989::MaxRate,
        Test1989::Overload25,
        Test1989::Flood,
        Test1989::Filtering,
    ];
    config.harvard_1989.filters = FILTERS.to_vec();
    config
}

/// A curve of a product's graph: its name, its test, and the figure that it shows.
const RATES: [(&str, Test1989, &str); 6] = [
    ("theoretical", Test1989::MaxRate, "theoretical"),
    ("max", Test1989::MaxRate, "max rate"),
    ("max + 25 %", Test1989::Overload25, "forwarded"),
    ("flood", Test1989::Flood, "forwarded"),
    ("1 filter", Test1989::Filtering, "max rate, 1 filters"),
    ("10 filters", Test1989::Filtering, "max rate, 10 filters"),
];

/// A figure of a test by packet length.
fn curve(name: &str, results: &[Harvard1989Result], test: Test1989, figure: &str) -> Line {
    let point = |result: &Harvard1989Result| {
        Some((result.conditions.mean_frame_size_bytes, result.figure(figure)?))
    };
    let of_test = results.iter().filter(|result| result.test == test);
    Line { name: name.into(), points: of_test.filter_map(point).collect(), is_marks: false }
}

fn figure(title: String, y: &str, lines: impl Iterator<Item = Line>) -> Figure {
    let lines = lines.filter(|line| !line.points.is_empty()).collect();
    Figure { title, x: "Packet length (bytes)".into(), y: y.into(), lines }
}

/// The results of a model on a path.
fn of<'a>(rates: &'a Found, key: &(String, String)) -> &'a [Harvard1989Result] {
    rates.get(key).map_or(&[], Vec::as_slice)
}

/// What the text found of all products.
fn found(findings: &[Finding]) -> Table {
    let row = |finding: &Finding| Row {
        cells: vec![],
        verdict: finding.in_words(),
        bad: !finding.is_met,
    };
    Table { head: "What the text found of all".into(), rows: findings.iter().map(row).collect() }
}

/// Statement by statement.
fn statements(answers: &[Answer<'_>]) -> Table {
    let row = |answer: &Answer<'_>| Row {
        cells: vec![
            answer.line.section.clone(),
            answer.line.product.clone(),
            answer.line.of.clone(),
        ],
        verdict: match answer.is_same() {
            true => format!("{}: the same here", answer.line.published),
            false => format!("{}: here {}", answer.line.published, answer.ours),
        },
        bad: !answer.is_same(),
    };
    Table {
        head: "What the text says of each product, and what its model does".into(),
        rows: answers.iter().map(row).collect(),
    }
}

/// The page. `products` has the names of models and paths, `rates` their results.
pub(super) fn page(
    answers: &[Answer<'_>],
    findings: &[Finding],
    score: &str,
    products: &Products,
    rates: &Found,
) -> String {
    let delays =
        products.iter().map(|(key, name)| curve(name, of(rates, key), Test1989::Delay, "median"));
    let delay = figure("Delay by packet length".into(), "Delay (us)", delays);
    let of_product = |(key, name): (&(String, String), &String)| {
        let curves =
            RATES.iter().map(|(name, test, shown)| curve(name, of(rates, key), *test, shown));
        figure(format!("{name}: throughput by packet length"), "Packets a second", curves)
    };
    let figures: Vec<Figure> = [delay].into_iter().chain(products.iter().map(of_product)).collect();
    figures_page(
        TITLE,
        &[found(findings)],
        &format!("{score}. {ABOUT}"),
        &figures,
        &[statements(answers)],
    )
}
