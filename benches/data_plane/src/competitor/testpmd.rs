//! testpmd (DPDK), without huge pages: one process sends (txonly), another one receives (rxonly).
//! Its rates are those of its own counters, read twice.

use super::{Arena, BEGINS_WITHIN, ENDS_WITHIN, words};
use crate::bed::Bed;
use crate::error::{BenchError, Result};
use crate::process::Process;
use crate::subject::Subject;
use crate::window::{LENGTH, Reading, WARM_UP, Window};
use ports::clock;
use serde::Serialize;
use std::sync::atomic::{AtomicU32, Ordering};
use units::{Duration, Instant};

/// How long an answer to a command may take.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);
const PROMPT: &str = "testpmd>";

/// A sending and a receiving testpmd on one pair.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Received {
    /// Frames a second that the sender says it sent.
    pub sent_fps: f64,
    /// Frames a second that the receiver says it received.
    pub received_fps: f64,
    /// The machine's view, of both processes.
    pub window: Window,
}

/// Sends as fast as it can; watches what arrives at the far end.
pub fn transmit_with_testpmd(
    arena: &Arena,
    subject: Subject,
    bed: &Bed,
    size_bytes: u32,
) -> Result<Window> {
    let mut sender = Testpmd::start(arena, subject, bed, Role::Send { size_bytes })?;
    let window = crate::window::watch(bed, &[sender.process.id()])?;
    sender.statistics()?;
    sender.quit()?;
    Ok(window)
}

/// Starts one that sends to the host behind the bed's router, through the interface's qdisc.
pub fn route(arena: &Arena, bed: &Bed, size_bytes: u32) -> Result<Testpmd> {
    Testpmd::start(arena, Subject::TestpmdAfPacket, bed, Role::Route { size_bytes })
}

/// Sends as fast as it can from one end to the other.
pub fn receive_with_testpmd(
    arena: &Arena,
    subject: Subject,
    bed: &Bed,
    size_bytes: u32,
) -> Result<Received> {
    let mut receiver = Testpmd::start(arena, subject, bed, Role::Receive)?;
    let mut sender = Testpmd::start(arena, subject, bed, Role::Send { size_bytes })?;
    let processes = [sender.process.id(), receiver.process.id()];
    clock::sleep(WARM_UP);
    let first = Reading::take(bed, &processes)?;
    let (sent_before, received_before) = (sender.statistics()?, receiver.statistics()?);
    clock::sleep(LENGTH);
    let (sent, received) = (sender.statistics()?, receiver.statistics()?);
    let window = first.until(&Reading::take(bed, &processes)?);
    sender.quit()?;
    receiver.quit()?;
    Ok(Received {
        sent_fps: rate(sent_before.sent_at, sent.sent_at)?,
        received_fps: rate(received_before.received_at, received.received_at)?,
        window,
    })
}

fn rate(before: (u64, Instant), after: (u64, Instant)) -> Result<f64> {
    let seconds = after.1.since(before.1).as_secs_f64();
    let frames = after.0.saturating_sub(before.0);
    if frames == 0 {
        return Err(BenchError::Implausible("testpmd's counters stand still".into()));
    }
    Ok(frames as f64 / seconds)
}

#[derive(Clone, Copy)]
enum Role {
    Send { size_bytes: u32 },
    Route { size_bytes: u32 },
    Receive,
}

/// Options that have txonly send to the far host by way of the device.
fn to_far_host(bed: &Bed, size_bytes: u32) -> String {
    let ports = bed.testbed().ports();
    let mac = ports[0].device_mac.unwrap_or(crate::netanvil::NOBODY);
    let mac: Vec<String> = mac.iter().map(|byte| format!("{byte:02x}")).collect();
    let [from, to] = [0, 1].map(|port| ports[port].addresses.ipv4.host);
    format!("--txpkts={} --eth-peer=0,{} --tx-ip={from},{to}", size_bytes - 4, mac.join(":"))
}

/// What a testpmd of its own is on.
pub enum Device {
    /// A virtual device on each socket.
    Memif {
        /// Of all of them.
        role: MemifRole,
        /// In the order of its ports.
        sockets: Vec<std::path::PathBuf>,
    },
}

/// The end of a memif link.
#[derive(Clone, Copy)]
pub enum MemifRole {
    /// Listens.
    Server,
    /// Connects.
    Client,
}

impl Device {
    fn arguments(&self) -> String {
        let Device::Memif { role, sockets } = self;
        let role = match role {
            MemifRole::Server => "server",
            MemifRole::Client => "client",
        };
        let device = |(number, socket): (usize, &std::path::PathBuf)| {
            format!(
                "--vdev net_memif{number},role={role},socket={},socket-abstract=no",
                socket.display()
            )
        };
        sockets.iter().enumerate().map(device).collect::<Vec<_>>().join(" ")
    }
}

/// A running testpmd.
pub struct Testpmd {
    process: Process,
    answers: usize,
    runtime: String,
}

/// What `show port stats` says, and when.
#[derive(Clone, Copy)]
struct Statistics {
    received_at: (u64, Instant),
    sent_at: (u64, Instant),
}

