//! What the tester can offer to this very device. Alone it may reach more: a device on the same
//! machine takes its share of the processors, and part of it may even run in the tester's own
//! system calls. Nothing is learnt from loads that cannot be offered, so this is found before the
//! first test, once for each frame size.

use crate::TestKind;
use crate::bench::{self, Bench, Ran, Request};
use crate::error::RunError;
use crate::event::Verdict;
use crate::rfc2544::MaximumOf;
use crate::subject::{Ceiling, Subject};
use trial::{Trial, TrialResult, ValidityLimits};
use units::{Duration, FrameRate};

/// So much of what it just reached a tester is asked for next: a load that leaves it no reserve
/// is one that it falls behind with.
const ASKED_AGAIN: f64 = 0.97;
/// Of a rate at which bursts fall short, at most so much is tried next.
const BURST_STEP: f64 = 0.9;
/// How often each burst is tried: what is reached by chance is not reached in the search.
const BURST_ROUNDS: usize = 2;
/// A burst fills a buffer only if it is faster than what the device forwards meanwhile.
const BURST_ABOVE_THROUGHPUT: f64 = 1.1;
/// Lengths of the bursts that are tried: the shortest one shows how the tester gets under way, the
/// longer ones whether it keeps it up.
const BURSTS: [Duration; 3] = [Duration::from_ms(2), Duration::from_ms(10), LONGEST_BURST_TRIED];
/// Trials that show that a tester can send them.
pub(crate) const BURSTS_OFFERED: f64 = (BURSTS.len() * BURST_ROUNDS) as f64;
pub(crate) const LONGEST_BURST_TRIED: Duration = Duration::from_ms(30);
/// A burst may leave slower by one part in so many, and what is found of the buffer is then as far off.
pub(crate) const SLOWER_BY_ONE_IN: u64 = 20;

/// A tester that offers less than this share of a load cannot offer it; one that offers more was held
/// up.
const FAR_SHORT: f64 = 0.9;
/// A tester that offers less than this share of its ceiling is not slow but broken: the tests are
/// made at the ceiling and say so.
const BROKEN: f64 = 0.01;
/// So much more is asked for where a tester offers all that it reached in its self-test, so often.
const LOOK_UP: f64 = 1.25;
const LOOKS_MAX: u32 = 6;
/// After so many steps down the last load stays the ceiling, offered or not.
pub(crate) const STEPS_MAX: u32 = 5;

/// The highest load to be asked for with this device.
#[derive(Clone, Debug)]
pub(crate) struct Reach {
    pub ceiling: Ceiling,
    /// A valid trial at the ceiling, and its length: the search need not make it again.
    pub tried: Option<(Duration, TrialResult)>,
    /// Whether the tester alone reached more.
    pub is_lowered: bool,
}

/// Asks for the ceiling that the self-test found, and for less as long as the tester falls far
/// short of it. Where it offers all of that, it may do better than it did in the self-test, and is asked
/// for more.
pub(crate) fn reach(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    test: TestKind,
) -> Result<Reach, RunError> {
    let duration = Duration::from_secs_f64(subject.config.search.trial_duration_s);
    let mut ceiling = subject.ceiling;
    for step in 0..=STEPS_MAX {
        let ran = offer(bench, subject, test, ceiling.rate, duration)?;
        let is_lowered = step > 0;
        if !bench::fell_short(&ran.result, FAR_SHORT) {
            let is_bounded = !is_lowered && ceiling.of == MaximumOf::Tester;
            let tried = ran.result.is_valid().then_some((duration, ran.result));
            let reach = Reach { ceiling, tried, is_lowered };
            return if is_bounded { look_up(bench, subject, test, reach) } else { Ok(reach) };
        }
        ceiling = below(ran.result.slowest_sent_rate().unwrap_or(ceiling.rate).min(ceiling.rate));
        if ceiling.rate.fps() < BROKEN * subject.ceiling.rate.fps() {
            return Ok(Reach { ceiling: subject.ceiling, tried: None, is_lowered: false });
        }
    }
    Ok(Reach { ceiling, tried: None, is_lowered: true })
}

