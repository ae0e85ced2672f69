//! Why figures of 1990 are not explained by the models, in words; each remark has a check that the published figures
//! must bear out, cell by cell, before it is a reason.

use crate::failure::{Failure, Outcome};
use report::harvard::RateTable;
use serde::Deserialize;

const REMARKS: &str = include_str!("../../../data/harvard-1990-remarks.csv");
/// A figure that equals the rate of its source: printed rates of one source differ by less.
const EQUAL: f64 = 0.005;

/// Why figures cannot be explained by the model.
#[derive(Clone, Debug, Deserialize)]
pub struct Remark {
    /// The product.
    device: String,
    /// Beginning of the table's heading; empty for every table.
    heading: String,
    /// Columns, separated by spaces; empty for every column.
    columns: String,
    /// Frame sizes, separated by spaces; empty for every size.
    sizes: String,
    /// What must hold of a figure: a name, and perhaps a number of percent or times.
    check: String,
    /// The reason, in words.
    pub reason: String,
}

/// Reasons for what the models do not explain.
pub fn all() -> Outcome<Vec<Remark>> {
    let mut reader = csv::Reader::from_reader(REMARKS.as_bytes());
    reader.deserialize().map(|remark| remark.map_err(Failure::new)).collect()
}

/// A figure and those that it is held against.
struct Beside<'a> {
    /// Every table of its device.
    tables: &'a [&'a RateTable],
    table: &'a RateTable,
    column: &'a str,
    size: &'a str,
}

impl Beside<'_> {
    fn own(&self) -> Option<f64> {
        self.in_line(self.column)
    }

    fn in_line(&self, column: &str) -> Option<f64> {
        self.table.cell(self.size, column).fps()
    }

    /// Max and flood of what the column is about.
    fn max_and_flood(&self) -> Option<(f64, f64)> {
        let (what, _) = self.column.split_once('_')?;
        Some((self.in_line(&format!("{what}_max"))?, self.in_line(&format!("{what}_fld"))?))
    }

    /// In the table of this protocol, on the same path unless another is asked for.
    fn elsewhere(&self, mode: &str, same_path: bool, column: &str) -> Option<f64> {
        let path_of = |table: &RateTable| Some(table.heading.split_once(" - ")?.1.to_owned());
        let own = path_of(self.table);
        let alike = |table: &&&RateTable| {
            table.heading.starts_with(&format!("{mode} - ")) && (path_of(table) == own) == same_path
        };
        self.tables.iter().find(alike)?.cell(self.size, column).fps()
    }

    fn source(&self) -> Option<f64> {
        let own = match self.column.split_once('_') {
            Some(("d1", _)) => "test1",
            Some(("d2", _)) => "test2",
            _ => "test",
        };
        self.in_line(own)
    }

    fn both_streams(&self) -> Option<(f64, f64)> {
        Some((self.in_line("d1_fld")?, self.in_line("d2_fld")?))
    }

    /// `None` where a figure that the check needs was not published, or the check has no such name.
    fn holds(&self, check: &str) -> Option<bool> {
        let (name, number) = check.split_once(' ').unwrap_or((check, "0"));
        let number: f64 = number.parse().ok()?;
        let share = number / 100.0;
        let own = self.own()?;
        Some(match name {
            "below-flood" => {
                let (max, flood) = self.max_and_flood()?;
                self.column.ends_with("_max") && max <= (1.0 - share) * flood
            }
            "flood-below-max" => {
                let (max, flood) = self.max_and_flood()?;
                flood <= (1.0 - share) * max
            }
            "equals-source" => (own / self.source()? - 1.0).abs() <= EQUAL,
            "above-medium" => own > self.in_line("theo")?,
            "above-single" => own > self.elsewhere("TCP/IP", true, "ip_max")?,
            "above-ip" => {
                let ip = |column| self.elsewhere("TCP/IP", true, column);
                let (_, flood) = self.max_and_flood()?;
                own >= (1.0 + share) * ip("ip_max")? && (flood / ip("ip_fld")? - 1.0).abs() <= 0.01
            }
            "streams-differ" => {
                let (first, second) = self.both_streams()?;
                first.max(second) / first.min(second) - 1.0 >= share
            }
            "together-below-max" => {
                let (first, second) = self.both_streams()?;
                first + second < self.elsewhere("TCP/IP", true, "ip_max")?
            }
            "together-times" => {
                let (first, second) = self.both_streams()?;
                first + second >= number * self.elsewhere("TCP/IP", true, "ip_max")?
            }
            "like-one-filter" => {
                let (_, kind) = self.column.split_once('_')?;
                (own / self.in_line(&format!("1f_{kind}"))? - 1.0).abs() <= share
            }
            "scatter" => {
                let apart = |a: f64, b: f64| a.max(b) / a.min(b) - 1.0 >= share;
                let mode = self.table.heading.split(" - ").next()?;
                let line = self.max_and_flood().is_some_and(|(max, flood)| apart(max, flood));
                let other = self.elsewhere(mode, false, self.column);
                line || other.is_some_and(|other| apart(own, other))
            }
            _ => return None,
        })
    }
}

