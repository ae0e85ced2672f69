//! Pictures of bars: groups below each other, each bar from zero to the right with its value at its end. So labels
//! and values stand level and have room, on a telephone, too.

use super::axis::{Axis, extent};
use super::chart::Chart;
use super::ink::Ink;
use maud::{Markup, html};
use method::outcome::{Bar, Bars, Origin};

/// Size of all text, and the mean width of a character of it.
const FONT: u32 = 28;
const CHARACTER: f64 = 15.4;
/// From bar to bar, and how much of that is bar.
const STEP: u32 = 36;
const THICKNESS: u32 = 28;
/// Between groups.
const GAP: u32 = 26;
/// Above the first group: what groups differ in. Below the last: the axis and its title.
const HEAD: u32 = 54;
const FOOT: u32 = 100;
/// How solid the bars of a document are; what is measured is solid.
const PALE: &str = "0.3";
/// Widths of the drawing: alone, one of two side by side, on a telephone.
const WIDE: u32 = Chart::WIDE.0;
const HALF: u32 = 900;
const NARROW: u32 = Chart::NARROW.0;

/// All of them, two side by side where there are several.
pub(super) fn pictures(all: &[Bars]) -> Markup {
    let drawn: Vec<&Bars> = all.iter().filter(|bars| bars.bars().next().is_some()).collect();
    html! {
        @match drawn[..] {
            [] => {}
            [alone] => (picture(alone, WIDE)),
            _ => div.pairs { @for bars in drawn { (picture(bars, HALF)) } },
        }
    }
}

/// One of them, with its legend and its source.
fn picture(bars: &Bars, width: u32) -> Markup {
    let names = names(bars);
    html! {
        figure {
            figcaption { (bars.chart) }
            (legend(bars, &names))
            (draw(bars, &names, NARROW, "plot chart narrow"))
            (draw(bars, &names, width, "plot chart"))
            p.about { (bars.source) }
        }
    }
}

/// What is measured, each once: the place of a name decides its colour.
fn names(bars: &Bars) -> Vec<&str> {
    let mut names: Vec<&str> = vec![];
    for bar in bars.bars() {
        if !names.contains(&&*bar.name) {
            names.push(&bar.name);
        }
    }
    names
}

fn ink_of(names: &[&str], bar: &Bar) -> Ink {
    Ink::Series(names.iter().position(|name| *name == bar.name).unwrap_or(0))
}

/// Every kind of bar once, in the order in which a group has them.
fn legend(bars: &Bars, names: &[&str]) -> Markup {
    let mut kinds: Vec<&Bar> = vec![];
    for bar in bars.bars() {
        if !kinds.iter().any(|known| (&known.name, known.origin) == (&bar.name, bar.origin)) {
            kinds.push(bar);
        }
    }
    html! {
        ul.legend {
            @for bar in kinds {
                li {
                    svg.plot.swatch viewBox="0 0 40 16" aria-hidden="true" {
                        (rectangle(ink_of(names, bar), bar.origin, [4.0, 2.0, 32.0, 12.0]))
                    }
                    " " (bar.name) ", " (bar.origin.in_words())
                }
            }
        }
    }
}

/// Published bars are pale with an outline, measured ones solid: told apart without colours, too.
fn rectangle(ink: Ink, origin: Origin, [x, y, width, height]: [f64; 4]) -> Markup {
    let colour = ink.light();
    let opacity = (origin == Origin::Published).then_some(PALE);
    html! {
        rect x=(x) y=(y) width=(round(width)) height=(height) fill=(colour) fill-opacity=[opacity]
            stroke=(colour) stroke-width="2" {}
    }
}

fn round(units: f64) -> f64 {
    (units * 10.0).round() / 10.0
}

/// Where things stand in a drawing, in its units.
struct Place {
    axis: Axis,
    left: f64,
    across: f64,
    height: u32,
}

