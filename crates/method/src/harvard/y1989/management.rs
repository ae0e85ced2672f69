//! Management reachability: does the device itself still answer while it forwards? ("How easy is it
//! overload the router so that the processor does not respond".) Echo requests to its own address
//! take the place of a test frame now and then.

use super::Test1989;
use super::control::Control;
use super::result::{Harvard1989Result, Misbehaviour, Unit};
use super::scene::{EXTRA, beside, result_of, run_changed, signed, steady};
use crate::FigureName;
use crate::RunError;
use crate::bench::{Bench, by_offer, flooding, is_short};
use crate::subject::Subject;
use traffic::template::{FrameTemplate, Ipv4Layer, Layer};
use trial::{Expectation, Insertion, Trial, TrialResult, Trigger};
use units::{Duration, FrameRate};

/// Names the tester's questions among those of others.
const IDENTIFIER: u16 = 0x1989;
/// With hardly any load: the answer that others are compared with.
const IDLE: f64 = 0.01;

/// As fast as the tester can.
const FLOOD: &str = "flood";

/// Asks at several loads. What is told of each is whether the device answers under it, so a trial counts that offers
/// somewhat less.
pub(super) fn management(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    max_rate: FrameRate,
) -> Result<Harvard1989Result, RunError> {
    let test = Test1989::Management;
    let mut result = result_of(test, subject);
    let ceiling = subject.ceiling.rate;
    let loads = [
        ("1 % of the max rate", max_rate.scaled(IDLE)),
        ("half the max rate", max_rate.scaled(0.5)),
        ("the max rate", max_rate),
        ("the max rate +25 %", max_rate.scaled(1.25).min(ceiling)),
        (FLOOD, ceiling),
    ];
    for (index, (load, rate)) in loads.into_iter().enumerate() {
        let duration = Duration::from_secs_f64(subject.config.harvard_1989.rate_stream_s);
        let what = format!("echo requests at {load}");
        let request = || steady(test, subject, &what, rate, duration);
        let change = |trial: Trial| match load {
            FLOOD => with_echo(subject, flooding(trial)),
            _ => with_echo(subject, by_offer(trial)),
        };
        let ran = run_changed(bench, request(), &change)?;
        let trial = match ran {
            Ok(ran) if ran.result.is_valid() => ran.result,
            Ok(ran) => {
                result.note(format!("{load}: invalid: {}", ran.invalid_reasons().join("; ")));
                continue;
            }
            Err(why) => return Ok(result.not_possible(why)),
        };
        let (answered, asked) = echoes(&trial);
        if index == 0 && answered == 0 {
            return Ok(result.not_possible("not possible on this device: it answers no echo"));
        }
        let percent = answered as f64 / asked.max(1) as f64 * 100.0;
        result.put(format!("answered at {load}"), percent, Unit::Percent);
        result.call_last(FigureName::Answered);
        if let Some(offered) = trial.slowest_sent_rate().filter(|offered| is_short(rate, *offered))
        {
            result.note(format!(
                "{load}: {rate:.1} were asked for, and the tester offered {offered:.1}"
            ));
        }
        if is_mute(&trial) {
            let load = load.to_string();
            let unreachable = Misbehaviour::UnreachableUnderLoad { load, answered, asked };
            let again = run_changed(bench, request(), &change)?;
            match again.map(|ran| ran.result) {
                Ok(again) if again.is_valid() && is_mute(&again) => {
                    Control::of(subject, rate).accuse(&mut result, unreachable);
                }
                _ => result.note(format!(
                    "{unreachable} in one trial, and no second valid one shows it: not held against the device"
                )),
            }
        }
    }
    Ok(result)
}

/// Whether it answered less than half of what it was asked.
fn is_mute(trial: &TrialResult) -> bool {
    let (answered, asked) = echoes(trial);
    2 * answered < asked
}

/// Answers and questions of the trial.
pub(super) fn echoes(trial: &TrialResult) -> (u64, u64) {
    let echo = trial.streams.iter().find(|stream| stream.id == EXTRA);
    echo.map_or((0, 0), |echo| (echo.received, echo.sent))
}

/// Puts echo requests in, whose answers are to come back to the sender.
fn with_echo(subject: &Subject<'_>, mut trial: Trial) -> Result<Trial, RunError> {
    let from = subject.traffic.from(0);
    let (src, dst) = (from.mac, subject.traffic.next_hop(0));
    let template = FrameTemplate::new()
        .layer(Layer::Ethernet { src, dst, ether_type: None })
        .layer(Layer::Ipv4(Ipv4Layer::new(from.host_ipv4, from.device_ipv4)))
        .layer(Layer::Icmpv4Echo { identifier: IDENTIFIER, sequence: 1 });
    let frames = signed(&template, subject, &trial, EXTRA)?;
    let every = Duration::from_secs_f64(1.0 / subject.config.harvard_1989.echo_fps.max(1) as f64);
    let expect = Expectation::Ports(vec![from.port]);
    trial.streams.push(beside(EXTRA, "echo requests", from.port, expect, frames));
    if let Some(load) = trial.loads.first_mut() {
        let trigger = Trigger::Interval { first: Duration::ZERO, every };
        load.insertions.push(Insertion { stream: EXTRA, trigger });
    }
    // Who asks must be known, or the answer needs a question of its own.
    let known = wire::learning::arp_request(from.mac, from.host_ipv4, from.device_ipv4);
    trial.prelude.splice(0..0, super::scene::told_slowly(from.port, vec![known]));
    Ok(trial)
}
