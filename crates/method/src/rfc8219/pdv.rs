//! Packet delay variation (RFC 8219 section 7.3.1, RFC 5481 section 4.2): how much longer than the
//! fastest frame all but one in a thousand take at most.

use super::{load, notes_of, stream};
use crate::bench::Bench;
use crate::rfc2544::ThroughputResult;
use crate::subject::Subject;
use crate::{Conditions, RunError, TestKind, median, percentile};
use serde::{Deserialize, Serialize};
use trial::{Histogram, TrialResult};
use units::{Duration, FrameRate};

/// Below so many frames the 99.9th percentile is the largest value, and says no more than that.
const FRAMES_FOR_PERCENTILE: u64 = 1_000;

/// The result for one frame size.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PdvResult {
    /// Under which conditions.
    pub conditions: Conditions,
    /// Why there is no result; `None` where there is one.
    pub not_measured: Option<String>,
    /// Load of each direction.
    pub rate: Option<FrameRate>,
    /// False where `rate` is not the throughput.
    pub rate_is_throughput: bool,
    /// What was found.
    pub pdv: Option<Pdv>,
    /// Repetition by repetition.
    pub trials: Vec<PdvTrial>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// Over the repetitions, each end of what is known of it by itself.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Pdv {
    /// The reported value.
    pub median: Between,
    /// 1st percentile.
    pub p1: Between,
    /// 99th percentile.
    pub p99: Between,
    /// Repetitions.
    pub repetitions: u64,
}

/// A time of which it is known that it lies between two: the delays of all frames are counted in
/// buckets, each at most [`Histogram::RELATIVE_ERROR`] of its delay wide.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Between {
    /// It is not below this.
    pub low: Duration,
    /// Nor above this.
    pub high: Duration,
}

/// One repetition.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PdvTrial {
    /// The smallest delay of all frames, exact.
    pub min_delay: Option<Duration>,
    /// D(99.9) - D(min); of two directions the larger one.
    pub pdv: Option<Between>,
    /// Frames measured, in all directions.
    pub frames: u64,
    /// Frames lost.
    pub lost_frames: u64,
    /// Why it does not count; empty where it does.
    pub invalid: Vec<String>,
}

/// Streams at the throughput rate, in which the delay of every frame is measured.
pub fn pdv(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    throughput: &ThroughputResult,
) -> Result<PdvResult, RunError> {
    let config = &subject.config.pdv;
    let mut result = PdvResult {
        conditions: subject.conditions(),
        not_measured: None,
        rate: None,
        rate_is_throughput: true,
        pdv: None,
        trials: vec![],
        notes: vec![],
    };
    let (rate, note) = match load(subject, throughput) {
        Ok(known) => known,
        Err(why) => {
            result.not_measured = Some(why);
            return Ok(result);
        }
    };
    result.rate = Some(rate);
    result.rate_is_throughput = note.is_none();
    result.notes.extend(note);
    let sent = (rate, Duration::from_secs_f64(config.stream_s));
    for repetition in 1..=config.repetitions {
        let count = (repetition, config.repetitions);
        let ran = stream(bench, subject, TestKind::Pdv, sent, count, None)?;
        result.trials.push(PdvTrial::of(&ran.result, ran.invalid_reasons()));
    }
    conclude(&mut result, subject);
    Ok(result)
}

impl PdvTrial {
    fn of(result: &TrialResult, invalid: Vec<String>) -> PdvTrial {
        let delays = || result.expected_accounts().map(|received| &received.account.latency);
        PdvTrial {
            min_delay: delays().filter_map(Histogram::min).min(),
            pdv: delays().filter_map(of_direction).max_by_key(|pdv| pdv.high),
            frames: delays().map(Histogram::count).sum(),
            lost_frames: result.lost_frames(),
            invalid,
        }
    }
}

/// D(99.9) - D(min) of one direction.
fn of_direction(delays: &Histogram) -> Option<Between> {
    let (low, high) = delays.percentile_between(99.9)?;
    let min = delays.min()?;
    Some(Between { low: low.saturating_sub(min), high: high.saturating_sub(min) })
}

fn conclude(result: &mut PdvResult, subject: &Subject<'_>) {
    let valid: Vec<_> = result.trials.iter().filter(|trial| trial.invalid.is_empty()).collect();
    let found: Vec<Between> = valid.iter().filter_map(|trial| trial.pdv).collect();
    let invalid = result.trials.len() - valid.len();
    let lost = valid.iter().map(|trial| trial.lost_frames).sum();
    let few = valid.iter().any(|trial| trial.frames < FRAMES_FOR_PERCENTILE);
    result.notes.extend(notes_of(subject, invalid, lost));
    result.pdv = Pdv::of(&found);
    let mut say = |when: bool, what: &str| result.notes.extend(when.then(|| what.to_string()));
    say(
        few && !found.is_empty(),
        "fewer than 1,000 frames in a repetition: their 99.9th percentile is the largest delay",
    );
    say(
        subject.traffic.streams_of_test() > 1,
        "each direction is taken by itself; a repetition counts with the largest variation",
    );
    if result.pdv.is_none() {
        result.not_measured = Some("no repetition was valid: the tester did not keep up".into());
    }
}

impl Pdv {
    fn of(found: &[Between]) -> Option<Pdv> {
        let of = |take: &dyn Fn(&[Duration]) -> Option<Duration>| {
            let ends = |end: fn(&Between) -> Duration| found.iter().map(end).collect::<Vec<_>>();
            let (low, high) = (ends(|pdv| pdv.low), ends(|pdv| pdv.high));
            Some(Between { low: take(&low)?, high: take(&high)? })
        };
        Some(Pdv {
            median: of(&median)?,
            p1: of(&|values| percentile(values, 1.0))?,
            p99: of(&|values| percentile(values, 99.0))?,
            repetitions: found.len() as u64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(delays_ns: impl IntoIterator<Item = u64>) -> Between {
        let mut histogram = Histogram::new(Duration::from_ns(1));
        delays_ns.into_iter().for_each(|delay| histogram.record(delay));
        of_direction(&histogram).unwrap()
    }

    /// 999 of 1,000 frames take 100 ns at most: the one that takes 120 is outside.
    #[test]
    fn one_frame_in_a_thousand_is_left_out() {
        let few = of((0..999).map(|n| 60 + n % 41).chain([120]));
        assert_eq!((few.low, few.high), (Duration::from_ns(40), Duration::from_ns(40)));
    }

    /// A delay of 10 ms that varies by 5 us lies in a single bucket of 65.536 us: the variation is
    /// not known to be more than none.
    #[test]
    fn what_the_buckets_do_not_resolve_is_not_claimed() {
        let pdv = of((0..2_000).map(|n| 10_000_000 + n % 5_000));
        assert_eq!(pdv.low, Duration::ZERO);
        assert_eq!(pdv.high, Duration::from_ns(1_999), "no delay is larger");
    }
}
