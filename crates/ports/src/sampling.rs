//! Samples of a running trial, for whoever looks at it.

use crate::{TrialSignals, clock};
use trial::{Histogram, Observer, Sample};
use units::{Duration, Instant};

/// How long the threads have to answer. One that is held up for longer, or has nothing to do, has answered
/// before, and what it said then is taken.
const ANSWERS_WITHIN: Duration = Duration::from_ms(20);

/// Takes samples when they are due, and ends the trial when that is wanted.
pub(crate) struct Sampling<'a> {
    observer: &'a mut dyn Observer,
    /// Transmitters and receivers.
    answers: usize,
    every: Option<Duration>,
    /// Samples taken.
    taken: u64,
    /// Since when a sample is waited for.
    asked_at: Option<Instant>,
    /// When the observer ended sending.
    pub ended: Option<Instant>,
    /// Latencies have an error that is known at the end only: samples have none.
    pub hides_latency: bool,
}

impl<'a> Sampling<'a> {
    /// For a trial with so many transmitting and receiving ports together; asks them already, so that each
    /// has answered once whatever comes.
    pub fn new(observer: &'a mut dyn Observer, signals: &TrialSignals, ports: usize) -> Self {
        let every = observer.every();
        if every.is_some() {
            signals.ask();
        }
        Sampling {
            observer,
            answers: ports,
            every,
            taken: 0,
            asked_at: None,
            ended: None,
            hides_latency: false,
        }
    }

    /// Looks whether a sample is due, or the end is wanted, of a trial that began at `start`.
    pub fn look(&mut self, signals: &TrialSignals, start: Instant) {
        let now = clock::now();
        if self.ended.is_none() && self.observer.ends() {
            self.ended = Some(now);
            signals.stop();
        }
        let Some(every) = self.every else { return };
        let due = start + every * (self.taken + 1);
        match self.asked_at {
            None if now >= due => {
                signals.ask();
                self.asked_at = Some(now);
            }
            Some(asked_at) => {
                let (sent, mut received, fresh) = signals.answers();
                if self.hides_latency {
                    received
                        .iter_mut()
                        .for_each(|so_far| so_far.latency = Histogram::new(clock::TICK));
                }
                if fresh >= self.answers || now.since(asked_at) >= ANSWERS_WITHIN {
                    let elapsed = asked_at.since(start);
                    self.observer.observe(&Sample { elapsed, sent, received });
                    self.asked_at = None;
                    // Moments that have passed meanwhile are left out.
                    self.taken = elapsed.as_ps() / every.as_ps().max(1);
                }
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trial::{PortId, SentSoFar, StreamId};

    /// Ends with its second sample.
    #[derive(Default)]
    struct Looks(Vec<Sample>);

    impl Observer for Looks {
        fn every(&self) -> Option<Duration> {
            Some(Duration::from_ms(5))
        }
        fn observe(&mut self, sample: &Sample) {
            self.0.push(sample.clone());
        }
        fn ends(&mut self) -> bool {
            self.0.len() == 2
        }
    }

    #[test]
    fn a_port_that_does_not_answer_is_taken_by_its_word_from_before() {
        let signals = TrialSignals::new([PortId(0)]);
        let sent = |frames| SentSoFar { port: PortId(0), of_stream: vec![(StreamId(1), frames)] };
        let mut looks = Looks::default();
        let start = clock::now();
        let mut sampling = Sampling::new(&mut looks, &signals, 1);
        assert_eq!(signals.asked(), 1);
        signals.note_sent(1, 0, sent(3));
        while !signals.stopped() {
            sampling.look(&signals, start);
            clock::sleep(Duration::from_ms(1));
            // The second question is answered, the third is not.
            if signals.asked() == 2 {
                signals.note_sent(2, 0, sent(7));
            }
        }
        assert!(sampling.ended.is_some());
        let frames: Vec<u64> = looks.0.iter().map(|sample| sample.sent_of(StreamId(1))).collect();
        assert_eq!(frames, [7, 7]);
        let waited = looks.0[1].elapsed;
        assert!(waited >= Duration::from_ms(10), "{waited}");
    }
}
