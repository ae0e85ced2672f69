//! `--page`: a command that shows itself while it goes on.

use super::client::{get, post};
use super::server::wait_for;
use crate::common::Scratch;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

/// A command with a page on a free port; what else it prints is read to the end.
fn shown(scratch: &Scratch, command: &str) -> (Child, String) {
    let mut child = scratch
        .command(command)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stderr = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    stderr.read_line(&mut line).expect("a line");
    let url = line.trim().strip_prefix("page: http://").unwrap_or_else(|| panic!("{line}"));
    let address = url.trim_end_matches('/').to_owned();
    std::thread::spawn(move || stderr.lines().for_each(|line| eprintln!("{line:?}")));
    (child, address)
}

fn state(address: &str) -> Value {
    get(address, "/api/state", &[]).json()
}

#[test]
fn a_run_with_a_page_is_followed_and_ends_as_without() {
    let scratch = Scratch::new();
    let run = "run --page=127.0.0.1:0 --sim router --profile quick --test throughput --sizes 64 --out runs/mine";
    let (child, address) = shown(&scratch, run);
    assert!(get(&address, "/", &[]).text().contains("<html"));
    let begun = wait_for("the run in the list", || {
        let state = state(&address);
        state["runs"].as_array().and_then(|runs| runs.first().cloned())
    });
    assert_eq!(begun["id"], "mine");
    let told = wait_for("its end in the record", || {
        let events = get(&address, "/runs/mine/events.jsonl", &[]).text();
        events.contains("run_finished").then_some(events)
    });
    assert!(told.contains("trial_finished"));
    let ended = child.wait_with_output().expect("its end");
    assert_eq!(ended.status.code(), Some(0));
    let printed = String::from_utf8_lossy(&ended.stdout);
    assert!(printed.contains("Throughput") || printed.contains("throughput"), "{printed}");
    assert!(scratch.path().join("runs/mine/report.html").exists());
    assert!(get_refused(&address), "the page ends with the run");
}

fn get_refused(address: &str) -> bool {
    std::net::TcpStream::connect(address).is_err()
}

#[test]
fn traffic_with_a_page_is_paused_and_stopped_there() {
    let scratch = Scratch::new();
    let command = "traffic --page=127.0.0.1:0 --sim router --rate 1kpps --duration forever";
    let (mut child, address) = shown(&scratch, command);
    let id = wait_for("the traffic in the list", || {
        state(&address)["job"]["id"].as_str().map(str::to_owned)
    });
    let kind = [("Content-Type", "application/json")];
    let ask = |what: &str, body: Value| {
        post(&address, &format!("/api/runs/{id}/{what}"), &kind, body.to_string().as_bytes())
    };
    let seconds =
        || get(&address, &format!("/runs/{id}/traffic.jsonl"), &[]).text().lines().count();
    wait_for("its first second", || (seconds() > 1).then_some(()));
    assert_eq!(ask("keys", json!({"keys": "p"})).status, 200);
    assert_eq!(ask("stop", json!({})).status, 200);
    // 0, or 3 where a busy machine kept the tester from its load.
    let code = child.wait().expect("its end").code();
    assert!([Some(0), Some(3)].contains(&code), "{code:?}");
    let record =
        std::fs::read_to_string(scratch.path().join("runs").join(&id).join("traffic.jsonl"))
            .unwrap();
    assert!(record.lines().last().unwrap_or_default().contains("summary"), "{record}");
}

#[test]
fn a_page_that_cannot_be_shown_is_told_before_anything_is_built() {
    let scratch = Scratch::new();
    for (option, expected) in [
        ("--page=192.0.2.1:2544", "other hosts see the page of netanvil serve"),
        ("--page=nowhere", "--page"),
        ("--page=127.0.0.1:0 --stdin-control", "cannot be used with"),
    ] {
        let ended = scratch.command(&format!("run {option} --sim router")).output().unwrap();
        assert_eq!(ended.status.code(), Some(2), "{option}");
        let told = String::from_utf8_lossy(&ended.stderr);
        assert!(told.contains(expected), "{option}: {told}");
    }
    assert!(!scratch.path().join("runs").exists());
}
