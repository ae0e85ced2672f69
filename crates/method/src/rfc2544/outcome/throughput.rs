//! The figures of throughput.

use crate::outcome::{Basis, Figure, FigureName, Outcome, Unit};
use crate::rfc2544::ThroughputResult;
use crate::{CostFound, RateFound, TestKind};

/// Processor time of the device for a frame that it forwards.
const COST: &str = "cost of a frame";
/// The load at which its busiest processor would never be idle.
const CAPACITY: &str = "capacity implied by the cost of a frame";

impl ThroughputResult {
    /// Throughput, rates with some loss, and what a frame costs the device.
    pub fn outcome(&self) -> Outcome {
        let throughput = self.throughput.figure("throughput").called(FigureName::Throughput);
        let mut figures = vec![throughput];
        figures.extend(self.with_tolerance.iter().map(|found: &RateFound| {
            found.figure(format!("rate with up to {} % loss", found.loss_tolerance_percent))
        }));
        figures.extend(self.throughput.buffered.map(|buffered| {
            let name = format!("rate of one trial of {}, from buffers", buffered.trial_duration);
            Figure::single(name, Unit::Fps, buffered.rate.fps())
        }));
        figures.extend(self.cost.iter().flat_map(cost));
        let invalid = self.throughput.finding.invalid_reasons();
        Outcome::new(TestKind::Throughput, &self.conditions, figures, &invalid)
    }
}

fn cost(found: &CostFound) -> Vec<Figure> {
    match found {
        CostFound::Measured(cost) => {
            let span = |name, unit, ends| Figure::between(name, unit, ends, Basis::ProcessorTime);
            let capacity = (cost.capacity_low.fps(), cost.capacity_high.fps());
            vec![
                span(COST, Unit::Ns, (cost.low_ns, cost.high_ns)),
                span(CAPACITY, Unit::Fps, capacity),
            ]
        }
        CostFound::Unknown { why } => vec![Figure::missing(COST, Unit::Ns, Some(why.clone()))],
    }
}
