//! `netanvil netblt copy`: many files to or from a host that a remote shell reaches.

mod far;
mod place;
mod progress;
mod rate;
mod report;
mod server;
mod transfer;

use super::args::Copy;
use crate::failure::{Failure, Outcome};
use netblt::Burst;
use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};

/// A remote shell may close all that could be open, one by one, before it starts.
const MOST_OPEN_FILES: rlim_t = 1 << 20;

pub fn run(arguments: &Copy) -> Outcome {
    raise_open_files();
    match arguments.server {
        true => server::run(),
        false => transfer::run(arguments),
    }
}

/// The directories of all sources are open, and those of files on their way: more than the usual 1,024 where there are
/// many. A user may have more, up to the hard limit.
fn raise_open_files() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard.min(MOST_OPEN_FILES)
    {
        // Who may not goes on with those.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard.min(MOST_OPEN_FILES), hard);
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
