//! Other people's tools, each run as its manual says and with the settings that suit it best here.

mod testpmd;
mod trafgen;
mod xdp_trafficgen;

pub use testpmd::Received;
pub use testpmd::receive_with_testpmd;
pub use testpmd::{Device, MemifRole, Testpmd};

use crate::bed::Bed;
use crate::error::{Result, system};
use crate::helpers::Helpers;
use crate::process::Process;
use crate::subject::Subject;
use crate::window::{self, Window};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use units::Duration;

/// Longest time that a tool may take to begin.
const BEGINS_WITHIN: Duration = Duration::from_secs(20);
/// Longest time that a tool may take to end.
const ENDS_WITHIN: Duration = Duration::from_secs(10);

/// What competitors are run with.
pub struct Arena<'a> {
    /// The cores: transmitting and receiving.
    pub cores: [usize; 2],
    /// Compiled helpers.
    pub helpers: &'a Helpers,
    /// Set when the user wants to stop.
    pub stop: Arc<AtomicBool>,
}

impl Arena<'_> {
    /// Has a tool send as fast as it can, and watches what arrives at the far end.
    pub fn transmit_only(&self, subject: Subject, bed: &Bed, size_bytes: u32) -> Result<Window> {
        match subject {
            Subject::Trafgen => self.watch(trafgen::start(self, bed, size_bytes)?, bed),
            Subject::XdpTrafficgen => self.watch(xdp_trafficgen::start(self, bed)?, bed),
            _ => testpmd::transmit_with_testpmd(self, subject, bed, size_bytes),
        }
    }

    /// Watches a tool that is sending by now.
    fn watch(&self, mut process: Process, bed: &Bed) -> Result<Window> {
        process.check_running()?;
        let window = window::watch(bed, &[process.id()])?;
        process.check_running()?;
        Ok(window)
    }

    /// Waits until frames arrive at the far end.
    fn await_frames(&self, process: &mut Process, bed: &Bed) -> Result<()> {
        let before = bed.arrived()?.received;
        process.await_words("frame", BEGINS_WITHIN, |_| {
            bed.arrived().is_ok_and(|counters| counters.received > before + 1_000)
        })?;
        Ok(())
    }
}

/// A generator whose frames go through the router of a bed.
pub enum Routed {
    /// testpmd.
    Testpmd(testpmd::Testpmd),
    /// trafgen.
    Trafgen(Process),
}

impl Routed {
    /// An error if it has ended.
    pub fn check_running(&mut self) -> Result<()> {
        match self {
            Routed::Testpmd(testpmd) => testpmd.check_running(),
            Routed::Trafgen(process) => process.check_running(),
        }
    }
}

impl Arena<'_> {
    /// Starts testpmd, which sends what a qdisc lets through, to the router.
    pub fn route_with_testpmd(&self, bed: &Bed, size_bytes: u32) -> Result<Routed> {
        let mut testpmd = testpmd::route(self, bed, size_bytes)?;
        self.await_frames(testpmd.process(), bed)?;
        Ok(Routed::Testpmd(testpmd))
    }

    /// Starts trafgen likewise.
    pub fn route_with_trafgen(&self, bed: &Bed, size_bytes: u32) -> Result<Routed> {
        trafgen::route(self, bed, size_bytes).map(Routed::Trafgen)
    }
}

/// Writes a file that a tool is to read.
fn write(path: &std::path::Path, text: &str) -> Result<()> {
    std::fs::write(path, text).map_err(system(format!("write {}", path.display())))
}

fn words(command: &str) -> Vec<String> {
    command.split_whitespace().map(String::from).collect()
}
