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
    /// Why ours may not show it, as far as is known.
    unexplained: Option<&'static str>,
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

fn again(columns: &Columns) -> f64 {
    columns.packets_retransmitted as f64
}

type Seen = (bool, Vec<f64>);

const RING: &str = "Proteon ring";
const ETHERNET: &str = "Ethernet";
const WIDEBAND: &str = "Wideband";

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

/// "Steady-state throughputs ranged from 926 kilobits per second to 942, approximately 90% channel utilization" of
/// "a best possible throughput of 1.05 megabits per second".
fn channel_is_filled(side: &Side<'_>) -> Seen {
    let seen = side.mean((WIDEBAND, 1432, 55, 22), speed);
    ((0.85..=0.95).contains(&(seen / 1.05)), vec![seen])
}

/// "1438-byte packets were fragmented before transmission over the Wideband network, causing packet delay and poor
/// performance."
fn fragments_are_slow(side: &Side<'_>) -> Seen {
    let seen = [1432, 1436].map(|bytes| side.mean((WIDEBAND, bytes, 90, 22), speed)).to_vec();
    (seen[1] < 0.93 * seen[0], seen)
}

/// "Packet delay": what is only late is sent again, too.
fn fragments_are_late(side: &Side<'_>) -> Seen {
    let seen = [lost, again].map(|what| side.mean((WIDEBAND, 1436, 90, 22), what)).to_vec();
    (seen[1] > 1.5 * seen[0], seen)
}

const A_THIRD: &str = "Ethernet: 45 ms lose a third of what 30 ms lose (packets)";
const TIMERS: &str = "at 45 ms as much is lost here as there, at 30 ms two thirds of it: a data timer asks for 1.4 packets \
    here and for 1.06 there, so that fewer RESENDs each cost another packet";

/// All of them.
pub(super) fn findings(pairs: &[Pair]) -> Vec<Finding> {
    type Ask = fn(&Side<'_>) -> Seen;
    let all: [(u8, &str, Ask); 8] = [
        (5, "ring: a second buffer raises throughput (Mb/s)", second_buffer_on_the_ring),
        (5, "ring: with two buffers no packet is lost", nothing_lost_on_the_ring),
        (6, "Ethernet: a second buffer lowers throughput (Mb/s)", second_buffer_on_the_ethernet),
        (6, A_THIRD, longer_interval_loses_less),
        (6, "Ethernet: 45 ms are faster than 30 ms (Mb/s)", longer_interval_is_faster),
        (7, "Wideband: 5 in 55 ms fill nine tenths of 1.05 Mb/s (Mb/s)", channel_is_filled),
        (7, "Wideband: fragmented packets are slower (Mb/s)", fragments_are_slow),
        (
            7,
            "Wideband: fragments are late: more is sent again than lost (packets)",
            fragments_are_late,
        ),
    ];
    let sides = [
        Side { pairs, columns: |pair| &pair.published },
        Side { pairs, columns: |pair| &pair.ours },
    ];
    all.map(|(section, finding, ask)| {
        let [published, ours] = sides.each_ref().map(ask);
        let figures = [published.1, ours.1];
        Finding {
            section,
            finding,
            published: published.0,
            ours: ours.0,
            figures,
            unexplained: (finding == A_THIRD && !ours.0).then_some(TIMERS),
        }
    })
    .to_vec()
}

impl Finding {
    /// One that the text tells in figures: what it gives, and what was measured here.
    pub fn told(
        section: u8,
        finding: &'static str,
        met: bool,
        published: Vec<f64>,
        ours: Vec<f64>,
    ) -> Finding {
        let figures = [published, ours];
        Finding { section, finding, published: true, ours: met, figures, unexplained: None }
    }

    /// What was tried where it is not met.
    pub fn or_unexplained(self, tried: &'static str) -> Finding {
        Finding { unexplained: (!self.ours).then_some(tried), ..self }
    }

    /// One line.
    pub fn in_words(&self) -> String {
        let mark = if self.ours { "met" } else { "NOT MET" };
        let [published, ours] = self.figures.each_ref().map(|figures| {
            let all: Vec<String> = figures.iter().map(|figure| format!("{figure:.2}")).collect();
            if all.is_empty() { "without a figure".to_owned() } else { all.join(" then ") }
        });
        let tried =
            self.unexplained.map_or(String::new(), |tried| format!("; unexplained: {tried}"));
        format!(
            "  {mark:<8} {} (section {}): published {published}, here {ours}{tried}",
            self.finding, self.section
        )
    }
}
