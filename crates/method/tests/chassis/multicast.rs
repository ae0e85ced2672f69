//! The tests of RFC 3918 on devices whose joins, leaves, copies and tables are known.

use super::bed::{config, record, run_behind, run_with, sizes};
use method::chassis::ChassisTest;
use method::rfc3918::{
    DelayOutcome, GroupCapacityResult, GroupDelayResult, MulticastConfig, MulticastLatencyResult,
    MulticastThroughputResult, ScaledGroupsResult, Tunnel, Version,
};
use method::{Event, Finding, Outcome, Profile, SuiteConfig};
use traffic::modifier::sub_seed;
use trial::{LatencyForm, PortId, Tester, TesterDescription, TesterError, Trial, TrialResult};
use units::Duration;

const VERSIONS: [Version; 5] =
    [Version::Igmpv1, Version::Igmpv2, Version::Igmpv3, Version::Mldv1, Version::Mldv2];

/// Short trials; 84 bytes are the least that holds UDP over IPv6.
pub fn multicast(tests: &[ChassisTest], version: Version) -> SuiteConfig {
    let mut config = config(tests);
    config.frame_sizes = sizes(&[84]);
    config.chassis.learning_interval_s = 1e-4;
    config.chassis.multicast = MulticastConfig {
        version,
        report_fps: 10_000,
        verify_fps: 100_000,
        join_settle_s: 0.1,
        join_timeout_s: 0.02,
        leave_settle_s: 0.1,
        leave_timeout_s: 0.02,
        before_report_s: 0.002,
        latency_s: 0.01,
        load_percent: Some(10.0),
        ..MulticastConfig::of(Profile::Quick)
    };
    config
}

fn run(toml: &str, config: SuiteConfig) -> Outcome {
    let (mut results, events) = run_with(toml, config);
    let warnings: Vec<_> = events.iter().filter(|e| matches!(e, Event::Warning(_))).collect();
    assert_eq!(results.len(), 1, "{warnings:?}");
    results.remove(0)
}

fn delays(toml: &str, config: SuiteConfig) -> GroupDelayResult {
    record(&run(toml, config))
}

fn capacity(toml: &str, config: SuiteConfig) -> GroupCapacityResult {
    record(&run(toml, config))
}

fn throughput(toml: &str, config: SuiteConfig) -> MulticastThroughputResult {
    record(&run(toml, config))
}

fn latency(toml: &str, config: SuiteConfig) -> MulticastLatencyResult {
    record(&run(toml, config))
}

/// A number below `below`, drawn for a device.
fn draw(device: u64, what: u64, below: u64) -> u64 {
    sub_seed(device * 100 + what, 7) % below
}

/// The delay of every port that a method measured.
fn measured(result: &GroupDelayResult, method: Option<char>) -> Vec<Duration> {
    let sets = result.sets.iter().filter(|set| set.method == method);
    let ports = sets.flat_map(|set| &set.ports);
    let delay = |port: &method::rfc3918::PortDelay| match &port.outcome {
        DelayOutcome::Measured { delay } => *delay,
        other => panic!("{}: {other:?}", port.port),
    };
    ports.map(delay).collect()
}

/// On links of 10 Gb/s, at a tenth of their rate: a frame every 0.84 us, so much later than the truth a
/// delay may be and no more.
#[test]
fn join_and_leave_delays_of_random_devices_to_the_microsecond() {
    for device in 0..12 {
        let version = VERSIONS[draw(device, 0, 5) as usize];
        let ports = 3 + draw(device, 1, 4);
        let (join_us, new_us) = (draw(device, 2, 5_000), draw(device, 3, 3_000));
        let leave_us = draw(device, 4, 9_000);
        let route = draw(device, 5, 2) == 0;
        let kind = if route { "route = [\"ipv4\", \"ipv6\"]" } else { "bridge = true" };
        let toml = format!(
            "ports = {ports}\nline-rate = \"10G\"\n{kind}\n[multicast]\njoin = \"{join_us}us\"\n\
             new-group = \"{new_us}us\"\nleave = \"{leave_us}us\"\n"
        );
        let result = delays(&toml, multicast(&[ChassisTest::GroupJoinDelay], version));
        let late_by = |delay: &Duration, truth_us: u64| {
            let late = delay.as_ps() as i64 - Duration::from_us(truth_us).as_ps() as i64;
            assert!((0..=1_000_000).contains(&late), "device {device}: {delay}, {truth_us} us");
        };
        let first = measured(&result, Some('A'));
        assert_eq!(first.len(), 1, "exactly one port");
        first.iter().for_each(|delay| late_by(delay, join_us + new_us));
        let known = measured(&result, Some('B'));
        assert_eq!(known.len() as u64, ports - 2, "the last port had joined before");
        known.iter().for_each(|delay| late_by(delay, join_us));
        if !version.has_leave() {
            continue;
        }
        let result = delays(&toml, multicast(&[ChassisTest::GroupLeaveDelay], version));
        let left = measured(&result, None);
        assert_eq!(left.len() as u64, ports - 1);
        for delay in left {
            // The last frame came in before the leave took effect, and leaves some line times later.
            let off = delay.as_ps() as i64 - Duration::from_us(leave_us).as_ps() as i64;
            assert!(off.abs() <= 1_000_000, "device {device}: {delay}, {leave_us} us");
        }
    }
}

