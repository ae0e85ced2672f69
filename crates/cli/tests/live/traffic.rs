//! `netanvil traffic` on real ports: the same counts as the kernel's, lines while it runs, and an end by
//! signal that leaves nothing behind. Root only.

use crate::common;
use crate::common::{Ran, Scratch, is_root, left_by, sh, turn, undecided};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Stdio};

/// Accounts are exact whatever share of the load two cores with transmitters, receivers and a device reach.
const WHATEVER_SHARE: &str = "--set trial.limits.shortfall=0.9";

fn traffic(scratch: &Scratch, arguments: &str) -> Vec<Value> {
    let mut command = scratch.command(&format!("traffic {arguments} {WHATEVER_SHARE} --json"));
    let ran: Ran = command.output().expect("netanvil starts").into();
    let ran = ran.expect(0);
    ran.stdout.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

fn sum(lines: &[Value], key: &str) -> i64 {
    let seconds = lines.iter().filter(|line| line["event"] == "second");
    seconds.map(|line| line[key].as_i64().expect(key)).sum()
}

fn count(value: &Value, key: &str) -> i64 {
    value[key].as_i64().expect(key)
}

/// What every account must hold, whatever the machine does meanwhile.
fn check_closed(lines: &[Value]) -> &Value {
    let summary = lines.last().expect("a summary");
    assert_eq!(summary["event"], "summary");
    for key in ["sent_frames", "received_frames", "lost_frames"] {
        assert_eq!(sum(lines, key), count(summary, key), "{key}: {summary}");
    }
    let accounted = count(summary, "received_frames") + count(summary, "lost_frames");
    assert_eq!(count(summary, "sent_frames"), accounted, "{summary}");
    summary
}

/// Exactly one frame in 50 is dropped by a rule in the device, which says so itself.
#[test]
fn loss_is_what_the_device_drops() {
    if !is_root() {
        return;
    }
    let _turn = turn::wait();
    let scratch = Scratch::new();
    let load = "--rate 5kpps --duration 3s --drop-every 50";
    for port_type in ["af_packet", "xdp"] {
        let lines =
            traffic(&scratch, &format!("--device linux-router --port-type {port_type} {load}"));
        let summary = check_closed(&lines);
        let sent = count(summary, "sent_frames");
        assert!((50..=15_000).contains(&sent), "{summary}");
        if sent < 15_000 {
            undecided::tell("the tester did not send every frame");
        }
        let lost = sent / 50;
        assert_eq!(count(summary, "lost_frames"), lost, "{summary}");
        let dropped = summary["dropped_at"].as_object().unwrap();
        let dropped: i64 = dropped.values().map(|frames| frames.as_i64().unwrap()).sum();
        assert_eq!(dropped, lost, "{summary}");
        assert_eq!(summary["latency"]["frames"], sent - lost, "{summary}");
        assert!(lines.iter().filter(|line| line["event"] == "second").count() >= 3);
    }
}

/// A bucket of 2.4 Mb/s lets 3,571 frames of 84 bytes on the medium pass each second, behind 100 that wait.
#[test]
fn what_comes_out_of_a_shaper_is_its_rate() {
    if !is_root() {
        return;
    }
    let _turn = turn::wait();
    let scratch = Scratch::new();
    let load = "--rate 6kpps --duration 4s --tbf-rate 2.4Mbit";
    let lines = traffic(&scratch, &format!("--device linux-bridge {load}"));
    let summary = check_closed(&lines);
    let came = count(summary, "received_frames") as f64;
    let sending = summary["sending_s"].as_f64().unwrap();
    let expected = 2.4e6 / (84.0 * 8.0) * sending + 100.0;
    assert!((came / expected - 1.0).abs() < 0.02, "{came} of {expected}: {summary}");
}

/// Both ways between interfaces of one's own, with VLAN tags and IPv6.
#[test]
fn a_veth_pair_of_ones_own_is_a_cable() {
    if !is_root() {
        return;
    }
    let _turn = turn::wait();
    let scratch = Scratch::new();
    let pair = VethPair::new();
    let [a, b] = &pair.names;
    for options in ["", "--vlan 100 --protocol udp_ipv6 --sizes 256", "--flows 100 --port-type xdp"]
    {
        let load = "--rate 3kpps --duration 1s --bidirectional --yes";
        let lines = traffic(&scratch, &format!("--ports {a},{b} {load} {options}"));
        let summary = check_closed(&lines);
        assert_eq!(count(summary, "sent_frames"), 6_000, "{options}: {summary}");
        assert_eq!(count(summary, "lost_frames"), 0, "{options}: {summary}");
    }
}

struct VethPair {
    names: [String; 2],
}

impl VethPair {
    fn new() -> Self {
        let names = ["a", "b"].map(|end| format!("nat{end}{}", std::process::id() % 100_000));
        let [a, b] = &names;
        sh(&format!(
            "ip link add {a} type veth peer name {b} && ip link set {a} up && ip link set {b} up"
        ));
        VethPair { names }
    }
}

impl Drop for VethPair {
    fn drop(&mut self) {
        sh(&format!("ip link del {}", self.names[0]));
    }
}

/// Three streams through the kernel's router, which sees VLANs of none and both versions of IP; and a capture
/// with its addresses rewritten, as it was timed. On either type of port.
#[test]
fn streams_and_captures_go_through_a_router() {
    if !is_root() {
        return;
    }
    let _turn = turn::wait();
    let scratch = Scratch::new();
    let streams = "[[stream]]\nname = \"four\"\nweight = 3\nsize = 300\nflows = 50\n\
                   [[stream]]\nname = \"six\"\nsize = 128\nprotocol = \"udp_ipv6\"\n";
    scratch.file("mix.toml", streams);
    std::fs::write(
        scratch.path().join("trace.pcap"),
        common::pcap(&[(0, 100), (700, 4), (2_000, 900)]),
    )
    .unwrap();
    for port_type in ["af_packet", "xdp"] {
        let device = format!("--device linux-router --port-type {port_type}");
        let load = "--streams mix.toml --rate 4kpps --duration 1s --bidirectional";
        let lines = traffic(&scratch, &format!("{device} {load}"));
        let summary = check_closed(&lines);
        let of = |name: &str| {
            let streams = summary["streams"].as_array().unwrap();
            let found = streams.iter().find(|stream| stream["name"] == name).expect(name);
            (count(found, "sent_frames"), count(found, "received_frames"))
        };
        assert_eq!((of("four forward"), of("four reverse")), ((3_000, 3_000), (3_000, 3_000)));
        assert_eq!((of("six forward"), of("six reverse")), ((1_000, 1_000), (1_000, 1_000)));
        assert_eq!((&summary["flows"], &summary["flows_with_loss"]), (&100.into(), &0.into()));

        let load = "--pcap trace.pcap --as-timed --rewrite mac,ip --duration 1s";
        let lines = traffic(&scratch, &format!("{device} {load}"));
        let summary = check_closed(&lines);
        // 333 times three frames in 3 ms, the mean distance included; and two in the last millisecond, at 0
        // and 0.7 ms of it.
        assert_eq!(count(summary, "sent_frames"), 1_001, "{summary}");
        assert_eq!(count(summary, "received_frames"), 1_001, "{summary}");
        let sending = summary["sending_s"].as_f64().unwrap();
        assert!(sending >= 0.99, "{summary}");
    }
}

/// Thirty million frames from one xdp port to another, each in its account, and a line a second meanwhile.
#[test]
fn a_million_frames_a_second_for_half_a_minute_are_all_accounted_for() {
    if !is_root() {
        return;
    }
    let _turn = turn::wait();
    let scratch = Scratch::new();
    let load = "--device loopback --port-type xdp --rate 1Mpps --duration 30s";
    let lines = traffic(&scratch, load);
    let summary = check_closed(&lines);
    assert_eq!(count(summary, "sent_frames"), 30_000_000, "{summary}");
    assert_eq!(summary["latency"]["frames"], summary["received_frames"], "{summary}");
    assert_eq!(count(summary, "lost_frames"), 0, "a cable loses nothing: {summary}");
    let seconds: Vec<_> = lines.iter().filter(|line| line["event"] == "second").collect();
    assert!(seconds.len() >= 30, "{}", seconds.len());
    for second in &seconds[..29] {
        let length = second["length_s"].as_f64().unwrap();
        assert!((0.9..1.1).contains(&length), "{second}");
        assert!(second["latency"]["p99_ns"].as_f64().unwrap() > 0.0, "{second}");
    }
}

/// Started, and read until so many lines of seconds have come.
fn started(
    scratch: &Scratch,
    arguments: &str,
    seconds: usize,
) -> (Child, BufReader<ChildStdout>, String) {
    let mut command = scratch.command(&format!("traffic {arguments} {WHATEVER_SHARE} --json"));
    let mut child = command.stdout(Stdio::piped()).spawn().expect("netanvil starts");
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut seen = String::new();
    while seen.matches("\"event\":\"second\"").count() < seconds {
        assert!(stdout.read_line(&mut seen).unwrap() > 0, "ended early: {seen}");
    }
    (child, stdout, seen)
}

#[test]
fn an_interrupt_closes_the_accounts_and_removes_the_device() {
    if !is_root() {
        return;
    }
    let _turn = turn::wait();
    let scratch = Scratch::new();
    for port_type in ["af_packet", "xdp"] {
        let load = "--rate 2kpps --duration forever --bidirectional";
        let arguments = format!("--device linux-router --port-type {port_type} {load}");
        let (mut child, mut stdout, mut seen) = started(&scratch, &arguments, 2);
        let pid = child.id();
        sh(&format!("kill -INT {pid}"));
        stdout.read_to_string(&mut seen).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{seen}");
        let lines: Vec<Value> =
            seen.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
        let summary = check_closed(&lines);
        assert!(count(summary, "sent_frames") > 4_000, "{summary}");
        assert_eq!(count(summary, "lost_frames"), 0, "{summary}");
        assert_eq!(left_by(pid), [""; 0]);
    }
}

/// The rate goes up and down six times and pauses once: every frame of every rate is in the accounts, in the
/// percentiles and in the lines.
#[test]
fn a_rate_that_is_changed_keeps_exact_accounts() {
    use std::io::Write;
    if !is_root() {
        return;
    }
    let _turn = turn::wait();
    for port_type in ["af_packet", "xdp"] {
        let scratch = Scratch::new();
        let load = "--rate 2kpps --duration forever --stdin-control";
        let arguments = format!("--device linux-router --port-type {port_type} {load}");
        let mut command = scratch.command(&format!("traffic {arguments} {WHATEVER_SHARE} --json"));
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("netanvil starts");
        let mut keys = child.stdin.take().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut seen = String::new();
        let mut read_until = |word: &str, times: usize| {
            while seen.matches(word).count() < times {
                assert!(stdout.read_line(&mut seen).unwrap() > 0, "ended early: {seen}");
            }
        };
        read_until("\"event\":\"second\"", 1);
        for (number, key) in (1..).zip(["*", "/", "+", "-", "*", "/"]) {
            keys.write_all(key.as_bytes()).unwrap();
            // Until frames of this rate have left: the line that closes the stretch before, and one of this.
            read_until("\"event\":\"load\"", number);
            read_until("\"event\":\"second\"", 1 + 2 * number);
        }
        // Keys that come faster than frames: a stretch without a frame says nothing of the tester.
        keys.write_all(b"**//p").unwrap();
        read_until("\"event\":\"paused\"", 1);
        keys.write_all(b"pq").unwrap();
        stdout.read_to_string(&mut seen).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{seen}");
        let lines: Vec<Value> =
            seen.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
        let summary = check_closed(&lines);
        assert!(count(summary, "stretches") >= 7, "{summary}");
        // The gaps of six changes are told: some tens of milliseconds each, no more than a second.
        let between = summary["between_stretches_s"].as_f64().expect("a time");
        assert!((0.005..7.0).contains(&between), "{summary}");
        assert!(count(summary, "sent_frames") >= 2_000, "{summary}");
        assert_eq!(count(summary, "lost_frames"), 0, "{summary}");
        assert_eq!(summary["latency"]["frames"], summary["received_frames"], "{summary}");
        let loads = lines.iter().filter(|line| line["event"] == "load");
        let loads: Vec<f64> =
            loads.map(|line| line["rate_per_port_fps"].as_f64().unwrap()).collect();
        let expected = [4_000.0, 2_000.0, 2_200.0, 2_000.0, 4_000.0, 2_000.0];
        let alike =
            loads.iter().zip(expected).all(|(told, asked)| (told / asked - 1.0).abs() < 1e-6);
        assert!(alike && loads.len() >= 6, "{loads:?}");
    }
}

#[test]
fn a_killed_one_is_cleaned() {
    if !is_root() {
        return;
    }
    let _turn = turn::wait();
    let scratch = Scratch::new();
    let arguments = "--device linux-bridge --rate 1kpps --duration forever";
    let (mut child, _stdout, _seen) = started(&scratch, arguments, 1);
    let pid = child.id();
    sh(&format!("kill -KILL {pid}"));
    child.wait().unwrap();
    scratch.run("clean").expect(0);
    assert_eq!(left_by(pid), [""; 0]);
}
