//! One transfer, turned by the thread that calls: what futures, the command line and the C library rest on.

use crate::address::socket_towards;
use crate::error::Error;
use crate::options::{Options, Proposal, burst_of_rate};
use netblt::{EndpointLimits, Timing};
use netblt_io::files::{Nobody, Wish};
use netblt_io::{ConnectionId, Ended, LatenessSummary, Offer, Progress, Station};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::SocketAddr;
use std::time::Instant;
use units::Duration;

/// How often who watches is asked.
const LOOK: Duration = Duration::from_ms(50);
/// How long to wait for another answer when the other end says that it has not our key.
const KEY_PATIENCE: std::time::Duration = std::time::Duration::from_secs(2);
/// How long the other end has to confirm that it heard of our leaving.
pub const QUIT_PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);
/// How long the other end has to ask for our last packets again.
const LINGER: std::time::Duration = std::time::Duration::from_secs(30);
/// The reason of who wants no more.
pub(crate) const CANCELLED: &str = "cancelled";
/// The reason of who has another key than the other end.
const NO_SESSION: &str = "no session: the two ends have not the same key";

/// What who watches a transfer wants of it.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Wanted {
    /// It is to end; the other end hears this reason.
    pub stop: Option<&'static str>,
    /// If it is to end, it does so at once: the other end is told, and nobody waits for its word.
    pub at_once: bool,
    /// It is to send no faster; None for what was agreed on.
    pub at_most_bps: Option<f64>,
}

/// Hears how far a transfer is, None before it began, about every 50 ms.
pub type Watch<'a> = &'a mut dyn FnMut(Option<Progress>) -> Wanted;

/// A transfer under way.
pub struct Following {
    station: Station,
    id: ConnectionId,
    peer: SocketAddr,
    /// Whether it is of a file.
    keeps: bool,
    started: Instant,
    /// For which reason, and since when.
    stopped: Option<(&'static str, Instant)>,
    at_once: bool,
    bound_bps: Option<f64>,
}

/// What it came to, complete or not.
#[derive(Debug)]
pub struct Followed {
    /// At this end.
    pub ended: Ended,
    /// How late bursts left that were waited for, if this end sent.
    pub lateness: Option<LatenessSummary>,
    /// Whether it was of a file.
    pub keeps: bool,
    /// Who watched it had it stopped before it was complete.
    pub stopped: bool,
    /// Why this end did not wait for the other one, where it did not: [`Error::Cancelled`] where the other end did not
    /// confirm that it knows, [`Error::OtherKey`] where it takes none of our packets.
    pub unheard: Option<Error>,
}

impl Followed {
    /// Of a server, which waits for everybody.
    pub(crate) fn at_a_server(ended: Ended) -> Followed {
        Followed { ended, lateness: None, keeps: true, stopped: false, unheard: None }
    }
    /// What an incomplete transfer is as an error.
    pub fn into_error(self) -> Error {
        let Followed { ended, keeps, unheard, .. } = self;
        unheard.unwrap_or_else(|| Error::of(&ended, keeps))
    }
    /// Bytes of an incomplete transfer that are kept, so that the same transfer goes on behind them; 0 if it begins
    /// anew, None if it is complete.
    pub fn kept_bytes(&self) -> Option<u64> {
        let kept = Error::of(&self.ended, self.keeps).keeps();
        let incomplete = !self.ended.outcome.is_complete();
        incomplete.then_some(if kept { self.ended.stored_bytes } else { 0 })
    }
}

impl Following {
    /// Opens the connection. Packets leave once it is watched.
    pub fn open(options: &Options, peer: SocketAddr, wish: Wish) -> Result<Following, Error> {
        let Proposal { packet_sizes_bytes, limits } = options.proposal(peer)?;
        let socket = socket_towards(peer, options.carrier, options.seal.as_ref())?;
        let mut station =
            Station::new(socket, EndpointLimits::default(), limits, Timing::default());
        if let Some(rule) = options.control() {
            station.find_rates(rule);
        }
        station.try_packet_sizes(packet_sizes_bytes);
        let (mode, offer, opener) = wish;
        let keeps = !matches!(offer, Offer::Memory { .. });
        // Any port above the well-known ones; the identifier tells this connection from earlier ones.
        let (ports, id) = ((1024 | random() as u16, options.port), random() as u32);
        let id = station.open(peer, ports, (mode, id), &offer, opener).ok_or_else(|| {
            Error::Options { what: "cannot open a connection".to_owned(), remedy: "call again" }
        })?;
        let (started, stopped, bound_bps) = (Instant::now(), None, None);
        Ok(Following { station, id, peer, keeps, started, stopped, at_once: false, bound_bps })
    }

