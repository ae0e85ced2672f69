//! Patterns, congestion control and forward pressure.

use super::bed::{SWITCH, config, record, run, run_behind, run_with, sizes};
use method::chassis::ChassisTest;
use method::rfc2889::{
    CongestionResult, CongestionVerdict, ForwardPressureResult, GapOutcome, MeshResult,
};
use method::{Finding, SearchPolicy};
use traffic::modifier::sub_seed;
use trial::{InvalidReason, Tester, TesterDescription, TesterError, Trial, TrialResult, Validity};
use units::{Duration, FrameSize, LineRate};

fn mesh(toml: &str, test: ChassisTest) -> MeshResult {
    record(&run(toml, test))
}

fn congestion(queues: &str) -> CongestionResult {
    record(&run(&format!("ports = 4\n{SWITCH}{queues}"), ChassisTest::Congestion))
}

/// Fully meshed by the RFC's order, no output is ever offered two frames at once: whatever the
/// queues are, a switch with links at line rate carries all of it.
#[test]
fn an_ideal_switch_carries_every_pattern_in_which_no_port_is_overloaded() {
    let ideal = format!("ports = 8\n{SWITCH}[output]\nframes = 8\n");
    for test in [
        ChassisTest::FullyMeshed,
        ChassisTest::Unidirectional,
        ChassisTest::Backbone,
        ChassisTest::BackboneLocal,
        ChassisTest::OneToMany,
        ChassisTest::Broadcast,
    ] {
        let result = mesh(&ideal, test);
        assert_eq!(result.throughput.finding, Finding::AtTheoreticalMaximum, "{test}");
        let matrix = result.matrix.as_ref().unwrap();
        assert!(matrix.pairs.iter().all(|pair| pair.sent == pair.received && pair.sent > 0));
        assert_eq!(matrix.flooded.iter().sum::<u64>(), 0, "{test}");
        assert_eq!(result.points[0].start_skew, units::Duration::ZERO);
    }
}

/// Seven ports to one: each may offer a seventh of what one takes, less what the queue held.
#[test]
fn many_to_one_carries_one_ports_worth() {
    let result =
        mesh(&format!("ports = 8\n{SWITCH}[output]\nframes = 8\n"), ChassisTest::ManyToOne);
    let load = result.throughput.load_percent.unwrap();
    // 1,488 frames leave in a trial; 8 more may wait: 0.6 %. The resolution is 1 %.
    assert!((load - 100.0 / 7.0).abs() < 0.3, "{load}");
    let frmol = result.frmol().unwrap();
    assert!((frmol.loss_percent - 600.0 / 7.0).abs() < 0.5, "{}", frmol.loss_percent);
    let one_port = LineRate::from_mbps(100).max_frame_rate(FrameSize::MIN_ETHERNET).fps();
    assert!((frmol.forwarding_rate.fps() / one_port - 1.0).abs() < 0.02);
}

/// Three ports to one that asks them to wait: no frame is lost at any load, and each offers a third of
/// what one port takes. In a trial of 10 ms some frames more are under way and in queues: of 496 a
/// source 16 each.
#[test]
fn what_a_port_was_asked_not_to_offer_is_no_throughput() {
    let queues = "[flow-control]\npause-at-frames = 16\nresume-at-frames = 8\n";
    let result = mesh(&format!("ports = 4\n{SWITCH}{queues}"), ChassisTest::ManyToOne);
    let one_port = LineRate::from_mbps(100).max_frame_rate(FrameSize::MIN_ETHERNET).fps();
    let found = &result.throughput;
    let point = found.point.as_ref().unwrap();
    assert!(point.offered.fps() < one_port * 1.2, "{point:?}");
    let rate = found.rate.unwrap().fps();
    assert!(rate * 3.0 <= point.offered.fps() * 1.001, "{rate} each of {}", point.offered);
    assert!((rate * 3.0 / one_port - 1.0).abs() < 0.02, "{rate} of {one_port}");
    assert!((found.load_percent.unwrap() - 100.0 / 3.0).abs() < 0.7, "{:?}", found.load_percent);
    assert_eq!(found.finding, Finding::Measured);
}

