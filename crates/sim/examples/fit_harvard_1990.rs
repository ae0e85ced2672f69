//! Derives a model of each product of Bradner's router tests of 1990 (Harvard University) from the
//! published figures, `data/harvard-1990.csv`: a few times that a frame costs, no table of rates.
//!
//! `cargo run -p netanvil-sim --example fit_harvard_1990` prints how near each model comes;
//! with `-- --write` it writes the models to `crates/sim/devices/harvard-1990`.
//!
//! The mechanisms, and how figures follow from them (s is the frame size with FCS, t the rate that
//! the tester reaches with its shortest gap):
//! * a central processor, shared by all streams: a frame takes `per_frame` + `per_byte` x s, filters
//!   more, and `receive` whenever one comes, even if it is then dropped;
//! * the card where it leaves: `output` + `output_byte` x s (the line alone takes 0.8 us a byte);
//!   filters may be looked at here instead, whichever explains more;
//! * Wellfleet instead has a processor on each card, for frames that come in and that go out.
//!
//! Max is the smaller of t and what the slowest of these carries; flood is what is left of it when
//! t comes: (1 - t x receive) / service. Two streams share what they share.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

const BYTE_US: f64 = 0.8;
const PREAMBLE_US: f64 = 6.4;
/// A figure counts as explained within this.
const WITHIN: f64 = 0.05;

#[derive(Deserialize)]
struct Figure {
    device: String,
    mode: String,
    path: String,
    frame_size_bytes: u32,
    column: String,
    /// `U` where the original has none.
    frames_per_second: String,
}

/// A figure, and what it was measured under.
struct Cell {
    protocol: &'static str,
    is_within: bool,
    size: u32,
    rules: f64,
    is_flood: bool,
    /// Which of two streams at once, if it was two.
    dual: Option<usize>,
    fps: f64,
    name: String,
}

/// The tester's two sources: their shortest gaps in microseconds.
#[derive(Clone, Copy)]
struct Sources([f64; 2]);

impl Sources {
    fn rate(&self, source: usize, size: u32) -> f64 {
        1e6 / (f64::from(size) * BYTE_US + PREAMBLE_US + self.0[source])
    }
}

/// Numbers by their names, all in microseconds.
type Model = BTreeMap<String, f64>;

fn main() {
    let write = std::env::args().any(|argument| argument == "--write");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/harvard-1990.csv");
    let mut reader = csv::Reader::from_path(path).expect("the published figures");
    let figures: Vec<Figure> = reader.deserialize().map(|row| row.expect("a figure")).collect();
    let sources = fit_sources(&figures);
    println!("tester: shortest gaps {:.2} us and {:.2} us", sources.0[0], sources.0[1]);

    let mut names: Vec<&str> = figures.iter().map(|figure| figure.device.as_str()).collect();
    names.dedup();
    let (mut errors, mut numbers) = (vec![], sources.0.len());
    for name in names {
        let cells: Vec<Cell> =
            figures.iter().filter(|f| f.device == name).filter_map(cell_of).collect();
        let (product, model) = Product::explaining(name, sources, &cells);
        numbers += model.len();
        errors.extend(product.report(&model, &cells));
        if write {
            product.write(&model);
        }
    }
    errors.sort_by(f64::total_cmp);
    let within = errors.iter().filter(|error| **error <= WITHIN).count();
    println!(
        "\n{} figures from {numbers} numbers: median difference {:.2} %, {:.1} % within 5 %",
        errors.len(),
        100.0 * errors[errors.len() / 2],
        100.0 * within as f64 / errors.len() as f64,
    );
}

/// What the `test` columns ask for: the median over the sizes up to 512, at which a frame a second
/// is less than a quarter of a microsecond.
fn fit_sources(figures: &[Figure]) -> Sources {
    let gap_of = |columns: &[&str]| {
        let asked = figures.iter().filter(|f| columns.contains(&f.column.as_str()));
        let asked = asked.filter(|f| f.frame_size_bytes <= 512);
        let gap = |f: &Figure| {
            let fps: f64 = f.frames_per_second.parse().ok()?;
            Some(1e6 / fps - f64::from(f.frame_size_bytes) * BYTE_US - PREAMBLE_US)
        };
        let mut gaps: Vec<f64> = asked.filter_map(gap).collect();
        gaps.sort_by(f64::total_cmp);
        (gaps[gaps.len() / 2] * 100.0).round() / 100.0
    };
    Sources([gap_of(&["test", "test1"]), gap_of(&["test2"])])
}

