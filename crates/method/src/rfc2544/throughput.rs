//! Throughput: the fastest rate at which no frame is lost (RFC 2544 section 26.1).

use crate::bench::Bench;
use crate::besides::damaged;
use crate::cost;
use crate::event::Verdict;
use crate::goal_search::find_rates;
use crate::let_out::without_what_was_let_out;
use crate::on_and_on::on_and_on;
use crate::outcome::number;
use crate::rate_search::{Known, NEAR, RateGoal, find_rate, judge_loss, load_of};
use crate::search::adaptive::Against;
use crate::subject::Subject;
use crate::sustained::{agree, carried_beyond, keep_up, once_more_for, widen};
use crate::tokens::without_tokens;
use crate::{
    Buffered, Conditions, CostFound, Finding, RateFound, RunError, SearchPolicy, TestKind,
};
use serde::{Deserialize, Serialize};
use units::{Duration, FrameRate, FrameSize};

/// The result for one frame size.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ThroughputResult {
    /// Under which conditions.
    pub conditions: Conditions,
    /// Throughput: no loss at all.
    pub throughput: RateFound,
    /// Rates found with some loss allowed, lowest tolerance first. **Not RFC 2544 throughput**:
    /// a table must label them with their tolerance.
    pub with_tolerance: Vec<RateFound>,
    /// With bursts: the shortest gap between them without loss (RFC 2544 section 21).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inter_burst_gap: Option<InterBurstGap>,
    /// Where trials contradict each other: by how much what the device carries was seen to vary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contradiction: Option<Contradiction>,
    /// What a frame costs the device; `None` where the tester does not say whether that can be known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<CostFound>,
    /// What a reader should know, such as loss that does not depend on the load.
    pub notes: Vec<String>,
}

/// From a burst's last bit to the next one's first.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct InterBurstGap {
    /// The shortest without loss.
    pub shortest: Duration,
    /// The longest with loss; `None` where no gap lost frames.
    pub too_short: Option<Duration>,
}

impl InterBurstGap {
    /// Of a rate found, where frames left in bursts.
    fn of(subject: &Subject<'_>, found: &RateFound) -> Option<InterBurstGap> {
        let frames = Some(subject.config.burst_frames).filter(|frames| *frames > 1)?;
        let within = subject.within_bursts();
        let gap = |rate: FrameRate| {
            // The frame's own time, and the minimum gap that follows each but the last of a burst.
            let line = subject.line_rate();
            let last = line.time_of_bytes(FrameSize::GAP_BYTES.into());
            rate.departure(frames).saturating_sub(within.departure(frames)) + last
        };
        Some(InterBurstGap { shortest: gap(found.rate?), too_short: found.upper.map(gap) })
    }

    fn in_words(&self, subject: &Subject<'_>) -> String {
        let frames = subject.config.burst_frames;
        let InterBurstGap { shortest, too_short } = self;
        let ends = too_short.map(|gap| format!(", lost at {gap}")).unwrap_or_default();
        format!(
            "bursts of {frames} frames: none lost at gaps of {shortest} from burst to burst{ends}; what \
             the device may have carried from buffers for the length of a trial is not told apart"
        )
    }
}

/// Loads that lost frames in one trial and lost none in another, no shorter one. Not a confidence interval:
/// the more trials, the wider it is.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Contradiction {
    /// The lowest load, intended, of which frames were lost.
    pub lowest_with_loss: FrameRate,
    /// The highest load, offered, that was carried without loss.
    pub highest_without_loss: FrameRate,
}

/// Searches for throughput, then for the rates with some loss allowed.
pub fn throughput(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
) -> Result<ThroughputResult, RunError> {
    let uncapped = subject.uncapped();
    let is_adaptive = subject.config.search.policy == SearchPolicy::Adaptive;
    let subject = if is_adaptive { &uncapped } else { subject };
    let mut known = Known::default();
    if let Some((duration, result)) = subject.at_ceiling {
        known.add_at_ceiling(*duration, result.clone());
    }
    let mut found = match subject.config.search.policy {
        SearchPolicy::Mlrsearch => goals_together(bench, subject, &mut known)?,
        _ => one_by_one(bench, subject, &mut known)?,
    };
    if !is_adaptive {
        look_again_above(bench, subject, &mut found[0], &mut known)?;
    }
    let has_bursts = subject.config.burst_frames > 1;
    for found in found.iter_mut().filter(|_| !has_bursts) {
        let passed = found.rate;
        *found = keep_up(bench, subject, found.clone(), &known)?;
        *found = without_tokens(bench, subject, found.clone(), &known)?;
        *found = on_and_on(bench, subject, found.clone(), (&known, passed))?;
        *found = without_what_was_let_out(bench, subject, found.clone(), &known)?;
    }
    agree(subject, &mut found);
    found.iter_mut().for_each(|found| widen(subject, found, &known));
    let throughput = found.remove(0);
    let with_tolerance = found;
    let contradiction =
        known.contradiction(subject).map(|(lowest_with_loss, highest_without_loss)| {
            Contradiction { lowest_with_loss, highest_without_loss }
        });
    let mut notes: Vec<String> = aggregate(subject, &throughput).into_iter().collect();
    notes.extend(self::notes(&throughput, &with_tolerance, &known));
    notes.extend(contradiction.iter().map(varies));
    let cost = cost::measure(bench, subject, &throughput, &known)?;
    if let Some(CostFound::Measured(cost)) = &cost {
        notes.extend(cost.contradiction(&throughput));
    }
    let inter_burst_gap = InterBurstGap::of(subject, &throughput);
    notes.extend(inter_burst_gap.iter().map(|gap| gap.in_words(subject)));
    let conditions = subject.conditions();
    Ok(ThroughputResult {
        inter_burst_gap,
        conditions,
        throughput,
        with_tolerance,
        contradiction,
        cost,
        notes,
    })
}

