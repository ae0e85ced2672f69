//! The ARP server: addresses are learned from requests on one side, and asked for on the other; the
//! highest rate at which every request is answered.

use crate::RunError;
use crate::bench::Bench;
use crate::chassis::{ChassisConditions, ChassisTest, TestSetup, shortfall_words};
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;
use trial::{Schedule, Segment, StreamFrame};
use units::{Duration, FrameRate, FrameSize};
use wire::arp;
use wire::ethernet::MacAddr;

/// How fast a device answers ARP requests for others.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ArpServerResult {
    /// Under which conditions.
    pub conditions: ChassisConditions,
    /// Addresses that the server learned and was asked for.
    pub addresses: u64,
    /// The highest rate of requests at which all were answered, in requests a second; `None` where
    /// not even the lowest was.
    pub rate_fps: Option<u64>,
    /// The lowest that failed.
    pub failed_fps: Option<u64>,
    /// Every trial, in order.
    pub trials: Vec<ArpTrial>,
    /// Why nothing is known; empty where something is.
    pub invalid: Vec<String>,
}

/// Requests at one rate.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct ArpTrial {
    /// Requests a second.
    pub rate_fps: u64,
    /// Requests sent.
    pub requests: u64,
    /// Frames of the smallest size, none of ours, that came back to the port that asked.
    pub responses: u64,
}

/// Where the hosts are, and who asks for them.
const HOSTS: usize = 0;
const ASKS: usize = 1;
/// Nobody has this address.
const NOBODY: Ipv4Addr = Ipv4Addr::new(198, 18, 255, 254);

/// The test, with the first two ports.
pub fn arp_server(
    bench: &mut Bench<'_>,
    rack: &TestSetup<'_>,
) -> Result<ArpServerResult, RunError> {
    let config = &rack.config.chassis.arp_server;
    let rack = &TestSetup { size: FrameSize::MIN_ETHERNET, ports: 2, ..*rack };
    let beyond = config.max_fps + config.resolution_fps.max(1);
    let (mut low, mut high, mut fps) = (0, beyond, config.max_fps);
    let mut trials = vec![];
    let mut invalid = vec![];
    while high - low > config.resolution_fps.max(1) {
        let (trial, why) = trial(bench, rack, fps)?;
        let answered = trial.responses == trial.requests;
        trials.push(trial);
        if !why.is_empty() {
            invalid = why;
            break;
        }
        if answered {
            low = fps
        } else {
            high = fps
        }
        fps = (low + (high - low) / 2).max(1);
    }
    Ok(ArpServerResult {
        conditions: rack.conditions(ChassisTest::ArpServer),
        addresses: config.addresses,
        rate_fps: (low > 0).then_some(low),
        failed_fps: (high < beyond).then_some(high),
        trials,
        invalid,
    })
}

fn trial(
    bench: &mut Bench<'_>,
    rack: &TestSetup<'_>,
    fps: u64,
) -> Result<(ArpTrial, Vec<String>), RunError> {
    let (config, test) = (&rack.config.chassis.arp_server, ChassisTest::ArpServer);
    let rate = FrameRate::from_fps(fps);
    let label = format!("{test}: {} requests at {fps} a second", config.requests);
    let ran = rack.run(bench, test, &label, rate, &|draft| {
        let wait = Duration::from_secs_f64(rack.config.chassis.learning_interval_s);
        for number in 0..config.addresses {
            let frame = request(rack.address(HOSTS, number + 1), host(number), NOBODY);
            draft.say(rack, HOSTS, vec![frame], wait);
        }
        let asker = rack.port(ASKS);
        let ask = |number| StreamFrame {
            bytes: request(asker.mac, asker.host_ipv4, host(number)),
            form: None,
        };
        let requests = (0..config.addresses).map(ask).collect();
        let id = draft.stream(rack, ASKS, &[], requests);
        let segments = vec![Segment::constant(rate, config.requests)];
        draft.send(ASKS, Schedule { segments }, vec![id]);
        Ok(())
    })?;
    let back = ran.result.received.iter().find(|port| port.port == rack.port(ASKS).port);
    let smallest = u64::from(FrameSize::MIN_ETHERNET.bytes());
    let responses = back.filter(|port| port.foreign_bytes == port.foreign * smallest);
    let trial = ArpTrial {
        rate_fps: fps,
        requests: config.requests,
        responses: responses.map_or(0, |port| port.foreign),
    };
    Ok((trial, shortfall_words(&ran)))
}

/// The hosts' addresses, of the range for benchmarks.
fn host(number: u64) -> Ipv4Addr {
    Ipv4Addr::from_bits(Ipv4Addr::new(198, 18, 128, 1).to_bits() + number as u32)
}

fn request(mac: MacAddr, sender: Ipv4Addr, target: Ipv4Addr) -> Vec<u8> {
    let repr = arp::Repr {
        operation: arp::Operation::Request,
        sender_mac: mac,
        sender_ip: sender,
        target_mac: MacAddr::ZERO,
        target_ip: target,
    };
    repr.frame(MacAddr::BROADCAST)
}
