//! Figures of every test: in results.csv, in results.json, in comparisons, and for acceptance.

use super::options::stage::{self, Device};
use crate::common::Scratch;
use method::registry::{SuiteName, TestMethod};
use std::collections::BTreeMap;

/// A row of results.csv by its columns.
type Row = BTreeMap<String, String>;

fn rows(scratch: &Scratch, folder: &str) -> Vec<Row> {
    let path = scratch.path().join(folder).join("results.csv");
    let mut reader = csv::Reader::from_path(path).expect("results.csv");
    reader.deserialize().map(|row| row.expect("a row")).collect()
}

fn run(scratch: &Scratch, test: &TestMethod, more: &[&str], folder: &str) -> Option<i32> {
    let arguments = stage::arguments(test, Device::Usual, more);
    stage::run(scratch, &arguments, folder).status.code()
}

fn test(suite: SuiteName, id: &str) -> &'static TestMethod {
    suite.test(id).expect("a test")
}

/// Runs every test of some suites; a number, or that there is none and why, for each. Gives how many
/// tests have a number.
fn has_figures(suites: &[SuiteName]) -> u32 {
    let scratch = Scratch::new();
    stage::devices(&scratch);
    let mut with_value = 0;
    for test in suites.iter().flat_map(|suite| suite.tests()) {
        let code = run(&scratch, test, &[], test.id);
        assert!(matches!(code, Some(0 | 3)), "{}: {code:?}", test.id);
        let rows = rows(&scratch, test.id);
        // A test before it that it needs has rows of its own.
        let id = serde_json::to_value(test.kind).expect("a name");
        let own = |row: &&Row| id.as_str().is_none_or(|id| row["test"] == id);
        assert!(rows.iter().any(|row| own(&row)), "{}: no row in {rows:?}", test.id);
        for row in &rows {
            let has_value = !row["value"].is_empty() || row["relation"] == "between";
            assert!(has_value || !row["reason"].is_empty(), "{}: {row:?}", test.id);
            assert!(has_value == (row["relation"] != "unknown"), "{}: {row:?}", test.id);
            assert!(row["low"].is_empty() || !row["basis"].contains("none"), "{row:?}");
        }
        let known = rows.iter().filter(own).any(|row| row["relation"] != "unknown");
        with_value += u32::from(known);
        let outcomes = &results(&scratch, test.id)["outcomes"];
        let figures = outcomes.as_array().into_iter().flatten();
        let figures = figures.flat_map(|outcome| outcome["figures"].as_array().expect("figures"));
        let names: Vec<_> =
            figures.map(|figure| figure["name"].as_str().expect("a name")).collect();
        let in_rows: Vec<_> = rows.iter().map(|row| &*row["quantity"]).collect();
        assert_eq!(names, in_rows, "{}: JSON and CSV have the same figures", test.id);
        std::fs::remove_dir_all(scratch.path().join(test.id)).expect("a run folder");
    }
    with_value
}

fn results(scratch: &Scratch, folder: &str) -> serde_json::Value {
    let path = scratch.path().join(folder).join("results.json");
    serde_json::from_slice(&std::fs::read(path).expect("results.json")).expect("JSON")
}

#[test]
fn every_test_of_many_ports_has_figures_or_says_why_not() {
    use SuiteName::{Gigaswitch, Rfc2889, Rfc3918, Tolly};
    let with_value = has_figures(&[Rfc2889, Rfc3918, Gigaswitch, Tolly]);
    // Latency at a load that only the device's queue carried is refused by the test itself.
    assert!(with_value >= 30, "{with_value} of 35 tests have a value");
}

#[test]
fn every_test_of_two_ports_has_figures_or_says_why_not() {
    let with_value = has_figures(&[SuiteName::Rfc2544, SuiteName::Harvard1990]);
    assert!(with_value >= 10, "{with_value} of 13 tests have a value");
}

#[test]
fn every_test_of_1989_has_figures_or_says_why_not() {
    let with_value = has_figures(&[SuiteName::Harvard1989]);
    // Tests of what a simulated device does not have come to none.
    assert!(with_value >= 18, "{with_value} of 24 tests have a value");
}

/// Of a suite a test and a figure of it.
struct Known {
    suite: SuiteName,
    id: &'static str,
    more: &'static [&'static str],
    /// The figure's name in criteria.
    name: &'static str,
    /// How its name in results.csv begins.
    quantity: &'static str,
    /// Between which values it lies by the device's description: what its processor does a second, to
    /// that and the 8 places of its input in a trial (0.1 s, or as `more` and the suite have it).
    truth: [u32; 2],
}

const LONG: &[&str] = &["--duration", "4s"];

