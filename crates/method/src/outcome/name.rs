//! The names by which acceptance criteria know figures, whatever the test.

use super::Unit;
use serde::{Deserialize, Serialize};

macro_rules! figure_names {
    ($($(#[doc = $doc:literal])* $figure:ident = $name:literal,)*) => {
        /// What a criterion speaks of. Several tests may have figures of one name, and one test several.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
        pub enum FigureName {
            $($(#[doc = $doc])* #[serde(rename = $name)] $figure,)*
        }

        impl FigureName {
            /// All of them, as help lists them.
            pub const ALL: &[FigureName] = &[$(FigureName::$figure),*];

            /// As criteria write it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(FigureName::$figure => $name,)*
                }
            }
        }
    };
}

figure_names! {
    /// The highest load without loss.
    Throughput = "throughput",
    /// Share of frames lost at a load.
    Loss = "loss",
    /// Longest burst without loss.
    BackToBack = "back-to-back",
    /// Mean latency.
    Latency = "latency",
    /// 99th percentile of every frame's latency.
    LatencyP99 = "latency-p99",
    /// The same at half of the throughput, where no queue of the device is full.
    HalfLoadP99 = "latency-p99-half-load",
    /// The largest latency.
    LatencyMax = "latency-max",
    /// Packet delay variation.
    Pdv = "pdv",
    /// The largest inter-packet delay variation.
    IpdvMax = "ipdv-max",
    /// Time to recover from an overload.
    Recovery = "recovery",
    /// Time without traffic around a reset.
    Reset = "reset",
    /// What comes out at a load.
    ForwardingRate = "forwarding-rate",
    /// Loss at the port that is not overloaded.
    UncongestedLoss = "uncongested-loss",
    /// Loss at the port that is.
    CongestedLoss = "congested-loss",
    /// Frames that came out where they should not.
    FloodCount = "flood-count",
    /// Addresses that a switch keeps.
    Addresses = "addresses",
    /// Addresses that a switch learns a second.
    LearningRate = "learning-rate",
    /// Frames with an error that came out.
    ErroredFrames = "errored-frames",
    /// Requests answered a second.
    Requests = "requests",
    /// What the next port adds.
    ScalingFactor = "scaling-factor",
    /// Frames lost in all iterations.
    LostPackets = "lost-packets",
    /// Multicast groups that a device takes.
    Groups = "groups",
    /// From a report to the first frame.
    JoinDelay = "join-delay",
    /// From a leave to the last frame.
    LeaveDelay = "leave-delay",
    /// Spread of latency over ports and groups.
    MinMaxLatency = "min-max-latency",
    /// The highest rate without loss by steps of the gap (router tests of 1989 and 1990).
    MaxRate = "max-rate",
    /// What comes out when the tester sends as fast as it can (the same).
    RawRate = "raw-rate",
    /// Time through the device with few frames (the same).
    Delay = "delay",
    /// Routes, hosts or filters that a table takes (1989).
    Entries = "entries",
    /// Share of requests answered under load (1989).
    Answered = "answered",
}

/// What a bound of a criterion is written in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measure {
    /// A plain number, in the figure's unit.
    Number,
    /// A share, 0 to 100.
    Percent,
    /// A time.
    Time,
}

impl FigureName {
    /// The one of that name.
    pub fn named(name: &str) -> Option<Self> {
        FigureName::ALL.iter().copied().find(|known| known.name() == name)
    }

    /// What its bounds are written in.
    pub const fn measure(self) -> Measure {
        use FigureName::*;
        match self {
            Loss | UncongestedLoss | CongestedLoss | Answered => Measure::Percent,
            Latency | LatencyP99 | HalfLoadP99 | LatencyMax | Pdv | IpdvMax | Recovery | Reset
            | JoinDelay | LeaveDelay | MinMaxLatency | Delay => Measure::Time,
            _ => Measure::Number,
        }
    }

    /// Whether a figure of this unit may have the name: a bound in seconds says nothing of frames.
    pub const fn fits(self, unit: Unit) -> bool {
        match self.measure() {
            Measure::Percent => matches!(unit, Unit::Percent),
            Measure::Time => matches!(unit, Unit::Ns | Unit::Us | Unit::Seconds),
            Measure::Number => {
                !matches!(unit, Unit::Percent | Unit::Ns | Unit::Us | Unit::Seconds | Unit::None)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files and the command line write the same name, and no two figures share one.
    #[test]
    fn every_name_is_its_own_and_is_read_back() {
        for &name in FigureName::ALL {
            assert_eq!(FigureName::named(name.name()), Some(name));
            let saved = serde_json::to_value(name).unwrap();
            assert_eq!(saved.as_str(), Some(name.name()));
        }
        assert_eq!(FigureName::named("speed"), None);
    }

    #[test]
    fn a_time_is_not_a_number_of_frames() {
        assert!(FigureName::Latency.fits(Unit::Ns) && !FigureName::Latency.fits(Unit::Frames));
        assert!(FigureName::Loss.fits(Unit::Percent) && !FigureName::Loss.fits(Unit::Frames));
        assert!(FigureName::Throughput.fits(Unit::Fps) && !FigureName::Throughput.fits(Unit::Ns));
    }
}
