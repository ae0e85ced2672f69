//! What came of each pair of ports, as heat maps: loss, rate, latency.

use crate::number::grouped_f64;
use maud::{Markup, html};
use method::chassis::{PairCount, PortMatrix};

/// One of the maps.
struct Map {
    title: &'static str,
    value: fn(&PairCount, seconds: f64) -> Option<f64>,
    decimals: usize,
    /// The colour of the highest value: red, green, blue.
    rgb: &'static str,
}

const MAPS: [Map; 3] = [
    Map {
        title: "loss, %",
        value: |pair, _| Some(pair.loss_ratio() * 100.0),
        decimals: 1,
        rgb: "179,38,30",
    },
    Map {
        title: "received, frames/s",
        value: |pair, seconds| (seconds > 0.0).then(|| pair.received as f64 / seconds),
        decimals: 0,
        rgb: "11,95,166",
    },
    Map {
        title: "mean latency, us",
        value: |pair, _| pair.latency_mean.map(|latency| latency.as_ps() as f64 / 1e6),
        decimals: 2,
        rgb: "183,121,31",
    },
];

/// Above so many ports numbers no longer fit, and stand in each field's title alone.
const NUMBERS_UP_TO: usize = 12;

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
    let highest = values.fold(0.0, f64::max);
    let ports = 0..matrix.ports as u16;
    html! {
        figure.map {
            figcaption { (map.title) ", from (rows) to (columns)" }
            table {
                tr { th {} @for to in ports.clone() { th scope="col" { (to) } } }
                @for from in ports.clone() {
                    tr {
                        th scope="row" { (from) }
                        @for to in ports.clone() { (field(map, matrix, (from, to), highest)) }
                    }
                }
            }
        }
    }
}

fn field(map: &Map, matrix: &PortMatrix, (from, to): (u16, u16), highest: f64) -> Markup {
    let pair = matrix.pair(from, to);
    let value = pair.and_then(|pair| (map.value)(pair, matrix.duration.as_secs_f64()));
    let Some((pair, value)) = pair.zip(value) else { return html! { td {} } };
    let strength = if highest > 0.0 { value / highest * 0.75 } else { 0.0 };
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
