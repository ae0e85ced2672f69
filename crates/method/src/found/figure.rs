//! A rate that a search found, as a figure.

use super::{Finding, RateFound};
use crate::outcome::{Basis, Figure, Relation, Unit};
use units::FrameRate;

impl Finding {
    /// Why there is no rate: the tester failed; empty where there is one, or where the device has none.
    pub fn invalid_reasons(&self) -> Vec<String> {
        match self {
            Finding::Invalid { reasons } => crate::outcome::no_result(reasons),
            _ => vec![],
        }
    }
}

impl RateFound {
    /// Whether an estimate left the rate of a noisy device open by more than this share of its upper bound.
    pub(crate) fn is_noisy_beyond(&self, share: f64) -> bool {
        let width = self.rate.zip(self.upper).map(|(low, high)| 1.0 - low.fps() / high.fps());
        self.confidence.is_some() && width.is_some_and(|width| width > share)
    }

    /// How the truth relates to the rate, and to which rate: where nothing passed, to the lowest load.
    pub fn relation(&self) -> (Relation, Option<FrameRate>) {
        match self.finding {
            Finding::Measured | Finding::AtTheoreticalMaximum => (Relation::Equal, self.rate),
            Finding::Between { .. } => (Relation::Between, self.rate),
            Finding::AtLeast { .. } => (Relation::AtLeast, self.rate),
            Finding::NothingPassed { lowest, .. } => (Relation::Below, Some(lowest)),
            Finding::Invalid { .. } => (Relation::Unknown, None),
        }
    }

    /// The same of so many ports together, each of which has this rate.
    pub fn of_all(&self, ports: usize) -> RateFound {
        let all = |rate: FrameRate| rate.scaled(ports as f64);
        let finding = match &self.finding {
            Finding::NothingPassed { lowest, loss_percent } => {
                Finding::NothingPassed { lowest: all(*lowest), loss_percent: *loss_percent }
            }
            other => other.clone(),
        };
        RateFound { finding, rate: self.rate.map(all), upper: self.upper.map(all), ..self.clone() }
    }

    /// The rate, with the loads between which the truth lies.
    pub fn figure(&self, name: impl Into<String>) -> Figure {
        let (relation, rate) = self.relation();
        let Some(rate) = rate.map(FrameRate::fps) else {
            let why = match &self.finding {
                Finding::Invalid { reasons } => crate::outcome::reasons(reasons),
                _ => None,
            };
            return Figure::missing(name, Unit::Fps, why);
        };
        let upper = || self.upper.map_or(rate, FrameRate::fps);
        let bounds = match relation {
            Relation::AtLeast => (rate, f64::INFINITY),
            Relation::Below => (0.0, rate),
            _ => (rate, upper()),
        };
        let figure = Figure { relation, ..Figure::single(name, Unit::Fps, rate) };
        let figure = figure.bounded(Some(bounds), Basis::SearchResolution);
        match &self.finding {
            Finding::AtLeast { why } | Finding::Between { why } => figure.because(why),
            Finding::NothingPassed { loss_percent, .. } if *loss_percent >= 100.0 => {
                figure.because("every frame of a stream is lost at every load")
            }
            Finding::NothingPassed { .. } => figure.because("frames are lost at every load"),
            _ => figure,
        }
    }
}
