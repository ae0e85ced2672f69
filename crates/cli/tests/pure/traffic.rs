//! `netanvil traffic` as its users run it, on simulated devices, whose truth is in their files.

use crate::common;
use crate::common::{Ran, Scratch, pcap};
use serde_json::{Value, json};

fn traffic(scratch: &Scratch, arguments: &str, more: &[&str]) -> Ran {
    let mut command = scratch.command(&format!("traffic {arguments}"));
    command.args(more).output().expect("netanvil starts").into()
}

fn json_lines(ran: &Ran) -> Vec<Value> {
    ran.stdout.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

fn sum(lines: &[Value], key: &str) -> i64 {
    let seconds = lines.iter().filter(|line| line["event"] == "second");
    seconds.map(|line| line[key].as_i64().expect(key)).sum()
}

/// The built-in router takes 10 us for a frame, and 100 wait: of 150,000 a second 100,000 come out.
#[test]
fn every_frame_is_accounted_for_second_by_second() {
    let scratch = Scratch::new();
    let ran =
        traffic(&scratch, "--sim router --rate 150kpps --duration 3sec --json", &[]).expect(0);
    let lines = json_lines(&ran);
    let events: Vec<&str> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["start", "second", "second", "second", "summary"]);
    let summary = &lines[4];
    let count = |key: &str| summary[key].as_i64().expect(key);
    assert_eq!(count("sent_frames"), 450_000);
    assert!((300_000..=300_102).contains(&count("received_frames")), "{summary}");
    assert_eq!(count("received_frames") + count("lost_frames"), 450_000);
    for key in ["sent_frames", "received_frames", "lost_frames"] {
        assert_eq!(sum(&lines, key), count(key), "{key}");
    }
    assert_eq!(lines[1]["sent_frames"], 150_000);
    assert!(!scratch.path().join("runs").exists(), "traffic keeps no folder");
}

/// Such as a person sees it.
#[test]
fn a_line_a_second_and_a_screen_at_the_end() {
    let scratch = Scratch::new();
    let ran = traffic(&scratch, "--sim bridge --rate 1% --duration 4s --vlan 7 --sizes 128", &[])
        .expect(0);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{}", ran.stdout);
    assert!(lines.len() < 24, "{}", ran.stdout);
    let head =
        lines.iter().position(|line| line.trim_start().starts_with("time ")).expect("a head");
    for (second, line) in lines[head + 1..head + 5].iter().enumerate() {
        // 1 % of the maximum of frames of 128 bytes at 1 Gb/s (RFC 2544 section 20): 844,594.6.
        let words: Vec<&str> = line.split_whitespace().collect();
        let time = format!("{}s", second + 1);
        assert_eq!((words[0], words[3], words[4]), (time.as_str(), "0", "0"), "{line}");
        assert!(["8,445", "8,446"].contains(&words[1]), "{line}");
    }
    for word in ["sent ", "received ", "lost ", "latency ", "kept up", "VLAN 7"] {
        assert!(ran.stdout.contains(word), "{word}: {}", ran.stdout);
    }
    let quiet = traffic(&scratch, "--sim router --rate 1% --duration 2s --quiet", &[]).expect(0);
    assert!(quiet.stdout.trim_start().starts_with("sent "), "{}", quiet.stdout);
}

#[test]
fn the_exit_code_follows_the_criteria() {
    let scratch = Scratch::new();
    let load = "--sim router --rate 150kpps --duration 1s --quiet";
    for (criterion, code, verdict) in [
        ("loss > 40%", 0, "loss > 40%? no: passed"),
        ("loss > 30%", 1, "loss > 30%? yes: FAILED"),
        ("rate < 99kpps", 0, "passed"),
        ("rate < 0.11Mpps", 1, "FAILED"),
        ("latency_max > 2ms", 0, "passed"),
        ("latency_p50 > 1us", 1, "FAILED"),
    ] {
        let ran = traffic(&scratch, load, &["--fail-if", criterion]).expect(code);
        assert!(ran.stdout.contains(verdict), "{criterion}: {}", ran.stdout);
    }
}

