//! Groups of IPv6 that a router forwards: FRR's pim6d hears the reports of hosts at the tester's ports, and the kernel
//! forwards each frame to them, and to nobody who has not joined.
//!
//! Root only. Debian 12's FRR has no pim6d: NETANVIL_FRR names a folder with `zebra` and `pim6d` of a newer one, as
//! `make kernels` does.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "waits for a daemon")]

use crate::common::lab::Lab;
use crate::common::{Scratch, is_root, outcomes_of, results, sh, skipped};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The router is the rendezvous point of all groups, so that it needs no other one.
const CONFIGURATION: &str = "hostname netanvil
interface d1
 ipv6 pim
interface d2
 ipv6 pim
 ipv6 mld
router pim6
 rp 2001:2:0:1::1 ff00::/8
";
const GROUPS: u64 = 10;

/// Where zebra and pim6d are.
fn programs() -> Option<PathBuf> {
    let folder = std::env::var_os("NETANVIL_FRR").map_or("/usr/lib/frr".into(), PathBuf::from);
    ["zebra", "pim6d"].iter().all(|name| folder.join(name).exists()).then_some(folder)
}

/// Both daemons in the router's namespace; dropping ends them.
struct Daemons {
    running: Vec<Child>,
    folder: PathBuf,
}

impl Daemons {
    fn start(lab: &Lab, programs: &Path) -> Daemons {
        let folder = PathBuf::from(format!("/run/pim6-{}", std::process::id()));
        std::fs::create_dir(&folder).expect("a folder");
        std::fs::write(folder.join("conf"), CONFIGURATION).expect("a configuration");
        sh(&format!("chown -R frr:frr {}", folder.display()));
        let mut daemons = Daemons { running: vec![], folder };
        daemons.spawn(lab, programs, "zebra", "/dev/null");
        wait_for("zebra", || daemons.folder.join("z.api").exists());
        let configuration = daemons.folder.join("conf").display().to_string();
        daemons.spawn(lab, programs, "pim6d", &configuration);
        let dut = lab.dut();
        wait_for("pim6d", || {
            let known = sh(&format!("ip netns exec {dut} cat /proc/net/ip6_mr_vif"));
            ["d1", "d2"].iter().all(|name| known.split_whitespace().any(|word| word == *name))
        });
        daemons
    }

    fn spawn(&mut self, lab: &Lab, programs: &Path, name: &str, configuration: &str) {
        let folder = self.folder.display();
        let options = format!(
            "-i {folder}/{name}.pid -z {folder}/z.api --vty_socket {folder} -P 0 -f {configuration} \
             --log file:{folder}/{name}.log"
        );
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &lab.dut()]).arg(programs.join(name));
        command.args(options.split_whitespace());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.running.push(command.spawn().expect("iproute2"));
    }
}

impl Drop for Daemons {
    fn drop(&mut self) {
        for child in self.running.iter_mut().rev() {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[track_caller]
fn wait_for(what: &str, is_there: impl Fn() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(60);
    while !is_there() {
        assert!(Instant::now() < give_up, "{what}: not within a minute");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Packets to groups of netanvil (ff18::) that the kernel has forwarded.
fn forwarded(lab: &Lab) -> u64 {
    let cache = sh(&format!("ip netns exec {} cat /proc/net/ip6_mr_cache", lab.dut()));
    let of_groups = cache.lines().filter(|line| line.starts_with("ff18:"));
    of_groups.map(|line| line.split_whitespace().nth(3).unwrap().parse::<u64>().unwrap()).sum()
}

/// Ten groups, all of whose frames come to the port that has joined them.
#[track_caller]
fn routed(version: &str) {
    if !is_root() {
        return;
    }
    let Some(programs) = programs() else {
        return skipped(&format!("routes of {version}"), "this FRR has no pim6d");
    };
    let lab = Lab::new("mld");
    let dut = lab.dut();
    sh(&format!(
        "ip netns exec {dut} sysctl -qw net.ipv6.conf.all.forwarding=1 && \
         ip -n {dut} addr add 2001:2:0:1::1/64 dev d1 nodad && \
         ip -n {dut} addr add 2001:2:0:2::1/64 dev d2 nodad"
    ));
    let _daemons = Daemons::start(&lab, &programs);
    let scratch = Scratch::new();
    let ran = lab.run(
        &scratch,
        &format!(
            "run rfc3918 --ports eth1,eth2 --address 2001:2:0:1::2/64,2001:2:0:2::2/64 \
             --gateway 2001:2:0:1::1,2001:2:0:2::1 --profile quick --sizes 84 --line-rate 1M \
             --port-type af_packet --yes --set trial.invalid_retries=9 --test scaled-groups \
             --set chassis.multicast.version=\"{version}\" \
             --set chassis.multicast.matrix_max={GROUPS} \
             --set chassis.multicast.matrix_load_percent=20 \
             --set chassis.multicast.join_settle_s=1 --set chassis.multicast.leave_settle_s=0.2 \
             --set trial.duration_s=1 --out a"
        ),
    );
    ran.expect_complete();
    let results = results(&scratch, "a");
    let trials = results["trials"].as_array().expect("trials").iter();
    let count = |trial: &Value, key: &str| trial[key].as_u64().expect("a count");
    let counts: Vec<(u64, u64)> = trials
        .filter(|trial| trial["test"] != "self_test")
        .map(|trial| (count(trial, "offered_frames"), count(trial, "forwarded_frames")))
        .filter(|(offered, _)| *offered > 0)
        .collect();
    // 1 Mb/s carries 1,201 frames of 84 bytes a second (104 with preamble and gap), of which 20 % for 1 s.
    let (offered, came) = *counts.last().expect("a trial");
    assert!((230..=250).contains(&offered), "{counts:?}");
    assert_eq!(came, offered, "{counts:?}");
    assert!(forwarded(&lab) >= came, "{} of {came} by the kernel", forwarded(&lab));
    assert!(!outcomes_of(&results, &json!({ "chassis": "scaled_groups" })).is_empty());
}

#[test]
fn groups_of_mldv2_are_routed_to_who_joined() {
    routed("mldv2");
}

#[test]
fn groups_of_mldv1_are_routed_to_who_joined() {
    routed("mldv1");
}
