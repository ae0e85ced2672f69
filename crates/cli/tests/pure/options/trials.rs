//! The trials of a run, and whether those of another run differ.

use serde_json::Value;
use std::path::Path;

/// A trial as the events tell it.
#[derive(Clone, PartialEq, Debug)]
pub struct Trial {
    /// A number of everything that was sent, and of the label.
    identity: Value,
    label: Value,
    /// The rest, what came of it too.
    record: Value,
}

/// The trials of a run folder; those of the self-test only where they are asked for.
pub fn of_folder(folder: &Path, with_self_test: bool) -> Vec<Trial> {
    let text = std::fs::read_to_string(folder.join("events.jsonl")).unwrap_or_default();
    let mut trials = vec![];
    let mut label = Value::Null;
    for line in text.lines() {
        let mut event: Value = serde_json::from_str(line).expect("an event a line");
        if let Some(started) = event.get("trial_started") {
            label = started["label"].clone();
        }
        let Some(record) = event.get_mut("trial_finished") else { continue };
        if record["test"] == "self_test" && !with_self_test {
            continue;
        }
        let identity = record["identity"].take();
        // How many there were before is not of this trial; nor is when it began, on account of them.
        record["number"].take();
        trials.push(Trial { identity, label: label.take(), record: record.take() });
    }
    trials
}

/// Whether other trials were made: more or fewer, with other frames or loads, at other times, or with
/// another outcome. Other words about the same trials do not count.
pub fn differ(one: &[Trial], other: &[Trial]) -> bool {
    let differs = |(one, other): (&Trial, &Trial)| {
        one.record != other.record || (one.label == other.label && one.identity != other.identity)
    };
    one.len() != other.len() || one.iter().zip(other).any(differs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn trial(identity: u64, label: &str, received: u64) -> Trial {
        let record = json!({ "received": received });
        Trial { identity: json!(identity), label: json!(label), record }
    }

    #[test]
    fn words_alone_are_no_difference() {
        let one = [trial(1, "a", 5)];
        assert!(!differ(&one, &one) && !differ(&one, &[trial(2, "b", 5)]));
        assert!(differ(&one, &[trial(2, "a", 5)]) && differ(&one, &[trial(2, "b", 6)]));
        assert!(differ(&one, &[]));
    }
}
