//! The mechanisms of a twin, and how few of them explain what was measured.

use crate::least_squares::{choices, solve};
use crate::measured::{At, Cell, Kind};
use serde::Serialize;

/// A device of one processor with a queue before it, as `docs/devices.md` describes them. Times are in nanoseconds.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Model {
    /// Of each frame, reception included.
    pub per_frame_ns: f64,
    /// And of each of its bytes.
    pub per_byte_ns: f64,
    /// And of each buffer after the first, where frames are kept in buffers.
    pub per_buffer_ns: f64,
    /// Of so many bytes; 0 where there are none.
    pub buffer_bytes: u32,
    /// Having any filter rules, for each frame.
    pub filter_ns: f64,
    /// Each rule that is looked at.
    pub per_rule_ns: f64,
    /// Of `per_frame_ns`, what a frame takes as it comes, even if it is then dropped.
    pub receive_ns: f64,
    /// Where frames wait; `None` where nothing is known of it.
    pub queue: Option<Queue>,
    /// Constant, after all service.
    pub delay_ns: f64,
    /// And a random time up to this on top of it.
    pub delay_varies_ns: f64,
}

/// Room for frames that wait, the one in service not counted.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    /// So many frames, whatever their size.
    Frames(f64),
    /// So many bytes.
    Bytes(f64),
}

/// What a larger choice of mechanisms has to leave of the errors to be taken.
const BETTER: f64 = 0.8;
/// Measurements repeat no better than this.
const NOISE: f64 = 0.005;

impl Model {
    /// The fewest mechanisms that explain these; `None` where no cell determines any.
    pub(crate) fn fit(cells: &[&Cell]) -> Option<Model> {
        let mut model = fit_service(cells)?;
        // What comes out under overload is also what stood in the queue at the end, and the queue is filled the faster
        // the less is forwarded meanwhile.
        for _ in 0..2 {
            fit_reception(&mut model, cells);
            fit_queue(&mut model, cells);
        }
        fit_delay(&mut model, cells);
        Some(model)
    }

    /// Time that a frame takes the processor.
    pub fn service_ns(&self, at: At) -> f64 {
        let of = [
            self.per_frame_ns,
            self.per_byte_ns,
            self.filter_ns,
            self.per_rule_ns,
            self.per_buffer_ns,
        ];
        of.iter().zip(columns(at, self.buffer_bytes)).map(|(time, count)| time * count).sum()
    }

    /// Whether a frame takes any time: where the device was never the limit, none is known.
    pub(crate) fn has_service(&self) -> bool {
        let times = [
            self.per_frame_ns,
            self.per_byte_ns,
            self.filter_ns,
            self.per_rule_ns,
            self.per_buffer_ns,
        ];
        times.iter().any(|time| *time > 0.0)
    }

    /// What it makes of a cell, in the cell's unit; `None` where it has no mechanism for it.
    pub fn predict(&self, cell: &Cell) -> Option<f64> {
        let service = self.service_ns(cell.at);
        let own = if service > 0.0 { 1e9 / service } else { f64::INFINITY };
        match cell.kind {
            Kind::Throughput | Kind::ThroughputAtLeast => Some(own.min(cell.medium_fps)),
            Kind::Forwarded { offered_fps, seconds } => {
                let meanwhile = self.forwarded(service, offered_fps);
                let standing = self.places(cell.at).map_or(0.0, |places| places + 1.0);
                Some((meanwhile + standing / seconds).min(offered_fps))
            }
            Kind::Burst { burst_fps } => {
                let share = 1.0 - self.forwarded(service, burst_fps) / burst_fps;
                (share > 0.0).then_some((self.places(cell.at)? + 1.0) / share)
            }
            Kind::DelayMin => Some(service + self.delay_ns),
            Kind::DelayMedian => Some(service + self.delay_ns + 0.5 * self.delay_varies_ns),
            Kind::DelayP99 => Some(service + self.delay_ns + 0.99 * self.delay_varies_ns),
        }
    }

    /// Frames of this size that may wait.
    fn places(&self, at: At) -> Option<f64> {
        Some(match self.queue? {
            Queue::Frames(frames) => frames,
            Queue::Bytes(bytes) => (bytes / f64::from(at.size_bytes)).floor(),
        })
    }