/// A tester that sends 40,000 frames a second of 50,000 says nothing of the device.
#[test]
fn a_tester_that_fell_short_decides_nothing() {
    let scratch = Scratch::new();
    let router = include_str!("../../../sim/devices/router.toml");
    let weak = format!("{router}\n[tester]\nframes-per-second = 40000\n");
    scratch.file("weak.toml", &weak);
    let load = "--sim weak.toml --rate 50kpps --duration 2s --quiet";
    let ran = traffic(&scratch, load, &["--fail-if", "lost > 0"]).expect(3);
    assert!(
        ran.stdout.contains("FELL SHORT") && ran.stdout.contains("undecided"),
        "{}",
        ran.stdout
    );
}

/// What is sent through a device that takes it arrives, whatever it is made of.
#[test]
fn frames_of_every_kind_are_counted() {
    let scratch = Scratch::new();
    let send = "--rate 5kpps --duration 1s --json";
    for options in [
        "--sim router --protocol udp_ipv6 --sizes 128",
        "--sim router --ipv6-percent 30 --sizes 128",
        "--sim router --bidirectional --sizes imix",
        "--sim router --flows 1000 --vary dst-port,src-port",
        "--sim router --flows 256 --vary dst-ip",
        "--sim router --destinations random",
        "--sim bridge --vlan 100 --sizes 128",
        "--sim bridge --vlan 100,200 --sizes 128",
        "--sim bridge --protocol ethernet --sizes 64..1518/100",
        "--sim bridge --protocol ipx_raw --sizes 128",
        "--sim bridge --flows 50 --vary src-mac",
        "--sim router --protocol udp_ipv6 --extension-headers destination --sizes 128",
    ] {
        let ran = traffic(&scratch, &format!("{options} {send}"), &[]).expect(0);
        let lines = json_lines(&ran);
        let summary = lines.last().unwrap();
        let both = if options.contains("bidirectional") { 2 } else { 1 };
        assert_eq!(summary["sent_frames"], 5_000 * both, "{options}: {summary}");
        assert_eq!(summary["received_frames"], 5_000 * both, "{options}: {summary}");
        assert_eq!(summary["lost_frames"], 0, "{options}");
        assert!(summary["latency"]["frames"].as_u64().unwrap() > 0, "{options}: {summary}");
    }
}

#[test]
fn what_is_wrong_is_said_with_what_to_write() {
    let scratch = Scratch::new();
    let refused = |arguments: &str, more: &[&str], what: &str| {
        let ran = traffic(&scratch, arguments, more).expect(2);
        assert!(ran.stderr.contains(what), "{arguments} {more:?}: {}", ran.stderr);
    };
    refused("--sim router --rate 10", &[], "10pps, 10Mbit/s or 10%");
    refused("--sim router --rate fast", &[], "1Mpps, 500Mbit/s");
    refused("--sim router --rate 120%", &[], "40%");
    refused("--sim router", &[], "--rate");
    refused("--rate 1kpps", &[], "--device linux-router");
    refused("--sim ruoter --rate 1kpps", &[], "built in are");
    refused("--sim router --rate 1kpps --duration soon", &[], "60s");
    refused("--sim router --rate 1kpps --duration 0s", &[], "forever");
    refused("--sim router --rate 2Mpps", &[], "more than");
    refused("--sim router --rate 1kpps --sizes 64,128", &[], "dist:64*7,1518*3");
    refused("--sim router --rate 1kpps --vary dst-port", &[], "--flows");
    refused("--sim router --rate 1kpps --flows 3 --vary dst-prot", &[], "dst-port");
    refused("--sim router --rate 1kpps --flows 90000", &[], "1 to 64512");
    refused("--sim bridge --rate 1kpps --flows 9 --vary dst-ip", &[], "only a router");
    refused("--sim router --rate 1kpps --protocol ethernet", &[], "a router forwards no");
    refused("--sim router --rate 1kpps --drop-every 9", &[], "no effect on traffic");
    refused("--sim router --rate 1kpps --accept throughput>=1", &[], "--accept has no effect");
    refused(
        "--device linux-mcast --rate 1kpps --multicast table",
        &[],
        "--multicast has no effect",
    );
    refused("--sim router --rate 1kpps --out here", &[], "--out has no effect");
    refused("--sim router --rate 1kpps --set latency.repetitions=5", &[], "latency.repetitions");
    refused("--sim router --rate 1kpps", &["--fail-if", "speed > 1"], "latency_p99");
    refused("--sim router --rate 1kpps", &["--fail-if", "latency_p99 > 10"], "10us");
    refused("--sim router --rate 1kpps --line-rate 10", &[], "10G");
}

