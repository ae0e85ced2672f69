//! NETBLT as L4S (RFC 9331) over a real-time link that marks early, and how long others wait in its queue.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "measures real time")]

use crate::common::netblt::serving;
use crate::common::{self, Scratch, undecided};
use link::{RealTimeLink, WayCounts};
use netblt_studies::paths::LinkModel;
use std::net::UdpSocket;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use testbed::TwoHosts;

const PROGRAM: &str = env!("CARGO_BIN_EXE_netanvil");
const RATE_BPS: u64 = 50_000_000;
/// Each way.
const DELAY: units::Duration = units::Duration::from_ms(10);
/// What leaves in 50 ms.
const QUEUE_BYTES: u64 = RATE_BPS / 8 / 20;
/// 6.4 s of the link.
const BYTES: u64 = 40_000_000;
/// Start-up and its queue are over.
const SETTLED: Duration = Duration::from_secs(2);
/// The probe's port.
const ECHO_PORT: u16 = 4007;

/// What a transfer met.
struct Met {
    /// Round trips of a probe beside the transfer, ascending, in milliseconds.
    round_trips_ms: Vec<f64>,
    said: serde_json::Value,
    link: WayCounts,
}

impl Met {
    fn wait_ms(&self, share: f64) -> f64 {
        let at = (self.round_trips_ms.len() as f64 * share) as usize;
        self.round_trips_ms[at] - 2.0 * DELAY.as_secs_f64() * 1e3
    }
}

fn program(hosts: &TwoHosts, host: usize, arguments: &str) -> Command {
    let mut command = Command::new("ip");
    command
        .args(["netns", "exec", hosts.host(host).name(), PROGRAM, "netblt"])
        .args(arguments.split_whitespace());
    command
}

fn socket(hosts: &TwoHosts, host: usize, port: u16) -> UdpSocket {
    let bind = || UdpSocket::bind((TwoHosts::address(host), port)).unwrap();
    let socket = hosts.host(host).run(bind).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    socket
}

/// Round trips in milliseconds of a packet every 5 ms until it is `over`, but for the first ones.
fn probe(hosts: &TwoHosts, over: &AtomicBool) -> Vec<f64> {
    let (near, far) = (socket(hosts, 0, 0), socket(hosts, 1, ECHO_PORT));
    let echo = || {
        let mut bytes = [0; 8];
        while !over.load(Ordering::SeqCst) {
            if let Ok((len, peer)) = far.recv_from(&mut bytes) {
                far.send_to(&bytes[..len], peer).unwrap();
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(echo);
        let (started, mut all, mut number) = (Instant::now(), Vec::new(), 0u64);
        while !over.load(Ordering::SeqCst) {
            number += 1;
            let (sent, mut bytes) = (Instant::now(), [0; 8]);
            near.send_to(&number.to_be_bytes(), (TwoHosts::address(1), ECHO_PORT)).unwrap();
            // One that was lost, or comes late, is none.
            let came = near.recv(&mut bytes).is_ok() && bytes == number.to_be_bytes();
            if came && started.elapsed() > SETTLED {
                all.push(sent.elapsed().as_secs_f64() * 1e3);
            }
            thread::sleep(Duration::from_millis(5));
        }
        all.sort_by(f64::total_cmp);
        all
    })
}

/// None where the machine did not keep up with the link.
fn met(options: &str) -> Option<Met> {
    let forward = LinkModel {
        mark_l4s_after: Some(units::Duration::from_ms(1)),
        ..LinkModel::plain(RATE_BPS, DELAY, QUEUE_BYTES)
    };
    let hosts = TwoHosts::apart().unwrap();
    let link = RealTimeLink::start(&hosts, [forward.clone(), forward], 11).unwrap();
    let scratch = Scratch::new();
    let mut serve = program(&hosts, 1, "serve . --trust");
    serve.current_dir(scratch.path());
    let _server = serving(serve);
    let over = AtomicBool::new(false);
    let (output, round_trips_ms) = thread::scope(|scope| {
        let probe = scope.spawn(|| probe(&hosts, &over));
        let address = TwoHosts::address(1);
        let test = format!("test {address} --bytes {BYTES} --quiet --json {options}");
        let output = program(&hosts, 0, &test).output();
        over.store(true, Ordering::SeqCst);
        (output.unwrap(), probe.join().unwrap())
    });
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = serde_json::from_slice(&output.stdout).unwrap();
    let counts = link.stop();
    let is_faithful = counts.iter().all(WayCounts::is_faithful);
    if !is_faithful {
        undecided::tell("the machine did not keep up with the link");
    }
    is_faithful.then_some(Met { round_trips_ms, said, link: counts[0] })
}

/// The link drops what does not fit, and marks packets of L4S that wait for a millisecond. The classic sender fills
/// the queue of 50 ms; others hardly wait beside that of L4S.
#[test]
fn a_transfer_of_l4s_keeps_the_queue_of_a_link_that_marks_early_short() {
    if !common::is_root() {
        eprintln!("skipped: not root");
        return;
    }
    let (Some(l4s), Some(classic)) = (met("--l4s"), met("")) else { return };
    for (name, met) in [("L4S", &l4s), ("classic", &classic)] {
        let (half, most) = (met.wait_ms(0.5), met.wait_ms(0.99));
        println!(
            "{name}: waits {half:.2} ms, 99 % below {most:.2} ms; {:?} {}",
            met.link, met.said
        );
    }
    let marked = l4s.said["marked_data_packets"].as_u64().unwrap();
    assert!(marked > 0 && marked <= l4s.link.marked_frames, "{marked} {:?}", l4s.link);
    assert_eq!((l4s.link.dropped_frames, classic.link.marked_frames), (0, 0));
    assert!(classic.link.dropped_frames > 0, "the comparison is empty");
    // The link may be 2 ms late; a queue that fills 50 ms and loses 0.3 of it has 35 ms at its shortest.
    assert!(l4s.wait_ms(0.5) < 3.0, "{}", l4s.wait_ms(0.5));
    assert!(classic.wait_ms(0.5) > 10.0, "{}", classic.wait_ms(0.5));
}
