//! What tests of many ports have in common as figures: conditions, loads, loss, forwarding rates.

use super::{ChassisConditions, LoadPoint, Throughput};
use crate::clauses::Facts;
use crate::outcome::{Figure, FigureName, Outcome, Relation, TestConditions, Unit, reasons};
use crate::{Finding, Spread, TestKind};
use trial::LatencyForm;
use units::FrameRate;

impl From<&ChassisConditions> for TestConditions {
    fn from(of: &ChassisConditions) -> Self {
        let mut words = vec![format!("{} ports", of.ports)];
        if of.burst_frames != 1 {
            words.push(format!("bursts of {} frames", of.burst_frames));
        }
        if of.addresses_per_port != 1 {
            words.push(format!("{} addresses a port", of.addresses_per_port));
        }
        words.extend(of.traffic_in_words());
        let words = words.join("; ");
        TestConditions {
            frame_size: of.frame_size.to_string(),
            mean_frame_size_bytes: of.frame_size.into(),
            direction: None,
            modifier: of.modifier,
            traffic: words.clone(),
            filters: String::new(),
            line_rate: of.line_rate,
            line_rate_is_physical: of.line_rate_is_physical,
            theoretical_max: of.theoretical_max,
            tester_max: of.tester_max,
            deviations: vec![],
            clauses: vec![],
            in_words: words,
        }
    }
}

impl ChassisConditions {
    /// The outcome of a test under these conditions.
    pub(crate) fn outcome(&self, figures: Vec<Figure>, invalid: &[String]) -> Outcome {
        let not_measured = reasons(invalid);
        Outcome::new(TestKind::Chassis(self.test), self, figures, invalid)
            .judged_by(Facts { not_measured, ..Facts::on(self) })
    }
}

impl Throughput {
    /// The highest load without loss, as the rate of each sending port, and those with some loss.
    pub fn figures(&self, name: impl Into<String>) -> Vec<Figure> {
        let mut figures = vec![self.figure(name).called(FigureName::Throughput)];
        figures.extend(
            self.with_tolerance
                .iter()
                .map(|(percent, found)| found.figure(format!("rate with up to {percent} % loss"))),
        );
        figures
    }

    /// The highest loads with some loss, beside a table of those without.
    pub(crate) fn with_tolerance_in_words(&self) -> Vec<String> {
        let words = |(percent, found): &(f64, Throughput)| match (found.rate, found.load_percent) {
            (Some(rate), Some(load)) => {
                format!(
                    "with up to {percent} % loss (not throughput): {rate:.1}, {load:.4} % of the medium"
                )
            }
            _ => format!("with up to {percent} % loss (not throughput): no load"),
        };
        self.with_tolerance.iter().map(words).collect()
    }

    fn figure(&self, name: impl Into<String>) -> Figure {
        let rate = self.rate.map(FrameRate::fps);
        let upper = match (rate, self.load_percent, self.upper_percent) {
            (Some(rate), Some(load), Some(upper)) if load > 0.0 => rate * upper / load,
            (Some(rate), ..) => rate,
            _ => f64::INFINITY,
        };
        let (name, unit) = (name.into(), Unit::Fps);
        let within = |relation, bounds| Figure::within(name.clone(), unit, relation, bounds);
        match (&self.finding, rate) {
            (Finding::NothingPassed { lowest, .. }, _) => {
                within(Relation::Below, (0.0, lowest.fps()))
            }
            (Finding::AtLeast { why }, Some(rate)) => {
                within(Relation::AtLeast, (rate, f64::INFINITY)).because(why)
            }
            (Finding::Between { why }, Some(rate)) => {
                within(Relation::Between, (rate, upper)).because(why)
            }
            (Finding::Invalid { reasons: all }, _) => Figure::missing(name, unit, reasons(all)),
            (_, Some(rate)) => within(Relation::Equal, (rate, upper)),
            (_, None) => Figure::missing(name, unit, None),
        }
    }
}

impl LoadPoint {
    /// The loss of the load.
    pub fn loss(&self, name: impl Into<String>) -> Figure {
        let lost = self.offered_frames.saturating_sub(self.received_frames);
        let figure = match self.invalid.is_empty() {
            true => Figure::share_lost(name, lost, self.offered_frames),
            false => Figure::missing(name, Unit::Percent, reasons(&self.invalid)),
        };
        figure.called(FigureName::Loss)
    }

    /// The forwarding rate, the sum of all ports; of no load, that there is none.
    pub fn forwarding(point: Option<&LoadPoint>, name: impl Into<String>) -> Figure {
        let figure = match point {
            Some(point) if point.invalid.is_empty() => {
                Figure::single(name, Unit::Fps, point.forwarding_rate.fps())
            }
            _ => {
                let why = point.and_then(|point| reasons(&point.invalid));
                Figure::missing(name, Unit::Fps, why)
            }
        };
        figure.called(FigureName::ForwardingRate)
    }
}

/// Smallest, mean and largest latency, which is in nanoseconds, in the form in which it is stated, and
/// its mean in the others.
pub(crate) fn latency_spread(
    name: impl Fn(&str) -> String,
    forms: &[(LatencyForm, Spread)],
) -> Vec<Figure> {
    let Some(((form, stated), others)) = forms.split_first() else { return vec![] };
    let ns = |which: &str, form: &LatencyForm, value: f64| {
        Figure::single(format!("{} ({form})", name(which)), Unit::Ns, value)
    };
    let mut figures = vec![
        ns("min", form, stated.min),
        ns("mean", form, stated.mean).called(FigureName::Latency),
        ns("max", form, stated.max).called(FigureName::LatencyMax),
    ];
    figures.extend(others.iter().map(|(form, spread)| ns("mean", form, spread.mean)));
    figures
}
