//! One chart: axes, lines and bars as data, drawn as SVG by the plotting library, with
//! a legend and a hover text for each mark.

use super::axis::Axis;
use super::ink::Ink;
use maud::{Markup, PreEscaped, html};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Plot<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Axis, Axis>>;
type Drawn<T> = Result<T, Box<dyn std::error::Error>>;

/// Shape of a mark: series are told apart by it as well as by their colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mark {
    None,
    Circle,
    Square,
    Triangle,
    Diamond,
    Cross,
    /// Around the mark of another series that has the same value.
    Ring,
}

impl Mark {
    /// The shape of the n-th of several like series.
    pub fn of_series(number: usize) -> Mark {
        [Mark::Circle, Mark::Square, Mark::Triangle, Mark::Diamond][number % 4]
    }
}

/// A point with what a pointer over it is told.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub x: f64,
    pub y: f64,
    pub hover: String,
}

/// Points of one kind, joined or not.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub name: String,
    pub ink: Ink,
    pub mark: Mark,
    pub joined: bool,
    pub dashed: bool,
    pub points: Vec<Point>,
}

/// A bar standing on the x axis.
#[derive(Clone, Debug)]
pub(crate) struct Bar {
    pub from_x: f64,
    pub to_x: f64,
    pub y: f64,
    pub ink: Ink,
    pub hover: String,
}

/// A place of the drawing with its text.
struct Hover {
    x: i32,
    y: i32,
    text: String,
}

/// Everything that is drawn.
#[derive(Clone, Debug)]
pub(crate) struct Chart {
    /// Read out to those who do not see it.
    pub title: String,
    pub x: Axis,
    pub y: Axis,
    pub bars: Vec<Bar>,
    pub series: Vec<Series>,
    /// Draws marks small, because there are many.
    pub crowded: bool,
    /// Size of the drawing; lengths within it are in these units.
    pub size: (u32, u32),
}

impl Chart {
    /// As wide as the page.
    pub const WIDE: (u32, u32) = (1600, 720);
    /// One of two side by side.
    pub const HALF: (u32, u32) = (1000, 560);
    /// For a telephone.
    pub const NARROW: (u32, u32) = (760, 640);
    /// A chart with more points is drawn once, and moved sideways on a narrow screen.
    const POINTS_DRAWN_TWICE: usize = 400;

    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        let title = title.into();
        let (bars, series) = (vec![], vec![]);
        Chart { title, x, y, bars, series, crowded: false, size: Self::WIDE }
    }

    /// The drawing with its legend. What goes wrong is said in its place.
    pub fn render(&self) -> Markup {
        let points: usize = self.series.iter().map(|series| series.points.len()).sum();
        let narrow = (points <= Self::POINTS_DRAWN_TWICE)
            .then(|| self.narrow().draw("plot chart narrow").ok())
            .flatten();
        html! {
            @if self.series.len() > 1 { (self.legend()) }
            @if let Some(svg) = narrow { (PreEscaped(svg)) }
            @match self.draw("plot chart") {
                Ok(svg) => (PreEscaped(svg)),
                Err(error) => p.warning { "This chart could not be drawn: " (error) },
            }
        }
    }

    /// The same for a narrow screen, where fewer labels have room.
    fn narrow(&self) -> Chart {
        let size = Self::NARROW;
        let x = self.x.with_room_for(size.0 - self.y_label_area());
        Chart { size, x, ..self.clone() }
    }

    fn legend(&self) -> Markup {
        html! {
            ul.legend {
                @for series in &self.series {
                    li { (swatch(series)) " " (series.name) }
                }
            }
        }
    }

    fn draw(&self, class: &str) -> Drawn<String> {
        let mut svg = String::new();
        let hovers = {
            let root = SVGBackend::with_string(&mut svg, self.size).into_drawing_area();
            let hovers = self.draw_on(&root)?;
            root.present()?;
            hovers
        };
        let inner = svg.split_once('>').map_or("", |(_, inner)| inner);
        let inner = inner.rsplit_once("</svg>").map_or(inner, |(inner, _)| inner);
        let (width, height) = self.size;
        let whole = html! {
            svg class=(class) viewBox=(format!("0 0 {width} {height}")) role="img"
                aria-label=(self.title) {
                (PreEscaped(inner))
                @for hover in hovers {
                    circle.hover cx=(hover.x) cy=(hover.y) r="16" { title { (hover.text) } }
                }
            }
        };
        Ok(whole.into_string())
    }

    fn draw_on(&self, root: &Area<'_>) -> Drawn<Vec<Hover>> {
        let mut plot = ChartBuilder::on(root)
            .margin_top(18)
            .margin_right(40)
            .margin_left(12)
            .x_label_area_size(92)
            .y_label_area_size(self.y_label_area())
            .build_cartesian_2d(self.x.clone(), self.y.clone())?;
        self.draw_axes(&mut plot)?;
        for bar in &self.bars {
            let corners = [(bar.from_x, self.y.from), (bar.to_x, bar.y)];
            plot.draw_series([Rectangle::new(corners, bar.ink.rgb().filled())])?;
        }
        for series in &self.series {
            draw_series(&mut plot, series, if self.crowded { 5 } else { 9 })?;
        }
        let bars = self.bars.iter().map(|bar| (bar.middle(self.x.scale), bar.y, &bar.hover));
        let points = self.series.iter().flat_map(|series| &series.points);
        let points = points.map(|point| (point.x, point.y, &point.hover));
        let texts = bars.chain(points).filter(|(_, _, text)| !text.is_empty());
        let placed = texts.map(|(x, y, text)| {
            let (x, y) = plot.backend_coord(&(x, y));
            Hover { x, y, text: text.clone() }
        });
        Ok(placed.collect())
    }

    /// Room for the longest label and the axis' title.
    fn y_label_area(&self) -> u32 {
        let longest = self.y.ticks.iter().map(|(_, label)| label.chars().count()).max();
        70 + 14 * longest.unwrap_or(0) as u32
    }

    /// Of the axes' titles, so that the longer one has room.
    fn title_size(&self) -> f64 {
        /// Mean width of a character as a share of the font's size: wide for a sans-serif font.
        const CHARACTER: f64 = 0.58;
        let size = |title: &str, units: u32| {
            f64::from(units) / (CHARACTER * title.chars().count().max(1) as f64)
        };
        let across = self.size.0.saturating_sub(self.y_label_area());
        size(&self.x.title, across).min(size(&self.y.title, self.size.1)).min(31.0)
    }

    fn draw_axes(&self, plot: &mut Plot<'_, '_>) -> Drawn<()> {
        let text = |size: f64| ("sans-serif", size).into_font().color(&Ink::Text.rgb());
        plot.configure_mesh()
            .bold_line_style(Ink::Grid.rgb().stroke_width(2))
            .light_line_style(TRANSPARENT)
            .axis_style(Ink::Axis.rgb().stroke_width(2))
            .set_all_tick_mark_size(8)
            .x_label_style(text(30.0).pos(Pos::new(HPos::Center, VPos::Top)))
            .y_label_style(text(30.0))
            .axis_desc_style(text(self.title_size()))
            .x_desc(&self.x.title)
            .y_desc(&self.y.title)
            .draw()?;
        Ok(())
    }
}

