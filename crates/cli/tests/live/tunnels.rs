//! Frames through both ends of a tunnel of the kernel, between two routers made by hand: what goes in at one port
//! comes out at the other as it was, and the tunnel's own counters have every frame.
//!
//! Root only. Loads are low, counts are exact and no time is asserted. A kernel without the tunnel skips the test;
//! `make kernels` runs it on kernels that have it.

use crate::common::{Ran, Scratch, is_root, sh, skipped, turn, undecided};
use serde_json::Value;
use std::process::Command;

/// Each way.
const FRAMES: u64 = 500;

/// A kind of tunnel: its type and mode for `ip link add`, between which addresses, and for frames of which version.
struct Tunnel {
    kind: &'static str,
    options: &'static str,
    ends: [&'static str; 2],
    inner_is_ipv6: bool,
}

const OUTER_V4: [&str; 2] = ["10.99.0.1", "10.99.0.2"];
const OUTER_V6: [&str; 2] = ["fd99::1", "fd99::2"];

/// A tester, a router at each of its ports, and a tunnel between both routers.
struct TwoRouters {
    name: String,
    _turn: std::fs::File,
}

impl TwoRouters {
    /// None where the kernel has no such tunnel, which it has said.
    fn build(tunnel: &Tunnel) -> Option<TwoRouters> {
        let name = format!("tun-{}-{}", std::process::id(), tunnel.kind);
        let lab = TwoRouters { name, _turn: turn::wait() };
        lab.wires();
        for (at, role) in ["near", "far"].into_iter().enumerate() {
            let namespace = lab.namespace(role);
            let (local, remote) = (tunnel.ends[at], tunnel.ends[1 - at]);
            let Tunnel { kind, options, .. } = tunnel;
            let make = format!(
                "ip -n {namespace} link add tun0 type {kind} local {local} remote {remote} {options}"
            );
            let made = Command::new("sh").args(["-c", &make]).output().expect("sh");
            if !made.status.success() {
                let words = String::from_utf8_lossy(&made.stderr).into_owned();
                let is_lacking =
                    ["Unknown device type", "not supported"].iter().any(|w| words.contains(w));
                assert!(is_lacking, "{make}: {words}");
                skipped(&format!("frames through {kind}"), &words);
                return None;
            }
            let beyond = if tunnel.inner_is_ipv6 {
                format!("2001:2:0:{}::/64", if at == 0 { 2 } else { 1 })
            } else {
                format!("198.{}.1.0/24", if at == 0 { 19 } else { 18 })
            };
            sh(&format!(
                "ip -n {namespace} link set tun0 addrgenmode none up && \
                 ip -n {namespace} route add {beyond} dev tun0"
            ));
        }
        Some(lab)
    }

    /// Three namespaces; wires from the tester to both routers and between the routers.
    fn wires(&self) {
        let [tester, near, far] = ["tester", "near", "far"].map(|role| self.namespace(role));
        for namespace in [&tester, &near, &far] {
            sh(&format!("ip netns add {namespace}"));
        }
        for (n, router) in [(1, &near), (2, &far)] {
            sh(&format!(
                "ip -n {tester} link add eth{n} type veth peer name port netns {router} && \
                 ip -n {router} addr add 198.{}.1.1/24 dev port && \
                 ip -n {router} addr add 2001:2:0:{n}::1/64 dev port nodad && \
                 ip -n {tester} link set eth{n} up && ip -n {router} link set port up && \
                 ip netns exec {tester} ethtool -K eth{n} gro on && \
                 ip netns exec {router} ethtool -K port gro on tx off && \
                 ip netns exec {router} sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1",
                17 + n
            ));
        }
        sh(&format!("ip -n {near} link add between type veth peer name between netns {far}"));
        for (at, router) in [&near, &far].into_iter().enumerate() {
            sh(&format!(
                "ip -n {router} addr add {}/30 dev between && \
                 ip -n {router} addr add {}/64 dev between nodad && \
                 ip -n {router} link set between up",
                OUTER_V4[at], OUTER_V6[at]
            ));
        }
    }

    fn namespace(&self, role: &str) -> String {
        format!("{}-{role}", self.name)
    }

