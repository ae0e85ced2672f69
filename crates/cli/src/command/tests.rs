//! `netanvil tests`: lists the tests, their source documents and their options.

use crate::failure::{Exit, Failure, Outcome};
use crate::options::SuiteName;
use crate::output;
use crate::support;
use method::registry::TestMethod;
use serde_json::json;

/// Lists the tests of one suite, or of all; with a test's name, the options that it uses.
pub fn run(suite: Option<SuiteName>, test: Option<&str>, is_json: bool) -> Outcome {
    let suites = suite.map_or(SuiteName::ALL.to_vec(), |suite| vec![suite]);
    let tests: Vec<&TestMethod> = suites.iter().flat_map(|suite| suite.tests()).collect();
    let chosen: Vec<&TestMethod> =
        tests.iter().filter(|known| test.is_none_or(|id| known.id == id)).copied().collect();
    if let (Some(id), true) = (test, chosen.is_empty()) {
        return Err(Failure::new(format!("no test `{id}`")).help("`netanvil tests` lists them"));
    }
    let text = match (is_json, test) {
        (true, _) => as_json(&chosen),
        (false, Some(_)) => chosen.iter().map(|test| in_full(test)).collect(),
        (false, None) => table(&suites),
    };
    output::print(&text)?;
    Ok(Exit::Done)
}

fn table(suites: &[SuiteName]) -> String {
    let mut text = String::new();
    for suite in suites {
        text.push_str(&format!("netanvil run {suite} --test ...\n"));
        for test in suite.tests() {
            text.push_str(&format!("  {:22} {:36} {}\n", test.id, test.title(), test.source()));
        }
    }
    text.push_str("\n`netanvil tests SUITE TEST` prints the options of a test.\n");
    text
}

fn in_full(test: &TestMethod) -> String {
    let options: Vec<String> = options(test).map(support::flag).collect();
    format!(
        "{} {}: {} ({})\n  {}\n",
        test.suite,
        test.id,
        test.title(),
        test.source(),
        options.join("\n  ")
    )
}

/// Options of a test and of the tests that run before it; a section's name stands for its keys.
fn options(test: &TestMethod) -> impl Iterator<Item = &'static str> {
    let before = test.needs.iter().filter_map(|id| test.suite.test(id));
    let mut all: Vec<&str> = before.flat_map(TestMethod::options).chain(test.options()).collect();
    all.sort_unstable();
    all.dedup();
    all.into_iter()
}

fn as_json(tests: &[&TestMethod]) -> String {
    let test = |test: &&TestMethod| {
        json!({
            "suite": test.suite.to_string(),
            "id": test.id,
            "title": test.title(),
            "document": test.document,
            "section": test.section,
            "options": options(test).collect::<Vec<_>>(),
        })
    };
    format!("{:#}\n", json!(tests.iter().map(test).collect::<Vec<_>>()))
}
