//! `netanvil netblt copy --server`: the far end of a copy, started by the near one.

use super::burst;
use crate::failure::{Exit, Failure, Outcome};
use netblt::{Ending, EndpointLimits, Limits, Timing};
use netblt_io::copy::control::{Destination, Message, Request, Task, Teller, VERSION, hear};
use netblt_io::copy::inbox::{Allowed, Inbox, Rules, Target, open_directory};
use netblt_io::copy::names::{shown, split};
use netblt_io::copy::outbox::{Finder, Outbox};
use netblt_io::copy::patterns::Exclusion;
use netblt_io::copy::tally::Tally;
use netblt_io::copy::walk::{Choice, Walk};
use netblt_io::copy::{End, Expecting, Heard, backlog, listen};
use netblt_io::{Carrier, ConnectionId, Key, Socket, Station};
use std::io::{BufReader, stdin, stdout};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::mpsc::TryRecvError;
use std::time::Instant;
use units::Duration;

/// How often the channel is looked at.
const PAUSE: Duration = Duration::from_ms(20);
/// How long the near end has to open the connection.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);
/// The NETBLT port, on a UDP port of its own.
pub const PORT: u16 = 30;
/// Nobody else can reach this end: whoever has the key may take the time that a disk takes.
const PROGRESS: Duration = Duration::from_secs(7 * 24 * 3600);

/// What the near end proposes is taken: it has the key. The rate is bounded while the copy runs, not here.
fn limits(death_timer_s: u16) -> Limits {
    Limits {
        buffer_size_bytes: 128 << 10,
        data_packet_size_bytes: 65_400,
        burst: netblt_client::FASTEST,
        max_outstanding_buffers: 2048,
        // Sealed packets are authenticated.
        checksum_data: false,
        death_timer_s,
    }
}

/// What goes wrong is told by the channel: who reads standard error may be far away.
pub fn run() -> Outcome {
    let (teller, mut input) = (Teller::new(stdout()), BufReader::new(stdin()));
    let gone = |error: std::io::Error| Failure::new(format!("the near end is gone: {error}"));
    let program = env!("CARGO_PKG_VERSION").to_owned();
    teller.tell(&Message::Greeting { copy: VERSION, program }).map_err(gone)?;
    let request = match hear(&mut input).map_err(gone)? {
        Some(Message::Request(request)) => *request,
        Some(_) => return refuse(&teller, "not a request"),
        None => {
            return Err(Failure::new("nobody asks for anything")
                .help("`netanvil netblt copy SRC... HOST:DIR` starts this end by itself"));
        }
    };
    match serve(request, &teller, input) {
        Ok(()) => Ok(Exit::Done),
        Err(reason) => refuse(&teller, &reason),
    }
}

fn refuse(teller: &Teller, reason: &str) -> Outcome {
    let _ = teller.tell(&Message::Failure(reason.to_owned()));
    Ok(Exit::Failed)
}