/// Two ports to one with a deep queue: what leaves the queue after the last frame was sent makes the
/// output no faster than its line.
#[test]
fn no_port_forwards_more_than_its_medium_takes() {
    let queues = "[output]\nframes = 2000\n";
    let result = mesh(&format!("ports = 3\n{SWITCH}{queues}"), ChassisTest::ManyToOne);
    let one_port = LineRate::from_mbps(100).max_frame_rate(FrameSize::MIN_ETHERNET).fps();
    let frmol = result.frmol().unwrap();
    assert!(frmol.forwarding_rate.fps() <= one_port * 1.000_01, "{frmol:?}");
    assert!(frmol.forwarding_rate.fps() >= one_port * 0.98, "{frmol:?}");
    let result = congestion("[output]\nframes = 2000\n");
    assert!(result.congested_rate.fps() <= one_port * 1.000_01, "{}", result.congested_rate);
    assert!(result.congested_rate.fps() >= one_port * 0.98, "{}", result.congested_rate);
}

/// A central processor of so many frames a second, whatever its cost: shared by all ports.
#[test]
fn the_throughput_of_a_mesh_is_what_the_slowest_part_has() {
    for seed in (0..4).chain(crate::new_seeds::new_seeds()) {
        let ports = 4 + 2 * (sub_seed(seed, 0) % 4);
        let cost_ns = 800 + sub_seed(seed, 1) % 2_000;
        let queue = 4 + sub_seed(seed, 2) % 12;
        let toml = format!(
            "ports = {ports}\n{SWITCH}[input]\nframes = {queue}\n\
             [cpu]\ncost = {{ per-frame = \"{cost_ns}ns\" }}\n"
        );
        let result = mesh(&toml, ChassisTest::FullyMeshed);
        let capacity = 1e9 / cost_ns as f64;
        let offered = LineRate::from_mbps(100).max_frame_rate(FrameSize::MIN_ETHERNET).fps();
        let truth = (capacity / (offered * ports as f64) * 100.0).min(100.0);
        let found = result.throughput.load_percent.unwrap();
        // Within the resolution of 1 %, and what the queues hold of 10 ms: queue x ports frames.
        let held = (queue * ports) as f64 / (capacity * 0.01) * truth;
        assert!(found >= truth * 0.985 && found <= truth + held + 0.01, "{found} {truth}: {toml}");
        let frmol = result.frmol().unwrap();
        let forwarded = frmol.forwarding_rate.fps();
        assert!((forwarded / capacity - 1.0).abs() < 0.02 + held / 100.0 || truth == 100.0);
    }
}

/// (150 - 100) / 150 of the frames for the congested port find no room: 33.3 %.
#[test]
fn an_ideal_switch_loses_a_third_at_the_congested_port_and_nothing_elsewhere() {
    for frames in [8, 32] {
        let result = congestion(&format!("[output]\nframes = {frames}\n"));
        assert_eq!(result.uncongested.0, result.uncongested.1);
        let (sent, received) = result.congested;
        assert_eq!(sent, result.frames * 3 / 2);
        // What waits at the end is received all the same.
        let room = (frames + 2) as f64 / sent as f64 * 100.0;
        let loss = result.congested_loss_percent();
        assert!(loss <= 100.0 / 3.0 && loss >= 100.0 / 3.0 - room, "{loss}: {received} of {sent}");
        use CongestionVerdict::*;
        assert_eq!(result.verdicts, [NoHeadOfLineBlocking, NoBackpressure]);
    }
}

