//! The published figures, and what each was measured under.

use serde::Deserialize;
use std::collections::BTreeMap;

/// A byte on a 10 Mbit/s Ethernet.
pub const BYTE_US: f64 = 0.8;
/// Preamble and start of frame, eight bytes.
const PREAMBLE_US: f64 = 6.4;
/// A device that forwards a larger share of what its source sends tells little but the source's rate
/// (`report::reproduction::INFORMATIVE`).
const INFORMATIVE: f64 = 0.98;
/// And one that forwards this share of it has kept up: printed rates of one source differ by less.
const KEPT_UP: f64 = 0.995;
/// Kinds of tests, as the reproduction scores them.
pub const CLASSES: [&str; 4] = ["max rate", "flood", "filters", "two streams"];

#[derive(Deserialize)]
pub struct Figure {
    pub device: String,
    mode: String,
    path: String,
    frame_size_bytes: u32,
    column: String,
    /// `U` where the original has none.
    frames_per_second: String,
}

/// A figure of a device.
#[derive(Clone, Debug)]
pub struct Cell {
    pub protocol: Of,
    pub is_within: bool,
    pub size: u32,
    pub rules: f64,
    pub is_flood: bool,
    /// Which of two streams at once, if it was two.
    pub dual: Option<usize>,
    pub fps: f64,
    /// What its source sent, as published for the same line, in frames a second.
    pub source_fps: f64,
    pub name: String,
}

/// What a number of a model is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Of {
    All,
    Filter,
    Ipv4,
    Decnet,
    AppleTalk,
    Ipx,
    Bridged,
}

impl Of {
    pub const ALL: [Of; 7] =
        [Of::All, Of::Filter, Of::Ipv4, Of::Decnet, Of::AppleTalk, Of::Ipx, Of::Bridged];
    pub const PROTOCOLS: [Of; 5] = [Of::Ipv4, Of::Decnet, Of::AppleTalk, Of::Ipx, Of::Bridged];

    pub fn name(self) -> &'static str {
        ["all", "filter", "ipv4", "decnet", "appletalk", "ipx", "bridged"][self as usize]
    }
}

impl Cell {
    /// Its place in [`CLASSES`].
    pub fn class(&self) -> usize {
        match (self.dual, self.rules > 0.0, self.is_flood) {
            (Some(_), ..) => 3,
            (None, true, _) => 2,
            (None, false, is_flood) => usize::from(is_flood),
        }
    }

    /// Whether it tells something of the device.
    pub fn is_informative(&self) -> bool {
        self.fps < INFORMATIVE * self.source_fps
    }

    /// From which rate on the device has kept up with the source, if it has.
    pub fn kept_up_fps(&self) -> Option<f64> {
        let from = KEPT_UP * self.source_fps;
        (self.fps >= from).then_some(from)
    }
}

/// The tester's two sources: their shortest gaps in microseconds.
#[derive(Clone, Copy, Debug)]
pub struct Sources(pub [f64; 2]);

impl Sources {
    pub fn rate(&self, source: usize, size: u32) -> f64 {
        1e6 / (f64::from(size) * BYTE_US + PREAMBLE_US + self.0[source])
    }

    /// What the `test` columns ask for: the median over the sizes up to 512, at which a frame a
    /// second is less than a quarter of a microsecond.
    pub fn of(figures: &[Figure]) -> Self {
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
}

/// `data/harvard-1990.csv`.
pub fn published() -> Vec<Figure> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/harvard-1990.csv");
    let mut reader = csv::Reader::from_path(path).expect("the published figures");
    reader.deserialize().map(|row| row.expect("a figure")).collect()
}

/// The figures of each product, in the order of the original.
pub fn products(figures: &[Figure]) -> Vec<(String, Vec<Cell>)> {
    type Line<'a> = (&'a str, &'a str, &'a str, u32);
    let mut sent: BTreeMap<(Line<'_>, &str), f64> = BTreeMap::new();
    for f in figures {
        let line = (&*f.device, &*f.mode, &*f.path, f.frame_size_bytes);
        if let Ok(fps) = f.frames_per_second.parse() {
            sent.insert((line, &f.column), fps);
        }
    }
    let mut products: Vec<(String, Vec<Cell>)> = vec![];
    for f in figures {
        let line = (&*f.device, &*f.mode, &*f.path, f.frame_size_bytes);
        let own = match f.column.split('_').next() {
            Some("d1") => "test1",
            Some("d2") => "test2",
            _ => "test",
        };
        let source = sent.get(&(line, own)).or_else(|| sent.get(&(line, "theo")));
        if products.last().is_none_or(|(name, _)| *name != f.device) {
            products.push((f.device.clone(), vec![]));
        }
        let cell = source.and_then(|source| cell_of(f, *source));
        if let (Some((_, cells)), Some(cell)) = (products.last_mut(), cell) {
            cells.push(cell);
        }
    }
    products
}

/// `None` for what is no figure of the product: the theory, the tester's own rate, a gap.
fn cell_of(figure: &Figure, source_fps: f64) -> Option<Cell> {
    let column = figure.column.as_str();
    let (what, kind) = column.rsplit_once('_')?;
    Some(Cell {
        protocol: match figure.mode.as_str() {
            "AppleTalk II" => Of::AppleTalk,
            "DECNET" => Of::Decnet,
            "IPX" => Of::Ipx,
            "Bridge Mode" => Of::Bridged,
            _ => Of::Ipv4,
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
        source_fps,
        name: format!("{}, {}, {column}, {}", figure.mode, figure.path, figure.frame_size_bytes),
    })
}