impl Place {
    fn of(bars: &Bars, width: u32) -> Place {
        let widest = |texts: &mut dyn Iterator<Item = String>| {
            texts.map(|text| text.chars().count()).max().unwrap_or(0) as f64 * CHARACTER
        };
        let left = widest(&mut bars.groups.iter().map(|group| group.label.clone())) + 24.0;
        // The longest value may stand at the end of the longest bar.
        let room =
            widest(&mut bars.bars().filter(|it| it.value.value().is_some()).map(said)) + 24.0;
        let across = (f64::from(width) - left - room).max(120.0);
        let values = bars.bars().filter_map(|bar| bar.value.value());
        let most = extent(values).map_or(0.0, |(_, most)| most);
        let mut axis = Axis::from_zero(&bars.quantity.0, if most > 0.0 { most } else { 1.0 });
        // No room is left beyond the longest bar but for its value.
        axis.to = if most > 0.0 { most } else { axis.to };
        axis.ticks.retain(|(value, _)| *value <= axis.to);
        let steps = bars.bars().count() as u32 * STEP + bars.groups.len() as u32 * GAP;
        Place { axis: axis.with_room_for(across as u32), left, across, height: HEAD + steps + FOOT }
    }

    fn x(&self, value: f64) -> f64 {
        round(self.left + self.axis.position(value) * self.across)
    }

    /// Where bars end and the axis stands.
    fn base(&self) -> u32 {
        self.height - FOOT
    }
}

/// The value as it is printed beside its bar; why there is none.
fn said(bar: &Bar) -> String {
    match (bar.value.value(), bar.value.to_string()) {
        (None, words) if words == "-" || words.is_empty() => "no value".into(),
        (_, words) => words,
    }
}

fn draw(bars: &Bars, names: &[&str], width: u32, class: &str) -> Markup {
    let place = Place::of(bars, width);
    let height = place.height;
    html! {
        svg class=(class) viewBox=(format!("0 0 {width} {height}")) role="img" aria-label=(bars.chart)
            font-family="sans-serif" font-size=(FONT) {
            (axis(bars, &place, width))
            @for (group, top) in bars.groups.iter().zip(tops(bars)) {
                @let middle = top + group.bars.len() as u32 * STEP / 2 + FONT / 3;
                text x=(place.left - 14.0) y=(middle) text-anchor="end" fill=(Ink::Text.light()) {
                    (group.label)
                }
                @for (number, bar) in (0u32..).zip(&group.bars) {
                    (drawn(bars, &group.label, bar, (&place, top + number * STEP), ink_of(names, bar)))
                }
            }
        }
    }
}

/// Where each group begins.
fn tops(bars: &Bars) -> impl Iterator<Item = u32> {
    bars.groups.iter().scan(HEAD + GAP / 2, |top, group| {
        let at = *top;
        *top += group.bars.len() as u32 * STEP + GAP;
        Some(at)
    })
}

fn axis(bars: &Bars, place: &Place, width: u32) -> Markup {
    let (ink, grid, line) = (Ink::Text.light(), Ink::Grid.light(), Ink::Axis.light());
    let base = place.base();
    let middle = round(place.left + place.across / 2.0);
    // A long title has the whole width.
    let half = place.axis.title.chars().count() as f64 * CHARACTER / 2.0;
    let middle = middle.min(f64::from(width) - half).max(half);
    html! {
        text x="4" y=(FONT) fill=(ink) { (bars.grouped_by) }
        @for (value, label) in &place.axis.ticks {
            @let x = place.x(*value);
            @let colour = if *value == 0.0 { &line } else { &grid };
            line x1=(x) x2=(x) y1=(HEAD) y2=(base) stroke=(colour) stroke-width="2" {}
            text x=(x) y=(base + 34) text-anchor="middle" fill=(ink) { (label) }
        }
        text x=(round(middle)) y=(base + 80) text-anchor="middle" fill=(ink) { (place.axis.title) }
    }
}

