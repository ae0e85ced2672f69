//! The reference implementation, in a process of its own.

use super::scenario::{Bench, Bounds, Counts, Found, Outcome, RANGE, Scenario, goal};
use method::search::Range;
use method::search::mlrsearch::SearchGoal;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use units::Duration;

/// Where the Makefile installs it.
const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/mlr-oracle/bin/python");
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mlr_oracle/oracle.py");

pub struct Reference {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Reference {
    /// `None`, said loudly, where it is not installed.
    pub fn start() -> Option<Reference> {
        if !Path::new(PYTHON).exists() {
            eprintln!(
                "\n*** SKIPPED: the reference implementation of MLRsearch is not installed; run \
                 `make mlr-oracle` ***\n"
            );
            return None;
        }
        let mut command = Command::new(PYTHON);
        command.arg(SCRIPT).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("the reference's Python starts");
        let requests = process.stdin.take().expect("is piped");
        let answers = BufReader::new(process.stdout.take().expect("is piped"));
        Some(Reference { process, requests, answers })
    }

    /// What it comes to on the device of a scenario, with the fewest trials of its settings: one
    /// or two coarser targets before each goal, or none where a goal knows one length only.
    pub fn outcome(&mut self, scenario: &Scenario) -> Outcome {
        let is_single = |goal: &SearchGoal| goal.initial_duration == goal.duration_sum;
        let settings = if scenario.goals.iter().all(is_single) { vec![0] } else { vec![1, 2] };
        let outcomes = settings.into_iter().map(|preceding_targets| {
            scenario.outcome(|seed| self.search(scenario, preceding_targets, seed))
        });
        outcomes.min_by_key(|outcome| outcome.trials).expect("at least one setting")
    }

    fn search(&mut self, scenario: &Scenario, preceding_targets: u32, seed: u64) -> Found {
        let goals: Vec<Value> = scenario.goals.iter().map(goal).collect();
        let mut bench = Bench::new(scenario.device, seed);
        let trial = |load, duration| bench.trial(load, duration);
        let bounds = self.bounds(RANGE, &goals, preceding_targets, trial);
        bench.found(bounds)
    }

    /// The bounds for each goal, on a device that answers so to a load for so long.
    pub fn bounds(
        &mut self,
        range: Range,
        goals: &[Value],
        preceding_targets: u32,
        mut trial: impl FnMut(f64, Duration) -> Counts,
    ) -> Vec<Bounds> {
        self.ask(json!({"search": {
            "min": range.min,
            "max": range.max,
            "goals": goals,
            "preceding_targets": preceding_targets,
        }}));
        loop {
            let mut answer = self.answer();
            if let Some(asked) = answer.get("trial") {
                let duration = Duration::from_secs_f64(asked["duration"].as_f64().unwrap());
                let counts = trial(asked["load"].as_f64().unwrap(), duration);
                self.ask(json!(counts));
                continue;
            }
            return serde_json::from_value(answer["results"].take()).unwrap();
        }
    }

    /// The class of a load with these trials (duration in seconds, loss ratio), and the loss
    /// ratio of its conditional throughput.
    pub fn classify(&mut self, of: &SearchGoal, trials: &[(f64, f64)]) -> (Option<String>, f64) {
        self.ask(json!({"classify": {"goal": goal(of), "trials": trials}}));
        let answer = self.answer();
        let class = answer["class"].as_str().map(str::to_string);
        (class, answer["loss_ratio"].as_f64().unwrap())
    }

    fn ask(&mut self, request: Value) {
        writeln!(self.requests, "{request}").expect("the reference reads");
    }

    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("the reference answers");
        serde_json::from_str(&line).expect("the reference answers in JSON")
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
