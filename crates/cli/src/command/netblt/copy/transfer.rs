//! The near end of a copy.

use super::super::args::Copy;
use super::super::parameters::failure;
use super::far::Far;
use super::place::Plan;
use super::progress::Progress;
use super::rate::Rate;
use super::report::Report;
use super::{GOES_ON, broken, burst};
use crate::failure::{Exit, Failure, Outcome};
use crate::interrupt::{self, Signalled};
use crate::output;
use netblt::{EndpointLimits, Timing};
use netblt_client::address::socket_towards;
use netblt_client::follow::QUIT_PATIENCE;
use netblt_client::{Options, Proposal};
use netblt_io::copy::control::{Destination, Message, Patterns, Request, Summary, Task, VERSION};
use netblt_io::copy::inbox::{Allowed, Inbox, Rules, Target, open_directory};
use netblt_io::copy::names::shown;
use netblt_io::copy::outbox::{Finder, Outbox};
use netblt_io::copy::patterns::{Exclusion, Glob};
use netblt_io::copy::tally::{Settled, Tally};
use netblt_io::copy::walk::{Choice, Walk, first_name};
use netblt_io::copy::{End, Heard, backlog, listen};
use netblt_io::files::Nobody;
use netblt_io::{ConnectionId, Ended, Key, Offer, Station};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::mpsc::Receiver;
use std::time::Instant;
use units::Duration;

/// How often everything but packets is looked at.
const PAUSE: Duration = Duration::from_ms(50);
/// How long to wait for the far end to tell of the end, after its packets did.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);
/// What the other end hears of a signal here.
const INTERRUPTED: &str = "interrupted";

pub fn run(arguments: &Copy) -> Outcome {
    let plan = Plan::read(&arguments.paths)?;
    plan.check(arguments)?;
    if arguments.json && matches!(plan, Plan::PullOutput { .. }) {
        return Err(Failure::new("the file and --json cannot both go to standard output"));
    }
    let rate = Rate::read(arguments)?;
    let (tally, settled) = Tally::new(arguments.json);
    let ports = arguments.udp_ports.as_deref().map(ports).transpose()?;
    let patterns =
        Patterns { exclude: arguments.exclude.clone(), include: arguments.include.clone() };
    let links = arguments.links.unwrap_or_default().into();
    let sparse = arguments.sparse.unwrap_or_default().into();
    // What is wrong here is known before anybody is asked for a password.
    let choice = Choice::new(&patterns, links, sparse).map_err(Failure::new)?;
    let fresh = Fresh::of(&plan);
    let near = near(&plan, choice)?;
    let signalled = interrupt::watch_twice()?;

    let mut far = Far::start(&arguments.rsh, plan.host(), &arguments.remote_program, &signalled)?;
    let (key, digits) = Key::draw().ok_or_else(|| Failure::new("this system has no randomness"))?;
    let task = match &plan {
        Plan::Push { directory, .. } => Task::Receive {
            destination: Destination::Directory(directory.clone()),
            checksum: arguments.checksum,
        },
        Plan::PushInput { file, .. } => {
            Task::Receive { destination: Destination::File(file.clone()), checksum: false }
        }
        Plan::Pull { sources, .. } => {
            Task::Send { sources: sources.clone(), patterns, sparse, rate_bps: rate.bound() }
        }
        Plan::PullOutput { source, .. } => {
            let sources = vec![source.clone()];
            Task::Send { sources, patterns, sparse, rate_bps: rate.bound() }
        }
    };
    let death_timer_s = arguments.death_timer;
    let told =
        far.ask(Request { copy: VERSION, key: digits, task, links, ports, death_timer_s })?;
    fresh.keep();
    let peer = far.address(arguments.udp_host.as_deref(), told)?;

    let (to_outbox, from_receiver) = backlog::channel();
    let is_push = matches!(near, Near::Send(_));
    let end = match near {
        Near::Send(finder) => {
            End::Sender(Box::new(Outbox::new(finder, from_receiver, tally.clone())))
        }
        Near::Receive(target, allowed, excluded) => {
            let rules = Rules { allowed, excluded, links, checksum: arguments.checksum };
            let teller = far.teller.clone();
            End::Receiver(Box::new(Inbox::new(target, rules, teller, tally.clone())))
        }
    };
    let input = far.output.take().ok_or_else(|| Failure::new("the far end has no output"))?;
    let heard = listen(input, is_push.then_some(to_outbox));
    // The rate is bounded while the copy runs.
    let rate_found = match arguments.scavenge {
        true => netblt_client::Rate::Scavenging { at_most_bps: None },
        false => netblt_client::Rate::Competing { at_most_bps: None },
    };
    let options = Options {
        seal: Some(key.into()),
        rate: rate_found,
        l4s: arguments.l4s,
        // Sealed packets are authenticated.
        checksum_data: false,
        death_timer_s,
        ..Options::default()
    };
    let (station, id) = open(peer, end, &options)?;
    let progress = Progress::new(arguments.json, arguments.quiet);
    let mut copy = Following {
        station,
        id,
        far,
        heard,
        tally,
        settled,
        progress,
        rate,
        is_push,
        is_stream: matches!(plan, Plan::PushInput { .. } | Plan::PullOutput { .. }),
        summary: None,
        started: Instant::now(),
        peer,
        signalled,
        interrupted: None,
        gone: None,
        failure: None,
        broken: None,
    };
    // Keys are what is copied where standard input is the source; who listens to them holds it for good.
    if !matches!(plan, Plan::PushInput { .. }) {
        copy.rate.listen();
    }
    let ended = copy.follow()?;
    copy.conclude(&ended, arguments)
}