/// `None` for what is no figure of the product: the theory, the tester's own rate, a gap.
fn cell_of(figure: &Figure) -> Option<Cell> {
    let column = figure.column.as_str();
    let (what, kind) = column.rsplit_once('_')?;
    Some(Cell {
        protocol: match figure.mode.as_str() {
            "AppleTalk II" => "appletalk",
            "DECNET" => "decnet",
            "IPX" => "ipx",
            "Bridge Mode" => "bridged",
            _ => "ipv4",
        },
        is_within: figure.path == "within",
        size: figure.frame_size_bytes,
        rules: match what {
            "1f" => 1.0,
            "10f" => 10.0,
            _ => 0.0,
        },
        is_flood: kind == "fld",
        dual: match what {
            "d1" => Some(0),
            "d2" => Some(1),
            _ => None,
        },
        fps: figure.frames_per_second.parse().ok()?,
        name: format!("{}, {}, {column}, {}", figure.mode, figure.path, figure.frame_size_bytes),
    })
}

/// A product and how it is built.
struct Product<'a> {
    name: &'a str,
    /// Whether its cards forward, without a central processor.
    has_card_processors: bool,
    /// Whether the card where a frame leaves looks at filters.
    filters_at_output: bool,
    sources: Sources,
}

fn get(model: &Model, key: &str) -> f64 {
    model.get(key).copied().unwrap_or(0.0)
}

impl<'a> Product<'a> {
    /// The structure that explains the figures best, with its numbers.
    fn explaining(name: &'a str, sources: Sources, cells: &[Cell]) -> (Self, Model) {
        let has_card_processors = name.starts_with("Wellfleet");
        let fitted = [false, true].map(|filters_at_output| {
            let product = Product { name, has_card_processors, filters_at_output, sources };
            let model = product.fit(cells);
            let left: f64 = cells.iter().map(|c| product.difference(&model, c).min(0.15)).sum();
            (left, product, model)
        });
        let [first, second] = fitted;
        let (_, product, model) = if second.0 < first.0 - 1e-9 { second } else { first };
        (product, model)
    }

    /// Frames a second that the model says for a figure.
    fn predict(&self, model: &Model, cell: &Cell) -> f64 {
        let streams = if cell.dual.is_some() { 2.0 } else { 1.0 };
        let offered = self.sources.rate(cell.dual.unwrap_or(0), cell.size);
        let bytes = f64::from(cell.size);
        // Only the last of the rules permits the test traffic.
        let filter = if cell.rules > 0.0 {
            get(model, "filter.per_frame") + cell.rules * get(model, "filter.per_rule")
        } else {
            0.0
        };
        let per_frame = get(model, &format!("{}.per_frame", cell.protocol));
        let (early, late) = if self.filters_at_output { (0.0, filter) } else { (filter, 0.0) };
        let per_byte = get(model, &format!("{}.per_byte", cell.protocol));
        let service = per_frame + per_byte * bytes + early;
        if self.has_card_processors {
            let output = get(model, "output") + late;
            // Between cards both streams come in at one and leave at the other.
            let busiest = match cell.is_within {
                true => service + output,
                false => service.max(output) * streams,
            };
            return offered.min(1e6 / busiest);
        }
        let receive = get(model, &format!("{}.receive", cell.protocol));
        let line = 1e6 / (get(model, "output") + get(model, "output_byte") * bytes + late);
        let central = match cell.is_flood {
            _ if offered * streams * (service + receive) <= 1e6 => f64::INFINITY,
            true => ((1e6 - offered * streams * receive) / service).max(0.0) / streams,
            false => 1e6 / (service + receive),
        };
        offered.min(line).min(central)
    }

