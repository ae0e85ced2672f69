//! snappi as it is on PyPI, through devices of this machine.
#![allow(clippy::disallowed_methods)]

use crate::common::{Lab, is_root};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use testbed::{DeviceKind, Neighbours, TestbedConfig};

fn number(value: &Value) -> u64 {
    value.as_str().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{value}"))
}

/// 1,001 frames of 128 bytes, and 300 by weight of 90, 92, 594 and 1418 bytes.
fn counts_are_the_kernels(kind: &str, format: &str, over_grpc: bool) {
    if !is_root() {
        return;
    }
    let lab = Lab::build(&TestbedConfig::of(DeviceKind::LinuxBridge), over_grpc);
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("captured");
    let before = lab.testbed.tester_counters().unwrap();
    let said = lab.snappi("counts.py", &[kind, format, file.to_str().unwrap()]);
    let after = lab.testbed.tester_counters().unwrap();
    let flows = &said["flows"];
    for (flow, frames) in [("one", 1_001), ("two", 300)] {
        assert_eq!(number(&flows[flow]["frames_tx"]), frames, "{said}");
        assert_eq!(number(&flows[flow]["frames_rx"]), frames, "{said}");
        assert_eq!(flows[flow]["bytes_tx"], flows[flow]["bytes_rx"], "{said}");
        assert_eq!(flows[flow]["transmit"], "stopped");
    }
    assert_eq!(number(&flows["one"]["bytes_tx"]), 1_001 * 128);
    assert_eq!((&said["silent"], &flows["silent"]), (&json!(false), &Value::Null));
    assert_eq!(said["fetched"], json!([1_001, 300, 10]));
    let told = &flows["one"];
    assert_eq!(told["loss"], 0.0);
    let latency = |name: &str| told["latency"][name].as_f64().unwrap();
    assert!(latency("minimum_ns") > 0.0 && latency("minimum_ns") <= latency("average_ns"));
    assert!(latency("average_ns") <= latency("maximum_ns"));
    let stamp = |name: &str| told["timestamps"][name].as_f64().unwrap();
    // 1,001 frames at 2,000 a second, or longer where the machine was busy.
    let seconds = (stamp("last_timestamp_ns") - stamp("first_timestamp_ns")) / 1e9;
    assert!(seconds > 0.45, "{seconds}");
    // The kernel may have counted frames of its own probing between the two readings; the API none less.
    let moved = |port: &str, of: fn(&kernel::InterfaceCounters) -> u64| {
        of(&after[port]) - of(&before[port])
    };
    let sent = number(&said["ports"]["p1"]["frames_tx"]);
    assert!(sent >= 1_301 && sent <= moved("tester0", |counters| counters.tx_frames), "{said}");
    assert_eq!(sent, 1_301, "{said}");
    assert_eq!(number(&said["ports"]["p2"]["frames_tx"]), 10, "{said}");
    assert_eq!(number(&said["ports"]["p2"]["frames_rx"]), 1_301, "{said}");
    captured(&file);
}

fn captured(file: &Path) {
    let fields = ["ip.dst", "udp.dstport", "ip.dsfield.dscp", "vlan.id", "tcp.dstport"];
    let lines = Lab::tshark(file, &fields);
    assert_eq!(lines.len(), 1_301);
    // Frames are as long as the flow says, and tshark finds their FCS good (status 1).
    let sums = Lab::tshark(file, &["frame.len", "eth.fcs.status"]);
    assert_eq!(sums.iter().filter(|line| *line == "128\t1").count(), 1_001, "{:?}", &sums[..3]);
    assert!(sums.iter().all(|line| line.ends_with("\t1")), "{sums:?}");
    let udp: Vec<&String> = lines.iter().filter(|line| line.starts_with("10.")).collect();
    assert_eq!(udp.len(), 1_001);
    for (n, line) in udp.iter().enumerate() {
        // Frame n has value n mod count of each pattern.
        let expected = format!("10.0.1.{}\t{}\t46\t\t", 1 + n % 5, 2_000 + n % 2);
        assert_eq!(**line, expected, "frame {n}");
    }
    let tcp = lines.iter().filter(|line| *line == "\t\t\t7\t80").count();
    assert_eq!(tcp, 300);
    // tshark verifies checksums when it is told to; a bad one is an expert message.
    let output = Command::new("tshark")
        .args(["-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"])
        .args(["-o", "tcp.check_checksum:TRUE", "-r"])
        .arg(file)
        .args([
            "-Y",
            "ip.checksum.status==Bad || udp.checksum.status==Bad || tcp.checksum.status==Bad",
        ])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
}

#[test]
fn counts_over_af_packet_are_the_kernels_and_tshark_reads_the_pcap() {
    counts_are_the_kernels("af_packet:", "pcap", false);
}

#[test]
fn counts_over_xdp_and_grpc_are_the_kernels_and_tshark_reads_the_pcapng() {
    counts_are_the_kernels("xdp:", "pcapng", true);
}