#[test]
fn the_capacity_of_random_devices_to_the_group() {
    for device in 0..10 {
        let version = VERSIONS[device as usize % 5];
        let groups = 1 + draw(device, 0, 150);
        let toml = format!(
            "ports = 3\nline-rate = \"1G\"\nbridge = true\n[multicast]\ngroups = {groups}\n\
             leave = \"1ms\"\nmembership = \"260s\"\n"
        );
        let mut config = multicast(&[ChassisTest::GroupCapacity], version);
        (config.chassis.multicast.capacity_initial, config.chassis.multicast.capacity_step) =
            (1, 40);
        let result = capacity(&toml, config);
        assert_eq!((result.found, result.failed), (Some(groups), Some(groups + 1)), "{version}");
        let failed = result.trials.iter().find(|trial| trial.passed == Some(false)).unwrap();
        let forwarded: Vec<u64> = failed.flows.iter().map(|port| port.complete).collect();
        assert_eq!(forwarded, [groups; 2], "of {} joined, exactly", failed.groups);
    }
}

/// A device that forgets a member after a second, and asks every 400 ms: in trials of 3 s its members stay for
/// as long as they answer (RFC 3918 section 3.1.1).
const ASKS: &str = "ports = 3\nline-rate = \"10M\"\nbridge = true\n[multicast]\nmembership = \"1s\"\n\
                    query-interval = \"400ms\"\nquery-response = \"100ms\"\n";

fn long_trials(version: Version) -> SuiteConfig {
    let mut config = multicast(&[ChassisTest::AggregatedMulticast], version);
    (config.trial.duration_s, config.search.trial_duration_s) = (3.0, 3.0);
    config
}

#[test]
fn members_that_a_device_asks_for_stay_for_a_trial_longer_than_their_membership() {
    for version in VERSIONS.into_iter().filter(|version| version.has_leave()) {
        for membership_s in [260.0, 1.0] {
            let mut config = long_trials(version);
            config.chassis.multicast.membership_s = membership_s;
            let found = throughput(ASKS, config);
            assert_eq!(found.throughput.load_percent, Some(100.0), "{version}");
            let queries = found.multicast.queries.expect("counted");
            // Two ports, at least seven queries each in 3 s.
            assert!(queries.queries >= 14 && queries.reports >= 14, "{version}: {queries:?}");
        }
    }
}

/// It is told where the device does not ask in time, and what it forgets is its loss.
#[test]
fn a_device_that_forgets_and_does_not_ask_is_told() {
    let silent = ASKS.replace("query-interval = \"400ms\"\n", "");
    let mut config = long_trials(Version::Igmpv3);
    config.chassis.multicast.membership_s = 1.0;
    let (results, events) = run_with(&silent, config);
    let found: MulticastThroughputResult = record(&results[0]);
    assert_eq!(found.throughput.load_percent, None);
    let told = |event: &&Event| matches!(event, Event::Warning(why) if why.contains("no query"));
    assert_eq!(events.iter().filter(told).count(), 1);
}

/// The querier asks for others as soon as one leaves; who has left does not answer, or it would never end.
#[test]
fn who_has_left_answers_no_more() {
    for version in VERSIONS.into_iter().filter(|version| version.has_leave()) {
        let leave = format!("{ASKS}leave = \"20ms\"\n");
        let leave = leave.replace("10M", "1G");
        let mut config = multicast(&[ChassisTest::GroupLeaveDelay], version);
        config.chassis.multicast.leave_timeout_s = 3.0;
        let result = delays(&leave, config);
        for delay in measured(&result, None) {
            let off = delay.as_ps() as i64 - Duration::from_ms(20).as_ps() as i64;
            assert!(off.abs() <= 50_000_000, "{version}: {delay}");
        }
    }
}

