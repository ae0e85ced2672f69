//! Devices with a limit that the kernel itself imposes: the methods must find, over live ports,
//! what arithmetic says.
//!
//! **What a token bucket passes.** A bucket of `b` frames, refilled with `C` frames a second, and
//! `Q` places in the queue before it: when the frames of a trial come at rate `R`, frame `n`
//! (from 1) comes at (n - 1) / R, and by then at most b + C (n - 1) / R have left. It is lost if
//! more than `Q` of those before it still wait. So the longest run without loss is the largest
//! `n` with
//!
//! ```text
//! n <= Q + b + C (n - 1) / R        (1)
//! ```
//!
//! A trial of length `T` at rate `R` has n = R T frames, hence the throughput is
//! C + (Q + b) / T, and the longest burst at rate `R` is (Q + b) / (1 - C / R).
//!
//! **What a frame costs.** `tbf` sees a frame as the kernel does, without FCS, and adds the
//! overhead it is given, here 24 octets: FCS 4, preamble 8, inter-frame gap 12. A frame of `N`
//! bytes with FCS therefore costs (N + 20) x 8 bits, as on an Ethernet of that rate. The bucket
//! is filled with as many nanoseconds as its size takes with one frame's overhead at that rate:
//! b = (burst_bytes + 24) / (N + 20) frames.
//!
//! **What noise does.** A virtual machine takes its processors away for milliseconds. While
//! frames are held up before it, the limit passes others in addition or (while the bucket is
//! full) wastes what it could pass: `C` times the time for which they are held up. How long the
//! tester held frames up it says itself, as lateness; bucket and queue bridge 100 ms, so that 20 ms
//! may count as in time here. A device with threads of its own may be held up for 10 ms more.

use live::{Bed, can_run, measure, short_trials, undecided};
use method::rfc2544::{BurstOutcome, back_to_back, frame_loss, throughput};
use method::{Bench, Finding, Protocol, RunError, Subject, SuiteConfig, TestKind, TrialRecord};
use ports::{LiveTester, PortType};
use testbed::{DeviceKind, DeviceThreads, Impairment, TestbedConfig};
use trial::{Tester, TesterDescription, TesterError, Trial, TrialResult};
use units::{Duration, FrameSize, LineRate};

/// What the virtual links are taken for: 7440.5 frames of 64 bytes a second at most.
const LINE: LineRate = LineRate::from_mbps(5);
/// Frames a second that the limits pass.
const C: u64 = 2_000;
/// Frames that may pass at once.
const B: u64 = 100;
/// Places in the queue.
const Q: u64 = 100;
/// Lateness of the tester that changes nothing: a fifth of what bucket and queue bridge.
const IN_TIME_US: u64 = 20_000;
/// Seconds for which a device's own threads may be held up.
const THREADS_HELD_UP_S: f64 = 0.010;
/// Step of the search for the longest burst, in frames.
const STEP: u64 = 4;

/// A token bucket for 64-byte frames on the way out of port 1.
fn token_bucket() -> Impairment {
    const OCTETS: u64 = 64 + 20;
    Impairment::RateLimit {
        port: 1,
        rate_bps: C * OCTETS * 8,
        burst_bytes: (B * OCTETS - 24) as u32,
        queue_frames: Q as u32,
        overhead_bytes: 24,
    }
}

fn bed(device: DeviceKind, threads: DeviceThreads, limit: Impairment) -> Bed {
    let impairments = vec![limit];
    Bed::build(&TestbedConfig { threads, impairments, ..TestbedConfig::of(device) })
}

fn config() -> SuiteConfig {
    let mut config = short_trials();
    config.trial.limits.late_after_us = IN_TIME_US;
    config.back_to_back.repetitions = 1;
    config.back_to_back.step_frames = STEP;
    config.back_to_back.resolution_percent = 0.0;
    config.back_to_back.limit_s = 0.08;
    config
}

/// Frames by which noise can falsify what a test found: what the limit passes while the tester
/// (by its own account) and the device's threads are held up, and two for rounding.
fn noise_frames(test: TestKind, trials: &[TrialRecord], threads: DeviceThreads) -> f64 {
    let valid = trials.iter().filter(|trial| trial.test == test && trial.result.is_valid());
    let lateness = valid.filter_map(|trial| trial.result.sent[0].report.lateness.max());
    let held_up_s = lateness.max().expect("a valid trial").as_secs_f64();
    let threads_s = if threads == DeviceThreads::Threaded { THREADS_HELD_UP_S } else { 0.0 };
    2.0 + C as f64 * (held_up_s + threads_s)
}

