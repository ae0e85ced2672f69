//! Published tables beside ours, figure by figure, and how far they are apart.

use crate::harvard::{RateCell, RateTable};
use std::fmt::Write;

/// Half of the figures are to be within this.
pub const MEDIAN_TARGET: f64 = 0.01;
/// And 95 % of them within this.
pub const WITHIN: f64 = 0.05;
/// See [`WITHIN`].
pub const WITHIN_TARGET: f64 = 0.95;

/// One published table and ours.
#[derive(Clone, Debug, PartialEq)]
pub struct TablePair {
    /// Which device.
    pub device: String,
    /// As it was published.
    pub published: RateTable,
    /// What our tests found, more columns perhaps.
    pub ours: RateTable,
}

/// One published figure and ours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FigurePair<'a> {
    /// Its table.
    pub table: &'a TablePair,
    /// Its line.
    pub frame_size: &'a str,
    /// Its column.
    pub column: &'a str,
    /// Frames a second, as published.
    pub published: f64,
    /// Frames a second here; `None` where our test came to nothing.
    pub ours: Option<f64>,
}

impl FigurePair<'_> {
    /// Ours over the published one, less one; where nothing was published to come out, 0 if nothing
    /// does and else 1.
    pub fn difference(&self) -> f64 {
        match (self.ours, self.published) {
            (None, _) => 1.0,
            (Some(ours), 0.0) => f64::from(u8::from(ours >= 1.0)),
            (Some(ours), published) => ours / published - 1.0,
        }
    }

    /// Whether it is what the device forwarded, and not the medium's or the tester's rate.
    pub fn is_devices(&self) -> bool {
        self.column.contains('_')
    }
}

impl TablePair {
    /// Device, protocol and path, as the original heads a table.
    pub fn heading(&self) -> String {
        format!("{} - {}", self.device, self.published.heading)
    }

    /// Every published figure, line by line.
    pub fn figures(&self) -> impl Iterator<Item = FigurePair<'_>> {
        self.published.rows.iter().flat_map(move |row| {
            let cells = self.published.columns.iter().zip(&row.cells);
            cells.filter_map(move |(column, cell)| {
                Some(FigurePair {
                    table: self,
                    frame_size: &row.frame_size,
                    column,
                    published: cell.fps()?,
                    ours: self.ours.cell(&row.frame_size, column).fps(),
                })
            })
        })
    }

    /// Columns that only ours has.
    fn more_columns(&self) -> Vec<&str> {
        let ours = self.ours.columns.iter().map(String::as_str);
        ours.filter(|column| !self.published.columns.iter().any(|known| known == column)).collect()
    }

    /// In the original's layout: under each published line ours, and the difference in percent.
    pub fn print(&self) -> String {
        let mut text = format!("{}\n\n", self.heading());
        let more = self.more_columns();
        let published = self.published.columns.iter().map(String::as_str);
        let columns: Vec<&str> = published.chain(more).collect();
        let line = |first: &str, cells: Vec<String>| {
            let cells: String = cells.iter().map(|cell| format!("{cell:>8}")).collect();
            format!("{first:<10}{cells}").trim_end().to_owned() + "\n"
        };
        text += &line("size", columns.iter().map(|column| column.to_string()).collect());
        for row in &self.published.rows {
            let size = &row.frame_size;
            let of = |table: &RateTable, column: &str| match table.cell(size, column) {
                RateCell::Missing if !table.columns.iter().any(|c| c == column) => String::new(),
                cell => cell.print(),
            };
            let published = columns.iter().map(|column| of(&self.published, column));
            let ours = columns.iter().map(|column| of(&self.ours, column));
            let difference = |column: &&str| {
                let mut figures = self.figures();
                let figure = figures.find(|f| f.frame_size == size && f.column == *column);
                figure.map_or(String::new(), |figure| match 100.0 * figure.difference() {
                    percent if percent.abs() < 0.05 => "=".into(),
                    percent => format!("{percent:+.1}%"),
                })
            };
            text += &line(size, published.collect());
            text += &line("   here", ours.collect());
            text += &line("   diff.", columns.iter().map(difference).collect());
        }
        text
    }
}

