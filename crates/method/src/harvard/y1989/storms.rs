//! Pathological conditions: test frames amid storms of ARP requests, broadcasts and routing updates,
//! and the bursts of fragments that file servers send.

use super::Test1989;
use super::control::Control;
use super::result::{Harvard1989Result, Misbehaviour, Unit};
use super::scene::{EXTRA, beside, is_alive, mixed_in, result_of, run_changed, steady, unsigned};
use super::stops::fate;
use crate::FigureName;
use crate::RunError;
use crate::bench::{Bench, Request, by_offer};
use crate::rfc2544::summarise;
use crate::subject::Subject;
use crate::traffic::TrialShape;
use std::net::{Ipv4Addr, SocketAddrV4};
use traffic::fragment::Burst;
use trial::{Expectation, Schedule, Segment, StreamFrame};
use units::{Duration, FrameRate, FrameSize};
use wire::arp::{Operation, Repr};
use wire::ethernet::MacAddr;
use wire::rip::{self, RFC2544_METRIC, UNREACHABLE, Version};
use wire::udp;

/// Different frames of a storm.
const STORM_PERIOD: u8 = 64;
/// Who is logged in where (rwho), a broadcast of the time, and the bytes of its smallest message.
const RWHO_PORT: u16 = 513;
const RWHO_BYTES: usize = 60;
/// Routes that flap in a storm of routing updates, in 10.128.0.0/9.
const FLAPPING: u32 = 25;

/// Test frames at no more than half the max rate, first alone, then with the storm in all the room
/// that is left.
pub(super) fn storm(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    test: Test1989,
    max_rate: FrameRate,
) -> Result<Harvard1989Result, RunError> {
    let mut result = result_of(test, subject);
    let storm = frames_of(test, subject)?;
    let ceiling = subject.ceiling.rate;
    let weight = ((2.0 * ceiling.fps() / max_rate.fps()).ceil() as usize).clamp(2, 1_000) - 1;
    let all = as_fast_as_fits(subject, &storm, weight);
    let alone = all.scaled(1.0 / (weight + 1) as f64);
    let duration = Duration::from_secs_f64(subject.config.harvard_1989.rate_stream_s);
    let calm = steady(test, subject, "without the storm", alone, duration);
    let calm = bench.run_changed(calm, &|trial| Ok(by_offer(trial)))?;
    if !calm.result.is_valid() {
        return Ok(result.invalid(calm.invalid_reasons()));
    }
    let from = subject.traffic.from(0).port;
    let amid = |bench: &mut Bench<'_>| {
        let request = steady(test, subject, "with the storm", all, duration);
        run_changed(bench, request, &|trial| {
            let stream = beside(EXTRA, "storm", from, Expectation::Unchecked, storm.clone());
            Ok(by_offer(mixed_in(trial, stream, weight)))
        })
    };
    let ran = match amid(bench)? {
        Ok(ran) if ran.result.is_valid() => ran,
        Ok(ran) => return Ok(result.invalid(ran.invalid_reasons())),
        Err(why) => return Ok(result.not_possible(why)),
    };
    let trial = &ran.result;
    // After each test frame so many of the storm.
    let storm = trial.offered_rate().scaled(weight as f64);
    result.put("test frames", trial.offered_rate().fps(), Unit::Fps);
    result.put("storm", storm.fps(), Unit::Fps);
    result.put("loss without", calm.result.loss_ratio() * 100.0, Unit::Percent);
    result.put("loss amid the storm", trial.loss_ratio() * 100.0, Unit::Percent);
    result.call_last(FigureName::Loss);
    result.delay = summarise(trial);
    let load = format!("{:.0} fps of storm", storm.fps());
    // The storm takes as much of the line as test frames at the ceiling.
    let control = Control::of(subject, ceiling);
    fate(&ran, || amid(bench))?.tell(&mut result, load, control);
    if !is_alive(bench, subject, test, "does it forward afterwards")? {
        control.accuse(&mut result, Misbehaviour::DeadAfter { what: format!("the {test}") });
    }
    Ok(result)
}

/// The rate of test frames with `weight` frames of a storm after each, when they take as much of the
/// line as test frames alone at the ceiling.
fn as_fast_as_fits(subject: &Subject<'_>, storm: &[StreamFrame], weight: usize) -> FrameRate {
    let on_line = |frame: &StreamFrame| {
        let size = FrameSize::from_bytes_without_fcs(frame.bytes.len() as u32);
        f64::from(size.bytes_on_medium())
    };
    let extra = storm.iter().map(on_line).sum::<f64>() / storm.len().max(1) as f64;
    let own = f64::from(subject.traffic.size().size_at(0).bytes_on_medium());
    let all = (own + weight as f64 * extra) / (weight + 1) as f64;
    subject.ceiling.rate.scaled(own / all.max(own))
}

fn frames_of(test: Test1989, subject: &Subject<'_>) -> Result<Vec<StreamFrame>, RunError> {
    Ok(unsigned(match test {
        Test1989::ArpStorm => arp_requests(subject),
        Test1989::BroadcastStorm => broadcasts(subject),
        _ => routing_updates(subject)?,
    }))
}