impl Testpmd {
    fn start(arena: &Arena, subject: Subject, bed: &Bed, role: Role) -> Result<Self> {
        let (core, interface, mode, packets) = match role {
            Role::Send { size_bytes } => {
                (arena.cores[0], bed.near(), "txonly", format!("--txpkts={}", size_bytes - 4))
            }
            Role::Route { size_bytes } => {
                (arena.cores[0], bed.near(), "txonly", to_far_host(bed, size_bytes))
            }
            Role::Receive => (arena.cores[1], bed.far(), "rxonly", String::new()),
        };
        let bypass = u32::from(!matches!(role, Role::Route { .. }));
        let device = match subject {
            Subject::TestpmdAfPacket => format!(
                "net_af_packet0,iface={interface},blocksz=4096,framesz=2048,framecnt=512,qpairs=1,\
                 qdisc_bypass={bypass}"
            ),
            // With its preferred busy polling it receives a quarter less on a veth.
            _ => format!("net_af_xdp0,iface={interface},busy_budget=0"),
        };
        let device = format!("--vdev {device}");
        let mode = format!("--forward-mode={mode} {packets}");
        Self::launch(arena, bed, core, &device, &mode)
    }

    /// Starts one on devices of its own, with the options of its forwarding mode.
    pub fn on(arena: &Arena, bed: &Bed, core: usize, device: &Device, mode: &str) -> Result<Self> {
        Self::launch(arena, bed, core, &device.arguments(), mode)
    }

    fn launch(arena: &Arena, bed: &Bed, core: usize, devices: &str, mode: &str) -> Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let runtime = format!("netanvil-{}-{count}", std::process::id());
        let command = format!(
            "stdbuf --output=L dpdk-testpmd --lcores 0@{core},1@{core} --no-huge -m 512 --no-pci --no-telemetry \
             --file-prefix {runtime} {devices} -- --interactive {mode} \
             --nb-cores=1 --total-num-mbufs=16384 --burst=32 --txd=1024 --rxd=1024 \
             --auto-start --no-mlockall"
        );
        let process = Process::start(bed, core, &words(&command), &[], &arena.stop)?;
        let mut testpmd = Testpmd { process, answers: 0, runtime };
        testpmd.process.await_words("prompt", BEGINS_WITHIN, |said| said.contains(PROMPT))?;
        Ok(testpmd)
    }

    /// An error if it has ended.
    pub fn check_running(&mut self) -> Result<()> {
        self.process.check_running()
    }

    /// The process.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Asks for the port's counters.
    fn statistics(&mut self) -> Result<Statistics> {
        self.process.check_running()?;
        let asked = clock::now();
        self.process.tell("show port stats all")?;
        self.answers += 1;
        let answers = self.answers;
        let said = self.process.await_words("statistics", ANSWERS_WITHIN, |said| {
            counts(said, "Tx-bps:").count() >= answers
        })?;
        // The counters were read some time between question and answer.
        let at = asked + Duration::from_ps(clock::now().since(asked).as_ps() / 2);
        let last = |name: &str| {
            counts(&said, name)
                .last()
                .ok_or_else(|| BenchError::Implausible(format!("testpmd's statistics lack {name}")))
        };
        Ok(Statistics {
            received_at: (last("RX-packets:")?, at),
            sent_at: (last("TX-packets:")?, at),
        })
    }

    /// Frames that all its ports have received so far, and when.
    pub fn received(&mut self) -> Result<(u64, Instant)> {
        self.process.check_running()?;
        let before = counts(&self.process.said(), "Tx-bps:").count();
        let asked = clock::now();
        self.process.tell("show port stats all")?;
        let ports = self.process.said().matches("Configuring Port").count();
        let said = self.process.await_words("statistics", ANSWERS_WITHIN, |said| {
            counts(said, "Tx-bps:").count() >= before + ports
        })?;
        let at = asked + Duration::from_ps(clock::now().since(asked).as_ps() / 2);
        let received: Vec<u64> = counts(&said, "RX-packets:").collect();
        Ok((received[received.len() - ports..].iter().sum(), at))
    }

    /// Ends it.
    pub fn quit(mut self) -> Result<()> {
        self.process.tell("quit")?;
        self.process.wait(ENDS_WITHIN)?;
        Ok(())
    }
}

impl Drop for Testpmd {
    fn drop(&mut self) {
        // DPDK leaves its run-time files behind.
        let _ = std::fs::remove_dir_all(format!("/var/run/dpdk/{}", self.runtime));
    }
}

/// All numbers that follow this name.
fn counts<'a>(said: &'a str, name: &'a str) -> impl Iterator<Item = u64> + 'a {
    said.match_indices(name)
        .filter_map(move |(at, _)| said[at + name.len()..].split_whitespace().next()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_in_order() {
        let said = "  RX-packets: 10  RX-missed: 0\n  Tx-bps:  1\nRX-packets: 25 RX-missed";
        assert_eq!(counts(said, "RX-packets:").collect::<Vec<_>>(), [10, 25]);
        assert_eq!(counts("RX-packets: ", "RX-packets:").count(), 0);
    }
}