    /// Receiving goes before forwarding, and goes on when nothing is left for that.
    fn forwarded(&self, service: f64, offered_fps: f64) -> f64 {
        let left = 1.0 - offered_fps * self.receive_ns / 1e9;
        let rest = service - self.receive_ns;
        if rest <= 0.0 { offered_fps } else { (left.max(0.0) * 1e9 / rest).min(offered_fps) }
    }

    /// Relative error of a cell.
    fn error(&self, cell: &Cell) -> Option<f64> {
        self.predict(cell).map(|value| value / cell.value - 1.0)
    }

    fn rms<'c>(&self, cells: impl IntoIterator<Item = &'c Cell>) -> f64 {
        let errors: Vec<f64> = cells.into_iter().filter_map(|cell| self.error(cell)).collect();
        rms(&errors)
    }
}

/// Sizes of buffers that devices have.
const BUFFERS: [u32; 5] = [128, 256, 512, 1024, 2048];
/// Of a choice of mechanisms, whether it has buffers.
const BUFFER: usize = 4;

/// How often a frame pays for each mechanism of service.
fn columns(at: At, buffer_bytes: u32) -> [f64; BUFFER + 1] {
    let any = if at.rules > 0 { 1.0 } else { 0.0 };
    let buffers = match buffer_bytes {
        0 => 0,
        bytes => at.size_bytes.div_ceil(bytes).saturating_sub(1),
    };
    [1.0, f64::from(at.size_bytes), any, f64::from(at.rules), f64::from(buffers)]
}

