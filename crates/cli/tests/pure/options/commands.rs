//! Every option, with `selftest` and `versus`: it alters what they measure, or it is refused.

use super::samples::{self, Sample};
use super::stage::{self, Device};
use crate::common::Scratch;
use method::registry::SuiteName;
use serde_json::Value;

/// Eight blocks of short trials, of frames with room for extension headers.
const SHORT: [&str; 4] = ["--time", "5s", "--sizes", "128"];

/// Samples that two ports and frames of 64 bytes do not show: used, and tested elsewhere.
const NOT_SHOWN: [(&str, &[&str]); 2] = [
    // A clean tester never takes these to their limits; waits and the bytes of a payload are not printed.
    (
        "selftest",
        &[
            "skip-selftest",
            "search.lowest_load_percent",
            "search.max_trials_per_load",
            "self_test.resolution_percent",
            "trial.invalid_retries",
            "trial.verify_checksums",
            "trial.limits.shortfall",
            "trial.limits.unwanted",
            "trial.limits.late_after_us",
            "trial.limits.late_intervals",
            "trial.limits.credit_us",
            "trial.limits.credit_frames",
            "trial.learning_wait_s",
            "trial.settle_s",
            "seed",
            "pattern",
            "ipv6-prefixes",
        ],
    ),
    ("versus", &["ipv6-prefixes", "routing-updates"]),
];

/// What was measured, or what was said.
fn measured(scratch: &Scratch, words: &[&str]) -> Result<Value, String> {
    let output = scratch.command("").args(words).output().expect("netanvil runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.code() == Some(2) {
        return Err(said);
    }
    let mut value: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{words:?}: {error}: {said}"));
    // The configuration shows an option whether it was used or not.
    value.as_object_mut().expect("an object").remove("configuration");
    without_times(&mut value);
    Ok(value)
}

/// When something happened differs from run to run.
fn without_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            ["at", "elapsed", "date", "command", "run_key"]
                .iter()
                .for_each(|name| drop(fields.remove(*name)));
            fields.values_mut().for_each(without_times);
        }
        Value::Array(values) => values.iter_mut().for_each(without_times),
        _ => {}
    }
}

/// Whether it was said that an option or its value is not for the command, and what to write.
fn is_refusal(said: &str) -> bool {
    ["no effect", "unexpected argument", "write --destinations one or random"]
        .iter()
        .any(|words| said.contains(words))
}

/// What is wrong with an option of a command.
fn wrong_with(scratch: &Scratch, command: &[&str], sample: &Sample) -> Option<String> {
    let with = |more: &[&'static str]| {
        let words: Vec<&str> = command.iter().chain(more).copied().collect();
        measured(scratch, &words)
    };
    let given: Vec<&'static str> = sample.with.iter().chain(sample.given).copied().collect();
    let name = format!("{} {}", command[0], sample.name);
    match (with(&given), with(sample.with)) {
        (Err(said), _) if is_refusal(&said) => None,
        (Err(said), _) => Some(format!("{name}: {said}")),
        (Ok(_), Err(said)) => Some(format!("{name}: without it: {said}")),
        (Ok(one), Ok(other)) => (one == other).then(|| format!("{name} changes nothing")),
    }
}

fn every_option_of(command: &[&str]) {
    let scratch = Scratch::new();
    stage::devices(&scratch);
    let (_, not_shown) = NOT_SHOWN.iter().find(|(name, _)| *name == command[0]).unwrap();
    let again = || measured(&scratch, command).unwrap();
    assert_eq!(again(), again(), "two equal runs differ");
    let all = [samples::FLAGS, samples::SPECIAL, samples::OF_DEVICES, samples::SETTINGS];
    let all = all.into_iter().flatten().filter(|sample| {
        !sample.only.contains(&SuiteName::Rfc2889) && !not_shown.contains(&sample.name)
    });
    let wrong: Vec<String> = all.filter_map(|it| wrong_with(&scratch, command, it)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn selftest_uses_or_refuses_every_option() {
    let device = Device::Usual.file(SuiteName::Rfc2544);
    let words = ["selftest", "--sim", &device, "--test", "throughput", "--json", "--quiet"];
    every_option_of(&[&words[..], &["--set", "self_test.trial_duration_s=0.3"]].concat());
}

#[test]
fn versus_uses_or_refuses_every_option() {
    let device = Device::Usual.file(SuiteName::Rfc2544);
    let sides = ["versus", "--a-sim", &device, "--b-sim", &device, "--json", "--quiet"];
    every_option_of(&[&sides[..], &SHORT].concat());
}