#[test]
fn help_shows_what_traffic_has_and_nothing_else() {
    let scratch = Scratch::new();
    let help = scratch.run("traffic --help").expect(0).stdout;
    for word in ["--rate", "--duration <TIME|forever>", "--flows", "--vary", "--vlan", "--fail-if"]
    {
        assert!(help.contains(word), "{word} is missing in\n{help}");
    }
    for word in ["--accept", "--resolution", "--goal", "--resume", "--loss-tolerance", "--out "] {
        assert!(!help.contains(word), "{word} has no effect");
    }
    // Elsewhere a duration has an end.
    let ran = scratch.run("run --sim router --duration forever").expect(2);
    assert!(ran.stderr.contains("is no time"), "{}", ran.stderr);
}

/// Ctrl-C ends sending, and not the accounts.
#[test]
fn an_interrupt_prints_the_summary() {
    use std::io::{BufRead, BufReader, Read};
    let scratch = Scratch::new();
    let mut command = scratch
        .command("traffic --sim router --rate 1kpps --duration forever --json --config own.toml");
    scratch.file("own.toml", "duration = \"7s\"\n[trial]\nkeep_alives = false\n");
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut seen = String::new();
    for _ in 0..4 {
        stdout.read_line(&mut seen).unwrap();
    }
    common::sh(&format!("kill -INT {}", child.id()));
    stdout.read_to_string(&mut seen).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let lines: Vec<Value> = seen.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let summary = lines.last().unwrap();
    assert_eq!(summary["event"], "summary", "{summary}");
    let sent = summary["sent_frames"].as_i64().unwrap();
    assert!(sent >= 3_000 && summary["received_frames"] == sent, "{summary}");
    assert_eq!(sum(&lines, "sent_frames"), sent);
}

/// `| head -2`: a reader that went away ends traffic that would go on forever.
#[test]
fn a_reader_that_goes_away_ends_it() {
    use std::io::{BufRead, BufReader};
    let scratch = Scratch::new();
    let mut command = scratch.command("traffic --sim router --rate 1kpps --duration forever");
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut String::new()).unwrap();
    drop(stdout);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// Voice, video and bulk in one load: six, three and one of ten frames.
#[test]
fn streams_of_a_file_take_their_shares() {
    let scratch = Scratch::new();
    let file = "[[stream]]\nname = \"voice\"\nweight = 6\nsize = 218\n\n\
                [[stream]]\nname = \"video\"\nweight = 3\nprotocol = \"udp_ipv6\"\nsize = 1300\n\n\
                [[stream]]\nname = \"bulk\"\nflows = 100\nvary = [\"src-port\"]\n";
    scratch.file("mix.toml", file);
    let load = "--sim router --streams mix.toml --rate 10kpps --duration 2s --sizes 1518";
    let ran = traffic(&scratch, &format!("{load} --bidirectional --json"), &[]).expect(0);
    let lines = json_lines(&ran);
    assert_eq!(lines[0]["streams"][2]["frame_size"], "1518", "the option's size");
    let streams = lines.last().unwrap()["streams"].as_array().unwrap();
    let of = |name: &str| streams.iter().find(|stream| stream["name"] == name).expect(name);
    for (name, frames) in [("voice", 12_000), ("video", 6_000), ("bulk", 2_000)] {
        for direction in ["forward", "reverse"] {
            let stream = of(&format!("{name} {direction}"));
            assert_eq!(stream["sent_frames"], frames, "{stream}");
            assert_eq!(stream["received_frames"], frames, "{stream}");
        }
    }
    assert_eq!(lines.last().unwrap()["flows"], 200, "of both directions");
    let text = traffic(&scratch, load, &[]).expect(0).stdout;
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for what in ["1 voice (weight 6)", "stream  ", "bulk "] {
        assert!(text.contains(what), "{what}: {text}");
    }

    for (wrong, what) in [
        ("[[stream]]\nname = \"a\"\nweigth = 3\n", "did you mean `weight`"),
        ("[[stream]]\nname = \"a\"\nweight = 0\n", "stream a: a weight of 0"),
        ("[[stream]]\nname = \"a\"\nvary = [\"dst-port\"]\n", "without `flows`"),
        ("[[stream]]\nname = \"a\"\nsize = [64, 65]\n", "in stream a"),
        ("[[stream]]\nname = \"a\"\nvlan = [5000]\n", "1 to 4094"),
        ("[[stream]]\nname = \"a\"\nprotocol = \"ethernet\"\n", "stream a: a router forwards"),
        ("[[stream]]\nname = \"a\"\n[[stream]]\nname = \"a\"\n", "two streams"),
        ("stream = []\n", "[[stream]]"),
        ("[[stream]]\nname = \"\"\n", "[[stream]]"),
    ] {
        scratch.file("wrong.toml", wrong);
        let refused =
            traffic(&scratch, "--sim router --rate 1kpps --streams wrong.toml", &[]).expect(2);
        assert!(refused.stderr.contains(what), "{what}: {}", refused.stderr);
    }
}

