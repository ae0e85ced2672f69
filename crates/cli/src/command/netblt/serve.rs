//! `netanvil netblt serve`: a directory for others.

use super::args::{Sealing, Serve};
use super::outcome::TransferReport;
use super::parameters::{carrier, is_sealed, parse_rate, socket};
use crate::failure::{Exit, Failure, Outcome};
use crate::{interrupt, output};
use netblt::{EndpointLimits, Limits, Timing};
use netblt_client::FASTEST;
use netblt_client::address::where_to_listen;
use netblt_io::files::Served;
use netblt_io::{Code, Station};
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::atomic::Ordering;
use units::Duration;

/// How often to look for signals.
const PAUSE: Duration = Duration::from_ms(200);

pub fn run(arguments: &Serve) -> Outcome {
    if arguments.buffer_size == 0 || arguments.buffers == 0 || arguments.max_connections == 0 {
        return Err(Failure::new("buffer size, buffers and connections must be at least 1"));
    }
    let directory = &arguments.directory;
    let mut served = Served::open(directory)
        .map_err(|error| Failure::new(format!("cannot serve {}: {error}", directory.display())))?;
    served.readable = !arguments.write_only;
    served.writable = !arguments.read_only;
    served.overwrite = arguments.overwrite;
    let address = address(arguments)?;
    let cap = parse_rate(&arguments.max_rate)?;
    let (sealing, drawn) = with_code(&arguments.sealing)?;
    let socket = socket(address, arguments.raw_ip, &sealing)?;
    if !(socket.is_sealed() || arguments.trust || address.ip().is_loopback()) {
        return Err(Failure::new(format!(
            "{address} is not of this host alone, and there is no key"
        ))
        .help("give a key (--key-file), draw a code (--code), or --trust to serve whoever can send to it"));
    }
    let bound = socket.local_address().map(|address| address.to_string()).unwrap_or_default();
    let trust = if socket.is_sealed() { "packets are sealed" } else { "nothing is encrypted" };
    let endpoint =
        EndpointLimits { max_connections: arguments.max_connections, ..Default::default() };
    let mut station = Station::new(socket, endpoint, limits(arguments), Timing::default());
    station.cap_rate(cap);
    station.listen(arguments.port);
    output::say(format_args!("serving {} on {bound}; {trust}", directory.display()));
    if let Some(code) = drawn {
        let code = code.to_string();
        match arguments.json {
            true => output::print(&format!("{}\n", serde_json::json!({ "code": code })))?,
            false => output::print(&format!("code: {code}\n"))?,
        }
    }
    let interrupted = interrupt::watch()?;
    let mut over = false;
    while !interrupted.load(Ordering::SeqCst) {
        station
            .turn(PAUSE, &mut served)
            .map_err(|error| Failure::new(format!("the network broke: {error}")))?;
        for ended in station.take_ended() {
            over |= arguments.once;
            show(&TransferReport::new(&ended), arguments.json)?;
        }
        if over && station.connections().next().is_none() {
            break;
        }
    }
    Ok(Exit::Done)
}

/// With a code that is drawn where one is wanted and none was given.
fn with_code(sealing: &Sealing) -> Outcome<(Sealing, Option<Code>)> {
    if sealing.code.as_deref() != Some("") {
        return Ok((sealing.clone(), None));
    }
    let code = Code::draw().ok_or_else(|| Failure::new("this system has no randomness"))?;
    Ok((Sealing { code: Some(code.to_string()), ..sealing.clone() }, Some(code)))
}

/// Where to listen: for this host alone, unless others need a key or are trusted.
fn address(arguments: &Serve) -> Outcome<SocketAddr> {
    let others = arguments.trust || is_sealed(&arguments.sealing)?;
    let Some(listen) = &arguments.listen else {
        return Ok(where_to_listen(others, carrier(arguments.raw_ip)));
    };
    let found = listen.to_socket_addrs().ok().and_then(|mut all| all.next());
    found.ok_or_else(|| {
        Failure::new(format!("no address to listen on: {listen}"))
            .help("for example --listen 0.0.0.0:20030, or --listen '[::]:20030'")
    })
}

/// Rates are the other end's choice; memory is ours.
fn limits(arguments: &Serve) -> Limits {
    Limits {
        buffer_size_bytes: arguments.buffer_size,
        data_packet_size_bytes: 65_400,
        burst: FASTEST,
        max_outstanding_buffers: arguments.buffers,
        checksum_data: false,
        death_timer_s: 30,
    }
}

fn show(report: &TransferReport, json: bool) -> Outcome<()> {
    if !json {
        return output::print(&report.text());
    }
    let line = serde_json::to_string(report)
        .map_err(|error| Failure::new(format!("cannot write JSON: {error}")))?;
    output::print(&(line + "\n"))
}
