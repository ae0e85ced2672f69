//! Options that decide what a trial is worth, before devices and testers whose faults are known: they alter no frame, so
//! that what the trials came to is compared.

use crate::common::Scratch;
use serde_json::Value;

const DEVICE: &str = "line-rate = \"1M\"\ndelay = \"5us\"\nroute = [\"ipv4\", \"ipv6\"]\nbridge = true\n\
                      [input]\nframes = 8\n[cpu]\nservers = \"per-port\"\ncost = { per-frame = \"2ms\" }\n";
/// The medium takes 1 Mb/s / (148 bytes x 8) = 844 frames of 128 bytes a second.
const WEAK_TESTER: &str = "[tester]\nframes-per-second = 400\n";
const DOUBLES: &str = "[impair]\nduplicate-every = 50\n";
/// 20 ms of each 100: delays differ by so much.
const STALLS: &str = "stall = { every = \"100ms\", lasts = \"20ms\" }\n";
/// Trials take 0.2 s; a frame of 844 a second, 1.2 ms.
const STANDS_STILL: &str = "[tester]\nstall = { every = \"50ms\", lasts = \"9ms\" }\n";
/// A bit of the payload, far from the signature; the FCS fits.
const DAMAGES: &str = "[impair]\ncorrupt-every = 20\ncorrupt-bytes-from-end = 50\n";
const NOISY: &str = "[impair]\nloss = 0.002\n";

struct Lab(Scratch);

impl Lab {
    fn before(fault: &str) -> Self {
        let scratch = Scratch::new();
        scratch.file("device.toml", &format!("{DEVICE}{fault}"));
        Lab(scratch)
    }

    /// What a run has saved in the folder `run`, which goes.
    fn saved(&self) -> String {
        let path = self.0.path().join("run");
        let events = std::fs::read_to_string(path.join("events.jsonl")).expect("events");
        std::fs::remove_dir_all(path).expect("a run folder");
        events
    }

    /// The finished trials of a short run without a self-test.
    fn trials(&self, more: &str) -> Vec<Value> {
        let arguments = format!(
            "run rfc2544 --sim device.toml --profile quick --skip-selftest --sizes 128 --seed 3 --quiet \
             {more} --out run"
        );
        let ran = self.0.run(&arguments);
        assert!(matches!(ran.code, Some(0 | 3)), "{arguments}: {}", ran.stderr);
        let events = self.saved();
        let events = events.lines().map(|line| serde_json::from_str(line).expect("an event"));
        let trials: Vec<Value> = events
            .filter_map(|mut event: Value| Some(event.get_mut("trial_finished")?.take()))
            .collect();
        assert!(!trials.is_empty(), "{arguments}: no trials");
        trials
    }
}

fn is_valid(trial: &&Value) -> bool {
    trial["verdict"] != "invalid"
}

fn invalid(trials: &[Value]) -> usize {
    trials.iter().filter(|trial| !is_valid(trial)).count()
}

/// The tester sends 400 of 844 frames a second, 52.6 % less.
#[test]
fn the_shortfall_decides_whether_a_weak_tester_counts() {
    let lab = Lab::before(WEAK_TESTER);
    assert!(invalid(&lab.trials("--test loss --set trial.limits.shortfall=0.5")) > 0);
    assert_eq!(invalid(&lab.trials("--test loss --set trial.limits.shortfall=0.55")), 0);
}

/// On a medium that takes 430 frames/s it falls behind by 7 % of the trial: only past the limit is that a shortfall. On
/// one that takes 844 it is one in any case.
#[test]
fn lateness_below_its_limit_is_no_shortfall() {
    let trials = |line_rate: &str, late_after_us: u32| {
        let scratch = Scratch::new();
        let device = DEVICE.replace("\"1M\"", &format!("\"{line_rate}\""));
        scratch.file("device.toml", &format!("{device}{WEAK_TESTER}"));
        let set = format!("--set trial.limits.late_after_us={late_after_us}");
        let strict = "--set trial.limits.shortfall=0.001";
        Lab(scratch).trials(&format!("--test loss {strict} {set}"))
    };
    assert!(invalid(&trials("509k", 20)) > 0, "the tester is not trusted beyond what it can do");
    assert_eq!(invalid(&trials("509k", 900_000)), 0, "of a tester that sends 400 of 430");
    let fps = |trial: &Value| {
        let rate = &trial["intended"];
        let [frames, seconds] = ["frames", "per_seconds"].map(|part| rate[part].as_f64());
        frames.expect("frames") / seconds.expect("seconds")
    };
    // One that answered how much the tester can offer by less than asked for has failed.
    let counts = |trial: &&Value| trial["verdict"] == "measured" || trial["verdict"] == "passed";
    let slow = trials("1M", 900_000);
    let fastest = slow.iter().filter(counts).map(fps).fold(0.0, f64::max);
    assert!(fastest < 401.0, "{fastest}: half of the load was never sent");
}

