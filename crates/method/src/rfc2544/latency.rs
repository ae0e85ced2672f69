//! Latency at the throughput rate (RFC 2544 section 26.2), with RFC 8219 section 7.2's typical
//! and worst-case latency from the same trials: RFC 2544's one tagged frame is the first of
//! RFC 8219's many.

use crate::bench::{Bench, Ran, Request};
use crate::found::{LatencySummary, median, percentile};
use crate::rfc2544::{ThroughputResult, known_rate};
use crate::subject::Subject;
use crate::traffic::{Tags, TrialShape};
use crate::{Conditions, LatencyDefinition, Pattern, RunError, TestKind};
use serde::{Deserialize, Serialize};
use trial::{BitTimes, DelayVariation, Histogram, TrialResult};
use units::{Duration, FrameRate};

/// The result for one frame size.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LatencyResult {
    /// Under which conditions.
    pub conditions: Conditions,
    /// Why there is no result; `None` where there is one.
    pub not_measured: Option<String>,
    /// Load of each direction; the throughput found before.
    pub rate: Option<FrameRate>,
    /// False where `rate` is not the throughput, or frames were lost at it: then the numbers are a delay,
    /// not a latency (RFC 3511 section 5.10).
    pub rate_is_throughput: bool,
    /// In which form the numbers are stated. Those of this value are as stamped: what prints them converts
    /// ([`LatencyDefinition::ns`]).
    pub definition: LatencyDefinition,
    /// The RFC 2544 number.
    pub rfc2544: Option<Rfc2544Latency>,
    /// The RFC 8219 numbers.
    pub rfc8219: Option<Rfc8219Latency>,
    /// **Every** frame of all repetitions and directions; neither the RFC 2544 nor the RFC 8219
    /// number, to be labelled separately.
    pub all_frames: Option<LatencySummary>,
    /// Every frame of one trial at half of `rate`, where no queue of the device is full; `None` where that trial was
    /// invalid. No document asks for it.
    #[serde(default)]
    pub half_load: Option<LatencySummary>,
    /// What the tester adds by itself, from the self-test: minimum at a low rate.
    pub tester_floor: Option<Duration>,
    /// Trial by trial.
    pub trials: Vec<LatencyTrial>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// RFC 2544 section 26.2: the mean of single tagged frames.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Rfc2544Latency {
    /// The reported value: mean over the repetitions.
    pub mean: Duration,
    /// The smallest.
    pub min: Duration,
    /// The largest.
    pub max: Duration,
    /// Repetitions whose tagged frame arrived.
    pub repetitions: u64,
}

/// RFC 8219 section 7.2: many tagged frames.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Rfc8219Latency {
    /// Typical latency: median over the repetitions of each one's median.
    pub typical: Duration,
    /// Worst-case latency: median over the repetitions of each one's 99.9th percentile.
    pub worst_case: Duration,
    /// 1st and 99th percentile of the typical latencies.
    pub typical_p1_p99: (Duration, Duration),
    /// 1st and 99th percentile of the worst-case latencies.
    pub worst_case_p1_p99: (Duration, Duration),
    /// Tagged frames in each repetition.
    pub tags: u64,
    /// Repetitions.
    pub repetitions: u64,
}

/// One repetition.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LatencyTrial {
    /// Of the one frame tagged as RFC 2544 has it; `None` where it was lost.
    pub tagged: Option<Duration>,
    /// Median of the tagged frames (RFC 8219).
    pub typical: Option<Duration>,
    /// 99.9th percentile of the tagged frames; with fewer than 1,000 of them the largest.
    pub worst_case: Option<Duration>,
    /// Tagged frames that arrived.
    pub tags_received: u64,
    /// Frames lost in the trial.
    pub lost_frames: u64,
    /// Why it does not count; empty where it does.
    pub invalid: Vec<String>,
}

/// Repetitions in which frames were lost are made again so often in all, since latency is that at the
/// throughput; after that they count, and the result is a delay under loss.
const LOSSY_MAX: u32 = 2;

/// Repeats a long trial at the throughput rate and times its tagged frames.
pub fn latency(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    throughput: &ThroughputResult,
) -> Result<LatencyResult, RunError> {
    let mut result = LatencyResult {
        conditions: subject.conditions(),
        not_measured: None,
        rate: None,
        rate_is_throughput: true,
        definition: definition(subject),
        rfc2544: None,
        rfc8219: None,
        all_frames: None,
        half_load: None,
        tester_floor: subject.tester_floor,
        trials: vec![],
        notes: vec![],
    };
    let (rate, note) = match known_rate(throughput) {
        Ok(known) => known,
        Err(why) => {
            result.not_measured = Some(why);
            return Ok(result);
        }
    };
    result.rate = Some(rate);
    result.rate_is_throughput = note.is_none();
    result.notes.extend(note);
    let mut all = AllFrames::default();
    let (mut spare, mut again) = (LOSSY_MAX, 0);
    for repetition in 1..=subject.config.latency.repetitions {
        let mut ran = repeat(bench, subject, rate, repetition)?;
        while ran.result.is_valid() && ran.result.lost_frames() > 0 && spare > 0 {
            (spare, again) = (spare - 1, again + 1);
            ran = repeat(bench, subject, rate, repetition)?;
        }
        if ran.result.is_valid() {
            all.add(&ran.result);
        }
        result.trials.push(told(&ran, subject, repetition));
    }
    if again > 0 {
        result.notes.push(format!(
            "{again} repetitions lost frames and were made again: at this rate the device loses frames in \
             some trials"
        ));
    }
    conclude(&mut result, subject, all);
    at_half_load(bench, subject, rate, &mut result)?;
    Ok(result)
}