    /// Packets that the near end of the tunnel has sent, and received.
    fn counted(&self) -> [u64; 2] {
        let near = self.namespace("near");
        ["tx", "rx"].map(|way| {
            let file = format!("/sys/class/net/tun0/statistics/{way}_packets");
            sh(&format!("ip netns exec {near} cat {file}")).trim().parse().expect("a count")
        })
    }

    fn traffic(&self, scratch: &Scratch, arguments: &str) -> Value {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace("tester"), env!("CARGO_BIN_EXE_netanvil")]);
        command.args(format!("traffic {arguments}").split_whitespace());
        command.current_dir(scratch.path()).stdin(std::process::Stdio::null());
        let ran: Ran = command.output().expect("netanvil starts").into();
        let ran = ran.expect(0);
        serde_json::from_str(ran.stdout.lines().last().expect("a summary")).expect("JSON")
    }
}

impl Drop for TwoRouters {
    fn drop(&mut self) {
        for role in ["tester", "near", "far"] {
            let _ = Command::new("ip").args(["netns", "delete", &self.namespace(role)]).status();
        }
    }
}

/// As many frames come out as went in, both ways, and the tunnel has counted each.
#[track_caller]
fn through(tunnel: &Tunnel) {
    if !is_root() {
        return;
    }
    let Some(lab) = TwoRouters::build(tunnel) else { return };
    let scratch = Scratch::new();
    let (addresses, protocol) = match tunnel.inner_is_ipv6 {
        true => (
            "--address 2001:2:0:1::2/64,2001:2:0:2::2/64 --gateway 2001:2:0:1::1,2001:2:0:2::1",
            "udp_ipv6",
        ),
        false => {
            ("--address 198.18.1.2/24,198.19.1.2/24 --gateway 198.18.1.1,198.19.1.1", "udp_ipv4")
        }
    };
    let [sent_before, received_before] = lab.counted();
    let summary = lab.traffic(
        &scratch,
        &format!(
            "--ports eth1,eth2 {addresses} --protocol {protocol} --sizes 128 --rate {FRAMES}pps \
             --duration 1s --bidirectional --yes --json --set trial.limits.shortfall=0.9"
        ),
    );
    let count = |key: &str| summary[key].as_u64().expect(key);
    let sent = count("sent_frames");
    assert_eq!((count("received_frames"), count("lost_frames")), (sent, 0), "{summary}");
    assert_eq!((count("duplicate_frames"), count("corrupted_frames")), (0, 0), "{summary}");
    let [there, back] = [lab.counted()[0] - sent_before, lab.counted()[1] - received_before];
    assert!(sent > 0 && there + back >= sent, "{there} and {back} of {sent} in the tunnel");
    match sent == 2 * FRAMES {
        true => assert!(there >= FRAMES && back >= FRAMES, "{there} and {back}"),
        false => undecided::tell("the tester did not send every frame"),
    }
}

/// RFC 2784.
#[test]
fn through_gre() {
    through(&Tunnel { kind: "gre", options: "ttl 64", ends: OUTER_V4, inner_is_ipv6: false });
}

#[test]
fn through_ip6gre() {
    let options = "hoplimit 64 encaplimit none";
    through(&Tunnel { kind: "ip6gre", options, ends: OUTER_V6, inner_is_ipv6: true });
}

/// RFC 4213 section 3.
#[test]
fn through_sit() {
    through(&Tunnel { kind: "sit", options: "ttl 64", ends: OUTER_V4, inner_is_ipv6: true });
}

/// RFC 2003.
#[test]
fn through_ipip() {
    through(&Tunnel { kind: "ipip", options: "ttl 64", ends: OUTER_V4, inner_is_ipv6: false });
}

/// RFC 2473: IPv4 within IPv6.
#[test]
fn through_ip6tnl_of_ipv4() {
    let options = "mode ipip6 encaplimit none";
    through(&Tunnel { kind: "ip6tnl", options, ends: OUTER_V6, inner_is_ipv6: false });
}

/// RFC 2473: IPv6 within IPv6, with the option that limits encapsulation (section 4.1.1).
#[test]
fn through_ip6tnl_of_ipv6() {
    let options = "mode ip6ip6 encaplimit 4";
    through(&Tunnel { kind: "ip6tnl", options, ends: OUTER_V6, inner_is_ipv6: true });
}
