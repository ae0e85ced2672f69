//! One transfer, turned by the thread that calls: what futures, the command line and the C library rest on.

use crate::address::socket_towards;
use crate::error::Error;
use crate::options::{Options, burst_of_rate};
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
const QUIT_PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);
/// How long the other end has to ask for our last packets again.
const LINGER: std::time::Duration = std::time::Duration::from_secs(30);
/// The reason of who wants no more.
pub(crate) const CANCELLED: &str = "cancelled";

/// What who watches a transfer wants of it.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Wanted {
    /// It is to end; the other end hears this reason.
    pub stop: Option<&'static str>,
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
    packet_size_bytes: u16,
    /// Whether it is of a file.
    keeps: bool,
    started: Instant,
    stopped: Option<Instant>,
    bound_bps: Option<f64>,
}

/// What it came to, complete or not.
#[derive(Debug)]
pub struct Followed {
    /// At this end.
    pub ended: Ended,
    /// How late bursts left that were waited for, if this end sent.
    pub lateness: Option<LatenessSummary>,
    /// Whether what arrived of it is kept.
    pub keeps: bool,
}

impl Following {
    /// Opens the connection. Packets leave once it is watched.
    pub fn open(options: &Options, peer: SocketAddr, wish: Wish) -> Result<Following, Error> {
        let limits = options.limits(peer)?;
        let packet_size_bytes = limits.data_packet_size_bytes;
        let socket = socket_towards(peer, options.carrier, options.seal.as_ref())?;
        let mut station =
            Station::new(socket, EndpointLimits::default(), limits, Timing::default());
        if let Some(rule) = options.rate.control() {
            station.find_rates(rule);
        }
        let (mode, offer, opener) = wish;
        let keeps = !matches!(offer, Offer::Memory { .. });
        // Any port above the well-known ones; the identifier tells this connection from earlier ones.
        let (ports, id) = ((1024 | random() as u16, options.port), random() as u32);
        let id = station.open(peer, ports, (mode, id), &offer, opener).ok_or_else(|| {
            Error::Options { what: "cannot open a connection".to_owned(), remedy: "call again" }
        })?;
        let (started, stopped, bound_bps) = (Instant::now(), None, None);
        Ok(Following { station, id, peer, packet_size_bytes, keeps, started, stopped, bound_bps })
    }

    /// Turns until the transfer is over at this end.
    pub fn watch(&mut self, watch: Watch<'_>) -> Result<Followed, Error> {
        loop {
            self.station.turn(LOOK, &mut Nobody).map_err(Error::System)?;
            if let Some(ended) = self.station.take_ended().pop() {
                let lateness = self.station.lateness().filter(|_| ended.sends);
                return Ok(Followed { ended, lateness, keeps: self.keeps });
            }
            let progress = self.station.progress(self.id);
            let wanted = watch(progress);
            if let (Some(reason), None) = (wanted.stop, self.stopped) {
                self.stopped = Some(Instant::now());
                self.station.quit(self.id, reason);
            }
            if progress.is_some() && wanted.at_most_bps != self.bound_bps {
                self.bound_bps = wanted.at_most_bps;
                self.bound();
            }
            self.check(progress)?;
        }
    }

    fn bound(&mut self) {
        let most = self.bound_bps.map(|bps| burst_of_rate(bps.max(1.0), self.packet_size_bytes));
        self.station.bound_rate(self.id, most.unwrap_or(crate::options::FASTEST));
    }

    /// Whether there is anything to wait for.
    fn check(&self, progress: Option<Progress>) -> Result<(), Error> {
        if self.stopped.is_some_and(|since| since.elapsed() > QUIT_PATIENCE) {
            let kept = self.keeps && progress.is_some_and(|progress| progress.done_bytes > 0);
            return Err(Error::Cancelled { kept });
        }
        // It may be somebody else who says so: others have their time to answer.
        match self.station.refusal() {
            Some(refusal) if self.started.elapsed() > KEY_PATIENCE => {
                Err(Error::OtherKey { peer: self.peer, refusal })
            }
            _ => Ok(()),
        }
    }

    /// Stays for an other end that may have missed our last packets, until it is content; mostly it is at once.
    pub fn linger(&mut self) {
        let since = Instant::now();
        while self.station.connections().next().is_some() && since.elapsed() < LINGER {
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
