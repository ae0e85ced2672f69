//! Derives a model of each product of Bradner's router tests of 1990 (Harvard University) from the
//! published figures, `data/harvard-1990.csv`: a few times that a frame costs, no table of rates.
//!
//! `cargo run -p netanvil-sim --example fit_harvard_1990` prints how near each model comes;
//! with `-- --write` it writes the models to `crates/sim/devices/harvard-1990`. Names or parts of them
//! choose products.
//!
//! The mechanisms, and how figures follow from them (s is the frame size with FCS, t the rate that
//! the tester reaches with its shortest gap). Each product has a few of them, see `Structure`:
//! * a bus, shared by all streams, for some protocols: `bus` + `bus_byte` x s, and `bus_receive_byte`
//!   x s whenever a frame comes, even if it is then dropped;
//! * a central processor, shared by all streams, or one a port: a frame takes `per_frame` + `per_byte`
//!   x s (perhaps only of its `first_bytes`; perhaps `per_buffer` for each buffer after the first),
//!   filters more, and `receive` + `receive_byte` x s whenever one comes;
//! * the card where it leaves: `output` + `output_byte` x s (the line alone takes 0.8 us a byte),
//!   perhaps in buffers; filters may cost it time, too;
//! * Wellfleet instead has a processor on each card, for frames that come in and that go out.
//!
//! What a stage passes on of a rate x is the smaller of x and (1 - x receive) / service. Max is the
//! smaller of t and what every stage passes whole; flood is what the stages leave of t, one after
//! the other. Two streams share what they share.
//!
//! A figure counts as explained within 5 %: the fit makes as many of them as it can come that near, and
//! those as near as it can; how far off the others are does not matter to it.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

const BYTE_US: f64 = 0.8;
const PREAMBLE_US: f64 = 6.4;
/// From how many beginnings a model is fitted.
const BEGINNINGS: usize = 9;
/// A figure counts as explained within this.
const WITHIN: f64 = 0.05;
/// What the arithmetic and the simulation differ by, at most: a step of the gap, frames that wait at
/// the end of a stream.
const MARGIN: f64 = 0.003;

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

/// Numbers by what they are of (a protocol, the filters, or nothing) and their names, all in
/// microseconds or bytes.
type Model = BTreeMap<(&'static str, &'static str), f64>;

fn main() {
    let write = std::env::args().any(|argument| argument == "--write");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/harvard-1990.csv");
    let mut reader = csv::Reader::from_path(path).expect("the published figures");
    let figures: Vec<Figure> = reader.deserialize().map(|row| row.expect("a figure")).collect();
    let sources = fit_sources(&figures);
    println!("tester: shortest gaps {:.2} us and {:.2} us", sources.0[0], sources.0[1]);

    let mut names: Vec<&str> = figures.iter().map(|figure| figure.device.as_str()).collect();
    names.dedup();
    let asked: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    names.retain(|name| asked.is_empty() || asked.iter().any(|asked| name.contains(&asked[..])));
    let (mut errors, mut numbers) = (vec![], sources.0.len());
    let fitted = std::thread::scope(|scope| {
        let fit = |name| {
            let own = figures.iter().filter(move |figure| figure.device == name);
            let cells: Vec<Cell> = own.filter_map(cell_of).collect();
            scope.spawn(move || {
                let (product, model) = Product::explaining(name, sources, &cells);
                (product, model, cells)
            })
        };
        let under_way: Vec<_> = names.into_iter().map(fit).collect();
        under_way.into_iter().map(|one| one.join().expect("a fit")).collect::<Vec<_>>()
    });
    for (product, model, cells) in fitted {
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
    structure: Structure,
    sources: Sources,
}

/// Which mechanisms a product has beside a central processor and its output: the manufacturers' own
/// words where there are any, else what its figures ask for.
#[derive(Clone, Copy, Default)]
struct Structure {
    /// Cards forward, without a central processor.
    card_processors: bool,
    /// Frames of these protocols pass a bus before the processors.
    bus: &'static [&'static str],
    /// There each byte costs time even if the frame is then dropped.
    bus_receive: bool,
    /// A processor for each port.
    per_port: bool,
    /// Of IP frames only the first bytes count for the processor.
    first_bytes: bool,
    /// Frames are kept in buffers at their output.
    output_buffers: bool,
    /// DECnet frames are kept in buffers.
    decnet_buffers: bool,
    /// Frames cost time even if they are then dropped, in this protocol.
    receive: &'static [&'static str],
    /// And for each byte of them.
    receive_byte: bool,
    /// Filters cost time as a frame comes.
    filter_receive: bool,
    /// Filters cost the card where a frame leaves, too.
    filter_output: bool,
    /// Numbers read off the tables by eye, from where the fit begins.
    near: &'static [(&'static str, &'static str, f64)],
}

