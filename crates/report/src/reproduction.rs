//! Published tables beside ours, figure by figure, and how far they are apart.

use crate::harvard::{RateCell, RateTable};
use std::fmt::Write;

/// Half of the informative figures are to be within this.
pub const MEDIAN_TARGET: f64 = 0.01;
/// And 95 % of them within this.
pub const WITHIN: f64 = 0.05;
/// See [`WITHIN`].
pub const WITHIN_TARGET: f64 = 0.95;
/// A device that forwards a larger share of what its source sends tells nothing but the source's rate.
pub const INFORMATIVE: f64 = 0.98;

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

    /// What was sent to the device, as published: the rate of its source, else the medium's.
    fn source(&self) -> Option<f64> {
        let own = match self.column.split_once('_') {
            Some(("d1", _)) => "test1",
            Some(("d2", _)) => "test2",
            _ => "test",
        };
        let published = |column| self.table.published.cell(self.frame_size, column).fps();
        published(own).or_else(|| published("theo"))
    }

    /// Whether it tells something of the device: what it forwarded was less than its source sent.
    pub fn is_informative(&self) -> bool {
        self.is_devices()
            && self.source().is_none_or(|source| self.published < INFORMATIVE * source)
    }

    /// What kind of test it is of.
    pub fn class(&self) -> &'static str {
        match self.column.split_once('_') {
            Some(("d1" | "d2", _)) => "two streams",
            Some(("1f" | "10f", _)) => "filters",
            Some((_, "fld")) => "flood",
            _ => "max rate",
        }
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

/// How far some figures are apart.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Score {
    /// How many.
    pub figures: usize,
    /// Half of them are no further apart, as a share.
    pub median_difference: f64,
    /// So many of them are within [`WITHIN`].
    pub within: usize,
}

impl Score {
    /// Of these figures; of none, as far apart as can be.
    fn of<'a>(figures: impl Iterator<Item = FigurePair<'a>>) -> Self {
        let mut apart: Vec<f64> = figures.map(|figure| figure.difference().abs()).collect();
        apart.sort_by(f64::total_cmp);
        Score {
            figures: apart.len(),
            median_difference: apart.get(apart.len() / 2).copied().unwrap_or(1.0),
            within: apart.iter().filter(|apart| **apart <= WITHIN).count(),
        }
    }

    /// Percent of the figures that are within [`WITHIN`].
    pub fn percent_within(&self) -> f64 {
        100.0 * self.within as f64 / self.figures.max(1) as f64
    }

    fn in_words(&self) -> String {
        format!(
            "median difference {:.2} %, {} within {} % ({:.1} %)",
            100.0 * self.median_difference,
            self.within,
            100.0 * WITHIN,
            self.percent_within(),
        )
    }
}

/// How far our figures are from the published ones. What decides is what the devices did; figures that could
/// hardly be missed (the medium's rate, the source's, and what a device forwarded of a source that it outran) are
/// counted beside.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Summary {
    /// Tables compared.
    pub tables: usize,
    /// All figures.
    pub all: Score,
    /// Those that a device forwarded.
    pub devices: Score,
    /// Those among them that are informative.
    pub informative: Score,
    /// The informative ones of each product, in the order of the tables.
    pub products: Vec<(String, Score)>,
    /// The informative ones of each kind of test.
    pub classes: Vec<(&'static str, Score)>,
}

impl Summary {
    /// Of these tables.
    pub fn of(tables: &[TablePair]) -> Self {
        let figures = || tables.iter().flat_map(TablePair::figures);
        let informative = || figures().filter(FigurePair::is_informative);
        let mut products: Vec<&str> = tables.iter().map(|table| &*table.device).collect();
        products.dedup();
        let of_product = |product: &str| {
            Score::of(informative().filter(|figure| figure.table.device == product))
        };
        let of_class = |class| Score::of(informative().filter(|figure| figure.class() == class));
        let classes = ["max rate", "flood", "filters", "two streams"];
        let classes = classes.map(|class| (class, of_class(class)));
        Summary {
            tables: tables.len(),
            all: Score::of(figures()),
            devices: Score::of(figures().filter(FigurePair::is_devices)),
            informative: Score::of(informative()),
            products: products.iter().map(|it| ((*it).to_owned(), of_product(it))).collect(),
            classes: classes.into_iter().filter(|(_, score)| score.figures > 0).collect(),
        }
    }

