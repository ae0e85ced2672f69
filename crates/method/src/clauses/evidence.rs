//! What the trials of a test show that clauses ask of each of them. The bench keeps it from trial to trial, so that no
//! test has to.

use crate::Modifier;
use crate::modifiers::{self, BROADCAST_EVERY, RIP_INTERVAL};
use trial::{PortId, Trial, TrialResult};
use units::Duration;

/// Of the valid trials of a test.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Evidence {
    /// The shortest of them: sending, and the waits after it.
    pub shortest: Option<Duration>,
    /// Broadcast frames among the test frames.
    pub broadcast: Option<BroadcastShare>,
    /// Management queries.
    pub management: Option<Queries>,
    /// Routing updates of networks that no test uses.
    pub routing_updates: Option<Updates>,
}

/// Broadcast frames of senders that sent enough frames for one (RFC 2544 section 11.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BroadcastShare {
    /// Frames sent, broadcast or not.
    pub frames: u64,
    /// The broadcast ones among them.
    pub broadcast: u64,
    /// Senders, in each trial, that were more than one frame off 1 %.
    pub off: u64,
}

/// Management queries (section 11.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Queries {
    /// Sent.
    pub sent: u64,
    /// One for each second in which a port sent.
    pub due: u64,
    /// Whole answers to them; `None` where nobody looked.
    pub answered: Option<u64>,
}

/// Routing updates (section 11.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Updates {
    /// Sent.
    pub sent: u64,
    /// One at the start of each port's stream, and one each 30 s.
    pub due: u64,
    /// Streams of a port in a trial.
    pub streams: u64,
    /// Those that had one update alone: state A, and never state B.
    pub of_one_state: u64,
}

impl Evidence {
    /// Takes in a trial; one that is invalid shows nothing.
    pub(crate) fn add(&mut self, trial: &Trial, result: &TrialResult) {
        if !result.is_valid() {
            return;
        }
        let span = trial.duration() + result.drained_after + trial.waits.settle;
        self.shortest = Some(self.shortest.map_or(span, |shortest| shortest.min(span)));
        let seconds = trial.duration().as_ps() / Duration::from_secs(1).as_ps();
        for (from, sent) in modifiers::sent(result, Modifier::Broadcast) {
            self.broadcast.get_or_insert_default().add(sent, sent_by(result, from));
        }
        let mut asks = false;
        for (_, sent) in modifiers::sent(result, Modifier::Management) {
            asks = true;
            let queries = self.management.get_or_insert_default();
            queries.sent += sent;
            queries.due += seconds.max(1);
        }
        if asks
            && let Some(queries) = &mut self.management
            && let Some(more) = modifiers::answered(result)
        {
            *queries.answered.get_or_insert(0) += more;
        }
        let interval_s = RIP_INTERVAL.as_ps() / Duration::from_secs(1).as_ps();
        for (_, sent) in modifiers::sent(result, Modifier::RoutingUpdate) {
            let updates = self.routing_updates.get_or_insert_default();
            updates.sent += sent;
            updates.due += 1 + seconds.saturating_sub(1) / interval_s;
            updates.streams += 1;
            updates.of_one_state += u64::from(sent < 2);
        }
    }
}

impl BroadcastShare {
    fn add(&mut self, broadcast: u64, frames: u64) {
        if frames < BROADCAST_EVERY {
            return;
        }
        self.frames += frames;
        self.broadcast += broadcast;
        self.off += u64::from(broadcast.abs_diff(frames / BROADCAST_EVERY) > 1);
    }
    /// In percent.
    pub(super) fn percent(&self) -> f64 {
        self.broadcast as f64 / self.frames.max(1) as f64 * 100.0
    }
}

/// Frames of a port that are the test's or take the place of some of them.
fn sent_by(result: &TrialResult, port: PortId) -> u64 {
    result.streams.iter().filter(|stream| stream.from == port).map(|stream| stream.sent).sum()
}
