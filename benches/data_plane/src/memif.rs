//! memif, as virtual switches use it: netanvil's `dpdk` port beside testpmd on the same virtual devices, one
//! way and through a testpmd that forwards. Every rate is that of frames that arrived, by the receiver's own
//! count over a window of its own.

use crate::bed::Bed;
use crate::competitor::{Arena, Device, MemifRole, Testpmd};
use crate::error::{BenchError, Result, system};
use crate::netanvil::account;
use crate::window::{LENGTH, WARM_UP};
use ports::{LiveOptions, LiveTester, PortRequest, PortType, clock, open_ports};
use serde::Serialize;
use std::path::{Path, PathBuf};
use traffic::template::FrameTemplate;
use trial::{PortId, Schedule, Stream, StreamId, Tester, Trial, TrialResult, Waits};
use units::{Duration, FrameRate, FrameSize, LineRate};
use wire::ethernet::MacAddr;
use wire::signature::Key;

/// More than any port can do: what is reached is the port's own limit.
const UNREACHABLE: FrameRate = FrameRate::from_fps(50_000_000);
const FLAT_OUT: Duration = Duration::from_ms(1_600);

/// What frames go through.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// From a sender to a testpmd that counts.
    ToTestpmd,
    /// From a sender to a receiver of its own kind.
    ToReceiver,
    /// Through a testpmd that forwards, back to the sender's program.
    ThroughTestpmd,
}

impl Way {
    /// All of them.
    pub const ALL: [Way; 3] = [Way::ToTestpmd, Way::ToReceiver, Way::ThroughTestpmd];

    /// For tables.
    pub fn name(self) -> &'static str {
        match self {
            Way::ToTestpmd => "to testpmd rxonly",
            Way::ToReceiver => "to its own receiver",
            Way::ThroughTestpmd => "through testpmd io",
        }
    }
}

/// Who sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sender {
    /// txonly, or flowgen where frames come back.
    Testpmd,
    /// The dpdk port.
    Netanvil,
}

/// One case.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct MemifRate {
    /// What frames go through.
    pub way: Way,
    /// Who sends.
    pub sender: Sender,
    /// FCS included.
    pub size_bytes: u32,
    /// Frames a second that arrived, one a round.
    pub rounds_fps: Vec<f64>,
}

impl MemifRate {
    /// Median over the rounds.
    pub fn median_fps(&self) -> f64 {
        crate::results::median(self.rounds_fps.iter().copied())
    }
}

