//! A router that was not built by the program, and what its own counters say of lost frames: by netlink
//! in its namespace, and by the distribution's SNMP agent. Root only.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "waits for an agent")]

use crate::common::lab::{Lab, PORTS};
use crate::common::{Scratch, is_root, results, sh};
use serde_json::Value;
use std::process::{Child, Command, Stdio};

const LIVE: &str = "--line-rate 2M --sizes 64 --skip-selftest --profile quick --seed 1 --test loss \
                    --set frame_loss.step_percent=60";

fn count(trial: &Value, name: &str) -> u64 {
    trial[name].as_u64().unwrap_or_else(|| panic!("{name}: {trial}"))
}

/// A router whose links carry nothing but test frames: the kernel asks for routers by itself, and again and
/// again for neighbours.
fn silent(role: &str) -> Lab {
    let lab = Lab::new(role);
    for name in [lab.tester(), lab.dut()] {
        sh(&format!("ip netns exec {name} sysctl -qw net.ipv6.conf.all.disable_ipv6=1"));
    }
    for n in [1, 2] {
        let mac = sh(&format!("ip netns exec {} cat /sys/class/net/eth{n}/address", lab.tester()));
        let (dut, address) = (lab.dut(), format!("198.{}.1.2", 17 + n));
        let mac = mac.trim();
        sh(&format!("ip -n {dut} neigh replace {address} lladdr {mac} nud permanent dev d{n}"));
    }
    lab
}

/// Trials that say something of the device.
fn trials(scratch: &Scratch, folder: &str) -> Vec<Value> {
    let results = results(scratch, folder);
    let trials = results["trials"].as_array().expect("trials").iter();
    let valid: Vec<Value> = trials.filter(|trial| trial["verdict"] != "invalid").cloned().collect();
    assert!(!valid.is_empty(), "every trial is invalid: {}", results["trials"]);
    valid
}

fn page(scratch: &Scratch, folder: &str) -> String {
    std::fs::read_to_string(scratch.path().join(folder).join("report.html")).expect("the page")
}

/// The balances of all trials of a run, as the log has them.
fn balances(scratch: &Scratch, folder: &str) -> Vec<Value> {
    let log = std::fs::read_to_string(scratch.path().join(folder).join("events.jsonl")).unwrap();
    let events = log.lines().map(|line| serde_json::from_str::<Value>(line).expect("an event"));
    let results = events.filter_map(|event| {
        event.pointer("/trial_finished/result").filter(|result| !result.is_null()).cloned()
    });
    let results: Vec<Value> = results.collect();
    assert!(results.len() > 1, "no trials in the log of {folder}");
    results
}

/// Each loss has its place: the rule that drops every tenth frame, and then the queue of a slow link.
#[test]
fn losses_of_a_router_in_a_namespace_have_a_name() {
    if !is_root() {
        return;
    }
    let (scratch, lab) = (Scratch::new(), silent("far"));
    let dut = lab.dut();
    sh(&format!(
        "ip netns exec {dut} nft 'table ip lab {{ chain f {{ type filter hook forward priority 0; \
         numgen inc mod 10 == 9 counter drop comment \"every tenth\"; }}; }}'"
    ));
    let far = format!("{PORTS} --far-ports d1,d2 --far-netns {dut} {LIVE}");
    lab.run(&scratch, &format!("run {far} --out rule")).expect_complete();
    let mut lossy = 0;
    for trial in trials(&scratch, "rule") {
        let lost = count(&trial, "lost_frames");
        assert_eq!(count(&trial, "named_drops"), lost, "each loss has a place: {trial}");
        assert_eq!(count(&trial, "unknown_frames"), 0, "{trial}");
        lossy += u32::from(lost > 0);
    }
    assert!(lossy > 0, "no frame was dropped");
    assert!(page(&scratch, "rule").contains("rule every tenth ("), "the place of the loss");

    sh(&format!(
        "ip netns exec {dut} nft flush ruleset && ip netns exec {dut} tc qdisc add dev d2 root \
         tbf rate 400kbit burst 1600 limit 2000"
    ));
    lab.run(&scratch, &format!("run {far} --out queue")).expect_complete();
    let mut lossy = 0;
    for trial in trials(&scratch, "queue") {
        let lost = count(&trial, "lost_frames");
        assert_eq!(count(&trial, "named_drops"), lost, "each loss has a place: {trial}");
        assert_eq!(count(&trial, "unknown_frames"), 0, "{trial}");
        lossy += u32::from(lost > 0);
    }
    assert!(lossy > 0, "no load was too high");
    assert!(page(&scratch, "queue").contains("tbf of d2"), "the place of the loss");
}

/// The distribution's agent in the router's namespace, beside a link of its own to the tester.
struct Agent {
    process: Child,
    tester: String,
    _state: tempfile::TempDir,
}

