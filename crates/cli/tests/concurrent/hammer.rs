//! `hammer` on one end of a virtual link and `anvil` on the other, and what goes wrong.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "waits for processes")]

use crate::common;
use crate::common::{Ran, Scratch, is_root, sh};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

const ROUTER: &str = "aa0004000104";

/// Two namespaces with a virtual link between them on which nobody else speaks.
struct Link {
    name: String,
}

impl Link {
    fn new(role: &str) -> Link {
        let link = Link { name: format!("netanvil-hammer-{}-{role}", std::process::id()) };
        let ends = [link.end(1), link.end(2)];
        sh(&format!("ip netns add {} && ip netns add {}", ends[0], ends[1]));
        let [near, far] = ends;
        sh(&format!("ip -n {near} link add eth1 type veth peer name eth2 netns {far}"));
        for (end, interface) in [(near, "eth1"), (far, "eth2")] {
            sh(&format!(
                "ip netns exec {end} sysctl -qw net.ipv6.conf.{interface}.disable_ipv6=1 && \
                 ip -n {end} link set {interface} up"
            ));
        }
        link
    }

    fn end(&self, number: u8) -> String {
        format!("{}-{number}", self.name)
    }

    /// The program at an end.
    fn at(&self, end: u8, scratch: &Scratch, arguments: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.end(end), env!("CARGO_BIN_EXE_netanvil")]);
        command.args(arguments.split_whitespace()).current_dir(scratch.path());
        command.stdin(Stdio::null());
        command
    }

    fn hammer(&self, scratch: &Scratch, arguments: &str) -> Ran {
        let arguments = format!("hammer -i eth1 --json {arguments}");
        self.at(1, scratch, &arguments).output().expect("it starts").into()
    }

    /// Starts anvil at the far end; returns when it counts.
    fn anvil(&self, scratch: &Scratch, arguments: &str) -> Counting {
        let mut command = self.at(2, scratch, &format!("anvil -i eth2 --json {arguments}"));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut line = String::new();
        let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
        stderr.read_line(&mut line).expect("a line");
        assert!(line.contains("counting on eth2"), "{line}");
        Counting { child, stderr }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        for end in [1, 2] {
            let _ = Command::new("ip").args(["netns", "del", &self.end(end)]).status();
        }
    }
}

/// An anvil that counts, killed when it is dropped.
struct Counting {
    child: Child,
    stderr: BufReader<std::process::ChildStderr>,
}

impl Counting {
    /// Ends it as Ctrl-C does.
    fn end(self, code: i32) -> (Value, String) {
        sh(&format!("kill -INT {}", self.child.id()));
        self.wait(code)
    }

    fn wait(mut self, code: i32) -> (Value, String) {
        use std::io::Read;
        let mut stdout = String::new();
        self.child.stdout.take().expect("piped").read_to_string(&mut stdout).expect("text");
        let mut said = String::new();
        self.stderr.read_to_string(&mut said).expect("text");
        assert_eq!(self.child.wait().expect("a child").code(), Some(code), "{said}");
        (serde_json::from_str(&stdout).expect(&stdout), said)
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).expect(&ran.stdout)
}

/// A raw frame of this size (FCS included): UDP to the discard port, from host 1 to host 2.
fn udp_frame(size: usize) -> Vec<u8> {
    use std::net::Ipv4Addr;
    use wire::ethernet::MacAddr;
    let hosts = [1, 2].map(|n| (MacAddr([2, 0, 0, 0, 0, n]), Ipv4Addr::new(198, 18, 0, n)));
    let template = traffic::test_frame::template(hosts[0], hosts[1]);
    template.build(0, units::FrameSize::from_bytes(size as u32), None).expect("a frame")
}