/// Where frames reach the bucket the moment they leave, every trial loses what (1) says, but for
/// the tester's lateness.
fn assert_loss_is_exact(trials: &[TrialRecord]) {
    for trial in trials.iter().filter(|trial| trial.result.is_valid()) {
        let report = &trial.result.sent[0].report;
        let span = report.last_departure.unwrap().since(report.first_departure.unwrap());
        let passed = (Q + B) as f64 + C as f64 * span.as_secs_f64();
        let truth = (report.sent_frames as f64 - passed).max(0.0);
        let noise = 2.0 + C as f64 * report.lateness.max().unwrap().as_secs_f64();
        let lost = trial.result.lost_frames() as f64;
        assert!(
            (lost - truth).abs() <= noise,
            "{truth} +- {noise} lost, not {lost}: {}",
            log(trials)
        );
    }
}

/// The truth lies between what passed and what did not, but for noise.
fn assert_between(passed: f64, truth: f64, failed: f64, noise: f64, trials: &[TrialRecord]) {
    let told = format!("{passed} passed, {failed} failed, noise {noise}:\n{}", log(trials));
    assert!(passed - noise <= truth && truth <= failed + noise, "{truth} would be right; {told}");
}

/// Whatever the noise: no more came out than the bucket held and the rate allowed until the last
/// frame arrived, with one frame for rounding.
fn assert_never_faster(trials: &[TrialRecord]) {
    for trial in trials {
        let sent = trial.result.sent[0].report.first_departure;
        let account = &trial.result.expected_accounts().next().expect("one stream").account;
        let (Some(sent), Some(last)) = (sent, account.last_at) else { continue };
        let most = B as f64 + C as f64 * last.since(sent).as_secs_f64() + 1.0;
        let received = account.unique;
        assert!(received as f64 <= most, "{received} of {most} at most: {}", log(trials));
    }
}

/// Whether a trial says that the tester did not keep up.
fn was_held_up(trials: &[TrialRecord]) -> bool {
    trials.iter().any(|trial| !trial.result.is_valid())
}

fn log(trials: &[TrialRecord]) -> String {
    let line = |trial: &TrialRecord| {
        let result = &trial.result;
        let (sent, lost) = (result.offered_frames(), result.lost_frames());
        format!(
            "{:.0} fps, {sent} sent, {lost} lost: {:?} {:?}\n",
            trial.intended.fps(),
            trial.verdict,
            result.invalid_reasons()
        )
    };
    trials.iter().map(line).collect()
}

/// Throughput and the longest burst of a token bucket with its queue.
fn token_bucket_is_measured(device: DeviceKind, threads: DeviceThreads, port_type: PortType) {
    if !can_run(&format!("a token bucket in {device:?}, measured by {port_type} ports")) {
        return;
    }
    let bed = bed(device, threads, token_bucket());
    let mut tester = bed.live(port_type, FrameSize::MAX_ETHERNET, LINE);
    let both = |bench: &mut Bench<'_>, subject: &Subject<'_>| -> Result<_, RunError> {
        let rate = throughput(bench, subject)?;
        let burst = back_to_back(bench, subject, &rate)?;
        Ok((rate.throughput, burst))
    };
    let config = config();
    let ((found, burst), trials) = measure(&bed, &config, &mut tester, both);
    assert_never_faster(&trials);
    if threads == DeviceThreads::Inline {
        assert_loss_is_exact(&trials);
    }

    // What queue and bucket carried is no part of the rate that is kept up, and widens the bracket.
    let is_decided = matches!(found.finding, Finding::Measured | Finding::Between { .. });
    if !is_decided && was_held_up(&trials) {
        return undecided::tell(&format!("{:?}", found.finding));
    }
    assert!(is_decided, "{:?} {}", found.finding, log(&trials));
    let seconds = config.trial.duration_s;
    let (rate, upper) = (found.rate.unwrap().fps(), found.upper.unwrap().fps());
    let of_room = (Q + B) as f64 / seconds;
    // What passes a trial; where it is told apart, what is kept up for ever.
    let truth = C as f64 + if found.buffered.is_some() { 0.0 } else { of_room };
    let noise = noise_frames(TestKind::Throughput, &trials, threads) / seconds;
    assert_between(rate, truth, upper, noise, &trials);
    let resolution = upper * config.search.resolution_percent / 100.0 + 0.1;
    assert!(upper - rate <= resolution + of_room, "{rate} {upper}");

    let [search] = &burst.searches[..] else { panic!("{burst:?}") };
    if search.outcome != BurstOutcome::Measured && was_held_up(&trials) {
        return undecided::tell(&format!("{:?}", search.outcome));
    }
    assert_eq!(search.outcome, BurstOutcome::Measured, "{}", log(&trials));
    let found = search.frames as f64;
    let truth = (Q + B) as f64 / (1.0 - C as f64 / burst.burst_rate.unwrap().fps());
    let noise = noise_frames(TestKind::BackToBack, &trials, threads);
    assert_between(found, truth, found + STEP as f64, noise, &trials);
}

