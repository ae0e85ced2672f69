//! The quantities of the tests of many ports.

use super::{Basis, Maker, NO_FIGURE, Quantity, Relation, groups, switch};
use crate::statistics::{mean_interval, wilson_interval};
use method::chassis::{ChassisConditions, ChassisResult, ChassisTest, LoadPoint, Throughput};
use method::rfc3918::MulticastConditions;
use method::tolly::{TollyIteration, TollyResult, TollyRow};
use method::{Finding, TestKind};
use units::FrameRate;

/// Every quantity of a result, in the order of its table; one without a value where it has none.
pub fn of_chassis(result: &ChassisResult) -> Vec<Quantity> {
    let new = &Maker::of_many(result.conditions(), multicast_of(result));
    let quantities = match result {
        ChassisResult::Mesh(result) => switch::mesh(new, result),
        ChassisResult::Congestion(result) => switch::congestion(new, result),
        ChassisResult::ForwardPressure(result) => switch::forward_pressure(new, result),
        ChassisResult::Addresses(result) => switch::addresses(new, result),
        ChassisResult::Errored(result) => switch::errored(new, result),
        ChassisResult::BroadcastLatency(result) => switch::broadcast_latency(new, result),
        ChassisResult::Fanout(result) => switch::fanout(new, result),
        ChassisResult::Extrapolation(result) => switch::extrapolation(new, result),
        ChassisResult::ArpServer(result) => switch::arp_server(new, result),
        ChassisResult::Tolly(result) => tolly(new, result),
        ChassisResult::MulticastThroughput(result) => groups::throughput(new, result),
        ChassisResult::ScaledGroups(result) => groups::scaled(new, result),
        ChassisResult::MulticastLatency(result) => groups::latency(new, result),
        ChassisResult::GroupDelay(result) => groups::delay(new, result),
        ChassisResult::GroupCapacity(result) => groups::capacity(new, result),
    };
    match quantities.is_empty() {
        true => vec![new.missing(NO_FIGURE, "", &reasons(result.invalid_reasons()))],
        false => quantities,
    }
}

fn multicast_of(result: &ChassisResult) -> Option<&MulticastConditions> {
    match result {
        ChassisResult::MulticastThroughput(result) => Some(&result.multicast),
        ChassisResult::ScaledGroups(result) => Some(&result.multicast),
        ChassisResult::MulticastLatency(result) => Some(&result.multicast),
        ChassisResult::GroupDelay(result) => Some(&result.multicast),
        ChassisResult::GroupCapacity(result) => Some(&result.multicast),
        _ => None,
    }
}

/// Why something is not known, in one line; none where nobody says.
pub(super) fn reasons(all: &[String]) -> Option<String> {
    (!all.is_empty()).then(|| all.join("; "))
}

impl Quantity {
    /// The same under a name that acceptance criteria know.
    pub(super) fn called(self, figure: &'static str) -> Self {
        Quantity { figure, ..self }
    }
}

impl Maker {
    fn of_many(conditions: &ChassisConditions, multicast: Option<&MulticastConditions>) -> Self {
        let mut words = vec![format!("{} ports", conditions.ports)];
        if conditions.burst_frames != 1 {
            words.push(format!("bursts of {} frames", conditions.burst_frames));
        }
        if conditions.addresses_per_port != 1 {
            words.push(format!("{} addresses a port", conditions.addresses_per_port));
        }
        words.extend(multicast.map(|multicast| multicast.version.to_string()));
        Maker {
            test: TestKind::Chassis(conditions.test),
            frame_size: conditions.frame_size.to_string(),
            conditions: words.join("; "),
        }
    }

    /// The highest load without loss, as the rate of each sending port.
    pub(super) fn load(&self, name: &str, found: &Throughput) -> Quantity {
        let rate = found.rate.map(FrameRate::fps);
        let upper = match (rate, found.load_percent, found.upper_percent) {
            (Some(rate), Some(load), Some(upper)) if load > 0.0 => rate * upper / load,
            (Some(rate), ..) => rate,
            _ => f64::INFINITY,
        };
        let name = || name.to_owned();
        let quantity = match (&found.finding, rate) {
            (Finding::NothingPassed { lowest, .. }, _) => {
                self.within(name(), "fps", Relation::Below, (0.0, lowest.fps()))
            }
            (Finding::AtLeast { why }, Some(rate)) => Quantity {
                reason: why.clone(),
                ..self.within(name(), "fps", Relation::AtLeast, (rate, f64::INFINITY))
            },
            (Finding::Between { why }, Some(rate)) => Quantity {
                reason: why.clone(),
                ..self.within(name(), "fps", Relation::Between, (rate, upper))
            },
            (Finding::Invalid { reasons: all }, _) => self.missing(&name(), "fps", &reasons(all)),
            (_, Some(rate)) => self.within(name(), "fps", Relation::Equal, (rate, upper)),
            (_, None) => self.missing(&name(), "fps", &None),
        };
        quantity.called("throughput")
    }