fn rms(errors: &[f64]) -> f64 {
    (errors.iter().map(|error| error * error).sum::<f64>() / errors.len().max(1) as f64).sqrt()
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// A choice of mechanisms of service.
#[derive(Clone, PartialEq)]
struct Choice {
    columns: Vec<usize>,
    buffer_bytes: u32,
}

impl Choice {
    /// All, the smaller ones first.
    fn all() -> Vec<Choice> {
        let of = |columns: Vec<usize>| {
            let buffers: &[u32] = if columns.contains(&BUFFER) { &BUFFERS } else { &[0] };
            let with = |bytes: &u32| Choice { columns: columns.clone(), buffer_bytes: *bytes };
            buffers.iter().map(with).collect::<Vec<_>>()
        };
        choices(BUFFER + 1).into_iter().flat_map(of).collect()
    }

    /// A row of the least squares: times divided by the one measured.
    fn row(&self, cell: &Cell) -> Vec<f64> {
        let counts = columns(cell.at, self.buffer_bytes);
        counts.iter().map(|count| count * cell.value / 1e9).collect()
    }

    fn rows(&self, cells: &[&Cell]) -> Vec<Vec<f64>> {
        cells.iter().map(|cell| self.row(cell)).collect()
    }

    /// The times that explain rows best.
    fn solve(&self, rows: &[Vec<f64>]) -> Option<Model> {
        let times = solve(rows, &self.columns)?;
        Some(Model {
            per_frame_ns: times[0],
            per_byte_ns: times[1],
            filter_ns: times[2],
            per_rule_ns: times[3],
            per_buffer_ns: times[BUFFER],
            buffer_bytes: self.buffer_bytes,
            ..Model::default()
        })
    }

    /// The error with which each cell is foretold by the others.
    fn score(&self, measured: &[&Cell], noise: f64) -> Option<f64> {
        let rows = self.rows(measured);
        let whole = self.solve(&rows)?;
        let mut errors = vec![];
        for (left_out, cell) in measured.iter().enumerate() {
            let mut others = rows.clone();
            others.remove(left_out);
            errors.extend(self.solve(&others).and_then(|model| model.error(cell)));
        }
        // Too few to foretell any: what explains all of them is taken, but rather not.
        match errors.len() * 2 >= rows.len() {
            true => Some(rms(&errors)),
            false => Some(2.0 * whole.rms(measured.iter().copied()).max(noise)),
        }
    }
}

/// The service times: from rates that the device limited, and no slower than rates that it did not.
fn fit_service(cells: &[&Cell]) -> Option<Model> {
    let of = |kind: Kind| cells.iter().copied().filter(move |cell| cell.kind == kind);
    let measured: Vec<&Cell> = of(Kind::Throughput).collect();
    if measured.is_empty() {
        // Never the limit: no service time is known, and none is made up.
        return of(Kind::ThroughputAtLeast).next().map(|_| Model::default());
    }
    let choice = choose(&measured)?;
    let mut rows = choice.rows(&measured);
    let mut model = choice.solve(&rows)?;
    // A bound that is not kept is taken for a measurement.
    for cell in of(Kind::ThroughputAtLeast) {
        if model.error(cell).is_some_and(|error| error < -0.01) {
            rows.push(choice.row(cell));
            model = choice.solve(&rows).unwrap_or(model);
        }
    }
    Some(model)
}

/// The fewest mechanisms that foretell measurements well: one more has to make the errors smaller by a share, and none
/// is added to errors that are noise.
fn choose(measured: &[&Cell]) -> Option<Choice> {
    let noise = rms(&measured.iter().map(|cell| cell.uncertainty).collect::<Vec<_>>()).max(NOISE);
    let mut best: Option<(Choice, f64)> = None;
    for choice in Choice::all() {
        let Some(score) = choice.score(measured, noise) else { continue };
        let is_better = best.as_ref().is_none_or(|(known, least)| {
            let are_as_many = known.columns.len() == choice.columns.len();
            let needed = if are_as_many { *least } else { least * BETTER };
            score < needed && (are_as_many || *least > noise)
        });
        if is_better {
            best = Some((choice, score));
        }
    }
    best.map(|(choice, _)| choice)
}

/// What comes out under overload falls with the load where frames that are dropped take time, too.
fn fit_reception(model: &mut Model, cells: &[&Cell]) {
    const STEPS: u32 = 1_000;
    let overloaded =
        || cells.iter().copied().filter(|cell| matches!(cell.kind, Kind::Forwarded { .. }));
    let without = Model { receive_ns: 0.0, ..model.clone() }.rms(overloaded());
    if overloaded().next().is_none() || without <= 2.0 * NOISE {
        return;
    }
    let with = |step: u32| {
        let receive_ns = model.per_frame_ns * f64::from(step) / f64::from(STEPS);
        Model { receive_ns, ..model.clone() }
    };
    let by_error = |a: &Model, b: &Model| a.rms(overloaded()).total_cmp(&b.rms(overloaded()));
    let best = (0..STEPS).map(with).min_by(by_error);
    if let Some(best) = best.filter(|best| best.rms(overloaded()) < BETTER * without) {
        *model = best;
    }
}

/// The places that the longest burst filled: frames, or bytes where sizes agree better on these.
fn fit_queue(model: &mut Model, cells: &[&Cell]) {
    let mut places: Vec<(f64, f64)> = vec![];
    for cell in cells {
        let Kind::Burst { burst_fps } = cell.kind else { continue };
        let service = model.service_ns(cell.at);
        let share = 1.0 - model.forwarded(service, burst_fps) / burst_fps;
        if service > 0.0 && share > 0.0 {
            let frames = (cell.value * share - 1.0).max(1.0);
            places.push((frames, frames * f64::from(cell.at.size_bytes)));
        }
    }
    let of = |take: fn(&(f64, f64)) -> f64| -> Option<(f64, f64)> {
        let values: Vec<f64> = places.iter().map(take).collect();
        let middle = median(values.clone())?;
        Some((middle, rms(&values.iter().map(|value| value / middle - 1.0).collect::<Vec<_>>())))
    };
    let (Some(frames), Some(bytes)) = (of(|place| place.0), of(|place| place.1)) else { return };
    let are_bytes = bytes.1 < BETTER * frames.1 && frames.1 > NOISE;
    model.queue = Some(match are_bytes {
        true => Queue::Bytes(bytes.0.round()),
        false => Queue::Frames(frames.0.round()),
    });
}

/// From the least and the median of every frame at half load, where nothing waits.
fn fit_delay(model: &mut Model, cells: &[&Cell]) {
    let of = |kind: Kind| cells.iter().filter(move |cell| cell.kind == kind);
    let after = |cell: &&&Cell| cell.value - model.service_ns(cell.at);
    let delay = median(of(Kind::DelayMin).map(|cell| after(&cell)).collect());
    let above = |cell: &&Cell| {
        let least = of(Kind::DelayMin).find(|other| other.at == cell.at)?;
        Some(2.0 * (cell.value - least.value))
    };
    let varies = median(of(Kind::DelayMedian).filter_map(above).collect());
    model.delay_ns = delay.unwrap_or(0.0).max(0.0);
    model.delay_varies_ns = varies.unwrap_or(0.0).max(0.0);
}
