//! The figures of the IP9000 tests, a few a number of ports.

use super::{TollyIteration, TollyResult, TollyRow};
use crate::chassis::ChassisTest;
use crate::outcome::{Figure, FigureName, Outcome, Relation, Unit, reasons};
use units::Duration;

impl TollyResult {
    /// Rate, loss and latency of each number of ports.
    pub fn outcome(&self) -> Outcome {
        let is_search = self.conditions.test == ChassisTest::BaseUnicast;
        let figures = self.rows.iter().flat_map(|row| row.figures(is_search)).collect();
        let outcome = self.conditions.outcome(figures, self.invalid_reasons());
        outcome.laid_out(self.layout()).detailed(self)
    }
}

impl TollyRow {
    fn figures(&self, is_search: bool) -> Vec<Figure> {
        let of = |what: &str| format!("{what}, {} inputs to {} outputs", self.inputs, self.outputs);
        let lost = of("packets lost");
        if self.iterations.is_empty() {
            return match self.upper {
                Some(upper) if self.invalid.is_empty() => {
                    let (name, bounds) = (of("rate of an input"), (0.0, upper.fps()));
                    let below = Figure::within(name, Unit::Fps, Relation::Below, bounds);
                    vec![below.called(FigureName::Throughput)]
                }
                _ => {
                    let missing = Figure::missing(lost, Unit::Frames, reasons(&self.invalid));
                    vec![missing.called(FigureName::LostPackets)]
                }
            };
        }
        vec![
            self.rate(of("rate of an input"), is_search),
            Figure::single(lost, Unit::Frames, self.lost() as f64).called(FigureName::LostPackets),
            self.latency(of("latency, cut-through"), TollyIteration::cut_through),
            self.latency(of("latency, store and forward"), TollyIteration::store_and_forward)
                .called(FigureName::Latency),
        ]
    }

    /// Where it was searched for it is the throughput; where the tester fell short above it, the device
    /// may do more.
    fn rate(&self, name: String, is_search: bool) -> Figure {
        let (unit, fps) = (Unit::Fps, self.intended.fps());
        let within = |relation, high| Figure::within(name.clone(), unit, relation, (fps, high));
        let figure = match (is_search, reasons(&self.invalid), self.upper) {
            (false, ..) => return Figure::single(name, unit, fps),
            (true, None, upper) => {
                within(Relation::Equal, upper.map_or(fps, units::FrameRate::fps))
            }
            (true, Some(why), _) => within(Relation::AtLeast, f64::INFINITY).because(why),
        };
        figure.called(FigureName::Throughput)
    }

    fn latency(&self, name: String, of: fn(&TollyIteration) -> Option<Duration>) -> Figure {
        let times = self.iterations.iter().filter_map(of).map(Duration::as_ns_f64);
        let times: Vec<f64> = times.collect();
        let why = || Some("packets of this size carry no time".to_owned());
        match times.is_empty() {
            true => Figure::missing(name, Unit::Ns, why()),
            false => Figure::mean_of(name, Unit::Ns, &times),
        }
    }
}
