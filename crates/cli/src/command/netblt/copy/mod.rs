//! `netanvil netblt copy`: many files to or from a host that a remote shell reaches.

mod far;
mod place;
mod progress;
mod rate;
mod server;
mod transfer;

use super::args::Copy;
use crate::failure::{Failure, Outcome};
use netblt::{Burst, Limits};

pub fn run(arguments: &Copy) -> Outcome {
    match arguments.server {
        true => server::run(),
        false => transfer::run(arguments),
    }
}

/// Bytes of data in a packet: sealed, and within 1,500 bytes over IPv6 too.
const PACKET_BYTES: u16 = 1376;
/// Packets of a buffer, which must hold the longest name.
const BUFFER_PACKETS: u32 = 8;

/// What either end proposes or takes. The rate is bounded while the copy runs, not here.
fn limits(death_timer_s: u16) -> Limits {
    Limits {
        buffer_size_bytes: BUFFER_PACKETS * u32::from(PACKET_BYTES),
        data_packet_size_bytes: PACKET_BYTES,
        burst: netblt_client::FASTEST,
        max_outstanding_buffers: 2048,
        // Sealed packets are authenticated.
        checksum_data: false,
        death_timer_s,
    }
}

/// The fastest burst of a rate; any without one.
fn burst(rate_bps: Option<f64>) -> Burst {
    let fastest = netblt_client::FASTEST;
    rate_bps.map_or(fastest, |rate| netblt_client::burst_of_rate(rate, PACKET_BYTES))
}

/// What mends a copy of files that broke.
const GOES_ON: &str = "what arrived is kept; the same command goes on where it broke off";

fn broken(what: impl std::fmt::Display) -> Failure {
    Failure::new(what).help(GOES_ON)
}
