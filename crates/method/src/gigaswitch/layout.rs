//! The GIGAswitch tests as tables, with what the document printed beside.

use super::{ArpServerResult, ExtrapolationResult, FanoutResult, published};
use crate::chassis::LoadPoint;
use crate::outcome::number::{grouped, grouped_f64};
use crate::outcome::{Cell, Layout};

const FANOUT: [&str; 8] = [
    "ports",
    "receivers each",
    "frames/s a port",
    "frames/s in all",
    "published, a port",
    "sent by all",
    "received by all",
    "lost",
];

impl FanoutResult {
    pub(super) fn layout(&self) -> Layout {
        let count = |pick: fn(&LoadPoint) -> u64| {
            Cell::optional(self.point.as_ref(), |point| Cell::Count(pick(point)))
        };
        self.conditions.layout(&FANOUT).row([
            self.conditions.ports.to_string().into(),
            self.receivers.to_string().into(),
            self.throughput.rate_cell(),
            Cell::optional(self.total(), Cell::Fps),
            // The document has figures for 4 and 8 ports only.
            match self.conditions.ports {
                4 | 8 => Cell::number(published::PER_PORT_FPS, 0),
                _ => Cell::none(),
            },
            count(|point| point.offered_frames),
            count(|point| point.received_frames),
            count(|point| point.offered_frames - point.received_frames),
        ])
    }
}

impl ExtrapolationResult {
    pub(super) fn layout(&self) -> Layout {
        let rate = |fps: f64| Cell::number(fps, 0);
        let row = |name: String, (from, to): (f64, f64), published: Cell| {
            [name.into(), rate(from), rate(to), published]
        };
        let mut layout = self.conditions.layout(&["<", "frames/s from", "to", "published"]);
        for (ports, from, to) in &self.measured {
            let name = format!("each of {ports} ports");
            layout = layout.row(row(name, (*from, *to), rate(published::PER_PORT_FPS)));
        }
        let all = self.ports;
        let printed = match all == published::ALL_PORTS {
            true => rate(published::ALL_PORTS_FPS),
            false => Cell::none(),
        };
        layout = layout.row(row(format!("{all} ports, extrapolated"), self.extrapolated, printed));
        if let Some(measured) = self.all_ports {
            layout = layout.row(row(format!("{all} ports, measured"), measured, Cell::none()));
        }
        layout.noted(self.notes())
    }

    fn notes(&self) -> Vec<String> {
        let ((from, to), all) = (self.scaling_factor, self.ports);
        let mut notes = vec![format!(
            "scaling factor {from:.4} to {to:.4} (1: more ports cost a port nothing); the document saw none"
        )];
        notes.extend(self.as_published.map(|fps| {
            format!("as the document does it, a port times {all}: {}", grouped_f64(fps, 0))
        }));
        notes.push(match self.held {
            Some(true) => format!("the extrapolation HELD: {all} ports carried what it says"),
            Some(false) => {
                format!("the extrapolation FAILED: {all} ports did not carry what it says")
            }
            None => format!("not checked: there are not {all} ports"),
        });
        notes
    }
}

impl ArpServerResult {
    pub(super) fn layout(&self) -> Layout {
        let mut layout = self.conditions.layout(&["requests/s", "requests", "responses"]);
        layout.heading = format!("{}: {}", layout.heading, self.found_in_words());
        self.trials.iter().fold(layout, |layout, trial| {
            layout.row([trial.rate_fps, trial.requests, trial.responses].map(Cell::Count))
        })
    }

    fn found_in_words(&self) -> String {
        let published = grouped_f64(published::ARP_RESPONSES_FPS, 0);
        match self.rate_fps {
            _ if !self.invalid.is_empty() => "no valid result".into(),
            Some(rate) => format!("{} responses/s (published: about {published})", grouped(rate)),
            None => format!("requests were not answered (published: about {published})"),
        }
    }
}
