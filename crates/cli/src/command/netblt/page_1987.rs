//! The page of `netanvil netblt reproduce-1987`: findings, speeds and losses drawn over the burst interval or the
//! packet's size, published beside ours, and every row.

use super::findings_1987::Finding;
use super::reproduce::{Columns, Pair};
use report::html::figures::{Figure, Line, Row, Table, page};
use std::collections::BTreeMap;

const TITLE: &str = "The NETBLT tests of 1987, repeated";

/// What a chart is of.
struct View {
    title: &'static str,
    network: &'static str,
    /// Only rows with so many bytes of data in a packet; all where there is none.
    data_packet_size_bytes: Option<u16>,
    x: Along,
    y: Shown,
}

/// What varies from left to right.
#[derive(Clone, Copy, PartialEq)]
enum Along {
    /// Milliseconds between bursts; a line for each number of buffers.
    Interval,
    /// Bytes of data in a packet; a line for each burst interval.
    PacketSize,
}

/// What is drawn.
#[derive(Clone, Copy)]
enum Shown {
    Speed,
    Lost,
}

const VIEWS: [View; 7] = [
    View {
        title: "Proteon ring, packets of 1,438 bytes: speed by burst interval (appendix II)",
        network: "Proteon ring",
        data_packet_size_bytes: Some(1438),
        x: Along::Interval,
        y: Shown::Speed,
    },
    View {
        title: "Proteon ring, packets of 1,990 bytes: speed by burst interval (appendix II)",
        network: "Proteon ring",
        data_packet_size_bytes: Some(1990),
        x: Along::Interval,
        y: Shown::Speed,
    },
    View {
        title: "Ethernet, packets of 1,438 bytes: speed by burst interval (appendix III)",
        network: "Ethernet",
        data_packet_size_bytes: Some(1438),
        x: Along::Interval,
        y: Shown::Speed,
    },
    View {
        title: "Ethernet, packets of 1,438 bytes: packets lost by burst interval (appendix III)",
        network: "Ethernet",
        data_packet_size_bytes: Some(1438),
        x: Along::Interval,
        y: Shown::Lost,
    },
    View {
        title: "Ethernet, packets of 512 bytes: speed by burst interval (appendix III)",
        network: "Ethernet",
        data_packet_size_bytes: Some(512),
        x: Along::Interval,
        y: Shown::Speed,
    },
    View {
        title: "Wideband, packets of 1,432 bytes: speed by burst interval (appendix IV)",
        network: "Wideband",
        data_packet_size_bytes: Some(1432),
        x: Along::Interval,
        y: Shown::Speed,
    },
    View {
        title: "Wideband: speed by packet size; from 1,434 bytes on packets are fragmented (appendix IV)",
        network: "Wideband",
        data_packet_size_bytes: None,
        x: Along::PacketSize,
        y: Shown::Speed,
    },
];

impl View {
    fn has(&self, pair: &Pair) -> bool {
        let size = self.data_packet_size_bytes;
        pair.network == self.network && size.is_none_or(|size| pair.data_packet_size_bytes == size)
    }

    fn x_of(&self, pair: &Pair) -> f64 {
        f64::from(match self.x {
            Along::Interval => pair.burst_interval_ms,
            Along::PacketSize => pair.data_packet_size_bytes,
        })
    }

    fn y_of(&self, columns: &Columns) -> f64 {
        match self.y {
            Shown::Speed => columns.steady_state_mbps,
            Shown::Lost => columns.packets_lost as f64,
        }
    }

    /// Which line a row belongs to.
    fn line_of(&self, pair: &Pair) -> String {
        match self.x {
            Along::Interval if pair.outstanding_buffers == 1 => "1 buffer".into(),
            Along::Interval => format!("{} buffers", pair.outstanding_buffers),
            Along::PacketSize => {
                format!(
                    "bursts of {} packets each {} ms",
                    pair.burst_size_packets, pair.burst_interval_ms
                )
            }
        }
    }

    fn figure(&self, pairs: &[Pair]) -> Figure {
        let mut by_line: BTreeMap<String, Vec<&Pair>> = BTreeMap::new();
        for pair in pairs.iter().filter(|pair| self.has(pair)) {
            by_line.entry(self.line_of(pair)).or_default().push(pair);
        }
        // One size or interval is no line.
        by_line.retain(|_, rows| rows.iter().any(|pair| self.x_of(pair) != self.x_of(rows[0])));
        let lines = by_line.iter().flat_map(|(name, rows)| {
            let published = rows.iter().map(|pair| (self.x_of(pair), self.y_of(&pair.published)));
            let published = Line {
                name: format!("{name}, published"),
                points: published.collect(),
                is_marks: true,
            };
            [Line { name: name.clone(), points: self.means(rows), is_marks: false }, published]
        });
        let x = match self.x {
            Along::Interval => "Burst interval (ms)",
            Along::PacketSize => "Data in a packet (bytes)",
        };
        let y = match self.y {
            Shown::Speed => "Steady-state throughput (Mb/s)",
            Shown::Lost => "Packets lost in a transfer",
        };
        Figure { title: self.title.into(), x: x.into(), y: y.into(), lines: lines.collect() }
    }

    /// Our runs with one parameter, put together.
    fn means(&self, rows: &[&Pair]) -> Vec<(f64, f64)> {
        let mut xs: Vec<f64> = rows.iter().map(|pair| self.x_of(pair)).collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        let mean = |x: f64| {
            let here = rows.iter().filter(|pair| self.x_of(pair) == x);
            let ys: Vec<f64> = here.map(|pair| self.y_of(&pair.ours)).collect();
            (x, ys.iter().sum::<f64>() / ys.len() as f64)
        };
        xs.into_iter().map(mean).collect()
    }
}

/// What the text found, and whether both sides show it.
fn found(findings: &[Finding]) -> Table {
    let row = |finding: &Finding| Row {
        cells: vec![],
        verdict: finding.in_words().trim().to_owned(),
        bad: !finding.ours,
    };
    Table { head: "What the text found".into(), rows: findings.iter().map(row).collect() }
}

fn rows(pairs: &[Pair]) -> Table {
    let heading = Row {
        cells: ["network", "burst", "bytes", "buffers", "lost", "here", "Mb/s", "here"]
            .map(str::to_owned)
            .to_vec(),
        verdict: "difference".into(),
        bad: false,
    };
    let row = |pair: &Pair| Row {
        cells: vec![
            pair.network.to_owned(),
            format!("{}/{} ms", pair.burst_size_packets, pair.burst_interval_ms),
            pair.data_packet_size_bytes.to_string(),
            pair.outstanding_buffers.to_string(),
            pair.published.packets_lost.to_string(),
            pair.ours.packets_lost.to_string(),
            format!("{:.3}", pair.published.steady_state_mbps),
            format!("{:.3}", pair.ours.steady_state_mbps),
        ],
        verdict: format!("{:+.1} %", 100.0 * pair.deviation),
        bad: pair.remark.is_some(),
    };
    Table {
        head: "Every run: packets lost and steady-state throughput, published and here".into(),
        rows: [heading].into_iter().chain(pairs.iter().map(row)).collect(),
    }
}

/// The page. `closing` is what the text ends with.
pub(super) fn render(pairs: &[Pair], findings: &[Finding], closing: &str) -> String {
    let figures: Vec<Figure> = VIEWS.iter().map(|view| view.figure(pairs)).collect();
    let score = closing.trim().lines().next().unwrap_or_default();
    page(TITLE, &[found(findings)], score, &figures, &[rows(pairs)])
}
