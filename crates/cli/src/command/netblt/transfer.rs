//! `netanvil netblt send`, `recv` and `test`: one transfer with a server.

use super::args::{Output, Recv, Send, Test, Transfer};
use super::outcome::{TransferReport, shown};
use super::parameters::{is_adaptive, limits, resolve, socket_towards};
use crate::failure::{Exit, Failure, Outcome};
use crate::{interrupt, output};
use indicatif::{ProgressBar, ProgressStyle};
use netblt::{Ending, EndpointLimits, Mode, RateControl, Timing};
use netblt_client::follow::random;
use netblt_io::files::{self, Nobody, Wish};
use netblt_io::{Ended, Offer, Station};
use std::io::IsTerminal;
use std::path::Path;
use std::sync::atomic::Ordering;
use units::Duration;

/// How often the progress bar moves.
const PROGRESS_PAUSE: Duration = Duration::from_ms(100);
/// How long to wait for another answer when the other end says that it has not our key.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(2);
const TRUSTED_PATH: &str = "note: nothing is encrypted; the path to the other end is trusted";

pub fn send(arguments: &Send) -> Outcome {
    let file = &arguments.file;
    let own_name = file.file_name().and_then(|name| name.to_str());
    let name = arguments.name.as_deref().or(own_name).ok_or_else(|| {
        Failure::new("the file has no name to send it under").help("give one with --as NAME")
    })?;
    let send = if arguments.plain { files::send_plain } else { files::send };
    let wish = send(file, name)
        .map_err(|error| Failure::new(format!("cannot send {}: {error}", file.display())))?;
    run(&arguments.host, &arguments.transfer, &arguments.output, wish)
}

pub fn receive(arguments: &Recv) -> Outcome {
    let own_name = Path::new(&arguments.name).file_name().map(Path::new);
    let out = arguments.out.as_deref().or(own_name).ok_or_else(|| {
        Failure::new("the file has no name to keep it under").help("give one with --out FILE")
    })?;
    let no_name = || Failure::new(format!("{} is no name for a file", out.display()));
    let local_name = out.file_name().and_then(|name| name.to_str()).ok_or_else(no_name)?;
    let directory = match out.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let receive = if arguments.plain { files::receive_plain } else { files::receive };
    let wish =
        receive(directory, local_name, &arguments.name, arguments.overwrite).map_err(|error| {
            let failure = Failure::new(format!("cannot write {}: {error}", out.display()));
            match error.kind() {
                std::io::ErrorKind::AlreadyExists => {
                    failure.help("replace it with --overwrite, or keep the new one with --out FILE")
                }
                _ => failure,
            }
        })?;
    run(&arguments.host, &arguments.transfer, &arguments.output, wish)
}

pub fn test(arguments: &Test) -> Outcome {
    let mode = if arguments.read { Mode::Read } else { Mode::Write };
    let wish = files::memory(mode, arguments.bytes);
    run(&arguments.host, &arguments.transfer, &arguments.output, wish)
}

fn run(host: &str, transfer: &Transfer, shown: &Output, wish: Wish) -> Outcome {
    let peer = resolve(host, transfer.raw_ip)?;
    let limits = limits(transfer, peer)?;
    let socket = socket_towards(peer, transfer)?;
    let trusted = !socket.is_sealed();
    let mut station = Station::new(socket, EndpointLimits::default(), limits, Timing::default());
    if is_adaptive(transfer) {
        station.find_rates(RateControl::of(transfer.scavenge));
    }
    if trusted && !shown.quiet {
        output::say(TRUSTED_PATH);
    }
    let keeps = !matches!(wish.1, Offer::Memory { .. });
    let ended = follow(&mut station, (peer, transfer.port), wish, shown)?;
    let report = TransferReport::new(&ended).with_lateness(station.lateness());
    match shown.json {
        true => output::print_json(&report)?,
        false => output::print(&report.text())?,
    }
    match ended.outcome.is_complete() {
        true => Ok(Exit::Done),
        false => Err(failure(&ended, keeps)),
    }
}

/// What arrived is worth mentioning only if something did, and was a file's, and is still there.
fn failure(ended: &Ended, keeps: bool) -> Failure {
    let failure =
        Failure::new(format!("the transfer with {} failed: {}", shown(ended.peer), ended.outcome));
    let discarded =
        matches!(&ended.outcome, Ending::Quit { reason, .. } if reason.contains("digest"));
    match ended.outcome {
        Ending::NoAnswer => failure.help("is `netanvil netblt serve` running there?"),
        // Of a plain transfer nothing is kept at either end.
        _ if keeps && !ended.plain && ended.payload_bytes > 0 && !discarded => {
            failure.help("what arrived is kept; the same command goes on where it broke")
        }
        _ => failure,
    }
}

/// Opens the connection and turns the station until it is over, dally included.
fn follow(
    station: &mut Station,
    (peer, port): (std::net::SocketAddr, u16),
    (mode, offer, opener): Wish,
    shown: &Output,
) -> Outcome<Ended> {
    let interrupted = interrupt::watch()?;
    let bar = bar(shown);
    // Any port above the well-known ones; the identifier tells this connection from earlier ones.
    let (ports, id) = ((1024 | random() as u16, port), random() as u32);
    let id = station
        .open(peer, ports, (mode, id), &offer, opener)
        .ok_or_else(|| Failure::new("cannot open a connection"))?;
    let started = std::time::Instant::now();
    let mut ended = None;
    let mut quitting = false;
    while station.connections().next().is_some() {
        station
            .turn(PROGRESS_PAUSE, &mut Nobody)
            .map_err(|error| Failure::new(format!("the network broke: {error}")))?;
        if interrupted.load(Ordering::SeqCst) && !std::mem::replace(&mut quitting, true) {
            station.quit(id, "interrupted");
        }
        // It may be somebody else who says so: others have their time to answer.
        if let Some(refusal) = station.refusal()
            && started.elapsed() > PATIENCE
        {
            return Err(Failure::new(format!("no session with {peer}: {refusal}"))
                .help("give both the same key (--key-file), or the code that the server has printed (--code)"));
        }
        if let Some(progress) = station.progress(id) {
            bar.set_length(progress.total_bytes);
            bar.set_position(progress.done_bytes);
            bar.set_message(format!("{} again", progress.repeated_packets));
        }
        ended = ended.or(station.take_ended().pop());
    }
    bar.finish_and_clear();
    ended.ok_or_else(|| Failure::new("the connection ended without a word"))
}

fn bar(shown: &Output) -> ProgressBar {
    if shown.quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let template = "{bar:30} {bytes}/{total_bytes} {bytes_per_sec} {eta} left, {msg}";
    let style = ProgressStyle::with_template(template);
    ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