/// A capture by tcpdump of everything that arrives at the far end.
fn captured(link: &Link, scratch: &Scratch, hammer: &str, frames: u64) -> std::path::PathBuf {
    let file = scratch.path().join("far.pcap");
    let mut tcpdump = Command::new("ip")
        .args(["netns", "exec", &link.end(2), "tcpdump", "-i", "eth2", "--immediate-mode", "-w"])
        .args([&file.display().to_string(), "-c", &frames.to_string(), "-Z", "root"])
        .stderr(Stdio::piped())
        .spawn()
        .expect("tcpdump");
    let mut line = String::new();
    BufReader::new(tcpdump.stderr.take().expect("piped")).read_line(&mut line).expect("a line");
    link.hammer(scratch, hammer).expect(0);
    assert!(tcpdump.wait().expect("a child").success());
    file
}

#[test]
fn what_hammer_sends_anvil_counts_to_the_last_frame() {
    if !is_root() {
        return;
    }
    let (link, scratch) = (Link::new("count"), Scratch::new());
    std::fs::write(scratch.path().join("p64"), udp_frame(64)).unwrap();
    let anvil = link.anvil(&scratch, "");
    // Four frames a turn: three of 64 bytes, one of 200; 2,000 turns and one frame.
    let words = format!("-t{ROUTER} -n3 +200 p64*3 --rate 10000 --frames 8001");
    let sent = json(&link.hammer(&scratch, &words).expect(0));
    assert_eq!((&sent["frames"], &sent["turns"]), (&8_001.into(), &2_000.into()));
    assert_eq!(sent["bytes"], 2_000 * (3 * 64 + 200) + 64);
    assert_eq!(sent["interface_sent_frames"], 8_001);
    let (counted, _) = anvil.end(0);
    assert_eq!((&counted["frames"], &counted["bytes"]), (&sent["frames"], &sent["bytes"]));
    assert_eq!(
        (&counted["lost_by_anvil_frames"], &counted["faulty_frames"]),
        (&0.into(), &0.into())
    );
    assert_eq!(counted["interface_received_frames"], 8_001);
    let expected =
        r#"[{"frame_size_bytes":64,"frames":6001},{"frame_size_bytes":200,"frames":2000}]"#;
    assert_eq!(counted["lengths"], serde_json::from_str::<Value>(expected).unwrap());
    let composition = counted["composition"].as_array().unwrap();
    assert_eq!(composition[0]["protocols"], serde_json::json!(["IPv4", "UDP"]));
    assert_eq!(composition[0]["frames"], 6_001);
    assert_eq!(composition[1]["protocols"], serde_json::json!(["EtherType 0x88b5"]));
    // Evenly spaced: the rate is the one asked for, unless the tester says that it fell short.
    let fps = sent["rate_fps"].as_f64().unwrap();
    assert!((9_990.0..10_010.0).contains(&fps) || sent["notes"].to_string().contains("fell short"));
}

/// What was handed over at once left as the interface liked: no rate is made of it.
#[test]
fn a_handful_of_frames_has_no_rate() {
    if !is_root() {
        return;
    }
    let (link, scratch) = (Link::new("few"), Scratch::new());
    std::fs::write(scratch.path().join("p64"), udp_frame(64)).unwrap();
    let sent = json(&link.hammer(&scratch, "p64*4 --turns 1").expect(0));
    assert_eq!((&sent["frames"], &sent["rate_fps"]), (&4.into(), &Value::Null));
}

/// Slow mode: bursts of back-to-back frames, then runts, then addresses.
#[test]
fn slow_turns_runts_and_addresses_arrive_as_they_were_made() {
    if !is_root() {
        return;
    }
    let (link, scratch) = (Link::new("slow"), Scratch::new());
    std::fs::write(scratch.path().join("p64"), udp_frame(64)).unwrap();
    let hammer = format!("-t{ROUTER} -s50 -n9 +55 p64*9 --turns 4");
    let file = captured(&link, &scratch, &hammer, 40);
    let fields = "-e frame.len -e frame.time_epoch -e eth.dst";
    let rows = sh(&format!("tshark -r {} -T fields {fields}", file.display()));
    let rows: Vec<Vec<&str>> = rows.lines().map(|row| row.split('\t').collect()).collect();
    assert_eq!(rows.len(), 40);
    let time = |row: usize| rows[row][1].parse::<f64>().expect("a time");
    for (index, row) in rows.iter().enumerate() {
        let pad = index % 10 == 9;
        assert_eq!(row[0], if pad { "51" } else { "60" }, "row {index}");
        let address = if pad { "02:00:00:00:00:00" } else { "aa:00:04:00:01:04" };
        assert_eq!(row[2], address, "row {index}");
    }
    // Turns begin 50 ms apart; only a machine that was held up is later, and none is early.
    for turn in 1..4 {
        assert!(time(turn * 10) - time(0) > 0.049 * turn as f64, "turn {turn}");
    }
}

