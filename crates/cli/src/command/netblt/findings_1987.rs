//! What the text of RFC 1030 found, asked of the published rows and of ours alike: a finding that ours invert is not
//! reproduced, however near each row is.

use super::reproduce::{Columns, Pair};
use serde::Serialize;

/// A finding.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Finding {
    /// Section of RFC 1030.
    section: u8,
    /// In words.
    pub finding: &'static str,
    /// Whether the published rows show it.
    pub published: bool,
    /// Whether ours do.
    pub ours: bool,
    /// The figures that it is seen by: published, then ours.
    figures: [Vec<f64>; 2],
}

/// Rows of one side.
struct Side<'a> {
    pairs: &'a [Pair],
    columns: fn(&Pair) -> &Columns,
}

impl Side<'_> {
    /// Mean over the runs of a network, with packets of so many bytes, a burst interval in ms, and so many buffers.
    fn mean(&self, of: (&str, u16, u16, u16), what: fn(&Columns) -> f64) -> f64 {
        let (network, bytes, interval_ms, buffers) = of;
        let is_one = |pair: &&Pair| {
            pair.network == network
                && pair.data_packet_size_bytes == bytes
                && pair.burst_interval_ms == interval_ms
                && pair.outstanding_buffers == buffers
        };
        let values: Vec<f64> =
            self.pairs.iter().filter(is_one).map(|pair| what((self.columns)(pair))).collect();
        values.iter().sum::<f64>() / values.len() as f64
    }
}

fn speed(columns: &Columns) -> f64 {
    columns.steady_state_mbps
}

fn lost(columns: &Columns) -> f64 {
    columns.packets_lost as f64
}

type Seen = (bool, Vec<f64>);

const RING: &str = "Proteon ring";
const ETHERNET: &str = "Ethernet";

/// "The increase in throughput over a single-outstanding-buffer transmission occurs because, with two outstanding
/// buffers, there is no round-trip-delay lag."
fn second_buffer_on_the_ring(side: &Side<'_>) -> Seen {
    let seen = [1, 2].map(|buffers| side.mean((RING, 1990, 45, buffers), speed)).to_vec();
    (seen[1] > 1.1 * seen[0], seen)
}

/// "No packets were dropped due to collision on the interface."
fn nothing_lost_on_the_ring(side: &Side<'_>) -> Seen {
    let seen = [30, 45].map(|interval| side.mean((RING, 1990, interval, 2), lost)).to_vec();
    (seen.iter().all(|lost| *lost == 0.0), seen)
}

/// "Substantially lower throughput (994 kilobits per second)."
fn second_buffer_on_the_ethernet(side: &Side<'_>) -> Seen {
    let seen = [1, 2].map(|buffers| side.mean((ETHERNET, 1438, 30, buffers), speed)).to_vec();
    (seen[1] < 0.85 * seen[0], seen)
}

/// "A third as many packets were dropped": half as many or fewer.
fn longer_interval_loses_less(side: &Side<'_>) -> Seen {
    let seen = [30, 45].map(|interval| side.mean((ETHERNET, 1438, interval, 2), lost)).to_vec();
    (seen[1] <= 0.5 * seen[0], seen)
}

/// "And throughput climbed accordingly, to 1.12 megabits per second."
fn longer_interval_is_faster(side: &Side<'_>) -> Seen {
    let seen = [30, 45].map(|interval| side.mean((ETHERNET, 1438, interval, 2), speed)).to_vec();
    (seen[1] > seen[0], seen)
}

/// All of them.
pub(super) fn findings(pairs: &[Pair]) -> Vec<Finding> {
    type Ask = fn(&Side<'_>) -> Seen;
    let all: [(u8, &str, Ask); 5] = [
        (5, "ring: a second buffer raises throughput (Mb/s)", second_buffer_on_the_ring),
        (5, "ring: with two buffers no packet is lost", nothing_lost_on_the_ring),
        (6, "Ethernet: a second buffer lowers throughput (Mb/s)", second_buffer_on_the_ethernet),
        (
            6,
            "Ethernet: 45 ms lose a third of what 30 ms lose (packets)",
            longer_interval_loses_less,
        ),
        (6, "Ethernet: 45 ms are faster than 30 ms (Mb/s)", longer_interval_is_faster),
    ];
    let sides = [
        Side { pairs, columns: |pair| &pair.published },
        Side { pairs, columns: |pair| &pair.ours },
    ];
    all.map(|(section, finding, ask)| {
        let [published, ours] = sides.each_ref().map(ask);
        let figures = [published.1, ours.1];
        Finding { section, finding, published: published.0, ours: ours.0, figures }
    })
    .to_vec()
}

impl Finding {
    /// One line.
    pub fn in_words(&self) -> String {
        let mark = if self.ours { "met" } else { "NOT MET" };
        let [published, ours] = self.figures.each_ref().map(|figures| {
            let all: Vec<String> = figures.iter().map(|figure| format!("{figure:.2}")).collect();
            all.join(" then ")
        });
        format!(
            "  {mark:<8} {} (section {}): published {published}, here {ours}",
            self.finding, self.section
        )
    }
}