/// Four frames within 3 ms, and 1 ms to the first again: 250 rounds in a second.
#[test]
fn a_capture_is_sent_at_a_rate_or_as_it_was_timed() {
    let scratch = Scratch::new();
    let frames = [(0, 100), (500, 4), (2_500, 1_000), (3_000, 60)];
    std::fs::write(scratch.path().join("trace.pcap"), pcap(&frames)).unwrap();
    let send = "--sim router --pcap trace.pcap --rewrite mac,ip --json";
    for (how, sent) in [
        ("--rate 2kpps --duration 2s", 4_000),
        ("--as-timed --duration 1s", 1_000),
        ("--as-timed", 4),
        ("--rate 1kpps --duration 1s --bidirectional", 2_000),
    ] {
        let ran = traffic(&scratch, &format!("{send} {how}"), &[]).expect(0);
        let lines = json_lines(&ran);
        let summary = lines.last().unwrap();
        assert_eq!(summary["sent_frames"], sent, "{how}: {summary}");
        assert_eq!(summary["received_frames"], sent, "{how}: {summary}");
        assert_eq!(summary["corrupted_frames"], 0, "{how}: {summary}");
        assert_eq!(summary["latency"]["frames"], sent, "{how}: {summary}");
        let what = &lines[0]["streams"][0];
        // 14 + 20 + 8 + payload + 4 bytes; the second grows by 18.
        assert_eq!(what["frame_size"], "68 to 1046", "{what}");
        let words = what["traffic"].as_str().unwrap();
        assert!(words.contains("4 ready frames, 1 of them longer"), "{words}");
    }
    // Addresses as they are mean nothing to this router.
    let ran = traffic(&scratch, "--sim router --pcap trace.pcap --rate 1kpps --duration 1s", &[]);
    assert!(ran.expect(0).stdout.contains("Nothing came back."));

    let mut cut = pcap(&frames);
    cut.truncate(cut.len() - 5);
    std::fs::write(scratch.path().join("cut.pcap"), cut).unwrap();
    let mut fragment = pcap(&frames[..1]);
    fragment[24 + 16 + 20] = 0x20;
    std::fs::write(scratch.path().join("fragment.pcap"), fragment).unwrap();
    std::fs::write(scratch.path().join("once.pcap"), pcap(&[(7, 100)])).unwrap();
    let refused = |arguments: &str, what: &str| {
        let ran = traffic(&scratch, &format!("--sim router {arguments}"), &[]).expect(2);
        assert!(ran.stderr.contains(what), "{arguments}: {}", ran.stderr);
    };
    refused("--pcap nothing.pcap --rate 1kpps", "cannot read nothing.pcap");
    refused("--pcap cut.pcap --rate 1kpps", "cut off");
    for length in [0u16, 7, 109] {
        let mut wrong = pcap(&frames);
        // Behind the file's header and the first frame and its header, and Ethernet, IPv4 and ports of the second.
        let at = 24 + (16 + 142) + 16 + 14 + 20 + 4;
        assert_eq!(wrong[at..at + 2], 12u16.to_be_bytes());
        wrong[at..at + 2].copy_from_slice(&length.to_be_bytes());
        std::fs::write(scratch.path().join("length.pcap"), wrong).unwrap();
        let why = "frame 2 of the capture: its headers are wrong: UDP datagram";
        refused("--pcap length.pcap --rate 1kpps", why);
    }
    let frame = &pcap(&frames[..1])[40..];
    std::fs::write(scratch.path().join("frame.bin"), frame).unwrap();
    refused("--pcap frame.bin --rate 1kpps", "neither a pcap nor a pcapng file");
    refused("--pcap fragment.pcap --rate 1kpps", "frame 1 of the capture: it is a fragment");
    refused("--pcap once.pcap --as-timed", "--rate 10kpps");
    refused("--pcap once.pcap --as-timed", "only one frame");
    std::fs::write(scratch.path().join("back.pcap"), pcap(&[(9, 100), (8, 100)])).unwrap();
    refused("--pcap back.pcap --as-timed", "run backward, from frame 2 on");
    refused("--pcap trace.pcap --rate 1kpps --bidirectional", "rewrite mac");
    refused("--pcap trace.pcap --rate 1kpps --vlan 3", "--vlan has no effect");
    refused("--pcap trace.pcap --rate 1kpps --as-timed", "--rate");
    refused("--pcap trace.pcap", "--rate");
    refused("--pcap trace.pcap --rate 1kpps --rewrite port", "mac");
    refused("--as-timed", "--pcap");
}

