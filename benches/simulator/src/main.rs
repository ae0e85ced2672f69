//! `make bench`, its part for the simulator: frames a second in virtual time, beside ns-3 with the
//! same scenario on the same machine in the same run.
//!
//! Both sides run on one thread and are timed by the processor time that they took, so that other
//! work on the machine disturbs little. They take turns, round after round; medians are printed.
//! Exit code 0: the target is met; 1: it was missed; 2: something could not be measured.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "measures real time")]

mod ns3;
mod ours;
mod report;

use report::{Case, Results};
use std::path::Path;
use std::process::ExitCode;

/// Frames of a run on our side, and on the other, which takes longer.
const OUR_FRAMES: u64 = 1_000_000;
const NS3_FRAMES: u64 = 200_000;
/// How often everything is measured.
const ROUNDS: usize = 7;
/// Where the results go.
const MARKDOWN: &str = "benches/SIMULATOR.md";

/// What stands between the two links.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scenario {
    /// A node that stores and forwards, whatever comes.
    Node,
    /// A router of IPv4 that knows both its neighbours.
    Router,
}

impl Scenario {
    const ALL: [Scenario; 2] = [Scenario::Node, Scenario::Router];

    fn name(self) -> &'static str {
        match self {
            Scenario::Node => "node",
            Scenario::Router => "router",
        }
    }
}

fn main() -> ExitCode {
    let results = match measure() {
        Ok(results) => results,
        Err(error) => {
            eprintln!("netanvil-simulator-bench: {error}");
            return ExitCode::from(2);
        }
    };
    let markdown = report::markdown(&results);
    println!("{markdown}");
    if let Err(error) = std::fs::write(Path::new(MARKDOWN), &markdown) {
        eprintln!("netanvil-simulator-bench: write {MARKDOWN}: {error}");
        return ExitCode::from(2);
    }
    match (results.failures.is_empty(), report::target_is_met(&results)) {
        (false, _) => ExitCode::from(2),
        (true, false) => ExitCode::from(1),
        (true, true) => ExitCode::SUCCESS,
    }
}

fn measure() -> Result<Results, String> {
    let mut results = Results::new();
    let mut failures = vec![];
    let rival = ns3::compile().map_err(|error| failures.push(error)).ok();
    for scenario in Scenario::ALL {
        let mut case = Case { scenario, ours_fps: vec![], theirs_fps: vec![] };
        let mut tester = ours::Bed::new(scenario);
        for round in 1..=ROUNDS {
            eprintln!("round {round} of {ROUNDS}: {}", scenario.name());
            case.ours_fps.push(tester.run(OUR_FRAMES)?);
            if let Some(rival) = &rival {
                case.theirs_fps.push(rival.run(scenario, NS3_FRAMES)?);
            }
        }
        results.cases.push(case);
    }
    results.failures = failures;
    Ok(results)
}