impl Agent {
    fn start(lab: &Lab) -> Self {
        let (tester, dut) = (lab.tester(), lab.dut());
        sh(&format!(
            "ip -n {tester} link add m1 type veth peer name m2 netns {dut} && \
             ip -n {tester} addr add 10.7.7.2/24 dev m1 && ip -n {dut} addr add 10.7.7.1/24 dev m2 && \
             ip -n {tester} link set m1 up && ip -n {dut} link set m2 up"
        ));
        let state = tempfile::tempdir().expect("a folder for the agent");
        let arguments =
            ["-f", "-C", "-Lo", "-I", "-smux", "--rocommunity=lab", "--rwcommunity=all"];
        let process = Command::new("ip")
            .args(["netns", "exec", &dut, "snmpd"])
            .args(arguments)
            .arg("udp:10.7.7.1:161")
            .env("SNMP_PERSISTENT_DIR", state.path())
            .env("MIBS", "")
            .stdout(Stdio::null())
            .spawn()
            .expect("snmpd");
        let agent = Agent { process, tester, _state: state };
        agent.snmp("snmpget -v2c -c lab -r 20 -t 0.3 10.7.7.1 1.3.6.1.2.1.1.3.0");
        agent
    }

    fn snmp(&self, command: &str) {
        sh(&format!("MIBS= ip netns exec {} {command} > /dev/null", self.tester));
    }

    /// It reads the interfaces anew after so many seconds, and not after 15.
    fn forget_after(&self, seconds: u32) {
        let if_table = "1.3.6.1.4.1.8072.1.5.3.1.2.1.3.6.1.2.1.2.2";
        self.snmp(&format!("snmpset -v2c -c all 10.7.7.1 {if_table} i {seconds}"));
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Counters that are up to date are those of the kernel, to the frame; what no counter of the agent names
/// is lost within the device. Old counters are no counters.
#[test]
fn an_agent_is_believed_when_its_counters_are_up_to_date() {
    if !is_root() {
        return;
    }
    let (scratch, lab) = (Scratch::new(), silent("faragent"));
    let dut = lab.dut();
    sh(&format!(
        "ip netns exec {dut} nft 'table ip lab {{ chain f {{ type filter hook forward priority 0; \
         ip daddr 198.19.1.2 numgen inc mod 10 == 9 counter drop; }}; }}'"
    ));
    let agent = Agent::start(&lab);
    let index = sh(&format!("ip netns exec {dut} cat /sys/class/net/d2/ifindex"));
    let far =
        format!("{PORTS} --far-ports d1,{} --far-snmp 10.7.7.1 --far-community lab", index.trim());

    agent.forget_after(1);
    lab.run(&scratch, &format!("run {far} --far-lag 2500ms {LIVE} --out new")).expect_complete();
    for trial in trials(&scratch, "new") {
        assert!(!trial["notes"].to_string().contains("not read"), "{trial}");
        assert_eq!(count(&trial, "unknown_frames"), count(&trial, "lost_frames"), "{trial}");
        assert_eq!(count(&trial, "named_drops"), 0, "{trial}");
    }
    for result in balances(&scratch, "new") {
        let sent = result.pointer("/sent/0/report/sent_frames").and_then(Value::as_u64).unwrap();
        let lost = result.pointer("/streams/0/lost").and_then(Value::as_u64).unwrap();
        assert_eq!(result["balance"][0]["device_received"], sent, "{result}");
        assert_eq!(result["balance"][1]["device_sent"], sent - lost, "{result}");
    }
    let shown = page(&scratch, "new");
    assert!(shown.contains("lost within the device, at no place that a counter names"));

    // The agent shows counters of up to 15 s ago, and the tester is told that it shows none so old.
    agent.forget_after(15);
    lab.run(&scratch, &format!("run {far} --far-lag 200ms {LIVE} --out old")).expect_complete();
    let old = trials(&scratch, "old");
    let unread = old.iter().filter(|trial| trial["notes"].to_string().contains("not read"));
    assert!(unread.count() > 0, "old counters were taken for new: {old:?}");
    for result in balances(&scratch, "old") {
        let Some(read) = result["balance"].as_array().filter(|ports| !ports.is_empty()) else {
            continue;
        };
        let sent = result.pointer("/sent/0/report/sent_frames").and_then(Value::as_u64).unwrap();
        assert_eq!(read[0]["device_received"], sent, "a wrong count: {result}");
    }

    for (given, said) in [
        ("d1,d9 --far-snmp 10.7.7.1 --far-community lab", ["no interface d9", "(d1)"]),
        ("d1,d2 --far-snmp 10.7.7.1 --far-community wrong", ["does not answer", "--far-community"]),
        ("d1,d2 --far-snmp 10.7.7.1:9 --far-community lab", ["does not answer", "--far-snmp"]),
        ("d1,d2 --far-snmp no.such.host.invalid", ["no.such.host.invalid", "HOST:PORT"]),
    ] {
        let ran = lab.run(&scratch, &format!("run {PORTS} --far-ports {given} {LIVE} --out bad"));
        let ran = ran.expect(2);
        assert!(said.iter().all(|word| ran.stderr.contains(word)), "{given}: {}", ran.stderr);
    }
}
