//! What came of each pair of ports, as heat maps: loss, rate, latency.

use super::axis::extent;
use crate::number::grouped_f64;
use maud::{Markup, html};
use method::chassis::{PairCount, PortMatrix};

/// From where on a colour begins.
#[derive(Clone, Copy)]
enum Calm {
    /// Nothing at all is calm: the colour grows with the value, up to so much.
    Zero { full_at: f64 },
    /// The best value of the matrix is calm: the colour grows with the share that is missing from it, up to half.
    Highest,
    /// The least value is calm: the colour grows with the factor above it, up to tenfold.
    Lowest,
}

impl Calm {
    /// How strong the colour of a value is, 0 to 1, among values from `low` to `high`.
    fn strength(self, value: f64, (low, high): (f64, f64)) -> f64 {
        let share = match self {
            // The first lost frame is seen, and so is the difference between few and many.
            Calm::Zero { full_at } if value > 0.0 => 0.25 + 0.75 * value / full_at,
            Calm::Zero { .. } => 0.0,
            Calm::Highest if high > 0.0 => (1.0 - value / high) * 2.0,
            Calm::Lowest if low > 0.0 => (value / low).log10(),
            Calm::Highest | Calm::Lowest => 0.0,
        };
        share.clamp(0.0, 1.0)
    }
}

/// One of the maps.
struct Map {
    title: &'static str,
    value: fn(&PairCount, seconds: f64) -> Option<f64>,
    decimals: usize,
    calm: Calm,
    /// The colour of what deserves a look: red, green, blue.
    rgb: &'static str,
}

const MAPS: [Map; 3] = [
    Map {
        title: "loss, %",
        value: |pair, _| Some(pair.loss_ratio() * 100.0),
        decimals: 1,
        calm: Calm::Zero { full_at: 50.0 },
        rgb: "179,38,30",
    },
    Map {
        title: "received, frames/s",
        value: |pair, seconds| (seconds > 0.0).then(|| pair.received as f64 / seconds),
        decimals: 0,
        calm: Calm::Highest,
        rgb: "11,95,166",
    },
    Map {
        title: "mean latency, us",
        value: |pair, _| pair.latency_mean.map(|latency| latency.as_ps() as f64 / 1e6),
        decimals: 2,
        calm: Calm::Lowest,
        rgb: "183,121,31",
    },
];

/// Above so many ports numbers no longer fit, and stand in each field's title alone.
const NUMBERS_UP_TO: usize = 12;

/// How much of a colour the strongest field has: its number can still be read.
const FULL: f64 = 0.7;

/// The maps of a matrix.
pub(super) fn maps(title: &str, matrix: &PortMatrix) -> Markup {
    html! {
        details open[matrix.ports <= NUMBERS_UP_TO] {
            summary { "Port by port: " (title) }
            div.maps { @for map in &MAPS { (heat_map(map, matrix)) } }
            @if matrix.flooded.iter().any(|flooded| *flooded > 0) {
                p.about {
                    "Frames that came out at a port where they do not belong: "
                    @for (port, flooded) in matrix.flooded.iter().enumerate() {
                        @if *flooded > 0 { "port " (port) ": " (flooded) "; " }
                    }
                }
            }
        }
    }
}

fn heat_map(map: &Map, matrix: &PortMatrix) -> Markup {
    let seconds = matrix.duration.as_secs_f64();
    let values = matrix.pairs.iter().filter_map(|pair| (map.value)(pair, seconds));
    let extent = extent(values).unwrap_or_default();
    let ports = 0..matrix.ports as u16;
    html! {
        figure.map {
            figcaption { (map.title) ", from (rows) to (columns)" }
            table {
                tr { th {} @for to in ports.clone() { th scope="col" { (to) } } }
                @for from in ports.clone() {
                    tr {
                        th scope="row" { (from) }
                        @for to in ports.clone() { (field(map, matrix, (from, to), extent)) }
                    }
                }
            }
        }
    }
}

fn field(map: &Map, matrix: &PortMatrix, (from, to): (u16, u16), extent: (f64, f64)) -> Markup {
    let pair = matrix.pair(from, to);
    let value = pair.and_then(|pair| (map.value)(pair, matrix.duration.as_secs_f64()));
    let Some((pair, value)) = pair.zip(value) else { return html! { td {} } };
    let strength = map.calm.strength(value, extent) * FULL;
    let title = format!(
        "port {from} to port {to}: {} of {} received, {}: {}",
        pair.received,
        pair.sent,
        map.title,
        grouped_f64(value, map.decimals)
    );
    html! {
        td title=(title) style=(format!("background:rgba({},{strength:.2})", map.rgb)) {
            @if matrix.ports <= NUMBERS_UP_TO { (grouped_f64(value, map.decimals)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is alike everywhere has no colour; what differs has, by how much it matters.
    #[test]
    fn a_uniform_matrix_is_calm() {
        for map in &MAPS {
            let uniform = map.calm.strength(7.0, (7.0, 7.0));
            let is_loss = matches!(map.calm, Calm::Zero { .. });
            assert_eq!(uniform > 0.0, is_loss, "{}", map.title);
            assert_eq!(map.calm.strength(0.0, (0.0, 0.0)), 0.0, "{}", map.title);
        }
        let [loss, rate, latency] = [MAPS[0].calm, MAPS[1].calm, MAPS[2].calm];
        // One frame of a million is seen; half of all is as bad as all.
        assert!((0.25..0.26).contains(&loss.strength(1e-4, (0.0, 50.0))));
        assert_eq!(loss.strength(50.0, (0.0, 50.0)), 1.0);
        // A hundredth less is hardly a colour, half is a full one.
        assert!(rate.strength(99.0, (50.0, 100.0)) < 0.021);
        assert_eq!(rate.strength(50.0, (50.0, 100.0)), 1.0);
        assert!(
            latency.strength(1.1, (1.0, 20.0)) < 0.05 && latency.strength(20.0, (1.0, 20.0)) == 1.0
        );
    }
}