/// 200 frames, 10 ms apart but for one gap of 300 ms: 199 distances of 2.28 s, and their mean to the first frame again.
#[test]
fn a_capture_of_200_frames_is_200_frames_and_its_time_can_be_read() {
    let scratch = Scratch::new();
    let at_us = |frame: u32| frame * 10_000 + if frame >= 100 { 290_000 } else { 0 };
    let frames: Vec<_> = (0..200).map(|frame| (at_us(frame), 100)).collect();
    std::fs::write(scratch.path().join("trace.pcap"), pcap(&frames)).unwrap();
    let send = "--sim router --pcap trace.pcap --rewrite mac,ip --as-timed";
    let ran = traffic(&scratch, send, &[]).expect(0);
    let line = |word: &str| ran.stdout.lines().find(|line| line.starts_with(word)).unwrap();
    // 2.28 s x 200 / 199.
    assert!(line("one way").ends_with(", 2.291 s"), "{}", ran.stdout);
    assert!(line("sent").contains(" 200 frames"), "{}", ran.stdout);
    assert!(line("received").contains(" 200 frames"), "{}", ran.stdout);
    let sent = |ran: &Ran| json_lines(ran).last().unwrap()["sent_frames"].as_u64();
    let repeated = traffic(&scratch, &format!("{send} --json --duration 4571ms"), &[]).expect(0);
    // The second round begins after 2.2915 s and has its last frame 2.28 s later, after 4.5715 s.
    assert_eq!(sent(&repeated), Some(399));
}

/// Two flows of a file of the OTG API, 6,000 and 2,000 frames a second: three turns and one.
#[test]
fn flows_of_an_otg_file_have_their_rates_or_share_one() {
    let scratch = Scratch::new();
    let flow = |name: &str, pps: u64, size: u64| {
        serde_json::json!({
            "name": name,
            "tx_rx": {"choice": "port", "port": {"tx_name": "p1", "rx_names": ["p2"]}},
            "packet": [
                {"choice": "ethernet", "ethernet": {}},
                {"choice": "ipv4", "ipv4": {}},
                {"choice": "udp", "udp": {"dst_port": {
                    "choice": "increment", "increment": {"start": 5000, "step": 1, "count": 10}}}}
            ],
            "size": {"choice": "fixed", "fixed": size},
            "rate": {"choice": "pps", "pps": pps},
            "metrics": {"enable": true}
        })
    };
    let mut config = serde_json::json!({
        "ports": [{"name": "p1", "location": "eth1"}, {"name": "p2", "location": "eth2"}],
        "flows": [flow("voice", 6_000, 128), flow("bulk", 2_000, 1_000)]
    });
    scratch.file("flows.json", &config.to_string());
    let send = "--sim router --otg flows.json --rewrite mac,ip --json";
    for (load, voice, bulk) in
        [("--duration 2s", 12_000, 4_000), ("--rate 4kpps --duration 1s", 3_000, 1_000)]
    {
        let lines = json_lines(&traffic(&scratch, &format!("{send} {load}"), &[]).expect(0));
        let summary = lines.last().unwrap();
        assert_eq!(summary["sent_bytes"], voice * 128 + bulk * 1_000, "{load}: {summary}");
        assert_eq!(summary["lost_frames"], 0, "{load}: {summary}");
        for (name, frames) in [("voice", voice), ("bulk", bulk)] {
            let streams = summary["streams"].as_array().unwrap();
            let stream = streams.iter().find(|stream| stream["name"] == name).expect(name);
            assert_eq!(stream["received_frames"], frames, "{load}: {stream}");
        }
    }
    // As they are, the addresses mean nothing to the router, and the option that mends it is named.
    let ran =
        traffic(&scratch, &send.replace("--rewrite mac,ip --json", "--duration 1s"), &[]).expect(0);
    assert!(ran.stdout.contains("--rewrite mac,ip"), "{}", ran.stdout);

    let refused = |arguments: &str, what: &str| {
        let ran = traffic(&scratch, &format!("--sim router {arguments}"), &[]).expect(2);
        assert!(ran.stderr.contains(what), "{arguments}: {}", ran.stderr);
    };
    refused("--otg flows.json --vlan 3", "--vlan has no effect on the frames of --otg");
    refused("--otg missing.json", "cannot read missing.json");
    config["flows"][1]["rate"] = serde_json::json!({"choice": "percentage", "percentage": 5});
    scratch.file("share.json", &config.to_string());
    refused("--otg share.json", "share.json: flows[1].rate: a share of a line");
    refused("--otg flows.json --pcap a.pcap", "cannot be used with");
    refused("--rewrite mac --rate 1kpps", "--pcap");
}