/// A script of another author's kind, over REST and over gRPC: expected values follow from what it asks for.
fn a_foreign_script_gets_what_it_asks_for(over_grpc: bool) {
    if !is_root() {
        return;
    }
    let lab = Lab::build(&TestbedConfig::of(DeviceKind::LinuxBridge), over_grpc);
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("captured");
    let said = lab.snappi("foreign.py", &[file.to_str().unwrap()]);
    // 200 kbit/s of 250 bytes on the medium, over 0.5 s: 50 frames. 5 bursts of 4.
    for (flow, frames) in [("stack", 60), ("six", 40), ("timed", 50), ("bursts", 20)] {
        let told = &said["flows"][flow];
        assert_eq!(
            (number(&told["frames_tx"]), number(&told["frames_rx"])),
            (frames, frames),
            "{said}"
        );
        assert_eq!((&told["loss"], &told["transmit"]), (&json!(0.0), &json!("stopped")), "{said}");
    }
    // 20 times 128, 192 and 256.
    assert_eq!(number(&said["flows"]["stack"]["bytes_rx"]), 20 * (128 + 192 + 256), "{said}");
    assert!(said["flows"]["bursts"]["latency"]["minimum_ns"].as_f64().unwrap() > 0.0);
    let details = &said["details"]["bursts"];
    assert_eq!(details["frames_rx"], 20, "{details}");
    let buckets = details["latency"]["histogram"].as_array().unwrap();
    let frames: u64 = buckets.iter().map(|bucket| bucket["frames"].as_u64().unwrap()).sum();
    assert_eq!(frames, 20, "{details}");
    assert!(details["tester_kept_up"].is_boolean() && details["jitter_mean_ns"].is_number());
    assert_eq!(details["tester_kept_up"] == true, details["tester_fell_short"] == json!([]));
    let (paused, still) = (said["paused"][1].as_u64(), said["paused"][2].as_u64());
    assert_eq!((&said["paused"][0], paused), (&json!("paused"), still), "{said}");
    assert!((20..200).contains(&paused.unwrap()), "{said}");
    assert_eq!(number(&said["resumed"]["frames_rx"]), 200, "{said}");
    assert_eq!(number(&said["updated"]["bytes_tx"]), 200 * 300, "{said}");
    assert_eq!((&said["down"], &said["up"]), (&json!(["down"]), &json!(["up"])), "{said}");
    assert_eq!(number(&said["after_up"]["frames_rx"]), 50, "{said}");
    let warnings = said["warnings"].to_string();
    assert!(warnings.contains("layer1[0].media") && warnings.contains("1 Gb/s"), "{warnings}");
    assert_eq!(
        said["refused"][0],
        "devices[0].ipv4_loopbacks: netanvil does not support this; leave it out"
    );
    // The last capture: plain UDP alone passes the filters; every fourth frame is long, and words count up.
    let lines = Lab::tshark(&file, &["ip.dst", "ip.proto", "frame.len", "udp.payload"]);
    assert_eq!(lines.len(), 200);
    assert!(lines.iter().all(|line| line.starts_with("10.0.0.2\t17\t")), "{lines:?}");
    assert!(lines.iter().all(|line| line.split('\t').nth(3).unwrap().starts_with("000000010002")));
    let long = lines.iter().filter(|line| line.contains("\t512\t")).count();
    assert_eq!(long, 50);
}

#[test]
fn a_foreign_script_gets_what_it_asks_for_over_rest() {
    a_foreign_script_gets_what_it_asks_for(false);
}

#[test]
fn a_foreign_script_gets_what_it_asks_for_over_grpc() {
    a_foreign_script_gets_what_it_asks_for(true);
}

#[test]
fn devices_answer_a_router_and_send_through_it() {
    if !is_root() {
        return;
    }
    let config = TestbedConfig {
        neighbours: Neighbours::Dynamic,
        ..TestbedConfig::of(DeviceKind::LinuxRouter)
    };
    let lab = Lab::build(&config, false);
    let side = |port: usize| {
        let addresses = lab.testbed.ports()[port].addresses;
        json!({
            "mac": format!("02:00:00:00:00:1{port}"),
            "ipv4": addresses.ipv4.host.to_string(), "gateway4": addresses.ipv4.device.to_string(),
            "ipv6": addresses.ipv6.host.to_string(), "gateway6": addresses.ipv6.device.to_string(),
        })
    };
    let sides = json!([side(0), side(1)]);
    let said = lab.snappi("devices.py", &[&sides.to_string()]);
    for port in 0..2 {
        let mac = lab.testbed.ports()[port].device_mac.expect("a router has one");
        let mac: Vec<String> = mac.iter().map(|byte| format!("{byte:02x}")).collect();
        for gateway in ["gateway4", "gateway6"] {
            let gateway = sides[port][gateway].as_str().unwrap();
            assert_eq!(said["neighbours"][gateway], mac.join(":"), "{said}");
        }
    }
    for flow in ["v4", "v6"] {
        // 200 frames from each side.
        assert_eq!(number(&said["flows"][flow]["frames_tx"]), 400, "{said}");
        assert_eq!(number(&said["flows"][flow]["frames_rx"]), 400, "{said}");
    }
    // The kernel's own word for whom it has asked and heard.
    let device = lab.testbed.device().unwrap();
    let output =
        Command::new("ip").args(["-n", device.namespace().name(), "neigh"]).output().unwrap();
    let neighbours = String::from_utf8_lossy(&output.stdout).to_string();
    for side in sides.as_array().unwrap() {
        for address in ["ipv4", "ipv6"] {
            let (address, mac) = (side[address].as_str().unwrap(), side["mac"].as_str().unwrap());
            let told = neighbours
                .lines()
                .any(|line| line.starts_with(&format!("{address} ")) && line.contains(mac));
            assert!(told, "{address} {mac}\n{neighbours}");
        }
    }
}