#[test]
fn a_flood_loses_nothing_in_the_counting() {
    if !is_root() {
        return;
    }
    let (link, scratch) = (Link::new("flood"), Scratch::new());
    std::fs::write(scratch.path().join("p64"), udp_frame(64)).unwrap();
    let anvil = link.anvil(&scratch, "");
    let sent = json(&link.hammer(&scratch, "p64 --frames 200000").expect(0));
    let (counted, _) = anvil.end(0);
    // What the link lost the interface counted, and what anvil lost it says itself.
    let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{value}"));
    assert_eq!(sent["frames"], 200_000);
    assert_eq!(
        number(&sent["interface_sent_frames"]) + number(&sent["interface_dropped_frames"]),
        200_000
    );
    assert_eq!(
        number(&counted["frames"]) + number(&counted["lost_by_anvil_frames"]),
        number(&sent["interface_sent_frames"])
    );
}

/// Lengths and composition of a mixed capture, as Wireshark's tools see them.
#[test]
fn wireshark_agrees_about_lengths_and_composition() {
    let scratch = Scratch::new();
    let file = scratch.path().join("mixed.pcapng");
    let frames = mixed_frames();
    write_pcap(&scratch.path().join("mixed.pcap"), &frames);
    sh(&format!("editcap -F pcapng {0}.pcap {0}.pcapng", file.with_extension("").display()));
    for name in ["mixed.pcap", "mixed.pcapng"] {
        let counted = json(&scratch.run(&format!("anvil {name} --json")).expect(0));
        let path = scratch.path().join(name);
        let info = sh(&format!("capinfos -TrmcdM {}", path.display()));
        let info: Vec<&str> = info.trim().split(',').collect();
        assert_eq!(counted["frames"].to_string(), info[1], "{info:?}");
        let fcs_bytes = 4 * frames.len() as u64;
        assert_eq!(counted["bytes"].as_u64().unwrap() - fcs_bytes, info[2].parse::<u64>().unwrap());
        for (class, range) in
            [((65, 127), "61 && frame.len <= 123"), ((128, 255), "124 && frame.len <= 251")]
        {
            let filter = format!("frame.len >= {range}");
            let expected = wireshark_count(&path, &filter);
            let classes = counted["length_classes"].as_array().unwrap();
            let ours = classes.iter().find(|row| row["from_bytes"] == class.0).unwrap();
            assert_eq!((&ours["to_bytes"], &ours["frames"]), (&class.1.into(), &expected.into()));
        }
        for (protocol, filter) in [
            ("UDP", "udp"),
            ("ARP", "arp"),
            ("ICMPv6", "icmpv6.type == 136"),
            ("MLD", "icmpv6.type == 143"),
            ("IGMP", "igmp"),
            ("DECnet", "dec_dna"),
            ("DDP", "ddp"),
            ("AARP", "aarp"),
            ("IPX", "ipx"),
            ("BPDU", "stp"),
            ("VLAN", "vlan"),
            ("IPX RIP", "ipxrip"),
            ("RTMP", "rtmp"),
        ] {
            let expected = wireshark_count(&path, filter);
            assert!(expected > 0, "{filter}: nothing to compare");
            assert_eq!(with_protocol(&counted, protocol), expected, "{protocol} in {name}");
        }
    }
}

fn wireshark_count(path: &std::path::Path, filter: &str) -> u64 {
    let rows = sh(&format!("tshark -r {} -Y '{filter}' -T fields -e frame.number", path.display()));
    rows.lines().count() as u64
}

