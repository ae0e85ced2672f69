//! Noisy devices of known truth, in closed form.
//!
//! The truth for a trial of T seconds is the load at which such a trial loses frames with a chance of
//! one half: the median of what single trials would call throughput.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sim::{Law, Offered, Response};

/// How a device loses frames. Rates are in frames a second.
#[derive(Clone, Copy, Debug)]
pub enum Noise {
    /// All beyond the capacity is lost, and nothing else.
    Steady,
    /// The capacity of each trial is normal with this relative standard deviation.
    Jitter(f64),
    /// The same, and as soon as more is offered a share of the capacity is lost with what exceeds it.
    Collapse { deviation: f64, by: f64 },
    /// The capacity of each trial falls short by an exponential share with this mean.
    Stolen(f64),
    /// Each frame is lost with a chance of one in so many.
    RandomLoss(f64),
    /// This share of the trials loses 3 frames at any load.
    Hiccups(f64),
    /// In this share of the trials the device is away, and a fifth of the frames is lost.
    Absence(f64),
    /// The capacity swings by this share, once in 40 trials, from a phase drawn at random.
    Drift(f64),
}

#[derive(Clone, Copy, Debug)]
pub struct Device {
    pub name: &'static str,
    pub capacity_fps: f64,
    pub noise: Noise,
}

pub fn devices() -> Vec<Device> {
    let device = |name, capacity_fps, noise| Device { name, capacity_fps, noise };
    vec![
        device("steady", 70_000.0, Noise::Steady),
        device("capacity +- 0.5 %", 70_000.0, Noise::Jitter(0.005)),
        device("capacity +- 1 %", 31_000.0, Noise::Jitter(0.01)),
        device("capacity +- 2 %", 90_000.0, Noise::Jitter(0.02)),
        device("capacity +- 5 %", 52_000.0, Noise::Jitter(0.05)),
        device("capacity +- 10 %", 70_000.0, Noise::Jitter(0.1)),
        device("+- 4 %, collapses by 10 %", 70_000.0, Noise::Collapse { deviation: 0.04, by: 0.1 }),
        device("stolen, 3 % in the mean", 70_000.0, Noise::Stolen(0.03)),
        device("random loss, 1 in 5,000", 140_000.0, Noise::RandomLoss(5e3)),
        device("random loss, 1 in 40,000", 140_000.0, Noise::RandomLoss(4e4)),
        device("random loss, 1 in 200,000", 70_000.0, Noise::RandomLoss(2e5)),
        device("3 frames in 10 % of trials", 70_000.0, Noise::Hiccups(0.1)),
        device("3 frames in 30 % of trials", 70_000.0, Noise::Hiccups(0.3)),
        device("away in 5 % of trials", 70_000.0, Noise::Absence(0.05)),
        device("drift +- 2 %", 70_000.0, Noise::Drift(0.02)),
    ]
}

impl Device {
    /// Where a trial of `seconds` loses frames with a chance of one half.
    pub fn truth_fps(&self, seconds: f64) -> f64 {
        // A whole frame has to be beyond the capacity.
        let knee = self.capacity_fps + 1.0 / seconds;
        match self.noise {
            Noise::Stolen(mean) => self.capacity_fps * (1.0 - mean * 2f64.ln()) + 1.0 / seconds,
            Noise::RandomLoss(one_in) => (one_in * 2f64.ln() / seconds).min(knee),
            _ => knee,
        }
    }

    /// Whether trials are independent of each other.
    pub fn is_independent(&self) -> bool {
        !matches!(self.noise, Noise::Drift(_))
    }

    /// Whether the capacity differs from trial to trial, or not at all; a device that collapses apart, whose
    /// trials seldom contradict each other: its row is printed, and shows that the bounds often miss.
    pub fn is_scattering(&self) -> bool {
        matches!(self.noise, Noise::Steady | Noise::Jitter(_) | Noise::Stolen(_))
    }

    pub fn law(self, seed: u64) -> impl Law {
        let mut random = Random(Xoshiro256PlusPlus::seed_from_u64(seed));
        let phase = random.uniform();
        move |offered: Offered| {
            let lost = self.lost(&mut random, phase, offered);
            Response { lost: lost.clamp(0.0, offered.frames as f64) as u64, ..Response::default() }
        }
    }

    fn lost(&self, random: &mut Random, phase: f64, offered: Offered) -> f64 {
        let frames = offered.frames as f64;
        let seconds = frames / offered.rate.fps();
        let beyond = |share: f64| {
            let excess = offered.rate.fps() - self.capacity_fps * share;
            (excess * seconds).max(0.0).floor()
        };
        match self.noise {
            Noise::Steady => beyond(1.0),
            Noise::Jitter(deviation) => beyond(1.0 + deviation * random.normal()),
            Noise::Collapse { deviation, by } => {
                let share = 1.0 + deviation * random.normal();
                let lost = beyond(share);
                let collapsed = by * share * self.capacity_fps * seconds;
                if lost > 0.0 { lost + collapsed.floor() } else { 0.0 }
            }
            Noise::Stolen(mean) => beyond(1.0 + mean * (1.0 - random.uniform()).ln()),
            Noise::RandomLoss(one_in) => beyond(1.0).max(random.poisson(frames / one_in)),
            Noise::Hiccups(share) => {
                beyond(1.0).max(if random.uniform() < share { 3.0 } else { 0.0 })
            }
            Noise::Absence(share) => {
                beyond(1.0).max(if random.uniform() < share { frames / 5.0 } else { 0.0 })
            }
            Noise::Drift(swing) => {
                let turn = offered.trial as f64 / 40.0 + phase;
                beyond(1.0 + swing * (std::f64::consts::TAU * turn).sin())
            }
        }
    }
}

struct Random(Xoshiro256PlusPlus);

impl Random {
    /// At least 0 and below 1.
    fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Box and Muller.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Knuth's product of uniform numbers; above 500 the normal distribution.
    fn poisson(&mut self, mean: f64) -> f64 {
        if mean > 500.0 {
            return (mean + mean.sqrt() * self.normal()).round().max(0.0);
        }
        let (mut count, mut product) = (0.0, self.uniform());
        while product > (-mean).exp() {
            count += 1.0;
            product *= self.uniform();
        }
        count
    }
}
