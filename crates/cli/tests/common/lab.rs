//! Two interfaces and a router between them, made by hand.

use super::{Ran, Scratch, sh, turn};
use std::process::Command;

/// Two interfaces and a router between them, made by hand: what `--ports` is for.
pub struct Lab {
    name: String,
    _turn: std::fs::File,
}

impl Lab {
    /// Builds it; waits until no other live test runs.
    pub fn new(role: &str) -> Self {
        let lab = Lab { name: format!("lab-{}-{role}", std::process::id()), _turn: turn::wait() };
        let (tester, dut) = (lab.tester(), lab.dut());
        sh(&format!("ip netns add {tester} && ip netns add {dut}"));
        for n in [1, 2] {
            // From within: Linux 6.1 refuses a name that the namespace of whoever asks has, too.
            sh(&format!(
                "ip -n {tester} link add eth{n} type veth peer name d{n} netns {dut} && \
                 ip -n {dut} addr add 198.{}.1.1/24 dev d{n} && \
                 ip -n {tester} link set eth{n} up && ip -n {dut} link set d{n} up && \
                 ip netns exec {tester} ethtool -K eth{n} gro on && \
                 ip netns exec {dut} ethtool -K d{n} gro on tx off",
                17 + n
            ));
        }
        sh(&format!("ip netns exec {dut} sysctl -qw net.ipv4.ip_forward=1"));
        lab
    }
    /// The tester's namespace.
    pub fn tester(&self) -> String {
        format!("{}-tester", self.name)
    }
    /// The router's.
    pub fn dut(&self) -> String {
        format!("{}-dut", self.name)
    }
    /// The program inside the tester's namespace.
    pub fn command(&self, scratch: &Scratch, arguments: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.tester(), env!("CARGO_BIN_EXE_netanvil")]);
        command.args(arguments.split_whitespace()).current_dir(scratch.path());
        command.env("XDG_CACHE_HOME", scratch.path().join("cache"));
        command.stdin(std::process::Stdio::null());
        command
    }
    /// Runs it to its end.
    pub fn run(&self, scratch: &Scratch, arguments: &str) -> Ran {
        self.command(scratch, arguments).output().unwrap().into()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for name in [self.tester(), self.dut()] {
            let _ = Command::new("ip").args(["netns", "delete", &name]).status();
        }
    }
}

/// The ports of the tester, and who is at their other ends.
pub const PORTS: &str = "--ports eth1,eth2 --address 198.18.1.2/24,198.19.1.2/24 \
                     --gateway 198.18.1.1,198.19.1.1";
