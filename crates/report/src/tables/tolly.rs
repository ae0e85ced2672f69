//! The IP9000 tests, in the layout of the document's figures, with what it printed beside.

use super::{Table, fps};
use crate::number::{grouped, grouped_f64};
use method::chassis::ChassisTest;
use method::tolly::{TollyIteration, TollyResult, TollyRow};
use serde::Deserialize;
use units::Duration;

/// One line of the document's tables. Rates are frames a second, latencies microseconds.
#[derive(Clone, PartialEq, Debug, Deserialize)]
struct Published {
    test: String,
    inputs: usize,
    outputs: usize,
    frame_size_bytes: u32,
    frames_sent_per_port: Option<u64>,
    frames_received_per_port: Option<u64>,
    frames_lost: u64,
    aggregate_fps: Option<f64>,
    fps_per_stream: Option<f64>,
    latency_us: Option<f64>,
    latency_store_and_forward_us: Option<f64>,
}

const FIGURES: &str = include_str!("../../../../data/tolly-1998.csv");

/// What the document has for a line.
fn published(test: ChassisTest, row: &TollyRow, size_bytes: u32) -> Option<Published> {
    let name = match test {
        ChassisTest::InternetScale => "internet-scale-routing",
        ChassisTest::LargeScaleMulticast => "large-scale-multicast",
        ChassisTest::MulticastMesh => "multicast-mesh",
        ChassisTest::BaseUnicast => "base-unicast",
        _ => "base-multicast",
    };
    let all = csv::Reader::from_reader(FIGURES.as_bytes()).into_deserialize::<Published>();
    all.flatten().find(|line| {
        let ports = (line.inputs, line.outputs) == (row.inputs, row.outputs);
        line.test == name && ports && line.frame_size_bytes == size_bytes
    })
}

pub(super) fn columns(test: ChassisTest) -> &'static [&'static str] {
    match test {
        ChassisTest::BaseUnicast => &[
            "size",
            "streams",
            "packets/s a stream",
            "published",
            "aggregate packets/s",
            "published",
            "latency, us",
            "published",
            "difference, %",
        ],
        ChassisTest::BaseMulticast => &[
            "size",
            "ports",
            "streams",
            "sent (a port)",
            "received (a port)",
            "lost",
            "published lost",
            "cut through, us",
            "published",
            "store and forward, us",
            "published",
            "difference, %",
        ],
        _ => &[
            "size",
            "ports",
            "streams",
            "load, %",
            "sent (a port)",
            "published",
            "received (a port)",
            "published",
            "lost",
            "published",
        ],
    }
}

/// How the test was made, beside what the conditions say.
pub(super) fn about(result: &TollyResult) -> Vec<String> {
    let iterations = result.rows.iter().map(|row| row.iterations.len()).max().unwrap_or(0);
    let mut about =
        vec![format!("{iterations} iterations, averaged; losses are those of all of them")];
    about.extend(match result.conditions.test {
        ChassisTest::MulticastMesh => Some(
            "each output gets the packets of all inputs but its own: the inputs send so much slower, \
             and the outputs are at wire speed (the document has the inputs at wire speed, too)",
        ),
        ChassisTest::BaseMulticast => Some(
            "cut through: first bit in to first bit out; store and forward: last bit in to the first \
             bit of the preamble out; means over all packets and outputs",
        ),
        ChassisTest::BaseUnicast => {
            Some("the highest rate without loss, and at it the mean latency, first bit in to first bit out")
        }
        _ => None,
    }
    .map(String::from));
    about
}

pub(super) fn fill(table: &mut Table, result: &TollyResult, size: &str) {
    let conditions = &result.conditions;
    for row in &result.rows {
        let printed = published(conditions.test, row, conditions.frame_size);
        table.rows.push(match conditions.test {
            ChassisTest::BaseUnicast => unicast(row, printed.as_ref(), size),
            ChassisTest::BaseMulticast => base_multicast(row, printed.as_ref(), size),
            _ => counted(row, printed.as_ref(), size),
        });
        let ports = format!("{}x{}", row.inputs, row.outputs);
        table.note(size, row.invalid.iter().map(|why| format!("{ports} invalid: {why}")));
        let elsewhere: u64 = row.iterations.iter().map(|iteration| iteration.elsewhere).sum();
        let flooded = (elsewhere > 0).then(|| format!("{ports}: {elsewhere} came out elsewhere"));
        table.note(size, flooded);
    }
}

