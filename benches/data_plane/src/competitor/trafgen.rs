//! trafgen (netsniff-ng): AF_PACKET transmit ring, one process.

use super::{Arena, words, write};
use crate::bed::Bed;
use crate::error::Result;
use crate::netanvil::{frame_for_far_host, frame_for_nobody};
use crate::process::Process;
use std::fmt::Write as _;

/// Starts it; returns once frames arrive.
pub fn start(arena: &Arena, bed: &Bed, size_bytes: u32) -> Result<Process> {
    send(arena, bed, size_bytes, &frame_for_nobody(bed, size_bytes), "")
}

/// Starts it with a frame for the host behind the bed's router, through the interface's qdisc.
pub fn route(arena: &Arena, bed: &Bed, size_bytes: u32) -> Result<Process> {
    send(arena, bed, size_bytes, &frame_for_far_host(bed, size_bytes), " --qdisc-path")
}

fn send(arena: &Arena, bed: &Bed, size_bytes: u32, frame: &[u8], more: &str) -> Result<Process> {
    let mut packet = String::from("{ ");
    for byte in frame {
        let _ = write!(packet, "{byte:#04x}, ");
    }
    packet.push('}');
    let path = arena.helpers.directory().join(format!("trafgen-{size_bytes}.cfg"));
    write(&path, &packet)?;
    let command = format!(
        "trafgen --dev {} --conf {} --cpus 1 --no-cpu-stats --no-sock-mem --notouch-irq{more}",
        bed.near(),
        path.display()
    );
    let mut process = Process::start(bed, arena.cores[0], &words(&command), &[], &arena.stop)?;
    arena.await_frames(&mut process, bed)?;
    Ok(process)
}
