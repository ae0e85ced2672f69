//! What a stream tells of a record, and how a run that was started here begins and ends.

use super::client::{Events, Told};
use super::server::{Server, wait_for};
use crate::common::Scratch;
use serde_json::{Value, json};

/// A run of a second.
const QUICK: &str =
    "run --sim router --profile quick --test throughput,latency --sizes 64,1518 --line-rate 10M";
/// One that goes on until it is stopped.
const LONG: &str = "run --sim router --profile rfc --duration 50ms --line-rate 10M";

fn with_ids(told: &[Told]) -> Vec<Told> {
    told.iter().filter(|event| event.id.is_some()).cloned().collect()
}

#[test]
fn a_run_is_told_from_its_beginning_to_its_end_as_its_events_have_it() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch, "");
    let id = server.run(QUICK);
    let told = Events::of(&server.address, &id, None).until("run_finished");
    assert_eq!(server.end_of(&id), "complete");
    let log = std::fs::read_to_string(scratch.path().join("runs").join(&id).join("events.jsonl"))
        .unwrap();
    let told = with_ids(&told);
    assert_eq!(told.len(), log.lines().count(), "an event a line");
    let mut at = 0;
    for (line, event) in log.split_inclusive('\n').zip(&told) {
        at += line.len() as u64;
        assert_eq!(event.id, Some(at));
        let saved: Value = serde_json::from_str(line).unwrap();
        if let Some(trial) = saved.get("trial_finished") {
            assert_eq!(event.data["number"], trial["number"]);
            assert_eq!(event.data["verdict"], trial["verdict"]);
        }
    }
    // The saved results say the same.
    let results = crate::common::results(&scratch, &format!("runs/{id}"));
    let outcomes: Vec<&Value> =
        told.iter().map(|event| &event.data).filter(|data| data["kind"] == "outcome").collect();
    assert_eq!(
        outcomes.len(),
        results["outcomes"].as_array().unwrap().iter().filter(|o| o["test"] != "self_test").count()
    );
    let report = server.get(&format!("/runs/{id}/report.html"));
    assert!(report.status == 200 && report.text().contains("Where did the frames go?"));
    let trial = told.iter().find(|event| event.data["kind"] == "trial").unwrap();
    let balance = server.get(&format!("/api/runs/{id}/trials/{}/balance", trial.data["number"]));
    assert!(
        balance.status == 200 && balance.text().contains("in time, where they should be"),
        "{}",
        balance.text()
    );
}

#[test]
fn a_client_that_comes_back_again_and_again_misses_nothing_and_gets_nothing_twice() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch, "");
    let id = server.run(QUICK);
    let (mut whole, mut last): (Vec<Told>, Option<u64>) = (vec![], None);
    while !whole.iter().any(|event| event.data["kind"] == "run_finished") {
        // Hangs up after some events, in the middle of the stream.
        let mut stream = Events::of(&server.address, &id, last);
        let mut some: Vec<Told> = vec![];
        while some.len() < 7 && some.last().is_none_or(|event| event.data["kind"] != "run_finished")
        {
            let Some(event) = stream.next() else { break };
            some.push(event);
        }
        last = some.iter().filter_map(|event| event.id).next_back().or(last);
        whole.extend(with_ids(&some));
    }
    let at_once = with_ids(&Events::of(&server.address, &id, None).until("run_finished"));
    assert!(at_once.len() > 20, "{}", at_once.len());
    assert_eq!(whole, at_once);
}

#[test]
fn a_run_that_is_stopped_keeps_its_trials_and_is_resumed() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch, "");
    let id = server.run(LONG);
    let mut stream = Events::of(&server.address, &id, None);
    stream.until("trial");
    let second = server.post("/api/runs", &json!({ "command": QUICK }));
    assert_eq!(second.status, 409, "{}", second.text());
    assert!(
        second.json()["error"].as_str().unwrap().contains(&id) && second.json()["help"].is_string()
    );
    let stopped = server.post(&format!("/api/runs/{id}/stop"), &json!({}));
    assert_eq!(stopped.status, 200, "{}", stopped.text());
    assert_eq!(server.end_of(&id), "stopped");
    assert_eq!(server.state()["job"]["exit_code"], 2, "as with Ctrl-C");
    let before = with_ids(&Events::of(&server.address, &id, None).until("run_finished"));
    assert_eq!(server.post(&format!("/api/runs/{id}/stop"), &json!({})).status, 409);
    let resumed = server.post(&format!("/api/runs/{id}/resume"), &json!({}));
    assert!([201, 202].contains(&resumed.status), "{}", resumed.text());
    let mut again = Events::of(&server.address, &id, before.last().unwrap().id);
    let since = with_ids(&again.until("trial"));
    assert_eq!(since[0].data["kind"], "run_started", "the run goes on in the same record");
    assert_eq!(server.state_of(&id).as_deref(), Some("running"));
    server.post(&format!("/api/runs/{id}/stop"), &json!({}));
    assert_eq!(server.end_of(&id), "stopped");
}

