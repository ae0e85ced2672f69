//! A throughput search as it is scripted today: a generator that cannot pace sends through a token
//! bucket of `tc`, interfaces are read before and after a window, and the rate is halved into.
//!
//! A window passes with at most a thousandth lost: the kernel's counters are not read at one moment,
//! and the device has queues whose fill may differ between the readings.

use super::SIZE_BYTES;
use super::spread::{Found, Measurement};
use crate::bed::{Bed, Sink};
use crate::competitor::{Arena, Routed};
use crate::error::{BenchError, Result, system};
use ports::clock;
use std::process::Command;
use units::Duration;

/// After each change of the rate.
const SETTLE: Duration = Duration::from_ms(250);
const WINDOW: Duration = Duration::from_ms(700);
/// What may be lost in a window that passes.
const TOLERANCE: f64 = 0.001;
/// The search ends when the rate is known to this part of itself.
const RESOLUTION: f64 = 0.02;
/// A generator that offers less than this of what the bucket lets through can no more.
const REACHED: f64 = 0.9;
/// The bucket counts frames without FCS.
const FCS_BYTES: u32 = 4;
/// What the bucket lets through at once: 128 frames, half of the ring of a veth.
const BURST_BYTES: u32 = 128 * (SIZE_BYTES - FCS_BYTES);

/// What sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Generator {
    /// DPDK's testpmd over net_af_packet; net_af_xdp goes around the qdisc, and cannot be paced at all.
    Testpmd,
    /// netsniff-ng's.
    Trafgen,
}

/// What was seen in a window, in frames a second.
#[derive(Clone, Copy)]
struct Seen {
    offered_fps: f64,
    delivered_fps: f64,
}

impl Seen {
    fn passes(self) -> bool {
        self.delivered_fps >= (1.0 - TOLERANCE) * self.offered_fps
    }
}

/// Builds the device, starts the generator, searches.
pub fn measure(generator: Generator, arena: &Arena<'_>) -> Result<Measurement> {
    let before = clock::now();
    let bed = Bed::router()?;
    bed.put_sink(Sink::Program, arena.helpers.sink())?;
    let mut running = match generator {
        Generator::Testpmd => arena.route_with_testpmd(&bed, SIZE_BYTES)?,
        Generator::Trafgen => arena.route_with_trafgen(&bed, SIZE_BYTES)?,
    };
    let found = search(&bed, &mut running)?;
    drop(running);
    drop(bed);
    Ok(Measurement { found, took: clock::now().since(before) })
}

fn search(bed: &Bed, running: &mut Routed) -> Result<Found> {
    let flood = look(bed, running)?;
    if flood.passes() {
        return Ok(Found::AtLeast(flood.delivered_fps));
    }
    let (mut good, mut bad) = (0.0f64, flood.offered_fps);
    while bad - good > RESOLUTION * bad {
        let middle = (good + bad) / 2.0;
        pace(bed, middle)?;
        let seen = look(bed, running)?;
        if !seen.passes() {
            bad = middle;
        } else if seen.offered_fps < REACHED * middle {
            return Ok(Found::AtLeast(seen.offered_fps));
        } else {
            good = seen.offered_fps.min(middle);
        }
        if bad < flood.offered_fps / 1024.0 {
            return Ok(Found::Undecided);
        }
    }
    Ok(Found::Rate(good))
}

/// One window.
fn look(bed: &Bed, running: &mut Routed) -> Result<Seen> {
    running.check_running()?;
    clock::sleep(SETTLE);
    let read = || -> Result<_> { Ok((clock::now(), bed.sent()?, bed.arrived()?)) };
    let (start, sent, arrived) = read()?;
    clock::sleep(WINDOW);
    let (end, sent_later, arrived_later) = read()?;
    let seconds = end.since(start).as_secs_f64();
    let rate = |before: u64, after: u64| after.saturating_sub(before) as f64 / seconds;
    let seen = Seen {
        offered_fps: rate(sent, sent_later),
        delivered_fps: rate(arrived.received, arrived_later.received),
    };
    running.check_running()?;
    match seen.offered_fps > 0.0 {
        true => Ok(seen),
        false => Err(BenchError::Implausible("the generator's interface sent nothing".into())),
    }
}

/// Lets no more than so many frames a second out of the generator's interface.
fn pace(bed: &Bed, fps: f64) -> Result<()> {
    let bits = fps * f64::from(SIZE_BYTES - FCS_BYTES) * 8.0;
    let command = format!(
        "-n {} qdisc replace dev {} root tbf rate {bits:.0}bit burst {BURST_BYTES}b limit {BURST_BYTES}b",
        bed.namespace(),
        bed.near(),
    );
    let output = Command::new("tc").args(command.split(' ')).output().map_err(system("run tc"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(BenchError::Tool {
            tool: "tc".into(),
            what: command,
            said: String::from_utf8_lossy(&output.stderr).into_owned(),
        }),
    }
}