/// Every frame is as long as its flow says, whatever its headers are and whatever they say (IEEE 802.3: 128 bytes with
/// FCS; 1518 are no giant).
#[test]
fn flows_of_an_otg_file_keep_their_sizes_whatever_their_headers() {
    let scratch = Scratch::new();
    let given = |name: &str, fields: Value| json!({"choice": name, name: fields});
    let value = |value: u64| json!({"choice": "value", "value": value});
    let mac = |last: u64| json!({"choice": "value", "value": format!("02:00:00:00:00:0{last}")});
    let eth = given("ethernet", json!({"src": mac(1), "dst": mac(2)}));
    let udp = given("udp", json!({}));
    let ip = |fields: Value| given("ipv4", fields);
    let plain = ip(json!({}));
    let mpls = given("mpls", json!({"label": value(16)}));
    let icmp = json!({"choice": "icmp", "icmp": {"choice": "echo", "echo": {}}});
    let kinds = [
        ("udp", json!([eth, plain, udp])),
        ("tcp", json!([eth, plain, given("tcp", json!({}))])),
        ("icmp", json!([eth, plain, icmp])),
        ("mpls", json!([eth, mpls, plain, udp])),
        ("arp", json!([eth, given("arp", json!({}))])),
        ("ethernet", json!([eth])),
        ("ipv4", json!([eth, plain])),
        ("ipv6", json!([eth, given("ipv6", json!({}))])),
        ("gre", json!([eth, plain, given("gre", json!({})), plain, udp])),
        ("igmp", json!([eth, plain, given("igmpv1", json!({}))])),
        ("ppp", json!([eth, given("ppp", json!({}))])),
        ("custom", json!([eth, given("custom", json!({"bytes": "aabbcc"}))])),
        ("short", json!([eth, ip(json!({"total_length": value(60)})), udp])),
        ("fragment", json!([eth, ip(json!({"more_fragments": value(1)})), udp])),
    ];
    for (name, packet) in kinds {
        for size in [128, 1_518] {
            let config = json!({
                "ports": [{"name": "p1", "location": "eth1"}, {"name": "p2", "location": "eth2"}],
                "flows": [{
                    "name": name,
                    "tx_rx": {"choice": "port", "port": {"tx_name": "p1", "rx_names": ["p2"]}},
                    "packet": packet,
                    "size": {"choice": "fixed", "fixed": size},
                    "rate": {"choice": "pps", "pps": 100},
                    "metrics": {"enable": true}
                }]
            });
            scratch.file("flows.json", &config.to_string());
            for more in ["", "--rewrite mac,ip"] {
                let send = format!(
                    "--sim bridge --otg flows.json --duration 1s --json --quiet --rate 100pps {more}"
                );
                let lines = json_lines(&traffic(&scratch, &send, &[]).expect(0));
                let summary = lines.last().unwrap();
                let told = (&summary["sent_frames"], &summary["sent_bytes"]);
                assert_eq!(told, (&json!(100), &json!(100 * size)), "{name} {more}");
                // IGMP ends at a simulated port, and is no frame that was carried.
                if name != "igmp" {
                    assert_eq!(summary["lost_frames"], 0, "{name} {size} {more}");
                }
                assert_eq!(summary["corrupted_frames"], 0, "{name} {more}");
            }
        }
    }
    // Beside --rewrite mac both ports would send with the same addresses.
    let ran = traffic(&scratch, "--sim bridge --otg flows.json --bidirectional", &[]).expect(2);
    assert!(ran.stderr.contains("rewrite mac"), "{}", ran.stderr);
}