fn serve(
    request: Request,
    teller: &Teller,
    input: BufReader<std::io::Stdin>,
) -> Result<(), String> {
    if request.copy < VERSION {
        return Err(format!(
            "version {} of copies is asked for, and {VERSION} is spoken",
            request.copy
        ));
    }
    let key = Key::parse(&request.key)?;
    // Nobody is told of single entries here.
    let (tally, _) = Tally::new(false);
    let (to_outbox, from_receiver) = backlog::channel();
    let mut rate = None;
    let (end, outbox) = match request.task {
        Task::Send { sources, patterns, sparse, rate_bps } => {
            rate = rate_bps.filter(|rate| rate.is_finite() && *rate > 0.0);
            let choice = Choice::new(&patterns, request.links, sparse)?;
            let paths: Vec<PathBuf> = sources.iter().map(|path| home(path)).collect();
            let walk = Finder::Walk(Box::new(Walk::new(&paths, choice)?));
            (End::Sender(Box::new(Outbox::new(walk, from_receiver, tally))), Some(to_outbox))
        }
        Task::Receive { destination, checksum } => {
            let target = target(&destination)?;
            let rules = Rules {
                allowed: vec![Allowed::Any],
                excluded: Exclusion::default(),
                links: request.links,
                checksum,
            };
            (End::Receiver(Box::new(Inbox::new(target, rules, teller.clone(), tally))), None)
        }
    };
    let mut socket = bind(request.ports)?;
    socket.seal(key);
    let port = socket.local_address().map_err(|error| error.to_string())?.port();
    let endpoint = EndpointLimits { max_connections: 1, progress: PROGRESS, ..Default::default() };
    let mut station =
        Station::new(socket, endpoint, limits(request.death_timer_s), Timing::default());
    station.listen(PORT);
    let heard = listen(input, outbox);
    teller
        .tell(&Message::Listening { port, address: own_address() })
        .map_err(|error| error.to_string())?;

    let started = Instant::now();
    let mut expecting = Expecting::new(end);
    let mut bounded: Option<ConnectionId> = None;
    loop {
        station
            .turn(PAUSE, &mut expecting)
            .map_err(|error| format!("the network broke: {error}"))?;
        if let Some(ended) = station.take_ended().pop() {
            if !ended.outcome.is_complete() {
                return Err(reason(ended.outcome));
            }
            stay(&mut station, &heard);
            return Ok(());
        }
        let id = station.connections().next();
        match heard.try_recv() {
            Ok(Heard::Message(Message::Rate(new))) => (rate, bounded) = (new, None),
            // Packets say so, too.
            Ok(Heard::Message(Message::Summary(_))) => {}
            Ok(Heard::Message(_)) => return Err("something else than a rate was said".to_owned()),
            Ok(Heard::Ended(reason)) => {
                // What arrived is kept; nobody is left to be told.
                return Err(reason.unwrap_or_else(|| "the near end is gone".to_owned()));
            }
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => {}
        }
        if let Some(id) = id.filter(|id| bounded != Some(*id) && station.progress(*id).is_some())
            && let Some(packet_size_bytes) = station.packet_size_bytes(id)
        {
            station.bound_rate(id, burst(rate, packet_size_bytes));
            bounded = Some(id);
        }
        if expecting.waits() && started.elapsed() > PATIENCE {
            return Err(format!("no packet came to UDP port {port}"));
        }
    }
}

/// Why a connection ended, for the other end: "this end" would be another one there.
fn reason(ending: Ending) -> String {
    match ending {
        Ending::Quit { by_peer: false, reason } | Ending::Aborted { by_peer: false, reason } => {
            reason
        }
        other => other.to_string(),
    }
}

/// The other end may have missed our last packets: it has its time to ask for them, until it is gone.
fn stay(station: &mut Station, heard: &std::sync::mpsc::Receiver<Heard>) {
    while station.connections().next().is_some() {
        if station.turn(PAUSE, &mut netblt_io::files::Nobody).is_err()
            || matches!(heard.try_recv(), Ok(Heard::Ended(_)))
        {
            return;
        }
    }
}

/// A path as a shell would have it: from the home directory, where `~` is meant.
fn home(path: &str) -> PathBuf {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => match rest.is_empty() {
            // (With its slash: what is in it.)
            true => PathBuf::from(format!("{}/", home.display())),
            false => home.join(rest),
        },
        (None, Some(home)) if path == "~" => home,
        _ => PathBuf::from(path),
    }
}

fn target(destination: &Destination) -> Result<Target, String> {
    match destination {
        Destination::Directory(path) => open_directory(&home(path)).map(Target::Tree),
        Destination::File(path) => {
            let path = home(path);
            let (directory, name) = netblt_io::copy::walk::first_name(&path);
            if path.is_dir() || name.is_empty() {
                return Err(format!("{} is a directory; a file is needed", path.display()));
            }
            netblt_io::copy::names::Name::new(split(&name).1)
                .map_err(|error| format!("{}: the name {error}", shown(&name)))?;
            let top = netblt_io::copy::beneath::Beneath::open(Path::new(&directory))
                .map_err(|error| format!("cannot write to {}: {error}", directory.display()))?;
            Ok(Target::Named(top, name))
        }
    }
}

/// On any address, IPv4 too; of some ports the first that is free.
fn bind(ports: Option<(u16, u16)>) -> Result<Socket, String> {
    let (from, to) = ports.unwrap_or((0, 0));
    let mut why = "no port".to_owned();
    for port in from..=to {
        let addresses: [SocketAddr; 2] =
            [(Ipv6Addr::UNSPECIFIED, port).into(), (Ipv4Addr::UNSPECIFIED, port).into()];
        for address in addresses {
            match Socket::bind(Carrier::Udp, address) {
                Ok(socket) => return Ok(socket),
                Err(error) => why = format!("cannot open UDP port {port}: {error}"),
            }
        }
    }
    Err(why)
}

/// The address at which ssh was reached.
fn own_address() -> Option<String> {
    let connection = std::env::var("SSH_CONNECTION").ok()?;
    connection.split_whitespace().nth(2).map(str::to_owned)
}
