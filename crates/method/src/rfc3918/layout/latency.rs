//! Latency by port and group.

use crate::Spread;
use crate::chassis::percent;
use crate::outcome::number::{fps, grouped_f64};
use crate::outcome::{Cell, Layout};
use crate::rfc3918::{Burden, LatencySet, MulticastLatencyResult};

/// Lines of a table at most; there are more in the files of the run.
const LINES: usize = 200;

const COLUMNS: [&str; 9] =
    ["size", "<burden", "ingress", "egress", "<group", "trials", "min us", "mean us", "max us"];

impl MulticastLatencyResult {
    pub(in crate::rfc3918) fn layout(&self) -> Layout {
        let mut layout = self.multicast.layout(&self.conditions, &COLUMNS);
        layout.about.push(format!(
            "one tagged frame to each group at the mid-point of trials of {} s at {} frames/s ({} % of the \
             medium)",
            self.duration.as_secs_f64(),
            fps(self.intended),
            percent(self.load_percent),
        ));
        let definition = self.definitions.first().map(|(_, definition)| definition.in_words());
        let lilo = || "latency from last bit in to last bit out (LILO)".to_owned();
        layout.about.push(definition.unwrap_or_else(lilo));
        for is_burdened in [false, true] {
            let sets = self.sets.iter().filter(|set| set.burden.is_some() == is_burdened);
            let sets: Vec<&LatencySet> = sets.collect();
            self.put_lines(&mut layout, &sets);
            let min_max = sets.iter().filter_map(|set| self.min_max_ns(set)).max_by(f64::total_cmp);
            let with = if is_burdened { " with the burden" } else { "" };
            let burden = sets.iter().find_map(|set| set.burden.as_ref());
            layout = layout
                .noted(min_max.map(|span| {
                    format!(
                        "Min/Max multicast latency, MAX(M) - MIN(M), the largest of {} trials{with}: {} us",
                        sets.len(),
                        grouped_f64(span / 1e3, 3)
                    )
                }))
                .noted(burden.map(Burden::in_words));
        }
        layout
    }

    /// A line for each port and group; for each port where these are too many.
    fn put_lines(&self, layout: &mut Layout, sets: &[&LatencySet]) {
        // Every set has the same ones, by port and then by group.
        let first = sets.first().into_iter().flat_map(|set| &set.latencies);
        let mut lines: Vec<(u16, &str)> =
            first.map(|tagged| (tagged.port.0, tagged.group.as_str())).collect();
        if lines.len() > LINES {
            layout.notes.push("each group is in the files of the run".into());
            lines.iter_mut().for_each(|line| line.1 = "all");
            lines.dedup();
        }
        let burden = sets.first().and_then(|set| set.burden.as_ref());
        for (port, group) in lines {
            let all = sets.iter().flat_map(|set| &set.latencies).filter(|tagged| {
                tagged.port.0 == port && (group == "all" || tagged.group == group)
            });
            let ns: Vec<f64> = all.map(|tagged| self.ns(tagged)).collect();
            let Some(spread) = Spread::of(&ns) else { continue };
            let us = |ns: f64| Cell::number(ns / 1e3, 3);
            layout.rows.push(vec![
                self.conditions.size(),
                Burden::cell(burden),
                self.multicast.source.0.to_string().into(),
                port.to_string().into(),
                group.into(),
                sets.len().to_string().into(),
                us(spread.min),
                us(spread.mean),
                us(spread.max),
            ]);
        }
    }
}
