//! `netanvil netblt serve`: a directory for others.

use super::args::Serve;
use super::outcome::TransferReport;
use super::parameters::{carrier, failure, parse_rate, seal, tell_readable_key};
use crate::failure::{Exit, Failure, Outcome};
use crate::{interrupt, output};
use netblt_client::serving::{ServerOptions, Serving};
use netblt_client::{Code, Error};
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::atomic::Ordering;
use units::Duration;

/// How often to look for signals.
const PAUSE: Duration = Duration::from_ms(200);

pub fn run(arguments: &Serve) -> Outcome {
    let directory = &arguments.directory;
    let (options, drawn) = options(arguments)?;
    let mut serving = Serving::open(directory, &options).map_err(|error| match error {
        Error::CannotRead { error, .. } => {
            Failure::new(format!("cannot serve {}: {error}", directory.display()))
        }
        other => failure(other),
    })?;
    let trust = if serving.is_sealed() { "packets are sealed" } else { "nothing is encrypted" };
    let bound = serving.address();
    output::say(format_args!("serving {} on {bound}; {trust}", directory.display()));
    tell_readable_key(&arguments.sealing);
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
        for ended in serving.turn(PAUSE).map_err(failure)? {
            over |= arguments.once;
            show(&TransferReport::new(&ended), arguments.json)?;
        }
        if over && serving.is_idle() {
            break;
        }
    }
    Ok(Exit::Done)
}

/// With the code that is drawn where one is wanted and none was given.
fn options(arguments: &Serve) -> Outcome<(ServerOptions, Option<Code>)> {
    let mut drawn = None;
    let draw = || {
        drawn = Code::draw();
        drawn.clone().ok_or_else(|| Failure::new("this system has no randomness"))
    };
    let seal = seal(&arguments.sealing, arguments.raw_ip, draw)?;
    let options = ServerOptions {
        listen: arguments.listen.as_deref().map(address).transpose()?,
        trust: arguments.trust,
        carrier: carrier(arguments.raw_ip),
        seal,
        port: arguments.port,
        readable: !arguments.write_only,
        writable: !arguments.read_only,
        overwrite: arguments.overwrite,
        max_rate_bps: parse_rate(&arguments.max_rate)?,
        max_connections: arguments.max_connections,
        buffer_size_bytes: arguments.buffer_size,
        max_outstanding_buffers: arguments.buffers,
    };
    Ok((options, drawn))
}

fn address(listen: &str) -> Outcome<SocketAddr> {
    let found = listen.to_socket_addrs().ok().and_then(|mut all| all.next());
    found.ok_or_else(|| {
        Failure::new(format!("no address to listen on: {listen}"))
            .help("for example --listen 0.0.0.0:20030, or --listen '[::]:20030'")
    })
}

fn show(report: &TransferReport, json: bool) -> Outcome<()> {
    if !json {
        return output::print(&report.text());
    }
    let line = serde_json::to_string(report)
        .map_err(|error| Failure::new(format!("cannot write JSON: {error}")))?;
    output::print(&(line + "\n"))
}
