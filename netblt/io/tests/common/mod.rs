//! A server on the loopback interface.
#![allow(dead_code, reason = "each test file takes what it needs")]

use netblt::{Burst, EndpointLimits, Limits, Timing};
use netblt_io::files::Served;
use netblt_io::{Carrier, Socket, Station};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use units::Duration;

pub const PORT: u16 = 30;
pub const PAUSE: Duration = Duration::from_ms(20);

pub fn limits() -> Limits {
    Limits {
        buffer_size_bytes: 40_000,
        data_packet_size_bytes: 1400,
        burst: Burst { size_packets: 16, interval_ms: 1 },
        max_outstanding_buffers: 16,
        checksum_data: true,
        death_timer_s: 2,
    }
}

pub fn station() -> (Station, SocketAddr) {
    station_within(limits())
}
pub fn station_within(limits: Limits) -> (Station, SocketAddr) {
    let socket = Socket::bind(Carrier::Udp, "127.0.0.1:0".parse().unwrap()).unwrap();
    let address = socket.local_address().unwrap();
    (Station::new(socket, EndpointLimits::default(), limits, Timing::default()), address)
}

/// A server in a thread, until it is dropped.
pub struct Server {
    pub address: SocketAddr,
    stop: Arc<AtomicBool>,
}

impl Server {
    pub fn start(directory: &Path, change: impl FnOnce(&mut Served)) -> Server {
        Server::within(limits(), directory, change)
    }
    pub fn within(limits: Limits, directory: &Path, change: impl FnOnce(&mut Served)) -> Server {
        let mut served = Served::open(directory).unwrap();
        change(&mut served);
        let (mut station, address) = station_within(limits);
        station.listen(PORT);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        thread::spawn(move || {
            while !stopped.load(Ordering::SeqCst) {
                station.turn(PAUSE, &mut served).unwrap();
            }
        });
        Server { address, stop }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
    }
}
