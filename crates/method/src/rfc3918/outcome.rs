//! The figures of the tests of multicast.

use super::burden;
use super::{
    DelayOutcome, DelaySet, GroupCapacityResult, GroupDelayResult, MatrixRow, MulticastConditions,
    MulticastLatencyResult, MulticastThroughputResult, PortDelay, ScaledGroupsResult,
};
use crate::chassis::{ChassisConditions, ChassisTest, LoadPoint, latency_spread};
use crate::clauses::Facts;
use crate::outcome::{Figure, FigureName, Layout, Outcome, Relation, Unit, reasons};

/// The outcome under these conditions, which name the version of IP besides the ports.
fn outcome(
    conditions: &ChassisConditions,
    multicast: &MulticastConditions,
    figures: Vec<Figure>,
    (invalid, layout): (&[String], Layout),
) -> Outcome {
    let mut outcome = conditions.outcome(figures, invalid).laid_out(layout);
    let words = format!("{}; {}", outcome.conditions.in_words, multicast.version);
    outcome.conditions.traffic.clone_from(&words);
    outcome.conditions.in_words = words;
    let joins = multicast.joins.clone();
    outcome.judged_also(|facts| Facts { queries: multicast.queries, joins, ..facts })
}

impl MulticastThroughputResult {
    /// The throughput of all groups, and of each class where there are two.
    pub fn outcome(&self) -> Outcome {
        let name = format!("throughput, {} groups", self.multicast.groups);
        let mut figures = self.throughput.figures(name);
        if let Some(classes) = &self.classes {
            figures.push(Figure::single("multicast of it", Unit::Fps, classes.multicast.fps()));
            figures.push(Figure::single("unicast of it", Unit::Fps, classes.unicast.fps()));
        }
        let invalid = self.throughput.invalid_reasons();
        let layout = self.layout().noted(self.throughput.with_tolerance_in_words());
        outcome(&self.conditions, &self.multicast, figures, (invalid, layout))
            .judged_also(|facts| Facts {
                received_bytes: self.multicast.received_size_bytes,
                tunnel_in: Some(self.multicast.tunnel_in),
                has_classes: Some(self.classes.is_some()),
                ..facts.search(&self.throughput)
            })
            .detailed(self)
    }
}

impl ScaledGroupsResult {
    /// Forwarding rate and loss by the number of groups.
    pub fn outcome(&self) -> Outcome {
        let of_row = |row: &MatrixRow| {
            let groups = row.groups;
            let name = format!("forwarding rate, {groups} groups");
            let forwarding = LoadPoint::forwarding(Some(&row.point), name);
            [forwarding, row.point.loss(format!("loss, {groups} groups"))]
        };
        let figures = self.rows.iter().flat_map(of_row).collect();
        let knows_capacity = Some(self.capacity.is_some());
        outcome(&self.conditions, &self.multicast, figures, (&self.invalid, self.layout()))
            .judged_also(|facts| Facts { knows_capacity, ..facts })
            .detailed(self)
    }
}

impl MulticastLatencyResult {
    /// Latency at each port, and its spread over ports and groups; with a burden and without.
    pub fn outcome(&self) -> Outcome {
        let mut figures = self.figures(false);
        figures.extend(self.figures(true));
        if figures.is_empty() {
            let missing = Figure::missing("latency mean", Unit::Ns, reasons(&self.invalid));
            figures.push(missing.called(FigureName::Latency));
        }
        outcome(&self.conditions, &self.multicast, figures, (&self.invalid, self.layout()))
            .judged_also(|facts| self.facts(facts))
            .detailed(self)
    }

    fn facts(&self, facts: Facts) -> Facts {
        let tagged = self.sets.iter().flat_map(|set| &set.latencies);
        let longest = tagged.map(|tagged| tagged.latency).max();
        let burdened = self.sets.iter().filter(|set| set.burden.is_some()).count();
        Facts {
            repetitions: Some(self.sets.len() as u64),
            has_both: Some(burdened > 0 && burdened < self.sets.len()),
            ingress_apart: burden::ingress_apart(
                self.sets.iter().map(|set| (set.burden.is_some(), set.ingress)),
            ),
            // Tagged frames leave in the middle of a trial.
            last_tag_s: longest
                .map(|latency| latency.as_secs_f64() - self.duration.as_secs_f64() / 2.0),
            ..facts
        }
    }

