//! What the queues of one port tell each other in a trial, whatever carries their frames. Each has a thread of its own.
//!
//! Those that send take the same walk through the plan: flow `n` (slot of the frame set) leaves by queue `n mod queues`,
//! so that the frames of a flow keep their order. Those that receive count on their own, and their accounts are put
//! together when the last of them has ended.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use trial::{PortReceived, QueueAccount, ReceivePlan, StreamId, TransmitPlan};
use units::Duration;

/// A queue that has nothing to say for so long is not waited for: its port is about to fail.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(2);
/// A queue that was stopped before the foremost of its port has so long to come to where that is.
pub(crate) const CATCH_UP: Duration = Duration::from_ms(200);

/// One of the queues by which a port sends.
#[derive(Clone)]
pub(crate) struct SendQueue {
    /// Its number, from 0.
    pub number: usize,
    /// How many the port has.
    of: usize,
    /// Where it meets the others.
    pub meeting: Arc<Queues>,
}

impl SendQueue {
    /// All queues of a port that has so many.
    pub fn all(of: usize) -> impl Iterator<Item = SendQueue> {
        let meeting = Arc::new(Queues::default());
        (0..of).map(move |number| SendQueue { number, of, meeting: meeting.clone() })
    }

    /// That of a port which has one.
    pub fn only() -> Self {
        SendQueue { number: 0, of: 1, meeting: Arc::default() }
    }

    /// Of how many queues a plan makes use: the frames of one flow leave by the same.
    pub fn used(&self, plan: &TransmitPlan) -> usize {
        plan.queues_of(self.of)
    }

    /// Makes ready for a trial; the first queue does so before the others. Gives what is its part.
    pub fn begin(&self, plan: &TransmitPlan) -> (usize, usize) {
        let used = self.used(plan);
        if self.number == 0 {
            self.meeting.begin(used);
        }
        (self.number, used)
    }
}

/// Where the queues by which a port sends meet.
#[derive(Default)]
pub(crate) struct Queues {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Queues of the trial at hand.
    used: usize,
    /// Frames that the interface had taken before it.
    taken_before: Option<Option<u64>>,
    /// How far each has come that has ended.
    ended: Vec<u64>,
    /// How many have ended for good, and what they sent.
    done: usize,
    sent_frames: u64,
}

impl Queues {
    /// A trial that so many queues send.
    pub fn begin(&self, used: usize) {
        *self.state() = State { used, ..State::default() };
    }

    /// What the interface had taken before any queue began.
    pub fn taken_before(&self, read: impl FnOnce() -> Option<u64>) -> Option<u64> {
        *self.state().taken_before.get_or_insert_with(read)
    }

    /// One has ended after so many frames of the walk.
    pub fn end(&self, walked: u64) {
        self.state().ended.push(walked);
        self.changed.notify_all();
    }

    /// How far all have to go, once all have ended: to where the foremost is, since a stream whose frames are sent by
    /// several queues has no holes then.
    pub fn foremost(&self) -> Option<u64> {
        let state = self.state();
        state.ended.iter().copied().max().filter(|_| state.ended.len() >= state.used)
    }

    /// The same for a queue with a thread of its own: it ends after so many frames, and waits for the others.
    pub fn await_foremost(&self, walked: u64) -> u64 {
        self.end(walked);
        let others_send = |state: &mut State| state.ended.len() < state.used;
        let longest = std::time::Duration::from_nanos(LONGEST_WAIT.as_ns());
        let waited = self.changed.wait_timeout_while(self.state(), longest, others_send);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.ended.iter().copied().max().unwrap_or(walked)
    }

