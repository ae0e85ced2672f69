//! The names by which acceptance criteria know figures, whatever the test.

use super::Unit;
use serde::{Deserialize, Serialize};

/// What a criterion speaks of. Several tests may have figures of one name, and one test several.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FigureName {
    /// The highest load without loss.
    Throughput,
    /// Share of frames lost at a load.
    Loss,
    /// Longest burst without loss.
    BackToBack,
    /// Mean latency.
    Latency,
    /// 99th percentile of every frame's latency.
    LatencyP99,
    /// The largest latency.
    LatencyMax,
    /// Packet delay variation.
    Pdv,
    /// The largest inter-packet delay variation.
    IpdvMax,
    /// Time to recover from an overload.
    Recovery,
    /// Time without traffic around a reset.
    Reset,
    /// What comes out at a load.
    ForwardingRate,
    /// Loss at the port that is not overloaded.
    UncongestedLoss,
    /// Loss at the port that is.
    CongestedLoss,
    /// Frames that came out where they should not.
    FloodCount,
    /// Addresses that a switch keeps.
    Addresses,
    /// Addresses that a switch learns a second.
    LearningRate,
    /// Frames with an error that came out.
    ErroredFrames,
    /// Requests answered a second.
    Requests,
    /// What the next port adds.
    ScalingFactor,
    /// Frames lost in all iterations.
    LostPackets,
    /// Multicast groups that a device takes.
    Groups,
    /// From a report to the first frame.
    JoinDelay,
    /// From a leave to the last frame.
    LeaveDelay,
    /// Spread of latency over ports and groups.
    MinMaxLatency,
    /// The highest rate without loss by steps of the gap (router tests of 1989 and 1990).
    MaxRate,
    /// What comes out when the tester sends as fast as it can (the same).
    RawRate,
    /// Time through the device with few frames (the same).
    Delay,
    /// Routes, hosts or filters that a table takes (1989).
    Entries,
    /// Share of requests answered under load (1989).
    Answered,
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
    /// All of them, as help lists them.
    pub const ALL: [FigureName; 29] = {
        use FigureName::*;
        [
            Throughput,
            Loss,
            BackToBack,
            Latency,
            LatencyP99,
            LatencyMax,
            Pdv,
            IpdvMax,
            Recovery,
            Reset,
            ForwardingRate,
            UncongestedLoss,
            CongestedLoss,
            FloodCount,
            Addresses,
            LearningRate,
            ErroredFrames,
            Requests,
            ScalingFactor,
            LostPackets,
            Groups,
            JoinDelay,
            LeaveDelay,
            MinMaxLatency,
            MaxRate,
            RawRate,
            Delay,
            Entries,
            Answered,
        ]
    };

    /// As criteria write it.
    pub const fn name(self) -> &'static str {
        match self {
            FigureName::Throughput => "throughput",
            FigureName::Loss => "loss",
            FigureName::BackToBack => "back-to-back",
            FigureName::Latency => "latency",
            FigureName::LatencyP99 => "latency-p99",
            FigureName::LatencyMax => "latency-max",
            FigureName::Pdv => "pdv",
            FigureName::IpdvMax => "ipdv-max",
            FigureName::Recovery => "recovery",
            FigureName::Reset => "reset",
            FigureName::ForwardingRate => "forwarding-rate",
            FigureName::UncongestedLoss => "uncongested-loss",
            FigureName::CongestedLoss => "congested-loss",
            FigureName::FloodCount => "flood-count",
            FigureName::Addresses => "addresses",
            FigureName::LearningRate => "learning-rate",
            FigureName::ErroredFrames => "errored-frames",
            FigureName::Requests => "requests",
            FigureName::ScalingFactor => "scaling-factor",
            FigureName::LostPackets => "lost-packets",
            FigureName::Groups => "groups",
            FigureName::JoinDelay => "join-delay",
            FigureName::LeaveDelay => "leave-delay",
            FigureName::MinMaxLatency => "min-max-latency",
            FigureName::MaxRate => "max-rate",
            FigureName::RawRate => "raw-rate",
            FigureName::Delay => "delay",
            FigureName::Entries => "entries",
            FigureName::Answered => "answered",
        }
    }

    /// The one of that name.
    pub fn named(name: &str) -> Option<Self> {
        FigureName::ALL.into_iter().find(|known| known.name() == name)
    }

    /// What its bounds are written in.
    pub const fn measure(self) -> Measure {
        use FigureName::*;
        match self {
            Loss | UncongestedLoss | CongestedLoss | Answered => Measure::Percent,
            Latency | LatencyP99 | LatencyMax | Pdv | IpdvMax | Recovery | Reset | JoinDelay
            | LeaveDelay | MinMaxLatency | Delay => Measure::Time,
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
        for name in FigureName::ALL {
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
