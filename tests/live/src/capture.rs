//! A capture by somebody else: `tcpdump` on an interface of the device, read by `tshark`.

use kernel::Namespace;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use pcap_file::PcapError;
use pcap_file::pcap::PcapReader;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// How often a capture is looked at until it holds all frames, and how long between two looks.
const LOOKS: u32 = 1_000;
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// Which frames of an interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Those that come in.
    In,
    /// Those that go out.
    Out,
}

/// `tcpdump`, running. It ends with this value.
pub struct Capture {
    tcpdump: Child,
    errors: BufReader<ChildStderr>,
    folder: TempDir,
}

/// What `tcpdump` saw.
pub struct Captured {
    /// Frames without FCS, in order.
    pub frames: Vec<Vec<u8>>,
    folder: TempDir,
}

impl Capture {
    /// Captures every frame that comes into an interface, or every one that goes out.
    pub fn start(namespace: &Namespace, interface: &str, direction: Direction) -> Capture {
        let direction = if direction == Direction::In { "in" } else { "out" };
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = Command::new("tcpdump");
        command.args(["-i", interface, "-Q", direction, "-n", "-Z", "root", "-B", "65536"]);
        command.args(["--immediate-mode", "-U", "-w"]).arg(path(&folder));
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let started = namespace.run(|| command.spawn()).expect("enter the namespace");
        let mut tcpdump = started.expect("tcpdump (Debian: apt-get install tcpdump)");
        let mut errors = BufReader::new(tcpdump.stderr.take().expect("piped"));
        let mut line = String::new();
        while !line.contains("listening on") {
            line.clear();
            let read = errors.read_line(&mut line).expect("what tcpdump says");
            assert!(read > 0, "tcpdump ended before it began");
        }
        Capture { tcpdump, errors, folder }
    }

    /// Waits until the capture holds so many frames, then ends it; there may be more.
    pub fn finish(mut self, frames: u64) -> Captured {
        for _ in 0..LOOKS {
            if read(&path(&self.folder)).len() as u64 >= frames {
                break;
            }
            std::thread::sleep(BETWEEN_LOOKS);
        }
        self.interrupt();
        let mut said = String::new();
        self.errors.read_to_string(&mut said).expect("what tcpdump says");
        self.tcpdump.wait().expect("tcpdump's end");
        assert!(said.contains("0 packets dropped by kernel"), "tcpdump missed frames: {said}");
        let folder = std::mem::replace(&mut self.folder, tempfile::tempdir().expect("a folder"));
        Captured { frames: read(&path(&folder)), folder }
    }

    fn interrupt(&self) {
        let _ = kill(Pid::from_raw(self.tcpdump.id() as i32), Signal::SIGINT);
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        if let Ok(None) = self.tcpdump.try_wait() {
            self.interrupt();
            let _ = self.tcpdump.wait();
        }
    }
}

impl Captured {
    /// The file, for whoever wants to read it himself.
    pub fn path(&self) -> PathBuf {
        path(&self.folder)
    }
}

fn path(folder: &TempDir) -> PathBuf {
    folder.path().join("frames.pcap")
}

/// The frames of a capture that may still be growing.
fn read(path: &Path) -> Vec<Vec<u8>> {
    let Ok(file) = File::open(path) else { return vec![] };
    let mut frames = vec![];
    // The header may not be whole yet.
    let Ok(mut reader) = PcapReader::new(BufReader::new(file)) else { return vec![] };
    while let Some(packet) = reader.next_packet() {
        match packet {
            Ok(packet) => frames.push(packet.data.into_owned()),
            Err(PcapError::IncompleteBuffer | PcapError::IoError(_)) => break,
            Err(error) => panic!("{}: {error}", path.display()),
        }
    }
    frames
}
