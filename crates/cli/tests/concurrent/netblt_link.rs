//! NETBLT between hosts in namespaces, over a real-time link that loses packets; and the link's own
//! command.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "waits for processes")]

use crate::common;
use crate::common::Scratch;
use crate::common::netblt::{Killed, file_of, serving};
use link::RealTimeLink;
use netblt_studies::paths::{LinkModel, Loss};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use testbed::TwoHosts;

const PROGRAM: &str = env!("CARGO_BIN_EXE_netanvil");

/// Two hosts with a link between them: a client on the left, a directory that is served on the right.
struct Lab {
    hosts: TwoHosts,
    link: RealTimeLink,
    scratch: Scratch,
    bytes: Vec<u8>,
    /// To be added to every command.
    carrier: &'static str,
}

impl Lab {
    fn new(loss: f64, carrier: &'static str, len: usize) -> Lab {
        let delay = units::Duration::from_ms(5);
        let loss = if loss > 0.0 { Loss::Random(loss) } else { Loss::None };
        let model = LinkModel { loss, ..LinkModel::plain(500_000_000, delay, 4 << 20) };
        Lab::over(model, carrier, len)
    }

    fn over(model: LinkModel, carrier: &'static str, len: usize) -> Lab {
        let hosts = TwoHosts::apart().unwrap();
        let link = RealTimeLink::start(&hosts, [model.clone(), model], 11).unwrap();
        let scratch = Scratch::new();
        std::fs::create_dir(scratch.path().join("served")).unwrap();
        let bytes = file_of(len as u64);
        std::fs::write(scratch.path().join("file"), &bytes).unwrap();
        Lab { hosts, link, scratch, bytes, carrier }
    }

    /// The program on a host.
    fn command(&self, host: usize, arguments: &str) -> Command {
        let mut command = Command::new("ip");
        command
            .args(["netns", "exec", self.hosts.host(host).name(), PROGRAM, "netblt"])
            .args(arguments.split_whitespace())
            .args(self.carrier.split_whitespace())
            .current_dir(self.scratch.path());
        command
    }

    fn serve(&self) -> Killed {
        serving(self.command(1, "serve served --trust"))
    }

    fn send(&self, rate: &str) -> Command {
        let address = TwoHosts::address(1);
        self.command(0, &format!("send file {address} --quiet --json --rate {rate}"))
    }

    /// Bytes of the file that this transfer moved, after which it is there, whole.
    fn sent(&self, rate: &str) -> u64 {
        let output = self.send(rate).output().unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}\n{stdout}\n{stderr}", self.carrier);
        assert!(std::fs::read(self.scratch.path().join("served/file")).unwrap() == self.bytes);
        let json: serde_json::Value = serde_json::from_str(&stdout).unwrap();
        json["bytes"].as_u64().unwrap()
    }

    fn part_len(&self) -> u64 {
        let part: PathBuf = self.scratch.path().join("served/.file.netblt-part");
        std::fs::metadata(part).map_or(0, |metadata| metadata.len())
    }
}

#[test]
fn files_arrive_whole_over_links_that_lose_packets() {
    if !common::is_root() {
        eprintln!("skipped: not root");
        return;
    }
    const LEN: usize = 4_000_000;
    thread::scope(|scope| {
        for carrier in ["", "--raw-ip"] {
            scope.spawn(move || {
                for loss in [0.0, 0.001, 0.01, 0.05] {
                    let lab = Lab::new(loss, carrier, LEN);
                    let _server = lab.serve();
                    assert_eq!(lab.sent("60M"), LEN as u64, "{carrier} {loss}");
                }
            });
        }
    });
}

/// By defaults the sender fills a queue until it drops; where the link marks, it has slowed down before. Of raw IP
/// nothing is marked, and nothing breaks. A key hides the packets, not the marks.
#[test]
fn a_link_that_marks_need_not_drop() {
    if !common::is_root() {
        eprintln!("skipped: not root");
        return;
    }
    let json = |mark_above_bytes, more: &'static str| {
        let delay = units::Duration::from_ms(10);
        let plain = LinkModel::plain(50_000_000, delay, 600_000);
        let lab = Lab::over(LinkModel { mark_above_bytes, ..plain }, more, 12_000_000);
        lab.scratch.file("key", &"0123456789abcdef".repeat(4));
        let _server = lab.serve();
        let address = TwoHosts::address(1);
        let mut send = lab.command(0, &format!("send file {address} --quiet --json"));
        let output = send.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(std::fs::read(lab.scratch.path().join("served/file")).unwrap() == lab.bytes);
        let counts = lab.link.counts()[0];
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        (json["marked_data_packets"].as_u64().unwrap(), counts)
    };
    for more in ["", "--key-file key"] {
        let (said, link) = json(Some(50_000), more);
        let marked = link.marked_frames;
        assert!(said > 0 && said <= marked, "{more}: {said} of {marked}");
        assert_eq!(link.dropped_frames, 0, "{more}: {link:?}");
    }
    let (said, link) = json(None, "");
    assert!(said == 0 && link.marked_frames == 0 && link.dropped_frames > 0, "{link:?}");
    let (said, link) = json(Some(50_000), "--raw-ip");
    assert!(said == 0 && link.marked_frames == 0, "{link:?}");
}

#[test]
fn either_end_may_be_killed_and_the_transfer_goes_on_at_the_missing_bytes() {
    if !common::is_root() {
        eprintln!("skipped: not root");
        return;
    }
    const LEN: usize = 6_000_000;
    thread::scope(|scope| {
        for carrier in ["", "--raw-ip"] {
            scope.spawn(move || {
                let lab = Lab::new(0.01, carrier, LEN);
                let mut server = lab.serve();
                for kill_server in [true, false] {
                    let mut silent = lab.send("20M");
                    let sender = silent.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
                    let _sender = Killed(sender.unwrap());
                    let (before, started) = (lab.part_len(), Instant::now());
                    while lab.part_len() < before + 1_000_000 {
                        assert!(started.elapsed() < Duration::from_secs(60), "nothing arrives");
                        thread::sleep(Duration::from_millis(5));
                    }
                    if kill_server {
                        drop(std::mem::replace(
                            &mut server,
                            Killed(Command::new("true").spawn().unwrap()),
                        ));
                        server = lab.serve();
                    }
                }
                let moved = lab.sent("60M");
                assert!(moved < LEN as u64 - 1_000_000, "{carrier}: {moved} bytes again");
            });
        }
    });
}

#[test]
fn links_that_cannot_be_are_refused() {
    let scratch = Scratch::new();
    for (arguments, words) in [
        ("--loss 100%", "--loss 1%"),
        ("--loss 60% --loss-bursts 1", "in bursts of 1 packets"),
        ("--reorder 1%", "--reorder 1%/5ms"),
        ("--rate fast", "--rate"),
        ("--delay=-1s", "`-1s` is below 0"),
    ] {
        let ran = scratch.run(&format!("link --duration 1ms {arguments}")).expect(2);
        assert!(ran.stderr.contains(words), "{arguments}: {}", ran.stderr);
    }
}