/// A device that was built anew, or has forgotten its members meanwhile, hears of them again.
#[test]
fn a_run_that_is_resumed_has_its_members() {
    let toml = "ports = 3\nline-rate = \"1G\"\nbridge = true\n[input]\nframes = 8\n[multicast]\nper-copy = \"1us\"\n[cpu]\n\
                cost = { per-frame = \"2us\" }";
    let config = multicast(&[ChassisTest::AggregatedMulticast], Version::Igmpv3);
    let (whole, events) = run_with(toml, config.clone());
    let records: Vec<method::TrialRecord> = events
        .into_iter()
        .filter_map(|event| match event {
            Event::TrialFinished(record) => Some(*record),
            _ => None,
        })
        .collect();
    // Joins, their proof, and some loads.
    for cut in [1, 2, 5] {
        let mut recorded = method::Recorded::from_iter(records[..cut].to_vec());
        let (resumed, _) = run_behind(toml, config.clone(), |tester| {
            method::ResumingTester::new(tester, &mut recorded)
        });
        let load = |outcomes: &[Outcome]| {
            record::<MulticastThroughputResult>(&outcomes[0]).throughput.load_percent
        };
        assert!(load(&whole).is_some());
        assert_eq!(load(&resumed), load(&whole), "cut after {cut} trials");
        assert_eq!(recorded.replayed(), cut as u64);
    }
}

/// Holds up the reports of port 2 in the first so many trials in which hosts join.
struct HeldUp<T> {
    tester: T,
    trials: u32,
}

impl<T: Tester> Tester for HeldUp<T> {
    fn describe(&self) -> &TesterDescription {
        self.tester.describe()
    }
    fn run(&mut self, trial: &Trial) -> Result<TrialResult, TesterError> {
        let late = PortId(2);
        if self.trials == 0 || !trial.label.contains("ports join groups") {
            return self.tester.run(trial);
        }
        self.trials -= 1;
        let mut cut = trial.clone();
        cut.loads.retain(|load| load.port != late);
        let mut result = self.tester.run(&cut)?;
        let mut sent = result.sent[0].clone();
        (sent.report.port, sent.report.sent_frames) = (late, 0);
        result.sent.push(sent);
        Ok(result)
    }
    fn pause(&mut self, span: Duration) -> Result<(), TesterError> {
        self.tester.pause(span)
    }
}

/// A report that never left the tester is said again; where none ever leaves nothing is found, and why not.
#[test]
fn reports_that_never_left_cost_the_device_nothing() {
    let toml = "ports = 3\nbridge = true\n[multicast]\ngroups = 20\nleave = \"1ms\"\n";
    let found = |trials| {
        let mut config = multicast(&[ChassisTest::GroupCapacity], Version::Mldv2);
        (config.chassis.multicast.capacity_initial, config.chassis.multicast.capacity_step) =
            (10, 5);
        let (results, _) = run_behind(toml, config, |tester| HeldUp { tester, trials });
        record::<GroupCapacityResult>(&results[0])
    };
    let once = found(3);
    assert_eq!((once.found, once.failed), (Some(20), Some(21)), "{:?}", once.invalid);
    let never = found(1_000);
    assert_eq!((never.found, never.failed), (None, None), "{never:?}");
    assert!(never.invalid[0].contains("port 2: only 0 of 1 reports left"), "{:?}", never.invalid);
}

/// What comes out of a device that floods groups which nobody joined was not asked for: it shows no table.
#[test]
fn a_device_that_floods_unknown_groups_has_no_capacity_to_find() {
    for groups in ["", "groups = 20\n"] {
        let toml =
            format!("ports = 3\nbridge = true\n[multicast]\nfloods-unknown = true\n{groups}");
        let result = capacity(&toml, multicast(&[ChassisTest::GroupCapacity], Version::Igmpv3));
        assert_eq!((result.found, result.at_least), (None, false), "{groups}");
        assert!(result.invalid[0].contains("floods groups that nobody joined"), "{result:?}");
    }
}