    fn figures(&self, is_burdened: bool) -> Vec<Figure> {
        let with = if is_burdened { " with the burden" } else { "" };
        let sets = || self.sets.iter().filter(|set| set.burden.is_some() == is_burdened);
        let mut figures = vec![];
        for port in &self.multicast.egress {
            let all = sets().flat_map(|set| &set.latencies).filter(|tagged| tagged.port == *port);
            let name = |which: &str| format!("latency {which} at {port}{with}");
            figures.extend(latency_spread(name, &self.forms(all)));
        }
        let widest = sets().filter_map(|set| self.min_max_ns(set)).max_by(f64::total_cmp);
        figures.extend(widest.map(|span| {
            let name = format!("min/max latency{with}, the largest of all trials");
            Figure::single(name, Unit::Ns, span).called(FigureName::MinMaxLatency)
        }));
        figures
    }
}

impl GroupDelayResult {
    /// The delay at each port, by method and with a burden or without.
    pub fn outcome(&self) -> Outcome {
        let (noun, known_as) = match self.conditions.test == ChassisTest::GroupLeaveDelay {
            true => ("leave delay", FigureName::LeaveDelay),
            false => ("join delay", FigureName::JoinDelay),
        };
        let of_set = |set: &DelaySet| -> Vec<Figure> {
            let method = set.method.map(|method| format!(", method {method}")).unwrap_or_default();
            let with = if set.burden.is_some() { ", with the burden" } else { "" };
            let name = |port: &PortDelay| format!("{noun} at {}{method}{with}", port.port);
            let of_port = |port: &PortDelay| port.outcome.figure(name(port)).called(known_as);
            set.ports.iter().map(of_port).collect()
        };
        let figures = match self.sets.is_empty() {
            true => {
                let missing = Figure::missing(noun, Unit::Ns, reasons(&self.invalid));
                vec![missing.called(known_as)]
            }
            false => self.sets.iter().flat_map(of_set).collect(),
        };
        outcome(&self.conditions, &self.multicast, figures, (&self.invalid, self.layout()))
            .judged_also(|facts| self.facts(facts))
            .detailed(self)
    }

    fn facts(&self, facts: Facts) -> Facts {
        let ports = self.sets.iter().flat_map(|set| &set.ports);
        let said_nothing = |outcome: &_| matches!(outcome, DelayOutcome::NotFromThere { .. });
        let burdened = self.sets.iter().filter(|set| set.burden.is_some()).count();
        Facts {
            unmeasured: Some(ports.filter(|port| said_nothing(&port.outcome)).count() as u64),
            has_both: Some(burdened > 0 && burdened < self.sets.len()),
            ingress_apart: burden::ingress_apart(
                self.sets.iter().map(|set| (set.burden.is_some(), set.ingress)),
            ),
            ..facts
        }
    }
}

impl DelayOutcome {
    fn figure(&self, name: String) -> Figure {
        match self {
            DelayOutcome::Measured { delay } => Figure::single(name, Unit::Ns, delay.as_ns_f64()),
            DelayOutcome::Never { waited } => {
                let bounds = (waited.as_ns_f64(), f64::INFINITY);
                Figure::within(name, Unit::Ns, Relation::AtLeast, bounds)
                    .because("it took no effect as long as the tester waited")
            }
            DelayOutcome::NotFromThere { why } => {
                Figure::missing(name, Unit::Ns, Some(why.clone()))
            }
        }
    }
}

impl GroupCapacityResult {
    /// How many groups the device takes.
    pub fn outcome(&self) -> Outcome {
        let found = (self.found, self.failed);
        let name = "multicast group capacity";
        let figure = Figure::count(name, Unit::Groups, found, &self.invalid);
        let figure = match (&self.ended, figure.relation) {
            (Some(why), Relation::AtLeast) => figure.because(why),
            _ => figure,
        };
        let figures = vec![figure.called(FigureName::Groups)];
        outcome(&self.conditions, &self.multicast, figures, (&self.invalid, self.layout()))
            .judged_also(|facts| facts.bound_at(self.at_least, "highest number"))
            .detailed(self)
    }
}
