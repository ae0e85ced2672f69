//! One point of a curve, and what is measured there.

use crate::{Failure, virtual_time, wire_bed};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Where frames go.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, ValueEnum, Serialize, Deserialize)]
pub enum Bed {
    /// Through a simulated device; its work is in the figures.
    Virtual,
    /// From port to port over veth pairs, `af_packet`.
    AfPacket,
    /// The same, `xdp`.
    Xdp,
}

/// What becomes many.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Axis {
    /// Ports that all send to all others, or to their neighbour on the wire.
    Ports,
    /// Flows of 64-byte frames, each counted on its own.
    Flows,
    /// The same of 1518-byte frames.
    LongFlows,
    /// Multicast groups that each go to four ports.
    Groups,
}

impl Axis {
    /// What stands on the axis of a plot.
    pub const fn label(self) -> &'static str {
        match self {
            Axis::Ports => "ports",
            Axis::Flows => "flows",
            Axis::LongFlows => "flows of 1518 bytes",
            Axis::Groups => "groups",
        }
    }
}

/// One point of a curve.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Point {
    /// Where.
    pub bed: Bed,
    /// Of which curve.
    pub axis: Axis,
    /// How many.
    pub count: u64,
}

/// What was measured.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Reading {
    /// Processor time that each further frame took, in nanoseconds, in all threads.
    pub frame_ns: f64,
    /// Most memory that the process had, in bytes: its own, and its BPF maps.
    pub memory_bytes: u64,
    /// Processor time of the trial that no frame is the cause of, in seconds: laying out frames, accounting.
    pub fixed_s: f64,
}

impl Point {
    /// All that are measured, curve after curve.
    pub fn all() -> Vec<Point> {
        let curve = |bed: Bed, axis: Axis, counts: &[u64]| {
            counts.iter().map(|&count| Point { bed, axis, count }).collect::<Vec<_>>()
        };
        let ports: Vec<u64> = (1..=6).map(|power| 1 << power).collect();
        let flows: Vec<u64> = (0..=6).map(|power| 10u64.pow(power)).collect();
        let groups: Vec<u64> = (0..=16).step_by(4).map(|power| 1 << power).collect();
        let mut all = vec![];
        for bed in [Bed::Virtual, Bed::AfPacket, Bed::Xdp] {
            all.extend(curve(bed, Axis::Ports, &ports));
            all.extend(curve(bed, Axis::Flows, &flows));
        }
        all.extend(curve(Bed::Virtual, Axis::LongFlows, &[1, 1_000, 1_000_000]));
        all.extend(curve(Bed::Virtual, Axis::Groups, &groups));
        all
    }
    /// Measures it, in this process.
    pub fn measure(self) -> Result<Reading, Failure> {
        match self.bed {
            Bed::Virtual => virtual_time::measure(self),
            Bed::AfPacket | Bed::Xdp => wire_bed::measure(self),
        }
    }
}

impl fmt::Display for Bed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Bed::Virtual => "virtual time",
            Bed::AfPacket => "af_packet",
            Bed::Xdp => "xdp",
        })
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} {}", self.bed, self.count, self.axis.label())
    }
}