    /// Relative difference; where nothing came out, all or nothing.
    fn difference(&self, model: &Model, cell: &Cell) -> f64 {
        let predicted = self.predict(model, cell);
        match cell.fps {
            0.0 => f64::from(u8::from(predicted >= 1.0)),
            fps => (predicted / fps - 1.0).abs(),
        }
    }

    /// Difference of logarithms, which also leads back from far off.
    fn distance(&self, model: &Model, cell: &Cell) -> f64 {
        let predicted = self.predict(model, cell);
        match cell.fps {
            0.0 => predicted / self.sources.rate(0, cell.size),
            fps => (predicted.max(1.0) / fps).ln().abs(),
        }
    }

    /// Which numbers the model has, and from where to begin: no more than the figures tell of.
    fn start(&self, cells: &[Cell]) -> Model {
        let any = |test: &dyn Fn(&Cell) -> bool| cells.iter().any(test);
        let mut model = Model::new();
        for cell in cells {
            model.entry(format!("{}.per_frame", cell.protocol)).or_insert(100.0);
            if cell.is_flood && cell.fps == 0.0 {
                model.insert(format!("{}.receive", cell.protocol), 100.0);
            }
        }
        let is_slow = |cell: &Cell| cell.fps < 0.98 * self.sources.rate(0, cell.size);
        if !self.has_card_processors && any(&|cell| cell.size >= 512 && is_slow(cell)) {
            for cell in cells.iter().filter(|cell| cell.size >= 256 && is_slow(cell)) {
                model.insert(format!("{}.per_byte", cell.protocol), 0.3);
            }
            model.insert("output".into(), 40.0);
            model.insert("output_byte".into(), BYTE_US);
        }
        if any(&|cell| cell.rules > 0.0 && is_slow(cell)) {
            model.insert("filter.per_frame".into(), 20.0);
            model.insert("filter.per_rule".into(), 5.0);
        }
        if self.has_card_processors {
            model.insert("output".into(), 15.0);
        }
        model
    }