/// Frames of all compositions that have this protocol.
fn with_protocol(counted: &Value, protocol: &str) -> u64 {
    let rows = counted["composition"].as_array().unwrap().iter();
    let has =
        |row: &&Value| row["protocols"].as_array().unwrap().iter().any(|name| name == protocol);
    rows.filter(has).map(|row| row["frames"].as_u64().unwrap()).sum()
}

/// Frames of all protocols that we read.
fn mixed_frames() -> Vec<Vec<u8>> {
    use std::net::{Ipv4Addr, Ipv6Addr};
    use wire::appletalk::Address;
    use wire::ethernet::MacAddr;
    use wire::{bpdu, decnet, igmp, ipx, keepalive, learning, mld};
    let mac = MacAddr([2, 0, 0, 0, 0, 1]);
    let (four, six) = (Ipv4Addr::new(198, 18, 0, 1), Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1));
    let mut frames: Vec<Vec<u8>> = [64, 65, 127, 128, 255, 256, 1_518].map(udp_frame).into();
    let plain = udp_frame(100);
    frames.push([&plain[..12], &[0x81, 0, 0, 7], &plain[12..]].concat());
    frames.push(learning::gratuitous_arp(mac, four));
    frames.push(learning::unsolicited_advertisement(mac, six));
    frames.push(igmp::Repr::v3_join(Ipv4Addr::new(239, 1, 2, 3)).frame((mac, four)));
    frames.push(mld::Repr::v2_join(Ipv6Addr::new(0xff1e, 0, 0, 0, 0, 0, 0, 9)).frame((mac, six)));
    frames.push(bpdu::Repr::TopologyChangeNotification.frame(mac));
    let node = Address { network: 10, node: 5 };
    let keepalives = [
        keepalive::decnet_endnode(decnet::Address::new(1, 5), 10),
        keepalive::aarp((mac, node), Address { network: 10, node: 6 }),
        keepalive::rtmp((mac, node), (10, 10), &[(20, 20)]),
        keepalive::ipx_rip(ipx::Encapsulation::EthernetII, (0x10, mac), &[0x20, 0x30]),
    ];
    frames.extend(keepalives.into_iter().flat_map(|keepalive| keepalive.frames));
    frames
}