const NEAR_EN640: &[(&str, &str, f64)] = &[
    ("ipv4", "per_frame", 127.0),
    ("ipv4", "per_byte", 0.5),
    ("ipv4", "bus", 135.0),
    ("ipv4", "bus_byte", 0.22),
    ("", "output", 63.0),
    ("", "output_byte", 0.797),
    ("filter", "per_frame", 15.0),
    ("filter", "per_rule", 41.0),
    ("decnet", "per_frame", 750.0),
    ("decnet", "per_byte", 0.64),
    ("decnet", "receive", 300.0),
    ("decnet", "per_buffer", 240.0),
    ("appletalk", "per_frame", 880.0),
    ("appletalk", "per_byte", 0.48),
    ("appletalk", "receive", 298.0),
];

const NEAR_P4200: &[(&str, &str, f64)] = &[
    ("ipv4", "per_frame", 228.0),
    ("ipv4", "per_byte", 0.75),
    ("", "output", 62.0),
    ("", "output_byte", 1.2),
    ("", "output_buffer", 129.0),
    ("decnet", "per_frame", 548.0),
    ("decnet", "per_byte", 0.35),
    ("decnet", "receive", 12.0),
    ("decnet", "bus", 220.0),
    ("ipx", "per_frame", 508.0),
    ("ipx", "per_byte", 0.35),
    ("ipx", "receive", 12.0),
    ("ipx", "bus", 220.0),
    ("filter", "per_frame", 80.0),
    ("filter", "per_rule", 0.5),
    ("filter", "receive", 20.0),
    ("filter", "output", 110.0),
];

const NEAR_RIG: &[(&str, &str, f64)] = &[
    ("ipv4", "per_frame", 58.0),
    ("ipv4", "per_byte", 0.06),
    ("", "output", 27.4),
    ("", "output_byte", 0.792),
    ("filter", "per_frame", 150.0),
    ("filter", "per_rule", 0.3),
    ("filter", "output", 108.0),
];

impl Structure {
    fn of(product: &str) -> Self {
        let none = Structure::default();
        match product.split(' ').next().unwrap_or_default() {
            "Wellfleet" => Structure { card_processors: true, ..none },
            "Network" => Structure {
                bus: &["ipv4"],
                per_port: true,
                first_bytes: true,
                decnet_buffers: true,
                receive: &["decnet", "appletalk"],
                near: NEAR_EN640,
                ..none
            },
            "Timeplex" => Structure { receive_byte: true, ..none },
            "Proteon" if product.ends_with("rig") => {
                Structure { filter_output: true, near: NEAR_RIG, ..none }
            }
            "Proteon" => Structure {
                bus: &["decnet", "ipx"],
                bus_receive: true,
                receive: &["decnet", "ipx"],
                filter_receive: true,
                filter_output: true,
                output_buffers: true,
                near: NEAR_P4200,
                ..none
            },
            _ => none,
        }
    }
}

fn get(model: &Model, of: &'static str, what: &'static str) -> f64 {
    model.get(&(of, what)).copied().unwrap_or(0.0)
}