/// Throughput, then each rate with tolerated loss, by searches that know of each other's trials. A rate that
/// trials of a later search contradict, or one left wide, is sought once more, with all of them.
fn one_by_one(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    known: &mut Known,
) -> Result<Vec<RateFound>, RunError> {
    let mut tolerances = subject.config.throughput.loss_tolerances_percent.clone();
    tolerances.push(0.0);
    tolerances.sort_by(f64::total_cmp);
    let once = tolerances.iter().map(|tolerance| search(bench, subject, *tolerance, known));
    let mut found = once.collect::<Result<Vec<_>, _>>()?;
    for index in 0..found.len() {
        let (first, later) = (&found[index], &found[index + 1..]);
        let exceeds = |more: &RateFound| more.upper.is_some_and(|upper| first.rate > Some(upper));
        let gains = first.is_noisy_beyond(NEAR) && !later.is_empty();
        let varies = carried_beyond(subject, first, known).is_some();
        known.varies |= varies;
        let is_contradicted = known.contradicts(subject, first) || later.iter().any(exceeds);
        if gains || varies || is_contradicted {
            let (trials, invalid_trials) = (first.trials, first.invalid_trials);
            let test_time = first.test_time;
            let again = search(bench, subject, tolerances[index], known)?;
            found[index] = RateFound {
                trials: trials + again.trials,
                invalid_trials: invalid_trials + again.invalid_trials,
                test_time: test_time + again.test_time,
                ..again
            };
        }
    }
    Ok(found)
}

/// A load that failed early in a search may pass at its end, as where caches had to fill: then trials contradict each
/// other. The adaptive search looks again by itself.
fn look_again_above(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    found: &mut RateFound,
    known: &mut Known,
) -> Result<(), RunError> {
    let Some(upper) = found.upper.filter(|_| found.finding == Finding::Measured) else {
        return Ok(());
    };
    let asked = (load_of(subject, upper.fps()), found.trial_duration);
    let ran = once_more_for(bench, subject, found, asked)?;
    if ran.verdict != Verdict::Invalid {
        known.add(asked.0, asked.1, ran.result);
    }
    Ok(())
}

/// All of them in one search.
fn goals_together(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    known: &mut Known,
) -> Result<Vec<RateFound>, RunError> {
    let config = subject.config;
    let tolerances = &config.throughput.loss_tolerances_percent;
    let goals = config.search.goals(tolerances, config.trial.duration_s);
    find_rates(bench, subject, &goals, known)
}

fn search(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    tolerance_percent: f64,
    known: &mut Known,
) -> Result<RateFound, RunError> {
    let config = subject.config;
    let is_strict = tolerance_percent == 0.0;
    let goal = RateGoal {
        test: TestKind::Throughput,
        tolerance_percent,
        resolution_percent: config.search.resolution_percent,
        lowest_load_percent: config.search.lowest_load_percent,
        policy: config.search.policy,
        max_trials_per_load: config.search.max_trials_per_load,
        gap_step_ns: config.search.gap_step_ns,
        no_verification_above_lost_frames: config.search.no_verification_above_lost_frames,
        search_duration: Duration::from_secs_f64(config.search.trial_duration_s),
        final_duration: Duration::from_secs_f64(config.trial.duration_s),
        final_trials: config.throughput.final_trials,
        noise: Some(match config.search.error_percent / 100.0 {
            error if error > 0.0 && is_strict => Against::Sequential { error },
            _ => Against::Estimate,
        }),
        judge: &|result| judge_loss(result, tolerance_percent),
    };
    find_rate(bench, subject, &goal, known)
}

