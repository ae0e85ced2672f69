//! What came out, as the tables of the document have it.

use crate::bench::Ran;
use crate::chassis::{ChassisConditions, PairCount, TestSetup, shortfall_words};
use serde::{Deserialize, Serialize};
use trial::{PortSent, Role, TrialResult};
use units::{Duration, FrameRate, FrameSize};

/// The result of one of the tests for one packet size.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TollyResult {
    /// Under which conditions.
    pub conditions: ChassisConditions,
    /// One for each number of ports.
    pub rows: Vec<TollyRow>,
}

impl TollyResult {
    /// Why nothing is known of a line: none of its iterations was valid; empty where all have some.
    pub fn invalid_reasons(&self) -> &[String] {
        let without = self.rows.iter().find(|row| row.iterations.is_empty());
        without.map_or(&[], |row| &row.invalid)
    }
}

/// One line of a table.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TollyRow {
    /// Ports that send.
    pub inputs: usize,
    /// Ports that each of them reaches.
    pub outputs: usize,
    /// "Traffic streams": pairs of an input and an output.
    pub streams: usize,
    /// Of each input, in percent of its medium.
    pub load_percent: f64,
    /// The same as a rate.
    pub intended: FrameRate,
    /// Those that were valid.
    pub iterations: Vec<TollyIteration>,
    /// Why others decide nothing.
    pub invalid: Vec<String>,
    /// Where the rate was searched for: the lowest that lost packets, in any iteration the highest of
    /// these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper: Option<FrameRate>,
}

/// One iteration of a test, exact.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct TollyIteration {
    /// Packets sent by the input that sent fewest, and by that which sent most.
    pub sent_per_input: (u64, u64),
    /// Packets received by the output that received fewest, and by that which received most.
    pub received_per_output: (u64, u64),
    /// Packets that did not come out where they should.
    pub lost: u64,
    /// Packets that (also) came out elsewhere.
    pub elsewhere: u64,
    /// Traffic streams, from an input to an output each, all of whose packets came out.
    #[serde(default)]
    pub whole_streams: u64,
    /// Of each input as measured at departure.
    pub offered: FrameRate,
    /// Mean over all packets and outputs, from a packet's first bit out of the tester to its last bit
    /// back in; `None` where packets carry no time.
    pub stamp_to_arrival: Option<Duration>,
    /// Time of the packet's bits on one link, and of its preamble; zero on a virtual link.
    pub on_the_line: (Duration, Duration),
}

impl TollyIteration {
    fn of(result: &TrialResult, rack: &TestSetup<'_>) -> Self {
        let test = || result.streams.iter().filter(|stream| stream.role == Role::Test);
        let inputs = result.sent.iter().map(|sent| sent.report.sent_frames);
        let outputs = result.received.iter().filter_map(|port| {
            let expected = port.streams.iter().filter(|stream| stream.expected);
            expected.map(|stream| stream.account.unique).reduce(|sum, frames| sum + frames)
        });
        let pairs = PairCount::all_of(result).into_iter();
        let whole = pairs.filter(|pair| pair.sent > 0 && pair.received == pair.sent);
        let rates = result.sent.iter().filter_map(PortSent::offered_rate);
        let line = rack.described(0);
        let time = |bytes: u32| match line.line_rate_is_physical {
            true => line.line_rate.time_of_bytes(bytes.into()),
            false => Duration::ZERO,
        };
        TollyIteration {
            sent_per_input: extremes(inputs),
            received_per_output: extremes(outputs),
            lost: test().map(|stream| stream.lost).sum(),
            elsewhere: result.flood_count(),
            whole_streams: whole.count() as u64,
            offered: rates.min().unwrap_or(FrameRate::ZERO),
            stamp_to_arrival: result.latency().and_then(|latency| latency.mean()),
            on_the_line: (time(rack.size.bytes()), time(FrameSize::PREAMBLE_BYTES)),
        }
    }

    /// First bit in to first bit out.
    pub fn cut_through(&self) -> Option<Duration> {
        Some(self.stamp_to_arrival?.saturating_sub(self.on_the_line.0))
    }

    /// Last bit in to first bit out, that of the preamble: in the document's table the two differ by a
    /// packet and its preamble (5.8 us at 64 bytes, 122.1 us at 1,518).
    pub fn store_and_forward(&self) -> Option<Duration> {
        let (packet, preamble) = self.on_the_line;
        Some(self.cut_through()?.saturating_sub(packet + preamble))
    }
}

fn extremes(counts: impl Iterator<Item = u64> + Clone) -> (u64, u64) {
    (counts.clone().min().unwrap_or(0), counts.max().unwrap_or(0))
}

impl TollyRow {
    /// Takes in an iteration, or why it decides nothing.
    pub(super) fn take(&mut self, ran: &Ran, rack: &TestSetup<'_>) {
        let reasons = shortfall_words(ran);
        match reasons.is_empty() {
            true => self.iterations.push(TollyIteration::of(&ran.result, rack)),
            false => self.invalid.extend(reasons),
        }
    }

    /// The mean of the iterations; `None` where none was valid, or none has the figure.
    pub fn mean(&self, figure: impl Fn(&TollyIteration) -> Option<f64>) -> Option<f64> {
        let figures: Vec<f64> = self.iterations.iter().filter_map(figure).collect();
        (!figures.is_empty()).then(|| figures.iter().sum::<f64>() / figures.len() as f64)
    }

    /// Packets of all inputs and outputs that were lost, in all iterations.
    pub fn lost(&self) -> u64 {
        self.iterations.iter().map(|iteration| iteration.lost).sum()
    }
}