/// Written as tcpdump does.
fn write_pcap(path: &std::path::Path, frames: &[Vec<u8>]) {
    let mut file = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    file.extend([0, 0, 4, 0, 1, 0, 0, 0]);
    for (index, frame) in frames.iter().enumerate() {
        for word in [1_000, index as u32, frame.len() as u32, frame.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend(frame);
    }
    std::fs::write(path, file).unwrap();
}

/// Its own capture sent again is the same capture.
#[test]
fn a_capture_is_sent_as_it_was() {
    if !is_root() {
        return;
    }
    let (link, scratch) = (Link::new("replay"), Scratch::new());
    let frames = mixed_frames();
    write_pcap(&scratch.path().join("mixed.pcap"), &frames);
    let count = frames.len() as u64;
    let hammer = "mixed.pcap --rate 1000 --turns 1";
    let far = captured(&link, &scratch, hammer, count);
    let hashes =
        |path: &std::path::Path| sh(&format!("tshark -r {} -x | grep -v '^Frame'", path.display()));
    assert_eq!(hashes(&far), hashes(&scratch.path().join("mixed.pcap")));
}

#[test]
fn bad_files_are_refused_with_the_reason() {
    let scratch = Scratch::new();
    write_pcap(&scratch.path().join("whole.pcap"), &[udp_frame(64), udp_frame(128)]);
    let whole = std::fs::read(scratch.path().join("whole.pcap")).unwrap();
    std::fs::write(scratch.path().join("half.pcap"), &whole[..whole.len() / 2 + 20]).unwrap();
    scratch.file("empty", "");
    scratch.file("letter.txt", "Dear reader,\nthis is no capture.\n");
    let anvil = |file: &str| scratch.run(&format!("anvil --json {file}")).expect(2);
    let half = anvil("half.pcap");
    assert!(half.stderr.contains("ends within frame 2"), "{}", half.stderr);
    // What was whole is counted all the same.
    assert_eq!(json(&half)["frames"], 1);
    for (file, words) in [
        ("empty", "empty"),
        ("letter.txt", "text"),
        ("none", "cannot read none"),
        (".", "cannot read"),
    ] {
        let ran = anvil(file);
        assert!(ran.stderr.contains(words), "{}", ran.stderr);
    }
    scratch.run("anvil").expect(2);
    scratch.run("anvil -i eth0 whole.pcap").expect(2);
    if !is_root() {
        return;
    }
    let link = Link::new("bad");
    let refused = |words: &str| link.hammer(&scratch, words).expect(2).stderr;
    let half = refused("half.pcap");
    assert!(
        half.contains("the 1 before it are whole") && half.contains("--whole-frames"),
        "{half}"
    );
    let sent = json(&link.hammer(&scratch, "--whole-frames --turns 3 half.pcap").expect(0));
    assert_eq!(sent["interface_sent_frames"], 3);
    assert!(refused("empty").contains("empty"));
    assert!(refused("letter.txt").contains("text"));
    assert!(refused("none").contains("cannot read none"));
    assert!(refused("+17").contains("18 to 16384"));
    assert!(refused("-s1 +1600").contains("mtu 1582"));
    assert!(refused("-c --frames 1 +64").contains("bad FCS"));
    assert!(refused("-trouter +64").contains("not a MAC address"));
    assert!(refused("-n1 +64").contains("-t"));
}

#[test]
fn missing_interfaces_and_permissions_are_named() {
    let scratch = Scratch::new();
    for command in ["hammer -i no-such-if +64", "anvil -i no-such-if"] {
        let ran = scratch.run(command).expect(2);
        assert!(ran.stderr.contains("no such interface"), "{}", ran.stderr);
    }
    if !is_root() {
        return;
    }
    let link = Link::new("user");
    let program = common::public_copy(&scratch);
    for (end, command) in [(1, "hammer -i eth1 +64 --frames 1"), (2, "anvil -i eth2")] {
        let ran = Command::new("ip")
            .args(["netns", "exec", &link.end(end), "setpriv", "--reuid=65534", "--regid=65534"])
            .args(["--clear-groups", "--bounding-set=-all", "--inh-caps=-all"])
            .arg(&program)
            .args(command.split_whitespace())
            .output()
            .unwrap();
        let ran = Ran::from(ran).expect(2);
        assert!(
            ran.stderr.contains("no permission") && ran.stderr.contains("root"),
            "{}",
            ran.stderr
        );
    }
    sh(&format!("ip -n {} link set eth1 down", link.end(1)));
    let ran = link.hammer(&scratch, "+64 --frames 1").expect(2);
    assert!(ran.stderr.contains("ip link set eth1 up"), "{}", ran.stderr);
}

#[test]
fn a_link_that_goes_away_ends_both_with_their_totals() {
    if !is_root() {
        return;
    }
    let (link, scratch) = (Link::new("gone"), Scratch::new());
    let anvil = link.anvil(&scratch, "");
    let mut hammer = link.at(1, &scratch, "hammer -i eth1 --json --rate 1000 +64");
    let hammer = hammer.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(600));
    sh(&format!("ip -n {} link del eth1", link.end(1)));
    let sent = Ran::from(hammer.wait_with_output().unwrap()).expect(2);
    let (counted, said) = anvil.wait(2);
    // It goes down first, and then it is no more: which of the two is noticed is chance.
    assert!(sent.stderr.contains("port eth1 has vanished"), "{}", sent.stderr);
    assert!(said.contains("port eth2 has vanished"), "{said}");
    let (sent, counted) = (json(&sent)["frames"].as_u64(), counted["frames"].as_u64());
    assert!(sent > Some(100) && counted > Some(100) && counted <= sent, "{sent:?} {counted:?}");
}

#[test]
fn both_go_by_their_own_names() {
    let scratch = Scratch::new();
    for name in ["hammer", "anvil"] {
        let link = scratch.path().join(name);
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_netanvil"), &link).unwrap();
        let ran = Ran::from(Command::new(&link).arg("--help").output().unwrap()).expect(0);
        assert!(ran.stdout.contains(&format!("Usage: netanvil {name}")), "{}", ran.stdout);
    }
}
