//! The size of NETBLT's packets by what the path carries, between hosts in namespaces. Each packet crosses by itself:
//! nothing splits or merges packets on the way.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "waits for processes")]

use crate::common;
use crate::common::Scratch;
use crate::common::netblt::{file_of, serving};
use kernel::{Ethtool, REWRITING_FEATURES};
use std::process::Command;
use std::time::{Duration, Instant};
use testbed::TwoHosts;

const LEN: usize = 3_000_000;

/// A client on the left, a directory that is served on the right.
struct Lab {
    hosts: TwoHosts,
    scratch: Scratch,
    bytes: Vec<u8>,
}

impl Lab {
    fn new() -> Lab {
        let hosts = TwoHosts::joined().unwrap();
        for host in 0..2 {
            let off = || Ethtool::open(hosts.interface())?.set_features(&REWRITING_FEATURES, false);
            hosts.host(host).run(off).unwrap().unwrap();
        }
        let scratch = Scratch::new();
        std::fs::create_dir(scratch.path().join("served")).unwrap();
        let bytes = file_of(LEN as u64);
        std::fs::write(scratch.path().join("file"), &bytes).unwrap();
        Lab { hosts, scratch, bytes }
    }

    /// A program on a host.
    fn command(&self, host: usize, program: &str, arguments: &str) -> Command {
        let mut command = Command::new("ip");
        command
            .args(["netns", "exec", self.hosts.host(host).name(), program])
            .args(arguments.split_whitespace())
            .current_dir(self.scratch.path());
        command
    }

    /// What a program says.
    fn said(&self, host: usize, program: &str, arguments: &str) -> String {
        let output = self.command(host, program, arguments).output().unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program} {arguments}\n{stdout}\n{stderr}");
        stdout
    }

    /// For IPv4 packets that come to the server's host.
    fn rule(&self, rule: &str) {
        let chain = "add chain ip mtu came { type filter hook input priority 0; }";
        for line in ["add table ip mtu", chain, &format!("add rule ip mtu came {rule}")] {
            self.said(1, "nft", line);
        }
    }

    /// Packets that the rule has met.
    fn met(&self) -> u64 {
        let chain = self.said(1, "nft", "list chain ip mtu came");
        let (_, rest) = chain.split_once("packets ").expect(&chain);
        rest.split_whitespace().next().unwrap().parse().unwrap()
    }

    /// A counter of a host's IP (RFC 1213), by its name in /proc/net/snmp.
    fn of_ip(&self, host: usize, name: &str) -> u64 {
        let text = self.said(host, "cat", "/proc/net/snmp");
        let mut lines = text.lines().filter(|line| line.starts_with("Ip:"));
        let names = lines.next().unwrap().split_whitespace();
        let mut pairs = names.zip(lines.next().unwrap().split_whitespace());
        let (_, value) = pairs.find(|(known, _)| *known == name).expect(name);
        value.parse().unwrap()
    }

    /// Sends the file with the defaults; it is there, whole. The time that it took.
    fn send(&self) -> Duration {
        let netanvil = env!("CARGO_BIN_EXE_netanvil");
        let _server = serving(self.command(1, netanvil, "netblt serve served --trust"));
        let started = Instant::now();
        let send = format!("netblt send file {} --quiet --json", TwoHosts::address(1));
        let said = self.said(0, netanvil, &send);
        let took = started.elapsed();
        let json: serde_json::Value = serde_json::from_str(&said).unwrap();
        assert_eq!(json["complete"], true, "{said}");
        assert!(std::fs::read(self.scratch.path().join("served/file")).unwrap() == self.bytes);
        took
    }
}

#[test]
fn packets_fill_what_ethernet_carries() {
    if !common::is_root() {
        eprintln!("skipped: not root");
        return;
    }
    let lab = Lab::new();
    lab.rule("ip length 1500 counter");
    lab.send();
    // 20 bytes of IP, 8 of UDP, 24 of NETBLT and 1,448 of data.
    let full = LEN as u64 / 1448;
    assert!(lab.met() > full, "{} packets of 1,500 bytes, not {full} and an OPEN", lab.met());
    assert_eq!((lab.of_ip(0, "FragCreates"), lab.of_ip(1, "ReasmReqds")), (0, 0));
}

/// Nothing says that they are dropped, as where a tunnel's end sends no ICMP (RFC 2923 section 2.1).
#[test]
fn a_path_that_swallows_long_packets_costs_one_open() {
    if !common::is_root() {
        eprintln!("skipped: not root");
        return;
    }
    let lab = Lab::new();
    lab.rule("ip length > 1480 counter drop");
    let took = lab.send();
    assert_eq!(lab.met(), 1, "the first OPEN is swallowed, and nothing else");
    // The open timer, 1 s, is what it takes more.
    assert!(took > Duration::from_secs(1) && took < Duration::from_secs(10), "{took:?}");
}

#[test]
fn packets_fit_the_interface_that_they_leave_by() {
    if !common::is_root() {
        eprintln!("skipped: not root");
        return;
    }
    let lab = Lab::new();
    lab.said(0, "ip", &format!("link set {} mtu 1400", lab.hosts.interface()));
    lab.rule("ip length 1400 counter");
    lab.send();
    assert_eq!((lab.of_ip(0, "FragCreates"), lab.of_ip(1, "ReasmReqds")), (0, 0));
    let full = LEN as u64 / (1400 - 52);
    assert!(lab.met() >= full, "{} packets of 1,400 bytes, not {full}", lab.met());
}