/// Frames a second that arrived.
pub fn measure(arena: &Arena, way: Way, sender: Sender, size_bytes: u32) -> Result<f64> {
    let bed = Bed::build()?;
    let folder = Folder::make()?;
    let (there, back) = (folder.0.join("there"), folder.0.join("back"));
    match (way, sender) {
        (Way::ToTestpmd | Way::ToReceiver, Sender::Testpmd) => {
            let mut receiver = receiver(arena, &bed, &there)?;
            let send = Device::Memif { role: MemifRole::Client, sockets: vec![there] };
            let sender =
                Testpmd::on(arena, &bed, arena.cores[0], &send, &sending("txonly", size_bytes))?;
            let rate = received_fps(&mut receiver)?;
            sender.quit()?;
            Ok(rate)
        }
        (Way::ToTestpmd, Sender::Netanvil) => {
            let mut receiver = receiver(arena, &bed, &there)?;
            let mut netanvil = Netanvil::open(arena, &[(&there, "client")])?;
            std::thread::scope(|scope| {
                let counted = scope.spawn(|| received_fps(&mut receiver));
                netanvil.flat_out(size_bytes, PortId(0), FLAT_OUT + WARM_UP)?;
                counted.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
        }
        (Way::ToReceiver, Sender::Netanvil) => {
            let mut netanvil = Netanvil::open(arena, &[(&there, "server"), (&there, "client")])?;
            arrived_fps(&netanvil.flat_out(size_bytes, PortId(1), FLAT_OUT)?)
        }
        (Way::ThroughTestpmd, Sender::Testpmd) => {
            let _device = device(arena, &bed, &there, &back)?;
            let both = Device::Memif { role: MemifRole::Client, sockets: vec![there, back] };
            let mut generator =
                Testpmd::on(arena, &bed, arena.cores[0], &both, &sending("flowgen", size_bytes))?;
            received_fps(&mut generator)
        }
        (Way::ThroughTestpmd, Sender::Netanvil) => {
            let _device = device(arena, &bed, &there, &back)?;
            let mut netanvil = Netanvil::open(arena, &[(&there, "client"), (&back, "client")])?;
            arrived_fps(&netanvil.flat_out(size_bytes, PortId(1), FLAT_OUT)?)
        }
    }
}

fn sending(mode: &str, size_bytes: u32) -> String {
    format!("--forward-mode={mode} --txpkts={}", size_bytes - 4)
}

fn receiver(arena: &Arena, bed: &Bed, socket: &Path) -> Result<Testpmd> {
    let device = Device::Memif { role: MemifRole::Server, sockets: vec![socket.into()] };
    Testpmd::on(arena, bed, arena.cores[1], &device, "--forward-mode=rxonly")
}

fn device(arena: &Arena, bed: &Bed, there: &Path, back: &Path) -> Result<Testpmd> {
    let sockets = vec![there.into(), back.into()];
    let device = Device::Memif { role: MemifRole::Server, sockets };
    Testpmd::on(arena, bed, arena.cores[1], &device, "--forward-mode=io")
}

/// What a running testpmd receives on all its ports.
fn received_fps(testpmd: &mut Testpmd) -> Result<f64> {
    clock::sleep(WARM_UP);
    let before = testpmd.received()?;
    clock::sleep(LENGTH);
    let after = testpmd.received()?;
    let frames = after.0.saturating_sub(before.0);
    match frames {
        0 => Err(BenchError::Implausible("testpmd's counters stand still".into())),
        _ => Ok(frames as f64 / after.1.since(before.1).as_secs_f64()),
    }
}

/// Frames but one over the time from the first arrival to the last.
fn arrived_fps(result: &TrialResult) -> Result<f64> {
    let account = account(result)?;
    match (account.first_at, account.last_at) {
        (Some(first), Some(last)) if last > first => {
            Ok((account.unique - 1) as f64 / last.since(first).as_secs_f64())
        }
        _ => Err(BenchError::Implausible("no frame arrived".into())),
    }
}

/// Its ports on memif.
struct Netanvil {
    tester: LiveTester,
    key: Key,
}

impl Netanvil {
    fn open(arena: &Arena, ends: &[(&PathBuf, &str)]) -> Result<Self> {
        let requests = ends.iter().enumerate().map(|(id, (socket, role))| PortRequest {
            id: PortId(id as u16),
            interface: format!(
                "net_memif{id},role={role},socket={},socket-abstract=no",
                socket.display()
            ),
            nominal_rate: LineRate::from_gbps(10),
            queues: 1,
            largest_frame: FrameSize::from_bytes(1518),
            port_type: PortType::DPDK,
        });
        let ports = open_ports(&requests.collect::<Vec<_>>())?;
        let device_cores =
            if ends.len() == 2 && ends[0].0 == ends[1].0 { vec![] } else { vec![arena.cores[1]] };
        let options =
            LiveOptions { stop: arena.stop.clone(), device_cores, ..LiveOptions::default() };
        Ok(Netanvil { tester: LiveTester::new(ports, options)?, key: Key::from_seed(1) })
    }

    /// Sends as fast as port 0 can. What should arrive at port 0 itself is only sent.
    fn flat_out(&mut self, size_bytes: u32, to: PortId, duration: Duration) -> Result<TrialResult> {
        let host = |n: u8| (MacAddr([2, 0, 0, 0, 0, n]), std::net::Ipv4Addr::new(198, 18, n, 2));
        let template = FrameTemplate::udp_ipv4(host(0), host(1));
        let size = FrameSize::from_bytes(size_bytes);
        let stream = Stream::new(StreamId(1), (PortId(0), to), &template, size, self.key)
            .map_err(|error| BenchError::Implausible(error.to_string()))?;
        let waits = Waits::fixed(Duration::from_ms(100), Duration::ZERO);
        let trial = Trial { waits, ..Trial::new("memif", self.key) };
        let result =
            self.tester.run(&trial.sending(stream, Schedule::constant(UNREACHABLE, duration)))?;
        self.key = self.key.later(1);
        Ok(result)
    }
}

/// A folder for sockets, removed with the value.
struct Folder(PathBuf);

impl Folder {
    fn make() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("netanvil-bench-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(system(format!("create {}", path.display())))?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
