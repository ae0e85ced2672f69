//! The course of a trial: what left and what came back in each part of its time. It explains a result and decides
//! nothing: counts of different ports may be some milliseconds apart, and the trial's result is exact.

use crate::generator::SoFar;
use serde::{Deserialize, Serialize};
use trial::{Observer, Sample, Trial, TrialResult};
use units::Duration;

/// A trial has so many parts at most.
const PARTS: u64 = 24;
/// No part is shorter: looking takes the tester's time.
const PART_MIN: Duration = Duration::from_ms(100);
/// With more streams a look would copy too much.
const STREAMS_MAX: usize = 64;

/// A part of a trial.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Moment {
    /// Its end, from the start of the trial.
    pub until: Duration,
    /// Frames that left.
    pub sent: u64,
    /// Different frames that arrived where they should.
    pub received: u64,
    /// Frames found missing; below zero where more of those missing before have come since.
    pub lost: i64,
    /// Median latency of the frames that arrived; `None` where none bears a time.
    pub latency_p50: Option<Duration>,
    /// 99th percentile.
    pub latency_p99: Option<Duration>,
    /// The largest.
    pub latency_max: Option<Duration>,
}

/// Takes down the course of a trial.
pub(crate) struct Course {
    every: Duration,
    /// Looks after this are left out: the last part is that of the result, and no sliver.
    until: Duration,
    last: Option<Sample>,
    counted: SoFar,
    moments: Vec<Moment>,
}

impl Course {
    /// Of a trial; `None` where it is too short to have parts, or has too many streams.
    pub fn of(trial: &Trial) -> Option<Self> {
        let every = Duration::from_ps(trial.duration().as_ps() / PARTS).max(PART_MIN);
        let has_parts = trial.duration() >= every * 2 && trial.streams.len() <= STREAMS_MAX;
        let until = trial.duration().saturating_sub(Duration::from_ps(every.as_ps() / 2));
        let (last, counted, moments) = (None, SoFar::default(), vec![]);
        has_parts.then_some(Course { every, until, last, counted, moments })
    }

    /// With its last part, by the result; empty where nobody looked: one from the record has its course there.
    pub fn finished(mut self, result: &TrialResult) -> Vec<Moment> {
        if self.last.is_none() {
            return vec![];
        }
        let sent = result.sent.iter().map(|sent| sent.report.sending_time());
        let until = sent.max().unwrap_or_default();
        self.take(SoFar::of_result(result), until);
        self.moments
    }

    fn take(&mut self, now: SoFar, until: Duration) {
        let part = now.since(&self.counted, (until, Duration::ZERO));
        self.counted = now;
        let latency = part.latency.as_ref();
        self.moments.push(Moment {
            until,
            sent: part.sent,
            received: part.received,
            lost: part.lost,
            latency_p50: latency.and_then(|latency| latency.percentile(50.0)),
            latency_p99: latency.and_then(|latency| latency.percentile(99.0)),
            latency_max: latency.and_then(trial::Histogram::max),
        });
    }
}

impl Observer for Course {
    fn every(&self) -> Option<Duration> {
        Some(self.every)
    }

    fn observe(&mut self, sample: &Sample) {
        if sample.elapsed > self.until {
            return;
        }
        self.take(SoFar::of_sample(sample, self.last.as_ref()), sample.elapsed);
        self.last = Some(sample.clone());
    }

    fn ends(&mut self) -> bool {
        false
    }
}