#[test]
fn a_token_bucket_by_xdp_ports() {
    let (device, threads) = (DeviceKind::LinuxRouter, DeviceThreads::Threaded);
    token_bucket_is_measured(device, threads, PortType::XDP);
}

#[test]
fn a_token_bucket_by_af_xdp_ports() {
    let (device, threads) = (DeviceKind::LinuxBridge, DeviceThreads::Threaded);
    token_bucket_is_measured(device, threads, PortType::AF_XDP);
}

/// Here the tester's own system call carries each frame as far as the bucket: nothing can hold
/// it up in between.
#[test]
fn a_token_bucket_by_af_packet_ports() {
    let (device, threads) = (DeviceKind::LinuxRouter, DeviceThreads::Inline);
    token_bucket_is_measured(device, threads, PortType::AF_PACKET);
}

/// A rule that forwards at most so many frames a second has a bucket too, and no queue.
#[test]
fn a_frame_rate_rule_by_af_xdp_ports() {
    if !can_run("a_frame_rate_rule_by_af_xdp_ports") {
        return;
    }
    let limit = Impairment::FrameRateLimit { frames_per_second: C, burst_frames: B as u32 };
    let bed = bed(DeviceKind::LinuxRouter, DeviceThreads::Threaded, limit);
    let mut tester =
        RulesRead::new(bed.live(PortType::AF_XDP, FrameSize::MAX_ETHERNET, LINE), &bed);
    let config = config();
    let (found, trials) = measure(&bed, &config, &mut tester, throughput);
    let found = found.throughput;
    assert_never_faster(&trials);
    for (trial, counted) in trials.iter().zip(&tester.counted) {
        if trial.result.is_valid() {
            assert_eq!(trial.result.lost_frames(), counted.dropped, "{}", trial.result.label);
        }
    }
    if found.finding != Finding::Measured && was_held_up(&trials) {
        return undecided::tell(&format!("{:?}", found.finding));
    }
    assert_eq!(found.finding, Finding::Measured, "{}", log(&trials));
    let seconds = config.trial.duration_s;
    let (rate, upper) = (found.rate.unwrap().fps(), found.upper.unwrap().fps());
    let of_bucket = C as f64 + B as f64 / seconds;
    let noise = noise_frames(TestKind::Throughput, &trials, DeviceThreads::Threaded) / seconds;
    let Some(buffered) = found.buffered else {
        return assert_between(rate, of_bucket, upper, noise, &trials);
    };
    // The bucket carries more for the length of a trial than the limit keeps up.
    assert_between(rate, C as f64, upper, noise, &trials);
    let least = of_bucket * (1.0 - config.search.resolution_percent / 100.0) - noise;
    assert!((least..=of_bucket + noise).contains(&buffered.rate.fps()), "{buffered:?}");
}

/// What the device's rules counted in each trial.
struct RulesRead<'a> {
    tester: LiveTester,
    bed: &'a Bed,
    counted: Vec<Counted>,
}

#[derive(Clone, Copy, Debug)]
struct Counted {
    /// Frames that reached the device's rules since it was built, before the trial.
    before: u64,
    /// Frames of the trial.
    arrived: u64,
    /// Frames of the trial that the rule dropped.
    dropped: u64,
}

impl<'a> RulesRead<'a> {
    fn new(tester: LiveTester, bed: &'a Bed) -> Self {
        RulesRead { tester, bed, counted: vec![] }
    }