/// A directory that this copy makes: who copies nothing leaves none behind.
struct Fresh<'a>(Option<&'a Path>);

impl Fresh<'_> {
    fn of(plan: &Plan) -> Fresh<'_> {
        Fresh(match plan {
            Plan::Pull { directory, .. } if !directory.exists() => Some(directory),
            _ => None,
        })
    }
    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for Fresh<'_> {
    fn drop(&mut self) {
        if let Some(directory) = self.0 {
            let _ = std::fs::remove_dir(directory);
        }
    }
}

/// What this end does.
enum Near {
    Send(Finder),
    Receive(Target, Vec<Allowed>, Exclusion),
}

fn near(plan: &Plan, choice: Choice) -> Outcome<Near> {
    Ok(match plan {
        Plan::Push { sources, .. } => {
            Near::Send(Finder::Walk(Box::new(Walk::new(sources, choice).map_err(Failure::new)?)))
        }
        Plan::PushInput { .. } => Near::Send(Finder::Input),
        Plan::Pull { sources, directory, .. } => {
            let target = open_directory(directory).map_err(Failure::new)?;
            Near::Receive(Target::Tree(target), allowed(sources)?, choice.excluded)
        }
        Plan::PullOutput { source, .. } => {
            let allowed = allowed(std::slice::from_ref(source))?;
            Near::Receive(Target::Output, allowed, choice.excluded)
        }
    })
}

/// Which names may come of these sources.
fn allowed(sources: &[String]) -> Outcome<Vec<Allowed>> {
    let of = |source: &String| {
        let (_, name) = first_name(Path::new(source));
        let text = String::from_utf8_lossy(&name).into_owned();
        match name.is_empty() || text == "~" {
            true => Ok(vec![Allowed::Any]),
            false => {
                let glob = Glob::new(&text).ok().map(Allowed::Glob);
                Ok([Some(Allowed::Name(name)), glob].into_iter().flatten().collect())
            }
        }
    };
    sources.iter().map(of).collect::<Outcome<Vec<_>>>().map(|all| all.concat())
}

fn ports(text: &str) -> Outcome<(u16, u16)> {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    match (from.parse(), to.parse()) {
        (Ok(from), Ok(to)) if 0 < from && from <= to => Ok((from, to)),
        _ => {
            Err(Failure::new(format!("no ports: {text}"))
                .help("for example --udp-ports 60000-60010"))
        }
    }
}

fn open(peer: SocketAddr, end: End, options: &Options) -> Outcome<(Station, ConnectionId)> {
    let socket = socket_towards(peer, options.carrier, options.seal.as_ref()).map_err(failure)?;
    let Proposal { packet_sizes_bytes, limits } = options.proposal(peer).map_err(failure)?;
    let mut station = Station::new(socket, EndpointLimits::default(), limits, Timing::default());
    station.try_packet_sizes(packet_sizes_bytes);
    if let Some(rule) = options.control() {
        station.find_rates(rule);
    }
    let random = netblt_client::follow::random();
    let ports = (1024 | random as u16, super::server::PORT);
    let opening = (end.mode(), (random >> 16) as u32);
    let id = station.open(peer, ports, opening, &Offer::Copy, end.opener());
    Ok((station, id.ok_or_else(|| Failure::new("cannot open a connection"))?))
}