impl Remark {
    /// Whether it is about this figure.
    pub fn is_about(&self, device: &str, heading: &str, column: &str, size: &str) -> bool {
        let names = |list: &str, name: &str| list.is_empty() || list.split(' ').any(|n| n == name);
        self.device == device
            && heading.starts_with(&self.heading)
            && names(&self.columns, column)
            && names(&self.sizes, size)
    }

    /// Whether the published figures bear it out, for the figure of this column and size; `tables` are all of its
    /// device.
    pub fn holds(
        &self,
        tables: &[&RateTable],
        table: &RateTable,
        column: &str,
        size: &str,
    ) -> bool {
        Beside { tables, table, column, size }.holds(&self.check) == Some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::super::published;
    use super::*;
    use report::harvard::{RateCell, RateRow};

    /// Those that name their figures hold of each of them; the others of one at least.
    #[test]
    fn remarks_are_borne_out_by_the_published_figures() {
        let published = published::tables().unwrap();
        for remark in all().unwrap() {
            let own = published.iter().filter(|published| published.device == remark.device);
            let beside: Vec<&RateTable> = own.map(|published| &published.table).collect();
            let mut found = vec![];
            for table in &beside {
                for (row, column) in
                    table.rows.iter().flat_map(|row| table.columns.iter().map(move |c| (row, c)))
                {
                    let size = &row.frame_size;
                    if remark.is_about(&remark.device, &table.heading, column, size) {
                        found.push(remark.holds(&beside, table, column, size));
                    }
                }
            }
            let is_named = !remark.columns.is_empty() && !remark.sizes.is_empty();
            assert!(found.contains(&true), "{remark:?}: {found:?}");
            assert!(!is_named || !found.contains(&false), "{remark:?}: {found:?}");
        }
    }

    fn table(heading: &str, columns: &[&str], cells: &[f64]) -> RateTable {
        let cells = cells.iter().map(|fps| RateCell::Fps(*fps)).collect();
        RateTable {
            heading: heading.into(),
            columns: columns.iter().map(|column| (*column).to_owned()).collect(),
            rows: vec![RateRow { frame_size: "64".into(), cells }],
        }
    }

    /// One figure to either side of what each check asks for.
    #[test]
    fn a_check_fails_where_the_figures_do_not_bear_it_out() {
        let columns =
            ["theo", "test", "ip_max", "ip_fld", "1f_max", "1f_fld", "10f_max", "10f_fld"];
        let within = table(
            "TCP/IP - within",
            &columns,
            &[1e3, 900.0, 500.0, 450.0, 88.0, 100.0, 87.0, 120.0],
        );
        let other = table(
            "TCP/IP - between",
            &columns,
            &[1e3, 900.0, 570.0, 440.0, 95.0, 95.0, 94.0, 94.0],
        );
        let dual = ["theo", "test1", "test2", "d1_fld", "d2_fld"];
        let dual = table("Dual IP Streams - within", &dual, &[1e3, 900.0, 950.0, 897.0, 600.0]);
        let few = ["theo", "test1", "test2", "d1_fld", "d2_fld"];
        let few = table("Dual IP Streams - between", &few, &[200.0, 190.0, 190.0, 210.0, 300.0]);
        let ipx = table("IPX - within", &["ipx_max", "ipx_fld"], &[530.0, 451.0]);
        let tables = [&within, &other, &dual, &few, &ipx];
        let holds = |table, column, check| {
            Beside { tables: &tables, table, column, size: "64" }.holds(check)
        };
        for (table, column, check, expected) in [
            (&within, "1f_max", "below-flood 12", true),
            (&within, "1f_max", "below-flood 13", false),
            (&within, "1f_fld", "below-flood 12", false),
            (&within, "ip_fld", "flood-below-max 10", true),
            (&within, "ip_fld", "flood-below-max 11", false),
            (&dual, "d1_fld", "equals-source", true),
            (&dual, "d2_fld", "equals-source", false),
            (&dual, "d1_fld", "above-medium", false),
            (&few, "d1_fld", "above-medium", true),
            (&few, "d1_fld", "above-single", false),
            (&few, "d1_fld", "together-below-max", true),
            (&dual, "d2_fld", "above-single", true),
            (&dual, "d1_fld", "streams-differ 49", true),
            (&dual, "d1_fld", "streams-differ 50", false),
            (&dual, "d1_fld", "together-below-max", false),
            (&dual, "d1_fld", "together-times 2", true),
            (&dual, "d1_fld", "together-times 3", false),
            (&ipx, "ipx_max", "above-ip 5", true),
            (&ipx, "ipx_max", "above-ip 7", false),
            (&within, "10f_max", "like-one-filter 2", true),
            (&within, "10f_fld", "like-one-filter 2", false),
            (&within, "ip_max", "scatter 12", true),
            (&within, "1f_max", "scatter 14", false),
        ] {
            assert_eq!(holds(table, column, check), Some(expected), "{column} {check}");
        }
        assert_eq!(holds(&within, "ip_max", "no such check"), None);
    }
}
