//! The frame sizes of a flow.

use super::Refusal;
use crate::model::{
    FlowSize, FlowSizeChoice, FlowSizeWeightPairs, FlowSizeWeightPairsChoice,
    FlowSizeWeightPairsPredefined,
};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// No frame is shorter on an Ethernet.
const SHORTEST_BYTES: u32 = 64;
/// Random sizes are so many draws, over and over.
const DRAWS: usize = 1_024;
/// Sizes by weight repeat after so many frames.
const BY_WEIGHT: usize = 1_000;
const STEPS_MAX: u32 = 65_536;

/// The sizes with FCS of one period.
///
/// # Errors
/// Where a size is none of a frame's, or there are too many.
pub fn sizes(size: &FlowSize, path: &str) -> Result<Vec<u32>, Refusal> {
    let sizes = match size.choice {
        FlowSizeChoice::Fixed => vec![size.fixed.unwrap_or(SHORTEST_BYTES)],
        FlowSizeChoice::Increment => {
            let steps = size.increment.clone().unwrap_or_default();
            let path = format!("{path}.increment");
            if steps.end < steps.start || steps.step == 0 {
                let what =
                    format!("from {} to {} by {} is no size", steps.start, steps.end, steps.step);
                return Err(Refusal::new(&path, what));
            }
            if (steps.end - steps.start) / steps.step >= STEPS_MAX {
                return Err(Refusal::new(&path, format!("more than {STEPS_MAX} sizes")));
            }
            (steps.start..=steps.end).step_by(steps.step as usize).collect()
        }
        FlowSizeChoice::Random => {
            let range = size.random.clone().unwrap_or_default();
            if range.min > range.max {
                let what = format!("min ({}) is above max ({})", range.min, range.max);
                return Err(Refusal::new(&format!("{path}.random"), what));
            }
            let mut dice = Xoshiro256PlusPlus::seed_from_u64(1);
            let width = u64::from(range.max - range.min) + 1;
            (0..DRAWS).map(|_| range.min + (dice.next_u64() % width) as u32).collect()
        }
        FlowSizeChoice::WeightPairs => by_weight(size.weight_pairs.as_ref(), path)?,
    };
    match sizes.iter().find(|size| !(SHORTEST_BYTES..=65_535).contains(*size)) {
        Some(size) => {
            let what = format!(
                "a frame of {size} bytes; possible are {SHORTEST_BYTES} to 65535, FCS included"
            );
            Err(Refusal::new(path, what))
        }
        None => Ok(sizes),
    }
}

fn by_weight(pairs: Option<&FlowSizeWeightPairs>, path: &str) -> Result<Vec<u32>, Refusal> {
    let pairs = pairs.cloned().unwrap_or_default();
    let weights: Vec<(u32, f64)> = match pairs.choice {
        FlowSizeWeightPairsChoice::Predefined => match pairs.predefined.unwrap_or_default() {
            FlowSizeWeightPairsPredefined::Imix => return Ok(imix()),
            FlowSizeWeightPairsPredefined::IpsecImix | FlowSizeWeightPairsPredefined::TcpImix => {
                vec![(90, 58.67), (92, 2.0), (594, 23.66), (1418, 15.67)]
            }
            FlowSizeWeightPairsPredefined::Ipv6Imix => {
                vec![(60, 58.67), (496, 2.0), (594, 23.66), (1518, 15.67)]
            }
            FlowSizeWeightPairsPredefined::StandardImix => {
                vec![(58, 58.67), (62, 2.0), (594, 23.66), (1518, 15.67)]
            }
        },
        FlowSizeWeightPairsChoice::Custom => {
            pairs.custom.iter().flatten().map(|pair| (pair.size, pair.weight)).collect()
        }
    };
    let all: f64 = weights.iter().map(|(_, weight)| *weight).sum();
    let is_good = |weight: f64| weight.is_finite() && weight >= 0.0;
    if !(all > 0.0 && all.is_finite()) || weights.iter().any(|(_, weight)| !is_good(*weight)) {
        let what = "weights must be 0 or more, and one of them above 0".into();
        return Err(Refusal::new(&format!("{path}.weight_pairs"), what));
    }
    // Each turn is that of the size furthest behind its share.
    let mut given = vec![0.0; weights.len()];
    let turns = (1..=BY_WEIGHT).map(|turn| {
        let behind = |at: usize| weights[at].1 / all * turn as f64 - given[at];
        let next = (0..weights.len()).max_by(|a, b| behind(*a).total_cmp(&behind(*b))).unwrap_or(0);
        given[next] += 1.0;
        weights[next].0
    });
    Ok(turns.collect())
}

/// 64, 570 and 1518 bytes in ratio 7:4:1, evenly spread.
fn imix() -> Vec<u32> {
    let sizes = [64, 570, 64, 64, 570, 64, 64, 570, 64, 64, 570, 1518];
    sizes.to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::check;
    use serde_json::{Value, json};

    fn of(value: Value) -> Result<Vec<u32>, Refusal> {
        sizes(&serde_json::from_value(check("FlowSize", value).unwrap().value).unwrap(), "size")
    }

    #[test]
    fn sizes_are_those_of_the_specification() {
        assert_eq!(of(json!({})).unwrap(), [64]);
        let increment =
            json!({"choice": "increment", "increment": {"start": 64, "end": 200, "step": 64}});
        assert_eq!(of(increment).unwrap(), [64, 128, 192]);
        let imix = of(json!({"choice": "weight_pairs", "weight_pairs": {}})).unwrap();
        let count = |size| imix.iter().filter(|other| **other == size).count();
        assert_eq!((count(64), count(570), count(1518)), (7, 4, 1));
        let random = json!({"choice": "random", "random": {"min": 64, "max": 66}});
        let random = of(random).unwrap();
        assert!([64, 65, 66].iter().all(|size| random.contains(size)) && random.len() == 1_024);
    }

    /// 58.67 : 2 : 23.66 : 15.67 of 1,000.
    #[test]
    fn weights_are_met_to_a_frame() {
        let pairs = json!({"choice": "weight_pairs",
            "weight_pairs": {"choice": "predefined", "predefined": "tcp_imix"}});
        let sizes = of(pairs).unwrap();
        let count = |size| sizes.iter().filter(|other| **other == size).count() as i64;
        for (size, share) in [(90, 587), (92, 20), (594, 237), (1418, 157)] {
            assert!((count(size) - share).abs() <= 1, "{size}: {}", count(size));
        }
    }

    #[test]
    fn no_frame_is_shorter_than_an_ethernet_frame() {
        for refused in [
            json!({"choice": "fixed", "fixed": 63}),
            json!({"choice": "fixed", "fixed": 70_000}),
            json!({"choice": "increment", "increment": {"start": 64, "end": 200, "step": 0}}),
            json!({"choice": "random", "random": {"min": 100, "max": 90}}),
            json!({"choice": "weight_pairs", "weight_pairs": {"choice": "predefined", "predefined": "standard_imix"}}),
            json!({"choice": "weight_pairs", "weight_pairs": {"choice": "custom", "custom": []}}),
        ] {
            let error = of(refused.clone()).unwrap_err().to_string();
            assert!(error.starts_with("size"), "{refused}: {error}");
        }
    }
}