/// Linux's bridge forwards by its table until a group finds no room, and floods all of them from then on, fewer
/// ones too: the truth lies between what had passed and what made it flood.
#[test]
fn a_device_that_floods_once_it_was_full_has_its_capacity_bracketed() {
    let toml = "ports = 3\nbridge = true\n[multicast]\ngroups = 64\nfloods-when-full = true\n\
                leave = \"1ms\"\n";
    for step in [1, 7, 90] {
        let mut config = multicast(&[ChassisTest::GroupCapacity], Version::Igmpv3);
        (config.chassis.multicast.capacity_initial, config.chassis.multicast.capacity_step) =
            (10, step);
        let result = capacity(toml, config);
        let (found, failed) = (result.found.unwrap(), result.failed.unwrap());
        assert!(found <= 64 && failed > 64 && failed - found <= step, "{found} {failed}");
        assert!(result.ended.unwrap().contains("began to flood"), "{found} {failed}");
    }
}

#[test]
fn a_device_without_limit_takes_as_many_groups_as_were_tried() {
    let toml = "ports = 3\nbridge = true\n[multicast]\n";
    let mut config = multicast(&[ChassisTest::GroupCapacity], Version::Igmpv3);
    (config.chassis.multicast.capacity_step, config.chassis.multicast.capacity_max) =
        (1_990, 2_000);
    let result = capacity(toml, config);
    assert_eq!((result.found, result.at_least), (Some(2_000), true));
}

/// A thousand groups, one report each: 1 s at 1,000 a second, and memberships of 1 s.
#[test]
fn a_tester_too_slow_for_the_memberships_says_so_and_finds_no_capacity() {
    let toml = "ports = 3\nline-rate = \"1G\"\nbridge = true\n[multicast]\nmembership = \"1s\"";
    let mut config = multicast(&[ChassisTest::GroupCapacity], Version::Igmpv2);
    (config.chassis.multicast.capacity_initial, config.chassis.multicast.capacity_step) = (10, 990);
    (config.chassis.multicast.report_fps, config.chassis.multicast.membership_s) = (1_000, 1.0);
    config.chassis.multicast.capacity_max = 1_000;
    let result = capacity(toml, config);
    assert_eq!((result.found, result.failed, result.at_least), (Some(10), None, true));
    assert!(result.ended.unwrap().contains("multicast.report_fps"));
}

/// Groups step in their low bits, so that a switch that knows hardware addresses only can tell them
/// apart; reports that come faster than it deals with them are lost, and that shows as its capacity.
#[test]
fn reports_too_fast_for_a_switch_cost_it_groups() {
    let toml = "ports = 3\nbridge = true\n[multicast]\nby-mac = true\nper-report = \"200us\"\n\
                backlog = 20\n";
    let found = |report_fps| {
        let mut config = multicast(&[ChassisTest::GroupCapacity], Version::Igmpv2);
        (config.chassis.multicast.capacity_step, config.chassis.multicast.capacity_max) = (90, 100);
        config.chassis.multicast.report_fps = report_fps;
        capacity(toml, config).found
    };
    assert_eq!(found(1_000), Some(100), "two ports, 400 us a group");
    assert!(found(100_000).is_some_and(|groups| groups < 100));
}

fn cpu(extra: &str) -> String {
    format!(
        "ports = 4\nline-rate = \"1G\"\nroute = [\"ipv4\", \"ipv6\"]\n[input]\nframes = 4\n[cpu]\n\
         servers = \"per-port\"\ncost = {{ per-frame = \"4us\" }}\n[multicast]\n{extra}"
    )
}

/// Whether a load is the truth, as finely as the search looks: 1 % of the medium.
fn assert_rate(result: &MulticastThroughputResult, truth_fps: f64) {
    assert_eq!(result.throughput.finding, Finding::Measured, "{:?}", result.throughput);
    let rate = result.throughput.rate.unwrap().fps();
    let medium = 125e6 / f64::from(result.multicast.sent_size_bytes + 20);
    let below = truth_fps - rate;
    // In a trial of 10 ms the queue of 4 frames holds 400 more a second.
    assert!(below > -500.0 && below < 0.0101 * medium, "{rate} of {truth_fps}");
    assert!(result.flows.iter().all(|port| port.complete == result.multicast.groups));
}

/// A frame costs 4 us, each of two further copies 1 us.
#[test]
fn aggregated_throughput_is_what_frames_and_copies_cost() {
    for version in VERSIONS {
        let config = multicast(&[ChassisTest::AggregatedMulticast], version);
        let result = throughput(&cpu("per-copy = \"1us\""), config);
        assert_rate(&result, 1e6 / 6.0);
        assert_eq!(result.flows.len(), 3);
    }
}