    /// What a search in whole numbers found: the highest that passed, the lowest that failed, and
    /// whether the truth may be more.
    pub(super) fn count(
        &self,
        (name, unit): (&str, &'static str),
        (found, failed): (Option<u64>, Option<u64>),
        invalid: &[String],
    ) -> Quantity {
        let whole = |count: u64| count as f64;
        match (found, failed) {
            _ if !invalid.is_empty() => self.missing(name, unit, &reasons(invalid)),
            (Some(found), Some(failed)) => {
                // Between two rates lie others, between two whole numbers in a row none.
                let is_rate = ["fps", "addresses/s"].contains(&unit);
                let high = if is_rate { failed } else { failed.saturating_sub(1).max(found) };
                let bounds = (whole(found), whole(high));
                self.within(name.into(), unit, Relation::Equal, bounds)
            }
            (Some(found), None) => {
                let bounds = (whole(found), f64::INFINITY);
                self.within(name.into(), unit, Relation::AtLeast, bounds)
            }
            (None, Some(failed)) => {
                self.within(name.into(), unit, Relation::Below, (0.0, whole(failed)))
            }
            (None, None) => self.missing(name, unit, &None),
        }
    }

    /// A share of frames that were lost, counted in one trial.
    pub(super) fn lost(&self, name: String, lost: u64, of: u64) -> Quantity {
        if of == 0 {
            return self.missing(&name, "percent", &Some("no frame was sent".into()));
        }
        let single = self.single(name, "percent", lost as f64 / of as f64 * 100.0);
        let within = wilson_interval(lost, of).map(|(low, high)| (low * 100.0, high * 100.0));
        self.repeated(single, within, Basis::Counting)
    }

    /// The loss of a load.
    pub(super) fn loss_of(&self, name: String, point: &LoadPoint) -> Quantity {
        let quantity = match point.invalid.is_empty() {
            true => {
                let lost = point.offered_frames.saturating_sub(point.received_frames);
                self.lost(name, lost, point.offered_frames)
            }
            false => self.missing(&name, "percent", &reasons(&point.invalid)),
        };
        quantity.called("loss")
    }

    /// A forwarding rate, the sum of all ports.
    pub(super) fn forwarding(&self, name: String, point: Option<&LoadPoint>) -> Quantity {
        let quantity = match point.filter(|point| point.invalid.is_empty()) {
            Some(point) => self.single(name, "fps", point.forwarding_rate.fps()),
            None => {
                let why = point.and_then(|point| reasons(&point.invalid));
                self.missing(&name, "fps", &why)
            }
        };
        quantity.called("forwarding-rate")
    }
}

fn tolly(new: &Maker, result: &TollyResult) -> Vec<Quantity> {
    let is_search = result.conditions.test == ChassisTest::BaseUnicast;
    result.rows.iter().flat_map(|row| tolly_row(new, row, is_search)).collect()
}

fn tolly_row(new: &Maker, row: &TollyRow, is_search: bool) -> Vec<Quantity> {
    let of = |what: &str| format!("{what}, {} inputs to {} outputs", row.inputs, row.outputs);
    if row.iterations.is_empty() {
        return vec![new.missing(&of("packets lost"), "frames", &reasons(&row.invalid))];
    }
    let latency = |what: &str, take: &dyn Fn(&TollyIteration) -> Option<units::Duration>| {
        let all = row.iterations.iter().filter_map(take).map(|time| time.as_ns_f64());
        let values: Vec<f64> = all.collect();
        match values.is_empty() {
            true => {
                let why = Some("packets of this size carry no time".to_owned());
                new.missing(&of(what), "ns", &why)
            }
            false => {
                let mean = new.mean_of(of(what), "ns", &values);
                new.repeated(mean, mean_interval(&values), Basis::RepeatedMean)
            }
        }
    };
    let rate = (of("rate of an input"), row.intended.fps());
    let rate = match (is_search, reasons(&row.invalid)) {
        (false, _) => new.single(rate.0, "fps", rate.1),
        (true, None) => new.single(rate.0, "fps", rate.1).called("throughput"),
        // The tester fell short above that rate.
        (true, Some(reason)) => {
            let bounds = (rate.1, f64::INFINITY);
            let at_least = new.within(rate.0, "fps", Relation::AtLeast, bounds);
            Quantity { reason, ..at_least }.called("throughput")
        }
    };
    vec![
        rate,
        new.single(of("packets lost"), "frames", row.lost() as f64).called("lost-packets"),
        latency("latency, cut-through", &TollyIteration::cut_through),
        latency("latency, store and forward", &TollyIteration::store_and_forward).called("latency"),
    ]
}
