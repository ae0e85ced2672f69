//! What people do on an ordinary day, with the real program: every job is one test, which says what a user
//! reads at its end. Root only.

mod built;
mod files;
mod own;

use crate::common::lab::Lab;
use crate::common::{Ran, Scratch, undecided};
use serde_json::Value;
use std::process::Command;

/// Accounts are exact whatever share of the load a shared machine reaches.
const WHATEVER_SHARE: &str = "--set trial.limits.shortfall=0.9";

/// A job of `netanvil traffic`: its summary, whose accounts are closed.
#[track_caller]
fn traffic(mut command: Command) -> Value {
    let ran = Ran::from(command.output().expect("netanvil starts")).expect(0);
    let lines: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let summary = lines.last().expect("a summary").clone();
    let of = |key: &str| count(&summary, key);
    assert_eq!(of("sent_frames"), of("received_frames") + of("lost_frames"), "{summary}");
    for key in ["sent_frames", "received_frames", "lost_frames"] {
        let seconds = lines.iter().filter(|line| line["event"] == "second");
        let told: i64 = seconds.map(|line| line[key].as_i64().expect(key)).sum();
        assert_eq!(told, of(key), "{key}, second by second: {summary}");
    }
    summary
}

/// The same on a device that is built here.
#[track_caller]
fn traffic_through(scratch: &Scratch, arguments: &str) -> Value {
    traffic(scratch.command(&format!("traffic {arguments} {WHATEVER_SHARE} --json")))
}

/// The same between two interfaces.
#[track_caller]
fn traffic_between(lab: &Lab, scratch: &Scratch, arguments: &str) -> Value {
    traffic(lab.command(scratch, &format!("traffic {arguments} {WHATEVER_SHARE} --json")))
}

fn count(summary: &Value, key: &str) -> i64 {
    summary[key].as_i64().expect(key)
}

/// All frames that were asked for were sent, and none was lost.
#[track_caller]
fn expect_all(summary: &Value, frames: i64) {
    assert_eq!(count(summary, "lost_frames"), 0, "{summary}");
    assert_eq!(summary["corrupted_frames"], 0, "{summary}");
    assert_eq!(count(summary, "sent_frames"), frames, "{summary}");
}

/// The answer of a run stands in the first lines, and says what the medium carries.
#[track_caller]
fn expect_answer(ran: &Ran, answer: &str) {
    ran.expect_complete();
    if ran.code == Some(3) {
        return;
    }
    // Lines may be broken between words.
    let first = ran.stdout.lines().take(12).collect::<Vec<_>>().join("\n");
    let first = [first.replace("\n  ", " ")];
    let was_held_up = ["not decided", "tester-limited", "no result"];
    let was_held_up = was_held_up.iter().any(|words| ran.stdout.contains(words));
    if !first.iter().any(|line| line.contains(answer)) && was_held_up {
        undecided::tell("the tester was held up");
        return;
    }
    assert!(first.iter().any(|line| line.contains(answer)), "{}", ran.stdout);
}
