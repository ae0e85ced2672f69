//! Whole runs on simulated devices: what is saved, printed, compared, resumed and accepted.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "times a real program")]

use crate::common::{Scratch, figure, fps, outcomes, outcomes_of, record};
use serde_json::{Value, json};

/// A run of a second or two.
const SHORT: &str = "run --sim router --profile quick --sizes 64,1518 --test throughput";

fn results(scratch: &Scratch, folder: &str) -> Value {
    let text = std::fs::read_to_string(scratch.path().join(folder).join("results.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn events(scratch: &Scratch, folder: &str, kind: &str) -> usize {
    let text = std::fs::read_to_string(scratch.path().join(folder).join("events.jsonl")).unwrap();
    text.lines().filter(|line| line.starts_with(&format!("{{\"{kind}\""))).count()
}

#[test]
fn a_known_capacity_is_found_within_the_resolution() {
    let scratch = Scratch::new();
    let ran = scratch.run(&format!("{SHORT} --out a")).expect(0);
    for name in [
        "config.toml",
        "events.jsonl",
        "results.json",
        "results.csv",
        "trials.csv",
        "streams.csv",
        "report.html",
    ] {
        assert!(scratch.path().join("a").join(name).exists(), "{name}");
    }
    assert!(ran.stdout.contains("NOT CONFORMANT"), "{}", ran.stdout);
    let results = results(&scratch, "a");
    let found = figure(&results, "throughput");
    let rate = found["value"].as_f64().unwrap();
    // The device forwards 100,000 frames a second and stores 100: within 0.4 s it can take
    // 100,250 a second without loss, not more.
    assert!((97_000.0..=100_250.0).contains(&rate), "{found}");
    let largest = outcomes(&results, "throughput")[1];
    assert_eq!(largest["figures"][0]["value"].as_f64().unwrap().floor(), 81_274.0);
}

/// What a reader needs to know of the device and of what was sent (RFC 2544 sections 7 and 8): its MTU, and the
/// frames' addresses, ports and TTL.
#[test]
fn the_report_has_the_devices_mtu_and_the_frame_format() {
    let scratch = Scratch::new();
    scratch.run(&format!("{SHORT} --out a")).expect(0);
    let text = std::fs::read_to_string(scratch.path().join("a/events.jsonl")).unwrap();
    let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let mtu = first["run_started"]["environment"]["device MTU"].as_str().unwrap();
    assert!(mtu.contains("1500 bytes"), "{mtu}");
    let page = std::fs::read_to_string(scratch.path().join("a/report.html")).unwrap();
    assert!(page.contains("device MTU"), "in the report");
    assert!(page.contains("frame format: ") && page.contains("TTL 10"), "in the report");
}

/// The same capacity, whoever chooses the loads; and what it took is told.
#[test]
fn every_search_finds_the_capacity_and_tells_its_cost() {
    let scratch = Scratch::new();
    for policy in ["adaptive", "bisect", "step", "tst009", "mlrsearch"] {
        let arguments = "run --sim router --profile quick --sizes 64 --test throughput";
        let ran =
            scratch.run(&format!("{arguments} --search {policy} --wide --out {policy}")).expect(0);
        let results = results(&scratch, policy);
        let found = &record(&results, "throughput")["throughput"];
        assert_eq!(found["policy"], policy);
        let number = |name: &str| found[name].as_f64().unwrap();
        assert!((97_000.0..=100_250.0).contains(&fps(&found["rate"]).unwrap()), "{found}");
        assert!(fps(&found["upper"]).unwrap() > 100_000.0, "{found}");
        // Trials of 0.2 s while searching and of 0.4 s at last, 10 ms before each and at most 22 ms after.
        let per_trial_s = number("test_time") / 1e12 / number("trials");
        assert!((0.22..0.435).contains(&per_trial_s), "{found}");
        let is_mlrsearch = policy == "mlrsearch";
        assert_eq!(ran.stdout.contains("relevant upper bound fps"), is_mlrsearch, "{policy}");
        assert_eq!(found["conditional_throughput"].is_object(), is_mlrsearch, "{policy}");
        let page = std::fs::read_to_string(scratch.path().join(policy).join("report.html"));
        assert!(page.unwrap().contains("test time s"));
    }
}

#[test]
fn json_is_what_is_saved_and_progress_is_apart() {
    let scratch = Scratch::new();
    let ran = scratch.run(&format!("{SHORT} --out a --json")).expect(0);
    let printed: Value = serde_json::from_str(&ran.stdout).expect("JSON alone on standard output");
    assert_eq!(printed, results(&scratch, "a"));
    assert!(ran.stderr.contains("trial 1:"), "{}", ran.stderr);
    let quiet = scratch.run(&format!("{SHORT} --out b --json --quiet")).expect(0);
    assert_eq!(quiet.stderr, "");
}

#[test]
fn criteria_decide_the_exit_code() {
    let scratch = Scratch::new();
    scratch.run(&format!("{SHORT} --out a --accept throughput@64>=90000")).expect(0);
    let ran = scratch.run(&format!("{SHORT} --out b --accept throughput>=90000")).expect(1);
    assert!(ran.stderr.contains("not accepted: throughput>=90000"), "{}", ran.stderr);
    let ran = scratch.run(&format!("{SHORT} --out c --accept latency<=1s")).expect(1);
    assert!(ran.stderr.contains("nothing was measured"), "{}", ran.stderr);
}

#[test]
fn a_tester_that_cannot_offer_the_load_ends_with_3() {
    let scratch = Scratch::new();
    scratch.file("weak.toml", "[tester]\nframes-per-second = 3\n");
    let ran = scratch
        .run("run --sim weak.toml --profile quick --sizes 64 --test loss --skip-selftest --out a")
        .expect(3);
    let why = "invalid: frame loss rate, 64: port 0: the tester offered 3 fps";
    assert!(ran.stderr.contains(why), "{}", ran.stderr);
    let about = &results(&scratch, "a")["environment"]["self-test"];
    assert!(about.as_str().unwrap().starts_with("skipped"), "{about}");
}

/// It is not always the tester's load: a device that still sends when the wait for frames is over.
#[test]
fn a_test_without_a_result_says_why_it_has_none() {
    let scratch = Scratch::new();
    scratch.file("slow.toml", "[cpu]\ncost = { per-frame = \"20ms\" }\n[input]\nframes = 2000\n");
    let ran = scratch
        .run("run --sim slow.toml --profile quick --sizes 64 --test loss --skip-selftest --out a")
        .expect(3);
    assert!(ran.stderr.contains("invalid: frame loss rate, 64: "), "{}", ran.stderr);
    assert!(!ran.stderr.contains("could not offer"), "{}", ran.stderr);
    assert!(ran.stderr.contains("still in the device"), "{}", ran.stderr);
}

#[test]
fn a_weak_tester_is_never_taken_for_a_weak_device() {
    let scratch = Scratch::new();
    scratch.file("weak.toml", "[tester]\nframes-per-second = 50000\n");
    let arguments = "run --sim weak.toml --profile quick --sizes 64 --test throughput --out a";
    scratch.run(arguments).expect(0);
    let results = results(&scratch, "a");
    let found = figure(&results, "throughput");
    assert_eq!(found["relation"], "at_least", "{found}");
}

#[test]
fn a_self_test_is_used_again_until_it_does_not_fit() {
    let scratch = Scratch::new();
    scratch.run(&format!("{SHORT} --out a")).expect(0);
    let ran = scratch.run(&format!("{SHORT} --out b")).expect(0);
    assert!(ran.stderr.contains("cached from"), "{}", ran.stderr);
    let about = results(&scratch, "b")["environment"]["self-test"].to_string();
    assert!(about.contains("cached from 2"), "{about}");
    let of_b = results(&scratch, "b");
    let counts = of_b["trial_counts"].as_array().unwrap();
    assert!(counts.iter().all(|count| count["test"] != "self_test"), "{counts:?}");
    for other in ["--sizes 128", "--bidirectional", "--fresh-selftest", "--line-rate 100M"] {
        let folder = format!("c{other}").replace([' ', '-'], "");
        let ran = scratch.run(
            &format!("{SHORT} {other} --out {folder}")
                .replace("--sizes 64,1518 --test throughput --sizes", "--test throughput --sizes"),
        );
        let ran = ran.expect(0);
        assert!(!ran.stderr.contains("cached from"), "{other}: {}", ran.stderr);
    }
}

/// The same ports, the same options, another tester: each run has to measure its own.
#[test]
fn a_simulated_tester_is_not_taken_for_another_with_other_limits() {
    let scratch = Scratch::new();
    let arguments = "run --sim tester.toml --profile quick --sizes 64 --test throughput";
    for (folder, fps) in [("a", 50_000.0), ("b", 20_000.0)] {
        scratch.file("tester.toml", &format!("[tester]\nframes-per-second = {fps}\n"));
        let ran = scratch.run(&format!("{arguments} --out {folder}")).expect(0);
        assert!(!ran.stderr.contains("cached from"), "{}", ran.stderr);
        let maximum = figure(&results(&scratch, folder), "self_test")["value"].as_f64().unwrap();
        assert!((maximum / fps - 1.0).abs() < 0.05, "{maximum} of {fps}");
    }
    scratch.file(
        "tester.toml",
        "# another device\n[tester]\nframes-per-second = 20000\n[input]\nframes = 9\n",
    );
    let ran = scratch.run(&format!("{arguments} --out c")).expect(0);
    assert!(ran.stderr.contains("cached from"), "the device is no part of it: {}", ran.stderr);
}

#[test]
fn a_killed_run_goes_on_after_its_last_trial_and_ends_alike() {
    let scratch = Scratch::new();
    let whole = format!("{SHORT},loss --seed 5");
    scratch.run(&format!("{whole} --out whole")).expect(0);
    std::fs::remove_dir_all(scratch.path().join("cache")).unwrap();
    // The tenth trial of the run: self-test and search are under way.
    let running = scratch.start(&whole, "cut", "{\"trial_started\":{\"number\":10,");
    running.signal("KILL");
    assert_eq!(running.wait().code, None);
    let saved = events(&scratch, "cut", "trial_finished");
    let ran = scratch.run("run --resume cut").expect(0);
    assert!(ran.stdout.contains("Throughput"), "{}", ran.stdout);
    let (cut, whole) = (results(&scratch, "cut"), results(&scratch, "whole"));
    assert!(saved >= 9 && saved < events(&scratch, "whole", "trial_finished"), "{saved}");
    assert_eq!(
        events(&scratch, "cut", "trial_finished"),
        events(&scratch, "whole", "trial_finished"),
        "a recorded trial was run or saved again"
    );
    for test in ["throughput", "frame_loss", "self_test"] {
        assert!(!outcomes(&whole, test).is_empty(), "{test}");
        assert_eq!(outcomes(&cut, test), outcomes(&whole, test), "{test}");
    }
}

/// All ports of a switch at once, cut off and gone on with: frames, searches, modifiers and the self-test.
#[test]
fn a_run_of_many_ports_goes_on_as_it_was() {
    let scratch = Scratch::new();
    scratch.file("four.toml", "ports = 4\nline-rate = \"20M\"\nbridge = true\n[cpu]\ncost = { per-frame = \"100us\" }\n[input]\nframes = 4\n");
    let whole = "run rfc2889 --sim four.toml --profile quick --sizes 68 --seed 5 --vlan 100 \
                 --modifiers none,broadcast --search mlrsearch --loss-tolerance 5% \
                 --test fully-meshed --test many-to-one";
    scratch.run(&format!("{whole} --out whole")).expect(0);
    std::fs::remove_dir_all(scratch.path().join("cache")).unwrap();
    let running = scratch.start(whole, "cut", "{\"trial_started\":{\"number\":12,");
    running.signal("KILL");
    assert_eq!(running.wait().code, None);
    let refused = scratch.run("run --resume cut --vlan 7").expect(2);
    assert!(refused.stderr.contains("vlan: "), "{}", refused.stderr);
    scratch.run("run --resume cut").expect(0);
    let (cut, whole) = (results(&scratch, "cut"), results(&scratch, "whole"));
    let of_many = |test: &str| json!({ "chassis": test });
    let tests =
        [(of_many("fully_meshed"), 2), (of_many("many_to_one"), 2), (json!("self_test"), 1)];
    for (test, times) in tests {
        assert_eq!(outcomes_of(&whole, &test).len(), times, "{test}");
        assert_eq!(outcomes_of(&cut, &test), outcomes_of(&whole, &test), "{test}");
    }
}

/// Two pairs at once, cut off and gone on with; its self-test is not that of one pair.
#[test]
fn a_run_of_several_pairs_goes_on_as_it_was() {
    let scratch = Scratch::new();
    scratch.file("four.toml", "ports = 4\nline-rate = \"20M\"\nroute = [\"ipv4\"]\n[cpu]\ncost = { per-frame = \"100us\" }\n[input]\nframes = 4\n");
    let pair = "run --sim four.toml --profile quick --sizes 64 --seed 5 --test throughput";
    let whole = format!("{pair},loss --pattern multi_port");
    scratch.run(&format!("{pair} --out pair")).expect(0);
    let ran = scratch.run(&format!("{whole} --out whole")).expect(0);
    assert!(!ran.stderr.contains("cached from"), "{}", ran.stderr);
    std::fs::remove_dir_all(scratch.path().join("cache")).unwrap();
    let running = scratch.start(&whole, "cut", "{\"trial_started\":{\"number\":8,");
    running.signal("KILL");
    assert_eq!(running.wait().code, None);
    let refused = scratch.run("run --resume cut --pattern pairs").expect(2);
    assert!(refused.stderr.contains("pattern: "), "{}", refused.stderr);
    scratch.run("run --resume cut").expect(0);
    let (cut, whole) = (results(&scratch, "cut"), results(&scratch, "whole"));
    for test in ["throughput", "frame_loss", "self_test"] {
        assert!(!outcomes(&whole, test).is_empty(), "{test}");
        assert_eq!(outcomes(&cut, test), outcomes(&whole, test), "{test}");
    }
    // One processor of 10,000 frames a second: two ports have half of it each.
    let rate = |results: &Value| figure(results, "throughput")["value"].as_f64();
    let (each, alone) = (rate(&whole).unwrap(), rate(&results(&scratch, "pair")).unwrap());
    assert!((4_850.0..=5_050.0).contains(&each) && (9_700.0..=10_100.0).contains(&alone));
}

#[test]
fn another_configuration_is_not_gone_on_with() {
    let scratch = Scratch::new();
    scratch.run(&format!("{SHORT} --out a")).expect(0);
    let ran = scratch.run("run --resume a --seed 9 --bidirectional").expect(2);
    assert!(ran.stderr.contains("seed: 1 in the saved run, 9 now"), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("bidirectional: false in the saved run, true now"),
        "{}",
        ran.stderr
    );
    let ran = scratch.run("run --resume nowhere").expect(2);
    assert!(ran.stderr.contains("nowhere"), "{}", ran.stderr);
    let ran = scratch.run(&format!("{SHORT} --out a")).expect(2);
    assert!(ran.stderr.contains("--resume"), "{}", ran.stderr);
}

/// Nothing is left to do: the folder stays as it is to the last byte, and the exit code is that of the results.
#[test]
fn resuming_a_finished_run_changes_nothing() {
    let scratch = Scratch::new();
    let ran = scratch.run(&format!("{SHORT} --out a --accept throughput>=1Mpps")).expect(1);
    let files = || {
        let mut all: Vec<_> = std::fs::read_dir(scratch.path().join("a"))
            .unwrap()
            .map(|file| file.unwrap().path())
            .map(|path| (path.clone(), std::fs::read(&path).unwrap()))
            .collect();
        all.sort();
        all
    };
    let before = files();
    let again = scratch.run("run --resume a").expect(1);
    assert!(files() == before, "the folder has changed");
    assert!(again.stderr.contains("a is finished"), "{}", again.stderr);
    assert_eq!(again.stdout, ran.stdout);
    let json = scratch.run("run --resume a --json --quiet").expect(1);
    assert_eq!(serde_json::from_str::<Value>(&json.stdout).unwrap(), results(&scratch, "a"));
}

/// Without a profile a run takes minutes, by its trials and by its estimate.
#[test]
fn a_run_without_a_profile_is_one_of_minutes() {
    let scratch = Scratch::new();
    let config = scratch.run("run --sim router --print-config").expect(0).stdout;
    assert!(config.contains("profile = \"minutes\""), "{config}");
    let ran = scratch.run("run --sim router --test throughput --sizes 512 --out a").expect(0);
    assert!(ran.stdout.contains("minutes profile") || ran.stdout.contains("NOT CONFORMANT"));
    let text = std::fs::read_to_string(scratch.path().join("a/events.jsonl")).unwrap();
    let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(first["run_started"]["config"]["profile"], "minutes");
    let whole = scratch.start("run --sim router", "b", "{\"run_started");
    whole.signal("KILL");
    whole.wait();
    let text = std::fs::read_to_string(scratch.path().join("b/events.jsonl")).unwrap();
    let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let estimate_s =
        first["run_started"]["estimate"].as_u64().expect("picoseconds") / 1_000_000_000_000;
    assert!((60..600).contains(&estimate_s), "{estimate_s} s");
}

/// Nobody has measured the tester: the search begins at the medium's maximum and goes down to what the tester offers.
#[test]
fn a_tester_without_a_self_test_goes_down_to_what_it_reaches() {
    let scratch = Scratch::new();
    for fps in [50_000, 5_000, 1_000] {
        scratch.file("weak.toml", &format!("[tester]\nframes-per-second = {fps}\n"));
        let run =
            "run --sim weak.toml --profile quick --sizes 64 --test throughput --skip-selftest";
        scratch.run(&format!("{run} --out a{fps}")).expect(0);
        let found = results(&scratch, &format!("a{fps}"));
        let found = figure(&found, "throughput");
        assert_eq!(found["relation"], "at_least", "{found}");
        let rate = found["value"].as_f64().unwrap();
        assert!((rate / f64::from(fps) - 1.0).abs() < 0.05, "{rate} of {fps}");
    }
}

#[test]
fn an_interrupt_keeps_results_and_says_how_to_go_on() {
    let scratch = Scratch::new();
    let arguments = "run --sim router --profile rfc --sizes 64 --test throughput";
    let running = scratch.start(arguments, "a", "{\"trial_finished");
    running.signal("INT");
    let ran = running.wait().expect(2);
    assert!(ran.stderr.contains("error: interrupted"), "{}", ran.stderr);
    assert!(ran.stderr.contains("netanvil run --resume a"), "{}", ran.stderr);
    assert_eq!(results(&scratch, "a")["status"], "stopped");
}

/// In virtual time, too, nobody waits for the end of a trial that takes minutes to compute.
#[test]
fn an_interrupt_ends_a_simulated_trial_of_half_an_hour() {
    let scratch = Scratch::new();
    let arguments = "run --sim router --profile quick --duration 1800s --sizes 64 \
                     --test throughput --skip-selftest --yes";
    let running = scratch.start(arguments, "a", "{\"trial_started\":{\"number\":5");
    let asked = std::time::Instant::now();
    running.signal("INT");
    let ran = running.wait().expect(2);
    assert!(asked.elapsed().as_secs() < 10, "{:?}", asked.elapsed());
    assert!(ran.stderr.contains("netanvil run --resume a"), "{}", ran.stderr);
    let kept = std::fs::read_to_string(scratch.path().join("a/events.jsonl")).unwrap();
    assert!(kept.contains("{\"run_finished\":{\"trials\":4,"), "the fifth was not run");
}

#[test]
fn a_saved_run_is_rendered_and_compared() {
    let scratch = Scratch::new();
    scratch.file("fast.toml", "[input]\nframes = 100\n[cpu]\ncost = { per-frame = \"5us\" }\n");
    scratch.run(&format!("{SHORT} --out a")).expect(0);
    scratch.run(&format!("{SHORT} --out b --seed 2")).expect(0);
    scratch.run(&format!("{SHORT} --out c").replace("--sim router", "--sim fast.toml")).expect(0);
    let before = results(&scratch, "a");
    std::fs::remove_file(scratch.path().join("a/results.json")).unwrap();
    let ran = scratch.run("report a").expect(0);
    assert!(ran.stdout.contains("Throughput"), "{}", ran.stdout);
    assert_eq!(before, results(&scratch, "a"));
    scratch.run("compare a b").expect(0);
    let ran = scratch.run("compare a c").expect(1);
    assert!(ran.stdout.contains("different"), "{}", ran.stdout);
    let json: Value =
        serde_json::from_str(&scratch.run("compare a c --json").expect(1).stdout).unwrap();
    assert!(json["differences"].as_array().is_some_and(|all| !all.is_empty()));
    scratch.run("report nowhere").expect(2);
    scratch.run("compare a nowhere").expect(2);
}

/// The trials so far were those of another device.
#[test]
fn a_run_does_not_go_on_with_a_device_that_was_changed() {
    let scratch = Scratch::new();
    let router = include_str!("../../../sim/devices/router.toml");
    scratch.file("lab.toml", router);
    let short = SHORT.replace("--sim router", "--sim lab.toml --device-info firmware=4.2");
    let ran = scratch.run(&format!("{short} --out a")).expect(0);
    assert!(results(&scratch, "a")["environment"]["device firmware"] == "4.2", "{}", ran.stdout);
    // The end of the run is taken off: what is finished is not gone on with.
    let log = scratch.path().join("a/events.jsonl");
    let events = std::fs::read_to_string(&log).unwrap();
    let end = events.find("{\"run_finished\"").expect("the end");
    std::fs::write(&log, &events[..end]).unwrap();
    scratch.run("run --resume a").expect(0);
    std::fs::write(&log, &events[..end]).unwrap();
    scratch.file("lab.toml", &router.replace("10us", "9us"));
    let refused = scratch.run("run --resume a").expect(2);
    assert!(refused.stderr.contains("not that of the saved run"), "{}", refused.stderr);
}

#[test]
fn what_cannot_be_meant_is_refused_with_its_remedy() {
    let scratch = Scratch::new();
    let wrong = [
        ("--capture", "leave out --capture"),
        ("--capture-streams 1", "add --capture"),
        ("--device-info firmware", "write firmware=4.2"),
        ("--sizes 64,64", "names a size twice"),
    ];
    for (arguments, remedy) in wrong {
        let refused = scratch.run(&format!("{SHORT} {arguments} --out a").replace(
            "--sizes 64,1518",
            if arguments.starts_with("--sizes") { "" } else { "--sizes 64,1518" },
        ));
        let refused = refused.expect(2);
        assert!(refused.stderr.contains(remedy), "{arguments}: {}", refused.stderr);
        assert!(!scratch.path().join("a").exists(), "{arguments} leaves a folder");
    }
}