/// A bar with its value; of a missing one a cross at zero, and why.
fn drawn(bars: &Bars, group: &str, bar: &Bar, (place, top): (&Place, u32), ink: Ink) -> Markup {
    let (zero, y) = (place.x(0.0), f64::from(top + (STEP - THICKNESS) / 2));
    let text_y = top + STEP / 2 + FONT / 3;
    let said = said(bar);
    let what = format!("{group}, {}, {}: {said}", bar.name, bar.origin.in_words());
    html! {
        @match bar.value.value() {
            Some(value) => {
                @let end = place.x(value);
                g.bar {
                    title { (what) " " (bars.quantity.1) }
                    (rectangle(ink, bar.origin, [zero, y, end - zero, f64::from(THICKNESS)]))
                }
                text x=(round(end + 10.0)) y=(text_y) fill=(Ink::Text.light()) { (said) }
            }
            None => {
                @let (x, middle) = (zero + 18.0, top + STEP / 2);
                g.missing {
                    title { (what) }
                    path d=(format!("M{} {}l16 16m0 -16l-16 16", x - 8.0, middle - 8))
                        stroke=(Ink::Invalid.light()) stroke-width="4" {}
                    text x=(x + 18.0) y=(text_y) fill=(Ink::Invalid.light()) { (said) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use method::outcome::Cell;

    fn of(values: &[[Cell; 2]]) -> Bars {
        let bars = Bars::new("Figure <9>", "Ports", ("Packets", "packets"), "A document, page 1");
        values.iter().enumerate().fold(bars, |bars, (number, [published, measured])| {
            let pair = Bar::pair("received", published.clone(), measured.clone());
            bars.group(format!("1x{number}"), [pair])
        })
    }

    /// The widths of all bars of the drawing that is as wide as that.
    fn widths(bars: &Bars, width: u32) -> Vec<f64> {
        let svg = draw(bars, &names(bars), width, "plot chart").into_string();
        let bars = svg.split("<g class=\"bar\">").skip(1);
        let width = |bar: &str| {
            let rest = bar.split_once(" width=\"").expect("a width").1;
            rest.split_once('"').expect("its end").0.parse().expect("a number")
        };
        bars.map(width).collect()
    }

    #[test]
    fn a_bar_is_drawn_for_each_value_and_lengths_are_in_proportion() {
        let count = Cell::Count;
        let bars = of(&[[count(400), count(100)], [count(50), count(0)]]);
        for width in [WIDE, HALF, NARROW] {
            let found = widths(&bars, width);
            assert_eq!(found.len(), 4, "{found:?}");
            // 100 is a quarter of 400, 50 an eighth, 0 nothing; widths are rounded to a tenth of a unit.
            let most = found[0];
            for (found, share) in found.iter().zip([1.0, 0.25, 0.125, 0.0]) {
                assert!((found - share * most).abs() <= 0.2, "{found} is not {share} of {most}");
            }
            assert!(most > f64::from(width) / 2.0 && most < f64::from(width), "{most}");
        }
    }

    #[test]
    fn a_missing_value_is_no_bar_and_says_why() {
        let bars = of(&[["not published".into(), Cell::Count(7)], [Cell::Count(9), Cell::none()]]);
        assert_eq!(widths(&bars, WIDE).len(), 2);
        let page = picture(&bars, WIDE).into_string();
        assert_eq!(page.matches("class=\"missing\"").count(), 2 * 2, "wide and narrow");
        for said in [
            "1x0, received, published: not published",
            "1x1, received, measured here: no value",
            "1x0, received, measured here: 7 packets",
            "Figure &lt;9&gt;",
            "A document, page 1",
        ] {
            assert!(page.contains(said), "{said}: {page}");
        }
    }

    /// A lower bound is drawn as long as it is, and says that it is one.
    #[test]
    fn a_lower_bound_says_so() {
        let bars = of(&[[Cell::Count(10), Cell::Count(5).at_least_if(true)]]);
        let found = widths(&bars, WIDE);
        assert!((found[1] - found[0] / 2.0).abs() <= 0.2, "{found:?}");
        assert!(picture(&bars, WIDE).into_string().contains("measured here: &gt;= 5 packets"));
    }

    /// What was published is pale and what was measured is solid; kinds stand in the legend once.
    #[test]
    fn origins_are_told_apart_without_colour() {
        let bars = of(&[[Cell::Count(1), Cell::Count(2)], [Cell::Count(3), Cell::Count(4)]]);
        let legend = legend(&bars, &names(&bars)).into_string();
        assert_eq!(
            (legend.matches("<li>").count(), legend.matches("fill-opacity").count()),
            (2, 1)
        );
        assert!(
            legend.contains("received, published") && legend.contains("received, measured here")
        );
        assert_eq!(pictures(&[]).into_string(), "");
    }
}
