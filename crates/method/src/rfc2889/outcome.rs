//! The figures of the tests of switches.

use super::{
    AddressResult, BroadcastLatencyResult, CongestionResult, ErroredOutcome, ErroredResult,
    ErroredTrial, ForwardPressureResult, GapOutcome, MeshResult,
};
use crate::chassis::{ChassisTest, LoadPoint, latency_spread};
use crate::clauses::Facts;
use crate::outcome::{Figure, FigureName, Outcome, Unit, reasons};
use trial::LatencyForm;

impl MeshResult {
    /// Throughput, forwarding rates, and the loss of each load.
    pub fn outcome(&self) -> Outcome {
        let mut figures = self.throughput.figures("throughput");
        figures.extend([
            LoadPoint::forwarding(self.frmol(), "forwarding rate at maximum offered load"),
            LoadPoint::forwarding(self.mfr(), "maximum forwarding rate"),
        ]);
        figures.extend(
            self.points
                .iter()
                .map(|point| point.loss(format!("loss at {} % of the medium", point.load_percent))),
        );
        figures
            .extend(self.frmol().map(|point| {
                flood_count("flood count at maximum offered load", point.flood_count)
            }));
        let outcome = self.conditions.outcome(figures, self.throughput.invalid_reasons());
        outcome
            .with_matrices(&self.matrix)
            .laid_out(self.layout().noted(self.throughput.with_tolerance_in_words()))
            .judged_also(|facts| facts.search(&self.throughput).load(self.points.first()))
            .detailed(self)
    }
}

fn flood_count(name: &str, frames: u64) -> Figure {
    Figure::single(name, Unit::Frames, frames as f64).called(FigureName::FloodCount)
}

impl CongestionResult {
    /// Loss and rate of both ports.
    pub fn outcome(&self) -> Outcome {
        let outcome = self.conditions.outcome(self.figures(), &self.invalid);
        let frames_by_source = self.frames_by_source.clone();
        outcome
            .with_matrices([&self.matrix])
            .laid_out(self.layout())
            .judged_also(|facts| Facts { frames_by_source, ..facts })
            .detailed(self)
    }

    fn figures(&self) -> Vec<Figure> {
        const UNCONGESTED: &str = "loss at the uncongested port";
        if !self.invalid.is_empty() {
            let why = reasons(&self.invalid);
            let missing = Figure::missing(UNCONGESTED, Unit::Percent, why);
            return vec![missing.called(FigureName::UncongestedLoss)];
        }
        let lost = |name, (sent, received): (u64, u64)| {
            Figure::share_lost(name, sent.saturating_sub(received), sent)
        };
        let rate = |name, rate: units::FrameRate| Figure::single(name, Unit::Fps, rate.fps());
        vec![
            lost(UNCONGESTED, self.uncongested).called(FigureName::UncongestedLoss),
            lost("loss at the congested port", self.congested).called(FigureName::CongestedLoss),
            rate("rate of the uncongested port", self.uncongested_rate),
            rate("rate of the congested port", self.congested_rate),
            Figure::single("PAUSE frames", Unit::Frames, self.pauses.0 as f64),
            flood_count("flood count", self.flood_count),
        ]
    }
}

impl ForwardPressureResult {
    /// Throughput, the most that comes out, and what a gap of 88 bits brought.
    pub fn outcome(&self) -> Outcome {
        const GAP: &str = "rate of frames sent with a gap of 88 bits";
        let gap = match &self.gap {
            GapOutcome::Detected { rate, .. } | GapOutcome::NotDetected { rate, .. } => {
                Figure::single(GAP, Unit::Fps, rate.fps())
            }
            GapOutcome::NotTested { why } => Figure::missing(GAP, Unit::Fps, Some(why.clone())),
        };
        let mut figures = self.throughput.figures("throughput");
        figures.extend([LoadPoint::forwarding(self.mfr(), "maximum forwarding rate"), gap]);
        let not_tried = match &self.gap {
            GapOutcome::NotTested { why } => vec![why.clone()],
            GapOutcome::Detected { .. } | GapOutcome::NotDetected { .. } => vec![],
        };
        self.conditions
            .outcome(figures, self.throughput.invalid_reasons())
            .laid_out(self.layout().noted(self.throughput.with_tolerance_in_words()))
            .judged_also(|facts| Facts { not_tried, ..facts.search(&self.throughput) })
            .detailed(self)
    }
}

