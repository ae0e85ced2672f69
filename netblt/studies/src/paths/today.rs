//! Paths of today that a rate, a delay and loss by chance do not describe: policers, radio links, satellites that
//! change, a way back that loses or is narrow, and a receiver without a processor. What each can carry is known by
//! its construction.

use super::handover::Handovers;
use super::study::{Alone, Contender, Road, alone_over};
use super::{Dice, Loss, Naps, Path, Policer, Turns};
use units::Duration;

const MBPS: u64 = 1_000_000;
/// Of a run. The second half, which is measured, is one interval of handovers.
const LENGTH: Duration = Duration::from_secs(30);
const MS: Duration = Duration::from_ms(1);

/// What such a path does.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Feature {
    /// A policer before a line of this rate.
    Policer(Policer, u64),
    /// Both ways have turns.
    Radio(Turns),
    /// Both ways change at the same time; the first time is by chance.
    Handovers(Handovers),
    /// Share of what answers that is lost.
    AnswersLost(f64),
    /// Rate of the way back.
    NarrowBack(u64),
    /// The receiver has no processor at times.
    BusyReceiver(Naps),
}

/// A path of today.
#[derive(Clone, PartialEq, Debug)]
pub struct Today {
    /// In few words.
    pub name: &'static str,
    /// Its rate is what can pass while something does.
    pub road: Road,
    /// What it does beside that.
    pub feature: Feature,
}

impl Today {
    /// All of them.
    pub fn all() -> Vec<Today> {
        let path = |name, rate, round_trip_ms, feature| {
            let road = Road::new(rate, round_trip_ms, Loss::None);
            Today { name, road, feature }
        };
        vec![
            path("shallow policer", 50 * MBPS, 20, policer(15_000)),
            path("deep policer", 50 * MBPS, 20, policer(625_000)),
            path("Wi-Fi", 100 * MBPS, 20, Feature::Radio(WI_FI)),
            path("LTE", 50 * MBPS, 50, Feature::Radio(LTE)),
            path("Starlink, waits", 100 * MBPS, 40, Feature::Handovers(starlink(false))),
            path("Starlink, loses", 100 * MBPS, 40, Feature::Handovers(starlink(true))),
            path("5 % of answers lost", 50 * MBPS, 50, Feature::AnswersLost(0.05)),
            path("20 % of answers lost", 50 * MBPS, 50, Feature::AnswersLost(0.2)),
            path("1 Mb/s back", 100 * MBPS, 20, Feature::NarrowBack(MBPS)),
            path("busy receiver", 100 * MBPS, 20, Feature::BusyReceiver(BUSY)),
        ]
    }

    /// Of new packets, what can arrive in a second.
    pub fn usable_pps(&self) -> f64 {
        let open = match self.feature {
            Feature::Handovers(handovers) => handovers.open_share(),
            _ => 1.0,
        };
        self.road.usable_pps(self.road.rate_bps) * open
    }

    /// The path as the simulation has it. The seed tells when the first handover is.
    ///
    /// Where nothing else is left to chance, hosts take up to the time of a packet for each: all seeds would have the
    /// same run otherwise, and who finds no token or no place in a queue would be no chance.
    pub fn path(&self, seed: u64) -> Path {
        let mut path = self.road.path();
        if matches!(self.feature, Feature::Policer(..) | Feature::NarrowBack(_)) {
            path.processing =
                Duration::from_secs_f64(1.0 / self.road.packets_per_s(self.road.rate_bps));
        }
        match self.feature {
            Feature::Policer(policer, line_bps) => {
                let line = Road { rate_bps: line_bps, ..self.road.clone() };
                (path.forward, path.back) = (line.path().forward, line.path().back);
                path.forward.policer = Some(policer);
            }
            Feature::Radio(turns) => {
                (path.forward.turns, path.back.turns) = (Some(turns), Some(turns));
            }
            Feature::Handovers(handovers) => {
                let first = Dice::new(seed.rotate_left(16)).within(handovers.every);
                let handovers = Some(Handovers { first, ..handovers });
                (path.forward.handovers, path.back.handovers) = (handovers, handovers);
            }
            Feature::AnswersLost(share) => path.back.loss = Loss::Random(share),
            Feature::NarrowBack(rate_bps) => {
                path.back.rate_bps = rate_bps;
                path.back.queue_bytes = rate_bps / 8 / 10;
            }
            Feature::BusyReceiver(naps) => path.naps = Some(naps),
        }
        path
    }

    /// Runs one flow alone over it.
    pub fn alone(&self, contender: Contender, seed: u64) -> Alone {
        self.alone_for(contender, LENGTH, seed)
    }
    /// The same for a time.
    pub fn alone_for(&self, contender: Contender, length: Duration, seed: u64) -> Alone {
        let measure = (&self.road, self.usable_pps());
        alone_over(&self.path(seed), measure, contender, length, seed)
    }
}

/// 50 Mb/s of a line of 1 Gb/s. Juniper's guidelines for the size of a bucket: ten of the largest packets at the least,
/// and as a first value what the line carries in 5 ms.
fn policer(bucket_bytes: u64) -> Feature {
    Feature::Policer(Policer { rate_bps: 50 * MBPS, bucket_bytes }, 1000 * MBPS)
}

/// A station sends in its turn all that waits for it. Linux drivers hold such a frame to 4 ms (ath9k), so that 2 to 10
/// ms pass until the next turn with up to two others of them in between.
const WI_FI: Turns = Turns {
    every: Duration::from_ms(2),
    spread: Duration::from_ms(8),
    failing: 0.0,
    repeat: Duration::ZERO,
};

/// Subframes of 1 ms (3GPP TS 36.211); the scheme is chosen so that one in ten fails (TS 36.213, 7.2.3); it is sent again
/// after 8 ms (FDD); RLC keeps the order (TS 36.322).
const LTE: Turns = Turns {
    every: Duration::from_ms(1),
    spread: Duration::ZERO,
    failing: 0.1,
    repeat: Duration::from_ms(8),
};

/// Links are given anew every 15 s (Mohan et al., A Multifaceted Look at Starlink Performance, 2024). The outage, 50
/// ms, and the delay, each way up to 10 ms more than the shortest, are assumptions.
fn starlink(loses: bool) -> Handovers {
    let every = Duration::from_secs(15);
    Handovers { first: Duration::ZERO, every, outage: MS * 50, detour: MS * 10, loses }
}

/// Who shares a processor with several waits some milliseconds for each of them (Linux: 3 ms on eight processors). That
/// it happens ten times a second is an assumption.
const BUSY: Naps = Naps {
    apart: Duration::from_ms(100),
    shortest: Duration::from_ms(1),
    longest: Duration::from_ms(20),
};
