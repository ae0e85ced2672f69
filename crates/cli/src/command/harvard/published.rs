//! The published tables of 1990, the models of their products, and what their fit is worth.

use crate::failure::{Failure, Outcome};
use method::harvard::{Filters, Mode, Path, SetUp};
use report::fitted::Fit;
use report::harvard::{RateCell, RateRow, RateTable};
use serde::Deserialize;

const TABLES: &str = include_str!("../../../data/harvard-1990.csv");
const NUMBERS: &str = include_str!("../../../data/harvard-1990-numbers.csv");
const HOLD_OUTS: &str = include_str!("../../../data/harvard-1990-hold-outs.csv");

/// Each product as published, and the name of its model.
const MODELS: [(&str, &str); 9] = [
    ("3com NETBuilder", "1990/netbuilder"),
    ("BBN T20", "1990/t20"),
    ("cisco AGS+", "1990/ags"),
    ("Network Systems Corporation EN640-8", "1990/en640"),
    ("Novell NetWare 386", "1990/netware-386"),
    ("Proteon P4200", "1990/p4200"),
    ("Proteon rig", "1990/proteon-rig"),
    ("Timeplex TIME/LAN 100", "1990/time-lan-100"),
    ("Wellfleet Link Node", "1990/link-node"),
];

/// A published table.
#[derive(Clone, Debug)]
pub struct Published {
    /// The product.
    pub device: String,
    /// The name of its model.
    pub model: &'static str,
    /// What was tested.
    mode: Mode,
    path: Path,
    is_dual: bool,
    /// The figures.
    pub table: RateTable,
}

#[derive(Deserialize)]
struct Line {
    device: String,
    mode: String,
    path: String,
    frame_size_bytes: String,
    column: String,
    /// Empty where the original has a `U`.
    frames_per_second: Option<f64>,
}

/// All tables, in the order of the original.
pub fn tables() -> Outcome<Vec<Published>> {
    let mut tables: Vec<Published> = vec![];
    let mut reader = csv::Reader::from_reader(TABLES.as_bytes());
    for line in reader.deserialize() {
        let line: Line = line.map_err(Failure::new)?;
        let (mode, is_dual) = mode_of(&line.mode)?;
        let path = if line.path == "within" { Path::Within } else { Path::Between };
        let begins = !tables.last().is_some_and(|last| {
            (&last.device, last.mode, last.is_dual, last.path)
                == (&line.device, mode, is_dual, path)
        });
        if begins {
            let heading = format!("{} - {path}", line.mode);
            let model = MODELS.iter().find(|(device, _)| *device == line.device);
            let (_, model) = model
                .ok_or_else(|| Failure::new(format!("there is no model of the {}", line.device)))?;
            let table = RateTable { heading, columns: vec![], rows: vec![] };
            let device = line.device.clone();
            tables.push(Published { device, model, mode, path, is_dual, table });
        }
        if let Some(last) = tables.last_mut() {
            put(&mut last.table, line);
        }
    }
    Ok(tables)
}

/// What the fit of the models is worth, as `make harvard-1990-scores` wrote it.
pub fn fit() -> Outcome<Fit> {
    fn rows<T: for<'a> Deserialize<'a>>(text: &str) -> Outcome<Vec<T>> {
        let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(text.as_bytes());
        reader.deserialize().map(|row| row.map_err(Failure::new)).collect()
    }
    Ok(Fit { hold_outs: rows(HOLD_OUTS)?, numbers: rows(NUMBERS)? })
}

fn mode_of(name: &str) -> Outcome<(Mode, bool)> {
    let mode = Mode::ALL.into_iter().find(|mode| mode.name() == name);
    match mode {
        Some(mode) => Ok((mode, false)),
        None if name == "Dual IP Streams" => Ok((Mode::Ip, true)),
        None => Err(Failure::new(format!("no such table: {name}"))),
    }
}

/// Lines come row by row.
fn put(table: &mut RateTable, line: Line) {
    if !table.columns.contains(&line.column) {
        table.columns.push(line.column);
    }
    let cell = line.frames_per_second.map_or(RateCell::Missing, RateCell::Fps);
    match table.rows.last_mut() {
        Some(row) if row.frame_size == line.frame_size_bytes => row.cells.push(cell),
        _ => table.rows.push(RateRow { frame_size: line.frame_size_bytes, cells: vec![cell] }),
    }
}

impl Published {
    /// How the device has to be set up for the columns of the table.
    pub fn set_ups(&self) -> Vec<SetUp> {
        let (mode, path) = (self.mode, self.path);
        let filters = Filters::ALL.into_iter().filter(|filters| match filters {
            Filters::None => true,
            Filters::One => self.has("1f_max"),
            Filters::Ten => self.has("10f_max"),
        });
        let streams = if self.is_dual { 2 } else { 1 };
        filters.map(|filters| SetUp { mode, path, filters, streams }).collect()
    }

    fn has(&self, column: &str) -> bool {
        self.table.columns.iter().any(|known| known == column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_43_tables_with_their_1242_cells() {
        let tables = tables().unwrap();
        assert_eq!(tables.len(), 43);
        let cells = |table: &Published| -> usize {
            table.table.rows.iter().map(|row| row.cells.len()).sum()
        };
        assert_eq!(tables.iter().map(cells).sum::<usize>(), 1_242);
        let whole = |table: &Published| {
            table.table.rows.iter().all(|row| row.cells.len() == table.table.columns.len())
        };
        assert!(tables.iter().all(whole));
        assert_eq!(tables[2].table.cell("256", "10f_max").print(), "2231");
        assert_eq!((tables[2].set_ups().len(), tables[8].set_ups()[0].streams), (3, 2));
    }

    /// Counted in the published tables apart from this code: 706 cells of devices, 337 of which are below 98 % of the source.
    #[test]
    fn the_informative_figures_are_337_of_706() {
        let pair = |published: Published| report::reproduction::TablePair {
            device: published.device,
            ours: published.table.clone(),
            published: published.table,
        };
        let pairs: Vec<_> = tables().unwrap().into_iter().map(pair).collect();
        let summary = report::reproduction::Summary::of(&pairs);
        assert_eq!((summary.devices.figures, summary.informative.figures), (706, 337));
        let products: usize = summary.products.iter().map(|(_, score)| score.figures).sum();
        let classes: usize = summary.classes.iter().map(|(_, score)| score.figures).sum();
        assert_eq!((products, classes), (337, 337));
    }

    /// Each product has numbers and is held out; the whole is the sum of its products.
    #[test]
    fn the_fit_is_of_every_product() {
        let fit = fit().unwrap();
        assert_eq!(fit.products(), MODELS.map(|(product, _)| product));
        assert_eq!(fit.scores().count(), 7);
        for all in fit.scores() {
            let of_split = |line: &&report::fitted::HeldOut| {
                line.held_out == all.held_out && line.product != all.product
            };
            let sum = |of: fn(&report::fitted::HeldOut) -> usize| -> usize {
                fit.hold_outs.iter().filter(of_split).map(of).sum()
            };
            assert_eq!(sum(|line| line.figures), all.figures, "{}", all.held_out);
            assert_eq!(sum(|line| line.within_5_percent), all.within_5_percent);
        }
    }
}
