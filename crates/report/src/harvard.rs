//! The tables of the router tests of 1990 (Harvard University): frames a second by frame size, a
//! table for each protocol and path, with the columns of the original (`theo`, `test`, `ip_max`,
//! `ip_fld`, `1f_max`, ...).

use method::harvard::{HarvardResult, MaxRateResult, RawRateResult, Setting};
use method::{Finding, TestResult};
use units::FrameRate;

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct RateTable {
    /// Protocol and path: "TCP/IP - between interface cards".
    pub heading: String,
    /// Names of the columns after the size.
    pub columns: Vec<String>,
    /// Smallest frames first, as they were run.
    pub rows: Vec<RateRow>,
}

/// A line of it.
#[derive(Clone, Debug, PartialEq)]
pub struct RateRow {
    /// Frame size, as it was asked for.
    pub frame_size: String,
    /// Frames a second, a cell a column.
    pub cells: Vec<RateCell>,
}

/// A figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RateCell {
    /// Not taken.
    Missing,
    /// Frames a second.
    Fps(f64),
    /// What the tester's sources offer at most, and the device carries: it may carry more.
    AtLeast(f64),
    /// The tester did not keep up: nothing is known.
    Invalid,
}

impl RateCell {
    /// Frames a second, where there are any.
    pub fn fps(self) -> Option<f64> {
        match self {
            RateCell::Fps(fps) | RateCell::AtLeast(fps) => Some(fps),
            RateCell::Missing | RateCell::Invalid => None,
        }
    }
    /// As the tables of 1990 print it.
    pub fn print(self) -> String {
        match self {
            // Truncated like the theory: a device at the medium's rate is not above it.
            RateCell::Fps(fps) | RateCell::AtLeast(fps) => format!("{:.0}", (fps + 1e-6).floor()),
            RateCell::Missing => "U".into(),
            RateCell::Invalid => "invalid".into(),
        }
    }
}

/// The tables of these results, in the order in which they came.
pub fn rate_tables<'a>(results: impl IntoIterator<Item = &'a TestResult>) -> Vec<RateTable> {
    let mut tables: Vec<RateTable> = vec![];
    for result in results {
        let TestResult::Harvard(result) = result else { continue };
        match result {
            HarvardResult::MaxRate(result) => max_rate(&mut tables, result),
            HarvardResult::RawRate(result) => raw_rate(&mut tables, result),
            HarvardResult::Delay(_) => {}
        }
    }
    tables
}

fn max_rate(tables: &mut Vec<RateTable>, result: &MaxRateResult) {
    let MaxRateResult { setting, conditions, found } = result;
    let table = table_of(tables, setting);
    let size = &conditions.frame_size;
    table.put(size, "theo", theory(conditions.theoretical_max));
    if let Some(rate) = conditions.tester_max.filter(|_| setting.streams == 1) {
        table.put(size, "test", RateCell::Fps(rate.fps()));
    }
    let rate = found.rate.map_or(0.0, FrameRate::fps);
    let cell = match found.finding {
        Finding::Invalid { .. } => RateCell::Invalid,
        Finding::AtLeast { .. } => RateCell::AtLeast(rate),
        _ => RateCell::Fps(rate),
    };
    let column = if setting.streams > 1 { "d_max".into() } else { setting.column("max", 0) };
    table.put(size, &column, cell);
}

fn raw_rate(tables: &mut Vec<RateTable>, result: &RawRateResult) {
    let RawRateResult { setting, conditions, streams, .. } = result;
    let table = table_of(tables, setting);
    let size = &conditions.frame_size;
    table.put(size, "theo", theory(conditions.theoretical_max));
    for (number, stream) in streams.iter().enumerate() {
        let name = if setting.streams > 1 { format!("test{}", number + 1) } else { "test".into() };
        table.put(size, &name, RateCell::Fps(stream.offered.fps()));
    }
    for number in 0..setting.streams {
        let forwarded = streams.get(number).map(|stream| stream.forwarded.fps());
        let cell = forwarded.map_or(RateCell::Invalid, RateCell::Fps);
        table.put(size, &setting.column("fld", number), cell);
    }
}

/// Truncated, as RFC 2544 appendix B does and the tables of 1990 did.
fn theory(rate: FrameRate) -> RateCell {
    RateCell::Fps(rate.fps_truncated() as f64)
}

fn table_of<'a>(tables: &'a mut Vec<RateTable>, setting: &Setting) -> &'a mut RateTable {
    let heading = setting.heading();
    let at = tables.iter().position(|table| table.heading == heading);
    let at = at.unwrap_or_else(|| {
        tables.push(RateTable { heading, columns: vec![], rows: vec![] });
        tables.len() - 1
    });
    &mut tables[at]
}

impl RateTable {
    /// The figure of a size and column.
    pub fn cell(&self, frame_size: &str, column: &str) -> RateCell {
        let row = self.rows.iter().find(|row| row.frame_size == frame_size);
        let at = self.columns.iter().position(|known| known == column);
        row.zip(at).map_or(RateCell::Missing, |(row, at)| row.cells[at])
    }

    fn put(&mut self, frame_size: &str, column: &str, cell: RateCell) {
        let at = self.columns.iter().position(|known| known == column).unwrap_or_else(|| {
            self.columns.push(column.into());
            self.rows.iter_mut().for_each(|row| row.cells.push(RateCell::Missing));
            self.columns.len() - 1
        });
        let row = self.rows.iter().position(|row| row.frame_size == frame_size);
        let row = row.unwrap_or_else(|| {
            let cells = vec![RateCell::Missing; self.columns.len()];
            self.rows.push(RateRow { frame_size: frame_size.into(), cells });
            self.rows.len() - 1
        });
        self.rows[row].cells[at] = cell;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_put_where_its_size_and_column_are() {
        let mut table = RateTable { heading: "h".into(), columns: vec![], rows: vec![] };
        table.put("64", "ip_max", RateCell::Fps(1.0));
        table.put("128", "ip_max", RateCell::Fps(2.0));
        table.put("64", "ip_fld", RateCell::AtLeast(3.4));
        assert_eq!(table.columns, ["ip_max", "ip_fld"]);
        assert_eq!(table.cell("64", "ip_fld").print(), "3");
        assert_eq!(table.cell("128", "ip_max").fps(), Some(2.0));
        assert_eq!(table.cell("128", "ip_fld"), RateCell::Missing);
        assert_eq!(table.cell("256", "ip_max").print(), "U");
    }
}
