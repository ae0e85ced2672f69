//! Who saw the frames besides the tester: the kernel, at the device's own interfaces.
//!
//! A tap is `tcpdump` on an interface of the device. The signature at the end of a test frame holds its
//! transmit time, which says of which trial it is: neither the tester's counts nor its key are needed. That
//! the taps missed nothing the interfaces' counters show, which are read at the same moments.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use pcap_file::pcap::PcapReader;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Bytes of a signature in its full form, which frames from 64 bytes on have room for.
const SIGNATURE_BYTES: usize = 18;
/// Longest frame that is kept whole.
const KEPT_BYTES: usize = 256;
/// A tap has told all when its file has not grown for so long.
const STILL: Duration = Duration::from_millis(250);

/// A frame at an interface of the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame {
    /// Its last bytes: nothing else in the run has the same, but copies of it.
    pub signature: [u8; SIGNATURE_BYTES],
}

impl Frame {
    /// Its transmit time, which stands behind check and stream (big-endian, 48 bits of nanoseconds).
    pub fn sent_ns(&self) -> u64 {
        let time = &self.signature[4..10];
        time.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
    }
}

/// Which way frames go, as seen from the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// Into it.
    In,
    /// Out of it.
    Out,
}

/// `tcpdump` at one interface.
pub struct Tap {
    tcpdump: Child,
    errors: BufReader<ChildStderr>,
    file: PathBuf,
}

/// What it saw.
pub struct Tapped {
    /// All frames, whatever they were.
    pub all: u64,
    /// Those of UDP over IPv4 that are long enough for a signature, and when they passed, in nanoseconds of
    /// CLOCK_MONOTONIC.
    pub frames: Vec<(Frame, u64)>,
}

impl Tap {
    /// From now on; `but` is a filter for what is not to be seen.
    pub fn start(namespace: &str, interface: &str, way: Way, but: &str, folder: &Path) -> Tap {
        let file = folder.join(format!("{interface}-{way:?}.pcap"));
        let direction = if way == Way::In { "in" } else { "out" };
        let kept = KEPT_BYTES.to_string();
        let mut command = Command::new("ip");
        command.args(["netns", "exec", namespace, "tcpdump", "-i", interface, "-n", "-Z", "root"]);
        // What the filter does not pass takes no room. It says nothing of the direction, which libpcap
        // cannot see in the first frames that it filters.
        command.args(["-Q", direction]);
        command.args(["-B", "131072", "-s", &kept, "--immediate-mode", "-U", "-w"]);
        command
            .arg(&file)
            .args(but.split_whitespace())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut tcpdump = command.spawn().expect("iproute2 and tcpdump");
        let mut errors = BufReader::new(tcpdump.stderr.take().expect("piped"));
        let mut line = String::new();
        while !line.contains("listening on") {
            line.clear();
            let read = errors.read_line(&mut line).expect("what tcpdump says");
            assert!(read > 0, "tcpdump on {interface} ended before it began");
        }
        Tap { tcpdump, errors, file }
    }

    /// Ends it when it has told all, and reads what it saw.
    ///
    /// # Panics
    /// If it missed a frame by its own account. The interface's counters say whether that is all.
    pub fn finish(mut self) -> Tapped {
        let size = || std::fs::metadata(&self.file).map_or(0, |file| file.len());
        let mut before = u64::MAX;
        while before != size() {
            before = size();
            std::thread::sleep(STILL);
        }
        let _ = kill(Pid::from_raw(self.tcpdump.id() as i32), Signal::SIGINT);
        let mut said = String::new();
        self.errors.read_to_string(&mut said).expect("what tcpdump says");
        self.tcpdump.wait().expect("tcpdump's end");
        let count = |what: &str| -> u64 {
            let line = said.lines().find(|line| line.contains(what));
            let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
            number.unwrap_or_else(|| panic!("tcpdump does not tell {what}: {said}"))
        };
        assert_eq!(count("dropped by kernel"), 0, "a tap missed frames: {said}");
        let captured = count("captured");
        let tapped = read(&self.file);
        assert_eq!(tapped.all, captured, "a tap's file is not whole");
        tapped
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        let _ = self.tcpdump.kill();
        let _ = self.tcpdump.wait();
    }
}

fn read(file: &Path) -> Tapped {
    let file = BufReader::new(File::open(file).expect("a capture"));
    let mut reader = PcapReader::new(file).expect("a capture file");
    let mut tapped = Tapped { all: 0, frames: vec![] };
    // tcpdump writes the time of day.
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time of day");
    let ahead_ns = since_epoch.as_nanos() as i128 - i128::from(ports::clock::now().as_ns());
    while let Some(packet) = reader.next_packet() {
        let packet = packet.expect("a whole packet");
        tapped.all += 1;
        let at_ns = u64::try_from(packet.timestamp.as_nanos() as i128 - ahead_ns).unwrap_or(0);
        tapped.frames.extend(test_frame(&packet.data).map(|frame| (frame, at_ns)));
    }
    tapped
}

/// UDP (protocol 17) over IPv4 without options (RFC 791 section 3.1), and room for a signature behind it.
fn test_frame(bytes: &[u8]) -> Option<Frame> {
    const HEADERS_BYTES: usize = 14 + 20 + 8;
    let is_udp = bytes.get(12..15) == Some(&[0x08, 0x00, 0x45]) && bytes.get(23) == Some(&17);
    if !is_udp || bytes.len() < HEADERS_BYTES + SIGNATURE_BYTES || bytes.len() >= KEPT_BYTES {
        return None;
    }
    let signature = bytes[bytes.len() - SIGNATURE_BYTES..].try_into().expect("so many bytes");
    Some(Frame { signature })
}

/// What the kernel has counted at an interface of the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counters {
    pub rx: u64,
    pub tx: u64,
}

impl Counters {
    pub fn read(namespace: &str, interface: &str) -> Counters {
        let command = format!("ip -n {namespace} -s -j link show dev {interface}");
        let links: serde_json::Value =
            serde_json::from_str(&crate::common::sh(&command)).expect("JSON of iproute2");
        let statistics = &links[0]["stats64"];
        let packets = |way: &str| statistics[way]["packets"].as_u64().expect("a counter");
        Counters { rx: packets("rx"), tx: packets("tx") }
    }
}

/// Frames that a place in the device has dropped by its own count: the queue of its token bucket, and the
/// rule that drops every so-many-th frame.
pub fn named_drops(namespace: &str, interface: &str) -> u64 {
    let queues = crate::common::sh(&format!("tc -n {namespace} -s -j qdisc show dev {interface}"));
    let queues: serde_json::Value = serde_json::from_str(&queues).expect("JSON of tc");
    let of_queues = queues.as_array().into_iter().flatten();
    let of_queues: u64 =
        of_queues.filter(|q| q["kind"] == "tbf").filter_map(|q| q["drops"].as_u64()).sum();
    let rules = crate::common::sh(&format!("ip netns exec {namespace} nft list ruleset"));
    let dropping = rules.lines().filter(|rule| rule.contains("numgen"));
    let of_rules = dropping.filter_map(|rule| {
        rule.split("packets ").nth(1)?.split_whitespace().next()?.parse::<u64>().ok()
    });
    of_queues + of_rules.sum::<u64>()
}