/// In turn a multicast frame of 6 us and a unicast frame of 4 us.
#[test]
fn both_classes_have_their_share_of_the_throughput() {
    for version in [Version::Igmpv3, Version::Mldv1] {
        let config = multicast(&[ChassisTest::MixedClass], version);
        let result = throughput(&cpu("per-copy = \"1us\""), config);
        assert_rate(&result, 1e6 / 5.0);
        let classes = result.classes.unwrap();
        assert_eq!(classes.multicast_frames.0 * 3, classes.multicast_frames.1, "three copies");
        assert!(classes.multicast_frames.0.abs_diff(classes.unicast_frames.0) <= 1);
        assert_eq!(classes.unicast_frames.0, classes.unicast_frames.1);
        assert!((classes.multicast.fps() / classes.unicast.fps() - 1.0).abs() < 1e-6);
    }
}

/// Each of three copies costs 2 us to put into its tunnel, and 3 us to take the frame out of another.
#[test]
fn tunnels_cost_what_they_cost_and_make_frames_longer_or_shorter() {
    let device = cpu("tunnels = true\nper-encapsulation = \"2us\"\nper-decapsulation = \"3us\"");
    for (test, into, out_of, cost_us, sent, received) in [
        (ChassisTest::Encapsulation, Tunnel::None, Tunnel::Gre, 10.0, 84, 108.0),
        (ChassisTest::Encapsulation, Tunnel::None, Tunnel::Vxlan, 10.0, 84, 134.0),
        (ChassisTest::Decapsulation, Tunnel::None, Tunnel::Vxlan, 7.0, 134, 84.0),
        (ChassisTest::Decapsulation, Tunnel::None, Tunnel::Gre, 7.0, 108, 84.0),
        (ChassisTest::Reencapsulation, Tunnel::Vxlan, Tunnel::Gre, 13.0, 134, 108.0),
        (ChassisTest::Reencapsulation, Tunnel::Gre, Tunnel::Vxlan, 13.0, 108, 134.0),
    ] {
        let mut config = multicast(&[test], Version::Igmpv3);
        (config.chassis.multicast.tunnel_in, config.chassis.multicast.tunnel_out) = (into, out_of);
        let result = throughput(&device, config);
        assert_rate(&result, 1e6 / cost_us);
        let sizes = (result.multicast.sent_size_bytes, result.multicast.received_size_bytes);
        assert_eq!(sizes, (sent, Some(received)), "{test}");
    }
}

/// Without a choice of formats a run of both tests is about one: GRE.
#[test]
fn what_encapsulation_puts_on_decapsulation_takes_off() {
    let device = cpu("tunnels = true\nper-encapsulation = \"2us\"\nper-decapsulation = \"3us\"");
    let tests = [ChassisTest::Encapsulation, ChassisTest::Decapsulation];
    let (results, _) = run_with(&device, multicast(&tests, Version::Igmpv3));
    let tunnels = results.iter().map(|outcome| {
        let result: MulticastThroughputResult = record(outcome);
        (result.multicast.tunnel_in, result.multicast.tunnel_out)
    });
    let tunnels: Vec<_> = tunnels.collect();
    assert_eq!(tunnels, [(Tunnel::None, Tunnel::Gre), (Tunnel::Gre, Tunnel::None)]);
}

/// A switch without tunnels cannot be asked for them.
#[test]
fn what_a_device_cannot_do_is_said_and_the_rest_goes_on() {
    let tests = [ChassisTest::Encapsulation, ChassisTest::AggregatedMulticast];
    let toml = "ports = 3\nline-rate = \"1G\"\nbridge = true\n[multicast]\n";
    let (results, events) = run_with(toml, multicast(&tests, Version::Igmpv2));
    assert_eq!(results.len(), 1);
    let said = events.iter().any(|event| match event {
        Event::Warning(why) => why.contains("tunnels end at a router"),
        _ => false,
    });
    assert!(said);
}

