//! Figures of the tests of many ports: in results.csv, in comparisons, and for acceptance.

mod common;
#[path = "options/stage.rs"]
#[allow(dead_code, reason = "another test uses all of it")]
mod stage;

use common::Scratch;
use method::TestKind;
use method::registry::{self, SuiteName, TestMethod};
use stage::Device;
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

/// A number, or that there is none and why; for every one of the 35.
#[test]
fn every_test_of_many_ports_has_figures_or_says_why_not() {
    let scratch = Scratch::new();
    stage::devices(&scratch);
    let of_many = |test: &&TestMethod| matches!(test.kind, TestKind::Chassis(_));
    let mut with_value = 0;
    for test in registry::all().filter(of_many) {
        let code = run(&scratch, test, &[], test.id);
        assert!(matches!(code, Some(0 | 3)), "{}: {code:?}", test.id);
        let rows = rows(&scratch, test.id);
        assert!(!rows.is_empty(), "{}: no row", test.id);
        for row in &rows {
            let has_value = !row["value"].is_empty() || row["relation"] == "between";
            assert!(has_value || !row["reason"].is_empty(), "{}: {row:?}", test.id);
            assert!(has_value == (row["relation"] != "unknown"), "{}: {row:?}", test.id);
            assert!(row["low"].is_empty() || !row["basis"].contains("none"), "{row:?}");
        }
        let known = rows.iter().any(|row| row["relation"] != "unknown");
        with_value += u32::from(known);
    }
    // Latency at a load that only the device's queue carried is refused by the test itself.
    assert!(with_value >= 30, "{with_value} of 35 tests have a value");
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
    let alike = scratch.run("compare a b").expect(0);
    assert!(alike.stdout.contains("multicast group capacity"), "{}", alike.stdout);
    let nothing = scratch.run("compare a c").expect(2);
    assert!(nothing.stderr.contains("no quantity in common"), "{}", nothing.stderr);
    assert!(nothing.stderr.contains("unidirectional"), "{}", nothing.stderr);
}
