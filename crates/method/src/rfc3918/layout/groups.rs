//! Tables by the number of groups: the scaled group forwarding matrix, and the capacity.

use super::flows_in_words;
use crate::outcome::number::grouped;
use crate::outcome::{Cell, Layout, Role, Series};
use crate::rfc3918::{GroupCapacityResult, MatrixRow, ScaledGroupsResult};

const SCALED: [&str; 7] = [
    "size",
    "groups",
    "offered load, frames/s",
    "frames transmitted",
    "frames received",
    "aggregate forwarding rate, frames/s",
    "loss, %",
];

impl ScaledGroupsResult {
    pub(in crate::rfc3918) fn layout(&self) -> Layout {
        let mut layout = self.multicast.layout(&self.conditions, &SCALED);
        layout.about.push(match self.capacity {
            Some(capacity) => format!("the device takes {} groups", grouped(capacity)),
            None => "the capacity of groups was not measured in this run".into(),
        });
        layout.series.push(self.curve());
        let layout = self.rows.iter().fold(layout, |layout, row| layout.row(self.cells(row)));
        layout.noted(self.rows.last().and_then(|row| flows_in_words(&row.flows)))
    }

    fn cells(&self, row: &MatrixRow) -> [Cell; 7] {
        let ports = self.multicast.egress.len().max(1) as u64;
        [
            self.conditions.size(),
            Cell::Count(row.groups),
            Cell::Fps(row.point.offered),
            Cell::Count(row.point.offered_frames / ports),
            Cell::Count(row.point.received_frames),
            match row.point.invalid.is_empty() {
                true => Cell::Fps(row.point.forwarding_rate),
                false => "invalid".into(),
            },
            Cell::number(row.point.loss_percent, 3),
        ]
    }

    /// Aggregate forwarding rate by the number of groups (RFC 3918 section 4.2).
    fn curve(&self) -> Series {
        let valid = self.rows.iter().filter(|row| row.point.invalid.is_empty());
        let points = valid.map(|row| (row.groups as f64, row.point.forwarding_rate.fps()));
        Series {
            chart: "Forwarding rate by number of groups".into(),
            x: ("Groups".into(), "groups".into()),
            y: ("Aggregate forwarding rate (frames/s)".into(), "frames/s".into()),
            name: format!("{} bytes", self.conditions.frame_size),
            role: Role::Other,
            points: points.collect(),
        }
    }
}

impl GroupCapacityResult {
    pub(in crate::rfc3918) fn layout(&self) -> Layout {
        let columns = ["groups a port", "frames sent", "frames received", "<every group forwarded"];
        let mut layout = self.multicast.layout(&self.conditions, &columns);
        layout.heading = format!("{}: {}", layout.heading, self.found_in_words());
        let layout = self.trials.iter().fold(layout, |layout, trial| {
            layout.row([
                Cell::Count(trial.groups),
                Cell::Count(trial.sent),
                Cell::Count(trial.received),
                match trial.passed {
                    Some(true) => "yes".into(),
                    Some(false) => "no".into(),
                    None => "invalid".into(),
                },
            ])
        });
        let failed = self.trials.iter().find(|trial| trial.passed == Some(false));
        let failed = failed.and_then(|trial| {
            let flows = flows_in_words(&trial.flows)?;
            Some(format!("with {} groups, {flows}", grouped(trial.groups)))
        });
        layout.noted(self.ended.as_ref().map(|why| format!("ended early: {why}"))).noted(failed)
    }

    fn found_in_words(&self) -> String {
        match (self.found, self.failed) {
            _ if !self.invalid.is_empty() => "no valid result".into(),
            (Some(found), None) => format!("at least {} groups", grouped(found)),
            (Some(found), Some(failed)) => {
                format!("{} groups, {} failed", grouped(found), grouped(failed))
            }
            (None, _) => "not even the first groups were forwarded".into(),
        }
    }
}
