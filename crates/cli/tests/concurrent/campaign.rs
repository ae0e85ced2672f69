//! A campaign that is killed goes on: nothing is lost, nothing is done twice.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "waits for processes")]

use crate::common::Scratch;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

const DESCRIPTION: &str = r#"
name = "killed"
tests = ["throughput", "latency"]
sizes = [64, 512, 1518]
repetitions = 2
retries = 0
[options]
profile = "quick"
duration = "50ms"
skip-selftest = true
[[device]]
name = "router"
options = { sim = "router" }
[[device]]
name = "bridge"
options = { sim = "bridge" }
"#;

fn attempts(campaign: &Path) -> Vec<std::path::PathBuf> {
    let jobs = std::fs::read_dir(campaign.join("jobs")).into_iter().flatten().flatten();
    let attempts =
        jobs.flat_map(|job| std::fs::read_dir(job.path()).into_iter().flatten().flatten());
    attempts.map(|attempt| attempt.path()).collect()
}

fn is_complete(attempt: &Path) -> bool {
    std::fs::read_to_string(attempt.join("run/events.jsonl"))
        .is_ok_and(|events| events.contains("\"run_finished\""))
}

#[test]
fn a_campaign_that_is_killed_again_and_again_ends_with_every_job_once() {
    let scratch = Scratch::new();
    scratch.file("c.toml", DESCRIPTION);
    let campaign = scratch.path().join("campaigns/killed");
    for kill in 1..=3 {
        let mut running = scratch.command("campaign run --local c.toml --resource cores=3");
        let mut running = running.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // In the middle of some jobs, when some more have ended.
        while attempts(&campaign).iter().filter(|it| is_complete(it)).count() < 4 * kill {
            assert!(running.try_wait().unwrap().is_none(), "it ended before it was killed");
            std::thread::sleep(Duration::from_millis(5));
        }
        running.kill().unwrap();
        running.wait().unwrap();
    }
    let ended = scratch.run("campaign run --local c.toml --resource cores=3 --json").expect(0);
    let summary: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(summary["jobs"], 24);
    let (before, done) =
        (summary["done_before"].as_u64().unwrap(), summary["done"].as_u64().unwrap());
    assert!(before >= 4 && before + done == 24, "{summary}");
    assert!(summary["failed"].as_object().unwrap().is_empty(), "{summary}");

    // Each job has exactly one run in the database, which is the one of its folder.
    let database = campaign.join("results.sqlite");
    let told = scratch.run(&format!("history show --db {} --json", database.display())).expect(0);
    let trends: serde_json::Value = serde_json::from_str(&told.stdout).unwrap();
    let points =
        trends.as_array().unwrap().iter().flat_map(|trend| trend["points"].as_array().unwrap());
    let folders: BTreeSet<&str> = points.map(|point| point["folder"].as_str().unwrap()).collect();
    let jobs: BTreeSet<&str> =
        folders.iter().map(|folder| folder.rsplit('/').nth(2).unwrap()).collect();
    assert_eq!((folders.len(), jobs.len()), (24, 24));
    let expected = scratch.run("campaign jobs c.toml").expect(0).stdout;
    let expected: BTreeSet<&str> = expected.lines().map(|line| &line[..16]).collect();
    assert_eq!(jobs, expected);
    // No run was made twice: besides the complete ones there are only those in which nothing was saved.
    let complete = attempts(&campaign).iter().filter(|it| is_complete(it)).count();
    assert_eq!(complete, 24);

    // Once more there is nothing to do, and to ingest the folders by hand adds nothing.
    let again = scratch.run("campaign run --local c.toml").expect(0).stdout;
    assert!(again.contains("0 done, 24 done before"), "{again}");
    let ingest = scratch.run(&format!(
        "history ingest --db {} {}",
        database.display(),
        folders.iter().next().unwrap()
    ));
    assert!(ingest.expect(0).stdout.contains("0 runs ingested, 1 were there already"));
    let no_run = scratch.run("history ingest --db none.sqlite .").expect(2);
    assert!(no_run.stderr.contains("1 folders were not ingested"), "{}", no_run.stderr);
    assert!(!scratch.path().join("none.sqlite").exists(), "made for nothing");

    // The runs are of today; 24 years ago there were none.
    let digest = format!("history digest --db {}", database.display());
    let told = scratch.run(&format!("{digest} --days 1 --json")).expect(0).stdout;
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert!(told["facts"][1].as_str().unwrap().starts_with("24 runs, "), "{told}");
    let series = trends.as_array().unwrap().iter().map(|trend| &trend["series"]);
    let words = ["device", "configuration", "test", "frame_size", "conditions"];
    let sizes: BTreeSet<String> =
        series.map(|series| words.map(|word| series[word].to_string()).concat()).collect();
    assert_eq!(told["standings"].as_array().unwrap().len(), sizes.len().min(25), "{told}");
    let before = scratch.run(&format!("{digest} --until 2002-11-25")).expect(0).stdout;
    assert!(
        before.contains("no run in this time") && before.contains("no figure changed"),
        "{before}"
    );
    scratch.run(&format!("{digest} --html digest.html")).expect(0);
    let mail = std::fs::read_to_string(scratch.path().join("digest.html")).unwrap();
    assert!(
        mail.contains("<td style=") && !mail.contains("<style") && !mail.contains("<svg"),
        "{mail}"
    );
    scratch.run(&format!("{digest} --days 0")).expect(2);
}

/// The child of a killed campaign has saved nothing yet and goes on: its job is not begun again beside it.
#[test]
fn a_job_that_had_just_begun_when_its_campaign_was_killed_is_done_once() {
    for _ in 0..3 {
        let scratch = Scratch::new();
        scratch.file("c.toml", &DESCRIPTION.replace("repetitions = 2", "repetitions = 1"));
        let campaign = scratch.path().join("campaigns/killed");
        let mut running = scratch.command("campaign run --local c.toml --resource cores=3");
        let mut running = running.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while !attempts(&campaign).iter().any(|it| it.join("log").exists()) {
            std::thread::sleep(Duration::from_micros(100));
        }
        running.kill().unwrap();
        running.wait().unwrap();
        scratch.run("campaign run --local c.toml --resource cores=3").expect(0);
        // Whatever went on has ended by now.
        std::thread::sleep(Duration::from_secs(1));
        let complete = attempts(&campaign).iter().filter(|it| is_complete(it)).count();
        assert_eq!(complete, 12);
    }
}

#[test]
fn two_programs_do_not_run_one_campaign() {
    let scratch = Scratch::new();
    scratch.file("c.toml", &DESCRIPTION.replace("repetitions = 2", "repetitions = 40"));
    let mut first = scratch
        .command("campaign run --local c.toml")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while attempts(&scratch.path().join("campaigns/killed")).is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let refused = scratch.run("campaign run --local c.toml").expect(2).stderr;
    assert!(refused.contains("another program is running this campaign"), "{refused}");
    // Ctrl-C: what runs is kept, and the rest is told to be left.
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(first.id() as i32),
        nix::sys::signal::Signal::SIGINT,
    )
    .unwrap();
    assert_eq!(first.wait().unwrap().code(), Some(2));
    let left = scratch.run("history show --db campaigns/killed/results.sqlite");
    assert!(matches!(left.code, Some(0 | 2)), "{}", left.stderr);
}
