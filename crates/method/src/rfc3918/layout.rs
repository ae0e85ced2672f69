//! The tests of multicast, in the layout of RFC 3918's reporting formats.

mod delay;
mod groups;
mod latency;
mod throughput;

use super::{Burden, GroupFlows, Joins, MulticastConditions, Version};
use crate::chassis::{ChassisConditions, ChassisTest, percent};
use crate::outcome::number::{fps, grouped};
use crate::outcome::{Cell, Layout};
use trial::QueryCounts;

impl MulticastConditions {
    /// An empty table that says what every reporting format asks for.
    fn layout(&self, conditions: &ChassisConditions, columns: &[&str]) -> Layout {
        let mut layout = conditions.layout(columns);
        layout.about = vec![format!("{}; {}", conditions.medium(), self.hosts(conditions))];
        layout.about.extend(conditions.format_in_words());
        layout
    }

    fn hosts(&self, conditions: &ChassisConditions) -> String {
        let egress: Vec<String> = self.egress.iter().map(|port| port.0.to_string()).collect();
        let groups = match conditions.test {
            ChassisTest::GroupCapacity | ChassisTest::ScaledGroups => String::new(),
            _ if self.groups == 1 => "1 group, ".into(),
            _ => format!("{} groups, ", grouped(self.groups)),
        };
        let version: Version = self.version;
        format!(
            "{version}; {groups}from port {} to {} egress interfaces ({}); trials of {} s; {} reports a \
             second{}{}",
            self.source.0,
            egress.len(),
            egress.join(", "),
            conditions.trial_duration.as_secs_f64(),
            fps(self.report_rate),
            self.joins_in_words(),
            self.queries_in_words(),
        )
    }

    fn joins_in_words(&self) -> String {
        match &self.joins {
            None | Some(Joins::Untried) => String::new(),
            Some(Joins::Proved) => {
                "; every port joined every group, and a frame to each group proved it and primed the \
                 device"
                    .into()
            }
            Some(Joins::NotProved { why }) => format!("; joins were NOT proved: {why}"),
            Some(Joins::Measured) => {
                "; no join is proved before a trial: the trials show which take effect".into()
            }
        }
    }

    fn queries_in_words(&self) -> String {
        match self.queries {
            Some(QueryCounts { queries, reports, .. }) if queries > 0 => format!(
                "; hosts answered the queries of the device ({} queries and {} reports within trials)",
                grouped(queries),
                grouped(reports)
            ),
            Some(_) | None => String::new(),
        }
    }
}

/// What came of each group at each port, in words; nothing where there are none.
fn flows_in_words(flows: &[GroupFlows]) -> Option<String> {
    let (complete, partial, silent) = flows
        .iter()
        .fold((0, 0, 0), |(c, p, s), port| (c + port.complete, p + port.partial, s + port.silent));
    let first = flows.iter().find_map(|port| Some((port.port, port.first_missed.as_ref()?)));
    let first = first.map_or(String::new(), |(port, group)| {
        format!("; the first frame missed is one to {group} at {port}")
    });
    (!flows.is_empty()).then(|| {
        format!(
            "of {} pairs of egress interface and group {} had every frame, {} some, {} none{first}",
            grouped(complete + partial + silent),
            grouped(complete),
            grouped(partial),
            grouped(silent),
        )
    })
}

impl Burden {
    /// As a cell of a table; `None` is no burden.
    fn cell(burden: Option<&Burden>) -> Cell {
        burden.map_or_else(|| "none".into(), |burden| format!("{} ports", burden.ports).into())
    }

    fn in_words(&self) -> String {
        let flooded = match self.flood_count {
            0 => "no frame of it came out elsewhere: unicast addresses were learned".to_string(),
            count => format!(
                "{} frames of it came out elsewhere: unicast addresses were NOT learned",
                grouped(count)
            ),
        };
        format!(
            "burden: {} ports fully meshed at {} % of their medium each, {} frames/s offered in all, {} \
             frames lost; {flooded}",
            self.ports,
            percent(self.load_percent),
            fps(self.offered),
            grouped(self.lost_frames),
        )
    }
}