/// One trial more at half of the throughput: what a user meets whose line is not full.
fn at_half_load(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    rate: FrameRate,
    result: &mut LatencyResult,
) -> Result<(), RunError> {
    let rate = rate.scaled(0.5);
    let label = format!("{}, {}: {rate:.1}, half load", TestKind::Latency, subject.size_in_words());
    let stream = Duration::from_secs_f64(subject.config.latency.stream_s);
    let ran = bench.run(subject.request(TestKind::Latency, label, rate, stream))?;
    if !ran.result.is_valid() {
        result.notes.push("the trial at half load was invalid".into());
        return Ok(());
    }
    let lost = ran.result.lost_frames();
    if lost > 0 {
        result.notes.push(format!("{lost} frames were lost in the trial at half load"));
    }
    result.half_load = summarise(&ran.result);
    Ok(())
}

/// Latencies of every frame of every valid repetition.
#[derive(Default)]
struct AllFrames {
    latency: Option<Histogram>,
    variation: DelayVariation,
}

impl AllFrames {
    fn add(&mut self, result: &TrialResult) {
        match (&mut self.latency, result.latency()) {
            (Some(all), Some(more)) => all.merge(&more),
            (all, more) => *all = all.take().or(more),
        }
        for received in result.expected_accounts() {
            self.variation.merge(&received.account.variation);
        }
    }
    fn summary(self) -> Option<LatencySummary> {
        let latency = self.latency?;
        let tick_ns = latency.tick().as_ns_f64();
        LatencySummary::of(latency, self.variation.mean_abs_ticks().map(|ticks| ticks * tick_ns))
    }
}

/// Latency of all frames of one trial.
pub(crate) fn summarise(result: &TrialResult) -> Option<LatencySummary> {
    let mut all = AllFrames::default();
    all.add(result);
    all.summary()
}

fn repeat(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    rate: FrameRate,
    repetition: u32,
) -> Result<Ran, RunError> {
    let config = &subject.config.latency;
    let stream = Duration::from_secs_f64(config.stream_s);
    let size = subject.size_in_words();
    let label = format!(
        "{}, {size}: {rate:.1}, repetition {repetition} of {}",
        TestKind::Latency,
        config.repetitions
    );
    let request = subject.request(TestKind::Latency, label, rate, stream);
    let first_tag = Duration::from_secs_f64(config.first_tag_s);
    let tags = tags(share_of(subject, rate), stream, first_tag, config.tags);
    let tags = Tags { stream: tagged_stream(subject, repetition), ..tags };
    let shape = TrialShape { tags: Some(tags), ..request.shape };
    bench.run(Request { shape, ..request })
}

fn told(ran: &Ran, subject: &Subject<'_>, repetition: u32) -> LatencyTrial {
    let tagged_id = subject.traffic.stream_id(tagged_stream(subject, repetition));
    let accounts = ran.result.expected_accounts().filter(|r| r.stream == tagged_id);
    let tagged: Vec<_> = accounts.flat_map(|r| &r.account.tagged).copied().collect();
    let latencies: Vec<_> = tagged.iter().map(|(_, latency)| *latency).collect();
    LatencyTrial {
        tagged: tagged.iter().find(|(index, _)| *index == 0).map(|(_, latency)| *latency),
        typical: median(&latencies),
        worst_case: percentile(&latencies, 99.9),
        tags_received: latencies.len() as u64,
        lost_frames: ran.result.lost_frames(),
        invalid: ran.invalid_reasons(),
    }
}

/// The first frame due at or after `first_tag`, and from there `count` frames evenly spread over
/// the rest of the stream.
fn tags(rate: FrameRate, stream: Duration, first_tag: Duration, count: u64) -> Tags {
    let frames = rate.frames_in(stream);
    let first = rate.frames_in(first_tag).min(frames.saturating_sub(1));
    let rest = frames - first;
    let every = (rest / count).max(1);
    Tags { stream: 0, first, every, count: count.min(rest.div_ceil(every)) }
}

/// Of a sender's frames those that go to one of its receivers.
fn share_of(subject: &Subject<'_>, rate: FrameRate) -> FrameRate {
    match subject.traffic.streams_a_sender() {
        1 => rate,
        streams => rate.scaled(1.0 / streams as f64),
    }
}