    /// Turns until the transfer is over at this end.
    pub fn watch(&mut self, watch: Watch<'_>) -> Result<Followed, Error> {
        loop {
            self.station.turn(LOOK, &mut Nobody).map_err(Error::System)?;
            if let Some(ended) = self.station.take_ended().pop() {
                return Ok(self.followed(ended, None));
            }
            let progress = self.station.progress(self.id);
            let wanted = watch(progress);
            self.at_once = wanted.at_once;
            if let (Some(reason), None) = (wanted.stop, self.stopped) {
                self.stopped = Some((reason, Instant::now()));
                self.station.quit(self.id, reason);
            }
            if progress.is_some() && wanted.at_most_bps != self.bound_bps {
                self.bound_bps = wanted.at_most_bps;
                self.bound();
            }
            if let Some((reason, error)) = self.in_vain() {
                let Some(ended) = self.station.give_up(self.id, reason) else { return Err(error) };
                return Ok(self.followed(ended, Some(error)));
            }
        }
    }

    fn followed(&self, ended: Ended, unheard: Option<Error>) -> Followed {
        let lateness = self.station.lateness().filter(|_| ended.sends);
        let stopped = self.stopped.is_some() && !ended.outcome.is_complete();
        let unheard = unheard.map(|error| match error {
            Error::Cancelled { .. } => {
                Error::Cancelled { kept: Error::of(&ended, self.keeps).keeps() }
            }
            other => other,
        });
        Followed { ended, lateness, keeps: self.keeps, stopped, unheard }
    }

    fn bound(&mut self) {
        let Some(packet_size_bytes) = self.station.packet_size_bytes(self.id) else { return };
        let most = self.bound_bps.map(|bps| burst_of_rate(bps.max(1.0), packet_size_bytes));
        self.station.bound_rate(self.id, most.unwrap_or(crate::options::FASTEST));
    }

    /// Why there is nothing to wait for, if so: for the other end, and for who called.
    fn in_vain(&self) -> Option<(&'static str, Error)> {
        if let Some((reason, since)) = self.stopped
            && (self.at_once || since.elapsed() > QUIT_PATIENCE)
        {
            return Some((reason, Error::Cancelled { kept: false }));
        }
        // It may be somebody else who says so: others have their time to answer.
        let refusal = self.station.refusal()?;
        let error = Error::OtherKey { peer: self.peer, refusal };
        (self.started.elapsed() > KEY_PATIENCE).then_some((NO_SESSION, error))
    }

    /// Stays for an other end that may have missed our last packets, until it is content; mostly it is at once.
    pub fn linger(&mut self) {
        self.linger_while(|| true);
    }
    /// The same, but no longer than who calls wants to; asked about every 50 ms.
    pub fn linger_while(&mut self, wanted: impl Fn() -> bool) {
        let since = Instant::now();
        while self.station.connections().next().is_some() && since.elapsed() < LINGER && wanted() {
            if self.station.turn(LOOK, &mut Nobody).is_err() {
                return;
            }
        }
    }
}

/// Unlike any number drawn before: seeded by the system.
pub fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
