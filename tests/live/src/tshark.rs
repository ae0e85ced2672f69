//! The judge from outside: what `tshark` says of captured frames.

use std::path::Path;
use std::process::Command;

/// What `tshark` says of a frame that it finds sound.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dissection {
    /// Its headers, such as `eth:ethertype:ip:udp:data`.
    pub protocols: String,
    /// Its length in bytes.
    pub len_bytes: usize,
    /// How many checksums it has.
    pub checksums: usize,
}

const CHECKSUMS: [&str; 5] = [
    "ip.checksum.status",
    "udp.checksum.status",
    "tcp.checksum.status",
    "icmp.checksum.status",
    "icmpv6.checksum.status",
];
const GOOD: &str = "1";

/// Remarks that are none: routing headers of a type for experiments (RFC 4727), which nothing can
/// decode, and ports drawn at random that `traceroute` uses, too.
const REMARKS_THAT_ARE_NONE: [&str; 2] =
    ["Undecoded IPv6 routing header field", "Possible traceroute: "];

/// Ports whose frames carry our data: any but those of SNMP (and the one from which queries
/// come) and RIP.
const OF_TEST_FRAMES: [&str; 5] = [
    "udp.port==1-160",
    "udp.port==162-519",
    "udp.port==521-49183",
    "udp.port==49185-65535",
    "tcp.port==1-65535",
];

/// Has `tshark` read a capture. Test frames are data to it, whatever their ports.
///
/// # Panics
/// If a frame is malformed, has a bad checksum, or calls for any remark.
pub fn dissect(capture: &Path) -> Vec<Dissection> {
    let mut command = Command::new("tshark");
    command.arg("-n").arg("-r").arg(capture);
    for ports in OF_TEST_FRAMES {
        command.args(["-d", &format!("{ports},data")]);
    }
    for protocol in ["ip", "udp", "tcp"] {
        command.args(["-o", &format!("{protocol}.check_checksum:TRUE")]);
    }
    command.args(["-o", "tcp.analyze_sequence_numbers:FALSE"]);
    // It guesses from the payload alone: 9 of 60,000 drawn at random looked like its own.
    command.args(["--disable-protocol", "hipercontracer"]);
    command.args(["-T", "fields", "-E", "separator=/t", "-E", "occurrence=a"]);
    let fields = ["frame.protocols", "frame.len", "_ws.malformed", "_ws.expert.message"];
    for field in fields.iter().chain(&CHECKSUMS) {
        command.args(["-e", field]);
    }
    let output = command.output().expect("tshark (Debian: apt-get install tshark)");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "tshark failed: {complaint}");
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(sound).collect()
}

fn sound(line: &str) -> Dissection {
    let fields: Vec<&str> = line.split('\t').collect();
    let [protocols, len, malformed, remark, checksums @ ..] = &fields[..] else { panic!("{line}") };
    assert_eq!(*malformed, "", "{line}");
    let is_none = REMARKS_THAT_ARE_NONE.iter().any(|start| remark.starts_with(start));
    assert!(remark.is_empty() || is_none, "{line}");
    let checksums = checksums.iter().filter(|status| !status.is_empty());
    Dissection {
        protocols: protocols.to_string(),
        len_bytes: len.parse().expect("a length"),
        checksums: checksums.inspect(|status| assert_eq!(**status, GOOD, "{line}")).count(),
    }
}