/// Store and forward: 4 us of service with two further copies of 1 us from the last bit in to the first
/// bit out (RFC 1242). The frame, 84 bytes with FCS, takes 672 ns on either line.
#[test]
fn latency_is_rfc_1242s_and_the_other_forms_stand_beside_it() {
    for test in [ChassisTest::MulticastLatency, ChassisTest::MinMaxLatency] {
        let result = latency(&cpu("per-copy = \"1us\""), multicast(&[test], Version::Igmpv3));
        assert_eq!(result.invalid, Vec::<String>::new());
        let set = &result.sets[0];
        assert_eq!(set.latencies.len(), 3 * 10, "each group at each port");
        assert!(set.latencies.iter().all(|tagged| result.ns(tagged) == 6_000.0), "{set:?}");
        for port in 1..=3 {
            let here = set.latencies.iter().filter(|tagged| tagged.port == PortId(port));
            let means = result.forms(here).into_iter().map(|(form, spread)| (form, spread.mean));
            assert_eq!(
                means.collect::<Vec<_>>(),
                [
                    (LatencyForm::Lifo, 6_000.0),
                    (LatencyForm::Fifo, 6_672.0),
                    (LatencyForm::Lilo, 6_672.0),
                    (LatencyForm::Filo, 7_344.0)
                ]
            );
        }
        assert_eq!(result.min_max_ns(set), Some(0.0));
        let trials = if test == ChassisTest::MinMaxLatency { 1 } else { 2 };
        assert_eq!(result.sets.len(), trials);
    }
}

/// What a document recommends and a run departs from is said with the trial's own numbers (RFC 3918
/// section 3.1.5: 30 s; RFC 2544 section 9: five sizes), and trials last as long as they were asked to.
#[test]
fn short_delay_trials_and_single_sizes_are_deviations() {
    for test in [ChassisTest::GroupJoinDelay, ChassisTest::GroupLeaveDelay] {
        let toml = "ports = 3\nline-rate = \"1G\"\nbridge = true\n[multicast]\n";
        let mut config = multicast(&[test], Version::Igmpv3);
        config.chassis.multicast.load_percent = Some(0.1);
        let of = |config: &SuiteConfig| {
            let outcome = run(toml, config.clone());
            let result: GroupDelayResult = record(&outcome);
            (result.conditions.trial_duration, outcome.conditions.deviations.join("; "))
        };
        let (short, words) = of(&config);
        assert!(short < Duration::from_secs(1), "{short:?}");
        assert!(words.contains("s instead of >= 30 s (RFC 3918"), "{words}");
        assert!(words.contains("without frames of 64, 128"), "{words}");
        config.trial.duration_s = 30.0;
        let (long, words) = of(&config);
        assert_eq!(long, Duration::from_secs(30));
        assert!(!words.contains(">= 30 s"), "{words}");
    }
}

/// "Every port joined and was proved" only where a frame to each group came out at each port.
#[test]
fn joins_are_said_to_be_proved_only_where_they_were() {
    let about = |outcome: Outcome| outcome.layouts[0].about.join("; ");
    let switch = "ports = 3\nline-rate = \"1G\"\nbridge = true\n[multicast]\n";
    let of = |toml: &str, test| about(run(toml, multicast(&[test], Version::Igmpv3)));
    let proved = of(switch, ChassisTest::AggregatedMulticast);
    assert!(proved.contains("a frame to each group proved it"), "{proved}");
    let full = format!("{switch}groups = 4\n");
    let not = of(&full, ChassisTest::AggregatedMulticast);
    assert!(not.contains("NOT proved: a join never took effect"), "{not}");
    for test in [ChassisTest::GroupJoinDelay, ChassisTest::GroupCapacity] {
        let measured = of(switch, test);
        assert!(!measured.contains("proved it"), "{test}: {measured}");
    }
}