/// With queues at the inputs and the oldest frame first, frames for the uncongested port wait behind
/// others until there is no room for more of them, while the congested port is never idle.
#[test]
fn queues_at_the_inputs_block_the_head_of_the_line() {
    for frames in [8, 64] {
        let result = congestion(&format!("[fabric]\nframes = {frames}\n"));
        assert!(result.verdicts.contains(&CongestionVerdict::HeadOfLineBlocking));
        let loss = result.uncongested_loss_percent();
        assert!(loss > 20.0, "{loss} with {frames}");
        // A link's worth in the time of the trial, and what waited at its end.
        let came = result.congested.1 - result.frames;
        assert!(came <= 2 * frames + 4, "{came} with {frames}");
    }
    // In turn, the first source has its half of the congested port, which is all it wants.
    let result = congestion("[fabric]\nframes = 8\narbitration = \"round-robin\"\n");
    assert!(result.verdicts.contains(&CongestionVerdict::NoHeadOfLineBlocking), "{result:?}");
}

/// Paused in time, senders lose nothing. With queues at the outputs the second is held back and the
/// first keeps its half of the congested port. The trial is the device's result, not the tester's
/// failure.
#[test]
fn flow_control_saves_the_frames() {
    let result = congestion("[flow-control]\npause-at-frames = 16\nresume-at-frames = 8\n");
    assert!(result.invalid.is_empty(), "{:?}", result.invalid);
    assert_eq!(result.uncongested.0, result.uncongested.1);
    assert_eq!(result.congested.0, result.congested.1);
    use CongestionVerdict::*;
    assert_eq!(result.verdicts, [NoHeadOfLineBlocking, Backpressure]);
    assert!(result.pauses.0 > 10 && result.pauses.1 > units::Duration::ZERO);
    // 1.5 T frames go through one port: half as long again.
    let longest = result.matrix.duration.as_secs_f64();
    assert!((longest / 0.015 - 1.0).abs() < 0.05, "{longest}");
    // With queues at the inputs the first is held back, too, for both of its destinations.
    let result = congestion(
        "[fabric]\nframes = 32\n[flow-control]\npause-at-frames = 16\nresume-at-frames = 8\n",
    );
    assert_eq!(result.verdicts, [NoHeadOfLineBlocking, Backpressure, Throttled]);
    // A tester that does not listen loses what it would have lost without.
    let deaf = "[memory]\nframes = 64\n[flow-control]\npause-at-frames = 16\nresume-at-frames = 8\n\
                [tester]\nignores-pause = true\n";
    let result = congestion(deaf);
    assert!(result.congested_loss_percent() > 30.0);
    assert!(result.pauses.0 > 0 && result.pauses.1 == units::Duration::ZERO);
}

#[test]
fn forward_pressure_is_found_where_it_is_and_only_there() {
    let gap = |toml: &str| {
        let toml = format!("ports = 2\n{SWITCH}{toml}");
        let result: ForwardPressureResult = record(&run(&toml, ChassisTest::ForwardPressure));
        assert_eq!(result.throughput.finding, Finding::AtTheoreticalMaximum);
        result.gap
    };
    let able = "[tester]\ngap-bytes = 11\n";
    assert!(matches!(
        gap(&format!("[misbehaviour]\ngap-bytes = 11\n{able}")),
        GapOutcome::Detected { .. }
    ));
    assert!(matches!(gap(able), GapOutcome::NotDetected { .. }));
    assert!(matches!(gap(""), GapOutcome::NotTested { .. }));
}

/// One device cannot be two: the pattern of section 5.3 alone is no test of it.
#[test]
fn two_halves_of_one_device_are_not_called_two_devices() {
    for test in [ChassisTest::BackboneLocal, ChassisTest::Backbone] {
        let outcome = run(&format!("ports = 4\n{SWITCH}"), test);
        let clauses = &outcome.conditions.clauses;
        let of = clauses.iter().find(|judged| judged.words.starts_with("Two devices are joined"));
        assert_eq!(of.unwrap().verdict, method::clauses::Verdict::NotChecked);
    }
}