    /// One has ended for good; gives what all have sent, to the last of them.
    pub fn all_sent(&self, sent_frames: u64) -> Option<u64> {
        let mut state = self.state();
        state.done += 1;
        state.sent_frames += sent_frames;
        (state.done >= state.used).then_some(state.sent_frames)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One of the queues from which a port receives.
#[derive(Clone)]
pub(crate) struct AccountQueue {
    /// Its number, from 0.
    pub number: usize,
    /// What each has brought.
    brought: Arc<Mutex<Vec<Option<QueueAccount>>>>,
}

impl AccountQueue {
    /// All queues of a port that has so many.
    pub fn all(of: usize) -> impl Iterator<Item = AccountQueue> {
        let brought = Arc::new(Mutex::new(vec![None; of]));
        (0..of).map(move |number| AccountQueue { number, brought: brought.clone() })
    }

    /// That of a port which has one.
    pub fn only() -> Self {
        AccountQueue { number: 0, brought: Arc::new(Mutex::new(vec![None])) }
    }

    /// Forgets what was brought in an earlier trial, which may have failed.
    pub fn begin(&self) {
        self.brought()[self.number] = None;
    }

    /// Brings what this queue counted; gives what all did, to the last of them, and an empty account to others.
    pub fn close(
        &self,
        account: QueueAccount,
        plan: &ReceivePlan,
        sent_of: impl Fn(StreamId) -> u64,
    ) -> PortReceived {
        let mut brought = self.brought();
        brought[self.number] = Some(account);
        if brought.iter().any(Option::is_none) {
            return PortReceived::nothing(plan.port);
        }
        let mut queues = brought.iter_mut().filter_map(Option::take);
        let mut all = queues.next().unwrap_or_default();
        queues.for_each(|queue| all.add_queue(queue, plan));
        all.close(plan, crate::clock::TICK, sent_of)
    }

    fn brought(&self) -> MutexGuard<'_, Vec<Option<QueueAccount>>> {
        self.brought.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a reader should know of a port that sends by several queues.
pub(crate) fn sends_by(name: &str, queues: u16) -> String {
    format!(
        "{name}: sends by up to {queues} queues, frame n of its set of frames by queue n modulo {queues}: frames of \
         different queues have no order, and reordering is judged within those of a queue"
    )
}

/// What a reader should know of a port whose arrivals are counted in several places, such as "2 receive queues"; with what
/// makes one of them.
pub(crate) fn receives_by(name: &str, places: &str, remedy: &str) -> String {
    format!(
        "{name}: {places}, each seen on its own: reordering, gaps, silences and delay variation between frames of \
         different queues are not seen; for one queue: {remedy}"
    )
}

/// How an interface gets one.
pub(crate) fn one_queue(name: &str) -> String {
    format!("ethtool -L {name} combined 1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn all_go_as_far_as_the_foremost_and_the_last_one_counts() {
        let queues = Queues::default();
        queues.begin(2);
        assert_eq!(queues.taken_before(|| Some(5)), Some(5));
        assert_eq!(queues.taken_before(|| Some(9)), Some(5), "one of them has sent already");
        thread::scope(|scope| {
            let other = scope.spawn(|| queues.await_foremost(1_003));
            assert_eq!(queues.await_foremost(1_000), 1_003);
            assert_eq!(other.join().unwrap(), 1_003);
        });
        assert_eq!((queues.all_sent(501), queues.all_sent(502)), (None, Some(1_003)));
        queues.begin(1);
        assert_eq!((queues.await_foremost(7), queues.all_sent(7)), (7, Some(7)));
    }

    #[test]
    fn nobody_is_foremost_while_one_still_sends() {
        let queues = Queues::default();
        queues.begin(2);
        queues.end(5);
        assert_eq!(queues.foremost(), None);
        queues.end(3);
        assert_eq!(queues.foremost(), Some(5));
    }

    /// Once more after a trial in which one of them failed and brought nothing.
    #[test]
    fn the_last_receive_queue_has_what_all_counted() {
        let plan = ReceivePlan {
            port: trial::PortId(3),
            key: wire::signature::Key::from_seed(1),
            forms: vec![],
            streams: vec![],
            verify_payload: false,
            clock_slack: Duration::ZERO,
        };
        let counted = |frames: usize| {
            let mut receiver =
                trial::Receiver::new(&plan, units::Instant::ZERO, crate::clock::TICK);
            for _ in 0..frames {
                receiver.absorb(units::Instant::ZERO, &[0; 60]);
            }
            receiver.into_queue_account()
        };
        let queues: Vec<_> = AccountQueue::all(2).collect();
        let close =
            |queue: usize, frames| queues[queue].close(counted(frames), &plan, |_| 0).foreign;
        for (first, last) in [(0, 1), (1, 0)] {
            close(first, 100);
            queues.iter().for_each(AccountQueue::begin);
            assert_eq!((close(first, 2), close(last, 5)), (0, 7));
        }
    }
}
