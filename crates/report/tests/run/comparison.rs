//! Two runs compared, of devices whose difference is known.

use crate::sample::Sample;
use method::TestKind;
use method::outcome::{FigureName, Relation};
use report::Report;
use report::compare::{Difference, Verdict, compare, to_json, to_table};
use units::Duration;

fn run(per_frame: Duration) -> Report {
    let tests = vec![TestKind::Throughput, TestKind::FrameLoss];
    let sample = Sample { per_frame, sizes: vec![64], tests };
    Report::from_events(&sample.events(), vec![])
}

fn find<'a>(differences: &'a [Difference], quantity: &str) -> &'a Difference {
    let found = differences.iter().find(|d| d.quantity == quantity);
    found.unwrap_or_else(|| panic!("no {quantity}"))
}

#[test]
fn a_run_equals_itself() {
    let a = run(Duration::from_us(9));
    let comparison = compare(("a", &a), ("b", &a));
    assert_eq!(comparison.warnings, Vec::<String>::new());
    let throughput = find(&comparison.differences, "throughput");
    assert_eq!((throughput.difference, throughput.verdict), (Some(0.0), Verdict::Same));
    let different = comparison.differences.iter().filter(|d| d.verdict == Verdict::Different);
    assert_eq!(different.count(), 0);
}

/// The router serves a 64-byte frame in 9 us + 64 x 2 ns or 10 us + 64 x 2 ns: it forwards
/// 109,553 or 98,736 frames a second, which is 9.87 % less.
#[test]
fn a_slower_device_is_found_slower_by_what_it_is() {
    let (a, b) = (run(Duration::from_us(9)), run(Duration::from_us(10)));
    let comparison = compare(("fast", &a), ("slow", &b));
    let throughput = find(&comparison.differences, "throughput");
    assert_eq!(throughput.verdict, Verdict::Different);
    let truth = (98_736.0 - 109_553.0) / 109_553.0 * 100.0;
    let (low, high) = (throughput.low.unwrap(), throughput.high.unwrap());
    assert!(low <= truth && truth <= high, "{low} {truth} {high}");
    assert!(high - low < 6.0, "twice the resolution of 2 %: {low} {high}");
    let loss = find(&comparison.differences, "loss at 100 % of the maximum");
    assert_eq!(loss.verdict, Verdict::Different);

    let table = to_table(&comparison);
    let row = table.rows.iter().find(|row| row[2] == "throughput, fps").unwrap();
    assert!(row[5].starts_with('-') && row.last().unwrap() == "different", "{row:?}");
    let json: serde_json::Value = serde_json::from_str(&to_json(&comparison)).unwrap();
    assert_eq!(json["differences"][0]["test"], "self_test");
}

#[test]
fn runs_of_different_hosts_and_settings_are_warned_of() {
    let a = run(Duration::from_us(9));
    let mut b = a.clone();
    let started = b.started.as_mut().unwrap();
    started.environment.insert("host".into(), "another".into());
    started.environment.insert("date".into(), "2027-01-01T00:00:00Z".into());
    started.environment.insert("command".into(), "netanvil run --out elsewhere".into());
    started.config["trial"]["duration_s"] = 60.0.into();
    let warnings = compare(("a", &a), ("b", &b)).warnings;
    assert_eq!(warnings.len(), 2, "a date and a command are no difference: {warnings:?}");
    assert!(warnings[0].contains("host") && warnings[0].contains("another"));
    assert!(warnings[1].contains("trial.duration_s") && warnings[1].contains("0.2 / 60"));
}

/// A tester that barely misses the medium's maximum leaves little open: nothing carries more than the medium.
#[test]
fn two_testers_that_barely_miss_the_medium_tell_the_same() {
    let barely = |share: f64| {
        let mut report = run(Duration::from_ns(100));
        let outcomes = report.results.iter_mut().filter(|it| it.test == TestKind::Throughput);
        for outcome in outcomes {
            let most = outcome.conditions.theoretical_max.fps();
            let figures = outcome.figures.iter_mut();
            for figure in figures.filter(|it| it.known_as == Some(FigureName::Throughput)) {
                figure.value = Some(share * most);
                (figure.low, figure.high) = (figure.value, None);
                figure.relation = Relation::AtLeast;
            }
        }
        report
    };
    let verdict = |a: f64, b: f64| {
        let comparison = compare(("a", &barely(a)), ("b", &barely(b)));
        find(&comparison.differences, "throughput").verdict
    };
    assert_eq!(verdict(0.996, 0.998), Verdict::Same);
    assert_eq!(verdict(0.996, 0.5), Verdict::CannotTell);
}