const OF_SUITES: [Known; 7] = {
    use SuiteName::*;
    const fn known(
        (suite, id, more): (SuiteName, &'static str, &'static [&'static str]),
        (name, quantity): (&'static str, &'static str),
        truth: [u32; 2],
    ) -> Known {
        Known { suite, id, more, name, quantity, truth }
    }
    [
        known((Rfc2544, "throughput", LONG), ("throughput", "throughput"), [490, 502]),
        known((Rfc2889, "unidirectional", LONG), ("throughput", "throughput"), [490, 502]),
        known((Gigaswitch, "fanout", LONG), ("throughput", "throughput"), [490, 502]),
        known((Rfc3918, "group-capacity", &[]), ("groups", "multicast group capacity"), [12, 12]),
        known((Tolly, "base-unicast", &[]), ("throughput", "rate of an input"), [500, 580]),
        // Streams of 0.4 s in its short form.
        known((Harvard1990, "max-rate", &[]), ("max-rate", "ip_max"), [500, 520]),
        known((Harvard1989, "max-rate", &[]), ("max-rate", "max rate"), [250, 270]),
    ]
};

/// The same device twice is no difference; one that takes half as long again for each frame is.
#[test]
fn runs_of_every_suite_are_compared() {
    let scratch = Scratch::new();
    stage::devices(&scratch);
    for Known { suite, id, more, quantity, .. } in OF_SUITES {
        let test = test(suite, id);
        let folder = |which: &str| format!("{suite}-{which}");
        run(&scratch, test, more, &folder("a"));
        run(&scratch, test, more, &folder("b"));
        let slower = stage::arguments(test, Device::Slower, more);
        stage::run(&scratch, &slower, &folder("slower"));
        let compared = |b: &str| scratch.run(&format!("compare {suite}-a {suite}-{b} --json"));
        let same = verdicts(&compared("b").expect(0).stdout, quantity);
        assert!(!same.is_empty(), "{suite}: {quantity} is not compared");
        assert!(same.iter().all(|verdict| verdict == "same"), "{suite}: {same:?}");
        let worse = compared("slower").expect(1).stdout;
        let better = scratch.run(&format!("compare {suite}-slower {suite}-a --json"));
        let better = better.expect(1).stdout;
        for (which, comparison) in [("worse", &worse), ("better", &better)] {
            let found = verdicts(comparison, quantity);
            assert!(found.iter().any(|verdict| verdict == "different"), "{suite}: {which}");
        }
        // The same two values, before and after changed over.
        let (worse, better) = (pairs(&worse, quantity), pairs(&better, quantity));
        let over = |(before, after): &(String, String)| (after.clone(), before.clone());
        assert_eq!(worse, better.iter().map(over).collect::<Vec<_>>(), "{suite}");
        assert!(worse.iter().any(|(before, after)| before != after), "{suite}");
    }
}

/// What the runs before and after have of a quantity.
fn pairs(comparison: &str, quantity: &str) -> Vec<(String, String)> {
    let comparison: serde_json::Value = serde_json::from_str(comparison).expect("JSON");
    let all = comparison["differences"].as_array().expect("differences");
    let is_own = |difference: &&serde_json::Value| {
        let name = difference["quantity"].as_str().unwrap_or_default();
        difference["test"] != "self_test" && name.starts_with(quantity)
    };
    let pair =
        |difference: &serde_json::Value| (difference["a"].to_string(), difference["b"].to_string());
    all.iter().filter(is_own).map(pair).collect()
}

/// A criterion about what the run does not measure is not met, and one about nothing known is refused.
#[test]
fn a_criterion_of_every_suite_about_something_else_is_not_met() {
    let scratch = Scratch::new();
    stage::devices(&scratch);
    for Known { suite, id, .. } in OF_SUITES {
        let arguments = |criterion: &'static str, folder: &str| {
            let arguments =
                stage::arguments(test(suite, id), Device::Usual, &["--accept", criterion]);
            let came = stage::run(&scratch, &arguments, folder);
            (came.status.code(), String::from_utf8_lossy(&came.stderr).into_owned())
        };
        let (code, said) = arguments("reset<=1s", &format!("{suite}-other"));
        assert_eq!(code, Some(1), "{suite}: {said}");
        assert!(said.contains("reset<=1s: nothing was measured"), "{suite}: {said}");
        let folder = format!("{suite}-unknown");
        let (code, said) = arguments("speed>=1", &folder);
        assert_eq!(code, Some(2), "{suite}: {said}");
        assert!(said.contains("`speed>=1` is no criterion"), "{suite}: {said}");
        assert!(!scratch.path().join(folder).exists(), "{suite}: it has run");
    }
}

fn verdicts(comparison: &str, quantity: &str) -> Vec<String> {
    let comparison: serde_json::Value = serde_json::from_str(comparison).expect("JSON");
    let all = comparison["differences"].as_array().expect("differences");
    let known = all.iter().filter(|difference| {
        let is_own = difference["test"] == "self_test";
        !is_own && difference["quantity"].as_str().is_some_and(|name| name.starts_with(quantity))
    });
    known.map(|difference| difference["verdict"].as_str().expect("a verdict").into()).collect()
}

/// Each passes by what is true of the device, and fails by what is not.
#[test]
fn criteria_speak_of_every_suite() {
    let scratch = Scratch::new();
    stage::devices(&scratch);
    for Known { suite, id, more, name, truth: [low, high], .. } in OF_SUITES {
        for (criterion, code) in [
            (format!("{name}>={low},{name}<={high}"), 0),
            (format!("{name}>={}", high + 1), 1),
            (format!("{name}<={}", low - 1), 1),
        ] {
            let folder = format!("{suite}{criterion}").replace(['<', '>', '=', ','], "-");
            let more = [more, &["--accept", &criterion]].concat();
            let came = run(&scratch, test(suite, id), &more, &folder);
            assert_eq!(came, Some(code), "{suite}: {criterion}");
        }
    }
}

/// The device keeps up one frame in 2 ms at each port, and 12 groups.
#[test]
fn figures_hold_what_is_true_of_the_device() {
    let scratch = Scratch::new();
    stage::devices(&scratch);
    run(&scratch, test(SuiteName::Rfc2889, "unidirectional"), &[], "pairs");
    let pairs = rows(&scratch, "pairs");
    let throughput = pairs.iter().find(|row| row["quantity"] == "throughput").expect("a figure");
    let bound = |name: &str| throughput[name].parse::<f64>().expect("a number");
    assert!(bound("low") <= 500.0 && 500.0 <= bound("high"), "{throughput:?}");
    assert_eq!((&*throughput["unit"], &*throughput["direction"]), ("fps", ""));
    let frmol = pairs.iter().find(|row| row["quantity"].starts_with("forwarding rate at maximum"));
    // Two of four ports send.
    assert!((frmol.expect("a figure")["value"].parse::<f64>().unwrap() - 1_000.0).abs() < 5.0);

    run(&scratch, test(SuiteName::Rfc3918, "group-capacity"), &[], "groups");
    let groups = rows(&scratch, "groups");
    let value = |name: &str| groups[0][name].parse::<f64>().expect("a number");
    assert_eq!((value("value"), value("low"), value("high")), (12.0, 12.0, 12.0), "{groups:?}");
}

/// The tester sends 400 frames a second at most and the device loses none of them: it does as much or
/// more, so no upper bound is shown, however high.
#[test]
fn what_is_known_as_at_least_meets_no_upper_bound() {
    let scratch = Scratch::new();
    stage::devices(&scratch);
    for (suite, id, name, figure) in [
        (SuiteName::Rfc2544, "throughput", "throughput", 400),
        (SuiteName::Harvard1990, "max-rate", "max-rate", 400),
    ] {
        for (criterion, code) in
            [(format!("{name}>={}", figure - 10), 0), (format!("{name}<=1000000"), 1)]
        {
            let more = ["--accept", &*criterion];
            let arguments = stage::arguments(test(suite, id), Device::Weak, &more);
            let folder = format!("{suite}-{code}");
            let came = stage::run(&scratch, &arguments, &folder);
            let told = String::from_utf8_lossy(&came.stderr).into_owned();
            assert_eq!(came.status.code(), Some(code), "{suite}: {criterion}: {told}");
            assert!(code == 0 || told.contains("or more"), "{suite}: {told}");
            let row = rows(&scratch, &folder).into_iter().find(|row| row["relation"] == "at_least");
            assert!(row.is_some_and(|row| row["high"].is_empty()), "{suite}");
        }
    }
}

#[test]
fn criteria_speak_of_tests_of_many_ports() {
    let scratch = Scratch::new();
    stage::devices(&scratch);
    let capacity = test(SuiteName::Rfc3918, "group-capacity");
    let pairs = test(SuiteName::Rfc2889, "unidirectional");
    for (number, (test, criterion, code)) in [
        (capacity, "groups>=12", 0),
        (capacity, "groups>=13", 1),
        (capacity, "groups@128<=12", 0),
        (capacity, "throughput>=1", 1),
        (pairs, "throughput>=600", 1),
        (pairs, "throughput<=600", 0),
        (pairs, "loss<=40%", 0),
        (pairs, "loss<=20%", 1),
        (pairs, "forwarding-rate>=990", 0),
    ]
    .into_iter()
    .enumerate()
    {
        let came = run(&scratch, test, &["--accept", criterion], &number.to_string());
        assert_eq!(came, Some(code), "{criterion}");
    }
}

#[test]
fn runs_without_a_common_quantity_are_not_compared() {
    let scratch = Scratch::new();
    stage::devices(&scratch);
    let capacity = test(SuiteName::Rfc3918, "group-capacity");
    for (folder, seed) in [("a", "3"), ("b", "4")] {
        run(&scratch, capacity, &["--seed", seed], folder);
    }
    run(&scratch, test(SuiteName::Rfc2889, "unidirectional"), &[], "c");
    let alike = scratch.run("compare a b --wide").expect(0);
    assert!(alike.stdout.contains("multicast group capacity"), "{}", alike.stdout);
    let nothing = scratch.run("compare a c").expect(2);
    assert!(nothing.stderr.contains("no quantity in common"), "{}", nothing.stderr);
    assert!(nothing.stderr.contains("unidirectional"), "{}", nothing.stderr);
}
