//! The size of NETBLT's packets by what the path carries, between hosts in namespaces. Each packet crosses by itself:
//! nothing splits or merges packets on the way.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "waits for processes")]

use crate::common;
use crate::common::Scratch;
use crate::common::netblt::{file_of, serving};
use kernel::{Ethtool, REWRITING_FEATURES};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};
use testbed::TwoHosts;

const PROGRAM: &str = env!("CARGO_BIN_EXE_netanvil");
const LEN: usize = 3_000_000;
/// 64 hexadecimal digits.
const KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// How the file crosses.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Way {
    Send,
    Receive,
    SendSealed,
    Push,
    Pull,
}

use Way::{Pull, Push, Receive, Send, SendSealed};

const WAYS: [Way; 5] = [Send, Receive, SendSealed, Push, Pull];

impl Way {
    /// The host that data comes from; the other one opens if that is 1.
    fn from(self) -> usize {
        usize::from(matches!(self, Receive | Pull))
    }
    /// Bytes of IP, UDP and NETBLT before the data, and of a seal: 20 + 8 + 24, and 20 + 16.
    fn headers(self) -> u64 {
        if matches!(self, Send | Receive) { 52 } else { 88 }
    }
    /// Packets that the file fills, of so many bytes with all headers. Who sends to a reader cuts the buffers that were asked
    /// for, eight packets of 1,500 bytes; the last packet of each is shorter.
    fn full_packets(self, bytes: u64) -> u64 {
        let data = bytes - self.headers();
        let buffer = 8 * if self.from() == 0 { data } else { 1500 - self.headers() };
        LEN as u64 / buffer * (buffer / data)
    }
}

/// A client on the left, and what it talks to on the right.
struct Lab {
    way: Way,
    hosts: TwoHosts,
    scratch: Scratch,
    bytes: Vec<u8>,
}

