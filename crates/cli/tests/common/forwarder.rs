//! Forwarders of DPDK as devices: what they count beside what the tester counts, and what is left of them.

use super::{
    Running, Scratch, figure, is_root, processes_with, record, results, sh, turn, undecided,
};
use serde_json::Value;
use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;
use testbed::DeviceKind;

/// Where `make l3fwd` leaves what no package has. Every program that tests start has it in its PATH.
pub fn built() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/l3fwd"))
}

/// One of them.
#[derive(Clone, Copy)]
pub struct Forwarder {
    pub kind: DeviceKind,
    /// Its program.
    pub program: &'static str,
    /// Its processes.
    pub processes: usize,
}

impl Forwarder {
    /// 14,880 frames of 64 bytes a second (RFC 2544 appendix B), which any machine forwards.
    pub fn slow(self) -> String {
        format!(
            "run --device {} --profile quick --sizes 64 --skip-selftest --seed 1 --line-rate 10M",
            self.kind.name()
        )
    }

    /// Whether there can be one: with root, a program with dpdk ports, and the package.
    pub fn can_run(self, scratch: &Scratch) -> bool {
        let has_ports = !scratch.run("--version").expect(0).stdout.contains("without dpdk");
        let is_built = built().join(self.program).is_file();
        is_root() && has_ports && (is_built || testbed::polling_shortfall(self.kind).is_none())
    }

    /// A place for a run of it, alone on this machine; none where there can be none, which is said.
    pub fn bed(self) -> Option<(Scratch, File)> {
        let scratch = Scratch::new();
        if !self.can_run(&scratch) {
            eprintln!("skipped: no root, no dpdk ports, or no {}", self.program);
            return None;
        }
        Some((scratch, turn::wait()))
    }

    /// What the arguments of its processes have, of a run.
    fn mark(self, pid: u32) -> String {
        format!("/{pid}.0.{}/", self.kind.name())
    }

    /// A run whose trials nobody waits for, and the process id of its program.
    pub fn started(self, scratch: &Scratch, more: &str) -> (Running, String) {
        const BEGUN: &str = "trial_started";
        let run = format!("{} --test loss --duration 60s --yes {more}", self.slow());
        let running = scratch.start(&run, "a", BEGUN);
        let found = processes_with(&self.mark(running.pid()));
        assert_eq!(found.len(), self.processes, "{found:?}");
        let is_program = |line: &&String| line.contains(self.program);
        assert_eq!(found.iter().filter(is_program).count(), 1, "{found:?}");
        // Not the shell that looks for it.
        let (first, rest) = self.program.split_at(1);
        let own = self.mark(running.pid());
        let id = sh(&format!("pgrep -f -- '[{first}]{rest} .*{own}'"));
        std::thread::sleep(Duration::from_millis(300));
        (running, id.trim().to_owned())
    }

    /// All threads of the tester are on other processors than the one that forwards.
    pub fn keeps_off(self, tester: u32, program: &str, is_forwarder: impl Fn(&str) -> bool) {
        let allowed = |process: &str| -> Vec<(String, String)> {
            let tasks = std::fs::read_dir(format!("/proc/{process}/task")).expect("threads");
            let status = |entry: std::fs::DirEntry| {
                let text = std::fs::read_to_string(entry.path().join("status")).ok()?;
                let of = |key: &str| {
                    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
                    Some(line.trim().to_owned())
                };
                Some((of("Name:")?, of("Cpus_allowed_list:")?))
            };
            tasks.filter_map(|entry| status(entry.expect("an entry"))).collect()
        };
        let forwarding: Vec<_> =
            allowed(program).into_iter().filter(|(name, _)| is_forwarder(name)).collect();
        let [(name, cpu)] = &forwarding[..] else { panic!("{forwarding:?} forward") };
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        assert_eq!(*cpu, (cpus - 1).to_string(), "{name}");
        for (name, list) in allowed(&tester.to_string()).into_iter().filter(|_| cpus > 1) {
            let ranges =
                list.split(',').map(|range| range.split_once('-').unwrap_or((range, range)));
            let number = |text: &str| text.parse::<usize>().expect("a processor");
            let mut ranges = ranges.map(|(first, last)| number(first)..=number(last));
            assert!(!ranges.any(|range| range.contains(&(cpus - 1))), "{name} on {list}");
        }
    }

    /// Its throughput on a slow medium, where it loses nothing; each trial `agrees` with its counters. The report has these
    /// words of it.
    #[track_caller]
    pub fn throughput_is_found(self, agrees: fn(&(Value, Value)), of_environment: &[&str]) {
        let Some((scratch, _turn)) = self.bed() else { return };
        let name = self.kind.name();
        let ran = scratch.run(&format!("{} --test throughput,loss --out a", self.slow()));
        let is_complete = ran.expect_complete();
        let whole = results(&scratch, "a");
        if is_complete {
            let rate = figure(&whole, "throughput")["value"].as_f64().expect("a rate");
            // 10 Mbit/s / (8 x (64 + 20)) bits: the medium is the limit. A transmitter that others hold up offers less.
            assert!(0.0 < rate && rate < 14_881.0, "{rate}");
            if rate < 14_732.0 {
                undecided::tell(&format!("the tester offered {rate} frames/s only"));
            }
        }
        for trial in trials(&scratch, "a") {
            agrees(&trial);
            let is_valid = trial.0["verdict"] != "invalid";
            assert!(lost(&trial.0) == 0 || !is_valid, "{name} loses nothing: {}", trial.0);
        }
        // Half of the load would take all of its processor, too.
        let detail = record(&whole, "throughput").to_string();
        let polls = format!("{name} polls");
        assert!(detail.contains(&polls) && !detail.contains("capacity_low"), "{detail}");
        let environment = whole["environment"].to_string();
        for words in of_environment {
            assert!(environment.contains(words), "{words} in {environment}");
        }
    }

