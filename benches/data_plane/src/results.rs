//! What was measured, round by round, and medians of it.

use crate::bed::Sink;
use crate::competitor::Received;
use crate::frame_building::LoopRate;
use crate::machine::Machine;
use crate::netanvil::FlatOut;
use crate::pacing::Pace;
use crate::spinning::Interruptions;
use crate::subject::Subject;
use crate::targets::Verdict;
use crate::window::Window;
use serde::Serialize;

/// Everything that goes into the output.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Results {
    /// On what.
    pub machine: Machine,
    /// Under which conditions, in words.
    pub conditions: Vec<String>,
    /// Sending alone.
    pub transmit_only: Vec<TransmitOnly>,
    /// Sending and receiving.
    pub transmit_receive: Vec<TransmitReceive>,
    /// The dpdk port and testpmd over memif.
    pub memif: Vec<crate::memif::MemifRate>,
    /// One queue that sends against two.
    pub queues: Vec<crate::queues::QueueRate>,
    /// Pacing and latency.
    pub pacing: Vec<Pacing>,
    /// How the machine lets a bare spinning thread run, by round.
    pub spinning: Vec<Interruptions>,
    /// The loop that builds frames, and the one that accounts for them, without a port.
    pub frame_building: Vec<LoopRate>,
    /// Whether the targets were met.
    pub verdicts: Vec<Verdict>,
    /// What was left out because the user said so.
    pub left_out: Vec<Subject>,
    /// What could not be measured, and why.
    pub failures: Vec<String>,
}

/// One generator sending as fast as it can.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TransmitOnly {
    /// Who.
    pub subject: Subject,
    /// Size really sent, FCS included.
    pub size_bytes: u32,
    /// What the far end did with the frames.
    pub sink: Sink,
    /// One window a round.
    pub rounds: Vec<Window>,
}

/// One generator sending as fast as it can to its own receiver.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TransmitReceive {
    /// Who.
    pub subject: Subject,
    /// FCS included.
    pub size_bytes: u32,
    /// One a round.
    pub rounds: Vec<Exchange>,
}

/// One round of sending and receiving.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Exchange {
    /// Counters of two testpmd.
    Testpmd(Received),
    /// netanvil's full account.
    Netanvil {
        /// At full speed.
        flat_out: FlatOut,
        /// The highest rate, in frames a second, at which nothing was lost: flat out if that lost
        /// nothing, else found with valid trials.
        no_loss_fps: f64,
    },
}

/// One port type at one rate.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Pacing {
    /// Which port type.
    pub subject: Subject,
    /// Intended rate, in frames a second.
    pub rate_fps: u64,
    /// One a round.
    pub rounds: Vec<Pace>,
}

impl TransmitOnly {
    /// Frames a second that arrived, median.
    pub fn arrived_fps(&self) -> f64 {
        median(self.rounds.iter().map(Window::arrived_fps))
    }
}

impl Exchange {
    /// Frames a second that left.
    pub fn sent_fps(&self) -> f64 {
        match self {
            Exchange::Testpmd(received) => received.sent_fps,
            Exchange::Netanvil { flat_out, .. } => flat_out.sent_fps,
        }
    }
    /// Frames a second received at full speed.
    pub fn received_fps(&self) -> f64 {
        match self {
            Exchange::Testpmd(received) => received.received_fps,
            Exchange::Netanvil { flat_out, .. } => flat_out.received_fps,
        }
    }
    /// The highest rate without loss, where it was searched for.
    pub fn no_loss_fps(&self) -> Option<f64> {
        match self {
            Exchange::Testpmd(_) => None,
            Exchange::Netanvil { no_loss_fps, .. } => Some(*no_loss_fps),
        }
    }
    /// The machine's view at full speed.
    pub fn window(&self) -> &Window {
        match self {
            Exchange::Testpmd(received) => &received.window,
            Exchange::Netanvil { flat_out, .. } => &flat_out.window,
        }
    }
}

impl TransmitReceive {
    /// Median over the rounds of what `of` reads from each.
    pub fn median(&self, of: impl Fn(&Exchange) -> f64) -> f64 {
        median(self.rounds.iter().map(of))
    }
    /// The highest rate without loss, median.
    pub fn no_loss_fps(&self) -> Option<f64> {
        let rates: Vec<f64> = self.rounds.iter().filter_map(Exchange::no_loss_fps).collect();
        (!rates.is_empty()).then(|| median(rates))
    }
}

impl Pacing {
    /// Median over the rounds of what `of` reads from each.
    pub fn median(&self, of: impl Fn(&Pace) -> f64) -> f64 {
        median(self.rounds.iter().map(of))
    }
    /// Whether most rounds reached the rate.
    pub fn was_reached(&self) -> bool {
        let reached = self.rounds.iter().filter(|pace| pace.out_of_reach.is_none()).count();
        reached * 2 > self.rounds.len()
    }
}

impl Results {
    /// The best of the sinks for this generator at the size nearest to `size_bytes`.
    pub fn best_transmit(&self, subject: Subject, size_bytes: u32) -> Option<&TransmitOnly> {
        let size = subject.sent_size_bytes(size_bytes)?;
        let all = self.transmit_only.iter();
        all.filter(|case| case.subject == subject && case.size_bytes == size)
            .max_by(|a, b| a.arrived_fps().total_cmp(&b.arrived_fps()))
    }
    /// Sending and receiving of this generator.
    pub fn exchange(&self, subject: Subject, size_bytes: u32) -> Option<&TransmitReceive> {
        let mut all = self.transmit_receive.iter();
        all.find(|case| case.subject == subject && case.size_bytes == size_bytes)
    }
    /// So many queues of this port at this size.
    pub fn queue_rate(
        &self,
        subject: Subject,
        queues: u16,
        size_bytes: u32,
    ) -> Option<&crate::queues::QueueRate> {
        let wanted = (subject, queues, size_bytes);
        self.queues.iter().find(|case| (case.subject, case.queues, case.size_bytes) == wanted)
    }
    /// netanvil's rate over memif as a multiple of testpmd's.
    pub fn memif_ratio(&self, way: crate::memif::Way, size_bytes: u32) -> Option<f64> {
        use crate::memif::Sender;
        let fps = |sender: Sender| {
            let mut all = self.memif.iter();
            all.find(|case| (case.way, case.sender, case.size_bytes) == (way, sender, size_bytes))
                .map(crate::memif::MemifRate::median_fps)
        };
        Some(fps(Sender::Netanvil)? / fps(Sender::Testpmd)?)
    }
    /// Pacing of this port type.
    pub fn pacing(&self, subject: Subject, rate_fps: u64) -> Option<&Pacing> {
        self.pacing.iter().find(|case| case.subject == subject && case.rate_fps == rate_fps)
    }
}

/// The middle of the values, or the mean of the two in the middle; NaN of none.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => values[odd / 2],
        even => (values[even / 2 - 1] + values[even / 2]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_not_moved_by_an_outlier() {
        assert_eq!(median([3.0, 1.0, 1e9]), 3.0);
        assert_eq!(median([4.0, 1.0, 2.0, 1e9]), 3.0);
        assert!(median([]).is_nan());
    }
}
