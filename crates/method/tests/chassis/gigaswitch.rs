//! The GIGAswitch/FDDI tests on a device that scales and on one that does not.

use super::bed::{SWITCH, config, only, record, run_with};
use method::Finding;
use method::chassis::ChassisTest;
use method::gigaswitch::{ArpServerResult, ExtrapolationResult, FanoutResult};

fn extrapolation(toml: &str, to: usize) -> (Vec<FanoutResult>, ExtrapolationResult) {
    let mut config = config(&[ChassisTest::Extrapolation]);
    config.chassis.fanout.extrapolate_to = to;
    config.chassis.fanout.all_ports_trial_s = 0.01;
    let (results, _) = run_with(toml, config);
    let (last, fanouts) = results.split_last().expect("an extrapolation");
    (fanouts.iter().map(record).collect(), record(last))
}

#[test]
fn an_extrapolation_holds_on_a_device_that_scales() {
    let toml = format!("ports = 34\n{SWITCH}[output]\nframes = 16\n");
    let (fanouts, result) = extrapolation(&toml, 34);
    assert_eq!(fanouts.iter().map(|f| f.conditions.ports).collect::<Vec<_>>(), [4, 8, 34]);
    assert!(fanouts.iter().all(|f| f.throughput.finding == Finding::AtTheoreticalMaximum));
    // "25% of the 100 packets went to each of the transmitter's 4 destinations"; with 4 ports 2.
    assert_eq!(fanouts.iter().map(|f| f.receivers).collect::<Vec<_>>(), [2, 4, 4]);
    let matrix = fanouts[1].matrix.as_ref().unwrap();
    assert_eq!(matrix.pairs.len(), 8 * 4);
    let sent: Vec<u64> = matrix.pairs.iter().map(|pair| pair.sent).collect();
    assert!(sent.iter().max().unwrap() - sent.iter().min().unwrap() <= 1, "{sent:?}");
    let point = fanouts[2].point.as_ref().unwrap();
    assert_eq!(point.offered_frames, point.received_frames);
    assert_eq!(result.scaling_factor, (1.0, 1.0));
    assert_eq!(result.held, Some(true), "{result:?}");
    assert_eq!(result.as_published, Some(result.extrapolated.1));
}

/// A bus of 1.6 million frames a second: enough for 8 ports of 148,810, and not for 12.
#[test]
fn an_extrapolation_fails_on_a_device_that_does_not() {
    let toml = format!(
        "ports = 12\n{SWITCH}[input]\nframes = 8\n[bus]\ncost = {{ per-frame = \"625ns\" }}\n"
    );
    let (fanouts, result) = extrapolation(&toml, 12);
    assert_eq!(fanouts[1].throughput.finding, Finding::AtTheoreticalMaximum);
    assert_eq!(result.held, Some(false), "{result:?}");
    let all = result.all_ports.unwrap();
    assert!(all.0 <= 1_600_000.0 * 1.01 && all.1 >= 1_600_000.0 * 0.99, "{all:?}");
}

/// A load at which a single frame comes out of each port in a trial is no rate: nothing is measured by it.
#[test]
fn loads_of_single_frames_decide_nothing() {
    let mut config = config(&[ChassisTest::Fanout]);
    (config.trial.duration_s, config.search.trial_duration_s) = (0.1, 0.1);
    let device = "ports = 4\nbridge = true\nline-rate = \"1M\"\n[impair]\ncorrupt-every = 7\n";
    let (results, _) = run_with(device, config);
    let fanout: FanoutResult = only(&results);
    assert!(matches!(fanout.throughput.finding, Finding::NothingPassed { .. }), "{fanout:?}");
    assert_eq!(fanout.throughput.rate, None);
}

fn arp_server(toml: &str) -> ArpServerResult {
    let mut config = config(&[ChassisTest::ArpServer]);
    config.chassis.arp_server.requests = 400;
    let (results, _) = run_with(toml, config);
    only(&results)
}

/// 500 us a response: 2,000 a second; what may wait is what 400 requests may bring too soon.
#[test]
fn the_sustained_rate_of_responses_is_found() {
    let toml = format!("ports = 2\n{SWITCH}[arp-server]\nper-request = \"500us\"\nrequests = 4\n");
    let result = arp_server(&toml);
    let found = result.rate_fps.unwrap();
    assert!((2_000..=2_000 + 30).contains(&found), "{found}");
    let none = arp_server(&format!("ports = 2\n{SWITCH}"));
    assert_eq!(none.rate_fps, None);
}