/// One processor for all: what the burden takes of it, the multicast waits for.
#[test]
fn a_burden_on_a_shared_processor_shows() {
    let toml = "ports = 6\nline-rate = \"1G\"\nbridge = true\n[cpu]\n\
                cost = { per-frame = \"1us\" }\n[multicast]\njoin = \"300us\"";
    let mut config = multicast(&[ChassisTest::BurdenedLatency], Version::Igmpv3);
    // No whole number of times as often as the source sends: frames meet in every way.
    config.chassis.multicast.burden_percent = 17.0;
    let result = latency(toml, config.clone());
    assert_eq!(result.invalid, Vec::<String>::new());
    let largest = |burdened: bool| {
        let sets = result.sets.iter().filter(|set| set.burden.is_some() == burdened);
        let ns = sets.flat_map(|set| &set.latencies).map(|tagged| result.ns(tagged));
        ns.max_by(f64::total_cmp).unwrap()
    };
    let truth = 1_000.0;
    assert_eq!(largest(false), truth);
    assert!(largest(true) > truth, "{}", largest(true));
    let burden = result.sets.iter().find_map(|set| set.burden.as_ref()).unwrap();
    assert_eq!((burden.ports, burden.flood_count, burden.lost_frames), (3, 0, 0));
    let each = 125e6 / 104.0 * 0.17;
    assert!((burden.offered.fps() / (3.0 * each) - 1.0).abs() < 0.01, "{}", burden.offered);

    config.tests = vec![method::TestKind::Chassis(ChassisTest::BurdenedJoinDelay)];
    let joins = delays(toml, config);
    assert_eq!(joins.sets.len(), 2);
    assert!(joins.sets[0].burden.is_none() && joins.sets[1].burden.is_some());
    let delays = measured(&joins, Some('A'));
    assert!(delays.iter().all(|delay| *delay >= Duration::from_us(300)), "{delays:?}");
}

#[test]
fn a_join_that_never_takes_effect_is_timed_out_and_said() {
    // Hosts of version 3 before a switch that understands 1 and 2.
    let deaf = "ports = 4\nline-rate = \"1G\"\nbridge = true\n[multicast]\nigmp = [1, 2]\n";
    let result = delays(deaf, multicast(&[ChassisTest::GroupJoinDelay], Version::Igmpv3));
    let DelayOutcome::Never { waited } = &result.sets[0].ports[0].outcome else {
        panic!("{:?}", result.sets);
    };
    assert!(waited.as_secs_f64() > 0.0199, "{waited}");
    let result = throughput(deaf, multicast(&[ChassisTest::AggregatedMulticast], Version::Igmpv3));
    let reasons = result.throughput.invalid_reasons().join("; ");
    assert!(reasons.contains("never took effect") && reasons.contains("239.192.0.1"), "{reasons}");
    let result = capacity(deaf, multicast(&[ChassisTest::GroupCapacity], Version::Igmpv3));
    assert_eq!((result.found, result.failed), (None, Some(1)));
}

#[test]
fn what_is_flooded_was_not_joined_and_what_goes_on_was_not_left() {
    let floods = "ports = 4\nline-rate = \"1G\"\nbridge = true\n";
    let result = delays(floods, multicast(&[ChassisTest::GroupJoinDelay], Version::Igmpv2));
    let DelayOutcome::NotFromThere { why } = &result.sets[0].ports[0].outcome else {
        panic!("{:?}", result.sets);
    };
    assert!(why.contains("floods"), "{why}");
    let result = delays(floods, multicast(&[ChassisTest::GroupLeaveDelay], Version::Igmpv2));
    let outcomes = result.sets[0].ports.iter().map(|port| &port.outcome);
    assert!(outcomes.clone().all(|o| matches!(o, DelayOutcome::Never { .. })), "{result:?}");
}

/// Copies fill the outputs at 1 Gb/s whatever the number of groups; none above the capacity.
#[test]
fn the_matrix_grows_up_to_the_capacity_found_before() {
    let toml =
        "ports = 4\nline-rate = \"1G\"\nbridge = true\n[multicast]\ngroups = 25\nleave = \"1ms\"";
    let tests = [ChassisTest::GroupCapacity, ChassisTest::ScaledGroups];
    let (results, _) = run_with(toml, multicast(&tests, Version::Igmpv3));
    let matrix: ScaledGroupsResult = record(&results[1]);
    assert_eq!(matrix.capacity, Some(25));
    let groups: Vec<u64> = matrix.rows.iter().map(|row| row.groups).collect();
    assert_eq!(groups, [10, 20]);
    for row in &matrix.rows {
        assert_eq!(row.point.received_frames, row.point.offered_frames);
        let sum = 3.0 * 125e6 / 104.0;
        assert!((row.point.forwarding_rate.fps() / sum - 1.0).abs() < 0.001, "{:?}", row.point);
        assert!(row.flows.iter().all(|port| port.complete == row.groups));
    }
}

/// Memberships last 0.3 s: without reports in between, trials would run dry.
#[test]
fn memberships_are_reported_again_before_they_run_out() {
    let toml = "ports = 3\nline-rate = \"1G\"\nbridge = true\n[multicast]\nmembership = \"300ms\"";
    let mut config = multicast(&[ChassisTest::AggregatedMulticast], Version::Igmpv2);
    config.chassis.multicast.membership_s = 0.25;
    let result = throughput(toml, config);
    assert_eq!(result.throughput.finding, Finding::AtTheoreticalMaximum);
}

