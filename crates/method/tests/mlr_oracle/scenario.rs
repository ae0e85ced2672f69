//! Devices and goals that both searches are run on.

use method::search::mlrsearch::{MlrSearch, SearchGoal, TimedLoad, TrialOutput as Tells, Tried};
use method::search::{Range, Search, Upper};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sim::{Law, Offered, laws};
use trial::PortId;
use units::{Duration, FrameRate};

/// 10 Gb/s, frames of 64 bytes.
pub const RANGE: Range = Range { min: 1_000, max: 14_880_952 };

/// A closed-form device, with what it truly carries.
#[derive(Clone, Copy, Debug)]
pub enum Device {
    SharpKnee { fps: f64 },
    NoisyKnee { fps: f64, probability: f64 },
    AlwaysLossy { ratio: f64 },
    NeverLossy,
    SlowTester { reaches_fps: f64 },
}

/// What is searched for, on which device.
pub struct Scenario {
    pub name: String,
    pub device: Device,
    pub goals: Vec<SearchGoal>,
    pub seeds: u64,
}

/// What one search came to.
#[derive(Clone, Debug)]
pub struct Found {
    pub trials: u64,
    pub seconds: f64,
    pub goals: Vec<Bounds>,
}

/// What the searches of a scenario came to, one for each seed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Outcome {
    pub name: String,
    /// Of all searches together.
    pub trials: u64,
    pub seconds: f64,
    /// By goal: searches whose lower bound is within the goal width of the truth.
    pub hits: Vec<u64>,
    /// By goal: of the first search.
    pub goals: Vec<Bounds>,
}

/// Loads in frames a second.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Bounds {
    pub lower: Option<f64>,
    pub upper: Option<f64>,
    pub conditional: Option<f64>,
}

/// Counts of one trial.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Counts {
    pub intended: u64,
    pub sent: u64,
    pub received: u64,
}

/// A device being measured.
pub struct Bench {
    law: Box<dyn Law>,
    trials: u64,
    time: Duration,
}

impl Scenario {
    /// The outcome of a search.
    pub fn outcome(&self, mut search: impl FnMut(u64) -> Found) -> Outcome {
        let found: Vec<Found> = (0..self.seeds).map(&mut search).collect();
        let hits = |number: usize, goal: &SearchGoal| {
            let is_hit = |found: &&Found| self.is_hit(goal, found.goals[number].lower);
            found.iter().filter(is_hit).count() as u64
        };
        Outcome {
            name: self.name.clone(),
            trials: found.iter().map(|found| found.trials).sum(),
            seconds: found.iter().map(|found| found.seconds).sum(),
            hits: self.goals.iter().enumerate().map(|(n, goal)| hits(n, goal)).collect(),
            goals: found[0].goals.clone(),
        }
    }

    /// The highest load that meets the goal; `None` where none does.
    pub fn truth(&self, goal: &SearchGoal) -> Option<f64> {
        let carried = match self.device {
            Device::SharpKnee { fps } | Device::NoisyKnee { fps, .. } => {
                fps / (1.0 - goal.loss_ratio)
            }
            Device::AlwaysLossy { .. } => return None,
            Device::NeverLossy => f64::INFINITY,
            Device::SlowTester { reaches_fps } => reaches_fps,
        };
        Some(carried.min(RANGE.max as f64))
    }

    fn is_hit(&self, goal: &SearchGoal, lower: Option<f64>) -> bool {
        match (self.truth(goal), lower) {
            (Some(truth), Some(lower)) => (truth - lower).abs() <= 1.01 * goal.width * truth,
            (truth, lower) => truth.is_none() && lower.is_none(),
        }
    }

    pub fn is_random(&self) -> bool {
        self.seeds > 1
    }
}

