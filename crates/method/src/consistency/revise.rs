//! An outcome whose figures are intervals that hold the results of contradicting tests: in its figures, and in the
//! cells of its tables that show them.

use crate::outcome::{Basis, Cell, Layout, Origin, Relation, Unit};
use crate::{Figure, Outcome};
use units::FrameRate;

/// A figure that is to hold more than one result.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Wide {
    /// Its name.
    pub name: String,
    /// From the lowest result to the highest; infinite where none bounds it.
    pub interval: (f64, f64),
    /// What was measured first, and why it is no longer stated.
    pub why: String,
}

/// Columns of a table that are the medium's or the tester's, and never the device's.
const NOT_OF_DEVICE: [&str; 5] = ["theo", "test", "size", "frame size", "published"];

impl Outcome {
    /// The same with these figures as wide as that.
    pub(super) fn widened(mut self, all: &[Wide]) -> Outcome {
        let theoretical = self.conditions.theoretical_max.fps();
        for wide in all {
            let Some(at) = self.figures.iter().position(|figure| figure.name == wide.name) else {
                continue;
            };
            let old = self.figures[at].clone();
            // A share is as wide as its rate already.
            if old.is_revised() {
                continue;
            }
            let new = covering(&old, wide);
            for layout in &mut self.layouts {
                restate(layout, &old, &new, theoretical);
            }
            for figure in self.figures.iter_mut().filter(|figure| is_share_of(figure, &old)) {
                *figure = share_of(figure, &old, &new);
            }
            self.figures[at] = new;
        }
        let said = all.iter().map(|wide| format!("revised: {}: {}", wide.name, wide.why)).collect();
        self.noted(said)
    }

    /// The same with a note under its first table, each once.
    pub(super) fn noted(mut self, notes: Vec<String>) -> Outcome {
        if let Some(layout) = self.layouts.first_mut() {
            for note in notes {
                if !layout.notes.contains(&note) {
                    layout.notes.push(note);
                }
            }
        }
        self
    }
}

/// The figure as an interval, or as a lower bound where nothing bounds it from above.
fn covering(old: &Figure, wide: &Wide) -> Figure {
    let (low, high) = wide.interval;
    let relation = match high {
        f64::INFINITY => Relation::AtLeast,
        high if high > low => Relation::Between,
        _ => Relation::Equal,
    };
    Figure { relation, ..old.clone() }
        .valued(Some(low))
        .bounded(Some(wide.interval), Basis::Contradiction)
        .revised_because(&*wide.why)
}

/// Whether a figure is a share of a rate: `of theoretical`, `of max rate`.
fn is_share_of(figure: &Figure, rate: &Figure) -> bool {
    let is_share = figure.unit == Unit::Percent && figure.name.starts_with("of ");
    is_share && has_shares(rate) && figure.value.is_some() && !figure.is_revised()
}

/// Shares are those of the rate that a test is about, not of the load that was offered for it.
fn has_shares(rate: &Figure) -> bool {
    rate.unit == Unit::Fps && rate.known_as.is_some()
}

fn share_of(share: &Figure, old: &Figure, new: &Figure) -> Figure {
    let Some((value, rate)) = share.value.zip(old.value).filter(|(_, rate)| *rate > 0.0) else {
        return share.clone();
    };
    let scaled = |fps: f64| value * fps / rate;
    let (low, high) = new.bounds();
    let (interval, why) = ((scaled(low), scaled(high)), new.revised.clone());
    covering(share, &Wide { name: share.name.clone(), interval, why })
}

/// Cells that show the old figure, its share of the medium and the width of its interval show the new one.
fn restate(layout: &mut Layout, old: &Figure, new: &Figure, theoretical: f64) {
    let titles: Vec<String> =
        layout.columns.iter().map(|title| title.trim_start_matches('<').to_owned()).collect();
    for row in &mut layout.rows {
        let is_shown = |title: &str, cell: &Cell| is_of_device(title) && shows(cell, old);
        if !row.iter().zip(&titles).any(|(cell, title)| is_shown(title, cell)) {
            continue;
        }
        for (cell, title) in row.iter_mut().zip(&titles) {
            *cell = match &**title {
                title if is_shown(title, cell) => spanned(cell, new.bounds()),
                title if title.starts_with("resolution") => width(new),
                "verdict" => "revised".into(),
                title => share_cell(title, cell, old, new, theoretical),
            };
        }
    }
    let bars = layout.bars.iter_mut().flat_map(|bars| &mut bars.groups).flat_map(|it| &mut it.bars);
    let measured = bars.filter(|bar| bar.origin == Origin::Measured && shows(&bar.value, old));
    measured.for_each(|bar| bar.value = spanned(&bar.value, new.bounds()));
}

