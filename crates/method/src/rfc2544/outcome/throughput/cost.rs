//! What a frame costs the device, beside the throughput that saturation found.

use crate::outcome::{Cell, Layout};
use crate::rfc2544::ThroughputResult;
use crate::{CostFound, CostPerFrame};

const COLUMNS: [&str; 7] = [
    "frame size",
    "load fps",
    "cost ns a frame",
    "processors",
    "implied capacity fps",
    "throughput fps",
    "<verdict",
];

impl ThroughputResult {
    /// Where it was measured.
    pub(super) fn cost(&self) -> Option<Layout> {
        let heading = "Cost of a frame, and the throughput that it implies";
        let mut layout = self.conditions.layout(heading, &COLUMNS);
        layout.about.push(
            "cost: processor time of the device's own threads for each frame that they forwarded, to \
             that and all else that ran on their processors and was not the tester's; implied \
             capacity: the load at which the busiest of them would never be idle; where that and the \
             throughput differ by more than 5 % of what either leaves open, a note says so"
                .into(),
        );
        Some(match self.cost.as_ref()? {
            CostFound::Measured(cost) => {
                let contradiction = cost.contradiction(&self.throughput);
                layout.row(self.cost_row(cost, contradiction.is_some())).noted(contradiction)
            }
            CostFound::Unknown { why } => layout.noted([format!("cost not known: {why}")]),
        })
    }

    fn cost_row(&self, cost: &CostPerFrame, differs: bool) -> [Cell; 7] {
        let ns = |ns| Cell::number(ns, 1);
        [
            self.conditions.frame_size.clone().into(),
            Cell::Fps(cost.load),
            Cell::between(ns(cost.low_ns), ns(cost.high_ns)),
            Cell::number(cost.processors, 2),
            Cell::between(Cell::Fps(cost.capacity_low), Cell::Fps(cost.capacity_high)),
            self.throughput.cell(),
            if differs { "differ" } else { "overlap" }.into(),
        ]
    }
}
