//! Where the frames of a run on a real router went, and what a frame cost it. Root only.

use crate::common::{Scratch, fps, is_root, record, results};
use serde_json::Value;

fn numbers(value: &Value, names: [&str; 2]) -> [f64; 2] {
    names.map(|name| value[name].as_f64().unwrap_or_else(|| panic!("{name} in {value}")))
}

/// A queue of 20 frames behind 2 Mbit/s, 2,976 frames/s of 64 bytes: the router's processors are idle, and
/// the queue loses whatever is lost.
#[test]
fn a_router_behind_a_slow_link_has_cost_and_balance() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let run = "run --device linux-router --profile quick --test throughput --sizes 64 --skip-selftest --seed 1 \
               --line-rate 10M --tbf-rate 2M --tbf-queue 20 --out a";
    let ran = scratch.run(run);
    ran.expect_complete();
    if ran.code == Some(3) {
        return;
    }
    let results = results(&scratch, "a");
    let cost = &record(&results, "throughput")["cost"];
    let [low_ns, high_ns] = numbers(cost, ["low_ns", "high_ns"]);
    assert!(100.0 < low_ns && low_ns <= high_ns, "{cost}");
    let [low, high] = ["capacity_low", "capacity_high"].map(|of| fps(&cost[of]).expect("a rate"));
    assert!(low <= high && high <= 1e9 / low_ns * 1.001, "one direction: {cost}");
    assert!(ran.stdout.contains("Cost of a frame"), "{}", ran.stdout);
    let csv = std::fs::read_to_string(scratch.path().join("a/results.csv")).expect("results.csv");
    assert!(csv.contains("capacity implied by the cost of a frame"), "{csv}");
    let page = std::fs::read_to_string(scratch.path().join("a/report.html")).expect("the page");
    assert!(page.contains("Where did the frames go?") && page.contains("Cost of a frame"));
    let mut lossy = 0;
    for trial in results["trials"].as_array().expect("trials") {
        if trial["verdict"] == "invalid" {
            continue;
        }
        let count = |name: &str| trial[name].as_u64().unwrap_or_else(|| panic!("{name}: {trial}"));
        let lost = count("lost_frames");
        assert_eq!(count("named_drops"), lost, "each loss has a place: {trial}");
        assert_eq!((count("unknown_frames"), count("not_yet_out_frames")), (0, 0), "{trial}");
        lossy += u32::from(lost > 0);
    }
    assert!(lossy > 0, "no load was too high");
    assert!(page.contains("tbf of dut1"), "the place of the loss");
}