#[test]
fn traffic_takes_keys_and_its_stop() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch, "");
    let id = server.run("traffic --sim router --rate 1kpps --duration forever");
    let keys = |keys: &str| server.post(&format!("/api/runs/{id}/keys"), &json!({ "keys": keys }));
    let mut stream = Events::of(&server.address, &id, None);
    let seconds = stream.until("second");
    assert_eq!(seconds.last().unwrap().data["sent_frames"], 1_000);
    assert_eq!(keys("*").status, 200);
    let load = stream.until("load");
    assert_eq!(load.last().unwrap().data["rate_per_port_fps"], 2_000.0);
    keys("p");
    stream.until("paused");
    keys("p");
    stream.until("second");
    for bad in ["q", "x", "\u{1b}"] {
        let refused = keys(bad);
        assert!(
            refused.status == 400 && refused.json()["help"].as_str().unwrap().contains("keys"),
            "{bad:?}"
        );
    }
    server.post(&format!("/api/runs/{id}/stop"), &json!({}));
    let summary = stream.until("summary").pop().unwrap().data;
    assert_eq!(summary["sent_frames"], summary["received_frames"]);
    assert_eq!(server.end_of(&id), "complete");
}

#[test]
fn a_command_that_is_wrong_is_answered_in_the_words_of_the_program() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch, "");
    for (command, word) in [
        ("run --device linux-ruoter", "linux-router"),
        ("run", "--device"),
        ("traffic --sim router", "--rate"),
        ("run --sim no-such-device", "no-such-device"),
        ("run --sim router --out /tmp/elsewhere", "--out"),
        ("run --sim 'router", "quotation"),
        ("clean --force", "clean"),
    ] {
        let refused = server.post("/api/runs", &json!({ "command": command }));
        assert_eq!(refused.status, 400, "{command}: {}", refused.text());
        assert!(refused.text().contains(word), "{command}: {}", refused.text());
    }
    assert_eq!(server.state()["runs"], json!([]), "nothing is left of them");
}

#[test]
fn runs_of_others_are_listed_followed_and_not_stopped() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch, "");
    let other = scratch.start(LONG, "runs/other", "trial_finished");
    assert_eq!(wait_for("the run of others", || server.state_of("other")), "running");
    Events::of(&server.address, "other", None).until("trial");
    let refused = server.post("/api/runs/other/stop", &json!({}));
    assert!(
        refused.status == 409 && refused.text().contains("was not started here"),
        "{}",
        refused.text()
    );
    assert!(server.get("/metrics").text().contains("netanvil_running{run=\"other\""));
    other.signal("INT");
    other.wait().expect(2);
    assert_eq!(server.state_of("other").as_deref(), Some("stopped"));
}

#[test]
fn two_saved_runs_are_compared() {
    let scratch = Scratch::new();
    for name in ["runs/a", "runs/b"] {
        scratch.run(&format!("{QUICK} --out {name}")).expect(0);
    }
    let server = Server::start(&scratch, "");
    let page = server.get("/compare?before=a&after=b");
    assert!(page.status == 200 && page.text().contains("same"), "{}", page.text());
    assert_eq!(server.get("/compare?before=a&after=none").status, 404);
    assert_eq!(server.get("/compare?before=a").status, 400);
}

#[test]
fn a_server_that_ends_ends_its_run_and_its_streams() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch, "");
    let id = server.run(LONG);
    let mut stream = Events::of(&server.address, &id, None);
    stream.until("trial");
    assert_eq!(server.stop(), Some(0));
    while stream.next().is_some() {}
    let log = std::fs::read_to_string(scratch.path().join("runs").join(&id).join("events.jsonl"))
        .unwrap();
    assert!(log.lines().last().unwrap().contains("run_finished"), "the run ended in order");
}

/// The child holds nothing but a pipe to its server.
#[test]
fn a_run_ends_with_a_server_that_is_killed() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch, "");
    let id = server.run(LONG);
    Events::of(&server.address, &id, None).until("trial");
    server.kill();
    let log = scratch.path().join("runs").join(&id).join("events.jsonl");
    wait_for("the end of the run", || {
        let log = std::fs::read_to_string(&log).unwrap();
        log.lines().last().filter(|line| line.contains("run_finished")).map(|_| ())
    });
}
