//! Frame sizes measured side by side, each on a tester of its own: a simulated run uses all processors.
//!
//! What a test does with one size has nothing to do with the others. So each size has a lane: a tester
//! with a device of its own, on which its tests follow each other. The lanes run one test at a time, as
//! many at once as there are threads, and their events are told in the order of the sizes, with trials
//! numbered anew. So a run's events are the same however many threads there are.

use crate::event::{Event, EventSink, SinkError, Verdict};
use crate::{RunError, SelfTest};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use trial::Tester;
use units::Duration;

/// Testers of one frame size.
pub struct Lane<'t> {
    /// With the device between its ports.
    pub device: Box<dyn Tester + Send + 't>,
    /// With its ports joined back to back, where a self-test is to be made.
    pub looped: Option<Box<dyn Tester + Send + 't>>,
}

/// Makes the testers of a frame size, which is named as in the events.
pub type MakeLane<'f, 't> = dyn FnMut(&str) -> Result<Lane<'t>, RunError> + 'f;

/// What comes from a lane at work.
enum Said {
    Event(Event),
    Ended(Result<(), RunError>),
}

/// What a lane tells, on its way to the run's sink.
struct Teller {
    lane: usize,
    to: Sender<(usize, Said)>,
}

impl EventSink for Teller {
    /// Fails once another lane has ended the run.
    fn emit(&mut self, event: &Event) -> Result<(), SinkError> {
        let said = (self.lane, Said::Event(event.clone()));
        self.to.send(said).map_err(|_| SinkError("the run has ended".into()))
    }
}

/// Does `work` in each lane, as many at a time as there are threads, and tells what they say lane after
/// lane. Of a lane that fails all is told, of those behind it nothing.
pub(crate) fn side_by_side<L: Send>(
    lanes: &mut [L],
    threads: usize,
    told: &mut Merged<'_>,
    work: impl Fn(&mut L, &mut dyn EventSink) -> Result<(), RunError> + Sync,
) -> Result<(), RunError> {
    let count = lanes.len();
    let (to, from) = channel();
    let waiting = Mutex::new(lanes.iter_mut().enumerate());
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    let share = |to: Sender<(usize, Said)>| {
        while let Some((lane, at_work)) = next() {
            let mut teller = Teller { lane, to: to.clone() };
            let ended = work(at_work, &mut teller);
            // Nobody listens any more where another lane has ended the run.
            if to.send((lane, Said::Ended(ended))).is_err() {
                break;
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, count.max(1)) {
            let (to, share) = (to.clone(), &share);
            scope.spawn(move || share(to));
        }
        drop(to);
        told.in_order(count, from)
    })
}

/// Tells the run's sink what the lanes say.
pub(crate) struct Merged<'s> {
    sink: &'s mut dyn EventSink,
    trials: u64,
    invalid_trials: u64,
    /// What is left of each lane.
    remaining: Vec<Duration>,
    /// What has been learned of the tester, with every size so far.
    self_test: Option<SelfTest>,
}

impl<'s> Merged<'s> {
    /// Of lanes with so much to do each.
    pub(crate) fn new(sink: &'s mut dyn EventSink, remaining: Vec<Duration>) -> Self {
        Merged { sink, trials: 0, invalid_trials: 0, remaining, self_test: None }
    }

    /// Trials told, and those among them that were invalid.
    pub(crate) fn trials(&self) -> (u64, u64) {
        (self.trials, self.invalid_trials)
    }

    /// Tells what no lane says.
    pub(crate) fn emit(&mut self, event: &Event) -> Result<(), RunError> {
        Ok(self.sink.emit(event)?)
    }

