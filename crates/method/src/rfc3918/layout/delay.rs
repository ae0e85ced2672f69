//! Join and leave delay by port.

use crate::chassis::{ChassisTest, percent};
use crate::outcome::number::microseconds;
use crate::outcome::{Cell, Layout};
use crate::rfc3918::{Burden, DelayOutcome, DelaySet, GroupDelayResult};

impl GroupDelayResult {
    pub(in crate::rfc3918) fn layout(&self) -> Layout {
        let columns = ["size", "<method", "<burden", "egress", "delay, us", "<"];
        let mut layout = self.multicast.layout(&self.conditions, &columns);
        layout.about.push(self.in_words());
        for set in &self.sets {
            for port in &set.ports {
                let (delay, words) = port.outcome.cells();
                layout = layout.row([
                    self.conditions.size(),
                    Cell::optional(set.method, |method| method.to_string().into()),
                    Burden::cell(set.burden.as_ref()),
                    port.port.0.to_string().into(),
                    delay,
                    words,
                ]);
            }
            layout = layout.noted(self.lateness_in_words(set));
            layout = layout.noted(set.burden.as_ref().map(Burden::in_words));
        }
        layout
    }

    fn in_words(&self) -> String {
        let what = match self.conditions.test {
            ChassisTest::GroupLeaveDelay => {
                "from the last bit of the leave to the last bit of the last frame forwarded"
            }
            _ => {
                "from the last bit of the report to the first bit of the first frame forwarded; method A: no \
                 port had joined the group (MFDB state 0); method B: another port had (state 1)"
            }
        };
        format!(
            "{what}; traffic at {} % of the medium, a frame every {} us as offered: no delay is told more finely",
            percent(self.load_percent),
            microseconds(self.resolution)
        )
    }
}

impl GroupDelayResult {
    /// By how much a delay may be wrong besides, where frames of the source left late by more than their interval.
    fn lateness_in_words(&self, set: &DelaySet) -> Option<String> {
        let late_by = set.late_by.filter(|late_by| *late_by > self.resolution)?;
        let method = set.method.map(|method| format!("method {method}: ")).unwrap_or_default();
        Some(format!(
            "{method}a frame of the source left up to {} us late: a delay that ended then may be wrong by as much",
            microseconds(late_by)
        ))
    }
}

impl DelayOutcome {
    /// The delay, and what there is to say.
    fn cells(&self) -> (Cell, Cell) {
        match self {
            DelayOutcome::Measured { delay } => (Cell::Time(*delay), "".into()),
            DelayOutcome::Never { waited } => {
                let words = format!("no effect within {:.3} s", waited.as_secs_f64());
                ("never".into(), words.into())
            }
            DelayOutcome::NotFromThere { why } => (Cell::none(), why.clone().into()),
        }
    }
}