fn is_of_device(title: &str) -> bool {
    !NOT_OF_DEVICE.iter().any(|start| title.starts_with(start))
}

/// Whether a cell states this figure.
fn shows(cell: &Cell, figure: &Figure) -> bool {
    let value = figure.value.filter(|value| *value != 0.0);
    match cell {
        Cell::AtLeast(inner) | Cell::Below(inner) => shows(inner, figure),
        Cell::Between(low, high) => {
            (number_of(low), number_of(high)) == (figure.low, figure.high) && figure.low.is_some()
        }
        cell => value.is_some() && number_of(cell) == value,
    }
}

fn number_of(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Fps(rate) => Some(rate.fps()),
        Cell::Number { value, .. } => Some(*value),
        Cell::Count(count) => Some(*count as f64),
        Cell::Percent(percent) => Some(*percent),
        Cell::Time(time) => Some(time.as_ns_f64()),
        _ => None,
    }
}

/// The interval in the form of a cell.
fn spanned(like: &Cell, (low, high): (f64, f64)) -> Cell {
    let of = |value: f64| in_form_of(like, value);
    match high {
        f64::INFINITY => of(low).at_least_if(true),
        high => Cell::between(of(low), of(high)),
    }
}

fn in_form_of(like: &Cell, value: f64) -> Cell {
    match like {
        Cell::AtLeast(inner) | Cell::Below(inner) | Cell::Between(inner, _) => {
            in_form_of(inner, value)
        }
        Cell::Fps(_) => Cell::Fps(FrameRate::from_fps_f64(value)),
        Cell::Number { decimals, .. } => Cell::number(value, *decimals),
        Cell::Percent(_) => Cell::Percent(value),
        Cell::Time(_) => Cell::number(value / 1e3, 3),
        _ => Cell::number(value, 0),
    }
}

fn width(new: &Figure) -> Cell {
    let (low, high) = new.bounds();
    Cell::optional((high - low).is_finite().then_some(high - low), |fps| {
        Cell::number(fps.ceil(), 0)
    })
}

/// A cell that is the share of the old figure in something: of the medium's maximum, of the max rate.
fn share_cell(title: &str, cell: &Cell, old: &Figure, new: &Figure, theoretical: f64) -> Cell {
    let is_share = has_shares(old) && (title.starts_with("of ") || title.starts_with("% of "));
    let Some(rate) = old.value.filter(|rate| is_share && *rate > 0.0) else { return cell.clone() };
    let (low, high) = new.bounds();
    let of = |share: f64, fps: f64| share * fps / rate;
    match cell {
        Cell::Share(_) => {
            let share = |fps: f64| Cell::Share(100.0 * fps / theoretical);
            match high {
                f64::INFINITY => share(low).at_least_if(true),
                high => Cell::between(share(low), share(high)),
            }
        }
        Cell::Number { value, decimals } if high.is_finite() => Cell::between(
            Cell::number(of(*value, low), *decimals),
            Cell::number(of(*value, high), *decimals),
        ),
        _ => cell.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{Bar, Bars, FigureName};

    /// What a document published is not what is revised, however alike; bars follow their figure.
    #[test]
    fn published_values_are_not_revised() {
        let rate = || Cell::number(10.0, 0);
        let bars = Bars::new("F", "Ports", ("Rate", "fps"), "A document");
        let bars = bars.group("1", [Bar::pair("rate", rate(), rate())]);
        let mut layout = Layout::new("T", vec![], &["here: rate", "published: rate"])
            .row([rate(), rate()])
            .with_bars([bars]);
        let old = Figure::single("rate", Unit::Fps, 10.0).called(FigureName::Throughput);
        let wide = Wide { name: "rate".into(), interval: (8.0, 12.0), why: "twice".into() };
        restate(&mut layout, &old, &covering(&old, &wide), 100.0);
        let printed = |cells: &[Cell]| cells.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(printed(&layout.rows[0]), ["8 .. 12", "10"]);
        let values: Vec<Cell> = layout.bars[0].bars().map(|bar| bar.value.clone()).collect();
        assert_eq!(printed(&values), ["10", "8 .. 12"]);
    }
}