pub fn scenarios() -> Vec<Scenario> {
    let second = Duration::from_secs(1);
    let throughput = SearchGoal { width: 0.005, ..SearchGoal::RFC2544 };
    let ndr = SearchGoal {
        loss_ratio: 0.0,
        exceed_ratio: 0.5,
        initial_duration: second,
        final_duration: second,
        duration_sum: Duration::from_secs(21),
        width: 0.005,
    };
    let pdr = SearchGoal { loss_ratio: 0.005, ..ndr };
    let tst009 = SearchGoal { width: 0.005, ..SearchGoal::TST009 };
    let soon = |goal| SearchGoal { initial_duration: second, ..goal };
    let goals: [(&str, Vec<SearchGoal>); 6] = [
        ("RFC 2544", vec![throughput]),
        ("RFC 2544, 1 s first", vec![soon(throughput)]),
        ("TST009", vec![tst009]),
        ("TST009, 1 s first", vec![soon(tst009)]),
        ("NDR", vec![ndr]),
        ("NDR and PDR", vec![ndr, pdr]),
    ];
    let devices = [
        ("sharp knee", Device::SharpKnee { fps: 1_000_000.0 }),
        ("sharp knee, low", Device::SharpKnee { fps: 5_432.1 }),
        ("sharp knee, near the maximum", Device::SharpKnee { fps: 14_870_000.0 }),
        ("noisy knee, 10 %", Device::NoisyKnee { fps: 1_000_000.0, probability: 0.1 }),
        ("noisy knee, 30 %", Device::NoisyKnee { fps: 7_654_321.0, probability: 0.3 }),
        ("always lossy", Device::AlwaysLossy { ratio: 0.01 }),
        ("never lossy", Device::NeverLossy),
        ("slow tester", Device::SlowTester { reaches_fps: 3_000_000.0 }),
    ];
    let mut scenarios = vec![];
    for (device_name, device) in devices {
        for (goal_name, goals) in &goals {
            let is_random = matches!(device, Device::NoisyKnee { .. });
            // Where one unlucky trial decides, two searches find what their luck is.
            if is_random && goals[0].exceed_ratio == 0.0 {
                continue;
            }
            let name = format!("{device_name}; {goal_name}");
            let seeds = if is_random { 50 } else { 1 };
            scenarios.push(Scenario { name, device, goals: goals.clone(), seeds });
        }
    }
    scenarios
}

impl Bench {
    pub fn new(device: Device, seed: u64) -> Self {
        let law: Box<dyn Law> = match device {
            Device::SharpKnee { fps } => Box::new(laws::sharp_knee(fps)),
            Device::NoisyKnee { fps, probability } => {
                Box::new(laws::noisy_knee(fps, probability, seed))
            }
            Device::AlwaysLossy { ratio } => Box::new(laws::always_lossy(ratio)),
            Device::NeverLossy => Box::new(laws::never_lossy()),
            Device::SlowTester { reaches_fps } => {
                Box::new(laws::slow_tester(reaches_fps, laws::never_lossy()))
            }
        };
        Bench { law, trials: 0, time: Duration::ZERO }
    }

    pub fn trial(&mut self, load_fps: f64, duration: Duration) -> Counts {
        let rate = FrameRate::from_fps_f64(load_fps);
        let intended = rate.frames_in(duration);
        let response = self.law.respond(Offered {
            trial: self.trials,
            port: PortId(0),
            rate,
            frames: intended,
            frame_size_bytes: 64.0,
        });
        self.trials += 1;
        self.time += duration;
        let sent = response.reached.map_or(intended, |reached| reached.frames_in(duration));
        Counts { intended, sent, received: sent - response.lost.min(sent) }
    }

    pub fn found(&self, goals: Vec<Bounds>) -> Found {
        Found { trials: self.trials, seconds: self.time.as_secs_f64(), goals }
    }
}

/// Our own search.
pub fn own(scenario: &Scenario, seed: u64) -> Found {
    let mut bench = Bench::new(scenario.device, seed);
    let mut search = MlrSearch::new(RANGE, &scenario.goals);
    while let Some(asked) = search.next_load() {
        let TimedLoad { load, duration, .. } = asked;
        let counts = bench.trial(load as f64, duration);
        let reached = (load as f64 * counts.sent as f64 / counts.intended as f64) as u64;
        let lost_frames = counts.sent - counts.received;
        let tells = match counts.sent < counts.intended {
            true => Tells::Undecided { reached: Some(reached) },
            false => Tells::Measured(Tried { duration, expected_frames: counts.sent, lost_frames }),
        };
        search.record(asked, tells);
        assert!(bench.trials < 10_000, "{}: no end", scenario.name);
    }
    let results = search.results();
    let bounds = results.iter().map(|result| Bounds {
        lower: result.lower.map(|load| load as f64),
        upper: result.upper.map(|(load, _)| load as f64),
        conditional: result.conditional_throughput(),
    });
    for result in &results {
        let is_testers = matches!(result.upper, Some((_, Upper::Undecided)));
        assert_eq!(is_testers, matches!(scenario.device, Device::SlowTester { .. }));
    }
    bench.found(bounds.collect())
}

/// As the reference's process reads it.
pub fn goal(goal: &SearchGoal) -> Value {
    json!({
        "loss_ratio": goal.loss_ratio,
        "exceed_ratio": goal.exceed_ratio,
        "width": goal.width,
        "initial": goal.initial_duration.as_secs_f64(),
        "final": goal.final_duration.as_secs_f64(),
        "sum": goal.duration_sum.as_secs_f64(),
    })
}