fn of_senders(trials: &[Value], value: impl Fn(&Value) -> &Value) -> u64 {
    let sent = trials.iter().flat_map(|trial| trial["result"]["sent"].as_array().expect("ports"));
    sent.map(|port| value(&port["report"]).as_u64().expect("a number")).sum()
}

/// A tester that stands still for 9 ms four times, and cannot catch up on a full medium, is late by 30 intervals at most.
#[test]
fn a_frame_is_late_from_so_many_intervals_on() {
    let lab = Lab::before(STANDS_STILL);
    let late = |intervals: u32| {
        let set = format!("--set trial.limits.late_intervals={intervals}");
        let credit = "--set trial.limits.credit_us=100000";
        of_senders(
            &lab.trials(&format!("--test loss {set} {credit}")),
            |report| &report["late_frames"],
        )
    };
    assert!(late(2) > 0);
    assert_eq!(late(100), 0);
}

/// What it makes up for does not put its schedule off. Both bounds of the credit hold.
#[test]
fn lateness_beyond_the_credit_puts_the_schedule_off() {
    let lab = Lab::before(STANDS_STILL);
    let put_off = |credit_us: u32, credit_frames: u32| {
        let set = format!(
            "--set trial.limits.credit_us={credit_us} --set trial.limits.credit_frames={credit_frames}"
        );
        of_senders(&lab.trials(&format!("--test loss {set}")), |report| &report["slips"]["times"])
    };
    assert_eq!(put_off(100_000, 100), 0);
    assert!(put_off(2_000, 100) > 0, "a credit of 2 ms");
    assert!(put_off(100_000, 2) > 0, "a credit of two frames");
}

/// Every twentieth frame comes out damaged, which only its checksum tells.
#[test]
fn damage_far_from_the_signature_is_found_by_checksums() {
    let lab = Lab::before(DAMAGES);
    let corrupted = |verify: bool| {
        let trials = lab.trials(&format!("--test loss --set trial.verify_checksums={verify}"));
        let ports = trials.iter().flat_map(|trial| trial["result"]["received"].as_array().unwrap());
        let streams = ports.flat_map(|port| port["streams"].as_array().unwrap());
        streams.map(|stream| stream["account"]["corrupted"].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!(corrupted(false), 0);
    assert!(corrupted(true) > 0);
}

/// An invalid trial is made again so often, and no more.
#[test]
fn retries_are_as_many_as_asked_for() {
    let lab = Lab::before(WEAK_TESTER);
    let most = |retries: u32| {
        let more = format!("--test loss --set trial.invalid_retries={retries}");
        let trials = lab.trials(&more);
        trials.iter().filter_map(|trial| trial["attempt"].as_u64()).max().expect("attempts")
    };
    assert_eq!(most(0), 1);
    assert!(most(1) > 1, "no load was tried again");
}

/// One frame in 50 arrives twice: 2 %.
#[test]
fn unwanted_frames_are_told_of_from_their_share_on() {
    let lab = Lab::before(DOUBLES);
    let told = |share: f64| {
        let trials = lab.trials(&format!("--test loss --set trial.limits.unwanted={share}"));
        let notes = trials
            .iter()
            .flat_map(|trial| trial["result"]["notes"].as_array().into_iter().flatten());
        notes
            .filter(|note| note.as_str().is_some_and(|note| note.contains("more than once")))
            .count()
    };
    assert!(told(0.001) > 0);
    assert_eq!(told(0.05), 0);
}

/// With a stated error the search tests longer before it believes a device that loses 0.2 % of its frames at random.
#[test]
fn a_search_with_a_stated_error_tries_more() {
    let lab = Lab::before(NOISY);
    let trials = |percent: f64| {
        lab.trials(&format!("--test throughput --set search.error_percent={percent:?}")).len()
    };
    let (without, with) = (trials(0.0), trials(10.0));
    assert!(with > without, "{with} trials with an error of 10 %, {without} without one");
}

#[test]
fn delays_vary_from_the_spread_on_that_was_asked_for() {
    let lab = Lab::before(STALLS);
    let is_named = |ms: f64| {
        let arguments = format!(
            "run harvard-1989 --sim device.toml --profile quick --test delay --sizes 128 --seed 3 --quiet \
             --set harvard_1989.delay_varies_ms={ms:?} --out run"
        );
        lab.0.run(&arguments).expect(0);
        lab.saved().contains("elay_varies\":{\"by\":")
    };
    assert!(is_named(1.0), "20 ms are more than 1 ms");
    assert!(!is_named(50.0), "20 ms are less than 50 ms");
}