    /// Frames that have come in at port 0 and frames that the limit's rule has dropped.
    fn read(&self) -> (u64, u64) {
        let counters = self.bed.device().expect("a device").counters().expect("counters");
        (counters.interfaces["dut0"].rx_frames, counters.rules[0].frames)
    }
}

impl Tester for RulesRead<'_> {
    fn describe(&self) -> &TesterDescription {
        self.tester.describe()
    }
    fn run(&mut self, trial: &Trial) -> Result<TrialResult, TesterError> {
        let (arrived_before, dropped_before) = self.read();
        let result = self.tester.run(trial)?;
        let (arrived, dropped) = self.read();
        self.counted.push(Counted {
            before: arrived_before,
            arrived: arrived - arrived_before,
            dropped: dropped - dropped_before,
        });
        Ok(result)
    }
    fn pause(&mut self, span: Duration) -> Result<(), TesterError> {
        self.tester.pause(span)
    }
}

/// Exactly one frame in `every` is lost: of `F` frames after `p` others, those whose number among
/// all is a multiple of it, floor((p + F) / every) - floor(p / every). The rule's own counter, the
/// arithmetic and the tester must agree to the frame, at every load.
fn one_in_n_is_lost(device: DeviceKind, port_type: PortType, protocol: Protocol, every: u64) {
    if !can_run(&format!("1 in {every} lost in {device:?}, measured by {port_type} ports")) {
        return;
    }
    let limit = Impairment::DropEvery { every: every as u32 };
    let bed = bed(device, DeviceThreads::Threaded, limit);
    let mut tester = RulesRead::new(bed.live(port_type, FrameSize::MAX_ETHERNET, LINE), &bed);
    let mut config = config();
    config.traffic.protocol = protocol;
    config.frame_loss.step_percent = 40.0;
    let (result, trials) = measure(&bed, &config, &mut tester, frame_loss);
    assert_eq!(result.points.len(), 3, "100 %, 60 %, 20 %: {result:?}");
    for point in &result.points {
        if !point.invalid.is_empty() {
            undecided::tell("a load at which no trial was valid");
            continue;
        }
        let lost = (point.expected_frames - point.received_frames) as f64;
        let percent = lost * 100.0 / point.expected_frames as f64;
        assert!((point.loss_percent - percent).abs() < 1e-9, "{point:?}");
        assert!((lost - point.expected_frames as f64 / every as f64).abs() < 1.0, "{point:?}");
    }
    for (trial, counted) in trials.iter().zip(&tester.counted) {
        if trial.result.is_valid() {
            assert_one_in_n(trial, counted, every);
        }
    }
}

fn assert_one_in_n(trial: &TrialRecord, counted: &Counted, every: u64) {
    let result = &trial.result;
    let Counted { before, arrived, dropped } = *counted;
    assert_eq!(result.offered_frames(), arrived, "{}", result.label);
    assert_eq!(result.lost_frames(), dropped, "{}", result.label);
    assert_eq!(dropped, (before + arrived) / every - before / every, "{}", result.label);
    // And it is these frames: the first, every so-many-th, the last.
    let account = result.expected_accounts().next().expect("one stream");
    let first = every - 1 - before % every;
    let missing = &account.missing;
    assert_eq!((missing.first, missing.gaps), (Some(first), dropped), "{}", result.label);
    assert_eq!(missing.last, Some(first + (dropped - 1) * every), "{}", result.label);
    assert_eq!(missing.longest_gap, 1, "{}", result.label);
}

#[test]
fn one_in_ten_by_xdp_ports() {
    one_in_n_is_lost(DeviceKind::LinuxRouter, PortType::XDP, Protocol::UdpIpv4, 10);
}

#[test]
fn one_in_seven_of_ipv6_by_xdp_ports() {
    one_in_n_is_lost(DeviceKind::LinuxRouter, PortType::XDP, Protocol::UdpIpv6, 7);
}

#[test]
fn one_in_a_hundred_by_af_xdp_ports() {
    one_in_n_is_lost(DeviceKind::LinuxBridge, PortType::AF_XDP, Protocol::Ethernet, 100);
}

#[test]
fn one_in_three_by_af_packet_ports() {
    one_in_n_is_lost(DeviceKind::LinuxRouter, PortType::AF_PACKET, Protocol::UdpIpv4, 3);
}
