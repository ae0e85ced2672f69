//! Simulated devices fitted to what was measured of real ones.
//!
//! ```text
//! run folders --> Outcome, ... --> Measured --> Model --> sim::Description (TOML)
//!                                    |            |
//!                                    +-- Cell: measured, fitted, foretold without it
//! ```
//!
//! A twin has few mechanisms: one processor with a time for each frame, byte, buffer and filter rule and for reception; a
//! queue before it; a constant and a random delay behind it. A mechanism is taken only where measurements that it was
//! not fitted to are foretold better with it. What stays unexplained is told, never smoothed over.
//!
//! # Example
//!
//! ```
//! use twin::{At, Cell, Kind, Measured, Twin};
//!
//! // 1 us a frame and 2 ns a byte.
//! let cell = |size_bytes: u32| {
//!     let at = At { size_bytes, rules: 0 };
//!     let fps = 1e9 / (1_000.0 + 2.0 * f64::from(size_bytes));
//!     Cell::new(at, Kind::Throughput, fps, 0.001, 1e7)
//! };
//! let cells = [64, 256, 1024, 1518].map(cell).to_vec();
//! let measured = Measured { cells, line_rate_bps: 10_000_000_000, ..Measured::default() };
//! let twin = Twin::fit(&measured, &|_| false)?;
//! assert!((twin.model.per_frame_ns - 1_000.0).abs() < 1.0);
//! assert!((twin.model.per_byte_ns - 2.0).abs() < 0.01);
//! assert!(twin.unexplained().is_empty());
//! # Ok::<(), twin::FitError>(())
//! ```

mod least_squares;
mod measured;
mod model;

pub use measured::{At, Cell, Kind, Measured};
pub use model::{Model, Queue};

use serde::Serialize;
use sim::{Description, FilterRule};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use units::Duration;
use units::text::{BitRate, Span};

/// Errors up to this are no contradiction, whatever the run says of its uncertainty.
pub const EXPLAINED_WITHIN: f64 = 0.05;

/// Nothing can be fitted.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum FitError {
    /// No measurement that a fit could begin with.
    #[error("no throughput of one frame size in one direction is among the measurements")]
    NoThroughput,
    /// Sizes, or filters, contradict each other in every choice of mechanisms.
    #[error("no choice of mechanisms has times of 0 or more that explain the throughput")]
    NoMechanism,
}

/// A measurement beside what the twin makes of it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Compared {
    /// As measured.
    #[serde(flatten)]
    pub measured: Cell,
    /// Whether the twin was fitted to it.
    pub is_fitted: bool,
    /// What the twin has; `None` where it has no mechanism for it.
    pub twin: Option<f64>,
    /// What a twin has that was fitted without any measurement of this size and these filters.
    pub foretold: Option<f64>,
}

impl Compared {
    /// Error of the twin, as a share of what was measured.
    pub fn error(&self) -> Option<f64> {
        relative(self.twin, self.measured.value)
    }

    /// Error of what was foretold: of the twin itself for what it was not fitted to.
    pub fn foretold_error(&self) -> Option<f64> {
        relative(self.foretold, self.measured.value)
    }

    /// Whether the twin has what was measured, within its uncertainty and [`EXPLAINED_WITHIN`].
    pub fn is_explained(&self) -> bool {
        let allowed = EXPLAINED_WITHIN.max(self.measured.uncertainty);
        match (self.error(), self.measured.kind) {
            // A bound says nothing of how much more it may be.
            (Some(error), Kind::ThroughputAtLeast) => error > -allowed,
            (Some(error), _) => error.abs() <= allowed,
            (None, _) => false,
        }
    }
}

/// Tests that measure what a twin can have, by the words of `netanvil run --test`.
pub const TESTS: [&str; 4] = ["throughput", "loss", "latency", "back-to-back"];

/// How well one test's figures were foretold. Errors are shares of what was measured.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Foretold {
    /// By the word of `netanvil run --test`.
    pub test: &'static str,
    /// How many.
    pub figures: usize,
    /// The middle one of their errors.
    pub median: f64,
    /// The largest one.
    pub largest: f64,
    /// The middle one of what the same figures differ by from run to run; `None` where each was measured once.
    pub repeats_within: Option<f64>,
}

/// The middle one and the largest, signs left out; `None` of none.
fn middle_and_most(errors: &[f64]) -> Option<(f64, f64)> {
    let mut errors: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
    errors.sort_by(f64::total_cmp);
    Some((*errors.get(errors.len() / 2)?, *errors.last()?))
}

fn relative(value: Option<f64>, measured: f64) -> Option<f64> {
    value.map(|value| value / measured - 1.0)
}

