//! A page of line charts with a text before them, for results that come from no run of trials.

use super::axis::{Axis, extent};
use super::chart::{Chart, Mark, Point, Series};
use super::ink::Ink;
use maud::{Markup, html};

/// Data that begin within this share of their end have an axis from zero.
const NEAR_ZERO: f64 = 0.25;

/// A named line.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// In the legend.
    pub name: String,
    /// x and y, in the order in which they are joined.
    pub points: Vec<(f64, f64)>,
    /// Marks that are not joined, in the colour of the line before: what somebody else measured.
    pub is_marks: bool,
}

/// Lines over two axes that begin at zero; that of x only where the data begin near it.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    /// Above it.
    pub title: String,
    /// Of the x axis, with its unit.
    pub x: String,
    /// Of the y axis, with its unit.
    pub y: String,
    /// The data.
    pub lines: Vec<Line>,
}

impl Figure {
    fn chart(&self) -> Chart {
        let all = || self.lines.iter().flat_map(|line| &line.points);
        let most =
            |values: &mut dyn Iterator<Item = f64>| extent(values).map_or(1.0, |both| both.1);
        let xs = || all().map(|point| point.0);
        let x = match extent(xs()) {
            Some((least, most)) if least > NEAR_ZERO * most => {
                Axis::around(&self.x, xs(), |value| format!("{value}"))
            }
            _ => Axis::from_zero(&self.x, most(&mut xs())),
        };
        let y = Axis::from_zero(&self.y, most(&mut all().map(|point| point.1)));
        let mut lines = 0usize;
        let series = |line: &Line| {
            lines += usize::from(!line.is_marks);
            let number = lines.saturating_sub(1);
            Series {
                name: line.name.clone(),
                ink: Ink::Series(number),
                mark: if line.is_marks { Mark::of_series(number) } else { Mark::None },
                joined: !line.is_marks,
                dashed: number > 0 && number.is_multiple_of(2),
                points: line
                    .points
                    .iter()
                    .map(|(x, y)| Point { x: *x, y: *y, hover: String::new() })
                    .collect(),
            }
        };
        Chart {
            series: self.lines.iter().map(series).collect(),
            crowded: !self.lines.iter().any(|line| line.is_marks),
            ..Chart::new(self.title.clone(), x, y)
        }
    }
}

/// Rows under a heading.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// Above it: what the cells say.
    pub head: String,
    /// Cells.
    pub rows: Vec<Row>,
}

/// Cells from left to right.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// Kept on one line each, with their spaces, so that figures stand below each other.
    pub cells: Vec<String>,
    /// At the right, in as many lines as it takes.
    pub verdict: String,
    /// Whether that is a bad one.
    pub bad: bool,
}

impl Table {
    fn render(&self) -> Markup {
        html! {
            section {
                p { (self.head) }
                div class="scroll" {
                    table class="lines" {
                        @for row in &self.rows {
                            tr {
                                @for cell in &row.cells { td class="whole" { (cell) } }
                                td class=[row.bad.then_some("bad")] { (row.verdict) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The page: tables, a last word on them, then the figures, then what is to be looked up.
pub fn page(
    title: &str,
    tables: &[Table],
    closing: &str,
    figures: &[Figure],
    appendix: &[Table],
) -> String {
    let body = html! {
        header { h1 { (title) } }
        main {
            @for table in tables { (table.render()) }
            p { (closing) }
            @for figure in figures {
                section { h2 { (figure.title) } (figure.chart().render()) }
            }
            @for table in appendix { (table.render()) }
        }
    };
    super::page(title, body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_drawn_and_named_and_nothing_is_markup() {
        let line = |name: &str| Line {
            name: name.into(),
            points: vec![(0.0, 1.0), (2.0, 3.0)],
            is_marks: false,
        };
        let lines = vec![line("first"), line("<second>")];
        let (x, y) = ("Time (s)".into(), "Rate (Mb/s)".into());
        let figure = Figure { title: "A & B".into(), x, y, lines };
        let row = |verdict: &str, bad| Row {
            cells: vec!["  1 < 2".into(), "3".into()],
            verdict: verdict.into(),
            bad,
        };
        let rows = vec![row("PASS", false), row("MISSED: queue", true)];
        let table = Table { head: "Of two".into(), rows };
        let page = page("T", &[table], "over", &[figure], &[]);
        let cells = "<td class=\"whole\">  1 &lt; 2</td><td class=\"whole\">3</td>";
        let last = "<td class=\"bad\">MISSED: queue</td>";
        let said = ["Of two", "<td>PASS</td>", cells, last, "<p>over</p>"];
        for text in ["first", "&lt;second&gt;", "A &amp; B", "Time (s)"].iter().chain(&said) {
            assert!(page.contains(text), "{text}");
        }
        let (x, y) = ("Time (s)".into(), "Rate (Mb/s)".into());
        let alone = Figure { title: "A".into(), x, y, lines: vec![line("first")] };
        let drawn = |page: &str| page.matches("<polyline").count();
        let marks = Line { is_marks: true, ..line("published") };
        let (x, y) = ("Time (s)".into(), "Rate (Mb/s)".into());
        let both = Figure { title: "A".into(), x, y, lines: vec![line("first"), marks] };
        let both = super::page("T", &[], "", &[both], &[]);
        assert!(both.matches("<circle").count() > 2, "marks");
        let alone = super::page("T", &[], "", &[alone], &[]);
        assert!(drawn(&page) > drawn(&alone));
        assert_eq!(drawn(&both), drawn(&alone), "marks are not joined");
    }
}
