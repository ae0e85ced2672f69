//! `netanvil netblt copy`: many files to or from a host that a remote shell reaches.

mod far;
mod place;
mod progress;
mod rate;
mod server;
mod transfer;

use super::args::Copy;
use crate::failure::{Failure, Outcome};
use netblt::Burst;

pub fn run(arguments: &Copy) -> Outcome {
    match arguments.server {
        true => server::run(),
        false => transfer::run(arguments),
    }
}

/// The fastest burst of a rate in packets of a size; any without one.
fn burst(rate_bps: Option<f64>, packet_size_bytes: u16) -> Burst {
    let of_rate = |rate| netblt_client::burst_of_rate(rate, packet_size_bytes);
    rate_bps.map_or(netblt_client::FASTEST, of_rate)
}

/// What mends a copy of files that broke.
const GOES_ON: &str = "what arrived is kept; the same command goes on where it broke off";

fn broken(what: impl std::fmt::Display) -> Failure {
    Failure::new(what).help(GOES_ON)
}
