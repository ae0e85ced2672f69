//! Who is measured, and how a transfer of each is run.

use crate::Failure;
use crate::lab::{CLIENT, Lab, SERVER, Server, output, processor_s};
use crate::quic;
use std::path::Path;
use std::time::{Duration, Instant};
use testbed::TwoHosts;

/// No transfer takes longer: who is not done by then has no result.
const LIMIT: Duration = Duration::from_secs(45);

/// A way to move bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Rival {
    /// `netanvil netblt` with these arguments.
    Netblt { name: &'static str, moved: Moved, arguments: String },
    /// iperf3, with this congestion control of the kernel.
    Tcp(&'static str),
    /// quinn with its defaults, which is CUBIC, and windows that do not limit it.
    Quic,
    /// rsync and its own server, over the kernel's TCP.
    Rsync,
    /// The library of the distribution, by `udt.cpp`.
    Udt,
}

/// What NETBLT moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moved {
    /// A file, digests of both ends, syncing and naming included (`netblt send`); from the start of the program to its
    /// end, as with rsync.
    File,
    /// Bytes from memory to memory (`netblt test`).
    Memory,
}

/// The file that is sent, in the scratch directory, and where it goes to.
pub const FILE: &str = "file";
const SERVED: &str = "served";
/// `udt.cpp`, as `make bench-netblt` has compiled it.
const UDT: &str = "target/udt-rival";
const RSYNC_PORT: u16 = 8730;

/// What a transfer came to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measured {
    /// Bits a second of what was transferred, from the first packet to the end; of a file, the program's start and end.
    pub goodput_bps: f64,
    /// Processor time of both ends, for each 10^9 bytes transferred.
    pub processor_s_per_gb: f64,
    /// The link did what its model says, and in time.
    pub faithful: bool,
}

/// Where things are.
pub struct Places<'a> {
    pub netanvil: &'a Path,
    /// For keys and certificates.
    pub scratch: &'a Path,
}

impl Rival {
    pub fn name(&self) -> String {
        match self {
            Rival::Netblt { name, .. } => format!("NETBLT, {name}"),
            Rival::Tcp(control) => format!("TCP {control} (iperf3)"),
            Rival::Quic => "QUIC (quinn)".to_owned(),
            Rival::Rsync => "rsync, a file".to_owned(),
            Rival::Udt => "UDT (libudt 4.11)".to_owned(),
        }
    }

    /// Whether it is NETBLT under this name.
    pub fn is_netblt(&self, wanted: &str) -> bool {
        matches!(self, Rival::Netblt { name, .. } if *name == wanted)
    }
    /// The options that it runs with, beside what is to be moved and where.
    pub fn options(&self) -> String {
        match self {
            Rival::Netblt { arguments, .. } if arguments.is_empty() => "none".to_owned(),
            Rival::Netblt { arguments, .. } => format!("`{arguments}`"),
            Rival::Tcp(control) => format!("`-C {control}`"),
            Rival::Quic => "large windows".to_owned(),
            Rival::Rsync | Rival::Udt => "none".to_owned(),
        }
    }

    /// A transfer of so many bytes, which those that can also end after so many seconds.
    pub fn run(
        &self,
        lab: &Lab,
        places: &Places<'_>,
        bytes: u64,
        seconds: f64,
    ) -> Result<Measured, Failure> {
        let before = processor_s()?;
        let (moved, took) = match self {
            Rival::Netblt { arguments, moved, .. } => {
                netblt(lab, places, *moved, arguments, bytes)?
            }
            Rival::Tcp(control) => tcp(lab, control, bytes, seconds)?,
            Rival::Quic => quic(lab, places, bytes, seconds)?,
            Rival::Rsync => rsync(lab, places)?,
            Rival::Udt => udt(lab, bytes, seconds)?,
        };
        Ok(Measured {
            faithful: lab.is_faithful(),
            goodput_bps: moved * 8.0 / took,
            processor_s_per_gb: (processor_s()? - before) / moved * 1e9,
        })
    }
}

fn netblt(
    lab: &Lab,
    places: &Places<'_>,
    moved: Moved,
    arguments: &str,
    bytes: u64,
) -> Result<(f64, f64), Failure> {
    let sealed = arguments.contains("--key-file");
    let mut serve = lab.command(SERVER, places.netanvil);
    serve
        .args(["netblt", "serve", SERVED, "--trust", "--max-rate", "1000G", "--overwrite"])
        .current_dir(places.scratch);
    if arguments.contains("--buffer-size") {
        // What it may ask for.
        serve.args(["--buffer-size", "1048576", "--buffers", "4096"]);
    }
    std::fs::create_dir_all(places.scratch.join(SERVED))?;
    // As with rsync, the other end does not have the file: freeing the last one's memory takes time.
    let received = places.scratch.join(SERVED).join(FILE);
    if received.exists() {
        std::fs::remove_file(&received)?;
    }
    if sealed {
        serve.args(["--key-file", "key"]);
    }
    if arguments.contains("--raw-ip") {
        serve.arg("--raw-ip");
    }
    let server = Server::start(&mut serve, true)?;
    let mut client = lab.command(CLIENT, places.netanvil);
    let (host, bytes) = (TwoHosts::address(SERVER).to_string(), bytes.to_string());
    match moved {
        Moved::File => client.args(["netblt", "send", FILE, &host]),
        Moved::Memory => client.args(["netblt", "test", &host, "--bytes", &bytes]),
    };
    client
        .args(["--json", "--quiet"])
        .args(arguments.split_whitespace())
        .current_dir(places.scratch);
    let began = Instant::now();
    let text = output(&mut client, LIMIT)?;
    let from_start_to_end_s = began.elapsed().as_secs_f64();
    drop(server);
    let json: serde_json::Value = serde_json::from_str(&text)?;
    let figure = |name: &str| json[name].as_f64().ok_or(format!("no {name} in {text}"));
    let took = match moved {
        Moved::File => from_start_to_end_s,
        // The time until everything is acknowledged; what follows is courtesy to the other end.
        Moved::Memory => figure("bytes")? * 8.0 / (figure("real_mbps")? * 1e6),
    };
    Ok((figure("bytes")?, took))
}