    /// Pattern search, one number after the other in ever smaller steps, from several beginnings,
    /// for the least sum of differences. None counts more than 15 %, so that figures that no
    /// mechanism explains do not bend the others.
    fn fit(&self, cells: &[Cell]) -> Model {
        let cost = |most: f64| {
            move |model: &Model| -> f64 {
                cells.iter().map(|cell| self.distance(model, cell).min(most)).sum()
            }
        };
        let begin = |scale: f64| {
            let mut model = self.start(cells);
            let frames = model.iter_mut().filter(|(key, _)| key.ends_with(".per_frame"));
            frames.for_each(|(_, value)| *value *= scale);
            let (_, near) = descend(model, &cost(3.0));
            descend(near, &cost(0.15))
        };
        let found = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0].map(begin);
        let best = found.into_iter().min_by(|(a, _), (b, _)| a.total_cmp(b));
        let (_, mut model) = best.unwrap_or_default();
        // Three digits are as much as the figures bear.
        model.values_mut().for_each(|value| *value = rounded(*value));
        model
    }

    /// Prints what the model does not explain; all differences.
    fn report(&self, model: &Model, cells: &[Cell]) -> Vec<f64> {
        println!("\n{}: {} figures from {} numbers (us)", self.name, cells.len(), model.len());
        let numbers: Vec<String> =
            model.iter().map(|(key, value)| format!("{key} {value}")).collect();
        println!("  {}", numbers.join(", "));
        let differences = cells.iter().map(|cell| self.difference(model, cell));
        let differences: Vec<f64> = differences.collect();
        for (cell, difference) in cells.iter().zip(&differences) {
            if *difference > WITHIN {
                let (published, predicted) = (cell.fps, self.predict(model, cell));
                let percent = 100.0 * (predicted / published - 1.0);
                println!("  outside: {}: {published}, {predicted:.0} ({percent:+.1} %)", cell.name);
            }
        }
        differences
    }

    /// Writes the model as a device's description.
    fn write(&self, model: &Model) {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/devices/harvard-1990");
        let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        let file: String = self.name.chars().map(letter).collect();
        let file = format!("{folder}/{}.toml", file.trim_matches('-'));
        std::fs::create_dir_all(folder).expect("a folder for the models");
        std::fs::write(file, self.describe(model)).expect("a file");
    }

    fn describe(&self, model: &Model) -> String {
        let ns = |us: f64| format!("\"{:.0}ns\"", us * 1e3);
        let known = ["ipv4", "decnet", "appletalk", "ipx", "bridged"];
        let known = known.into_iter().filter(|p| model.contains_key(&format!("{p}.per_frame")));
        let known: Vec<&str> = known.collect();
        let routed = known.iter().filter(|p| **p != "bridged").map(|p| format!("\"{p}\""));
        let routed = routed.collect::<Vec<_>>().join(", ");
        let bridges = known.contains(&"bridged");
        let mut text = format!(
            "# {}, as the router tests of 1990 at Harvard found it\n\
             # (fitted by `cargo run -p netanvil-sim --example fit_harvard_1990 -- --write`)\n\
             ports = 4\nline-rate = \"10M\"\nroute = [{routed}]\nbridge = {bridges}\n\n\
             [input]\nframes = 20\n\n",
            self.name
        );
        let output = get(model, "output");
        let table = if self.has_card_processors {
            let output = ns(output);
            let _ = write!(
                text,
                "[card]\nports = 2\nlocal = true\nqueue = {{ frames = 20 }}\noutput = {{ per-frame = {output} }}\n\n"
            );
            "card.protocols"
        } else {
            if model.contains_key("output") {
                let (frame, byte) = (ns(output), get(model, "output_byte") * 1e6);
                let _ = write!(
                    text,
                    "[card]\nqueue = {{ frames = 20 }}\n\
                     output = {{ per-frame = {frame}, per-byte = \"{byte:.0}ps\" }}\n\n"
                );
            }
            "cpu.protocols"
        };
        if !self.has_card_processors {
            let _ = writeln!(text, "[cpu]\nqueue = {{ frames = 20 }}\n");
        }
        let _ = writeln!(text, "[{table}]");
        for protocol in &known {
            let per_frame = ns(get(model, &format!("{protocol}.per_frame")));
            let per_byte = format!("{protocol}.per_byte");
            let per_byte = format!("\"{:.0}ps\"", get(model, &per_byte) * 1e6);
            let receive = ns(get(model, &format!("{protocol}.receive")));
            let _ = writeln!(
                text,
                "{protocol} = {{ per-frame = {per_frame}, per-byte = {per_byte}, receive = {receive} }}"
            );
        }
        if model.contains_key("filter.per_frame") {
            let (frame, rule) =
                (ns(get(model, "filter.per_frame")), ns(get(model, "filter.per_rule")));
            let by = if self.filters_at_output { "output-card" } else { "processor" };
            let _ =
                writeln!(text, "\n[filter]\nper-frame = {frame}\nper-rule = {rule}\nby = \"{by}\"");
        }
        let _ = writeln!(text, "\n[tester]\nmin-gap = {}", ns(self.sources.0[0]));
        text
    }
}

fn descend(mut model: Model, cost: &impl Fn(&Model) -> f64) -> (f64, Model) {
    let keys: Vec<String> = model.keys().cloned().collect();
    let mut least = cost(&model);
    let mut step = 1.6;
    while step > 1.0005 {
        let mut moved = false;
        for key in &keys {
            let before = model[key];
            for candidate in [before * step, before / step] {
                model.insert(key.clone(), candidate);
                let now = cost(&model);
                if now < least - 1e-12 {
                    (least, moved) = (now, true);
                    break;
                }
                model.insert(key.clone(), before);
            }
        }
        if !moved {
            step = 1.0 + (step - 1.0) * 0.7;
        }
    }
    (least, model)
}

/// To three digits, and no finer than a nanosecond a frame or a picosecond a byte needs.
fn rounded(value: f64) -> f64 {
    let digits = (2.0 - value.abs().max(1e-4).log10().floor()).max(0.0) as usize;
    format!("{value:.digits$}").parse().unwrap_or(value)
}
