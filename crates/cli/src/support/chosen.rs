//! The tests of a run, before its configuration is put together.

use crate::failure::{Failure, Outcome};
use crate::options::{Options, SuiteName};
use crate::suite;
use method::TestKind;
use method::registry::{self, TestMethod};

/// Tests by what events call them.
pub fn chosen(kinds: impl IntoIterator<Item = TestKind>) -> Vec<&'static TestMethod> {
    kinds.into_iter().filter_map(registry::of_kind).collect()
}

/// The tests that options name, or those of the suite and its profile where they name none.
pub fn before_all(options: &Options) -> Outcome<Vec<&'static TestMethod>> {
    let name = options.suite.unwrap_or_default();
    if let Some(names) = &options.test {
        return names.iter().map(|test| test.test(name)).collect();
    }
    let section = name.section_of_tests().and(options.harvard_1989.as_ref());
    match section.and_then(|section| section.get("tests")?.as_array()) {
        Some(names) => names.iter().map(|value| of_section(name, value)).collect(),
        None => Ok(chosen(by_default(options, name))),
    }
}

/// Sections write `fully_meshed` where `--test` has `fully-meshed`.
fn of_section(suite: SuiteName, value: &toml::Value) -> Outcome<&'static TestMethod> {
    let name = value.as_str().unwrap_or_default();
    suite.test(&name.replace('_', "-")).ok_or_else(|| {
        Failure::new(format!("{suite} has no test {value}"))
            .help(format!("`netanvil tests {suite}` lists its tests"))
    })
}

fn by_default(options: &Options, name: SuiteName) -> Vec<TestKind> {
    match name {
        SuiteName::Harvard1990 | SuiteName::Harvard1989 => {
            name.tests().iter().map(|test| test.kind).collect()
        }
        _ => suite::kinds_of(&suite::base(options)),
    }
}
