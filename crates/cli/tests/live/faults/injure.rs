//! What is done to tester, device and network while a run lasts.

use super::chance::Chance;
use super::forge;
use crate::common::busy::Busy;
use crate::common::sh;
use kernel::PacketSocket;
use nix::sched::{CloneFlags, setns};
use nix::sys::signal::{Signal, kill};
use nix::sys::socket::{MsgFlags, send};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What is injected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Injury {
    /// Nothing: what the machine does by itself.
    Nothing,
    /// Two programs that spin on each processor.
    BusyLoops,
    /// SIGSTOP of the tester for 50 to 500 ms, then SIGCONT.
    StopTester,
    /// The same of the device's daemon.
    StopDaemon,
    /// A port of the device goes down for 20 to 150 ms.
    LinkDown,
    /// Broadcasts of somebody else, so many a second; as many as one thread can send where `None`.
    Chatter(Option<u32>),
    /// Copies and changed copies of test frames.
    Forge,
}

/// Whom it is done to.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The tester's process.
    pub tester: u32,
    /// Namespace of the device.
    pub device: String,
}

/// From when to when something was injected, in nanoseconds of CLOCK_MONOTONIC.
pub type Times = Vec<(u64, u64)>;

/// A place beside the tester's ports on the device's bridge: what is sent from its free end comes in there.
pub const FREE_END: &str = "beside0";

pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("a clock");
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}

/// Injects until `stop`, and leaves all as it was.
pub fn inject(injury: Injury, scene: &Scene, chance: &mut Chance, stop: &AtomicBool) -> Times {
    match injury {
        Injury::Nothing => vec![],
        Injury::BusyLoops => busy_loops(stop),
        Injury::StopTester => stop_and_go(&[scene.tester], chance, stop),
        Injury::StopDaemon => stop_and_go(&daemons(scene.tester), chance, stop),
        Injury::LinkDown => links_down(scene, chance, stop),
        Injury::Chatter(fps) => throughout(|| in_namespace(&scene.device, || chatter(fps, stop))),
        Injury::Forge => throughout(|| in_namespace(&scene.device, || forge::forge(chance, stop))),
    }
}

/// Runs `body` on a thread of its own in a network namespace.
pub fn in_namespace<T: Send>(namespace: &str, body: impl FnOnce() -> T + Send) -> T {
    let file = std::fs::File::open(format!("/run/netns/{namespace}")).expect("a namespace");
    std::thread::scope(|scope| {
        let thread = scope.spawn(move || {
            setns(file, CloneFlags::CLONE_NEWNET).expect("to enter the namespace");
            body()
        });
        thread.join().expect("no panic in the namespace")
    })
}

fn throughout(body: impl FnOnce()) -> Times {
    let from = now_ns();
    body();
    vec![(from, now_ns())]
}

/// In small steps, so that it hears `stop`.
pub fn pause(span: Duration, stop: &AtomicBool) {
    let until = Instant::now() + span;
    while Instant::now() < until && !stop.load(Ordering::Relaxed) {
        let left = until.saturating_duration_since(Instant::now());
        std::thread::sleep(left.min(Duration::from_millis(5)));
    }
}

fn busy_loops(stop: &AtomicBool) -> Times {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let busy: Vec<Busy> = (0..2 * cores).map(|core| Busy::on(core % cores)).collect();
    throughout(|| {
        while !stop.load(Ordering::Relaxed) {
            pause(Duration::from_secs(1), stop);
        }
        drop(busy);
    })
}

fn stop_and_go(processes: &[u32], chance: &mut Chance, stop: &AtomicBool) -> Times {
    assert!(!processes.is_empty(), "nobody to stop");
    let signal = |signal| {
        processes.iter().for_each(|id| kill(Pid::from_raw(*id as i32), signal).expect("a process"));
    };
    let mut times = vec![];
    while !stop.load(Ordering::Relaxed) {
        pause(Duration::from_millis(chance.between(300, 1_200)), stop);
        let from = now_ns();
        signal(Signal::SIGSTOP);
        pause(Duration::from_millis(chance.between(50, 500)), stop);
        signal(Signal::SIGCONT);
        times.push((from, now_ns()));
    }
    times
}

/// The switch of user space that belongs to a run: its command line names the run's folder.
fn daemons(tester: u32) -> Vec<u32> {
    let own = format!("/netanvil-{tester}.");
    let ids = std::fs::read_dir("/proc").expect("processes").flatten();
    let ids = ids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_switch = |id: &u32| {
        let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        line.starts_with("ovs-vswitchd") && line.contains(&own)
            || line.contains("/ovs-vswitchd\0") && line.contains(&own)
    };
    ids.filter(is_switch).collect()
}

fn links_down(scene: &Scene, chance: &mut Chance, stop: &AtomicBool) -> Times {
    let mut times = vec![];
    while !stop.load(Ordering::Relaxed) {
        pause(Duration::from_millis(chance.between(300, 1_500)), stop);
        let set = |state: &str, port: u64| {
            sh(&format!("ip -n {} link set dut{port} {state}", scene.device));
        };
        let (from, port) = (now_ns(), chance.between(0, 2));
        set("down", port);
        pause(Duration::from_millis(chance.between(20, 150)), stop);
        set("up", port);
        times.push((from, now_ns()));
    }
    times
}

/// A frame that finds no room is lost, and nobody misses it.
pub fn offer(socket: &PacketSocket, frame: &[u8]) {
    let _ = send(socket.as_fd().as_raw_fd(), frame, MsgFlags::MSG_DONTWAIT);
}

/// Broadcasts of an experimental protocol (IEEE 802, EtherType 0x88b5) that nobody here speaks.
fn chatter(fps: Option<u32>, stop: &AtomicBool) {
    let socket = PacketSocket::open(FREE_END).expect("a socket beside the bridge");
    let mut frame = vec![0xff; 6];
    frame.extend([2, 0, 0, 0, 0, 0x77, 0x88, 0xb5]);
    frame.resize(60, 0);
    let begun = Instant::now();
    let mut sent = 0;
    while !stop.load(Ordering::Relaxed) {
        offer(&socket, &frame);
        sent += 1;
        if let Some(fps) = fps {
            let due = Duration::from_secs(1) * sent / fps;
            pause(due.saturating_sub(begun.elapsed()), stop);
        }
    }
}