/// A copy that is under way.
struct Following {
    station: Station,
    id: ConnectionId,
    far: Far,
    heard: Receiver<Heard>,
    tally: Tally,
    settled: Receiver<Settled>,
    progress: Progress,
    rate: Rate,
    is_push: bool,
    /// Standard input or output: nothing of it is kept.
    is_stream: bool,
    summary: Option<Summary>,
    started: Instant,
    peer: SocketAddr,
    signalled: Signalled,
    /// Since when a signal wants it to end.
    interrupted: Option<Instant>,
    /// Since when the channel has ended, and why.
    gone: Option<(Instant, String)>,
    /// Since when the other end has said that it cannot go on, and why.
    failure: Option<(Instant, String)>,
    /// Why this end did not wait for the end of the connection.
    broken: Option<String>,
}

impl Following {
    /// Until the connection is over.
    fn follow(&mut self) -> Outcome<Ended> {
        let mut bounded = false;
        loop {
            let turned = self.station.turn(PAUSE, &mut Nobody);
            turned.map_err(|error| broken(format!("the network broke: {error}")))?;
            self.listen();
            let ended = self.station.take_ended().pop();
            self.show(&mut bounded)?;
            if let Some(ended) = ended {
                return Ok(ended);
            }
            if self.signalled.stop() && self.interrupted.is_none() {
                self.interrupted = Some(Instant::now());
                self.station.quit(self.id, INTERRUPTED);
            }
            if self.is_in_vain() {
                let reason = self.broken.clone().unwrap_or_else(|| INTERRUPTED.to_owned());
                let ended = self.station.give_up(self.id, &reason);
                return ended.ok_or_else(|| broken(reason));
            }
        }
    }

    /// Whether there is nothing to wait for; says why.
    fn is_in_vain(&mut self) -> bool {
        if self.broken.is_some() {
            return true;
        }
        if self.interrupted.is_some() && self.signalled.at_once() {
            self.broken = Some("interrupted at once; the other end may not know".to_owned());
            return true;
        }
        if self.interrupted.is_some_and(|since| since.elapsed() > QUIT_PATIENCE) {
            self.broken = Some("interrupted; the other end did not confirm that".to_owned());
            return true;
        }
        // Packets may still tell more than the channel did: this end's own reason, for one.
        const GRACE: std::time::Duration = std::time::Duration::from_secs(1);
        if let Some((since, reason)) = &self.failure
            && since.elapsed() > GRACE
        {
            self.broken = Some(reason.clone());
            return true;
        }
        let Some((since, reason)) = &self.gone else { return false };
        if since.elapsed() <= GRACE || self.summary.is_some() {
            return false;
        }
        let status = self.far.status();
        self.broken = Some(format!("the other end is gone: {reason} ({status})"));
        true
    }

    /// Takes in what came by the channel.
    fn listen(&mut self) {
        for heard in self.heard.try_iter() {
            match heard {
                Heard::Message(Message::Summary(summary)) => self.summary = Some(summary),
                Heard::Message(Message::Failure(reason)) => {
                    let reason = shown(reason.as_bytes());
                    let reason = format!("the other end cannot go on: {reason}");
                    self.failure.get_or_insert((Instant::now(), reason));
                }
                Heard::Message(_) => {
                    let reason = "the other end says something that has no place";
                    self.broken = Some(reason.to_owned());
                }
                Heard::Ended(reason) => {
                    let reason = reason.unwrap_or_else(|| "its channel ended".to_owned());
                    self.gone.get_or_insert((Instant::now(), reason));
                }
            }
        }
    }

    fn show(&mut self, bounded: &mut bool) -> Outcome<()> {
        for settled in self.settled.try_iter() {
            self.progress.settled(&settled)?;
        }
        let figures = self.tally.figures();
        let now_bps = self.progress.rate_bps(&figures);
        match self.rate.changed(now_bps) {
            Ok(true) => *bounded = false,
            Ok(false) => {}
            Err(error) => output::say(format_args!("{error}; the rate stays")),
        }
        if !*bounded
            && self.station.progress(self.id).is_some()
            && let Some(packet_size_bytes) = self.station.packet_size_bytes(self.id)
        {
            *bounded = true;
            let most = burst(self.rate.bound(), packet_size_bytes);
            match self.is_push {
                true => self.station.bound_rate(self.id, most),
                false => {
                    let _ = self.far.teller.tell(&Message::Rate(self.rate.bound()));
                }
            }
        }
        self.progress.show(&figures, now_bps, &self.tally.current_file())
    }

