//! The rates: the highest without loss ("max throughput"), the highest at which frames come out,
//! a quarter more than the device carries, and as fast as the tester can ("flood").

use super::Test1989;
use super::control::Control;
use super::result::{Harvard1989Result, Misbehaviour, Unit};
use super::scene::{is_alive, result_of, steady};
use super::stops::fate;
use crate::FigureName;
use crate::bench::{Bench, by_offer, flooding, is_short};
use crate::rate_search::{Known, RateGoal, find_rate, judge_loss};
use crate::rfc2544::{MaximumOf, summarise};
use crate::subject::Subject;
use crate::{RateFound, RunError, SearchPolicy, TestKind};
use units::{Duration, FrameRate};

/// Loads above the max rate at which the raw rate is looked for, as shares of the max rate.
const RAW_STEPS: [f64; 6] = [1.0, 1.05, 1.1, 1.2, 1.4, 1.8];
/// "25 % faster than the rate determined above".
const OVERLOAD: f64 = 1.25;

/// Searches for the shortest gap with which nothing is lost: "Adjust the length of the pad packet".
pub(super) fn search(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    test: Test1989,
) -> Result<RateFound, RunError> {
    let config = subject.config;
    let duration = Duration::from_secs_f64(config.harvard_1989.rate_stream_s);
    let goal = RateGoal {
        test: TestKind::Harvard1989(test),
        policy: SearchPolicy::Step,
        tolerance_percent: 0.0,
        resolution_percent: config.search.resolution_percent,
        lowest_load_percent: config.search.lowest_load_percent,
        max_trials_per_load: 1,
        gap_step_ns: config.harvard_1989.gap_step_ns,
        no_verification_above_lost_frames: None,
        search_duration: duration,
        final_duration: duration,
        final_trials: 0,
        noise: None,
        judge: &|result| judge_loss(result, 0.0),
    };
    find_rate(bench, subject, &goal, &mut Known::default())
}

/// The highest rate without loss.
pub(super) fn max_rate(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    test: Test1989,
) -> Result<(Harvard1989Result, Option<FrameRate>), RunError> {
    let found = search(bench, subject, test)?;
    let mut result = result_of(test, subject);
    result.put("theoretical", subject.theoretical_max().fps(), Unit::Fps);
    result.put("tester", subject.ceiling.rate.fps(), Unit::Fps);
    result.put_rate("max rate", &found);
    result.put("of theoretical", found.percent_of_theoretical, Unit::Percent);
    if found.rate.is_none() && !is_alive(bench, subject, test, "does it forward at all")? {
        let what = format!("loads of up to {:.1}", subject.ceiling.rate);
        let control = Control::of(subject, subject.ceiling.rate);
        control.accuse(&mut result, Misbehaviour::DeadAfter { what });
    }
    Ok((result, found.rate))
}

/// The highest rate at which frames come out, looked for at and above the max rate.
pub(super) fn raw_rate(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    max_rate: FrameRate,
) -> Result<Harvard1989Result, RunError> {
    let test = Test1989::RawRate;
    let mut result = result_of(test, subject);
    let mut best: Option<(FrameRate, FrameRate)> = None;
    let mut reasons = vec![];
    for load in raw_loads(max_rate, subject.ceiling.rate) {
        let request = steady(test, subject, "what comes out", load, stream(subject));
        let ran = bench.run_changed(request, &|trial| Ok(by_offer(trial)))?;
        if !ran.result.is_valid() {
            reasons = ran.invalid_reasons();
            continue;
        }
        let offered = ran.result.offered_rate();
        let passed = offered.scaled(1.0 - ran.result.loss_ratio());
        result.most_passed = result.most_passed.max(Some(passed));
        let came = (ran.result.forwarding_rate(), offered);
        if best.is_none_or(|(rate, _)| came.0 > rate) {
            best = Some(came);
        }
    }
    let Some((rate, offered)) = best else { return Ok(result.invalid(reasons)) };
    result.put("raw rate", rate.fps(), Unit::Fps);
    result.call_last(FigureName::RawRate);
    result.put("offered", offered.fps(), Unit::Fps);
    Ok(result)
}

/// The steps, up to what the tester can, which is the last.
fn raw_loads(max_rate: FrameRate, ceiling: FrameRate) -> Vec<FrameRate> {
    let steps = RAW_STEPS.iter().map(|step| max_rate.scaled(*step));
    let mut loads: Vec<FrameRate> = steps.take_while(|load| *load < ceiling).collect();
    loads.push(ceiling);
    loads
}

/// A load a quarter above the max rate.
pub(super) fn overload(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    max_rate: FrameRate,
) -> Result<Harvard1989Result, RunError> {
    let ceiling = subject.ceiling.rate;
    let load = max_rate.scaled(OVERLOAD).min(ceiling);
    let mut result = offer(bench, subject, Test1989::Overload25, load, max_rate)?;
    if load == ceiling {
        let more = (load.fps() / max_rate.fps() - 1.0) * 100.0;
        result.note(format!("the tester offers only {more:.1} % more than the max rate"));
    }
    Ok(result)
}

/// As fast as the tester can.
pub(super) fn flood(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    max_rate: FrameRate,
) -> Result<Harvard1989Result, RunError> {
    let mut result = offer(bench, subject, Test1989::Flood, subject.ceiling.rate, max_rate)?;
    if subject.ceiling.of == MaximumOf::Tester {
        result.note("as fast as the tester can, which is less than the medium carries");
    }
    Ok(result)
}

/// Offers a load for as long as a search's trial, and looks whether the device is alive afterwards.
fn offer(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    test: Test1989,
    load: FrameRate,
    max_rate: FrameRate,
) -> Result<Harvard1989Result, RunError> {
    let mut result = result_of(test, subject);
    let make = |bench: &mut Bench<'_>| {
        let request = steady(test, subject, "what comes out", load, stream(subject));
        bench.run_changed(request, &|trial| match test {
            Test1989::Flood => Ok(flooding(trial)),
            _ => Ok(by_offer(trial)),
        })
    };
    let ran = make(bench)?;
    if !ran.result.is_valid() {
        return Ok(result.invalid(ran.invalid_reasons()));
    }
    let (offered, forwarded) = (ran.result.offered_rate(), ran.result.forwarding_rate());
    result.put("offered", offered.fps(), Unit::Fps);
    if is_short(load, offered) {
        result.note(format!("{load:.1} were asked for, and the tester offered {offered:.1}"));
    }
    result.put("forwarded", forwarded.fps(), Unit::Fps);
    result.call_last(FigureName::ForwardingRate);
    result.put("of max rate", forwarded.fps() / max_rate.fps() * 100.0, Unit::Percent);
    result.put("loss", ran.result.loss_ratio() * 100.0, Unit::Percent);
    result.call_last(FigureName::Loss);
    result.delay = summarise(&ran.result);
    let control = Control::of(subject, load);
    let fate = fate(&ran, || Ok(Ok(make(bench)?)))?;
    fate.tell(&mut result, format!("{load:.1}"), control);
    if !is_alive(bench, subject, test, "does it forward afterwards")? {
        let what = format!("{load:.1} of {}", subject.size_in_words());
        control.accuse(&mut result, Misbehaviour::DeadAfter { what });
    }
    Ok(result)
}

fn stream(subject: &Subject<'_>) -> Duration {
    Duration::from_secs_f64(subject.config.harvard_1989.rate_stream_s)
}