impl Bar {
    fn middle(&self, scale: super::axis::Scale) -> f64 {
        match scale {
            super::axis::Scale::Linear => (self.from_x + self.to_x) / 2.0,
            super::axis::Scale::Log => (self.from_x * self.to_x).sqrt(),
        }
    }
}

/// `radius` is that of its marks.
fn draw_series(plot: &mut Plot<'_, '_>, series: &Series, radius: i32) -> Drawn<()> {
    let colour = series.ink.rgb();
    let points = || series.points.iter().map(|point| (point.x, point.y));
    if series.joined && series.dashed {
        plot.draw_series(DashedLineSeries::new(points(), 16, 10, colour.stroke_width(4)))?;
    } else if series.joined {
        plot.draw_series(LineSeries::new(points(), colour.stroke_width(5)))?;
    }
    let (fill, r) = (colour.filled(), radius);
    let polygon = |corners: &[(i32, i32)]| Polygon::new(corners.to_vec(), fill);
    match series.mark {
        Mark::None => {}
        Mark::Circle => {
            plot.draw_series(points().map(|at| Circle::new(at, r, fill)))?;
        }
        Mark::Triangle => {
            plot.draw_series(points().map(|at| TriangleMarker::new(at, r * 4 / 3, fill)))?;
        }
        Mark::Cross => {
            let stroke = colour.stroke_width(5);
            plot.draw_series(points().map(|at| Cross::new(at, r, stroke)))?;
        }
        Mark::Ring => {
            let stroke = colour.stroke_width(4);
            plot.draw_series(points().map(|at| Circle::new(at, r * 5 / 3, stroke)))?;
        }
        Mark::Square => {
            let square = || polygon(&[(-r, -r), (r, -r), (r, r), (-r, r)]);
            plot.draw_series(points().map(|at| EmptyElement::at(at) + square()))?;
        }
        Mark::Diamond => {
            let d = r * 4 / 3;
            let diamond = || polygon(&[(0, -d), (d, 0), (0, d), (-d, 0)]);
            plot.draw_series(points().map(|at| EmptyElement::at(at) + diamond()))?;
        }
    }
    Ok(())
}

/// A short line with the series' mark.
fn swatch(series: &Series) -> Markup {
    let colour = series.ink.light();
    html! {
        svg.plot.swatch viewBox="0 0 40 16" aria-hidden="true" {
            @if series.joined {
                line x1="2" y1="8" x2="38" y2="8" stroke=(colour) stroke-width="3"
                    stroke-dasharray=[series.dashed.then_some("8 5")] {}
            }
            @match series.mark {
                Mark::None => {}
                Mark::Circle => circle cx="20" cy="8" r="5" fill=(colour) {},
                Mark::Ring => circle cx="20" cy="8" r="6" fill="none" stroke=(colour) stroke-width="2.5" {},
                Mark::Square => rect x="15" y="3" width="10" height="10" fill=(colour) {},
                Mark::Triangle => polygon points="20,2 26,13 14,13" fill=(colour) {},
                Mark::Diamond => polygon points="20,1 27,8 20,15 13,8" fill=(colour) {},
                Mark::Cross => path d="M15 3 25 13M15 13 25 3" stroke=(colour) stroke-width="3" {},
            }
        }
    }
}
