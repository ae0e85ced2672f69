//! Inter-packet delay variation (RFC 8219 section 7.3.2, RFC 5481 section 4.1): how much longer a
//! frame takes than the one before it, with its sign.

use super::{load, notes_of, stream};
use crate::bench::Bench;
use crate::rfc2544::ThroughputResult;
use crate::subject::Subject;
use crate::traffic::Tags;
use crate::{Conditions, Pattern, RunError, TestKind};
use serde::{Deserialize, Serialize};
use trial::{StreamAccount, StreamId, TrialResult};
use units::{Duration, FrameRate};

/// The result for one frame size: of the first direction, where there are two.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct IpdvResult {
    /// Under which conditions.
    pub conditions: Conditions,
    /// Why there is no result; `None` where there is one.
    pub not_measured: Option<String>,
    /// Load of each direction.
    pub rate: Option<FrameRate>,
    /// False where `rate` is not the throughput.
    pub rate_is_throughput: bool,
    /// What was found: medians over the repetitions.
    pub ipdv: Option<Ipdv>,
    /// Repetitions that count.
    pub repetitions: u64,
    /// Repetition by repetition.
    pub trials: Vec<IpdvTrial>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// D(i) - D(i-1), in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Ipdv {
    /// The smallest, of every pair of neighbours; exact.
    pub min_ps: i64,
    /// The median, of the pairs of so many frames in a row; exact for them.
    pub median_ps: i64,
    /// The largest, of every pair of neighbours; exact.
    pub max_ps: i64,
}

/// One repetition.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct IpdvTrial {
    /// `None` where no two neighbours arrived.
    pub ipdv: Option<Ipdv>,
    /// Pairs of neighbours of which minimum and maximum are.
    pub pairs: u64,
    /// Those of which the median is.
    pub median_pairs: u64,
    /// Frames lost.
    pub lost_frames: u64,
    /// Why it does not count; empty where it does.
    pub invalid: Vec<String>,
}

