//! docs/guards.md names tests: every one of them exists and is a test.

use std::path::Path;

/// Names of the form `crates/FILE.rs::TEST` in a text.
fn named(text: &str) -> Vec<(&str, &str)> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.filter_map(|words| words.split_once("::")).collect()
}

/// Whether a file has a test of this name, which is neither left out nor made of nothing.
fn has_test(source: &str, name: &str) -> bool {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let begins = |line: &&str| line.starts_with(&format!("fn {name}("));
    let Some(at) = lines.iter().position(begins) else { return false };
    let above = lines[..at].iter().rev();
    let marks: Vec<_> =
        above.take_while(|line| line.starts_with('#') || line.starts_with("//")).collect();
    marks.iter().any(|line| **line == "#[test]")
        && !marks.iter().any(|line| line.contains("ignore"))
}

#[test]
fn every_test_that_is_named_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("docs/guards.md")).expect("docs/guards.md");
    let mut missing = vec![];
    for (file, name) in named(&text) {
        let source = std::fs::read_to_string(root.join(file)).unwrap_or_default();
        if !has_test(&source, name) {
            missing.push(format!("{file}::{name}"));
        }
    }
    assert!(missing.is_empty(), "docs/guards.md names tests that do not exist: {missing:#?}");
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert!(rows.len() >= 17, "{} rows", rows.len());
    for row in rows {
        assert!(!named(row).is_empty(), "nothing guards: {row}");
    }
}

#[test]
fn a_test_is_a_function_that_is_marked_as_one() {
    let source = "/// Why.\n#[test]\nfn one() {}\nfn two() {}\n#[test]\n#[ignore]\nfn three() {}\n";
    assert!(has_test(source, "one"));
    assert!(!has_test(source, "two") && !has_test(source, "three") && !has_test(source, "on"));
}