/// Of one pair the forward direction; of more ports each stream in turn.
fn tagged_stream(subject: &Subject<'_>, repetition: u32) -> usize {
    match subject.traffic.pattern() {
        Pattern::Pair => 0,
        _ => (repetition as usize - 1) % subject.traffic.streams_of_test(),
    }
}

fn conclude(result: &mut LatencyResult, subject: &Subject<'_>, all: AllFrames) {
    result.all_frames = all.summary();
    let valid: Vec<_> = result.trials.iter().filter(|trial| trial.invalid.is_empty()).collect();
    let of = |part: fn(&LatencyTrial) -> Option<Duration>| -> Vec<Duration> {
        valid.iter().filter_map(|trial| part(trial)).collect()
    };
    result.rfc2544 = rfc2544(&of(|trial| trial.tagged));
    let typical = of(|trial| trial.typical);
    result.rfc8219 = rfc8219(&typical, &of(|trial| trial.worst_case), subject.config.latency.tags);
    let invalid = result.trials.len() - valid.len();
    let lost: u64 = valid.iter().map(|trial| trial.lost_frames).sum();
    let untagged = valid.iter().filter(|trial| trial.tagged.is_none()).count();
    let mut say = |when: bool, what: String| result.notes.extend(when.then_some(what));
    say(invalid > 0, format!("{invalid} repetitions were invalid and do not count"));
    say(
        lost > 0,
        format!("{lost} frames were lost while latency was measured: a delay under loss"),
    );
    let streams = subject.traffic.streams_of_test();
    let tagged = valid.len().min(streams);
    say(
        subject.traffic.pattern() != Pattern::Pair,
        format!("each repetition tags frames of another stream: {tagged} of {streams} had a turn"),
    );
    say(untagged > 0, format!("{untagged} repetitions lost the tagged frame and do not count"));
    result.rate_is_throughput &= lost == 0;
    if result.all_frames.is_none() {
        let why = if invalid == result.trials.len() {
            "no repetition was valid: the tester did not keep up".to_string()
        } else {
            let given_up = result.conditions.given_up.join("; ");
            format!("no frame with a transmit time came back ({given_up})")
        };
        result.not_measured = Some(why);
    }
}

fn rfc2544(tagged: &[Duration]) -> Option<Rfc2544Latency> {
    let sum: u128 = tagged.iter().map(|latency| u128::from(latency.as_ps())).sum();
    Some(Rfc2544Latency {
        mean: Duration::from_ps((sum / (tagged.len() as u128).max(1)) as u64),
        min: *tagged.iter().min()?,
        max: *tagged.iter().max()?,
        repetitions: tagged.len() as u64,
    })
}

fn rfc8219(typical: &[Duration], worst: &[Duration], tags: u64) -> Option<Rfc8219Latency> {
    Some(Rfc8219Latency {
        typical: median(typical)?,
        worst_case: median(worst)?,
        typical_p1_p99: (percentile(typical, 1.0)?, percentile(typical, 99.0)?),
        worst_case_p1_p99: (percentile(worst, 1.0)?, percentile(worst, 99.0)?),
        tags,
        repetitions: typical.len() as u64,
    })
}

fn definition(subject: &Subject<'_>) -> LatencyDefinition {
    let size = subject.traffic.size();
    if !subject.line_rate_is_physical() {
        return LatencyDefinition::of_virtual_links();
    }
    if size.period() != 1 {
        return LatencyDefinition::of_mixed_sizes();
    }
    let sent = size.size_at(0);
    let received = subject.traffic.size_received(sent);
    LatencyDefinition::of_lines(BitTimes {
        sending: sent.serialization_time(subject.line_rate()),
        receiving: received.serialization_time(subject.receiving_line_rate()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_begin_where_they_should_and_fill_the_rest() {
        let rate = FrameRate::from_fps(1_000);
        let (stream, first) = (Duration::from_secs(120), Duration::from_secs(60));
        let tags = |rate, count| {
            let Tags { first, every, count, .. } = tags(rate, stream, first, count);
            (first, every, count)
        };
        assert_eq!(tags(rate, 500), (60_000, 120, 500));
        assert_eq!(tags(rate, 1), (60_000, 60_000, 1));
        // Fewer frames than tags: every one is tagged.
        assert_eq!(tags(FrameRate::from_fps(1), 500), (60, 1, 60));
    }

    #[test]
    fn the_rfc2544_value_is_the_mean_and_the_rfc8219_values_are_medians() {
        let ns = |values: &[u64]| values.iter().map(|v| Duration::from_ns(*v)).collect::<Vec<_>>();
        let tagged = rfc2544(&ns(&[10, 20, 60])).unwrap();
        assert_eq!((tagged.mean, tagged.repetitions), (Duration::from_ns(30), 3));
        let many = rfc8219(&ns(&[10, 20, 60]), &ns(&[100, 900, 200]), 500).unwrap();
        assert_eq!(many.typical, Duration::from_ns(20));
        assert_eq!(many.worst_case, Duration::from_ns(200));
        assert_eq!(many.worst_case_p1_p99, (Duration::from_ns(100), Duration::from_ns(900)));
    }
}
