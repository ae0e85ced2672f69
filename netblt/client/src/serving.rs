//! A folder for others, turned by the thread that calls: what servers of this crate and `netanvil netblt serve` rest on.

use crate::address::{socket, where_to_listen};
use crate::error::Error;
use crate::options::{FASTEST, SERVICE_PORT, Seal};
use netblt::{EndpointLimits, Limits, Timing};
use netblt_io::files::Served;
use netblt_io::{Carrier, ConnectionId, Ended, Station};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Instant;
use units::Duration;

/// How long other ends have to hear that the server ends.
const CLOSING: std::time::Duration = std::time::Duration::from_secs(2);
/// How long each turn of the end may wait.
const PAUSE: Duration = Duration::from_ms(20);

/// What a server is to be like. The defaults are safe: this host alone is served.
///
/// ```
/// use netblt_client::ServerOptions;
///
/// let mirror = ServerOptions { writable: false, max_rate_bps: 1e9, ..ServerOptions::default() };
/// assert!(!mirror.trust && !mirror.overwrite);
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct ServerOptions {
    /// Where to listen, port 0 for any. None: 127.0.0.1:20030; with a seal or trust `[::]:20030`, which takes IPv4,
    /// too, or 0.0.0.0 on raw IP.
    pub listen: Option<SocketAddr>,
    /// Serve other hosts without a key: whoever can send to the address can read and write, and nothing is
    /// encrypted.
    pub trust: bool,
    /// What carries the packets.
    pub carrier: Carrier,
    /// What both ends have, a key or a code.
    pub seal: Option<Seal>,
    /// NETBLT port to listen on (not the UDP port).
    pub port: u16,
    /// Others may read.
    pub readable: bool,
    /// Others may write.
    pub writable: bool,
    /// Others may replace files.
    pub overwrite: bool,
    /// Of all connections together, in bits a second.
    pub max_rate_bps: f64,
    /// Connections at once, three quarters of them from one source; each may take buffers times buffer size of memory.
    pub max_connections: usize,
    /// Largest buffer to accept, in bytes.
    pub buffer_size_bytes: u32,
    /// Most outstanding buffers to accept.
    pub max_outstanding_buffers: u16,
}

impl Default for ServerOptions {
    fn default() -> Self {
        ServerOptions {
            listen: None,
            trust: false,
            carrier: Carrier::Udp,
            seal: None,
            port: SERVICE_PORT,
            readable: true,
            writable: true,
            overwrite: false,
            max_rate_bps: 10e9,
            max_connections: 32,
            buffer_size_bytes: 128 << 10,
            max_outstanding_buffers: 2048,
        }
    }
}

impl ServerOptions {
    fn check(&self) -> Result<(), Error> {
        let wrong = |what: &str, remedy| Err(Error::Options { what: what.to_owned(), remedy });
        if [
            self.buffer_size_bytes as usize,
            self.max_outstanding_buffers.into(),
            self.max_connections,
        ]
        .contains(&0)
        {
            let what = "buffer size, buffers and connections must be at least 1";
            return wrong(what, "leave them out for the defaults");
        }
        match self.max_rate_bps.is_finite() && self.max_rate_bps >= 1.0 {
            true => Ok(()),
            false => wrong("the largest rate is no rate", "give at least 1 bit/s"),
        }
    }

    /// Rates are the other end's choice; memory is ours.
    fn limits(&self) -> Limits {
        Limits {
            buffer_size_bytes: self.buffer_size_bytes,
            data_packet_size_bytes: 65_400,
            burst: FASTEST,
            max_outstanding_buffers: self.max_outstanding_buffers,
            checksum_data: false,
            death_timer_s: 30,
        }
    }
}

/// A folder that is served whenever [`Serving::turn`] is called.
pub struct Serving {
    station: Station,
    served: Served,
    address: SocketAddr,
    sealed: bool,
}

impl Serving {
    /// Listens. Other hosts are served with a key, or by trust alone.
    pub fn open(folder: &Path, options: &ServerOptions) -> Result<Serving, Error> {
        options.check()?;
        let mut served = Served::open(folder)
            .map_err(|error| Error::CannotRead { path: folder.to_owned(), error })?;
        served.readable = options.readable;
        served.writable = options.writable;
        served.overwrite = options.overwrite;
        let sealed = options.seal.is_some();
        let address = options
            .listen
            .unwrap_or_else(|| where_to_listen(options.trust || sealed, options.carrier));
        let socket = socket(address, options.carrier, options.seal.as_ref())?;
        if !(sealed || options.trust || address.ip().is_loopback()) {
            return Err(Error::NotTrusted { address });
        }
        let address = socket.local_address().map_err(Error::System)?;
        let endpoint =
            EndpointLimits { max_connections: options.max_connections, ..Default::default() };
        let mut station = Station::new(socket, endpoint, options.limits(), Timing::default());
        station.cap_rate(options.max_rate_bps);
        station.listen(options.port);
        Ok(Serving { station, served, address, sealed })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
    /// Whether packets are sealed.
    pub fn is_sealed(&self) -> bool {
        self.sealed
    }
    /// Whether nobody is connected.
    pub fn is_idle(&self) -> bool {
        self.station.connections().next().is_none()
    }
    /// From now on all connections together send at most so many bits a second.
    pub fn cap_rate(&mut self, bits_per_s: f64) {
        self.station.cap_rate(bits_per_s.max(1.0));
    }
    /// Serves for so long, or until something has happened; gives what ended.
    pub fn turn(&mut self, at_most: Duration) -> Result<Vec<Ended>, Error> {
        self.station.turn(at_most, &mut self.served).map_err(Error::System)?;
        Ok(self.station.take_ended())
    }

    /// Tells whoever is connected that the server ends, and gives what ended by that. What arrived is kept.
    pub fn close(mut self) -> Vec<Ended> {
        let (mut all, since) = (vec![], Instant::now());
        let mut told: Vec<ConnectionId> = vec![];
        while !self.is_idle() && since.elapsed() < CLOSING {
            let new: Vec<_> = self.station.connections().filter(|id| !told.contains(id)).collect();
            new.iter().for_each(|id| self.station.quit(*id, "the server ends"));
            told.extend(new);
            if self.station.turn(PAUSE, &mut netblt_io::files::Nobody).is_err() {
                break;
            }
            all.extend(self.station.take_ended());
        }
        all
    }
}
