//! Where the frames of a trial went: every counter there is, put together so that nothing is left over.
//!
//! ```text
//! sent ->| tester's interfaces ->| device, in ->| device, out ->| tester's interfaces ->| taken in
//!        leg                    leg            leg             leg                     leg
//! ```
//!
//! Each leg lies between two places that count, and closes by itself:
//!
//! ```text
//! entered + surplus = left + named parts + unknown
//! ```
//!
//! `unknown` is what no counter names. `surplus` is what left and had not entered: copies, frames of
//! the device's own, or counters that disagree. One of the two is always zero. A place that nobody reads
//! is no station; its two legs are one.
mod counts;
mod leg;
mod taken_in;

use crate::{PortBalance, PortId, TrialResult};
use counts::Counts;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One place of a device that drops or keeps frames, as its own counter tells.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct DevicePlace {
    /// What it is called, such as `input queue of dut0`.
    pub name: String,
    /// Frames dropped there during the trial.
    pub dropped: u64,
    /// Frames that waited there when counting began.
    pub waiting_before: u64,
    /// Frames that waited there when counting ended, read before the counters of the interfaces.
    pub waiting: u64,
    /// The counter is the whole machine's: frames of others may be among them.
    pub of_machine: bool,
}

/// A place where frames are counted, in the order in which a frame comes by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Station {
    /// The tester's transmitters.
    Sent,
    /// The tester's interfaces, on the way out.
    TesterOut,
    /// The device's interfaces, on the way in.
    DeviceIn,
    /// The device's interfaces, on the way out.
    DeviceOut,
    /// The tester's interfaces, on the way in.
    TesterIn,
    /// The tester's receivers.
    TakenIn,
}

/// What became of frames that did not pass a leg, or whose frames came in besides.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// Dropped by the device.
    Dropped,
    /// Still within the device when counting ended: not lost.
    NotYetOut,
    /// Dropped by the tester: not the device's loss.
    TesterDropped,
    /// Taken by the tester itself, such as requests that it answers.
    Answered,
}

/// Frames at a named place.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Part {
    /// The place.
    pub name: String,
    /// What became of them there.
    pub fate: Fate,
    /// How many.
    pub frames: u64,
}

/// From one station to the next.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Leg {
    /// Where it begins.
    pub from: Station,
    /// Where it ends.
    pub to: Station,
    /// Frames counted where it begins, and those that were on it already.
    pub entered: u64,
    /// Frames counted where it ends.
    pub left: u64,
    /// Where frames went that did not pass.
    pub parts: Vec<Part>,
    /// Frames that nobody names.
    pub unknown: u64,
    /// Frames too many.
    pub surplus: u64,
}

/// Frames that the tester's receivers took in, each in exactly one member.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct TakenIn {
    /// Different frames where and when they should arrive.
    pub in_time: u64,
    /// The same, after the wait for them was over.
    pub late: u64,
    /// Second arrivals.
    pub duplicates: u64,
    /// Ours, but damaged or changed.
    pub corrupted: u64,
    /// Ours, on a port where they do not belong.
    pub misdirected: u64,
    /// Frames of streams that may arrive anywhere.
    pub beside: u64,
    /// None of ours.
    pub foreign: u64,
    /// With this run's signature, but not sent so.
    pub forged: u64,
    /// Of earlier trials.
    pub leftovers: u64,
}

/// Where the frames of a trial went.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Balance {
    /// From the transmitters to the receivers.
    pub legs: Vec<Leg>,
    /// What became of the frames that arrived.
    pub taken_in: TakenIn,
    /// Whether the device's interfaces were read.
    pub sees_device: bool,
}

impl Balance {
    /// Of a trial, from all that was counted in it.
    pub fn of(result: &TrialResult) -> Self {
        let counts = Counts::of(result);
        let stations = counts.stations();
        let pairs = stations.iter().zip(&stations[1..]);
        let mut legs: Vec<Leg> = pairs.map(|(from, to)| Leg::new(*from, *to)).collect();
        counts.name_parts(&mut legs);
        Balance { legs, taken_in: counts.taken_in, sees_device: counts.device.is_some() }
    }

    /// Frames that the tester's transmitters sent.
    pub fn sent(&self) -> u64 {
        self.legs.first().map_or(0, |leg| leg.entered)
    }

    /// Every named place, on its leg.
    pub fn parts(&self) -> impl Iterator<Item = &Part> {
        self.legs.iter().flat_map(|leg| &leg.parts)
    }

    /// Frames of one fate, over all places.
    pub fn frames(&self, fate: Fate) -> u64 {
        self.parts().filter(|part| part.fate == fate).map(|part| part.frames).sum()
    }

    /// Frames counted at a station; `None` where nobody read it.
    pub fn at(&self, station: Station) -> Option<u64> {
        let begins = self.legs.iter().find(|leg| leg.from == station);
        let ends = self.legs.iter().find(|leg| leg.to == station).map(|leg| leg.left);
        // What was within the device already has not been counted at its interfaces.
        ends.or(begins.map(|leg| leg.entered))
    }

    /// Frames that nobody names, over all legs.
    pub fn unknown(&self) -> u64 {
        self.legs.iter().map(|leg| leg.unknown).sum()
    }

    /// Frames that came in besides, over all legs.
    pub fn surplus(&self) -> u64 {
        self.legs.iter().map(|leg| leg.surplus).sum()
    }

    /// Where counters contradict each other, a sentence each.
    pub fn disagreements(&self) -> Vec<String> {
        let legs = self.legs.iter().filter(|leg| leg.disagrees());
        legs.map(|leg| {
            let named: u64 = leg.parts.iter().map(|part| part.frames).sum();
            format!(
                "{} frames {} and {} {}, yet {named} are named as missing between the two: {} too many",
                leg.entered, leg.from, leg.left, leg.to, leg.surplus
            )
        })
        .collect()
    }
}

/// Frames that were still within the device when counting ended, at the place where most of them were.
pub(crate) fn still_within(places: &[DevicePlace]) -> Option<(&str, u64)> {
    let most = places.iter().max_by_key(|place| place.waiting).filter(|place| place.waiting > 0)?;
    Some((&most.name, places.iter().map(|place| place.waiting).sum()))
}

impl PortBalance {
    /// Nothing counted yet at a port.
    pub fn at(port: PortId) -> Self {
        PortBalance {
            port,
            tester_sent: 0,
            refused: 0,
            device_received: 0,
            device_dropped_in: 0,
            device_sent: 0,
            turned_away: 0,
            tester_received: 0,
            tester_dropped: 0,
            is_rough: false,
        }
    }
}

impl Station {
    /// All of them, in the order in which a frame comes by.
    pub const ALL: [Station; 6] = [
        Station::Sent,
        Station::TesterOut,
        Station::DeviceIn,
        Station::DeviceOut,
        Station::TesterIn,
        Station::TakenIn,
    ];
}

impl fmt::Display for Station {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Station::Sent => "sent by the tester",
            Station::TesterOut => "sent by the tester's interfaces",
            Station::DeviceIn => "received by the device",
            Station::DeviceOut => "sent by the device",
            Station::TesterIn => "received by the tester's interfaces",
            Station::TakenIn => "taken in by the tester",
        })
    }
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Fate::Dropped => "dropped",
            Fate::NotYetOut => "not yet out",
            Fate::TesterDropped => "dropped by the tester",
            Fate::Answered => "answered",
        })
    }
}

#[cfg(test)]
mod tests;
