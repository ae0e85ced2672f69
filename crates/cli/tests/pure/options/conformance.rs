//! Every option, by whether a value other than the default departs from a clause of a document. The program itself
//! runs the `rfc` profile on simulated devices, whose time is virtual.

use super::samples;
use crate::common::{Scratch, results};
use method::registry::{SuiteName, TestMethod};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// An option with which a run of a test departs.
struct Departs {
    /// As in a configuration file.
    name: &'static str,
    suite: SuiteName,
    test: &'static str,
    /// What else the run has, with the option and without it.
    with: &'static str,
    /// The option.
    given: &'static str,
    /// Of the clause.
    source: &'static str,
}

const fn departs(
    name: &'static str,
    (suite, test): (SuiteName, &'static str),
    given: &'static str,
    source: &'static str,
) -> Departs {
    Departs { name, suite, test, with: "", given, source }
}

const fn beside(with: &'static str, departs: Departs) -> Departs {
    Departs { with, ..departs }
}

type Of = (SuiteName, &'static str);
const THROUGHPUT: Of = (SuiteName::Rfc2544, "throughput");
const LATENCY: Of = (SuiteName::Rfc2544, "latency");
const PDV: Of = (SuiteName::Rfc2544, "pdv");
const IPDV: Of = (SuiteName::Rfc2544, "ipdv");
const LOSS: Of = (SuiteName::Rfc2544, "loss");
const BURST: Of = (SuiteName::Rfc2544, "back-to-back");
const RECOVERY: Of = (SuiteName::Rfc2544, "recovery");
const RESET: Of = (SuiteName::Rfc2544, "reset");
const MESH: Of = (SuiteName::Rfc2889, "fully-meshed");
const CONGESTION: Of = (SuiteName::Rfc2889, "congestion");
const ERRORED: Of = (SuiteName::Rfc2889, "errored-frames");
const GROUPS: Of = (SuiteName::Rfc3918, "aggregated-multicast");
const MIXED: Of = (SuiteName::Rfc3918, "mixed-class");
const CAPACITY: Of = (SuiteName::Rfc3918, "group-capacity");
const JOIN: Of = (SuiteName::Rfc3918, "group-join-delay");
const BURDENED: Of = (SuiteName::Rfc3918, "burdened-latency");

const DEPARTS: &[Departs] = &[
    // Flags.
    departs("sizes", LOSS, "--sizes 64,128,256,512,1024,1280", "RFC 2544 section 9.1"),
    departs("destinations", THROUGHPUT, "--destinations random", "RFC 2544 section 13"),
    departs("random-ports", LOSS, "--random-ports", "RFC 2544 section 8"),
    departs("random-macs", MESH, "--random-macs", "RFC 2889 section 5.1.2"),
    departs("vlan", LOSS, "--vlan 100", "RFC 2544 section 8"),
    departs("ipv6-percent", LOSS, "--ipv6-percent 50", "RFC 2544 section 8"),
    departs("protocol", MESH, "--protocol udp_ipv6", "RFC 2889 section 4"),
    departs("duration", LOSS, "--duration 59s", "RFC 2544 section 24"),
    departs("duration", MESH, "--duration 29s", "RFC 2889 section 5.1.2"),
    departs("duration", GROUPS, "--duration 29s", "RFC 3918 section 3.1.5"),
    departs("search.policy", THROUGHPUT, "--search mlrsearch", "RFC 9971 section Goal Width"),
    beside(
        "--search mlrsearch",
        departs("search.goals", THROUGHPUT, "--goal loss=0%,exceed=50%", "RFC 2544 section 26.1"),
    ),
    beside(
        "--protocol udp_ipv6",
        departs("extension-headers", LOSS, "--extension-headers destination", "RFC 2544 section 8"),
    ),
    // What trials are.
    departs("trial.duration_s", CONGESTION, "trial.duration_s=29.0", "RFC 2889 section 5.5.2"),
    departs("trial.learning_wait_s", LOSS, "trial.learning_wait_s=1.9", "RFC 2544 section 23 b"),
    departs("trial.drain_s", LOSS, "trial.drain_s=1.9", "RFC 2544 section 23 d"),
    departs("trial.drain_max_s", LOSS, "trial.drain_max_s=1.9", "RFC 2544 section 23 d"),
    departs("trial.settle_s", CAPACITY, "trial.settle_s=4.9", "RFC 2544 section 23 e"),
    beside(
        "--destinations random --routing-updates",
        departs("trial.routing_wait_s", LOSS, "trial.routing_wait_s=1.9", "RFC 2544 section 23 a"),
    ),
    departs("trial.verify_checksums", THROUGHPUT, VERIFY, "RFC 1242 section 3.17"),
    departs("trial.verify_checksums", CONGESTION, VERIFY, "RFC 1242 section 3.17"),
    departs("trial.verify_checksums", JOIN, VERIFY, "RFC 1242 section 3.17"),
    departs("trial.limits.shortfall", THROUGHPUT, SHORTFALL, "RFC 2544 section 26"),
    departs("trial.limits.shortfall", BURST, SHORTFALL, "RFC 2544 section 26"),
    departs("trial.limits.shortfall", MESH, SHORTFALL, "RFC 2544 section 26"),
    departs("trial.limits.shortfall", JOIN, SHORTFALL, "RFC 2544 section 26"),
    departs("trial.limits.unwanted", LOSS, "trial.limits.unwanted=0.2", "RFC 2544 section 10"),
    departs("trial.limits.late_after_us", LOSS, "trial.limits.late_after_us=50", CONSTANT_LOAD),
    departs("trial.limits.late_intervals", LOSS, "trial.limits.late_intervals=17", CONSTANT_LOAD),
    departs("trial.limits.credit_us", CONGESTION, "trial.limits.credit_us=101", CONSTANT_LOAD),
    departs(
        "trial.limits.credit_frames",
        CAPACITY,
        "trial.limits.credit_frames=129",
        CONSTANT_LOAD,
    ),
    // Single tests.
    beside(
        "--set search.trial_duration_s=1.0",
        departs(
            "throughput.final_trials",
            THROUGHPUT,
            "throughput.final_trials=0",
            "RFC 2544 section 24",
        ),
    ),
    departs("latency.repetitions", LATENCY, "latency.repetitions=19", "RFC 2544 section 26.2"),
    departs("latency.stream_s", LATENCY, "latency.stream_s=119.0", "RFC 2544 section 26.2"),
    departs("latency.first_tag_s", LATENCY, "latency.first_tag_s=59.0", "RFC 2544 section 26.2"),
    departs("latency.tags", LATENCY, "latency.tags=499", "RFC 8219 section 7.2"),
    departs("pdv.repetitions", PDV, "pdv.repetitions=19", "RFC 8219 section 7.3.1"),
    departs("pdv.stream_s", PDV, "pdv.stream_s=59.0", "RFC 8219 section 7.3.1"),
    departs("ipdv.repetitions", IPDV, "ipdv.repetitions=19", "RFC 8219 section 7.3.2"),
    departs("ipdv.stream_s", IPDV, "ipdv.stream_s=59.0", "RFC 8219 section 7.3.2"),
    departs(
        "frame_loss.step_percent",
        LOSS,
        "frame_loss.step_percent=20.0",
        "RFC 2544 section 26.3",
    ),
    departs(
        "back_to_back.repetitions",
        BURST,
        "back_to_back.repetitions=2",
        "RFC 2544 section 26.4",
    ),
    departs("back_to_back.limit_s", BURST, "back_to_back.limit_s=29.0", "RFC 9004 section 6.2"),
    departs("back_to_back.wait_s", BURST, "back_to_back.wait_s=1.9", "RFC 9004 section 6.2"),
    departs("recovery.repetitions", RECOVERY, "recovery.repetitions=1", "RFC 2544 section 26.5"),
    departs(
        "recovery.overload_percent",
        RECOVERY,
        "recovery.overload_percent=120.0",
        "RFC 2544 section 26.5",
    ),
    departs("recovery.overload_s", RECOVERY, "recovery.overload_s=59.0", "RFC 2544 section 26.5"),
    departs("reset.before_s", RESET, "reset.before_s=14.0", "RFC 6201 section 4"),
    departs("reset.rate_percent", RESET, "reset.rate_percent=50.0", "RFC 6201 section 4"),
    // Tests of many ports.
    departs(
        "chassis.loads_percent",
        MESH,
        "chassis.loads_percent=[50.0]",
        "RFC 2889 section 5.1.4",
    ),
    departs(
        "chassis.addresses_per_port",
        MESH,
        "chassis.addresses_per_port=4",
        "RFC 2889 section 5.1.2",
    ),
    departs(
        "chassis.learning_interval_s",
        MESH,
        "chassis.learning_interval_s=0.01",
        "RFC 2889 section 3",
    ),
    departs(
        "chassis.errored.loads_percent",
        ERRORED,
        "chassis.errored.loads_percent=[50.0]",
        "RFC 2889 section 5.9.2",
    ),
    departs(
        "chassis.multicast.unicast_per_multicast",
        MIXED,
        "chassis.multicast.unicast_per_multicast=2",
        "RFC 3918 section 4.1",
    ),
    departs(
        "chassis.multicast.join_settle_s",
        CAPACITY,
        "chassis.multicast.join_settle_s=0.0",
        "RFC 3918 section 7.1",
    ),
    departs(
        "chassis.multicast.latency_s",
        BURDENED,
        "chassis.multicast.latency_s=119.0",
        "RFC 3918 section 5.1",
    ),
    departs(
        "chassis.multicast.load_percent",
        BURDENED,
        "chassis.multicast.load_percent=10.0",
        "RFC 3918 section 5",
    ),
];

const VERIFY: &str = "trial.verify_checksums=false";
const SHORTFALL: &str = "trial.limits.shortfall=0.2";
const CONSTANT_LOAD: &str = "RFC 1242 section 3.4";

/// Options with which a result departs from nothing: values beside the default, and why no clause speaks of them.
const NEVER: &[(&str, &str, &str)] = &[
    ("seed", "--seed 9", "no document asks for certain numbers"),
    ("line-rate", "", "the medium's rate is the medium's"),
    ("skip-selftest", "--skip-selftest", "no document asks for it"),
    ("resolution", "--resolution 1%", "the report states it"),
    ("search.resolution_percent", "", "the same"),
    ("loss-tolerance", "--loss-tolerance 1%", "further results, which are named so"),
    ("throughput.loss_tolerances_percent", "", "the same"),
    (
        "search.max_trials_per_load",
        "search.max_trials_per_load=3",
        "judged by trials that lost frames",
    ),
    ("search.trial_duration_s", "search.trial_duration_s=10.0", "RFC 2544 section 24 allows it"),
    ("search.lowest_load_percent", "search.lowest_load_percent=1.0", "where the search gives up"),
    ("search.no_verification_above_lost_frames", "", "of a search that no document prescribes"),
    ("search.error_percent", "search.error_percent=10.0", "the same"),
    ("search.gap_step_ns", "", "the same"),
    ("self_test.trial_duration_s", "self_test.trial_duration_s=1.0", "no document asks for it"),
    ("self_test.resolution_percent", "self_test.resolution_percent=1.0", "the same"),
    ("self_test.low_rate_percent", "self_test.low_rate_percent=2.0", "the same"),
    ("self_test.high_rate_percent", "self_test.high_rate_percent=80.0", "the same"),
    ("trial.invalid_retries", "trial.invalid_retries=5", "invalid trials decide nothing"),
    ("trial.keep_alives", "trial.keep_alives=true", "RFC 2544 appendix C.2.4.1 knows them"),
    ("ipdv.median_frames", "ipdv.median_frames=5000", "the report states of how many frames it is"),
    ("back_to_back.step_frames", "back_to_back.step_frames=2", "RFC 9004 has it reported"),
    ("back_to_back.resolution_percent", "back_to_back.resolution_percent=1.0", "the same"),
    ("back_to_back.highest_limit_s", "back_to_back.highest_limit_s=60.0", "judged by the searches"),
    ("recovery.observe_s", "recovery.observe_s=30.0", "no document states how long"),
    ("reset.repetitions", "reset.repetitions=2", "the report states it"),
    ("reset.after_s", "reset.after_s=30.0", "judged by whether the device came back"),
    ("reset.link_down_s", "reset.link_down_s=2.0", "no document states how long"),
    ("chassis.address_step", "", "RFC 2889 section 3 has it adjustable"),
    (
        "chassis.forward_pressure.step_percent",
        "chassis.forward_pressure.step_percent=2.0",
        "any step",
    ),
    ("chassis.broadcast_frames", "chassis.broadcast_frames=2", "each is a single frame"),
    ("chassis.multicast.groups", "chassis.multicast.groups=4", "the report states it"),
    ("chassis.multicast.report_fps", "chassis.multicast.report_fps=50", "no document states it"),
    ("chassis.multicast.join_timeout_s", "chassis.multicast.join_timeout_s=9.0", "the same"),
    ("chassis.multicast.leave_settle_s", "chassis.multicast.leave_settle_s=9.0", "the same"),
    ("chassis.multicast.leave_timeout_s", "chassis.multicast.leave_timeout_s=9.0", "the same"),
    ("chassis.multicast.verify_fps", "chassis.multicast.verify_fps=500", "the same"),
    (
        "chassis.multicast.latency_repetitions",
        "chassis.multicast.latency_repetitions=2",
        "the same",
    ),
    ("chassis.multicast.before_report_s", "chassis.multicast.before_report_s=2.0", "the same"),
    ("chassis.multicast.burden_percent", "chassis.multicast.burden_percent=20.0", "any load"),
    ("chassis.multicast.capacity_initial", "chassis.multicast.capacity_initial=2", "any number"),
    ("chassis.multicast.capacity_step", "chassis.multicast.capacity_step=5", "any number"),
    (
        "chassis.multicast.capacity_max",
        "chassis.multicast.capacity_max=100",
        "judged by the search",
    ),
    ("chassis.multicast.matrix_max", "", "at most the capacity, whatever it is"),
    ("chassis.multicast.matrix_load_percent", "", "RFC 3918 section 4.2 states no load"),
    ("chassis.multicast.version", "", "IGMPv1 has no leaves: not possible, and no MUST"),
    ("chassis.multicast.membership_s", "", "the device's"),
    ("chassis.multicast.tunnel_in", "", "any format that differs from the other"),
    ("chassis.multicast.tunnel_out", "", "the same"),
    ("chassis.addresses.ageing_s", "", "the device's; the test waits so long"),
    ("address-ageing", "", "the same"),
    ("chassis.addresses.digest_s", "", "no document states it"),
    ("chassis.addresses.initial_addresses", "", "any number"),
    ("chassis.addresses.learning_fps", "", "as low as the device needs"),
    ("chassis.addresses.max_addresses", "", "judged by the search"),
    ("chassis.addresses.max_learning_fps", "", "judged by the search"),
    ("chassis.addresses.rate_addresses", "", "up to the capacity"),
    ("chassis.addresses.rate_resolution_fps", "", "the report states it"),
    ("chassis.addresses.test_fps", "", "no document states it"),
];

/// Clauses that ask for further runs speak of these, and are not held against a result.
const OF_SERIES: &[(&str, &str)] = &[
    ("bidirectional", "RFC 2544 section 14"),
    ("modifiers", "RFC 2544 section 11"),
    ("pattern", "RFC 2544 section 16"),
    ("burst-frames", "RFC 2544 section 21"),
    ("routing-updates", "RFC 2544 section 13: they meet it"),
    ("ipv6-prefixes", "RFC 5180 section 5.2.1"),
    ("reset.kinds", "RFC 6201 section 4.2.1"),
];

/// Departures that tests of `netanvil-method` show (`clauses/tests.rs`): runs with all of the document's numbers
/// take long.
const SHOWN_THERE: &[&str] = &[
    "chassis.multicast.matrix_initial",
    "chassis.multicast.matrix_step",
    "chassis.fanout.all_ports_trial_s",
    "harvard.max_rate_stream_s",
    "harvard.raw_rate_stream_s",
    "harvard_1989.idle_s",
    "harvard_1989.delay_stream_s",
    "harvard_1989.rate_stream_s",
    "harvard_1989.bursts",
    "harvard_1989.table_limit",
    "harvard_1989.error_frames",
    "chassis.tolly.",
];

/// Campaigns before and beside the RFCs, whose documents state no such number.
const OF_CAMPAIGNS: &[&str] =
    &["harvard.", "harvard_1989.", "chassis.fanout.", "chassis.arp_server."];

fn is_classified(name: &str) -> bool {
    let of_device = samples::OF_DEVICES.iter().any(|sample| sample.name == name);
    DEPARTS.iter().any(|departs| departs.name == name)
        || NEVER.iter().any(|(known, ..)| *known == name)
        || OF_SERIES.iter().any(|(known, _)| *known == name)
        || SHOWN_THERE.iter().chain(OF_CAMPAIGNS).any(|known| name.starts_with(known))
        // How the device is set up is for whoever runs the test (RFC 2544 section 7).
        || of_device
}

/// An option that is added later is classified, or this fails.
#[test]
fn every_option_is_said_to_depart_or_not() {
    let names = super::all_options();
    let open: Vec<&String> = names.iter().filter(|name| !is_classified(name)).collect();
    assert!(names.len() > 150 && open.is_empty(), "departs or not? {open:?}");
    let is_option = |name: &str| names.iter().any(|known| known == name);
    let gone: Vec<&str> = NEVER
        .iter()
        .map(|(name, ..)| *name)
        .chain(DEPARTS.iter().map(|departs| departs.name))
        .filter(|name| !is_option(name) && !["search.policy", "search.goals"].contains(name))
        .collect();
    assert!(gone.is_empty(), "no options: {gone:?}");
}

const PAIR: &str = "route = [\"ipv4\", \"ipv6\"]\nbridge = true\n";
const SWITCH: &str = "ports = 4\nbridge = true\n[output]\nframes = 8\n";
const OF_GROUPS: &str = "ports = 4\nroute = [\"ipv4\", \"ipv6\"]\n[multicast]\ngroups = 12\njoin = \"250us\"\n\
                         new-group = \"750us\"\nleave = \"20ms\"\nmembership = \"260s\"\nper-copy = \"100us\"\n";
/// So slow that a trial of a minute has few frames.
const SLOW: &str = "line-rate = \"100k\"\ndelay = \"5us\"\n";
const CPU: &str =
    "[input]\nframes = 8\n[cpu]\nservers = \"per-port\"\ncost = { per-frame = \"20ms\" }\n";

fn devices(scratch: &Scratch) {
    for (file, kind) in [("pair.toml", PAIR), ("switch.toml", SWITCH), ("groups.toml", OF_GROUPS)] {
        let reset = if kind == PAIR { "[reset]\nrestart = \"300ms\"\n" } else { "" };
        scratch.file(file, &format!("{SLOW}{kind}{CPU}{reset}"));
    }
}

/// What a test needs so that its search ends at the device's limit, and soon.
fn needs((suite, test): Of) -> &'static str {
    match (suite, test) {
        (SuiteName::Rfc3918, "group-capacity") => "--set chassis.multicast.capacity_step=5",
        (SuiteName::Rfc3918, "burdened-latency") => "--set chassis.multicast.latency_repetitions=1",
        _ => "",
    }
}

fn run(scratch: &Scratch, of: Of, more: &str, folder: &str) -> Value {
    let (suite, test) = of;
    let device = match suite {
        SuiteName::Rfc2889 => "switch.toml",
        SuiteName::Rfc3918 => "groups.toml",
        _ => "pair.toml",
    };
    let line = format!(
        "run {suite} --sim {device} --profile rfc --test {test} --quiet {} {more} --out {folder}",
        needs(of)
    );
    let mut command = scratch.command(&line);
    command.env("XDG_CACHE_HOME", scratch.path().join(format!("{folder}-cache")));
    let output = command.output().expect("netanvil starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{line}: {said}");
    let found = results(scratch, folder);
    let _ = std::fs::remove_dir_all(scratch.path().join(folder));
    found
}

/// What a run departs from, each with its source in brackets.
fn departures(results: &Value) -> Vec<String> {
    let deviations = results["deviations"].as_array().expect("deviations");
    let text = |deviation: &Value| deviation["deviation"].as_str().unwrap_or_default().to_owned();
    deviations.iter().map(text).collect()
}

fn option(given: &str) -> String {
    if given.starts_with("--") { given.into() } else { format!("--set {given}") }
}

/// One size departs, too, from clauses about the sizes of a run: what it departs from besides is the option's.
const ONE_SIZE: &str = "--sizes 512";

/// Runs of a test without an option, made once.
type Without = Mutex<BTreeMap<(String, &'static str), Vec<String>>>;

fn departures_without(
    scratch: &Scratch,
    departs: &Departs,
    at: usize,
    known: &Without,
) -> Vec<String> {
    let of = (departs.suite, departs.test);
    let key = (format!("{} {}", departs.suite, departs.test), departs.with);
    if let Some(found) = known.lock().expect("no panic").get(&key) {
        return found.clone();
    }
    let more = format!("{ONE_SIZE} {}", departs.with);
    let found = departures(&run(scratch, of, &more, &format!("without{at}")));
    known.lock().expect("no panic").insert(key, found.clone());
    found
}

#[test]
fn an_option_that_departs_is_not_conformant_and_names_the_clause() {
    let scratch = Scratch::new();
    devices(&scratch);
    let known = Without::default();
    let check = |at: usize, departs: &'static Departs| {
        let of = (departs.suite, departs.test);
        let without = departures_without(&scratch, departs, at, &known);
        let size = if departs.name == "sizes" { "" } else { ONE_SIZE };
        let more = format!("{size} {} {}", departs.with, option(departs.given));
        let with = run(&scratch, of, &more, &format!("with{at}"));
        let (name, source) = (departs.name, format!("({})", departs.source));
        let found = departures(&with);
        let is_new = |how: &&String| how.ends_with(&source) && !without.contains(how);
        let is_named = with["conformant"] == false && found.iter().any(|how| is_new(&how));
        let wrong = format!("{name}: nothing of {source} in {found:?}; without it {without:?}");
        if is_named { vec![] } else { vec![wrong] }
    };
    let wrong = two_at_a_time(DEPARTS, &check);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// All of them at once, test by test: what departs from nothing alone does not together either.
#[test]
fn options_that_no_clause_speaks_of_leave_a_run_conformant() {
    let scratch = Scratch::new();
    devices(&scratch);
    static TESTS: [Of; 9] =
        [THROUGHPUT, LATENCY, IPDV, LOSS, BURST, RECOVERY, RESET, MESH, BURDENED];
    let check = |at: usize, of: &'static Of| {
        let test: &TestMethod = of.0.test(of.1).expect("a test");
        let given = NEVER.iter().filter(|(name, given, _)| {
            // With a coarser throughput there are bursts below the medium's maximum that the device forwards for
            // ever: searches that end at the limit depart, whatever the option.
            let is_own = *of != BURST || name.starts_with("back_to_back.");
            !given.is_empty() && is_own && test.supports(name) && !needs(*of).contains(name)
        });
        let more: Vec<String> = given.map(|(_, given, _)| option(given)).collect();
        let found = run(&scratch, *of, &more.join(" "), &format!("never{at}"));
        let is_conformant = found["conformant"] == true && !more.is_empty();
        let wrong = format!("{} {}: {:?}", of.0, of.1, found["deviations"]);
        if is_conformant { vec![] } else { vec![wrong] }
    };
    let wrong = two_at_a_time(&TESTS, &check);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn two_at_a_time<T: Sync>(
    all: &'static [T],
    check: &(dyn Fn(usize, &'static T) -> Vec<String> + Sync),
) -> Vec<String> {
    let half = |first: usize| {
        let own = all.iter().enumerate().skip(first).step_by(2);
        own.flat_map(|(at, one)| check(at, one)).collect::<Vec<_>>()
    };
    std::thread::scope(|scope| {
        let halves = [0, 1].map(|first| scope.spawn(move || half(first)));
        halves.into_iter().flat_map(|half| half.join().expect("no panic")).collect()
    })
}

/// By what left: 60 s hold two updates, 29 s one; the simulated router has no agent that answers.
#[test]
fn clauses_of_modifiers_are_judged_by_what_left() {
    let scratch = Scratch::new();
    devices(&scratch);
    let expected: [(&str, &[(&str, &str)]); 4] = [
        ("--modifiers broadcast", &[("Every hundredth frame", "met")]),
        (
            "--modifiers management",
            &[
                ("A management query is sent in each second", "met"),
                ("The device answers every", "not_possible"),
                ("Every hundredth frame", "not_applicable"),
            ],
        ),
        (
            "--modifiers routing_update",
            &[
                ("A routing update is sent first", "met"),
                ("Routing updates have two states", "met"),
            ],
        ),
        (
            "--modifiers routing_update --duration 29s",
            &[
                ("A routing update is sent first", "met"),
                ("Routing updates have two states", "departed"),
            ],
        ),
    ];
    for (more, clauses) in expected {
        let found = run(&scratch, LOSS, &format!("--sizes 64 {more}"), "modifiers");
        let outcomes = found["outcomes"].as_array().expect("outcomes");
        let loss =
            outcomes.iter().find(|outcome| outcome["test"] == "frame_loss").expect("the test");
        let judged = loss["conditions"]["clauses"].as_array().expect("clauses");
        for (words, verdict) in clauses {
            let clause = judged.iter().find(|clause| {
                clause["words"].as_str().is_some_and(|known| known.starts_with(words))
            });
            assert_eq!(clause.expect(words)["verdict"], *verdict, "{more}: {words}: {clause:?}");
        }
    }
}
