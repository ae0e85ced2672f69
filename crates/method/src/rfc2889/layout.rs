//! The tests of switches, in the layout of RFC 2889 section 5.x.5.

use super::{
    AddressResult, BroadcastLatencyResult, CongestionResult, CongestionVerdict, ErroredKind,
    ErroredOutcome, ErroredResult, ForwardPressureResult, GapOutcome, MeshResult,
};
use crate::chassis::{ChassisTest, LoadPoint};
use crate::outcome::number::{fps, grouped, grouped_f64};
use crate::outcome::{Cell, Layout};
use crate::{LatencyDefinition, Spread};

const MESH: [&str; 11] = [
    "size",
    "throughput, % of medium",
    "frames/s a port",
    "Oload at MOL, frames/s",
    "FRMOL, frames/s",
    "loss at MOL, %",
    "worst port, %",
    "MFR, frames/s",
    "MFR at load, %",
    "flood count",
    "start skew, us",
];

impl MeshResult {
    pub(super) fn layout(&self) -> Layout {
        let mut layout = self.conditions.layout(&MESH);
        layout.about.push(format!(
            "{}; Oload and forwarding rates are sums of all ports; MOL is the medium's maximum of each",
            self.pattern
        ));
        let at_mol = |cell: fn(&LoadPoint) -> Cell| Cell::optional(self.frmol(), cell);
        let at_mfr = |cell: fn(&LoadPoint) -> Cell| Cell::optional(self.mfr(), cell);
        layout
            .row([
                self.conditions.size(),
                self.throughput.load_cell(),
                self.throughput.rate_cell(),
                at_mol(|point| Cell::Fps(point.offered)),
                at_mol(|point| Cell::Fps(point.forwarding_rate)),
                at_mol(|point| Cell::number(point.loss_percent, 3)),
                at_mol(|point| Cell::number((1.0 - point.worst_port_ratio) * 100.0, 3)),
                at_mfr(|point| Cell::Fps(point.forwarding_rate)),
                at_mfr(|point| Cell::number(point.load_percent, 2)),
                at_mol(|point| Cell::Count(point.flood_count)),
                at_mol(|point| Cell::Time(point.start_skew)),
            ])
            .noted(self.points.iter().flat_map(point_notes))
            .noted([self.losses()])
    }

    fn losses(&self) -> String {
        let valid = self.points.iter().filter(|point| point.invalid.is_empty());
        let losses = valid.map(|point| {
            format!("{} % at {} %", grouped_f64(point.loss_percent, 3), point.load_percent)
        });
        format!("loss {}", losses.collect::<Vec<_>>().join(", "))
    }
}

fn point_notes(point: &LoadPoint) -> Vec<String> {
    let late = (point.skew_percent() > 1.0).then(|| {
        format!("ports started {:.1} % of the trial apart: 1 % is allowed", point.skew_percent())
    });
    let why = point.invalid.iter();
    let why = why.map(|why| format!("{} % invalid: {why}", point.load_percent));
    late.into_iter().chain(why).collect()
}

const CONGESTION: [&str; 9] = [
    "size",
    "frames of a source",
    "Oload, frames/s",
    "uncongested, frames/s",
    "loss there, %",
    "congested, frames/s",
    "loss there, %",
    "PAUSE frames",
    "<verdict",
];

impl CongestionResult {
    pub(super) fn layout(&self) -> Layout {
        let mut layout = self.conditions.layout(&CONGESTION);
        layout.about.push(
            "port 0 sends to ports 2 and 3 in turn, port 1 to port 3, both the same number of frames at \
             the medium's maximum; a device without flow control loses 33.3 % at port 3"
                .into(),
        );
        let caveat = "a device that cannot take 100 % of input on a port loses frames for the \
                      uncongested one as well";
        let blocked = self.verdicts.contains(&CongestionVerdict::HeadOfLineBlocking);
        layout
            .row([
                self.conditions.size(),
                Cell::Count(self.frames),
                Cell::Fps(self.offered),
                Cell::Fps(self.uncongested_rate),
                Cell::number(self.uncongested_loss_percent(), 3),
                Cell::Fps(self.congested_rate),
                Cell::number(self.congested_loss_percent(), 3),
                Cell::Count(self.pauses.0),
                self.verdict().into(),
            ])
            .noted(blocked.then(|| caveat.to_string()))
            .noted((self.flood_count > 0).then(|| format!("flood count {}", self.flood_count)))
    }

    fn verdict(&self) -> String {
        let words = self.verdicts.iter().map(|verdict| match verdict {
            CongestionVerdict::HeadOfLineBlocking => "head of line blocking",
            CongestionVerdict::NoHeadOfLineBlocking => "no head of line blocking",
            CongestionVerdict::Backpressure => "backpressure",
            CongestionVerdict::NoBackpressure => "no backpressure",
            CongestionVerdict::Throttled => "flow control throttles the uncongested port",
        });
        let words = words.collect::<Vec<_>>().join("; ");
        if words.is_empty() { "invalid".into() } else { words }
    }
}

const FORWARD_PRESSURE: [&str; 6] = [
    "size",
    "throughput, % of medium",
    "MFR, frames/s",
    "ILoad, %",
    "MOL, frames/s",
    "<gap of 88 bits",
];