    /// A receiver tells how it fared; where that is this end, it knows.
    fn await_summary(&mut self) -> Outcome<()> {
        let waiting = Instant::now();
        while self.is_push
            && !self.signalled.stop()
            && self.summary.is_none()
            && self.gone.is_none()
            && self.failure.is_none()
            && waiting.elapsed() < PATIENCE
        {
            self.listen();
            self.station.turn(PAUSE, &mut Nobody).map_err(|error| broken(error.to_string()))?;
        }
        Ok(())
    }

    /// All was sent. Why nobody knows that it is on the other end's disk, if so.
    fn unconfirmed(&mut self) -> Option<String> {
        if !self.is_push || self.summary.is_some() {
            return None;
        }
        let why = match &self.gone {
            Some((_, reason)) => {
                let reason = reason.clone();
                format!("{reason} ({})", self.far.status())
            }
            None if self.signalled.stop() => {
                self.interrupted.get_or_insert_with(Instant::now);
                "a signal ended this one".to_owned()
            }
            None => format!("it was silent for {} s", PATIENCE.as_secs()),
        };
        Some(format!("all was sent, but the other end did not say that it is on its disk: {why}"))
    }

    /// What it came to.
    fn conclude(&mut self, ended: &Ended, arguments: &Copy) -> Outcome {
        if ended.outcome.is_complete() {
            self.await_summary()?;
        }
        self.progress.clear();
        for settled in self.settled.try_iter() {
            self.progress.settled(&settled)?;
        }
        let figures = self.tally.figures();
        if ended.outcome.is_complete() {
            self.broken = self.broken.take().or(self.failure.take().map(|(_, reason)| reason));
            self.broken = self.broken.take().or_else(|| self.unconfirmed());
        }
        let complete = ended.outcome.is_complete() && self.broken.is_none();
        let outcome = self.broken.clone().unwrap_or_else(|| ended.outcome.to_string());
        let report = Report {
            event: "end",
            complete,
            interrupted: self.interrupted.is_some() && !complete,
            outcome: &outcome,
            resumable: !complete && !self.is_stream,
            figures: &figures,
            elapsed_s: self.started.elapsed().as_secs_f64(),
            wire_bytes_sent: ended.counters.bytes_sent,
            wire_bytes_received: ended.counters.bytes_received,
        };
        if arguments.json {
            let text = serde_json::to_string(&report)
                .map_err(|error| Failure::new(format!("cannot write JSON: {error}")))?;
            output::print(&(text + "\n"))?;
        } else if !arguments.quiet {
            output::say(report.said());
        }
        if complete {
            self.linger();
            return Ok(if figures.failed_entries > 0 { Exit::NotAccepted } else { Exit::Done });
        }
        let what = if self.interrupted.is_some() { "was interrupted" } else { "broke off" };
        let failure =
            Failure::new(format!("the copy {what}: {outcome}")).help(match self.is_stream {
                true => "nothing of a stream is kept; the same command begins anew",
                false => GOES_ON,
            });
        Err(match ended.outcome {
            netblt::Ending::NoAnswer => failure.help(format!(
                "no packet came back from UDP {}: a firewall? --udp-ports names ports to let through",
                self.peer
            )),
            _ => failure,
        })
    }

    /// The other end may have missed our last packets; when it is content its channel ends.
    fn linger(&mut self) {
        let started = Instant::now();
        while self.station.connections().next().is_some()
            && started.elapsed() < PATIENCE
            && !self.signalled.stop()
        {
            let ended = self.heard.try_iter().any(|heard| matches!(heard, Heard::Ended(_)));
            if self.station.turn(PAUSE, &mut Nobody).is_err() || ended {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_sends_what_was_not_asked_for() {
        let names = |source: &str| format!("{:?}", allowed(&[source.to_owned()]).ok().unwrap());
        assert!(names("a/b/").contains("Any") && names("~").contains("Any"));
        assert!(!names("a/b").contains("Any") && names("a/*.gz").contains("Glob"));
    }

    #[test]
    fn ports_are_ranges() {
        assert_eq!(ports("60000-60010").ok(), Some((60000, 60010)));
        assert_eq!(ports("7").ok(), Some((7, 7)));
        assert!(["", "0", "9-8", "a-b", "1-70000"].iter().all(|text| ports(text).is_err()));
    }
}