/// Questions for hosts of the tester's own network, all of which the device has to read.
fn arp_requests(subject: &Subject<'_>) -> Vec<Vec<u8>> {
    let from = subject.traffic.from(0);
    let network = from.host_ipv4.to_bits() & !0xff;
    let question = |host: u8| Repr {
        operation: Operation::Request,
        sender_mac: from.mac,
        sender_ip: from.host_ipv4,
        target_mac: MacAddr::ZERO,
        target_ip: Ipv4Addr::from_bits(network | u32::from(100 + host)),
    };
    (0..STORM_PERIOD).map(|host| question(host).frame(MacAddr::BROADCAST)).collect()
}

/// Broadcasts of hosts that tell who is logged in.
fn broadcasts(subject: &Subject<'_>) -> Vec<Vec<u8>> {
    let from = subject.traffic.from(0);
    let all = Ipv4Addr::from_bits(from.host_ipv4.to_bits() | 0xff);
    let here = (from.mac, SocketAddrV4::new(from.host_ipv4, RWHO_PORT));
    let there = (MacAddr::BROADCAST, SocketAddrV4::new(all, RWHO_PORT));
    vec![udp::frame_ipv4(here, there, &[0; RWHO_BYTES])]
}

/// Routes that come and go with every update.
fn routing_updates(subject: &Subject<'_>) -> Result<Vec<Vec<u8>>, RunError> {
    let from = subject.traffic.from(0);
    let networks = (0..FLAPPING).map(|n| (Ipv4Addr::from_bits(0x0a80_0000 | n << 8), 24));
    let networks: Vec<_> = networks.collect();
    let updates = |metric| {
        let host = (from.mac, from.host_ipv4);
        rip::update_frames(Version::V2, host, 24, &networks, metric)
            .map_err(|error| RunError::Config(error.to_string()))
    };
    Ok([updates(RFC2544_METRIC)?, updates(UNREACHABLE)?].concat())
}

/// Bursts of fragments: one lost, and the whole datagram must be sent again.
pub(super) fn nfs_bursts(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
) -> Result<Harvard1989Result, RunError> {
    let test = Test1989::NfsBursts;
    let mut result = result_of(test, subject);
    let config = &subject.config.harvard_1989;
    let (from, to) = (subject.traffic.from(0), subject.traffic.to(0));
    let burst = Burst::nfs(
        (from.mac, from.host_ipv4),
        (subject.traffic.next_hop(0), to.host_ipv4),
        config.nfs_datagrams,
    );
    let make = |signature| {
        let frames = burst.frames(signature).map_err(|error| RunError::Config(error.to_string()));
        let frame = |frame: traffic::fragment::BurstFrame| StreamFrame {
            bytes: frame.bytes,
            form: frame.form,
        };
        Ok::<Vec<StreamFrame>, RunError>(frames?.into_iter().map(frame).collect())
    };
    let in_burst = make(None)?.len() as u64;
    let rate = subject.line_rate().max_frame_rate(FrameSize::MAX_ETHERNET);
    let rate = rate.min(subject.ceiling.rate);
    let burst_s = rate.departure(in_burst).as_secs_f64();
    let period = Duration::from_secs_f64((config.burst_period_ms / 1e3).max(4.0 * burst_s));
    let request = steady(test, subject, "bursts of fragments", rate, period * config.bursts);
    let segment = Segment::bursty(rate, in_burst, period, in_burst * config.bursts);
    let shape = TrialShape { schedule: Schedule { segments: vec![segment] }, ..request.shape };
    let ran = run_changed(bench, Request { shape, ..request }, &|mut trial| {
        let signature = Some((trial.key, crate::traffic::FORWARD.0));
        trial.streams[0].frames = make(signature)?;
        Ok(trial)
    })?;
    let trial = match ran {
        Ok(ran) if ran.result.is_valid() => ran.result,
        Ok(ran) => return Ok(result.invalid(ran.invalid_reasons())),
        Err(why) => return Ok(result.not_possible(why)),
    };
    let datagrams = u64::from(config.nfs_datagrams) * config.bursts;
    let in_datagram = in_burst / u64::from(config.nfs_datagrams.max(1));
    let missing = trial.expected_accounts().map(|account| account.missing);
    let (lost, gaps) = missing.fold((0, 0), |sum, m| (sum.0 + m.count, sum.1 + m.gaps));
    result.put("datagrams", datagrams as f64, Unit::Frames);
    result.put("fragments each", in_datagram as f64, Unit::Frames);
    result.put("fragments lost", lost as f64, Unit::Frames);
    result.call_last(FigureName::LostPackets);
    let worst = lost.min(datagrams);
    if lost > 0 {
        result.note(format!(
            "one lost fragment costs its datagram: between {} and {worst} of {datagrams} datagrams \
             must be sent again ({gaps} gaps)",
            lost.div_ceil(in_datagram.max(1)),
        ));
    }
    Ok(result)
}
