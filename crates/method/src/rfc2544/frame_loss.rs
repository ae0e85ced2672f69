//! Frame loss rate over the offered load (RFC 2544 section 26.3).

use crate::bench::{Bench, Ran, Request, by_offer, is_short};
use crate::ipv6_traffic::HOP_BY_HOP_LOADS_PERCENT;
use crate::outcome::PairCount;
use crate::reach::{STEPS_MAX, answered, below};
use crate::residence::is_silent;
use crate::subject::Subject;
use crate::{Conditions, RunError, TestKind, Verdict};
use serde::{Deserialize, Serialize};
use units::{Duration, FrameRate};

/// The result for one frame size.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FrameLossResult {
    /// Under which conditions.
    pub conditions: Conditions,
    /// The load that counts as 100 %, of each direction.
    pub maximum: FrameRate,
    /// Whose maximum that is.
    pub maximum_of: MaximumOf,
    /// Step of the load in percent of `maximum`; at most 10.
    pub step_percent: f64,
    /// From 100 % downwards.
    pub points: Vec<LossPoint>,
    /// Whether two successive trials were without loss, as the RFC wants it; otherwise the
    /// series ran down to its lowest step.
    pub ended_with_two_lossless: bool,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// Whose maximum a load of 100 % is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaximumOf {
    /// The medium's theoretical maximum.
    Medium,
    /// The tester's own maximum: on a virtual link, which has no maximum itself, or where the
    /// tester does not reach the medium's.
    Tester,
}

/// Loss at one load.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LossPoint {
    /// Intended load in percent of `maximum`.
    pub percent_of_maximum: f64,
    /// Load in percent of the medium's theoretical maximum, the X axis: the one intended or, where the
    /// tester offered less by more than a thousandth, the one offered.
    pub percent_of_theoretical: f64,
    /// Intended load of each direction.
    pub intended: FrameRate,
    /// Load really offered, mean of the directions.
    pub offered: FrameRate,
    /// Frames that should have come out (input count).
    pub expected_frames: u64,
    /// Frames that did (output count).
    pub received_frames: u64,
    /// (input - output) x 100 / input.
    pub loss_percent: f64,
    /// The same of each pair of ports, where more than two ports take part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<PairCount>,
    /// Why the point does not count; empty where it does.
    pub invalid: Vec<String>,
    /// Whether it does not count because the tester could not offer the load, and for no other reason.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_offered: bool,
}

/// Goes down from 100 % in equal steps until two successive trials lose nothing. Hop-by-hop options
/// are observed at 50, 10 and 1 % instead, whatever is lost (RFC 5180 section 5.3).
pub fn frame_loss(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
) -> Result<FrameLossResult, RunError> {
    let step_percent = subject.config.frame_loss.step_percent;
    let mut points: Vec<LossPoint> = vec![];
    let mut silent = vec![];
    let mut lossless_in_a_row = 0;
    let is_observation = subject.traffic.is_observation();
    let loads: Vec<f64> = match is_observation {
        true => HOP_BY_HOP_LOADS_PERCENT.to_vec(),
        false => loads(step_percent).collect(),
    };
    let mut subject = *subject;
    for percent in loads {
        let is_first = points.is_empty();
        let mut ran = measure(bench, &subject, (percent, is_first))?;
        if is_first {
            (subject, ran) = at_what_can_be_offered(bench, subject, (percent, ran))?;
        }
        let point = point(&subject, percent, &ran);
        let is_lossless =
            point.invalid.is_empty() && point.received_frames == point.expected_frames;
        lossless_in_a_row = if is_lossless { lossless_in_a_row + 1 } else { 0 };
        if is_silent(&ran.result) && point.invalid.is_empty() {
            silent.push((points.len(), ran.result.drained_after));
        }
        points.push(point);
        if lossless_in_a_row == 2 && !is_observation {
            break;
        }
    }
    for (at, waited) in silent {
        points[at].invalid.extend(bench.late_doubt(waited));
    }
    let ended_with_two_lossless = lossless_in_a_row >= 2;
    Ok(FrameLossResult {
        conditions: subject.conditions(),
        maximum: subject.ceiling.rate,
        maximum_of: subject.ceiling.of,
        step_percent,
        notes: notes(&subject, &points, ended_with_two_lossless),
        points,
        ended_with_two_lossless,
    })
}

/// 100 %, one step less, two steps less, ...: of the maximum, not of the load before.
fn loads(step_percent: f64) -> impl Iterator<Item = f64> {
    let load = move |step: u32| 100.0 - f64::from(step) * step_percent;
    (0..).map(load).take_while(|percent| *percent > 1e-9)
}

/// The first trial repeated at less, as long as the tester offers less than was intended: without having been held up,
/// or by more than a tenth each time. 100 % is a load that can be offered, for as long as a trial lasts, to this device.
/// Where the first trial is one at half of it, what could not be offered as a half is the whole.
fn at_what_can_be_offered<'a>(
    bench: &mut Bench<'_>,
    mut subject: Subject<'a>,
    (percent, mut ran): (f64, Ran),
) -> Result<(Subject<'a>, Ran), RunError> {
    for _step in 0..STEPS_MAX {
        match ran.result.slowest_sent_rate() {
            Some(reached)
                if ran.verdict == Verdict::Failed
                    || ran.is_only_short() && tells_a_loss(&subject, reached) =>
            {
                subject = subject.with_ceiling(below(reached.min(subject.ceiling.rate)));
                ran = measure(bench, &subject, (percent, true))?;
            }
            _ => break,
        }
    }
    Ok((subject, ran))
}