/// No query reaches a host behind a tunnel, and hosts of IGMPv1 leave by silence: a trial that their memberships do
/// not outlast is refused.
#[test]
fn a_trial_longer_than_memberships_of_silent_hosts_is_refused() {
    refuses_long_trials(ChassisTest::Encapsulation, Version::Igmpv2);
    refuses_long_trials(ChassisTest::AggregatedMulticast, Version::Igmpv1);
}

fn refuses_long_trials(test: ChassisTest, version: Version) {
    let toml = "ports = 3\nline-rate = \"1G\"\nroute = [\"ipv4\"]\n[multicast]\ntunnels = true\n";
    let mut config = multicast(&[test], version);
    config.chassis.multicast.membership_s = 0.25;
    (config.trial.duration_s, config.search.trial_duration_s) = (0.4, 0.4);
    let (results, events) = run_with(toml, config);
    assert_eq!(results, vec![]);
    let warnings: Vec<_> = events.iter().filter(|e| matches!(e, Event::Warning(_))).collect();
    let is_why = |event: &&Event| format!("{event:?}").contains("longer than memberships last");
    assert!(warnings.iter().any(is_why), "{warnings:?}");
}

/// Lets no frame by that does not bear these two tags.
struct OnlyTagged<T>(T);

const TAGS: [u8; 8] = [0x88, 0xa8, 0, 100, 0x81, 0x00, 0, 200];

impl<T: Tester> Tester for OnlyTagged<T> {
    fn describe(&self) -> &TesterDescription {
        self.0.describe()
    }
    fn run(&mut self, trial: &Trial) -> Result<TrialResult, TesterError> {
        let streams = trial.streams.iter().flat_map(|stream| &stream.frames).map(|f| &f.bytes);
        let said = trial.prelude.iter().flat_map(|prelude| &prelude.frames);
        for frame in streams.chain(said) {
            assert_eq!(frame[12..20], TAGS, "{}", trial.label);
        }
        self.0.run(trial)
    }
    fn pause(&mut self, span: Duration) -> Result<(), TesterError> {
        self.0.pause(span)
    }
}

/// A switch that snoops behind tags: what it does is found as without them, and all that hosts say is tagged.
#[test]
fn groups_behind_two_vlan_tags() {
    let toml = "ports = 3\nline-rate = \"1G\"\nbridge = true\n[multicast]\ngroups = 20\n\
                join = \"300us\"\nleave = \"1ms\"\nmembership = \"260s\"\n";
    for version in [Version::Igmpv3, Version::Mldv2] {
        let tagged = |test| {
            let mut config = multicast(&[test], version);
            config.frame_sizes = sizes(&[128]);
            config.traffic.vlans = vec![100, 200];
            config.chassis.multicast.capacity_step = 20;
            let (mut results, _) = run_behind(toml, config, OnlyTagged);
            results.remove(0)
        };
        let capacity: GroupCapacityResult = record(&tagged(ChassisTest::GroupCapacity));
        assert_eq!((capacity.found, capacity.failed), (Some(20), Some(21)), "{version}");
        let delays: GroupDelayResult = record(&tagged(ChassisTest::GroupJoinDelay));
        for delay in measured(&delays, Some('B')) {
            // A frame of 128 bytes each 11.84 us, at a tenth of 1 Gb/s.
            assert!((300..=313).contains(&(delay.as_ps() / 1_000_000)), "{version}: {delay}");
        }
        let mixed: MulticastThroughputResult = record(&tagged(ChassisTest::MixedClass));
        assert!(mixed.throughput.load_percent.is_some(), "{version}: {:?}", mixed.throughput);
    }
}

/// What ends tunnels knows of no tags: the device would drop every frame.
#[test]
fn tunnels_refuse_tags() {
    let toml = "ports = 3\nroute = [\"ipv4\"]\n[multicast]\ntunnels = true\n";
    let mut config = multicast(&[ChassisTest::Encapsulation], Version::Igmpv3);
    config.traffic.vlans = vec![100];
    let (results, events) = run_with(toml, config);
    assert!(results.is_empty(), "{results:?}");
    let says = |event: &Event| matches!(event, Event::Warning(why) if why.contains("--vlan"));
    assert!(events.iter().any(says), "{events:?}");
}