/// A mechanism's number and how far it moves when each size and filter in turn is left out.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Parameter {
    /// As the description of a simulated device has it.
    pub name: &'static str,
    /// Of the number.
    pub unit: &'static str,
    /// The number.
    pub value: f64,
    /// The least and the most; `None` where nothing could be left out.
    pub range: Option<(f64, f64)>,
}

/// A simulated device that behaves like one that was measured.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Twin {
    /// Its mechanisms.
    pub model: Model,
    /// The same one by one, those that it has.
    pub parameters: Vec<Parameter>,
    /// Every measurement beside it.
    pub compared: Vec<Compared>,
    /// Bits a second of the medium.
    pub line_rate_bps: u64,
    /// Of the largest frame measured.
    pub largest_bytes: u32,
    /// What was not used, and why.
    pub left_out: Vec<String>,
}

impl Twin {
    /// Fits a twin to all measurements but those that are held out.
    ///
    /// # Errors
    /// If there is no throughput among them, or nothing explains it.
    pub fn fit(measured: &Measured, is_held_out: &dyn Fn(&Cell) -> bool) -> Result<Twin, FitError> {
        let used: Vec<&Cell> = measured.cells.iter().filter(|cell| !is_held_out(cell)).collect();
        let is_throughput =
            |cell: &&Cell| matches!(cell.kind, Kind::Throughput | Kind::ThroughputAtLeast);
        if !used.iter().any(is_throughput) {
            return Err(FitError::NoThroughput);
        }
        let model = Model::fit(&used).ok_or(FitError::NoMechanism)?;
        let places: BTreeSet<At> = used.iter().map(|cell| cell.at).collect();
        let without = |at: At| -> Option<Model> {
            let others: Vec<&Cell> = used.iter().copied().filter(|cell| cell.at != at).collect();
            // Others that the device did not limit say nothing of it.
            Model::fit(&others).filter(|other| other.has_service() == model.has_service())
        };
        let others: Vec<(At, Option<Model>)> =
            places.iter().map(|at| (*at, without(*at))).collect();
        let compare = |cell: &Cell| {
            let is_fitted = !is_held_out(cell);
            let twin = model.predict(cell);
            let of_others = others.iter().find(|(at, _)| *at == cell.at);
            let foretold = match is_fitted {
                true => of_others.and_then(|(_, model)| model.as_ref()?.predict(cell)),
                false => twin,
            };
            Compared { measured: cell.clone(), is_fitted, twin, foretold }
        };
        let known: Vec<&Model> = others.iter().filter_map(|(_, model)| model.as_ref()).collect();
        Ok(Twin {
            parameters: parameters(&model, &known),
            compared: measured.cells.iter().map(compare).collect(),
            line_rate_bps: measured.line_rate_bps,
            largest_bytes: places.iter().map(|at| at.size_bytes).max().unwrap_or_default(),
            left_out: measured.left_out.clone(),
            model,
        })
    }

    /// What no mechanism of the twin explains.
    pub fn unexplained(&self) -> Vec<&Compared> {
        self.compared.iter().filter(|compared| !compared.is_explained()).collect()
    }

    /// Median and largest error of what was foretold; `None` where nothing could be.
    pub fn foretold_errors(&self) -> Option<(f64, f64)> {
        middle_and_most(&self.foretold().filter_map(Compared::foretold_error).collect::<Vec<_>>())
    }

