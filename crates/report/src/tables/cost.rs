//! What a frame costs the device, beside the throughput that saturation found.

use super::{Table, about, fps, rate_cell};
use crate::model::Group;
use crate::number::grouped_f64;
use method::{CostFound, CostPerFrame};
use units::FrameRate;

/// Of a group where it was measured.
pub(super) fn table(group: &Group<'_>) -> Option<Table> {
    let known = group.throughput.iter().filter(|result| result.cost.is_some());
    let known: Vec<_> = known.collect();
    let first = known.first()?;
    let mut table = Table::new(
        "Cost of a frame, and the throughput that it implies",
        about(group, &first.conditions),
        &[
            "frame size",
            "load fps",
            "cost ns a frame",
            "processors",
            "implied capacity fps",
            "throughput fps",
            "<verdict",
        ],
    );
    table.about.push(
        "cost: processor time of the device's own threads for each frame that they forwarded, to \
         that and all else that ran on their processors and was not the tester's; implied \
         capacity: the load at which the busiest of them would never be idle; where that and the \
         throughput differ by more than 5 % of what either leaves open, a note says so"
            .into(),
    );
    for result in known {
        let size = &result.conditions.frame_size;
        match result.cost.as_ref()? {
            CostFound::Measured(cost) => {
                let throughput = rate_cell(&result.throughput);
                let contradiction = cost.contradiction(&result.throughput);
                let verdict = if contradiction.is_some() { "differ" } else { "overlap" };
                table.rows.push(row(size, cost, throughput, verdict));
                table.note(size, contradiction);
            }
            CostFound::Unknown { why } => table.note(size, [format!("cost not known: {why}")]),
        }
    }
    Some(table)
}

fn row(size: &str, cost: &CostPerFrame, throughput: String, verdict: &str) -> Vec<String> {
    vec![
        size.into(),
        fps(cost.load),
        between(cost.low_ns, cost.high_ns, |ns| grouped_f64(ns, 1)),
        format!("{:.2}", cost.processors),
        between(cost.capacity_low.fps(), cost.capacity_high.fps(), |rate| {
            fps(FrameRate::from_fps_f64(rate))
        }),
        throughput,
        verdict.into(),
    ]
}

/// Two ends that print alike are one number.
fn between(low: f64, high: f64, print: impl Fn(f64) -> String) -> String {
    let (low, high) = (print(low), print(high));
    if low == high { low } else { format!("{low} .. {high}") }
}