/// A byte less in 1538 is 0.065 % of the rate, below what a trial may fall short by: only the gaps tell
/// whether the tester has sent them.
#[test]
fn gaps_of_long_frames_are_judged_as_gaps() {
    for bytes in [1024, 1518] {
        let gap = |toml: &str| {
            let mut config = config(&[ChassisTest::ForwardPressure]);
            config.frame_sizes = sizes(&[bytes]);
            let (results, _) = run_with(&format!("ports = 2\n{SWITCH}{toml}"), config);
            record::<ForwardPressureResult>(&results[0]).gap
        };
        let legal = gap("");
        assert!(
            matches!(&legal, GapOutcome::NotTested { why } if why.contains("96.0 bit")),
            "{legal:?}"
        );
        let able = "[tester]\ngap-bytes = 11\n";
        let wrong = gap(&format!("[misbehaviour]\ngap-bytes = 11\n{able}"));
        let GapOutcome::Detected { gap_bits: Some(bits), .. } = wrong else { panic!("{wrong:?}") };
        assert!((bits - 88.0).abs() < 0.1, "{bits}");
        let right = gap(able);
        let GapOutcome::NotDetected { gap_bits: Some(bits), .. } = right else {
            panic!("{right:?}")
        };
        assert!((bits - 96.0).abs() < 0.1, "{bits}");
    }
}

/// A processor whose interrupts leave ever less time for forwarding: it forwards most below the
/// medium's maximum.
#[test]
fn the_maximum_forwarding_rate_may_lie_below_the_maximum_offered_load() {
    let toml = format!(
        "ports = 2\n{SWITCH}[input]\nframes = 20\n\
         [cpu]\ncost = {{ per-frame = \"10us\", receive = \"4us\" }}\n"
    );
    let result: ForwardPressureResult = record(&run(&toml, ChassisTest::ForwardPressure));
    let mfr = result.mfr().unwrap();
    // 14 us a frame: 71,428 a second, 48 % of the medium; at its maximum the interrupts alone take
    // 148,810 x 4 us = 59.5 % and leave 40.5 % for 10 us each: 40,476.
    assert!((mfr.load_percent - 48.0).abs() < 2.0, "{}", mfr.load_percent);
    assert!((mfr.forwarding_rate.fps() / 71_428.0 - 1.0).abs() < 0.03);
    let last = result.steps.last().unwrap();
    assert!((last.forwarding_rate.fps() / 40_476.0 - 1.0).abs() < 0.05, "{last:?}");
}

/// Bursts of 24 at half the load: a queue of 12 suffices for a constant load and not for them.
#[test]
fn bursts_need_room() {
    let toml = format!("ports = 4\n{SWITCH}[output]\nframes = 8\n");
    let mut config = config(&[ChassisTest::ManyToOne]);
    config.burst_frames = 24;
    let (results, _) = run_with(&toml, config);
    let bursty: MeshResult = record(&results[0]);
    assert!(matches!(bursty.throughput.finding, Finding::NothingPassed { .. }), "{bursty:?}");
}

/// A tester that falls short where it should offer from 30 to 60 % of 100 Mb/s, and nowhere else.
struct ShortBetween<T>(T);

impl<T: Tester> Tester for ShortBetween<T> {
    fn describe(&self) -> &TesterDescription {
        self.0.describe()
    }
    fn run(&mut self, trial: &Trial) -> Result<TrialResult, TesterError> {
        let mut result = self.0.run(trial)?;
        let Some(sent) = result.sent.first() else { return Ok(result) };
        let (port, intended) = (sent.report.port, sent.intended_rate);
        if (0.3..0.6).contains(&(intended.fps() / 148_809.5)) && result.is_valid() {
            let (offered, unsent_frames) = (intended.scaled(0.99), 0);
            let reason = InvalidReason::Shortfall { port, intended, offered, unsent_frames };
            result.validity = Validity::Invalid(vec![reason]);
        }
        Ok(result)
    }
    fn pause(&mut self, span: Duration) -> Result<(), TesterError> {
        self.0.pause(span)
    }
}

/// A tester that offers 3 % less than asked for, and no more than 40 % of 100 Mb/s.
struct Weak<T>(T);