impl ForwardPressureResult {
    pub(super) fn layout(&self) -> Layout {
        let mut notes = vec![];
        let mean_gap = |bits: &Option<f64>| {
            bits.map_or_else(String::new, |bits| format!(", gaps of {bits:.1} bits"))
        };
        let gap = match &self.gap {
            GapOutcome::Detected { rate, gap_bits } => {
                format!("Forward Pressure detected: {}{}", fps(*rate), mean_gap(gap_bits))
            }
            GapOutcome::NotDetected { rate, gap_bits } => {
                format!("none: {}{}", fps(*rate), mean_gap(gap_bits))
            }
            GapOutcome::NotTested { why } => {
                notes.push(format!("gap of 88 bits not tested: {why}"));
                "not tested".into()
            }
        };
        let at_mfr = |cell: fn(&LoadPoint) -> Cell| Cell::optional(self.mfr(), cell);
        self.conditions
            .layout(&FORWARD_PRESSURE)
            .row([
                self.conditions.size(),
                self.throughput.load_cell(),
                at_mfr(|point| Cell::Fps(point.forwarding_rate)),
                at_mfr(|point| Cell::number(point.load_percent, 2)),
                Cell::Fps(self.conditions.theoretical_max),
                gap.into(),
            ])
            .noted(notes)
    }
}

const ADDRESSES: [&str; 8] = [
    "addresses",
    "learning frames/s",
    "offered by Tport",
    "to Lport",
    "flood Tport",
    "flood Lport",
    "flood Mport",
    "<learned",
];

impl AddressResult {
    pub(super) fn layout(&self) -> Layout {
        let mut layout = self.conditions.layout(&ADDRESSES);
        layout.heading = format!("{}: {}", layout.heading, self.found_in_words());
        layout.about.push(format!(
            "waited {} s before each trial for addresses to age out; Lport's addresses are taught, then \
             Tport sends a frame to each; the table holds Tport's own address besides",
            self.ageing.as_secs_f64()
        ));
        let layout = self.trials.iter().fold(layout, |layout, trial| {
            layout.row([
                Cell::Count(trial.addresses),
                Cell::Fps(trial.learning_rate),
                Cell::Count(trial.offered),
                Cell::Count(trial.received),
                Cell::Count(trial.flood_test_port),
                Cell::Count(trial.flood_learning_port),
                Cell::Count(trial.flood_monitor_port),
                match trial.learned {
                    Some(true) => "yes".into(),
                    Some(false) => "no".into(),
                    None => "invalid".into(),
                },
            ])
        });
        layout.noted(self.ended.as_ref().map(|why| format!("ended early: {why}")))
    }

    fn found_in_words(&self) -> String {
        let unit = match self.conditions.test {
            ChassisTest::AddressLearning => "addresses/s",
            _ => "addresses",
        };
        match (self.found, self.failed, self.at_least) {
            _ if !self.invalid.is_empty() => "no valid result".into(),
            (Some(found), _, true) => format!("at least {} {unit}", grouped(found)),
            (Some(found), Some(failed), _) => {
                format!("{} {unit}, {} failed", grouped(found), grouped(failed))
            }
            (Some(found), None, _) => format!("{} {unit}", grouped(found)),
            (None, ..) => "not even the lowest was learned".into(),
        }
    }
}

const ERRORED: [&str; 8] = [
    "size",
    "<condition",
    "load, %",
    "errored sent",
    "forwarded",
    "good sent",
    "received",
    "<result",
];

impl ErroredResult {
    pub(super) fn layout(&self) -> Layout {
        let mut layout = self.conditions.layout(&ERRORED);
        for trial in &self.trials {
            let outcome = match &trial.outcome {
                ErroredOutcome::Passed => "pass",
                ErroredOutcome::Failed => "FAIL",
                ErroredOutcome::Allowed => "forwarded, as it may",
                ErroredOutcome::NotTested { why } => {
                    layout.notes.push(format!("{} not tested: {why}", trial.kind));
                    "not tested"
                }
            };
            layout = layout.row([
                self.conditions.size(),
                trial.kind.to_string().into(),
                Cell::number(trial.load_percent, 0),
                Cell::Count(trial.errored.0),
                Cell::Count(trial.errored.1),
                Cell::Count(trial.good.0),
                Cell::Count(trial.good.1),
                outcome.into(),
            ]);
        }
        let failed = self.verdict(ErroredKind::CrcError) == Some(&ErroredOutcome::Failed);
        let why =
            "a device that forwards before it has seen the FCS passes on frames with a bad one";
        layout.noted(failed.then(|| why.to_string()))
    }
}

impl BroadcastLatencyResult {
    pub(super) fn layout(&self) -> Layout {
        let columns = ["size", "port", "frames", "min us", "mean us", "max us"];
        let mut layout = self.conditions.layout(&columns);
        let definition = self.ports.iter().find_map(|port| port.definition.as_ref());
        let definition = definition.map(LatencyDefinition::in_words);
        layout.about.extend(definition.or(Some("latency as stamped (FILO)".into())));
        self.ports.iter().fold(layout, |layout, port| {
            let latency = |pick: fn(&Spread) -> f64| {
                let ns = port.latency_ns.as_ref().map(pick);
                Cell::optional(ns, |ns| Cell::number(ns / 1e3, 3))
            };
            layout.row([
                self.conditions.size(),
                port.port.0.to_string().into(),
                format!("{} of {}", port.received, self.frames).into(),
                latency(|spread| spread.min),
                latency(|spread| spread.mean),
                latency(|spread| spread.max),
            ])
        })
    }
}