/// How far all figures are apart.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Summary {
    /// Tables compared.
    pub tables: usize,
    /// Figures compared.
    pub figures: usize,
    /// Half of them are no further apart, as a share.
    pub median_difference: f64,
    /// So many of them are within [`WITHIN`].
    pub within: usize,
    /// Those among them that a device forwarded: how many, and how many within [`WITHIN`].
    pub devices: (usize, usize),
}

impl Summary {
    /// Of these tables.
    pub fn of(tables: &[TablePair]) -> Self {
        let figures: Vec<FigurePair<'_>> = tables.iter().flat_map(TablePair::figures).collect();
        let mut apart: Vec<f64> = figures.iter().map(|figure| figure.difference().abs()).collect();
        apart.sort_by(f64::total_cmp);
        let is_near = |figure: &&FigurePair<'_>| figure.difference().abs() <= WITHIN;
        let devices = || figures.iter().filter(|figure| figure.is_devices());
        Summary {
            tables: tables.len(),
            figures: figures.len(),
            median_difference: apart.get(apart.len() / 2).copied().unwrap_or(1.0),
            within: figures.iter().filter(is_near).count(),
            devices: (devices().count(), devices().filter(is_near).count()),
        }
    }

    /// Whether both targets are met.
    pub fn is_met(&self) -> bool {
        self.median_difference <= MEDIAN_TARGET
            && self.within as f64 >= WITHIN_TARGET * self.figures as f64
    }

    /// One line.
    pub fn in_words(&self) -> String {
        let Summary { tables, figures, median_difference, within, devices } = self;
        let percent = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
        let mut text = format!(
            "{tables} tables, {figures} figures: median difference {:.2} % (target {} %), {within} \
             within {} % ({:.1} %, target {} %)",
            100.0 * median_difference,
            100.0 * MEDIAN_TARGET,
            100.0 * WITHIN,
            percent(*within, *figures),
            100.0 * WITHIN_TARGET,
        );
        let _ = write!(
            text,
            "; of the {} that a device forwarded {:.1} %: {}",
            devices.0,
            percent(devices.1, devices.0),
            if self.is_met() { "targets met" } else { "targets missed" },
        );
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harvard::RateRow;

    fn table(columns: &[&str], cells: &[RateCell]) -> RateTable {
        RateTable {
            heading: "TCP/IP - within interface card".into(),
            columns: columns.iter().map(|column| column.to_string()).collect(),
            rows: vec![RateRow { frame_size: "64".into(), cells: cells.to_vec() }],
        }
    }

    #[test]
    fn every_published_figure_is_laid_beside_ours() {
        use RateCell::{Fps, Missing};
        let columns = ["theo", "ip_max", "ip_fld", "1f_fld", "1f_max"];
        let published = [Fps(1_000.0), Fps(500.0), Fps(0.0), Missing, Fps(10.0)];
        let ours = [Fps(1_000.4), Fps(550.0), Fps(0.0), Fps(7.0), Missing];
        let pair = TablePair {
            device: "router".into(),
            published: table(&columns, &published),
            ours: table(&columns, &ours),
        };
        let figures: Vec<_> =
            pair.figures().map(|f| (f.column, (1e4 * f.difference()).round())).collect();
        let expected = [("theo", 4.0), ("ip_max", 1e3), ("ip_fld", 0.0), ("1f_max", 1e4)];
        assert_eq!(figures, expected);
        let summary = Summary::of(std::slice::from_ref(&pair));
        assert_eq!((summary.figures, summary.within, summary.devices), (4, 2, (3, 1)));
        assert!(!summary.is_met());
        let text = pair.print();
        assert!(text.contains("router - TCP/IP - within interface card"), "{text}");
        assert!(text.contains("64            1000     500       0       U      10"), "{text}");
        assert!(text.contains("   diff.         =  +10.0%       =         +100.0%"), "{text}");
    }
}