/// What a stage passes on of a rate.
fn passed(rate: f64, receive: f64, service: f64) -> f64 {
    match rate * (receive + service) <= 1e6 {
        true => rate,
        false => ((1e6 - rate * receive) / service).max(0.0),
    }
}

/// Buffers after the first.
fn more_buffers(bytes: f64, buffer_bytes: f64) -> f64 {
    if buffer_bytes > 0.0 { (bytes / buffer_bytes).ceil() - 1.0 } else { 0.0 }
}

impl<'a> Product<'a> {
    /// The product with the numbers that explain its figures best.
    fn explaining(name: &'a str, sources: Sources, cells: &[Cell]) -> (Self, Model) {
        let product = Product { name, structure: Structure::of(name), sources };
        let model = product.fit(cells);
        (product, model)
    }

    /// Frames a second that the model says for a figure.
    fn predict(&self, model: &Model, cell: &Cell) -> f64 {
        let streams = if cell.dual.is_some() { 2.0 } else { 1.0 };
        let offered = self.sources.rate(cell.dual.unwrap_or(0), cell.size);
        let bytes = f64::from(cell.size);
        let protocol = cell.protocol;
        let of_protocol = |what| get(model, protocol, what);
        let is_filtered = cell.rules > 0.0;
        let when_filtered = |what| if is_filtered { get(model, "filter", what) } else { 0.0 };
        // Only the last of the rules permits the test traffic.
        let filter = when_filtered("per_frame") + cell.rules * when_filtered("per_rule");
        let counted = match of_protocol("first_bytes") {
            0.0 => bytes,
            first => bytes.min(first.round()),
        };
        let buffers = more_buffers(bytes, of_protocol("buffer_bytes").round());
        let service = of_protocol("per_frame")
            + of_protocol("per_byte") * counted
            + of_protocol("per_buffer") * buffers
            + filter;
        if self.structure.card_processors {
            let output = get(model, "", "output");
            // Between cards both streams come in at one and leave at the other.
            let busiest = match cell.is_within {
                true => service + output,
                false => service.max(output) * streams,
            };
            return offered.min(1e6 / busiest);
        }
        let receive = of_protocol("receive")
            + get(model, "", "receive_byte") * bytes
            + when_filtered("receive");
        let buffers = more_buffers(bytes, get(model, "", "output_buffer_bytes").round());
        let output = get(model, "", "output")
            + get(model, "", "output_byte") * bytes
            + get(model, "", "output_buffer") * buffers
            + when_filtered("output");
        let bus = of_protocol("bus") + of_protocol("bus_byte") * bytes;
        let bus_receive = of_protocol("bus_receive_byte") * bytes;
        let at_processor = if self.structure.per_port { 1.0 } else { streams };
        if !cell.is_flood {
            let slowest = output.max((bus + bus_receive) * streams);
            return offered.min(1e6 / slowest.max((service + receive) * at_processor));
        }
        let rate = passed(offered * streams, bus_receive, bus) / streams;
        let rate = passed(rate * at_processor, receive, service) / at_processor;
        rate.min(1e6 / output)
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

    /// What counts of a difference: whether the figure is explained, more than how well. A little of
    /// the rest, so that the way to there is found.
    fn cost(&self, model: &Model, cell: &Cell) -> f64 {
        let distance = self.difference(model, cell);
        let is_outside = distance > WITHIN - MARGIN;
        f64::from(u8::from(is_outside)) + 4.0 * distance.min(WITHIN) + distance.min(0.5)
    }

    /// Which numbers the model has, and from where to begin: no more than the figures tell of.
    fn start(&self, cells: &[Cell]) -> Model {
        let any = |test: &dyn Fn(&Cell) -> bool| cells.iter().any(test);
        let has = &self.structure;
        let mut model = Model::new();
        let mut set = |of, what, value: f64| model.insert((of, what), value);
        let is_slow = |cell: &Cell| cell.fps < 0.98 * self.sources.rate(0, cell.size);
        for protocol in ["ipv4", "decnet", "appletalk", "ipx", "bridged"] {
            let of_protocol = |cell: &&Cell| cell.protocol == protocol;
            if !any(&|cell| of_protocol(&cell)) {
                continue;
            }
            set(protocol, "per_frame", 100.0);
            if has.receive.contains(&protocol) {
                set(protocol, "receive", if protocol == "ipx" { 12.0 } else { 100.0 });
            }
            let mut slow = cells.iter().filter(of_protocol).filter(|cell| is_slow(cell));
            if slow.any(|cell| cell.size >= 128 && (cell.size >= 256 || cell.dual.is_some())) {
                set(protocol, "per_byte", 0.3);
            }
        }
        if has.first_bytes {
            set("ipv4", "first_bytes", 180.0);
        }
        if has.decnet_buffers {
            set("decnet", "per_buffer", 200.0);
            set("decnet", "buffer_bytes", 1_200.0);
        }
        if has.receive_byte {
            set("", "receive_byte", 0.2);
        }
        for protocol in has.bus {
            set(protocol, "bus", 150.0);
            set(protocol, "bus_byte", if has.bus_receive { 1.4 } else { 0.25 });
            if has.bus_receive {
                set(protocol, "bus_receive_byte", 0.2);
            }
        }
        if any(&|cell| cell.rules > 0.0 && is_slow(cell)) {
            set("filter", "per_frame", 20.0);
            set("filter", "per_rule", 5.0);
            if has.filter_receive {
                set("filter", "receive", 10.0);
            }
            if has.filter_output {
                set("filter", "output", 100.0);
            }
        }
        if has.card_processors {
            set("", "output", 15.0);
        } else if any(&|cell| cell.size >= 512 && is_slow(cell)) {
            set("", "output", 40.0);
            set("", "output_byte", BYTE_US);
            if has.output_buffers {
                set("", "output_buffer", 100.0);
                set("", "output_buffer_bytes", 170.0);
            }
        }
        for (of, what, value) in has.near {
            model.entry((of, what)).and_modify(|number| *number = *value);
        }
        model
    }

    /// Pattern search, one number after the other in ever smaller steps, from several beginnings.
    fn fit(&self, cells: &[Cell]) -> Model {
        let near = |most: f64| {
            move |model: &Model| -> f64 {
                cells.iter().map(|cell| self.distance(model, cell).min(most)).sum()
            }
        };
        let explained =
            |model: &Model| -> f64 { cells.iter().map(|cell| self.cost(model, cell)).sum() };
        let begin = |seed: usize| {
            let mut model = self.start(cells);
            for (number, ((_, what), value)) in model.iter_mut().enumerate() {
                // Spread the beginnings, the same ones each time.
                let spread = ((seed * 7 + number * 13 + seed * number * 5) % 17) as f64 / 8.0 - 1.0;
                let most: f64 = match what.ends_with("_bytes") || !self.structure.near.is_empty() {
                    true => 1.2,
                    false => 5.0,
                };
                *value *= if seed == 0 { 1.0 } else { most.powf(spread) };
            }
            let (_, model) = descend(model, 1.2, &near(3.0));
            let (_, model) = descend(model, 1.05, &near(0.15));
            descend(model, 1.002, &explained)
        };
        let found = (0..BEGINNINGS).map(begin);
        let best = found.min_by(|(a, _), (b, _)| a.total_cmp(b));
        let (_, mut model) = best.unwrap_or_default();
        // Three digits are as much as the figures bear.
        model.values_mut().for_each(|value| *value = rounded(*value));
        // What does nothing is no number of the model.
        model.retain(|(_, what), value| *value > 0.002 || *what == "per_frame");
        model
    }

    /// Prints what the model does not explain; all differences.
    fn report(&self, model: &Model, cells: &[Cell]) -> Vec<f64> {
        println!("\n{}: {} figures from {} numbers (us)", self.name, cells.len(), model.len());
        let numbers: Vec<String> =
            model.iter().map(|((of, what), value)| format!("{of} {what} {value}")).collect();
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
        let known = ["ipv4", "decnet", "appletalk", "ipx", "bridged"];
        let known = known.into_iter().filter(|p| model.contains_key(&(*p, "per_frame")));
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
        let is_carded = self.structure.card_processors;
        let servers = if is_carded { "local = true" } else { "servers = \"per-port\"" };
        let _ = writeln!(text, "[card]\nports = 2\n{servers}\nqueue = {{ frames = 20 }}");
        let output = [
            ("per-frame", get(model, "", "output")),
            ("per-byte", get(model, "", "output_byte")),
            ("per-buffer", get(model, "", "output_buffer")),
            ("buffer-bytes", get(model, "", "output_buffer_bytes")),
        ];
        let _ = writeln!(text, "output = {}\n", cost(&output));
        if !self.structure.bus.is_empty() {
            let _ = writeln!(text, "[bus]\nqueue = {{ frames = 20 }}\n\n[bus.protocols]");
            for protocol in self.structure.bus {
                let bus = [
                    ("per-frame", get(model, protocol, "bus")),
                    ("per-byte", get(model, protocol, "bus_byte")),
                    ("receive-per-byte", get(model, protocol, "bus_receive_byte")),
                ];
                let _ = writeln!(text, "{protocol} = {}", cost(&bus));
            }
            text.push('\n');
        }
        if !is_carded {
            let servers = if self.structure.per_port { "per-port" } else { "shared" };
            let _ = writeln!(text, "[cpu]\nservers = \"{servers}\"\nqueue = {{ frames = 20 }}\n");
        }
        let _ = writeln!(text, "[{}.protocols]", if is_carded { "card" } else { "cpu" });
        for protocol in &known {
            let of_protocol = |what| get(model, protocol, what);
            let costs = [
                ("per-frame", of_protocol("per_frame")),
                ("per-byte", of_protocol("per_byte")),
                ("first-bytes", of_protocol("first_bytes")),
                ("per-buffer", of_protocol("per_buffer")),
                ("buffer-bytes", of_protocol("buffer_bytes")),
                ("receive", of_protocol("receive")),
                ("receive-per-byte", get(model, "", "receive_byte")),
            ];
            let _ = writeln!(text, "{protocol} = {}", cost(&costs));
        }
        if model.contains_key(&("filter", "per_frame")) {
            text += "\n[filter]\n";
            for key in ["per_frame", "per_rule", "receive", "output"] {
                let us = get(model, "filter", key);
                if us > 0.0 {
                    let _ = writeln!(text, "{} = {}", key.replace('_', "-"), time(us));
                }
            }
        }
        let [first, second] = self.sources.0;
        let gaps = (time(first), time(second));
        let _ = writeln!(text, "\n[tester]\nmin-gap = {}\nsecond-min-gap = {}", gaps.0, gaps.1);
        text
    }
}

/// Microseconds as a description has them.
fn time(us: f64) -> String {
    match us * 1e6 {
        ps if us < 1.0 => format!("\"{ps:.0}ps\""),
        _ => format!("\"{:.0}ns\"", us * 1e3),
    }
}

/// Those of these that are not zero.
fn cost(parts: &[(&str, f64)]) -> String {
    let given = parts.iter().filter(|(_, value)| *value > 0.0);
    let given = given.map(|(key, value)| match key.ends_with("-bytes") {
        true => format!("{key} = {value:.0}"),
        false => format!("{key} = {}", time(*value)),
    });
    format!("{{ {} }}", given.collect::<Vec<_>>().join(", "))
}

fn descend(mut model: Model, finest: f64, cost: &impl Fn(&Model) -> f64) -> (f64, Model) {
    let keys: Vec<_> = model.keys().copied().collect();
    let mut least = cost(&model);
    let mut step = 1.6;
    while step > finest {
        let mut moved = false;
        for key in &keys {
            let before = model[key];
            for candidate in [before * step, before / step] {
                model.insert(*key, candidate);
                let now = cost(&model);
                if now < least - 1e-12 {
                    (least, moved) = (now, true);
                    break;
                }
                model.insert(*key, before);
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
