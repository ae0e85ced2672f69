//! A run whose device is slow for a time: its results contradict each other, are repeated, and every report says so.

use crate::common::Scratch;
use serde_json::Value;

/// 5,000 frames a second, 20 of which wait.
const ROUTER: &str = r#"
line-rate = "10M"
route = ["ipv4"]
[input]
frames = 20
[cpu]
cost = { per-frame = "200us" }
"#;
const RUN: &str = "run harvard-1989 --profile quick --sizes 64 --test max-rate,raw-rate,filtering --skip-selftest";

fn read(scratch: &Scratch, file: &str) -> String {
    std::fs::read_to_string(scratch.path().join(file)).unwrap()
}

fn results(scratch: &Scratch, folder: &str) -> Value {
    serde_json::from_str(&read(scratch, &format!("{folder}/results.json"))).unwrap()
}

/// When the first trial of a test began, in nanoseconds of virtual time, on the device without disturbance.
fn begin_ns(scratch: &Scratch, test: &str) -> u64 {
    std::fs::write(scratch.path().join("healthy.toml"), ROUTER).unwrap();
    scratch.run(&format!("{RUN} --sim healthy.toml --out healthy")).expect(0);
    assert_eq!(results(scratch, "healthy")["consistency"]["contradictions"], serde_json::json!([]));
    let events = read(scratch, "healthy/events.jsonl");
    let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let trials = events.filter_map(|event| event.get("trial_finished").cloned());
    let mut of_test = trials.filter(|trial| trial["test"]["harvard_1989"] == test);
    of_test.next().expect("a trial")["result"]["started_at"].as_u64().expect("picoseconds") / 1_000
}

/// Others have its processor from one moment on, for ever or for so long.
fn busy(scratch: &Scratch, from_ns: u64, lasts_ns: Option<u64>) {
    let lasts = lasts_ns.map(|ns| format!("lasts = \"{ns}ns\"\n")).unwrap_or_default();
    let text = format!("{ROUTER}[[cpu.busy]]\nfrom = \"{from_ns}ns\"\ntimes-slower = 4\n{lasts}");
    std::fs::write(scratch.path().join("busy.toml"), text).unwrap();
}

fn max_rate(results: &Value) -> Value {
    let outcomes = results["outcomes"].as_array().unwrap().iter();
    let figures = outcomes
        .filter(|outcome| outcome["test"]["harvard_1989"] == "max_rate")
        .flat_map(|outcome| outcome["figures"].as_array().unwrap());
    figures.clone().find(|figure| figure["name"] == "max rate").expect("a max rate").clone()
}

#[test]
fn what_has_passed_is_repeated_and_said_in_every_report() {
    let scratch = Scratch::new();
    let until = begin_ns(&scratch, "raw_rate");
    busy(&scratch, 0, Some(until));
    let ran = scratch.run(&format!("{RUN} --sim busy.toml --out busy --wide")).expect(0);
    let results = results(&scratch, "busy");
    let contradictions = results["consistency"]["contradictions"].as_array().unwrap();
    assert!(!contradictions.is_empty());
    assert!(contradictions.iter().all(|found| found["ending"] == "settled"), "{contradictions:#?}");
    let words = contradictions[0]["words"].as_str().unwrap();
    // One text, wherever it is read.
    assert!(ran.stdout.contains(&format!("CONTRADICTION: {words}")), "{}", ran.stdout);
    let page = read(&scratch, "busy/report.html").replace("&gt;", ">").replace("&lt;", "<");
    assert!(page.contains(words) && page.contains("Contradictions."), "{words}");
    assert!(read(&scratch, "busy/results.csv").contains(words));
    assert!(ran.stderr.contains("max rate 64 bytes is repeated: "), "{}", ran.stderr);
    let rate = max_rate(&results);
    assert!((4_950.0..=5_045.0).contains(&rate["value"].as_f64().unwrap()), "{rate}");
    assert!(rate["revised"].as_str().unwrap().starts_with("first 1,3"), "{rate}");
    // Rendered again, it is the same; where it has to fit a width, the first three stand in words, the others are counted.
    let again = scratch.run("report busy").expect(0).stdout;
    let told = again.lines().filter(|line| line.starts_with("CONTRADICTION: ")).count();
    assert_eq!(told, contradictions.len().min(3), "{again}");
    let more = contradictions.len() - told;
    assert_eq!(more > 0, again.contains("further CONTRADICTIONS: "), "{again}");
}

#[test]
fn what_stays_is_an_interval_and_no_criterion_is_met_by_one_end_of_it() {
    let scratch = Scratch::new();
    let from = begin_ns(&scratch, "raw_rate");
    busy(&scratch, from, None);
    let run = |more: &str| scratch.run(&format!("{RUN} --sim busy.toml {more}"));
    run("--out a --accept max-rate>=1000").expect(0);
    let failed = run("--out b --accept max-rate>=2000").expect(1);
    assert!(
        failed.stderr.contains("not accepted: max-rate>=2000: max rate is 12"),
        "{}",
        failed.stderr
    );
    let results = results(&scratch, "b");
    let rate = max_rate(&results);
    assert_eq!((&rate["relation"], &rate["basis"]), (&"between".into(), &"contradiction".into()));
    let ends = [&rate["low"], &rate["high"]].map(|end| end.as_f64().unwrap());
    assert!(ends[0] < 1_400.0 && ends[1] > 4_900.0, "{rate}");
    let endings = results["consistency"]["contradictions"].as_array().unwrap();
    assert!(endings.iter().any(|found| found["ending"] == "widened"), "{endings:#?}");
    // Between two runs alike nothing is different, and nobody says that they are the same.
    let compared = scratch.run("compare a b --json").expect(0);
    let compared: Value = serde_json::from_str(&compared.stdout).unwrap();
    let differences = compared["differences"].as_array().unwrap();
    let of_rate = differences.iter().find(|difference| difference["quantity"] == "max rate");
    assert_eq!(of_rate.expect("a max rate")["verdict"], "cannot_tell");
}