    /// 14,880,952 frames a second are more than a forwarder and a tester on two processors carry: what is lost `agrees`.
    #[track_caller]
    pub fn an_overload_loses_what_is_counted(self, agrees: fn(&(Value, Value))) {
        let Some((scratch, _turn)) = self.bed() else { return };
        let run = format!(
            "run --device {} --profile quick --sizes 64 --skip-selftest --seed 1 --test loss --line-rate 10G \
             --input-queue 1024 --duration 300ms --set frame_loss.step_percent=50 --out a",
            self.kind.name()
        );
        let ran = scratch.run(&run);
        assert!(matches!(ran.code, Some(0 | 3)), "{}", ran.stderr);
        let all = trials(&scratch, "a");
        all.iter().for_each(agrees);
        if all.iter().all(|trial| lost(&trial.0) == 0) {
            undecided::tell("no load was too high");
        }
    }

    /// A run that is interrupted, as a terminal does it: for all of its processes.
    pub fn ends_with_an_interrupted_run(self) {
        let Some((scratch, _turn)) = self.bed() else { return };
        let (running, _) = self.started(&scratch, "");
        let pid = running.pid();
        running.signal("INT");
        let ran = running.wait().expect(2);
        let said = ["interrupted", "--resume"];
        assert!(said.iter().all(|words| ran.stderr.contains(words)), "{}", ran.stderr);
        self.nothing_is_left(pid);
    }

    /// A run whose device dies.
    pub fn is_an_error_of_the_run_where_it_dies(self) {
        let Some((scratch, _turn)) = self.bed() else { return };
        let (running, id) = self.started(&scratch, "");
        let pid = running.pid();
        sh(&format!("kill -SEGV {id}"));
        let ran = running.wait().expect(2);
        let ended = format!("{}: ended (signal: 11", self.program);
        let said = ["the device under test has vanished", &ended];
        assert!(said.iter().all(|words| ran.stderr.contains(words)), "{}", ran.stderr);
        assert!(ran.stderr.contains("results taken so far are kept"), "{}", ran.stderr);
        self.nothing_is_left(pid);
    }

    /// Without `clean`.
    pub fn nothing_is_left(self, pid: u32) {
        let own = self.mark(pid);
        let has_sockets =
            || std::fs::read_to_string("/proc/net/unix").expect("sockets").contains(&own);
        for _ in 0..500 {
            // Of a program that ends the kernel forgets the command before it closes the files.
            if processes_with(&own).is_empty() && !has_sockets() {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(processes_with(&own), [""; 0], "{} outlives the run", self.program);
        let entries =
            std::fs::read_dir(testbed::REGISTRY_DIRECTORY).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let left: Vec<String> = names.filter(|name| name.starts_with(&format!("{pid}."))).collect();
        assert_eq!(left, [""; 0], "sockets or records");
        assert!(!has_sockets(), "a socket is open");
    }
}

/// Every trial of a run: as its record has it, and as the event had it.
pub fn trials(scratch: &Scratch, folder: &str) -> Vec<(Value, Value)> {
    let records = results(scratch, folder)["trials"].as_array().expect("trials").clone();
    let events = std::fs::read_to_string(scratch.path().join(folder).join("events.jsonl")).unwrap();
    let events = events.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let results = events.filter_map(|event| event.get("trial_finished")?.get("result").cloned());
    let all: Vec<(Value, Value)> = records.into_iter().zip(results).collect();
    assert!(!all.is_empty(), "no trial");
    all
}

/// The sum of a count over all ports in the balance of a trial.
pub fn sum(result: &Value, name: &str) -> u64 {
    let ports = result["balance"].as_array().expect("a balance").iter();
    ports.map(|port| port[name].as_u64().unwrap_or_else(|| panic!("{name} in {port}"))).sum()
}

/// Each frame of a trial is in the device's counters where it belongs: what the tester sent and the device's queue took is
/// what the device received; what it received it sent, or gave up; what it sent has arrived. Valid or not.
pub fn device_agrees((record, result): &(Value, Value)) {
    let of = |name| sum(result, name);
    assert_eq!(of("tester_sent") - of("refused"), of("device_received"), "{}", result["balance"]);
    let sent_or_given_up = of("device_sent") + of("turned_away");
    assert_eq!(of("device_received"), sent_or_given_up, "{}", result["balance"]);
    assert_eq!(of("device_sent"), of("tester_received"), "{}", result["balance"]);
    assert_eq!(record["unknown_frames"], 0, "{record}");
}

/// The same, and what is lost is what the device's queue did not take and what the device gave up.
pub fn device_agrees_with_loss(trial: &(Value, Value)) {
    device_agrees(trial);
    let (record, result) = trial;
    assert_eq!(lost(record), sum(result, "refused") + sum(result, "turned_away"), "{record}");
}

/// Frames that a trial lost, by its record.
pub fn lost(record: &Value) -> u64 {
    record["lost_frames"].as_u64().expect("a count")
}