/// Asks for more than the self-test reached as long as the tester offers that, up to the medium.
fn look_up(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    test: TestKind,
    mut reach: Reach,
) -> Result<Reach, RunError> {
    let duration = Duration::from_secs_f64(subject.config.search.trial_duration_s);
    let theoretical = subject.theoretical_max();
    for _ in 0..LOOKS_MAX {
        let rate = reach.ceiling.rate.scaled(LOOK_UP).min(theoretical);
        if rate <= reach.ceiling.rate {
            break;
        }
        let ran = offer(bench, subject, test, rate, duration)?;
        if bench::has_shortfall(&ran.result) || !ran.result.is_valid() {
            break;
        }
        reach.ceiling = match rate < theoretical {
            true => Ceiling { rate, of: MaximumOf::Tester, slack_fps: reach.ceiling.slack_fps },
            false => Ceiling::of_medium(theoretical),
        };
        reach.tried = Some((duration, ran.result));
    }
    Ok(reach)
}

/// The fastest rate at which the tester sends a whole short burst to this device, from the ceiling
/// downwards; `None` where no such rate is well above `throughput`. What a tester keeps up over a
/// second it need not reach within milliseconds.
pub(crate) fn burst_reach(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    test: TestKind,
    throughput: FrameRate,
) -> Result<Option<Ceiling>, RunError> {
    let mut ceiling = subject.ceiling;
    while let Some(reached) = falls_short_in_bursts(bench, subject, test, ceiling.rate)? {
        ceiling = slower(ceiling.rate, reached);
        if ceiling.rate.fps() < BURST_ABOVE_THROUGHPUT * throughput.fps() {
            return Ok(None);
        }
    }
    Ok(Some(ceiling))
}

/// The rate to try next where bursts at `rate` left at `reached`.
pub(crate) fn slower(rate: FrameRate, reached: FrameRate) -> Ceiling {
    below(reached.min(rate.scaled(BURST_STEP)))
}

/// What the tester reached in the first burst that it did not send at this rate in two attempts.
fn falls_short_in_bursts(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    test: TestKind,
    rate: FrameRate,
) -> Result<Option<FrameRate>, RunError> {
    for length in BURSTS.into_iter().cycle().take(BURSTS.len() * BURST_ROUNDS) {
        let ran = offer_burst(bench, subject, test, rate, length)?;
        if bench::has_shortfall(&ran.result) {
            return Ok(Some(ran.result.slowest_sent_rate().unwrap_or(rate)));
        }
    }
    Ok(None)
}

fn offer_burst(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    test: TestKind,
    rate: FrameRate,
    length: Duration,
) -> Result<Ran, RunError> {
    let size = subject.size_in_words();
    let label = format!(
        "{test}, {size}: can the tester send bursts of {length} at {rate:.1} to this device"
    );
    let request = || {
        let request = subject.request(test, label.clone(), rate, length);
        Request { judge: &answered_at_once, ..request }
    };
    let ran = bench.run_changed(request(), &|trial| Ok(held_to_its_rate(trial)))?;
    match ran.verdict {
        Verdict::Failed => bench.run_changed(request(), &|trial| Ok(held_to_its_rate(trial))),
        _ => Ok(ran),
    }
}

/// A burst that falls short is an answer, be the tester slow or held up: it is to be sent whole each time.
fn answered_at_once(result: &TrialResult) -> Verdict {
    match bench::has_shortfall(result) {
        true => Verdict::Failed,
        false => bench::measured(result),
    }
}

/// A short burst that is late by what other trials are allowed would be no burst any more.
pub(crate) fn held_to_its_rate(trial: Trial) -> Trial {
    let allowed = Duration::from_us(trial.limits.late_after_us);
    if trial.duration() > allowed * SLOWER_BY_ONE_IN {
        return trial;
    }
    let shortfall = 1.0 / SLOWER_BY_ONE_IN as f64;
    let limits = ValidityLimits { shortfall, late_after_us: 0, ..trial.limits };
    Trial { limits, ..trial }
}

/// A little less than what was reached, of the tester.
pub(crate) fn below(reached: FrameRate) -> Ceiling {
    let rate = reached.scaled(ASKED_AGAIN);
    Ceiling { rate, of: MaximumOf::Tester, slack_fps: reached.fps() - rate.fps() }
}

fn offer(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    test: TestKind,
    rate: FrameRate,
    duration: Duration,
) -> Result<Ran, RunError> {
    let size = subject.size_in_words();
    let label = format!("{test}, {size}: can the tester offer {rate:.1} to this device");
    bench.run(Request { judge: &answered, ..subject.request(test, label, rate, duration) })
}

/// A tester that falls short has answered the question, unless it was held up.
pub(crate) fn answered(result: &TrialResult) -> Verdict {
    match bench::has_shortfall(result) && !bench::was_held_up(result) {
        true => Verdict::Failed,
        false => bench::measured(result),
    }
}
