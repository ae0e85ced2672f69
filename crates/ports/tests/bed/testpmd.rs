//! DPDK's testpmd as a device of known truth between two ports: it forwards, and counts what it does.

use ports::{DeviceControl, DeviceCounts, DeviceLink};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use trial::{DeviceAction, DeviceCount, DeviceSetup, TesterError};

const ANSWERS_WITHIN: Duration = Duration::from_secs(20);

/// A running testpmd with two ports.
pub struct Testpmd {
    process: Child,
    commands: ChildStdin,
    lines: Receiver<String>,
}

impl Testpmd {
    /// Forwards between two virtual devices (`--forward-mode=io`, or another), without huge pages; its forwarding
    /// thread is on processor 1.
    pub fn start(devices: [&str; 2], mode: &str, more: &str) -> Testpmd {
        let prefix = format!("netanvil-test-{}", std::process::id());
        let command = format!(
            "-oL dpdk-testpmd --lcores 0@0,1@1 --no-huge -m 256 --no-pci --no-telemetry --no-shconf \
             --file-prefix {prefix} --vdev {} --vdev {} -- --interactive --forward-mode={mode} --nb-cores=1 \
             --total-num-mbufs=8192 --auto-start --no-mlockall {more}",
            devices[0], devices[1]
        );
        let mut process = Command::new("stdbuf")
            .args(command.split_whitespace())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("stdbuf and dpdk-testpmd");
        let commands = process.stdin.take().expect("a pipe");
        let said = BufReader::new(process.stdout.take().expect("a pipe"));
        let (to, lines) = channel();
        std::thread::spawn(move || {
            said.lines().map_while(Result::ok).try_for_each(|line| to.send(line))
        });
        let mut testpmd = Testpmd { process, commands, lines };
        // The answer to a command comes once it forwards.
        testpmd.ask("show port stats all", "Tx-bps", 2);
        testpmd
    }

    /// Gives a command; all lines until so many that contain `last`.
    pub fn ask(&mut self, command: &str, last: &str, count: usize) -> Vec<String> {
        writeln!(self.commands, "{command}").expect("testpmd runs");
        let (mut said, mut found) = (vec![], 0);
        while found < count {
            let line = self.lines.recv_timeout(ANSWERS_WITHIN);
            let line =
                line.unwrap_or_else(|_| panic!("testpmd does not answer {command}: {said:?}"));
            found += usize::from(line.contains(last));
            said.push(line);
        }
        said
    }

    /// What it counts at each port, with the frames that it could not hand over.
    pub fn links(&mut self) -> Vec<DeviceLink> {
        let dropped = self.ask("show fwd stats all", "+++++++++++++++", 2);
        let dropped: Vec<u64> = values(&dropped, "TX-dropped:");
        let counted = self.ask("show port stats all", "Tx-bps", 2);
        let (received, missed) = (values(&counted, "RX-packets:"), values(&counted, "RX-missed:"));
        let sent = values(&counted, "TX-packets:");
        let link = |port: usize| DeviceLink {
            rx_frames: received[port],
            rx_dropped: missed[port],
            tx_frames: sent[port],
            tx_dropped: dropped[port],
            carrier_changes: 0,
            carrier: true,
        };
        vec![link(0), link(1)]
    }
}

/// The numbers behind a name, in order.
fn values(lines: &[String], name: &str) -> Vec<u64> {
    let behind = lines.iter().filter_map(|line| line.split_once(name)?.1.split_whitespace().next());
    behind.map(|number| number.parse().expect("a number")).collect()
}

impl Drop for Testpmd {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let prefix = format!("netanvil-test-{}", std::process::id());
        let _ = std::fs::remove_dir_all(format!("/var/run/dpdk/{prefix}"));
    }
}

/// Its counters around each trial.
impl DeviceControl for Testpmd {
    fn act(&mut self, _: &DeviceAction) -> Result<(), TesterError> {
        panic!("not asked for")
    }
    fn check(&mut self) -> Result<(), TesterError> {
        match self.process.try_wait() {
            Ok(None) => Ok(()),
            _ => Err(TesterError::DeviceGone("testpmd has ended".into())),
        }
    }
    fn configure(&mut self, _: &DeviceSetup) -> Result<(), TesterError> {
        Ok(())
    }
    fn counters(&mut self) -> Result<Vec<DeviceCount>, TesterError> {
        Ok(vec![])
    }
    fn counts(&mut self) -> Result<DeviceCounts, TesterError> {
        Ok(DeviceCounts { links: self.links(), places: vec![], notes: vec![] })
    }
}