/// Streams at the throughput rate, in which every frame is compared with the one before it.
pub fn ipdv(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    throughput: &ThroughputResult,
) -> Result<IpdvResult, RunError> {
    let config = &subject.config.ipdv;
    let mut result = IpdvResult {
        conditions: subject.conditions(),
        not_measured: None,
        rate: None,
        rate_is_throughput: true,
        ipdv: None,
        repetitions: 0,
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
    let duration = Duration::from_secs_f64(config.stream_s);
    let of_stream = rate.frames_in(duration) / subject.traffic.streams_a_sender() as u64;
    let tags = Some(in_a_row(of_stream, config.median_frames));
    for repetition in 1..=config.repetitions {
        let count = (repetition, config.repetitions);
        let ran = stream(bench, subject, TestKind::Ipdv, (rate, duration), count, tags)?;
        let stream = subject.traffic.stream_id(0);
        result.trials.push(IpdvTrial::of((&ran.result, stream), ran.invalid_reasons()));
    }
    conclude(&mut result, subject);
    Ok(result)
}

/// `count` frames of the first stream, in the middle of so many.
fn in_a_row(frames: u64, count: u64) -> Tags {
    let count = count.min(frames);
    Tags { stream: 0, first: (frames - count) / 2, every: 1, count }
}

impl IpdvTrial {
    fn of((result, stream): (&TrialResult, StreamId), invalid: Vec<String>) -> IpdvTrial {
        let account = result.expected_accounts().find(|received| received.stream == stream);
        let account = account.map(|received| &received.account);
        let sampled = account.map_or(vec![], |account| differences(&account.tagged));
        IpdvTrial {
            ipdv: account.and_then(|account| of_account(account, &sampled)),
            pairs: account.map_or(0, |account| account.variation.count),
            median_pairs: sampled.len() as u64,
            lost_frames: result.lost_frames(),
            invalid,
        }
    }
}

fn of_account(account: &StreamAccount, sampled: &[i64]) -> Option<Ipdv> {
    let tick_ps = account.latency.tick().as_ps() as i64;
    (account.variation.count > 0).then_some(())?;
    Some(Ipdv {
        min_ps: account.variation.min_ticks.saturating_mul(tick_ps),
        median_ps: signed_median(sampled)?,
        max_ps: account.variation.max_ticks.saturating_mul(tick_ps),
    })
}

/// Of delays by number, the differences of neighbours; none across a frame that is missing.
fn differences(tagged: &[(u64, Duration)]) -> Vec<i64> {
    let mut delays = tagged.to_vec();
    delays.sort();
    let neighbours = delays.windows(2).filter(|pair| pair[0].0 + 1 == pair[1].0);
    neighbours.map(|pair| pair[1].1.as_ps() as i64 - pair[0].1.as_ps() as i64).collect()
}

/// Of an even number of values the mean of the two in the middle, towards zero.
fn signed_median(values: &[i64]) -> Option<i64> {
    let mut sorted = values.to_vec();
    sorted.sort();
    let upper = i128::from(*sorted.get(sorted.len() / 2)?);
    let lower = i128::from(sorted[(sorted.len() - 1) / 2]);
    Some(((lower + upper) / 2) as i64)
}

fn conclude(result: &mut IpdvResult, subject: &Subject<'_>) {
    let valid: Vec<_> = result.trials.iter().filter(|trial| trial.invalid.is_empty()).collect();
    let found: Vec<Ipdv> = valid.iter().filter_map(|trial| trial.ipdv).collect();
    let of = |part: fn(&Ipdv) -> i64| signed_median(&found.iter().map(part).collect::<Vec<_>>());
    let medians = (of(|ipdv| ipdv.min_ps), of(|ipdv| ipdv.median_ps), of(|ipdv| ipdv.max_ps));
    if let (Some(min_ps), Some(median_ps), Some(max_ps)) = medians {
        result.ipdv = Some(Ipdv { min_ps, median_ps, max_ps });
    }
    result.repetitions = found.len() as u64;
    let invalid = result.trials.len() - valid.len();
    let lost = valid.iter().map(|trial| trial.lost_frames).sum();
    let pairs = |part: fn(&IpdvTrial) -> u64| valid.iter().map(|trial| part(trial)).min();
    let sampled = pairs(|trial| trial.median_pairs).zip(pairs(|trial| trial.pairs));
    result.notes.extend(notes_of(subject, invalid, lost));
    if let Some((sampled, all)) = sampled.filter(|(sampled, all)| sampled < all) {
        result.notes.push(format!(
            "minimum and maximum are of every pair of neighbours ({all} or more in a repetition), \
             the median of {sampled} pairs in a row in the middle of the stream"
        ));
    }
    if subject.traffic.pattern() != Pattern::Pair {
        let (from, to) = (subject.traffic.from(0).port, subject.traffic.to(0).port);
        result.notes.push(format!("from {from} to {to}, with all other ports loaded alike"));
    } else if subject.traffic.senders().len() > 1 {
        result.notes.push("of the first direction, with the other one loaded alike".into());
    }
    if result.ipdv.is_none() {
        result.not_measured = Some(match invalid == result.trials.len() {
            true => "no repetition was valid: the tester did not keep up".into(),
            false => "no two frames in a row came back on one receive queue".into(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 5481 section 4.1: signed, of neighbours alone, in whatever order they arrived.
    #[test]
    fn a_missing_frame_makes_two_differences_undefined() {
        let tagged = [(0, 10), (1, 14), (4, 9), (3, 7), (5, 9)];
        let tagged = tagged.map(|(index, ns)| (index, Duration::from_ns(ns)));
        assert_eq!(differences(&tagged), [4_000, 2_000, 0]);
        assert!(differences(&tagged[..1]).is_empty());
    }

    #[test]
    fn the_median_keeps_its_sign() {
        assert_eq!(signed_median(&[-5, 4, -7]), Some(-5));
        assert_eq!(signed_median(&[-6, 4]), Some(-1));
        assert_eq!(signed_median(&[]), None);
    }

    #[test]
    fn the_frames_in_a_row_are_in_the_middle() {
        let of = |frames| (in_a_row(frames, 10_000).first, in_a_row(frames, 10_000).count);
        assert_eq!((of(100_000), of(10)), ((45_000, 10_000), (0, 10)));
    }
}