impl Lab {
    fn new(way: Way) -> Lab {
        let hosts = TwoHosts::joined().unwrap();
        for host in 0..2 {
            let off = || Ethtool::open(hosts.interface())?.set_features(&REWRITING_FEATURES, false);
            hosts.host(host).run(off).unwrap().unwrap();
        }
        let (scratch, bytes) = (Scratch::new(), file_of(LEN as u64));
        let at = |name: &str| scratch.path().join(name);
        fs::create_dir(at("served")).unwrap();
        fs::create_dir(at("back")).unwrap();
        fs::write(at(if way.from() == 0 { "file" } else { "served/file" }), &bytes).unwrap();
        fs::write(at("key"), KEY).unwrap();
        let far = hosts.host(1).name();
        fs::write(at("rsh"), format!("#!/bin/sh\nshift\nexec ip netns exec {far} \"$@\"\n"))
            .unwrap();
        fs::set_permissions(at("rsh"), fs::Permissions::from_mode(0o755)).unwrap();
        Lab { way, hosts, scratch, bytes }
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

    /// For IPv4 packets that come to the host that data goes to.
    fn rule(&self, rule: &str) {
        let chain = "add chain ip mtu came { type filter hook input priority 0; }";
        for line in ["add table ip mtu", chain, &format!("add rule ip mtu came {rule}")] {
            self.said(1 - self.way.from(), "nft", line);
        }
    }

    /// Packets that the rule has met.
    fn met(&self) -> u64 {
        let chain = self.said(1 - self.way.from(), "nft", "list chain ip mtu came");
        let (_, rest) = chain.split_once("packets ").expect(&chain);
        rest.split_whitespace().next().unwrap().parse().unwrap()
    }

    /// The host that data comes from knows this MTU of its way, as if a router had said so.
    fn knows_mtu(&self, bytes: u32) {
        let (from, interface) = (self.way.from(), self.hosts.interface());
        let to = TwoHosts::address(1 - from);
        self.said(from, "ip", &format!("route replace {to}/32 dev {interface} mtu {bytes}"));
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

    #[track_caller]
    fn assert_no_fragments(&self) {
        let of_host = |host| [self.of_ip(host, "FragCreates"), self.of_ip(host, "ReasmReqds")];
        assert_eq!([of_host(0), of_host(1)], [[0; 2]; 2], "{:?}", self.way);
    }

    /// The file crosses with the defaults; it is there, whole. The time that it took.
    fn cross(&self) -> Duration {
        let (host, here) = (TwoHosts::address(1), self.scratch.path().display());
        let copy = format!("--rsh {here}/rsh --remote-program {PROGRAM} --udp-host {host} --quiet");
        let (server, client, arrives) = match self.way {
            Send => (Some("--trust"), format!("send file {host} --quiet"), "served/file"),
            Receive => {
                (Some("--trust"), format!("recv file {host} --out back/file --quiet"), "back/file")
            }
            SendSealed => {
                let client = format!("send file {host} --quiet --key-file key");
                (Some("--key-file key"), client, "served/file")
            }
            Push => (None, format!("copy file lab2:{here}/served {copy}"), "served/file"),
            Pull => (None, format!("copy lab2:{here}/served/file back {copy}"), "back/file"),
        };
        let serve = |how| self.command(1, PROGRAM, &format!("netblt serve served {how}"));
        let _server = server.map(|how| serving(serve(how)));
        let started = Instant::now();
        self.said(0, PROGRAM, &format!("netblt {client}"));
        let took = started.elapsed();
        assert!(fs::read(self.scratch.path().join(arrives)).unwrap() == self.bytes);
        took
    }
}

/// Each way in a lab of its own.
fn in_labs(ways: &[Way], what: impl Fn(Lab) + Sync) {
    if !common::is_root() {
        eprintln!("skipped: not root");
        return;
    }
    let what = &what;
    thread::scope(|scope| {
        ways.iter().for_each(|way| _ = scope.spawn(move || what(Lab::new(*way))));
    });
}

#[test]
fn packets_fill_what_ethernet_carries() {
    in_labs(&WAYS, |lab| {
        lab.rule("ip length 1500 counter");
        lab.cross();
        let full = lab.way.full_packets(1500);
        let met = lab.met();
        assert!(met > full, "{:?}: {met} packets of 1,500 bytes, not {full} and an OPEN", lab.way);
        lab.assert_no_fragments();
    });
}

/// Nothing says that they are dropped, as where a tunnel's end sends no ICMP (RFC 2923 section 2.1). For who reads, the
/// way that data takes is not that of the OPEN: the answer is what is swallowed.
#[test]
fn a_path_that_swallows_long_packets_costs_one_open() {
    in_labs(&WAYS, |lab| {
        lab.rule("ip length > 1480 counter drop");
        let took = lab.cross();
        assert_eq!(lab.met(), 1, "{:?}: one is swallowed, and nothing else", lab.way);
        // The open timer, 1 s, is what it takes more.
        let bounds = Duration::from_secs(1)..Duration::from_secs(10);
        assert!(bounds.contains(&took), "{:?}: {took:?}", lab.way);
    });
}

/// One of IPv6's least MTU, for example a tunnel in a tunnel.
#[test]
fn a_path_that_carries_little_costs_two_opens() {
    in_labs(&WAYS, |lab| {
        lab.rule("ip length > 1280 counter drop");
        let took = lab.cross();
        assert_eq!(lab.met(), 2, "{:?}: two are swallowed, and nothing else", lab.way);
        // The open timer, 1 s, doubles.
        let bounds = Duration::from_secs(3)..Duration::from_secs(13);
        assert!(bounds.contains(&took), "{:?}: {took:?}", lab.way);
    });
}

#[test]
fn packets_fit_what_the_host_knows_of_the_path() {
    in_labs(&WAYS, |lab| {
        lab.knows_mtu(1400);
        lab.rule("ip length 1400 counter");
        lab.cross();
        lab.assert_no_fragments();
        let (met, full) = (lab.met(), lab.way.full_packets(1400));
        assert!(met >= full, "{:?}: {met} packets of 1,400 bytes, not {full}", lab.way);
    });
}

/// A router says what it carries when the first long packet comes there (RFC 1191): it counts for the next OPEN, or for
/// the answer to it.
#[test]
fn packets_fit_what_a_router_says_as_the_transfer_opens() {
    in_labs(&WAYS, |lab| {
        lab.rule("ip length > 1400 counter drop");
        thread::scope(|scope| {
            let crossing = scope.spawn(|| lab.cross());
            let started = Instant::now();
            while lab.met() == 0 && started.elapsed() < Duration::from_secs(30) {
                thread::sleep(Duration::from_millis(5));
            }
            lab.knows_mtu(1400);
            crossing.join().unwrap();
        });
        assert_eq!(lab.met(), 1, "{:?}: one is swallowed, and nothing else", lab.way);
        lab.assert_no_fragments();
    });
}

/// An MTU of the interface is known before anything leaves.
#[test]
fn packets_fit_the_interface_that_they_leave_by() {
    in_labs(&[Send, SendSealed, Push], |lab| {
        lab.said(0, "ip", &format!("link set {} mtu 1400", lab.hosts.interface()));
        lab.rule("ip length 1400 counter");
        lab.cross();
        lab.assert_no_fragments();
        let (met, full) = (lab.met(), lab.way.full_packets(1400));
        assert!(met >= full, "{:?}: {met} packets of 1,400 bytes, not {full}", lab.way);
    });
}

/// NETBLT pads its packets to four bytes (RFC 998 section 8): 1,450 bytes, as of most VXLAN tunnels (RFC 7348), leave room
/// for 1,448.
#[test]
fn padded_packets_fit_what_the_host_knows_of_the_path() {
    in_labs(&WAYS, |lab| {
        lab.knows_mtu(1450);
        lab.rule("ip length 1448 counter");
        lab.cross();
        lab.assert_no_fragments();
        let (met, full) = (lab.met(), lab.way.full_packets(1448));
        assert!(met >= full, "{:?}: {met} packets of 1,448 bytes, not {full}", lab.way);
    });
}
