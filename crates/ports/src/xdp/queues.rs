//! What the queues of one port tell each other in a trial. Each has a thread and a program of its own, and all take
//! the same walk through the plan: flow `n` (slot of the frame set) leaves by queue `n mod queues`, so that the frames
//! of a flow keep their order.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A queue that has nothing to say for so long is not waited for: its port is about to fail.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// Where the queues of a port meet.
#[derive(Default)]
pub(super) struct Queues {
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

    /// One has ended after so many frames of the walk; gives how far the others have to go: to where the foremost
    /// is, since a stream whose frames are sent by several queues has no holes then.
    pub fn foremost(&self, walked: u64) -> u64 {
        let mut state = self.state();
        state.ended.push(walked);
        self.changed.notify_all();
        let others_send = |state: &mut State| state.ended.len() < state.used;
        let waited = self.changed.wait_timeout_while(state, LONGEST_WAIT, others_send);
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
            let other = scope.spawn(|| queues.foremost(1_003));
            assert_eq!(queues.foremost(1_000), 1_003);
            assert_eq!(other.join().unwrap(), 1_003);
        });
        assert_eq!((queues.all_sent(501), queues.all_sent(502)), (None, Some(1_003)));
        queues.begin(1);
        assert_eq!((queues.foremost(7), queues.all_sent(7)), (7, Some(7)));
    }
}
