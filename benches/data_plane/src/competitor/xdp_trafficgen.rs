//! xdp-trafficgen (xdp-tools): live frames, one thread.

use super::{Arena, words};
use crate::bed::Bed;
use crate::error::Result;
use crate::netanvil::NOBODY;
use crate::process::Process;

/// Starts it; returns once frames arrive. Where it cannot start on this kernel by itself, it is
/// started with the preload that mends that.
pub fn start(arena: &Arena, bed: &Bed) -> Result<Process> {
    let mac: Vec<String> = NOBODY.iter().map(|byte| format!("{byte:02x}")).collect();
    let command =
        format!("xdp-trafficgen udp --dst-mac {} --threads 1 {}", mac.join(":"), bed.near());
    let preload = arena.helpers.preload()?;
    let environment: Vec<_> =
        preload.map(|path| ("LD_PRELOAD", path.display().to_string())).into_iter().collect();
    let mut process =
        Process::start(bed, arena.cores[0], &words(&command), &environment, &arena.stop)?;
    arena.await_frames(&mut process, bed)?;
    Ok(process)
}