    /// Whether both targets are met by the informative figures.
    pub fn is_met(&self) -> bool {
        let Score { figures, median_difference, within } = self.informative;
        median_difference <= MEDIAN_TARGET && within as f64 >= WITHIN_TARGET * figures as f64
    }

    /// The verdict, and beside it the measure that counts every cell.
    pub fn in_words(&self) -> String {
        format!(
            "{} informative figures (what a device forwarded, below {} % of its source): {}; targets {} % and {} % \
             {}. Every cell counted, {} tables with {} figures, the tester's own among them: {}; of the {} that a \
             device forwarded: {}",
            self.informative.figures,
            100.0 * INFORMATIVE,
            self.informative.in_words(),
            100.0 * MEDIAN_TARGET,
            100.0 * WITHIN_TARGET,
            if self.is_met() { "met" } else { "missed" },
            self.tables,
            self.all.figures,
            self.all.in_words(),
            self.devices.figures,
            self.devices.in_words(),
        )
    }

    /// The informative figures of each product, of each kind of test, and all.
    pub fn scores(&self) -> impl Iterator<Item = (&str, &Score)> {
        let products = self.products.iter().map(|(name, score)| (&**name, score));
        let classes = self.classes.iter().map(|(name, score)| (*name, score));
        products.chain(classes).chain([("all", &self.informative)])
    }

    /// The same, in lines.
    pub fn print(&self) -> String {
        let mut text = format!(
            "{:<40}{:>8}{:>10}{:>12}\n",
            "informative figures of", "figures", "median", "within 5 %"
        );
        for (name, score) in self.scores() {
            let median = format!("{:.2} %", 100.0 * score.median_difference);
            let within = format!("{:.0} %", score.percent_within());
            let _ = writeln!(text, "{name:<40}{:>8}{median:>10}{within:>12}", score.figures);
        }
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
        assert_eq!((summary.all.figures, summary.all.within), (4, 2));
        assert_eq!((summary.devices.figures, summary.devices.within), (3, 1));
        // Every one is below 98 % of 1,000.
        assert_eq!(summary.informative, summary.devices);
        assert!(!summary.is_met());
        let text = pair.print();
        assert!(text.contains("router - TCP/IP - within interface card"), "{text}");
        assert!(text.contains("64            1000     500       0       U      10"), "{text}");
        assert!(text.contains("   diff.         =  +10.0%       =         +100.0%"), "{text}");
    }

    /// What could hardly be missed decides nothing: here every cell but the device's own is right.
    #[test]
    fn the_testers_own_cells_meet_no_target() {
        use RateCell::Fps;
        let columns = ["theo", "test", "ip_max", "ip_fld", "1f_max"];
        let pair = TablePair {
            device: "router".into(),
            published: table(&columns, &[1_000.0, 900.0, 899.0, 890.0, 500.0].map(Fps)),
            ours: table(&columns, &[1_000.0, 900.0, 899.0, 890.0, 560.0].map(Fps)),
        };
        let summary = Summary::of(&[pair]);
        assert_eq!((summary.all.within, summary.all.figures), (4, 5));
        assert_eq!((summary.informative.within, summary.informative.figures), (0, 1));
        assert_eq!(summary.classes, [("filters", summary.informative)]);
        assert!(
            !summary.is_met() && summary.in_words().contains("missed"),
            "{}",
            summary.in_words()
        );
    }
}