impl AddressResult {
    /// The capacity, or the rate.
    pub fn outcome(&self) -> Outcome {
        let is_rate = self.conditions.test == ChassisTest::AddressLearning;
        let (name, unit, known_as) = match is_rate {
            true => ("address learning rate", Unit::AddressesPerSecond, FigureName::LearningRate),
            false => ("address caching capacity", Unit::Addresses, FigureName::Addresses),
        };
        // Where even the lowest failed, it is what the last trial tried.
        let lowest = self.trials.iter().filter(|trial| trial.learned == Some(false));
        let lowest = lowest.map(|trial| match is_rate {
            true => trial.learning_rate.fps_truncated(),
            false => trial.addresses,
        });
        let failed = self.failed.or_else(|| lowest.min().filter(|_| self.found.is_none()));
        let figure = Figure::count(name, unit, (self.found, failed), &self.invalid);
        self.conditions
            .outcome(vec![figure.called(known_as)], &self.invalid)
            .laid_out(self.layout())
            .judged_also(|facts| facts.bound_at(self.at_least, "highest value"))
            .detailed(self)
    }
}

impl ErroredResult {
    /// Frames that came out, by kind of error and load.
    pub fn outcome(&self) -> Outcome {
        let figures = self.trials.iter().map(ErroredTrial::figure).collect();
        let mut not_tried: Vec<String> = vec![];
        for trial in &self.trials {
            if let ErroredOutcome::NotTested { why } = &trial.outcome {
                let words = format!("{}: {why}", trial.kind);
                if !not_tried.contains(&words) {
                    not_tried.push(words);
                }
            }
        }
        self.conditions
            .outcome(figures, &self.invalid)
            .laid_out(self.layout())
            .judged_also(|facts| Facts { not_tried, ..facts })
            .detailed(self)
    }
}

impl ErroredTrial {
    fn figure(&self) -> Figure {
        let name = match self.load_percent {
            0.0 => format!("forwarded with {}", self.kind),
            load => format!("forwarded with {} at {load} %", self.kind),
        };
        match &self.outcome {
            ErroredOutcome::NotTested { why } => {
                Figure::missing(name, Unit::Frames, Some(why.clone()))
            }
            // No error to be held against the device.
            ErroredOutcome::Allowed => Figure::single(name, Unit::Frames, self.errored.1 as f64),
            ErroredOutcome::Passed | ErroredOutcome::Failed => {
                let forwarded = self.errored.1 as f64;
                Figure::single(name, Unit::Frames, forwarded).called(FigureName::ErroredFrames)
            }
        }
    }
}

impl BroadcastLatencyResult {
    /// Latency at each port.
    pub fn outcome(&self) -> Outcome {
        let mut figures = vec![];
        for port in &self.ports {
            let name = |which: &str| format!("latency {which} at {}", port.port);
            match port.latency_ns {
                Some(_) => figures.extend(latency_spread(name, &port.forms())),
                None => figures.push(
                    Figure::missing(name("mean"), Unit::Ns, reasons(&self.invalid))
                        .called(FigureName::Latency),
                ),
            }
        }
        let silent = self.ports.iter().filter(|port| port.received == 0).count();
        let mut definitions = self.ports.iter().map(|port| port.definition.as_ref());
        let has_line_time = self.conditions.line_rate_is_physical
            && definitions.any(|of| of.is_none_or(|of| of.form != LatencyForm::Lifo));
        self.conditions
            .outcome(figures, &self.invalid)
            .laid_out(self.layout())
            .judged_also(|facts| Facts {
                unmeasured: Some(silent as u64),
                has_line_time: Some(has_line_time),
                ..facts
            })
            .detailed(self)
    }
}