/// What all ports carry together, where more than two take part.
fn aggregate(subject: &Subject<'_>, found: &RateFound) -> Option<String> {
    let rate = found.rate.filter(|_| !subject.traffic.pattern().is_pair())?;
    let (ports, streams) = (subject.traffic.senders().len(), subject.traffic.streams_of_test());
    let all = rate.scaled(ports as f64);
    Some(format!("{all:.1} in all: {ports} ports transmit {rate:.1} each, in {streams} streams"))
}

/// What a rate that is carried for a while only is worth.
fn told(buffered: &Buffered) -> String {
    let Buffered { rate, trial_duration, standing_queue_frames, token_frames } = buffered;
    let letter = format!(
        "{rate:.1} passes a trial of {trial_duration}, the throughput by the letter of RFC 2544, but \
         only from the device's"
    );
    match *token_frames > 0.0 {
        true => format!(
            "{letter} tokens: it let up to {token_frames:.0} frames more than its limit pass in a trial of this \
             search, and then as many as its limit"
        ),
        false => format!(
            "{letter} buffers: {standing_queue_frames:.0} frames were still waiting when the last one \
             left the tester"
        ),
    }
}

/// By how much what the device carries varies, and so does a repetition of the search.
fn varies(contradiction: &Contradiction) -> String {
    let Contradiction { lowest_with_loss: low, highest_without_loss: high } = contradiction;
    format!(
        "trials contradict each other: loads from {} to {} frames/s lost frames in one trial and none in \
         another; what the device carries varies by {:.1} % or more",
        number::fps(*low),
        number::fps(*high),
        (1.0 - low.fps() / high.fps()) * 100.0
    )
}

/// What the bounds mean where trials contradict each other.
fn noisy(found: &RateFound, confidence: f64) -> String {
    let ends = match (found.rate, found.upper) {
        (Some(low), Some(high)) => {
            format!("between {} and {} frames/s", number::fps(low), number::fps(high))
        }
        (Some(low), None) => format!("at {} frames/s or above", number::fps(low)),
        (None, Some(high)) => format!("below {} frames/s", number::fps(high)),
        (None, None) => "at no load that is known".into(),
    };
    format!(
        "trials contradict each other: what the device carries varies from trial to trial; with at least \
         {:.0} % confidence half of the trials lose frames at a load {ends}",
        confidence * 100.0
    )
}

/// Why no test frame came out, as far as what did come out tells.
fn nothing_came(known: &Known) -> String {
    let seen = known.trials().map(|result| (damaged(result), result.offered_frames()));
    match seen.max_by_key(|(damaged, _)| *damaged) {
        Some((damaged, sent)) if damaged > 0 => format!(
            "no frame came through as it was sent: in one trial of {sent} frames {damaged} arrived without a test \
             frame's signature at their end, or with a bad checksum; see whether the device pads, cuts or rewrites \
             frames, or another tester uses the same addresses"
        ),
        _ => "nothing came through at all: see addresses, routes and filters".into(),
    }
}

/// What the numbers alone do not say.
fn notes(throughput: &RateFound, with_tolerance: &[RateFound], known: &Known) -> Vec<String> {
    let mut notes: Vec<String> = throughput.buffered.iter().map(told).collect();
    notes.extend(throughput.confidence.map(|confidence| noisy(throughput, confidence)));
    if throughput.rate.is_some() && throughput.failed_trials_at_rate > 0 {
        notes.push(format!(
            "{} of {} trials at the throughput rate lost frames and passed on repetition",
            throughput.failed_trials_at_rate, throughput.trials_at_rate
        ));
    }
    if let Finding::NothingPassed { lowest, loss_percent } = &throughput.finding {
        notes.push(format!(
            "no load was carried without loss: even the lowest one tried, {} frames/s, lost \
             {loss_percent:.4} % of its frames",
            number::fps(*lowest)
        ));
        if *loss_percent >= 100.0 {
            notes.push(nothing_came(known));
        }
    }
    let tolerant = with_tolerance.last().and_then(|found| found.rate);
    let Some(tolerant) = tolerant else { return notes };
    let carried = throughput.rate.map_or(0.0, |rate| rate.fps());
    let lost: Vec<f64> = known.losses().map(|(_, loss)| loss).filter(|loss| *loss > 0.0).collect();
    let allowed = with_tolerance.last().map_or(0.0, |found| found.loss_tolerance_percent);
    let small: Vec<f64> = lost.into_iter().filter(|loss| *loss <= allowed).collect();
    if carried < 0.5 * tolerant.fps() && !small.is_empty() {
        let least = small.iter().copied().fold(f64::INFINITY, f64::min);
        let most = small.iter().copied().fold(0.0, f64::max);
        notes.push(format!(
            "the device loses few frames ({least:.4} to {most:.4} %) far below its limit, whatever \
             the load: throughput without loss says little of what it carries; with up to \
             {allowed} % of loss that is {} frames/s",
            number::fps(tolerant)
        ));
    }
    notes
}