    /// The same test by test. Where something was held out, of that alone.
    pub fn foretold_by_test(&self) -> Vec<Foretold> {
        let any_held_out = self.compared.iter().any(|compared| !compared.is_fitted);
        let of_test = |test: &'static str| {
            let counts =
                |it: &&Compared| it.measured.kind.test() == test && !(any_held_out && it.is_fitted);
            let known: Vec<&Compared> = self.foretold().filter(counts).collect();
            let errors: Vec<f64> = known.iter().filter_map(|it| it.foretold_error()).collect();
            let again: Vec<f64> =
                known.iter().filter_map(|it| it.measured.repeats_within()).collect();
            let (median, largest) = middle_and_most(&errors)?;
            let repeats_within = middle_and_most(&again).map(|(median, _)| median);
            Some(Foretold { test, figures: errors.len(), median, largest, repeats_within })
        };
        TESTS.into_iter().filter_map(of_test).collect()
    }

    fn foretold(&self) -> impl Iterator<Item = &Compared> {
        // A bound has no error.
        self.compared.iter().filter(|it| it.measured.kind != Kind::ThroughputAtLeast)
    }

    /// The device with so many filter rules in front of the test stream.
    pub fn device(&self, rules: u32, bridges: bool) -> Description {
        let span = |ns: f64| Span(Duration::from_ps((ns * 1e3).round() as u64));
        let model = &self.model;
        let mut device = Description {
            line_rate: BitRate(self.line_rate_bps),
            bridge: bridges,
            delay: span(model.delay_ns),
            delay_varies_by: span(model.delay_varies_ns),
            ..Description::default()
        };
        if !bridges {
            device.route = vec![sim::Protocol::Ipv4, sim::Protocol::Ipv6];
        }
        if self.largest_bytes > 1518 {
            device.max_frame_bytes = Some(self.largest_bytes);
        }
        let mut cpu = sim::Cpu::default();
        cpu.cost.per_frame = span(model.per_frame_ns - model.receive_ns);
        cpu.cost.per_byte = span(model.per_byte_ns);
        cpu.cost.receive = span(model.receive_ns);
        if model.per_buffer_ns > 0.0 {
            cpu.cost.per_buffer = span(model.per_buffer_ns);
            cpu.cost.buffer_bytes = Some(model.buffer_bytes);
        }
        device.cpu = (cpu != sim::Cpu::default()).then_some(cpu);
        match model.queue {
            Some(Queue::Frames(frames)) => device.input.frames = Some(frames as u64),
            Some(Queue::Bytes(bytes)) => device.input.bytes = Some(bytes as u64),
            None => {}
        }
        if rules > 0 {
            device.filter.per_frame = span(model.filter_ns);
            device.filter.per_rule = span(model.per_rule_ns);
            device.filter.rules = filter_rules(rules);
        }
        device
    }

    /// The same as a file for `--sim`, with these lines as comments before it.
    pub fn toml(&self, rules: u32, bridges: bool, about: &[String]) -> String {
        let table = |device: &Description| toml::Table::try_from(device).unwrap_or_default();
        let device = self.device(rules, bridges);
        // Of a processor, too, what costs no time is left out.
        let cpu = device.cpu.as_ref().map(|_| sim::Cpu::default());
        let own =
            difference(&table(&device), &table(&Description { cpu, ..Description::default() }));
        let about: String = about.iter().map(|line| format!("# {line}\n")).collect();
        format!("{about}{}", toml::to_string(&own).unwrap_or_default())
    }
}

/// Rules that match no frame of a test, and a last one that permits all.
fn filter_rules(rules: u32) -> Vec<FilterRule> {
    let nobody =
        |host: u32| Ipv4Addr::from(u32::from(Ipv4Addr::new(192, 0, 2, 0)) + 1 + host % 254);
    let denies = (1..rules).map(|host| FilterRule {
        action: sim::FilterAction::Deny,
        from: Some(nobody(host)),
        to: None,
    });
    denies.chain([FilterRule::default()]).collect()
}

/// What a table has that another has not, section by section.
fn difference(table: &toml::Table, other: &toml::Table) -> toml::Table {
    let mut own = toml::Table::new();
    for (key, value) in table {
        match (value, other.get(key)) {
            (value, Some(known)) if value == known => {}
            (toml::Value::Table(inner), Some(toml::Value::Table(known))) => {
                own.insert(key.clone(), difference(inner, known).into());
            }
            (value, _) => {
                own.insert(key.clone(), value.clone());
            }
        }
    }
    own
}

fn parameters(model: &Model, others: &[&Model]) -> Vec<Parameter> {
    type Take = fn(&Model) -> f64;
    let frames: Take = |model| match model.queue {
        Some(Queue::Frames(frames)) => frames,
        _ => 0.0,
    };
    let bytes: Take = |model| match model.queue {
        Some(Queue::Bytes(bytes)) => bytes,
        _ => 0.0,
    };
    let all: [(&'static str, &'static str, Take); 11] = [
        ("cpu.cost.per-frame", "ns", |model| model.per_frame_ns - model.receive_ns),
        ("cpu.cost.per-byte", "ns", |model| model.per_byte_ns),
        ("cpu.cost.per-buffer", "ns", |model| model.per_buffer_ns),
        ("cpu.cost.buffer-bytes", "bytes", |model| f64::from(model.buffer_bytes)),
        ("cpu.cost.receive", "ns", |model| model.receive_ns),
        ("filter.per-frame", "ns", |model| model.filter_ns),
        ("filter.per-rule", "ns", |model| model.per_rule_ns),
        ("input.frames", "frames", frames),
        ("input.bytes", "bytes", bytes),
        ("delay", "ns", |model| model.delay_ns),
        ("delay-varies-by", "ns", |model| model.delay_varies_ns),
    ];
    let of = |(name, unit, take): (&'static str, &'static str, Take)| {
        let value = take(model);
        let values = || others.iter().map(|other| take(other));
        let range = (!others.is_empty())
            .then(|| (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max)));
        (value > 0.0).then_some(Parameter { name, unit, value, range })
    };
    all.into_iter().filter_map(of).collect()
}