/// A mean of the iterations, or that there is none.
fn mean(
    row: &TollyRow,
    figure: impl Fn(&TollyIteration) -> Option<f64>,
    decimals: usize,
) -> String {
    let nothing = if row.invalid.is_empty() { "-" } else { "invalid" };
    row.mean(figure).map_or_else(|| nothing.into(), |mean| grouped_f64(mean, decimals))
}

/// The same of a count that may differ from port to port.
fn per_port(row: &TollyRow, count: fn(&TollyIteration) -> (u64, u64)) -> String {
    let fewest = mean(row, |iteration| Some(count(iteration).0 as f64), 0);
    let most = mean(row, |iteration| Some(count(iteration).1 as f64), 0);
    if fewest == most { fewest } else { format!("{fewest} to {most}") }
}

fn lost(row: &TollyRow) -> String {
    if row.iterations.is_empty() { "-".into() } else { grouped(row.lost()) }
}

fn or_dash<T>(value: Option<T>, print: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "-".into(), print)
}

fn us(latency: Option<Duration>) -> Option<f64> {
    latency.map(|latency| latency.as_ns_f64() / 1e3)
}

/// Of what was measured from what was published, in percent.
fn difference(row: &TollyRow, published_us: Option<f64>) -> String {
    let measured = row.mean(|iteration| us(iteration.cut_through()));
    let difference = measured.zip(published_us).map(|(ours, theirs)| (ours / theirs - 1.0) * 100.0);
    or_dash(difference, |percent| format!("{percent:+.1}"))
}

fn ports(row: &TollyRow) -> String {
    format!("{}x{}", row.inputs, row.outputs)
}

fn counted(row: &TollyRow, printed: Option<&Published>, size: &str) -> Vec<String> {
    vec![
        size.into(),
        ports(row),
        row.streams.to_string(),
        grouped_f64(row.load_percent, 2),
        per_port(row, |iteration| iteration.sent_per_input),
        or_dash(printed.and_then(|line| line.frames_sent_per_port), grouped),
        per_port(row, |iteration| iteration.received_per_output),
        or_dash(printed.and_then(|line| line.frames_received_per_port), grouped),
        lost(row),
        or_dash(printed.map(|line| line.frames_lost), grouped),
    ]
}

fn unicast(row: &TollyRow, printed: Option<&Published>, size: &str) -> Vec<String> {
    let offered = |iteration: &TollyIteration| Some(iteration.offered.fps());
    let aggregate = row.mean(offered).map(|rate| rate * row.streams as f64);
    let latency = printed.and_then(|line| line.latency_us);
    // Where a trial above decided nothing, it is not the device that sets the limit.
    let bound = if row.invalid.is_empty() { "" } else { ">= " };
    vec![
        size.into(),
        row.streams.to_string(),
        or_dash(row.iterations.first().map(|_| row.intended), |rate| {
            format!("{bound}{}", fps(rate))
        }),
        or_dash(printed.and_then(|line| line.fps_per_stream), |rate| grouped_f64(rate, 0)),
        or_dash(aggregate, |rate| format!("{bound}{}", grouped_f64(rate, 0))),
        or_dash(printed.and_then(|line| line.aggregate_fps), |rate| grouped_f64(rate, 0)),
        mean(row, |iteration| us(iteration.cut_through()), 1),
        or_dash(latency, |us| grouped_f64(us, 1)),
        difference(row, latency),
    ]
}

fn base_multicast(row: &TollyRow, printed: Option<&Published>, size: &str) -> Vec<String> {
    let (cut, stored) =
        printed.map(|line| (line.latency_us, line.latency_store_and_forward_us)).unzip();
    let (cut, stored) = (cut.flatten(), stored.flatten());
    vec![
        size.into(),
        ports(row),
        row.streams.to_string(),
        per_port(row, |iteration| iteration.sent_per_input),
        per_port(row, |iteration| iteration.received_per_output),
        lost(row),
        or_dash(printed.map(|line| line.frames_lost), grouped),
        mean(row, |iteration| us(iteration.cut_through()), 1),
        or_dash(cut, |us| grouped_f64(us, 1)),
        mean(row, |iteration| us(iteration.store_and_forward()), 1),
        or_dash(stored, |us| grouped_f64(us, 1)),
        difference(row, cut),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_published_line_can_be_read() {
        let all = csv::Reader::from_reader(FIGURES.as_bytes()).into_deserialize::<Published>();
        let lines: Vec<Published> = all.map(|line| line.expect("a line")).collect();
        assert_eq!(lines.len(), 25);
        assert_eq!(lines.iter().filter(|line| line.latency_us.is_some()).count(), 15);
    }
}
