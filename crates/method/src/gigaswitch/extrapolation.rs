//! From a few ports to all of them: the scaling factor, what it says of all ports with its
//! uncertainty, and what all ports say where there are so many.

use super::{FanoutResult, fanout};
use crate::bench::Bench;
use crate::chassis::{ChassisConditions, ChassisTest, TestSetup};
use crate::config::TrialConfig;
use crate::{Outcome, RunError, SuiteConfig};
use serde::{Deserialize, Serialize};

/// What a few ports say of all.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ExtrapolationResult {
    /// Under which conditions.
    pub conditions: ChassisConditions,
    /// Ports measured, with the rate of each, from and to, in frames a second.
    pub measured: Vec<(usize, f64, f64)>,
    /// Rate of a port with the most ports measured over that with the fewest, from and to: 1 where
    /// adding ports costs nothing.
    pub scaling_factor: (f64, f64),
    /// Ports that it is extrapolated to.
    pub ports: usize,
    /// As the document does it: where there is no scaling factor below 1, the rate of a port times
    /// all ports.
    pub as_published: Option<f64>,
    /// With the scaling factor's uncertainty carried along, from and to, in frames a second.
    pub extrapolated: (f64, f64),
    /// What all ports really carried, from and to; `None` where there are not so many.
    pub all_ports: Option<(f64, f64)>,
    /// Whether what they carried overlaps what was extrapolated.
    pub held: Option<bool>,
}

/// The fan-out with few ports, then with all of them, and what the few say of all; nothing where no fan-out
/// has a rate.
pub fn extrapolation(
    bench: &mut Bench<'_>,
    rack: &TestSetup<'_>,
) -> Result<Vec<Outcome>, RunError> {
    let config = &rack.config.chassis.fanout;
    let mut results: Vec<FanoutResult> = vec![];
    for ports in config.ports.iter().filter(|ports| **ports <= rack.ports) {
        results.push(fanout(bench, &rack.with_ports(*ports))?);
    }
    let all_ports = match rack.ports >= config.extrapolate_to {
        true => Some(all_ports(bench, rack)?),
        false => None,
    };
    let mut outcomes: Vec<Outcome> =
        results.iter().chain(&all_ports).map(FanoutResult::outcome).collect();
    outcomes.extend(conclude(rack, &results, all_ports.as_ref()).map(|result| result.outcome()));
    Ok(outcomes)
}

fn all_ports(bench: &mut Bench<'_>, rack: &TestSetup<'_>) -> Result<FanoutResult, RunError> {
    let fanout_config = &rack.config.chassis.fanout;
    let duration_s = fanout_config.all_ports_trial_s;
    let trial = TrialConfig { duration_s, ..rack.config.trial.clone() };
    let config = SuiteConfig { trial, ..rack.config.clone() };
    let rack = TestSetup { config: &config, ports: fanout_config.extrapolate_to, ..*rack };
    fanout(bench, &rack)
}

fn conclude(
    rack: &TestSetup<'_>,
    results: &[FanoutResult],
    all_ports: Option<&FanoutResult>,
) -> Option<ExtrapolationResult> {
    let of = |result: &FanoutResult| {
        let (from, to) = result.per_port_fps()?;
        Some((result.conditions.ports, from, to))
    };
    let measured: Vec<_> = results.iter().filter_map(of).collect();
    let (&few, &many) = (measured.first()?, measured.last()?);
    let ports = rack.config.chassis.fanout.extrapolate_to;
    let scaling_factor =
        if few.0 == many.0 { (1.0, 1.0) } else { (many.1 / few.2, many.2 / few.1) };
    let extrapolated = extrapolate(few, many, ports);
    let total = |(_, from, to): (usize, f64, f64)| (from * ports as f64, to * ports as f64);
    let all_ports = all_ports.and_then(of).map(total);
    let overlap = |(from, to): (f64, f64)| from <= extrapolated.1 && extrapolated.0 <= to;
    Some(ExtrapolationResult {
        conditions: rack.with_ports(ports).conditions(ChassisTest::Extrapolation),
        as_published: (many.1 >= few.1).then_some(many.1 * ports as f64),
        measured,
        scaling_factor,
        ports,
        extrapolated,
        held: all_ports.map(overlap),
        all_ports,
    })
}

/// The rate of a port is taken to change by the same factor with each doubling of ports, and never
/// to rise above what was measured: the sum of `ports` ports, from and to.
fn extrapolate(
    (few, few_from, few_to): (usize, f64, f64),
    (many, from, to): (usize, f64, f64),
    ports: usize,
) -> (f64, f64) {
    if few == many {
        return (from * ports as f64, to * ports as f64);
    }
    let doublings = |of: usize, to: usize| (to as f64 / of as f64).log2();
    let steps = doublings(many, ports) / doublings(few, many);
    let factor = |ratio: f64| ratio.min(1.0).powf(steps) * ports as f64;
    (from * factor(from / few_to), to * factor(to / few_from))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A port loses a tenth with each doubling: from 8 ports to 32 it loses it twice.
    #[test]
    fn the_factor_of_a_doubling_is_carried_on() {
        let (from, to) = extrapolate((4, 100.0, 100.0), (8, 90.0, 90.0), 32);
        assert!((from - 90.0 * 0.81 * 32.0).abs() < 1e-9 && from == to);
        let (from, to) = extrapolate((4, 100.0, 101.0), (8, 100.0, 101.0), 34);
        assert!(from < 3_400.0 && to == 101.0 * 34.0, "{from} {to}");
    }
}