const WEAK_MOST_FPS: f64 = 0.4 * 148_809.5;

impl<T: Tester> Tester for Weak<T> {
    fn describe(&self) -> &TesterDescription {
        self.0.describe()
    }
    fn run(&mut self, trial: &Trial) -> Result<TrialResult, TesterError> {
        let mut weak = trial.clone();
        for segment in weak.loads.iter_mut().flat_map(|load| &mut load.schedule.segments) {
            let asked = segment.rate.fps();
            let share = 0.97_f64.min(WEAK_MOST_FPS / asked);
            segment.rate = segment.rate.scaled(share);
            segment.frames = (segment.frames as f64 * share) as u64;
        }
        let mut result = self.0.run(&weak)?;
        let Some(sent) = result.sent.first().filter(|_| result.is_valid()) else {
            return Ok(result);
        };
        let (port, offered, unsent_frames) = (sent.report.port, sent.intended_rate, 0);
        let intended = trial.loads[0].schedule.mean_rate();
        let reason = InvalidReason::Shortfall { port, intended, offered, unsent_frames };
        result.validity = Validity::Invalid(vec![reason]);
        Ok(result)
    }
    fn pause(&mut self, span: Duration) -> Result<(), TesterError> {
        self.0.pause(span)
    }
}

/// Of a device that is faster than the tester the load is stated that was offered and came out whole, as a bound; of one
/// that is slower, nothing that is above what it carries.
#[test]
fn a_weak_tester_states_what_it_did_offer() {
    for (device_percent, policy) in [
        (100.0_f64, SearchPolicy::Bisect),
        (100.0, SearchPolicy::Adaptive),
        (20.0, SearchPolicy::Bisect),
        (20.0, SearchPolicy::Adaptive),
    ] {
        let limit = (4.0 * 1_488.095 * device_percent) as u64;
        let toml = format!(
            "ports = 4\n{SWITCH}[output]\nframes = 8\n[impair]\npolice-frames-per-second = {limit}\n\
             police-burst-frames = 8\n"
        );
        let mut config = config(&[ChassisTest::FullyMeshed]);
        (config.search.policy, config.frame_sizes) = (policy, sizes(&[64]));
        let (mut results, _) = run_behind(&toml, config, Weak);
        let throughput = record::<MeshResult>(&results.remove(0)).throughput;
        assert!(matches!(throughput.finding, Finding::AtLeast { .. }), "{throughput:?}");
        let found = throughput.load_percent.unwrap();
        let most = device_percent.min(40.0);
        assert!(
            found <= most * 1.01 && found >= most * 0.4,
            "{device_percent} {policy:?}: {found}"
        );
        if device_percent == 100.0 {
            assert!((found - 40.0).abs() < 0.5, "{policy:?}: {found}");
        }
    }
}

/// What the tester could not try says nothing of the device: the upper bound is a load that lost frames.
#[test]
fn an_interval_ends_at_a_load_that_lost_frames() {
    // 80 % of four ports.
    let limit = 476_190;
    let toml = format!(
        "ports = 4\n{SWITCH}[output]\nframes = 8\n[impair]\npolice-frames-per-second = {limit}\n\
         police-burst-frames = 8\n"
    );
    for policy in [SearchPolicy::Bisect, SearchPolicy::Adaptive] {
        let mut config = config(&[ChassisTest::FullyMeshed]);
        (config.search.policy, config.frame_sizes) = (policy, sizes(&[64]));
        let (mut results, _) = run_behind(&toml, config, ShortBetween);
        let throughput = record::<MeshResult>(&results.remove(0)).throughput;
        let bounds = (throughput.load_percent.unwrap(), throughput.upper_percent);
        let is_open = matches!(throughput.finding, Finding::Between { .. });
        assert!(is_open || policy == SearchPolicy::Adaptive, "it halves, and meets the gap");
        assert!(bounds.0 <= 80.0 && bounds.1.unwrap() >= 79.0, "{policy:?}: {bounds:?}");
    }
}