fn tcp(lab: &Lab, control: &str, bytes: u64, seconds: f64) -> Result<(f64, f64), Failure> {
    let iperf = Path::new("iperf3");
    let mut serve = lab.command(SERVER, iperf);
    let server = Server::start(serve.args(["-s", "-1", "--forceflush"]), false)?;
    let mut client = lab.command(CLIENT, iperf);
    client.args(["-J", "-C", control, "-c", &TwoHosts::address(SERVER).to_string()]);
    match seconds.is_finite() {
        true => client.args(["-t", &format!("{seconds:.0}")]),
        false => client.args(["-n", &bytes.to_string()]),
    };
    let text = output(&mut client, LIMIT)?;
    drop(server);
    let json: serde_json::Value = serde_json::from_str(&text)?;
    let sum = &json["end"]["sum_received"];
    let figure = |name: &str| sum[name].as_f64().ok_or(format!("no {name} in {text}"));
    Ok((figure("bytes")?, figure("seconds")?))
}

fn quic(lab: &Lab, places: &Places<'_>, bytes: u64, seconds: f64) -> Result<(f64, f64), Failure> {
    let own = std::env::current_exe()?;
    let certificate = places.scratch.join("certificate");
    let mut serve = lab.command(SERVER, &own);
    let server = Server::start(serve.arg("quic-server").arg(&certificate), false)?;
    let mut client = lab.command(CLIENT, &own);
    let address = std::net::SocketAddr::new(TwoHosts::address(SERVER), quic::PORT);
    client.arg("quic-client").arg(&certificate).args([
        address.to_string(),
        bytes.to_string(),
        seconds.to_string(),
    ]);
    let text = output(&mut client, LIMIT)?;
    drop(server);
    moved_and_took(&text)
}

/// Two numbers: bytes and seconds.
fn moved_and_took(text: &str) -> Result<(f64, f64), Failure> {
    let figures: Vec<f64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    match figures[..] {
        [moved, took] => Ok((moved, took)),
        _ => Err(format!("not understood: {text}").into()),
    }
}

fn udt(lab: &Lab, bytes: u64, seconds: f64) -> Result<(f64, f64), Failure> {
    let program = Path::new(UDT)
        .canonicalize()
        .map_err(|error| format!("{UDT}: {error}; make bench-netblt makes it"))?;
    let server = Server::start(lab.command(SERVER, &program).arg("serve"), false)?;
    let mut client = lab.command(CLIENT, &program);
    client.args(["send", &TwoHosts::address(SERVER).to_string()]);
    let text = output(client.args([bytes.to_string(), seconds.to_string()]), LIMIT)?;
    drop(server);
    moved_and_took(&text)
}

/// All of the file, which the other end does not have; from the start of the program to its end.
fn rsync(lab: &Lab, places: &Places<'_>) -> Result<(f64, f64), Failure> {
    let folder = tempfile::tempdir_in(places.scratch)?;
    let configuration = places.scratch.join("rsyncd.conf");
    let text = format!(
        "use chroot = no\nuid = root\ngid = root\n[served]\npath = {}\nread only = no\n",
        folder.path().display()
    );
    std::fs::write(&configuration, text)?;
    let program = Path::new("rsync");
    let mut serve = lab.command(SERVER, program);
    serve.args(["--daemon", "--no-detach", &format!("--port={RSYNC_PORT}"), "--config"]);
    let server = Server::spawn(serve.arg(&configuration))?;
    let url = format!("rsync://{}:{RSYNC_PORT}/", TwoHosts::address(SERVER));
    let listening = || output(lab.command(CLIENT, program).arg(&url), LIMIT);
    for _ in 0..100 {
        if listening().is_ok() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let mut client = lab.command(CLIENT, program);
    client.arg(FILE).arg(format!("{url}served/")).current_dir(places.scratch);
    let began = Instant::now();
    output(&mut client, LIMIT)?;
    let took = began.elapsed().as_secs_f64();
    let bytes = std::fs::metadata(folder.path().join(FILE))?.len();
    // Its process for this client ends, too, and is waited for, before its time is read.
    std::thread::sleep(Duration::from_millis(200));
    drop(server);
    Ok((bytes as f64, took))
}