/// Of fewer frames in a trial a loss of 1 % is not seen.
const FRAMES_AT_LEAST: f64 = 100.0;

/// Whether a trial at such a rate holds enough frames for a loss to be told.
fn tells_a_loss(subject: &Subject<'_>, rate: FrameRate) -> bool {
    rate.fps() * subject.config.trial.duration_s >= FRAMES_AT_LEAST
}

/// A trial at this load; the first one also asks whether the tester can offer it. One that the tester falls short in
/// however often it is repeated, beside busy programs, is made once more and counted by what it offers: most fall short
/// by some hundredths then, and no load would have a loss.
fn measure(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    (percent, is_first): (f64, bool),
) -> Result<Ran, RunError> {
    let rate = load(subject, percent);
    let duration = Duration::from_secs_f64(subject.config.trial.duration_s);
    let size = subject.size_in_words();
    let label = format!("{}, {size}: {percent:.1} %, {rate:.1}", TestKind::FrameLoss);
    let request = || {
        let request = subject.request(TestKind::FrameLoss, label.clone(), rate, duration);
        if is_first { Request { judge: &answered, ..request } } else { request }
    };
    let ran = bench.run(request())?;
    if !ran.is_only_short() {
        return Ok(ran);
    }
    let again = bench.run_changed(request(), &|trial| Ok(by_offer(trial)))?;
    Ok(Ran { invalid_attempts: again.invalid_attempts + ran.invalid_attempts, ..again })
}

fn point(subject: &Subject<'_>, percent: f64, ran: &Ran) -> LossPoint {
    let rate = load(subject, percent);
    let directions = subject.traffic.senders().len() as f64;
    let offered = ran.result.offered_rate().scaled(1.0 / directions);
    let stands_at = if is_short(rate, offered) { offered } else { rate };
    LossPoint {
        percent_of_maximum: percent,
        percent_of_theoretical: subject.percent_of_theoretical(stands_at),
        intended: rate,
        offered,
        expected_frames: ran.result.expected_frames(),
        received_frames: ran.result.forwarded_frames(),
        loss_percent: ran.result.loss_ratio() * 100.0,
        pairs: match subject.traffic.pattern().is_pair() {
            true => vec![],
            false => PairCount::all_of(&ran.result),
        },
        invalid: ran.invalid_reasons(),
        not_offered: ran.is_only_short(),
    }
}

impl LossPoint {
    /// Which pair of ports lost most, where others lost less.
    fn worst_pair(&self) -> Option<String> {
        let loss = |pair: &&PairCount| (pair.loss_ratio() * 1e9) as u64;
        let least = self.pairs.iter().map(|pair| loss(&pair)).min()?;
        let most = self.pairs.iter().max_by_key(loss).filter(|most| loss(most) > least)?;
        Some(format!(
            "at {} % of the maximum {} to {} lost most, {:.4} %, and others {:.4} %",
            self.percent_of_maximum,
            most.from,
            most.to,
            most.loss_ratio() * 100.0,
            least as f64 / 1e7
        ))
    }
}

/// The load of a point, in percent of the maximum.
fn load(subject: &Subject<'_>, percent: f64) -> FrameRate {
    let maximum = subject.ceiling.rate;
    if percent == 100.0 { maximum } else { maximum.scaled(percent / 100.0) }
}

impl LossPoint {
    /// By which share of the intended load the tester offered less, where the point counts and that matters.
    pub(crate) fn short_by(&self) -> Option<f64> {
        let counts = self.invalid.is_empty() && is_short(self.intended, self.offered);
        counts.then(|| 1.0 - self.offered.fps() / self.intended.fps())
    }
}

/// A tester that stands still now and then sends at the intended rate in between, a slow one at the rate offered.
fn offered_short(points: &[LossPoint]) -> Option<String> {
    let short: Vec<f64> = points.iter().filter_map(LossPoint::short_by).collect();
    let most = short.iter().copied().fold(0.0, f64::max) * 100.0;
    (!short.is_empty()).then(|| {
        format!(
            "{} loads were offered short of what was intended, by up to {most:.1} %: each loss is that of a load \
             between the one offered and the one intended",
            short.len()
        )
    })
}

fn notes(subject: &Subject<'_>, points: &[LossPoint], ended: bool) -> Vec<String> {
    let mut notes = vec![];
    if subject.ceiling.of == MaximumOf::Tester {
        notes.push(format!(
            "100 % is the tester's own maximum, {:.1}, not the medium's theoretical {:.1}",
            subject.ceiling.rate,
            subject.theoretical_max()
        ));
    }
    let is_invalid = |point: &&LossPoint| !point.invalid.is_empty() && !point.not_offered;
    let invalid = points.iter().filter(is_invalid).count();
    if invalid > 0 {
        notes.push(format!(
            "{invalid} loads could not be measured validly: they are no part of the curve"
        ));
    }
    notes.extend(points.iter().filter_map(LossPoint::worst_pair));
    notes.extend(offered_short(points));
    if subject.traffic.is_observation() {
        let what = "hop-by-hop options are no matter of throughput: observed at 50, 10 and 1 % of \
                    the maximum (RFC 5180 section 5.3)";
        notes.push(what.into());
    } else if !ended {
        notes.push("no two successive trials were without loss, down to the lowest load".into());
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_of_the_maximum_and_do_not_compound() {
        let tens: Vec<f64> = loads(10.0).collect();
        assert_eq!(tens, [100.0, 90.0, 80.0, 70.0, 60.0, 50.0, 40.0, 30.0, 20.0, 10.0]);
        assert_eq!(loads(30.0).collect::<Vec<_>>(), [100.0, 70.0, 40.0, 10.0]);
    }
}