    /// Tells the events of each lane when those of the lanes before it have been told.
    fn in_order(&mut self, lanes: usize, from: Receiver<(usize, Said)>) -> Result<(), RunError> {
        let mut early: Vec<Vec<Said>> = (0..lanes).map(|_| vec![]).collect();
        let mut current = 0;
        // It ends when all threads have: one that panicked has not told the end of its lane.
        while let Ok((lane, said)) = from.recv() {
            early[lane].push(said);
            while current < lanes {
                let mut has_ended = false;
                for said in std::mem::take(&mut early[current]) {
                    match said {
                        Said::Event(event) => self.tell(current, event)?,
                        Said::Ended(how) => {
                            how?;
                            has_ended = true;
                        }
                    }
                }
                if !has_ended {
                    break;
                }
                current += 1;
            }
        }
        Ok(())
    }

    fn tell(&mut self, lane: usize, mut event: Event) -> Result<(), RunError> {
        match &mut event {
            Event::TestStarted(test) => test.remaining = self.left(lane, test.remaining),
            Event::TrialStarted(trial) => {
                trial.number = self.trials + 1;
                trial.remaining = self.left(lane, trial.remaining);
            }
            Event::TrialFinished(trial) => {
                self.trials += 1;
                trial.number = self.trials;
                self.invalid_trials += u64::from(trial.verdict == Verdict::Invalid);
            }
            Event::SelfTestFinished(measured) => {
                let known = self
                    .self_test
                    .get_or_insert_with(|| SelfTest { sizes: vec![], ..(**measured).clone() });
                known.sizes.append(&mut measured.sizes);
                **measured = known.clone();
            }
            _ => {}
        }
        self.emit(&event)
    }

    /// So much is left of each lane.
    pub(crate) fn remain(&mut self, of_lanes: impl IntoIterator<Item = Duration>) {
        self.remaining = of_lanes.into_iter().collect();
    }

    /// What is left of the run, now that so much is left of a lane.
    fn left(&mut self, lane: usize, of_lane: Duration) -> Duration {
        self.remaining[lane] = of_lane;
        self.remaining.iter().copied().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    fn notes(events: &[Event]) -> Vec<&str> {
        let notes = events.iter().filter_map(|event| match event {
            Event::Note(note) => Some(note.as_str()),
            _ => None,
        });
        notes.collect()
    }

    /// Runs lanes that each say their number twice; the one of `failing` fails between.
    fn run(threads: usize, failing: Option<usize>) -> (Vec<Event>, Result<(), RunError>) {
        let mut events: Vec<Event> = vec![];
        let mut lanes: Vec<usize> = (0..5).collect();
        let mut told = Merged::new(&mut events, vec![]);
        let ended = side_by_side(&mut lanes, threads, &mut told, |lane, sink| {
            sink.emit(&Event::Note(format!("{lane} begins")))?;
            if failing == Some(*lane) {
                return Err(RunError::Config("it fails".into()));
            }
            // The first ones take longest.
            let work: u64 = (0..(5 - *lane as u64) * 20_000).fold(0, |sum, n| sum ^ (n * n));
            sink.emit(&Event::Note(format!("{lane} ends with {work}")))?;
            Ok(())
        });
        (events, ended)
    }

    #[test]
    fn events_are_in_the_order_of_lanes_however_many_threads() {
        let (alone, ended) = run(1, None);
        assert_eq!((notes(&alone).len(), ended), (10, Ok(())));
        for threads in [0, 2, 3, 9] {
            assert_eq!(notes(&run(threads, None).0), notes(&alone), "{threads} threads");
        }
    }

    #[test]
    fn of_lanes_behind_one_that_fails_nothing_is_told() {
        for threads in [1, 2, 9] {
            let (events, ended) = run(threads, Some(2));
            assert_eq!(notes(&events), notes(&run(1, None).0[..5]), "{threads} threads");
            assert_eq!(ended, Err(RunError::Config("it fails".into())));
        }
    }

    /// Would never end if one waited for the other.
    #[test]
    fn lanes_run_at_the_same_time() {
        let both = Barrier::new(2);
        let mut events: Vec<Event> = vec![];
        let mut told = Merged::new(&mut events, vec![]);
        let ended = side_by_side(&mut [(), ()], 2, &mut told, |(), _| {
            both.wait();
            Ok(())
        });
        assert_eq!(ended, Ok(()));
    }
}
